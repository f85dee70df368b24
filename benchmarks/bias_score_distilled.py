"""How near a distilled bias score comes to the exact one, and how fast it is: MiniLM on news sentences.

    python -m benchmarks.bias_score_distilled [--quick]

A table is distilled from some thousand sentences; others, drawn at random too, are scored exactly and by the table.
Beside it stands what is simpler: the mean |bias x importance| of each word alone, the exact score of the model's input
embeddings (word vectors out of context), and the number of words. Speed is texts per second that one core gives to the
process (CPU time, one thread), median of rounds in turn. A minute of one core that nobody else uses.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.runner import FOLDER
from benchmarks.study import RESULTS, write_results
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_fixed

DATA = FOLDER.parent.parent / "shared" / "data" / "gfst"
CONFIG: dict[str, Any] = {
    "n_distilled": 8000,
    "n_test": 1500,
    "n_exact_timed": 200,
    "rounds": 5,
    "seed": 0,
    "sources": [
        "benchmarks/bias_score_distilled.py",
        "hf_fairness/measure/encoder/bias_*.py",
        "hf_fairness/scores/bias_score.py",
        "hf_fairness/scores/bias_table.py",
    ],
}
TABLE, LOAD, INPUT, LENGTH = "table", "mean load of the words alone", "input embeddings", "number of words"


def study(quick: bool = False) -> dict[str, Any]:
    """Fidelity of each score on sentences that no table was made of, and speeds."""
    import torch

    from hf_fairness.demo import minilm_path
    from hf_fairness.encoders import as_encoder, input_embeddings
    from hf_fairness.measure import BiasScore, BiasTable, DistilledBiasScore
    from hf_fairness.measure.encoder.bias_scorer import make_scorer

    n_distilled, n_test = (CONFIG[name] // (5 if quick else 1) for name in ("n_distilled", "n_test"))
    paths = sorted(DATA.glob("*.en"))
    lines = sorted({line for path in paths for line in path.read_text(encoding="utf-8").splitlines()})
    random.Random(CONFIG["seed"]).shuffle(lines)
    train, test = lines[:n_distilled], lines[n_distilled : n_distilled + n_test]
    torch.set_num_threads(1)
    encoder = as_encoder(minilm_path(), device="cpu", show_progress=False)
    exact = BiasScore("text", encoder)
    table = BiasTable.from_encoder(make_scorer(encoder, direction=exact.direction), train)
    with tempfile.TemporaryDirectory() as folder:
        file = table.save(Path(folder, "table.npz"))
        distilled, size = DistilledBiasScore("text", file), file.stat().st_size
    truth = absolute(exact, test)
    load_alone = replace(table, columns=replace(table.columns, mix=(1.0, 0.0)))
    others = {
        TABLE: absolute(distilled, test),
        LOAD: load_alone.score(test)["absolute"].tolist(),
        INPUT: absolute(BiasScore("text", input_embeddings(encoder)), test),
        LENGTH: [float(len(text.split())) for text in test],
    }
    from hf_fairness.scores.bias_table import fidelity

    return {
        "fidelity": {name: fidelity(truth, values) for name, values in others.items()},
        "card": {name: table.card[name] for name in ("n_texts", "n_words", "n_words_met", "fidelity")},
        "unknown_words": float(table.score(test)["unknown"].mean()),
        "file_bytes": size,
        "texts_per_core_second": speeds(
            {
                "exact": (exact, test[: CONFIG["n_exact_timed"] // (4 if quick else 1)]),
                "distilled": (distilled, lines[:20_000]),
            }
        ),
    }


def absolute(function: Callable[[Any], Any], texts: Sequence[str]) -> list[float]:
    """Absolute scores by a map function."""
    return list(function({"text": list(texts)})["text_bias_absolute"])


def speeds(works: Mapping[str, tuple[Callable[[Any], Any], Sequence[str]]]) -> dict[str, Any]:
    """Texts per CPU-second: median, least and greatest of rounds, after one that does not count."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(-1, CONFIG["rounds"]):
        for name, (function, texts) in works.items():
            start = time.process_time()
            for first in range(0, len(texts), 1000):
                function({"text": texts[first : first + 1000]})
            if turn >= 0:
                found[name].append(len(texts) / (time.process_time() - start))
    return {
        name: {"median": statistics.median(each), "min": min(each), "max": max(each)} for name, each in found.items()
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """What the table must do at least: better than chance and than each simpler score by rank, and far faster."""
    own, speed = results["fidelity"][TABLE], results["texts_per_core_second"]
    missed = [
        f"{name}: Spearman {each['spearman']:.3f}, the table {own['spearman']:.3f}"
        for name, each in results["fidelity"].items()
        if name in (INPUT, LENGTH) and each["spearman"] >= own["spearman_ci95"][0]
    ]
    if own["top_found_ci95"][0] <= own["top"]:
        missed.append(f"the table finds {own['top_found']:.2f} of the highest texts, no more than chance")
    if speed["distilled"]["median"] < 50 * speed["exact"]["median"]:
        missed.append(f"the table scores {speed['distilled']['median']:.0f} texts a second, not 50 times the exact")
    return missed


def table(results: Mapping[str, Any]) -> str:
    """Fidelity by score; below it what the table is and how fast."""
    rows = [["score", "Spearman with the exact score (1)", "share of the top 5 % found (1)"]]
    for name, each in results["fidelity"].items():
        pairs = ((each[key], each[f"{key}_ci95"]) for key in ("spearman", "top_found"))
        rows.append([name, *(format_fixed(value, interval) for value, interval in pairs)])
    card, speed = results["card"], results["texts_per_core_second"]
    told = {name: f"{each['median']:,.0f} ({each['min']:,.0f} to {each['max']:,.0f})" for name, each in speed.items()}
    lines = [
        f"{results['fidelity'][TABLE]['n']:,} news sentences that the table was not made of; it was distilled from",
        f"{card['n_texts']:,}, holds {card['n_words']:,} words ({results['file_bytes'] / 1e3:,.0f} kB) and lacks",
        f"{100 * results['unknown_words']:.1f} % of a sentence's. Intervals are over sentences. Texts per second and",
        f"core: exact {told['exact']}, by the table {told['distilled']}.",
    ]
    return f"{markdown_table(rows, trusted=True)}\n\n" + "\n".join(lines)


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bias_score_distilled", description="A distilled score.")
    parser.add_argument("--quick", action="store_true", help="a fifth of the sentences; writes nothing")
    options = parser.parse_args()
    results = study(options.quick)
    print(table(results), *misses(results), sep="\n")
    if not options.quick:
        write_results(RESULTS / "bias_score_distilled.json", CONFIG, results)


if __name__ == "__main__":
    main()
