"""What the IBADR pipeline is told; `hf-fairness ibadr` parses it from flags."""

from __future__ import annotations

from dataclasses import dataclass, field

from hf_fairness.trainers.ibadr_config import IBADRConfig

#: What a sweep can go over, and the table of the paper that did.
SWEEPS = {
    "n_bias_indicators": "table 2",
    "model_name_or_path": "table 7",
    "max_train_rows": "table 8",
    "seed": "section 3.1",
}


@dataclass
class IBADRArguments(IBADRConfig):
    """What `hf-fairness ibadr` needs beside the settings of the method."""

    model_name_or_path: str = field(
        default="", metadata={"help": "The classifier to train: an id on the Hub or a local folder."}
    )
    dataset: str = field(
        default="",
        metadata={
            "help": "Labelled texts or pairs of texts: a csv, tsv, json, jsonl or parquet file, a saved data set or an "
            "id on the Hub."
        },
    )
    dataset_split: str = field(default="train", metadata={"help": "Split of the data set to train on."})
    dev: str | None = field(
        default=None,
        metadata={"help": "File, id or split to stop training on; default: a tenth of the training rows, held out."},
    )
    test: str | None = field(default=None, metadata={"help": "File, id or split to report on, beside the dev set."})
    challenge: list[str] | None = field(
        default=None,
        metadata={
            "help": "Challenge sets as NAME=FILE or NAME:TITLE=FILE: hans, fever_symmetric, scramble (a folder), "
            "nli_adversarial; or `own`: rows with the columns and labels of the data set."
        },
    )
    text_columns: list[str] | None = field(
        default=None,
        metadata={"help": "One or two text columns; default: `premise` and `hypothesis`, or `text`."},
    )
    label_column: str = field(default="label", metadata={"help": "Column of the labels: numbers or names."})
    label_names: list[str] | None = field(
        default=None, metadata={"help": "Names of the labels in the order of their numbers, where the data lack them."}
    )
    hypothesis_first: bool = field(
        default=False,
        metadata={"help": "The first text column is the claim or hypothesis, as of FEVER (for challenge sets)."},
    )
    generator: str = field(
        default="gpt2", metadata={"help": "Causal language model that writes samples: an id or a folder."}
    )
    shallow_model: str | None = field(
        default=None, metadata={"help": "Model of the shallow classifier: id or folder; default: the classifier's."}
    )
    judge: str | None = field(
        default=None,
        metadata={"help": "Classifier that says what label a sample has, for the guard; default: the base model."},
    )
    poe: bool = field(
        default=False, metadata={"help": "Train two further models by product of experts: without and with IBADR."}
    )
    probe: bool = field(
        default=True, metadata={"help": "Train a model on part of the input, for pairs, before and after."}
    )
    max_train_rows: int | None = field(
        default=None, metadata={"help": "Take this many random training rows (table 8); default: all."}
    )
    added_sizes: list[int] | None = field(
        default=None,
        metadata={"help": "Train further final models, each on this many random rows of those added (table 9)."},
    )
    sweep: list[str] | None = field(
        default=None,
        metadata={
            "help": "One run for each value, as NAME=VALUE,VALUE...: n_bias_indicators=3,5,7,9, max_train_rows=..., "
            "model_name_or_path=..., seed=0,1,2; all else stays as it is."
        },
    )
    name: str | None = field(
        default=None, metadata={"help": "How the report calls what was made; default: after the model."}
    )
    output_dir: str = field(
        default="ibadr", metadata={"help": "Folder of the stages, the pool, the models, the report."}
    )
    demo: bool = field(
        default=False,
        metadata={"help": "Run on a small world written for this package, with tiny models: no download, minutes."},
    )
    bf16: bool = field(default=False, metadata={"help": "Train in bfloat16."})
    group_by_length: bool = field(
        default=False, metadata={"help": "Train on batches of texts of about the same length: less padding, so faster."}
    )
    device: str | None = field(
        default=None, metadata={"help": "`cpu` keeps off the accelerator; default: what is there."}
    )
    show_examples: bool = field(
        default=False, metadata={"help": "Show some added rows in the report; they can hold texts of the data."}
    )
    resume: bool = field(default=True, metadata={"help": "Go on from finished stages of an earlier run."})

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything."""
        super().__post_init__()
        for name, values in (("max_train_rows", [self.max_train_rows]), ("added_sizes", self.added_sizes or [])):
            if any(value is not None and value < 1 for value in values):
                raise ValueError(f"{name} is {getattr(self, name)}, expected 1 or more.")
        if self.device not in (None, "cpu", "cuda", "mps", "xpu"):
            raise ValueError(f"device is {self.device!r}, expected cpu, or an accelerator's name.")
        if self.text_columns is not None and len(self.text_columns) not in (1, 2):
            raise ValueError(f"text_columns are {self.text_columns}, expected one or two.")

    def sweeps(self) -> dict[str, list[str]]:
        """Values to go over, by name.

        Raises:
            ValueError: no ``NAME=VALUE,...``, or a name that cannot be swept.
        """
        found: dict[str, list[str]] = {}
        for text in self.sweep or []:
            name, _, values = text.partition("=")
            if name not in SWEEPS or not values:
                raise ValueError(f"sweep is {text!r}, expected NAME=VALUE,VALUE... with one of {', '.join(SWEEPS)}.")
            found[name] = [value for value in values.split(",") if value]
        return found
