"""Training an encoder with the content-conditional debiasing (CCD) loss.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from transformers import PreTrainedModel, set_seed
from transformers.trainer_utils import IntervalStrategy

from hf_fairness.losses import CCDLoss
from hf_fairness.publishing import CARD
from hf_fairness.report.artefact_card import LOAD_ENCODER
from hf_fairness.trainers.ccd.config import CCDConfig
from hf_fairness.trainers.ccd.data import REFERENCE_COLUMN, CCDReferences, embed_references, select_rows
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint, rank_sums
from hf_fairness.trainers.training.encoder import TrainableEncoder, open_encoder
from hf_fairness.trainers.training.preparation import dropout_off, is_deterministic
from hf_fairness.trainers.training.published import Published
from hf_fairness.utils import FairnessWarning

logger = logging.getLogger(__name__)

#: Written beside every saved model: what the run was made of.
RUN_FILE = "ccd_config.json"


class CCDTrainer(Published, SentenceTransformerTrainer):
    """Train an encoder until its embeddings are as close to the neutral text for one group as for another.

    A `SentenceTransformerTrainer` with three differences: it opens any kind of encoder, it prepares rows made
    by ``GroupVariants`` (reference embeddings and kernel width, once, with the original encoder), and what it
    saves opens anywhere (LoRA merged, a masked-language-model head kept).

    Logged: ``loss`` and its parts ``loss_bias`` and ``loss_rep``, averaged over steps and processes, and in
    validation the same with ``eval_`` before them, averaged over rows: there the parts add up to the loss.

    Args:
        model: id or folder of a model, a SentenceTransformer, a transformers model, or what ``open_encoder`` made of
            one. Objects are trained in place.
        args: settings; None means ``CCDConfig(output_dir="tmp_trainer")``.
        train_dataset: rows with one text column per group and a neutral one, as ``GroupVariants`` makes them; all
            other columns are ignored. Rows with ``has_terms = False`` or a ``rejected_reason`` and rows whose variants
            are all alike are left out, and counted.
        eval_dataset: the same for validation; None holds out the last rows of ``train_dataset``.
        processing_class: tokenizer of a transformers model; None opens the one it came with.
        references: embeddings and distances of ``train_dataset`` and ``eval_dataset`` that another trainer
            computed (its ``references``), for several runs on the same model and data.
        kwargs: further arguments of `SentenceTransformerTrainer`.

    Attributes:
        n_skipped: rows left out of training and validation set together.
        kernel: the kernel's width, how it was chosen, and the shares of vanishing values.
        groups: names of the group columns.

    Raises:
        TypeError: a model or data set of an unknown kind.
        ValueError: a missing column, fewer than two groups, no usable row, or a model that is no encoder.

    Warns:
        FairnessWarning: the kernel vanishes (see `hf_fairness.losses.kernel_width`), or dropout stays on.

    Source:
        Deng et al. 2024, section 3.2 and 4. Deviations: rho is by default the mean of the distances and not
        their variance, dropout is off, and short runs validate more often than every 500 steps.
    """

    quick = True
    args: CCDConfig
    loss: CCDLoss
    train_dataset: Dataset
    eval_dataset: Dataset | None
    what = (
        "A text encoder: {base}, trained with content-conditional debiasing (CCD, Deng et al. 2024) to keep equal "
        "distances between the versions of a text about each group and its neutral version."
    )
    limits = ("Distances were made equal for the groups and the kinds of texts that it was trained on, for no others.",)
    task: ClassVar[dict[str, str]] = {"library_name": "sentence-transformers"}

    def __init__(
        self,
        model: str | Path | PreTrainedModel | SentenceTransformer | TrainableEncoder,
        args: CCDConfig | None = None,
        train_dataset: Dataset | None = None,
        eval_dataset: Dataset | None = None,
        *,
        processing_class: Any = None,
        references: dict[str, CCDReferences] | None = None,
        **kwargs: Any,
    ) -> None:
        args = args if args is not None else CCDConfig(output_dir="tmp_trainer")
        if not isinstance(args, CCDConfig):
            raise TypeError(f"args is a {type(args).__name__}, expected a CCDConfig.")
        if train_dataset is None:
            raise ValueError("train_dataset is missing: rho is taken over the training set.")
        splits = self._prepare_rows(args, train_dataset, eval_dataset)
        self._source = _source_of(model)
        known = Path(self._source).name if Path(self._source).is_dir() else self._source
        self.base_model = known or type(model).__name__
        self.encoder = open_encoder(model, args, processing_class)
        self.references = dict(references or {})
        for name, split in splits.items():
            self._embed(args, name, split)
        self.kernel = self.references["train"].kernel_width(args.rho)
        for name, split in splits.items():
            found = self.references[name]
            splits[name] = found.add_to(
                split, found.random_targets(self.kernel.rho, args.seed) if args.random_gaps else None
            )
        if args.use_peft:
            set_seed(args.seed)  # the layers are drawn here, and the parent sets the seed later
            self.encoder.add_lora(args)
        # The widget would show texts; the usage snippet would encode some at every save, a head in the encoder's place.
        self.encoder.model.model_card_data.generate_widget_examples = False
        self._derive_steps(args, len(splits["train"]))
        if "eval" in splits and args.world_size > 1:
            self._fit_eval_batches(args, len(splits["eval"]))
        super().__init__(
            model=self.encoder.model,
            args=args,
            train_dataset=splits["train"],
            eval_dataset=splits.get("eval"),
            loss=CCDLoss(self.encoder.model, rho=self.kernel.rho, beta=args.beta, bias_weight=args.bias_weight),
            **kwargs,
        )
        self._describe_data()

    def _describe_data(self) -> None:
        """Have the model card say what the data are: without the reference vectors, and without texts unless asked."""
        card = self.model.model_card_data
        card.widget, card.usage_examples, card.usage_examples_display = [], None, None
        for kind, rows in (("train", self.train_dataset), ("eval", self.eval_dataset)):
            if rows is None:
                continue
            known = getattr(card, f"{kind}_datasets")
            described = card.extract_dataset_metadata(
                rows.remove_columns(REFERENCE_COLUMN), dataset_metadata=known, loss=self.loss, dataset_type=kind
            )
            for one in described if not self.args.card_examples else ():
                for key in ("examples", "examples_table", "_example_columns"):
                    one.pop(key, None)
            setattr(card, f"{kind}_datasets", described)

    def _prepare_rows(
        self, args: CCDConfig, train_dataset: Dataset, eval_dataset: Dataset | None
    ) -> dict[str, Dataset]:
        """Usable rows of both splits; sets ``groups`` and ``n_skipped``."""
        train, self.groups, self.n_skipped = select_rows(train_dataset, args.neutral_column, args.group_columns)
        splits = {"train": train}
        if eval_dataset is not None:
            splits["eval"], _, skipped = select_rows(eval_dataset, args.neutral_column, self.groups)
            self.n_skipped += skipped
        elif IntervalStrategy(args.eval_strategy) != IntervalStrategy.NO:
            held_out = args.validation_rows or min(1000, max(1, len(train) // 10))
            if held_out >= len(train):
                raise ValueError(
                    f"{len(train)} usable row(s) cannot be split into training rows and {held_out} validation row(s). "
                    "Give more rows, a smaller validation_rows, an eval_dataset, or eval_strategy='no'."
                )
            splits["eval"] = train.select(range(len(train) - held_out, len(train)))
            splits["train"] = train.select(range(len(train) - held_out))
        counts = ", ".join(f"{len(rows)} rows for {name}" for name, rows in splits.items())
        logger.info("CCD uses %s; %d rows without attribute terms are left out.", counts, self.n_skipped)
        return splits

    def _embed(self, args: CCDConfig, name: str, rows: Dataset) -> None:
        """Make sure of the original encoder's embeddings and distances of a split."""
        if name not in self.references:
            self.references[name] = embed_references(
                self.encoder.model,
                rows,
                self.groups,
                args.neutral_column,
                collator=self.get_data_collator(self.encoder.model, args),
                batch_size=args.per_device_eval_batch_size,
                rank=args.process_index,
                world_size=args.world_size,
                show_progress=False if args.disable_tqdm else None,
            )
        found = self.references[name]
        if len(found.neutral) != len(rows):
            raise ValueError(
                f"references[{name!r}] belong to {len(found.neutral)} rows, but the data set has {len(rows)} usable "
                "rows. Share references between runs on the same data and settings only."
            )

    @staticmethod
    def _derive_steps(args: CCDConfig, n_rows: int) -> None:
        """Refuse a run without a step; set the steps between validations, min(500, steps / 5), if left open."""
        batch = args.train_batch_size * args.world_size
        batches = n_rows // batch if args.dataloader_drop_last else math.ceil(n_rows / batch)
        if batches == 0:
            raise ValueError(
                f"{n_rows} training rows do not fill one global batch of {batch} ({args.world_size} process(es)), and "
                "incomplete batches are dropped. Lower per_device_train_batch_size or give more rows."
            )
        steps = math.ceil(math.ceil(batches / args.gradient_accumulation_steps) * args.num_train_epochs)
        steps = args.max_steps if args.max_steps > 0 else steps
        if args.derive_eval_steps:
            args.eval_steps = args.save_steps = max(1, min(500, steps // 5))

    @staticmethod
    def _fit_eval_batches(args: CCDConfig, n_rows: int) -> None:
        """Make validation batches of a size that fills every process in every round.

        sentence-transformers drops incomplete batches under DDP, those of the validation set too: rows would be
        lost, and a process without any batch has no loss to choose the best checkpoint by.
        """
        rounds = math.ceil(n_rows / (args.per_device_eval_batch_size * args.world_size))
        size = n_rows // (rounds * args.world_size)
        if size == 0:
            raise ValueError(
                f"{n_rows} validation row(s) cannot be shared by {args.world_size} processes. "
                "Give more rows with validation_rows or an eval_dataset."
            )
        args.per_device_eval_batch_size = size

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """Train; dropout is off meanwhile unless the config says otherwise.

        Args:
            resume_from_checkpoint: folder of a checkpoint, or True for the last one in ``output_dir``. Build
                the trainer with the *original* model: it gives the reference embeddings.
            args: see `transformers.Trainer.train`.
            kwargs: see `transformers.Trainer.train`.

        Raises:
            ValueError: the checkpoint was trained against other references, groups or settings.
        """
        if resume_from_checkpoint is True:
            resume_from_checkpoint = last_whole_checkpoint(self.args.output_dir)
            if resume_from_checkpoint is None:
                raise ValueError(f"There is no checkpoint to resume from in {self.args.output_dir}.")
        if resume_from_checkpoint:
            self._check_same_run(resume_from_checkpoint)
        with contextlib.nullcontext() if self.args.keep_dropout else dropout_off(self.model):
            texts = self.train_dataset[:2][self.args.neutral_column]
            if not self.args.keep_dropout and not is_deterministic(self.model, list(texts)):
                warnings.warn(
                    "Dropout could not be switched off in this model, so loss_rep starts above 0 and is noisy. "
                    "Set the dropout rates of its config to 0 before training.",
                    FairnessWarning,
                    stacklevel=2,
                )
            return super().train(resume_from_checkpoint, *args, **kwargs)

    def track_loss_components(self, loss: dict[str, torch.Tensor]) -> None:
        """Training: as the parent does. Validation: kept for `prediction_step`, which knows the number of rows."""
        if self.model.training:
            super().track_loss_components(loss)
        else:
            self._last_parts = {name: value.detach() for name, value in loss.items()}

    def prediction_step(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """As the parent, and keep the parts of the loss once per row, gathered as the Trainer gathers the loss."""
        n_rows = len(inputs[REFERENCE_COLUMN])
        found = super().prediction_step(model, inputs, *args, **kwargs)
        for name, value in self._last_parts.items():
            per_row = self.accelerator.gather_for_metrics(value.repeat(n_rows))
            self._eval_parts.setdefault(name, []).append(per_row.double().cpu())
        return found

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> Any:
        """As the parent; its metrics hold the parts of the loss too, each averaged over rows as the loss is."""
        self._eval_parts: dict[str, list[torch.Tensor]] = {}
        with torch.random.fork_rng(devices=[]):  # the loader draws a seed: with and without it dropout is the same
            found = super().evaluation_loop(*args, **kwargs)
        prefix = kwargs.get("metric_key_prefix", args[4] if len(args) > 4 else "eval")
        for name, values in self._eval_parts.items():
            found.metrics[f"{prefix}_{name}"] = torch.cat(values).mean().item()
        return found

    def describe_run(self) -> dict[str, Any]:
        """What this run was made of, as saved in ``ccd_config.json``."""
        return {
            "base_model": self.base_model,
            "beta": self.args.beta,
            "bias_weight": self.args.bias_weight,
            "random_gaps": self.args.random_gaps,
            "rho": self.kernel.rho,
            "rho_mode": self.kernel.mode,
            "kernel_share_low": self.kernel.share_low,
            "kernel_share_high": self.kernel.share_high,
            "mean_distance": self.kernel.mean_distance,
            "group_columns": self.groups,
            "neutral_column": self.args.neutral_column,
            "n_train": len(self.train_dataset),
            "n_eval": len(self.eval_dataset) if self.eval_dataset is not None else 0,
            "n_skipped": self.n_skipped,
            "lora": self.encoder.adapted,
            "mlm_head": self.encoder.head is not None,
            "dropout": self.args.keep_dropout,
            "processes": self.args.world_size,
            "seed": self.args.seed,
            "source": "Deng et al. 2024, LLM-Assisted Content Conditional Debiasing for Fair Text Embedding",
        }

    def base(self) -> str:
        """The encoder that was trained."""
        return self._source

    def load_code(self) -> str:
        """Any tool for sentence encoders opens it."""
        return LOAD_ENCODER

    def library_card(self, folder: Path) -> str:
        """What sentence-transformers says of data, settings and losses."""
        path = folder / CARD
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def _check_same_run(self, folder: str) -> None:
        path = Path(folder) / RUN_FILE
        if not path.is_file():
            raise ValueError(f"{folder} is no checkpoint of a CCDTrainer: it has no {RUN_FILE}.")
        before, now = json.loads(path.read_text(encoding="utf-8")), self.describe_run()
        for key in ("rho", "beta", "bias_weight", "random_gaps", "group_columns", "n_train", "lora", "mlm_head"):
            same = math.isclose(before[key], now[key], rel_tol=1e-4) if key == "rho" else before[key] == now[key]
            if not same:
                raise ValueError(
                    f"The checkpoint was trained with {key} = {before[key]!r}, this run has {now[key]!r}. Build the "
                    f"trainer with the original model ({before['base_model']}), the same data and settings."
                )

    def progress(self) -> dict[str, Any]:
        """Also the parts of the loss, and of the card the rows of its table and the time of the evaluations."""
        sums, card = rank_sums(self.accum_loss_components["train"], self.args), self.model.model_card_data
        more = {"parts": sums, "card": card.training_logs, "evaluation_seconds": card.evaluation_duration}
        return {**super().progress(), **more}

    def restore_progress(self, saved: dict[str, Any]) -> None:
        """Undo `progress`."""
        super().restore_progress(saved)
        rank = self.args.process_index
        self.accum_loss_components["train"] = {
            name: torch.tensor(values[rank], device=self.args.device)
            for name, values in saved["parts"].items()
            if len(values) == self.args.world_size
        }
        card = self.model.model_card_data
        card.training_logs, card.evaluation_duration = saved["card"], saved["evaluation_seconds"]
        card._training_start_time = time.time() - saved["seconds"]  # of the whole training, not of its last part

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Save a model that opens without code of ours; LoRA weights also on their own, to train on."""
        if not self.args.should_save:  # `Trainer` asks every process, and the parent takes it that there is one
            return
        folder = Path(output_dir if output_dir is not None else self.args.output_dir)
        with self.encoder.as_saved():
            super()._save(str(folder), state_dict)
        if self.encoder.adapted:
            self.encoder.save_adapter(folder)
        (folder / RUN_FILE).write_text(json.dumps(self.describe_run(), indent=2) + "\n", encoding="utf-8")

    def _load_from_checkpoint(self, checkpoint_path: str, model: Any = None) -> None:
        """Undo `_save`: read LoRA weights from their folder, and an encoder from under its head."""
        if self.encoder.adapted:
            self.encoder.load_adapter(Path(checkpoint_path))
        elif self.encoder.pooler_may_lack:
            saved = SentenceTransformer(checkpoint_path, device="cpu", trust_remote_code=False).state_dict()
            missing, _ = self.model.load_state_dict(saved, strict=False)
            if missing:
                raise ValueError(f"{checkpoint_path} lacks weights of the model: {', '.join(missing)}.")
        else:
            super()._load_from_checkpoint(checkpoint_path)


def _source_of(model: Any) -> str:
    """Where a model comes from: an id or a folder; empty where it was made in memory."""
    if isinstance(model, TrainableEncoder):
        model = model.source or model.model
    if isinstance(model, SentenceTransformer):
        model = model.model_card_data.base_model or getattr(model[0], "model", None)
    return str(model) if isinstance(model, (str, Path)) else getattr(model, "name_or_path", "")
