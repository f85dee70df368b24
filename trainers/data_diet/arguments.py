"""What the data-diet search is told; `hf-fairness data-diet` parses it from flags."""

from __future__ import annotations

from dataclasses import dataclass, field

from hf_fairness.arguments import (
    DataArguments,
    DeviceArguments,
    HeldOutArguments,
    LabelArguments,
    ReportArguments,
)
from hf_fairness.attributes.names import BUILT_IN, NO_NAMES
from hf_fairness.scores.rankings import BASES, DEFAULT_BASE, RANKINGS
from hf_fairness.trainers.data_diet.heads import HeadSettings

MODES = ("fast", "full")
#: What experiment 1 ranks the counterfactuals by (figures 2 and 3), and the rankings of experiment 2 (table 3).
FIRST = ("ge", "el2n", "grand", "forgetting", "random")
SECOND = ("healthy_random", "random", "unhealthy_random", "vanilla_ge")
#: Fairness measure by which fractions are chosen on the validation set.
CRITERIA = ("counterfactual_parity", "flip_rate", "demographic_parity", "equalized_odds")


@dataclass(kw_only=True)
class DataDietArguments(ReportArguments, DeviceArguments, LabelArguments, HeldOutArguments, DataArguments):
    """What `hf-fairness data-diet` needs.

    Source: Zayed et al. 2023; the defaults are those of its section 5, but for the number of seeds (5 there).
    """

    model_name_or_path: str = field(
        metadata={
            "help": "Fast mode: any encoder (SentenceTransformer, transformers model, word vectors). Full mode: a "
            "transformers model to fine-tune. An id on the Hub or a local folder."
        }
    )
    max_rows: int | None = field(
        default=None,
        metadata={"help": "Use the first so many rows of the data set, held-out ones included; default: all."},
    )
    validation_dataset: str | None = field(
        default=None,
        metadata={
            "help": "Rows to choose fractions on, as --dataset; default: see --validation_split, or a tenth of the "
            "training rows, held out."
        },
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
    show_texts: int = field(
        default=0,
        metadata={
            "help": "Show so many of the training texts with the largest GE scores, and what they are swapped to, in "
            "the report (never in a card). Reports are files that people send on: default none."
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
    use_peft: bool = field(
        default=False, metadata={"help": "Full mode: train LoRA adapters instead of all weights (needs peft)."}
    )
    lora_r: int = field(default=16, metadata={"help": "Rank of the LoRA matrices."})
    lora_alpha: int = field(default=32, metadata={"help": "Scale of the LoRA update (times 1 / rank)."})
    lora_dropout: float = field(default=0.0, metadata={"help": "Dropout before the LoRA matrices."})
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
    rankings: list[str] = field(
        default_factory=lambda: list(SECOND), metadata={"help": f"Rankings of experiment 2, of {', '.join(RANKINGS)}."}
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
        metadata={"help": "Folder for vectors of texts that several searches share (fast mode); default: none."},
    )
    use_cpu: bool = field(
        default=False, metadata={"help": "Keep encoders and models off the accelerator; default: what is there."}
    )
    resume: bool = field(default=True, metadata={"help": "Go on from finished stages and cells of an earlier run."})

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: a value out of range, or options that do not fit together; the message names them.
        """
        super().__post_init__()
        choices = {"mode": MODES, "counterfactual_base": BASES, "select_by": CRITERIA}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}.")
        for name in ("n_seeds", "n_init", "score_after_epochs", "per_device_train_batch_size", "hidden", "lora_r"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 1 or more.")
        if self.num_train_epochs < max(2, self.score_after_epochs):
            raise ValueError(
                f"num_train_epochs is {self.num_train_epochs}, expected at least 2, and score_after_epochs."
            )
        if not 0.0 <= self.lora_dropout < 1.0:
            raise ValueError(f"lora_dropout is {self.lora_dropout}, expected 0 or more and less than 1.")
        if not 0.0 <= self.max_auc_drop <= 1.0:
            raise ValueError(f"max_auc_drop is {self.max_auc_drop}, expected a fraction; 3 % is 0.03.")
        for name in ("factual_fractions", "counterfactual_fractions", "first_fractions"):
            values = getattr(self, name)
            if not values or any(not 0.0 <= value <= 1.0 for value in values):
                raise ValueError(f"{name} is {values}, expected numbers from 0 to 1.")
        if not self.experiments or not set(self.experiments) <= {1, 2}:
            raise ValueError(f"experiments is {self.experiments}, expected 1, 2 or both.")
        unknown = sorted(set(self.rankings) - set(RANKINGS))
        if unknown:
            raise ValueError(f"Unknown ranking {unknown[0]!r}. Rankings: {', '.join(RANKINGS)}.")
        if self.use_peft and self.mode == "fast":
            raise ValueError("--use_peft needs --mode full: frozen features have no weights to adapt.")
        if self.select_by in CRITERIA[2:] and self.group_dataset is None:
            raise ValueError(f"--select_by {self.select_by} needs --group_dataset: it is a metric of different texts.")

    @property
    def seeds(self) -> list[int]:
        """Seeds of the trainings."""
        return list(range(self.seed, self.seed + self.n_seeds))

    def heads(self, n_classes: int) -> HeadSettings:
        """How heads are trained in fast mode."""
        return HeadSettings(
            hidden=self.hidden,
            num_train_epochs=self.num_train_epochs,
            per_device_train_batch_size=self.per_device_train_batch_size,
            learning_rate=1e-3 if self.learning_rate is None else self.learning_rate,
            n_classes=n_classes,
        )
