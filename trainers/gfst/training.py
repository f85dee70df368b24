"""Training a translator on pairs of texts, as GFST trains its initial model and those that follow.

Source: Choubey et al. 2021, *GFST: Gender-Filtered Self-Training for More Accurate Gender in Translation*.
"""

from __future__ import annotations

import copy
import logging
import math
import shutil
import warnings
from pathlib import Path
from typing import Any, ClassVar

import torch
from datasets import Dataset
from torch.nn import functional
from transformers import DataCollatorForSeq2Seq, EarlyStoppingCallback, Seq2SeqTrainer
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, IntervalStrategy

from hf_fairness.measure.translator.translation import token_limit
from hf_fairness.measure.translator.translation_languages import decoder_inputs, set_languages
from hf_fairness.report.artefact_card import load_translator
from hf_fairness.rows import check_dataset
from hf_fairness.trainers.gfst.config import GFSTConfig
from hf_fairness.trainers.training.averaging import KeepWeights, average_weights
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.length_groups import LengthGrouped
from hf_fairness.trainers.training.published import Published
from hf_fairness.utils import FairnessWarning

logger = logging.getLogger(__name__)

LENGTH = "length"
IGNORED = -100


class TranslationLoss:
    """Cross-entropy per token: with label smoothing in training, without it in validation.

    Args:
        smoothing: share of the uniform distribution in the targets.
    """

    def __init__(self, smoothing: float) -> None:
        self.smoothing = smoothing

    def __call__(self, outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
        """Sum over the labels, divided by the number of labels of the whole step where it is given."""
        total = functional.cross_entropy(
            outputs["logits"].flatten(0, 1).float(),
            labels.flatten(),
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=self.smoothing if torch.is_grad_enabled() else 0.0,
        )
        return total / (labels.ne(IGNORED).sum() if num_items_in_batch is None else num_items_in_batch)


class PairCollator(DataCollatorForSeq2Seq):
    """Makes the decoder's inputs for every model: the loss takes the labels away before the forward pass."""

    def __call__(self, features: Any, return_tensors: str | None = None) -> Any:
        """A padded batch."""
        batch = super().__call__(features, return_tensors)
        if "decoder_input_ids" not in batch:
            batch["decoder_input_ids"] = decoder_inputs(self.model, batch["labels"])
        return batch


class TranslationTrainer(LengthGrouped, Published, Seq2SeqTrainer):
    """A `Seq2SeqTrainer` whose batches of one length come in an order that a resumed run finds again."""

    what = "A translation model: {base}, trained on pairs of texts with the settings of GFST (Choubey et al. 2021)."
    limits = ("It learned from its pairs whatever they hold: the genders that translators chose, too.",)
    task: ClassVar[dict[str, str]] = {"library_name": "transformers", "pipeline_tag": "translation"}

    def load_code(self) -> str:
        """Any tool for translation models opens it."""
        return load_translator("The doctor said that she was tired.")

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """That of the settings; a learning rate that rises to the end is worth a word."""
        rises = self.args.get_warmup_steps(num_training_steps)
        if rises >= num_training_steps:
            warnings.warn(
                f"The learning rate rises for {rises} steps, but {num_training_steps} are trained: it never gets to "
                f"{self.args.learning_rate:g}. Set warmup_steps lower, or train longer.",
                FairnessWarning,
                stacklevel=2,
            )
        return super().create_scheduler(num_training_steps, optimizer)


def train_translator(
    model: Any,
    tokenizer: Any,
    train: Dataset,
    args: GFSTConfig,
    *,
    eval_dataset: Dataset | None = None,
    prefix: str = "",
    resume: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Train an encoder-decoder on pairs of texts, and end with the mean of its last checkpoints.

    Args:
        model: an ``AutoModelForSeq2SeqLM``; trained in place, in float32 (see `preparation.full_precision`).
        tokenizer: of the model. One of several languages must have its ``src_lang`` and ``tgt_lang`` set
            (:func:`hf_fairness.measure.translator.translation_languages.set_languages`).
        train: pairs, in the columns that ``args`` names.
        args: settings; with ``push_to_hub`` the model that training ends with is pushed, with its card.
        eval_dataset: pairs for validation and early stopping; None: neither.
        prefix: text before every source, as T5 wants.
        resume: go on from the last whole checkpoint in ``args.output_dir``, where there is one: bit for bit as if the
            run had not been stopped. It must be of the same data and settings.

    Returns:
        The model in evaluation mode, where ``args`` put it, and the history: ``train`` (step, loss, learning_rate),
        ``eval`` (step, loss per token, perplexity; the loss is a mean over batches), ``steps``, ``epochs``,
        ``stopped_early``, ``n`` pairs, ``n_empty`` and ``n_too_long`` pairs that were left out, and ``averaged``: the
        steps whose weights were averaged, none if there is one checkpoint or none, and ``loss``, that of the mean.

    Raises:
        TypeError: ``train`` is no Dataset, or ``args`` no GFSTConfig.
        ValueError: a missing column, no pair that can be trained on, or a model of many languages without a target.
        FileExistsError: there are checkpoints in ``args.output_dir``, and ``resume`` is false.

    Warns:
        FairnessWarning: pairs that were left out; a learning rate that rises to the end.

    Source:
        Choubey et al. 2021, appendix A ("Training").
    """
    if not isinstance(args, GFSTConfig):
        raise TypeError(f"args is a {type(args).__name__}, expected a GFSTConfig.")
    rows, left_out = encode_pairs(train, model, tokenizer, args, name="train", prefix=prefix)
    held_out = None
    if eval_dataset is not None:
        held_out, _ = encode_pairs(eval_dataset, model, tokenizer, args, name="eval_dataset", prefix=prefix)
    elif args.eval_strategy != IntervalStrategy.NO:
        args = copy.copy(args)
        args.eval_strategy = IntervalStrategy.NO
    callbacks: list[Any] = []
    if args.eval_strategy != IntervalStrategy.NO and args.early_stopping_patience is not None:
        callbacks.append(EarlyStoppingCallback(args.early_stopping_patience))
    weights = KeepWeights(args.output_dir, args.average_checkpoints)
    if args.average_checkpoints:
        callbacks.append(weights)
    trainer = TranslationTrainer(
        model=model,
        args=args,
        train_dataset=rows,
        eval_dataset=held_out,
        data_collator=PairCollator(tokenizer, model=model),
        processing_class=tokenizer,
        compute_loss_func=TranslationLoss(args.label_smoothing_factor),
        callbacks=callbacks,
    )
    checkpoint = _clear_the_way(args, resume)
    logger.info("Training on %s pairs.", f"{len(rows):,}")
    trainer.train(resume_from_checkpoint=checkpoint)
    history = _history(trainer) | {"n": len(rows), **left_out}
    trainer.accelerator.wait_for_everyone()
    history["averaged"] = _average(trainer, weights.kept() if args.average_checkpoints else {})
    if args.push_to_hub:
        trainer.push_to_hub()
    return trainer.model.eval(), history


def encode_pairs(
    pairs: Dataset, model: Any, tokenizer: Any, args: GFSTConfig, *, name: str = "train", prefix: str = ""
) -> tuple[Dataset, dict[str, int]]:
    """Tokenize pairs for training; those with an empty side, or longer than the model takes, are left out.

    Returns:
        Rows of ``input_ids``, ``attention_mask``, ``labels`` and ``length`` (tokens of both sides), and the numbers of
        pairs that were left out: ``n_empty``, ``n_too_long``.

    Raises:
        TypeError: ``pairs`` is no Dataset.
        ValueError: a missing column, no pair is left, or a model of many languages without a target.
    """
    check_dataset(pairs, name)
    columns = [args.source_column, args.target_column]
    missing = [column for column in columns if column not in pairs.column_names]
    if missing:
        raise ValueError(
            f"{name} has no column {missing[0]!r}; it has {', '.join(pairs.column_names) or 'none'}. Name the columns "
            "with source_column and target_column."
        )
    set_languages(model, tokenizer)
    limit = token_limit(model, tokenizer)
    with args.main_process_first(desc="tokenizing"):
        rows = pairs.select_columns(columns).map(
            _encode,
            batched=True,
            input_columns=columns,
            remove_columns=columns,
            fn_kwargs={"tokenizer": tokenizer, "prefix": prefix},
            desc=f"tokenizing {name}",
        )
    longest = rows["longest"][:] if len(rows) else []
    kept = [row for row, length in enumerate(longest) if 0 < length <= limit]
    n_empty = longest.count(0)
    left_out = {"n_empty": n_empty, "n_too_long": len(rows) - len(kept) - n_empty}
    if not kept:
        raise ValueError(
            f"{name} has no pair to train on: of {len(rows)}, {n_empty} have an empty side and "
            f"{left_out['n_too_long']} more than {limit} tokens."
        )
    if len(kept) < len(rows):
        warnings.warn(
            f"{name}: {n_empty} pairs with an empty side and {left_out['n_too_long']} with more than {limit} tokens "
            f"are left out of {len(rows)}.",
            FairnessWarning,
            stacklevel=3,
        )
        rows = rows.select(kept)
    return rows.remove_columns("longest"), left_out


def _encode(sources: list[str], targets: list[str], tokenizer: Any, prefix: str) -> dict[str, list[Any]]:
    encoded = dict(tokenizer([prefix + source for source in sources], text_target=targets))
    sides = zip(sources, targets, encoded["input_ids"], encoded["labels"], strict=True)
    found = [
        (len(ids) + len(labels), max(len(ids), len(labels)) if source.strip() and target.strip() else 0)
        for source, target, ids, labels in sides
    ]
    kept = {name: encoded[name] for name in ("input_ids", "attention_mask", "labels")}
    return {**kept, LENGTH: [length for length, _ in found], "longest": [longest for _, longest in found]}


def _clear_the_way(args: GFSTConfig, resume: bool) -> str | None:
    """The checkpoint to go on from; what a killed process left half written after it is removed."""
    checkpoints = list(Path(args.output_dir).glob(f"{PREFIX_CHECKPOINT_DIR}-*"))
    if checkpoints and not resume:
        raise FileExistsError(
            f"{args.output_dir} holds {checkpoints[0].name} of an earlier run. Go on from it with resume=True, or "
            "choose another output_dir."
        )
    whole = last_whole_checkpoint(args.output_dir)
    with args.main_process_first(desc="removing half-written checkpoints"):
        for path in checkpoints:
            if whole is None or int(path.name.rpartition("-")[2]) > int(whole.rpartition("-")[2]):
                shutil.rmtree(path, ignore_errors=True)
    return whole


def _history(trainer: Seq2SeqTrainer) -> dict[str, Any]:
    """Losses by step, as plain numbers."""
    state, found = trainer.state, trainer.state.log_history
    validations = [
        {"step": each["step"], "loss": each["eval_loss"], "perplexity": _perplexity(each["eval_loss"])}
        for each in found
        if "eval_loss" in each
    ]
    steps = [
        {"step": each["step"], "loss": each["loss"], "learning_rate": each["learning_rate"]}
        for each in found
        if "loss" in each
    ]
    return {
        "train": steps,
        "eval": validations,
        "steps": state.global_step,
        "epochs": state.epoch,
        "stopped_early": state.global_step < state.max_steps,
    }


def _perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))


def _average(trainer: Seq2SeqTrainer, kept: dict[int, Path]) -> dict[str, Any]:
    """Give the model the mean of the kept weights, and say what it is worth."""
    if len(kept) < 2:
        return {"steps": []}
    model = trainer.accelerator.unwrap_model(trainer.model)
    unexpected = model.load_state_dict(average_weights(list(kept.values())), strict=False).unexpected_keys
    if unexpected:
        raise ValueError(f"The checkpoints hold weights that the model has not: {', '.join(unexpected[:3])}.")
    found: dict[str, Any] = {"steps": list(kept)}
    if trainer.eval_dataset is not None:
        found["loss"] = trainer.evaluate()["eval_loss"]
        found["perplexity"] = _perplexity(found["loss"])
    return found
