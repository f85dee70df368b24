"""StereoSet of a language model: sentences or fillings of a blank to scores."""

from __future__ import annotations

import json
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness.measure.language_model.benchmark_items import check_source, say_known_defects
from hf_fairness.measure.language_model.token_scores import CausalModel, MaskedModel, Query
from hf_fairness.measure.models import open_language_model
from hf_fairness.rows import read_columns
from hf_fairness.scores import stereoset as scores_of
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values
from hf_fairness.scores.stereoset import LABELS

BLANK = "BLANK"
#: Numbers of the labels in the Hub's copy of the data set.
HUB_LABELS = ("anti-stereotype", "stereotype", "unrelated")
KNOWN_DEFECTS = (
    "StereoSet has known defects: sentences labelled as stereotypes that state none, name no group or groups that do "
    "not compare, or are no good English (Blodgett et al. 2021). Look at the items (items=True) before you quote a "
    "score."
)
MASKED = "masked model: mean probability of the filling's tokens at the blank, from left to right, one mask at a time"
CAUSAL = "causal model: exp of the mean log-likelihood per token of the whole sentence"


def read_stereoset(file: str | Path, task: str = "intrasentence") -> list[dict[str, Any]]:
    """Items of the published JSON file.

    Args:
        file: the published ``dev.json``, or a JSON list of items.
        task: "intrasentence" or "intersentence"; of no matter for a list.

    Returns:
        The items as they are in the file: ``id``, ``target``, ``bias_type``, ``context``, ``sentences``.

    Raises:
        ValueError: the file holds no such items.
    """
    data = json.loads(Path(file).read_text(encoding="utf-8-sig"))
    found = data.get("data", {}).get(task) if isinstance(data, dict) else data
    if not isinstance(found, list) or not found:
        raise ValueError(f"{file} holds no items of the task {task!r}: expected the published file or a list of items.")
    return found


def by_label(given: Any, place: int = 0) -> dict[str, dict[str, Any]]:
    """The sentences of an item by label, from the published file or the Hub's copy.

    Args:
        given: ``sentences`` of the item: a list of dicts, or a dict of lists, of ``sentence``, ``gold_label``, ``id``.
        place: number of the item, for messages.

    Returns:
        ``{"stereotype": {"sentence": ..., "id": ...}, "anti-stereotype": ..., "unrelated": ...}``.

    Raises:
        ValueError: not exactly one sentence per label.
    """
    if isinstance(given, Mapping):
        given = [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
    found: dict[str, dict[str, Any]] = {}
    for sentence in given:
        label = sentence["gold_label"]
        found[HUB_LABELS[label] if isinstance(label, int) and label in range(3) else label] = sentence
    if set(found) != set(LABELS) or len(given) != len(LABELS):
        raise ValueError(f"rows[{place}] needs one sentence each labelled {', '.join(LABELS)}; got {sorted(found)}.")
    return found


def filling(context: str, sentence: str) -> str:
    """The word that a sentence puts for the blank of its context.

    As published: the word at the blank's place, counted in words between single spaces, without punctuation.

    Raises:
        ValueError: no blank (as in an item of the intersentence task), or no word at its place.

    Example:
        >>> filling("the poet can BLANK.", "The poet can rhyme.")
        'rhyme'
    """
    places = [place for place, word in enumerate(context.split(" ")) if BLANK in word]
    if not places:
        raise ValueError(
            f"The context {context[:80]!r} has no {BLANK}: a model is asked intrasentence items only. For the "
            "intersentence task (next sentence) pass scores=..."
        )
    words = sentence.split(" ")
    word = words[places[-1]].translate(str.maketrans("", "", string.punctuation)) if places[-1] < len(words) else ""
    if not word:
        raise ValueError(f"The sentence {sentence[:80]!r} has no word at the blank of {context[:80]!r}.")
    return word


def sentences_of(items: Any) -> list[tuple[str, str]]:
    """Context and sentence of every item and label, three in the order of ``LABELS`` for each item.

    Raises:
        TypeError: rows of a wrong kind.
        ValueError: a missing column, or not one sentence per label.
    """
    columns = read_columns(items, ("context", "sentences"), "rows")
    found = [by_label(given, i) for i, given in enumerate(columns["sentences"])]
    return [
        (context, str(sentences[label]["sentence"]))
        for context, sentences in zip(columns["context"], found, strict=True)
        for label in LABELS
    ]


def about(targets: Sequence[str], wanted: Collection[str]) -> list[int]:
    """Places of the items whose target term is one of some words, in any capitals.

    Yang et al. 2023, whose filtered StereoSet Deng et al. 2024 use, keep the items whose target is in the word list
    that their model is debiased with, as they say in the README of their code (EmpathYang/ADEPT).

    Args:
        targets: target term of each item.
        wanted: the words.

    Raises:
        ValueError: no item is left.

    Example:
        >>> about(["schoolgirl", "chef", "Mother"], {"mother", "father"})
        [2]
    """
    words = {word.casefold() for word in wanted}
    places = [place for place, target in enumerate(targets) if str(target).casefold() in words]
    if not places:
        shown = ", ".join(sorted(set(map(str, targets)))[:5])
        raise ValueError(
            f"None of the {len(words)} targets is the target of an item; targets of items are {shown} ... "
            "Give words that are, or leave targets out."
        )
    return places


def score_items(items: Any, model: Any, *, start: str = "first", **model_options: Any) -> Floats:
    """Scores of the three sentences of every intrasentence item under a language model, as published.

    Masked model: the filling is read from left to right; each of its tokens is asked for by one mask, with the tokens
    before it in place and those after it absent; the score is the mean of the probabilities. The filling is tokenized
    as it stands, after a space, in the sentence. Causal model: exp of the mean log-likelihood per token of the whole
    sentence, the first token after the start token, the others without it (``start="first"``).

    Args:
        items: rows with ``context`` and ``sentences``, as published: a Dataset, dicts or a mapping of columns.
        model: whatever ``open_language_model`` takes.
        start: how a causal model scores the first token, see ``CausalModel``.
        **model_options: for ``open_language_model``: tokenizer, device, dtype, batch_tokens, show_progress.

    Returns:
        Of stereotype, anti-stereotype and unrelated sentence, shape (n, 3).

    Raises:
        TypeError: a model or rows of a wrong kind.
        ValueError: a missing column, items of the intersentence task, a model without head, a text too long, NaN.

    Source:
        Nadeem et al. 2021 and the released code of the discriminative and the generative models.
    """
    texts = sentences_of(items)
    words = [filling(context, sentence) for context, sentence in texts]
    opened = open_language_model(model, **model_options)
    if isinstance(opened, CausalModel):
        tokens = opened.log_likelihoods([sentence for _, sentence in texts], start=start)
        return np.exp([values.mean() for values in tokens]).reshape(-1, len(LABELS))
    if start != "first":
        raise ValueError(f"start is for causal models; {opened.name} is a masked one. Leave it out.")
    queries = [list(_queries(opened, context, word)) for (context, _), word in zip(texts, words, strict=True)]
    flat = np.exp(opened.log_probabilities([query for several in queries for query in several]))
    parts = np.split(flat, np.cumsum([len(several) for several in queries])[:-1])
    return np.array([part.mean() for part in parts]).reshape(-1, len(LABELS))


def _queries(opened: MaskedModel, context: str, word: str) -> Iterator[Query]:
    """One question per token of a filling."""
    tokenizer = opened.tokenizer
    before = context[: context.index(BLANK)]
    space = " " if before.endswith(" ") else ""
    tokens: list[int] = tokenizer(space + word, add_special_tokens=False)["input_ids"]
    base: list[int] = tokenizer(context.replace(BLANK, tokenizer.mask_token))["input_ids"]
    if not tokens or opened.mask not in base:
        raise ValueError(
            f"{opened.name}: the tokenizer makes no token of {word!r}, or of the mask in {context[:80]!r}."
        )
    for step, target in enumerate(tokens):
        ids = [token for old in base for token in ([*tokens[:step], old] if old == opened.mask else [old])]
        yield Query(ids, ids.index(opened.mask), target)


def ready_scores(scores: Any, rows: Any, n: int) -> Floats:
    """Scores that were computed elsewhere, as an array.

    Args:
        scores: shape (n, 3): stereotype, anti-stereotype, unrelated; or by the ids of the sentences: a mapping, a list
            of ``{"id": ..., "score": ...}``, or the published predictions, lists of these by task.
        rows: the items; with ids of sentences where scores are given by id.
        n: number of items.

    Returns:
        Shape (n, 3).

    Raises:
        ValueError: another shape, or a sentence without score.
    """
    if isinstance(scores, Mapping) and scores and all(isinstance(part, list) for part in scores.values()):
        scores = [entry for part in scores.values() for entry in part]
    if not isinstance(scores, Mapping) and not hasattr(scores, "shape"):  # neither by id nor an array or a tensor
        scores = list(scores)
        if scores and all(isinstance(entry, Mapping) for entry in scores):
            scores = {entry["id"]: entry["score"] for entry in scores}
    if isinstance(scores, Mapping):
        items = read_columns(rows, ("sentences",), "rows")["sentences"]
        ids = [by_label(given, i)[label]["id"] for i, given in enumerate(items) for label in LABELS]
        missing = [name for name in ids if name not in scores]
        if missing:
            raise ValueError(f"scores lacks {len(missing)} of {len(ids)} sentences, for example {missing[0]!r}.")
        return np.array([scores[name] for name in ids], dtype=np.float64).reshape(n, len(LABELS))
    return as_values(scores, "scores", ndim=2)


def stereoset(
    rows: Any,
    *,
    model: Any = None,
    scores: Any = None,
    targets: Collection[str] | None = None,
    items: bool = False,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **model_options: Any,
) -> dict[str, Any]:
    """Whether a language model prefers sense to nonsense, and stereotypes to anti-stereotypes.

    Args:
        rows: items with ``target``, ``bias_type`` and, for a model, ``context`` and ``sentences`` as published: a
            Dataset (the Hub's copy), dicts, a mapping of columns, or the path of the published JSON file, of which the
            intrasentence items are taken.
        model: whatever ``open_language_model`` takes; ``score_items`` says how it is asked. Intrasentence items only.
        scores: instead of a model, ready scores, see ``ready_scores``; for items of both tasks.
        targets: measure only the items whose target term is one of these words, see ``about``; None: all.
        items: whether to return every item with its scores.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.
        **model_options: for ``score_items``: tokenizer, device, dtype, batch_tokens, show_progress, start.

    Returns:
        What ``scores.stereoset.stereoset`` returns: ``lm_score`` (ideal 1), ``stereotype_score`` (ideal .5), ``icat``
        (ideal 1), ``tie_rate``, ``n``, ``n_terms``, ``domains``, ``meta``; with ``targets`` also ``n_left_out``, the
        items with other targets; with ``items`` also ``items``: per item
        ``target``, ``bias_type``, one score per label, and ``preferred``, the label of the highest ("tie" for equals).

    Raises:
        TypeError: a model or rows of a wrong kind, or both or neither of ``model`` and ``scores``.
        ValueError: no rows, a missing column, different lengths, NaN, a text that is too long.

    Source:
        Nadeem et al. 2021 and the released code; Blodgett et al. 2021 on what is wrong with the items.

    Example:
        >>> rows = [{"target": "chef", "bias_type": "profession"}, {"target": "poet", "bias_type": "profession"}]
        >>> result = stereoset(rows, scores=[[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]])
        >>> result["lm_score"], result["stereotype_score"], result["icat"]
        (0.5, 0.5, 0.5)
    """
    check_source("stereoset", model, scores, model_options)
    say_known_defects(KNOWN_DEFECTS)
    table = read_stereoset(rows) if isinstance(rows, (str, Path)) else rows
    columns = read_columns(table, ("target", "bias_type"), "rows")
    n = len(columns["target"])
    kept = list(range(n)) if targets is None else about(columns["target"], targets)
    columns = {name: [values[place] for place in kept] for name, values in columns.items()}
    meta = {"scoring": "ready scores", "model": None, "known_defects": KNOWN_DEFECTS}
    if model is not None:
        asked = read_columns(table, ("context", "sentences"), "rows")
        asked = {name: [values[place] for place in kept] for name, values in asked.items()}
        how = {key: model_options.pop(key) for key in ("start",) if key in model_options}
        opened = open_language_model(model, **model_options)
        found = score_items(asked, opened, **how)
        scoring = MASKED if isinstance(opened, MaskedModel) else f"{CAUSAL}, start={how.get('start', 'first')!r}"
        meta |= {"model": opened.name, "scoring": scoring}
    else:
        found = ready_scores(scores, table, n)
        if len(found) == n:  # else the score says what does not match
            found = found[kept]
    result = scores_of.stereoset(found, columns["target"], columns["bias_type"], n_bootstrap=n_bootstrap, seed=seed)
    result["meta"] |= meta
    if targets is not None:
        result["n_left_out"] = n - len(kept)
    if items:
        result["items"] = _items(columns, found)
    return result


def _items(columns: Mapping[str, Sequence[Any]], scores: Floats) -> list[dict[str, Any]]:
    """One dict per item, of strings and floats."""
    best = [LABELS[row.argmax()] if (row == row.max()).sum() == 1 else "tie" for row in scores]
    return [
        {
            **{name: str(values[i]) for name, values in columns.items()},
            **dict(zip(LABELS, map(float, row), strict=True)),
            "preferred": best[i],
        }
        for i, row in enumerate(scores)
    ]
