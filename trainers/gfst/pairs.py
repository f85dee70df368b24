"""The stages of GFST that make pseudo-parallel data: filter sources, translate, filter targets, balance.

Each stage leaves a data set with a card in its folder and returns what it counted.

Source: Choubey et al. 2021, algorithm 1.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets import Dataset

from hf_fairness.filters import PairLength, SourceGender, TargetGender, TooFewPairsError, drops
from hf_fairness.filters.drops import check_enough
from hf_fairness.filters.source import MIXED, NONE
from hf_fairness.trainers.gfst.arguments import RANDOM
from hf_fairness.trainers.gfst.data import (
    GENDER,
    SOURCE,
    TARGET,
    TEXT,
    GroupReason,
    counts,
    drawn,
    kept,
    per_group,
    reasons_of,
    rows_card,
)
from hf_fairness.trainers.gfst.job import Job
from hf_fairness.utils import FairnessWarning

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard

BALANCED = "as many pseudo-parallel pairs of each group"


class PairMaker:
    """The stages that both directions share; `make` runs those that differ."""

    #: The stage whose rows are balanced.
    last = "filter_target"
    #: Whether texts of the target language are translated.
    backwards = False

    def __init__(self, job: Job, monolingual: Dataset | None) -> None:
        self.job, self.run, self.arguments = job, job.run, job.arguments
        self.monolingual = monolingual

    @property
    def texts(self) -> Dataset:
        """The monolingual texts, where there are any."""
        if self.monolingual is None:
            raise ValueError("There is no monolingual text to translate.")
        return self.monolingual

    def translate(self, source: Any, source_key: Any) -> dict[str, Any]:
        """The translations of the filtered texts, in pairs with them."""
        raise NotImplementedError

    def write(
        self, rows: Dataset, folder: Path, name: str, summary: str, numbers: Mapping[str, Any], *, machine: bool = True
    ) -> dict[str, Any]:
        """Save the rows of a stage with their card; gives the numbers back."""
        rows.save_to_disk(folder)
        self.card(rows, name, summary, numbers, machine=machine).save(folder / "README.md")
        return dict(numbers)

    def card(
        self,
        rows: Dataset,
        name: str,
        summary: str,
        numbers: Mapping[str, Any],
        *,
        machine: bool = True,
        repo_id: str = "",
    ) -> DatasetCard:
        """The card of the rows of a stage, in its folder or in a repository."""
        a = self.arguments
        return rows_card(
            rows,
            name=name,
            summary=summary,
            source=(a.monolingual_dataset if machine or TEXT in rows.column_names else a.dataset)
            or "data given in Python",
            options={"languages": f"{a.source_lang}-{a.target_lang or '?'}", "method": a.method, "seed": self.job.seed},
            numbers={key: value for key, value in numbers.items() if key != "meta"},
            attribute=self.job.attribute,
            machine=machine,
            repo_id=repo_id,
        )

    def labels(self) -> SourceGender:
        """What gives a source text its group."""
        return SourceGender(TEXT, wordlist=self.arguments.wordlist, attribute=self.job.attribute)

    def word_key(self) -> list[Any]:
        """What the source filter depends on."""
        return [self.arguments.wordlist, self.job.attribute.digest, self.job.config.max_length]

    def parallel(self, rows: Dataset) -> dict[str, Any]:
        """The pairs to learn from: too long, empty and unreadable ones left out; how many speak of each group."""

        def work(folder: Path) -> dict[str, Any]:
            checked = rows.map(PairLength(SOURCE, TARGET, **self.job.limits), batched=True, desc="Checking pairs")
            numbers = drops(checked, reasons_of(checked), gender_column=None, minimum=0)
            if numbers["kept"] == 0:
                raise ValueError(f"None of the {len(rows)} parallel pairs can be used: {numbers['reasons']}.")
            chosen = kept(checked)
            found = counts(self.labels()({TEXT: chosen[SOURCE][:]})[GENDER])
            numbers["sources_by_gender"] = {name: found.get(name, 0) for name in (*self.job.groups, MIXED, NONE)}
            summary = "pairs that are not too long, empty, unreadable or of unlike length"
            return self.write(chosen, folder, "parallel", summary, numbers, machine=False)

        inputs = [rows, self.job.limits, *self.word_key()]
        return self.run.stage("parallel", work, inputs=inputs)

    def candidates(self, rows: Dataset, numbers: dict[str, Any], what: str) -> Dataset:
        """At most `max_candidates` texts of each group, counted in the numbers."""
        a, found = self.arguments, counts(rows[GENDER][:])
        numbers["by_group"] = {name: found.get(name, 0) for name in self.job.groups}
        least = a.min_pairs if a.wants("balance") else 1  # of a run that ends before the number matters
        few = [f"{name}: {n}" for name, n in numbers["by_group"].items() if n < least]
        if few:
            dropped = ", ".join(f"{reason} {n}" for reason, n in numbers["reasons"].items()) or "none"
            raise TooFewPairsError(
                f"Too few {what}: {', '.join(few)}, at least {least} of each are wanted (--min_pairs). Of "
                f"{numbers['n']} texts these were dropped: {dropped}. Give more text, or one in which people are "
                "spoken of.",
                numbers,
            )
        sizes = {name: min(n, a.max_candidates or n) for name, n in numbers["by_group"].items()}
        numbers["candidates"] = sizes
        return per_group(rows, sizes, seed=self.job.seed)

    def translated(self, name: str, earlier: str, source: Any, source_key: Any) -> dict[str, Any]:
        """Translate the texts of an earlier stage; what is machine output goes to its side of the pairs."""

        def work(folder: Path) -> dict[str, Any]:
            start, rows = time.perf_counter(), self.job.rows(earlier)
            pairs = self._pairs(source, rows[TEXT][:], folder).add_column(GENDER, rows[GENDER][:])
            numbers = {"n": len(pairs), "by_group": counts(rows[GENDER][:])}
            self.write(pairs, folder, name, "the filtered texts with their machine translations", numbers)
            return {**numbers, "seconds": round(time.perf_counter() - start, 3)}

        settings = self.job.translation_settings(backwards=self.backwards)
        inputs = [self.run.key(earlier), source_key, settings]
        return self.run.stage(name, work, inputs=inputs, keep_partial=True)

    def _pairs(self, source: Any, texts: Sequence[str], folder: Path) -> Dataset:
        what = "the reverse model" if self.backwards else "the initial model"
        found = self.job.translate(source, texts, folder, what=what, backwards=self.backwards)
        sides = (found, texts) if self.backwards else (texts, found)
        return Dataset.from_dict(dict(zip((SOURCE, TARGET), sides, strict=True)))

    def not_empty(self, numbers: dict[str, Any]) -> dict[str, Any]:
        """The numbers of the last filter, where it kept pairs of every group: also a run that ends here needs some."""
        check_enough(numbers, self.job.groups, 1)
        return numbers

    def balance(self) -> dict[str, Any]:
        """As many pairs of each group, by leaving out some of the larger ones, and at most `max_pairs`."""
        a = self.arguments

        def work(folder: Path) -> dict[str, Any]:
            rows = self.job.rows(self.last)
            counted = drops(rows, reasons_of(rows), groups=self.job.groups, minimum=a.min_pairs)["by_gender"]
            chosen, found = kept(rows), {name: counted[name]["kept"] for name in self.job.groups}
            size = min([*found.values(), *([a.max_pairs] if a.max_pairs else [])])
            even = per_group(chosen, dict.fromkeys(self.job.groups, size), seed=self.job.seed)
            numbers = {"n": len(even), "per_group": size, "before": found}
            return self.write(even, folder, "balance", BALANCED, numbers)

        inputs = [self.run.key(self.last), a.max_pairs, a.min_pairs, self.job.seed, list(self.job.groups)]
        return self.run.stage("balance", work, inputs=inputs)

    def random_pairs(self, size: int, source: Any, source_key: Any) -> dict[str, Any]:
        """RandST: as many random pairs as all groups have together, from texts that no gender filter saw.

        Texts and pairs that are too long, or pairs of unlike length, are replaced: they are left out everywhere.
        """

        def work(folder: Path) -> dict[str, Any]:
            texts = drawn(self.texts, len(self.texts), seed=self.job.seed)[TEXT][:]
            reasons = PairLength(**self.job.limits)({SOURCE: texts, TARGET: texts})["length_reason"]
            texts = [text for text, reason in zip(texts, reasons, strict=True) if not reason]
            good: list[dict[str, str]] = []
            start, looked = time.perf_counter(), 0
            while len(good) < size and looked < len(texts):
                part = texts[looked : looked + size - len(good) + (8 if looked else 0)]
                looked += len(part)
                pairs = self._pairs(source, part, folder).map(
                    PairLength(SOURCE, TARGET, **self.job.limits), batched=True
                )
                good += kept(pairs).to_list()
            numbers = {"n": min(len(good), size), "wanted": size, "translated": looked}
            if len(good) < size:
                warnings.warn(
                    f"RandST has {len(good)} pairs, {size} were wanted: the monolingual data have no more that can be "
                    "used. Its size is not matched; give more text.",
                    FairnessWarning,
                    stacklevel=2,
                )
            rows = Dataset.from_list(good[:size])
            self.write(rows, folder, RANDOM, "random texts with their machine translations, not filtered", numbers)
            return {**numbers, "seconds": round(time.perf_counter() - start, 3)}

        settings = [self.job.translation_settings(backwards=self.backwards), self.job.limits]
        inputs = [self.texts, size, self.job.seed, source_key, settings]
        return self.run.stage(RANDOM, work, inputs=inputs, keep_partial=True)


class ForwardPairs(PairMaker):
    """Texts of the source language, translated by the initial model."""

    def filter_source(self) -> dict[str, Any]:
        """Texts that speak of people of one group (algorithm 1, line 3)."""

        def work(folder: Path) -> dict[str, Any]:
            reason = GroupReason(self.labels(), self.job.groups, column=TEXT, max_tokens=self.job.config.max_length)
            rows = self.texts.map(reason, batched=True, desc="Filtering sources")
            numbers = drops(rows, reasons_of(rows), gender_column=None, minimum=0)
            chosen = self.candidates(kept(rows), numbers, "texts speak of one group only")
            summary = "texts that speak of people of one group"
            return self.write(chosen, folder, "filter_source", summary, numbers, machine=False)

        inputs = [self.texts, *self.word_key(), self.arguments.max_candidates, self.job.seed]
        return self.run.stage("filter_source", work, inputs=inputs)

    def translate(self, source: Any, source_key: Any) -> dict[str, Any]:
        """Their translations by the initial model (algorithm 1, line 4)."""
        return self.translated("translate", "filter_source", source, source_key)

    def filter_target(self) -> dict[str, Any]:
        """Why a pair is dropped, if it is: no word of the gender in the translation, a word of another, its length."""
        a = self.arguments

        def work(folder: Path) -> dict[str, Any]:
            how = TargetGender(
                TARGET, lang=a.target_lang, tagger=self.job.tagger, gender_column=GENDER, **self.job.target_filter
            )
            rows = self.job.rows("translate").map(PairLength(SOURCE, TARGET, **self.job.limits), batched=True)
            rows = rows.map(how, batched=True, desc="Filtering targets")
            numbers = drops(rows, reasons_of(rows), groups=self.job.groups, minimum=0)
            summary = "pairs with the reason why they are dropped, an empty one where they are kept"
            return self.write(rows, folder, "filter_target", summary, numbers)

        inputs = [self.run.key("translate"), self.job.limits, self.job.target_filter_key]
        return self.not_empty(self.run.stage("filter_target", work, inputs=inputs))
