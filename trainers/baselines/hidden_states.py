"""What DPCE and ADEPT-F share: neutral words move in the hidden states, sentences with words of groups stay.

A step takes as many sentences with neutral words as rows, and each row's versions, one per group, which hold the words
of the groups. Where fewer sentences hold neutral words than there are rows, they come again: an epoch is as long as
that of any other method on the same rows. (The released code of both papers takes as many batches of either kind.)
Where fewer than ten hold one of the words of this package, all tokens of neutral versions are debiased instead, which
is said in the log and in what is told; words of a user's file are an error then.
"""

from __future__ import annotations

import contextlib
import copy
import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from datasets import Dataset
from safetensors.torch import load_model, save_model
from torch import Tensor
from transformers import PreTrainedModel, Trainer, set_seed
from transformers.trainer_utils import IntervalStrategy

from hf_fairness.attributes import Attribute
from hf_fairness.measure.variants import read_variants
from hf_fairness.runs import discard
from hf_fairness.trainers.baselines.base import Baseline, Given
from hf_fairness.trainers.baselines.words import (
    Sentence,
    Spans,
    check_reading,
    finder,
    group_finder,
    hidden_states,
    mean_states,
    padded,
    read_sentences,
    shares,
)
from hf_fairness.trainers.ccd.trainer import CCDTrainer
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint, rank_sums
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder, save_encoder
from hf_fairness.trainers.training.guarded import Guarded
from hf_fairness.trainers.training.preparation import dropout_off
from hf_fairness.utils import is_main_process

logger = logging.getLogger(__name__)

#: Which of the hidden states are debiased, by what a user calls them; the first are what the embeddings give.
LAYERS: dict[str, slice] = {"first": slice(0, 1), "last": slice(-1, None), "all": slice(None)}
#: Fewer different sentences with neutral words than this are no sample of them.
MIN_SENTENCES = 10
_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Sentences:
    """Rows as they are trained on.

    Attributes:
        groups: per group the tokenised versions, with the group's words in them.
        neutral: tokenised neutral versions that hold words to debias.
    """

    groups: Mapping[str, Sequence[Sentence]]
    neutral: Sequence[Sentence]

    def __len__(self) -> int:
        return len(next(iter(self.groups.values())))

    def paired(self, seed: int) -> list[tuple[list[Sentence], Sentence]]:
        """Each row's versions with a neutral sentence: each of these as often as any other, up to one."""
        order = np.random.default_rng(seed).permutation(len(self.neutral))
        versions = zip(*self.groups.values(), strict=True)
        return [(list(each), self.neutral[order[row % len(order)]]) for row, each in enumerate(versions)]


@dataclass(frozen=True)
class Batch:
    """Hidden states of a step.

    Attributes:
        words: of words to debias in the layers to debias, shape (rows, words, layers, dim).
        is_word: which of them are some, shape (rows, words).
        states: of the groups' versions, all tokens and layers, shape (rows, tokens, all layers, dim).
        original: the same under the original model.
        is_token: which of them are tokens, shape (rows, tokens).
    """

    words: Tensor
    is_word: Tensor
    states: Tensor
    original: Tensor
    is_token: Tensor


class HiddenStateTrainer(Guarded, Trainer):
    """Trains the transformer inside an encoder with a loss of its hidden states.

    Logged: ``loss`` and its parts ``loss_bias`` and ``loss_rep``, and in validation the same with ``eval_`` before
    them, averaged over steps or rows, and over processes. Dropout is off unless the config has ``keep_dropout``.

    Args:
        encoder: whose transformer is trained in place; its pooler, which no hidden state passes, stays.
        original: the transformer as it was; stays as it is.
        loss: makes the named parts of a batch; the second argument brings numbers of all processes together.
        layers: which states are handed to it as words.
        args: settings.
        train: rows; each with the versions of the groups and a neutral sentence.
        validation: the same, or None.
    """

    quick = True

    loss_is_scaled_for_ga = False

    def __init__(
        self,
        encoder: TrainableEncoder,
        original: PreTrainedModel,
        loss: Callable[[Batch, HiddenStateTrainer], dict[str, Tensor]],
        layers: slice,
        *,
        args: Any,
        train: list[Any],
        validation: list[Any] | None,
    ) -> None:
        self.original = original.requires_grad_(False).eval().to(args.device)
        self.layers, self.parts_of = layers, loss
        self.tokenizer = encoder.model.tokenizer
        self._parts: dict[str, Tensor] = {}
        self._eval_parts: dict[str, list[Tensor]] = {}
        model = encoder.transformer.model
        if getattr(model, "pooler", None) is not None:
            model.pooler.requires_grad_(False)
        args.remove_unused_columns = False
        super().__init__(
            model=model, args=args, train_dataset=train, eval_dataset=validation, data_collator=self.collate
        )

    def collate(self, rows: Sequence[tuple[list[Sentence], Sentence]]) -> dict[str, Tensor]:
        """Inputs of shape (rows, groups + 1, tokens), and shares of tokens in words, shape (rows, words, tokens)."""
        inputs = padded(self.tokenizer, [each for groups, neutral in rows for each in (*groups, neutral)])
        found = {name: torch.unflatten(value, 0, (len(rows), -1)) for name, value in inputs.items()}
        return {**found, "shares": shares([neutral for _, neutral in rows], found["input_ids"].shape[-1])}

    def compute_loss(
        self, model: Any, inputs: dict[str, Tensor], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The sum of the parts; they are kept for the log."""
        inputs = dict(inputs)
        taken, n = inputs.pop("shares"), len(inputs["input_ids"])
        states = hidden_states(model, {name: value.flatten(0, 1) for name, value in inputs.items()})
        states = torch.unflatten(states, 0, (n, -1))
        groups = {name: value[:, :-1] for name, value in inputs.items()}
        with torch.no_grad(), self.accelerator.autocast():
            original = hidden_states(self.original, {name: value.flatten(0, 1) for name, value in groups.items()})
        with torch.autocast(states.device.type, enabled=False):
            batch = Batch(
                words=torch.einsum("bwt,btld->bwld", taken, states[:, -1, :, self.layers]),
                is_word=taken.any(-1),
                states=states[:, :-1].flatten(1, 2),
                original=torch.unflatten(original, 0, (n, -1)).flatten(1, 2),
                is_token=groups["attention_mask"].bool().flatten(1, 2),
            )
            parts = self.parts_of(batch, self)
        self._last_parts = {f"loss_{name}": value.detach() for name, value in parts.items()}
        if self.model.training:
            for name, value in self._last_parts.items():
                share = value / self.current_gradient_accumulation_steps
                self._parts[name] = self._parts[name] + share if name in self._parts else share
        total = torch.stack(list(parts.values())).sum()
        return (total, {}) if return_outputs else total

    def of_all_processes(self, values: Tensor) -> Tensor:
        """Rows of all processes, in their order; the gradient of a loss of all of them is that of one process alone.

        Every process computes the same loss then. A launch averages the gradients of its processes, each of which
        knows those of its own rows: :meth:`spread` makes up for that.

        Args:
            values: shape (n, m); n may differ between processes.

        Returns:
            Shape (n of all, m); no gradient goes to rows of other processes.
        """
        if self.accelerator.num_processes == 1:
            return values
        longest = self.accelerator.pad_across_processes(values.detach(), dim=0, pad_index=torch.nan)
        gathered = torch.unflatten(self.accelerator.gather(longest), 0, (self.accelerator.num_processes, -1))
        rows = [each[~each.isnan().any(-1)] for each in gathered]
        rows[self.accelerator.process_index] = values
        return torch.cat(rows)

    def spread(self, value: Tensor) -> Tensor:
        """A loss of rows of all processes, with its gradient times the number of processes; see above."""
        return value + (self.accelerator.num_processes - 1) * (value - value.detach())

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer`, without dropout."""
        with contextlib.nullcontext() if getattr(self.args, "keep_dropout", False) else dropout_off(self.model):
            return super().train(*args, **kwargs)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """With the parts of the loss, averaged over the steps since the last line and over processes."""
        if "loss" in logs and self._parts:
            steps = max(1, self.state.global_step - self._parts_since)
            for name, value in self._parts.items():
                logs[name] = round(self.accelerator.reduce(value, "mean").item() / steps, 6)
            self._parts, self._parts_since = {}, self.state.global_step
        super().log(logs, *args, **kwargs)

    _parts_since = 0

    def prediction_step(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The loss; its parts are kept once per row, gathered as `Trainer` gathers the loss."""
        with torch.no_grad(), self.compute_loss_context_manager():
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
        for name, value in self._last_parts.items():
            per_row = self.accelerator.gather_for_metrics(value.repeat(len(inputs["input_ids"])))
            self._eval_parts.setdefault(name, []).append(per_row.double().cpu())
        return loss.detach(), None, None

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer`; the metrics hold the parts of the loss too."""
        self._eval_parts = {}
        found = super().evaluation_loop(*args, **kwargs)
        prefix = kwargs.get("metric_key_prefix", args[4] if len(args) > 4 else "eval")
        for name, values in self._eval_parts.items():
            found.metrics[f"{prefix}_{name}"] = torch.cat(values).mean().item()
        return found

    def progress(self) -> dict[str, Any]:
        """Also the parts of the loss."""
        return {**super().progress(), "parts": rank_sums(self._parts, self.args), "parts_since": self._parts_since}

    def restore_progress(self, saved: dict[str, Any]) -> None:
        """Undo `progress`."""
        super().restore_progress(saved)
        rank, self._parts_since = self.args.process_index, saved["parts_since"]
        self._parts = {
            name: torch.tensor(values[rank], device=self.args.device)
            for name, values in saved["parts"].items()
            if len(values) == self.args.world_size
        }

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """The weights alone: a checkpoint is to go on from, and is deleted at the end."""
        if self.args.should_save:
            folder = Path(output_dir if output_dir is not None else self.args.output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            save_model(self.model, str(folder / _WEIGHTS))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        load_model(self.model, Path(resume_from_checkpoint) / _WEIGHTS)

    def _load_best_model(self) -> None:
        self._load_from_checkpoint(str(self.state.best_model_checkpoint))


class HiddenStateMethod(Baseline):
    """A method that moves neutral words in the hidden states of a transformer.

    Attributes:
        prefix: of its settings.
    """

    prefix: ClassVar[str]

    def setting(self, config: Any, name: str) -> Any:
        """One of its settings."""
        return getattr(config, f"{self.prefix}_{name}")

    def files(self, config: Any) -> list[Path]:
        """The file of neutral words."""
        targets = self.setting(config, "targets")
        return [] if targets is None else [Path(targets)]

    @abstractmethod
    def words(self, config: Any, attribute: Attribute) -> Sequence[str] | None:
        """The neutral words to look for; None where all tokens of neutral versions are to be debiased."""

    @abstractmethod
    def loss(
        self, model: Any, tokenizer: Any, rows: Sentences, config: Any
    ) -> tuple[Callable[[Batch, HiddenStateTrainer], dict[str, Tensor]], dict[str, Any]]:
        """What makes the parts of the loss, computed once with the original model, and what to tell of it."""

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:
        """Refuse models without hidden states of words, and settings that cannot be.

        Raises:
            ValueError: says which.
        """
        check_reading(encoder)
        unknown = sorted(set(config.group_columns or ()) - set(attribute.group_names))
        if unknown:
            raise ValueError(
                f"{self.name} needs the words of each group: {', '.join(unknown)} is no group of "
                f"{attribute.name!r}, which has {', '.join(attribute.group_names)}. Give --attribute FILE that has it."
            )
        layers, rate = self.setting(config, "layers"), self.setting(config, "learning_rate")
        if layers not in LAYERS:
            raise ValueError(f"{self.prefix}_layers is {layers!r}, expected one of {', '.join(LAYERS)}.")
        if layers == "first" and config.use_peft:
            raise ValueError(
                f"{self.prefix}_layers first is what the embeddings give, which LoRA does not train: take last or all, "
                "or leave out --use_peft."
            )
        if rate is not None and not 0 < rate < float("inf"):
            raise ValueError(f"{self.prefix}_learning_rate is {rate!r}, expected a number above 0.")
        self.words(config, attribute)

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Train the transformer inside the encoder; see the class of the loss."""
        own, encoder = given.settings(folder), given.copy()
        own.learning_rate = self.setting(own, "learning_rate") or own.learning_rate
        original = copy.deepcopy(encoder.transformer.model)
        words = self.words(own, given.attribute)
        rows = self._read(encoder, given, given.rows, words)
        if len(rows.neutral) < MIN_SENTENCES and words is not None:
            few = f"{len(rows.neutral)} of {len(rows)} neutral texts hold one of the words of {self.name}"
            if self.setting(own, "targets") is not None:
                raise ValueError(f"{few}, expected {MIN_SENTENCES} or more. {self.more_words()}")
            logger.warning("%s: all tokens of neutral texts are taken instead. %s", few, self.more_words())
            words = None
            rows = self._read(encoder, given, given.rows, words)
        held_out = None if given.validation is None else self._read(encoder, given, given.validation, words)
        if held_out is not None and not held_out.neutral:
            logger.warning("%s: no validation row holds a neutral word, so the last step is kept.", self.name)
            held_out = None
        if held_out is None:
            own.eval_strategy, own.do_eval, own.load_best_model_at_end = IntervalStrategy.NO, False, False
        original.to(own.device)
        loss, told = self.loss(original, encoder.model.tokenizer, rows, own)
        if own.use_peft:
            set_seed(own.seed)
            encoder.add_lora(own)
        if getattr(own, "derive_eval_steps", False):
            CCDTrainer._derive_steps(own, len(rows))
        trainer = HiddenStateTrainer(
            encoder,
            original,
            loss,
            LAYERS[self.setting(own, "layers")],
            args=own,
            train=rows.paired(own.seed),
            validation=None if held_out is None else held_out.paired(own.seed),
        )
        checkpoint = last_whole_checkpoint(own.output_dir)
        own.eval_on_start = held_out is not None and checkpoint is None  # evaluate() before train() undoes the launch
        trainer.train(resume_from_checkpoint=checkpoint)
        history = list(trainer.state.log_history)
        before = {} if held_out is None else _parts(next(entry for entry in history if "eval_loss" in entry))
        after = {} if held_out is None else _parts(trainer.evaluate())
        best = trainer.state.best_model_checkpoint if own.load_best_model_at_end else None
        if is_main_process():
            encoder.model.model_card_data.base_model, encoder.model.model_card_data.first_save = given.base_id, False
            save_encoder(encoder, folder / "model")
        trainer.accelerator.wait_for_everyone()
        if is_main_process():
            discard(Path(str(own.output_dir)))
        return {
            "steps": trainer.state.global_step,
            "kept_step": int(best.rsplit("-", 1)[-1]) if best else trainer.state.global_step,
            "loss": next((entry["train_loss"] for entry in reversed(history) if "train_loss" in entry), None),
            "n_train": len(rows),
            "n_neutral_sentences": len(rows.neutral),
            "debiased": "all tokens of neutral texts" if words is None else "neutral words",
            **told,
            **{f"validation_{name}_before": value for name, value in before.items()},
            **{f"validation_{name}_after": value for name, value in after.items()},
            "seconds": history[-1].get("train_runtime") if history else None,
            "history": history,
        }

    def more_words(self) -> str:
        """What to do where too few sentences hold neutral words."""
        return f"Give words that your texts have with --{self.prefix}_targets FILE, one a line."

    def _read(self, encoder: TrainableEncoder, given: Given, rows: Dataset, words: Sequence[str] | None) -> Sentences:
        """Rows tokenised; those whose group words were all cut off stay, for all their tokens are to stay in place."""
        found = read_variants(rows, groups=given.groups)
        tokenizer = encoder.model.tokenizer
        groups = {
            group: read_sentences(tokenizer, texts, group_finder(given.attribute, group))
            for group, texts in found.groups.items()
        }
        find: Callable[[str], Spans] = finder(words) if words is not None else _nothing
        neutral = read_sentences(tokenizer, found.neutral, find)
        if words is None:
            neutral = [each.of_tokens() for each in neutral]
        return Sentences(groups, [each for each in neutral if each.words])


def group_states(
    model: Any, tokenizer: Any, rows: Sentences, batch_size: int
) -> list[tuple[dict[str, Tensor], Counter[str]]]:
    """Mean states of the words of each group and how often each stands there; see :func:`mean_states`.

    Raises:
        ValueError: a group without words.
    """
    found = []
    for group, sentences in rows.groups.items():
        found.append(mean_states(model, tokenizer, sentences, batch_size=batch_size))
        if not found[-1][0]:
            raise ValueError(
                f"The {len(rows)} rows hold no word of the group {group} that the tokenizer knows: nothing stands for "
                "the group. Check the rows, or take another model."
            )
    return found


def _nothing(text: str) -> Spans:
    return []


def _parts(metrics: Mapping[str, float]) -> dict[str, float]:
    """Loss and parts of an evaluation."""
    return {
        name.removeprefix("eval_"): float(metrics[name]) for name in ("eval_loss", "eval_loss_bias", "eval_loss_rep")
    }
