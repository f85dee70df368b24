"""Demographic parity and equalized odds of four groups against fairlearn's `MetricFrame`, with intervals on both sides.

The frame has the selection rate, the true and the false positive rate of each group, and their differences; rates and
differences are ours to the last digits. Its intervals come from a bootstrap of 20 resamples, fewer where there are many
rows: all in its favour, for quantiles of 95 % take 100 at least, and its time grows with their number. Ours are
computed, and how often they hold the truth stands in the table of the intervals. The rows without intervals compare
the counting alone. The floor is one count of the rows by group, label and prediction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.runner import Benchmark, agree
from hf_fairness.scores.groups import demographic_parity, equalized_odds
from hf_fairness.scores.statistics import N_BOOTSTRAP

GROUPS = ("a", "b", "c", "d")
#: Rows and resamples of fairlearn's; 0: no intervals on either side.
SIZES = {
    "1,000 rows, 20 resamples": (1000, 20),
    "10,000 rows, 20 resamples": (10_000, 20),
    "100,000 rows, 5 resamples": (100_000, 5),
    "1,000,000 rows, 1 resample": (1_000_000, 1),
    "1,000 rows, no intervals": (1000, 0),
    "100,000 rows, no intervals": (100_000, 0),
}
TOLERANCE = 1e-12


class State(NamedTuple):
    """Columns as arrays, and fairlearn's resamples."""

    predictions: NDArray[np.int64]
    references: NDArray[np.int64]
    groups: NDArray[np.str_]
    resamples: int


def setup(quick: bool, size: str) -> State:
    """Labels, predictions that follow them more or less by group, and group names."""
    rows, resamples = SIZES[size]
    rng, rows = np.random.default_rng(0), rows // (10 if quick and rows > 1000 else 1)
    group, references = rng.integers(0, len(GROUPS), rows), rng.integers(0, 2, rows)
    right = rng.random(rows) < 0.9 - 0.1 * group
    return State(np.where(right, references, 1 - references), references, np.array(GROUPS)[group], resamples)


def ours(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both metrics, with the intervals of all rates and gaps."""
    draws = N_BOOTSTRAP if state.resamples else 0
    parity = demographic_parity(state.predictions, state.groups, n_bootstrap=draws)
    return parity, equalized_odds(state.predictions, state.references, state.groups, n_bootstrap=draws)


def theirs(state: State) -> Any:
    """The frame, the differences between groups, and their intervals."""
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate

    rates = {"positive": selection_rate, "true_positive": true_positive_rate, "false_positive": false_positive_rate}
    bootstrap = {"n_boot": state.resamples, "ci_quantiles": [0.025, 0.975], "random_state": 0}
    frame = MetricFrame(
        metrics=rates,
        y_true=state.references,
        y_pred=state.predictions,
        sensitive_features=state.groups,
        **(bootstrap if state.resamples else {}),
    )
    return frame, frame.difference(), frame.difference_ci() if state.resamples else None


def check(state: State) -> dict[str, float]:
    """Rates of every group and both differences are the same."""
    (parity, odds), (frame, gaps, _) = ours(state), theirs(state._replace(resamples=0))
    for name in GROUPS:
        for kind, rate in frame.by_group.loc[name].items():
            agree(f"{kind} rate of {name}", [odds["rates"][name][f"{kind}_rate"]], [rate], TOLERANCE)
    found = parity["demographic_parity_difference"], odds["equalized_odds_difference"]
    agree("differences", found, (gaps["positive"], max(gaps["true_positive"], gaps["false_positive"])), TOLERANCE)
    return dict(zip(("parity gap", "odds gap"), found, strict=True))


def subject(state: State) -> None:
    """Ours, whole."""
    ours(state)


def peer(state: State) -> None:
    """fairlearn's, whole."""
    theirs(state)


def floor(state: State) -> None:
    """Rows by group, label and prediction."""
    _, group = np.unique(state.groups, return_inverse=True)
    np.bincount(4 * group + 2 * state.references + state.predictions, minlength=4 * len(GROUPS))


BENCHMARK = Benchmark(
    name="group_metrics",
    compares="demographic parity and equalized odds of four groups against fairlearn's MetricFrame and its bootstrap",
    bar=dict.fromkeys(SIZES, 1.0),
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=5,
    rival="fairlearn",
    check=check,
)
