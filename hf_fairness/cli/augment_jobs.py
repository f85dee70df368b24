"""What a method of `hf-fairness augment` is, and the few ways in which methods run."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.attributes.names import NO_NAMES, names_option
from hf_fairness.generation.config import LLMConfig

if TYPE_CHECKING:
    from datasets import Dataset

#: Options that all swaps take, that judge them, and of requests to a chat model.
SWAP = ("attribute", "names", "target", "label_column", "on_label", "tagger")
JUDGE = ("quality", "keep_rejected")
#: Options of scoring with a model, beside the attribute.
SCORE = ("model_name_or_path", "direction", "pairs", "form", "importance", "batch_size", "device")
#: The file of the direction that scores were measured along.
DIRECTION = "direction.json"
LLM = tuple(item.name for item in dataclasses.fields(LLMConfig))


#: Options that the classes call otherwise.
_ARGUMENTS = {"model_name_or_path": "model", "forward_model": "forward", "backward_model": "backward"}


@dataclass(frozen=True)
class Method:
    """One way to rewrite or refine a data set.

    Attributes:
        summary: what it does, in one line.
        function: class or function, as ``module:name``; its docstring holds the source.
        run: carries it out.
        options: names of the options that it takes.
        required: those of them that must be given.
        one_of: options of which one must be given, with what each is in words.
        n_columns: number of text columns; None means any.
        parallel: whether it may run in several processes.
        batch_size: rows per call unless told otherwise.
        suffix: of the columns with the new texts, where these stand beside the old ones.
        added: column that marks the rows that were added.
        marked: column that marks the rows that were rewritten.
        limits: what the card must say of it.
    """

    summary: str
    function: str
    run: Callable[[Job], Dataset]
    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    one_of: Mapping[str, str] = field(default_factory=dict)
    n_columns: int | None = None
    parallel: bool = True
    batch_size: int = 1000
    suffix: str | None = None
    added: str | None = None
    marked: str | None = None
    limits: tuple[str, ...] = ()

    def load(self) -> Any:
        """The class or function."""
        module, _, name = self.function.partition(":")
        return getattr(importlib.import_module(module), name)

    def source(self) -> str:
        """The papers that the docstring of the class or function names."""
        text = inspect.getdoc(self.load()) or ""
        found = re.search(r"^Source:\s*(.+?)(?:\n\s*\n|\Z)", text, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].replace("``", "").split()) if found else ""


@dataclass
class Job:
    """A method on a data set.

    Attributes:
        method: the method.
        rows: the data set.
        columns: its text columns.
        options: the options that the method takes and that were given.
        num_proc: processes.
        batch_size: rows per call.
        on_missing: what to do about rows that lack a text.
        facts: what a run has to tell beside its rows.
        files: what is written beside them: name -> what writes it.
    """

    method: Method
    rows: Dataset
    columns: tuple[str, ...]
    options: Mapping[str, Any]
    num_proc: int | None = None
    batch_size: int = 1000
    on_missing: str = "skip"
    facts: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Callable[[Path], object]] = field(default_factory=dict)

    def map(self, rows: Dataset, function: Any, what: str) -> Dataset:
        """Map a callable over rows."""
        done: Dataset = rows.map(function, batched=True, batch_size=self.batch_size, num_proc=self.num_proc, desc=what)
        return done

    @property
    def names(self) -> bool | str:
        """What the methods take as ``names``."""
        return names_option(self.options.get("names", NO_NAMES))

    def chosen(self, *names: str) -> dict[str, Any]:
        """Those of the named options that were given, as keyword arguments."""
        found = {_ARGUMENTS.get(name, name): self.options[name] for name in names if name in self.options}
        if "names" in found:
            found["names"] = self.names
        if "tagger" in found:
            tagger = importlib.import_module("hf_fairness.augment.tagger")
            found["tagger"] = tagger.SpacyTagger(found["tagger"])
        return found

    def swap_options(self) -> dict[str, Any]:
        """The options that all swaps share."""
        found = {**self.chosen(*SWAP), "on_missing": self.on_missing}
        classes = self.classes()
        return {**found, "label_names": classes} if classes else found

    def classes(self) -> list[str]:
        """Names of the values of the label column, where its type has them."""
        column = self.options.get("label_column")
        if column is None:
            return []
        if column not in self.rows.column_names:
            raise ValueError(
                f"There is no label column {column!r}; the columns are {', '.join(self.rows.column_names)}."
            )
        return list(getattr(self.rows.features[column], "names", None) or [])


def rewritten(job: Job) -> Dataset:
    """A class whose arguments are the text columns and the options."""
    function = job.method.load()(job.columns, on_missing=job.on_missing, **job.chosen(*job.method.options))
    return job.map(job.rows, function, "Rewriting")


def one_column(job: Job) -> Dataset:
    """A class that takes one text column."""
    function = job.method.load()(job.columns[0], on_missing=job.on_missing, **job.chosen(*job.method.options))
    return job.map(job.rows, function, "Rewriting")


def swapped(job: Job) -> Dataset:
    """Swaps, judged before they are used."""
    own = {"quality": job.options.get("quality", True), **job.chosen("keep_rejected")}
    if "probability" in job.method.options:
        own |= job.chosen("seed", "probability")
    return job.map(job.rows, job.method.load()(job.columns, **own, **job.swap_options()), "Swapping")


def scored(job: Job) -> Dataset:
    """The bias score of each text beside it; the direction that it was measured along is written too."""
    from hf_fairness.measure.encoder.bias_direction import BiasDirection
    from hf_fairness.measure.encoder.bias_score import BiasScore

    options = job.chosen("attribute", *SCORE)
    if "direction" in options:
        try:
            options["direction"] = BiasDirection.load(options["direction"])
        except ValueError as error:
            raise ValueError(f"--direction: {error}") from error
    if "pairs" in options:
        options["pairs"] = _pairs(options["pairs"], options["attribute"])
    score = BiasScore(job.columns, options.pop("model"), on_missing=job.on_missing, **options)
    job.files[DIRECTION] = score.direction.save
    return job.map(job.rows, score, "Scoring")


def _pairs(given: str, attribute: str) -> Any:
    """What ``--pairs`` names: a list of the package, or the rows of a file.

    Args:
        given: ``paper``, ``extended``, or a file with a column for each of the two groups of the attribute, or with two
            text columns, the first group's first.
        attribute: name or file.

    Returns:
        The name of the list, or pairs as ``bias_direction`` takes them.

    Raises:
        ValueError: no such list or file, or other columns; the message names the flag.
    """
    from hf_fairness.attributes import load_attribute
    from hf_fairness.measure.encoder.bias_pairs import LISTS
    from hf_fairness.sources import open_dataset

    if given in LISTS:
        return given
    try:
        rows = open_dataset(given)
    except (ValueError, OSError) as error:
        raise ValueError(f"--pairs takes {', '.join(LISTS)} or a file of pairs. {error}") from error
    groups = load_attribute(attribute).group_names
    columns = rows.column_names
    texts = [name for name in columns if str(getattr(rows.features[name], "dtype", "")).endswith("string")]
    if set(groups) <= set(columns):
        return rows.select_columns(list(groups)).to_list()
    if len(columns) != 2 or texts != columns:
        raise ValueError(
            f"--pairs {given} has the columns {', '.join(columns)}; expected one of texts for each group, "
            f"{' and '.join(groups)}, or two columns of texts and no more."
        )
    return list(zip(rows[columns[0]], rows[columns[1]], strict=True))


def refined(job: Job) -> Dataset:
    """Rows chosen by their bias score: that of columns that are there, or of a model."""
    from hf_fairness.refine.percentile import check_percentile

    percentile = check_percentile(job.options["percentile"], "augment")  # before the long part
    if "score_column" in job.options:
        rows, columns = job.rows, list(job.options["score_column"])
    else:
        rows, columns = scored(job), [f"{column}_bias_absolute" for column in job.columns]
    swaps = {} if "target" not in job.method.options else {**job.swap_options(), "text_columns": list(job.columns)}
    done: Dataset = job.method.load()(rows, percentile=percentile, score_columns=columns, **swaps)
    return done


def balanced(job: Job) -> Dataset:
    """As many rows of every group."""
    found = job.chosen("attribute", "group_column", "within", "seed")
    if "group_column" not in found:
        found["text_columns"] = list(job.columns)
    if "sampling" in job.options:
        found["method"] = job.options["sampling"]
    done: Dataset = job.method.load()(job.rows, on_missing=job.on_missing, **found)
    return done


def exchanged(job: Job) -> Dataset:
    """Two text columns in each other's place."""
    found = {**job.chosen("label_column", "labels"), "on_missing": job.on_missing}
    classes = job.classes()
    if "labels" in found:
        found["labels"] = [classes.index(label) if label in classes else label for label in found["labels"]]
    return job.map(job.rows, job.method.load()(*job.columns, **found), "Swapping")


def asked(job: Job) -> Dataset:
    """A chat model, asked for every text once."""
    names = ("attribute", "model_name_or_path", "base_url", "prompt", "cache_dir")
    config = LLMConfig(**job.chosen(*LLM))
    function = job.method.load()(job.columns[0], config=config, on_missing=job.on_missing, **job.chosen(*names))
    rows = job.map(job.rows, function, "Asking")
    job.facts["usage"] = function.usage().to_dict()
    return rows
