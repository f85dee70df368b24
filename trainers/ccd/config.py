"""Settings of `hf_fairness.trainers.CCDTrainer`."""

from __future__ import annotations

from dataclasses import dataclass, field

from hf_fairness.trainers.training.encoder import EncoderConfig


@dataclass
class CCDConfig(EncoderConfig):
    r"""Settings of CCD training: those of the paper, beside every other training argument.

    What differs from `SentenceTransformerTrainingArguments`: the fields below, and new defaults for a few
    fields of the parent. Learning rate, batch size, number of epochs, beta and seed are the paper's.

    - *Optimiser.* The paper says Adam: the default ``adamw_torch_fused`` with ``weight_decay=0`` is Adam.
      The linear schedule and the clipping at norm 1 are the Trainer's; the paper names neither.
    - *Batch.* The paper's 32 is the global batch. Here it is the batch per device: with k processes set
      ``per_device_train_batch_size`` to 32 / k for the same steps.
    - *Validation.* Without an ``eval_dataset`` the last rows are held out: 1,000 as in the paper, but no more
      than 10 % of the data. The paper validates every 500 steps; here every min(500, steps / 5), so that
      a short run chooses a best checkpoint too. ``eval_steps`` and ``save_steps`` override this.
    - *Dropout* is off while training, see ``keep_dropout``.

    Source: Deng et al. 2024, section 4 ("Hyperparameters"), section 3.2 and appendix A.3.

    Example:
        >>> config = CCDConfig(output_dir="out", beta=0.5, rho="variance")
        >>> config.learning_rate, config.per_device_train_batch_size, config.rho
        (5e-05, 32, 'variance')
    """

    # Defaults of the parent that the paper, or its short runs, change.
    learning_rate: float = field(default=5e-5, metadata={"help": "Learning rate of Adam (paper, section 4: 5e-5)."})
    per_device_train_batch_size: int = field(
        default=32,
        metadata={"help": "Rows per device and step (paper, section 4: 32 in all; use 32/k with k processes)."},
    )
    per_device_eval_batch_size: int = field(default=32, metadata={"help": "Rows per device in validation."})
    num_train_epochs: float = field(default=1.0, metadata={"help": "Passes over the data (paper: 1)."})
    seed: int = field(default=42, metadata={"help": "Seed of the order of rows (paper, section 4: 42)."})
    eval_strategy: str = field(
        default="steps",
        metadata={"help": "When to validate: steps, epoch, or no (then no rows are held out)."},
    )
    eval_steps: float | None = field(
        default=None,
        metadata={"help": "Steps between validations; default min(500, steps / 5) (paper, section 4: 500)."},
    )
    save_strategy: str = field(default="steps", metadata={"help": "When to save: as often as validation."})
    save_steps: float | None = field(default=None, metadata={"help": "Steps between saves; default as eval_steps."})
    save_total_limit: int | None = field(
        default=2, metadata={"help": "Checkpoints to keep; the best one is always kept."}
    )
    load_best_model_at_end: bool = field(
        default=True,
        metadata={"help": "End with the checkpoint of the lowest validation loss (paper, section 4)."},
    )
    metric_for_best_model: str | None = field(
        default=None, metadata={"help": "What the best checkpoint is lowest in; default: eval_loss (paper, section 4)."}
    )
    logging_steps: float = field(default=10, metadata={"help": "Steps between logged losses."})

    # The method.
    beta: float = field(
        default=1.0,
        metadata={"help": "Weight of the part that keeps neutral embeddings in place (paper, section 4: 1)."},
    )
    bias_weight: float = field(
        default=1.0,
        metadata={
            "help": "Weight of the part that makes groups equally close (paper, equation 4: 1). With 0 and without "
            "dropout nothing pulls: the weights stay as they are."
        },
    )
    random_gaps: bool = field(
        default=False,
        metadata={
            "help": "Make a control run: each text's gap between groups is pulled away from where it is by the gap of "
            "another text, up or down at random, and not to 0. Rows, order, steps, optimiser, weights of the loss and "
            "dropout are those of the method."
        },
    )
    rho: str = field(
        default="mean",
        metadata={
            "help": "Width of the kernel: 'mean' or 'variance' (paper, section 3.2) of the "
            "training set's distances "
            "under the original encoder, or a number. On unit vectors 'variance' stalls training."
        },
    )
    keep_dropout: bool = field(
        default=False,
        metadata={"help": "Keep the encoder's dropout while training; it makes the second loss part start above 0."},
    )
    card_examples: bool = field(
        default=False,
        metadata={"help": "Show some training rows, word for word, in the model card; they are published with it."},
    )

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same."""
        #: Whether the trainer is to derive the steps between validations from the size of the data.
        self.derive_eval_steps = self.eval_steps is None
        if self.save_steps is None:
            self.save_steps = self.eval_steps if self.eval_steps is not None else 500
        if self.eval_steps is None:
            self.eval_steps = self.save_steps
        evaluates = getattr(self.eval_strategy, "value", self.eval_strategy)
        if evaluates == "no":
            self.load_best_model_at_end = False
        elif evaluates == "epoch" and self.load_best_model_at_end and self.save_strategy == "steps":
            self.save_strategy = "epoch"  # the parent wants both alike, and steps is only our default
        if self.load_best_model_at_end and self.metric_for_best_model is None:
            self.metric_for_best_model = "eval_loss"
            self.greater_is_better = False
        self._check_method()
        super().__post_init__()

    def _check_method(self) -> None:
        try:
            self.rho = float(self.rho)  # type: ignore[assignment]
        except ValueError:
            if self.rho not in ("mean", "variance"):
                raise ValueError(f"rho is {self.rho!r}, expected 'mean', 'variance' or a number above 0.") from None
        else:
            if not 0 < float(self.rho) < float("inf"):
                raise ValueError(f"rho is {self.rho!r}, expected 'mean', 'variance' or a number above 0.")
        for name in ("beta", "bias_weight"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected a finite number, 0 or more.")
