"""What all settings of trainings have in common, and which of them decide what is learned."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from transformers import TrainingArguments

from hf_fairness._processes import refuse_engines
from hf_fairness._secrets import hide_token
from hf_fairness.utils import FairnessWarning

if TYPE_CHECKING:
    from transformers import TrainingArguments as _Arguments
else:
    _Arguments = object

#: Settings that do not change what is learned.
_IRRELEVANT = ("output_dir", "run_name", "disable_tqdm", "report_to", "push_to_hub", "ddp_timeout")


def training_settings(args: TrainingArguments) -> dict[str, Any]:
    """Settings that decide what is learned: not where it is written, shown or pushed to."""
    return {
        name: value for name, value in args.to_dict().items() if name not in _IRRELEVANT and not name.startswith("hub_")
    }


@dataclass
class MethodArguments(_Arguments):
    """What stands before `TrainingArguments` in the settings of every method.

    Engines that split a model are refused, the token is hidden, of several GPUs that one process sees it takes one, and
    no memory is pinned without an accelerator.
    """

    ddp_timeout: int = field(
        default=24 * 3600,
        metadata={
            "help": "Seconds that processes wait for each other: the first one tokenizes, and the others need what it "
            "made. A process that dies ends its launch at once."
        },
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work, let the parent check the rest, and settle what depends on the machine.

        Raises:
            ValueError: an engine that splits models over processes.
        """
        refuse_engines(f"training with {type(self).__name__}", self)
        super().__post_init__()
        hide_token(self)
        one_device(self)
        if self.device.type == "cpu":
            # torch warns when it is asked to pin memory for an accelerator that is not there.
            self.dataloader_pin_memory = False


def one_device(args: TrainingArguments) -> None:
    """Keep a Trainer in a single process on one GPU: on several it would take a batch for each, without a word.

    Warns:
        FairnessWarning: the process sees several.
    """
    if args.n_gpu > 1:
        warnings.warn(
            f"This one process sees {args.n_gpu} GPUs and takes the first, so that a batch has the size that was asked "
            f"for. For all of them start one process each: accelerate launch --multi_gpu --num_processes {args.n_gpu} "
            "...; for no warning: CUDA_VISIBLE_DEVICES=0.",
            FairnessWarning,
            stacklevel=3,
        )
        args._n_gpu = 1


#: Settings that only a training has.
TRAINING = (
    *("learning_rate", "num_train_epochs", "max_steps", "per_device_train_batch_size", "gradient_accumulation_steps"),
    *("gradient_checkpointing", "activation_checkpointing", "bf16", "fp16", "optim", "weight_decay", "warmup_steps"),
    *("lr_scheduler_type", "label_smoothing_factor", "report_to", "use_peft", "torch_compile"),
)

#: What the losses of sentence encoders do not read.
NO_LABELS = {"label_smoothing_factor": "sentence encoders are trained with losses that smooth no labels"}


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
