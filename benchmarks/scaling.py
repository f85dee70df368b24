"""How time and memory grow with the input: fitted exponents of the works whose inputs can be long.

`python -m benchmarks.scaling` measures every case at four sizes and writes `results/scaling.json`. An exponent is the
slope of log(cost) over log(size): 1 is linear, 2 quadratic. All must stay below the bar; shown beside is that over the
two largest, where what a call costs anyway hides least. Time is that of the processor, the least of several rounds, for
other jobs of a machine only add to it; memory is the peak that Python's allocator and numpy's arrays reach in one more
call.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.study import RESULTS, write_results

#: Largest accepted exponent.
BAR = 1.2
#: Timed calls per size.
REPEATS = 5
#: Sizes of a quick run, in parts of those of a whole one.
QUICK = 8

CONFIG: dict[str, Any] = {
    "bar": BAR,
    "repeats": REPEATS,
    "sources": [
        "benchmarks/scaling.py",
        "hf_fairness/scores/bias_score.py",
        "hf_fairness/measure/bias_*.py",
        "hf_fairness/augment/*.py",
        "hf_fairness/scores/group*.py",
        "hf_fairness/report/merge.py",
        "hf_fairness/alignment/*.py",
    ],
}

Work = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """One work over inputs of growing size.

    Attributes:
        name: of the case.
        over: what a size counts.
        sizes: at least four, growing by the same factor.
        prepare: makes the input of a size and returns the work on it.
    """

    name: str
    over: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], Work]


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Slope of the least-squares line of log(cost) over log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-12)), 1)[0])


def _bias_score(n: int) -> Work:
    from hf_fairness.measure.encoder.bias_direction import bias_direction
    from hf_fairness.measure.encoder.bias_score import word_table

    words = [f"word{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}" for i in range(100)]
    draws = np.random.default_rng(0).normal(size=(len(words) + 4, 50))
    vectors = dict(zip([*words, "he", "she", "man", "woman"], draws, strict=True))
    direction = bias_direction(vectors, [("he", "she"), ("man", "woman")])
    text = " ".join(words[i % len(words)] for i in range(n))
    return lambda: word_table(text, vectors, direction=direction)


def _swap(unit: str) -> Callable[[int], Work]:
    def prepare(n: int) -> Work:
        from hf_fairness.augment import CounterfactualSwap

        swap, text = CounterfactualSwap("text"), (unit * (n // len(unit) + 1))[:n]
        return lambda: swap({"text": [text]})

    return prepare


def _groups(n_groups: int, n_rows: int) -> Work:
    from hf_fairness.scores.groups import equalized_odds

    groups = [f"group {i % n_groups}" for i in range(n_rows)]
    references = [i // n_groups % 2 for i in range(n_rows)]  # both labels in every group
    predictions = np.random.default_rng(0).integers(0, 2, n_rows).tolist()
    return lambda: equalized_odds(predictions, references, groups=groups, n_bootstrap=200)


def _update_card(n: int) -> Work:
    from hf_fairness.report.merge import update_card

    card = "# Card\n" + "<!-- " * (n // 5)
    return lambda: update_card(card, "## Bias\n\nmeasured\n")


def _aligned(n_rows: int, n_words: int) -> Work:
    from hf_fairness.alignment.fast_align import fast_align

    draws = np.random.default_rng(0)
    source = [[f"s{i}" for i in draws.integers(0, 500, n_words)] for _ in range(n_rows)]
    target = [[f"t{word[1:]}" for word in words] for words in source]
    return lambda: fast_align(source, target)


CASES = (
    Case("bias score, word vectors", "words of one text", (2500, 5000, 10_000, 20_000), _bias_score),
    Case("swap, repeated term", "characters of one text", (12_500, 25_000, 50_000, 100_000), _swap("he said she ")),
    Case("swap, term without spaces", "characters of one text", (12_500, 25_000, 50_000, 100_000), _swap("he/")),
    Case("swap, addresses", "characters of one text", (12_500, 25_000, 50_000, 100_000), _swap("he@site.org/she?a=b ")),
    Case("swap, one address", "characters of one text", (12_500, 25_000, 50_000, 100_000), _swap("www.he.she.")),
    Case("group metrics over groups", "groups", (2000, 4000, 8000, 16_000), lambda n: _groups(n, 4 * n)),
    Case("group metrics over rows", "rows", (25_000, 50_000, 100_000, 200_000), lambda n: _groups(8, n)),
    Case("update_card, comments", "characters of a card", (12_500, 25_000, 50_000, 100_000), _update_card),
    Case("fast_align over rows", "sentence pairs", (1000, 2000, 4000, 8000), lambda n: _aligned(n, 15)),
    Case("fast_align, one pair", "words of a side", (375, 750, 1500, 3000), lambda n: _aligned(1, n)),
)


def measure(case: Case, *, quick: bool = False, repeats: int = REPEATS) -> dict[str, Any]:
    """Costs of one case at every size.

    Args:
        case: of :data:`CASES`.
        quick: an eighth of every size.
        repeats: timed calls per size, after one that is not counted.

    Returns:
        ``seconds`` and ``peak_mib`` per size; ``time_exponent`` and ``memory_exponent`` over all sizes, and
        ``..._last`` over the two largest; ``over``, ``sizes``.
    """
    sizes = tuple(size // QUICK for size in case.sizes) if quick else case.sizes
    works = [case.prepare(size) for size in sizes]
    seconds = [float("inf")] * len(works)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # groups of two rows, a pair that is too long: sizes are the point here
        for turn in range(-1, repeats):  # sizes in turn, so that a busy minute of the machine hits all alike
            for place, work in enumerate(works):
                start = time.process_time()
                work()
                if turn >= 0:
                    seconds[place] = min(seconds[place], time.process_time() - start)
        peaks = [_peak(work) for work in works]
    found: dict[str, Any] = {"over": case.over, "sizes": list(sizes), "seconds": seconds, "peak_mib": peaks}
    for key, costs in (("time_exponent", seconds), ("memory_exponent", peaks)):
        found[key], found[f"{key}_last"] = exponent(sizes, costs), exponent(sizes[-2:], costs[-2:])
    return found


def _peak(work: Work) -> float:
    """Most memory that one call holds at a time, in MiB."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def misses(results: dict[str, dict[str, Any]], bar: float = BAR) -> list[str]:
    """What grows faster than the bar allows, in words."""
    return [
        f"{name}: {key} over {row['over']} is {row[key]:.2f}, expected < {bar}"
        for name, row in results.items()
        for key in ("time_exponent", "memory_exponent")
        if not row[key] < bar
    ]


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results for a terminal."""
    lines = [f"{'case':<28} {'over':<24} {'time':>6} {'last':>6} {'memory':>7} {'last':>6}  at the largest size"]
    for name, row in results.items():
        numbers = [row[f"{kind}_exponent{end}"] for kind in ("time", "memory") for end in ("", "_last")]
        lines.append(
            f"{name:<28} {row['over']:<24} {numbers[0]:>6.2f} {numbers[1]:>6.2f} {numbers[2]:>7.2f} {numbers[3]:>6.2f}"
            f"  {row['sizes'][-1]}: {row['seconds'][-1]:.2f} s, {row['peak_mib'][-1]:.0f} MiB"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the cases, print the table, write the results; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="TEXT", help="cases whose name holds this text; nothing is written")
    parser.add_argument("--quick", action="store_true", help="an eighth of every size; nothing is written")
    options = parser.parse_args(arguments)
    results: dict[str, dict[str, Any]] = {}
    for case in CASES:
        if options.only is None or options.only in case.name:
            print(f"{case.name} ...", file=sys.stderr, flush=True)
            results[case.name] = measure(case, quick=options.quick)
    print(table(results))
    if not options.quick and options.only is None:
        print(f"Results: {write_results(RESULTS / 'scaling.json', CONFIG, results)}")
    missed = misses(results)
    print("\n".join(missed), file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
