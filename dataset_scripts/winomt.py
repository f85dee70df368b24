"""WinoMT: sentences in which the gender of one profession is known, for machine translation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._raw import table
from hf_fairness.measure.translator.winomt_data import read_winomt

_FIELDS = ("gender", "target_index", "sentence", "profession")
_SUMS = {
    "en": "11797c54a74876c4ae63d029e88ec35ded8ee335251c51ff861f8790a7e258af",
    "en_pro": "ed06dd39ca549f8766e4958de15afe706e4f3185c1ec580125d0c71b9f530064",
    "en_anti": "da3e5744ed70481c80333a082f06fa6696be5db20c12a48a74845b245ce502e1",
}
_ALL, _PRO, _ANTI = (
    Raw(f"{name}.txt", github("gabrielStanovsky/mt_gender", f"data/aggregates/{name}.txt"), digest)
    for name, digest in _SUMS.items()
)


class WinoMT(RawDataset):
    """WinoMT; the rows are what ``measure.winomt`` takes as references."""

    about = Description(
        title="WinoMT",
        summary="3,888 English sentences in which a pronoun tells the gender of one of two people named by profession.",
        homepage="https://github.com/gabrielStanovsky/mt_gender",
        licence="mit",
        citation="""@inproceedings{stanovsky-etal-2019-evaluating,
  title = {Evaluating Gender Bias in Machine Translation},
  author = {Stanovsky, Gabriel and Smith, Noah A. and Zettlemoyer, Luke},
  booktitle = {Proceedings of ACL},
  year = {2019},
  url = {https://aclanthology.org/P19-1164}
}""",
        configs={
            "all": Config("all sentences; `stereotype` says which subset a row is in", {"test": (_ALL, _PRO, _ANTI)}),
            "pro": Config("the pro-stereotypical subset", {"test": (_PRO,)}),
            "anti": Config("the anti-stereotypical subset", {"test": (_ANTI,)}),
        },
        columns={
            "gender": Column("gender of the person that the pronoun refers to", ("male", "female", "neutral")),
            "target_index": Column("place of the profession among the words of the sentence, from 0", "int32"),
            "sentence": Column("the sentence; its words are separated by spaces"),
            "profession": Column("the profession"),
            "stereotype": Column("pro, anti, both, or empty for the 720 sentences that are in neither subset"),
        },
        tasks=("translation",),
        defects=(
            "Two sentences differ from the source side of all published translations: match translations by row.",
            "The 240 neutral rows have no gender that a translation into a language without a neuter could show.",
            "Each WinoBias sentence has a male and a female version; 19 of these pairs differ in other words too.",
            "Sentences follow few templates, so rows are not independent: resample by sentence or profession.",
            "Two genders and English stereotypes of US occupation statistics only.",
        ),
        prohibited=("Training a system on it: it is a test set, and its templates are learned quickly.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per line."""
        records = [list(table(file, _FIELDS, delimiter="\t", quoted=False, header=False)) for file in files]
        for record in (record for part in records for record in part):
            record.pick("gender", self.columns["gender"].names)
            record.whole("target_index")
            if not record["target_index"].isdecimal() or int(record["target_index"]) >= len(record["sentence"].split()):
                raise record.error("'target_index' to count the words of the sentence", record["target_index"])
        others = dict(zip(("pro", "anti"), files[1:], strict=True)) if len(files) > 1 else {self.config.name: files[0]}
        yield from zip(records[0], read_winomt(files[0], **others), strict=True)
