"""CCDTrainer on small random encoders: data, references, training, resume, errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from transformers import AutoModel, AutoTokenizer, BertModel

from hf_fairness import FairnessWarning
from hf_fairness.trainers import CCDLoss, CCDTrainer, add_reference_embeddings

TEXTS = ["the nurse said that she was tired", "as a pilot he earns a good salary"]


def gaps(model, rows):
    """Mean difference of the groups' distances to the neutral text: CCED, by hand."""
    male, female, neutral = (model.encode(rows[name][:]) for name in ("male", "female", "neutral"))
    far = [np.linalg.norm(group - neutral, axis=1) for group in (male, female)]
    return float(np.abs(far[0] - far[1]).mean())


def logged(trainer, key):
    return [entry[key] for entry in trainer.state.log_history if key in entry]


def test_trains_saves_and_opens_anywhere(tiny_bert, triples, config):
    trainer = CCDTrainer(model=tiny_bert, args=config(num_train_epochs=4), train_dataset=triples)
    before = gaps(trainer.model, triples)
    weights = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.train()
    after = gaps(trainer.model, triples)
    assert before > 0.05
    assert after < 0.7 * before
    assert any(not torch.equal(value, weights[name]) for name, value in trainer.model.state_dict().items())

    trainer.save_model()
    out = trainer.args.output_dir
    opened = SentenceTransformer(out, device="cpu")
    assert np.array_equal(opened.encode(TEXTS), trainer.model.encode(TEXTS))
    assert np.allclose(np.linalg.norm(opened.encode(TEXTS), axis=1), 1, atol=1e-6)  # said default: normalised
    tokens = AutoTokenizer.from_pretrained(out)(TEXTS[:1], return_tensors="pt")
    plain = AutoModel.from_pretrained(out).eval()
    pooled = torch.nn.functional.normalize(plain(**tokens).last_hidden_state.mean(1), dim=1)
    assert torch.allclose(pooled[0], torch.from_numpy(opened.encode(TEXTS[0])), atol=1e-6)


def test_logs_named_parts_and_keeps_the_best_checkpoint(tiny_bert, triples, config):
    trainer = CCDTrainer(model=tiny_bert, args=config(num_train_epochs=3), train_dataset=triples)
    trainer.train()
    for prefix in ("", "eval_"):
        total, bias, rep = (logged(trainer, prefix + key) for key in ("loss", "loss_bias", "loss_rep"))
        assert len(total) == len(bias) == len(rep) > 3
        assert np.allclose(np.add(bias, rep), total, atol=1.1e-4)  # the parts are logged with four digits
    assert logged(trainer, "loss_rep")[0] == 0  # dropout is off and references fit
    losses, random = logged(trainer, "eval_loss"), torch.get_rng_state()
    best = next(entry for entry in trainer.state.log_history if entry.get("eval_loss") == min(losses))
    found = trainer.evaluate()
    assert [found[key] for key in ("eval_loss", "eval_loss_bias")] == [best["eval_loss"], best["eval_loss_bias"]]
    assert torch.equal(torch.get_rng_state(), random)  # or dropout would depend on how often it is validated


@pytest.mark.whole
def test_validation_parts_add_up_to_the_loss_with_a_smaller_last_batch(tiny_bert, triples, config):
    settings = {"validation_rows": 10, "per_device_eval_batch_size": 8, "num_train_epochs": 2}
    trainer = CCDTrainer(tiny_bert, config(**settings), triples)
    trainer.train()
    parts = [np.array(logged(trainer, f"eval_loss{part}")) for part in ("", "_bias", "_rep")]
    assert len(parts[0]) > 3
    assert np.allclose(parts[1] + parts[2], parts[0], rtol=1e-5)
    found = trainer.evaluate(metric_key_prefix="test")
    assert found["test_loss_bias"] + found["test_loss_rep"] == pytest.approx(found["test_loss"], rel=1e-5)
    whole = CCDTrainer(tiny_bert, config(**settings | {"per_device_eval_batch_size": 10}), triples)
    whole.model.load_state_dict(trainer.model.state_dict())
    assert whole.evaluate()["eval_loss_bias"] == pytest.approx(found["test_loss_bias"], rel=1e-4)


def test_control_takes_the_gaps_of_other_rows(tiny_bert, triples, config):
    control = CCDTrainer(tiny_bert, config(random_gaps=True, max_steps=3), triples)
    method = CCDTrainer(tiny_bert, config(max_steps=3), triples)
    width = method.train_dataset[0]["label"].shape[0]
    assert control.train_dataset[0]["label"].shape[0] == control.eval_dataset[0]["label"].shape[0] == width + 2
    own = np.exp(-(np.stack(list(control.references["train"].distances.values()), 1) ** 2) / 2 / control.kernel.rho**2)
    taken = np.stack([row["label"][width:].numpy() for row in control.train_dataset])
    moved, gaps = taken - own, own - own.mean(axis=1, keepdims=True)
    up = [int(np.abs(gaps - row).sum(axis=1).argmin()) for row in moved]
    down = [int(np.abs(gaps + row).sum(axis=1).argmin()) for row in moved]
    fits = [
        [np.allclose(sign * gaps[at], row, atol=1e-5) for sign, at in ((1, u), (-1, d))]
        for row, u, d in zip(moved, up, down, strict=True)
    ]
    assert all(any(fit) for fit in fits)  # each is moved by the gaps of a row, upwards or downwards
    assert not any(np.allclose(row, 0, atol=1e-7) for row in moved)
    assert abs(np.mean([each[0] for each in fits]) - np.mean([each[1] for each in fits])) < 0.1
    for trainer in (method, control):  # into one folder: the last checkpoint is of the control
        trainer.train()
    assert logged(control, "loss_rep")[0] == 0 < logged(control, "loss_bias")[0]  # dropout is off, and yet it pulls
    with pytest.raises(ValueError, match="random_gaps = True"):
        method.train(resume_from_checkpoint=f"{control.args.output_dir}/checkpoint-3")


def test_dropout_is_off_in_training_only(tiny_bert, triples, config):
    noisy = CCDTrainer(model=tiny_bert, args=config(max_steps=1, keep_dropout=True), train_dataset=triples)
    noisy.train()
    assert logged(noisy, "loss_rep")[0] > 0.01
    trainer = CCDTrainer(model=tiny_bert, args=config(max_steps=1), train_dataset=triples)
    trainer.train()
    assert logged(trainer, "loss_rep")[0] == 0
    rates = {module.p for module in trainer.model.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.1}
    trainer.save_model()
    saved = json.loads((Path(trainer.args.output_dir) / "config.json").read_text())
    assert saved["hidden_dropout_prob"] == 0.1


class StubbornDropout(torch.nn.Module):
    """A module whose dropout rate stands nowhere."""

    def forward(self, features):
        features["sentence_embedding"] = torch.nn.functional.dropout(features["sentence_embedding"], 0.5, self.training)
        return features


def test_dropout_that_stays_on_is_said(tiny_bert, triples, config):
    model = SentenceTransformer(tiny_bert, device="cpu")
    model.append(StubbornDropout())
    trainer = CCDTrainer(
        model=model, args=config(max_steps=1, eval_strategy="no", save_strategy="no"), train_dataset=triples
    )
    with pytest.warns(FairnessWarning, match="Dropout could not be switched off"):
        trainer.train()


def test_references_and_width_come_from_the_original_model(tiny_bert, triples, config):
    trainer = CCDTrainer(model=tiny_bert, args=config(), train_dataset=triples)
    original = trainer.model
    train = trainer.train_dataset
    neutral = original.encode(train["neutral"][:])
    assert np.allclose(torch.stack(list(train["label"])).numpy(), neutral, atol=1e-6)
    distances = [np.linalg.norm(original.encode(train[name][:]) - neutral, axis=1) for name in ("male", "female")]
    assert trainer.kernel.rho == pytest.approx(np.mean(distances), rel=1e-5)
    held = trainer.eval_dataset
    assert np.allclose(torch.stack(list(held["label"])).numpy(), original.encode(held["neutral"][:]), atol=1e-6)


def test_last_rows_are_held_out_and_steps_follow_the_data(tiny_bert, triples, config):
    trainer = CCDTrainer(model=tiny_bert, args=config(num_train_epochs=3), train_dataset=triples)
    assert (len(trainer.train_dataset), len(trainer.eval_dataset)) == (87, 9)
    assert trainer.eval_dataset["male"][:] == triples["male"][-9:]
    assert trainer.args.eval_steps == trainer.args.save_steps == 3  # 18 steps / 5
    trainer = CCDTrainer(model=tiny_bert, args=config(validation_rows=16), train_dataset=triples)
    assert (len(trainer.train_dataset), len(trainer.eval_dataset)) == (80, 16)
    trainer = CCDTrainer(model=tiny_bert, args=config(eval_strategy="no"), train_dataset=triples)
    assert (len(trainer.train_dataset), trainer.eval_dataset) == (96, None)
    trainer = CCDTrainer(tiny_bert, config(), triples.select(range(64)), triples.select(range(64, 96)))
    assert (len(trainer.train_dataset), len(trainer.eval_dataset)) == (64, 32)


def test_rows_without_terms_are_skipped_and_counted(tiny_bert, triples, config):
    rows = triples.select(range(40)).to_list()
    for index, row in enumerate(rows):
        row.update(id=index, edits="[]", has_terms=index % 4 > 0, topic_id=[1, 2])
    rows += [{**rows[1], "male": "i think", "female": "i think", "neutral": "i think"}]
    rows = [{**row, "rejected_reason": ""} for row in rows] + [{**rows[1], "rejected_reason": "no usable answer"}]
    data = Dataset.from_list(rows)
    trainer = CCDTrainer(model=tiny_bert, args=config(), train_dataset=data)
    assert trainer.n_skipped == 12
    assert len(trainer.train_dataset) + len(trainer.eval_dataset) == 30
    assert trainer.train_dataset.column_names == ["male", "female", "neutral", "label"]
    trainer.train()
    saved = json.loads((Path(trainer.args.output_dir) / "checkpoint-2" / "ccd_config.json").read_text())
    assert (saved["n_skipped"], saved["beta"], saved["rho"]) == (12, 1.0, trainer.kernel.rho)


@pytest.mark.whole
def test_other_text_columns_are_no_groups(tiny_bert, triples, config):
    """A label of strings, a headline or a source beside the variants changes nothing."""
    alone = CCDTrainer(tiny_bert, config(max_steps=2), triples)
    others = {"label": "good", "headline": "News", "source": "a customer", "id": "7", "frame": "f"}
    beside = CCDTrainer(tiny_bert, config(max_steps=2), triples.map(lambda row: others | row | {"text": row["male"]}))
    for trainer in (alone, beside):
        trainer.train()
    assert beside.groups == ["male", "female"]
    assert logged(beside, "loss") == logged(alone, "loss")


@pytest.mark.whole
def test_resume_gives_the_same_weights(tiny_bert, triples, config, tmp_path):
    settings = {
        "num_train_epochs": 2,
        "eval_steps": 4,
        "save_total_limit": 5,
        "load_best_model_at_end": False,
    }
    whole = CCDTrainer(tiny_bert, config(**settings), triples)
    whole.train()
    again = CCDTrainer(
        tiny_bert,
        config(
            **settings,
        ),
        triples,
    )
    checkpoint = f"{whole.args.output_dir}/checkpoint-4"
    again.train(resume_from_checkpoint=checkpoint)
    assert again.state.global_step == 12
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
    moved = CCDTrainer(f"{whole.args.output_dir}/checkpoint-12", config(**settings), triples)
    with pytest.raises(ValueError, match=r"trained with rho = .*original model"):
        moved.train(resume_from_checkpoint=checkpoint)
    with pytest.raises(ValueError, match="no checkpoint of a CCDTrainer"):
        again.train(resume_from_checkpoint=str(tmp_path))


def test_unit_vectors_with_variance_warn_and_stall(tiny_bert, triples, config):
    rows = triples.select(range(64))
    with pytest.warns(FairnessWarning, match="The CCD kernel vanishes"):
        trainer = CCDTrainer(tiny_bert, config(rho="variance", max_steps=3), rows)
    assert trainer.kernel.share_low > 0.5


def test_sentence_transformer_keeps_its_modules(tiny_bert, triples, config):
    from sentence_transformers.sentence_transformer.modules import Pooling

    model = SentenceTransformer(tiny_bert, device="cpu")
    model[1] = Pooling(32, "cls")
    trainer = CCDTrainer(model=model, args=config(max_steps=2), train_dataset=triples)
    assert trainer.model is model
    trainer.train()
    trainer.save_model()
    opened = SentenceTransformer(trainer.args.output_dir, device="cpu")
    assert opened[1].pooling_mode == "cls"
    assert np.array_equal(opened.encode(TEXTS), model.encode(TEXTS))


def test_transformers_model_is_trained_in_place(tiny_bert, triples, config):
    model = BertModel.from_pretrained(tiny_bert, add_pooling_layer=False)
    start = model.embeddings.word_embeddings.weight.detach().clone()
    trainer = CCDTrainer(model=model, args=config(num_train_epochs=2), train_dataset=triples)
    trainer.train()
    assert not torch.equal(model.embeddings.word_embeddings.weight, start)
    assert trainer.evaluate()["eval_loss"] == pytest.approx(min(logged(trainer, "eval_loss")), rel=1e-4)


def test_model_built_in_memory_needs_a_tokenizer(tiny_bert, triples, config):
    model = BertModel(BertModel.from_pretrained(tiny_bert).config)
    model.config.name_or_path = ""
    model.name_or_path = ""
    with pytest.raises(ValueError, match="processing_class=tokenizer"):
        CCDTrainer(model, config(), triples)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    assert CCDTrainer(model, config(), triples, processing_class=tokenizer).model[0].model is model


def test_max_length_and_numeric_width(tiny_bert, triples, config):
    trainer = CCDTrainer(tiny_bert, config(max_length=10, rho=0.25), triples)
    assert trainer.model.max_seq_length == 10
    batch = trainer.data_collator(trainer.train_dataset.to_list())
    assert batch["male_input_ids"].shape == (87, 10)
    assert (trainer.loss.rho, trainer.kernel.mode) == (0.25, "number")


def test_three_groups(tiny_bert, triples, config):
    data = triples.map(lambda row: {"other": row["male"].replace(" he ", " i ")})
    trainer = CCDTrainer(tiny_bert, config(max_steps=2, group_columns=["female", "male", "other"]), data)
    assert trainer.train_dataset.column_names == ["female", "male", "other", "neutral", "label"]
    trainer.train()


@pytest.mark.whole
def test_loss_alone_in_a_plain_trainer(tiny_bert, triples, tmp_path):
    from sentence_transformers import SentenceTransformerTrainingArguments

    model = SentenceTransformer(tiny_bert, device="cpu")
    data = add_reference_embeddings(triples, model)
    before = gaps(model, triples)
    args = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path),
        use_cpu=True,
        learning_rate=1e-3,
        num_train_epochs=4,
        logging_steps=1,
        save_strategy="no",
        dataloader_pin_memory=False,
    )
    trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=data, loss=CCDLoss(model, rho=0.3))
    trainer.train()
    assert gaps(model, triples) < before
    assert len(logged(trainer, "loss_bias")) > 3
    with pytest.raises(ValueError, match="'neutral' is missing"):
        add_reference_embeddings(triples.remove_columns("neutral"), model)


def one_group(rows):
    return rows.remove_columns("male")


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (lambda d: d.remove_columns("neutral"), {}, "Column 'neutral' is missing"),
        (lambda d: d, {"group_columns": ["male", "femal"]}, "'femal' is missing.*Did you mean 'female'"),
        (one_group, {}, "no attribute fits: male, female"),
        (lambda d: d.select([]), {}, "CCD: the data set has no rows"),
        (lambda d: d.map(lambda _: {"has_terms": False}), {}, "None of the 96 rows holds an attribute term"),
        (lambda d: d.map(lambda _: {"male": "a", "female": "a", "neutral": "a"}), {}, "None of the 96 rows"),
        (
            lambda d: d.map(lambda _, i: {"male": " " if i == 3 else "he"}, with_indices=True),
            {},
            "Row 3 .*'male'",
        ),
        (
            lambda d: d.map(lambda row: {"male": len(row["male"])}),
            {"group_columns": ["male", "female"]},
            "holds no text",
        ),
        (
            lambda d: d.rename_column("male", "neutral_x"),
            {"group_columns": ["female", "neutral_x"]},
            "cannot be told apart",
        ),
        (lambda d: d.select([0]), {}, "cannot be split"),
        (lambda d: d, {"validation_rows": 96}, "cannot be split"),
        (lambda d: d.select(range(9)), {"dataloader_drop_last": True}, "do not fill one global batch of 16"),
    ],
)
def test_data_errors(tiny_bert, triples, config, change, settings, message):
    with pytest.raises(ValueError, match=message):
        CCDTrainer(tiny_bert, config(**settings), change(triples))


def test_data_of_a_wrong_kind(tiny_bert, triples, config):
    with pytest.raises(TypeError, match=r"Select one, for example dataset\['train'\]"):
        CCDTrainer(tiny_bert, config(), DatasetDict(train=triples))
    with pytest.raises(TypeError, match="CCD needs the whole corpus, and a stream shows one row"):
        CCDTrainer(tiny_bert, config(), triples.to_iterable_dataset())
    with pytest.raises(ValueError, match="train_dataset is missing"):
        CCDTrainer(tiny_bert, config())
    with pytest.raises(TypeError, match="expected a CCDConfig"):
        CCDTrainer(tiny_bert, object(), triples)


def test_models_that_are_no_encoders(triples, config, tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    with pytest.raises(TypeError, match="model is a int"):
        CCDTrainer(7, config(), triples)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"neither config\.json nor modules\.json"):
        CCDTrainer(tmp_path / "empty", config(), triples)
    decoder = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=20))
    with pytest.raises(ValueError, match="generates text and is no encoder"):
        CCDTrainer(decoder, config(), triples)
    decoder.save_pretrained(tmp_path / "gpt2")
    with pytest.raises(ValueError, match="generates text and is no encoder"):
        CCDTrainer(str(tmp_path / "gpt2"), config(), triples)


def test_frozen_model_is_refused(tiny_bert, triples, config):
    model = SentenceTransformer(tiny_bert, device="cpu").requires_grad_(False)
    with pytest.raises(ValueError, match="no weights to train"):
        CCDTrainer(model, config(), triples)


def test_control_run_has_no_bias_part(tiny_bert, triples, config):
    control = CCDTrainer(tiny_bert, config(bias_weight=0.0, max_steps=3), triples)
    start = control.model.encode(TEXTS)
    control.train()
    assert set(logged(control, "loss")) == {0}  # nothing pulls, so nothing moves
    assert np.array_equal(control.model.encode(TEXTS), start)
    noisy = CCDTrainer(tiny_bert, config(bias_weight=0.0, keep_dropout=True, max_steps=3), triples)
    noisy.train()
    assert set(logged(noisy, "loss_bias")) == {0}
    assert min(logged(noisy, "loss_rep")) > 0


def test_shared_references_must_fit(tiny_bert, triples, config):
    first = CCDTrainer(tiny_bert, config(), triples)
    with pytest.raises(ValueError, match=r"references\['train'\] belong to 87 rows"):
        CCDTrainer(tiny_bert, config(), triples.select(range(50)), references=first.references)


def test_push_of_a_private_path_is_not_recorded(tiny_bert, triples, config):
    trainer = CCDTrainer(tiny_bert, config(), triples)
    assert trainer.describe_run()["base_model"] == Path(tiny_bert).name
