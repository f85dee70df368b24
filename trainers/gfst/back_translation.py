"""GFST the other way round: texts of the target language are filtered and translated back.

Source: Choubey et al. 2021, section 6.3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.filters import GrammaticalGender, PairLength, drops
from hf_fairness.trainers.gfst.data import GENDER, SOURCE, TARGET, TEXT, GroupReason, kept, reasons_of
from hf_fairness.trainers.gfst.pairs import PairMaker


class BackwardPairs(PairMaker):
    """Texts of the target language, translated by a model of the other direction: the machine writes the sources."""

    last = "filter_source"
    backwards = True

    def filter_target(self) -> dict[str, Any]:
        """Texts whose words show one gender and that have a pronoun of it, so that it is likely a person's."""
        a = self.arguments

        def work(folder: Path) -> dict[str, Any]:
            labels = GrammaticalGender(
                TEXT, lang=a.target_lang, tagger=self.job.tagger, pronouns=True, **self.job.target_filter
            )
            limit = self.job.config.max_length
            reason = GroupReason(labels, self.job.groups, column=TEXT, max_tokens=limit, output_column="target_reason")
            rows = self.texts.map(reason, batched=True, desc="Filtering targets")
            numbers = drops(rows, reasons_of(rows), gender_column=None, minimum=0)
            chosen = self.candidates(kept(rows), numbers, "texts show one gender and have a pronoun of it")
            summary = "texts of the target language whose words show one gender, with a pronoun"
            return self.write(chosen, folder, "filter_target", summary, numbers, machine=False)

        drawn_by = [a.max_candidates, self.job.seed, self.job.config.max_length]
        inputs = [self.texts, self.job.target_filter_key, list(self.job.groups), drawn_by]
        return self.run.stage("filter_target", work, inputs=inputs)

    def translate(self, source: Any, source_key: Any) -> dict[str, Any]:
        """Their translations by the reverse model, which become the sources."""
        return self.translated("translate", "filter_target", source, source_key)

    def filter_source(self) -> dict[str, Any]:
        """Why a pair is dropped, if it is: a source that speaks of nobody, of several groups or of another one."""

        def work(folder: Path) -> dict[str, Any]:
            limit = self.job.config.max_length
            reason = GroupReason(self.labels(), self.job.groups, column=SOURCE, max_tokens=limit, like=GENDER)
            rows: Dataset = self.job.rows("translate")
            rows = rows.map(PairLength(SOURCE, TARGET, **self.job.limits), batched=True)
            rows = rows.map(reason, batched=True, desc="Filtering sources")
            numbers = drops(rows, reasons_of(rows), groups=self.job.groups, minimum=0)
            summary = "pairs with the reason why they are dropped, an empty one where they are kept"
            return self.write(rows, folder, "filter_source", summary, numbers)

        inputs = [self.run.key("translate"), self.job.limits, *self.word_key()]
        return self.not_empty(self.run.stage("filter_source", work, inputs=inputs))
