"""Continued training: on augmented texts, with raised dropout, and as it is."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, set_seed

from hf_fairness.measure.variants import read_variants
from hf_fairness.trainers.baselines import baseline, continued
from hf_fairness.trainers.baselines.continued import source_texts, to_train_on
from hf_fairness.trainers.baselines.continued_training import Contrastive, MaskedWords, number_rows
from support.ccd_case import make_given

pytestmark = pytest.mark.whole

#: Name of the test's training -> method, whether the model has a head, further settings.
TRAINED = {
    "continued": ("continued", True, {}),
    "again": ("continued", True, {}),
    "other seed": ("continued", True, {"seed": 7}),
    "cda": ("cda", True, {}),
    "dropout": ("dropout", True, {}),
    "not raised": ("dropout", True, {"dropout_hidden": 0.1, "dropout_attention": 0.1}),
    "lora": ("cda", True, {"use_peft": True, "learning_rate": 1e-2}),
    "contrastive": ("cda", False, {"num_train_epochs": 3}),
    "contrastive of a head": ("cda", True, {"cda_objective": "contrastive", "max_steps": 4}),
}


@pytest.fixture(scope="module")
def fits(tiny_bert, tiny_mlm, triples, tmp_path_factory):
    """Folder of the model and what was told of it, by name of the training."""
    found = {}
    for name, (method, head, settings) in TRAINED.items():
        folder = tmp_path_factory.mktemp("fit")
        made = make_given(
            tiny_mlm if head else tiny_bert, triples, folder / "out", **{"num_train_epochs": 2, **settings}
        )
        found[name] = folder / "model", baseline(method).fit(made, folder)
    return found


def weights(fits, name: str) -> dict[str, torch.Tensor]:
    return load_file(fits[name][0] / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether all weights are the same; the pooler, which nothing uses, is drawn when a checkpoint lacks it."""
    assert set(one) == set(other)
    return all(torch.equal(value, other[name]) for name, value in one.items() if ".pooler." not in name)


# The texts.


def test_every_version_is_in_the_data_and_the_control_has_as_many_texts_of_each_row(triples):
    variants = read_variants(triples, groups=("male", "female"))
    source, known = source_texts(triples, variants, 0)
    ours, twin = (
        to_train_on(baseline(name).texts_of(variants, source, 0), variants, source) for name in ("cda", "continued")
    )
    assert Counter(ours["text"]) == Counter([*triples["male"], *triples["female"]])
    assert known == 0
    assert ours["row"] == twin["row"]
    assert Counter(twin["text"]) == Counter(source * 2)
    drawn = ["male" if text in triples["male"] else "female" for text in source]
    assert 30 < drawn.count("male") < 66  # of 96, each with a chance of one half
    assert source == source_texts(triples, variants, 0)[0] != source_texts(triples, variants, 1)[0]


def test_three_groups_give_three_texts_of_each_row():
    rows = Dataset.from_dict(
        {"a": ["an a", "a ran"], "b": ["a b", "b ran"], "c": ["a c", "c ran"], "neutral": ["x", "y"]}
    )
    variants = read_variants(rows, groups=("a", "b", "c"))
    ours = to_train_on(baseline("cda").texts_of(variants, ["an a", "c ran"], 0), variants, ["an a", "c ran"])
    twin = to_train_on(baseline("continued").texts_of(variants, ["an a", "c ran"], 0), variants, ["an a", "c ran"])
    assert ours.to_dict() == {"text": ["an a", "a b", "a c", "a ran", "b ran", "c ran"], "row": [0, 0, 0, 1, 1, 1]}
    assert twin.to_dict() == {"text": ["an a"] * 3 + ["c ran"] * 3, "row": [0, 0, 0, 1, 1, 1]}


def test_the_text_that_a_row_came_with_is_taken_where_it_is_known(triples):
    rows = triples.select(range(4)).add_column("source_text", ["he and she said so", None, "", "she and he said so"])
    rows = rows.add_column("has_terms", [True, True, True, False])
    variants = read_variants(rows, groups=("male", "female"))
    texts, known = source_texts(rows, variants, 0)
    assert texts[0] == "he and she said so"
    assert texts[1] in (rows["male"][1], rows["female"][1])
    assert (len(texts), known) == (3, 1)


def test_rows_with_a_text_in_common_are_one():
    assert number_rows([["a", "b"], ["c", "d"], ["e", "b"], ["f", "e"], ["c", "x"]]) == [0, 1, 0, 0, 1]


def test_negatives_of_a_text_are_never_its_counterfactual(given, tiny_bert, triples):
    """A batch of both versions of three rows, one of which comes twice: the loss is that of the other rows alone."""
    rows = triples.select([0, 1, 2, 1])
    variants = read_variants(rows, groups=("male", "female"))
    texts = to_train_on(baseline("cda").texts_of(variants, [], 0), variants, rows["male"])
    assert texts["row"] == [0, 0, 1, 1, 2, 2, 1, 1]
    encoder = given(tiny_bert).encoder
    objective = Contrastive(encoder, 0.05).eval()
    with torch.no_grad():
        loss = objective(**objective.collate(list(texts)))["loss"]
        vectors = F.normalize(encoder.model.encode(texts["text"], convert_to_tensor=True), dim=-1)
    logits, expected = vectors @ vectors.T / 0.05, []
    for i, row in enumerate(texts["row"]):
        others = [logits[i, j] for j, other in enumerate(texts["row"]) if other != row]
        assert len(others) == (6 if row != 1 else 4)
        expected.append(-logits[i, i] + torch.logsumexp(torch.stack([logits[i, i], *others]), 0))
    assert loss.item() == pytest.approx(torch.stack(expected).mean().item(), rel=1e-4)


# Masked words.


def test_the_loss_is_over_the_chosen_places_alone(given, tiny_mlm, triples):
    objective = MaskedWords(given(tiny_mlm).encoder).eval()
    batch = objective.collate([{"text": text, "row": 0} for text in triples["male"][:]])
    set_seed(3)
    with torch.no_grad():
        loss = objective(**batch)["loss"]
    tokenizer = AutoTokenizer.from_pretrained(tiny_mlm)
    set_seed(3)
    drawn, labels = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15).torch_mask_tokens(
        batch["input_ids"].clone()
    )
    inputs = {**batch, "input_ids": drawn}
    with torch.no_grad():
        expected = objective.head(**inputs, labels=labels).loss
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    special = torch.isin(batch["input_ids"], torch.tensor(tokenizer.all_special_ids))
    assert not (labels[special] != -100).any()
    assert 0.10 < (labels != -100).sum() / (~special).sum() < 0.20
    chosen = labels != -100
    assert 0.65 < (drawn[chosen] == tokenizer.mask_token_id).float().mean() < 0.95


def test_a_batch_without_a_chosen_place_has_no_loss(given, tiny_mlm):
    objective = MaskedWords(given(tiny_mlm).encoder)
    loss = objective(**objective.collate([{"text": "", "row": 0}]))["loss"]
    loss.backward()
    assert loss.item() == 0.0


# What is trained.


def test_all_three_make_the_same_steps_on_as_many_texts(fits):
    told = [fits[name][1] for name in ("continued", "cda", "dropout")]
    assert {one["steps"] for one in told} == {24}
    assert {one["n_texts"] for one in told} == {192}
    assert {one["objective"] for one in told} == {"mlm"}
    json.dumps(told)


@pytest.mark.parametrize("name", ["cda", "contrastive", "dropout", "lora"])
def test_the_loss_falls(fits, name):
    losses = [entry["loss"] for entry in fits[name][1]["history"] if "loss" in entry]
    assert sum(losses[-6:]) < 0.95 * sum(losses[:6])


def test_the_same_seed_gives_the_same_weights_and_other_texts_or_seeds_do_not(fits):
    one = weights(fits, "continued")
    assert same(one, weights(fits, "again"))
    for other in ("other seed", "cda", "dropout"):
        assert not same(one, weights(fits, other)), other


def test_dropout_is_all_that_makes_its_method_another(fits):
    """With the rates of the model itself it is the control, weight by weight."""
    assert same(weights(fits, "continued"), weights(fits, "not raised"))


@pytest.mark.parametrize("name", TRAINED)
def test_what_is_saved_has_the_dropout_of_the_original_and_no_left_overs(fits, tiny_mlm, name):
    folder, _ = fits[name]
    config, before = (json.loads((Path(place) / "config.json").read_text()) for place in (folder, tiny_mlm))
    for rate in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        assert config[rate] == before[rate] == 0.1
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert not list(folder.glob("adapter*"))
    assert SentenceTransformer(str(folder), device="cpu").encode(["the nurse said so"]).shape == (1, 32)


@pytest.mark.parametrize(("name", "head_moves"), [("cda", True), ("lora", False), ("contrastive of a head", False)])
def test_the_head_is_kept_and_says_something_else(fits, tiny_mlm, triples, name, head_moves):
    after, report = AutoModelForMaskedLM.from_pretrained(fits[name][0], output_loading_info=True)
    before = AutoModelForMaskedLM.from_pretrained(tiny_mlm)
    assert not report["missing_keys"]
    tokenizer = AutoTokenizer.from_pretrained(tiny_mlm)
    inputs = tokenizer(triples["male"][:2], return_tensors="pt", padding=True)
    with torch.no_grad():
        moved = (after(**inputs).logits - before(**inputs).logits).abs().max()
    assert moved > 1e-2
    dense = (model.cls.predictions.transform.dense.weight for model in (after, before))
    assert torch.equal(*dense) != head_moves


def fit_until_saved(method, made, folder, monkeypatch) -> None:
    """A run that is killed when the model is to be saved, and leaves its checkpoints."""

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(continued, "save_encoder", kill)
        with pytest.raises(KeyboardInterrupt):
            method.fit(made, folder)


@pytest.mark.parametrize(("head", "accumulate"), [(True, 1), (False, 2)])
def test_a_killed_training_ends_as_one_that_was_not(
    given, tiny_bert, tiny_mlm, tmp_path, monkeypatch, head, accumulate
):
    model = tiny_mlm if head else tiny_bert
    settings = {"max_steps": 8, "eval_steps": 3, "save_total_limit": None, "gradient_accumulation_steps": accumulate}
    made, method, killed = given(model, **settings), baseline("cda"), tmp_path / "killed"
    whole = method.fit(made, tmp_path / "whole")

    fit_until_saved(method, made, killed, monkeypatch)
    assert sorted(path.name for path in (killed / "checkpoints").iterdir()) == [f"checkpoint-{n}" for n in (3, 6, 8)]
    for late in (6, 8):
        shutil.rmtree(killed / "checkpoints" / f"checkpoint-{late}")
    again = method.fit(made, killed)
    one, other = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "killed"))
    assert same(one, other)
    assert again["loss"] == pytest.approx(whole["loss"], rel=1e-6)
    assert [entry.get("loss") for entry in again["history"]] == [entry.get("loss") for entry in whole["history"]]


def test_a_checkpoint_of_another_training_is_refused(given, tiny_mlm, tmp_path, monkeypatch):
    method = baseline("cda")
    fit_until_saved(method, given(tiny_mlm, max_steps=2, eval_steps=1), tmp_path / "fit", monkeypatch)
    with pytest.raises(ValueError, match=r"holds other weights than those that are trained here"):
        method.fit(given(tiny_mlm, max_steps=4, cda_objective="contrastive"), tmp_path / "fit")


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
@pytest.mark.parametrize("head", [True, False])
def test_it_trains_with_checkpointed_activations_in_mixed_precision_and_on_eight_rows(
    given, tiny_bert, tiny_mlm, triples, tmp_path, head
):
    rows = triples.select(range(8)).add_column("mood", ["calm"] * 8)
    made = given(tiny_mlm if head else tiny_bert, rows, activation_checkpointing=True, bf16=True, use_peft=True)
    told = baseline("cda").fit(made, tmp_path)
    assert (told["steps"], told["n_texts"]) == (1, 16)


# What is refused.


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("cda", {"cda_objective": "mlm"}, "has no masked-language-model head"),
        ("cda", {"cda_objective": "nli"}, "cda_objective is 'nli', expected one of auto, contrastive, mlm"),
        ("cda", {"cda_temperature": 0.0}, "cda_temperature is 0.0"),
        ("continued", {"cda_learning_rate": -1.0}, "cda_learning_rate is -1.0"),
        ("continued", {"per_device_train_batch_size": 1}, "batches are of 1 text"),
        ("continued", {"prompts": "query: "}, "--prompts cannot be set here"),
        ("dropout", {"dropout_hidden": 1.0}, r"dropout_hidden is 1.0, expected a rate in \[0, 1\)"),
        ("dropout", {"dropout_hidden": 0.1, "dropout_attention": 0.05}, r"raise nothing: the model's own rates"),
    ],
)
def test_settings_that_cannot_be_used(given, tiny_bert, method, settings, message):
    made = given(tiny_bert, **settings)
    with pytest.raises(ValueError, match=message):
        baseline(method).check(made.encoder, made.config, made.attribute)


def test_a_head_that_was_left_out_is_said(given, tiny_mlm):
    made = given(tiny_mlm, cda_objective="mlm", keep_mlm_head=False)
    with pytest.raises(ValueError, match="keep_mlm_head=False left it out"):
        baseline("cda").check(made.encoder, made.config, made.attribute)


def test_without_dropout_two_views_are_one(tmp_path, given):
    from support.tiny_bert import save_tiny_bert

    model = save_tiny_bert(tmp_path / "m", ["a"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    made = given(model)
    for name in ("cda", "continued"):
        with pytest.raises(ValueError, match="needs dropout, which makes two views of a text"):
            baseline(name).check(made.encoder, made.config, made.attribute)
    baseline("dropout").check(made.encoder, made.config, made.attribute)  # it brings its own


@pytest.mark.parametrize("method", ["cda", "dropout", "continued"])
def test_a_model_that_can_be_trained_is_taken(given, tiny_bert, tiny_mlm, method):
    for model in (tiny_bert, tiny_mlm):
        made = given(model)
        baseline(method).check(made.encoder, made.config, made.attribute)


def test_rows_that_fill_no_batch_are_said(given, tiny_mlm, triples, tmp_path):
    made = given(tiny_mlm, triples.select(range(4)), dataloader_drop_last=True)
    with pytest.raises(ValueError, match="8 texts do not fill one batch of 16"):
        baseline("cda").fit(made, tmp_path)


def test_an_empty_text_is_said(given, tiny_mlm, tmp_path):
    rows = Dataset.from_dict({"male": ["he is", ""], "female": ["she is", "she"], "neutral": ["they are", "x"]})
    with pytest.raises(ValueError, match="empty"):
        baseline("cda").fit(given(tiny_mlm, rows), tmp_path)
