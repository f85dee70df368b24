"""The stages of GFST that make pseudo-parallel pairs: filter texts, translate them, filter the pairs, balance.

Each stage leaves a data set with a card in its folder and returns what it counted. Back-translation (section 6.3) goes
the other way round: texts of the target language are filtered and translated by a model of the other direction, and
the sources that it writes are filtered then.

Source: Choubey et al. 2021, algorithm 1.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Features, Value, load_from_disk

from hf_fairness._processes import rows_shared
from hf_fairness.attributes import load_attribute
from hf_fairness.filters import (
    GrammaticalGender,
    Kept,
    PairLength,
    SourceGender,
    TargetGender,
    TooFewPairsError,
    drops,
)
from hf_fairness.filters.source import MIXED, NONE
from hf_fairness.filters.target import WORDS
from hf_fairness.measure.model_keys import source_key
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation import translate
from hf_fairness.publishing import CARD
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.rows import check_dataset
from hf_fairness.runs import PACKAGES, discard
from hf_fairness.scores.statistics import generator
from hf_fairness.sources import text_column
from hf_fairness.trainers.experiment import Fitted, Method
from hf_fairness.trainers.gfst.arguments import BACKWARDS, BASELINE, RANDOM
from hf_fairness.trainers.gfst.checks import find_tagger, tagger_key
from hf_fairness.utils import FairnessWarning, is_main_process, package_versions

logger = logging.getLogger(__name__)

SOURCE, TARGET, TEXT, GENDER = "source", "target", "text", "source_gender"
#: Folder of finished translations in that of a stage that is not finished; rows that are read at a time.
CACHE, BATCH = "cache", 10_000
#: Name of the model from target to source language.
REVERSE = "reverse"
#: Reason where a back-translation speaks of another group than the text that it was made from.
OTHER = "other_group"
REFERENCE = "Choubey et al. 2021, GFST: Gender-Filtered Self-Training for More Accurate Gender in Translation"
#: Said on every card of machine translations.
MACHINE = "One side of every pair was written by a translation model and was not read by anybody."
#: What the rows of a stage are; those of the filters by what they filter.
SUMMARIES = {
    "parallel": "pairs that are not too long, empty, unreadable or of unlike length",
    "filtered texts": "texts that speak of people of one group; in the target language: whose words show one gender, "
    "with a pronoun",
    "translate": "the filtered texts with their machine translations",
    "filtered pairs": "pairs with the reason why they are dropped, an empty one where they are kept",
    "balance": "as many pseudo-parallel pairs of each group",
    RANDOM: "random texts with their machine translations, not filtered",
}


def as_rows(rows: Dataset, columns: Sequence[str], name: str) -> Dataset:
    """Only the named text columns, with an empty text where a value is missing.

    Raises:
        TypeError: ``rows`` is no Dataset.
        ValueError: a column is missing or holds no texts, or there are no rows.
    """
    check_dataset(rows, name)
    chosen = rows.with_format(None).select_columns([text_column(rows, column, name) for column in columns])
    if any(chosen.data.column(column).null_count for column in columns):
        chosen = chosen.map(
            lambda batch: {column: [text or "" for text in texts] for column, texts in batch.items()}, batched=True
        )
    return chosen.cast(Features({column: Value("string") for column in columns}))


def group_reasons(
    batch: Mapping[str, Sequence[str]],
    *,
    labels: SourceGender | GrammaticalGender,
    groups: Sequence[str],
    max_tokens: int,
    like: str | None = None,
) -> dict[str, list[str]]:
    """Say of each text of a batch which group it speaks of, and why it is dropped (``""``: kept).

    Args:
        batch: with the column of ``labels``.
        labels: what gives a text its group.
        groups: names of the groups; other labels are reasons to drop.
        max_tokens: longest text.
        like: column with the group that a text must have; None: any group, which becomes ``source_gender``.

    Returns:
        The added columns.
    """
    texts = list(batch[labels.column])
    lengths = PairLength(max_tokens=max_tokens)({SOURCE: texts, TARGET: texts})["length_reason"]
    found = labels({labels.column: texts})[labels.output_column]
    wanted = found if like is None else batch[like]
    reasons = [
        length or (label if label not in groups else "" if label == group else OTHER)
        for length, label, group in zip(lengths, found, wanted, strict=True)
    ]
    return {"group_reason": reasons, **({GENDER: list(found)} if like is None else {})}


def reasons_of(rows: Dataset) -> list[str]:
    """Columns that say why a row is dropped."""
    return [name for name in rows.column_names if name.endswith("_reason")]


def kept(rows: Dataset) -> Dataset:
    """The rows that no filter dropped, without the reasons."""
    reasons = reasons_of(rows)
    told = [name for name in rows.column_names if name in (*reasons, WORDS)]
    return rows.filter(Kept(*reasons), batched=True).remove_columns(told)


def per_group(rows: Dataset, sizes: Mapping[str, int], *, seed: int) -> Dataset:
    """So many rows of each group, drawn with a seed and left in their order.

    Args:
        rows: with the column ``source_gender``.
        sizes: group -> number of rows, at most as many as there are.
        seed: of the choice; a smaller size takes a part of what a larger one takes.

    Returns:
        The rows that were drawn.
    """
    labels = np.asarray(rows[GENDER][:])
    rng = generator(seed)
    chosen = [rng.permutation(np.flatnonzero(labels == group))[:size] for group, size in sizes.items()]
    return rows.select(np.sort(np.concatenate(chosen)))


def given_model(name: str, source: Any) -> Fitted:
    """A model that was not trained here: an id, a folder, or a pair of model and tokenizer."""
    return Fitted(name, source_key(*source) if isinstance(source, tuple) else source_key(source), source)


def drawn(rows: Dataset, size: int, *, seed: int) -> Dataset:
    """So many rows in random order; where there are fewer, all of them again and again."""
    rng = generator(seed)
    rounds = [rng.permutation(len(rows)) for _ in range(-(-size // len(rows)))]
    return rows.select(np.concatenate(rounds)[:size] if rounds else [])


class PairStages(Method):
    """The part of GFST that makes its pairs.

    Attributes:
        attribute: whose groups are filtered.
        groups: their names.
        lengths: arguments of ``PairLength``.
        labels: makes what gives the texts of a column their groups.
        reasons: says of texts of one group, by their labels, why they are dropped.
        tagger: of the target filter; None: that of the language.
        filter_keys: what each filter depends on beside its rows.
        first: the filter that chooses among the monolingual texts; ``last`` looks at their translations.
        least: pairs of each group without which a run is of no use.
        counts: what each stage counted.
        base: the initial model; of its training this part knows nothing.
        translator: what makes pseudo-parallel data: the initial model, or the reverse model.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        a = self.arguments
        self.attribute = load_attribute(a.attribute, language=a.source_lang)
        self.groups = tuple(self.attribute.group_names)
        self.lengths = {"max_tokens": self.config.max_length, "max_ratio": self.config.max_length_ratio}
        self.labels = partial(SourceGender, wordlist=a.wordlist, attribute=self.attribute)
        self.reasons = partial(group_reasons, groups=self.groups, max_tokens=self.config.max_length)
        self.tagger = find_tagger(a, self.data["tagger"])
        self.filter_keys = {
            "filter_source": [a.wordlist, self.attribute.digest, self.lengths["max_tokens"]],
            "filter_target": [tagger_key(a, self.tagger), a.target_filter, list(self.groups), self.lengths],
        }
        self.first, self.last = reversed(BACKWARDS) if a.backwards else BACKWARDS
        self.least = a.min_pairs if a.wants("balance") else 1  # of a run that ends before the number matters
        self.counts: dict[str, Any] = {}
        self.base = self.translator = Fitted(BASELINE, None)

    def make(self, stage: str, rows_of: Callable[[Path], tuple[Dataset, dict[str, Any]]], *inputs: Any) -> None:
        """Make the rows of a stage, save them with their card, and note what was counted.

        Args:
            stage: its name.
            rows_of: from its folder to its rows, and what was counted.
            inputs: what they depend on.
        """

        def work(folder: Path) -> dict[str, Any]:
            rows, numbers = rows_of(folder)
            if is_main_process():
                discard(folder / CACHE)
                rows.save_to_disk(folder)
                self.card(rows, stage, numbers).save(folder / CARD)
            return numbers

        translates = stage in ("translate", RANDOM)
        self.counts[stage] = self.run.stage(
            stage, work, inputs=list(inputs), keep_partial=translates, collective=translates
        )

    def rows(self, stage: str) -> Dataset:
        """The data set of a stage, in memory: what is made of it must leave no cache files in the stage's folder."""
        return load_from_disk(self.run.folder(stage), keep_in_memory=True)

    @property
    def train(self) -> Dataset:
        """The parallel rows, the first ones where not all are wanted."""
        given: Dataset = self.data["train"]
        return given.select(range(len(given))[: self.arguments.max_rows])

    def parallel(self, folder: Path) -> tuple[Dataset, dict[str, Any]]:
        """The pairs to learn from: too long, empty and unreadable ones left out; how many speak of each group."""
        rows = self.train.map(PairLength(SOURCE, TARGET, **self.lengths), batched=True, desc="Checking pairs")
        numbers = drops(rows, reasons_of(rows), gender_column=None, minimum=0)
        if numbers["kept"] == 0:
            raise ValueError(f"None of the {len(rows)} parallel pairs can be used: {numbers['reasons']}.")
        chosen = kept(rows)
        labels = self.labels(SOURCE)
        by_group = Counter(label for batch in chosen.iter(BATCH) for label in labels({SOURCE: batch[SOURCE]})[GENDER])
        numbers["sources_by_gender"] = {name: by_group[name] for name in (*self.groups, MIXED, NONE)}
        return chosen, numbers

    def texts(self, folder: Path) -> tuple[Dataset, dict[str, Any]]:
        """Texts that speak of people of one group (algorithm 1, line 3), at most `max_candidates` of each.

        In the target language those whose words show one gender and that have a pronoun of it, so that it is likely a
        person's.
        """
        a = self.arguments
        labels: SourceGender | GrammaticalGender = (
            GrammaticalGender(TEXT, lang=a.target_lang, tagger=self.tagger, pronouns=True, **a.target_filter)
            if a.backwards
            else self.labels(TEXT)
        )
        rows = self.data["monolingual"].map(partial(self.reasons, labels=labels), batched=True, desc="Filtering texts")
        numbers, chosen = drops(rows, reasons_of(rows), gender_column=None, minimum=0), kept(rows)
        by_group = Counter(label for batch in chosen.select_columns(GENDER).iter(BATCH) for label in batch[GENDER])
        numbers["by_group"] = {name: by_group[name] for name in self.groups}
        few = [f"{name}: {n}" for name, n in numbers["by_group"].items() if n < self.least]
        if few:
            dropped = ", ".join(f"{reason} {n}" for reason, n in numbers["reasons"].items()) or "none"
            what = "show one gender and have a pronoun of it" if a.backwards else "speak of one group only"
            raise TooFewPairsError(
                f"Too few texts {what}: {', '.join(few)}, at least {self.least} of each are wanted (--min_pairs). Of "
                f"{numbers['n']} texts these were dropped: {dropped}. Give more text, or one in which people are "
                "spoken of.",
                numbers,
            )
        numbers["candidates"] = {name: min(n, a.max_candidates or n) for name, n in numbers["by_group"].items()}
        return per_group(chosen, numbers["candidates"], seed=self.seed), numbers

    def translated(self, folder: Path) -> tuple[Dataset, dict[str, Any]]:
        """The translations of the filtered texts, in pairs with them (algorithm 1, line 4)."""
        texts, genders = (self.rows(self.first)[column][:] for column in (TEXT, GENDER))
        pairs = self._pairs(texts, folder).add_column(GENDER, genders)
        return pairs, {"n": len(pairs), "by_group": dict(sorted(Counter(genders).items()))}

    def filtered(self, folder: Path) -> tuple[Dataset, dict[str, Any]]:
        """Why a pair is dropped, if it is.

        No word of the gender in the translation, a word of another, its length; in back-translation a source that
        speaks of nobody, of several groups or of another one.
        """
        a = self.arguments
        rows = self.rows("translate").map(PairLength(SOURCE, TARGET, **self.lengths), batched=True)
        reasons = (
            partial(self.reasons, labels=self.labels(SOURCE), like=GENDER)
            if a.backwards
            else TargetGender(TARGET, lang=a.target_lang, tagger=self.tagger, **a.target_filter)
        )
        rows = rows.map(reasons, batched=True, desc="Filtering pairs")
        return rows, drops(rows, reasons_of(rows), groups=self.groups, minimum=0)

    def balanced(self, folder: Path) -> tuple[Dataset, dict[str, Any]]:
        """As many pairs of each group, by leaving out some of the larger ones, and at most `max_pairs`."""
        before = {name: self.counts[self.last]["by_gender"][name]["kept"] for name in self.groups}
        size = min(n for n in (*before.values(), self.arguments.max_pairs) if n is not None)
        even = per_group(kept(self.rows(self.last)), dict.fromkeys(self.groups, size), seed=self.seed)
        return even, {"n": len(even), "per_group": size, "before": before}

    def random(self, folder: Path) -> tuple[Dataset, dict[str, Any]]:
        """RandST: as many random pairs as all groups have together, from texts that no gender filter saw.

        Texts and pairs that are too long, or pairs of unlike length, are replaced: they are left out everywhere.
        """
        size, given = self.counts["balance"]["n"], self.data["monolingual"]
        texts = self._short_enough(drawn(given, len(given), seed=self.seed))
        good: list[dict[str, str]] = []
        looked = 0
        while len(good) < size and (part := list(islice(texts, size - len(good) + (8 if looked else 0)))):
            looked += len(part)
            pairs = self._pairs(part, folder).map(PairLength(SOURCE, TARGET, **self.lengths), batched=True)
            good += kept(pairs).to_list()
        if len(good) < size:
            warnings.warn(
                f"RandST has {len(good)} pairs, {size} were wanted: the monolingual data have no more that can be "
                "used. Its size is not matched; give more text.",
                FairnessWarning,
                stacklevel=2,
            )
        return Dataset.from_list(good[:size]), {"n": min(len(good), size), "wanted": size, "translated": looked}

    def _short_enough(self, rows: Dataset) -> Iterator[str]:
        """The texts that are not too long, read some at a time."""
        reasons = PairLength(**self.lengths)
        for batch in rows.iter(BATCH):
            found = reasons({SOURCE: batch[TEXT], TARGET: batch[TEXT]})["length_reason"]
            yield from (text for text, reason in zip(batch[TEXT], found, strict=True) if not reason)

    def _pairs(self, texts: Sequence[str], folder: Path) -> Dataset:
        """Texts with their translations; what is machine output goes to its side of the pairs."""
        found = self.translations(self.translator, texts, folder)
        sides = (found, texts) if self.arguments.backwards else (texts, found)
        return Dataset.from_dict(dict(zip((SOURCE, TARGET), sides, strict=True)))

    def translations(self, by: Fitted, texts: Sequence[str], folder: Path) -> list[str]:
        """Translate on all processes; what a killed run finished is found again in the folder.

        Args:
            by: the model.
            texts: to translate.
            folder: of the stage, which removes `CACHE` from it in the end.
        """
        model, tokenizer = open_translator(by.model)
        if is_main_process():
            logger.info("Translating %s sentences.", f"{len(texts):,}")
        sizes = {f"batch_{name}": getattr(self.arguments, f"translation_batch_{name}") for name in ("size", "tokens")}
        how = {**self.translation_settings(by), **sizes, "device": str(self.config.device)}
        with rows_shared(cpu=self.config.use_cpu):
            return translate(model, tokenizer, texts, cache=folder / CACHE, **how)

    def translation_settings(self, by: Fitted) -> dict[str, Any]:
        """What changes the translations of a model; the reverse model turns the languages round."""
        a, back = self.arguments, by.name == REVERSE
        source, target = (a.target_code, a.source_code) if back else (a.source_code, a.target_code)
        settings = {name: getattr(a, name) for name in ("num_beams", "max_source_length", "max_new_tokens")}
        trained_in = {"bf16": "bfloat16", "fp16": "float16"}.get(self.config.mixed_precision)
        settings["dtype"] = {"auto": trained_in, "float32": None}.get(a.translation_dtype, a.translation_dtype)
        codes = {"source_code": source, "target_code": target}
        return {**settings, **codes, "prefix": a.reverse_prefix if back else a.prefix}

    def card(self, rows: Dataset, stage: str, numbers: Mapping[str, Any], *, repo_id: str = "") -> Any:
        """The card of the rows of a stage: how they were made.

        Args:
            rows: what it is about.
            stage: its name.
            numbers: what was counted, nested mappings allowed.
            repo_id: where they are published; "" means the folder of the stage.
        """
        a, columns = self.arguments, [name for name in (TEXT, SOURCE, TARGET) if name in rows.column_names]
        options = {"languages": f"{a.source_lang}-{a.target_lang or '?'}", "method": a.method, "seed": self.seed}
        return dataset_card(
            Derivation(
                name=repo_id or f"GFST, {stage.replace('_', ' ')}",
                method="gfst",
                summary=SUMMARIES[{self.first: "filtered texts", self.last: "filtered pairs"}.get(stage, stage)],
                source=(a.dataset if stage == "parallel" else a.monolingual_dataset) or "data given in Python",
                split="train",
                columns=columns,
                options={key: str(value) for key, value in options.items() if value is not None},
                counts={key: value for key, value in numbers.items() if key != "meta"},
                n_rows=len(rows),
                attribute=self.attribute,
                reference=REFERENCE,
                limits=[MACHINE] if SOURCE in columns and stage != "parallel" else [],
                licence=a.license,
                versions=package_versions(PACKAGES),
                repo_id=repo_id,
                saved=not repo_id,
            )
        )
