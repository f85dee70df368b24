"""The arithmetic of the bias score: direction, importance, and the three sums."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hf_fairness.scores.bias_score import (
    cosines,
    direction_of,
    halves_stability,
    max_pool_importance,
    mean_pool_contributions,
    mean_pool_importance,
    summarize_scores,
    word_bias,
)

TABLES = json.loads((Path(__file__).parents[1] / "golden/bias_score_tables.json").read_text(encoding="utf-8"))
GROUPS = ["male", "female"]
NUMBERS = st.floats(-5.0, 5.0, width=32)


@pytest.mark.parametrize("table", TABLES, ids=["table 2", "table 12"])
def test_published_tables_as_arithmetic(table):
    given_, value, close = table["input"], table["value"], table["tolerance"]
    found = word_bias(given_["bias"], given_["importance"], given_["excluded"])
    assert found.weighted == pytest.approx(value["weighted"], abs=close)
    assert found.positive == pytest.approx(value["female"], abs=close)
    assert found.negative == pytest.approx(value["male"], abs=close)
    assert found.absolute == pytest.approx(value["absolute"], abs=close)


def _pairs(n=40, d=12, lean=3.0, seed=0):
    """Both members of pairs that differ along the first axis, around centres of their own."""
    rng = np.random.default_rng(seed)
    centres, noise = 10 * rng.normal(size=(n, d)), rng.normal(size=(2, n, d))
    axis = np.eye(d)[0] * lean
    return centres - axis + noise[0], centres + axis + noise[1]


def test_uncentred_differences_are_the_pca_of_vectors_centred_pair_by_pair():
    from sklearn.decomposition import PCA

    first, second = _pairs()
    middle = (first + second) / 2
    reference = PCA(n_components=10).fit(np.concatenate([first - middle, second - middle]))
    found = direction_of(second - first)
    assert found.explained_variance_ratio == pytest.approx(reference.explained_variance_ratio_, abs=1e-9)
    assert abs(found.vector @ reference.components_[0]) == pytest.approx(1.0, abs=1e-9)


def test_centring_on_the_common_mean_would_lose_the_direction():
    first, second = _pairs()
    differences = second - first
    found = direction_of(differences)
    centred = direction_of(differences - differences.mean(axis=0))
    assert found.explained_variance_ratio[0] > 0.6 > 0.3 > centred.explained_variance_ratio[0]
    assert found.vector[0] > 0.95 > 0.5 > abs(centred.vector[0])


def test_sign_puts_the_second_group_on_the_positive_side():
    first, second = _pairs()
    direction = direction_of(second - first).vector
    assert ((second - first) @ direction).mean() > 0.0
    assert direction_of(first - second).vector == pytest.approx(-direction)
    assert direction_of([[-2.0, 0.0]]).vector.tolist() == [-1.0, 0.0]  # one pair: its difference


@given(arrays(np.float64, (7, 4), elements=NUMBERS), st.floats(0.01, 100.0))
@settings(max_examples=40)
def test_direction_ignores_order_and_scale(differences, factor):
    assume(np.abs(differences).max() > 1e-3)
    found = direction_of(differences)
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)
    assert found.explained_variance_ratio.sum() == pytest.approx(1.0)
    assert (np.diff(found.explained_variance_ratio) <= 1e-12).all()
    ratios = direction_of(differences[::-1] * factor).explained_variance_ratio
    assert ratios == pytest.approx(found.explained_variance_ratio, abs=1e-6)


def test_no_more_than_ten_components():
    assert direction_of(np.random.default_rng(0).normal(size=(30, 20))).explained_variance_ratio.shape == (10,)


def test_stability_tells_a_common_direction_from_noise():
    first, second = _pairs(lean=6.0)
    stable = halves_stability(second - first)
    noise = halves_stability(np.random.default_rng(1).normal(size=(40, 12)))
    assert stable.min() > 0.97 > 0.8 > noise.mean()
    assert len(stable) == 20
    assert ((noise >= 0.0) & (noise <= 1.0)).all()
    assert (halves_stability(second - first) == stable).all()
    assert len(halves_stability((second - first)[:3])) == 0
    assert len(halves_stability([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])) == 0  # a half without difference


def test_importance_of_max_pooling_counts_the_wins():
    tokens = [[9.0, 0.0, 0.0, 1.0], [0.0, 2.0, 3.0, 1.0], [1.0, 1.0, 5.0, 0.0], [0.0, 3.0, 0.0, 0.0]]
    # special token wins dimension 0, the second token of word 0 dimension 2, word 1 dimension 1; the tie in 3 goes
    # to the special token, which comes first.
    assert max_pool_importance(tokens, [-1, 0, 0, 1], 3).tolist() == [0.25, 0.25, 0.0]
    assert max_pool_importance(np.empty((0, 4)), [], 2).tolist() == [0.0, 0.0]
    assert max_pool_importance(tokens, [-1, -1, -1, -1], 0).tolist() == []


@given(arrays(np.float64, (6, 5), elements=NUMBERS), st.lists(st.integers(-1, 2), min_size=6, max_size=6))
@settings(max_examples=60)
def test_contributions_add_up_to_the_mean_and_the_score_to_its_cosine(tokens, words):
    pooled, direction = tokens.mean(axis=0), np.arange(1.0, 6.0)
    parts = mean_pool_contributions(tokens, words, 3)
    rest = tokens[np.array(words) < 0].sum(axis=0) / 6
    assert parts.sum(axis=0) + rest == pytest.approx(pooled, abs=1e-9)
    everything = np.vstack([parts, rest])
    weights = mean_pool_importance(everything, pooled)
    length = np.linalg.norm(pooled)
    if length > 1e-3:
        assert weights.sum() >= 1.0 - 1e-9
        found = word_bias(cosines(everything, direction), weights, np.zeros(4, dtype=bool))
        exact = pooled @ direction / length / np.linalg.norm(direction)
        assert found.positive + found.negative == pytest.approx(exact, abs=1e-6)


def test_a_mean_of_zeros_has_no_importance():
    assert mean_pool_importance([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]).tolist() == [0.0, 0.0]


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.booleans()), max_size=12),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60)
def test_sums_are_signed_bounded_and_free_of_order(words, random):
    def of(rows):
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        return word_bias(*columns)

    found = of(words)
    assert found.negative <= 0.0 <= found.positive
    assert found.absolute == pytest.approx(sum(abs(bias * weight) for bias, weight, out in words if not out))
    assert found.absolute <= sum(weight for _, weight, out in words if not out) + 1e-12
    random.shuffle(words)
    again = of(words)
    assert (again.positive, again.negative) == pytest.approx((found.positive, found.negative))


def test_excluded_words_and_zero_vectors_have_no_bias():
    assert word_bias([0.9, -0.9], [1.0, 1.0], [True, True]).absolute == 0.0
    assert word_bias([0.9], [1.0], [True]).bias.tolist() == [0.0]
    assert cosines([[0.0, 0.0], [3.0, 4.0], [-3.0, 4.0]], [2.0, 0.0]).tolist() == pytest.approx([0.0, 0.6, -0.6])
    assert cosines(np.empty((0, 2)), [1.0, 0.0]).tolist() == []
    assert cosines([[1e200, 1e200], [1e-200, -1e-200]], [1e-180, 0.0]) == pytest.approx([0.5**0.5] * 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: direction_of(np.empty((0, 3))), "differences holds 0 row"),
        (lambda: direction_of([[np.nan, 1.0]]), "NaN or infinite"),
        (lambda: direction_of([1.0, 2.0]), "2 dimension"),
        (lambda: direction_of(np.zeros((5, 3))), "equal members"),
        (lambda: cosines([[1.0, 2.0]], [0.0, 0.0]), "vector of zeros"),
        (lambda: cosines([[1.0, 2.0]], [1.0, 0.0, 0.0]), "must come from the same model"),
        (lambda: cosines([[np.nan, 2.0]], [1.0, 0.0]), "NaN or infinite"),
        (lambda: word_bias([0.1], [0.5, 0.5], [False]), "one value per word"),
        (lambda: word_bias([0.1], [-0.5], [False]), "must not be negative"),
        (lambda: word_bias([np.nan], [0.5], [False]), "NaN or infinite"),
        (lambda: summarize_scores([], [], groups=GROUPS), "positive holds 0 row"),
        (lambda: summarize_scores([0.1], [], groups=GROUPS), "negative holds 0 row"),
        (lambda: summarize_scores([0.1, 0.2], [0.0], groups=GROUPS), "scores of the same texts; got 2 and 1"),
        (lambda: summarize_scores([0.1], [0.0], groups=["a", "b", "c"]), "two groups; got 3: a, b, c"),
    ],
)
def test_clear_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_summary_holds_every_text_with_means_and_intervals():
    result = summarize_scores([0.1, 0.3, 0.0], [0.0, -0.2, 0.0], groups=GROUPS, n_bootstrap=200, form="raw")
    assert result["female"] == [0.1, 0.3, 0.0]
    assert result["male"] == [0.0, -0.2, 0.0]
    assert result["absolute"] == [0.1, 0.5, 0.0]
    assert result["absolute_mean"] == pytest.approx(0.2)
    # Student's with 2 degrees of freedom, cut at 0: the squares of the deviations .1, .3, .2 sum to .14.
    assert result["absolute_mean_ci95"] == pytest.approx([0.0, 0.2 + 4.302653 * (0.14 / 2 / 3) ** 0.5])
    assert result["n"] == result["meta"]["n"] == 3
    assert result["meta"]["form"] == "raw"
    assert "male is negative, female positive" in result["meta"]["direction"]
    assert json.loads(json.dumps(result)) == result
