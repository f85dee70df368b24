"""What every trainer of this package does beside its method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from hf_fairness._linear import quick_linear
from hf_fairness._processes import refuse_engines
from hf_fairness._secrets import hide_token
from hf_fairness.trainers.training.checkpoints import Resumable
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.trainers.training.settings import one_device
from hf_fairness.trainers.training.stopping import stop_when_diverged

if TYPE_CHECKING:
    from torch import nn


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
