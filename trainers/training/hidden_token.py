"""Trainers write their arguments beside every model; the token of the Hub is not among what they write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_fairness._secrets import hide_token

if TYPE_CHECKING:
    from transformers import Trainer as _Trainer
else:
    _Trainer = object


class HiddenToken(_Trainer):
    """What stands before a `Trainer`: it saves ``training_args.bin`` without ``hub_token``, and pushes with it.

    At the time of saving and not before: a token can be set at any time (``args.set_push_to_hub``).
    """

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        hide_token(self.args)
        super()._save(output_dir, state_dict)
