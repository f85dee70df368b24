"""MuST-SHE: spoken sentences whose translation marks a gender that the source does or does not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table
from hf_fairness.measure.translator.must_she import read_must_she

_FIELDS = ("ID", "SRC", "REF", "WRONG-REF", "GENDER", "CATEGORY", "GENDERTERMS")
_LANGUAGES = ("fr", "it", "es")


def _config(language: str) -> Config:
    file = Raw(f"MONOLINGUAL.{language}_v1.2.tsv", also=(f"MONOLINGUAL.{language}_v*.tsv",))
    return Config(f"English to {language}", {"test": (file,)})


class MuSTSHE(RawDataset):
    """MuST-SHE; the rows are what ``measure.must_she`` takes as references."""

    about = Description(
        title="MuST-SHE",
        summary="About 1,100 English sentences of TED talks per language with right and gender-swapped translations.",
        homepage="https://mt.fbk.eu/must-she/",
        licence="cc-by-nc-nd-4.0",
        citation="""@inproceedings{bentivogli-etal-2020-gender,
  title = {Gender in Danger? Evaluating Speech Translation Technology on the MuST-SHE Corpus},
  author = {Bentivogli, Luisa and Savoldi, Beatrice and Negri, Matteo and Di Gangi, Mattia A. and Cattoni, Roldano and
            Turchi, Marco},
  booktitle = {Proceedings of ACL},
  year = {2020},
  url = {https://aclanthology.org/2020.acl-main.619}
}""",
        configs={f"en-{language}": _config(language) for language in _LANGUAGES},
        columns={
            "source": Column("transcript"),
            "reference": Column("translation with the right gender"),
            "wrong_reference": Column("the same with the gender of the terms swapped"),
            "speaker_gender": Column("gender of the speaker, as annotated: She, He or a mix"),
            "category": Column("1: only the speaker's voice tells the gender, 2: the text does; F or M: of the forms"),
            "gender_terms": Column("right and wrong form of each term, `correct wrong;correct wrong`"),
        },
        languages=("en", *_LANGUAGES),
        tasks=("translation",),
        defects=(
            "Two genders only.",
            "A system is judged by the annotated terms that it uses: read the coverage beside the accuracy.",
        ),
        prohibited=("Commercial use.", "Sharing changed versions of it (no derivatives), this one included."),
        obtain="Ask for the raw files at https://mt.fbk.eu/must-she/ and accept their licence.",
        restricted=True,
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per sentence."""
        records = list(table(files[0], _FIELDS, delimiter="\t", quoted=False))
        for record in records:
            for name in ("ID", "SRC", "REF", "WRONG-REF", "GENDER", "GENDERTERMS"):
                record.text(name)
            if not re.fullmatch(r"\d+[FM]", record["CATEGORY"]):
                raise record.error("'CATEGORY' to be a number and F or M, such as 1F", record["CATEGORY"])
            if any(len(term.split()) != 2 for term in record.text("GENDERTERMS").split(";") if term):
                raise record.error("'GENDERTERMS' to be 'correct wrong;correct wrong'", record["GENDERTERMS"])
        yield from zip(records, read_must_she(files[0]), strict=True)
