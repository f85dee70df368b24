"""Winogender schemas: one sentence in a male, a female and a neutral version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._raw import table

_GENDERS = ("male", "female", "neutral")
_REPOSITORY = "rudinger/winogender-schemas"
_SENTENCES = Raw(
    "all_sentences.tsv",
    github(_REPOSITORY, "data/all_sentences.tsv"),
    "bd69da16bf228cb8df63fd0843aec2d8b5c36a7f21bf8c7b168bcc83932556c8",
)
_STATISTICS = Raw(
    "occupations-stats.tsv",
    github(_REPOSITORY, "data/occupations-stats.tsv"),
    "3f7f37c16381a70571356982ea7fe613ac700ad04a6d3b19b9f2be18248df567",
)
_FACTS = {
    "occupation": Column("the person named by occupation"),
    "participant": Column("the other person; `someone` in half of the sentences"),
    "answer": Column("whom the pronoun refers to", ("occupation", "participant")),
    "bls_pct_female": Column("women in the occupation, in percent (US labour statistics of 2015)", "float64"),
    "bergsma_pct_female": Column("female mentions of the occupation in a web corpus, in percent", "float64"),
}
_FILES = {"test": (_SENTENCES, _STATISTICS)}


class Winogender(RawDataset):
    """Winogender; the rows of `variants` are what ``measure.cced`` takes as variants."""

    about = Description(
        title="Winogender schemas",
        summary="720 sentences about 60 occupations that differ in the pronoun's gender only, for coreference.",
        homepage="https://github.com/rudinger/winogender-schemas",
        licence="mit",
        citation="""@inproceedings{rudinger-etal-2018-gender,
  title = {Gender Bias in Coreference Resolution},
  author = {Rudinger, Rachel and Naradowsky, Jason and Leonard, Brian and Van Durme, Benjamin},
  booktitle = {Proceedings of NAACL},
  year = {2018},
  url = {https://aclanthology.org/N18-2002}
}""",
        configs={
            "sentences": Config(
                "one sentence per row",
                _FILES,
                {"sentence": Column("the sentence"), "gender": Column("gender of the pronoun", _GENDERS), **_FACTS},
            ),
            "variants": Config(
                "the three versions of a sentence in one row",
                _FILES,
                {
                    **{name: Column(f"the sentence with {name} pronouns") for name in _GENDERS},
                    "has_terms": Column("always true: every version has a pronoun", "bool"),
                    "frame": Column("the template: its two sentences resemble each other"),
                },
            ),
        },
        tasks=("token-classification",),
        defects=(
            "Occupations are US categories and statistics of 2015.",
            "Neutral versions use singular they, with a verb that is plural where English wants it.",
        ),
        prohibited=("Training a system on it: it is a test set of 120 templates.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per sentence, or per three."""
        facts = {
            record.text("occupation"): {
                name: record.number(name, 0, 100) for name in ("bls_pct_female", "bergsma_pct_female")
            }
            for record in table(files[1], ("occupation", "bergsma_pct_female", "bls_pct_female"), delimiter="\t")
        }
        versions: dict[str, dict[str, str]] = {}
        for record in table(files[0], ("sentid", "sentence"), delimiter="\t", quoted=False):
            parts = record["sentid"].split(".")
            if len(parts) != 5 or parts[0] not in facts or parts[2] not in ("0", "1") or parts[3] not in _GENDERS:
                expected = f"occupation.participant.0-or-1.gender.txt with an occupation of {files[1].name} in 'sentid'"
                raise record.error(expected, record["sentid"])
            occupation, participant, answer, gender, _ = parts
            shared = {
                "occupation": occupation,
                "participant": participant,
                "answer": "participant" if answer == "1" else "occupation",
                **facts[occupation],
            }
            if self.config.name == "sentences":
                key = record["sentid"].removesuffix(".txt")
                yield record, {"id": key, "sentence": record.text("sentence"), "gender": gender, **shared}
                continue
            key = ".".join(parts[:3])
            found = versions.setdefault(key, {})
            if gender in found:
                raise record.error("every version of a sentence once", record["sentid"])
            found[gender] = record.text("sentence")
            if len(found) == len(_GENDERS):
                frame = f"{occupation}.{answer}"
                yield record, {"id": key, **versions.pop(key), "has_terms": True, "frame": frame}
        for key, found in versions.items():
            raise record.error(f"three versions of {key}", f"it has {', '.join(found)}")
