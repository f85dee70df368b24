"""The stages of GFST that make pseudo-parallel pairs: filter texts, translate them, filter the pairs, balance.

Each stage leaves a data set with a card in its folder and returns what it counted. Back-translation (section 6.3) goes
the other way round: texts of the target language are filtered and translated by a model of the other direction, and
the sources that it writes are filtered then.

Source: Choubey et al. 2021, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Features, Value, concatenate_datasets, load_from_disk

from hf_fairness._processes import rows_shared
from hf_fairness.attributes import load_attribute
from hf_fairness.erasure import DebiasWords
from hf_fairness.filters import (
    GenderTagger,
    GrammaticalGender,
    Kept,
    LexiconTagger,
    PairLength,
    SourceGender,
    TargetGender,
    drops,
    gender_tagger,
)
from hf_fairness.filters.drops import check_enough
from hf_fairness.filters.source import MIXED, NONE
from hf_fairness.measure.model_keys import source_key
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation import TranslationConfig, translate
from hf_fairness.rows import check_dataset
from hf_fairness.runs import PACKAGES
from hf_fairness.scores.statistics import generator
from hf_fairness.sources import text_column
from hf_fairness.trainers.experiment import Fitted, Method
from hf_fairness.trainers.gfst.arguments import BACKWARDS, HARD_DEBIASED, RANDOM, GFSTArguments
from hf_fairness.utils import is_main_process, package_versions

#: Rows of a stage, and what was counted.
Counted = tuple[Dataset, dict[str, Any]]
SOURCE, TARGET, TEXT, GENDER = "source", "target", "text", "source_gender"
#: Column of the group that a back-translation speaks of, and the reason where it is another one than that of its text.
FOUND, OTHER = "translated_gender", "other_group"
#: Folder of the output folder that keeps finished translations, for all stages and models.
TRANSLATED = ".translations"
#: Name of the model from target to source language.
REVERSE = "reverse"
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
    return chosen.map(
        lambda batch: {column: [text or "" for text in texts] for column, texts in batch.items()},
        batched=True,
        features=Features({column: Value("string") for column in columns}),
    )


def group_reasons(column: str, groups: Sequence[str], batch: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Say of each row of a batch why it is dropped for the group that it speaks of (``""``: kept).

    Args:
        column: with the label of the text: it must be the wanted one.
        groups: names of the groups; other labels are reasons to drop.
        batch: with ``source_gender``, the wanted group.

    Returns:
        The added column, ``group_reason``.
    """
    both = zip(batch[column], batch[GENDER], strict=True)
    return {"group_reason": [label if label not in groups else "" if label == own else OTHER for label, own in both]}


def reasons_of(rows: Dataset) -> list[str]:
    """Columns that say why a row is dropped."""
    return [name for name in rows.column_names if name.endswith("_reason")]


def kept(rows: Dataset) -> Dataset:
    """The rows that no filter dropped, without what the filters said of them."""
    own = [name for name in rows.column_names if name in (TEXT, SOURCE, TARGET, GENDER)]
    return rows.filter(Kept(*reasons_of(rows)), batched=True).select_columns(own)


def sifted(rows: Dataset, *filters: Any) -> Counted:
    """Rows with what filters say of them, and what these drop, by label."""
    for each in filters:
        rows = rows.map(each, batched=True, desc="Filtering")
    return rows, drops(rows, reasons_of(rows), minimum=0)


def kept_by(by_gender: Mapping[str, Mapping[str, Any]], labels: Sequence[str]) -> dict[str, int]:
    """How many rows of each label were kept, of what :func:`hf_fairness.filters.drops` counted."""
    return {label: by_gender[label]["kept"] if label in by_gender else 0 for label in labels}


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


def drawn(rows: Dataset, size: int, *, seed: int) -> Dataset:
    """So many rows in random order; where there are fewer, all of them again and again."""
    rng = generator(seed)
    rounds = [rng.permutation(len(rows)) for _ in range(-(-size // len(rows)))]
    return rows.select(np.concatenate(rounds)[:size] if rounds else [])


def given_model(name: str, source: Any) -> Fitted:
    """A model that was not trained here: an id, a folder, or a pair of model and tokenizer."""
    return Fitted(name, source_key(*source) if isinstance(source, tuple) else source_key(source), source)


def find_tagger(a: GFSTArguments) -> GenderTagger | None:
    """The tagger that was named for the target filter; None for that of the language.

    Raises:
        ValueError: unknown language or kind.
        ImportError, FileNotFoundError: it is not installed.
    """
    if a.lexicon is not None:
        return LexiconTagger(a.lexicon, a.target_lang or "")
    return gender_tagger(a.target_lang, a.tagger) if a.tagger and a.target_lang else None


def tagger_key(a: GFSTArguments, tagger: GenderTagger | None) -> Any:
    """What stands for the tagger among the inputs of stages."""
    path = getattr(tagger, "path", None)
    name = None if tagger is None else [type(tagger).__name__, tagger.name]
    return [a.target_lang, name, None if path is None else Path(path)]


class PairStages(Method):
    """The part of GFST that makes its pairs.

    Attributes:
        attribute: whose groups are filtered.
        groups: their names.
        lengths: arguments of ``PairLength``.
        labels: makes what gives the texts of a column their groups, by the words of the source language.
        words: what the arms +HD are debiased by; None without them.
        tagger: of the target filter; None: that of the language.
        grammar: arguments of what reads genders off the target language.
        filter_keys: what each filter depends on beside its rows.
        first: the filter that chooses among the monolingual texts; ``last`` looks at their translations.
        least: pairs of each group without which a run is of no use.
        counts: what each stage counted.
        translator: what makes pseudo-parallel data: the initial model, or the reverse model.
    """

    translator: Fitted

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        a = self.arguments
        self.attribute = load_attribute(a.attribute, language=a.source_lang)
        self.groups = tuple(self.attribute.group_names)
        self.lengths = {"max_tokens": self.config.max_length, "max_ratio": self.config.max_length_ratio}
        self.labels: Callable[..., Any] = partial(SourceGender, wordlist=a.wordlist, attribute=self.attribute)
        self.words: Any = DebiasWords.chosen(a.hd_words, self.attribute) if set(a.arms) & set(HARD_DEBIASED) else None
        self.tagger = self.data["tagger"] or find_tagger(a)
        self.grammar: dict[str, Any] = {"lang": a.target_lang, "tagger": self.tagger, **a.target_filter}
        self.filter_keys = {
            "filter_source": [a.wordlist, self.attribute.digest, self.lengths["max_tokens"]],
            "filter_target": [tagger_key(a, self.tagger), a.target_filter, list(self.groups), self.lengths],
        }
        self.first, self.last = reversed(BACKWARDS) if a.backwards else BACKWARDS
        self.least = a.min_pairs if a.wants("balance") else 1  # of a run that ends before the number matters
        self.counts: dict[str, Any] = {}

    def make(self, stage: str, rows_of: Callable[[], Counted], *inputs: Any) -> str:
        """Make the rows of a stage, save them with their card, and note what was counted.

        Args:
            stage: its name.
            rows_of: makes them.
            inputs: what they depend on.

        Returns:
            The name of the stage.
        """

        def work(folder: Path) -> dict[str, Any]:
            rows, numbers = rows_of()
            if is_main_process():
                rows.save_to_disk(folder)
                self.card(folder, rows, stage, numbers)
            return numbers

        translates = stage in ("translate", RANDOM)
        self.counts[stage] = self.run.stage(stage, work, inputs=list(inputs), collective=translates)
        return stage

    def rows(self, stage: str) -> Dataset:
        """The data set of a stage, in memory: what is made of it must leave no cache files in the stage's folder."""
        return load_from_disk(self.run.folder(stage), keep_in_memory=True)

    def parallel(self) -> Counted:
        """The pairs to learn from: too long, empty and unreadable ones left out; how many speak of each group."""
        rows = self.data["train"].select(range(len(self.data["train"]))[: self.arguments.max_rows])
        rows, numbers = sifted(rows, PairLength(SOURCE, TARGET, **self.lengths), self.labels(SOURCE))
        check_enough(numbers, None, 1, what="parallel pairs", advice="Give pairs that can be used.")
        numbers["sources_by_gender"] = kept_by(numbers.pop("by_gender"), (*self.groups, MIXED, NONE))
        return kept(rows), numbers

    def text_filters(self) -> list[Any]:
        """What says of a text whether it is too long, which group it speaks of, and whether it is dropped for that.

        In the target language it speaks of the group whose gender alone its words show, if it has a pronoun of it too,
        so that the gender is likely a person's.
        """
        labels = self.labels(TEXT)
        if self.arguments.backwards:
            labels = GrammaticalGender(TEXT, pronouns=True, output_column=GENDER, **self.grammar)
        return [PairLength(TEXT, None, **self.lengths), labels, partial(group_reasons, GENDER, self.groups)]

    def pair_filters(self) -> list[Any]:
        """What says why a pair is dropped: its length; no word of the gender in the translation, or one of another.

        In back-translation a source that speaks of nobody, of several groups or of another one.
        """
        lengths = PairLength(SOURCE, TARGET, **self.lengths)
        if self.arguments.backwards:
            found = self.labels(SOURCE, output_column=FOUND)
            return [lengths, found, partial(group_reasons, FOUND, self.groups)]
        return [lengths, TargetGender(TARGET, **self.grammar)]

    def texts(self) -> Counted:
        """Texts that speak of people of one group (algorithm 1, line 3), at most `max_candidates` of each."""
        rows, numbers = sifted(self.data["monolingual"], *self.text_filters())
        advice = "Give more text, or one in which people of each group are spoken of (--min_pairs: the fewest of each)."
        check_enough(numbers, self.groups, self.least, what="texts", advice=advice)
        most, counts = self.arguments.max_candidates, kept_by(numbers.pop("by_gender"), self.groups)
        numbers |= {"by_group": counts, "candidates": {name: min(n, most or n) for name, n in counts.items()}}
        return per_group(kept(rows), numbers["candidates"], seed=self.seed), numbers

    def translated(self) -> Counted:
        """The translations of the filtered texts, in pairs with them (algorithm 1, line 4)."""
        texts = self.rows(self.first)
        pairs = self._pairs(texts[TEXT][:]).add_column(GENDER, texts[GENDER][:])
        return pairs, {"n": len(pairs), "by_group": self.counts[self.first]["candidates"]}

    def filtered(self) -> Counted:
        """Why a pair is dropped, if it is."""
        return sifted(self.rows("translate"), *self.pair_filters())

    def balanced(self) -> Counted:
        """As many pairs of each group, by leaving out some of the larger ones, and at most `max_pairs`."""
        before = kept_by(self.counts[self.last]["by_gender"], self.groups)
        size = min(n for n in (*before.values(), self.arguments.max_pairs) if n is not None)
        even = per_group(kept(self.rows(self.last)), dict.fromkeys(self.groups, size), seed=self.seed)
        return even, {"n": len(even), "per_group": size, "before": before}

    def random(self) -> Counted:
        """RandST: as many random pairs as all groups have together, from texts that no gender filter saw.

        Texts and pairs that are too long, or pairs of unlike length, are replaced: they are left out everywhere.
        """
        size, given = self.counts["balance"]["n"], self.data["monolingual"]
        texts = (  # read as far as it is needed
            drawn(given, len(given), seed=self.seed)
            .to_iterable_dataset()
            .map(PairLength(TEXT, None, **self.lengths), batched=True)
            .filter(Kept("length_reason"), batched=True)
        )
        following, found, looked, lacking = iter(texts), list[Dataset](), 0, size
        while lacking > 0:
            part = [row[TEXT] for row in islice(following, lacking + (8 if found else 0))]
            if not part:
                break
            looked += len(part)
            pairs = self._pairs(part).map(PairLength(SOURCE, TARGET, **self.lengths), batched=True)
            found.append(kept(pairs))
            lacking -= len(found[-1])
        all_pairs = concatenate_datasets(found)
        n = min(size, len(all_pairs))
        return all_pairs.select(range(n)), {"n": n, "wanted": size, "translated": looked}

    def _pairs(self, texts: Sequence[str]) -> Dataset:
        """Texts with their translations; what is machine output goes to its side of the pairs."""
        found = self.translations(self.translator, texts)
        sides = (found, texts) if self.arguments.backwards else (texts, found)
        return Dataset.from_dict(dict(zip((SOURCE, TARGET), sides, strict=True)))

    def translations(self, by: Fitted, texts: Sequence[str]) -> list[str]:
        """Translate by a model, on all processes; what this or a killed run has translated before is found again."""
        cache = self.run.output_dir / TRANSLATED
        with rows_shared(cpu=self.config.use_cpu):
            return translate(*open_translator(by.model), texts, cache=cache, config=self.translation(by))

    def translation(self, by: Fitted) -> TranslationConfig:
        """How a model translates; the reverse model turns the languages round."""
        a, back = self.arguments, by.name == REVERSE
        trained_in = {"bf16": "bfloat16", "fp16": "float16"}.get(self.config.mixed_precision)
        return TranslationConfig(
            num_beams=a.num_beams,
            batch_size=a.translation_batch_size,
            batch_tokens=a.translation_batch_tokens,
            max_source_length=a.max_source_length,
            max_new_tokens=a.max_new_tokens,
            source_code=a.target_code if back else a.source_code,
            target_code=a.source_code if back else a.target_code,
            prefix=a.reverse_prefix if back else a.prefix,
            device=str(self.config.device),
            dtype={"auto": trained_in, "float32": None}.get(a.translation_dtype, a.translation_dtype),
        )

    def translation_key(self, by: Fitted) -> list[Any]:
        """What decides the translations of a model: neither how many it makes at a time, nor where."""
        return [by.key, replace(self.translation(by), batch_size=1, batch_tokens=1, device=None)]

    def card(self, folder: Path, rows: Dataset, stage: str, numbers: Mapping[str, Any], repo_id: str = "") -> None:
        """Write the card of the rows of a stage: how they were made.

        Args:
            folder: of the rows.
            rows: what it is about.
            stage: its name.
            numbers: what was counted, nested mappings allowed.
            repo_id: where they are published; "" means the folder of the stage.
        """
        a, columns = self.arguments, [name for name in (TEXT, SOURCE, TARGET) if name in rows.column_names]
        self.write_card(
            folder,
            len(rows),
            repo_id,
            name=repo_id or f"GFST, {stage.replace('_', ' ')}",
            summary=SUMMARIES[{self.first: "filtered texts", self.last: "filtered pairs"}.get(stage, stage)],
            source=(a.dataset if stage == "parallel" else a.monolingual_dataset) or "data given in Python",
            split="train",
            columns=columns,
            options={"languages": f"{a.source_lang}-{a.target_lang or '?'}", "seed": self.seed},
            counts={key: value for key, value in numbers.items() if key != "meta"},
            attribute=self.attribute,
            limits=[MACHINE] if SOURCE in columns and stage != "parallel" else [],
            versions=package_versions(PACKAGES),
            saved=not repo_id,
        )
