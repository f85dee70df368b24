"""Accuracy on challenge sets: where a model is right, not only how often."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.record import Declared
from hf_fairness.scores.intervals import FEW_CLUSTERS, METHOD, SMALL_N, combination, rates_of, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index
from hf_fairness.utils import FairnessWarning, is_missing

MEASURES = {
    "accuracy": Declared(
        "accuracy",
        "utility",
        1.0,
        "higher",
        convention="Accuracy over all rows of a set; a published challenge set counts labels as its authors do.",
    ),
}
#: The same on a set that is made so that a shortcut fails.
CHALLENGE_MEASURES = {"accuracy": replace(MEASURES["accuracy"], kind="bias")}


def challenge_accuracy(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    accepts: Mapping[str, Collection[str]] | None = None,
    by: Mapping[str, Sequence[str]] | None = None,
    pairs: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Accuracy overall and per gold label, heuristic, sub-case or whatever else the rows are divided by.

    A challenge set is made so that a shortcut gives the right answer for one label and the wrong one for the other:
    half of it is right for a model that always answers the same. Read the accuracies per label.

    Args:
        predictions: predicted label of each row.
        references: gold label of each row.
        accepts: per gold label the predictions that are right beside the label itself: where only entailment and
            non-entailment are told apart, ``{"non-entailment": ["neutral", "contradiction"]}``.
        by: columns that divide the rows, one entry per row; the order is that of nesting (heuristic, sub-case).
        pairs: label of the pair (or larger set) of each row: rows that differ in little and need different answers;
            None, NaN or an empty text: the row is in no pair.
        clusters: label per row; rows of a cluster count together.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

    Returns:
        ``accuracy`` in [0, 1], ideal 1, lower is worse; ``balanced_accuracy``: mean over gold labels;
        ``macro_accuracy``, with ``by``: mean over the first column's values of the mean over the second's within,
        and so on; ``other_rate``: share of predictions that are right for no gold label; ``pair_accuracy``: share
        of pairs with every row right, and ``pair_same_rate``: share whose rows all get one answer, with ``pairs``;
        each with ``_ci95``. ``constant_accuracy``: the best that one answer to all rows can reach. ``labels``: per
        gold label ``accuracy``, ``accuracy_ci95``, ``n``. ``by``: per column and value the same and ``labels``.
        ``predicted``: count of each prediction. ``n``, ``n_pairs``, ``n_unpaired``, ``meta``. Entries have
        ``n_clusters`` where clusters were given; an entry with one cluster has no interval.

    Raises:
        ValueError: no rows, columns of different lengths, a label that is no text, pairs without any pair.

    Source:
        McCoy et al. 2019 (per heuristic, label and sub-case), Schuster et al. 2019, Dasgupta et al. 2018, Liu et
        al. 2020 (mean of means). Intervals and pairs are ours.

    Example:
        >>> result = challenge_accuracy(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"])
        >>> result["accuracy"], result["labels"]["yes"]["accuracy"], result["constant_accuracy"]
        (0.75, 0.5, 0.5)
    """
    predictions, references = list(predictions), list(references)
    columns = {} if by is None else {name: [str(value) for value in column] for name, column in by.items()}
    given = {"references": references, **columns, "pairs": pairs, "clusters": clusters}
    _check(predictions, {name: column for name, column in given.items() if column is not None})
    wider = {gold: {gold, *(accepts or {}).get(gold, ())} for gold in dict.fromkeys(references)}
    right = np.array([guess in wider[gold] for guess, gold in zip(predictions, references, strict=True)])
    possible = set().union(*wider.values())
    other = np.array([guess not in possible for guess in predictions])
    units = None if clusters is None else cluster_index(clusters, len(right))
    if units is not None:
        warn_of_few(int(units.max()) + 1, "clusters", FEW_CLUSTERS)
    elif n_bootstrap:
        warn_of_few(len(right), "rows", SMALL_N)
    cells = _Cells(right, [references, *columns.values()], units, wanted=n_bootstrap > 0)
    result: dict[str, Any] = {**cells.share("accuracy", right), **cells.nested_mean("balanced_accuracy", [0])}
    if columns:
        result |= cells.nested_mean("macro_accuracy", range(1, len(columns) + 1))
    result["constant_accuracy"] = _constant(references, wider)
    result |= cells.share("other_rate", other)
    if pairs is not None:
        paired, all_right, same = _pair_columns(pairs, predictions, right)
        result |= cells.share("pair_accuracy", all_right, paired) | cells.share("pair_same_rate", same, paired)
        result["n_pairs"] = int(paired.sum())
        result["n_unpaired"] = sum(size for pair, size in Counter(pairs).items() if size == 1 or _without_pair(pair))
    result["labels"] = cells.entries(0)
    if columns:
        result["by"] = {
            name: {
                value: entry | {"labels": cells.entries(0, (place, value))}
                for value, entry in cells.entries(place).items()
            }
            for place, name in enumerate(columns, start=1)
        }
    result["predicted"] = dict(sorted(Counter(predictions).items()))
    if len(result["predicted"]) == 1 and len(right) > 1:
        warnings.warn(
            f"Every one of the {len(right)} predictions is {predictions[0]!r}: the accuracy is the share of that label "
            "and says nothing of the rows. Look at `labels`.",
            FairnessWarning,
            stacklevel=2,
        )
    n_clusters = None if units is None else int(units.max()) + 1
    return {**result, "n": len(right), "meta": _meta(len(right), accepts, columns, n_clusters, seed)}


class _Cells:
    """Rows divided by gold label and by the columns, and the share of them that is right."""

    def __init__(
        self,
        right: NDArray[np.bool_],
        columns: Sequence[Sequence[str]],
        units: NDArray[np.intp] | None,
        *,
        wanted: bool,
    ) -> None:
        self.right, self.units, self.wanted = right.astype(np.float64), units, wanted
        self.columns = [np.array(column, dtype=object) for column in columns]

    def share(self, name: str, hits: Any, rows: Any = None) -> dict[str, Any]:
        """A share of all rows, or of those given, and its interval."""
        inside = np.ones(len(self.right)) if rows is None else np.asarray(rows, dtype=np.float64)
        rates = rates_of(np.asarray(hits, dtype=np.float64)[:, None], inside[:, None], clusters=self.units)
        return rates.entry(name, 0, wanted=self.wanted)

    def _inside(self, where: Sequence[tuple[int, str]]) -> NDArray[np.bool_]:
        """Rows with the wanted values at the wanted places."""
        wanted = [self.columns[place] == value for place, value in where]
        return np.asarray(np.all([np.ones(len(self.right), dtype=bool), *wanted], axis=0), dtype=bool)

    def _values(self, place: int, where: Sequence[tuple[int, str]]) -> list[str]:
        """Values of a column among these rows."""
        return list(dict.fromkeys(self.columns[place][self._inside(where)].tolist()))

    def _leaves(self, places: Collection[int], *where: tuple[int, str]) -> list[tuple[float, NDArray[np.bool_]]]:
        """Weight and rows of each innermost part of a mean of means."""
        if not places:
            return [(1.0, self._inside(where))]
        first, *others = places
        values = self._values(first, where)
        parts = [leaf for value in values for leaf in self._leaves(others, *where, (first, value))]
        return [(weight / len(values), rows) for weight, rows in parts]

    def nested_mean(self, name: str, places: Collection[int]) -> dict[str, Any]:
        """Unweighted mean over the values at the first place of the mean over those at the next within them."""
        weights, masks = zip(*self._leaves(places), strict=True)
        sizes = np.stack(masks, axis=1).astype(np.float64)
        rates = rates_of(sizes * self.right[:, None], sizes, clusters=self.units)
        return {
            name: float(np.asarray(weights) @ rates.values),
            f"{name}_ci95": combination(rates, weights) if self.wanted else None,
        }

    def entries(self, place: int, *where: tuple[int, str]) -> dict[str, dict[str, Any]]:
        """Accuracy, interval and size for each value of a column."""
        return {value: self._entry((*where, (place, value))) for value in self._values(place, where)}

    def _entry(self, where: tuple[tuple[int, str], ...]) -> dict[str, Any]:
        inside = self._inside(where)
        entry = {**self.share("accuracy", self.right * inside, inside), "n": int(inside.sum())}
        return entry if self.units is None else entry | {"n_clusters": len(np.unique(self.units[inside]))}


def _check(predictions: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
    """Raise unless there are rows, all columns have as many, and labels are texts."""
    if not len(predictions):
        raise ValueError("predictions is empty: an accuracy needs at least one row.")
    for name, column in columns.items():
        if len(column) != len(predictions):
            raise ValueError(f"{name} needs one entry per prediction: got {len(column)} for {len(predictions)}.")
    for name, labels in (("predictions", predictions), ("references", columns["references"])):
        bad = next((place for place, label in enumerate(labels) if not isinstance(label, str)), None)
        if bad is not None:
            raise ValueError(f"{name}[{bad}] must be the name of a label; got {labels[bad]!r}.")


def _without_pair(label: Hashable) -> bool:
    """Whether the label of a pair says that there is none."""
    return label == "" or is_missing(label)


def _pair_columns(pairs: Sequence[Hashable], predictions: Sequence[str], right: NDArray[np.bool_]) -> list[Floats]:
    """Columns that are 0 but in the first row of each pair: 1, every row right, every row answered alike."""
    members: dict[Hashable, list[int]] = {}
    for place, pair in enumerate(pairs):
        if not _without_pair(pair):
            members.setdefault(pair, []).append(place)
    columns = np.zeros((3, len(right)))
    for rows in members.values():
        if len(rows) > 1:
            columns[:, rows[0]] = 1.0, right[rows].all(), len({predictions[row] for row in rows}) == 1
    if not columns[0].any():
        raise ValueError(f"No two of the {len(right)} rows share a label in pairs. Leave pairs out for a set without.")
    return list(columns)


def _constant(references: Sequence[str], wider: Mapping[str, Collection[str]]) -> float:
    """Accuracy of the best single answer to all rows."""
    counts = Counter(references)
    answers = set().union(*wider.values())
    return max(sum(n for gold, n in counts.items() if answer in wider[gold]) for answer in answers) / len(references)


def _meta(
    n: int,
    accepts: Mapping[str, Collection[str]] | None,
    columns: Mapping[str, Any],
    n_clusters: int | None,
    seed: int,
) -> dict[str, Any]:
    return describe(
        n=n,
        convention=(
            "accuracy over all rows; balanced: mean over gold labels; macro: mean over the values of "
            f"{' and, within them, '.join(columns) or 'no column'}; {METHOD}"
        ),
        ideal="1; constant_accuracy is what one answer to all rows reaches",
        direction="lower is worse; a label far below the others shows a shortcut",
        seed=seed,
        accepts={gold: sorted(more) for gold, more in (accepts or {}).items()},
        n_clusters=n_clusters,
    )
