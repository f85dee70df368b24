"""Dropout is off in every family of encoders that people mitigate, and back on afterwards."""

from __future__ import annotations

import pytest
import torch
import transformers

from hf_fairness.trainers.training.preparation import dropout_off

FAMILIES = [
    "Bert", "Roberta", "XLMRoberta", "DistilBert", "MPNet", "Albert", "Electra", "DebertaV2", "ModernBert", "XLNet",
]  # fmt: skip


def small(family: str) -> torch.nn.Module:
    config = getattr(transformers, f"{family}Config")()
    sizes = {
        "vocab_size": 30,
        "hidden_size": 16,
        "dim": 16,
        "d_model": 16,
        "embedding_size": 16,
        "num_hidden_layers": 2,
        "n_layers": 2,
        "n_layer": 2,
        "num_attention_heads": 2,
        "n_heads": 2,
        "n_head": 2,
        "intermediate_size": 32,
        "hidden_dim": 32,
        "d_inner": 32,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "cls_token_id": 1,
        "sep_token_id": 2,
    }
    for name, value in sizes.items():
        if hasattr(config, name):
            setattr(config, name, value)
    for name in vars(config):  # some families ship without dropout: switch all of it on
        if "drop" in name and isinstance(getattr(config, name), (int, float)) and name != "summary_last_dropout":
            setattr(config, name, 0.5)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return getattr(transformers, f"{family}Model")(config).train()


def two_forwards(model: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.tensor([[1, 5, 6, 7, 8, 2]])
    with torch.random.fork_rng(), torch.no_grad():
        one, other = (model(input_ids=ids).last_hidden_state for _ in range(2))
    return one, other


@pytest.mark.parametrize("family", FAMILIES)
def test_no_noise_inside_and_noise_again_after(family):
    model = small(family)
    assert not torch.equal(*two_forwards(model))
    with dropout_off(model):
        assert model.training
        assert torch.equal(*two_forwards(model))
    assert not torch.equal(*two_forwards(model))


def test_rates_come_back_after_an_error():
    model = small("Bert")
    with pytest.raises(RuntimeError, match="stop"), dropout_off(model):
        raise RuntimeError("stop")
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.5}
