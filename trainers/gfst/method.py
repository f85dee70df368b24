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
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from accelerate import PartialState
from datasets import Dataset, concatenate_datasets, load_from_disk

from hf_fairness._opening import find_tokenizer
from hf_fairness.erasure import check_words
from hf_fairness.filters import GenderTagger
from hf_fairness.filters.drops import check_enough
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation_languages import set_languages
from hf_fairness.publishing import CARD, Artefact, write_splits
from hf_fairness.record import Record
from hf_fairness.report.artefact_card import About, from_record, load_translator
from hf_fairness.report.card import card_metadata
from hf_fairness.report.text import shown_name
from hf_fairness.runs import atomic_folder, atomic_write_json, atomic_write_text, discard
from hf_fairness.trainers.experiment import Fitted, Found, Plan, run_experiment
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
from hf_fairness.trainers.gfst.sets import TRANSLATIONS, WINOMT, TranslationSet, translation_sets
from hf_fairness.trainers.gfst.sheets import write_sheets
from hf_fairness.trainers.gfst.small_translator import fresh_weights, small_marian, small_tokenizer
from hf_fairness.trainers.gfst.summary import (
    LIMITS,
    MISSING,
    cautions,
    ending,
    explained,
    kept_figure,
    kept_table,
    plan,
    signatures,
)
from hf_fairness.trainers.gfst.training import train_translator
from hf_fairness.trainers.training.settings import training_settings
from hf_fairness.utils import is_main_process

#: The stage with the pseudo pairs of an arm, where it learns from others than the balanced ones.
LEARNS_FROM = {RANDOM: RANDOM, UNFILTERED: "filter_target"}


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
    check_run(GFSTMethod(None, arguments, config, data, {}, config.seed))
    result = run_experiment(GFSTMethod, arguments, config, **data)
    if arguments.human_sheets and is_main_process():
        folder, sets = Path(str(config.output_dir)).absolute(), {"winomt_rows": winomt_rows, "test": data["test"]}
        result["sheets"] = write_sheets(folder, arguments, config.seed, result["arms"], **sets)
        result["files"] = {**result.get("files", {}), **result["sheets"]}
    return result


def save_model(folder: Path, model: Any, tokenizer: Any, name: str, about: str) -> None:
    """A model with its tokenizer, and a card that says what it is; the first process writes them."""
    if is_main_process():
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
        a = self.arguments
        return str(shown_name(a.model_name_or_path) or f"{a.source_lang}-{a.target_lang}")

    def check_words(self, tokenizer: Any) -> None:
        """Refuse the arms +HD for a tokenizer that has none of their words."""
        if self.words is not None:
            check_words(tokenizer, self.words, ADVICE)

    def wants(self, step: Literal["fit", "measure", "report", "model"]) -> bool:
        """Whether the run goes as far as a step."""
        return bool(self.arguments.wants({"fit": "train", "measure": "scores"}.get(step, step)))

    def prepare(self) -> None:
        """The pairs and the initial model, as far as `until` says and as there are data for them."""
        for stage in self._stages():
            if stage == self.arguments.until:
                break

    def _stages(self) -> Iterator[str]:
        """Carry out one stage after the other; each is named when it is done."""
        a, run, given = self.arguments, self.run, self.data["monolingual"]
        source, lengths = self.filter_keys["filter_source"], self.lengths
        if self.data["train"] is not None:
            yield self.make("parallel", self.parallel, self.data["train"], a.max_rows, lengths, source)
        if given is not None:
            seed = self.seed if a.max_candidates else None  # nothing is drawn without
            yield self.make(self.first, self.texts, given, self.filter_keys[self.first], a.max_candidates, seed)
        self.start = self._start()
        yield "start"
        self.base = self._train(BASELINE) if a.trains_initial else replace(self.start, name=BASELINE)
        yield "initial"  # algorithm 1, line 1
        reverse = self.data["reverse"] or a.reverse_model
        self.translator = given_model(REVERSE, reverse) if a.backwards else self.base
        translating = self.translation_key(self.translator)
        yield self.make("translate", self.translated, run.key(self.first), *translating)
        self.make(self.last, self.filtered, run.key("translate"), lengths, self.filter_keys[self.last])
        check_enough(self.counts[self.last], self.groups, self.least)
        yield self.last
        yield self.make("balance", self.balanced, run.key(self.last), a.max_pairs, self.seed)
        if RANDOM in a.arms:
            yield self.make(RANDOM, self.random, given, self.counts["balance"]["n"], self.seed, *translating, lengths)

    def _start(self) -> Fitted:
        """The named model, the given one, or a small one with a tokenizer of its own."""
        a, given = self.arguments, self.data["model"] or self.arguments.model_name_or_path
        if given is not None:
            return given_model("start", given)
        sizes: dict[str, Any] = {name: getattr(a, name) for name in ("d_model", "layers", "heads", "ffn", "dropout")}

        def work(folder: Path) -> None:
            texts = chain.from_iterable(self.rows("parallel")[column][:] for column in (SOURCE, TARGET))
            tokenizer = small_tokenizer(texts, vocab_size=a.vocab_size, level=a.token_level)
            model = small_marian(tokenizer, **sizes, seed=self.seed)
            save_model(folder, model, tokenizer, "start", "A tokenizer, and a small model with random weights.")

        self.run.stage("start", work, inputs=[self.run.key("parallel"), a.vocab_size, a.token_level, sizes, self.seed])
        self.check_words(find_tokenizer(self.run.folder("start")))
        return Fitted("start", self.run.key("start"), self.run.folder("start"))

    def arms(self) -> Sequence[Plan]:
        """The initial model, GFST, its control, and those that were asked for."""
        others = [plan(name) for name in ([CONTROL] if self.arguments.control else []) + self.arguments.arms]
        rivals = [each.arm.name for each in others if each.against != (GFST,)]
        return [plan(BASELINE), replace(plan(GFST), against=(BASELINE, *rivals)), *others]

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Train one arm, or change what it reads, and let it translate the test sets."""
        if name in HARD_DEBIASED:
            made = self._hard_debiased(name, fitted[HARD_DEBIASED[name]])
        else:
            made = self.base if name == BASELINE else self._train(name, fitted.get(GFST))
        if self.arguments.wants("predict"):
            self._predict(made)
        return made

    def _hard_debiased(self, name: str, trained: Fitted) -> Fitted:
        """Another arm with hard-debiased embeddings of its encoder, as a stage that leaves ``model``."""

        def work(folder: Path) -> dict[str, str]:
            model, tokenizer = open_translator(trained.model, to_train=True)
            model, told = debias_encoder(model, tokenizer, self.words)
            save_model(folder / "model", model, tokenizer, name, f"Made with hf-fairness: {plan(name).arm.about}.")
            return {**told, "starts_from": plan(trained.name).arm.title}

        return self.trained(name, work, inputs=[trained.key, self.words])

    def _train(self, name: str, gfst: Fitted | None = None) -> Fitted:
        """Train the initial model or an arm on all processes, as a stage that leaves ``model``.

        It opens with the auto classes.

        Args:
            name: of the arm.
            gfst: the trained GFST, where it is there already.

        Returns:
            With ``steps``, ``n_parallel`` original and ``n_pairs`` pseudo pairs, ``upsample``, ``starts_from``,
            ``history``.
        """
        a, fresh = self.arguments, name == BASELINE or self.arguments.training == RETRAIN
        begin, stage = self.start if fresh else self.base, "initial" if name == BASELINE else f"train_{name}"
        original, pseudo = self._pairs_of(name)
        rows = [original, *[pseudo] * a.upsample]
        own = self._settings_of(name, sum(map(len, rows)), gfst)

        def work(folder: Path) -> dict[str, Any]:
            start, state, checkpoints = time.perf_counter(), PartialState(), folder / "checkpoints"
            own.output_dir, data = str(checkpoints), checkpoints / "data"
            if is_main_process() and not data.is_dir():
                with atomic_folder(data) as place:  # what tokenizing caches beside it goes with it
                    concatenate_datasets(rows).save_to_disk(place)
            state.wait_for_everyone()
            model, tokenizer = open_translator(begin.model, to_train=True)
            if fresh:
                model = fresh_weights(model, seed=self.seed)
            set_languages(model, tokenizer, a.source_code, a.target_code)
            model, history = train_translator(
                model,
                tokenizer,
                load_from_disk(data),
                own,
                eval_dataset=self.data["validation"],
                prefix=a.prefix,
                resume=True,
            )
            state.wait_for_everyone()
            made = f"Made with hf-fairness: {plan(name).arm.about}. {history['steps']} steps, seed {own.seed}."
            save_model(folder / "model", model, tokenizer, stage.removeprefix("train_"), made)
            if is_main_process():
                discard(checkpoints)
            stops = own.early_stopping_patience is not None and history["eval"]
            return {
                **{"n_parallel": len(original), "n_pairs": len(pseudo), "upsample": a.upsample},
                **{"steps": history["steps"], "seconds": round(time.perf_counter() - start, 3), "history": history},
                "starts_from": "new weights" if fresh else "the initial model",
                **({"ended": ending(history)} if stops else {}),
            }

        source = [self.run.key(LEARNS_FROM.get(name, "balance")), len(pseudo), a.upsample] if len(pseudo) else []
        settings = [training_settings(own), a.source_code, a.target_code, a.prefix]
        inputs = [begin.key, fresh, self.run.key("parallel"), len(original), source, self.data["validation"], settings]
        return self.trained(name, work, stage=stage, inputs=inputs, keep_partial=True)

    def _pairs_of(self, name: str) -> tuple[Dataset, Dataset]:
        """The original pairs that a model is trained on, and the pseudo pairs, which are used `upsample` times."""
        original = load_from_disk(self.run.folder("parallel")).select_columns([SOURCE, TARGET])
        if name in (BASELINE, CONTROL):
            return original, original.select([])
        pseudo = self.rows(LEARNS_FROM.get(name, "balance"))
        if name == UNFILTERED:
            pseudo = kept(pseudo.remove_columns("target_reason"))
        if name != RANDOM:
            groups = [name] if name in self.groups else self.groups
            pseudo = per_group(pseudo, dict.fromkeys(groups, self.counts["balance"]["per_group"]), seed=self.seed)
        if self.arguments.training == MIXED:
            original = drawn(original, len(pseudo) * self.arguments.upsample, seed=self.seed)
        return original, pseudo.select_columns([SOURCE, TARGET])

    def _settings_of(self, name: str, n: int, gfst: Fitted | None) -> GFSTConfig:
        """Settings of one training.

        The initial model ends where they say, or by the validation loss. The control has exactly the steps of GFST. The
        other arms have updates in proportion to their pairs (appendix A); with ``stop_arms_early`` the validation loss
        ends them too, before those of a fine-tuning, or before what the settings say.

        Args:
            name: of the arm.
            n: rows that it is trained on, each as often as it is used.
            gfst: the trained GFST, where it is there already.
        """
        a, own = self.arguments, copy.deepcopy(self.config)
        own.push_to_hub, own.source_column, own.target_column = False, SOURCE, TARGET
        if name == BASELINE:
            return own
        if name == CONTROL or not a.stop_arms_early:
            own.early_stopping_patience = None
        if name == CONTROL and gfst is not None:
            own.max_steps = gfst.training["steps"]
        elif a.training == MIXED or not a.stop_arms_early:
            own.max_steps = max(1, round(self._rate() * n))
        if a.training == MIXED:
            own.learning_rate = a.finetune_learning_rate or own.learning_rate
        if a.training == MIXED and own.warmup_steps >= 1:
            own.warmup_steps = min(own.warmup_steps, own.max_steps // 10)
        return own

    def _rate(self) -> float:
        """Updates for each row: as many as the initial model has, or in fine-tuning as the settings give to GFST."""
        a, config = self.arguments, self.config
        if a.training == RETRAIN:
            n, epochs = self.counts["parallel"]["kept"], config.num_train_epochs
            steps = self.base.training.get("steps", config.max_steps)
        else:  # an initial model that was trained here took max_steps for itself
            n, epochs = 2 * self.counts["balance"]["n"] * a.upsample, a.finetune_num_train_epochs
            steps = 0 if a.trains_initial else config.max_steps
        step_rows = config.train_batch_size * config.gradient_accumulation_steps * config.world_size
        return float(steps / n if steps > 0 else epochs / step_rows)

    def _predict(self, fitted: Fitted) -> None:
        """Translations of all sets by one arm, as a stage: how they are scored can change without it."""
        sources = {each.name: each.sources for each in self.sets()}

        def work(folder: Path) -> None:
            found = iter(self.translations(fitted, [*chain.from_iterable(sources.values())]))
            table = {name: [next(found) for _ in texts] for name, texts in sources.items()}
            if is_main_process():
                atomic_write_json(folder / TRANSLATIONS, table)

        inputs = [sources, *self.translation_key(fitted)]
        self.run.stage(f"predict_{fitted.name}", work, inputs=inputs, collective=True)

    def sets(self) -> Sequence[TranslationSet]:
        """Those that were given; a tagger that is named by its kind is for the filter alone."""
        tagger = self.data["winomt_tagger"] or (None if self.arguments.tagger else self.tagger)
        return translation_sets(self, tagger)

    def extras(self, found: Found) -> dict[str, Any]:
        """What the stages counted, and what the control explains."""
        return {
            "groups": list(self.groups),
            "method": self.arguments.training,
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
                "trained by": a.training.replace("_", " "),
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
            self.card(folder, rows, "balance", self.counts["balance"], repo_id)

        return {"pairs": Artefact("dataset", None, pairs, "Add the pairs made with GFST")}
