"""Group and counterfactual metrics through `evaluate`: the authors' numbers, batches, the lines of the contract."""

from __future__ import annotations

import json

import evaluate
import numpy as np
import pytest

import hf_fairness

ROWS = {"predictions": [1, 1, 0, 0, 1, 0, 1, 0], "references": [1, 1, 0, 0, 1, 1, 0, 0], "groups": list("aaaabbbb")}


def _load(name, **options):
    return evaluate.load(hf_fairness.metric_path(name), **options)


def test_authors_numbers(shared):
    case = json.loads((shared / "gold/data_diet/group_metrics_case.json").read_text())[0]
    expected = case["expected"]
    logits, swapped = np.array(case["logits"]), np.array(case["swap_logits"])
    rows = {"predictions": logits.argmax(axis=1), "references": case["labels"], "groups": case["gender"]}
    probabilities = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))  # softmax of two classes
    parity = _load("demographic_parity").compute(**rows)
    chance = _load("equal_opportunity").compute(**rows)
    odds = _load("equalized_odds").compute(**rows, probabilities=probabilities)
    flip = _load("counterfactual_flip").compute(
        predictions=rows["predictions"], counterfactual_predictions=swapped.argmax(axis=1)
    )
    found = {
        "AUC": odds["auc"],
        "accuracy": odds["accuracy"],
        "FPED": odds["fped"],
        "FNED": odds["fned"],
        "TPED": odds["fned"],  # true positive and false negative rate add up to 1, so their distances are equal
        "TNED": odds["fped"],
        "DP": parity["demographic_parity"],
        "EqOdd": odds["equalized_odds"],
        "EqOpp0": chance["equal_opportunity_0"],
        "EqOpp1": chance["equal_opportunity_1"],
        # How many more texts are positive in one version: the gap of the pairs, times the texts.
        "validation_bias_count": flip["counterfactual_parity_difference"] * flip["n"],
    }
    assert found == pytest.approx(expected, abs=1e-4)
    assert (parity["fped"], parity["fned"]) == (odds["fped"], odds["fned"])
    assert chance["equal_opportunity_0_difference"] == pytest.approx(1 - expected["EqOpp0"], abs=1e-4)
    assert flip["n_flipped"] == 10  # most of them cancel: the count above alone would hide them


@pytest.mark.parametrize("name", ["equal_opportunity", "equalized_odds"])
def test_batches_give_what_one_call_gives(name, tmp_path):
    whole = _load(name).compute(**ROWS, n_bootstrap=50)
    metric = _load(name, cache_dir=str(tmp_path))
    for part in (slice(0, 3), slice(3, 8)):
        metric.add_batch(**{key: column[part] for key, column in ROWS.items()})
    assert metric.compute(n_bootstrap=50) == whole


def test_batches_of_pairs_and_of_predictions_alone(tmp_path):
    columns = {"predictions": ROWS["predictions"], "counterfactual_predictions": ROWS["references"]}
    whole = _load("counterfactual_flip").compute(**columns)
    metric = _load("counterfactual_flip", cache_dir=str(tmp_path))
    for first, second in zip(*columns.values(), strict=True):
        metric.add(prediction=first, reference=None, predictions=first, counterfactual_predictions=second)
    assert metric.compute() == whole
    parity = _load("demographic_parity", cache_dir=str(tmp_path))
    parity.add_batch(predictions=ROWS["predictions"], groups=ROWS["groups"])
    assert parity.compute() == _load("demographic_parity").compute(**{k: ROWS[k] for k in ("predictions", "groups")})


def test_contract_lines():
    dp = evaluate.load(hf_fairness.metric_path("demographic_parity"))
    assert dp.compute(predictions=ROWS["predictions"], groups=ROWS["groups"])["demographic_parity"] == 1.0
    eo = evaluate.load(hf_fairness.metric_path("equalized_odds"))
    assert eo.compute(**ROWS)["equalized_odds_difference"] == 0.5


def test_versions_as_a_mapping():
    versions = {"christian": [1, 0, 1], "jewish": [1, 1, 1], "muslim": [0, 0, 1]}
    result = _load("counterfactual_flip").compute(predictions=versions)
    assert result["flip_rate"] == pytest.approx(2 / 3)
    assert result["counterfactual_parity_difference"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("name", "inputs", "error", "message"),
    [
        ("demographic_parity", {"predictions": [1, 0]}, ValueError, "needs groups"),
        ("equal_opportunity", {"groups": ["a"]}, ValueError, "needs predictions=..., references=..."),
        ("equalized_odds", {"predictions": [1], "groups": ["a"]}, ValueError, "needs references"),
        ("equalized_odds", ROWS | {"group": ["a"]}, TypeError, "group"),
        ("counterfactual_flip", {"predictions": [1]}, ValueError, "needs counterfactual_predictions"),
        (
            "counterfactual_flip",
            {"predictions": [1], "counterfactual_predictions": [1], "probabilities": [0.5]},
            ValueError,
            "needs counterfactual_probabilities",
        ),
        (
            "counterfactual_flip",
            {"predictions": {"a": [1], "b": [1]}, "counterfactual_predictions": [1]},
            ValueError,
            "takes no counterfactual_predictions; expected every version in the mappings",
        ),
    ],
)
def test_inputs_are_validated(name, inputs, error, message):
    with pytest.raises(error, match=message):
        _load(name).compute(**inputs)
