"""From the grid to an answer: fractions chosen on validation texts, tables of test numbers, stability of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.rankings import RANKINGS, count, spent_on_copies
from hf_fairness.scores.statistics import over_seeds
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.grid import BASELINES, GROUP, PAIRED, Cell, experiments

Results = Mapping[str, Mapping[str, Any]]

#: Range of every measure, and of the relative change of an AUC, which cannot fall by more than all of it.
RATE = {"low": 0.0, "high": 1.0}
CHANGE = {"low": -1.0}


def auc_change(results: Results, name: str, part: str) -> list[float | None]:
    """Relative change of the AUC against the vanilla model of the same seed: -0.02 is a loss of 2 %."""
    ours, theirs = (results[key]["measures"][part]["auc"] for key in (name, "vanilla"))
    return [None if a is None or not b else a / b - 1.0 for a, b in zip(ours, theirs, strict=True)]


def choose(results: Results, cells: Sequence[Cell], arguments: DataDietArguments) -> dict[str, Any] | None:
    """The fairest cell whose AUC on the validation texts falls by ``max_auc_drop`` at most, in the mean over seeds.

    Of equally fair cells the one with fewer rows is taken.

    Args:
        results: of the grid.
        cells: to choose from.
        arguments: ``select_by`` and ``max_auc_drop``.

    Returns:
        ``name`` of the cell, its ``criterion`` (``rank``: the same with the sign by which higher is better) and
        ``auc_change`` on the validation texts, and how many cells were within the limit; None where none was.
    """
    part = "validation" if arguments.select_by in PAIRED else "groups"
    sign = -1.0 if arguments.select_by == "flip_rate" else 1.0
    found = []
    for each in cells:
        value = over_seeds(results[each.name]["measures"][part][arguments.select_by], **RATE)["mean"]
        change = over_seeds(auc_change(results, each.name, "validation"), **CHANGE)["mean"]
        if value is not None and change is not None and change >= -arguments.max_auc_drop:
            found.append((sign * value, -float(np.mean(results[each.name]["n_rows"])), each.name, change))
    if not found:
        return None
    rank, _, name, change = max(found)
    return {
        "name": name,
        "criterion": abs(rank),
        "rank": rank,
        "auc_change": change,
        "n_within_limit": len(found),
        "n_cells": len(cells),
    }


def summarize(results: Results, arguments: DataDietArguments, n: int) -> dict[str, Any]:
    """Choices, the table of baselines and chosen cells, curves of both experiments.

    Args:
        results: of the grid.
        arguments: of the search.
        n: number of factual examples.

    Returns:
        ``choices`` by ranking (experiment 2); ``best``: name of the fairest of them, or None; ``table``: one entry per
        baseline and chosen cell; ``curves`` of experiment 1 and ``trade_off`` of experiment 2: by ranking and cell.
    """
    plan = experiments(arguments)
    choices = {ranking: choose(results, cells, arguments) for ranking, cells in plan.get("2", {}).items()}
    made = {ranking: choice for ranking, choice in choices.items() if choice is not None}
    best = max(made, key=lambda ranking: made[ranking]["rank"], default=None)
    table = {name: entry(results, name, n) for name in BASELINES if "skipped" not in results[name]}
    table |= {ranking: entry(results, choice["name"], n) for ranking, choice in made.items()}
    return {
        "choices": choices,
        "best": None if best is None else {"ranking": best, **made[best]},
        "table": table,
        "skipped": {name: each["skipped"] for name, each in results.items() if "skipped" in each},
        "curves": _points(results, plan.get("1", {})),
        "trade_off": _points(results, plan.get("2", {})),
    }


def cautions(
    results: Results, choices: Mapping[str, Any], arguments: DataDietArguments, n: int, changed: int
) -> list[str]:
    """What must be known before a choice is believed: shares spent on copies, and choices in which no score had a say.

    Args:
        results: of the grid.
        choices: of :func:`summarize`.
        arguments: of the search.
        n: number of factual examples.
        changed: how many of them have a counterfactual.

    Returns:
        Sentences.
    """
    found = []
    for ranking, cells in experiments(arguments).get("2", {}).items():
        rows = {each: float(np.mean(results[each.name]["n_rows"])) for each in cells if each.ranking in RANKINGS}
        kept = {each.counterfactual: round(size - count(each.factual, n)) for each, size in rows.items()}
        few = [f"{size} at b = {b:g}" for b, size in sorted(kept.items()) if spent_on_copies(size, b, changed)]
        if few and RANKINGS[ranking].counterfactual is not None:
            found.append(
                f"{ranking} spends its share on texts without a counterfactual, which it ranks first; of {changed} "
                f"counterfactuals it keeps {', '.join(few)}. Count b in those that there are: --counterfactual_base "
                "changed."
            )
        name = (choices[ranking] or {}).get("name")
        chosen = next((each for each in cells if each.name == name and each.counterfactual == 0.0), None)
        if chosen is not None and RANKINGS[ranking].scores and RANKINGS[ranking].factual is None:
            found.append(
                f"{ranking}: the choice fell on b = 0. No counterfactual is kept and no score plays a part in it: it "
                f"is a random {chosen.factual:.0%} of the examples, the same as of the ranking random."
            )
    return found


def entry(results: Results, name: str, n: int) -> dict[str, Any]:
    """One line of the table: rows used, test measures with intervals, differences from vanilla and from CDA."""
    cell = results[name]
    rows = float(np.mean(cell["n_rows"]))
    measures = {
        part: {key: over_seeds(values, **RATE) for key, values in cell["measures"][part].items()}
        for part in ("validation", "test", "groups")
        if part in cell["measures"]
    }
    return {
        "cell": name,
        "ranking": cell["ranking"],
        "factual_fraction": cell["factual"],
        "counterfactual_fraction": cell["counterfactual"],
        "n_rows": rows,
        "share_of_cda": rows / float(np.mean(results["cda"]["n_rows"])),
        "share_of_cda_with_copies": rows / (2 * n),
        "auc_change": {part: over_seeds(auc_change(results, name, part), **CHANGE) for part in ("validation", "test")},
        "measures": measures,
        "against": {
            other: {
                part: {
                    key: gap_over_seeds(cell["measures"][part][key], results[other]["measures"][part][key])
                    for key in keys
                }
                for part, keys in (("validation", PAIRED), ("test", PAIRED), ("groups", GROUP))
                if part in cell["measures"]
            }
            for other in ("vanilla", "cda")
            if other != name
        },
    }


def _points(results: Results, rankings: Mapping[str, Sequence[Cell]]) -> dict[str, list[dict[str, Any]]]:
    """Fairness and AUC of every cell of an experiment, by ranking."""
    wanted = {
        "test": ("counterfactual_parity", "kept_flipped_parity", "flip_rate", "auc"),
        "groups": ("demographic_parity",),
    }
    found: dict[str, list[dict[str, Any]]] = {}
    for ranking, cells in rankings.items():
        found[ranking] = [
            {
                "cell": each.name,
                "factual_fraction": each.factual,
                "counterfactual_fraction": each.counterfactual,
                "n_rows": float(np.mean(results[each.name]["n_rows"])),
                "auc_change": over_seeds(auc_change(results, each.name, "test"), **CHANGE),
                **{
                    part: {key: over_seeds(results[each.name]["measures"][part][key], **RATE) for key in keys}
                    for part, keys in wanted.items()
                    if part in results[each.name]["measures"]
                },
            }
            for each in cells
        ]
    return found


def spearman(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank correlation of every pair of rows, ties sharing their mean rank; shape (k, k), NaN for a constant.

    Example:
        >>> spearman(np.array([[1.0, 2.0, 3.0], [1.0, 4.0, 9.0], [3.0, 2.0, 1.0]]))[0].tolist()
        [1.0, 1.0, -1.0]
    """
    with np.errstate(invalid="ignore"):
        return np.atleast_2d(np.corrcoef(rankdata(rows, axis=1))).round(12)


def stability(
    scores: Mapping[str, NDArray[np.float64]],
    changed: NDArray[np.bool_],
    *,
    after: int,
    others: Mapping[str, NDArray[np.float64]] | None = None,
) -> dict[str, Any]:
    """How alike scores are between seeds, epochs and models (Spearman), and between the kinds of scores.

    Args:
        scores: of the search; see ``HeadLearner.example_scores``.
        changed: which examples have a counterfactual: GE is compared on these, as it is 0 elsewhere.
        after: epoch whose scores are used.
        others: GE of other models, shape (n,) each, by name.

    Returns:
        ``by_seed`` of each score: mean, least and greatest over pairs of seeds; ``single_runs`` of GE; ``by_epoch``:
        GE after each epoch against that after ``after``; ``by_model``; ``between``: pairs of scores.
    """
    names = [name for name in ("ge", "el2n", "grand", "forgetting") if name in scores]
    means = {name: scores[name].mean(axis=0) for name in names}
    found: dict[str, Any] = {
        "by_seed": {name: _pairs(scores[name][:, changed] if name == "ge" else scores[name]) for name in names},
        "between": {
            f"{first} {second}": _one(means[first][changed], means[second][changed])
            for place, first in enumerate(names)
            for second in names[place + 1 :]
        },
        "n_changed": int(changed.sum()),
    }
    if "ge_runs" in scores:
        found["single_runs"] = _pairs(scores["ge_runs"][:, changed])
    if "ge_epochs" in scores:
        epochs = scores["ge_epochs"][:, changed]
        found["by_epoch"] = [_one(epochs[after - 1], values) for values in epochs]
    found["by_model"] = {name: _one(means["ge"][changed], values[changed]) for name, values in (others or {}).items()}
    return found


def _one(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    pair = _pairs(np.stack([first, second]))
    return None if pair is None else pair["mean"]


def _pairs(rows: NDArray[np.float64]) -> dict[str, float] | None:
    """Rank correlations between all rows; None where a row has no ranks, or is alone."""
    values = spearman(rows)[np.triu_indices(len(rows), 1)]
    if not len(values) or np.isnan(values).any():
        return None
    return {"mean": float(values.mean()), "least": float(values.min()), "greatest": float(values.max())}
