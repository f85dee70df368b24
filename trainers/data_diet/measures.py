"""What the models of a cell are measured by."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hf_fairness.scores.auc import area_under_curve
from hf_fairness.scores.flips import counterfactual_flip
from hf_fairness.scores.groups import equalized_odds
from hf_fairness.trainers.data_diet.data import DietData, GroupTexts, Split
from hf_fairness.utils import FairnessWarning

Probabilities = NDArray[np.float64]

#: On the same texts with their group words flipped, in the order of tables; then AUC and accuracy on all texts.
PAIRED = (
    "counterfactual_parity",
    "counterfactual_equal_opportunity_1",
    "counterfactual_equalized_odds",
    "kept_flipped_parity",
    "flip_rate",
    "mean_abs_probability_change",
    "positive_rate",
    "auc",
    "accuracy",
)
#: On different texts of different groups.
GROUP = ("demographic_parity", "equal_opportunity_1", "equalized_odds", "positive_rate", "accuracy")

Values = list["float | None"]


def measure(
    data: DietData, probabilities: Mapping[str, Probabilities], *, blind: bool = False
) -> dict[str, dict[str, Values]]:
    """Paired metrics and AUC on validation and test texts, group metrics on the texts of groups.

    Args:
        data: labels, groups, and which texts have a counterfactual.
        probabilities: of each set, shape (seeds, n, classes).
        blind: for a model without the attribute's terms; its texts differ, their rows do not.

    Returns:
        Set -> key -> one value per seed; None where undefined.
    """
    found: dict[str, dict[str, Values]] = {}
    for name, split in (("validation", data.validation), ("test", data.test)):
        versions = probabilities[name], probabilities[f"{name}_counterfactual"]
        each = [_paired(pair, split, data.positive) for pair in zip(*versions, strict=True)]
        found[name] = {key: [one[key] for one in each] for key in PAIRED}
    if data.groups is not None:
        each = [_group(values, data.groups, data.positive) for values in probabilities["groups"]]
        found["groups"] = {key: [one[key] for one in each] for key in GROUP}
    return found


def _paired(pair: Sequence[Probabilities], split: Split, positive: int) -> dict[str, float | None]:
    """Measures of one model on texts and their counterfactuals.

    Parity, opportunity and odds compare the versions about one group with the versions about the other: between texts
    as they are and flipped, a gap in one direction cancels that in the other. That comparison, which equation 3 of
    the paper describes, is ``kept_flipped_parity``.
    """
    hits = [(p.argmax(axis=1) == positive).astype(int) for p in pair]
    chances = [p[:, positive] for p in pair]
    truth, first, known = (split.labels == positive).astype(int), split.place == 0, (split.place >= 0).astype(int)
    by_group = {
        split.versions[0]: np.where(first, hits[0], hits[1]),
        split.versions[1]: np.where(first, hits[1], hits[0]),
    }
    names = ("original", "counterfactual")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # what is undefined stays None
        flip = counterfactual_flip(
            dict(zip(names, hits, strict=True)),
            probabilities=dict(zip(names, chances, strict=True)),
            changed=split.changed.astype(int),
            n_bootstrap=0,
        )
        groups = counterfactual_flip(by_group, references=truth, changed=known, n_bootstrap=0) if known.any() else {}
    return {
        **{key: groups.get(key) for key in PAIRED if key.startswith("counterfactual")},
        "kept_flipped_parity": flip["counterfactual_parity"],
        **{key: flip[key] for key in ("flip_rate", "mean_abs_probability_change")},
        "positive_rate": flip["positive_rate"]["original"],
        "auc": area_under_curve(chances[0], truth == 1)["auc"],
        "accuracy": float((pair[0].argmax(axis=1) == split.labels).mean()),
    }


def _group(probabilities: Probabilities, groups: GroupTexts, positive: int) -> dict[str, float | None]:
    """Measures of one model on texts of different groups."""
    hits, truth = (probabilities.argmax(axis=1) == positive).astype(int), (groups.labels == positive).astype(int)
    odds = equalized_odds(hits, truth, groups.groups, n_bootstrap=0)
    rates = odds["rates"].values()
    gaps = {
        key: 1.0 - float(np.ptp([rate[name] for rate in rates]))
        for key, name in (("demographic_parity", "positive_rate"), ("equal_opportunity_1", "true_positive_rate"))
    }
    return {
        **gaps,
        "equalized_odds": odds["equalized_odds"],
        "positive_rate": odds["overall_positive_rate"],
        "accuracy": odds["accuracy"],
    }
