"""CrowS-Pairs scores: on paper, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores.crows_pairs import crows_pairs, crows_pairs_change, preferences

KEYS = ("stereotype_score", "stereotype_score_stereo", "stereotype_score_antistereo")
PAIRS = st.lists(
    st.tuples(
        st.integers(-4, 4),
        st.integers(-4, 4),
        st.sampled_from(["stereo", "antistereo"]),
        st.sampled_from(["age", "gender", "religion"]),
    ),
    min_size=1,
    max_size=30,
)


def score(pairs, **options):
    more, less, directions, types = zip(*pairs, strict=True)
    return crows_pairs(np.array([more, less], float).T, directions, types, n_bootstrap=50, **options)


def test_ties_stay_in_the_first_denominator_and_leave_the_others():
    pairs = [(2, 1, "stereo", "age"), (1, 1, "stereo", "age"), (1, 2, "stereo", "age"), (1, 1, "antistereo", "age")]
    result = score(pairs)
    assert [result[key] for key in KEYS] == [0.25, 0.5, None]
    assert result["stereotype_score_antistereo_ci95"] is None
    assert (result["n"], result["n_stereo"], result["n_antistereo"], result["tie_rate"]) == (4, 3, 1, 0.5)


def test_ties_are_found_at_three_decimals_as_published():
    scores = [[-10.0004, -10.0001], [-10.0011, -10.0001], [-3.0, -3.0000001]]
    assert preferences(scores).tolist() == [0, -1, 0]
    assert preferences(scores, decimals=None).tolist() == [-1, -1, 1]
    assert preferences(scores, decimals=1).tolist() == [0, 0, 0]


@settings(max_examples=40)
@given(PAIRS, st.randoms(use_true_random=False))
def test_shares_add_up_and_order_does_not_matter(pairs, random):
    result = score(pairs)
    mirrored = score([(less, more, *rest) for more, less, *rest in pairs])
    assert result["stereotype_score"] + mirrored["stereotype_score"] + result["tie_rate"] == pytest.approx(1.0)
    parts = result["bias_types"].values()
    assert sum(part["n"] for part in parts) == result["n"] == len(pairs)
    total = sum(part["n"] * part["stereotype_score"] for part in parts)
    assert total == pytest.approx(result["n"] * result["stereotype_score"])
    shuffled = list(pairs)
    random.shuffle(shuffled)
    again = score(shuffled)
    for key in (*KEYS, "tie_rate"):
        assert again[key] == (None if result[key] is None else pytest.approx(result[key]))


def test_interval_is_that_of_a_share():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(400, 2))
    result = crows_pairs(scores, ["stereo"] * 400, ["gender"] * 400)
    low, high = result["stereotype_score_ci95"]
    share = result["stereotype_score"]
    assert low < share < high
    assert high - low == pytest.approx(2 * 1.96 * (share * (1 - share) / 400) ** 0.5, rel=0.08)
    assert result["bias_types"]["gender"]["stereotype_score_ci95"] == [low, high]


def test_pairs_of_one_writer_are_resampled_together():
    scores = np.array([[1.0, 0.0]] * 50 + [[0.0, 1.0]] * 50)
    writers = [f"w{i // 10}" for i in range(100)]
    alone = crows_pairs(scores, ["stereo"] * 100, ["age"] * 100)["stereotype_score_ci95"]
    together = crows_pairs(scores, ["stereo"] * 100, ["age"] * 100, clusters=writers)["stereotype_score_ci95"]
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": [[1.0, 2.0, 3.0]]}, "two numbers per pair"),
        ({"scores": [[1.0, float("inf")]]}, "NaN or infinite"),
        ({"directions": ["pro"]}, "must be 'stereo' or 'antistereo' for every pair; got pro"),
        ({"bias_types": ["age", "age"]}, "different numbers of rows"),
        ({"clusters": ["w", "w"]}, "different numbers of rows"),
    ],
)
def test_bad_input_is_a_clear_error(changes, message):
    inputs = {"scores": [[1.0, 2.0]], "directions": ["stereo"], "bias_types": ["age"]} | changes
    with pytest.raises(ValueError, match=message):
        crows_pairs(**inputs)


def test_a_change_is_the_difference_of_the_scores_and_tested_pair_by_pair():
    rng = np.random.default_rng(0)
    before = rng.normal(size=(60, 2))
    after = np.where(rng.random((60, 1)) < 0.3, before[:, ::-1], before)
    values = [crows_pairs(side, ["stereo"] * 60, ["age"] * 60)["stereotype_score"] for side in (after, before)]
    found = crows_pairs_change(after, before)
    assert found["stereotype_score_change"] == pytest.approx(values[0] - values[1])
    low, high = found["stereotype_score_change_ci95"]
    assert low < values[0] - values[1] < high
    assert crows_pairs_change(before, before)["stereotype_score_change_ci95"] is None
    back = crows_pairs_change(before, after)
    assert back["stereotype_score_change_ci95"] == pytest.approx([-high, -low])
    with pytest.raises(ValueError, match="same items"):
        crows_pairs_change(after, before[1:])
