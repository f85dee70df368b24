"""What iterative bias-aware dataset refinement (IBADR) is told."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Whose probability of a sample's label the filter asks for; anything else is the id or folder of a classifier.
CONFIDENCES = ("generator", "shallow", "main")


@dataclass
class IBADRConfig:
    """Settings of the loop; the defaults are those of the paper where it states them.

    Not stated there, and chosen here: the threshold and whose confidence it is held against, how samples are drawn
    from the generator's distribution (all of it), batch sizes, the patience of early stopping.

    Source:
        Wang et al. 2023, *IBADR: an Iterative Bias-Aware Dataset Refinement Framework for Debiasing NLU models*,
        sections 2 and 3.1; the switches are the variants of table 5.
    """

    n_bias_indicators: int = field(
        default=5, metadata={"help": "Groups of equal size by bias degree, each with an indicator (table 2)."}
    )
    n_shallow: int = field(
        default=2000,
        metadata={"help": "Random rows that the shallow model is trained on, and updated on (FEVER: 500)."},
    )
    shallow_epochs: float = field(default=3.0, metadata={"help": "Epochs of the shallow model, each time."})
    shallow_learning_rate: float = field(default=5e-5, metadata={"help": "Learning rate of the shallow model."})
    n_iterations: int = field(default=5, metadata={"help": "Rounds."})
    n_generated: int = field(default=200_000, metadata={"help": "Samples drawn in a round, before any is left out."})
    generator_epochs: float = field(default=3.0, metadata={"help": "Epochs of the generator in the first round."})
    generator_later_epochs: float = field(default=1.0, metadata={"help": "Epochs of the generator in later rounds."})
    generator_learning_rate: float = field(default=5e-5, metadata={"help": "Learning rate of the generator."})
    generator_batch_size: int = field(default=32, metadata={"help": "Rows of a step of the generator's training."})
    lora: bool = field(
        default=False, metadata={"help": "Train LoRA adapters and the new tokens of the generator, not all weights."}
    )
    lora_rank: int = field(default=16, metadata={"help": "Rank of the adapters."})
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
    threshold: float = field(default=0.5, metadata={"help": "Least confidence of a sample that is kept."})
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
    epochs: float = field(default=8.0, metadata={"help": "Most epochs of the main models."})
    learning_rate: float = field(default=1e-5, metadata={"help": "Learning rate of the main models."})
    batch_size: int = field(default=32, metadata={"help": "Rows of a step of the main and the shallow models."})
    patience: int = field(
        default=2, metadata={"help": "Epochs without a better accuracy on the dev set after which training stops."}
    )
    seed: int = field(default=0, metadata={"help": "Of every draw."})

    def __post_init__(self) -> None:
        """Check what can be checked without data.

        Raises:
            ValueError: a setting out of its range.
        """
        for name in (
            "n_shallow",
            "n_iterations",
            "n_generated",
            "generator_batch_size",
            "sampling_batch_size",
            "batch_size",
            "max_new_tokens",
            "lora_rank",
            "patience",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 1 or more.")
        if self.n_bias_indicators < 2:
            raise ValueError(f"n_bias_indicators is {self.n_bias_indicators}, expected 2 or more.")
        for name in ("shallow_epochs", "generator_epochs", "generator_later_epochs", "epochs", "temperature"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0.")
        if not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"top_p is {self.top_p}, expected more than 0 and at most 1.")
        if not 0.0 <= self.threshold <= 1.0:
            raise ValueError(f"threshold is {self.threshold}, expected a probability.")
        shares = self.label_distribution
        if shares is not None and (min(shares, default=-1.0) < 0.0 or abs(sum(shares) - 1.0) > 1e-6):
            raise ValueError(f"label_distribution is {shares}, expected shares of 0 or more that sum to 1.")

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
            raise ValueError(f"label_distribution has {len(self.label_distribution)} shares for {n_labels} labels.")
        return list(self.label_distribution)
