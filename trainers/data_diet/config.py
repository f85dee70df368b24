"""Settings of `hf_fairness.trainers.GEPruningCallback` and `hf_fairness.trainers.DataDietTrainer`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from transformers import TrainingArguments

from hf_fairness.scores.rankings import DEFAULT_BASE
from hf_fairness.trainers.training.settings import MethodArguments

#: When `GEPruningCallback` scores: before training, on short runs of their own, or in the middle of it.
MODES = ("restart", "continue")
#: What the short runs are trained on.
SCORE_ON = ("factual", "all")


@dataclass
class DataDietSettings:
    """What to keep of a training set, and how it is scored.

    Source: Zayed et al. 2023, sections 4.2 and 5. The fractions are a and b of the paper, which searches
    a in {.3, .4, .5} and b in {0, .1, ..., .5}.
    """

    ranking: str = field(
        default="healthy_random",
        metadata={
            "help": "What to keep first: vanilla_ge, random, healthy_random or unhealthy_random (paper, Table 3); ge, "
            "el2n, grand or forgetting rank the counterfactual examples by that score, highest first."
        },
    )
    factual_fraction: float = field(default=0.5, metadata={"help": "Share of the factual examples to keep, 0 to 1."})
    counterfactual_fraction: float = field(
        default=0.3, metadata={"help": "Share of the counterfactual examples to keep, 0 to 1."}
    )
    counterfactual_base: str = field(
        default=DEFAULT_BASE,
        metadata={
            "help": "What counterfactual_fraction is a share of: the 'changed' examples, which have a counterfactual, "
            "so that every ranking keeps equally many; or 'all' (paper), where ascending rankings keep hardly any."
        },
    )
    order: str | None = field(
        default=None,
        metadata={"help": "'ascending' or 'descending' scores; default: that of the ranking (paper, Table 3)."},
    )
    score_after_epochs: int = field(
        default=1, metadata={"help": "Epochs of training before the scores are taken (paper, section 5.4: 1)."}
    )
    n_init: int = field(
        default=1, metadata={"help": "Short runs over which the scores are averaged, each with a seed of its own."}
    )
    score_on: str = field(
        default="factual",
        metadata={
            "help": "Rows that the short runs train on: the 'factual' ones, so that the scores are those of a model "
            "without the method, or 'all'."
        },
    )
    text_column: str = field(default="text", metadata={"help": "Column of the texts."})
    counterfactual_column: str | None = field(
        default=None,
        metadata={
            "help": "Column of the counterfactual texts, where they stand beside the texts; default: "
            "<text_column>_counterfactual where it exists."
        },
    )
    flag_column: str = field(
        default="counterfactual",
        metadata={"help": "Column that is true in counterfactual rows, where these are rows of their own."},
    )
    label_column: str = field(default="label", metadata={"help": "Column of the class numbers."})
    max_length: int | None = field(
        default=None, metadata={"help": "Cut texts to this many tokens; default: the tokenizer's own limit."}
    )
    score_batch_size: int = field(default=32, metadata={"help": "Texts per device in a scoring pass."})

    def __post_init__(self) -> None:
        """Check the fields that need no data; fractions, ranking and order are checked with the data.

        Raises:
            ValueError: a count below 1, or a word that is no choice; the message names the field.
        """
        for name in ("score_after_epochs", "n_init", "score_batch_size"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected a whole number, 1 or more.")
        if self.max_length is not None and self.max_length < 3:
            raise ValueError(f"max_length is {self.max_length} tokens, expected 3 or more.")
        if self.score_on not in SCORE_ON:
            raise ValueError(f"score_on is {self.score_on!r}, expected one of {', '.join(SCORE_ON)}.")

    def diet(self) -> dict[str, Any]:
        """The fields of this class alone, without those of a subclass."""
        return {entry.name: getattr(self, entry.name) for entry in fields(DataDietSettings)}


@dataclass
class PruningSettings(DataDietSettings):
    """Settings of `GEPruningCallback`.

    Example:
        >>> PruningSettings(mode="continue", factual_fraction=0.4).n_init
        1
    """

    mode: str = field(
        default="restart",
        metadata={
            "help": "'restart' scores on short runs before training (paper); 'continue' with the running model, after "
            "score_after_epochs of its epochs."
        },
    )
    seed: int = field(default=0, metadata={"help": "Seed of random ranks, of the short runs and of the order of rows."})

    def __post_init__(self) -> None:
        """Check the fields that need no data."""
        super().__post_init__()
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}, expected one of {', '.join(MODES)}.")
        if self.mode == "continue" and self.n_init > 1:
            raise ValueError(
                f"n_init is {self.n_init}, but mode='continue' scores with the one running model. Use mode='restart' "
                "to average over several runs."
            )


@dataclass
class DataDietConfig(MethodArguments, TrainingArguments, DataDietSettings):
    r"""Settings of `DataDietTrainer`: those of the method, beside every training argument.

    ``seed`` is that of the training arguments; it seeds random ranks and, with 1 and more added to it, the short
    runs.

    Source: Zayed et al. 2023, sections 4.2 and 5.

    Example:
        >>> config = DataDietConfig(output_dir="out", ranking="random", factual_fraction=0.4)
        >>> config.ranking, config.factual_fraction, config.counterfactual_fraction
        ('random', 0.4, 0.3)
    """

    def __post_init__(self) -> None:
        """Check the fields, then let the parents do the same."""
        DataDietSettings.__post_init__(self)
        super().__post_init__()
