"""Pooling and normalisation: one pass gives what separate encoders give, and nonsense is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hf_fairness import measure
from hf_fairness.encoders import as_encoder, token_encoder
from hf_fairness.measure.encoder.seat_sensitivity import NORMALIZATIONS, seat_sensitivity

TESTS = ["weat6", "weat7"]


@pytest.fixture(scope="module")
def result(minilm):
    return seat_sensitivity(minilm, [*TESTS, "weat1"], normalize=tuple(NORMALIZATIONS), n_bootstrap=100)


def _cell(result, test, pooling, kind):
    (row,) = (r for r in result["rows"] if (r["test"], r["pooling"], r["normalize"]) == (test, pooling, kind))
    return row


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_each_pooling_equals_an_encoder_of_that_pooling(minilm, result, pooling):
    opened = token_encoder(as_encoder(minilm))
    encoder = as_encoder(opened.model, tokenizer=opened.tokenizer, pooling=pooling, max_length=opened.max_length)
    plain = measure.seat(encoder, TESTS, n_samples=10, n_bootstrap=100)["tests"]
    for name in TESTS:
        row = _cell(result, name, pooling, "none")
        assert row["effect_size"] == pytest.approx(plain[name]["effect_size"], abs=1e-5)
        assert row["effect_size_ci95"] == pytest.approx(plain[name]["effect_size_ci95"], abs=1e-4)
        assert row["numerator"] == pytest.approx(plain[name]["numerator"], abs=1e-6)


def test_the_models_own_pooling_gives_its_own_result(minilm, result):
    assert result["pooling_in_use"] == "mean"
    own = measure.seat(minilm, ["weat6"], n_samples=10, n_bootstrap=10)["tests"]["weat6"]
    assert _cell(result, "weat6", "mean", "none")["effect_size"] == pytest.approx(own["effect_size"], abs=1e-5)


def test_unit_length_changes_nothing_and_the_other_choices_do(result):
    rows = result["rows"]
    assert len(rows) == 3 * 3 * 4
    for row in rows:
        same = _cell(result, row["test"], row["pooling"], "none")["effect_size"]
        if row["normalize"] == "unit":
            assert row["effect_size"] == pytest.approx(same, abs=1e-9)
    for name in TESTS:
        values = [row["effect_size"] for row in rows if row["test"] == name]
        assert result["spread"][name] == {"min": min(values), "max": max(values), "range": max(values) - min(values)}
        assert result["spread"][name]["range"] > 0.1
    means = result["mean_abs_effect_size"]
    assert [(mean["pooling"], mean["normalize"]) for mean in means[:2]] == [("mean", "none"), ("mean", "unit")]
    # weat1 is a retention test: it has rows, and no part in the mean.
    pair = [_cell(result, name, "mean", "none")["effect_size"] for name in TESTS]
    assert means[0]["mean_abs_effect_size"] == pytest.approx(np.mean(np.abs(pair)))
    json.dumps(result, allow_nan=False)


def test_rows_make_a_table(result):
    import pandas

    table = pandas.DataFrame(result["rows"]).pivot_table("effect_size", ["test", "pooling"], "normalize")
    assert table.shape == (9, 4)


def test_centring_and_standardising_on_paper():
    vectors = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 6.0]])
    assert NORMALIZATIONS["center"](vectors).tolist() == [[-1.0, 0.0, -2.0], [1.0, 0.0, 2.0]]
    assert NORMALIZATIONS["standardize"](vectors).tolist() == [[-1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]
    assert NORMALIZATIONS["unit"](np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"poolings": ["sum"]}, "poolings must be a list of some of mean, cls, max"),
        ({"poolings": "mean"}, "poolings must be a list"),
        ({"normalize": []}, "normalize must be a list"),
        ({"normalize": ["whiten"]}, "none, unit, center, standardize"),
    ],
)
def test_unknown_choices_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        seat_sensitivity({"a": [1.0]}, **options)


def test_word_vectors_have_no_pooling():
    with pytest.raises(ValueError, match="has no token vectors"):
        seat_sensitivity({"a": [1.0]}, ["weat6"])
