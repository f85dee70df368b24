"""Accuracy on challenge sets, from predictions or from a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.measure.classifier.challenge_sets import ChallengeSet, challenge_set, read_challenge_set
from hf_fairness.measure.classifier.pair_classifier import Names, classify_pairs, name_labels
from hf_fairness.scores import challenge as scoring
from hf_fairness.scores.statistics import N_BOOTSTRAP


def challenge_accuracy(
    references: Any,
    *,
    dataset: str | ChallengeSet,
    predictions: Sequence[Any] | None = None,
    model: Any = None,
    label_names: Names | None = None,
    hypothesis_first: bool = False,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **model_options: Any,
) -> dict[str, Any]:
    """Accuracy on a challenge set per heuristic, sub-case and gold label.

    Args:
        references: rows with ``label`` and the columns that the set is divided by, as ``read_challenge_set`` makes
            them (a list of mappings, a Dataset); or the path of a published file. The columns ``pair`` and ``cluster``
            are used where all rows have them.
        dataset: "hans", "fever_symmetric", "scramble", "nli_adversarial" or a ``ChallengeSet`` of your own.
        predictions: one label per row, as name or id.
        model: instead of predictions: a Hub id, a folder, a live classifier of pairs, or a function of two lists of
            texts; the rows then need ``premise`` and ``hypothesis``.
        label_names: name of each id, a list or a mapping; None: the model's own ``id2label``.
        hypothesis_first: whether the model was trained on (hypothesis, premise), for FEVER (claim, evidence).
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.
        **model_options: tokenizer, batch_size, device, max_length, show_progress.

    Returns:
        What ``scores.challenge.challenge_accuracy`` returns.

    Raises:
        TypeError: a model that is no classifier, options without a model.
        ValueError: neither or both of predictions and model, a label or column that is missing or unknown, no rows.

    Source:
        McCoy et al. 2019, Schuster et al. 2019, Dasgupta et al. 2018, Liu et al. 2020.

    Example:
        >>> rows = [{"label": "entailment", "heuristic": "subsequence", "subcase": "se_adjective"}]
        >>> rows += [{"label": "non-entailment", "heuristic": "subsequence", "subcase": "sn_NP/S"}]
        >>> result = challenge_accuracy(rows, dataset="hans", predictions=["entailment", "contradiction"])
        >>> result["by"]["subcase"]["sn_NP/S"]["accuracy"]
        1.0
    """
    kind = challenge_set(dataset)
    if (predictions is None) == (model is None):
        raise ValueError(f"Give predictions or a model; got {'neither' if model is None else 'both'}.")
    if model is None and model_options:
        raise TypeError(f"challenge_accuracy has no option {next(iter(model_options))!r} without a model.")
    rows = challenge_rows(references, dataset)
    gold = [kind.read_label(label) for label in _column(rows, "label", "its gold label")]
    wrong = next((place for place, label in enumerate(gold) if label not in kind.labels), None)
    if wrong is not None:
        raise ValueError(f"Row {wrong} has the gold label {gold[wrong]!r}; the set has {', '.join(kind.labels)}.")
    name = "predictions"
    if model is not None:
        texts = [_column(rows, part, "a text for the model") for part in ("premise", "hypothesis")]
        predictions, names, name = classify_pairs(model, *(texts[::-1] if hypothesis_first else texts), **model_options)
        label_names = names if label_names is None else label_names
    given = [] if predictions is None else list(predictions)
    if len(given) != len(rows):
        raise ValueError(f"predictions needs one label per row of references: got {len(given)} for {len(rows)} rows.")
    guesses = [kind.read_label(label) for label in name_labels(given, label_names)]
    pairs, clusters = _optional(rows, "pair"), _optional(rows, "cluster")
    if pairs is not None and len(set(pairs)) == len(pairs):
        pairs = None
    result = scoring.challenge_accuracy(
        guesses,
        gold,
        accepts=kind.accepts,
        by={column: _column(rows, column, "what the set is divided by") for column in kind.by},
        pairs=pairs,
        clusters=clusters,
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
    title = dataset if isinstance(dataset, str) else "own"
    result["meta"] |= {"dataset": title, "source": kind.source, "model": name}
    return result


def challenge_rows(references: Any, dataset: str | ChallengeSet) -> list[Mapping[str, Any]]:
    """Rows of a challenge set as mappings, class ids of a Dataset as names.

    Args:
        references: rows, or the path of a published file.
        dataset: which set it is.

    Raises:
        ValueError: no rows, or something else than rows.
    """
    if isinstance(references, (str, Path)):
        if not isinstance(dataset, str):
            raise ValueError("A file can be read for the published sets only; give the rows of a set of your own.")
        return list(read_challenge_set(dataset, references))
    if isinstance(references, Mapping):
        raise ValueError("references must be rows, a list of mappings or one split of a data set; got one mapping.")
    names = getattr((getattr(references, "features", None) or {}).get("label"), "names", None)
    rows = [{"label": row} if isinstance(row, str) else row for row in references]
    if not rows:
        raise ValueError("references is empty: an accuracy needs at least one row.")
    bad = next((place for place, row in enumerate(rows) if not isinstance(row, Mapping)), None)
    if bad is not None:
        raise ValueError(f"references[{bad}] must be a mapping with `label`; got {type(rows[bad]).__name__}.")
    if names:
        rows = [{**row, "label": name_labels([row["label"]], names)[0]} for row in rows]
    return rows


def _column(rows: Sequence[Mapping[str, Any]], name: str, what: str) -> list[str]:
    """One column, all of it text."""
    bad = next((place for place, row in enumerate(rows) if not isinstance(row.get(name), str)), None)
    if bad is not None:
        raise ValueError(
            f"Row {bad} needs {name!r}, {what}, as text; got {rows[bad].get(name)!r}. It has: {', '.join(rows[bad])}."
        )
    return [row[name] for row in rows]


def _optional(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    """One column, or None where not every row has it."""
    return [row[name] for row in rows] if all(row.get(name) not in (None, "") for row in rows) else None
