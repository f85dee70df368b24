"""Professions with crowd workers' scores of gender, from Bolukbasi et al. 2016."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Record, Rows, github
from hf_fairness.dataset_scripts._raw import damage, json_document

_FILE = Raw(
    "professions.json",
    github("tolga-b/debiaswe", "data/professions.json"),
    "32cc82c7761e7cfb14e37e06dc1aa9f758bc8441f79ca7288996d3fc7c24639a",
)
_SCORE = "from -1 (female) to 1 (male)"


class Professions(RawDataset):
    """Professions and two scores each."""

    about = Description(
        title="Professions",
        summary="320 English professions with crowd workers' scores of definitional and stereotypical gender.",
        homepage="https://github.com/tolga-b/debiaswe",
        licence="mit",
        citation="""@inproceedings{bolukbasi-etal-2016-man,
  title = {Man is to Computer Programmer as Woman is to Homemaker? Debiasing Word Embeddings},
  author = {Bolukbasi, Tolga and Chang, Kai-Wei and Zou, James and Saligrama, Venkatesh and Kalai, Adam},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2016}
}""",
        configs={"default": Config("all professions", {"test": (_FILE,)})},
        columns={
            "profession": Column("the profession"),
            "definitional": Column(f"gender by definition, {_SCORE}: actress, alderman", "float64"),
            "stereotypical": Column(f"gender by stereotype, {_SCORE}", "float64"),
        },
        defects=(
            "Scores are opinions of few US crowd workers; they are no statistics of who works in a profession.",
            "Some entries are no professions (acquaintance, alter ego), and one axis holds two genders.",
        ),
        prohibited=("Reading the scores as what people of a gender can or should do.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per profession."""
        expected = "a list of [profession, definitional, stereotypical]"
        items = json_document(files[0])
        if not isinstance(items, list):
            raise damage(files[0], "item 1", expected, items)
        for number, item in enumerate(items, 1):
            if not isinstance(item, list) or len(item) != 3:
                raise damage(files[0], f"item {number}", expected[2:], item)
            record = Record(dict(zip(tuple(self.columns)[1:], item, strict=True)), files[0], f"item {number}")
            scores = {name: record.number(name, -1, 1) for name in ("definitional", "stereotypical")}
            name = record.text("profession")
            yield record, {"id": name, "profession": name.replace("_", " "), **scores}
