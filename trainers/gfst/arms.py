"""The trainings of a GFST run: the initial model, the final one, its control and the other arms.

Every training is a stage that all processes run, that a killed run takes up at its last checkpoint, and that leaves
``model`` (opens with the auto classes) in its folder.
"""

from __future__ import annotations

import copy
import logging
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import PartialState
from datasets import Dataset, load_from_disk

from hf_fairness.filters import PairLength
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation_languages import set_languages
from hf_fairness.runs import atomic_folder, atomic_write_text, discard
from hf_fairness.trainers.gfst.arguments import CONTROL, GFST, MIXED, RANDOM, RETRAIN, UNFILTERED
from hf_fairness.trainers.gfst.data import SOURCE, TARGET, drawn, joined, kept, per_group
from hf_fairness.trainers.gfst.job import Job
from hf_fairness.trainers.gfst.models import fresh_model, model_key, save_translator
from hf_fairness.trainers.gfst.small_translator import small_marian, small_tokenizer
from hf_fairness.trainers.gfst.training import train_translator
from hf_fairness.trainers.training.settings import training_settings
from hf_fairness.utils import FairnessWarning, is_main_process

logger = logging.getLogger(__name__)

#: What each training is, for the README in its folder and for reports.
SUMMARIES = {
    "initial": "the initial model, trained on the parallel data",
    GFST: "trained on the parallel data and on gender-filtered pseudo-parallel pairs, as many of each group",
    CONTROL: "trained for as many steps as GFST, on the parallel data alone",
    RANDOM: "trained on the parallel data and on as many random pseudo-parallel pairs as GFST's, not filtered",
    UNFILTERED: "trained as GFST, on as many pairs without the target filter",
}


class Arms:
    """The trainings; `start` and `initial` come first, then `train` for each arm.

    Attributes:
        source: model whose architecture and tokenizer are used: an id or a folder.
        base: the initial model, which translates: an id or a folder.
        base_key: what stands for it among the inputs of stages.
    """

    def __init__(self, job: Job, validation: Dataset | None) -> None:
        self.job, self.run, self.arguments, self.config = job, job.run, job.arguments, job.config
        self.validation = validation
        self.source: Path | str = ""
        self.base: Path | str = ""
        self.source_key: Any = None
        self.base_key: Any = None
        self.settings = training_settings(job.config)
        self._initial_steps: int | None = None
        self._gfst_steps: int | None = None

    @property
    def method(self) -> str:
        """How the arms are trained: from scratch, or from the initial model."""
        if self.arguments.method in (RETRAIN, MIXED):
            return str(self.arguments.method)
        return RETRAIN if self.arguments.trains_initial else MIXED

    def start(self, model: Any, tokenizer: Any) -> None:
        """Where everything begins: the named model, the given one, or a small one with a tokenizer of its own."""
        a = self.arguments
        if model is None and a.model_name_or_path is not None:
            self.source, self.source_key = a.model_name_or_path, model_key(a.model_name_or_path)
            return

        def work(folder: Path) -> dict[str, Any]:
            made = (model, tokenizer) if model is not None else self._small()
            save_translator(*made, folder)
            what = "the given model" if model is not None else "a small model with random weights"
            atomic_write_text(folder / "README.md", f"# GFST: start\n\nThe tokenizer and {what}, not trained here.\n")
            return {"parameters": sum(weight.numel() for weight in made[0].parameters())}

        small = [a.vocab_size, a.token_level, a.d_model, a.layers, a.heads, a.ffn, a.dropout, self.job.seed]
        inputs = model_key(model, tokenizer) if model is not None else [self.run.key("parallel"), small]
        self.run.stage("start", work, inputs=inputs)
        self.source, self.source_key = self.run.folder("start"), self.run.key("start")

    def _small(self) -> tuple[Any, Any]:
        a, rows = self.arguments, self.job.rows("parallel")
        texts = (text for column in (SOURCE, TARGET) for text in rows[column][:])
        tokenizer = small_tokenizer(texts, vocab_size=a.vocab_size, level=a.token_level)
        sizes: dict[str, Any] = {name: getattr(a, name) for name in ("d_model", "layers", "heads", "ffn", "dropout")}
        return small_marian(tokenizer, **sizes, seed=self.job.seed), tokenizer

    def initial(self) -> dict[str, Any] | None:
        """Train the initial model on the parallel data (algorithm 1, line 1); None where one was given."""
        if not self.arguments.trains_initial:
            self.base, self.base_key = self.source, self.source_key
            return None

        def work(folder: Path) -> dict[str, Any]:
            parts = lambda: joined([(load_from_disk(self.run.folder("parallel")), 1)])  # noqa: E731
            return self._train(folder, "initial", parts, fresh=True)

        inputs = [self.source_key, self.run.key("parallel"), self.settings, self.validation, self._languages()]
        result: dict[str, Any] = self.run.stage("initial", work, inputs=inputs, collective=True, keep_partial=True)
        self._initial_steps = result["steps"]
        self.base, self.base_key = self.run.folder("initial") / "model", self.run.key("initial")
        return result

    def names(self) -> list[str]:
        """The arms in their order."""
        return [GFST, CONTROL, *self.arguments.arms]

    def train(self, name: str) -> dict[str, Any]:
        """Train one arm; the control of GFST needs GFST to be trained first.

        Args:
            name: one of `names`.

        Returns:
            ``steps``, ``n_parallel`` original and ``n_pairs`` pseudo pairs, ``upsample``, ``starts_from``, ``history``.
        """
        sizes = self._sizes(name)
        steps = self._gfst_steps if name == CONTROL else self._steps(sizes)
        if steps is None:
            raise RuntimeError("The control has as many steps as GFST: train GFST first.")
        if name == GFST:
            self._gfst_steps = steps

        def work(folder: Path) -> dict[str, Any]:
            fresh = self.method == RETRAIN
            found = self._train(folder, name, lambda: self._rows(name, sizes), fresh=fresh, steps=steps)
            return {**sizes, **found, "starts_from": "new weights" if fresh else "the initial model"}

        begin = self.source_key if self.method == RETRAIN else self.base_key
        stages = [stage for stage in ("parallel", "balance", RANDOM, "translate") if self._needs(name, stage)]
        tuned = [self.arguments.finetune_learning_rate] if self.method == MIXED else []
        inputs = [begin, name, self.method, steps, sizes, [self.run.key(stage) for stage in stages], tuned]
        inputs += [self.settings, self.validation, self._languages(), self.job.seed]
        result: dict[str, Any] = self.run.stage(
            f"train_{name}", work, inputs=inputs, collective=True, keep_partial=True
        )
        return result

    @staticmethod
    def _needs(name: str, stage: str) -> bool:
        own = {CONTROL: "", RANDOM: RANDOM, UNFILTERED: "translate"}.get(name, "balance")
        return stage in ("parallel", own)

    def _sizes(self, name: str) -> dict[str, int]:
        """Original and pseudo pairs of an arm, and how often the latter are used."""
        n_parallel, times = len(load_from_disk(self.run.folder("parallel"))), self.arguments.upsample
        if name == CONTROL:
            return {"n_parallel": n_parallel, "n_pairs": 0, "upsample": times}
        n = len(load_from_disk(self.run.folder(RANDOM if name == RANDOM else "balance")))
        if name in self.job.groups:
            n //= len(self.job.groups)
        return {"n_parallel": n * times if self.method == MIXED else n_parallel, "n_pairs": n, "upsample": times}

    def _steps(self, sizes: dict[str, int]) -> int:
        """Updates in proportion to the pairs (appendix A)."""
        n = sizes["n_parallel"] + sizes["n_pairs"] * sizes["upsample"]
        if self.method == RETRAIN and self._initial_steps is not None:
            rate = self._initial_steps / sizes["n_parallel"]
        elif self.config.max_steps > 0:
            rate = self.config.max_steps / (sizes["n_parallel"] if self.method == RETRAIN else self._gfst_rows())
            if self.method == MIXED and self.arguments.trains_initial:  # max_steps was that of the initial model
                rate = self.arguments.finetune_num_train_epochs / self._step_rows()
        else:
            epochs = (
                self.config.num_train_epochs if self.method == RETRAIN else self.arguments.finetune_num_train_epochs
            )
            rate = epochs / self._step_rows()
        return max(1, round(rate * n))

    def _gfst_rows(self) -> int:
        sizes = self._sizes(GFST)
        return sizes["n_parallel"] + sizes["n_pairs"] * sizes["upsample"]

    def _step_rows(self) -> int:
        """Pairs of one update, over all processes."""
        config = self.config
        return int(config.train_batch_size * config.gradient_accumulation_steps * config.world_size)

    def _rows(self, name: str, sizes: dict[str, int]) -> Dataset:
        """What an arm is trained on."""
        parallel, times = load_from_disk(self.run.folder("parallel")), self.arguments.upsample
        if name == CONTROL:
            return joined([(parallel, 1)])
        pairs = self._pseudo(name)
        if self.method == MIXED:
            parallel = drawn(parallel, sizes["n_parallel"], seed=self.job.seed)
        return joined([(parallel, 1), (pairs, times)])

    def _pseudo(self, name: str) -> Dataset:
        """The pseudo-parallel pairs of an arm."""
        if name == RANDOM:
            return self.job.rows(RANDOM)
        balanced = self.job.rows("balance")
        size = len(balanced) // len(self.job.groups)
        if name == UNFILTERED:
            pairs = self.job.rows("translate").map(PairLength(SOURCE, TARGET, **self.job.limits), batched=True)
            return per_group(kept(pairs), dict.fromkeys(self.job.groups, size), seed=self.job.seed)
        return balanced if name == GFST else per_group(balanced, {name: size}, seed=self.job.seed)

    def _languages(self) -> list[str | None]:
        a = self.arguments
        return [a.source_code, a.target_code, a.prefix]

    def _train(
        self, folder: Path, name: str, rows: Callable[[], Dataset], *, fresh: bool, steps: int | None = None
    ) -> dict[str, Any]:
        """Train on all processes; ``steps`` says when to end, None leaves it to the settings and the validation."""
        start = time.perf_counter()
        data, state = folder / "data", PartialState()
        if is_main_process() and not data.is_dir():
            with atomic_folder(data) as place:  # what tokenizing caches beside it goes with it
                self._prefixed(rows()).save_to_disk(place)
        state.wait_for_everyone()
        model, tokenizer = open_translator(self.source if fresh else self.base, to_train=True)
        if fresh:
            model = fresh_model(self.source, seed=self.job.seed)
        set_languages(model, tokenizer, self.arguments.source_code, self.arguments.target_code)
        train = load_from_disk(data)
        if is_main_process():
            logger.info("Training the arm %s on %s pairs.", name, f"{len(train):,}")
        held_out = None if self.validation is None else self._prefixed(self.validation)
        own = self._config(folder / "checkpoints", len(train), steps, fresh=fresh)
        model, history = train_translator(model, tokenizer, train, own, eval_dataset=held_out, resume=True)
        if is_main_process():
            save_translator(model, tokenizer, folder / "model")
            summary = SUMMARIES.get(name, f"trained as GFST, on the pseudo-parallel pairs of the group {name} alone")
            text = f"# GFST: {name}\n\nMade with hf-fairness: {summary}. {history['steps']} steps, seed {own.seed}.\n"
            atomic_write_text(folder / "model" / "README.md", text)
        state.wait_for_everyone()
        if is_main_process():
            for made in (data, folder / "checkpoints"):
                discard(made)
        return {"steps": history["steps"], "history": history, "seconds": round(time.perf_counter() - start, 3)}

    def _prefixed(self, rows: Dataset) -> Dataset:
        prefix = self.arguments.prefix
        return rows.map(_Prefix(prefix), batched=True, keep_in_memory=True) if prefix else rows

    def _config(self, folder: Path, n: int, steps: int | None, *, fresh: bool) -> Any:
        """Settings of one training: its place, its steps, and what fine-tuning changes."""
        own = copy.deepcopy(self.config)
        own.output_dir, own.push_to_hub = str(folder), False
        own.source_column, own.target_column = SOURCE, TARGET
        if steps is not None:
            own.max_steps, own.early_stopping_patience = steps, None
        if not fresh:
            own.warmup_steps = min(own.warmup_steps, (steps or 0) // 10) if own.warmup_steps >= 1 else own.warmup_steps
            own.learning_rate = self.arguments.finetune_learning_rate or own.learning_rate
        total = own.max_steps if own.max_steps > 0 else math.ceil(n / self._step_rows()) * own.num_train_epochs
        if own.warmup_steps >= total:
            warnings.warn(
                f"The learning rate rises for {own.warmup_steps:g} steps, but {total:g} are trained: it never gets to "
                f"{own.learning_rate:g}. Set --warmup_steps lower, or train longer.",
                FairnessWarning,
                stacklevel=2,
            )
        return own


class _Prefix:
    """Puts the model's prefix before every source."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __call__(self, batch: dict[str, list[str]]) -> dict[str, list[str]]:
        return {SOURCE: [self.prefix + text for text in batch[SOURCE]]}
