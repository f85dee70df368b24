"""News Commentary: parallel sentences of opinion pieces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table

#: Languages beside English; the published files name a pair in the order of the alphabet.
_LANGUAGES = ("ar", "cs", "de", "es", "fr", "it", "nl", "pt", "ru", "zh")
_SERVER = "https://data.statmt.org/news-commentary/v16/training"


def _config(language: str) -> Config:
    pair = "-".join(sorted(("en", language)))
    name = f"news-commentary-v16.{pair}.tsv"
    also = tuple(f"news-commentary-v*.{pair}.{end}" for end in ("tsv", "tsv.gz"))
    return Config(f"English and {language}", {"train": (Raw(f"{name}.gz", f"{_SERVER}/{name}.gz", also=also),)})


class NewsCommentary(RawDataset):
    """News Commentary, English on the source side."""

    about = Description(
        title="News Commentary",
        summary="Sentences of opinion pieces of Project Syndicate with their translations.",
        homepage="https://data.statmt.org/news-commentary/",
        licence="other",
        licence_note="WMT allows its use for research; the texts belong to Project Syndicate.",
        citation="""@inproceedings{tiedemann-2012-parallel,
  title = {Parallel Data, Tools and Interfaces in OPUS},
  author = {Tiedemann, J{\\"o}rg},
  booktitle = {Proceedings of LREC},
  year = {2012}
}""",
        configs={f"en-{language}": _config(language) for language in _LANGUAGES},
        columns={"source": Column("the English sentence"), "target": Column("its translation")},
        languages=("en", *_LANGUAGES),
        tasks=("translation",),
        defects=(
            "Sentences were aligned by program: some pairs do not belong together.",
            "Lines without text on one side, which part documents, are left out; ids keep the numbers of lines.",
            "Many more men than women are written about, and the masculine is the rule in translations.",
        ),
        prohibited=("Commercial use.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per line with text on both sides."""
        english_first = files[0].name.split(".")[-2 - files[0].name.endswith(".gz")].startswith("en-")
        names = ("source", "target") if english_first else ("target", "source")
        for record in table(files[0], names, delimiter="\t", quoted=False, header=False):
            number = int(record.place.split()[1]) - 1
            if record["source"].strip() and record["target"].strip():
                yield record, {"id": f"{split}-{number}", **{name: record.text(name) for name in ("source", "target")}}
