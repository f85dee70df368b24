"""SEAT arithmetic: on paper and against the reference numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hf_fairness.scores import seat
from hf_fairness.utils import FairnessWarning

EAST, NORTH = np.eye(2)


def test_associations_on_paper():
    # cos with A (east) minus cos with B (north); length does not matter.
    values = seat.associations([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [EAST], [NORTH])
    assert values == pytest.approx([1.0, -1.0, 0.0])


def test_effect_size_on_paper_uses_ddof_one():
    # s = 1, 0 | 0, -1: means .5 and -.5, variance (1 + 0 + 0 + 1) / 3.
    assert seat.effect_size([1.0, 0.0], [0.0, -1.0]) == pytest.approx(1 / np.sqrt(2 / 3))
    assert seat.effect_size([1.0, 0.0], [0.0, -1.0], ddof=0) == pytest.approx(1 / np.sqrt(1 / 2))


def test_result_of_a_test_on_paper():
    x, y = [EAST, [1.0, 1.0]], [NORTH, [1.0, 1.0]]
    result = seat.seat_test(x, y, [EAST], [NORTH])
    assert result["effect_size"] == pytest.approx(1 / np.sqrt(2 / 3))
    assert result["numerator"] == pytest.approx(1.0)
    # s is 1, 0 | -1, 0; sums of two: 1 0 1 -1 0 -1 of six partitions: two reach 1.
    assert result["p_value"] == result["p_value_clustered"] == pytest.approx(2 / 6)
    assert (result["n_words"], result["n_sentences"], result["method"]) == (4, 4, "exact")


def test_gold_embeddings(shared):
    gold = json.loads((shared / "gold/seat/seat_minilm.json").read_text())["sent-weat6"]
    with np.load(shared / "gold/seat/emb_sent-weat6.npz") as stored:
        x, y, a, b = (stored[key] for key in ("targ1", "targ2", "attr1", "attr2"))
    result = seat.seat_test(x, y, a, b)
    assert result["effect_size"] == pytest.approx(gold["effect_size"], abs=1e-5)
    assert result["p_value"] == pytest.approx(gold["p_value"], abs=0.002)
    assert result["method"] == "monte_carlo"
    s_x, s_y = seat.associations(x, a, b), seat.associations(y, a, b)
    assert seat.effect_size(s_x, s_y, ddof=0) == pytest.approx(gold["effect_size_ddof0"], abs=1e-5)


def test_interval_is_the_exact_one_of_a_standardised_difference():
    from scipy.stats import nct

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=8) + 1.0, rng.normal(size=8)
    low, high = seat.effect(x, y).interval
    spread = np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
    t = (x.mean() - y.mean()) / spread / 0.5  # sqrt(1/8 + 1/8)
    for end, tail in ((low, 0.025), (high, 0.975)):
        delta = end / np.sqrt(15 / 14 * (1 - end**2 * 4 / 15)) if end else 0.0  # d over the total spread, undone
        assert nct.sf(t, 14, delta / 0.5) == pytest.approx(tail, abs=1e-6)


def test_shift_of_all_associations_changes_no_effect():
    s = np.random.default_rng(0).normal(size=(2, 6))
    words = {"x_words": list("aabbcc"), "y_words": list("ddeeff")}
    first, again = seat.effect(*s, **words), seat.effect(*(s + 5), **words)
    assert first.interval == pytest.approx(again.interval)
    assert first.influence == pytest.approx(again.influence)


def test_interval_brackets_the_effect_and_widens_with_clusters():
    rng = np.random.default_rng(0)
    x, y = (
        np.repeat(rng.normal(size=(8, 5)) + EAST.repeat(3)[:5], 10, axis=0),
        np.repeat(rng.normal(size=(8, 5)), 10, axis=0),
    )
    a, b = rng.normal(size=(4, 5)) + EAST.repeat(3)[:5], rng.normal(size=(4, 5))
    words = np.repeat(np.arange(8), 10).tolist()
    clustered = seat.seat_test(x, y, a, b, x_words=words, y_words=words, n_samples=200)
    plain = seat.seat_test(x, y, a, b, n_samples=200)
    low, high = clustered["effect_size_ci95"]
    assert low < clustered["effect_size"] < high
    assert high - low > 2 * (plain["effect_size_ci95"][1] - plain["effect_size_ci95"][0])
    assert clustered["n_words"] == 16


def test_one_word_a_side_has_no_interval():
    result = seat.seat_test([EAST], [NORTH], [EAST], [NORTH])
    assert result["effect_size_ci95"] is None
    assert result["p_value"] == 0.5


def test_constant_encoder_gives_zero_with_a_warning():
    same = np.ones((4, 3))
    with pytest.warns(FairnessWarning, match="associations are equal"):
        result = seat.seat_test(same, same, same, same)
    assert (result["effect_size"], result["p_value"]) == (0.0, 1.0)


def test_mean_absolute_does_not_let_signs_cancel_and_allows_for_chance():
    effects = [seat.Effect(1.0, [0.6, 1.4], {"a": 1.0}), seat.Effect(-0.5, [-0.9, -0.1], {"b": 1.0})]
    found = seat.mean_absolute(effects)
    assert found["mean_abs_effect_size"] == 0.75
    low, high = found["mean_abs_effect_size_ci95"]
    assert 0.3 < low < 0.5 < 1.0 < high < 1.2
    by_chance = [seat.Effect(value, [value - 0.8, value + 0.8], {value: 1.0}) for value in (0.4, -0.4, 0.3)]
    assert seat.mean_absolute(by_chance)["mean_abs_effect_size_ci95"][0] == 0.0
    assert seat.mean_absolute([]) == {"mean_abs_effect_size": None, "mean_abs_effect_size_ci95": None}


def test_change_of_a_model_to_itself_is_no_change():
    effects = [
        seat.Effect(1.0, [0.6, 1.4], {"a": 1.0, "b": 0.5}),
        seat.Effect(-0.5, [-0.9, -0.1], {"a": 0.2, "c": 1.0}),
    ]
    assert seat.change_interval(effects, effects, absolute=True) == pytest.approx([0.0, 0.0], abs=1e-7)
