"""How sure a choice of cells is: how often other validation texts and seeds like these choose the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.scores.statistics import Floats, bootstrap_weights, generator
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.choice import Lines, in_order, pick
from hf_fairness.trainers.data_diet.data import DietData
from hf_fairness.trainers.data_diet.grid import experiments

#: Resamples of texts and seeds behind the shares: a share of .5 is known to within .07.
N_DRAWS = 200
#: In the place of a cell, or a ranking, where none was within the limit.
NONE = ""

#: What a model said of every text that can choose: see `grid.said`.
Said = Mapping[str, NDArray[Any]]


def certainty(
    said: Mapping[str, Said],
    found: Lines,
    diet: DietData,
    arguments: DataDietArguments,
    *,
    n_draws: int = N_DRAWS,
) -> dict[str, Any]:
    """Choose again on texts drawn anew from those that chose, for seeds drawn anew, and count what is chosen.

    Texts are drawn with replacement, the same ones for all cells, so that the share says how far the held-out texts
    were enough to tell cells apart. It does not say that the chosen cell is the best one: a choice that is sure can be
    sure of the wrong one where the texts are few, see the limits of the report.

    Args:
        said: by cell what its models said, see `grid.said`; ``vanilla`` is among them.
        found: of `choice.lines`; the numbers of rows are read, by which ties are broken.
        diet: labels and groups of the texts.
        arguments: ``select_by`` and ``max_auc_drop``, the plan of the cells, the first seed.
        n_draws: resamples.

    Returns:
        ``n_draws``, ``n_texts``; ``best`` and, by ranking, ``rankings``: ``chosen`` (share of resamples per cell that
        was chosen in any, the most frequent first) and ``none`` (share in which no cell was within the limit of the
        AUC); ``best`` also ``ranking``: the share by ranking.
    """
    plan = {name: in_order(found, cells) for name, cells in experiments(arguments)["2"].items()}
    rng, n = generator(arguments.seed, "certainty"), len(diet.validation)
    weights = np.concatenate(list(bootstrap_weights(n, n_draws, rng)))
    others = weights
    if arguments.chosen_on == "groups" and diet.groups is not None:
        others = np.concatenate(list(bootstrap_weights(len(diet.groups), n_draws, rng)))
    seeds = rng.integers(0, arguments.n_seeds, size=(n_draws, arguments.n_seeds))
    truth = diet.validation.truth.to_numpy()
    vanilla = areas(said["vanilla"]["chances"], truth, weights)
    values: dict[str, Floats] = {}
    changes: dict[str, Floats] = {}
    for name in {cell for cells in plan.values() for cell in cells}:
        with np.errstate(invalid="ignore", divide="ignore"):
            change = areas(said[name]["chances"], truth, weights) / vanilla - 1.0
        fair = arguments.sign * fairness(said[name], diet, arguments.select_by, others)
        values[name], changes[name] = _mean(fair, seeds), _mean(change, seeds)
    rankings, chosen, ranks = {}, [], []
    for ranking, cells in plan.items():
        fair, change = (np.stack([of[name] for name in cells]) for of in (values, changes))
        place = pick(fair, change, arguments.max_auc_drop)
        names = np.array([*cells, NONE])[place]
        rankings[ranking] = _shares(names)
        chosen.append(names)
        ranks.append(np.where(place < 0, -np.inf, fair[place, np.arange(n_draws)]))
    first = np.argmax(ranks, axis=0)
    best = np.array(chosen)[first, np.arange(n_draws)]
    by = np.where(best == NONE, NONE, np.array(list(plan))[first])
    of_best = {**_shares(best), "ranking": _shares(by)["chosen"]}
    return {"n_draws": n_draws, "best": of_best, "rankings": rankings, "n_texts": n}


def _shares(names: NDArray[np.str_]) -> dict[str, Any]:
    """Share of each cell that was chosen, the most frequent first, and of none."""
    counts = Counter(names.tolist())
    chosen = {name: count / len(names) for name, count in counts.most_common() if name != NONE}
    return {"chosen": chosen, "none": counts[NONE] / len(names)}


def _mean(values: Floats, seeds: NDArray[np.intp]) -> Floats:
    """Mean over the seeds of each draw; values of shape (seeds, draws)."""
    return np.asarray(np.take_along_axis(values.T, seeds, axis=1).mean(axis=1), dtype=np.float64)


def areas(chances: NDArray[Any], truth: NDArray[np.bool_], weights: Floats) -> Floats:
    """Areas under the curve of several models with texts that count several times.

    Args:
        chances: of the positive label, shape (models, n).
        truth: whether a text is positive, shape (n,).
        weights: how often each text counts, shape (draws, n).

    Returns:
        Shape (models, draws); NaN where a draw has texts of one kind only.

    Example:
        >>> areas(np.array([[0.1, 0.4, 0.35, 0.8]]), np.array([False, False, True, True]), np.ones((1, 4))).tolist()
        [[0.75]]
    """
    found = np.empty((len(chances), len(weights)))
    for place, values in enumerate(chances):
        order = np.argsort(values, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(values[order]) != 0))
        drawn = weights[:, order]
        ones = np.add.reduceat(drawn * truth[order], starts, axis=1)
        zeros = np.add.reduceat(drawn * ~truth[order], starts, axis=1)
        below = zeros.cumsum(axis=1) - zeros / 2.0
        with np.errstate(invalid="ignore"):
            found[place] = (ones * below).sum(axis=1) / (ones.sum(axis=1) * zeros.sum(axis=1))
    return found


def fairness(said: Said, diet: DietData, by: str, weights: Floats) -> Floats:
    """The measure that cells are chosen by, with texts that count several times.

    Args:
        said: hits of the models, see `grid.said`.
        diet: labels and groups of the texts.
        by: ``counterfactual_parity`` or ``flip_rate`` on validation texts, ``demographic_parity`` or
            ``equalized_odds`` on texts of different groups.
        weights: how often each text counts, shape (draws, n).

    Returns:
        Shape (models, draws); NaN where undefined.
    """
    if by in ("counterfactual_parity", "flip_rate"):
        hits, place = said["hits"].astype(np.float64), diet.validation.place.to_numpy()
        if by == "flip_rate":
            return _rates(np.abs(hits[:, 0] - hits[:, 1]), diet.validation.changed.to_numpy(), weights)
        gaps = np.where(place == 0, hits[:, 0] - hits[:, 1], hits[:, 1] - hits[:, 0])
        return 1.0 - np.abs(_rates(gaps, place >= 0, weights))
    assert diet.groups is not None
    names, labels = np.array(diet.groups.about.to_list()), diet.groups.truth.to_numpy()
    kinds = [np.ones(len(names), dtype=bool)] if by == "demographic_parity" else [labels, ~labels]
    hits = said["group_hits"].astype(np.float64)
    by_kind = [
        np.ptp([_rates(hits, kind & (names == name), weights) for name in np.unique(names)], axis=0) for kind in kinds
    ]
    return np.asarray(1.0 - np.mean(by_kind, axis=0), dtype=np.float64)


def _rates(values: Floats, where: NDArray[np.bool_], weights: Floats) -> Floats:
    """Weighted means over some texts: values of shape (models, n) to shape (models, draws)."""
    drawn = weights[:, where]
    with np.errstate(invalid="ignore"):
        return np.asarray(values[:, where] @ drawn.T / drawn.sum(axis=1), dtype=np.float64)


def read_said(folder: Path, names: Sequence[str]) -> dict[str, Said]:
    """What `grid.run_grid` left of these cells."""
    found: dict[str, Said] = {}
    for name in names:
        with np.load(folder / f"{name}.npz") as arrays:
            found[name] = {key: arrays[key] for key in arrays.files}
    return found
