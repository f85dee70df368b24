"""One small run of each command, and the numbers of its report, by what they mean and not by where they are written.

The numbers are kept in ``golden/frozen/<run>.json``; ``support/freeze.py`` writes them anew. A path is made of the
same few words for every command:

    measures/<arm>/<set>/<measure>        "... ci95 low", "... ci95 high": the interval
    gaps/<arm> - <other>/<set>/<measure>  paired difference, interval, p-value
    counts/...                            rows, pairs, steps
    training/<arm>/...                    losses

The runs (`RUNS`) say how a command is called, the readers what its report holds: when a report gets another shape, its
reader changes and the numbers stay.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import gfst_world, kill_world

FOLDER = Path(__file__).parent.parent / "golden" / "frozen"
#: What is no change, of numbers that are not whole. Measured: two runs are equal to the last bit; two threads in place
#: of one, or AVX2 in place of AVX512, move numbers by up to 2e-4 of themselves (ends of intervals in ccd), most by less
#: than 1e-6 of themselves; p-values and seeded intervals are as steady as the rest.
RELATIVE, ABSOLUTE = 5e-4, 1e-6
#: Maker of the processor that the numbers come from: on another's, libraries multiply by other kernels, with which near
#: ties can fall otherwise in any run. (Not measured: none was at hand.)
VENDOR = "AuthenticAMD"
#: Vector units of the CPU on which a run gives its numbers; the others give them on all. They were frozen with AVX512.
#: With other units a near tie falls otherwise: with AVX2 one pair of ranks in an AUC of `data_diet_full`, without any
#: (`ATEN_CPU_CAPABILITY=default`) words of translations and pairs of ranks.
CPUS = {"gfst": ("AVX512", "AVX2"), "data_diet": ("AVX512", "AVX2"), "data_diet_full": ("AVX512",)}

#: Entries of reports that are no result (what was asked, when, with what), that hold one which stands elsewhere too, or
#: that split one further than anybody asks.
LEFT_OUT = {"meta", "versions", "seconds", "arguments", "by_seed", "examples", "pairs", "a", "b"}
LEFT_OUT |= {"professions", "category_genders"}


def numbers(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Path and value of every number of a tree; an interval under ``x_ci95`` or ``ci95`` has a low and a high end."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key not in LEFT_OUT and not key.endswith(("_runtime", "_per_second")):
                yield from numbers(value, f"{path}/{key}" if path else str(key))
    elif isinstance(tree, list):
        ends = ("low", "high") if path.endswith("ci95") else map(str, range(len(tree)))
        for end, value in zip(ends, tree, strict=True):
            yield from numbers(value, f"{path.replace('_ci95', ' ci95')}{' ' if path.endswith('ci95') else '/'}{end}")
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield path, tree if isinstance(tree, int) else float(f"{tree:.9g}")


# Readers: report of a command -> tree.


def read_audit(report: Mapping[str, Any]) -> dict[str, Any]:
    """Audits: of a model, and where there are, of the original and of the control; the training between them."""
    audits = report["results"]["audit"] if "results" in report else report
    tree: dict[str, Any] = {"measures": {}, "gaps": {}}
    for arm, name in (("after", "model"), ("before", "original"), ("control", "control")):
        if not audits.get(arm):
            continue
        audit = audits[arm]
        seat = audit.get("seat", {})
        sets = {"SEAT": {"mean_abs_effect_size": seat.get("mean_abs_effect_size")}}
        sets["SEAT"] |= {key: value for key, value in seat.items() if key.startswith("mean_abs_effect_size_")}
        sets |= {f"SEAT {test}": found for test, found in seat.get("tests", {}).items()}
        sets |= {f"CCED {name}": found for name, found in audit["cced"].items()}
        sets |= {f"probe {kind}": found for kind, found in audit["probe"].items()}
        sets["utility"] = audit.get("utility", {})
        for title, found in sets.items():
            gaps = {key.replace("_change", ""): value for key, value in found.items() if "_change" in key}
            tree["measures"].setdefault(name, {})[title] = {k: v for k, v in found.items() if "_change" not in k}
            tree["gaps"].setdefault(f"{name} - original", {})[title] = gaps
    if "results" not in report:
        return {**tree, "counts": {}, "training": {"loss": [], "rho": None, "sweep": {}}}
    training, counts = report["arms"]["after"], report["data"]
    tree["counts"] = {
        "n": training["n_train"],
        "n_validation": training["n_eval"],
        "n_held_out": counts["n_audit"],
        "n_in_evaluation": counts["n_in_evaluation"],
        "n_skipped": counts["n_without_terms"] + training["n_skipped"],
        "n_other_language": counts["n_other_language"],
        "kept_step": training["kept_step"],
    }
    tree["training"] = {
        "loss": [entry for entry in training["history"] if "total_flos" not in entry],
        "rho": training["rho"],
        "sweep": {label.replace("=", " "): _beta(trial) for label, trial in report.get("trials", {}).items()},
    }
    return tree


def _beta(trial: Mapping[str, Any]) -> dict[str, Any]:
    """One training of a sweep over beta."""
    training, audit = trial["arms"]["after"], trial["results"]["audit"]["after"]
    first = next(iter(audit["cced"].values()))
    keys = ("cced", "cced_ci95", "cced_relative", "cced_relative_ci95", "mean_distance")
    losses = {key: training[key] for key in ("beta", "rho", "loss_bias", "loss_rep")}
    losses |= {"eval_loss": training["loss_bias"] + training["beta"] * training["loss_rep"]}
    measured = {key: first[key] for key in keys}
    structure = audit["utility"]["similarity_structure"]
    return {**losses, "best_step": training["kept_step"], **measured, "similarity_structure": structure}


def read_gfst(report: Mapping[str, Any]) -> dict[str, Any]:
    """GFST: measures of each set, its paired comparisons, what each stage kept, steps and losses of the arms."""
    tests, compared = report["results"], report["comparisons"]
    names = dict.fromkeys(name for found in compared.values() for name in found)
    return {
        "measures": {arm: {name: found.get(arm) for name, found in tests.items()} for arm in report["arms"]},
        "gaps": {pair: {name: found.get(pair) for name, found in compared.items()} for pair in names},
        "explained by the control": report["explained"],
        "counts": {**report["data"], "groups": len(report["groups"])},
        "training": report["arms"],
    }


def read_ibadr(report: Mapping[str, Any]) -> dict[str, Any]:
    """IBADR: accuracies, paired comparisons, what each round wrote and kept, the pool, steps and histories."""
    compared = {title: _accuracies(found) for title, found in report["comparisons"].items()}
    names = list(dict.fromkeys(name for found in compared.values() for name in found))
    arms = list(dict.fromkeys(arm for found in report["results"].values() for arm in found))
    return {
        "measures": {arm: {title: found.get(arm) for title, found in report["results"].items()} for arm in arms},
        "partial input": report["partial_input"],
        "leakage": report["leakage"],
        "gaps": {name: {title: found.get(name) for title, found in compared.items()} for name in names},
        "counts": {"data": report["data"], "pool": report["pool"]},
        "rounds": report["rounds"],
        "training": report["arms"],
    }


def read_ibadr_seeds(report: Mapping[str, Any]) -> dict[str, Any]:
    """IBADR with several seeds: what each found, and what the seeds say together."""
    from hf_fairness.scores.compare import gap_over_seeds
    from hf_fairness.scores.statistics import over_seeds

    trials = {"seed 0": report, **{label.replace("=", " "): found for label, found in report["trials"].items()}}
    parts = {"results": ("accuracy", "accuracy_ci95", "n"), "comparisons": ("difference", "difference_ci95", "p_value")}
    cells = {}
    for label, found in trials.items():
        cells[label] = {"rows": {"train": found["pool"]["n_original"], "added": found["pool"]["n_added"]}}
        for part, keys in parts.items():
            sets = {title: _accuracies(each) if part == "comparisons" else each for title, each in found[part].items()}
            cells[label][part] = {
                title: {name: {key: each[key] for key in keys} for name, each in entries.items()}
                for title, entries in sets.items()
            }
    together: dict[str, Any] = {}
    for title, arms in report["results"].items():
        values = {arm: [cell["results"][title][arm]["accuracy"] for cell in cells.values()] for arm in arms}
        pairs = [(name, *name.split(" - ")) for name in report["comparisons"][title]]
        together[title] = {
            "arms": {arm: over_seeds(each, low=0.0, high=1.0) for arm, each in values.items()},
            "differences": {name: gap_over_seeds(values[a], values[b]) for name, a, b in pairs},
        }
    return {"cells": cells, "over seeds": together}


def _accuracies(comparisons: Mapping[str, Any]) -> dict[str, Any]:
    """What paired comparisons of arms found on accuracy, by pair."""
    return {name: found["accuracy"] for name, found in comparisons.items()}


def read_data_diet(report: Mapping[str, Any]) -> dict[str, Any]:
    """Data diets: measures and gaps of every entry of the table, what was chosen, rows, agreement of the scores."""
    table = report["table"]
    shares = ("n_rows", "factual_fraction", "counterfactual_fraction", "share_of_cda", "share_of_cda_with_copies")
    chosen = {"best": report["best"], **report["choices"]}
    return {
        "measures": {arm: line["measures"] for arm, line in table.items()},
        "gaps": {
            f"{arm} - {other}": {part: gaps for part, gaps in parts.items() if part != "validation"}
            for arm, line in table.items()
            for other, parts in line["against"].items()
        },
        "auc against vanilla": {arm: line["auc_change"] for arm, line in table.items()},
        "counts": {
            **report["cost"],
            "data": report["data"],
            "rows": {arm: {key: line.get(key) for key in shares} for arm, line in table.items()},
        },
        "choices": {name: {k: v for k, v in (found or {}).items() if k != "name"} for name, found in chosen.items()},
        "agreement of scores": report["stability"],
    }


# Runs: folder -> words of the command line, without the folder of the output.


def audit(folder: Path) -> list[str]:
    """Audit of an encoder: SEAT, given texts, scored pairs."""
    words = kill_world.make_encoder(folder)["audit"].words
    return [*words, "--seat_tests", "6", "6b", "1", "--n_samples", "200", "--sts_pairs", scored(folder)]


def compared_audit(folder: Path) -> list[str]:
    """The same beside an encoder with other weights."""
    other = folder / "other"
    other.mkdir()
    return [*audit(folder), "--reference_model", kill_world.make_encoder(other, seed=1)["audit"].words[1]]


def ccd(folder: Path) -> list[str]:
    """CCD and its control, measured on held-out and on human-written versions."""
    return [*kill_world.make_encoder(folder)["ccd"].words, "--variants", versions(folder)]


def ccd_sweep(folder: Path) -> list[str]:
    """CCD with four weights."""
    return [*kill_world.make_encoder(folder)["ccd"].words, "--sweep", "beta=0,0.5,1,1.5", "--no_control"]


def gfst(folder: Path) -> list[str]:
    """GFST, control and random pairs on a translator that writes feminine forms too seldom; every test set."""
    command = kill_world.make_gfst(folder, feminine=0.5, noise=0.45)["gfst"]
    for name, seed in (("dev", 5), ("test", 6)):
        pairs = gfst_world.pairs(40, seed, feminine=0.5, noise=0.0)
        kill_world.write_csv(folder / f"{name}.csv", {"en": pairs["source"], "it": pairs["target"]})
    lines = ["ID\tSRC\tCATEGORY\tGENDERTERMS"]
    for job, both in gfst_world.JOBS.items():
        forms = [noun.split()[1] for noun in both]
        for letter, gender, terms in (("M", "male", forms), ("F", "female", forms[::-1])):
            source = gfst_world.sentence(gender, job, "sick", "here")[0]
            lines.append(f"{len(lines)}\t{source}\t{1 + len(lines) // 2 % 4}{letter}\t{' '.join(terms)}")
    (folder / "must_she.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["--validation_dataset", str(folder / "dev.csv"), "--test_dataset", str(folder / "test.csv")]
    words += ["--must_she", str(folder / "must_she.tsv"), "--arms", "randst", "--max_steps", "20"]
    return [*command.words, *words, "--finetune_learning_rate", "2e-3", "--save_steps", "5"]


def ibadr(folder: Path) -> list[str]:
    """IBADR, its control and product of experts, with the probe of parts of the input."""
    command = kill_world.make_ibadr(folder, n=128)["ibadr"]
    words = ["--n_generated", "60", "--generator_num_train_epochs", "12", "--num_train_epochs", "2"]
    words += ["--learning_rate", "5e-3"]
    return [*command.words, *words, "--n_iterations", "2", "--poe", "--probe", "True"]


def ibadr_sweep(folder: Path) -> list[str]:
    """IBADR for two seeds."""
    words = ["--n_seeds", "2", "--num_train_epochs", "6", "--learning_rate", "5e-3"]
    return [*kill_world.make_ibadr(folder)["ibadr"].words, *words]


def data_diet(folder: Path) -> list[str]:
    """A grid of heads on word vectors, with a set of groups."""
    from support.diet_world import rows

    words = kill_world.make_diet(folder)["data-diet"].words
    table = rows(100, 3)[:]
    table["group"] = ["female" if text.startswith(("she", "queen")) else "male" for text in table["text"]]
    words += [
        "--group_dataset",
        kill_world.write_csv(folder / "groups.csv", table),
        "--rankings",
        "healthy_random",
        "random",
    ]
    return [*words, "--n_seeds", "3", "--num_train_epochs", "4"]


def data_diet_full(folder: Path) -> list[str]:
    """The same with whole models."""
    words = [*kill_world.make_diet(folder)["data-diet full"].words, "--dataset", str(folder / "train.csv")]
    words += ["--validation_dataset", str(folder / "dev.csv"), "--num_train_epochs", "6"]
    return [*words, "--learning_rate", "0.01"]


def versions(folder: Path) -> str:
    """Texts about each group and neutral ones, that no rule made."""
    rows = []
    for thing in ("tea", "work", "train", "bread", "game", "song", "shift", "call", "trip", "lunch", "visit", "book"):
        texts = {"male": f"He is late for his {thing}.", "female": f"She is late for her {thing}."}
        rows.append({**texts, "neutral": f"They are late for their {thing}."})
    return kill_world.write_csv(folder / "human.csv", {name: [row[name] for row in rows] for name in rows[0]})


def scored(folder: Path) -> str:
    """Pairs of texts with how alike people find them."""
    subjects, verbs = ("A dog", "The rain", "One bird", "A red door", "This boat"), ("runs", "falls", "opens")
    texts = [f"{subject} {verb}." for subject in subjects for verb in verbs]
    scores = [float((3 * place) % 11) / 2 for place in range(len(texts))]
    columns = {"sentence1": texts, "sentence2": [*texts[4:], *texts[:4]], "score": scores}
    return kill_world.write_csv(folder / "sts.csv", columns)


@dataclass(frozen=True)
class Run:
    """A command that is run.

    Attributes:
        make: writes data and models into a folder; returns the words of the command line.
        report: its JSON, below the folder of the output.
        read: report -> tree of numbers.
        output: the flag that names the output folder.
    """

    make: Callable[[Path], list[str]]
    report: str
    read: Callable[[Mapping[str, Any]], dict[str, Any]]
    output: str = "--output_dir"


RUNS = {
    "audit": Run(audit, "results.json", read_audit),
    "audit_compared": Run(compared_audit, "results.json", read_audit),
    "ccd": Run(ccd, "report/results.json", read_audit),
    "ccd_sweep": Run(ccd_sweep, "report/results.json", read_audit),
    "gfst": Run(gfst, "report/results.json", read_gfst),
    "ibadr": Run(ibadr, "report/results.json", read_ibadr),
    "ibadr_sweep": Run(ibadr_sweep, "report/results.json", read_ibadr_seeds),
    "data_diet": Run(data_diet, "report/results.json", read_data_diet),
    "data_diet_full": Run(data_diet_full, "report/results.json", read_data_diet),
}


def run(name: str, folder: Path) -> dict[str, float]:
    """Run a command in an empty folder; returns its numbers by path.

    Raises:
        RuntimeError: it failed.
    """
    from hf_fairness.cli import main

    (folder / "data").mkdir(parents=True)
    how = RUNS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows and models that learn little, which is the point
        words = [*how.make(folder / "data"), how.output, str(folder / "out")]
        status = main(words)
    if status:
        raise RuntimeError(f"{' '.join(words)} ended with {status}.")
    return dict(numbers(how.read(json.loads((folder / "out" / how.report).read_text(encoding="utf-8")))))


def frozen(name: str) -> dict[str, float]:
    """The numbers of a run that are kept."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def differences(found: Mapping[str, float], wanted: Mapping[str, float]) -> list[str]:
    """A line for each number that is missing, new or another one; whole numbers are compared exactly."""
    lines = [f"missing: {path} (was {wanted[path]!r})" for path in wanted if path not in found]
    lines += [f"new: {path} = {found[path]!r}" for path in found if path not in wanted]
    for path in wanted.keys() & found.keys():
        relative, absolute = (0.0, 0.0) if isinstance(wanted[path], int) else (RELATIVE, ABSOLUTE)
        if not math.isclose(found[path], wanted[path], rel_tol=relative, abs_tol=absolute):
            lines.append(f"changed: {path} is {found[path]!r}, was {wanted[path]!r}")
    return sorted(lines)
