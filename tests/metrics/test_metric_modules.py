"""Every metric folder is a complete evaluate module that works without a network."""

from __future__ import annotations

import doctest
import json
import socket
from pathlib import Path

import datasets
import evaluate
import numpy as np
import pytest
import yaml

import hf_fairness
from hf_fairness import modules

FOLDER = Path(__file__).resolve().parents[2] / "metrics"
METRICS = sorted(path.name for path in FOLDER.iterdir() if (path / f"{path.name}.py").is_file())
TRIPLES = {
    "male": ["He is a doctor.", "My brother cooks.", "It rains."],
    "female": ["She is a doctor.", "My sister cooks.", "It rains."],
    "neutral": ["They are a doctor.", "My sibling cooks.", "It rains."],
}


@pytest.fixture
def no_network(monkeypatch):
    """Any attempt to reach another machine fails, whatever the library's offline switch says."""

    def refuse(*args, **kwargs):
        raise AssertionError(f"a network connection was attempted: {args[:2]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def _load(name, **options):
    return evaluate.load(hf_fairness.metric_path(name), **options)


def test_metrics_are_found():
    assert {"seat", "cced"} <= set(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_module_loads_without_a_network(no_network, name):
    module = _load(name)
    assert isinstance(module, (modules.Metric, modules.Measurement))
    assert module.description
    assert module.citation
    assert "Args:" in module.inputs_description
    assert module.inputs_description in module.compute.__doc__


@pytest.mark.parametrize("name", METRICS)
def test_examples_in_the_docstring_run(name):
    module = _load(name)
    found = doctest.DocTestParser().get_doctest(module.inputs_description, {}, name, None, 0)
    assert len(found.examples) > 1
    assert found.examples[0].source.startswith("import evaluate")
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found)
    assert runner.failures == 0


@pytest.mark.parametrize("name", METRICS)
def test_card_states_what_a_reader_needs(name):
    text = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    meta = yaml.safe_load(front)
    assert meta["sdk"] == "gradio"
    assert (FOLDER / name / meta["app_file"]).is_file()
    assert meta["tags"][0] == "evaluate"
    for word in ("ideal", "range", "direction", "When not to trust it", "```bibtex", "fair"):
        assert word in body, word
    assert "hf-fairness" in (FOLDER / name / "requirements.txt").read_text()


@pytest.mark.parametrize("name", METRICS)
def test_import_lines_suit_the_loader(name):
    source = (FOLDER / name / f"{name}.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line.lstrip().startswith(("import ", "from "))]
    assert lines
    assert all(line[0] != " " and "," not in line and "from ." not in line for line in lines), lines


def test_seat_of_minilm_through_evaluate(no_network, minilm_path):
    golden = json.loads((Path(__file__).parents[1] / "golden/seat_minilm_suite.json").read_text())
    result = _load("seat").compute(model=minilm_path, tests=golden["input"]["tests"])
    found = {name: test["effect_size"] for name, test in result["tests"].items()}
    assert found == pytest.approx(golden["value"], abs=golden["tolerance"])
    assert result["mean_abs_effect_size"] == pytest.approx(np.mean(list(golden["value"].values())), abs=1e-3)
    assert result["tests"]["6b"]["p_value"] < 0.05 < result["tests"]["6b"]["p_value_clustered"]


@pytest.mark.whole
def test_reference_numbers_through_evaluate(shared, minilm):
    gold = json.loads((shared / "gold/seat/seat_minilm.json").read_text())
    names = {("" if key.startswith("sent-") else "weat") + key.split("weat")[-1]: key for key in gold}
    result = _load("seat").compute(model=minilm, tests=list(names))["tests"]
    for name, key in names.items():
        assert result[name]["effect_size"] == pytest.approx(gold[key]["effect_size"], abs=1e-3)
        exact = gold[key]["method"] == "exact"
        assert result[name]["p_value"] == pytest.approx(gold[key]["p_value"], abs=1e-9 if exact else 0.002)
        assert (result[name]["method"] == "exact") == exact


def test_stored_embeddings_through_evaluate(shared):
    """The reference embeddings, given as an encoder that knows the published sentences: d to the fifth digit."""
    gold = json.loads((shared / "gold/seat/seat_minilm.json").read_text())["sent-weat6"]
    published = json.loads((shared / "data/seat/sent-weat6.jsonl").read_text())
    with np.load(shared / "gold/seat/emb_sent-weat6.npz") as stored:
        vectors = {
            text: vector
            for role in ("targ1", "targ2", "attr1", "attr2")
            for text, vector in zip(published[role]["examples"], stored[role], strict=True)
        }

    class Stored:
        def encode(self, texts, **_):
            return np.stack([vectors[text] for text in texts])

    result = _load("seat").compute(model=Stored(), tests=["6"])["tests"]["6"]
    assert result["effect_size"] == pytest.approx(gold["effect_size"], abs=1e-5)
    assert result["p_value"] == pytest.approx(gold["p_value"], abs=0.002)


def test_cced_contract_lines(no_network, minilm):
    cced = _load("cced")
    rows = datasets.Dataset.from_dict(TRIPLES | {"has_terms": [True, True, False], "edits": ["[]"] * 3})
    result = cced.compute(model=minilm, variants=rows)
    assert (result["n"], result["n_skipped"]) == (2, 1)
    vectors = {name: minilm.encode(texts[:2], show_progress_bar=False) for name, texts in TRIPLES.items()}
    again = cced.compute(embeddings=vectors)
    assert again["cced"] == pytest.approx(result["cced"], abs=1e-6)
    assert again["cced_relative"] == pytest.approx(again["cced"] / again["mean_distance"])


@pytest.mark.parametrize(
    ("name", "inputs", "error", "message"),
    [
        ("seat", {}, ValueError, "needs model"),
        ("seat", {"predictions": ["a"]}, ValueError, "takes no predictions"),
        ("seat", {"model": 3}, TypeError, "no encoder: got int"),
        ("seat", {"model": {"a": [1.0]}, "tests": ["99"]}, ValueError, "Unknown SEAT test"),
        ("seat", {"model": {"a": [1.0]}, "test": ["6"]}, TypeError, "test"),
        ("cced", {}, ValueError, "needs model=..., variants=..."),
        ("cced", {"model": {"a": [1.0]}}, ValueError, "needs variants"),
        ("cced", {"references": [1]}, ValueError, "takes no references"),
        ("cced", {"embeddings": {}, "model": 3}, ValueError, "takes no model"),
        ("cced", {"embeddings": {"male": [[1.0]]}}, ValueError, "neutral"),
    ],
)
def test_inputs_are_validated(name, inputs, error, message):
    with pytest.raises(error, match=message):
        _load(name).compute(**inputs)


class _Mean(modules.Metric):
    """A metric small enough to check what the base class does."""

    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("float64")})
        return evaluate.MetricInfo(description="d", citation="c", inputs_description="i", features=features)

    def _compute(self, predictions=None, model=None):
        modules.need("mean", predictions=predictions)
        return {
            "mean": sum(predictions) / len(predictions),
            "kind": type(predictions).__name__,
            "model": model,
        }


def test_inputs_reach_compute_as_they_are():
    live = object()
    result = _Mean().compute(predictions=(1.5, 2.0), model=live)
    assert result == {"mean": 1.75, "kind": "tuple", "model": live}
    with pytest.raises(ValueError, match="needs predictions"):
        _Mean().compute()


def test_added_batches_are_used(tmp_path):
    metric = _Mean(cache_dir=str(tmp_path))
    metric.add_batch(predictions=[1.0, 2.0])
    metric.add(predictions=6.0)
    assert metric.compute()["mean"] == 3.0
    assert metric.compute(predictions=[5.0])["mean"] == 5.0
