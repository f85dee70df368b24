"""Methods and models on one bench: everything made of one encoder with the same rows, and measured alike.

Source of what is compared: see the methods under `hf_fairness.trainers.baselines`. That most differences vanish in
intervals over seeds and items is why there are both, and a claim for each (:mod:`hf_fairness.trainers.compare.league`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset

from hf_fairness.encoders import as_encoder
from hf_fairness.record import Arm, Record, Role
from hf_fairness.report.text import shown_name
from hf_fairness.trainers.baselines import baseline
from hf_fairness.trainers.baselines.base import Baseline, Given
from hf_fairness.trainers.compare.arguments import CONTROL, CompareArguments, CompareConfig
from hf_fairness.trainers.compare.league import claims, league_table, pareto
from hf_fairness.trainers.experiment import Found, Plan, run_experiment
from hf_fairness.trainers.training.encoder_method import BEFORE, HELD_OUT, EncoderMethod
from hf_fairness.trainers.training.memory import PeakMemory
from hf_fairness.trainers.training.stopping import DivergedError

logger = logging.getLogger(__name__)

#: Errors of settings, rows and files, which stop a run.
_OF_THE_USER = (ValueError, TypeError, ImportError, OSError)
_AGAIN = "What is finished is kept: mend the cause or leave it out, and run the same command again"
_LIMITS = (
    "All methods had the same rows, and those that train the same epochs, batches and learning rate, but where a "
    "setting of the method says otherwise. One that was published with other data or settings may do better there.",
    "A claim is about these sets, these rows and this model. That one falls here does not show that it fell where it "
    "was made.",
)


def run_compare(arguments: CompareArguments, config: CompareConfig, rows: Dataset, **data: Any) -> dict[str, Any]:
    """Change one encoder with every method, set further models beside it, and say which claims stand.

    Args:
        arguments: model, methods and what to run.
        config: settings of the trainings; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        data: see :func:`hf_fairness.trainers.run_ccd`.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does: the arms are ``before``, the methods by their
        names and the further models; and ``claims``: what became of each, ``costs``: seconds and memory by arm.

    Raises:
        ValueError: bad data, or a method that was named and cannot work with the model.
        RunLockedError: another run works in the same folder.
    """
    return run_experiment(CompareMethod, arguments, config, rows=rows, **data)


class Published(Baseline):
    """A further model, which is measured as it is."""

    def __init__(self, name: str, model: str) -> None:
        self.name = self.title = name  # type: ignore[misc]
        self.model, self.about = model, f"{shown_name(model)}, as it was published"  # type: ignore[misc]

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Nothing is made."""
        raise NotImplementedError


class CompareMethod(EncoderMethod):
    """Every method is an arm, and so is every further model."""

    command = "compare"
    source = "methods and models on one bench, with claims that stand, fall or cannot be decided"
    quoted = ("learning_rate", "num_train_epochs", "max_steps", "per_device_train_batch_size", "use_peft", "seed")
    limits = (*_LIMITS, *EncoderMethod.limits)
    in_pairs = True
    arguments: CompareArguments
    config: CompareConfig

    @cached_property
    def _checked(self) -> tuple[dict[str, Baseline], dict[str, str]]:
        """Methods and further models by name of the arm, and why other methods cannot work with this model."""
        able: dict[str, Baseline] = {}
        unable: dict[str, str] = {}
        for name in self.arguments.changing:
            method = baseline(name)
            try:
                method.check(self.opened, self.config, self.attribute)
            except (ValueError, ImportError) as error:
                if self.arguments.methods is not None:
                    raise type(error)(f"--methods {name}: {error}") from error
                unable[name] = str(error)
            else:
                able[name] = method
        for model in self.arguments.models or []:
            name = str(shown_name(model)).rsplit("/", 1)[-1]
            while name in (BEFORE, CONTROL, *able):
                name += "'"
            able[name] = Published(name, model)
        return able, unable

    @property
    def changes(self) -> Mapping[str, Baseline]:
        """Those that work; a twin of a method that does not is left out with it."""
        there = {name: each for name, each in self._checked[0].items() if name not in self.left_out}
        return {name: each for name, each in there.items() if not each.needs or each.needs in there}

    @property
    def main(self) -> str:  # type: ignore[override]
        """The method that the report tells most of; without one the first further model."""
        return self.arguments.publish or next(name for name, each in self.changes.items() if not each.needs)

    @property
    def model_name(self) -> str:
        """After the method whose model is kept."""
        return str(self.config.hub_model_id or f"{self.base_name.rsplit('/', 1)[-1]}-{self.main}")

    def prepare(self) -> None:
        """Refuse what cannot work, then make the rows."""
        for name, why in self._checked[1].items():
            logger.warning("%s is left out: %s", name, why)
        opening = partial(as_encoder, device="cpu", show_progress=False)
        models = [each.model for each in self.changes.values() if each.model is not None]
        # each is opened and let go: one that is none is known before hours are spent
        self.once("further models open", lambda: [opening(model).label for model in models])
        super().prepare()

    def arms(self) -> Sequence[Plan]:
        """The original, then all; each is held against it, its control, and the main method."""
        plans = [Plan(Arm(BEFORE, "none", "original", self.base_name))]
        for name, change in self.changes.items():
            role: Role = "method" if name == self.main else "control" if change.is_control else "rival"
            others = [BEFORE, self.controls.get(name, BEFORE)]
            if self.changes[self.main].model is None and not change.needs:
                others.append(self.main)
            against = tuple(other for other in dict.fromkeys(others) if other != name)
            plans.append(Plan(Arm(name, change.title, role, change.about), self.needed(change), against))
        return plans

    @property
    def controls(self) -> dict[str, str]:
        """The control of each method that has one among the arms."""
        changes = self.changes
        return {name: each.control for name, each in changes.items() if each.control in changes}

    def make(self, change: Baseline, given: Given, folder: Path) -> dict[str, Any]:
        """Change the encoder, and note what that cost."""
        started = time.perf_counter()
        with PeakMemory() as memory:
            made = super().make(change, given, folder)
        cost = {"seconds": time.perf_counter() - started, "peak_memory_mib": memory.mib}
        return {**{key: value for key, value in made.items() if key != "seconds"}, "cost": cost}

    def leave_out(self, name: str, error: Exception, step: Literal["fit", "measure"]) -> str:
        """What went wrong, with the flag that names the arm.

        An error of settings, rows or files stops the run (a training that diverges is none), and so does one of the
        model that is published, of the last arm, or in one of several processes, which may no longer be in step.
        """
        if name == BEFORE:
            raise error
        kind = next((each for each in _OF_THE_USER if isinstance(error, each)), None)
        flag, said = "methods" if self._checked[0][name].model is None else "models", str(error).strip()
        if kind is None:
            said = f"{type(error).__name__}: {said.splitlines()[0] if said else 'no message'}"
        said = said if step == "fit" else f"its model cannot be measured: {said}"
        text = f"--{flag} {name}: {said.rstrip('.')}"
        checked = step == "fit" and not isinstance(error, DivergedError)
        of_the_user = kind is OSError or (kind is not None and checked)
        published = name == self.main and (self.arguments.publish or self.config.push_to_hub)
        last = sum(not each.needs for each in self.changes.values()) == 1
        if of_the_user or published or last or self.config.world_size > 1:
            raise (kind or RuntimeError)(f"{text}. {_AGAIN}") from error
        return f"{text}. {_AGAIN}"

    def tell(self, found: Found) -> dict[str, Any]:
        """Beside what every method of encoders says, which methods were left out."""
        told = super().tell(found)
        left_out = (f"{name}: {why}" for name, why in self._checked[1].items())
        return {**told, "not_measured": (*left_out, *told["not_measured"])}

    def conclude(self, record: Record, seeds: Sequence[Record], found: Found) -> tuple[Record, dict[str, Any]]:
        """The league table, the picture of bias against utility, and the claims as values."""
        margin = self.arguments.utility_margin
        made = claims(seeds, self.controls, margin=margin)
        costs = {name: one.training["cost"] for name, one in found.fitted.items() if "cost" in one.training}
        ids = {measure.id for measure in record.measures}
        sets = [HELD_OUT, *self.data["variants"], "built-in"]
        bias = next(
            (each for name in sets if (each := f"cced/{name}/cced_relative") in ids), "seat/mean_abs_effect_size"
        )
        utility = "utility/sts_spearman" if "utility/sts_spearman" in ids else "utility/similarity_structure"
        picture = pareto(record, bias, utility)
        failed = [each.title for name, each in self._checked[0].items() if name in self.left_out]
        table = league_table(record, made, costs, margin, failed)
        record = replace(
            record,
            tables=(table, *record.tables),
            figures={**record.figures, **({"bias_against_utility": picture} if picture else {})},
        )
        return record, {"claims": [asdict(each) for each in made], "costs": costs}
