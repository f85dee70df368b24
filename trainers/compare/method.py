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

from hf_fairness.encoders import BaseEncoder, RememberingEncoder, as_encoder
from hf_fairness.measure.audit import audit
from hf_fairness.measure.model_keys import source_key
from hf_fairness.record import Arm, Record, Role
from hf_fairness.report.audit_record import audit_changes
from hf_fairness.report.text import shown_name
from hf_fairness.runs import content_key
from hf_fairness.trainers.baselines import BASELINES, baseline
from hf_fairness.trainers.baselines.base import Baseline
from hf_fairness.trainers.ccd.method import CONTROL as ABOUT_CONTROL
from hf_fairness.trainers.ccd.method import train_ccd
from hf_fairness.trainers.compare.arguments import CONTROL, CompareArguments, CompareConfig
from hf_fairness.trainers.compare.league import claims, league_table, pareto
from hf_fairness.trainers.experiment import EvalSet, Fitted, Found, Plan, Scored, run_experiment
from hf_fairness.trainers.training.benchmarks import Benchmark
from hf_fairness.trainers.training.encoder_method import HELD_OUT, Audit, EncoderMethod
from hf_fairness.trainers.training.memory import PeakMemory
from hf_fairness.trainers.training.stopping import DivergedError

logger = logging.getLogger(__name__)

_BEFORE = "before"
#: Errors of settings, rows and files, which stop a run.
_OF_THE_USER = (ValueError, TypeError, ImportError, OSError)
_AGAIN = "What is finished is kept: mend the cause or leave it out, and run the same command again"
_LIMITS = (
    "All methods had the same rows, and those that train the same epochs, batches and learning rate, but where a "
    "setting of the method says otherwise. One that was published with other data or settings may do better there.",
    "A claim is about these sets, these rows and this model. That one falls here does not show that it fell where it "
    "was made.",
)


def run_compare(
    arguments: CompareArguments,
    config: CompareConfig,
    rows: Dataset,
    *,
    text_column: str | None = None,
    variants: Mapping[str, Any] | None = None,
    sts_pairs: Any = None,
    **data: Any,
) -> dict[str, Any]:
    """Change one encoder with every method, set further models beside it, and say which claims stand.

    Args:
        arguments: model, methods and what to run.
        config: settings of the trainings; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        text_column: column of the texts; None when `rows` hold one text column per group and ``neutral``.
        variants: sets of variants by name to measure CCED on, beside the one this package carries.
        sts_pairs: rows with ``sentence1``, ``sentence2``, ``score``.
        data: rows of published benchmarks and of utility sets, see :func:`hf_fairness.trainers.run_ccd`.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does: the arms are ``before``, the methods by their
        names and the further models; and ``claims``: what became of each, ``costs``: seconds and memory by arm.

    Raises:
        ValueError: bad data, or a method that was named and cannot work with the model.
        RunLockedError: another run works in the same folder.
    """
    given = {"rows": rows, "text_column": text_column, "variants": dict(variants or {}), "sts_pairs": sts_pairs}
    return run_experiment(CompareMethod, arguments, config, **given, **data)


class CompareMethod(EncoderMethod):
    """Every method is an arm, and so is every further model."""

    command = "compare"
    source = "methods and models on one bench, with claims that stand, fall or cannot be decided"
    quoted = ("learning_rate", "num_train_epochs", "max_steps", "per_device_train_batch_size", "use_peft", "seed")
    limits = (*_LIMITS, *EncoderMethod.limits)
    arguments: CompareArguments
    config: CompareConfig

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.fitted: dict[str, Fitted] = {}

    @cached_property
    def _checked(self) -> tuple[dict[str, Baseline], dict[str, str]]:
        """Methods by name that can work with this model, and why others cannot."""
        able, unable = {}, {}
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
        return able, unable

    @property
    def methods(self) -> dict[str, Baseline]:
        """Methods by name."""
        return {name: method for name, method in self._checked[0].items() if name not in self.left_out}

    @property
    def main(self) -> str:  # type: ignore[override]
        """The method that the report tells most of; without one the first further model."""
        return self.arguments.publish or next(iter([*self.methods, *self.further]))

    @cached_property
    def further(self) -> dict[str, str]:
        """Further models by name of the arm."""
        found: dict[str, str] = {}
        for model in self.arguments.models or []:
            name = str(shown_name(model)).rsplit("/", 1)[-1]
            taken = {_BEFORE, CONTROL, *self._checked[0], *found}
            while name in taken:
                name += "'"
            found[name] = model
        return {name: model for name, model in found.items() if name not in self.left_out}

    @property
    def what(self) -> str:  # type: ignore[override]
        """What the published method did."""
        return f"{self.methods[self.main].about}." if self.main in self.methods else ""

    @property
    def model_name(self) -> str:
        """After the method whose model is kept."""
        return str(self.config.hub_model_id or f"{self.base_name.rsplit('/', 1)[-1]}-{self.main}")

    def prepare(self) -> None:
        """Refuse what cannot work, then make the rows."""
        for name, why in self._checked[1].items():
            logger.warning("%s is left out: %s", name, why)
        opening = partial(as_encoder, device="cpu", show_progress=False)
        # each is opened and let go: one that is none is known before hours are spent
        self.once("further models open", lambda: [opening(model).label for model in self.further.values()])
        super().prepare()

    def arms(self) -> Sequence[Plan]:
        """The original, the control of CCD, the methods, then further models; all are held against the main one too."""
        plans = [Plan(Arm(_BEFORE, "none", "original", self.base_name))]
        if self.with_control:
            plans.append(Plan(Arm(CONTROL, CONTROL, "control", ABOUT_CONTROL), ("ccd",), (_BEFORE,)))
        for name, method in self.methods.items():
            role: Role = "method" if name == self.main else "control" if method.is_control else "rival"
            plans.append(Plan(Arm(name, method.title, role, method.about), (), (_BEFORE, *self._held_against(name))))
        for name, model in self.further.items():
            about = f"{shown_name(model)}, as it was published"
            plans.append(Plan(Arm(name, name, "rival", about), (), (_BEFORE, *self._held_against(name))))
        return plans

    @property
    def with_control(self) -> bool:
        """Whether the twin of CCD is an arm."""
        return self.arguments.with_control and "ccd" in self.methods and CONTROL not in self.left_out

    @property
    def controls(self) -> dict[str, str]:
        """The control of each method that has one among the arms."""
        there = {CONTROL} if self.with_control else set()
        there |= {name for name, method in self.methods.items() if method.is_control}
        return {name: method.control for name, method in self.methods.items() if method.control in there}

    def _held_against(self, name: str) -> tuple[str, ...]:
        """Its control, and the main method."""
        others = (self.controls.get(name, ""), self.main if self.main in self.methods else "")
        return tuple(other for other in dict.fromkeys(others) if other not in ("", name))

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """The original, a further model, or a method's stage."""
        self.fitted[name] = self._fit(name, fitted)
        return self.fitted[name]

    def _fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        if name == _BEFORE:
            return self.untouched(name)
        if name in self.further:
            model = self.further[name]
            return Fitted(name, [self.once(f"key of {model}", lambda: source_key(model))], model)
        method = baseline("ccd") if name == CONTROL else self.methods[name]
        stop = fitted["ccd"].training["kept_step"] if name == CONTROL else None
        settings = {key: value for key, value in self.settings.items() if key not in self._options}
        inputs = [
            *(self.base_key, self.opened_as, self.run.key("variants"), stop, type(method).__qualname__),
            *({option: getattr(self.config, option) for option in method.options}, method.files(self.config)),
            *([settings] if method.trains else []),
            *([self.seed] if method.seeded else []),
        ]

        def work(folder: Path) -> dict[str, Any]:
            started = time.perf_counter()
            with PeakMemory() as memory:
                given = self.given
                made = train_ccd(given, folder, stop=stop) if name == CONTROL else method.fit(given, folder)
            cost = {"seconds": time.perf_counter() - started, "peak_memory_mib": memory.mib}
            return {**{key: value for key, value in made.items() if key != "seconds"}, "cost": cost}

        return self.trained(name, f"fit_{name}", work, inputs=inputs, keep_partial=True)

    def leave_out(self, name: str, error: Exception, step: Literal["fit", "measure"]) -> str:
        """What went wrong, with the flag that names the arm.

        An error of settings, rows or files stops the run (a training that diverges is none), and so does one of the
        model that is published, of the last arm, or in one of several processes, which may no longer be in step.
        """
        if name == _BEFORE:
            raise error
        kind = next((each for each in _OF_THE_USER if isinstance(error, each)), None)
        flag, said = "models" if name in self.further else "methods", str(error).strip()
        if kind is None:
            said = f"{type(error).__name__}: {said.splitlines()[0] if said else 'no message'}"
        said = said if step == "fit" else f"its model cannot be measured: {said}"
        text = f"--{flag} {name}: {said.rstrip('.')}"
        checked = step == "fit" and not isinstance(error, DivergedError)
        of_the_user = kind is OSError or (kind is not None and checked)
        published = name == self.main and (self.arguments.publish or self.config.push_to_hub)
        last = len(self.methods) + len(self.further) == 1
        if of_the_user or published or last or self.config.world_size > 1:
            raise (kind or RuntimeError)(f"{text}. {_AGAIN}") from error
        return f"{text}. {_AGAIN}"

    @cached_property
    def _options(self) -> set[str]:
        """Settings that belong to a method: what one reads does not make another train anew."""
        return {option for name in BASELINES for option in baseline(name).options}

    def encoder(self, fitted: Fitted) -> RememberingEncoder:
        """An arm as an encoder. Its vectors stay for the comparisons, the model does not."""
        if fitted.model is None:
            return self.original
        key = content_key(fitted.key)
        return self.once(
            f"vectors {key}",
            lambda: RememberingEncoder(_Closed(str(fitted.model), str(self.config.device), self._open)),
        )

    def speaks(self, name: str) -> bool:
        """Whether an arm has a masked-language-model head of its own to ask."""
        if name in self.further:
            try:
                self.language_model(self.fitted[name])
            except (ValueError, TypeError, OSError):
                logger.warning("%s has no masked-language-model head: CrowS-Pairs and StereoSet leave it out.", name)
                return False
        return name not in self.methods or not self.methods[name].same_tokens

    def measure(self, fitted: Fitted, sets: Sequence[EvalSet], folder: Path) -> dict[str, Mapping[str, Any]]:
        """All sets that the arm can be asked."""
        of_tokens = [each for each in sets if isinstance(each, Benchmark) and each.items.needs_head]
        if of_tokens and not self.speaks(fitted.name):
            sets = [each for each in sets if each not in of_tokens]
        return super().measure(fitted, sets, folder)

    def sets(self) -> Sequence[EvalSet]:
        """The audit, with paired comparisons of all arms that are compared, and the benchmarks."""
        return [PairedAudit(self) if isinstance(each, Audit) else each for each in super().sets()]

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
        failed = [method.title for name, method in self._checked[0].items() if name in self.left_out]
        failed += [name for name in self.left_out if name not in self._checked[0]]
        table = league_table(record, made, costs, margin, failed)
        record = replace(
            record,
            tables=(table, *record.tables),
            figures={**record.figures, **({"bias_against_utility": picture} if picture else {})},
        )
        return record, {"claims": [asdict(each) for each in made], "costs": costs}


class _Closed(BaseEncoder):
    """An encoder that is opened when it is asked for something; of all that share a drawer the last one stays open."""

    shares = False

    def __init__(self, model: str, device: str, drawer: dict[str, Any]) -> None:
        self.name, self.device, self.drawer = model, device, drawer

    def _encode(self, texts: list[str]) -> Any:
        if self.name not in self.drawer:
            self.drawer.clear()
            self.drawer[self.name] = as_encoder(self.name, device=self.device, show_progress=False)
        return self.drawer[self.name].encode(texts)


class PairedAudit(Audit):
    """The audit; arms are compared with each other item by item too."""

    method: CompareMethod

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Against the original as it was audited; against another arm by an audit that has it for reference."""
        if other.arm == _BEFORE:
            return super().compare(one, other)
        method, (ours, theirs) = self.method, (self.method.fitted[each.arm] for each in (one, other))
        found = audit(
            method.encoder(ours),
            reference=method.encoder(theirs),
            attribute=method.attribute,
            variants=self.variants,
            sts_pairs=method.data["sts_pairs"],
            device=str(method.config.device),
            probes=False,
            **self.resamples,
        )
        return audit_changes(found.report)
