"""From a translator, parallel data and monolingual text to a translator that keeps people's gender more often.

Stages: ``parallel`` (pairs that can be used) -> ``filter_source`` (texts that speak of one group) -> ``start``,
``initial`` (the first model, where it is trained here) -> ``translate`` -> ``filter_target`` -> ``balance`` ->
``randst`` (random pairs) -> for each arm ``train_<arm>``, ``predict_<arm>`` (translations of the test sets) and
``scores_<arm>`` -> ``comparisons`` -> ``report`` -> ``model`` (a folder ready to publish). Each is kept in a folder of
the output directory, data sets and models with a card; a killed run goes on where it stopped, and `until` ends a run
after any of them.

Source: Choubey et al. 2021, *GFST: Gender-Filtered Self-Training for More Accurate Gender in Translation*.
"""

from __future__ import annotations

import copy
import logging
import math
import shutil
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from accelerate import PartialState
from datasets import Dataset, concatenate_datasets, load_from_disk

from hf_fairness._opening import find_tokenizer
from hf_fairness.erasure import DebiasWords, check_words
from hf_fairness.filters import GenderTagger
from hf_fairness.filters.drops import check_enough
from hf_fairness.measure.model_keys import source_key
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation_languages import set_languages
from hf_fairness.publishing import CARD, Artefact, write_splits
from hf_fairness.record import Record
from hf_fairness.report.artefact_card import About, from_record, load_translator
from hf_fairness.report.card import card_metadata
from hf_fairness.report.text import shown_name
from hf_fairness.runs import atomic_folder, atomic_write_json, atomic_write_text, discard
from hf_fairness.trainers.experiment import EvalSet, Fitted, Found, Plan, run_experiment
from hf_fairness.trainers.gfst.arguments import (
    BASELINE,
    CONTROL,
    GFST,
    HARD_DEBIASED,
    MIXED,
    RANDOM,
    RETRAIN,
    UNFILTERED,
    GFSTArguments,
)
from hf_fairness.trainers.gfst.checks import check_run
from hf_fairness.trainers.gfst.config import GFSTConfig
from hf_fairness.trainers.gfst.embeddings import ADVICE, debias_encoder
from hf_fairness.trainers.gfst.pairs import (
    CACHE,
    REVERSE,
    SOURCE,
    TARGET,
    TEXT,
    PairStages,
    as_rows,
    drawn,
    given_model,
    kept,
    per_group,
)
from hf_fairness.trainers.gfst.sets import TRANSLATIONS, WINOMT, TranslationSet, read, translation_sets
from hf_fairness.trainers.gfst.sheets import human_sheets, write_sheets
from hf_fairness.trainers.gfst.small_translator import fresh_weights, small_marian, small_tokenizer
from hf_fairness.trainers.gfst.summary import (
    LIMITS,
    MISSING,
    arm,
    cautions,
    ending,
    explained,
    kept_figure,
    kept_table,
    signatures,
)
from hf_fairness.trainers.gfst.training import train_translator
from hf_fairness.utils import FairnessWarning, is_main_process

logger = logging.getLogger(__name__)

#: The stage with the pseudo pairs of an arm, where it has none or others than the balanced ones.
LEARNS_FROM = {BASELINE: None, CONTROL: None, RANDOM: RANDOM, UNFILTERED: "filter_target"}


def run_gfst(
    arguments: GFSTArguments,
    train: Dataset | None,
    monolingual: Dataset | None,
    *,
    config: GFSTConfig | None = None,
    validation: Dataset | None = None,
    test: Dataset | None = None,
    winomt_rows: Any = None,
    must_she_rows: Any = None,
    tagger: GenderTagger | None = None,
    winomt_tagger: GenderTagger | None = None,
    model: Any = None,
    tokenizer: Any = None,
    reverse: tuple[Any, Any] | None = None,
) -> dict[str, Any]:
    """Filter, translate, filter, balance, train, and measure beside the control.

    Call it on every process of a distributed launch: see :func:`hf_fairness.trainers.experiment.run_experiment`.

    Args:
        arguments: method, arms, sizes; its file names are for the reader, as the data are given here.
        train: the parallel data, columns ``source`` and ``target``; None where `arguments.until` ends before they are
            needed.
        monolingual: texts, column ``text``, in the source language, for back-translation in the target language.
        config: settings of the training; ``output_dir`` holds all stages. None: the defaults, in ``gfst``.
        validation: pairs for the validation loss, and for the early stopping of the initial model.
        test: pairs of a generic test set.
        winomt_rows: rows for :func:`hf_fairness.measure.winomt`.
        must_she_rows: rows for :func:`hf_fairness.measure.must_she` that have a ``source``.
        tagger: genders of words of the target language, for the filter. None: ``arguments.lexicon``, else the tagger
            of the language.
        winomt_tagger: the same for WinoMT. None: that of the rules of the language; or else, and where the filter has
            one of its own, that of the filter.
        model: an ``AutoModelForSeq2SeqLM`` in place of ``arguments.model_name_or_path``.
        tokenizer: of the model.
        reverse: model and tokenizer in place of ``arguments.reverse_model``.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` returns: ``arms``, ``results`` of ``winomt``,
        ``must_she`` and ``test``, ``comparisons`` of GFST with each other arm ...; ``data`` (per stage what was kept
        and why rows were dropped), ``groups``, ``method``, ``explained``; ``sheets``, the
        files of ``arguments.human_sheets``. With `arguments.until` what there is then, and ``stages``, the folders.

    Raises:
        ValueError: data, language, model or arm that cannot be used.
        TooFewPairsError: the filters left too few pairs; says why they were dropped.
        ImportError, FileNotFoundError: a tagger, a measure or the report needs something that is not installed.
        RunLockedError: another run works in the same folder.
    """
    pairs = {"train": train, "validation": validation, "test": test}
    data = {
        **{name: None if rows is None else as_rows(rows, (SOURCE, TARGET), name) for name, rows in pairs.items()},
        "monolingual": None if monolingual is None else as_rows(monolingual, (TEXT,), "monolingual"),
        **{"winomt_rows": winomt_rows, "must_she_rows": must_she_rows, "tagger": tagger},
        **{"winomt_tagger": winomt_tagger, "reverse": reverse},
        "model": None if model is None else (model, tokenizer),
    }
    config = config or GFSTConfig(output_dir="gfst")
    check_run(arguments, data, config)
    result = run_experiment(GFSTMethod, arguments, config, **data)
    if arguments.human_sheets and is_main_process():
        out = Path(str(config.output_dir)).absolute()
        made = human_sheets(
            arguments.human_sheets,
            config.seed,
            {name: read(out / f"predict_{name}", TRANSLATIONS) for name in result["arms"]},
            load_from_disk(str(out / ("filter_source" if arguments.backwards else "filter_target"))),
            winomt_rows=winomt_rows,
            test=data["test"],
        )
        result["sheets"] = write_sheets(out, made)
        result["files"] = {**result.get("files", {}), **result["sheets"]}
    return result


def save_model(folder: Path, model: Any, tokenizer: Any, name: str, about: str) -> None:
    """A model with its tokenizer, and a card that says what it is."""
    for part in (model, tokenizer):
        part.save_pretrained(folder)
    atomic_write_text(folder / CARD, f"# GFST: {name}\n\n{about}\n")


class GFSTMethod(PairStages):
    """The initial model, GFST, its control and the other arms, as arms of an experiment.

    Attributes:
        start: what everything begins with: its architecture and tokenizer are used.
    """

    command = "gfst"
    source = "gender-filtered self-training (GFST, Choubey et al. 2021)"
    limits = LIMITS
    convention = (
        "GFST against each other model on the same rows, paired; the control is trained for exactly as many steps on "
        "the original parallel data alone; pseudo-parallel pairs are balanced by leaving out rows of the larger "
        "groups; intervals of one seed resample rows of the test sets, not trainings"
    )
    ideal = "accuracy, F1, BLEU, chrF 1; delta_g, delta_s, delta_r 0"
    direction = "accuracy, F1, BLEU, chrF: lower is worse; deltas further from 0 are worse"
    quoted = (
        *("learning_rate", "warmup_steps", "label_smoothing_factor", "per_device_train_batch_size"),
        *("num_train_epochs", "max_steps", "average_checkpoints", "max_length", "max_length_ratio", "seed"),
    )

    @property
    def base_name(self) -> str:
        """The model that is worked on, or the languages."""
        languages = f"{self.arguments.source_lang}-{self.arguments.target_lang}"
        return str(shown_name(self.arguments.model_name_or_path) or languages)

    @property
    def training_method(self) -> str:
        """How the arms are trained: from scratch, or from the initial model."""
        method, usual = self.arguments.method, RETRAIN if self.arguments.trains_initial else MIXED
        return method if method in (RETRAIN, MIXED) else usual

    def wants(self, step: Literal["fit", "measure", "report", "model"]) -> bool:
        """Whether the run goes as far as a step."""
        return bool(self.arguments.wants({"fit": "train", "measure": "scores"}.get(step, step)))

    def prepare(self) -> None:
        """The pairs and the initial model, as far as `until` says and as there are data for them."""
        a, run, first, last = self.arguments, self.run, self.first, self.last
        given, reverse = self.data["monolingual"], self.data["reverse"] or a.reverse_model
        if self.data["train"] is not None:
            self.make("parallel", self.parallel, self.train, self.lengths, self.filter_keys["filter_source"])
        if given is not None and a.wants(first):
            draws = [a.max_candidates, self.seed] if a.max_candidates else None
            self.make(first, self.texts, given, self.filter_keys[first], draws)
        if a.wants("start"):
            self.start = self._start()
        if a.wants("train") and set(a.arms) & set(HARD_DEBIASED):  # a tokenizer that was learned here, too
            check_words(find_tokenizer(self.start.model), DebiasWords.chosen(a.hd_words, self.attribute), ADVICE)
        if a.wants("initial"):  # algorithm 1, line 1
            self.base = self._train(BASELINE) if a.trains_initial else replace(self.start, name=BASELINE)
        if a.wants("translate"):
            self.translator = given_model(REVERSE, reverse) if a.backwards else self.base
            translating = [self.translator.key, self.translation_settings(self.translator)]
            self.make("translate", self.translated, run.key(first), *translating)
        if a.wants(last):
            self.make(last, self.filtered, run.key("translate"), self.lengths, self.filter_keys[last])
            check_enough(self.counts[last], self.groups, self.least)
        if a.wants("balance"):
            self.make("balance", self.balanced, run.key(last), a.max_pairs, a.min_pairs, self.seed, list(self.groups))
        if a.wants(RANDOM) and RANDOM in a.arms:
            size = self.counts["balance"]["n"]
            self.make(RANDOM, self.random, given, size, self.seed, *translating, self.lengths)

    def _start(self) -> Fitted:
        """The named model, the given one, or a small one with a tokenizer of its own."""
        a, given = self.arguments, self.data["model"]
        if given is None and a.model_name_or_path is not None:
            return given_model("start", a.model_name_or_path)
        sizes: dict[str, Any] = {name: getattr(a, name) for name in ("d_model", "layers", "heads", "ffn", "dropout")}

        def small() -> tuple[Any, Any]:
            texts = chain.from_iterable(self.rows("parallel")[column][:] for column in (SOURCE, TARGET))
            tokenizer = small_tokenizer(texts, vocab_size=a.vocab_size, level=a.token_level)
            return small_marian(tokenizer, **sizes, seed=self.seed), tokenizer

        def work(folder: Path) -> dict[str, Any]:
            model, tokenizer = given or small()
            what = "the given model" if given else "a small model with random weights"
            save_model(folder, model, tokenizer, "start", f"The tokenizer and {what}, not trained here.")
            return {"parameters": sum(weight.numel() for weight in model.parameters())}

        settings = [a.vocab_size, a.token_level, *sizes.values(), self.seed]
        self.run.stage("start", work, inputs=source_key(*given) if given else [self.run.key("parallel"), settings])
        return Fitted("start", self.run.key("start"), self.run.folder("start"))

    def arms(self) -> Sequence[Plan]:
        """The initial model, GFST, its control, and those that were asked for."""
        others = [*([CONTROL] if self.arguments.control else []), *self.arguments.arms]
        made_of = {name: HARD_DEBIASED[name] for name in others if name in HARD_DEBIASED}
        needs = {**made_of, **({CONTROL: GFST} if self.arguments.stop_arms_early else {})}
        rivals = [name for name in others if made_of.get(name) != GFST]
        return [
            Plan(arm(BASELINE)),
            Plan(arm(GFST), against=(BASELINE, *rivals)),
            *(
                Plan(
                    arm(name),
                    needs=(needs[name],) if name in needs else (),
                    against=(made_of[name],) if name in made_of else (),
                )
                for name in others
            ),
        ]

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Train one arm, or change what it reads, and let it translate the test sets."""
        if name in HARD_DEBIASED:
            made = self._hard_debiased(name, fitted[HARD_DEBIASED[name]])
        else:
            made = self.base if name == BASELINE else self._train(name, fitted)
        if self.arguments.wants("predict"):
            self._predict(made)
        return made

    def _hard_debiased(self, name: str, trained: Fitted) -> Fitted:
        """Another arm with hard-debiased embeddings of its encoder, as a stage that leaves ``model``."""
        words = DebiasWords.chosen(self.arguments.hd_words, self.attribute)

        def work(folder: Path) -> dict[str, str]:
            model, tokenizer = open_translator(trained.model, to_train=True)
            model, told = debias_encoder(model, tokenizer, words)
            save_model(folder / "model", model, tokenizer, name, f"Made with hf-fairness: {arm(name).about}.")
            return told

        stage = f"train_{name}"
        told = self.run.stage(stage, work, inputs=[trained.key, *map(sorted, astuple(words))])
        training = {**told, "starts_from": arm(trained.name).title}
        return Fitted(name, self.run.key(stage), self.run.folder(stage) / "model", training)

    def _train(self, name: str, fitted: Mapping[str, Fitted] | None = None) -> Fitted:
        """Train the initial model or an arm on all processes, as a stage that leaves ``model``.

        It opens with the auto classes. The initial model ends where settings and validation say, and with
        ``stop_arms_early`` so does each arm; the control has the steps of GFST.

        Args:
            name: of the arm.
            fitted: what there is already.

        Returns:
            With ``steps``, ``n_parallel`` original and ``n_pairs`` pseudo pairs, ``upsample``, ``starts_from``,
            ``history``.
        """
        a, first = self.arguments, name == BASELINE
        stage, about = ("initial", "trained on the parallel data") if first else (f"train_{name}", arm(name).about)
        fresh = first or self.training_method == RETRAIN
        begin = self.start if fresh else self.base
        original, pseudo = self._rows(name)
        sizes = {"n_parallel": len(original), "n_pairs": len(pseudo), "upsample": a.upsample}
        stops = self.arguments.stop_arms_early and name != CONTROL
        steps = None if first else self._steps(GFST if name == CONTROL else name, stops, fitted or {})

        def work(folder: Path) -> dict[str, Any]:
            start = time.perf_counter()
            data, state = folder / "data", PartialState()
            if is_main_process() and not data.is_dir():
                with atomic_folder(data) as place:  # what tokenizing caches beside it goes with it
                    concatenate_datasets([original, *[pseudo] * a.upsample]).save_to_disk(place)
            state.wait_for_everyone()
            model, tokenizer = open_translator(begin.model, to_train=True)
            if fresh:
                model = fresh_weights(model, seed=self.seed)
            set_languages(model, tokenizer, a.source_code, a.target_code)
            train = load_from_disk(data)
            if is_main_process():
                logger.info("Training %s on %s pairs.", stage, f"{len(train):,}")
            own = self._training_config(folder / "checkpoints", len(train), steps, fresh=fresh, stops=first or stops)
            model, history = train_translator(
                model, tokenizer, train, own, eval_dataset=self.data["validation"], prefix=a.prefix, resume=True
            )
            state.wait_for_everyone()
            if is_main_process():
                made = f"Made with hf-fairness: {about}. {history['steps']} steps, seed {own.seed}."
                save_model(folder / "model", model, tokenizer, stage.removeprefix("train_"), made)
                for place in (data, folder / "checkpoints"):
                    discard(place)
            return {"steps": history["steps"], "history": history, "seconds": round(time.perf_counter() - start, 3)}

        source = LEARNS_FROM.get(name, "balance")
        arm_key = [name, self.training_method, steps, sizes, [self.run.key(source)] if source else []]
        rate = [*([] if fresh else [a.finetune_learning_rate]), *(["stops"] if stops and not first else [])]
        inputs = [
            *(begin.key, self.run.key("parallel"), self.data["validation"], *([] if first else arm_key), *rate),
            *(self.settings, [a.source_code, a.target_code, a.prefix]),
        ]
        found = self.run.stage(stage, work, inputs=inputs, collective=True, keep_partial=True)
        starts_from = "new weights" if fresh else "the initial model"
        training = {**found, "n_pairs": 0} if first else {**sizes, **found, "starts_from": starts_from}
        if (first or stops) and found["history"]["eval"]:
            training["ended"] = ending(found["history"])
        return Fitted(name, self.run.key(stage), self.run.folder(stage) / "model", training)

    def _rows(self, name: str) -> tuple[Dataset, Dataset]:
        """The original pairs that a model is trained on, and the pseudo pairs, which are used `upsample` times."""
        original, source = load_from_disk(self.run.folder("parallel")), LEARNS_FROM.get(name, "balance")
        if source is None:
            return original, original.select([])
        pseudo = self.rows(source)
        if name == UNFILTERED:
            pseudo = kept(pseudo.remove_columns("target_reason"))
        if name != RANDOM:
            groups = [name] if name in self.groups else self.groups
            pseudo = per_group(pseudo, dict.fromkeys(groups, self.counts["balance"]["per_group"]), seed=self.seed)
        if self.training_method == MIXED:
            original = drawn(original, len(pseudo) * self.arguments.upsample, seed=self.seed)
        return original, pseudo.select_columns([SOURCE, TARGET])

    def _n_rows(self, name: str) -> int:
        """Rows that a model is trained on, each as often as it is used."""
        original, pseudo = self._rows(name)
        return len(original) + len(pseudo) * self.arguments.upsample

    def _steps(self, name: str, stops: bool, fitted: Mapping[str, Fitted]) -> int | None:
        """Updates in proportion to the pairs (appendix A); None where validation alone says when a training ends."""
        if self.arguments.stop_arms_early and not stops:  # the control: as many as GFST had
            return int(fitted[GFST].training["steps"])
        if stops and self.training_method == RETRAIN:
            return None
        a, given, epochs = self.arguments, self.config.max_steps, self.config.num_train_epochs
        if self.training_method == RETRAIN:
            given, n_given = self.base.training.get("steps", given), self.counts["parallel"]["kept"]
        else:  # an initial model that was trained here took max_steps for itself
            given, n_given = 0 if a.trains_initial else given, self._n_rows(GFST)
            epochs = a.finetune_num_train_epochs
        rate = given / n_given if given > 0 else epochs / self._step_rows()
        return max(1, round(rate * self._n_rows(name)))

    def _step_rows(self) -> int:
        """Pairs of one update, over all processes."""
        config = self.config
        return int(config.train_batch_size * config.gradient_accumulation_steps * config.world_size)

    def _training_config(self, folder: Path, n: int, steps: int | None, *, fresh: bool, stops: bool) -> Any:
        """Settings of one training: its place, its steps, when it stops, and what fine-tuning changes."""
        own = copy.deepcopy(self.config)
        own.output_dir, own.push_to_hub = str(folder), False
        own.source_column, own.target_column = SOURCE, TARGET
        if steps is not None:
            own.max_steps = steps
        if not stops:
            own.early_stopping_patience = None
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

    def _predict(self, fitted: Fitted) -> None:
        """Translations of all sets by one arm, as a stage: how they are scored can change without it."""
        sources = {each.name: each.sources for each in self.sets()}

        def work(folder: Path) -> dict[str, int]:
            found = iter(self.translations(fitted, [*chain.from_iterable(sources.values())], folder))
            table = {name: [next(found) for _ in texts] for name, texts in sources.items()}
            if is_main_process():
                discard(folder / CACHE)
                atomic_write_json(folder / TRANSLATIONS, table)
            return {name: len(rows) for name, rows in table.items()}

        inputs = [fitted.key, sources, self.translation_settings(fitted)]
        self.run.stage(f"predict_{fitted.name}", work, inputs=inputs, collective=True, keep_partial=True)

    def sets(self) -> Sequence[TranslationSet]:
        """Those that were given; a tagger that is named by its kind is for the filter alone."""
        tagger = self.data["winomt_tagger"] or (None if self.arguments.tagger else self.tagger)
        return translation_sets(self.arguments, self.data, self.groups, tagger, self.data_seed)

    def measure(self, fitted: Fitted, sets: Sequence[EvalSet], folder: Path) -> dict[str, Mapping[str, Any]]:
        """Results of an arm by name of the set, from the translations that it made."""
        shutil.copyfile(self.run.folder(f"predict_{fitted.name}") / TRANSLATIONS, folder / TRANSLATIONS)
        return super().measure(fitted, sets, folder)

    def extras(self, found: Found) -> dict[str, Any]:
        """What the stages counted, and what the control explains."""
        return {
            "groups": list(self.groups),
            "method": self.training_method,
            "data": self.counts,
            "explained": explained(found.results.get(WINOMT, {})),
        }

    def tell(self, found: Found) -> dict[str, Any]:
        """What was kept, what the control explains, how it was read, and what was not measured."""
        a, results = self.arguments, found.results
        where = f"With seed {self.seed}: " if a.n_seeds > 1 else ""
        said = cautions({**self.extras(found), "comparisons": found.comparisons})
        unknown = "WinoMT was not measured: nothing is known of how these models treat gender."
        return {
            "task": "translation",
            "subject": {
                "attribute": a.attribute,
                "languages": f"{a.source_lang}-{a.target_lang}",
                "groups": list(self.groups),
                "trained by": self.training_method.replace("_", " "),
            },
            "outcome": "" if WINOMT in results else unknown,
            "cautions": tuple(where + text for text in said),
            "tables": (kept_table(self.counts),),
            "figures": {"kept": kept_figure(self.counts, self.last)},
            "not_measured": tuple(text for name, text in MISSING.items() if name not in results),
            "provenance": signatures(results),
        }

    def draw(self, found: Found) -> dict[str, Any]:
        """The pairs that are to be shown: cards are public."""
        rows = self.rows("balance")
        pairs = drawn(rows, min(self.arguments.show_texts, len(rows)), seed=self.seed)
        items = tuple(f"{source} / {target}" for source, target in zip(pairs[SOURCE], pairs[TARGET], strict=True))
        return {"texts": {"Pseudo-parallel pairs that were kept, drawn at random": items}} if items else {}

    def about(self, record: Record) -> About:
        """What the card of the final model says."""
        a = self.arguments
        return About(
            title=self.model_name,
            summary=f"A translation model ({a.source_lang} to {a.target_lang}) trained with gender-filtered "
            "self-training (GFST, Choubey et al. 2021), to keep people's gender more often.",
            **from_record(record),
            load=load_translator(f"{a.prefix}The doctor said that she was tired."),
            metadata={
                "library_name": "transformers",
                **card_metadata(record, self.model_name, base_model=a.model_name_or_path),
                "language": [code for code in (a.source_lang, a.target_lang) if code],
                "pipeline_tag": "translation",
            },
        )

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """The pairs that the model was trained on."""

        def pairs(folder: Path, repo_id: str) -> None:
            rows = self.rows("balance")
            write_splits(folder, {"train": rows})
            self.card(rows, "balance", self.counts["balance"], repo_id=repo_id).save(folder / CARD)

        return {"pairs": Artefact("dataset", None, pairs, "Add the pairs made with GFST")}
