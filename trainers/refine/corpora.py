"""The corpora that encoders are trained on: rows of pairs, their bias scores, and what is made of those that lead.

Source: Dolci et al. 2023, section 4.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, load_from_disk
from numpy.typing import NDArray

from hf_fairness.measure.encoder.bias_scorer import Scorer
from hf_fairness.refine import compensate, random_refine, replace, split, subtract
from hf_fairness.rows import column_values, text_columns
from hf_fairness.scores.statistics import Floats, as_values, generator
from hf_fairness.trainers.training.pair_training import labelled_rows, order_is_stated
from hf_fairness.utils import FairnessWarning, is_missing

LABEL = "label"
#: Columns of texts that are looked for, in this order, and of what is learned.
PAIRS = (("premise", "hypothesis"), ("sentence1", "sentence2"), ("sentence_A", "sentence_B"))
LEARNED = (LABEL, "score")
#: Most rows that are held out for the measures (the paper's number).
MOST_HELD_OUT = 10_000
#: Fewer training rows than this have no tenth above a percentile.
MIN_ROWS = 20
#: A word stands in the table where so many different texts have it: no name of one person does.
MIN_TEXTS = 5
SHOWN_WORDS = 15


def _sub(rows: Dataset, texts: Sequence[str], swap: Mapping[str, Any], **above: Any) -> Any:
    return subtract(rows, **above)


def _aug(rows: Dataset, texts: Sequence[str], swap: Mapping[str, Any], **above: Any) -> Any:
    return compensate(rows, text_columns=texts, **above, **swap)


def _replace(rows: Dataset, texts: Sequence[str], swap: Mapping[str, Any], **above: Any) -> Any:
    return replace(rows, text_columns=texts, **above, **swap)


@dataclass(frozen=True)
class Refinement:
    """What is done with the rows of highest score.

    Attributes:
        make: from rows, text columns, options of the swaps, ``percentile`` and ``scores`` to the corpus.
        about: what the corpus is, in words; ``{rows}`` are those above the percentile.
    """

    make: Callable[..., Any]
    about: str


REFINEMENTS = {
    "sub": Refinement(_sub, "all rows but {rows}"),
    "aug": Refinement(_aug, "all rows, and the counterfactuals of {rows}"),
    "replace": Refinement(_replace, "all rows, with counterfactuals in the place of {rows}"),
}


def arm_name(kind: str, level: float) -> str:
    """Name of the arm of a refinement at a percentile.

    Example:
        >>> arm_name("sub", 95.0)
        'sub-95'
    """
    return f"{kind}-{level:g}"


def refine_rows(
    rows: Dataset,
    kind: str,
    level: float,
    scores: Floats,
    texts: Sequence[str],
    swap: Mapping[str, Any],
    *,
    random_seed: int | None = None,
) -> tuple[Dataset, dict[str, Any]]:
    """One corpus, and what was changed in it.

    Args:
        rows: the training rows.
        kind: of ``REFINEMENTS``.
        level: percentile, in [1, 100).
        scores: of the rows, shape (n,).
        texts: columns that are swapped together.
        swap: options of ``CounterfactualSwap``.
        random_seed: makes the corpus in which as many rows, drawn with this seed, are refined; None takes those of
            highest score.

    Returns:
        The rows with the columns of ``rows``; ``n_train``, ``n_left_out``, ``n_added``, and ``share_changed``: both
        as a share of all rows.
    """
    found = REFINEMENTS[kind].make(rows, texts, swap, percentile=level, scores=scores)
    if random_seed is not None:
        found = random_refine(rows, like=found, text_columns=texts, seed=random_seed, **swap)
    flagged = "counterfactual" in found.column_names
    added = int(sum(column_values(found, "counterfactual"))) if flagged else 0
    gone = len(rows) - (len(found) - added)
    counts = {
        "n_train": len(found),
        "n_left_out": gone,
        "n_added": added,
        "share_changed": (gone + added) / len(rows),
    }
    return found.select_columns(rows.column_names), counts


@dataclass(frozen=True)
class Pairs:
    """Rows of two texts and what is learned of them, in parts.

    Attributes:
        columns: of the texts.
        label_names: names of the classes in the order of their numbers; empty where scores are learned.
        parts: ``train`` and ``test``, with the texts and ``label``: a number of a class, or a score in [0, 1].
        counts: how many rows there were, and what was left out.
    """

    columns: tuple[str, str]
    label_names: tuple[str, ...]
    parts: Mapping[str, Dataset]
    counts: Mapping[str, int]

    @property
    def classes(self) -> bool:
        """Whether classes are learned; else scores of how alike the texts are."""
        return bool(self.label_names)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the parts; returns the rest as JSON values."""
        for name, rows in self.parts.items():
            rows.save_to_disk(folder / name)
        return {"columns": list(self.columns), "label_names": list(self.label_names), "counts": dict(self.counts)}

    @classmethod
    def load(cls, folder: Path, told: Mapping[str, Any]) -> Pairs:
        """Read what :meth:`save` wrote and returned."""
        # In memory: what maps over a data set on disk leaves its cache beside it.
        parts = {
            path.name: load_from_disk(path, keep_in_memory=True) for path in sorted(folder.iterdir()) if path.is_dir()
        }
        return cls(tuple(told["columns"]), tuple(told["label_names"]), parts, told["counts"])


def read_pairs(
    train: Dataset,
    test: Dataset | None = None,
    *,
    text_column: Sequence[str] | None = None,
    label_column: str | None = None,
    class_names: Sequence[str] | None = None,
    max_rows: int | None = None,
    test_rows: int | None = None,
    seed: int = 0,
) -> Pairs:
    """Check rows and bring them into one form.

    Rows that lack a text or what is learned are left out, counted and warned of. Without a test set, rows are held out
    before anything is refined, so that all encoders are measured on the same ones (in the paper each refined corpus is
    split anew); rows that share their first text are held out together.

    Args:
        train: rows to train on.
        test: rows to measure on.
        text_column: the two columns of texts; None looks for ``PAIRS``.
        label_column: what is learned; None looks for ``LEARNED``.
        class_names: names of the classes.
        max_rows: take at most so many random rows of ``train``.
        test_rows: rows to hold out; None means a tenth, at most 10,000.
        seed: of both draws.

    Raises:
        ValueError: a column is missing, no two texts, fewer than 20 rows, all of one class or score.
    """
    present = [pair for pair in PAIRS if set(pair) <= set(train.column_names)]
    columns = text_columns(train, text_column or (present[0] if present else PAIRS[0]))
    if len(columns) != 2:
        raise ValueError(
            f"--text_column names {', '.join(columns)}: an encoder is trained on pairs of texts. Name two."
        )
    column = label_column or next((name for name in LEARNED if name in train.column_names), LABEL)
    if column not in train.column_names:
        raise ValueError(
            f"The training rows have no column {column!r}; they have {', '.join(train.column_names)}. Say with "
            "--label_column what is learned: classes, or scores of how alike the texts are."
        )
    names: Sequence[str] | None = class_names
    stated = order_is_stated(train, column, names)
    scores = class_names is None and _holds_scores(train, column)
    kept: dict[str, Dataset] = {}
    counts = {"n_rows": len(train)}
    for title, rows in (("train", train), ("test", test)):
        if rows is None:
            continue
        if column not in rows.column_names or not set(columns) <= set(rows.column_names):
            raise ValueError(
                f"The {title} rows have the columns {', '.join(rows.column_names)}; expected {', '.join(columns)} and "
                f"{column} as the training rows."
            )
        whole = _with_texts(rows, columns, column, title)
        if scores:
            kept[title] = whole
        else:
            kept[title], names = labelled_rows(
                whole, columns, names, title, label_column=column, stated=stated or title == "train"
            )
        counts[f"n_{title}_left_out"] = len(rows) - len(kept[title])
    if scores:
        kept = _scaled(kept, columns, column)
    rows = kept["train"]
    if max_rows is not None and max_rows < len(rows):
        rows = rows.select(sorted(generator(seed, "train").permutation(len(rows))[:max_rows].tolist()))
    if test is None:
        size = test_rows or max(1, min(MOST_HELD_OUT, len(rows) // 10))
        parts = split(rows, test=size, together=columns[0], seed=seed)
        rows, kept["test"] = parts["train"], parts["test"]
    if len(rows) < MIN_ROWS:
        raise ValueError(f"{len(rows)} rows are left to train on, expected {MIN_ROWS} or more.")
    if len(set(column_values(rows, LABEL))) < 2:
        raise ValueError(f"All training rows have one value in {column!r}: there is nothing to learn.")
    return Pairs((columns[0], columns[1]), tuple(names or ()), {"train": rows, "test": kept["test"]}, counts)


def _holds_scores(rows: Dataset, column: str) -> bool:
    """Whether a column holds scores and no classes: fractions, or numbers that are called scores.

    A file whose column of classes lacks one gives all of them as 0.0, 1.0 ...: they are classes all the same.
    """
    kind = str(getattr(rows.features[column], "dtype", ""))
    if not kind.startswith(("float", "int", "uint")) or "score" in column:
        return kind.startswith(("float", "int", "uint"))
    values = column_values(rows, column) if kind.startswith("float") else []
    return any(not is_missing(value) and not float(value).is_integer() for value in values)


def _with_texts(rows: Dataset, columns: Sequence[str], column: str, title: str) -> Dataset:
    """The rows that have both texts and what is learned."""
    values = [column_values(rows, name) for name in (*columns, column)]
    whole = [
        place
        for place, (*texts, learned) in enumerate(zip(*values, strict=True))
        if not is_missing(learned) and all(isinstance(text, str) and text.strip() for text in texts)
    ]
    if len(whole) == len(rows):
        return rows
    if not whole:
        raise ValueError(f"None of the {len(rows)} {title} rows has {', '.join(columns)} and {column}.")
    warnings.warn(
        f"{len(rows) - len(whole)} of {len(rows)} {title} rows lack a text or {column!r} and are left out.",
        FairnessWarning,
        stacklevel=4,
    )
    return rows.select(whole)


def _scaled(kept: Mapping[str, Dataset], columns: Sequence[str], column: str) -> dict[str, Dataset]:
    """Scores between 0 and 1, the ends being those of the training rows; a test row beyond them goes to the end."""
    values = {
        title: as_values(column_values(rows, column), f"{column} of the {title} rows") for title, rows in kept.items()
    }
    low, high = float(values["train"].min()), float(values["train"].max())
    found = {}
    for title, rows in kept.items():
        scores = np.clip((values[title] - low) / ((high - low) or 1.0), 0.0, 1.0)
        found[title] = Dataset.from_dict({**{name: column_values(rows, name) for name in columns}, LABEL: scores})
    return found


@dataclass(frozen=True)
class CorpusScores:
    """Bias scores of all texts of a corpus, each distinct text read once.

    Attributes:
        texts: the distinct texts.
        sides: score of each towards the first and the second group, shape (n, 2): <= 0 and >= 0.
        words: by word in how many texts it stands, and sums of its cosine and of its weighted bias over them.
    """

    texts: list[str]
    sides: Floats
    words: dict[str, list[float]]

    @classmethod
    def of(cls, texts: Sequence[str], scorer: Scorer) -> CorpusScores:
        """Score texts; words that are on the exclusion list carry no bias, and stand in no table."""
        distinct = list(dict.fromkeys(texts))
        sides = np.zeros((len(distinct), 2))
        words: dict[str, list[float]] = {}
        for place, scored in scorer.score(distinct):
            bias = scored.bias
            sides[place] = bias.negative, bias.positive
            own: dict[str, list[float]] = {}
            for number, word in enumerate(scored.words):
                if not scored.excluded[number] and scored.known[number]:
                    entry = own.setdefault(word.lower(), [1.0, 0.0, 0.0])
                    entry[1], entry[2] = float(bias.bias[number]), entry[2] + float(bias.weighted[number])
            for word, entry in own.items():
                words[word] = [a + b for a, b in zip(words.get(word, (0.0, 0.0, 0.0)), entry, strict=True)]
        return cls(distinct, sides, words)

    def rows(self, dataset: Dataset, columns: Sequence[str]) -> Floats:
        """Score of each row: the higher of the absolute scores of its texts, shape (n,)."""
        absolute = dict(zip(self.texts, (self.sides[:, 1] - self.sides[:, 0]).tolist(), strict=True))
        return np.max([[absolute[text] for text in column_values(dataset, name)] for name in columns], axis=0)

    def word_table(self, groups: Sequence[str]) -> list[tuple[str, ...]]:
        """The words that carry most bias towards each group: heading and rows."""
        known = {word: entry for word, entry in self.words.items() if entry[0] >= MIN_TEXTS}
        rows: list[tuple[str, ...]] = [("word", "towards", "texts", "mean cosine", "sum of weighted bias")]
        for group, sign in ((groups[1], 1), (groups[0], -1)):
            order = sorted(known, key=lambda word: (-sign * known[word][2], word))
            for word in order[:SHOWN_WORDS]:
                n, cosine, weighted = known[word]
                if sign * weighted > 0:
                    rows.append((word, group, f"{n:,.0f}", f"{cosine / n:+.3f}", f"{weighted:+.3f}"))
        return rows


def texts_of(rows: Dataset, columns: Sequence[str]) -> list[str]:
    """The distinct texts of rows, in order of first appearance."""
    return list(dict.fromkeys(text for name in columns for text in column_values(rows, name)))


def some(texts: Sequence[str], n: int, seed: int) -> list[str]:
    """At most ``n`` of the texts, drawn at random, in their order."""
    chosen: NDArray[np.intp] = np.sort(generator(seed, "texts").permutation(len(texts))[:n])
    return [texts[place] for place in chosen.tolist()]
