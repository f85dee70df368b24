"""From the grid to an answer: fractions chosen on validation texts, tables of test numbers, stability of the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hf_fairness.record import number
from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.rankings import RANKINGS, count, spent_on_copies
from hf_fairness.scores.statistics import over_seeds
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.grid import BASELINES, Cell, experiments
from hf_fairness.trainers.data_diet.summary import by_groups

Results = Mapping[str, Mapping[str, Any]]

#: Range of every measure.
RATE = {"low": 0.0, "high": 1.0}


def auc_change(results: Results, name: str, part: str) -> dict[str, Any]:
    """Relative change of the AUC against the vanilla model of the same seed, over seeds: -0.02 is a loss of 2 %."""
    pairs = zip(*(results[key]["measures"][part]["auc"] for key in (name, "vanilla")), strict=True)
    return over_seeds([None if a is None or not b else a / b - 1.0 for a, b in pairs], low=-1.0)


#: Of a cell: its fairness, where higher is better, its number of rows, its name, and the change of the AUC.
Candidate = tuple[float, float, str, float]


def pick(candidates: Iterable[Candidate], most: float) -> Candidate | None:
    """The fairest of the cells that lose at most so much of the AUC, of equally fair ones that with fewer rows.

    A cell whose numbers are NaN is none.

    Example:
        >>> pick([(0.9, 80.0, "a", -0.01), (0.9, 50.0, "b", -0.02), (1.0, 9.0, "c", -0.2)], 0.03)
        (0.9, 50.0, 'b', -0.02)
    """
    within = [each for each in candidates if each[-1] >= -most and not math.isnan(each[0])]
    return max(within, key=lambda each: (each[0], -each[1], each[2]), default=None)


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
    part = "groups" if by_groups(arguments) else "validation"
    sign = -1.0 if arguments.select_by == "flip_rate" else 1.0
    found = []
    for each in cells:
        value = over_seeds(results[each.name]["measures"][part][arguments.select_by], **RATE)["mean"]
        change = auc_change(results, each.name, "validation")["mean"]
        if value is not None and change is not None:
            found.append((sign * value, float(np.mean(results[each.name]["n_rows"])), each.name, change))
    chosen = pick(found, arguments.max_auc_drop)
    if chosen is None:
        return None
    rank, _, name, change = chosen
    return {
        "name": name,
        "criterion": abs(rank),
        "rank": rank,
        "auc_change": change,
        "n_within_limit": sum(each[-1] >= -arguments.max_auc_drop for each in found),
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
    lines = {name: name for name in BASELINES if "skipped" not in results[name]}
    lines |= {ranking: choice["name"] for ranking, choice in made.items()}
    return {
        "choices": choices,
        "best": None if best is None else {"ranking": best, **made[best]},
        "table": {name: entry(results, each, n) for name, each in lines.items()},
        "skipped": {name: each["skipped"] for name, each in results.items() if "skipped" in each},
        "curves": _points(results, plan.get("1", {})),
        "trade_off": _points(results, plan.get("2", {})),
    }


def cautions(
    results: Results, choices: Mapping[str, Any], arguments: DataDietArguments, n: int, changed: int
) -> Iterator[str]:
    """What must be known before a choice is believed: shares spent on copies, and choices in which no score had a say.

    Args:
        results: of the grid.
        choices: of :func:`summarize`.
        arguments: of the search.
        n: number of factual examples.
        changed: how many of them have a counterfactual.

    Yields:
        Sentences.
    """
    for name, cells in experiments(arguments).get("2", {}).items():
        ranking, chosen = RANKINGS[name], (choices[name] or {}).get("name")
        sizes = {each: float(np.mean(results[each.name]["n_rows"])) for each in cells if each.ranking in RANKINGS}
        kept = {each.counterfactual: round(size - count(each.factual, n)) for each, size in sizes.items()}
        few = [f"{size} at b = {b:g}" for b, size in sorted(kept.items()) if spent_on_copies(size, b, changed)]
        if few and ranking.counterfactual is not None:
            yield (
                f"{name} spends its share on texts without a counterfactual, which it ranks first; of {changed} "
                f"counterfactuals it keeps {', '.join(few)}. Count b in those that there are: --counterfactual_base "
                "changed."
            )
        for each in set(cells):
            if (each.name, each.counterfactual) == (chosen, 0.0) and ranking.scores and ranking.factual is None:
                yield (
                    f"{name}: the choice fell on b = 0. No counterfactual is kept and no score plays a part in it: it "
                    f"is a random {each.factual:.0%} of the examples, the same as of the ranking random."
                )


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
        "auc_change": {part: auc_change(results, name, part) for part in ("validation", "test")},
        "measures": measures,
        "against": {
            other: {
                part: {
                    key: gap_over_seeds(cell["measures"][part][key], results[other]["measures"][part][key])
                    for key in measures[part]
                }
                for part in measures
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
    return {
        ranking: [
            {
                "cell": each.name,
                "factual_fraction": each.factual,
                "counterfactual_fraction": each.counterfactual,
                "n_rows": float(np.mean(results[each.name]["n_rows"])),
                "auc_change": auc_change(results, each.name, "test"),
                **{
                    part: {key: over_seeds(results[each.name]["measures"][part][key], **RATE) for key in keys}
                    for part, keys in wanted.items()
                    if part in results[each.name]["measures"]
                },
            }
            for each in cells
        ]
        for ranking, cells in rankings.items()
    }


def ge_scores(means: NDArray[np.float64], changed: NDArray[np.bool_]) -> dict[str, Any]:
    """How the GE scores of the training texts are spread.

    Args:
        means: GE of each text, mean over seeds, shape (n,).
        changed: which texts have a counterfactual; of the others GE is 0.

    Returns:
        ``n_zero``: texts without a counterfactual; ``quantiles`` of the others: the least, the three quarters, the
        largest; empty where there are none.
    """
    known = means[changed]
    quantiles = np.quantile(known, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist() if len(known) else []
    return {"n": int(changed.sum()), "n_zero": int((~changed).sum()), "quantiles": quantiles}


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
    means = {name: scores[name].mean(axis=0)[changed] for name in ("ge", "el2n", "grand", "forgetting")}
    found = {
        "by_seed": {name: _pairs(scores[name][:, changed] if name == "ge" else scores[name]) for name in means},
        "between": {f"{one} {other}": _one(means[one], means[other]) for one, other in combinations(means, 2)},
        "n_changed": int(changed.sum()),
        "single_runs": _pairs(scores["ge_runs"][:, changed]),
        "by_model": {name: _one(means["ge"], values[changed]) for name, values in (others or {}).items()},
    }
    if "ge_epochs" in scores:  # of whole models they are not taken
        epochs = scores["ge_epochs"][:, changed]
        found["by_epoch"] = [_one(epochs[after - 1], values) for values in epochs]
    return found


def _one(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    return number(_pairs(np.stack([first, second])) or {}, "mean")


def _pairs(rows: NDArray[np.float64]) -> dict[str, float] | None:
    """Rank correlations between all rows; None where a row has no ranks, or is alone."""
    values = spearman(rows)[np.triu_indices(len(rows), 1)]
    if not len(values) or np.isnan(values).any():
        return None
    return {"mean": float(values.mean()), "least": float(values.min()), "greatest": float(values.max())}
