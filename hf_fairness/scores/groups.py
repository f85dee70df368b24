"""Group metrics of a classifier: whether groups receive the positive label, and errors, equally often."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.auc import area_under_curve
from hf_fairness.scores.group_counts import (
    GroupCounts,
    count_groups,
    detectable_gap,
    distance_entry,
    groups_without,
    overall_entries,
    rate_table,
)
from hf_fairness.scores.intervals import (
    METHOD,
    gap_entry,
    largest_gap,
    mean_gap_interval,
    worst_gap_interval,
)
from hf_fairness.scores.labels import Labels, as_probabilities
from hf_fairness.scores.meta import describe
from hf_fairness.scores.rates import one_minus
from hf_fairness.scores.statistics import N_BOOTSTRAP
from hf_fairness.utils import FairnessWarning

CONVENTION = (
    "gap = largest - smallest rate over the groups; published form 1 - gap, difference form gap (fairlearn's); "
    f"{METHOD}; more than two groups: Tukey's comparison of those that may be first or last; intervals of gaps reach "
    "0 where chance explains the gap; the gap itself cannot be negative, so that it is too large on average where "
    "groups are small or many; fped and fned: drawn, on the safe side; minimal_detectable_gap: of the hardest pair of "
    "groups, two-sided at .05 / number of pairs, power .8"
)
DIRECTION = "published form: lower is worse; differences, fped and fned: higher is worse"
MEASURES = {
    "demographic_parity": Declared(
        "texts of all groups get the positive label equally often (group DP)", "bias", 1.0, "higher"
    ),
    "equal_opportunity_1": Declared(
        "positive texts of all groups get the positive label equally often (group EqOpp1)", "bias", 1.0, "higher"
    ),
    "equalized_odds": Declared(
        "texts of either label of all groups get the positive label equally often (group EqOdd)", "bias", 1.0, "higher"
    ),
}


def _result(counts: GroupCounts, seed: int, ideal: str) -> dict[str, Any]:
    """What every result ends with: overall rates, the table of groups, sizes, meta."""
    clusters = {} if counts.clusters is None else {"n_clusters": counts.clusters.shape[0]}
    return {
        **overall_entries(counts),
        "rates": rate_table(counts),
        "n": counts.n,
        "meta": describe(
            n=counts.n,
            convention=CONVENTION,
            ideal=ideal,
            direction=DIRECTION,
            seed=seed,
            groups=counts.names,
            positive_label=counts.positive_label,
            **clusters,
        ),
    }


def _error_sums(counts: GroupCounts, n_bootstrap: int, seed: int) -> dict[str, Any]:
    """FPED and FNED; |FNR of a group - FNR| = |TPR of the group - TPR|."""
    return distance_entry("fped", counts, 0, n_bootstrap, seed) | distance_entry("fned", counts, 1, n_bootstrap, seed)


def _say_undefined(counts: GroupCounts, what: dict[int, str]) -> None:
    """Warn of results that are None because a group has no rows of a reference."""
    for label, keys in what.items():
        if names := groups_without(counts, label):
            kind = "positive" if label else "negative"
            warnings.warn(
                f"{keys} is None: no rows with a {kind} reference in group(s) {', '.join(names)}.",
                FairnessWarning,
                stacklevel=3,
            )


def demographic_parity(
    predictions: Labels,
    groups: Labels,
    *,
    references: Labels | None = None,
    positive_label: Any = None,
    clusters: Labels | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Demographic parity: whether every group is predicted positive equally often.

    difference = max over groups of P(prediction = 1 | group) - min over groups; parity = 1 - difference. The groups'
    rows are different texts; for the same texts in two versions see ``flips.counterfactual_flip``.

    Args:
        predictions: predicted labels, shape (n,): 0 and 1, or any labels with ``positive_label``.
        groups: the group of each row; two or more groups.
        references: true labels; adds accuracy, error rates, ``fped`` and ``fned``.
        positive_label: the label that counts as positive against all others; None: 1.
        clusters: a label per row, such as the template of a sentence: rows of a cluster count together.
        n_bootstrap: draws behind the intervals of ``fped`` and ``fned`` (the others need none); 0: no intervals.
        seed: of the draws.

    Returns:
        ``demographic_parity`` in [0, 1], ideal 1, lower is worse; ``demographic_parity_difference``, ideal 0;
        ``positive_rate`` per group; ``minimal_detectable_gap`` (None: no gap could be found with so few rows);
        ``overall_positive_rate``; ``rates``: per group its rows and rates with intervals; ``n``; ``meta``; with
        references ``accuracy``, ``fped``, ``fned`` (in [0, groups], ideal 0; None where a group has no negative or no
        positive rows). Gaps and rates have ``_ci95``.

    Raises:
        ValueError: one group, no rows, different lengths, missing values, or labels that are not two without
            ``positive_label``.

    Source:
        Zayed et al. 2023, equation 3 (1 - gap), here over groups of rows as in their code; fairlearn's
        ``demographic_parity_difference``; FPED and FNED of Dixon et al. 2018.

    Example:
        >>> result = demographic_parity([1, 1, 1, 0], ["a", "a", "b", "b"])
        >>> result["demographic_parity"], result["positive_rate"]
        (0.5, {'a': 1.0, 'b': 0.5})
    """
    counts = count_groups(predictions, groups, references, positive_label, clusters, n_bootstrap)
    rates = counts.rates()
    gap = gap_entry("demographic_parity_difference", rates, wanted=counts.wanted)
    result = one_minus("demographic_parity", *gap.values()) | gap
    result["positive_rate"] = {name: float(rates.values[place]) for place, name in enumerate(counts.names)}
    result["minimal_detectable_gap"] = detectable_gap(counts, None)
    if references is not None:
        result |= _error_sums(counts, n_bootstrap, seed)
        _say_undefined(counts, {0: "fped", 1: "fned"})
    return result | _result(counts, seed, "demographic_parity 1; difference, fped and fned 0")


def equal_opportunity(
    predictions: Labels,
    references: Labels,
    groups: Labels,
    *,
    positive_label: Any = None,
    clusters: Labels | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Equality of opportunity: whether rows of one reference label are predicted positive equally often in all groups.

    difference_y = max over groups of P(prediction = 1 | reference = y, group) - min over groups; opportunity_y =
    1 - difference_y. y = 1 compares true positive rates (the usual meaning), y = 0 false positive rates.

    Args:
        predictions: predicted labels, shape (n,): 0 and 1, or any labels with ``positive_label``.
        references: true labels, same rows.
        groups: the group of each row; two or more groups.
        positive_label: the label that counts as positive against all others; None: 1.
        clusters: a label per row: rows of a cluster count together.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

    Returns:
        ``equal_opportunity_0``, ``equal_opportunity_1`` in [0, 1], ideal 1, lower is worse;
        ``equal_opportunity_0_difference``, ``equal_opportunity_1_difference``, ideal 0; each None where a group has
        no rows of that reference; ``minimal_detectable_gap_0``, ``minimal_detectable_gap_1``; ``accuracy``,
        ``overall_positive_rate``; ``rates`` per group; ``n``; ``meta``. Gaps and rates have ``_ci95``.

    Raises:
        ValueError: as ``demographic_parity``, or neither label has rows in every group.

    Source:
        Hardt et al. 2016; Zayed et al. 2023, EqOpp0 and EqOpp1; fairlearn's ``equal_opportunity_difference`` is that
        of label 1, but it takes the rate of a group without positive rows as 0.

    Example:
        >>> predictions, references = [1, 0, 0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 1, 1, 0, 0]
        >>> result = equal_opportunity(predictions, references, ["a"] * 4 + ["b"] * 4)
        >>> result["equal_opportunity_1"], result["rates"]["b"]["true_positive_rate"]
        (0.5, 1.0)
    """
    counts = count_groups(predictions, groups, references, positive_label, clusters, n_bootstrap)
    missing = {label: groups_without(counts, label) for label in (0, 1)}
    if all(missing.values()):
        raise ValueError(
            f"Nothing can be compared: no positive references in group(s) {', '.join(missing[1])}, no negative ones in "
            f"{', '.join(missing[0])}. Leave such groups out, or use demographic_parity."
        )
    result: dict[str, Any] = {}
    for label in (0, 1):
        key = f"equal_opportunity_{label}"
        gap = gap_entry(f"{key}_difference", counts.rates(label), wanted=counts.wanted)
        result |= one_minus(key, *gap.values()) | gap
        result[f"minimal_detectable_gap_{label}"] = detectable_gap(counts, label)
    _say_undefined(counts, {0: "equal_opportunity_0", 1: "equal_opportunity_1"})
    return result | _result(counts, seed, "equal_opportunity_* 1; differences 0")


def equalized_odds(
    predictions: Labels,
    references: Labels,
    groups: Labels,
    *,
    probabilities: ArrayLike | None = None,
    positive_label: Any = None,
    clusters: Labels | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Equalized odds: whether true and false positive rates are equal in all groups.

    Published: the mean of equal_opportunity_0 and equal_opportunity_1, each 1 - gap. fairlearn's difference: the
    larger of the two gaps.

    Args:
        predictions: predicted labels, shape (n,): 0 and 1, or any labels with ``positive_label``.
        references: true labels, same rows.
        groups: the group of each row; two or more groups.
        probabilities: of the positive label, shape (n,); adds ``auc`` over all rows.
        positive_label: the label that counts as positive against all others; None: 1.
        clusters: a label per row: rows of a cluster count together.
        n_bootstrap: draws behind the intervals of ``fped`` and ``fned``; 0: no intervals but ``auc_ci95``.
        seed: of the draws.

    Returns:
        ``equalized_odds`` in [0, 1], ideal 1, lower is worse; ``equalized_odds_difference``, ideal 0; ``fped``,
        ``fned`` in [0, groups], ideal 0; ``minimal_detectable_gap_0``, ``minimal_detectable_gap_1``; ``accuracy``,
        ``overall_positive_rate``; ``auc`` where asked for; ``rates`` per group; ``n``; ``meta``. Gaps and rates have
        ``_ci95``.

    Raises:
        ValueError: as ``demographic_parity``, or a group without positive or without negative references.

    Source:
        Hardt et al. 2016; Zayed et al. 2023, EqOdd; fairlearn's ``equalized_odds_difference``.

    Example:
        >>> predictions, references = [1, 0, 0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 1, 1, 0, 0]
        >>> result = equalized_odds(predictions, references, ["a"] * 4 + ["b"] * 4)
        >>> result["equalized_odds"], result["equalized_odds_difference"], result["fped"]
        (0.5, 0.5, 0.5)
    """
    counts = count_groups(predictions, groups, references, positive_label, clusters, n_bootstrap)
    for label, kind in ((1, "positive"), (0, "negative")):
        if names := groups_without(counts, label):
            raise ValueError(
                f"No rows with a {kind} reference in group(s) {', '.join(names)}: equalized odds are undefined. Leave "
                "such groups out, or use equal_opportunity, which gives the half that is defined."
            )
    rates = counts.rates(0), counts.rates(1)
    gaps = [largest_gap(each) for each in rates]
    result = one_minus("equalized_odds", float(np.mean(gaps)), None)
    result |= {"equalized_odds_difference": max(gaps), "equalized_odds_difference_ci95": None}
    if counts.wanted:
        result |= one_minus("equalized_odds", float(np.mean(gaps)), mean_gap_interval(rates))
        result["equalized_odds_difference_ci95"] = worst_gap_interval(rates)
    result |= _error_sums(counts, n_bootstrap, seed)
    result |= {f"minimal_detectable_gap_{label}": detectable_gap(counts, label) for label in (0, 1)}
    if probabilities is not None and counts.truth is not None:
        scores = as_probabilities(probabilities, "probabilities", counts.n)
        result |= area_under_curve(scores, counts.truth, clusters=clusters)
    return result | _result(counts, seed, "equalized_odds 1; difference, fped and fned 0")
