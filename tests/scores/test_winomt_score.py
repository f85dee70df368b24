"""WinoMT's numbers: on paper, invariant where they must be, compared between systems."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores.winomt import compare_winomt, winomt
from hf_fairness.scores.winomt_rates import WinoMTRows
from hf_fairness.utils import FairnessWarning

GENDERS = ("male", "female", "neutral")


def rows_of(pairs, **more):
    """Rows from pairs of gold and predicted gender."""
    return WinoMTRows([gold for gold, _ in pairs], [read for _, read in pairs], **more)


#: male: gold 3, predicted 2, hits 2. female: gold 3, predicted 3, hits 2.
PAPER = [
    ("male", "male"),
    ("male", "male"),
    ("male", "female"),
    ("female", "female"),
    ("female", "female"),
    ("female", "unknown"),
]


def test_rounding_of_the_published_code():
    exact, original = winomt(rows_of(PAPER)), winomt(rows_of(PAPER), rounding="original")
    assert exact["f1_male"] == pytest.approx(4 / 5)
    assert exact["delta_g"] == pytest.approx(4 / 5 - 2 / 3)
    # P 100.0, R 66.7: 80.0239 -> 80.0; P 66.7, R 66.7 -> 66.7.
    assert (original["f1_male"], original["f1_female"], original["delta_g"]) == (0.8, 0.667, 0.133)
    assert original["recall_male"] == 0.667
    assert original["delta_r"] == 0.0


def test_published_rounding_differs_by_more_than_its_last_digit_can_hide():
    """1 of 3 and 2 of 3, a hundred times over, is a case in which rounding first moves F1."""
    pairs = [("male", "male")] * 1 + [("male", "female")] * 6 + [("female", "male")] * 5 + [("female", "female")] * 2
    exact, original = winomt(rows_of(pairs)), winomt(rows_of(pairs), rounding="original")
    # P = 1/6 -> 16.7, R = 1/7 -> 14.3: F1 15.4066 -> 15.4; exact 2/13 = 15.3846.
    assert original["f1_male"] == 0.154
    assert exact["f1_male"] == pytest.approx(2 / 13)


def test_other_names_of_groups():
    """The logic goes over names given as data."""
    names = {"male": "x", "female": "y"}
    renamed = [(names[gold], names.get(read, read)) for gold, read in PAPER]
    expected, found = winomt(rows_of(PAPER)), winomt(rows_of(renamed), groups=("x", "y"))
    assert found["f1_x"] == expected["f1_male"]
    assert found["delta_g"] == expected["delta_g"]
    assert found["delta_g_ci95"] == expected["delta_g_ci95"]


PAIRS = st.lists(st.tuples(st.sampled_from(GENDERS), st.sampled_from((*GENDERS, "unknown"))), min_size=2, max_size=30)


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@settings(max_examples=60)
@given(PAIRS, st.randoms(use_true_random=False), st.sampled_from(["exact", "original"]))
def test_order_of_rows_and_of_groups(pairs, random, rounding):
    first = winomt(rows_of(pairs), rounding=rounding, n_bootstrap=0)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert winomt(rows_of(shuffled), rounding=rounding, n_bootstrap=0) | {"meta": 0} == first | {"meta": 0}
    other = winomt(rows_of(pairs), groups=("female", "male"), rounding=rounding, n_bootstrap=0)
    assert other["f1_male"] == first["f1_male"]
    if first["delta_g"] is None:
        assert other["delta_g"] is None
    else:
        assert other["delta_g"] == -first["delta_g"]
        assert -1 <= first["delta_g"] <= 1


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@settings(max_examples=60)
@given(PAIRS)
def test_agrees_with_scikit_learn(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    result = winomt(rows_of(pairs), n_bootstrap=0)
    gold, predicted = [gold for gold, _ in pairs], [read for _, read in pairs]
    assert result["accuracy"] == pytest.approx(metrics.accuracy_score(gold, predicted))
    for group in ("male", "female"):
        if group in gold:
            for name, function in (("f1", metrics.f1_score), ("recall", metrics.recall_score)):
                value = function(gold, predicted, labels=[group], average="macro", zero_division=0.0)
                assert result[f"{name}_{group}"] == pytest.approx(value)


def test_one_gender_warns_and_leaves_gaps_undefined():
    with pytest.warns(FairnessWarning, match="gold gender 'female'"):
        result = winomt(rows_of([("male", "female"), ("male", "male")]))
    assert result["f1_female"] is None
    assert result["delta_r"] is None
    assert result["delta_r_ci95"] is None
    assert result["accuracy"] == 0.5


def test_stereotypes_without_one_side():
    result = winomt(rows_of(PAPER, stereotypes=["pro"] * 6))
    assert result["accuracy_pro"] == 4 / 6
    assert result["accuracy_anti"] is None
    assert result["delta_s_accuracy"] is None
    assert result["delta_s_f1"] is None


def test_alignment_failures_are_a_rate_of_their_own():
    result = winomt(rows_of(PAPER, aligned=[True] * 5 + [False]))
    assert result["alignment_failure_rate"] == 1 / 6
    assert result["unknown_rate"] == 1 / 6
    assert winomt(rows_of(PAPER))["alignment_failure_rate"] is None


def test_clusters_widen_the_interval():
    """Rows of a cluster that are right together widen it; a right and a wrong one in each cluster do not narrow it."""
    together = [("male", "male")] * 2 + [("female", "male")] * 2
    pairs = together * 50
    labels = [row // 2 for row in range(200)]

    def width(**more):
        low, high = winomt(rows_of(pairs, **more))["accuracy_ci95"]
        return high - low

    assert width(clusters=labels) > 1.2 * width()
    assert width(clusters=[(row // 4, row % 2) for row in range(200)]) == pytest.approx(width(), rel=0.03)


def test_interval_has_the_binomial_width():
    pairs = [("male", "male")] * 300 + [("female", "male")] * 300
    low, high = winomt(rows_of(pairs))["accuracy_ci95"]
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 600), rel=0.08)


def test_comparison_by_hand():
    """Five rows that only a has right, one that only b has: the exact test of McNemar gives 2 * 7 / 64."""
    a = [("male", "male")] * 9 + [("female", "female")] * 5 + [("female", "male")]
    b = [("male", "male")] * 9 + [("female", "male")] * 5 + [("female", "female")]
    found = compare_winomt(rows_of(a), rows_of(b))
    assert found["accuracy"]["a"] == 14 / 15
    assert found["accuracy"]["difference"] == pytest.approx(4 / 15)
    assert found["accuracy"]["p_value"] == pytest.approx(14 / 64)
    assert found["accuracy"]["method"] == "exact"
    assert found["delta_r"]["difference"] == pytest.approx(1 / 6 - 5 / 6)
    assert all(found[key]["p_value_holm"] >= found[key]["p_value"] for key in found)
    back = compare_winomt(rows_of(b), rows_of(a))
    assert back["accuracy"]["difference"] == -found["accuracy"]["difference"]
    assert back["accuracy"]["p_value"] == found["accuracy"]["p_value"]


def test_a_system_does_not_differ_from_itself():
    found = compare_winomt(
        rows_of(PAPER, stereotypes=["pro", "anti"] * 3), rows_of(PAPER, stereotypes=["pro", "anti"] * 3)
    )
    assert {"accuracy", "delta_g", "delta_r", "delta_s_accuracy", "unknown_rate"} <= set(found)
    assert all(one["difference"] == 0 and one["p_value"] == 1 for one in found.values())


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"gold": ["male"] * 5}, {}, "got 6 for 5 rows"),
        ({"predicted": ["Male"] * 6}, {}, r"predicted\[0\] is 'Male'"),
        ({"gold": ["unknown"] * 6}, {}, r"gold\[0\] is 'unknown'"),
        ({"stereotypes": ["pro"] * 5 + ["yes"]}, {}, r"stereotypes\[5\] is 'yes'"),
        ({"clusters": [1]}, {}, "clusters needs one label per row"),
        ({"professions": ["nurse"]}, {}, "professions needs one entry per row"),
        ({}, {"groups": ("male", "female", "neutral")}, "exactly two groups"),
        ({}, {"rounding": "up"}, "'exact', 'original'"),
    ],
)
def test_errors_name_what_came(changes, options, message):
    with pytest.raises(ValueError, match=message):
        winomt(dataclasses.replace(rows_of(PAPER), **changes), **options)


def test_comparison_wants_the_same_rows():
    other = [("female", "male"), *PAPER[1:]]
    with pytest.raises(ValueError, match="their gold differ"):
        compare_winomt(rows_of(PAPER), rows_of(other))
    with pytest.raises(ValueError, match="aligned"):
        compare_winomt(rows_of(PAPER, aligned=[True] * 6), rows_of(PAPER))
