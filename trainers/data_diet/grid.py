"""The grid of a data-diet search: which cells there are, which rows each trains on, and its resumable run."""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hf_fairness.runs import atomic_write_json
from hf_fairness.scores.rankings import RANKINGS, keep
from hf_fairness.trainers.data_diet.arguments import FIRST, DataDietArguments
from hf_fairness.trainers.data_diet.data import DietData, Rows
from hf_fairness.trainers.data_diet.measures import measure
from hf_fairness.utils import FairnessWarning, progress

logger = logging.getLogger(__name__)

#: What every search trains beside the rankings: all factual examples; all of both kinds; a counterfactual in place of
#: every second example; texts without terms, in training and prediction; as many examples of each group.
BASELINES = ("vanilla", "cda", "cds", "blindness", "balancing")
#: Score name -> values of every seed, shape (seeds, n).
Scores = Mapping[str, NDArray[np.float64]]


class Learner(Protocol):
    """Trains models on rows of the pool and predicts with them: small heads, or whole models."""

    def fit(self, rows: Sequence[Rows], seeds: Sequence[int]) -> Any:
        """One model per seed, each trained on its own rows."""
        ...

    def probabilities(self, models: Any, *, blind: bool) -> dict[str, NDArray[np.float64]]:
        """Probabilities on every set that is measured, shape (seeds, n, classes)."""
        ...

    def save(self, models: Any, index: int, folder: Path) -> None:
        """Write one of the models."""
        ...


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
        if self.ranking in BASELINES:
            return self.ranking
        return f"{self.ranking}-a{self.factual:g}-b{self.counterfactual:g}"


def cell(ranking: str, factual: float, counterfactual: float) -> Cell:
    """The cell of a ranking with these shares; the same one for rankings that keep the same rows.

    Example:
        >>> cell("healthy_random", 0.5, 0.0).name, cell("el2n", 1.0, 1.0).name
        ('random-a0.5-b0', 'cda')
    """
    if factual == 1.0 and counterfactual in (0.0, 1.0):
        return Cell("cda" if counterfactual else "vanilla", 1.0, counterfactual)
    if counterfactual == 0.0 and RANKINGS[ranking].factual is None:
        ranking = "random"
    return Cell(ranking, factual, counterfactual)


def experiments(arguments: DataDietArguments) -> dict[str, dict[str, list[Cell]]]:
    """The cells of both experiments by ranking; some belong to several rankings."""
    found: dict[str, dict[str, list[Cell]]] = {}
    if 1 in arguments.experiments:
        found["1"] = {name: [cell(name, 1.0, b) for b in arguments.first_fractions] for name in FIRST}
    if 2 in arguments.experiments:
        pairs = [(a, b) for a in arguments.factual_fractions for b in arguments.counterfactual_fractions if a + b > 0]
        found["2"] = {name: [cell(name, a, b) for a, b in pairs] for name in arguments.rankings}
    return found


def all_cells(arguments: DataDietArguments) -> list[Cell]:
    """Every cell once, the baselines first."""
    named = [Cell(name, 1.0, float(name == "cda")) for name in BASELINES]
    rest = [each for rankings in experiments(arguments).values() for cells in rankings.values() for each in cells]
    return list(dict.fromkeys([*named, *rest]))


def rows_of(cell: Cell, data: DietData, scores: Scores, index: int, seed: int, base: str) -> Rows:
    """Rows of the pool that one model of a cell is trained on.

    Args:
        cell: what to keep.
        data: the texts.
        scores: of every seed.
        index: place of the seed in the scores.
        seed: of everything that is random.
        base: what b is a share of.

    Returns:
        Row numbers; see :class:`DietData`.
    """
    everything = np.ones(data.n, dtype=bool)
    if cell.ranking == "vanilla":
        return data.rows(everything, ~everything)
    if cell.ranking == "cda":
        return data.rows(everything, everything)
    if cell.ranking == "cds":
        return data.substituted(seed)
    if cell.ranking == "blindness":
        return 2 * data.n + np.arange(data.n)
    if cell.ranking == "balancing":
        return data.balanced(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # said once, of all seeds, in the report
        kept = keep(
            cell.ranking,
            {name: values[index] for name, values in scores.items()},
            data.train.changed,
            factual_fraction=cell.factual,
            counterfactual_fraction=cell.counterfactual,
            seed=seed,
            counterfactual_base=base,
        )
    return data.rows(kept.factual, kept.counterfactual)


def run_grid(
    learner: Learner,
    data: DietData,
    scores: Scores,
    arguments: DataDietArguments,
    folder: Path,
    *,
    show_progress: bool | None = None,
) -> dict[str, dict[str, Any]]:
    """Train and measure every cell; cells whose file is in the folder already are read from it.

    Args:
        learner: trains and predicts.
        data: the texts.
        scores: what the rankings need.
        arguments: fractions, seeds.
        folder: one JSON file per cell goes here, each written in one step.
        show_progress: None means on a terminal.

    Returns:
        By name of the cell: its fractions, ``n_rows`` per seed, ``measures`` by set and key with one value per seed;
        or ``skipped`` with the reason.
    """
    results: dict[str, dict[str, Any]] = {}
    for each in progress(all_cells(arguments), "Training cells", show_progress=show_progress):
        path = folder / f"{each.name}.json"
        if path.is_file():
            results[each.name] = json.loads(path.read_text(encoding="utf-8"))
            continue
        results[each.name] = run_cell(learner, data, scores, arguments, each)
        atomic_write_json(path, results[each.name])
    return results


def run_cell(
    learner: Learner, data: DietData, scores: Scores, arguments: DataDietArguments, cell: Cell
) -> dict[str, Any]:
    """Train the models of one cell, one per seed, and measure them."""
    start, blind = time.perf_counter(), cell.ranking == "blindness"
    found: dict[str, Any] = {**asdict(cell), "name": cell.name}
    try:
        rows = [
            rows_of(cell, data, scores, index, seed, arguments.counterfactual_base)
            for index, seed in enumerate(arguments.seeds)
        ]
    except ValueError as error:
        if cell.ranking != "balancing":
            raise
        logger.warning("The baseline %s is left out: %s", cell.name, error)
        return {**found, "skipped": str(error)}
    models = learner.fit(rows, arguments.seeds)
    measures = measure(data, learner.probabilities(models, blind=blind), blind=blind)
    seconds = round(time.perf_counter() - start, 3)
    return {**found, "n_rows": [len(chosen) for chosen in rows], "measures": measures, "seconds": seconds}
