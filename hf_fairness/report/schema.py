"""The shape of what this package reads: one audit of one model, and the record of one training.

Every section of an audit is optional. What is absent is left out of tables and plots and named under
"not measured". Rates, gaps and effect sizes carry their 95 % interval in ``<key>_ci95: [low, high]``; where
the same items were measured before and after, the interval of the difference (after minus before) may stand
in ``<key>_change_ci95`` of the later audit, and is then preferred for the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypedDict

Point: TypeAlias = list[float]


class SeatTest(TypedDict, total=False):
    """One SEAT test: ideal effect size 0 for a bias test, high for a retention test."""

    effect_size: float
    effect_size_ci95: list[float]
    p_value: float
    p_value_clustered: float
    numerator: float
    n_words: int
    n_sentences: int
    method: str
    purpose: str


class SeatSection(TypedDict, total=False):
    """Tests by name, the mean absolute effect size of the bias tests, and the retention tests 1 and 2.

    ``tests`` may hold the retention tests too, marked by ``purpose: "retention"`` or named in ``retention``.
    """

    tests: dict[str, SeatTest]
    mean_abs_effect_size: float
    mean_abs_effect_size_ci95: list[float]
    retention: dict[str, SeatTest]
    meta: dict[str, Any]


class CcedSection(TypedDict, total=False):
    """CCED on one set of texts: distances between embeddings, so in units of the embedding space; ideal 0."""

    cced: float
    cced_ci95: list[float]
    cced_signed: float
    cced_signed_ci95: list[float]
    cced_relative: float
    cced_relative_ci95: list[float]
    mean_distance: float
    mean_distance_ci95: list[float]
    n: int
    n_skipped: int
    pairs: dict[str, dict[str, Any]]
    meta: dict[str, Any]


class ProbeSection(TypedDict, total=False):
    """Accuracy in [0, 1] of a classifier that reads the group from the embedding; ideal: chance."""

    accuracy: float
    accuracy_ci95: list[float]
    chance: float
    n: int
    meta: dict[str, Any]


class UtilitySection(TypedDict, total=False):
    """What the encoder is still good for: rank correlations in [-1, 1], ideal 1."""

    sts_spearman: float
    sts_spearman_ci95: list[float]
    similarity_structure: float
    similarity_structure_ci95: list[float]
    n: int
    meta: dict[str, Any]


class ProjectionSection(TypedDict, total=False):
    """Two-dimensional coordinates by group, made by :func:`hf_fairness.report.projection.project`."""

    method: str
    points: dict[str, list[Point]]
    n: int
    note: str


class Audit(TypedDict, total=False):
    """What was measured on one model for one attribute in one language."""

    model: str
    attribute: str
    language: str
    date: str
    versions: dict[str, str]
    seat: SeatSection
    cced: dict[str, CcedSection]
    probe: dict[str, ProbeSection]
    utility: UtilitySection
    projection: ProjectionSection | list[ProjectionSection]
    not_measured: list[str]


class Training(TypedDict, total=False):
    """How a model was trained; further keys are shown as they are.

    ``loss_curve`` holds numbers, ``[step, loss]`` pairs, or dicts with ``step`` and named losses, such as
    ``trainer.state.log_history``.
    """

    method: str
    hyperparameters: dict[str, Any]
    data: str
    n: int
    n_skipped: int
    rho: float
    seconds: float
    loss_curve: list[Any]


#: What the functions accept: any mapping of that shape, with missing and additional keys.
AuditLike: TypeAlias = Mapping[str, Any]
