"""Which settings of a training decide what it learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from transformers import TrainingArguments

from hf_fairness._secrets import hide_token

#: Settings that do not change what is learned.
_IRRELEVANT = ("output_dir", "run_name", "disable_tqdm", "report_to", "push_to_hub")


def training_settings(args: TrainingArguments) -> dict[str, Any]:
    """Settings that decide what is learned: not where it is written, shown or pushed to."""
    return {
        name: value for name, value in args.to_dict().items() if name not in _IRRELEVANT and not name.startswith("hub_")
    }


def settle(config: TrainingArguments) -> None:
    """What settings of every training need at the end: the token hidden, no memory pinned without an accelerator."""
    hide_token(config)
    if config.device.type == "cpu":
        # torch warns when it is asked to pin memory for an accelerator that is not there.
        config.dataloader_pin_memory = False


#: Settings that only a training has.
TRAINING = (
    *("learning_rate", "num_train_epochs", "max_steps", "per_device_train_batch_size", "gradient_accumulation_steps"),
    *("gradient_checkpointing", "activation_checkpointing", "bf16", "fp16", "optim", "weight_decay", "warmup_steps"),
    *("lr_scheduler_type", "label_smoothing_factor", "report_to", "use_peft", "deepspeed", "fsdp", "torch_compile"),
)


def refuse(config: Any, reasons: Mapping[str, str]) -> None:
    """Raise where a setting has another value than its default.

    Args:
        config: a dataclass.
        reasons: by name of the setting why it cannot be set; those that the config lacks do not matter.

    Raises:
        ValueError: says which, and why.
    """
    for each in fields(config):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        value = getattr(config, each.name, default)
        if each.name in reasons and _plain(value) != _plain(default):
            raise ValueError(f"--{each.name} cannot be set here: {reasons[each.name]}.")


def _plain(value: Any) -> Any:
    """A setting without what `TrainingArguments` make of it: an enum, or a list of one."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return getattr(value, "value", value) if value not in (False, [], "none") else None
