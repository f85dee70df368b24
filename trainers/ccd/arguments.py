"""What the CCD pipeline is told beside the settings of the training; `hf-fairness ccd` parses it from flags."""

from __future__ import annotations

from dataclasses import dataclass, field

from hf_fairness.arguments import DataArguments, ExperimentArguments
from hf_fairness.scores.statistics import N_BOOTSTRAP, N_SAMPLES


@dataclass(kw_only=True)
class CCDArguments(ExperimentArguments, DataArguments):
    """What `hf-fairness ccd` needs beside the settings of the training."""

    model_name_or_path: str = field(metadata={"help": "Encoder to mitigate: id on the Hub, or a local folder."})
    base_model_name: str | None = field(
        default=None,
        metadata={"help": "How reports call the original model; default: its id or its folder's name."},
    )
    dataset: str = field(
        default="demo",
        metadata={
            "help": "Texts to train on: a csv, tsv, json, jsonl, parquet or text file, a folder of such files, a saved "
            "data set, an id on the Hub, or `demo` for the corpus of this package. Rows that hold variants already are "
            "taken as they are."
        },
    )
    max_rows: int | None = field(
        default=None,
        metadata={"help": "Train on the first so many rows that hold attribute terms; default: all."},
    )
    name: str | None = field(
        default=None, metadata={"help": "How the report calls what was made; default: the model's name with -ccd."}
    )
    show_texts: int = field(
        default=0,
        metadata={
            "help": "Show so many texts of yours with the largest gap between groups in the report (not in the model's "
            "card). Reports are files that people send on: default none."
        },
    )
    attribute: str = field(default="gender", metadata={"help": "Attribute whose groups are made equal."})
    language: str = field(default="en", metadata={"help": "Language of the texts."})
    variants: list[str] | None = field(
        default=None,
        metadata={
            "help": "Further files to measure CCED on: a text column per group and `neutral`, best not made by rules. "
            "Near-duplicates of theirs are not trained on."
        },
    )
    sts_pairs: str | None = field(
        default=None,
        metadata={"help": "File with sentence1, sentence2 and score: the retained utility is measured on it."},
    )
    control: bool = field(
        default=True,
        metadata={
            "help": "Also train the control: same rows, steps, seed and loss, but each text's gap between groups is "
            "pulled up or down at random by the gap of another text, instead of to 0."
        },
    )
    n_samples: int = field(
        default=N_SAMPLES, metadata={"help": "Most partitions that a permutation test of the audits looks at."}
    )
    n_bootstrap: int = field(default=N_BOOTSTRAP, metadata={"help": "Resamples behind each interval of the audits."})

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything."""
        super().__post_init__()
        self.check_experiment()
        if self.max_rows is not None and self.max_rows < 2:
            raise ValueError(f"max_rows is {self.max_rows}, expected 2 or more.")
