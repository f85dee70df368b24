"""What every trainer of this package does beside its method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_fairness._secrets import hide_token
from hf_fairness.trainers.training.checkpoints import Resumable
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.trainers.training.stopping import stop_when_diverged

if TYPE_CHECKING:
    from torch import nn


class Guarded(Resumable):
    """What stands before a `Trainer`: it trains in float32, resumes exactly, stops when it diverges, hides its token.

    See `full_precision`, `Resumable` and `StopWhenDiverged`. The file ``training_args.bin`` beside every model is
    written without ``hub_token``; the token is taken out at the time of saving and not before, as it can be set at any
    time (``args.set_push_to_hub``).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        full_precision(self.model)
        stop_when_diverged(self)

    def call_model_init(self, trial: Any = None) -> nn.Module:
        """A new model, in float32."""
        model: nn.Module = full_precision(super().call_model_init(trial))
        return model

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        hide_token(self.args)
        super()._save(output_dir, state_dict)
