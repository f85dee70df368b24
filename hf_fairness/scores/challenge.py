"""Accuracy on challenge sets: where a model is right, not only how often."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.scores.meta import describe
from hf_fairness.scores.rates import interval, ratio, resampled_sums
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index, generator
from hf_fairness.utils import FairnessWarning


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
        pairs: label of the pair (or larger set) of each row: rows that differ in little and need different answers.
        clusters: label per row; clusters are resampled as a whole. None: rows are.
        n_bootstrap: resamples behind the intervals.
        seed: of the resamples.

    Returns:
        ``accuracy`` in [0, 1], ideal 1, lower is worse; ``balanced_accuracy``: mean over gold labels;
        ``macro_accuracy``, with ``by``: mean over the first column's values of the mean over the second's within,
        and so on; ``other_rate``: share of predictions that are right for no gold label; ``pair_accuracy``: share
        of pairs with every row right, and ``pair_same_rate``: share whose rows all get one answer, with ``pairs``;
        each with ``_ci95``. ``constant_accuracy``: the best that one answer to all rows can reach. ``labels``: per
        gold label ``accuracy``, ``accuracy_ci95``, ``n``. ``by``: per column and value the same and ``labels``.
        ``predicted``: count of each prediction. ``n``, ``n_pairs``, ``n_unpaired``, ``meta``. Entries have
        ``n_clusters`` where clusters were given; the interval of an entry with one cluster resamples its rows.

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
    cells = _Cells(right, [references, *columns.values()], clusters, n_bootstrap, seed)
    extra = [other, np.ones(len(right)), *([] if pairs is None else _pair_columns(pairs, predictions, right))]
    sums, rest = cells.resample(extra)
    result: dict[str, Any] = {**_rate("accuracy", cells.accuracy(sums))}
    result |= _rate("balanced_accuracy", cells.nested_mean(sums, [0]))
    if columns:
        result |= _rate("macro_accuracy", cells.nested_mean(sums, range(1, len(columns) + 1)))
    result["constant_accuracy"] = _constant(references, wider)
    result |= _rate("other_rate", ratio(rest[:, 0], rest[:, 1]))
    if pairs is not None:
        result |= _rate("pair_accuracy", ratio(rest[:, 3], rest[:, 2]))
        result |= _rate("pair_same_rate", ratio(rest[:, 4], rest[:, 2]))
        result["n_pairs"] = int(rest[0, 2])
        result["n_unpaired"] = sum(size == 1 for size in Counter(pairs).values())
    result["labels"] = cells.entries(sums, 0)
    if columns:
        result["by"] = {
            name: {
                value: entry | {"labels": cells.entries(sums, 0, (place, value))}
                for value, entry in cells.entries(sums, place).items()
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
    return {**result, "n": len(right), "meta": _meta(len(right), accepts, columns, clusters, seed)}


class _Cells:
    """Rows sorted into cells: one for each combination of gold label and values of the columns that occurs."""

    def __init__(
        self,
        right: NDArray[np.bool_],
        columns: Sequence[Sequence[str]],
        clusters: Sequence[Hashable] | None,
        n_bootstrap: int,
        seed: int,
    ) -> None:
        rows = list(zip(*columns, strict=True))
        self.keys = list(dict.fromkeys(rows))
        self.cell = cluster_index(rows, len(rows))
        self.right, self.n_bootstrap, self.seed = right, n_bootstrap, seed
        self.clusters = None if clusters is None else cluster_index(clusters, len(rows), "clusters")

    def resample(self, extra: Sequence[Any]) -> tuple[Floats, Floats]:
        """Sums of the data, then of resamples: rows that are right and rows per cell; and of further columns."""
        n, k = len(self.cell), len(self.keys)
        matrix = np.zeros((n, 2 * k + len(extra)))
        matrix[np.arange(n), self.cell] = self.right
        matrix[np.arange(n), k + self.cell] = 1.0
        matrix[:, 2 * k :] = np.stack(extra, axis=1)
        draws = resampled_sums(matrix, clusters=self.clusters, n_bootstrap=self.n_bootstrap, seed=self.seed)
        sums = np.vstack([matrix.sum(axis=0), draws])
        return sums[:, : 2 * k].reshape(len(sums), 2, k), sums[:, 2 * k :]

    def accuracy(self, sums: Floats, *where: tuple[int, str]) -> Floats:
        """Accuracy in the cells with the wanted value at the wanted place of their key, of data and draws."""
        inside = self._inside(where)
        return ratio(sums[:, 0, inside].sum(axis=1), sums[:, 1, inside].sum(axis=1))

    def _inside(self, where: Sequence[tuple[int, str]]) -> list[int]:
        """Numbers of the cells with the wanted values."""
        return [number for number, key in enumerate(self.keys) if all(key[place] == value for place, value in where)]

    def _values(self, place: int, where: Sequence[tuple[int, str]]) -> list[str]:
        """Values at a place of the key among those cells."""
        return list(dict.fromkeys(self.keys[number][place] for number in self._inside(where)))

    def nested_mean(self, sums: Floats, places: Collection[int], *where: tuple[int, str]) -> Floats:
        """Unweighted mean over the values at the first place of the mean over those at the next within them."""
        if not places:
            return self.accuracy(sums, *where)
        first, *others = places
        means = np.stack(
            [self.nested_mean(sums, others, *where, (first, value)) for value in self._values(first, where)], axis=1
        )
        defined = ~np.isnan(means)  # a value can be missing from a resample
        return ratio(np.where(defined, means, 0.0).sum(axis=1), defined.sum(axis=1))

    def entries(self, sums: Floats, place: int, *where: tuple[int, str]) -> dict[str, dict[str, Any]]:
        """Accuracy, interval and size for each value at a place of the key."""
        return {value: self._entry(sums, (*where, (place, value))) for value in self._values(place, where)}

    def _entry(self, sums: Floats, where: tuple[tuple[int, str], ...]) -> dict[str, Any]:
        values, cells = self.accuracy(sums, *where), self._inside(where)
        n = int(sums[0, 1, cells].sum())
        if self.clusters is None:
            return {**_rate("accuracy", values), "n": n}
        n_clusters = len(np.unique(self.clusters[np.isin(self.cell, cells)]))
        if n_clusters == 1:
            drawn = generator(self.seed, cells).binomial(n, values[0], size=self.n_bootstrap) / n
            values = np.concatenate([values[:1], drawn])
        return {**_rate("accuracy", values), "n": n, "n_clusters": n_clusters}


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


def _pair_columns(pairs: Sequence[Hashable], predictions: Sequence[str], right: NDArray[np.bool_]) -> list[Floats]:
    """Columns that are 0 but in the first row of each pair: 1, every row right, every row answered alike."""
    members: dict[Hashable, list[int]] = {}
    for place, pair in enumerate(pairs):
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


def _rate(name: str, values: Floats) -> dict[str, Any]:
    """A rate and its interval; ``values`` holds it, then its draws."""
    return {name: float(values[0]), f"{name}_ci95": interval(values[1:])}


def _meta(
    n: int,
    accepts: Mapping[str, Collection[str]] | None,
    columns: Mapping[str, Any],
    clusters: Sequence[Hashable] | None,
    seed: int,
) -> dict[str, Any]:
    unit = "rows" if clusters is None else "clusters (rows, in an entry with one cluster)"
    return describe(
        n=n,
        convention=(
            "accuracy over all rows; balanced: mean over gold labels; macro: mean over the values of "
            f"{' and, within them, '.join(columns) or 'no column'}; intervals resample {unit}"
        ),
        ideal="1; constant_accuracy is what one answer to all rows reaches",
        direction="lower is worse; a label far below the others shows a shortcut",
        seed=seed,
        accepts={gold: sorted(more) for gold, more in (accepts or {}).items()},
        n_clusters=None if clusters is None else len(set(clusters)),
    )
