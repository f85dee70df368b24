"""CCED and the group probe of models; reading of variants."""

from __future__ import annotations

import json

import numpy as np
import pytest
from datasets import Dataset, DatasetDict

from hf_fairness import measure
from hf_fairness.measure.variants import read_variants
from hf_fairness.utils import FairnessWarning

VECTORS = {
    "he": [3.0, 4.0],
    "she": [0.0, 1.0],
    "they": [0.0, 0.0],
    "x": [9.0, 9.0],
    "boy": [1.0, 0.0],
    "girl": [0.0, 2.0],
}
ROWS = {"male": ["he", "x", "boy"], "female": ["she", "x", "girl"], "neutral": ["they", "x", "they"]}


def test_rows_without_terms_are_left_out_and_counted():
    result = measure.cced(VECTORS, ROWS)
    assert (result["cced"], result["n"], result["n_skipped"]) == (2.5, 2, 1)
    flagged = Dataset.from_dict(ROWS | {"has_terms": [True, False, False], "edits": ["[]"] * 3})
    result = measure.cced(VECTORS, flagged)
    assert (result["cced"], result["n"], result["n_skipped"]) == (4.0, 1, 2)
    json.dumps(result, allow_nan=False)


def test_rejected_rewrites_are_left_out_and_counted():
    marks = {"confidence": [0.0, 1.0, 0.9], "rejected_reason": ["polarity: male reads female", "", ""]}
    result = measure.cced(VECTORS, Dataset.from_dict(ROWS | marks))
    assert (result["cced"], result["n"], result["n_skipped"]) == (1.0, 1, 2)
    assert sorted(result["distance"]) == ["female", "male"]


def test_frames_are_clusters():
    rows = {name: texts * 2 for name, texts in ROWS.items()} | {"frame": list("abcabc")}
    texts = read_variants(rows)
    assert texts.clusters == ("a", "c", "a", "c")
    assert texts.keep(list("123456")) == list("1346")
    assert texts.keep(None) is None
    assert measure.cced(VECTORS, rows)["meta"]["n_clusters"] == 2
    with pytest.raises(ValueError, match="one value per row"):
        texts.keep([1])


def test_change_between_models():
    half = {word: 0.5 * np.array(vector) for word, vector in VECTORS.items()}
    result = measure.cced_change(VECTORS, half, ROWS)
    assert result["cced_change_share"] == pytest.approx(-0.5)
    assert result["cced_change"] == pytest.approx(-1.25)
    assert result["n_skipped"] == 1


@pytest.mark.whole
def test_minilm_places_built_in_variants_unequally(minilm):
    from hf_fairness.demo import variants

    result = measure.cced(minilm, variants())
    low, high = result["cced_ci95"]
    assert 0.03 < low < result["cced"] < high < 0.12
    assert result["n"] >= 400


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([1, 2], TypeError, "Dataset made by GroupVariants"),
        (DatasetDict({"train": Dataset.from_dict(ROWS)}), TypeError, "one split"),
        ({"male": ["he"], "neutral": ["they"]}, ValueError, "at least two group columns"),
        ({"male": ["he"], "female": ["she"]}, ValueError, "missing neutral"),
        (ROWS | {"male": ["he"]}, ValueError, "different numbers of rows"),
        (ROWS | {"male": [1, 2, 3]}, ValueError, r"variants\['male'\]\[0\] must be a text"),
        (ROWS | {"male": "he"}, ValueError, "list of texts"),
        (ROWS | {"has_terms": [True]}, ValueError, "has_terms"),
        ({name: ["x", "x"] for name in ROWS}, ValueError, "None of the 2 rows"),
        ({name: [] for name in ROWS}, ValueError, "None of the 0 rows"),
    ],
)
def test_bad_variants_are_named(rows, error, message):
    with pytest.raises(error, match=message):
        measure.cced(VECTORS, rows)


def _planted(n=120, readable=1.0, seed=0):
    """Groups that differ along one axis by ``readable``, beside content noise shared by a text's versions."""
    rng = np.random.default_rng(seed)
    content = rng.normal(size=(n, 6))
    step = readable * np.eye(6)[0]
    return {
        "male": content + step + 0.2 * rng.normal(size=(n, 6)),
        "female": content - step + 0.2 * rng.normal(size=(n, 6)),
    }


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_probe_reads_what_was_planted_and_nothing_else(kind):
    found = measure.probe(embeddings=_planted(readable=2.0), kind=kind, n_bootstrap=200)
    assert found["accuracy"] > 0.9
    assert found["accuracy_ci95"][0] > found["chance"] == 0.5
    nothing = measure.probe(embeddings=_planted(readable=0.0), kind=kind, n_bootstrap=200)
    assert abs(nothing["accuracy"] - 0.5) < 0.1
    assert nothing["accuracy_ci95"][0] < 0.5 < nothing["accuracy_ci95"][1]


def test_mlp_reads_what_no_line_can():
    rng = np.random.default_rng(0)
    n = 300
    signs = rng.choice([-1.0, 1.0], size=(n, 2))
    side = np.sign(signs[:, :1]) * np.array([[1.0, 1.0]])
    data = {
        "a": side + 0.1 * rng.normal(size=(n, 2)),
        "b": side * [1.0, -1.0] + 0.1 * rng.normal(size=(n, 2)),
    }
    assert measure.probe(embeddings=data, n_bootstrap=50)["accuracy"] < 0.65
    assert measure.probe(embeddings=data, kind="mlp", n_bootstrap=50)["accuracy"] > 0.95


def test_versions_of_a_text_never_straddle_folds():
    # Every text is one point for both groups plus nothing: a probe that saw one version could only know the
    # other by content. With labels swapped per content, memory would give accuracy far from one half.
    content = np.random.default_rng(0).normal(size=(60, 20)) * 10
    result = measure.probe(embeddings={"a": content, "b": content}, n_bootstrap=50)
    assert result["accuracy"] == 0.5  # identical versions get one prediction: right once, wrong once


def test_probe_takes_models_mappings_and_limits():
    rows = {"male": ["he", "boy"] * 6, "female": ["she", "girl"] * 6, "edits": ["[]"] * 12}
    vectors = VECTORS | {"boy": [3.0, 3.0], "girl": [0.0, 2.0]}
    with pytest.warns(FairnessWarning, match="Only 2 of the 12 texts differ"):
        result = measure.probe(vectors, rows, n_bootstrap=50)
    assert (result["accuracy"], result["n"], result["n_left_out"]) == (1.0, 12, 0)
    assert measure.probe(_planted(), n_bootstrap=50, max_rows=50)["n_left_out"] == 70
    same = [measure.probe(_planted(readable=0.3), n_bootstrap=50, seed=3)["accuracy"] for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "svm"}, ValueError, "linear, mlp"),
        ({"folds": 1}, ValueError, "at least 2"),
        ({"embeddings": {"a": np.ones((9, 2))}}, ValueError, "at least two"),
        ({"embeddings": {"a": np.ones((3, 2)), "b": np.ones((3, 2))}}, ValueError, "5 folds"),
        (
            {"embeddings": {"a": np.ones((9, 2)), "b": np.ones((8, 2))}},
            ValueError,
            "different numbers of rows",
        ),
        ({"model": VECTORS}, TypeError, "model and variants"),
        ({}, TypeError, "model and variants"),
        ({"embeddings": _planted(), "clusters": [1]}, ValueError, "one label per row"),
    ],
)
def test_bad_probes_are_named(options, error, message):
    with pytest.raises(error, match=message):
        measure.probe(**options)
