"""DPCE and ADEPT-F on small random encoders: what is trained, told and saved, resume, LoRA, processes, errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from hf_fairness.attributes import load_attribute
from hf_fairness.trainers.baselines import baseline
from hf_fairness.trainers.baselines.hidden_states import HiddenStateTrainer
from hf_fairness.trainers.baselines.words import neutral_words
from support.ccd_case import make_encoder
from support.hidden_case import given_of, main
from support.launch import launch

pytestmark = pytest.mark.whole
GROUPS = {"male": "he", "female": "she"}
METHODS = ("dpce", "adept")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, tiny_bert, triples):
    """Folder and what was told, by method."""
    found = {}
    for name in METHODS:
        folder = tmp_path_factory.mktemp(name)
        rows, validation = triples.select(range(80)), triples.select(range(80, 96))
        given = given_of(tiny_bert, rows, validation, folder / "run", num_train_epochs=4, eval_strategy="epoch")
        before = {key: value.clone() for key, value in given.encoder.model.state_dict().items()}
        told = baseline(name).fit(given, folder)
        after = given.encoder.model.state_dict()
        assert all(torch.equal(value, after[key]) for key, value in before.items())  # what all begin with stays
        found[name] = (folder, json.loads(json.dumps(dict(told))))
    return found


@pytest.mark.parametrize("name", METHODS)
def test_the_bias_part_falls_on_rows_that_were_not_trained_on(fitted, name):
    folder, told = fitted[name]
    assert told["steps"] == 20
    assert told["validation_loss_bias_after"] < 0.8 * told["validation_loss_bias_before"]
    assert told["validation_loss_after"] < told["validation_loss_before"]
    assert told["validation_loss_rep_before"] == pytest.approx(0, abs=1e-9) != told["validation_loss_rep_after"]
    losses = [entry["loss"] for entry in told["history"] if "loss" in entry]
    assert len(losses) == 20
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])
    for entry in told["history"]:
        if "loss" in entry:
            assert entry["loss_bias"] + entry["loss_rep"] == pytest.approx(entry["loss"], abs=1e-3, rel=1e-3)
    assert not (folder / "checkpoints").exists()


@pytest.mark.parametrize("name", METHODS)
def test_the_saved_model_opens_anywhere_and_has_moved(fitted, tiny_bert, name):
    folder, _ = fitted[name]
    texts = ["the teacher said that they was tired"]
    opened = SentenceTransformer(str(folder / "model"), device="cpu")
    assert opened.encode(texts).shape == (1, 32)
    state, original = (AutoModel.from_pretrained(where).state_dict() for where in (folder / "model", tiny_bert))
    moved = {key for key, value in state.items() if not torch.equal(value, original[key])}
    assert {"embeddings.word_embeddings.weight", "encoder.layer.1.output.dense.weight"} <= moved
    assert not any(key.startswith("pooler") for key in moved)


def states_of(folder, texts):
    """Hidden states by text and token: a list of (pieces, layers x tokens x dim), by transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    found = []
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            layers = model(**tokens, output_hidden_states=True).hidden_states
        pieces = tokenizer.convert_ids_to_tokens(tokens["input_ids"][0])
        found.append((pieces, np.stack([layer[0].double().numpy() for layer in layers])))
    return found


def test_dpce_tells_the_loss_of_the_paper(fitted, tiny_bert, triples):
    """Bias and retention of the saved model on the validation rows, by loops over words."""
    folder, told = fitted["dpce"]
    rows, validation = triples.select(range(80)), triples.select(range(80, 96))
    vectors = []
    for group, pronoun in GROUPS.items():
        seen = [layers[:, pieces.index(pronoun)] for pieces, layers in states_of(tiny_bert, rows[group])]
        vectors.append(np.mean(seen, axis=0))
    words = []
    for pieces, layers in states_of(folder / "model", validation["neutral"]):
        places = [place for place, piece in enumerate(pieces) if piece in neutral_words()]
        if places:
            terms = [[((v * layers[:, p]).sum(1) ** 2).sum() for v in vectors] for p in places]
            words.append(np.mean(terms))
    assert told["n_attribute_words"] == 2
    sentences = [row["neutral"] for row in validation if set(row["neutral"].split()) & set(neutral_words())]
    assert len(words) == len(sentences) < 16  # so some come more than once among the 16 rows
    kept = []
    for group in GROUPS:
        now, before = (states_of(where, validation[group]) for where in (folder / "model", tiny_bert))
        kept.append([((a[1] - b[1]) ** 2).sum((0, 2)) for a, b in zip(now, before, strict=True)])
    rep = 0.8 * np.mean([np.concatenate(each).mean() for each in zip(*kept, strict=True)])
    assert told["validation_loss_rep_after"] == pytest.approx(rep, rel=1e-4)
    order = np.random.default_rng(42).permutation(len(words))
    bias = 0.2 * np.mean([words[order[row % len(words)]] for row in range(16)])
    assert told["validation_loss_bias_after"] == pytest.approx(bias, rel=1e-4)


def test_adept_tells_the_loss_of_the_paper(fitted, tiny_bert, triples):
    folder, told = fitted["adept"]
    rows, validation = triples.select(range(80)), triples.select(range(80, 96))
    prototypes = [
        np.mean([layers[:, pieces.index(pronoun)] for pieces, layers in states_of(tiny_bert, rows[group])], axis=0)
        for group, pronoun in GROUPS.items()
    ]

    def apart(where, texts):
        found = []
        for pieces, layers in states_of(where, texts):
            places = [place for place, piece in enumerate(pieces) if piece in neutral_words()]
            found.append([[((layers[:, p] - each) ** 2).sum() for each in prototypes] for p in places])
        return [each for each in found if each]

    spread = np.concatenate(apart(tiny_bert, rows["neutral"]))
    rho = np.sqrt(np.sqrt(((spread - spread.mean(0)) ** 2).mean()) / 2)
    assert told["rho"] == pytest.approx(rho, rel=1e-4)
    words = apart(folder / "model", validation["neutral"])
    order = np.random.default_rng(42).permutation(len(words))
    distances = np.concatenate([words[order[row % len(words)]] for row in range(16)])
    near = np.exp(-distances / (2 * rho**2))
    p, q = (near / near.sum(0)).T
    m = (p + q) / 2
    bias = 0.5 * (p * np.log(p / m)).sum() + 0.5 * (q * np.log(q / m)).sum()
    assert told["validation_loss_bias_after"] == pytest.approx(bias, rel=1e-3)


class Killed(Exception):
    pass


@pytest.mark.parametrize("name", METHODS)
def test_a_killed_training_goes_on(monkeypatch, tmp_path, tiny_bert, triples, name):
    settings = {"num_train_epochs": 2, "eval_steps": 2, "save_steps": 2}
    parts = triples.select(range(48)), triples.select(range(80, 96))
    whole = baseline(name).fit(given_of(tiny_bert, *parts, tmp_path / "a", **settings), tmp_path / "whole")
    step = HiddenStateTrainer.training_step

    def die(self, *args, **kwargs):
        if self.state.global_step == 3:
            raise Killed
        return step(self, *args, **kwargs)

    monkeypatch.setattr(HiddenStateTrainer, "training_step", die)
    with pytest.raises(Killed):
        baseline(name).fit(given_of(tiny_bert, *parts, tmp_path / "b", **settings), tmp_path / "killed")
    monkeypatch.setattr(HiddenStateTrainer, "training_step", step)
    again = baseline(name).fit(given_of(tiny_bert, *parts, tmp_path / "b", **settings), tmp_path / "killed")
    texts = triples["male"][:4]
    models = [SentenceTransformer(str(tmp_path / name / "model"), device="cpu") for name in ("whole", "killed")]
    one, other = (model.encode(texts) for model in models)
    assert np.array_equal(one, other)
    assert whole["steps"] == again["steps"] == 6
    assert whole["loss"] == pytest.approx(again["loss"], rel=1e-6)
    for key in ("loss", "loss_bias", "loss_rep", "eval_loss", "eval_loss_bias"):
        values = [[entry[key] for entry in told["history"] if key in entry] for told in (whole, again)]
        assert values[0] == values[1] != []


@pytest.mark.parametrize("name", METHODS)
def test_lora_is_trained_alone_and_merged(tmp_path, tiny_mlm, triples, name):
    """On a model with a masked-language-model head, which is kept over the changed encoder."""
    given = given_of(tiny_mlm, triples.select(range(48)), None, tmp_path, num_train_epochs=2, use_peft=True)
    told = baseline(name).fit(given, tmp_path)
    assert told["steps"] == told["kept_step"] == 6
    assert not [key for key in told if key.startswith("validation")]
    state, original = (AutoModelForMaskedLM.from_pretrained(x).state_dict() for x in (tmp_path / "model", tiny_mlm))
    assert state.keys() == original.keys()
    moved = {key for key, value in state.items() if not torch.equal(value, original[key])}
    assert moved
    assert all("query" in key or "value" in key for key in moved)


def test_every_level_and_choice_of_layers_trains(tmp_path, tiny_bert, triples):
    rows = triples.select(range(32))
    for name, level, layers in (("dpce", "sentence", "last"), ("dpce", "token", "first"), ("adept", "", "last")):
        more = {"dpce_level": level, "dpce_layers": layers} if name == "dpce" else {"adept_layers": layers}
        folder = tmp_path / f"{name}{level}{layers}"
        told = baseline(name).fit(given_of(tiny_bert, rows, rows, folder, num_train_epochs=3, **more), folder)
        assert told["validation_loss_bias_after"] < told["validation_loss_bias_before"]
        assert (told["n_neutral_sentences"] == 32) == (level == "sentence")


def test_a_learning_rate_of_its_own_and_a_fixed_width(tmp_path, tiny_bert, triples):
    more = {"adept_learning_rate": 1e-4, "adept_rho": "15", "lr_scheduler_type": "constant"}
    given = given_of(tiny_bert, triples.select(range(32)), None, tmp_path, **more)
    told = baseline("adept").fit(given, tmp_path)
    assert told["rho"] == 15
    assert {entry["learning_rate"] for entry in told["history"] if "loss" in entry} == {1e-4}


def test_smaller_batches_that_add_up_and_recomputed_layers_change_nothing(tmp_path, tiny_bert, triples):
    """Of ADEPT-F each micro-batch has its own neighbours, so DPCE is what can be held against itself."""
    rows, losses = triples.select(range(32)), {}
    for way, more in (
        ("plain", {}),
        ("accumulated", {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 8}),
        ("recomputed", {"activation_checkpointing": True}),
    ):
        told = baseline("dpce").fit(given_of(tiny_bert, rows, None, tmp_path / way, **more), tmp_path / way)
        losses[way] = [(entry["loss"], entry["loss_bias"]) for entry in told["history"] if "loss" in entry]
        assert len(losses[way]) == 2
    for way in ("accumulated", "recomputed"):
        np.testing.assert_allclose(losses[way], losses["plain"], rtol=1e-4)


@pytest.mark.parametrize("name", METHODS)
def test_three_groups_train(tmp_path, name):
    frames = ["the {job} said that {they} was tired", "as a {job} {they} earns a good salary"]
    religion = load_attribute("religion")
    assert len(religion.group_names) > 2
    terms = {group.name: next(t.text for t in group.terms if " " not in t.text) for group in religion.groups}
    jobs = [*("teacher", "farmer", "baker", "lawyer", "clerk", "doctor"), "painter", "writer"]
    rows = Dataset.from_list(
        [
            {group: frame.format(job=job, they=term) for group, term in (*terms.items(), ("neutral", "they"))}
            for frame in frames
            for job in jobs
        ]
    )
    model = make_encoder(tmp_path / "letters")
    given = given_of(model, rows, rows, tmp_path, attribute="religion", num_train_epochs=4)
    told = baseline(name).fit(given, tmp_path)
    assert told["validation_loss_bias_after"] < told["validation_loss_bias_before"]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("dpce", {"dpce_level": "word"}, "dpce_level is 'word'"),
        ("dpce", {"dpce_layers": "second"}, "dpce_layers is 'second'"),
        ("dpce", {"dpce_alpha": -1.0}, "dpce_alpha is -1.0"),
        ("dpce", {"dpce_layers": "first", "use_peft": True}, "which LoRA does not train"),
        ("dpce", {"dpce_targets": "no such file"}, "no such file"),
        ("dpce", {"dpce_learning_rate": 0.0}, "dpce_learning_rate is 0.0"),
        ("dpce", {"group_columns": ["male", "other"]}, "other is no group of 'gender'"),
        ("adept", {"adept_rho": "wide"}, "adept_rho is 'wide'"),
        ("adept", {"adept_rho": "-2"}, "adept_rho is '-2'"),
        ("adept", {"adept_weight": float("nan")}, "adept_weight is nan"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_training(tmp_path, tiny_bert, triples, name, settings, message):
    given = given_of(tiny_bert, triples, None, tmp_path, **settings)
    with pytest.raises(ValueError, match=message):
        baseline(name).check(given.encoder, given.config, given.attribute)


def test_models_without_hidden_states_of_words_are_refused(tmp_path, tiny_bert, triples):
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    static = SentenceTransformer(modules=[StaticEmbedding(tokenizer.backend_tokenizer, embedding_dim=8)], device="cpu")
    given = given_of(static, triples, None, tmp_path)
    for name in METHODS:
        with pytest.raises(ValueError, match="first module of the model is StaticEmbedding"):
            baseline(name).check(given.encoder, given.config, given.attribute)


def test_too_few_neutral_words_are_said_with_what_to_do(tmp_path, tiny_bert, triples):
    file = tmp_path / "words.txt"
    file.write_text("astronaut\n")
    for name, hint in (("dpce", "--dpce_level sentence"), ("adept", "--adept_targets FILE")):
        given = given_of(tiny_bert, triples, None, tmp_path, **{f"{name}_targets": str(file)})
        assert baseline(name).files(given.config) == [file]
        with pytest.raises(ValueError, match=f"0 of 96 neutral texts hold one of the words of {name}.*{hint}"):
            baseline(name).fit(given, tmp_path)


@pytest.mark.parametrize("name", METHODS)
def test_without_words_of_the_package_all_tokens_are_debiased(tmp_path, tiny_bert, triples, caplog, name):
    rows = triples.filter(lambda row: not set(row["neutral"].split()) & set(neutral_words()))
    told = baseline(name).fit(given_of(tiny_bert, rows, rows, tmp_path, num_train_epochs=3), tmp_path)
    assert told["debiased"] == "all tokens of neutral texts"
    assert told["n_neutral_sentences"] == len(rows) > 10
    assert told["validation_loss_bias_after"] < told["validation_loss_bias_before"]
    assert "all tokens of neutral texts are taken instead" in caplog.text


@pytest.fixture(scope="module")
def launches(tmp_path_factory, tiny_bert, triples):
    """What was told and the folder of the models, by number of processes."""
    folder = tmp_path_factory.mktemp("launches")
    triples.save_to_disk(str(folder / "data"))
    found = {}
    for processes, batch in ((1, 16), (2, 8)):
        output = folder / str(processes)
        words = (tiny_bert, str(folder / "data"), str(output), str(batch))
        if processes == 1:
            main(*words)
        else:
            launch("support.hidden_case", *words, processes=processes, folder=folder)
        found[processes] = {**json.loads((output / "found.json").read_text()), "folder": output}
    return found


@pytest.mark.parametrize("run", ["dpce", "adept", "adept-lora"])
def test_two_processes_train_as_one(launches, triples, run):
    one, two = launches[1], launches[2]
    assert (one["processes"], two["processes"]) == (1, 2)
    for key in ("loss", "loss_bias", "loss_rep", "eval_loss", "eval_loss_bias"):
        values = [[entry[key] for entry in each[run]["history"] if key in entry] for each in (one, two)]
        assert len(values[0]) >= 4
        np.testing.assert_allclose(values[1], values[0], rtol=2e-4, atol=2e-6)
    texts = triples["male"][:4]
    models = [str(Path(each["folder"], run, "model")) for each in (one, two)]
    vectors = [SentenceTransformer(model, device="cpu").encode(texts) for model in models]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-4)
