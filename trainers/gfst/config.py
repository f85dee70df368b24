"""Settings of `hf_fairness.trainers.train_translator`."""

from __future__ import annotations

from dataclasses import dataclass, field

from transformers import Seq2SeqTrainingArguments

from hf_fairness.trainers.training.settings import MethodArguments


@dataclass
class GFSTConfig(MethodArguments, Seq2SeqTrainingArguments):
    r"""Settings of the training of a translator: those of the paper, beside every other training argument.

    What differs from `Seq2SeqTrainingArguments`: the fields below, and new defaults for a few fields of the parent.
    Label smoothing, Adam's numbers, schedule, warm-up, learning rate, stopping and averaging are the paper's.

    - *Dropout* is the model's, not set here: .3 in the paper (.1 for French), for
      ``AutoModelForSeq2SeqLM.from_pretrained(..., dropout=0.3)``.
    - *Batch.* The paper does not give its size; here it is 64 pairs per device, of about the same length each.
    - *Steps.* The paper trains for 30,000 updates (German), 180,000 (French), or until the validation perplexity has
      not improved for 5 epochs (the other languages). Without ``max_steps`` and without a validation set all
      ``num_train_epochs`` are trained. What goes on from an initial model has updates in proportion to its pairs, or
      with ``GFSTArguments.stop_arms_early`` stops in the same way.
    - *Clipping* at norm 1 is the Trainer's; the paper names none.
    - *Checkpoints.* One is kept whole, to resume from. Of the last ``average_checkpoints`` the weights are kept,
      as links where the file system has them, and their mean is the model that training ends with.
    - *Validation loss* is without label smoothing, so that its exponential is the perplexity.

    Source: Choubey et al. 2021, appendix A ("Preprocessing", "Training").

    Example:
        >>> config = GFSTConfig(output_dir="out", max_steps=1000)
        >>> config.label_smoothing_factor, config.adam_beta2, config.warmup_steps, config.average_checkpoints
        (0.1, 0.92, 4000, 10)
    """

    # Defaults of the parent that the paper, or the trainer, changes.
    learning_rate: float = field(
        default=5e-4, metadata={"help": "Highest learning rate (paper, appendix A: 5e-4, and 1e-3 for German)."}
    )
    adam_beta1: float = field(default=0.9, metadata={"help": "First beta of Adam (paper, appendix A: .9)."})
    adam_beta2: float = field(default=0.92, metadata={"help": "Second beta of Adam (paper, appendix A: .92)."})
    adam_epsilon: float = field(default=1e-8, metadata={"help": "Epsilon of Adam (paper, appendix A: 1e-8)."})
    lr_scheduler_type: str = field(
        default="inverse_sqrt", metadata={"help": "Schedule of the learning rate (paper: Vaswani et al. 2017)."}
    )
    warmup_steps: float = field(
        default=4000, metadata={"help": "Steps in which the learning rate rises (paper, appendix A: 4,000)."}
    )
    label_smoothing_factor: float = field(
        default=0.1, metadata={"help": "Share of the uniform distribution in the targets (paper, appendix A: .1)."}
    )
    per_device_train_batch_size: int = field(default=64, metadata={"help": "Pairs per device and step."})
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Pairs per device in validation."})
    num_train_epochs: float = field(
        default=100.0, metadata={"help": "Most passes over the data, where max_steps does not say."}
    )
    train_sampling_strategy: str = field(
        default="group_by_length",
        metadata={"help": "Order of the pairs: group_by_length (batches of about one length), random or sequential."},
    )
    eval_strategy: str = field(
        default="epoch", metadata={"help": "When to validate: epoch, steps or no; never without a validation set."}
    )
    save_strategy: str = field(
        default="epoch", metadata={"help": "When to save, for resuming and for averaging: epoch, steps or no."}
    )
    save_total_limit: int | None = field(default=1, metadata={"help": "Whole checkpoints to keep."})
    metric_for_best_model: str | None = field(
        default="eval_loss", metadata={"help": "What early stopping looks at (paper: validation perplexity)."}
    )
    greater_is_better: bool | None = field(default=False, metadata={"help": "Whether more of it is better."})
    restore_callback_states_from_checkpoint: bool = field(
        default=True, metadata={"help": "Take up the count of early stopping from the checkpoint."}
    )
    logging_steps: float = field(default=100, metadata={"help": "Steps between logged losses."})
    report_to: None | str | list[str] = field(  # noqa: RUF036  # HfArgumentParser reads a flag from the second type
        default="none", metadata={"help": "Where to report: none, all, ..."}
    )
    seed: int = field(default=0, metadata={"help": "Seed of the order of pairs and of dropout."})

    # The method.
    average_checkpoints: int = field(
        default=10,
        metadata={"help": "End with the mean weights of this many last checkpoints (paper, appendix A: 10); 0: none."},
    )
    early_stopping_patience: int | None = field(
        default=5,
        metadata={
            "help": "Validations in a row without a better loss after which training stops (paper, appendix A: 5 "
            "epochs); None: never."
        },
    )
    max_length: int = field(
        default=250,
        metadata={"help": "Pairs with more words than this on a side are left out (paper, appendix A: 250)."},
    )
    max_length_ratio: float = field(
        default=1.5,
        metadata={"help": "Pairs with one side so many times as long as the other are left out (paper: 1.5)."},
    )

    # The data.
    source_column: str = field(default="source", metadata={"help": "Column of the texts to translate."})
    target_column: str = field(default="target", metadata={"help": "Column of their translations."})

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same."""
        self._check()
        super().__post_init__()

    def _check(self) -> None:
        if not 0 <= self.label_smoothing_factor < 1:
            raise ValueError(f"label_smoothing_factor is {self.label_smoothing_factor}, expected 0 or more, below 1.")
        for name in ("adam_beta1", "adam_beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 or more, below 1.")
        if not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate is {self.learning_rate}, expected a number above 0.")
        if not isinstance(self.average_checkpoints, int) or self.average_checkpoints < 0:
            raise ValueError(
                f"average_checkpoints is {self.average_checkpoints!r}, expected a whole number: 10 as in the paper, or "
                "0 to end with the last weights."
            )
        saves = getattr(self.save_strategy, "value", self.save_strategy)
        if saves == "no" and self.average_checkpoints:
            raise ValueError(
                f"average_checkpoints is {self.average_checkpoints}, but save_strategy='no' leaves no checkpoint to "
                "average. Set average_checkpoints=0, or save by epoch or steps."
            )
        if self.early_stopping_patience is not None and self.early_stopping_patience < 1:
            raise ValueError(
                f"early_stopping_patience is {self.early_stopping_patience}, expected 1 or more, or None to train to "
                "the end."
            )
        if self.max_length < 1 or not self.max_length_ratio >= 1:
            raise ValueError(
                f"max_length is {self.max_length} and max_length_ratio {self.max_length_ratio}, expected 1 or more."
            )
        if self.source_column == self.target_column:
            raise ValueError(f"source_column and target_column are both {self.source_column!r}; name two columns.")
