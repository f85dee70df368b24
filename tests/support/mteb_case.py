"""A task of MTEB whose data are here: how alike sentences are, by how their second half ends."""

from __future__ import annotations

from typing import Any

from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

from support.utility_case import pairs


class HomeSTS(AbsTaskSTS):
    """Pairs of sentences and how alike they are."""

    metadata = TaskMetadata(
        name="HomeSTS",
        description="Pairs of sentences.",
        dataset={"path": "nobody/home", "revision": "1"},
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="cosine_spearman",
    )
    min_score, max_score = 0, 1

    def load_data(self, *given: Any, **more: Any) -> None:
        """No Hub is asked."""
        rows = pairs(40)
        scores = [(place * 7 % 40) / 39 for place in range(40)]
        rows = {"sentence1": rows["sentence1"], "sentence2": rows["sentence2"], "score": scores}
        self.dataset = DatasetDict({"test": Dataset.from_dict(rows)})
        self.data_loaded = True
