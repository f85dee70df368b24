"""Refinement of a training corpus as an experiment: an encoder trained on it as it is, refined, and refined at random.

The corpus is scored once; at each percentile the rows above it are left out, compensated or replaced; and as many rows
drawn at random are, which tells the choice of rows from their number. All encoders are trained alike.

Source: Dolci et al. 2023, *Improving Gender-Related Fairness in Sentence Encoders: A Semantics-Based Approach*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset
from sentence_transformers import SentenceTransformer

from hf_fairness._processes import rows_shared
from hf_fairness.attributes.names import with_names
from hf_fairness.encoders import BaseEncoder, as_encoder
from hf_fairness.erasure import DebiasWords
from hf_fairness.measure.audit import built_in_tests
from hf_fairness.measure.encoder.bias_pairs import two_groups
from hf_fairness.measure.encoder.bias_score import most_biased
from hf_fairness.measure.encoder.bias_scorer import make_scorer
from hf_fairness.measure.encoder.seat_tests import FILES, resolve_tests
from hf_fairness.measure.encoder.utility import read_scored_pairs
from hf_fairness.measure.model_keys import source_key
from hf_fairness.publishing import Artefact
from hf_fairness.record import Arm, Record, Table
from hf_fairness.refine import describe
from hf_fairness.report.bias_score import refinement_figure, refinement_table, scree_figure
from hf_fairness.report.text import LIMITS
from hf_fairness.rows import column_values
from hf_fairness.runs import content_key
from hf_fairness.trainers.experiment import EvalSet, Fitted, Found, Plan, run_experiment
from hf_fairness.trainers.refine.arguments import ORIGINAL, RefineArguments, RefineConfig
from hf_fairness.trainers.refine.bilstm import bilstm_max
from hf_fairness.trainers.refine.corpora import (
    LABEL,
    MIN_TEXTS,
    REFINEMENTS,
    CorpusScores,
    Pairs,
    read_pairs,
    refine_rows,
    some,
    texts_of,
)
from hf_fairness.trainers.refine.sets import BiasSet, ClassSet, SeatSet, SimilaritySet
from hf_fairness.trainers.refine.training import (
    bilstm_config,
    bilstm_settings,
    open_trained,
    train_bilstm,
    train_encoder,
)
from hf_fairness.trainers.training.encoder_method import OpenedEncoder
from hf_fairness.trainers.training.remembered import unpack_arrays
from hf_fairness.utils import is_main_process, refuse_any

_SCORES = "scores.npz"
_LIMITS = (
    "All arms are trained for as many epochs, as in the paper: one with more rows takes more steps, and so does that "
    "in which as many rows are refined at random. --max_steps gives all arms as many steps.",
    "The rows that are measured on were held out before anything was refined, and are the same for all arms; in the "
    "paper each refined corpus is split anew.",
    "The bias score finds words that lean towards a group in the encoder that scores; a stereotype that this encoder "
    "does not know is not found.",
)

_BILSTM_LIMIT = (
    "A tenth of each corpus, at most 10,000 rows, chose the learning rate and the epoch of its BiLSTM: each corpus has "
    "rows of its own to choose by, as in the paper."
)


def run_refine(
    arguments: RefineArguments,
    config: RefineConfig,
    rows: Dataset,
    *,
    test: Dataset | None = None,
    sts_pairs: Any = None,
    tests: Any = None,
) -> dict[str, Any]:
    """Score a corpus, refine it in several ways, train an encoder on each, and measure bias and utility of all.

    Call it on every process of a distributed launch: see :func:`hf_fairness.trainers.experiment.run_experiment`.

    Args:
        arguments: model, data and what to refine; its file names are for the reader, see `rows`.
        config: settings of the trainings; ``config.output_dir`` holds all stages.
        rows: pairs of texts with a class (inference) or a score of how alike they are.
        test: the same to measure on; None holds out a part of `rows`.
        sts_pairs: rows with ``sentence1``, ``sentence2``, ``score``: a further measure of utility.
        tests: association tests in any form that ``measure.seat`` takes, in place of ``arguments.seat_tests``.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does: the arms are ``original``, ``sub-95`` and the
        like, and ``random-sub-95``; the sets ``seat``, ``held-out texts``, ``test pairs`` and ``sts``; and ``data``:
        how many rows there were, ``scores``: what was found in the corpus.

    Raises:
        ValueError: bad data, a model that is no encoder, or an attribute with more than two groups.
        RunLockedError: another run works in the same folder.
    """
    given = {"rows": rows, "test": test, "sts_pairs": sts_pairs, "tests": tests}
    config = bilstm_config(config, arguments.bilstm_settings) if arguments.bilstm else config
    return run_experiment(RefineMethod, arguments, config, **given)


class RefineMethod(OpenedEncoder):
    """Encoders trained on a corpus as it is, refined by bias score, and refined at random."""

    command = "refine"
    source = "refinement of the training corpus by bias score (Dolci et al. 2023)"
    what = "trained on a corpus whose rows of highest bias score were refined (Dolci et al. 2023)."
    quoted = (
        "learning_rate",
        "optim",
        "num_train_epochs",
        "max_steps",
        "per_device_train_batch_size",
        "use_peft",
        "seed",
    )
    convention = (
        "gaps: arm - other arm on the same items; scores of rows: the higher of both texts' absolute bias scores"
    )
    ideal = "SEAT d 0 for tests of bias, bias score 0; utility 1"
    direction = "further from 0 is worse in bias, lower is worse in utility"
    arguments: RefineArguments
    config: RefineConfig

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._told: dict[str, Any] = {}
        self._found: dict[str, Any] = {}
        self._open: dict[Any, BaseEncoder] = {}

    @cached_property
    def tests(self) -> list[Any]:
        """The association tests."""
        if self.data["tests"] is not None:
            return list(resolve_tests(self.data["tests"]))
        given = self.arguments.seat_tests
        names = built_in_tests(self.attribute) if given is None else given
        return [test for name in names for test in resolve_tests(name if name.endswith(FILES) else [name])]

    @cached_property
    def pairs(self) -> Pairs:
        """The rows as the first stage saved them."""
        return Pairs.load(self.run.folder("rows"), self._told)

    @cached_property
    def swap(self) -> dict[str, Any]:
        """Options of all swaps."""
        return {"attribute": self.attribute, "names": self.arguments.name_option}

    @cached_property
    def names_key(self) -> Any:
        """What stands for the given names among the inputs of stages."""
        option = self.arguments.name_option
        return Path(option) if isinstance(option, str) else option

    @property
    def opened_as(self) -> list[Any]:
        """How the original is opened."""
        a = self.arguments
        how = [a.hidden_size, self.nli_settings, self.words_key] if a.bilstm else []
        return [*super().opened_as, *how]

    @cached_property
    def nli_settings(self) -> dict[str, Any]:
        """How BiLSTM-max is trained."""
        return bilstm_settings(self.config, self.arguments.bilstm_settings)

    @cached_property
    def debias_words(self) -> DebiasWords | None:
        """The words that word vectors are hard-debiased by; None where none are."""
        a = self.arguments
        return DebiasWords.chosen(a.hd_words, self.attribute) if a.hard_debias else None

    @cached_property
    def measured(self) -> list[str]:
        """Texts that association tests and given pairs ask a BiLSTM about: it knows no words that it was not told."""
        sides = () if self.data["sts_pairs"] is None else self._given_pairs[:2]
        return [*(text for test in self.tests for each in test.sets for text in each.texts), *chain(*sides)]

    @cached_property
    def words_key(self) -> Any:
        """What decides, beside the rows, which words a BiLSTM knows."""
        return [content_key(self.measured), self.attribute.digest, self.names_key]

    def bilstm(self, vectors: str, *, hard: bool) -> SentenceTransformer:
        """An encoder before its training, which knows the words of all rows and of all that is measured."""
        rows = (texts_of(part, self.pairs.columns) for part in self.pairs.parts.values())
        return bilstm_max(
            vectors,
            texts=[*self.measured, *chain.from_iterable(rows)],
            attribute=with_names(self.attribute, self.arguments.name_option)[0],
            debias=self.debias_words if hard else None,
            hidden_size=self.arguments.hidden_size,
            seed=self.seed,
            device=str(self.config.device),
        )

    def prepare(self) -> None:
        """Rows in one form, in parts; what cannot be measured is refused before."""
        two_groups(self.attribute)
        _ = self.tests, self.debias_words
        refuse_any(
            {
                "--use_peft: a BiLSTM has no layers for LoRA. Leave it out, or --bilstm.": (
                    self.arguments.bilstm and self.config.use_peft
                ),
                f"--bilstm is trained in one process, and these are {self.config.world_size}. Start one; a single GPU "
                "is enough for it.": self.arguments.bilstm and self.config.world_size > 1,
            }
        )
        a, given = self.arguments, (self.data["rows"], self.data["test"])
        names = ("text_column", "label_column", "class_names", "max_rows", "test_rows")
        options: dict[str, Any] = {**{name: getattr(a, name) for name in names}, "seed": self.data_seed}
        self._told = self.run.stage(
            "rows", lambda folder: read_pairs(*given, **options).save(folder), inputs=[*given, options]
        )
        if a.bilstm and not self.pairs.classes:
            raise ValueError(
                "--bilstm is trained on classes (inference), and the rows have scores. Name a column of classes with "
                "--label_column, or leave out --bilstm."
            )

    def arms(self) -> Sequence[Plan]:
        """The original, then each refinement with its control, the main one first."""
        n = f"{len(self.pairs.parts['train']):,}"
        plans = [Plan(Arm(ORIGINAL, ORIGINAL, "original", f"trained on all {n} rows as they are"))]
        needs = (ORIGINAL,) if self.arguments.scored_by == ORIGINAL else ()
        for place, (name, (kind, level)) in enumerate(self.arguments.refined_arms.items()):
            about, random = REFINEMENTS[kind].about, f"random-{name}"
            which = f"those with a bias score above the {level:g}th percentile"
            arm = Arm(name, name, "variant" if place else "method", f"trained on {about.format(rows=which)}")
            against = (ORIGINAL, random) if self.arguments.control else (ORIGINAL,)
            plans.append(Plan(arm, needs, against))
            if self.arguments.control:
                which = f"as many rows as in {name}, drawn at random"
                control = Arm(random, random.replace("-", " ", 1), "control", f"trained on {about.format(rows=which)}")
                plans.append(Plan(control, needs, (ORIGINAL,)))
        for name, (vectors, hard) in self.arguments.vector_arms.items():
            about = f"trained on all {n} rows as they are, on word vectors of {Path(vectors).name}"
            arm = Arm(name, name, "variant", about + (", hard-debiased (Bolukbasi et al. 2016)" if hard else ""))
            plain = name.removesuffix("-hd") if name.endswith("-hd") and hard else ORIGINAL
            plans.append(Plan(arm, (), (plain,)))
        return plans

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Train on one corpus."""
        refined, random = name.removeprefix("random-"), name.startswith("random-")
        a, how = self.arguments, list[Any]()
        vectors, hard = a.vector_arms.get(name, (a.model_name_or_path, False))
        if name in a.vector_arms:
            words = self.debias_words if hard else None
            gone_by = None if words is None else [words.definitional, words.equalize, sorted(words.specific)]
            how = [source_key(vectors), gone_by]
        elif name != ORIGINAL:
            self._score(fitted.get(ORIGINAL))
            kind, level = self.arguments.refined_arms[refined]
            how = [self.run.key("scores"), kind, level, self.seed if random else None, self.names_key]

        def work(folder: Path) -> dict[str, Any]:
            rows, counts = self.corpus(name)
            columns, names = self.pairs.columns, self.pairs.label_names
            if a.bilstm:
                model, settings = self.bilstm(vectors, hard=hard), self.nli_settings
                made = train_bilstm(model, rows, columns, names, folder, seed=self.seed, settings=settings)
                return {**counts, **made}
            return {**counts, **train_encoder(self.opened, self.config, rows, columns, len(names), folder)}

        inputs = [self.base_key, self.opened_as, self.run.key("rows"), how, self.settings]
        return self.trained(name, work, inputs=inputs, keep_partial=a.bilstm)

    def corpus(self, name: str) -> tuple[Dataset, dict[str, Any]]:
        """The rows that an arm is trained on, and what was changed in them."""
        rows = self.pairs.parts["train"]
        if name == ORIGINAL or name in self.arguments.vector_arms:
            return rows, {"n_train": len(rows), "n_left_out": 0, "n_added": 0, "share_changed": 0.0}
        kind, level = self.arguments.refined_arms[name.removeprefix("random-")]
        seed = self.seed if name.startswith("random-") else None
        return refine_rows(rows, kind, level, self._scores()["rows"], self.pairs.columns, self.swap, random_seed=seed)

    def _scores(self) -> dict[str, Any]:
        return unpack_arrays((self.run.folder("scores") / _SCORES).read_bytes())

    def _score(self, original: Fitted | None) -> None:
        """Score the training rows, once: a stage that all arms share."""
        if self._found:
            return
        wanted, pairs = self.arguments.scored_by, self.pairs
        key = [self.base_key, self.opened_as]
        if wanted is not None:
            key = [original.key] if wanted == ORIGINAL and original else [source_key(wanted)]

        def work(folder: Path) -> dict[str, Any]:
            rows = pairs.parts["train"]
            encoder = self._scoring(original)
            with rows_shared(cpu=self.config.use_cpu):
                scorer = make_scorer(encoder, **self._score_options)
                scored = CorpusScores.of(texts_of(rows, pairs.columns), scorer)
            if not is_main_process():
                return {}
            values = scored.rows(rows, pairs.columns)
            np.savez(folder / _SCORES, rows=values, sides=scored.sides)
            found = describe(
                rows, scores=values, percentiles=self.arguments.levels, text_columns=pairs.columns, **self.swap
            )
            return {
                **found,
                "words": scored.word_table(scorer.direction.groups),
                "variance": [float(share) for share in scorer.direction.explained_variance_ratio],
                "scorer": scorer.described(),
            }

        inputs = [key, self.run.key("rows"), self.attribute.digest, self.names_key, list(self.arguments.levels)]
        self._found = self.run.stage("scores", work, inputs=inputs, collective=True)

    @property
    def _score_options(self) -> dict[str, Any]:
        names = self.arguments.name_option
        return {
            "attribute": self.attribute,
            "names": names if isinstance(names, str) else True,
            "use_cache": self.arguments.direction_cache,
        }

    def _scoring(self, original: Fitted | None) -> BaseEncoder:
        """The encoder whose bias score finds the rows."""
        wanted, device = self.arguments.scored_by, str(self.config.device)
        if wanted is None:
            encoder = as_encoder(self.opened.model, device=device, show_progress=False)
            encoder.name = self.base_name
            return encoder
        if wanted == ORIGINAL and original is not None:
            return self.encoder(original)
        return as_encoder(wanted, device=device, show_progress=False)

    def encoder(self, fitted: Fitted) -> BaseEncoder:
        """The encoder of an arm; the last one stays open for the sets."""
        if fitted.key not in self._open:
            self._open.clear()
            model = open_trained(Path(fitted.model), str(self.config.device))
            self._open[fitted.key] = as_encoder(model, show_progress=False)
            self._open[fitted.key].name = fitted.name
        return self._open[fitted.key]

    def sets(self) -> Sequence[EvalSet]:
        """Association tests, bias of held-out texts, what was learned, and how alike people find sentences."""
        a, pairs, test = self.arguments, self.pairs, self.pairs.parts["test"]
        draws = {"n_bootstrap": a.n_bootstrap, "seed": self.data_seed}
        texts = some(texts_of(test, pairs.columns), a.n_bias_texts, self.data_seed)
        how: dict[str, Any] = {"open": self.encoder, "draws": draws}
        found: list[EvalSet] = [
            BiasSet("held-out texts", **how, path="bias_score", texts=texts, options=self._score_options)
        ]
        if self.tests:
            found.insert(0, SeatSet("seat", **how | {"draws": {**draws, "n_samples": a.n_samples}}, tests=self.tests))
        if pairs.classes:
            found.append(ClassSet("test pairs", **how, path="utility", rows=test, columns=pairs.columns))
        else:
            left, right, scores = (column_values(test, name) for name in (*pairs.columns, LABEL))
            found.append(SimilaritySet("test pairs", **how, path="utility", pairs=(left, right, scores)))
        if self.data["sts_pairs"] is not None:
            found.append(SimilaritySet("sts", title="given pairs", **how, path="utility", pairs=self._given_pairs))
        return found

    @cached_property
    def _given_pairs(self) -> tuple[list[str], list[str], list[float]]:
        left, right, gold = read_scored_pairs(self.data["sts_pairs"])
        return left, right, gold.tolist()

    def extras(self, found: Found) -> dict[str, Any]:
        """How many rows there were, and what the scores of the corpus are."""
        sizes = {f"n_{name}": len(rows) for name, rows in self.pairs.parts.items()}
        return {"data": {**self.pairs.counts, **sizes}, "scores": self._found}

    def tell(self, found: Found) -> dict[str, Any]:
        """What the corpus is like, what each arm changed in it, and which names were swapped."""
        dataset, pairs = self.arguments.dataset, self.pairs
        learned = f"classes {', '.join(pairs.label_names)}" if pairs.classes else "scores of how alike two texts are"
        subject = {
            "attribute": self.attribute.name,
            "groups": list(self.attribute.group_names),
            "data": Path(dataset).name if Path(dataset).exists() else dataset,
            "learned": learned,
            "rows to train on": len(pairs.parts["train"]),
            "rows held out": len(pairs.parts["test"]),
            "rows scored by": self._found["scorer"]["model"],
        }
        return {
            "subject": subject,
            "tables": tuple(self._tables(found)),
            "limits": (*_LIMITS, *([_BILSTM_LIMIT] if self.arguments.bilstm else []), self._names(), *LIMITS),
            "not_measured": () if self.tests else (f"SEAT: there are no tests for {self.attribute.name}",),
        }

    def _names(self) -> str:
        """Which given names were swapped, in a sentence."""
        option, pairs = self.arguments.name_option, self.attribute.names
        if option is False:
            return "Given names were not swapped; the paper swaps 2,500 of each group."
        if option is True:
            return (
                f"Given names were swapped by the {len(pairs)} pairs that the file of the attribute lists "
                f"({self.attribute.names_source or 'no source stated'}); the paper swaps 2,500 of each group. A dated "
                "list of that size is taken with --names."
            )
        return f"Given names were swapped by the list {Path(str(option)).name}."

    def _tables(self, found: Found) -> list[Table]:
        rows: list[tuple[str, ...]] = [("corpus", "rows", "left out", "added", "share changed", "steps")]
        for name, each in found.fitted.items():
            made = each.training
            numbers = (f"{made[key]:,}" for key in ("n_train", "n_left_out", "n_added"))
            rows.append((found.plans[name].arm.title, *numbers, f"{made['share_changed']:.1%}", f"{made['steps']:,}"))
        levels = tuple(map(tuple, refinement_table(self._found)))
        return [
            Table("What was changed in the corpus", tuple(rows), "As a share of all rows before."),
            Table("Bias scores of the corpus", levels, "A row has the higher score of its two texts."),
            Table(
                "Words that carry most bias",
                tuple(map(tuple, self._found["words"])),
                f"Of words in {MIN_TEXTS} texts or more: mean cosine with the direction of the groups, and what they "
                "add to all bias scores (cosine x importance). Words that name a group are not counted.",
            ),
        ]

    def draw(self, found: Found) -> dict[str, Any]:
        """The scores with the percentiles marked, the components of the direction; texts where they were asked for."""
        figures = {"scores": refinement_figure(self._found), "direction": scree_figure(self._found["variance"])}
        if not self.arguments.show_texts:
            return {"figures": figures}
        columns = dict(zip(self.attribute.group_names, self._scores()["sides"].T.tolist(), strict=True))
        every = texts_of(self.pairs.parts["train"], self.pairs.columns)
        texts = {
            f"Texts with the highest score: {group}": tuple(f"{text} ({value:+.3f})" for text, value in rows)
            for group, rows in most_biased(every, columns, self.arguments.show_texts).items()
        }
        return {"figures": figures, "texts": texts}

    def library_card(self, fitted: Fitted) -> str:
        """None was written: it would show rows of the data."""
        return ""

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """The corpus of the main arm."""
        return {"corpus": Artefact("dataset", None, self._write_corpus, "Add the corpus refined by its bias scores")}

    def _write_corpus(self, folder: Path, repo_id: str) -> None:
        name = next(iter(self.arguments.refined_arms))
        rows, counts = self.corpus(name)
        splits = {"train": rows, "test": self.pairs.parts["test"]}
        if self.pairs.classes:
            kind = ClassLabel(names=list(self.pairs.label_names))
            splits = {split: part.cast_column(LABEL, kind) for split, part in splits.items()}
        self.write_rows(
            folder,
            splits,
            repo_id,
            summary=f"a corpus of pairs refined as {name}: {REFINEMENTS[name.partition('-')[0]].about}".format(
                rows="the rows with the highest bias scores"
            ),
            source=Path(self.arguments.dataset).name,
            columns=list(self.pairs.columns),
            options={"arm": name, "max_rows": self.arguments.max_rows, "seed": self.data_seed},
            counts={**self.pairs.counts, **{key: value for key, value in counts.items() if key.startswith("n_")}},
            attribute=self.attribute,
            names=self.arguments.name_option is not False,
            limits=("The rows that were measured on (split `test`) are not refined.",),
        )
