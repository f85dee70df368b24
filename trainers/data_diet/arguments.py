"""What the data-diet search is told; `hf-fairness data-diet` parses it from flags."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas

from hf_fairness.arguments import (
    DataArguments,
    DeviceArguments,
    ExperimentArguments,
    HeldOutArguments,
    LabelArguments,
    LoraArguments,
)
from hf_fairness.attributes.names import BUILT_IN, NO_NAMES
from hf_fairness.scores import groups
from hf_fairness.scores.rankings import BASES, DEFAULT_BASE, RANKINGS
from hf_fairness.utils import refuse_any

#: The ranking that is the control of the others: as many examples, chosen by no score.
CONTROL = "random"
#: What experiment 1 ranks the counterfactuals by (figures 2 and 3).
FIRST = ("ge", "el2n", "grand", "forgetting", "random")
#: Fairness measure by which fractions are chosen on the validation set.
CRITERIA = ("counterfactual_parity", "flip_rate", "demographic_parity", "equalized_odds")
#: Settings of whole models that heads on frozen features have not, as `transformers.TrainingArguments` calls them.
OF_TRAINER = ("bf16", "fp16", "gradient_accumulation_steps", "activation_checkpointing", "report_to")
#: What a setting, or each entry of a list, must be among, and the same in words.
_WANTED: dict[str, tuple[Any, str]] = {
    "mode": (("fast", "full"), "fast or full"),
    "counterfactual_base": (BASES, " or ".join(BASES)),
    "select_by": (CRITERIA, f"one of {', '.join(CRITERIA)}"),
    "rankings": (RANKINGS, f"some of {', '.join(RANKINGS)}"),
    "experiments": ((1, 2), "1, 2 or both"),
    "num_train_epochs": (range(2, 2**31), "2 or more"),
    **dict.fromkeys(
        ("n_init", "score_after_epochs", "hidden", "per_device_train_batch_size", "gradient_accumulation_steps"),
        (range(1, 2**31), "1 or more"),
    ),
    **dict.fromkeys(
        ("factual_fractions", "counterfactual_fractions", "first_fractions", "max_auc_drop"),
        (pandas.Interval(0.0, 1.0, closed="both"), "fractions from 0 to 1: 3 % is 0.03"),
    ),
}


@dataclass(kw_only=True)
class DataDietArguments(
    ExperimentArguments, DeviceArguments, LoraArguments, LabelArguments, HeldOutArguments, DataArguments
):
    """What `hf-fairness data-diet` needs.

    Source: Zayed et al. 2023; the defaults are those of its section 5, but for the number of seeds (5 there).
    """

    model_name_or_path: str = field(
        metadata={
            "help": "Fast mode: any encoder (SentenceTransformer, transformers model, word vectors). Full mode: a "
            "transformers model to fine-tune. An id on the Hub or a local folder."
        }
    )
    test_dataset: str | None = field(
        default=None,
        metadata={
            "help": "Rows to report on, as --dataset; default: see --test_split, or another tenth of the training rows."
        },
    )
    positive_label: str | None = field(
        default=None, metadata={"help": "Label that counts as positive; default: the last of two labels in order."}
    )
    counterfactual_column: str | None = field(
        default=None,
        metadata={
            "help": "Column with ready counterfactuals of the texts, taken as they are where a data set has it; "
            "default: they are made by swaps, and bad swaps are left out."
        },
    )
    group_dataset: str | None = field(
        default=None,
        metadata={
            "help": "Texts about different groups (such as IPTTS), as --dataset, for the group metrics; their texts "
            "and labels are in the columns that those of the training rows are in."
        },
    )
    group_config: str | None = field(default=None, metadata={"help": "Configuration of --group_dataset."})
    group_split: str | None = field(
        default=None, metadata={"help": "Split of --group_dataset to read; default: the only one."}
    )
    group_column: str = field(default="group", metadata={"help": "Column of the groups in --group_dataset."})
    attribute: str = field(default="gender", metadata={"help": "Attribute whose terms are swapped."})
    language: str = field(default="en", metadata={"help": "Language of the texts."})
    names: str = field(
        default=BUILT_IN,
        metadata={
            "help": f"Swap given names too: `{BUILT_IN}` (as the paper does), a CSV file with source and date, or "
            f"`{NO_NAMES}`."
        },
    )
    output_dir: str = field(default="data-diet", metadata={"help": "Folder for scores, grid, report and model."})
    mode: str = field(
        default="fast",
        metadata={
            "help": "`fast`: encode every text once and train small heads on the frozen features. `full`: fine-tune "
            "the model anew in every cell of the grid, for a GPU."
        },
    )
    bf16: bool = field(default=False, metadata={"help": "Full mode: train in bfloat16; weights stay in float32."})
    fp16: bool = field(default=False, metadata={"help": "Full mode: train in float16; weights stay in float32."})
    gradient_accumulation_steps: int = field(
        default=1, metadata={"help": "Full mode: batches whose gradients make a step together."}
    )
    activation_checkpointing: bool = field(
        default=False, metadata={"help": "Full mode: compute activations twice in place of keeping them."}
    )
    report_to: str = field(
        default="none", metadata={"help": "Full mode: where the losses of every training go, such as tensorboard."}
    )
    experiments: list[int] = field(
        default_factory=lambda: [1, 2],
        metadata={
            "help": "1: all factual examples and a share of the counterfactual ones. 2: shares of both, from which "
            "the final model is chosen."
        },
    )
    factual_fractions: list[float] = field(
        default_factory=lambda: [0.3, 0.4, 0.5],
        metadata={"help": "Shares of the factual examples (a) that experiment 2 tries."},
    )
    counterfactual_fractions: list[float] = field(
        default_factory=lambda: [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
        metadata={"help": "Shares of the counterfactual examples (b) that experiment 2 tries."},
    )
    first_fractions: list[float] = field(
        default_factory=lambda: [k / 10 for k in range(11)],
        metadata={"help": "Shares of the counterfactual examples (b) that experiment 1 tries; 0 and 1 are the ends."},
    )
    #: The default is table 3.
    rankings: list[str] = field(
        default_factory=lambda: ["healthy_random", CONTROL, "unhealthy_random", "vanilla_ge"],
        metadata={"help": f"Rankings of experiment 2, of {', '.join(RANKINGS)}."},
    )
    counterfactual_base: str = field(
        default=DEFAULT_BASE,
        metadata={
            "help": "What b is a share of: the `changed` examples, which have a counterfactual, so that every ranking "
            "keeps equally many; or `all`, as in the paper, where texts without terms take their rank too and "
            "ascending rankings keep hardly any counterfactual."
        },
    )
    max_auc_drop: float = field(
        default=0.03, metadata={"help": "Largest relative loss of AUC against the vanilla model (paper: 3 %%)."}
    )
    select_by: str = field(
        default="counterfactual_parity",
        metadata={
            "help": "What is made best on the validation set: counterfactual_parity (between the "
            "versions of a text about two groups) or flip_rate, or "
            "demographic_parity or equalized_odds of --group_dataset, as in the paper."
        },
    )
    n_seeds: int = field(default=10, metadata={"help": "Trainings of every cell."})
    control: bool = field(
        default=True, metadata={"help": f"Without it the ranking {CONTROL}, the control of the others, is left out."}
    )
    seed: int = field(default=0, metadata={"help": "The first of the seeds."})
    n_init: int = field(default=5, metadata={"help": "Short runs per seed that scores are averaged over."})
    score_after_epochs: int = field(default=1, metadata={"help": "Epochs after which scores are taken."})
    num_train_epochs: int = field(default=15, metadata={"help": "Epochs of every training."})
    per_device_train_batch_size: int = field(default=64, metadata={"help": "Texts of a training step."})
    learning_rate: float | None = field(
        default=None, metadata={"help": "Default: 0.001 for heads, 2e-5 for a whole model, 1e-4 with LoRA."}
    )
    hidden: int = field(default=64, metadata={"help": "Hidden units of a head (fast mode)."})
    stability_models: list[str] | None = field(
        default=None, metadata={"help": "Further encoders whose GE scores are compared with those of the model."}
    )
    features_cache: str | None = field(
        default=None,
        metadata={"help": "Folder for vectors that searches on the same texts share (fast mode); default: none."},
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: a value out of range, or options that do not fit together; the message names them.
        """
        super().__post_init__()
        self.check_experiment()
        self.check_lora()
        whole = [name for name in ("use_peft", *OF_TRAINER) if getattr(self, name) != getattr(type(self), name)]
        refuse_any(
            {
                **{
                    f"{name} is {getattr(self, name)!r}, expected {words}.": _outside(getattr(self, name), wanted)
                    for name, (wanted, words) in _WANTED.items()
                },
                "--sweep: the grid is the sweep of data-diet; give several values to --factual_fractions, "
                "--counterfactual_fractions, --first_fractions or --rankings.": self.sweep,
                f"score_after_epochs is {self.score_after_epochs}, expected at most num_train_epochs, which is "
                f"{self.num_train_epochs}.": self.score_after_epochs > self.num_train_epochs,
                f"--no_control leaves out the ranking {CONTROL}, and --rankings has no other.": (
                    not self.control and set(self.rankings) == {CONTROL}
                ),
                f"--select_by {self.select_by} needs --group_dataset: it is a metric of different texts.": (
                    self.chosen_on == "groups" and self.group_dataset is None
                ),
                f"--{', --'.join(whole)} needs --mode full: frozen features have no weights to adapt.": (
                    whole and self.mode == "fast"
                ),
            }
        )

    @property
    def chosen_on(self) -> Literal["groups", "validation"]:
        """The set whose texts say which cell is fairest: those of groups, or the validation texts."""
        return "groups" if self.select_by in groups.MEASURES else "validation"

    @property
    def sign(self) -> float:
        """1 where more of what is made best is better, -1 where less is."""
        return -1.0 if self.select_by == "flip_rate" else 1.0

    @property
    def seeds(self) -> list[int]:
        """Seeds of the trainings."""
        return list(range(self.seed, self.seed + self.n_seeds))

    def scored_by(self) -> list[Any]:
        """The settings that scores of examples depend on, beside the model and the texts."""
        names = (
            *("mode", "use_peft", "lora_r", "lora_alpha", "lora_dropout", *OF_TRAINER[:-1], "seeds", "n_init"),
            *("score_after_epochs", "num_train_epochs", "per_device_train_batch_size", "learning_rate", "hidden"),
        )
        return [getattr(self, name) for name in names]


def _outside(value: Any, wanted: Container[Any]) -> bool:
    """Whether a setting, or an entry of a list, is none of what is wanted, or a list is empty."""
    entries = value if isinstance(value, list) else [value]
    return not entries or any(each not in wanted for each in entries)
