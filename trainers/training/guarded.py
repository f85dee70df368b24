"""How a model is prepared for training, and what every trainer of this package does beside its method."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from hf_fairness._linear import quick_linear
from hf_fairness._processes import refuse_engines
from hf_fairness._secrets import hide_token
from hf_fairness.trainers.training.checkpoints import Resumable
from hf_fairness.trainers.training.settings import one_device
from hf_fairness.trainers.training.stopping import stop_when_diverged
from hf_fairness.utils import in_mode

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)

HALF = (torch.float16, torch.bfloat16)


class Guarded(Resumable):
    """What stands before a `Trainer`: it trains in float32, resumes exactly, stops when it diverges, hides its token.

    See `full_precision`, `Resumable` and `StopWhenDiverged`. The file ``training_args.bin`` beside every model is
    written without ``hub_token``; the token is taken out at the time of saving and not before, as it can be set at any
    time (``args.set_push_to_hub``).

    Raises:
        ValueError: an engine that splits the model over processes, where the method needs all of it on each.
    """

    #: Engines that may split the model over processes: where nothing but the Trainer reads its weights.
    engines: ClassVar[tuple[str, ...]] = ()
    #: Whether linear layers are as quick as the processor allows (`quick_linear`). Trainers of classifiers leave them
    #: to torch: their weights are those of a plain `Trainer` to the last bit, given the same rows.
    quick: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = kwargs.get("args", args[1] if len(args) > 1 else None)
        refuse_engines(type(self).__name__, given, but=self.engines)
        super().__init__(*args, **kwargs)
        one_device(self.args)
        self._train_batch_size = self.args.train_batch_size
        full_precision(self.model)
        stop_when_diverged(self)

    def call_model_init(self, trial: Any = None) -> nn.Module:
        """A new model, in float32."""
        model: nn.Module = full_precision(super().call_model_init(trial))
        return model

    @contextmanager
    def compute_loss_context_manager(self) -> Iterator[None]:
        """What every loss is computed in, of training and of validation; see `quick`."""
        with super().compute_loss_context_manager(), quick_linear() if self.quick else nullcontext():
            yield

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        hide_token(self.args)
        super()._save(
            output_dir, None if state_dict is None else {name: _whole(state_dict[name]) for name in state_dict}
        )


def _whole(weight: Any) -> Any:
    """A weight that FSDP has split, gathered from all processes, which must all call it; another one as it is."""
    found = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
    return found.wait() if hasattr(found, "wait") else found  # on the CPU it is not there yet


def full_precision(model: Any) -> Any:
    """Bring the weights of a model that is to be trained to float32, in place.

    transformers opens a checkpoint in the precision that it was saved in. In half precision an update that is small
    beside its weight is rounded away: at a learning rate of 1e-6 97 % of the weights of a bfloat16 classifier never
    move. Mixed precision is for the flags of the Trainer (``bf16``, ``fp16``): these compute in half precision and
    keep the weights in float32. What is trained is saved in float32 too, as a Trainer with these flags saves it; for a
    smaller file, open it with ``dtype=torch.bfloat16`` and save it again.

    Frozen weights below adapters are brought to float32 as well: without ``bf16`` or ``fp16`` layers of two
    precisions do not compute together. A quantized model stays as it is: of such, adapters are trained.

    Args:
        model: a live torch module, or None.

    Returns:
        The same model.
    """
    if model is None or getattr(model, "is_quantized", False) or getattr(model, "hf_quantizer", None) is not None:
        return model
    found = {weight.dtype for weight in model.parameters()} & set(HALF)
    if found:
        logger.info(
            "%s: weights come in %s; they are trained, and saved, in float32. bf16=True or fp16=True computes in mixed "
            "precision.",
            type(model).__name__,
            ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in found)),
        )
        model.float()
    return model


@contextmanager
def dropout_off(model: nn.Module) -> Iterator[None]:
    """Within the block no dropout is drawn, though the model is in training mode. LoRA's own dropout stays.

    Switching to eval mode would do it too, but it also switches off gradient checkpointing. Configs, and so
    what is saved, are not touched.
    """
    changed = [(module, name, rate) for _, module, name, rate in dropout_rates(model) if rate > 0]
    try:
        for module, name, _ in changed:
            setattr(module, name, 0.0)
        yield
    finally:
        for module, name, rate in changed:
            setattr(module, name, rate)


def dropout_rates(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, float]]:
    """Where a model keeps the rates of its dropout: path of the module, the module, the attribute and the rate.

    LoRA's own are left out.
    """
    for path, module in model.named_modules():
        if "lora_" in path:
            continue
        for name, value in list(vars(module).items()):
            # nn.Dropout calls it p; attention layers keep a number such as `attention_dropout`.
            is_rate = name == "p" and isinstance(module, nn.modules.dropout._DropoutNd)
            if (is_rate or "drop" in name) and isinstance(value, float):
                yield path, module, name, value


@torch.no_grad()
def is_deterministic(model: SentenceTransformer, texts: list[str]) -> bool:
    """Whether the model in training mode gives the same embeddings twice."""
    features = {
        key: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for key, value in model.preprocess(texts).items()
    }
    with in_mode(model, training=True), torch.random.fork_rng():
        first, second = (model(dict(features))["sentence_embedding"] for _ in range(2))
    return bool(torch.allclose(first, second, atol=1e-5))
