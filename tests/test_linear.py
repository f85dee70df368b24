"""Linear layers by oneDNN: torch's numbers; whatever is not plain float32 on the CPU is left alone."""

from __future__ import annotations

import contextlib
import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from hf_fairness import _linear
from hf_fairness._linear import cpu_vendor, mkl_is_slow, quick_linear
from hf_fairness.encoders import as_encoder
from hf_fairness.trainers.baselines.continued_training import ContinuedTrainer
from hf_fairness.trainers.baselines.hidden_states import HiddenStateTrainer
from hf_fairness.trainers.ccd.trainer import CCDTrainer
from hf_fairness.trainers.data_diet.trainer import DataDietTrainer
from hf_fairness.trainers.refine.nli import NLITrainer
from hf_fairness.trainers.refine.training import PairTrainer
from hf_fairness.trainers.training.bias_trainers import BiasTrainer
from hf_fairness.trainers.training.guarded import Guarded
from support.ccd_case import make_encoder

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")


@pytest.fixture(autouse=True)
def on_any_processor(monkeypatch):
    monkeypatch.setattr(_linear, "mkl_is_slow", lambda: True)


def taken(layer, rows):
    with quick_linear():
        return type(layer(rows).grad_fn).__name__ == "_LinearBackward"


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=2), st.integers(1, 40), st.integers(1, 40), st.booleans(),
    st.booleans(), st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_values_and_gradients_are_those_of_torch(shape, n_in, n_out, bias, turned, seed):
    torch.manual_seed(seed)
    layer, shape = nn.Linear(n_in, n_out, bias=bias).double(), [*shape, _linear.MIN_ROWS]
    rows = torch.randn(*shape, n_in, dtype=torch.float64)
    quick = copy.deepcopy(layer).float()
    given_rows = rows.float()
    if turned:  # a view whose memory lies otherwise
        given_rows = given_rows.transpose(0, -1).contiguous().transpose(0, -1)
    rows, given_rows = rows.requires_grad_(), given_rows.requires_grad_()
    wanted = functional.linear(rows, *layer.parameters())
    with quick_linear():
        found = quick(given_rows)
        assert type(found.grad_fn).__name__ == "_LinearBackward"
        found.pow(2).sum().backward()
    wanted.pow(2).sum().backward()
    pairs = [(found, wanted), (given_rows.grad, rows.grad)]
    pairs += [(one.grad, other.grad) for one, other in zip(quick.parameters(), layer.parameters(), strict=True)]
    for one, other in pairs:
        assert one.shape == other.shape
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-3)


def test_without_gradients_and_with_frozen_parts():
    layer, rows = nn.Linear(8, 4), torch.randn(20, 8)
    with quick_linear(), torch.inference_mode():
        found = layer(rows)
    torch.testing.assert_close(found, layer(rows).detach())
    layer.weight.requires_grad_(False)
    with quick_linear():
        layer(rows).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(layer.bias.grad, torch.full((4,), 20.0))


def test_what_is_no_plain_float32_is_left_alone():
    layer, rows = nn.Linear(8, 4), torch.randn(20, 8)
    assert taken(layer, rows)
    assert not taken(layer, rows[: _linear.MIN_ROWS - 1])
    assert not taken(layer.double(), rows.double())
    assert not taken(copy.deepcopy(layer).bfloat16(), rows.bfloat16())
    layer = layer.float()
    with torch.autocast("cpu", torch.bfloat16):
        assert not taken(layer, rows)
        with quick_linear():
            assert layer(rows).dtype == torch.bfloat16
    torch._C._set_mkldnn_enabled(False)
    try:
        assert not taken(layer, rows)
    finally:
        torch._C._set_mkldnn_enabled(True)
    with quick_linear(), torch.device("meta"):
        assert nn.Linear(8, 4)(torch.randn(20, 8)).device.type == "meta"


def test_a_wrong_width_is_told_as_torch_tells_it():
    with quick_linear(), pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        nn.Linear(8, 4)(torch.randn(20, 9))


def test_per_sample_gradients_work():
    layer, rows = nn.Linear(8, 4), torch.randn(20, 16, 8)

    def loss(weight, one):
        return functional.linear(one, weight).pow(2).sum()

    with quick_linear():
        found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(layer.weight, rows)
    torch.testing.assert_close(found[3], torch.func.grad(loss)(layer.weight, rows[3]))


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradient_checkpoints_are_recomputed_in_the_same_way(reentrant):
    layers, rows = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)), torch.randn(20, 8, requires_grad=True)
    layers(rows).pow(2).sum().backward()
    wanted, rows.grad = rows.grad, None
    with quick_linear():
        checkpoint(layers, rows, use_reentrant=reentrant).pow(2).sum().backward()
    torch.testing.assert_close(rows.grad, wanted, rtol=1e-4, atol=1e-5)


def test_other_processors_keep_torchs_own(monkeypatch):
    monkeypatch.setattr(_linear, "mkl_is_slow", lambda: False)
    assert not taken(nn.Linear(8, 4), torch.randn(20, 8))


@pytest.mark.parametrize(
    ("vendor", "capability", "wanted"),
    [
        ("AuthenticAMD", "AVX512", True),
        ("GenuineIntel", "AVX512", False),
        ("AuthenticAMD", "AVX2", False),
        ("", "AVX512", False),
    ],
)
def test_who_is_slow(vendor, capability, wanted, monkeypatch):
    monkeypatch.setattr(_linear, "cpu_vendor", lambda: vendor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    assert mkl_is_slow.__wrapped__() is wanted


def test_the_maker_of_the_processor(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(_linear, "Path", lambda name: file)
    assert cpu_vendor() == ""
    file.write_text("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: beside AuthenticAMD\n")
    assert cpu_vendor() == "GenuineIntel"


def test_a_torch_that_cannot_tell_checkpoints_keeps_its_own(monkeypatch):
    """Before torch 2.8 nothing says whether a layer is computed again in the backward pass."""
    monkeypatch.setattr(_linear, "cpu_vendor", lambda: "AuthenticAMD")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    assert mkl_is_slow.__wrapped__() is True
    monkeypatch.setattr(_linear.torch._C, "_autograd", object())
    assert mkl_is_slow.__wrapped__() is False


# --- where it is on


@pytest.fixture
def products(monkeypatch):
    """Shapes that oneDNN multiplied."""
    seen, multiply = [], _linear._multiply
    monkeypatch.setattr(_linear, "_multiply", lambda *given: seen.append(given[0].shape) or multiply(*given))
    return seen


@pytest.mark.parametrize("kind", ["sentence-transformers", "transformers"])
def test_encoders_are_quick(kind, tmp_path, products):
    folder = make_encoder(tmp_path / "encoder")
    texts = ["she was a kind friend and he was"] * 8
    encoder = as_encoder(folder if kind == "transformers" else SentenceTransformer(folder, device="cpu"))
    found = encoder.encode(texts)
    assert products
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_linear, "mkl_is_slow", lambda: False)
        np.testing.assert_allclose(encoder.encode(texts), found, rtol=1e-4, atol=1e-5)


class Plain:
    """What stands for a `Trainer`."""

    def __init__(self):
        pass

    def compute_loss_context_manager(self):
        return contextlib.nullcontext()


@pytest.mark.parametrize("quick", [True, False])
def test_every_loss_of_a_quick_trainer_is(quick, products):
    class Own(Guarded, Plain):
        def __init__(self):
            self.quick = quick

    with Own().compute_loss_context_manager():
        nn.Linear(8, 4)(torch.randn(20, 8))
    assert bool(products) is quick
    products.clear()
    nn.Linear(8, 4)(torch.randn(20, 8))
    assert not products


@pytest.mark.parametrize("trainer", [CCDTrainer, HiddenStateTrainer, ContinuedTrainer, NLITrainer, PairTrainer])
def test_trainers_of_encoders_are_quick(trainer):
    assert trainer.quick


@pytest.mark.parametrize("trainer", [BiasTrainer, DataDietTrainer])
def test_trainers_of_classifiers_give_the_bits_of_a_plain_one(trainer):
    assert not trainer.quick
