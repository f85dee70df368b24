"""CCD on encoders that are no plain transformer: a BiLSTM over word vectors, and models that come with an adapter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import LSTM, Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
from transformers import AutoModel, BertModel

from hf_fairness.measure import cced
from hf_fairness.trainers import CCDTrainer

pytestmark = pytest.mark.whole

TEXTS = ["the nurse said that she was tired", "as a pilot he earns a good salary"]


def bilstm(triples, **options) -> SentenceTransformer:
    """Random word vectors, two directions of LSTM, mean pooling."""
    words = sorted({word for column in triples[:].values() for text in column for word in text.split()})
    vectors = np.random.default_rng(0).normal(size=(len(words) + 1, 12))
    tokenizer = WhitespaceTokenizer(["[pad]", *words], stop_words=[])
    modules = [WordEmbeddings(tokenizer, vectors, **options), LSTM(12, 16)]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SentenceTransformer(modules=[*modules, Pooling(32, "mean")], device="cpu")


@pytest.mark.parametrize("update", [False, True])
def test_a_bilstm_is_trained_saved_and_opened_again(triples, config, update):
    model = bilstm(triples, update_embeddings=update)
    before = cced(model, triples, n_bootstrap=10)["cced"]
    trainer = CCDTrainer(model, config(num_train_epochs=6, learning_rate=1e-2), triples)
    trainer.train()
    trainer.save_model()
    assert cced(trainer.model, triples, n_bootstrap=10)["cced"] < 0.8 * before
    opened = SentenceTransformer(trainer.args.output_dir, device="cpu")
    assert np.allclose(opened.encode(TEXTS), trainer.model.encode(TEXTS), atol=1e-6)
    best = min(entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry)
    assert trainer.evaluate()["eval_loss"] == pytest.approx(best, rel=1e-4)


def test_a_bilstm_folder_is_trained_and_resumed(triples, config, tmp_path):
    bilstm(triples).save(str(tmp_path / "base"))
    settings = {"num_train_epochs": 2, "eval_steps": 4, "save_total_limit": 5, "load_best_model_at_end": False}
    whole = CCDTrainer(str(tmp_path / "base"), config(**settings), triples)
    whole.train()
    again = CCDTrainer(str(tmp_path / "base"), config(**settings), triples)
    again.train(resume_from_checkpoint=f"{whole.args.output_dir}/checkpoint-4")
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def lora(**options):
    from peft import LoraConfig, TaskType

    return LoraConfig(task_type=TaskType.FEATURE_EXTRACTION, r=4, init_lora_weights=False, **options)


def with_new_adapter(base, folder):
    model = SentenceTransformer(base, device="cpu")
    model.add_adapter(lora())
    return model


def with_two_adapters(base, folder):
    model = with_new_adapter(base, folder)
    model.add_adapter(lora(), adapter_name="second")
    return model


def with_saved_adapter(base, folder):
    with_new_adapter(base, folder).save(str(folder / "adapted"))
    return SentenceTransformer(str(folder / "adapted"), device="cpu")


def folder_of_adapter(base, folder):
    with_new_adapter(base, folder).save(str(folder / "adapted"))
    return str(folder / "adapted")


def with_peft_model_inside(base, folder):
    from peft import get_peft_model

    model = SentenceTransformer(base, device="cpu")
    model[0].model = get_peft_model(model[0].model, lora())
    return model


WAYS = [with_new_adapter, with_two_adapters, with_saved_adapter, folder_of_adapter, with_peft_model_inside]


# PEFT 0.21 asks transformers 5.23 by an old name (seen 2026-11); nothing of ours is concerned.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:Already found a `peft_config` attribute:UserWarning")  # two adapters are meant
@pytest.mark.parametrize("make", WAYS)
def test_an_adapter_that_came_with_the_model_is_merged_into_what_is_saved(make, tiny_bert, triples, config, tmp_path):
    """The saved folder is moved, the base model's is gone: it opens all the same, and is what was trained."""
    base = shutil.copytree(tiny_bert, tmp_path / "base")
    model = make(str(base), tmp_path)
    start = (SentenceTransformer(model, device="cpu") if isinstance(model, str) else model).encode(TEXTS)
    trainer = CCDTrainer(model, config(num_train_epochs=2, learning_rate=1e-2), triples)
    assert np.allclose(trainer.model.encode(TEXTS), start, atol=1e-5)
    trainer.train()
    assert not np.allclose(trainer.model.encode(TEXTS), start, atol=1e-3)
    trainer.save_model()
    trained = trainer.model.encode(TEXTS)
    moved = Path(shutil.move(trainer.args.output_dir, tmp_path / "moved"))
    for folder in (base, tmp_path / "adapted"):
        shutil.rmtree(folder, ignore_errors=True)
    assert not (moved / "adapter_config.json").exists()
    assert np.allclose(SentenceTransformer(str(moved), device="cpu").encode(TEXTS), trained, atol=1e-5)
    assert not any("lora_" in name for name in AutoModel.from_pretrained(moved).state_dict())
    written = [*moved.glob("*.json"), *moved.glob("adapter/*.json")]  # what checkpoints hold is the Trainer's
    assert str(tmp_path) not in json.dumps([path.read_text() for path in written])


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_a_new_adapter_on_a_model_that_has_one(tiny_bert, triples, config, tmp_path):
    model = with_new_adapter(tiny_bert, tmp_path)
    start = model.encode(TEXTS)
    trainer = CCDTrainer(model, config(use_peft=True, max_steps=3, learning_rate=1e-2), triples)
    assert np.allclose(trainer.model.encode(TEXTS), start, atol=1e-5)
    trainer.train()
    trainer.save_model()
    opened = SentenceTransformer(trainer.args.output_dir, device="cpu")
    assert np.allclose(opened.encode(TEXTS), trainer.model.encode(TEXTS), atol=1e-5)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_a_peft_model_is_refused_with_what_to_do(tiny_bert, triples, config):
    from peft import get_peft_model

    with pytest.raises(TypeError, match=r"merge_and_unload\(\).*use_peft=True"):
        CCDTrainer(get_peft_model(BertModel.from_pretrained(tiny_bert), lora()), config(), triples)
