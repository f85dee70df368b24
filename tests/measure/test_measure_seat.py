"""SEAT of models: the real MiniLM against the reference, and small encoders made by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hf_fairness import measure

SETS = {
    "targ1": ["he", "him"],
    "targ2": ["she", "her"],
    "attr1": ["work", "office"],
    "attr2": ["home", "family"],
}
VECTORS = {
    "he": [1.0, 0.1, 0.2],
    "him": [0.9, 0.0, 0.3],
    "she": [0.1, 1.0, 0.1],
    "her": [0.0, 0.9, 0.4],
    "work": [1.0, 0.3, 0.0],
    "office": [0.8, 0.1, 0.5],
    "home": [0.3, 1.0, 0.2],
    "family": [0.2, 0.7, 0.6],
}


class Counting:
    """An encoder of random but fixed vectors that counts what it is asked."""

    def __init__(self, scale=1.0):
        self.asked, self.scale = [], scale

    def encode(self, texts):
        self.asked += texts
        rows = [np.random.default_rng(list(text.encode())).normal(size=16) for text in texts]
        return self.scale * np.array(rows)


@pytest.fixture(scope="module")
def gold(shared):
    return json.loads((shared / "gold/seat/seat_minilm.json").read_text())


@pytest.mark.parametrize("name", ["6", "7", "1", "weat6", "weat7"])
def test_minilm_equals_the_reference(minilm, gold, name):
    expected = gold[name if name.startswith("weat") else f"sent-weat{name}"]
    result = measure.seat(minilm, [name])["tests"][name]
    assert result["effect_size"] == pytest.approx(expected["effect_size"], abs=1e-3)
    assert result["n_sentences"] == expected["n_X"] + expected["n_Y"]
    if expected["method"] == "exact":
        assert (result["method"], result["p_value"]) == (
            "exact",
            pytest.approx(expected["p_value"], abs=1e-12),
        )
    else:
        assert result["method"] == "monte_carlo"
        assert result["p_value"] == pytest.approx(expected["p_value"], abs=0.002)
    low, high = result["effect_size_ci95"]
    assert low < result["effect_size"] < high


def test_each_text_is_encoded_once():
    encoder = Counting()
    measure.seat(encoder, n_samples=100, n_bootstrap=50)
    assert len(encoder.asked) == len(set(encoder.asked)) == 2608


def test_result_keys_and_json():
    result = measure.seat(Counting(), ["6", "2"], n_samples=100, n_bootstrap=50)
    keys = {
        "effect_size",
        "effect_size_ci95",
        "p_value",
        "p_value_clustered",
        "minimal_detectable_effect_size",
        "numerator",
        "n_words",
        "n_sentences",
        "method",
        "method_clustered",
        "purpose",
        "about",
    }
    assert set(result["tests"]["2"]) == keys
    assert set(result["tests"]["6"]) == keys | {"p_value_clustered_holm", "p_value_clustered_bh"}
    assert list(result["retention"]) == ["2"]
    assert result["mean_abs_effect_size"] == abs(result["tests"]["6"]["effect_size"])
    assert result["meta"]["n"] == 1452
    json.dumps(result, allow_nan=False)


def test_clustered_p_of_single_words_is_the_plain_one():
    result = measure.seat(VECTORS, [SETS])["tests"]["user1"]
    assert result["p_value"] == result["p_value_clustered"] == pytest.approx(1 / 6)
    assert result["effect_size"] > 1.5


def test_scale_and_rotation_change_nothing():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = {word: 7 * np.array(vector) @ turn for word, vector in VECTORS.items()}
    plain, other = (measure.seat(vectors, [SETS])["tests"]["user1"] for vectors in (VECTORS, turned))
    assert other["effect_size"] == pytest.approx(plain["effect_size"], abs=1e-5)


def test_swapping_sets_flips_the_sign():
    flipped = SETS | {"targ1": SETS["targ2"], "targ2": SETS["targ1"]}
    result = measure.seat(VECTORS, {"a": SETS, "b": flipped})
    assert result["tests"]["a"]["effect_size"] == pytest.approx(-result["tests"]["b"]["effect_size"])
    assert result["mean_abs_effect_size"] == pytest.approx(abs(result["tests"]["a"]["effect_size"]))


def test_p_values_are_adjusted_over_the_bias_tests_only():
    kept = SETS | {"purpose": "retention"}
    flipped = SETS | {"targ1": SETS["targ2"], "targ2": SETS["targ1"]}
    result = measure.seat(VECTORS, {"a": SETS, "b": flipped, "kept": kept})["tests"]
    # One partition of six reaches the observed value of a, all six that of b.
    assert (result["a"]["p_value_clustered"], result["b"]["p_value_clustered"]) == (pytest.approx(1 / 6), 1.0)
    assert result["a"]["p_value_clustered_holm"] == pytest.approx(2 / 6)
    assert result["a"]["p_value_clustered_bh"] == pytest.approx(2 / 6)
    assert result["b"]["p_value_clustered_holm"] == result["b"]["p_value_clustered_bh"] == 1.0
    assert "p_value_clustered_holm" not in result["kept"]
    alone = measure.seat(VECTORS, {"a": SETS})["tests"]["a"]
    assert alone["p_value_clustered_holm"] == alone["p_value_clustered_bh"] == alone["p_value_clustered"]


def test_no_resamples_means_no_intervals():
    result = measure.seat(VECTORS, [SETS], reference=VECTORS, n_bootstrap=0)
    assert result["mean_abs_effect_size"] > 1.5
    for key in ("mean_abs_effect_size_ci95", "mean_abs_effect_size_change_ci95"):
        assert result[key] is None
    assert result["tests"]["user1"]["effect_size_ci95"] is None


def test_paired_change_of_the_same_model_is_zero():
    result = measure.seat(VECTORS, [SETS], reference=VECTORS)
    assert result["tests"]["user1"]["effect_size_change"] == 0.0
    assert result["tests"]["user1"]["effect_size_change_p_value"] == 1.0
    assert result["mean_abs_effect_size_change_p_value"] == 1.0
    assert result["tests"]["user1"]["effect_size_change_ci95"] == [0.0, 0.0]
    assert result["mean_abs_effect_size_change_ci95"] == [0.0, 0.0]


def test_paired_change_is_measured():
    fair = VECTORS | {"she": VECTORS["he"], "her": [0.9, 0.05, 0.3]}
    result = measure.seat(fair, [SETS], reference=VECTORS)
    change = result["mean_abs_effect_size_change"]
    assert change == pytest.approx(
        result["mean_abs_effect_size"] - measure.seat(VECTORS, [SETS])["mean_abs_effect_size"]
    )
    assert change < -0.5
    low, high = result["mean_abs_effect_size_change_ci95"]
    assert low <= change <= high
    # Four words cannot show more: swapping none or all of them gives a change as large.
    assert 2 / 16 <= result["mean_abs_effect_size_change_p_value"] <= 0.5


def test_a_change_of_many_words_is_found_and_none_is_not():
    rng = np.random.default_rng(0)
    words = {role: [f"{role}{i}" for i in range(10)] for role in ("targ1", "targ2", "attr1", "attr2")}
    axis, noise = np.zeros(24), {}
    axis[0] = 1.0
    sign = {"targ1": 1.0, "targ2": -1.0, "attr1": 1.0, "attr2": -1.0}
    for role, names in words.items():
        noise |= {name: (sign[role] * axis, rng.normal(size=24) * 0.4) for name in names}
    biased = {name: lean + rest for name, (lean, rest) in noise.items()}
    other = {name: lean + rest + 0.02 * rng.normal(size=24) for name, (lean, rest) in noise.items()}
    fair = {name: (lean if name.startswith("attr") else 0.0) + rest for name, (lean, rest) in noise.items()}
    found = measure.seat(fair, [words], reference=biased, n_bootstrap=200)
    assert found["mean_abs_effect_size_change"] < -1.0
    assert found["mean_abs_effect_size_change_p_value"] < 0.01
    same = measure.seat(other, [words], reference=biased, n_bootstrap=200)
    assert same["mean_abs_effect_size_change_p_value"] > 0.05


def test_no_bias_test_gives_no_mean():
    result = measure.seat(VECTORS, [SETS | {"purpose": "retention"}])
    assert result["mean_abs_effect_size"] is None
    assert "user1" in result["retention"]
