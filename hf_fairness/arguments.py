"""What every command can be told: the same dataclasses, so the same flags, wherever data, texts or results are meant.

A command inherits those that it takes and adds its own. Names are those of `transformers.TrainingArguments` where it
has one (`num_train_epochs`, `per_device_train_batch_size`, `use_cpu`); where a method trains several models a prefix
says whose setting it is (`generator_learning_rate`), and without a prefix it is that of the model that comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hf_fairness.scores.statistics import N_BOOTSTRAP, N_SAMPLES
from hf_fairness.utils import refuse_any

#: Tasks of GLUE that are fine-tuned on, of Deng et al. 2024, tables 4 and 5.
GLUE_TASKS = ("sst2", "mrpc", "rte", "wnli")
#: Of the names that can be swept a message shows so many.
SHOWN_NAMES = 20

__all__ = [
    "AuditArguments",
    "BenchmarkArguments",
    "Command",
    "DataArguments",
    "DeviceArguments",
    "ExperimentArguments",
    "HeldOutArguments",
    "LabelArguments",
    "LoraArguments",
    "MeasureArguments",
    "ReportArguments",
    "UtilityArguments",
    "read_sweep",
]


@dataclass
class DataArguments:
    """Which rows are read, and which of their columns hold the texts."""

    dataset: str = field(
        default="",
        metadata={
            "help": "Rows to read: a csv, tsv, json, jsonl, parquet or text file, a folder of such files, a saved data "
            "set, or an id on the Hub."
        },
    )
    dataset_config: str | None = field(
        default=None, metadata={"help": "Configuration of a data set that has several, such as mnli of nyu-mll/glue."}
    )
    dataset_split: str = field(default="train", metadata={"help": "Split of the data set to read."})
    text_column: list[str] | None = field(
        default=None, metadata={"help": "Column of the texts; default: `text`, or the only text column."}
    )
    max_rows: int | None = field(default=None, metadata={"help": "Use at most this many rows; default: all."})

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: fewer than one row.
        """
        if self.max_rows is not None and self.max_rows < 1:
            raise ValueError(f"max_rows is {self.max_rows}, expected 1 or more.")


@dataclass
class HeldOutArguments:
    """Rows that a model is chosen on and reported on: a file, folder or id of their own, or a split of the data set."""

    validation_dataset: str | None = field(
        default=None, metadata={"help": "Rows to stop and choose on, as --dataset; default: see --validation_split."}
    )
    validation_config: str | None = field(
        default=None, metadata={"help": "Configuration of that set, where it has several; default: --dataset_config."}
    )
    validation_split: str | None = field(
        default=None,
        metadata={
            "help": "Split of --validation_dataset, or without one of --dataset; default: a part of the training rows."
        },
    )
    test_dataset: str | None = field(
        default=None, metadata={"help": "Rows to report on, as --dataset; default: see --test_split."}
    )
    test_config: str | None = field(
        default=None, metadata={"help": "Configuration of that set, where it has several; default: --dataset_config."}
    )
    test_split: str | None = field(
        default=None, metadata={"help": "Split of --test_dataset, or without one of --dataset."}
    )


@dataclass
class LabelArguments:
    """Where the labels of the rows are."""

    label_column: str = field(default="label", metadata={"help": "Column of the labels: numbers or names."})


@dataclass
class DeviceArguments:
    """Where models run, for commands whose other settings are no `TrainingArguments`; the name is theirs."""

    use_cpu: bool = field(default=False, metadata={"help": "Stay off the accelerator; default: what is there."})

    @property
    def device(self) -> str | None:
        """For plain Python functions: ``"cpu"``, or None for what is there."""
        return "cpu" if self.use_cpu else None


@dataclass
class LoraArguments:
    """Whether adapters are trained in the place of all weights."""

    use_peft: bool = field(default=False, metadata={"help": "Train LoRA adapters instead of all weights (needs peft)."})
    lora_r: int = field(default=16, metadata={"help": "Rank of the LoRA matrices."})
    lora_alpha: int = field(default=32, metadata={"help": "Scale of the LoRA update (times 1 / rank)."})
    lora_dropout: float = field(default=0.0, metadata={"help": "Dropout before the LoRA matrices."})

    def check_lora(self) -> None:
        """Raise on a rank or a dropout that adapters cannot have.

        Raises:
            ValueError: says which.
        """
        refuse_any(
            {
                f"lora_r is {self.lora_r}, expected 1 or more.": self.lora_r < 1,
                f"lora_dropout is {self.lora_dropout}, expected 0 or more and less than 1.": (
                    not 0.0 <= self.lora_dropout < 1.0
                ),
            }
        )


@dataclass
class ReportArguments:
    """How the report calls what was made, and which texts it may show."""

    name: str | None = field(
        default=None, metadata={"help": "How the report calls what was made or measured; default: after the model."}
    )
    show_texts: int = field(
        default=0,
        metadata={
            "help": "Show so many of the texts in the report (never in a card). Reports are files that people send on: "
            "default none."
        },
    )


@dataclass
class ExperimentArguments(ReportArguments):
    """What every command that trains can be told: how often, beside what, and over which values."""

    n_seeds: int = field(
        default=1,
        metadata={
            "help": "Train everything with so many seeds, --seed and those after it; the report gives means over them, "
            "the model is that of the first."
        },
    )
    control: bool = field(
        default=True,
        metadata={"help": "Also train the control: the same training, as long, without what the method is for."},
    )
    sweep: list[str] | None = field(
        default=None,
        metadata={
            "help": "Also train with other values of a setting and compare, as NAME=VALUE,VALUE...; each name varies "
            "alone."
        },
    )
    resume: bool = field(default=True, metadata={"help": "Go on from finished stages of an earlier run."})
    license: str | None = field(
        default=None,
        metadata={
            "help": "Licence of the data sets that are pushed beside the model, for their cards, such as cc-by-4.0; "
            "default: none is stated, and the terms of the source hold."
        },
    )

    def check_experiment(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: fewer than one seed, or a sweep over seeds.
        """
        if self.n_seeds < 1:
            raise ValueError(f"--n_seeds is {self.n_seeds}, expected 1 or more.")
        if any(text.startswith("seed=") for text in self.sweep or []):
            raise ValueError("--sweep of seed: say with --n_seeds how many seeds there are, from --seed on.")


@dataclass
class MeasureArguments:
    """What every command that measures an encoder can be told: groups, retained utility, and how often is drawn."""

    attribute: str = field(default="gender", metadata={"help": "Attribute whose groups are compared."})
    language: str = field(default="en", metadata={"help": "Language of the texts."})
    sts_pairs: str | None = field(
        default=None,
        metadata={"help": "File with sentence1, sentence2 and score: the retained utility is measured on it."},
    )
    n_samples: int = field(
        default=N_SAMPLES, metadata={"help": "Most partitions that a permutation test of the audits looks at."}
    )
    n_bootstrap: int = field(default=N_BOOTSTRAP, metadata={"help": "Resamples behind each interval of the audits."})


@dataclass
class AuditArguments(MeasureArguments):
    """What every command that audits an encoder can be told beside that."""

    variants: list[str] | None = field(
        default=None,
        metadata={
            "help": "Further files to measure CCED on: a text column per group and `neutral`, best not made by rules. "
            "Commands that train leave out near-duplicates of theirs."
        },
    )


@dataclass
class BenchmarkArguments:
    """Published benchmarks that a command that trains an encoder measures its arms on."""

    crows_pairs: str | None = field(
        default=None,
        metadata={
            "help": "CrowS-Pairs, for models with a masked-language-model head: the published csv file, or a data set "
            "with its columns (file or Hub id)."
        },
    )
    stereoset: str | None = field(
        default=None,
        metadata={
            "help": "StereoSet, for models with a masked-language-model head: the published json file (its "
            "intrasentence items are taken), or a data set with its columns."
        },
    )
    stereoset_targets: str | None = field(
        default=None,
        metadata={
            "help": "Measure only the items of StereoSet about some targets: `attribute` for words of the attribute's "
            "groups, as in the filtered StereoSet of Yang et al. 2023, or a text file with one word a line; default: "
            "all items."
        },
    )
    bias_ir: str | None = field(
        default=None,
        metadata={
            "help": "Bias-IR: the folder or a file of GrepBiasIR, or a data set with query_id, query, text and group."
        },
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: targets without StereoSet.
        """
        if self.stereoset_targets is not None and self.stereoset is None:
            raise ValueError("--stereoset_targets says which items of StereoSet count: name that with --stereoset.")


@dataclass
class UtilityArguments:
    """What a changed encoder must still be good for, beside the pairs of `MeasureArguments`."""

    RANGES: ClassVar[dict[str, tuple[float | None, float]]] = {
        "senteval_folds": (2, 10_000),
        "glue_max_rows": (2, 2**31 - 1),
        "glue_epochs": (None, 2**31 - 1),
        "glue_learning_rate": (None, 10**6),
        "glue_batch_size": (1, 2**31 - 1),
    }

    senteval: list[str] | None = field(
        default=None,
        metadata={
            "help": "Tasks for a linear head on the frozen embeddings, as NAME=SOURCE...: SentEval's MR, CR, SUBJ, "
            "MPQA, SST-2, TREC and MRPC, SICK-E, SICK-R and STS-B by its protocol, or a name of your own for rows with "
            "`label` and `text`, or `sentence1` and `sentence2`. A source is a file, a folder with train and test or "
            "dev files, the folder of a task (or of all) as SentEval's script leaves it, or a data set's id."
        },
    )
    senteval_folds: int = field(
        default=10,
        metadata={"help": "Folds of each cross-validation of these heads; SentEval's published numbers have 10."},
    )

    mteb_tasks: list[str] | None = field(
        default=None,
        metadata={
            "help": "Tasks of MTEB by their names there, such as Banking77Classification: the main score of every arm, "
            "with its embeddings as they are. Needs hf-fairness[mteb], and their data."
        },
    )

    glue_tasks: list[str] | None = field(
        default=None,
        metadata={
            "help": "Fine-tune a copy of every arm on these tasks of GLUE and report its accuracy on their development "
            "rows: sst2, mrpc, rte, wnli."
        },
    )
    glue_data: str = field(
        default="nyu-mll/glue",
        metadata={
            "help": "Where these tasks are: a folder with a folder for each, such as MRPC with train.tsv and dev.tsv, "
            "or a data set with a configuration for each."
        },
    )
    glue_max_rows: int | None = field(
        default=None, metadata={"help": "Fine-tune on at most so many rows of a task, the same for all arms."}
    )
    glue_epochs: float = field(default=3.0, metadata={"help": "Epochs of each fine-tuning."})
    glue_learning_rate: float = field(default=2e-5, metadata={"help": "Learning rate of each fine-tuning."})
    glue_batch_size: int = field(default=32, metadata={"help": "Rows of a step of each fine-tuning, per device."})

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: fewer than two folds, a task that names no source, one that is not among the four, or a number
                that no training can have.
        """
        if strange := next((name for name in self.glue_tasks or [] if name.lower() not in GLUE_TASKS), None):
            raise ValueError(f"--glue_tasks holds {strange!r}, expected some of {', '.join(GLUE_TASKS)}.")
        for name, least in (("glue_epochs", 0.0), ("glue_learning_rate", 0.0), ("glue_batch_size", 0)):
            if getattr(self, name) <= least:
                raise ValueError(f"--{name} is {getattr(self, name)}, expected more than 0.")
        if self.glue_max_rows is not None and self.glue_max_rows < 2:
            raise ValueError(f"--glue_max_rows is {self.glue_max_rows}, expected 2 or more.")
        if self.senteval_folds < 2:
            raise ValueError(f"--senteval_folds is {self.senteval_folds}, expected 2 or more.")
        for text in self.senteval or []:
            name, _, source = text.partition("=")
            if not name or not source:
                raise ValueError(f"--senteval is {text!r}, expected NAME=SOURCE, such as sick-r=SICK.tsv.")


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: what it says, what it is told, what it opens, what it runs.

    ``trainers/METHOD/command.py`` holds that of a method as ``COMMAND``, a file of ``cli`` any other; the docstring of
    that file, "`hf-fairness NAME`: what it does.", is what `hf-fairness --help` shows. No other file names it. Classes
    are named as ``module:name`` and imported when the command runs; so is ``run``, where nothing is to be added to the
    function.

    Attributes:
        description: first paragraph of its help text.
        arguments: dataclass of what the run is told beside the settings of the training.
        config: dataclass of those settings; empty for a command that is no method: then ``run`` takes the arguments
            alone, does all that is to be done and returns what it likes.
        run: called with both and with what ``open_data`` gives; returns ``record``, ``files`` and ``artefacts``, or
            where it ends before there is a report ``stages`` and ``text``.
        open_data: opens what the two name; returns the keyword arguments of ``run``. It is called after the right to
            push was checked. Models in folders that do not exist were refused before.
        check_push: raises, given the arguments, where their run has no model to push; called before any work.
        artefacts: name of what can be pushed beside the model -> what becomes public with it.
        epilog: last part of the help text, such as examples.
        positional: a field whose value may be given as the first word; empty for none.
        common: inherited options that ``--help`` shows beside those that all methods share.
        further: a field that takes further words which stand behind the model's name, before any option.
        defaults: what the command has in the place of defaults of the dataclasses.
        demo: settings that the option ``demo`` brings; what the user gives wins over them.
        refused: options that other commands have and this one cannot, with the reason.
    """

    description: str
    arguments: str
    config: str = "hf_fairness.cli.hub:HubOptions"
    run: str | Callable[..., Any]
    open_data: Callable[[Any, Any], dict[str, Any]] = _nothing
    check_push: Callable[[Any], object] = _nothing
    artefacts: Mapping[str, str] = field(default_factory=dict)
    epilog: str | None = None
    positional: str = "model_name_or_path"
    common: Sequence[str] = ()
    further: str = ""
    defaults: Callable[[], Mapping[str, Any]] = _nothing
    demo: Mapping[str, Any] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


def read_sweep(texts: Sequence[str] | None, names: Collection[str]) -> dict[str, list[str]]:
    """What ``--sweep`` goes over.

    Args:
        texts: ``NAME=VALUE,VALUE...`` each; None for none.
        names: what can be swept.

    Returns:
        Values by name, as texts.

    Raises:
        ValueError: another form, or a name that cannot be swept.

    Example:
        >>> read_sweep(["beta=0,0.5"], ["beta"])
        {'beta': ['0', '0.5']}
    """
    found: dict[str, list[str]] = {}
    for text in texts or []:
        name, _, values = text.partition("=")
        found[name] = [value for value in values.split(",") if value]
        if name not in names or not found[name]:
            known = ", ".join(list(names)[:SHOWN_NAMES]) + (" ..." if len(names) > SHOWN_NAMES else "")
            raise ValueError(f"--sweep is {text!r}, expected NAME=VALUE,VALUE... with a setting such as {known}.")
    return found
