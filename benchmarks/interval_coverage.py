"""How often the 95 % intervals of rates, gaps, CCED, SEAT and means over seeds cover, and how wide they are.

    python -m benchmarks.interval_coverage [--quick]

"Before" are the percentile bootstraps (means over seeds: Student's interval without the ends of the range), kept here
only to be compared with. Two groups are enumerated: every outcome of two binomial counts with its probability, so that
these numbers have no noise (but for the draws of the bootstrap). The rest is simulated. A gap is |difference|, at least
0; the interval of a difference is folded accordingly. A run writes its results, `python -m benchmarks.readme` the page.

Bars are coverages of .93 to .99 for two groups and of .92 to .99 for the rest, and a width of at most 1.3 times that of
Newcombe's interval. Cells that miss them, all by covering too often:

- Groups of 8 rows at rate .02, and of 8 at .02 and .15: nothing is seen in most samples. An interval that leaves out 0
  in 1 % of samples where both rates are .02 leaves it out in more than 7 % where both are .15; no interval meets both
  bars (``best_worst_case``).
- Groups of 20 rows at rate .02, alone or beside .15 (.999, .996; Newcombe's 1.000, .996): two thirds of such groups
  hold no hit. An interval that treats both groups alike, and leaves out 0 wherever the counts lie further apart than
  where it does so already, covers at most 79 % at .15 if it meets the bars at .02 (``ordered_bound``).
- A group of 8 at .02 beside 70 at .02 or .15: the same.
- Largest gaps of 3 and 5 groups of these sizes and rates: the same, and more of it as the largest of many pairs.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.study import RESULTS, write_results
from hf_fairness.report.markdown import markdown_table
from hf_fairness.scores.intervals import Rates, largest_gap_interval, rate_limits
from hf_fairness.scores.seat import effect
from hf_fairness.scores.statistics import mean_interval, mean_statistic_interval

FILE = RESULTS / "interval_coverage.json"
#: Least and greatest coverage that is wanted, by kind of cell.
BARS = {"two_groups": (0.93, 0.99)} | dict.fromkeys(("largest_gap", "cced", "seat", "seeds"), (0.92, 0.99))
#: Greatest width, in widths of Newcombe's interval.
WIDTH = 1.3
SIZES = ((8, 8), (20, 20), (70, 70), (200, 200), (70, 8))
RATES = (0.02, 0.15, 0.5)
#: Rates of three and of five groups: all alike, one apart, all different.
MANY = (
    (0.02,) * 3, (0.15,) * 3, (0.5,) * 3, (0.15, 0.15, 0.5), (0.02, 0.15, 0.5),
    (0.02,) * 5, (0.15,) * 5, (0.5,) * 5, (0.15, 0.15, 0.15, 0.15, 0.5), (0.15, 0.2, 0.25, 0.3, 0.35),
)  # fmt: skip
CLUSTERS = (6, 12, 40)
WORDS = (8, 16)
EFFECTS = (0.0, 1.0, 1.5)
#: How the gaps of texts are spread: see ``_texts``. The last has no finite skewness.
TEXTS = ("frames", "skewed", "uneven", "heavy")
SEEDS = (2, 3, 5)
#: Means of a rate over all seeds; its spread over seeds is .05.
LEVELS = (0.5, 0.9)
Z = 1.959963984540054
N_BOOTSTRAP = 1000
CONFIG: dict[str, Any] = {
    "sizes": SIZES,
    "rates": RATES,
    "many": MANY,
    "clusters": CLUSTERS,
    "words": WORDS,
    "seeds": SEEDS,
    "sources": [
        "benchmarks/interval_coverage.py",
        "hf_fairness/scores/intervals.py",
        "hf_fairness/scores/seat.py",
        "hf_fairness/scores/statistics.py",
    ],
}

Array = NDArray[np.float64]
#: Hits and rows of both groups, hits as arrays of one shape, to the lower and the upper limits of the difference.
Method = Callable[[NDArray[np.intp], int, NDArray[np.intp], int], tuple[Array, Array]]


def wilson(n: int) -> tuple[Array, Array]:
    """Wilson's limits for 0 to n hits."""
    p = np.arange(n + 1) / n
    centre, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return (centre - half) / (1 + Z**2 / n), (centre + half) / (1 + Z**2 / n)


def mid_p(n: int) -> tuple[Array, Array]:
    """Mid-P limits for 0 to n hits."""
    return rate_limits(np.arange(n + 1) / n, np.full(n + 1, n))


def _square_and_add(limits: Callable[[int], tuple[Array, Array]]) -> Method:
    """Newcombe's way from the limits of two rates to those of their difference."""

    def method(x: NDArray[np.intp], n: int, y: NDArray[np.intp], m: int) -> tuple[Array, Array]:
        (low_x, high_x), (low_y, high_y) = limits(n), limits(m)
        p, q = x / n, y / m
        down, up = np.hypot(p - low_x[x], high_y[y] - q), np.hypot(high_x[x] - p, q - low_y[y])
        return p - q - down, p - q + up

    return method


newcombe = _square_and_add(wilson)
ours = _square_and_add(mid_p)


def bootstrap(x: NDArray[np.intp], n: int, y: NDArray[np.intp], m: int) -> tuple[Array, Array]:
    """Percentiles of the resampled *gap*, as a folded interval."""
    rng = np.random.default_rng(0)
    low, high = np.empty(x.shape), np.empty(x.shape)
    first = rng.binomial(n, np.arange(n + 1)[:, None] / n, size=(n + 1, N_BOOTSTRAP)) / n
    second = rng.binomial(m, np.arange(m + 1)[:, None] / m, size=(m + 1, N_BOOTSTRAP)) / m
    for row in range(n + 1):
        gaps = np.abs(first[row] - second)
        low[row], high[row] = np.quantile(gaps, [0.025, 0.975], axis=1)
    return low, high


def centred_bootstrap(x: NDArray[np.intp], n: int, y: NDArray[np.intp], m: int) -> tuple[Array, Array]:
    """The gap -/+ the 95 % quantile of how far resampled rates lie from the rates (this project's former method)."""
    rng = np.random.default_rng(0)
    low, high = np.empty(x.shape), np.empty(x.shape)
    p, q = np.arange(n + 1) / n, np.arange(m + 1) / m
    first = rng.binomial(n, p[:, None], size=(n + 1, N_BOOTSTRAP)) / n - p[:, None]
    second = rng.binomial(m, q[:, None], size=(m + 1, N_BOOTSTRAP)) / m - q[:, None]
    for row in range(n + 1):
        reach = np.quantile(np.abs(first[row] - second), 0.95, axis=1)
        low[row], high[row] = np.abs(p[row] - q) - reach, np.abs(p[row] - q) + reach
    return np.maximum(low, 0.0), high


def two_groups(method: Method, sizes: Sequence[int], rates: Sequence[float]) -> dict[str, float]:
    """Exact coverage of the gap between two rates, and the mean width of the difference's interval within [-1, 1]."""
    from scipy.stats import binom

    (n, m), (p, q) = sizes, rates
    x, y = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    low, high = _limits(method, n, m)
    chance = binom.pmf(x, n, p) * binom.pmf(y, m, q)
    width = float((chance * (np.minimum(high, 1.0) - np.maximum(low, -1.0))).sum())
    inside = (low <= 0.0) & (high >= 0.0)
    least = np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high)))
    most = np.maximum(np.abs(low), np.abs(high))
    gap = abs(p - q)
    return {"coverage": float((chance * ((least <= gap + 1e-12) & (gap <= most + 1e-12))).sum()), "width": width}


@functools.lru_cache(maxsize=64)
def _limits(method: Method, n: int, m: int) -> tuple[Array, Array]:
    x, y = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    return method(x, n, y, m)


def best_worst_case(n: int, rare: float, other: float, *, least: float = 0.93, most: float = 0.99) -> float:
    """Highest coverage of 0 that any interval of a gap can have at rate ``other`` and keep the bars at ``rare``.

    Two groups of n rows with one rate. An interval is, for this question, the set of outcomes at which it leaves out 0.
    At ``rare`` that set must have a probability between 1 - ``most`` and 1 - ``least``; the one that costs least at
    ``other`` takes outcomes with few hits first, as far as their probability fits (a fractional knapsack, so that the
    bound holds for randomised intervals too).
    """
    from scipy.stats import binom

    counts = np.arange(n + 1)
    x, y = np.meshgrid(counts, counts, indexing="ij")
    chances = [(binom.pmf(x, n, p) * binom.pmf(y, n, p)).ravel() for p in (rare, other)]
    fits = chances[0] <= 1.0 - least  # an outcome that is likelier cannot be left out at all
    order = np.argsort(chances[1][fits] / chances[0][fits], kind="stable")
    rare_part, other_part = chances[0][fits][order], chances[1][fits][order]
    before = np.cumsum(rare_part) - rare_part
    share = np.clip((1.0 - most - before) / rare_part, 0.0, 1.0)
    return float(1.0 - share @ other_part)


def ordered_bound(n: int, rare: float, other: float, *, least: float = 0.93, most: float = 0.99) -> float:
    """The same for intervals that treat both groups alike and are ordered, as all that are in use.

    Ordered: where 0 is left out, it is left out of every outcome with more hits in the group that has more, or fewer in
    the other. Such an interval is a threshold for each number of hits in the group that has fewer, which does not fall
    with it. Outcomes with four hits or more in both groups are kept, which is the best for ``other``.
    """
    from scipy.stats import binom

    counts = np.arange(n + 2)  # nobody has n + 1 hits: that threshold leaves nothing out
    sides = []
    for rate in (rare, other):
        chances = binom.pmf(counts, n, rate)
        sides.append(2 * np.cumsum(chances[::-1])[::-1][:, None] * chances[:4])
    best = 0.0
    for thresholds in itertools.combinations_with_replacement(range(1, n + 2), 4):
        if all(threshold > fewer for fewer, threshold in enumerate(thresholds)):
            left_out = [sum(side[threshold, fewer] for fewer, threshold in enumerate(thresholds)) for side in sides]
            if 1.0 - most <= left_out[0] <= 1.0 - least:
                best = max(best, 1.0 - left_out[1])
    return best


def largest_gaps(n: int, rates: Sequence[float], *, runs: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Simulated coverage of the largest gap between several groups of n rows."""
    rng = np.random.default_rng(seed)
    truth, k = max(rates) - min(rates), len(rates)
    counts, often = np.unique(np.sort(rng.binomial(n, rates, size=(runs, k)), axis=1), axis=0, return_counts=True)
    found = {"before": [], "after": []}
    for row in counts / n:
        gaps = rng.binomial(n, row, size=(N_BOOTSTRAP // 2, k)) / n
        found["before"].append(np.quantile(np.ptp(gaps, axis=1), [0.025, 0.975]))
        found["after"].append(largest_gap_interval(Rates(row, np.full(k, float(n)), np.full(k, math.inf))))
    return {name: _covered(ends, truth, often) for name, ends in found.items()}


def _covered(ends: Sequence[Any], truth: float, often: Any = None) -> dict[str, float]:
    low, high = np.array(ends, dtype=np.float64).T
    inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
    return {
        "coverage": float(np.average(inside, weights=often)),
        "width": float(np.average(high - low, weights=often)),
    }


def _texts(kind: str, clusters: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
    """Absolute gaps of texts in clusters: effects of frames normal, skewed, skewed in unlike sizes, t."""
    sizes = 1 + rng.geometric(1 / 8, clusters) if kind == "uneven" else rng.integers(4, 16, clusters)
    index = np.repeat(np.arange(clusters), sizes)
    noise = rng.normal(size=len(index))
    if kind == "frames":
        return np.abs(rng.normal(0.02, 0.05, clusters)[index] + 0.05 * noise), index
    if kind == "heavy":
        return 0.05 * np.abs(rng.standard_t(3, clusters))[index] * np.exp(0.5 * noise - 0.125), index
    return 0.05 * np.exp(rng.normal(0.0, 0.6, clusters)[index] + 0.7 * noise), index


def _true_mean(kind: str) -> float:
    if kind == "frames":  # the mean of a folded normal distribution
        mean, std = 0.02, math.sqrt(2.0) * 0.05
        inner = std * math.sqrt(2.0 / math.pi) * math.exp(-(mean**2) / (2.0 * std**2))
        return inner + mean * math.erf(mean / (std * math.sqrt(2.0)))
    if kind == "heavy":  # the mean of a folded t with 3 degrees of freedom
        return 0.05 * 2.0 * math.sqrt(3.0) / math.pi
    return 0.05 * math.exp((0.6**2 + 0.7**2) / 2.0)


def cced_cells(kind: str, clusters: int, *, runs: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Simulated coverage of CCED with clusters of texts."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Any]] = {"before": [], "after": []}
    for _ in range(runs):
        values, index = _texts(kind, clusters, rng)
        sums, sizes = np.bincount(index, values), np.bincount(index)
        drawn = rng.multinomial(clusters, np.full(clusters, 1.0 / clusters), size=400)
        found["before"].append(np.quantile((drawn @ sums) / (drawn @ sizes), [0.025, 0.975]))
        found["after"].append(
            mean_statistic_interval(values[:, None], lambda m: m[:, 0], clusters=index, positive=True)
        )
    return {name: _covered(ends, _true_mean(kind)) for name, ends in found.items()}


def seat_cells(words: int, d: float, *, runs: int, sentences: int = 7, seed: int = 0) -> dict[str, dict[str, float]]:
    """Simulated coverage of SEAT's effect size with so many words a side, each in several sentences."""
    rng = np.random.default_rng(seed)
    between, within = 1.0, 0.5
    spread = math.sqrt(between**2 + within**2)
    # d is over the spread of both sides together, which the gap itself widens.
    gap = d * spread / math.sqrt(1.0 - d**2 / 4.0) if d else 0.0
    labels = np.repeat(np.arange(words), sentences)
    found: dict[str, list[Any]] = {"before": [], "after": []}
    for _ in range(runs):
        levels = rng.normal(0.0, between, (2, words))
        x, y = (levels[:, labels] + rng.normal(0.0, within, (2, len(labels)))) + np.array([[gap], [0.0]])
        drawn = rng.integers(0, words, (2, 300, words))
        sides = [side.reshape(words, sentences)[draw] for side, draw in zip((x, y), drawn, strict=True)]
        both = np.concatenate(sides, axis=1).reshape(300, -1)
        sizes = (sides[0].mean(axis=(1, 2)) - sides[1].mean(axis=(1, 2))) / both.std(axis=1, ddof=1)
        found["before"].append(np.quantile(sizes, [0.025, 0.975]))
        found["after"].append(effect(x, y, x_words=labels, y_words=labels + words).interval)
    return {name: _covered(ends, d) for name, ends in found.items()}


def seed_cells(seeds: int, mean: float, *, runs: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Simulated coverage of the mean of a rate over seeds, whose spread is .05 (a beta distribution)."""
    size = mean * (1.0 - mean) / 0.05**2 - 1.0
    values = np.random.default_rng(seed).beta(mean * size, (1.0 - mean) * size, (runs, seeds))
    found = {"before": [mean_interval(row) for row in values]}
    found["after"] = [mean_interval(row, low=0.0, high=1.0) for row in values]
    return {name: _covered(ends, mean) for name, ends in found.items()}


def study(*, quick: bool = False) -> dict[str, Any]:
    """All cells."""
    runs = 200 if quick else 4000
    pairs = [(p, q) for place, p in enumerate(RATES) for q in RATES[place:]]
    sizes = SIZES[:3] if quick else SIZES
    methods = {"percentile": bootstrap, "before": centred_bootstrap, "newcombe": newcombe, "after": ours}
    return {
        "two_groups": [
            {"n": list(size), "rates": list(pair)}
            | {name: two_groups(method, size, pair) for name, method in methods.items()}
            for size in sizes
            for pair in sorted({pair for one in pairs for pair in ([one] if size[0] == size[1] else [one, one[::-1]])})
        ],
        "bound": {
            f"{n}: {rare}, {other}": best_worst_case(n, rare, other)
            for n in (8, 20)
            for rare, other in ((0.02, 0.15), (0.02, 0.5))
        },
        "largest_gap": [
            {"n": n, "rates": list(rates)} | largest_gaps(n, rates, runs=runs // (8 if n == 200 else 4))
            for n in (8, 20, 70, 200)
            for rates in MANY
        ],
        "cced": [
            {"kind": kind, "clusters": clusters} | cced_cells(kind, clusters, runs=runs)
            for kind in TEXTS
            for clusters in CLUSTERS
        ],
        "seat": [{"words": words, "d": d} | seat_cells(words, d, runs=runs // 2) for words in WORDS for d in EFFECTS],
        "seeds": [{"seeds": n, "mean": mean} | seed_cells(n, mean, runs=runs) for n in SEEDS for mean in LEVELS],
    }


def _name(cell: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in cell.items() if not isinstance(value, dict))


def misses(results: dict[str, Any]) -> list[str]:
    """Cells of which the present intervals miss a bar, with what they reach."""
    found = []
    for kind, (least, most) in BARS.items():
        for cell in results[kind]:
            covered, width = cell["after"]["coverage"], cell["after"]["width"]
            if not least <= covered <= most:
                found.append(f"{kind}: {_name(cell)}: coverage {covered:.3f}")
            if "newcombe" in cell and width > WIDTH * cell["newcombe"]["width"]:
                found.append(f"{kind}: {_name(cell)}: {width / cell['newcombe']['width']:.2f} x Newcombe's width")
    return found


def tables(results: dict[str, Any]) -> str:
    """Coverage (mean width; two groups: / Newcombe's) of every cell, a table per kind; missed coverages are bold."""
    parts = []
    for kind, (least, most) in BARS.items():
        cells = results[kind]
        methods = [key for key, value in cells[0].items() if isinstance(value, dict)]
        rows = [[kind.replace("_", " "), *methods]]
        for cell in cells:
            row = [_name(cell)]
            for method in methods:
                covered, width = cell[method]["coverage"], cell[method]["width"]
                # The former interval of two groups is one of the gap, at least 0; Newcombe's is one of the difference.
                share = f", {width / cell['newcombe']['width']:.2f}" if "newcombe" in cell and method == "after" else ""
                text = f"{covered:.3f}" if least <= covered <= most else f"**{covered:.3f}**"
                row.append(f"{text} ({width:.3f}{share})")
            rows.append(row)
        parts.append(markdown_table(rows, trusted=True))
    bounds = [f"n = {cell}: {value:.3f}" for cell, value in results["bound"].items()]
    told = "Most that any interval can cover at the second rate that keeps the bars at the first: " + "; ".join(bounds)
    missed = [f"- {line}" for line in misses(results)]
    return "\n\n".join([*parts, f"{told}.", "\n".join(["Misses:", "", *missed])])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer cells and runs; nothing is written")
    parser.add_argument("--output", type=Path, default=FILE, help="where the results go")
    options = parser.parse_args(arguments)
    start = time.process_time()
    results = study(quick=options.quick)
    print(tables(results))
    print(f"\n{time.process_time() - start:.0f} s of processor time")
    if not options.quick:
        write_results(options.output, CONFIG, results)


if __name__ == "__main__":
    main()
