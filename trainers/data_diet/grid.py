"""The grid of a data-diet search: its cells, the rows each trains on, and what its models are measured by."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from hf_fairness.runs import atomic_write_json
from hf_fairness.scores import flips
from hf_fairness.scores.auc import area_under_curve
from hf_fairness.scores.flips import counterfactual_flip
from hf_fairness.scores.groups import equalized_odds
from hf_fairness.scores.labels import Bools
from hf_fairness.scores.rankings import RANKINGS, keep
from hf_fairness.scores.statistics import Floats
from hf_fairness.trainers.data_diet.arguments import CONTROL, FIRST, DataDietArguments
from hf_fairness.trainers.data_diet.data import DietData, Rows
from hf_fairness.trainers.data_diet.learners import Learner, probabilities
from hf_fairness.trainers.data_diet.pruned import Scores
from hf_fairness.trainers.training.remembered import pack_arrays
from hf_fairness.utils import progress, warned_elsewhere

logger = logging.getLogger(__name__)

#: What every search trains beside the rankings, with title and description.
BASELINES = {
    "vanilla": ("vanilla", "trained on the texts as they are"),
    "cda": ("CDA", "trained on every text and its counterfactual"),
    "cds": ("CDS", "trained on every text or, at random, its counterfactual in its place"),
    "blindness": ("blindness", "trained on and given texts without the words that name a group"),
    "balancing": (
        "balancing",
        "trained on as many texts of each group within each label, those of smaller groups repeated",
    ),
}


@dataclass(frozen=True)
class Cell:
    """One way to choose training rows.

    Attributes:
        ranking: name in ``RANKINGS`` or in ``BASELINES``.
        factual: share of the factual examples (a).
        counterfactual: share of the counterfactual examples (b).
    """

    ranking: str
    factual: float = 1.0
    counterfactual: float = 0.0

    @property
    def name(self) -> str:
        """Unique name, usable as a file name."""
        shares = f"-a{self.factual:g}-b{self.counterfactual:g}"
        return self.ranking + ("" if self.ranking in BASELINES else shares)


def cell(ranking: str, factual: float, counterfactual: float) -> Cell:
    """The cell of a ranking with these shares; the same one for rankings that keep the same rows.

    Example:
        >>> cell("healthy_random", 0.5, 0.0).name, cell("el2n", 1.0, 1.0).name
        ('random-a0.5-b0', 'cda')
    """
    if factual == 1.0 and counterfactual in (0.0, 1.0):
        return Cell("cda" if counterfactual else "vanilla", 1.0, counterfactual)
    if counterfactual == 0.0 and RANKINGS[ranking].factual is None:
        ranking = CONTROL
    return Cell(ranking, factual, counterfactual)


def experiments(arguments: DataDietArguments) -> dict[str, dict[str, list[Cell]]]:
    """The cells of both experiments by ranking, none of one that is not wanted; some belong to several rankings."""
    second = product(arguments.factual_fractions, arguments.counterfactual_fractions)
    plan = {
        1: (FIRST, [(1.0, b) for b in arguments.first_fractions]),
        2: (arguments.rankings, [(a, b) for a, b in second if a + b > 0]),
    }
    return {
        str(number): {
            name: [cell(name, a, b) for a, b in shares]
            for name in rankings
            if number in arguments.experiments and (arguments.control or name != CONTROL)
        }
        for number, (rankings, shares) in plan.items()
    }


def all_cells(arguments: DataDietArguments) -> list[Cell]:
    """Every cell once, the baselines first."""
    baselines = [Cell(name, 1.0, float(name == "cda")) for name in BASELINES]
    lists = chain.from_iterable(rankings.values() for rankings in experiments(arguments).values())
    return list(dict.fromkeys(chain(baselines, *lists)))


def rows_of(cell: Cell, diet: DietData, scores: Scores, index: int, seed: int, base: str) -> Rows:
    """Rows of the pool that one model of a cell is trained on.

    Args:
        cell: what to keep.
        diet: the texts.
        scores: by name those of every seed, shape (seeds, n).
        index: place of the seed in the scores.
        seed: of everything that is random.
        base: what b is a share of.

    Returns:
        Row numbers; see :class:`DietData`.
    """
    if cell.ranking == "blindness":
        return 2 * diet.n + np.arange(diet.n)
    if cell.ranking in ("cds", "balancing"):
        return diet.substituted(seed) if cell.ranking == "cds" else diet.balanced(seed)
    with warned_elsewhere():  # said once, of all seeds, in the report
        kept = keep(
            CONTROL if cell.ranking in BASELINES else cell.ranking,  # all or none of a kind, whatever the ranking
            {name: values[index] for name, values in scores.items()},
            diet.train.changed.to_numpy(),
            factual_fraction=cell.factual,
            counterfactual_fraction=cell.counterfactual,
            seed=seed,
            counterfactual_base=base,
        )
    return np.concatenate([np.flatnonzero(kept.factual), diet.n + np.flatnonzero(kept.counterfactual)])


def run_grid(learner: Learner, scores: Scores, folder: Path) -> int:
    """Train and measure every cell whose file is not in the folder yet.

    Args:
        learner: trains and predicts.
        scores: what the rankings need.
        folder: one JSON file per cell goes here, each written in one step; see :func:`run_cell`. What its models said
            of every text that can choose lies beside it as npz, see :func:`said`.

    Returns:
        Number of cells.
    """
    cells = all_cells(learner.arguments)
    logger.info("Training %d cells for each of %d seeds.", len(cells), learner.arguments.n_seeds)
    for each in progress(cells, "Training cells"):
        path = folder / f"{each.name}.json"
        if not path.is_file():
            result, heard = run_cell(learner, scores, each)
            (folder / f"{each.name}.npz").write_bytes(pack_arrays(heard))
            atomic_write_json(path, result)  # the last: a cell that has it is finished
    return len(cells)


def run_cell(learner: Learner, scores: Scores, cell: Cell) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Train the models of one cell, one per seed, and measure them.

    Returns:
        Its ``name`` and fractions; per seed ``n_rows``, and of them ``n_counterfactuals``; ``measures`` by set and key
        with one value per seed; or ``skipped`` with the reason. And what :func:`said` gives; nothing of a cell that was
        skipped.
    """
    start, diet, a = time.perf_counter(), learner.diet, learner.arguments
    found = {**asdict(cell), "name": cell.name}
    try:
        rows = [rows_of(cell, diet, scores, index, seed, a.counterfactual_base) for index, seed in enumerate(a.seeds)]
    except ValueError as error:
        if cell.ranking != "balancing":
            raise
        logger.warning("The baseline %s is left out: %s", cell.name, error)
        return {**found, "skipped": str(error)}, {}
    heard = probabilities(learner, rows, a.seeds, diet.measured(blind=cell.ranking == "blindness"))
    result = {
        **found,
        "n_rows": [len(chosen) for chosen in rows],
        "n_counterfactuals": [int((chosen // diet.n == 1).sum()) for chosen in rows],
        "measures": measure(diet, heard),
        "seconds": round(time.perf_counter() - start, 3),
    }
    return result, said(diet, heard)


def said(diet: DietData, heard: Mapping[str, Floats]) -> dict[str, NDArray[Any]]:
    """What the models of a cell said of every text that can choose.

    Args:
        diet: says which class is positive.
        heard: probabilities of the classes for each set, shape (seeds, n, classes).

    Returns:
        ``hits``: whether the positive class was predicted of the validation texts and of their counterfactuals, shape
        (seeds, 2, n); ``chances`` of it for the texts, shape (seeds, n); ``group_hits`` of the texts of groups, where
        there are any.
    """
    hits = {name: answers.argmax(axis=-1) == diet.positive for name, answers in heard.items()}
    return {
        "hits": np.stack([hits["validation"], hits["validation_counterfactual"]], axis=1),
        "chances": heard["validation"][..., diet.positive],
        **({"group_hits": hits["groups"]} if "groups" in hits else {}),
    }


def measure(diet: DietData, heard: Mapping[str, Floats]) -> dict[str, dict[str, list[float | None]]]:
    """Paired metrics and AUC on validation and test texts, group metrics on the texts of groups.

    Args:
        diet: labels, groups, and which texts have a counterfactual.
        heard: probabilities of the classes for each set, shape (seeds, n, classes).

    Returns:
        By set and key one value per seed; None where undefined.
    """
    found = {}
    for name, split in (("validation", diet.validation), ("test", diet.test)):
        versions = zip(heard[name], heard[f"{name}_counterfactual"], strict=True)
        found[name] = [_paired(pair, split, diet.positive) for pair in versions]
    if diet.groups is not None:
        members = np.unique(diet.groups.about.to_list(), return_inverse=True)[1]
        hits = heard["groups"].argmax(axis=-1) == diet.positive
        found["groups"] = [_group(of_seed, diet.groups.truth.to_numpy(), members) for of_seed in hits]
    return {name: {key: [one[key] for one in each] for key in each[0]} for name, each in found.items()}


def _paired(pair: Sequence[Floats], split: DataFrame, positive: int) -> dict[str, float | None]:
    """Measures of one model on texts and their counterfactuals.

    Parity, opportunity and odds compare the versions about one group with the versions about the other: between texts
    as they are and flipped, a gap in one direction cancels that in the other. That comparison, which equation 3 of
    the paper describes, is ``kept_flipped_parity``.
    """
    hits = [(p.argmax(axis=1) == positive).astype(int) for p in pair]
    chances = [p[:, positive] for p in pair]
    truth, changed, place = (split[column].to_numpy() for column in ("truth", "changed", "place"))
    first, known = place == 0, (place >= 0).astype(int)
    by_group = {"one": np.where(first, hits[0], hits[1]), "other": np.where(first, hits[1], hits[0])}
    names = ("original", "counterfactual")
    with warned_elsewhere():  # what is undefined stays None
        flip = counterfactual_flip(
            dict(zip(names, hits, strict=True)),
            probabilities=dict(zip(names, chances, strict=True)),
            changed=changed.astype(int),
            n_bootstrap=0,
        )
        groups = {}
        if known.any():
            groups = counterfactual_flip(by_group, references=truth.astype(int), changed=known, n_bootstrap=0)
    return {
        **{key: groups.get(key) for key in flips.MEASURES if key.startswith("counterfactual")},
        "kept_flipped_parity": flip["counterfactual_parity"],
        **{key: flip[key] for key in ("flip_rate", "mean_abs_probability_change")},
        "positive_rate": flip["positive_rate"]["original"],
        "auc": area_under_curve(chances[0], truth)["auc"],
        "accuracy": float((pair[0].argmax(axis=1) == split.label).mean()),
    }


def _group(hits: Bools, truth: Bools, members: NDArray[np.intp]) -> dict[str, float | None]:
    """Measures of one model on texts of different groups: where it and people say the positive class, and whose."""
    odds = equalized_odds(hits.astype(int), truth.astype(int), members, n_bootstrap=0)
    compared = {"demographic_parity": "positive_rate", "equal_opportunity_1": "true_positive_rate"}
    return {
        **{key: 1.0 - float(np.ptp([each[name] for each in odds["rates"].values()])) for key, name in compared.items()},
        "equalized_odds": odds["equalized_odds"],
        "positive_rate": odds["overall_positive_rate"],
        "accuracy": odds["accuracy"],
    }
