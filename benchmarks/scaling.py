"""How time and memory grow with the input: fitted exponents of the works whose inputs can be long.

`python -m benchmarks.scaling` measures every case and writes `results/scaling.json`: rows from a thousand to a million,
texts from a hundred characters to a million, one process and two. `python -m benchmarks.readme` makes the table and the
pictures of it. An exponent is the slope of log(cost) over log(size): 1 is linear, 2 quadratic. All must stay below the
bar; shown beside is that over the two largest sizes, where what a call costs anyway hides least. Each round has
exponents of its own, and the interval goes from the least to the greatest of them: it holds the median of such rounds
in 15 of 16 cases. A case whose whole interval lies above 1.1 is called super-linear, and that is a miss.

Time is that of the processor, of cases in several processes that of the clock; of a size it is the least of all rounds,
for other jobs of a machine only add to it. As in ``timeit``, Python's search for cycles is off meanwhile: it goes
through all that a process holds. Where a call outgrows the processor's caches its cost makes a step, after which it
grows as before: so the sizes of texts are thrice, not ten times the one before. Memory is the peak that Python's
allocator and numpy's arrays reach in one more call, of sizes that do not take too long for that. About seven minutes of
two cores.
"""

from __future__ import annotations

import argparse
import functools
import gc
import shutil
import sys
import tempfile
import time
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.study import RESULTS, write_results

#: Largest accepted exponent, and where the interval of one must begin for its case to be called super-linear.
BAR, SUPER_LINEAR = 1.2, 1.1
#: Timed calls per size.
REPEATS = 5
#: A quick run has the three largest sizes, in such parts.
QUICK = 16
#: Seconds of a call whose memory is still traced, which takes some times as long.
TRACED = 1.5
#: Rows of a batch, as ``datasets.map`` hands them over.
BATCH = 1000

CONFIG: dict[str, Any] = {
    "bar": BAR,
    "super_linear": SUPER_LINEAR,
    "repeats": REPEATS,
    "sources": [
        "benchmarks/scaling.py",
        "hf_fairness/scores/bias_score.py",
        "hf_fairness/scores/bias_table.py",
        "hf_fairness/measure/encoder/bias_*.py",
        "hf_fairness/measure/classifier/grand.py",
        "hf_fairness/measure/classifier/importance.py",
        "hf_fairness/measure/classifier/layer_gradients.py",
        "hf_fairness/augment/*.py",
        "hf_fairness/filters/source.py",
        "hf_fairness/scores/group*.py",
        "hf_fairness/scores/labels.py",
        "hf_fairness/report/merge.py",
        "hf_fairness/alignment/*.py",
        "hf_fairness/maps.py",
        "hf_fairness/_tables.py",
        "hf_fairness/cli/shards.py",
    ],
}

Work = Callable[[], Any]
#: Makes the input of a size and returns the work on it.
Prepare = Callable[[int], Work]


@dataclass(frozen=True)
class Case:
    """One work over inputs of growing size.

    Attributes:
        name: of the case.
        over: what a size counts.
        sizes: at least three, growing by about the same factor.
        prepare: makes the input of a size and returns the work on it.
        clock: seconds, of the processor or of the clock.
    """

    name: str
    over: str
    sizes: tuple[int, ...]
    prepare: Prepare
    clock: Callable[[], float] = time.process_time


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Slope of the least-squares line of log(cost) over log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-12)), 1)[0])


def _sentences(n: int) -> list[str]:
    from hf_fairness.demo import corpus

    texts = corpus()
    return [texts[place % len(texts)] for place in range(n)]


def _long(unit: str, n: int) -> str:
    """A text of so many characters."""
    return (unit * (n // len(unit) + 1))[:n]


def _batches(texts: Sequence[str]) -> Iterator[dict[str, list[str]]]:
    for start in range(0, len(texts), BATCH):
        yield {"text": list(texts[start : start + BATCH])}


def _through(make: Callable[[], Sequence[Callable[[Any], Any]]]) -> Prepare:
    """Rows, batch by batch, through functions for ``datasets.map`` one after the other; nothing is kept."""

    def prepare(n: int) -> Work:
        functions, texts = make(), _sentences(n)

        def work() -> None:
            for batch in _batches(texts):
                for function in functions:
                    made = function(batch)
                    batch = {**batch, **made} if isinstance(made, dict) else batch

        return work

    return prepare


def _one_text(make: Callable[[], Sequence[Callable[[Any], Any]]], unit: str = "") -> Prepare:
    """One text of a growing length through the first of some functions."""

    def prepare(n: int) -> Work:
        function, text = make()[0], _long(unit or " ".join(_sentences(40)) + " ", n)
        return lambda: function({"text": [text]})

    return prepare


def _swap() -> Sequence[Callable[[Any], Any]]:
    from hf_fairness.augment import CounterfactualSwap

    return [CounterfactualSwap("text")]


def _filters() -> Sequence[Callable[[Any], Any]]:
    from hf_fairness.filters import OneGroup, SourceGender

    return [SourceGender("text"), OneGroup()]


def _distilled() -> Sequence[Callable[[Any], Any]]:
    """The look-up of a bias score, in a table of the words of the sentences with numbers drawn."""
    from hf_fairness.demo import corpus
    from hf_fairness.encoders import WORD
    from hf_fairness.measure import BiasTable, DistilledBiasScore
    from hf_fairness.measure.encoder.bias_words import ExclusionList
    from hf_fairness.scores.bias_table import Columns

    words = tuple(sorted({word.lower() for text in corpus() for word in WORD.findall(text)})[::2])
    load, lean = np.random.default_rng(0).normal(size=(2, len(words) + 2))
    listed = ExclusionList(frozenset({"he", "she"}), frozenset())
    return [DistilledBiasScore("text", BiasTable(words, Columns(load, lean, 0.0), listed, {"groups": ["a", "b"]}))]


def _arrow(n: int) -> Work:
    """One table of all rows."""
    import pyarrow as pa

    swap, rows = _swap()[0], pa.table({"text": _sentences(n)})
    return lambda: swap.arrow(rows)  # type: ignore[attr-defined]


def _mapped(processes: int | None) -> Prepare:
    """``datasets.map`` from a folder into the cache."""

    def prepare(n: int) -> Work:
        from datasets import Dataset, disable_progress_bars

        disable_progress_bars()
        folder = tempfile.TemporaryDirectory()
        Dataset.from_dict({"text": _sentences(n)}).save_to_disk(folder.name)
        rows, swap = Dataset.load_from_disk(folder.name), _swap()[0]

        def work(folder: Any = folder) -> None:  # which lives as long as the work does
            made = rows.map(swap, batched=True, num_proc=processes, load_from_cache_file=False)
            made.cleanup_cache_files()

        return work

    return prepare


def _shards(n: int) -> Work:
    """What ``augment --num_shards 4`` does, one shard after the other."""
    from benchmarks import engines

    folder = Path(tempfile.mkdtemp())
    source = engines.write_source(_sentences(n), folder / "rows")

    def work() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as output:
            engines.shards(engines.steps("swap"), source, Path(output), number=4)

    weakref.finalize(work, shutil.rmtree, folder)
    return work


def _example_scores(name: str) -> Prepare:
    """A score of examples by a model of one layer of 64."""

    def prepare(n: int) -> Work:
        from datasets import Dataset

        from benchmarks.models import random_bert
        from hf_fairness.measure.classifier.importance import example_scores
        from hf_fairness.measure.classifier.pairs import read_pairs

        model, tokenizer = random_bert("BertForSequenceClassification", width=64, layers=1)
        columns = {"text": _sentences(n), "label": [place % 2 for place in range(n)]}
        rows = Dataset.from_dict({**columns, "text_counterfactual": _swap()[0](columns)["text_counterfactual"]})
        pairs = read_pairs(rows)
        return lambda: example_scores(model, rows, pairs, names=[name], tokenizer=tokenizer)

    return prepare


def _bias_score(n: int) -> Work:
    from hf_fairness.measure.encoder.bias_direction import bias_direction
    from hf_fairness.measure.encoder.bias_score import word_table

    words = [f"word{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}" for i in range(100)]
    draws = np.random.default_rng(0).normal(size=(len(words) + 4, 50))
    vectors = dict(zip([*words, "he", "she", "man", "woman"], draws, strict=True))
    direction = bias_direction(vectors, [("he", "she"), ("man", "woman")])
    text = " ".join(words[i % len(words)] for i in range(n))
    return lambda: word_table(text, vectors, direction=direction)


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


ROWS = (1000, 10_000, 100_000, 1_000_000)
CHARACTERS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_TEXT = "characters of one text"
CASES = (
    Case("swap", "rows", ROWS, _through(_swap)),
    Case("swap, one table by f.arrow", "rows", ROWS, _arrow),
    Case("swap by datasets.map, 1 process", "rows", ROWS, _mapped(None), time.perf_counter),
    Case("swap by datasets.map, 2 processes", "rows", ROWS, _mapped(2), time.perf_counter),
    Case("swap in 4 shards", "rows", ROWS[:3], _shards),
    Case("source filter", "rows", ROWS, _through(_filters)),
    Case("distilled bias score", "rows", ROWS, _through(_distilled)),
    Case("group metrics over rows", "rows", ROWS, lambda n: _groups(8, n)),
    Case("GE", "rows", (1000, 2000, 4000, 8000), _example_scores("ge")),
    Case("GraNd", "rows", (1000, 2000, 4000, 8000), _example_scores("grand")),
    Case("fast_align over rows", "sentence pairs", (1000, 2000, 4000, 8000), lambda n: _aligned(n, 15)),
    Case("group metrics over groups", "groups", (2000, 4000, 8000, 16_000), lambda n: _groups(n, 4 * n)),
    Case("swap, prose", _TEXT, CHARACTERS, _one_text(_swap)),
    Case("swap, repeated term", _TEXT, CHARACTERS, _one_text(_swap, "he said she ")),
    Case("swap, term without spaces", _TEXT, CHARACTERS, _one_text(_swap, "he/")),
    Case("swap, addresses", _TEXT, CHARACTERS, _one_text(_swap, "he@site.org/she?a=b ")),
    Case("swap, one address", _TEXT, CHARACTERS, _one_text(_swap, "www.he.she.")),
    Case("source filter, one text", _TEXT, CHARACTERS, _one_text(_filters)),
    Case("distilled bias score, one text", _TEXT, CHARACTERS, _one_text(_distilled)),
    Case("bias score, word vectors", "words of one text", (200, 600, 2000, 6000, 20_000, 60_000, 200_000), _bias_score),
    Case("update_card, comments", "characters of a card", CHARACTERS, _update_card),
    Case(
        "fast_align, a pair left out as too long", "words of a side", (1000, 10_000, 100_000), lambda n: _aligned(1, n)
    ),
)


def measure(case: Case, *, quick: bool = False, repeats: int = REPEATS) -> dict[str, Any]:
    """Costs of one case at every size.

    Args:
        case: of :data:`CASES`.
        quick: small parts of the three largest sizes.
        repeats: timed calls per size, after one that is not counted (of the largest, none).

    Returns:
        ``seconds`` per size; ``peak_mib`` of the first sizes; ``time_exponent`` and ``memory_exponent`` over all these,
        and ``..._last`` over the two largest; ``time_interval``, ``time_interval_last``: least and greatest exponent of
        the rounds; ``over``, ``sizes``.
    """
    sizes = tuple(size // QUICK for size in case.sizes[-3:]) if quick else case.sizes
    works = [case.prepare(size) for size in sizes]
    rounds = np.zeros((repeats, len(works)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # groups of two rows, a pair that is too long: sizes are the point here
        for work in works[:-1]:
            work()
        for turn in range(repeats):  # sizes in turn, so that a busy minute of the machine hits all alike
            for place, work in enumerate(works):
                gc.disable()
                start = case.clock()
                work()
                rounds[turn, place] = case.clock() - start
                gc.enable()
        seconds = rounds.min(axis=0).tolist()
        n_traced = max(2, sum(took < TRACED for took in seconds))
        peaks = [_peak(work) for work in works[:n_traced]]
    found: dict[str, Any] = {"over": case.over, "sizes": list(sizes), "seconds": seconds, "peak_mib": peaks}
    for end, part in (("", slice(None)), ("_last", slice(-2, None))):
        slopes = [exponent(sizes[part], each[part]) for each in rounds]
        found[f"time_exponent{end}"] = exponent(sizes[part], seconds[part])
        found[f"time_interval{end}"] = [min(slopes), max(slopes)]
        found[f"memory_exponent{end}"] = exponent(sizes[:n_traced][part], peaks[part])
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


def misses(results: Mapping[str, Mapping[str, Any]], bar: float = BAR, super_linear: float = SUPER_LINEAR) -> list[str]:
    """What grows faster than the bar allows, or faster than its input for sure, in words."""
    missed = [
        f"{name}: {key} over {row['over']} is {row[key]:.2f}, expected < {bar}"
        for name, row in results.items()
        for key in ("time_exponent", "memory_exponent")
        if not row[key] < bar
    ]
    return missed + [
        f"{name}: {key} over {row['over']} is [{row[key][0]:.2f}, {row[key][1]:.2f}]: super-linear"
        for name, row in results.items()
        for key in ("time_interval", "time_interval_last")
        if key in row and row[key][0] > super_linear
    ]


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The results for a terminal."""
    lines = [f"{'case':<34} {'over':<24} {'time':>18} {'two largest':>18} {'memory':>7} {'last':>6}  largest size"]
    for name, row in results.items():
        times = [f"{row[f'time_exponent{end}']:.2f} {_ends(row[f'time_interval{end}'])}" for end in ("", "_last")]
        memory = [f"{row[f'memory_exponent{end}']:.2f}" for end in ("", "_last")]
        lines.append(
            f"{name:<34} {row['over']:<24} {times[0]:>18} {times[1]:>18} {memory[0]:>7} {memory[1]:>6}"
            f"  {row['sizes'][-1]:,}: {row['seconds'][-1]:.2f} s, {row['peak_mib'][-1]:.0f} MiB"
        )
    return "\n".join(lines)


def _ends(interval: Sequence[float]) -> str:
    return f"[{interval[0]:.2f}, {interval[1]:.2f}]"


def pictures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Seconds over size on logarithmic axes, as SVG: all that is measured over rows, and all over one text."""
    from hf_fairness.report.plots import GREY, GROUPS, inline_svg, standalone

    def paint(axes: Any, cases: Mapping[str, Mapping[str, Any]]) -> None:
        for number, (name, row) in enumerate(cases.items()):
            color, marker = GROUPS[number % len(GROUPS)]
            style = ("-", "--", ":")[number // len(GROUPS) % 3]
            axes.loglog(row["sizes"], row["seconds"], style, color=color, marker=marker, markersize=3, label=name)
        ends = np.array([min(row["sizes"][0] for row in cases.values()), max(r["sizes"][-1] for r in cases.values())])
        axes.loglog(ends, 1e-6 * ends, color=GREY, linewidth=0.7, label="a microsecond each")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.6f}".rstrip("0").rstrip("."))
        axes.set_xlabel(", ".join(dict.fromkeys(row["over"] for row in cases.values())))
        axes.set_ylabel("seconds")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    drawn = {}
    for part, wanted in (("rows", False), ("texts", True)):
        cases = {
            name: row for name, row in results.items() if row["over"].startswith(("characters", "words")) == wanted
        }
        about = f"Seconds over size, on logarithmic axes: {', '.join(cases)}"
        drawn[part] = standalone(
            inline_svg(functools.partial(paint, cases=cases), (7.2, 3.6), f"scaling-{part}", about)
        )
    return drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the cases, print the table, write the results; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="TEXT", help="cases whose name holds this text; nothing is written")
    parser.add_argument("--quick", action="store_true", help="small parts of the largest sizes; nothing is written")
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
