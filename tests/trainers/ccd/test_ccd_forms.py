"""What CCDTrainer saves from LoRA runs and from masked-language models."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, BertForMaskedLM

from hf_fairness.trainers import CCDTrainer

pytestmark = pytest.mark.whole

TEXTS = ["the nurse said that she was tired", "as a pilot he earns a good salary"]
WORDS = "embeddings.word_embeddings.weight"


def opened(trainer):
    return SentenceTransformer(trainer.args.output_dir, device="cpu")


def test_lora_trains_adapters_only_and_saves_a_merged_model(tiny_bert, triples, config):
    trainer = CCDTrainer(tiny_bert, config(use_peft=True, num_train_epochs=3, learning_rate=1e-2), triples)
    trained = [name for name, value in trainer.model.named_parameters() if value.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)
    start = trainer.model.encode(TEXTS)
    trainer.train()
    assert not np.allclose(trainer.model.encode(TEXTS), start, atol=1e-3)
    trainer.save_model()
    out = Path(trainer.args.output_dir)
    assert not (out / "adapter_config.json").exists()  # the root holds a plain model
    assert (out / "adapter" / "adapter_model.safetensors").is_file()
    assert np.allclose(opened(trainer).encode(TEXTS), trainer.model.encode(TEXTS), atol=1e-5)
    keys = AutoModel.from_pretrained(out).state_dict()
    original = AutoModel.from_pretrained(tiny_bert).state_dict()
    assert keys.keys() == original.keys()
    assert torch.equal(keys[WORDS], original[WORDS])
    query = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(keys[query], original[query])


def test_lora_layers_are_drawn_by_the_seed(tiny_bert, triples, config):
    """Else a control would start from other layers than the method."""

    def drawn(seed):
        model = CCDTrainer(copy.deepcopy(tiny_bert), config(use_peft=True, seed=seed), triples).model
        return torch.cat([value.flatten() for name, value in model.named_parameters() if "lora_A" in name])

    first = drawn(1)
    torch.rand(3)
    assert torch.equal(first, drawn(1))
    assert not torch.equal(first, drawn(2))


# PEFT 0.21 asks transformers 5.23 by an old name (seen 2026-11); nothing of ours is concerned.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_lora_adapter_opens_with_peft(tiny_bert, triples, config):
    from peft import PeftModel

    trainer = CCDTrainer(tiny_bert, config(use_peft=True, max_steps=4, learning_rate=1e-2), triples)
    trainer.train()
    trainer.save_model()
    out = Path(trainer.args.output_dir)
    tokens = AutoTokenizer.from_pretrained(out)(TEXTS, return_tensors="pt", padding=True)
    adapted = PeftModel.from_pretrained(AutoModel.from_pretrained(tiny_bert), out / "adapter").eval()
    merged = AutoModel.from_pretrained(out).eval()
    with torch.no_grad():
        one, other = (model(**tokens).last_hidden_state for model in (adapted, merged))
    assert torch.allclose(one, other, atol=1e-5)


def test_lora_resumes_and_loads_its_best_checkpoint(tiny_bert, triples, config):
    settings = {
        "use_peft": True,
        "num_train_epochs": 2,
        "eval_steps": 4,
        "save_total_limit": 5,
        "learning_rate": 1e-2,
    }
    whole = CCDTrainer(tiny_bert, config(**settings), triples)
    whole.train()
    losses = [entry["eval_loss"] for entry in whole.state.log_history if "eval_loss" in entry]
    assert whole.evaluate()["eval_loss"] == pytest.approx(min(losses), rel=1e-4)
    again = CCDTrainer(tiny_bert, config(**settings), triples)
    again.train(resume_from_checkpoint=f"{whole.args.output_dir}/checkpoint-4")
    assert np.allclose(whole.model.encode(TEXTS), again.model.encode(TEXTS), atol=1e-6)
    full = CCDTrainer(tiny_bert, config(), triples)
    with pytest.raises(ValueError, match="trained with lora = True"):
        full.train(resume_from_checkpoint=f"{whole.args.output_dir}/checkpoint-4")


def test_lora_targets_that_do_not_exist(tiny_bert, triples, config):
    with pytest.raises(ValueError, match=r"PEFT cannot adapt BertModel.*dense, key, query, value"):
        CCDTrainer(tiny_bert, config(use_peft=True, lora_target_modules=["q_proj"]), triples)
    trainer = CCDTrainer(tiny_bert, config(use_peft=True, lora_target_modules=["all-linear"]), triples)
    assert "lora_A" in "".join(name for name, _ in trainer.model[0].model.encoder.layer[0].output.named_modules())


def check_masked_language_model(trainer, source):
    """The saved folder opens as masked-language model, encoder and SentenceTransformer, all trained."""
    before = AutoModelForMaskedLM.from_pretrained(source)
    after = AutoModelForMaskedLM.from_pretrained(trainer.args.output_dir)
    assert type(after) is BertForMaskedLM
    assert after.cls.predictions.decoder.weight is after.bert.embeddings.word_embeddings.weight
    for part in ("transform.dense.weight", "bias"):  # the head itself is the original one
        name = f"cls.predictions.{part}"
        assert torch.equal(after.state_dict()[name], before.state_dict()[name])
    model = opened(trainer)
    assert np.allclose(model.encode(TEXTS), trainer.model.encode(TEXTS), atol=1e-5)
    tokens = AutoTokenizer.from_pretrained(trainer.args.output_dir)(TEXTS, return_tensors="pt", padding=True)
    with torch.no_grad():
        inside, alone = (
            encoder.eval()(**tokens).last_hidden_state
            for encoder in (after.bert, AutoModel.from_pretrained(trainer.args.output_dir))
        )
    assert torch.allclose(inside, alone, atol=1e-6)
    pooled = torch.nn.functional.normalize(inside[0][tokens["attention_mask"][0].bool()].mean(0), dim=0)
    assert np.allclose(pooled.numpy(), model.encode(TEXTS[0]), atol=1e-5)
    return before, after


def test_masked_language_model_keeps_its_head(tiny_mlm, triples, config):
    trainer = CCDTrainer(tiny_mlm, config(num_train_epochs=2), triples)
    assert trainer.encoder.head is not None
    trainer.train()
    trainer.save_model()
    before, after = check_masked_language_model(trainer, tiny_mlm)
    assert not torch.equal(before.bert.embeddings.word_embeddings.weight, after.bert.embeddings.word_embeddings.weight)
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    assert trainer.evaluate()["eval_loss"] == pytest.approx(min(losses), rel=1e-4)


def test_masked_language_model_with_lora(tiny_mlm, triples, config):
    trainer = CCDTrainer(tiny_mlm, config(use_peft=True, max_steps=5, learning_rate=1e-2), triples)
    trainer.train()
    trainer.save_model()
    before, after = check_masked_language_model(trainer, tiny_mlm)
    query = "bert.encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(before.state_dict()[query], after.state_dict()[query])


def test_masked_language_model_object(tiny_mlm, triples, config):
    model = AutoModelForMaskedLM.from_pretrained(tiny_mlm)
    trainer = CCDTrainer(model, config(num_train_epochs=2), triples)
    trainer.train()
    trainer.save_model()
    check_masked_language_model(trainer, tiny_mlm)
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight


def test_saved_masked_language_model_trains_again_with_its_pooling(tiny_mlm, triples, config, tmp_path):
    first = CCDTrainer(tiny_mlm, config(max_steps=1, pooling="cls"), triples)
    first.train()
    first.save_model()
    second = CCDTrainer(first.args.output_dir, config(output_dir=str(tmp_path / "second")), triples)
    assert second.encoder.head is not None
    assert second.model[1].pooling_mode == "cls"


def test_head_can_be_dropped(tiny_mlm, triples, config):
    trainer = CCDTrainer(tiny_mlm, config(keep_mlm_head=False, max_steps=1), triples)
    trainer.train()
    trainer.save_model()
    assert AutoModel.from_pretrained(trainer.args.output_dir).config.architectures == ["BertModel"]


def test_head_that_is_not_there(tiny_bert, triples, config, tmp_path):
    with pytest.raises(ValueError, match=r"holds no masked-language-model head: cls\.predictions"):
        CCDTrainer(tiny_bert, config(keep_mlm_head=True), triples)
    with pytest.raises(ValueError, match="a SentenceTransformer object does not hold the head"):
        CCDTrainer(SentenceTransformer(tiny_bert, device="cpu"), config(keep_mlm_head=True), triples)
    # Encoders saved without their head often still name it in the config.
    claim = AutoModel.from_pretrained(tiny_bert)
    claim.save_pretrained(tmp_path / "claim")
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path / "claim")
    path = tmp_path / "claim" / "config.json"
    path.write_text(path.read_text().replace('"BertModel"', '"BertForMaskedLM"'))
    assert CCDTrainer(str(tmp_path / "claim"), config(), triples).encoder.head is None
