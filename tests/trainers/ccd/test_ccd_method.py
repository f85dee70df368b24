"""The CCD pipeline on data of a user's own: what is trained on, what chooses, what is measured, what the control is."""

from __future__ import annotations

import importlib
import json
import logging
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset, load_from_disk
from safetensors.torch import load_file

from hf_fairness.measure.held_out import frames_of
from hf_fairness.trainers import CCDArguments, CCDConfig, run_ccd
from hf_fairness.trainers.ccd.method import CCDMethod, _losses
from support.ccd_case import fewer_texts
from support.tiny_bert import save_tiny_bert

WHO = ("Christian", "Jewish", "Muslim")
FRAMES = [
    "The {who} family opened a {thing} in town.",
    "Yesterday a reporter asked three {who} students about their {thing} at length.",
    "Nobody expected the {who} candidate to win without any {thing}.",
    "My neighbours, a {who} couple, grow tomatoes behind the {thing}.",
    "After dinner our {who} guests sang old songs beside the {thing}.",
    "Police thanked the {who} driver who had found a lost {thing}.",
    "Every spring, {who} volunteers repaint that crumbling {thing} together.",
    "She wrote her thesis on {who} poetry and sold it with a {thing}.",
    "It took the {who} doctor four hours to reach the remote {thing}.",
    "When prices rose, many {who} shopkeepers closed or rented out a {thing}.",
    "Two {who} engineers patented some clever {thing} last autumn.",
    "An old photograph shows {who} sailors repairing their broken {thing}.",
]
THINGS = ("bakery", "garage", "school", "lamp")
QUICK = {"n_samples": 50, "n_bootstrap": 20, "attribute": "religion"}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    pieces = [*"abcdefghijklmnopqrstuvwxyz,.", *(f"##{x}" for x in "abcdefghijklmnopqrstuvwxyz")]
    return save_tiny_bert(tmp_path_factory.mktemp("base"), [*pieces, *(who.lower() for who in WHO)], max_length=128)


def rows(frames=FRAMES) -> Dataset:
    """Texts that come thrice: for each group once, with the same neutral text."""
    texts = [frame.format(who=who, thing=thing) for frame in frames for thing in THINGS for who in WHO]
    return Dataset.from_dict({"text": texts, "source": ["a customer"] * len(texts)})


@pytest.fixture
def run(encoder, tmp_path, monkeypatch):
    """Runs the pipeline; its audits measure little.

    Returns what it returns, the stages of its manifest, and its folder.
    """
    fewer_texts(monkeypatch)

    def go(data=None, *, variants=None, column="text", arguments=None, name="out", **settings):
        config = CCDConfig(
            output_dir=str(tmp_path / name),
            **{"learning_rate": 1e-3, "use_cpu": True, "report_to": "none", "disable_tqdm": True, **settings},
        )
        given = CCDArguments(model_name_or_path=encoder, **QUICK | (arguments or {}))
        data = rows() if data is None else data
        found = run_ccd(given, config, data, text_column=column, variants=variants)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        return found, {entry["stage"]: entry["result"] for entry in manifest["stages"]}, tmp_path / name

    return go


def parts(out) -> dict[str, list[str]]:
    return {name.name: load_from_disk(name)["neutral"][:] for name in sorted((out / "variants").iterdir())}


def test_trials_of_other_models_open_their_own(encoder, tmp_path):
    """``--sweep model_name_or_path=...``: what trials share in memory is that of one model."""
    other = save_tiny_bert(tmp_path / "other", ["a", "b"], seed=1)
    config, shared = CCDConfig(output_dir=str(tmp_path / "out"), use_cpu=True, report_to="none"), {}
    given = [CCDArguments(model_name_or_path=each, **QUICK) for each in (encoder, other, encoder)]
    trials = [CCDMethod(None, each, config, {}, shared, 0) for each in given]
    assert [trial.opened.source for trial in trials] == [encoder, other, encoder]
    assert trials[0].opened is trials[2].opened
    vectors = [trial.original.encode(["a"]) for trial in trials]
    assert not np.allclose(vectors[0], vectors[1])


def test_the_losses_of_the_report_are_without_the_weights_of_the_training():
    class Stub:
        loss = SimpleNamespace(beta=0.5, bias_weight=0.0)
        state = SimpleNamespace(log_history=[{"step": 2, "eval_loss_bias": 0.0, "eval_loss_rep": 0.1}])

        def evaluate(self):
            return {"eval_loss_bias": 0.3 * self.loss.bias_weight, "eval_loss_rep": 0.2 * self.loss.beta}

    for weights in ((0.5, 0.0), (1.0, 2.0), (1.0, 0.0)):
        Stub.loss.beta, Stub.loss.bias_weight = weights
        assert _losses(Stub(), 2) == {"loss_bias": 0.3, "loss_rep": 0.2}
        assert (Stub.loss.beta, Stub.loss.bias_weight) == weights
    Stub.loss.beta = Stub.loss.bias_weight = 1.0
    assert _losses(Stub(), 2) == {"loss_bias": 0.0, "loss_rep": 0.1}  # as it was logged


@pytest.mark.parametrize("strategy", ["steps", "no"])
def test_audits_see_neither_training_nor_validation_rows(run, strategy):
    result, stages, out = run(eval_strategy=strategy, arguments={"control": False}, max_steps=2)
    texts = parts(out)
    assert len(texts["audit"]) >= 12
    assert ("validation" in texts) == (strategy == "steps")
    frames = frames_of([text for part in texts.values() for text in part])
    where = [name for name, part in texts.items() for _ in part]
    assert all(len({w for w, f in zip(where, frames, strict=True) if f == frame}) == 1 for frame in set(frames))
    kept = load_from_disk(out / "variants" / "train")
    assert set(kept["source_text"]) <= set(rows()["text"])
    assert all(row["source_text"] in [row[group] for group in result["arms"]["after"]["group_columns"]] for row in kept)
    assert stages["train_after"]["n_train"] == len(texts["train"])
    assert stages["train_after"]["n_eval"] == len(texts.get("validation", []))
    held = result["results"]["audit"]["after"]["cced"]["held-out rows"]
    assert (held["n"], held["meta"]["n_clusters"]) == (len(texts["audit"]), len(set(frames_of(texts["audit"]))))
    assert result["data"]["n_audit"] == len(texts["audit"])
    assert "validation rows" not in json.dumps(result["results"]["audit"]["after"])


def test_texts_that_are_measured_are_not_trained_on(run):
    groups = {who.lower(): [FRAMES[0].format(who=who, thing="mill")] * 2 for who in WHO}
    variants = {"mine": Dataset.from_dict({**groups, "neutral": ["The family opened a mill in town."] * 2})}
    _, stages, out = run(variants=variants, arguments={"control": False}, max_steps=2)
    assert stages["variants"]["n_in_evaluation"] == 12
    assert not any("opened" in text for part in parts(out).values() for text in part)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (rows([FRAMES[0], FRAMES[0].replace("in town", "in the town")]), "24 rows are near-duplicates of 1 text"),
        (rows().select(range(9)), "9 of the 9 rows .* can be trained on .* expected at least 20"),
        (Dataset.from_dict({"text": ["A Muslim family left.", *["It rained."] * 50]}), "1 of the 51 rows"),
    ],
)
def test_too_little_to_train_and_measure_on_is_an_error(run, data, message):
    with pytest.raises(ValueError, match=message):
        run(data)


def test_the_demo_has_too_few_texts_on_religion(run):
    from hf_fairness.demo import corpus

    with pytest.raises(ValueError, match=r"2 of the 2024 rows of demo can be trained on .*--dataset"):
        run(Dataset.from_dict({"text": corpus()}))


def weights(folder):
    return load_file(folder / "model" / "model.safetensors")


@pytest.mark.whole
def test_the_control_differs_by_the_target_of_the_gaps_alone(run, encoder):
    _, stages, out = run(num_train_epochs=4)
    trained, control = stages["train_after"], stages["train_control"]
    differs = {key for key in control if trained[key] != control[key]}
    assert differs == {"random_gaps", "history", "seconds"}
    assert trained["dropout"] is control["dropout"] is False
    validated = {entry["step"]: entry["eval_loss_bias"] for entry in trained["history"] if "eval_loss" in entry}
    assert trained["loss_bias"] == validated[trained["kept_step"]]
    assert not any("eval_loss" in entry for entry in control["history"])  # nothing would be chosen by it
    steps = [entry["step"] for entry in control["history"] if "loss" in entry]
    assert max(steps, default=0) <= trained["kept_step"] == control["kept_step"]
    start = load_file(f"{encoder}/model.safetensors")
    moved = [
        sum(
            float((value - start[name]).square().sum()) for name, value in weights(out / stage).items() if name in start
        )
        ** 0.5
        for stage in ("train_after", "train_control")
    ]
    assert 0.3 < moved[1] / moved[0] < 3  # it moves about as far
    said = (out / "model" / "README.md").read_text()
    assert "same training without the method" not in said
    assert "another text" in said


@pytest.mark.whole
def test_models_are_opened_once_and_asked_for_each_text_once(run, encoder, monkeypatch, caplog):
    """The original for three audits and all trainings; what was trained is read back as it will be published."""
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel

    trainer = importlib.import_module("hf_fairness.trainers.ccd.trainer")
    opened, asked, models, references = Counter(), Counter(), [], []
    load, encode, embed = PreTrainedModel.from_pretrained.__func__, SentenceTransformer.encode, trainer.embed_references

    def counted_load(cls, name, *args, **kwargs):
        opened[str(name)] += 1
        return load(cls, name, *args, **kwargs)

    def counted_encode(self, texts, **kwargs):
        models.append(self)  # kept, so that no other model gets its id
        asked.update((id(self), text) for text in texts)
        return encode(self, texts, **kwargs)

    def counted_references(model, rows, *args, **kwargs):
        references.append(len(rows))
        return embed(model, rows, *args, **kwargs)

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(counted_load))
    monkeypatch.setattr(SentenceTransformer, "encode", counted_encode)
    monkeypatch.setattr(trainer, "embed_references", counted_references)
    with caplog.at_level(logging.INFO, logger="hf_fairness.trainers.experiment"):
        _, stages, out = run(max_steps=2, arguments={"sweep": ["beta=0,0.5,1,1.5"]})
    said = [record.getMessage() for record in caplog.records if record.getMessage().startswith(("Model ", "Trial "))]
    models_said = ["Model 1 of 3", "Model 2 of 3", "Model 3 of 3"]
    trials_said = [f"Trial beta={beta}" for beta in ("0", "0.5", "1", "1.5")]
    assert [line.split(":")[0] for line in said] == [
        *models_said,
        *(line for trial in trials_said for line in (trial, *models_said)),
    ]
    assert opened[encoder] == 1
    trained = [
        f"train_{arm}{trial}" for arm in ("after", "control") for trial in ("", "-beta_0", "-beta_0_5", "-beta_1_5")
    ]
    assert [opened[str(out / stage / "model")] for stage in trained] == [1] * 8
    assert not (out / "train_after-beta_1").exists()  # it is what was asked for
    assert set(asked.values()) == {1}
    assert len({model for model, _ in asked}) == 1 + 2 * 4  # the original; what was trained and its control, per beta
    assert references == [stages["variants"][part] for part in ("n_train", "n_validation")]


def test_the_original_is_measured_as_it_is_trained_and_saved(run):
    """With the pooling and the length of the training's settings, or what changed would not be what training did."""
    settings = {"pooling": "cls", "normalize": False, "max_length": 40, "max_steps": 1, "learning_rate": 0.0}
    result, _, _ = run(arguments={"control": False}, **settings)
    before, after = (result["results"]["audit"][side]["cced"]["held-out rows"] for side in ("before", "after"))
    assert after["mean_distance"] == pytest.approx(before["mean_distance"], rel=1e-5)
    assert after["cced"] == pytest.approx(before["cced"], rel=1e-4)
    assert result["results"]["audit"]["after"]["utility"]["similarity_structure"] == pytest.approx(1)


@pytest.mark.whole
def test_the_control_does_not_do_what_the_method_does(run):
    shares = []
    for seed in (42, 1, 2):
        result, _, _ = run(num_train_epochs=4, seed=seed, name=f"seed{seed}")
        sides = (
            result["results"]["audit"][side]["cced"]["held-out rows"]["cced"] for side in ("before", "after", "control")
        )
        before, after, beside = sides
        shares.append((after / before, beside / before))
    after, beside = np.mean(shares, axis=0)
    assert after < 0.7
    assert beside > 0.8


@pytest.mark.whole
def test_columns_called_like_a_group_do_not_matter(run):
    data = rows()
    data = data.add_column("muslim", ["yes", "no"] * (len(data) // 2))
    found, _, _ = run(data, arguments={"control": False}, max_steps=2)
    assert found["data"] == run(arguments={"control": False}, max_steps=2, name="plain")[0]["data"]


def test_named_columns_and_leftover_ones(run, caplog):
    """Variants under names of the user's own, beside texts and labels that are no groups."""
    triples = {f"x_{who.lower()}": [] for who in WHO} | {"plain": [], "label": [], "headline": [], "has_terms": []}
    for frame in FRAMES:
        for thing in THINGS:
            for who in WHO:
                triples[f"x_{who.lower()}"].append(frame.format(who=who, thing=thing))
            triples["plain"].append(frame.format(who="religious", thing=thing))
            triples["label"].append("good")
            triples["headline"].append("News of the day")
            triples["has_terms"].append("False" if thing == "lamp" else "True")
    named = {"group_columns": [f"x_{who.lower()}" for who in WHO], "neutral_column": "plain", "max_steps": 2}
    with caplog.at_level(logging.INFO, logger="hf_fairness.measure.variants"):
        result, stages, _ = run(Dataset.from_dict(triples), column=None, arguments={"control": False}, **named)
    assert stages["train_after"]["group_columns"] == named["group_columns"]
    assert sorted(result["results"]["audit"]["after"]["cced"]["held-out rows"]["distance"]) == sorted(
        named["group_columns"]
    )
    assert result["data"]["n_without_terms"] + result["arms"]["after"]["n_skipped"] == 12
    assert "ignored: label, headline" in caplog.text
    assert np.isfinite(result["results"]["audit"]["after"]["cced"]["held-out rows"]["cced"])
    assert torch.isfinite(
        torch.tensor([entry["loss"] for entry in stages["train_after"]["history"] if "loss" in entry])
    ).all()
