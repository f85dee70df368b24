"""What iterative bias-aware dataset refinement (IBADR) is told."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, fields
from typing import Any

from transformers import SchedulerType, TrainingArguments

from hf_fairness._processes import refuse_engines
from hf_fairness.trainers.training.settings import MethodArguments, refuse

#: Whose probability of a sample's label the filter asks for; anything else is the id or folder of a classifier.
CONFIDENCES = ("generator", "shallow", "main")

#: Settings of the parent that cannot be given, and why.
REFUSED = {
    name: why
    for why, names in {
        "the weights of the main models are chosen by their accuracy on the validation rows after every epoch": (
            *("eval_strategy", "eval_steps", "eval_delay", "eval_on_start", "prediction_loss_only"),
            *("load_best_model_at_end", "metric_for_best_model", "greater_is_better"),
        ),
        "a training in progress is saved after every epoch, and removed when it has ended": (
            *("save_strategy", "save_steps", "save_total_limit", "save_only_model"),
            *("restore_callback_states_from_checkpoint", "ignore_data_skip"),
        ),
        "a killed run goes on by itself at its first unfinished stage (--resume)": ("resume_from_checkpoint",),
        "the steps follow from the rows, which grow, and from --num_train_epochs": ("max_steps",),
        "the control is trained for as many steps of as many rows as the method": ("auto_find_batch_size",),
        "it names columns for the Trainer; names of classes are given with --class_names": ("label_names",),
        "every process trains several whole models": ("fsdp", "fsdp_config", "deepspeed", "parallelism_config"),
    }.items()
    for name in names
}
#: Lowest and highest value, the same in words, and the settings that must lie between.
_RANGES = (
    (1, math.inf, "1 or more", (
        "n_shallow", "n_iterations", "n_generated", "max_new_tokens", "sampling_batch_size", "early_stopping_patience",
        "per_device_train_batch_size", "generator_per_device_train_batch_size", "generator_lora_r",
        "generator_gradient_accumulation_steps",
    )),
    (2, math.inf, "2 or more", ("n_bias_indicators",)),
    (math.ulp(0.0), math.inf, "more than 0", (
        "temperature", "num_train_epochs", "shallow_num_train_epochs", "generator_num_train_epochs",
        "generator_later_num_train_epochs",
    )),
    (math.ulp(0.0), 1, "more than 0 and at most 1", ("top_p",)),
    (0, 1, "a probability", ("confidence_threshold",)),
)  # fmt: skip
#: Settings of the optimisation, which are those of the main models alone.
OF_MAIN = (
    "learning_rate", "num_train_epochs", "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "optim",
    "optim_args", "optim_target_modules", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm",
    "label_smoothing_factor", "neftune_noise_alpha",
)  # fmt: skip
#: Sizes of a step, which are those of the main models and of the shallow ones.
OF_CLASSIFIERS = ("per_device_train_batch_size", "gradient_accumulation_steps")
#: Where a run writes and what it publishes: the method's, not the trainers'.
_OF_RUN = ("output_dir", "push_to_hub", "do_train", "do_eval", "do_predict", "local_rank")
#: Settings that change where and how fast a training runs, and what it tells, not what it learns.
NO_MATTER = (
    "use_cpu", "per_device_eval_batch_size", "eval_accumulation_steps", "disable_tqdm", "report_to", "run_name",
    "project", "trackio_space_id", "trackio_bucket_id", "trackio_static_space_id", "logging_strategy", "logging_steps",
    "logging_first_step", "logging_nan_inf_filter", "log_level", "log_level_replica", "log_on_each_node",
    "include_num_input_tokens_seen", "skip_memory_metrics", "debug", "torch_empty_cache_steps",
    "dataloader_num_workers", "dataloader_pin_memory", "dataloader_persistent_workers", "dataloader_prefetch_factor",
    "dataloader_multiprocessing_context", "dataloader_in_order", "ddp_timeout", "ddp_backend", "save_on_each_node",
    "enable_jit_checkpoint",
)  # fmt: skip


@dataclass
class IBADRConfig(MethodArguments, TrainingArguments):
    """Settings of the loop and of its trainings; the defaults are those of the paper where it states them.

    A name without prefix is a setting of the main models, those that are compared; ``shallow_`` and ``generator_``
    are those of the other two. How trainings run (precision, device, seed, order of rows, checkpointing of
    activations, reports) is the same for all three, and the shallow model takes steps of as many rows as the main
    ones. The method evaluates, saves and chooses weights itself: settings of these are refused.

    Not stated in the paper, and chosen here: the threshold and whose confidence it is held against, how samples are
    drawn from the generator's distribution (all of it), batch sizes, the patience of early stopping.

    Source:
        Wang et al. 2023, *IBADR: an Iterative Bias-Aware Dataset Refinement Framework for Debiasing NLU models*,
        sections 2 and 3.1; the switches are the variants of table 5.

    Example:
        >>> config = IBADRConfig(output_dir="out", weight_decay=0.01, use_cpu=True)
        >>> config.training("main")["weight_decay"], "weight_decay" in config.training("shallow")
        (0.01, False)
    """

    # Defaults of the parent that the paper, or the method, changes.
    learning_rate: float = field(default=1e-5, metadata={"help": "Learning rate of the main models."})
    num_train_epochs: float = field(default=8.0, metadata={"help": "Most epochs of the main models."})
    per_device_train_batch_size: int = field(
        default=32, metadata={"help": "Rows per device and step of the main and the shallow models."}
    )
    per_device_eval_batch_size: int | None = field(
        default=None, metadata={"help": "Rows per device in validation; default: four times those of training."}
    )
    train_sampling_strategy: str = field(
        default="random",
        metadata={
            "help": "Order of the rows: random, sequential, or group_by_length (batches of texts of about the same "
            "length: less padding, so faster)."
        },
    )
    seed: int = field(default=0, metadata={"help": "Of every draw."})
    bf16: bool = field(default=False, metadata={"help": "Train in bfloat16."})
    report_to: None | str | list[str] = field(  # noqa: RUF036  # HfArgumentParser reads a flag from the second type
        default="none",
        metadata={"help": "Where to report the trainings: none, all, ...; with --logging_strategy losses too."},
    )
    logging_strategy: str = field(default="no", metadata={"help": "When to log losses: no, steps or epoch."})
    disable_tqdm: bool | None = field(default=True, metadata={"help": "Show no bars while models are trained."})

    # The method.
    n_bias_indicators: int = field(
        default=5, metadata={"help": "Groups of equal size by bias degree, each with an indicator (table 2)."}
    )
    n_shallow: int = field(
        default=2000,
        metadata={"help": "Random rows that the shallow model is trained on, and updated on (FEVER: 500)."},
    )
    shallow_num_train_epochs: float = field(default=3.0, metadata={"help": "Epochs of the shallow model, each time."})
    shallow_learning_rate: float = field(default=5e-5, metadata={"help": "Learning rate of the shallow model."})
    n_iterations: int = field(default=5, metadata={"help": "Rounds."})
    n_generated: int = field(default=200_000, metadata={"help": "Samples drawn in a round, before any is left out."})
    generator_num_train_epochs: float = field(
        default=3.0, metadata={"help": "Epochs of the generator in the first round."}
    )
    generator_later_num_train_epochs: float = field(
        default=1.0, metadata={"help": "Epochs of the generator in later rounds."}
    )
    generator_learning_rate: float = field(default=5e-5, metadata={"help": "Learning rate of the generator."})
    generator_per_device_train_batch_size: int = field(
        default=32, metadata={"help": "Rows per device and batch of the generator."}
    )
    generator_gradient_accumulation_steps: int = field(
        default=1, metadata={"help": "Batches of the generator whose gradients make a step together."}
    )
    generator_use_peft: bool = field(
        default=False, metadata={"help": "Train LoRA adapters and the new tokens of the generator, not all weights."}
    )
    generator_lora_r: int = field(default=16, metadata={"help": "Rank of the adapters."})
    max_new_tokens: int = field(
        default=128, metadata={"help": "Longest sample, in tokens of the generator; longer rows do not teach it."}
    )
    sampling_batch_size: int = field(
        default=256, metadata={"help": "Samples drawn at a time; it does not change what is drawn."}
    )
    temperature: float = field(default=1.0, metadata={"help": "Divides the generator's logits."})
    top_p: float = field(
        default=1.0, metadata={"help": "Draw from the most probable tokens that hold this share of the probability."}
    )
    label_distribution: list[float] | None = field(
        default=None, metadata={"help": "Share of each label among the samples; default: all alike."}
    )
    confidence_from: str = field(
        default="generator",
        metadata={
            "help": "Whose probability of a sample's label must reach the threshold: generator (the label's share of "
            "the text's likelihood), shallow, main (the base model), or the id or folder of a classifier that is "
            "better than those. The shallow model, and a biased main one, throw away what the method is after."
        },
    )
    confidence_threshold: float = field(default=0.5, metadata={"help": "Least confidence of a sample that is kept."})
    update_shallow: bool = field(
        default=True, metadata={"help": "Update the shallow model each round on rows of the pool (False: w/o USM)."}
    )
    random_indicator: bool = field(
        default=True, metadata={"help": "Draw a low indicator for each sample (False: the lowest one only)."}
    )
    use_indicators: bool = field(
        default=True, metadata={"help": "Tell the generator the bias degree (False: w/o bias indicator)."}
    )
    iterative: bool = field(
        default=True, metadata={"help": "Work in rounds (False: all samples from the generator of the first round)."}
    )
    check_agreement: bool = field(
        default=True,
        metadata={"help": "Stop where the labels of samples agree with the judge's no more than by chance."},
    )
    early_stopping_patience: int = field(
        default=2,
        metadata={"help": "Epochs without a better accuracy on the validation rows after which training stops."},
    )

    def __post_init__(self) -> None:
        """Check what can be checked without data, then let the parent do the same.

        Raises:
            ValueError: a setting out of its range, or one that the method has to choose itself.
        """
        refuse_engines(f"training with {type(self).__name__}", self)
        self._check()
        if self.per_device_eval_batch_size is None:
            self.per_device_eval_batch_size = 4 * self.per_device_train_batch_size
        super().__post_init__()

    def _check(self) -> None:
        refuse(self, REFUSED)
        schedule = SchedulerType(self.lr_scheduler_type).value
        if schedule in ("reduce_lr_on_plateau", "greedy"):  # they watch the evaluations of what is trained
            raise ValueError(
                f"--lr_scheduler_type {schedule} cannot be set here: not every training is evaluated as it goes on."
            )
        for low, high, expected, names in _RANGES:
            for name in names:
                if not low <= getattr(self, name) <= high:
                    raise ValueError(f"--{name} is {getattr(self, name)}, expected {expected}.")
        shares = self.label_distribution
        if shares is not None and (min(shares, default=-1.0) < 0.0 or abs(sum(shares) - 1.0) > 1e-6):
            raise ValueError(f"--label_distribution is {shares}, expected shares of 0 or more that sum to 1.")

    @property
    def low_indicators(self) -> int:
        """Highest indicator that is asked for: half of them, rounded down (5: 1 and 2); 1 with the lowest only."""
        return max(1, self.n_bias_indicators // 2) if self.random_indicator else 1

    @property
    def rounds(self) -> int:
        """Rounds of drawing; one where the work is not iterative."""
        return self.n_iterations if self.iterative else 1

    @property
    def n_drawn(self) -> int:
        """Samples drawn in a round; all of them where there is one round only."""
        return self.n_generated if self.iterative else self.n_generated * self.n_iterations

    def label_shares(self, n_labels: int) -> list[float]:
        """Share of each label among the samples.

        Raises:
            ValueError: the setting has another number of labels.
        """
        if self.label_distribution is None:
            return [1.0 / n_labels] * n_labels
        if len(self.label_distribution) != n_labels:
            raise ValueError(f"--label_distribution has {len(self.label_distribution)} shares for {n_labels} labels.")
        return list(self.label_distribution)

    def training(self, model: str) -> dict[str, Any]:
        """Settings of the `Trainer` of a model: those that it always needs, and of the others those that were set.

        Args:
            model: ``"main"``, ``"shallow"`` or ``"generator"``.

        Returns:
            Arguments of `TrainingArguments` without ``output_dir``; for the generator without its epochs, of which
            there are two numbers.
        """
        left = {*_OF_RUN, *REFUSED, *(() if model == "main" else OF_MAIN)}
        names = ["learning_rate", "per_device_train_batch_size"]
        if model == "generator":
            left.update(OF_CLASSIFIERS)
            names += ["gradient_accumulation_steps"] if self.generator_gradient_accumulation_steps > 1 else []
        else:
            names += ["num_train_epochs", "per_device_eval_batch_size"]
        found = {name: value for name, value in self.changed().items() if name not in left}
        found |= {name: getattr(self, name) for name in ("seed", "bf16", "use_cpu", "dataloader_pin_memory")}
        return found | {name: getattr(self, f"{model}_{name}", getattr(self, name)) for name in names}

    def changed(self) -> dict[str, Any]:
        """Fields of `TrainingArguments` that have another value than by default here, as a file can hold them."""
        usual, parents = _usual(self.use_cpu), {each.name for each in fields(TrainingArguments)}
        own = {name: value for name, value in self.to_dict().items() if name in parents and value != usual[name]}
        return {name: value for name, value in own.items() if not name.startswith("hub_")}

    def shown(self) -> dict[str, Any]:
        """Settings that a report tells: those of the method, and what decides what trainings learn."""
        values, hidden = self.to_dict(), {*NO_MATTER, *REFUSED, *_OF_RUN}
        return {name: values[name] for name in (*IBADRConfig.__annotations__, *self.changed()) if name not in hidden}


@functools.cache
def _usual(use_cpu: bool) -> dict[str, Any]:
    """The defaults, as they are when the parent has read them."""
    return dict(IBADRConfig(output_dir="unused", use_cpu=use_cpu).to_dict())
