"""From a translator, parallel data and monolingual text to a translator that keeps people's gender more often.

Stages: ``parallel`` (pairs that can be used) -> ``filter_source`` (texts that speak of one group) -> ``start``,
``initial`` (the first model, where it is trained here) -> ``translate`` -> ``filter_target`` -> ``balance`` ->
``randst`` (random pairs) -> ``train_gfst``, ``train_control``, ``train_<variant>`` -> ``predict_<model>`` ->
``scores`` -> ``report`` -> ``model`` (a folder ready to publish). Each is kept in a folder of the output directory,
data sets and models with a card; a killed run goes on where it stopped, and `until` ends a run after any of them.

Source: Choubey et al. 2021, *GFST: Gender-Filtered Self-Training for More Accurate Gender in Translation*.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.attributes import load_attribute
from hf_fairness.filters import GenderTagger, SourceGender
from hf_fairness.publishing import CARD, Artefact, write_splits
from hf_fairness.record import Record
from hf_fairness.report import stage_report
from hf_fairness.report.artefact_card import About, artefact_card, from_record, load_translator
from hf_fairness.report.card import card_metadata
from hf_fairness.report.gfst_record import gfst_record
from hf_fairness.report.text import shown_name
from hf_fairness.runs import Run, atomic_write_text
from hf_fairness.scores.meta import describe
from hf_fairness.trainers.gfst.arguments import BACKWARDS, GFST, PLACES, RANDOM, STAGES, GFSTArguments
from hf_fairness.trainers.gfst.arms import Arms
from hf_fairness.trainers.gfst.back_translation import BackwardPairs
from hf_fairness.trainers.gfst.checks import check_measures, check_run, find_tagger, tagger_key
from hf_fairness.trainers.gfst.config import GFSTConfig
from hf_fairness.trainers.gfst.data import SOURCE, TARGET, TEXT, as_rows, drawn
from hf_fairness.trainers.gfst.job import Job
from hf_fairness.trainers.gfst.measures import BASELINE, WINOMT, Measures
from hf_fairness.trainers.gfst.models import model_key
from hf_fairness.trainers.gfst.pairs import BALANCED, ForwardPairs, PairMaker
from hf_fairness.trainers.training.settings import training_settings

FORMAT = "hf-fairness/gfst/1"
#: Arguments that name a source, of which a report shows the last part.
NAMED = (
    "model_name_or_path", "dataset", "monolingual_dataset", "validation_dataset", "test_dataset", "winomt", "must_she",
    "reverse_model", "lexicon", "nouns",
)  # fmt: skip
#: Settings of the training that a report shows.
SHOWN = (
    "learning_rate", "warmup_steps", "label_smoothing_factor", "per_device_train_batch_size", "num_train_epochs",
    "max_steps", "average_checkpoints", "max_length", "max_length_ratio", "seed",
)  # fmt: skip
CONVENTION = (
    "GFST against each other model on the same rows, paired; the control is trained for exactly as many steps on the "
    "original parallel data alone; pseudo-parallel pairs are balanced by leaving out rows of the larger groups; "
    "intervals resample rows of the test sets, not trainings: one seed each"
)


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

    Call it on every process of a distributed launch: training runs on all, the rest on the first.

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
        The report: ``data`` (per stage what was kept and why rows were dropped), ``arms``, ``winomt``, ``must_she``,
        ``test``, ``comparisons``, ``explained``, ``meta``; ``record``: the same, as a
        :class:`hf_fairness.record.Record`; ``files``: paths of what was written; ``model``: its folder; ``artefacts``:
        what `hf_fairness.publishing.publish` takes. With `arguments.until` only ``data`` and ``stages``, the folders.

    Raises:
        ValueError: data, language, model or arm that cannot be used.
        TooFewPairsError: the filters left too few pairs; says why they were dropped.
        ImportError, FileNotFoundError: a tagger, a measure or the report needs something that is not installed.
        RunLockedError: another run works in the same folder.
    """
    config = GFSTConfig(output_dir="gfst") if config is None else config
    attribute = load_attribute(arguments.attribute, language=arguments.source_lang)
    check_run(arguments, attribute.group_names, train, monolingual, model, tokenizer, reverse)
    SourceGender(wordlist=arguments.wordlist, attribute=attribute)  # refuses what it cannot work with
    own = find_tagger(arguments, tagger, attribute.group_names)
    check_measures(arguments, winomt=winomt_rows is not None, test=test is not None, tagger=winomt_tagger or own)
    pairs = {
        name: None if rows is None else as_rows(rows, (SOURCE, TARGET), name)
        for name, rows in (("train", train), ("validation", validation), ("test", test))
    }
    if pairs["train"] is not None and arguments.max_rows is not None:
        pairs["train"] = pairs["train"].select(range(min(len(pairs["train"]), arguments.max_rows)))
    texts = None if monolingual is None else as_rows(monolingual, (TEXT,), "monolingual")
    with Run(
        config.output_dir,
        {**asdict(arguments), "training": training_settings(config)},
        resume=arguments.resume,
    ) as run:
        job = Job(run, arguments, config, attribute, own, tagger_key(arguments, own))
        measures = None
        if arguments.wants("predict"):
            measured = {"winomt_rows": winomt_rows, "must_she_rows": must_she_rows, "test": pairs["test"]}
            measures = Measures(job, **measured, tagger=winomt_tagger or (own if arguments.tagger is None else None))
        recipe = _Recipe(job, Arms(job, pairs["validation"]), _maker(job, texts), measures)
        given = {"model": model, "tokenizer": tokenizer, "reverse": reverse}
        return recipe.go(pairs["train"], **given)


class _Recipe:
    """The stages in their order."""

    def __init__(self, job: Job, arms: Arms, maker: PairMaker, measures: Measures | None) -> None:
        self.job, self.run, self.arguments = job, job.run, job.arguments
        self.arms, self.maker, self.measures = arms, maker, measures
        self.found: dict[str, Any] = {}

    def go(self, train: Dataset | None, *, model: Any, tokenizer: Any, reverse: Any) -> dict[str, Any]:
        """Call the stages as far as `until` says, and put together what they found."""
        maker, arms = self.maker, self.arms
        calls: dict[str, Callable[[], Any]] = {
            "start": lambda: arms.start(model, tokenizer),
            "initial": arms.initial,
            "randst": lambda: self._random(reverse),
            "train": lambda: {name: arms.train(name) for name in arms.names()},
            "predict": self._predict,
            "scores": lambda: None if self.measures is None else self.measures.scores(self.found["predict"]),
            "report": self._report,
            "model": self._model,
        }
        if maker.monolingual is not None:
            calls |= {name: getattr(maker, name) for name in ("filter_source", "filter_target", "balance")}
            calls["translate"] = lambda: maker.translate(*self._translator(reverse))
        if train is not None:
            calls["parallel"] = lambda: maker.parallel(train)
        for stage in BACKWARDS if self.arguments.backwards else STAGES:
            if not self.arguments.wants(stage):
                break
            if stage in calls:
                self.found[stage] = calls[stage]()
        if not self.arguments.wants("report"):
            stages = [path for path in sorted(self.run.output_dir.iterdir()) if path.is_dir()]
            shown = {path.name: path for path in stages if not path.name.startswith(".")}
            return {"data": self._data(), "stages": shown}
        model_folder = self.run.folder("model") if self.arguments.wants("model") else None
        return {
            **self.report(),
            "record": self.shown(),
            "files": self.found["report"],
            "model": model_folder,
            "artefacts": self.artefacts(),
        }

    def _translator(self, reverse: Any) -> tuple[Any, Any]:
        """The model that makes pseudo-parallel data, and its key."""
        if not self.arguments.backwards:
            return self.arms.base, self.arms.base_key
        source = reverse or self.arguments.reverse_model
        return source, model_key(*source) if isinstance(source, tuple) else model_key(source)

    def _random(self, reverse: Any) -> Any:
        if RANDOM not in self.arguments.arms:
            return None
        return self.maker.random_pairs(self.found["balance"]["n"], *self._translator(reverse))

    def _predict(self) -> dict[str, Any]:
        assert self.measures is not None
        places = {BASELINE: (self.arms.base, self.arms.base_key)}
        for name in self.arms.names():
            places[name] = (self.run.folder(f"train_{name}") / "model", self.run.key(f"train_{name}"))
        return {name: self.measures.predict(name, *place) for name, place in places.items()}

    def _data(self) -> dict[str, Any]:
        """What the stages counted, by stage."""
        names = ("parallel", "filter_source", "translate", "filter_target", "balance", "randst")
        return {name: self.found[name] for name in names if self.found.get(name) is not None}

    def report(self) -> dict[str, Any]:
        """Everything that was found, as plain values."""
        shown = {key: value for key, value in asdict(self.arguments).items() if key not in PLACES}
        shown |= {key: shown_name(shown[key]) for key in NAMED}
        arms = {} if self.found["initial"] is None else {BASELINE: {**self.found["initial"], "n_pairs": 0}}
        scores = self.found["scores"] or {}
        n = next((part["n"] for part in scores.get(WINOMT, {}).values()), 0)
        return {
            "format": FORMAT,
            "arguments": shown,
            "method": self.arms.method,
            "training": {name: getattr(self.job.config, name) for name in SHOWN},
            "groups": list(self.job.groups),
            "data": self._data(),
            "arms": {**arms, **self.found["train"]},
            **scores,
            "meta": describe(
                n=n,
                convention=CONVENTION,
                ideal="accuracy, F1, BLEU, chrF 1; delta_g, delta_s, delta_r 0",
                direction="accuracy, F1, BLEU, chrF: lower is worse; deltas further from 0 are worse",
                seed=self.job.seed,
            ),
        }

    def record(self) -> Record:
        """What was found, as it is shown."""
        return gfst_record(self.report(), name=self.arguments.name or self.name)

    def shown(self) -> Record:
        """The same for the report alone, with the pairs that are to be shown: cards are public."""
        record, n = self.record(), self.arguments.show_texts
        if not n:
            return record
        rows = self.job.rows("balance")
        pairs = drawn(rows, min(n, len(rows)), seed=self.job.seed)
        items = tuple(f"{source} / {target}" for source, target in zip(pairs[SOURCE], pairs[TARGET], strict=True))
        return replace(record, texts={"Pseudo-parallel pairs that were kept, drawn at random": items})

    def _report(self) -> dict[str, Path]:
        report, a = self.report(), self.arguments
        return stage_report(self.run, self.shown, report, inputs=[_stable(report), a.name, a.show_texts])

    def _model(self) -> Any:
        """The final model with its card."""
        about = self.about()

        def work(folder: Path) -> dict[str, str]:
            private = shutil.ignore_patterns("training_args.bin", CARD)
            place = self.run.folder(f"train_{GFST}") / "model"
            shutil.copytree(place, folder, dirs_exist_ok=True, ignore=private)
            atomic_write_text(folder / CARD, artefact_card(about))
            return {"name": about.title}

        inputs = [self.run.key(f"train_{GFST}"), about.title, _stable(self.report())]
        return self.run.stage("model", work, inputs=inputs, version=2)

    def about(self) -> About:
        """What the card of the final model says."""
        name, a = self.name, self.arguments
        return About(
            title=name,
            summary=f"A translation model ({a.source_lang} to {a.target_lang}) trained with gender-filtered "
            "self-training (GFST, Choubey et al. 2021), to keep people's gender more often.",
            **from_record(self.record()),
            load=load_translator(f"{a.prefix}The doctor said that she was tired."),
            metadata={
                "library_name": "transformers",
                **card_metadata(self.record(), name, base_model=a.model_name_or_path),
                "language": [code for code in (a.source_lang, a.target_lang) if code],
                "pipeline_tag": "translation",
            },
        )

    def artefacts(self) -> dict[str, Artefact]:
        """What can be published: the model, if the run came to it, and the pairs that it was trained on."""
        found = {"pairs": Artefact("dataset", None, self._pairs, "Add the pairs made with GFST")}
        if self.arguments.wants("model"):
            about = self.about()
            card = lambda folder, repo: atomic_write_text(folder / CARD, artefact_card(about, repo))  # noqa: E731
            found["model"] = Artefact("model", self.run.folder("model"), card, "Add the model made with GFST")
        return found

    def _pairs(self, folder: Path, repo_id: str) -> None:
        """The balanced pairs as a data set."""
        rows = self.job.rows("balance")
        write_splits(folder, {"train": rows})
        self.maker.card(rows, "balance", BALANCED, self.found["balance"], repo_id=repo_id).save(folder / CARD)

    @property
    def name(self) -> str:
        """The final model as a reader knows it."""
        base = (
            shown_name(self.arguments.model_name_or_path)
            or f"{self.arguments.source_lang}-{self.arguments.target_lang}"
        )
        return self.job.config.hub_model_id or f"{base.split('/')[-1]}-gfst"


def _stable(value: Any) -> Any:
    """The report without what differs between equal runs: times."""
    if isinstance(value, dict):
        return {key: _stable(item) for key, item in value.items() if key != "seconds"}
    return [_stable(item) for item in value] if isinstance(value, (list, tuple)) else value


def _maker(job: Job, texts: Dataset | None) -> PairMaker:
    return BackwardPairs(job, texts) if job.arguments.backwards else ForwardPairs(job, texts)
