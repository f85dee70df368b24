"""Fit the context models that read *her*, *his* and *'s*, and write `hf_fairness/augment/data/contexts.json`.

    python -m benchmarks.pronoun_model       writes the weights and benchmarks/results/pronoun_model.json

Labels are free. What *her* is, is what stands in the same place for another person: *him* or *his*, *me* or *my*,
*them* or *their*, *us* or *our*; so the pronoun is hidden and only the words around it are seen. *His* alone or before
a noun is *mine* or *my*, *yours* or *your*; *he's* is *I've* or *I'm*, *they've* or *they're*.

Text: the English sides of GFST's released news (Choubey et al. 2021, Apache-2.0) in ../shared beside the project, less
the sentences of the exam for swaps, and sentences that we wrote (`pronoun_sentences.py`) for what news lacks. Words are
put into classes by the words beside them (k-means of a truncated SVD of positive pointwise mutual information). The
folds of the cross-validation are those of sentences; the probabilities are those of held-out folds, scaled so that they
say how often they are right.
"""

from __future__ import annotations

import collections
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from benchmarks.exams.texts import DATA, FOLDER, Place, text_at
from benchmarks.pronoun_sentences import written
from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.augment import english as en
from hf_fairness.augment.context_model import END, Surroundings, features, normal, surroundings, tokens
from hf_fairness.augment.pronouns import OBJECT, OBJECT_OR_DETERMINER, resolve
from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import share_interval

FILE = ROOT / "hf_fairness" / "augment" / "data" / "contexts.json"
#: Places of *her* in other texts than news, with what a person read there.
JUDGED = FOLDER / "pronoun_rows.json"
EXAMS = sorted(FOLDER.glob("swap_*.json"))

CONFIG: dict[str, Any] = {
    "files": [
        "news.2016.MALE.BT.en-de.en",
        "news.2017.FEMALE.en-fr.en",
        "news.2017.FEMALE.en-he.en",
        "news.2017.FEMALE.en-it.en",
        "news.2017.MALE.en-he.en",
        "news.2017.MALE.en-it.en",
    ],
    "classes": 96,
    "class_words": 800,  # frequent words beside which a word is counted
    "class_dimensions": 50,
    "least_word": 6,  # times that a word with a class was seen
    "least_feature": 3,
    "inverse_penalty": 2.0,
    "folds": 5,
    "other_weight": 0.5,  # of labels of other pronouns than those that are read
    "written_weight": 0.15,
    "object_weight": 0.15,  # of pronouns that are no object of every verb
    "least_weight": 0.1,
    # What the rules and word lists that stood in the model's place got wrong in the same places.
    "rules_before": {"object": {"n": 19390, "errors": 578}, "judged": {"n": 267, "errors": 5}},
    "sources": [
        "benchmarks/pronoun_model.py",
        "benchmarks/pronoun_sentences.py",
        "hf_fairness/augment/context_model.py",
        "hf_fairness/augment/english.py",
    ],
}

#: Model -> pronoun -> whether it has the first reading.
LABELS: dict[str, dict[str, bool]] = {
    "object": {
        "him": True, "his": False, "them": True, "their": False, "me": True, "my": False, "us": True, "our": False,
        "its": False, "your": False, "it": True, "you": True, "himself": True, "herself": True, "myself": True,
        "themselves": True, "yourself": True, "ourselves": True, "itself": True, "people": True, "others": True,
        "someone": True, "everyone": True, "somebody": True,
    },
    "pronoun": {
        "my": False, "mine": True, "your": False, "yours": True, "their": False, "theirs": True, "our": False,
        "ours": True, "hers": True,
    },
    "has": {
        "i've": True, "i'm": False, "you've": True, "you're": False, "we've": True, "we're": False,
        "they've": True, "they're": False,
    },
}  # fmt: skip
#: Pronouns whose labels are those of the words that a model reads.
OWN = {"object": frozenset({"him", "his"}), "pronoun": frozenset(LABELS["pronoun"]), "has": frozenset(LABELS["has"])}
#: Objects that are subjects and nouns as well: taken after a word that an object pronoun follows rather than a subject.
DOUBTFUL = frozenset(word for word, first in LABELS["object"].items() if first) - {"him", "them", "me", "us"}
_OBJECTS = frozenset({"him", "them", "me", "us"})
_SUBJECTS = frozenset({"he", "i", "they", "we"})


_BEFORE_MINE = en.PREPOSITIONS | en.CONJUNCTIONS | en.BE_FORMS | {"than", "not", "all", ",", "this", "that's", "it's"}


class Example(NamedTuple):
    """A place with the reading that the word there shows."""

    group: int
    word: str
    first: bool
    around: Surroundings


def sentences(data: Path = DATA, files: Iterable[str] = CONFIG["files"]) -> list[str]:
    """Different sentences of the news, less those of the exam and of the judged sets beside it."""
    rows = [row for path in EXAMS for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    found: dict[str, None] = {}
    asked = set()
    for name in files:
        lines = (data / "gfst" / name).read_text(encoding="utf-8").split("\n")
        asked |= {lines[row["row"]] for row in rows if row["file"] == f"gfst/{name}"}
        found |= dict.fromkeys(lines)
    return [line for line in found if line and line not in asked]


def examples(name: str, texts: Sequence[str]) -> list[Example]:
    """Places whose words show a reading: of the news, and of the sentences that we wrote."""
    labels = LABELS[name]
    lines = [tokens(text) for text in texts]
    verbs = _before_objects(lines) if name == "object" else frozenset()
    found = []
    for group, (text, line) in enumerate(zip(texts, lines, strict=True)):
        for start, end, token in line:
            word = token.lower().replace("’", "'")
            if word not in labels or token == "US":
                continue
            around = surroundings(text, start, end)
            before, after = around.before[0], around.after[0]
            if word in DOUBTFUL and (before not in verbs or (word not in ("it", "you") and before in en.PREPOSITIONS)):
                continue
            if word == "his" and (not after[0].isalnum() or after in ("and", "or", END)):
                continue  # standing alone, perhaps
            if word == "mine" and before not in _BEFORE_MINE:
                continue  # of coal
            found.append(Example(group, word, labels[word], around))
    for number, (text, start, end, word) in enumerate(written(name), start=1):
        found.append(Example(-number, word, labels[word], surroundings(text, start, end)))
    return found


def _before_objects(lines: Iterable[Sequence[tuple[int, int, str]]]) -> frozenset[str]:
    """Words that an object pronoun follows, and three times as often as a subject pronoun does."""
    objects: collections.Counter[str] = collections.Counter()
    subjects: collections.Counter[str] = collections.Counter()
    for line in lines:
        for first, second in itertools.pairwise([normal(token) for _, _, token in line]):
            if second in _OBJECTS:
                objects[first] += 1
            elif second in _SUBJECTS:
                subjects[first] += 1
    return frozenset(word for word, n in objects.items() if n >= 2 and n >= 3 * subjects[word])


def word_classes(texts: Sequence[str], config: Mapping[str, Any] = CONFIG) -> list[list[str]]:
    """Words that stand beside the same frequent words; of each class the most frequent first."""
    lines = [[normal(token) for _, _, token in tokens(text)] for text in texts]
    counts = collections.Counter(word for line in lines for word in line)
    known = [word for word, count in counts.most_common() if count >= config["least_word"] and " " not in word]
    place = {word: k for k, word in enumerate(known)}
    width = config["class_words"] + 2  # and the border of a sentence, and any other word
    rows: list[int] = []
    columns: list[int] = []
    for line in lines:
        here = [-2, *(place.get(word, -1) for word in line), -2]
        seen = [k if 0 <= k < width - 2 else width - 1 if k == -1 or k >= 0 else width - 2 for k in here]
        for k in range(len(here) - 1):
            if here[k] >= 0:
                rows.append(here[k])
                columns.append(seen[k + 1])
            if here[k + 1] >= 0:
                rows.append(here[k + 1])
                columns.append(width + seen[k])
    table = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(known), 2 * width)).tocsr()
    table.sum_duplicates()
    table = table.tocoo()
    of_word, of_context = (np.asarray(table.sum(axis)).ravel() for axis in (1, 0))
    smooth = of_context**0.75
    expected = of_word[table.row] * smooth[table.col] / smooth.sum()
    information = np.maximum(0, np.log(table.data / expected))
    matrix = sparse.csr_matrix((information, (table.row, table.col)), shape=table.shape)
    left, sizes, _ = svds(
        matrix, k=min(config["class_dimensions"], min(matrix.shape) - 1), v0=np.ones(min(matrix.shape))
    )
    vectors = left * np.sqrt(sizes)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    labels = KMeans(min(config["classes"], len(known)), n_init=1, max_iter=40, random_state=0).fit_predict(vectors)
    return [[word for word, label in zip(known, labels, strict=True) if label == k] for k in range(config["classes"])]


def class_numbers(classes: Sequence[Sequence[str]]) -> dict[str, str]:
    """Word -> its class."""
    return {word: str(number) for number, line in enumerate(classes) for word in line}


class Fold(NamedTuple):
    """What is known of the examples of one model: their features, readings and weights in the fit."""

    matrix: sparse.csr_matrix
    names: list[tuple[str, str, str]]
    first: np.ndarray
    weights: np.ndarray


def prepared(name: str, found: Sequence[Example], classes: Mapping[str, str], config: Mapping[str, Any]) -> Fold:
    """Features as columns."""
    rows = [features(example.around, classes) for example in found]
    counts = collections.Counter(itertools.chain.from_iterable(rows))
    names = sorted(feature for feature, count in counts.items() if count >= config["least_feature"])
    place = {feature: k for k, feature in enumerate(names)}
    columns = [[place[feature] for feature in row if feature in place] for row in rows]
    ends = np.cumsum([0, *map(len, columns)])
    matrix = sparse.csr_matrix((np.ones(ends[-1]), list(itertools.chain(*columns)), ends), (len(rows), len(names)))
    return Fold(matrix, names, np.array([e.first for e in found]), np.array([_weight(name, e, config) for e in found]))


def _weight(name: str, example: Example, config: Mapping[str, Any]) -> float:
    if example.group < 0:
        return float(config["written_weight"])
    if example.word in OWN[name]:
        return 1.0
    return float(config["object_weight" if example.word in DOUBTFUL else "other_weight"])


def fitted(fold: Fold, rows: np.ndarray, config: Mapping[str, Any]) -> tuple[np.ndarray, float]:
    """Weights of the features and bias; small ones are left out."""
    model = LogisticRegression(C=config["inverse_penalty"], solver="liblinear", random_state=0)
    model.fit(fold.matrix[rows], fold.first[rows], sample_weight=fold.weights[rows])
    weights = np.where(np.abs(model.coef_[0]) < config["least_weight"], 0, model.coef_[0])
    return weights, float(model.intercept_[0])


def held_out(
    name: str, found: Sequence[Example], fold: Fold, config: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the pronouns that are read, and their log odds from the folds without their sentence."""
    groups = np.array([example.group for example in found])
    own = np.array([example.word in OWN[name] for example in found]) & (groups >= 0)
    part = np.where(groups < 0, -1, groups * 7919 % config["folds"])
    odds = np.zeros(len(found))
    for number in range(config["folds"]):
        weights, bias = fitted(fold, np.flatnonzero(part != number), config)
        rows = np.flatnonzero((part == number) & own)
        odds[rows] = fold.matrix[rows] @ weights + bias
    rows = np.flatnonzero(own)
    return rows, odds[rows]


def calibration(odds: np.ndarray, first: np.ndarray) -> tuple[float, float]:
    """Factor and shift of log odds after which they say how often they are right (Platt 1999)."""
    model = LogisticRegression(C=1e6, solver="lbfgs").fit(odds[:, None], first)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def reliability(certainties: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """Of places by how sure the model is: number, mean certainty, and share that is right."""
    table = []
    for low, high in itertools.pairwise((0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.01)):
        rows = (certainties >= low) & (certainties < high)
        if rows.any():
            sure, share = float(certainties[rows].mean()), float(right[rows].mean())
            table.append({"from": low, "n": int(rows.sum()), "certainty": sure, "right": share})
    return table


def trained(texts: Sequence[str], config: Mapping[str, Any] = CONFIG) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the weights file holds, and the errors of held-out folds."""
    classes = word_classes(texts, config)
    numbers = class_numbers(classes)
    models, report = {}, {}
    for name in LABELS:
        found = examples(name, texts)
        fold = prepared(name, found, numbers, config)
        rows, odds = held_out(name, found, fold, config)
        factor, shift = calibration(odds, fold.first[rows])
        weights, bias = fitted(fold, np.arange(len(found)), config)
        models[name] = {
            "bias": round(factor * bias + shift, 2),
            "tables": _tables(fold.names, factor * weights),
        }
        chances = 1 / (1 + np.exp(-(factor * odds + shift)))
        right = (chances > 0.5) == fold.first[rows]
        report[name] = {
            "n": len(rows),
            "examples": len(found),
            "errors": int((~right).sum()),
            "error_rate_ci95": share_interval(int((~right).sum()), len(rows)),
            "errors_of_the_commonest": int(min(fold.first[rows].sum(), (~fold.first[rows]).sum())),
            "factor": factor,
            "shift": shift,
            "reliability": reliability(np.maximum(chances, 1 - chances), right),
        }
    return {"classes": [" ".join(line) for line in classes], "models": models}, report


def _tables(names: Sequence[tuple[str, str, str]], weights: np.ndarray) -> dict[str, Any]:
    """Template -> value -> weight, or -> first value -> other values -> weight."""
    tables: dict[str, Any] = {}
    for (template, value, rest), weight in zip(names, weights, strict=True):
        rounded = round(float(weight), 2)
        if rounded:
            table = tables.setdefault(template, {})
            if " " in template:
                table = table.setdefault(value, {})
                value = rest
            table[value] = rounded
    return tables


def judged(data: Path = DATA) -> list[tuple[str, str, int, bool]]:
    """Tweets, captions and other texts with *her*, drawn by seed: source, text, offset, and whether it is an object.

    Raises:
        ValueError: a text is not the one that was judged.
    """
    found = []
    for place in json.loads(JUDGED.read_text(encoding="utf-8")):
        text = text_at(Place(place["file"], place["row"], place["field"]), data)
        if not content_key(text).startswith(place["key"]):
            raise ValueError(f"Row {place['row']} of {place['file']} is not the one that was judged.")
        found.append((place["source"], text, place["start"], place["case"] == OBJECT))
    return found


def judged_errors(data: Path = DATA) -> dict[str, Any]:
    """Errors of the weights of the package on the judged texts, with their interval."""
    wrong = [
        (resolve(text, start, start + len("her"), OBJECT_OR_DETERMINER)[0] == OBJECT) != first
        for _, text, start, first in judged(data)
    ]
    return {"n": len(wrong), "errors": sum(wrong), "error_rate_ci95": share_interval(sum(wrong), len(wrong))}


def main() -> None:
    """Write the weights and the results; print the errors."""
    stored, report = trained(sentences())
    FILE.write_text(json.dumps(stored, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    report["judged"] = judged_errors()
    report["weights_key"] = content_key(FILE)
    write_results(RESULTS / "pronoun_model.json", CONFIG, report)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
