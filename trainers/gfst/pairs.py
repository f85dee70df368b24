"""The stages of GFST that make pseudo-parallel pairs: filter texts, translate them, filter the pairs, balance.

Each stage leaves a data set with a card in its folder and returns what it counted. Back-translation (section 6.3) goes
the other way round: texts of the target language are filtered and translated by a model of the other direction, and
the sources that it writes are filtered then.

Source: Choubey et al. 2021, algorithm 1.
"""

from __future__ import annotations

import logging
import shutil
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Features, Value, concatenate_datasets, load_from_disk

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
from hf_fairness.filters.drops import check_enough
from hf_fairness.filters.source import MIXED, NONE
from hf_fairness.filters.target import WORDS
from hf_fairness.measure.model_keys import source_key
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation import translate
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.rows import check_dataset, column_names
from hf_fairness.runs import PACKAGES
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.experiment import Method
from hf_fairness.trainers.gfst.arguments import BACKWARDS, RANDOM
from hf_fairness.trainers.gfst.checks import find_tagger, tagger_key
from hf_fairness.utils import FairnessWarning, package_versions

logger = logging.getLogger(__name__)

SOURCE, TARGET, TEXT, GENDER = "source", "target", "text", "source_gender"
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
    for column in column_names(rows, columns, name, "texts"):
        kind = getattr(rows.features[column], "dtype", None)
        if kind not in ("string", "large_string"):
            raise ValueError(f"Column {column!r} of {name} holds {kind or rows.features[column]}, not texts.")
    chosen = rows.with_format(None).select_columns(list(columns))
    if any(chosen.data.column(column).null_count for column in columns):
        chosen = chosen.map(_filled, batched=True)
    return chosen.cast(Features({column: Value("string") for column in columns}))


def _filled(batch: Mapping[str, Sequence[str | None]]) -> dict[str, list[str]]:
    return {name: ["" if text is None else text for text in texts] for name, texts in batch.items()}


def group_reasons(
    batch: Mapping[str, Sequence[str]],
    *,
    labels: SourceGender | GrammaticalGender,
    groups: Sequence[str],
    max_tokens: int,
    output: str,
    like: str | None = None,
) -> dict[str, list[str]]:
    """Say of each text of a batch which group it speaks of, and why it is dropped (``""``: kept).

    Args:
        batch: with the column of ``labels``.
        labels: what gives a text its group.
        groups: names of the groups; other labels are reasons to drop.
        max_tokens: longest text.
        output: name of the column of reasons; it must end in ``_reason``.
        like: column with the group that a text must have; None: any group, which becomes ``source_gender``.

    Returns:
        The added columns.
    """
    texts = list(batch[labels.column])
    lengths = PairLength(max_tokens=max_tokens)({SOURCE: texts, TARGET: texts})["length_reason"]
    (name,) = labels.outputs()
    found = list(labels({labels.column: texts})[name])
    wanted = found if like is None else batch[like]
    reasons = [
        length or (label if label not in groups else "" if label == group else OTHER)
        for length, label, group in zip(lengths, found, wanted, strict=True)
    ]
    return {output: reasons, **({GENDER: found} if like is None else {})}


def reasons_of(rows: Dataset) -> list[str]:
    """Columns that say why a row is dropped."""
    return [name for name in rows.column_names if name.endswith("_reason")]


def kept(rows: Dataset) -> Dataset:
    """The rows that no filter dropped, without the reasons."""
    reasons = reasons_of(rows)
    words = [WORDS] if WORDS in rows.column_names else []
    return rows.filter(Kept(*reasons), batched=True).remove_columns([*reasons, *words])


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


def joined(parts: Sequence[tuple[Dataset, int]]) -> Dataset:
    """Source and target of several sets, each as often as its number says."""
    return concatenate_datasets([part.select_columns([SOURCE, TARGET]) for part, times in parts for _ in range(times)])


class PairStages(Method):
    """The part of GFST that makes its pairs.

    Attributes:
        attribute: whose groups are filtered.
        groups: their names.
        lengths: arguments of ``PairLength``.
        tagger: of the target filter; None: that of the language.
        counts: what each stage counted.
        base: the initial model, which translates: an id or a folder; of its training this part knows nothing.
        base_key: what stands for it among the inputs of stages.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        a, config = self.arguments, self.config
        self.attribute = load_attribute(a.attribute, language=a.source_lang)
        self.groups = tuple(self.attribute.group_names)
        self.lengths = {"max_tokens": config.max_length, "max_ratio": config.max_length_ratio}
        self.tagger = find_tagger(a, self.data["tagger"])
        self.target_filter = {"human_nouns_only": a.human_nouns_only, "nouns": a.nouns, "ambiguous": a.ambiguous}
        self.counts: dict[str, Any] = {}
        self.base: Path | str = ""
        self.base_key: Any = None

    def rows(self, stage: str) -> Dataset:
        """The data set of a stage, in memory: what is made of it must leave no cache files in the stage's folder."""
        return load_from_disk(self.run.folder(stage), keep_in_memory=True)

    def parallel(self) -> Any:
        """The pairs to learn from: too long, empty and unreadable ones left out; how many speak of each group."""
        given: Dataset = self.data["train"]
        given = given.select(range(min(len(given), self.arguments.max_rows or len(given))))

        def work(folder: Path) -> Mapping[str, Any]:
            rows = given.map(PairLength(SOURCE, TARGET, **self.lengths), batched=True, desc="Checking pairs")
            numbers = drops(rows, reasons_of(rows), gender_column=None, minimum=0)
            if numbers["kept"] == 0:
                raise ValueError(f"None of the {len(rows)} parallel pairs can be used: {numbers['reasons']}.")
            chosen = kept(rows)
            by_group = Counter(self._labels(SOURCE)({SOURCE: chosen[SOURCE][:]})[GENDER])
            numbers["sources_by_gender"] = {name: by_group[name] for name in (*self.groups, MIXED, NONE)}
            return self._write(chosen, folder, "parallel", numbers)

        inputs = [given, self.lengths, self._filter_key("filter_source")]
        return self.run.stage("parallel", work, inputs=inputs)

    def filter_texts(self) -> Any:
        """Texts that speak of people of one group (algorithm 1, line 3).

        In the target language those whose words show one gender and that have a pronoun of it, so that it is likely a
        person's.
        """
        a, texts = self.arguments, self.data["monolingual"]

        def work(folder: Path) -> Mapping[str, Any]:
            labels: SourceGender | GrammaticalGender = self._labels(TEXT)
            if a.backwards:
                how = {"tagger": self.tagger, "pronouns": True, **self.target_filter}
                labels = GrammaticalGender(TEXT, lang=a.target_lang, **how)
            rows = texts.map(
                group_reasons, batched=True, fn_kwargs={"labels": labels, **self._reasons()}, desc="Filtering texts"
            )
            numbers = drops(rows, reasons_of(rows), gender_column=None, minimum=0)
            return self._write(self._candidates(kept(rows), numbers), folder, a.first_filter, numbers)

        draws = [a.max_candidates, self.seed] if a.max_candidates else None
        inputs = [texts, self._filter_key(a.first_filter), draws]
        return self.run.stage(a.first_filter, work, inputs=inputs)

    def translate(self) -> Any:
        """The translations of the filtered texts, in pairs with them (algorithm 1, line 4)."""
        earlier = self.arguments.first_filter

        def work(folder: Path) -> Mapping[str, Any]:
            texts, genders = (self.rows(earlier)[column][:] for column in (TEXT, GENDER))
            pairs = self._pairs(texts, folder).add_column(GENDER, genders)
            numbers = {"n": len(pairs), "by_group": dict(sorted(Counter(genders).items()))}
            return self._write(pairs, folder, "translate", numbers)

        inputs = [self.run.key(earlier), *self._translator_key()]
        return self.run.stage("translate", work, inputs=inputs, keep_partial=True)

    def filter_pairs(self) -> Any:
        """Why a pair is dropped, if it is.

        No word of the gender in the translation, a word of another, its length; in back-translation a source that
        speaks of nobody, of several groups or of another one.
        """
        a, name = self.arguments, BACKWARDS[self.arguments.first_filter]

        def work(folder: Path) -> Mapping[str, Any]:
            rows = self.rows("translate").map(PairLength(SOURCE, TARGET, **self.lengths), batched=True)
            if a.backwards:
                more = {"labels": self._labels(SOURCE), "like": GENDER, **self._reasons()}
                rows = rows.map(group_reasons, batched=True, fn_kwargs=more, desc="Filtering pairs")
            else:
                how = TargetGender(TARGET, lang=a.target_lang, tagger=self.tagger, **self.target_filter)
                rows = rows.map(how, batched=True, desc="Filtering pairs")
            return self._write(rows, folder, name, drops(rows, reasons_of(rows), groups=self.groups, minimum=0))

        inputs = [self.run.key("translate"), self.lengths, self._filter_key(name)]
        numbers = self.run.stage(name, work, inputs=inputs)
        check_enough(numbers, self.groups, 1)  # also a run that ends here needs pairs of every group
        return numbers

    def balance(self) -> Any:
        """As many pairs of each group, by leaving out some of the larger ones, and at most `max_pairs`."""
        a, last = self.arguments, BACKWARDS[self.arguments.first_filter]

        def work(folder: Path) -> Mapping[str, Any]:
            rows = self.rows(last)
            counted = drops(rows, reasons_of(rows), groups=self.groups, minimum=a.min_pairs)["by_gender"]
            before = {name: counted[name]["kept"] for name in self.groups}
            size = min([*before.values(), *([a.max_pairs] if a.max_pairs else [])])
            even = per_group(kept(rows), dict.fromkeys(self.groups, size), seed=self.seed)
            return self._write(even, folder, "balance", {"n": len(even), "per_group": size, "before": before})

        inputs = [self.run.key(last), a.max_pairs, a.min_pairs, self.seed, list(self.groups)]
        return self.run.stage("balance", work, inputs=inputs)

    def random_pairs(self) -> Any:
        """RandST: as many random pairs as all groups have together, from texts that no gender filter saw.

        Texts and pairs that are too long, or pairs of unlike length, are replaced: they are left out everywhere.
        """
        size, given = self.counts["balance"]["n"], self.data["monolingual"]

        def work(folder: Path) -> Mapping[str, Any]:
            texts = drawn(given, len(given), seed=self.seed)[TEXT][:]
            reasons = PairLength(**self.lengths)({SOURCE: texts, TARGET: texts})["length_reason"]
            texts = [text for text, reason in zip(texts, reasons, strict=True) if not reason]
            good: list[dict[str, str]] = []
            looked = 0
            while len(good) < size and looked < len(texts):
                part = texts[looked : looked + size - len(good) + (8 if looked else 0)]
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
            numbers = {"n": min(len(good), size), "wanted": size, "translated": looked}
            return self._write(Dataset.from_list(good[:size]), folder, RANDOM, numbers)

        inputs = [given, size, self.seed, *self._translator_key(), self.lengths]
        return self.run.stage(RANDOM, work, inputs=inputs, keep_partial=True)

    def translations(self, source: Any, texts: Sequence[str], folder: Path, *, backwards: bool = False) -> list[str]:
        """Translate; what a killed run finished is found again in the folder, which holds none of it in the end.

        Args:
            source: model and tokenizer, or an id or folder.
            texts: to translate.
            folder: of the stage.
            backwards: whether the texts are in the target language.
        """
        model, tokenizer = source if isinstance(source, tuple) else open_translator(source)
        cache, batch_size = folder / "cache", self.arguments.translation_batch_size
        logger.info("Translating %s sentences.", f"{len(texts):,}")
        more = {"batch_size": batch_size, "device": str(self.config.device), **self.translation_settings(backwards)}
        found = translate(model, tokenizer, texts, cache=cache, **more)
        shutil.rmtree(cache, ignore_errors=True)
        return found

    def translation_settings(self, backwards: bool = False) -> dict[str, Any]:
        """What changes the translations of a model."""
        a = self.arguments
        codes = (a.target_code, a.source_code) if backwards else (a.source_code, a.target_code)
        prefix = a.reverse_prefix if backwards else a.prefix
        settings = {name: getattr(a, name) for name in ("num_beams", "max_source_length", "max_new_tokens")}
        return {**settings, "source_code": codes[0], "target_code": codes[1], "prefix": prefix}

    def card(self, rows: Dataset, stage: str, numbers: Mapping[str, Any], *, repo_id: str = "") -> Any:
        """The card of the rows of a stage: how they were made.

        Args:
            rows: what it is about.
            stage: its name.
            numbers: what was counted, nested mappings allowed.
            repo_id: where they are published; "" means the folder of the stage.
        """
        a, filtered = self.arguments, "filtered texts" if TEXT in rows.column_names else "filtered pairs"
        options = {"languages": f"{a.source_lang}-{a.target_lang or '?'}", "method": a.method, "seed": self.seed}
        machine = stage != "parallel" and SOURCE in rows.column_names
        made = Derivation(
            name=repo_id or f"GFST, {stage.replace('_', ' ')}",
            method="gfst",
            summary=SUMMARIES[filtered if stage in BACKWARDS else stage],
            source=(a.dataset if stage == "parallel" else a.monolingual_dataset) or "data given in Python",
            split="train",
            columns=[column for column in (TEXT, SOURCE, TARGET) if column in rows.column_names],
            options={key: str(value) for key, value in options.items() if value is not None},
            counts={key: value for key, value in numbers.items() if key != "meta"},
            n_rows=len(rows),
            attribute=self.attribute,
            reference=REFERENCE,
            limits=[MACHINE] if machine else [],
            versions=package_versions(PACKAGES),
            repo_id=repo_id,
            saved=not repo_id,
        )
        return dataset_card(made)

    def _write(self, rows: Dataset, folder: Path, stage: str, numbers: Mapping[str, Any]) -> Mapping[str, Any]:
        """Save the rows of a stage with their card; gives the numbers back."""
        rows.save_to_disk(folder)
        self.card(rows, stage, numbers).save(folder / "README.md")
        return numbers

    def _labels(self, column: str) -> SourceGender:
        """What gives a source text its group."""
        return SourceGender(column, wordlist=self.arguments.wordlist, attribute=self.attribute)

    def _reasons(self) -> dict[str, Any]:
        return {"groups": self.groups, "max_tokens": self.lengths["max_tokens"], "output": "group_reason"}

    def _filter_key(self, name: str) -> list[Any]:
        """What a filter depends on beside its rows."""
        a = self.arguments
        if name == "filter_source":
            return [a.wordlist, self.attribute.digest, self.lengths["max_tokens"]]
        nouns = None if a.nouns is None else Path(a.nouns)
        return [tagger_key(a, self.tagger), {**self.target_filter, "nouns": nouns}, list(self.groups), self.lengths]

    def _candidates(self, rows: Dataset, numbers: dict[str, Any]) -> Dataset:
        """At most `max_candidates` texts of each group, counted in the numbers."""
        a, by_group = self.arguments, Counter(rows[GENDER][:])
        numbers["by_group"] = {name: by_group[name] for name in self.groups}
        least = a.min_pairs if a.wants("balance") else 1  # of a run that ends before the number matters
        few = [f"{name}: {n}" for name, n in numbers["by_group"].items() if n < least]
        if few:
            dropped = ", ".join(f"{reason} {n}" for reason, n in numbers["reasons"].items()) or "none"
            what = "show one gender and have a pronoun of it" if a.backwards else "speak of one group only"
            raise TooFewPairsError(
                f"Too few texts {what}: {', '.join(few)}, at least {least} of each are wanted (--min_pairs). Of "
                f"{numbers['n']} texts these were dropped: {dropped}. Give more text, or one in which people are "
                "spoken of.",
                numbers,
            )
        numbers["candidates"] = {name: min(n, a.max_candidates or n) for name, n in numbers["by_group"].items()}
        return per_group(rows, numbers["candidates"], seed=self.seed)

    def _translator(self) -> Any:
        """What makes pseudo-parallel data: the initial model, or the reverse model."""
        return (self.data["reverse"] or self.arguments.reverse_model) if self.arguments.backwards else self.base

    def _translator_key(self) -> list[Any]:
        key, source = self.base_key, self._translator()
        if self.arguments.backwards:
            key = source_key(*source) if isinstance(source, tuple) else source_key(source)
        return [key, self.translation_settings(self.arguments.backwards)]

    def _pairs(self, texts: Sequence[str], folder: Path) -> Dataset:
        """Texts with their translations; what is machine output goes to its side of the pairs."""
        backwards = self.arguments.backwards
        found = self.translations(self._translator(), texts, folder, backwards=backwards)
        sides = (found, texts) if backwards else (texts, found)
        return Dataset.from_dict(dict(zip((SOURCE, TARGET), sides, strict=True)))
