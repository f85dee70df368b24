"""Raised dropout reaches the right modules in every family of encoders, and is as it was afterwards."""

from __future__ import annotations

import pytest
import torch
import transformers

from hf_fairness.trainers.baselines.dropout import ATTENTION, HIDDEN, raised_dropout
from hf_fairness.trainers.training.preparation import dropout_rates

pytestmark = pytest.mark.whole
FAMILIES = ["Bert", "Roberta", "DistilBert", "MPNet", "Albert", "Electra", "DebertaV2", "ModernBert"]
SIZES = {"vocab_size": 30, "hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 2, "intermediate_size": 32}
SIZES |= {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "num_attention_heads": 2, "pad_token_id": 0}
SIZES |= {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}


def small(family: str) -> torch.nn.Module:
    config = getattr(transformers, f"{family}Config")()
    for name, value in SIZES.items():
        if hasattr(config, name):
            setattr(config, name, value)
    return getattr(transformers, f"{family}Model")(config)


@pytest.mark.parametrize("family", FAMILIES)
def test_rates_are_raised_and_put_back(family):
    model, ids = small(family), torch.tensor([[1, 5, 6, 7, 2]])
    before, weights = list(dropout_rates(model)), [weight.clone() for weight in model.parameters()]
    config = model.config.to_dict()
    with raised_dropout(model, 0.6, 0.5):
        rates = {rate for *_, rate in dropout_rates(model)}
        assert {0.6, 0.5} <= rates
        torch.manual_seed(0)
        raised = model.train()(input_ids=ids).last_hidden_state
    assert list(dropout_rates(model)) == before
    assert model.config.to_dict() == config
    assert all(torch.equal(one, other) for one, other in zip(weights, model.parameters(), strict=True))
    torch.manual_seed(0)
    assert not torch.allclose(model(input_ids=ids).last_hidden_state, raised)


def test_in_bert_each_module_takes_its_rate():
    model = small("Bert")
    with raised_dropout(model, 0.2, 0.15):
        rates = {path: rate for path, _, _, rate in dropout_rates(model)}
    attention = {path: rate for path, rate in rates.items() if path.endswith("attention.self.dropout")}
    assert set(attention.values()) == {0.15}
    assert len(attention) == 2
    assert {rate for path, rate in rates.items() if path not in attention} == {0.2}


def test_it_is_put_back_after_an_error():
    model = small("Bert")
    before = list(dropout_rates(model))
    with pytest.raises(KeyboardInterrupt), raised_dropout(model, 0.2, 0.15):
        raise KeyboardInterrupt
    assert list(dropout_rates(model)) == before


def test_every_family_names_both_rates():
    for family in FAMILIES:
        config = getattr(transformers, f"{family}Config")()
        assert all(any(hasattr(config, name) for name in names) for names in (HIDDEN, ATTENTION)), family
