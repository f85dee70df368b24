"""From the grid to an answer: a line per cell, fractions chosen on validation texts, stability of the scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.labels import Bools
from hf_fairness.scores.rankings import RANKINGS, spent_on_copies
from hf_fairness.scores.statistics import Floats, over_seeds
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.grid import BASELINES, Cell, experiments

#: By cell what was found of it over its seeds, see :func:`lines`.
Lines = Mapping[str, Mapping[str, Any]]
#: What curves and trade-offs show of a cell.
_POINT = {
    "test": ("counterfactual_parity", "kept_flipped_parity", "flip_rate", "auc"),
    "groups": ("demographic_parity",),
}


def lines(results: Mapping[str, Mapping[str, Any]], n: int) -> dict[str, dict[str, Any]]:
    """What was found of each cell over its seeds; cells that were skipped have no line.

    Args:
        results: of the grid, see :func:`~hf_fairness.trainers.data_diet.grid.run_cell`.
        n: number of factual examples.

    Returns:
        By cell its ranking and fractions; ``n_rows``, as a share of CDA's rows ``share_of_cda``, of all texts and their
        counterfactuals ``share_of_cda_with_copies``; ``auc_change`` by set: relative change of the AUC against the
        vanilla model of the same seed, -0.02 is a loss of 2 %; ``measures`` by set and key.
    """
    trained = {name: each for name, each in results.items() if "skipped" not in each}
    rows = {name: float(np.mean(each["n_rows"])) for name, each in trained.items()}
    measures = {
        name: {
            part: {key: over_seeds(values, low=0.0, high=1.0) for key, values in measured.items()}
            for part, measured in each["measures"].items()
        }
        for name, each in trained.items()
    }
    return {
        name: {
            "cell": name,
            "ranking": each["ranking"],
            "factual_fraction": each["factual"],
            "counterfactual_fraction": each["counterfactual"],
            "n_rows": rows[name],
            "n_counterfactuals": float(np.mean(each["n_counterfactuals"])),
            "share_of_cda": rows[name] / rows["cda"],
            "share_of_cda_with_copies": rows[name] / (2 * n),
            "auc_change": {
                part: _change(measures[name][part]["auc"], measures["vanilla"][part]["auc"])
                for part in ("validation", "test")
            },
            "measures": measures[name],
        }
        for name, each in trained.items()
    }


def _change(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Relative change from the values of one cell to those of another over seeds."""
    pairs = zip(after["by_seed"], before["by_seed"], strict=True)
    return over_seeds([None if a is None or not b else a / b - 1.0 for a, b in pairs], low=-1.0)


def paired(measures: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Differences of the measures of one cell from those of another on a set, in pairs of the same seed, by key."""
    return {key: gap_over_seeds(value["by_seed"], others[key]["by_seed"]) for key, value in measures.items()}


def pick(fairness: Floats, changes: Floats, most: float) -> NDArray[np.intp]:
    """The fairest of the cells that lose at most so much of the AUC, of equally fair ones the first.

    Args:
        fairness: higher is better, shape (cells, draws); a cell whose numbers are NaN is not chosen.
        changes: of the AUC, relative, of the same shape.
        most: largest loss.

    Returns:
        Places of cells, shape (draws,); -1 where none is within the limit.

    Example:
        >>> changes = np.array([[-0.01, -0.1], [0.0, -0.2], [-0.2, -0.2]])
        >>> pick(np.array([[0.9, 0.9], [0.9, 0.8], [1.0, 1.0]]), changes, 0.03)
        array([ 0, -1])
    """
    known = np.where((changes >= -most) & ~np.isnan(fairness), fairness, -np.inf)
    return np.where(known.max(axis=0) > -np.inf, known.argmax(axis=0), -1)


def in_order(found: Lines, cells: Iterable[Cell]) -> list[str]:
    """Names of cells, each once, in the order in which equally fair ones are preferred: those with fewer rows first."""
    names = sorted({cell.name for cell in cells}, reverse=True)
    return sorted(names, key=lambda name: found[name]["n_rows"])


def choose(found: Lines, cells: Sequence[Cell], arguments: DataDietArguments) -> dict[str, Any] | None:
    """The fairest cell whose AUC on the validation texts falls by ``max_auc_drop`` at most, in the mean over seeds.

    Of equally fair cells the one with fewer rows is taken.

    Args:
        found: of :func:`lines`.
        cells: to choose from.
        arguments: ``select_by`` and ``max_auc_drop``.

    Returns:
        ``name`` of the cell, its ``criterion`` (``rank``: the same with the sign by which higher is better) and
        ``auc_change`` on the validation texts, and how many cells were within the limit; None where none was, or there
        are no cells.
    """
    if not cells:
        return None
    names, most = in_order(found, cells), arguments.max_auc_drop
    values = [found[name]["measures"][arguments.chosen_on][arguments.select_by]["mean"] for name in names]
    fairness = arguments.sign * np.array(values, dtype=np.float64)
    changes = np.array([found[name]["auc_change"]["validation"]["mean"] for name in names], dtype=np.float64)
    (place,) = pick(fairness[:, None], changes[:, None], most)
    if place < 0:
        return None
    return {
        "name": names[place],
        "criterion": values[place],
        "rank": float(fairness[place]),
        "auc_change": float(changes[place]),
        "n_within_limit": int((changes >= -most).sum()),
        "n_cells": len(cells),
    }


def summarize(found: Lines, arguments: DataDietArguments) -> dict[str, Any]:
    """Choices, the table of baselines and chosen cells, curves of both experiments.

    Args:
        found: of :func:`lines`.
        arguments: of the search.

    Returns:
        ``choices`` by ranking (experiment 2); ``best``: the fairest of them, or None; ``table``: the lines of
        baselines and chosen cells, with ``against``: gaps to vanilla and CDA; ``curves`` of experiment 1 and
        ``trade_off`` of experiment 2: by ranking and cell.
    """
    plan = experiments(arguments)
    choices = {ranking: choose(found, cells, arguments) for ranking, cells in plan["2"].items()}
    made = {ranking: choice for ranking, choice in choices.items() if choice is not None}
    best = max(made, key=lambda ranking: made[ranking]["rank"], default=None)
    chosen = {name: name for name in BASELINES if name in found}
    chosen |= {ranking: choice["name"] for ranking, choice in made.items()}
    points = {
        number: {ranking: [point(found[cell.name]) for cell in cells] for ranking, cells in rankings.items()}
        for number, rankings in plan.items()
    }
    return {
        "choices": choices,
        "best": None if best is None else {"ranking": best, **made[best]},
        "table": {name: compared(found, cell) for name, cell in chosen.items()},
        "curves": points["1"],
        "trade_off": points["2"],
    }


def compared(found: Lines, cell: str) -> dict[str, Any]:
    """The line of a cell, with its differences ``against`` vanilla and CDA."""
    measures = found[cell]["measures"]
    others = {name: found[name]["measures"] for name in ("vanilla", "cda") if name != cell}
    gaps = {name: {part: paired(measures[part], other[part]) for part in measures} for name, other in others.items()}
    return {**found[cell], "against": gaps}


def point(line: Mapping[str, Any]) -> dict[str, Any]:
    """What curves and trade-offs show of a line: fractions, and numbers of the test texts and of those of groups."""
    return {
        **{key: line[key] for key in ("cell", "factual_fraction", "counterfactual_fraction", "n_rows")},
        "auc_change": line["auc_change"]["test"],
        **{
            part: {key: line["measures"][part][key] for key in keys}
            for part, keys in _POINT.items()
            if part in line["measures"]
        },
    }


def cautions(found: Lines, choices: Mapping[str, Any], arguments: DataDietArguments, changed: int) -> Iterator[str]:
    """What must be known before a choice is believed: shares spent on copies, and choices in which no score had a say.

    Args:
        found: of :func:`lines`.
        choices: of :func:`summarize`.
        arguments: of the search.
        changed: how many of the factual examples have a counterfactual.

    Yields:
        Sentences.
    """
    for name, cells in experiments(arguments)["2"].items():
        ranking, few = RANKINGS[name], []
        for line in (found[cell.name] for cell in cells):
            kept, b = round(line["n_counterfactuals"]), line["counterfactual_fraction"]
            if spent_on_copies(kept, b, changed):
                few.append(f"{kept} at b = {b:g}")
        if few and ranking.counterfactual is not None:
            yield (
                f"{name} spends its share on texts without a counterfactual, which it ranks first; of {changed} "
                f"counterfactuals it keeps {', '.join(dict.fromkeys(few))}. Count b in those that there are: "
                "--counterfactual_base changed."
            )
        chosen = {} if choices[name] is None else found[choices[name]["name"]]
        if chosen.get("counterfactual_fraction") == 0.0 and ranking.scores and ranking.factual is None:
            yield (
                f"{name}: the choice fell on b = 0. No counterfactual is kept and no score plays a part in it: it is a "
                f"random {chosen['factual_fraction']:.0%} of the examples, the same as of the ranking random."
            )


def stability(
    scores: Mapping[str, Floats], changed: Bools, *, after: int, others: Mapping[str, Floats] | None = None
) -> dict[str, Any]:
    """How alike scores are between seeds, epochs and models (Spearman), and between the kinds of scores.

    Args:
        scores: of the search; see `learners.example_scores`.
        changed: which examples have a counterfactual: GE is compared on these, as it is 0 elsewhere.
        after: epoch whose scores are used.
        others: GE of other models, shape (n,) each, by name.

    Returns:
        ``by_seed`` of each score: mean, least and greatest over pairs of seeds; ``single_runs`` of GE; ``by_epoch``:
        GE after each epoch against that after ``after``; ``by_model``; ``between``: pairs of scores.
    """
    means = {name: scores[name].mean(axis=0)[changed] for name in ("ge", "el2n", "grand", "forgetting")}
    found = {
        "by_seed": {name: agreement(scores[name][:, changed] if name == "ge" else scores[name]) for name in means},
        "between": {f"{one} {other}": spearman(means[one], means[other]) for one, other in combinations(means, 2)},
        "n_changed": int(changed.sum()),
        "single_runs": agreement(scores["ge_runs"][:, changed]),
        "by_model": {name: spearman(means["ge"], values[changed]) for name, values in (others or {}).items()},
    }
    if "ge_epochs" in scores:  # of whole models they are not taken
        epochs = scores["ge_epochs"][:, changed]
        found["by_epoch"] = [spearman(epochs[after - 1], values) for values in epochs]
    return found


def agreement(rows: Floats) -> dict[str, float] | None:
    """Rank correlations (Spearman, ties sharing their mean rank) of all pairs of rows; None where one has no ranks.

    Example:
        >>> agreement(np.array([[1.0, 2.0, 3.0], [1.0, 4.0, 9.0]]))
        {'mean': 1.0, 'least': 1.0, 'greatest': 1.0}
    """
    with np.errstate(invalid="ignore"):  # of a constant
        matrix = np.atleast_2d(np.corrcoef(rankdata(rows, axis=1))).round(12)
    values = matrix[np.triu_indices(len(rows), 1)]
    if not len(values) or np.isnan(values).any():
        return None
    return {"mean": float(values.mean()), "least": float(values.min()), "greatest": float(values.max())}


def spearman(first: Floats, second: Floats) -> float | None:
    """Rank correlation of two rows; None where one of them is constant."""
    return (agreement(np.stack([first, second])) or {}).get("mean")
