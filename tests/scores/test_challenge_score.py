"""Accuracy on challenge sets: cells, means of means, pairs, clusters."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores.challenge import challenge_accuracy
from hf_fairness.utils import FairnessWarning

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/challenge_average.json").read_text())
FAST = {"n_bootstrap": 50}


@pytest.mark.parametrize("name", GOLDEN["value"])
def test_published_average_of_the_adversarial_sets(name):
    predictions, heuristics, subcases = [], [], []
    for kind, percent in zip(GOLDEN["input"]["sets"], GOLDEN["input"]["accuracy"][name], strict=True):
        parts = 4 if kind == "ST" else 1  # the stress test is the mean of four, of different sizes
        for part in range(parts):
            n = 1000 * (part + 1)
            right = round(percent / 100 * n)
            predictions += ["entailment"] * right + ["neutral"] * (n - right)
            heuristics += [kind] * n
            subcases += [f"{kind} {part}"] * n
    references = ["entailment"] * len(predictions)
    by = {"heuristic": heuristics, "subcase": subcases}
    result = challenge_accuracy(predictions, references, by=by, n_bootstrap=0)
    assert 100 * result["macro_accuracy"] == pytest.approx(GOLDEN["value"][name], abs=GOLDEN["tolerance"])
    assert result["by"]["heuristic"]["ST"]["n"] == 10_000
    assert result["macro_accuracy_ci95"] is None


def test_cells_worked_out_on_paper():
    result = challenge_accuracy(
        ["e", "e", "n", "c", "e", "x"],
        ["e", "e", "e", "o", "o", "o"],
        accepts={"o": ["n", "c"]},
        by={"kind": ["a", "a", "b", "a", "b", "b"]},
        **FAST,
    )
    assert (result["accuracy"], result["balanced_accuracy"]) == (0.5, 0.5)
    assert {gold: entry["accuracy"] for gold, entry in result["labels"].items()} == {"e": 2 / 3, "o": 1 / 3}
    kinds = result["by"]["kind"]
    assert {kind: (entry["accuracy"], entry["n"]) for kind, entry in kinds.items()} == {"a": (1.0, 3), "b": (0.0, 3)}
    assert kinds["a"]["labels"]["e"] == {
        "accuracy": 1.0,
        "accuracy_ci95": [pytest.approx(0.05**0.5), 1.0],  # both right: half the square of the rate is .025
        "n": 2,
    }
    assert (result["macro_accuracy"], result["other_rate"]) == (0.5, 1 / 6)
    assert result["predicted"] == {"c": 1, "e": 3, "n": 1, "x": 1}
    assert result["constant_accuracy"] == 0.5
    assert "pair_accuracy" not in result


def test_macro_is_a_mean_of_means():
    columns = {"kind": ["a", "a", "a", "b"], "part": ["a1", "a1", "a2", "b1"]}
    result = challenge_accuracy(["y", "n", "y", "n"], ["y"] * 4, by=columns, **FAST)
    assert result["accuracy"] == 0.5
    assert result["macro_accuracy"] == ((0.5 + 1.0) / 2 + 0.0) / 2


def test_a_constant_answer_is_shown_for_what_it_is():
    with pytest.warns(FairnessWarning, match="Every one of the 4 predictions is 'y'"):
        result = challenge_accuracy(["y"] * 4, ["y", "y", "y", "n"], **FAST)
    assert (result["accuracy"], result["constant_accuracy"], result["balanced_accuracy"]) == (0.75, 0.75, 0.5)
    assert result["labels"]["n"]["accuracy"] == 0.0
    assert result["predicted"] == {"y": 4}


def test_pairs():
    pairs = ["1", "1", "2", "2", "3", "4", "4"]
    result = challenge_accuracy(
        ["s", "r", "s", "s", "s", "r", "s"], ["s", "r", "s", "r", "s", "s", "r"], pairs=pairs, clusters=pairs
    )
    assert (result["pair_accuracy"], result["pair_same_rate"]) == (1 / 3, 1 / 3)
    assert (result["n_pairs"], result["n_unpaired"]) == (3, 1)
    low, high = result["pair_accuracy_ci95"]
    assert low == pytest.approx(0.0, abs=1e-6)
    assert high > 0.99
    with pytest.raises(ValueError, match="No two of the 2 rows share a label in pairs"):
        challenge_accuracy(["s", "r"], ["s", "r"], pairs=["1", "2"])


@pytest.mark.parametrize("missing", [None, math.nan, ""])
def test_rows_without_a_pair_are_in_none(missing):
    guesses, gold = ["s", "r", "s", "s", "s"], ["s", "r", "s", "r", "s"]
    found = challenge_accuracy(guesses, gold, pairs=["1", "1", missing, missing, missing])
    assert (found["pair_accuracy"], found["n_pairs"], found["n_unpaired"]) == (1.0, 1, 3)


def test_clusters_widen_the_interval_and_one_cluster_has_none():
    right = np.random.default_rng(0).random(20) < 0.5
    predictions = ["y" if value else "n" for value in right for _ in range(10)]
    clusters = [str(cluster) for cluster in range(20) for _ in range(10)]
    kinds = ["one" if cluster == "0" else "many" for cluster in clusters]
    given = {"references": ["y"] * 200, "by": {"kind": kinds}}
    loose, clustered = (
        challenge_accuracy(predictions, **given),
        challenge_accuracy(predictions, **given, clusters=clusters),
    )
    assert loose["accuracy"] == clustered["accuracy"]
    assert np.ptp(clustered["accuracy_ci95"]) > 2.0 * np.ptp(loose["accuracy_ci95"])
    assert clustered["by"]["kind"]["many"]["n_clusters"] == 19
    predictions[:5] = ["y"] * 5
    predictions[5:10] = ["n"] * 5
    one = challenge_accuracy(predictions, **given, clusters=clusters)["by"]["kind"]["one"]
    assert (one["accuracy"], one["n_clusters"]) == (0.5, 1)
    assert one["accuracy_ci95"] is None


def test_interval_of_rows_is_that_of_a_binomial():
    result = challenge_accuracy(["y"] * 30 + ["n"] * 70, ["y"] * 100)
    half = 1.96 * np.sqrt(0.3 * 0.7 / 100)
    assert result["accuracy_ci95"] == pytest.approx([0.3 - half, 0.3 + half], abs=0.015)


LABEL = st.sampled_from(["e", "n", "c"])


@settings(max_examples=30)
@given(st.lists(st.tuples(LABEL, LABEL, st.sampled_from("ab"), st.integers(0, 3)), min_size=2, max_size=15))
def test_properties(rows):
    guesses, gold, kinds, clusters = (list(column) for column in zip(*rows, strict=True))
    if len(set(guesses)) == 1:
        guesses[0], gold[0] = "e", "n"
        guesses[1] = "n"
    options = {"accepts": {"n": ["c"]}, **FAST}
    result = challenge_accuracy(guesses, gold, by={"kind": kinds}, clusters=clusters, **options)
    n = {name: entry["n"] for name, entry in result["labels"].items()}
    weighted = sum(entry["accuracy"] * n[name] for name, entry in result["labels"].items()) / len(rows)
    assert weighted == pytest.approx(result["accuracy"])
    assert sum(entry["n"] for entry in result["by"]["kind"].values()) == len(rows)
    assert all(0.0 <= result[key] <= 1.0 for key in ("accuracy", "macro_accuracy", "other_rate"))
    back = challenge_accuracy(guesses[::-1], gold[::-1], by={"kind": kinds[::-1]}, clusters=clusters[::-1], **options)
    for key in ("accuracy", "balanced_accuracy", "macro_accuracy", "constant_accuracy", "other_rate", "predicted"):
        assert back[key] == pytest.approx(result[key])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"predictions": [], "references": []}, "predictions is empty"),
        ({"references": ["y"]}, "references needs one entry per prediction: got 1 for 2"),
        ({"by": {"kind": ["a"]}}, "kind needs one entry"),
        ({"clusters": ["a"]}, "clusters needs one entry"),
        ({"predictions": ["y", 1]}, r"predictions\[1\] must be the name of a label; got 1"),
        ({"references": ["y", None]}, r"references\[1\] must be the name"),
    ],
)
def test_errors(inputs, message):
    with pytest.raises(ValueError, match=message):
        challenge_accuracy(**{"predictions": ["y", "n"], "references": ["y", "n"], **inputs})
