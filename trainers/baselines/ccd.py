"""CCD as one of the methods of `hf-fairness compare`; see :mod:`hf_fairness.trainers.ccd`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.trainers.baselines.base import Baseline, Given
from hf_fairness.trainers.ccd.method import train_ccd


class CCD(Baseline):
    """Content-conditional debiasing, ours."""

    name = "ccd"
    control = "control"
    title = "CCD (Deng et al. 2024)"
    about = (
        "trained with content-conditional debiasing (CCD, Deng et al. 2024) to keep equal distances between the "
        "versions of a text about each group and its neutral version"
    )
    options = ("beta", "bias_weight", "rho", "keep_dropout")

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Train it."""
        return train_ccd(given, folder)
