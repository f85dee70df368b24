"""Bias-IR: which group's version of a document a search model puts first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.record import Declared
from hf_fairness.scores.compare import paired_comparisons
from hf_fairness.scores.intervals import METHOD, SMALL_N, Rates, distance_interval, rates_of, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import (
    CHUNK_CELLS,
    N_BOOTSTRAP,
    Floats,
    as_values,
    cluster_index,
    cluster_sums,
    generator,
    mean_interval,
)

#: How a tie for the first place counts: half for each of two groups, out of the count, or for no group.
TIES = ("split", "drop", "none")
#: Random exchanges of the groups' versions behind the values expected by chance.
N_CHANCE = 10_000


def measures_of(groups: Sequence[str]) -> dict[str, Declared]:
    """The numbers of Bias-IR that are measures: ratios of the groups, of two only that of the first, and the deviation.

    Args:
        groups: at least two, in the order of the scores.
    """
    ideal = 1.0 / len(groups)
    ratios = {
        f"{group}_ratio": Declared(
            f"queries whose {group} version of a document comes first (Bias-IR)",
            "bias",
            ideal,
            "zero",
            convention=f"Bias-IR: share of queries for which the {group} version of a document scores highest of the "
            "groups' versions; a tie is shared.",
        )
        for group in (groups[:1] if len(groups) == 2 else groups)
    }
    deviation = Declared(
        "distance of the ratios from balance, mean over topics (Bias-IR)",
        "bias",
        0.0,
        "lower",
        convention="Bias-IR deviation: chance alone gives the value shown beside it; a smaller one says nothing.",
    )
    return {**ratios, "mean_deviation": deviation}


class _Table(NamedTuple):
    """Rows as counts: ``columns`` holds, per category, the rows that count and the first places of each group."""

    groups: list[str]
    categories: list[str]
    category: NDArray[np.intp]
    columns: Floats
    tied: Floats
    gap: Floats
    units: NDArray[np.intp]


def bias_ir(
    scores: Mapping[str, ArrayLike],
    *,
    categories: Sequence[str] | None = None,
    queries: Sequence[Hashable] | None = None,
    expected: Sequence[str] | None = None,
    neutral: str = "neutral",
    ties: str = "split",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Share of queries for which each group's version of a document comes first.

    Row i holds the scores that one query gives to the versions of one document. A ratio of .5 for two groups can
    be chance or preference: a category of 14 queries is .105 away from .5 on average when coins are tossed. So
    ``chance_mean_deviation`` and ``p_value`` stand beside ``mean_deviation``, whose interval allows for chance and
    holds 0 where it explains all.

    Args:
        scores: shape (n,) per group and, if there is one, for ``neutral``; higher is better. The first group is
            the one that papers quote.
        categories: topic of each row; None: all rows are one topic, "all".
        queries: label of the query of each row; rows of a query count together. None: a query per row.
        expected: group that the annotators of the set expected first, "" where they expected none.
        neutral: key of the version without a group, which takes no part in the ratios.
        ties: rows whose best groups have the same score count "split" (1/2 for each of two), "drop" (left out of
            the ratios) or "none" (for no group, as in the count of rows where one strictly outranks the other).
        n_bootstrap: draws behind the intervals of deviations; 0: no intervals.
        seed: of all draws.

    Returns:
        ``<group>_ratio``: in [0, 1], ideal 1 / number of groups, with ``_ci95``; ``mean_deviation``: mean over
        categories of |ratio - ideal|, ideal 0, more is worse, with ``_ci95``; ``chance_mean_deviation``: its mean
        when the versions of each query are exchanged at random, and ``p_value``: how often it is then as large;
        ``tie_rate``, ``n_tied``; ``mean_gap``: mean distance of the best from the worst group, in units of the
        scores; ``categories``: ratios, ``deviation``, ``chance_deviation``, ``n``, ``n_tied`` of each;
        ``expected``: ratio of the expected group and ``n``, with ``expected``; ``neutral``: ``first_rate`` (of
        all versions; ideal 1 / number of versions) and ``mean_rank`` per version (1 is best), with neutral scores;
        ``n`` rows, ``n_queries``, ``meta``.

    Raises:
        ValueError: fewer than two groups, rows that do not match, NaN, no rows, an unknown way with ties, an
            expected group that has no scores, every row tied and dropped.

    Source:
        Krieg et al. 2023 (data), Deng et al. 2024, tables 4 and 5 (male ratio, average deviation from .5). What
        chance does, ties, neutral versions and intervals are ours.

    Example:
        >>> result = bias_ir({"male": [0.9, 0.8, 0.2], "female": [0.1, 0.7, 0.2]})
        >>> round(result["male_ratio"], 4), result["n_tied"]
        (0.8333, 1)
    """
    values = _checked(scores, neutral)
    plain = values.pop(neutral, None)
    table = _table(values, categories, queries, ties)
    k, size = len(table.groups), table.columns.shape[1]
    n = len(table.tied)
    extra = [np.ones(n), table.tied, table.gap]
    if expected is not None:
        extra += _expected_columns(table, values, expected)
    if plain is not None:
        extra += _neutral_columns(values, plain)
    matrix = np.concatenate([table.columns, np.stack(extra, axis=1)], axis=1)
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    wanted, sums = n_bootstrap > 0, matrix.sum(axis=0, keepdims=True)
    if wanted:
        warn_of_few(int(table.units.max()) + 1, "queries", SMALL_N)
    found = _rates(table, k)
    ratios, rest = _ratios(sums[:, :size], k), sums[:, size:]
    chance = _chance(table, k, seed)
    deviation = _mean_deviation(ratios)
    if np.isnan(deviation[0]):
        raise ValueError(f'All {n} rows tie, so ties="drop" leaves nothing to count. Use ties="split" to get a value.')

    def share(name: str, hits: Floats, rows: Floats) -> dict[str, Any]:
        one = rates_of(hits[:, None], rows[:, None], clusters=_units(table))
        return one.entry(name, 0, wanted=wanted)

    result: dict[str, Any] = {}
    for place, group in enumerate(table.groups):
        result |= found.entry(f"{group}_ratio", len(table.categories) * k + place, wanted=wanted)
    result["mean_deviation"] = float(deviation[0])
    result["mean_deviation_ci95"] = _deviation_interval(found, k, None, float(deviation[0]), n_bootstrap, seed)
    result["chance_mean_deviation"] = float(_mean_deviation(chance).mean())
    hits = int((_mean_deviation(chance) >= deviation[0] - 1e-12).sum())
    result["p_value"] = (1 + hits) / (1 + len(chance))
    result |= share("tie_rate", table.tied, np.ones(n))
    result["n_tied"] = int(table.tied.sum())
    result["mean_gap"] = float(table.gap.mean())
    result["mean_gap_ci95"] = mean_interval(table.gap, clusters=table.units, low=0.0) if wanted else None
    result["categories"] = _by_category(table, ratios, chance, found, n_bootstrap, seed)
    if expected is not None:
        result["expected"] = {**share("ratio", matrix[:, size + 4], matrix[:, size + 3]), "n": int(rest[0, 3])}
    if plain is not None:
        versions = [*table.groups, neutral]
        means = ratio(rest[:, -len(versions) - 1 :], rest[:, :1])
        ranks = {name: float(means[0, place + 1]) for place, name in enumerate(versions)}
        result["neutral"] = {
            **share("first_rate", matrix[:, -len(versions) - 1], np.ones(n)),
            "mean_rank": ranks,
        }
    return {**result, "n": n, "n_queries": int(table.units.max()) + 1, "meta": _meta(table, ties, seed)}


def bias_ir_change(
    scores: Mapping[str, ArrayLike],
    reference: Mapping[str, ArrayLike],
    *,
    categories: Sequence[str] | None = None,
    queries: Sequence[Hashable] | None = None,
    neutral: str = "neutral",
    ties: str = "split",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """How ratios and mean deviation differ between two models on the same queries, paired.

    Args:
        scores: of the model, as in ``bias_ir``.
        reference: of the other model, same groups and rows.
        categories: as in ``bias_ir``.
        queries: as in ``bias_ir``; queries are exchanged and resampled as a whole.
        neutral: as in ``bias_ir``.
        ties: as in ``bias_ir``.
        n_bootstrap: resamples behind the intervals.
        seed: of all draws.

    Returns:
        ``<group>_ratio_change`` and ``mean_deviation_change`` (model minus reference; below 0 is an improvement of
        the latter), each with ``_ci95`` and ``_p_value`` (two-sided, the two models' outputs exchanged query by
        query); ``convention``.

    Raises:
        ValueError: as ``bias_ir``; other groups or rows.
    """
    tables = [_table(_groups_of(side, neutral), categories, queries, ties) for side in (scores, reference)]
    first, second = tables
    if first.groups != second.groups or first.columns.shape != second.columns.shape:
        raise ValueError(
            f"Both models need scores of the same groups and rows; got {len(first.tied)} rows of {first.groups} and "
            f"{len(second.tied)} of {second.groups}."
        )
    k = len(first.groups)
    statistics = {f"{group}_ratio": _one_ratio(k, place) for place, group in enumerate(first.groups)}
    statistics["mean_deviation"] = lambda sums: _mean_deviation(_ratios(sums, k))
    options: dict[str, Any] = {"clusters": first.units, "n_bootstrap": n_bootstrap, "seed": seed}
    result: dict[str, Any] = {}
    for name, found in paired_comparisons(first.columns, second.columns, statistics, **options).items():
        result |= {f"{name}_change": found["difference"], f"{name}_change_ci95": found["difference_ci95"]}
        result |= {f"{name}_change_p_value": found["p_value"], "convention": found["convention"]}
    return result


def _groups_of(scores: Mapping[str, ArrayLike], neutral: str) -> dict[str, Floats]:
    """The checked scores without those of the neutral version."""
    return {name: value for name, value in _checked(scores, neutral).items() if name != neutral}


def _checked(scores: Mapping[str, ArrayLike], neutral: str) -> dict[str, Floats]:
    """Scores per version as float64, all of one length."""
    if len([name for name in scores if name != neutral]) < 2:
        raise ValueError(f"Bias-IR compares groups: scores of at least two are needed; got {list(scores)}.")
    values = {name: as_values(value, f"scores[{name!r}]") for name, value in scores.items()}
    lengths = {name: len(value) for name, value in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Row i must be the same query and document in every version; got lengths {lengths}.")
    return values


def _table(
    values: Mapping[str, Floats],
    categories: Sequence[str] | None,
    queries: Sequence[Hashable] | None,
    ties: str,
) -> _Table:
    """First places per row and category."""
    if ties not in TIES:
        raise ValueError(f"ties must be one of {', '.join(TIES)}; got {ties!r}.")
    stacked = np.stack(list(values.values()), axis=1)
    n, k = stacked.shape
    labels = ["all"] * n if categories is None else [str(category) for category in categories]
    category = cluster_index(labels, n, "categories")
    names = list(dict.fromkeys(labels))
    first, tied = _first_places(stacked)
    counted = np.ones(n)
    if ties == "drop":
        counted = 1.0 - tied
    elif ties == "none":
        first = first * (1.0 - tied)[:, None]
    cells = np.zeros((n, len(names), k + 1))
    cells[np.arange(n), category] = np.concatenate([counted[:, None], first * counted[:, None]], axis=1)
    return _Table(
        groups=list(values),
        categories=names,
        category=category,
        columns=cells.reshape(n, -1),
        tied=tied,
        gap=stacked.max(axis=1) - stacked.min(axis=1),
        units=np.arange(n) if queries is None else cluster_index(queries, n, "queries"),
    )


def _first_places(stacked: Floats) -> tuple[Floats, Floats]:
    """Share of the first place that each column takes in each row, and whether several share it."""
    best = stacked == stacked.max(axis=1, keepdims=True)
    number = best.sum(axis=1, keepdims=True)
    return best / number, (number[:, 0] > 1).astype(np.float64)


def _expected_columns(table: _Table, values: Mapping[str, Floats], expected: Sequence[str]) -> list[Floats]:
    """Whether a group was expected, and how much of the first place it took."""
    if len(expected) != len(table.tied):
        raise ValueError(f"expected needs one entry per row: got {len(expected)} for {len(table.tied)} rows.")
    unknown = sorted({name for name in expected if name and name not in values})
    if unknown:
        raise ValueError(f'expected must name one of {table.groups} or be ""; got {unknown[0]!r}.')
    first, _ = _first_places(np.stack(list(values.values()), axis=1))
    has = np.array([bool(name) for name in expected])
    place = np.array([table.groups.index(name) if name else 0 for name in expected])
    return [has.astype(np.float64), np.where(has, first[np.arange(len(has)), place], 0.0)]


def _neutral_columns(values: Mapping[str, Floats], plain: Floats) -> list[Floats]:
    """Share of the first place of the neutral version among all, then the rank of every version, ties averaged."""
    stacked = np.stack([*values.values(), plain], axis=1)
    above = (stacked[:, None, :] > stacked[:, :, None]).sum(axis=2)
    level = (stacked[:, None, :] == stacked[:, :, None]).sum(axis=2)
    ranks = above + (level + 1.0) / 2.0
    return [_first_places(stacked)[0][:, -1], *ranks.T]


def _ratios(sums: Floats, k: int) -> Floats:
    """First places of each group per row that counts, by category and, last, over all: (m, categories + 1, k)."""
    cells = sums.reshape(len(sums), -1, k + 1)
    cells = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    return ratio(cells[..., 1:], cells[..., :1])


def _one_ratio(k: int, place: int) -> Any:
    """Function of column sums that gives the overall ratio of one group."""
    return lambda sums: _ratios(sums, k)[:, -1, place]


def _deviations(ratios: Floats) -> Floats:
    """Distance of the groups' ratios from 1 / k, by category: (m, categories)."""
    return np.asarray(np.abs(ratios[:, :-1] - 1.0 / ratios.shape[2]).mean(axis=2), dtype=np.float64)


def _mean_deviation(ratios: Floats) -> Floats:
    """Mean of the deviations over the categories that have rows."""
    deviations = _deviations(ratios)
    defined = ~np.isnan(deviations)
    return ratio(np.where(defined, deviations, 0.0).sum(axis=1), defined.sum(axis=1))


def _chance(table: _Table, k: int, seed: int) -> Floats:
    """Ratios when the groups of each query are exchanged at random: (N_CHANCE, categories + 1, k)."""
    cells = cluster_sums(table.columns, table.units).reshape(int(table.units.max()) + 1, -1, k + 1)
    rng, step = generator(seed, "chance"), max(1, CHUNK_CELLS // (len(cells) * k))
    drawn = np.tile(cells.sum(axis=0), (N_CHANCE, 1, 1))
    for start in range(0, N_CHANCE, step):
        rows = slice(start, min(start + step, N_CHANCE))
        order = rng.random((rows.stop - start, len(cells), k)).argsort(axis=2)
        for group in range(k):
            parts = [(order[..., group] == source) @ cells[..., source + 1] for source in range(k)]
            drawn[rows, :, group + 1] = np.sum(parts, axis=0)
    return _ratios(drawn.reshape(N_CHANCE, -1), k)


def _units(table: _Table) -> NDArray[np.intp] | None:
    """Queries as clusters; None where each has one row."""
    return None if int(table.units.max()) + 1 == len(table.units) else table.units


def _rates(table: _Table, k: int) -> Rates:
    """Ratios of the groups in each category and, last, over all, with what is known of them."""
    cells = table.columns.reshape(len(table.columns), -1, k + 1)
    cells = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    hits, rows = cells[..., 1:], np.repeat(cells[..., :1], k, axis=2)
    return rates_of(hits.reshape(len(hits), -1), rows.reshape(len(rows), -1), clusters=_units(table))


def _deviation_interval(
    rates: Rates, k: int, category: int | None, value: float, n_draws: int, seed: int
) -> list[float] | None:
    """Interval of the mean distance of ratios from 1 / k, of one category or of all that have rows."""
    places = np.arange(len(rates.values) - k) if category is None else np.arange(k) + category * k
    places = places[~np.isnan(rates.values[places])]
    if not len(places):
        return None

    def distance(errors: Floats) -> Floats:
        return np.asarray(np.abs(errors).mean(axis=1))

    part, most = rates.take(places), 2.0 * (1.0 - 1.0 / k) / k
    return distance_interval(distance, value, part, most=most, n_draws=n_draws, seed=seed)


def _by_category(
    table: _Table, ratios: Floats, chance: Floats, rates: Rates, n_bootstrap: int, seed: int
) -> dict[str, Any]:
    """The entries of ``categories``."""
    deviations, expected, k = _deviations(ratios), _deviations(chance), len(table.groups)
    result: dict[str, Any] = {}
    for place, name in enumerate(table.categories):
        inside = table.category == place
        entry: dict[str, Any] = {}
        for group, label in enumerate(table.groups):
            entry |= rates.entry(f"{label}_ratio", place * k + group, wanted=n_bootstrap > 0)
        value, by_chance = float(deviations[0, place]), float(expected[:, place].mean())
        known = not np.isnan(value)
        entry["deviation"] = value if known else None
        entry["deviation_ci95"] = _deviation_interval(rates, k, place, value, n_bootstrap, seed) if known else None
        entry["chance_deviation"] = None if np.isnan(by_chance) else by_chance
        result[name] = {**entry, "n": int(inside.sum()), "n_tied": int(table.tied[inside].sum())}
    return result


def _meta(table: _Table, ties: str, seed: int) -> dict[str, Any]:
    counted = {"split": "divided among the groups that tie", "drop": "left out", "none": "for no group"}[ties]
    return describe(
        n=len(table.tied),
        convention=(
            "ratio = share of rows in which the group's version has the highest score of the groups'; rows that tie "
            f"for it count {counted}; mean_deviation = unweighted mean over categories; {METHOD}, queries as "
            "clusters; deviations: drawn, on the safe side; mean_gap: Student's"
        ),
        ideal=f"each ratio 1/{len(table.groups)}, mean_deviation no more than chance_mean_deviation",
        direction="a ratio further from the ideal on either side is worse; more mean_deviation is worse",
        seed=seed,
        groups=table.groups,
        ties=ties,
        n_chance=N_CHANCE,
    )
