"""The methods of `hf-fairness augment` in one table, the few ways in which they run, and the options that they take."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from hf_fairness.arguments import DataArguments, DeviceArguments
from hf_fairness.attributes import load_attribute
from hf_fairness.attributes.names import BUILT_IN, NO_NAMES, names_option, with_names
from hf_fairness.cli.hub import HubDatasetOptions
from hf_fairness.generation.config import LLMConfig
from hf_fairness.sources import columns_of_texts, open_dataset, open_rows, text_column
from hf_fairness.utils import did_you_mean, is_missing, refuse_any

if TYPE_CHECKING:
    from datasets import Dataset

    from hf_fairness.measure.encoder.bias_table import BiasTable

#: Options that all swaps take, that judge them, and of requests to a chat model.
SWAP = ("attribute", "names", "target", "label_column", "on_label", "tagger")
JUDGE = ("quality", "keep_rejected")
#: Options of scoring with a model, or with a table of one, beside the attribute.
SCORE = (
    *("model_name_or_path", "direction", "pairs", "form", "importance", "direction_cache", "batch_size", "device"),
    *("distill", "distilled"),
)
#: The file of the direction that scores were measured along, and that of a distilled table.
DIRECTION, TABLE = "direction.json", "bias_table.npz"
#: Texts whose words are looked up to say how many the table lacks.
LOOKED_UP = 10_000
LLM = tuple(item.name for item in dataclasses.fields(LLMConfig))
#: What runs a method.
ENGINES = ("datasets", RAY := "ray")


#: Options that the classes call otherwise.
_ARGUMENTS = {
    "model_name_or_path": "model",
    "direction_cache": "use_cache",
    "forward_model": "forward",
    "backward_model": "backward",
    "sampling": "method",
}
#: Options in the place of a model, and what to do about options of one beside them.
_READY = {
    "distilled": "scores without a model: leave out {}, or the table",
    "score_column": "names ready scores: leave out {}, or score anew without it",
}
#: What makes the argument of the word that is given for it.
_READERS = {
    "names": "hf_fairness.attributes.names:names_option",
    "tagger": "hf_fairness.augment.tagger:SpacyTagger",
    "direction": "hf_fairness.measure.encoder.bias_direction:BiasDirection.load",
    "distilled": "hf_fairness.measure.encoder.bias_table:BiasTable.load",
}


@dataclass(frozen=True)
class Method:
    """One way to rewrite or refine a data set.

    Attributes:
        summary: what it does, in one line.
        function: class or function, as ``module:name``; its docstring holds the source.
        make: makes what the rows are mapped by; None where they stay as they are.
        options: names of the options that it takes.
        choose: where the whole corpus decides: the arguments of the function, beside the rows as they were mapped.
        required: options that must be given, one of each mapping, with what it is in words.
        n_columns: number of text columns; None means any.
        batch_size: rows per call unless told otherwise.
        added: column that marks the rows that were added.
        marked: column that marks the rows that were rewritten.
        limits: what the card must say of it: a word of :data:`LIMITS`, or a text.
    """

    summary: str
    function: str
    make: Callable[[Job], Any] | None
    options: tuple[str, ...] = ()
    choose: Callable[[Job], dict[str, Any]] | None = None
    required: tuple[Mapping[str, str], ...] = ()
    n_columns: int | None = None
    batch_size: int = 1000
    added: str | None = None
    marked: str | None = None
    limits: tuple[str, ...] = ()

    def load(self) -> Any:
        """The class or function."""
        return resolve_name(self.function)

    @property
    def suffix(self) -> str:
        """Of the columns with the new texts, where these stand beside the old ones."""
        return getattr(self.load(), "suffix", "")

    def source(self) -> str:
        """The papers that the docstring of the class or function names."""
        said = (inspect.getdoc(self.load()) or "").partition("\nSource:")[2]
        return " ".join(said.partition("\n\n")[0].replace("``", "").split())


@dataclass
class Job:
    """What the command was asked for.

    Attributes:
        arguments: of the command.
        options: those that the method takes and that were given.
        repository: that the result is pushed to; None where it is not.
        rows: what the method is carried out on: the data set, or a part of it.
        facts: what there is to tell beside the rows: name -> what tells it, of some rows before and the number of the
            first of them; numbers add up over parts of a data set.
        files: what is written beside them: name -> what writes it.
    """

    arguments: AugmentArguments
    options: Mapping[str, Any]
    repository: str | None = None
    rows: Any = None
    facts: dict[str, Callable[[Dataset, int], Mapping[str, Any]]] = field(default_factory=dict)
    files: dict[str, Callable[[Path], object]] = field(default_factory=dict)

    @property
    def method(self) -> Method:
        """The method."""
        return METHODS[self.arguments.method]

    def open(self) -> None:
        """Open the rows that the command names."""
        rows = open_rows(self.arguments)
        self.rows = rows.select(range(min(len(rows), self.arguments.max_rows or len(rows))))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The text columns that the method reads."""
        n, name, wanted = self.method.n_columns, self.arguments.method, self.arguments.text_column
        if wanted is None and (
            "group_column" in self.options or ("score_column" in self.options and not self.method.added)
        ):
            return ()  # groups or scores are there already, and no text is changed
        if n == 2 and len(wanted or ()) != 2:
            raise ValueError(f"Method {name} needs two columns: --text_column premise hypothesis.")
        names = tuple(text_column(self.rows, each, self.arguments.dataset) for each in wanted or (None,))
        if n == 1 and len(names) > 1:
            raise ValueError(f"Method {name} reads one column; got {', '.join(names)}. Run it once for each.")
        return names

    @cached_property
    def function(self) -> Any:
        """What the rows are mapped by; None where they stay as they are."""
        return None if self.method.make is None else self.method.make(self)

    @cached_property
    def choice(self) -> dict[str, Any] | None:
        """Where the whole corpus decides: arguments of the method's function, beside the rows as they are mapped."""
        return None if self.method.choose is None else self.method.choose(self)

    def mapped(self, rows: Dataset) -> Dataset:
        """Rows as the function makes them, each by itself."""
        if self.function is None:
            return rows
        return rows.map(
            self.function,
            batched=True,
            batch_size=self.arguments.batch_size or self.method.batch_size,
            num_proc=self.arguments.num_proc,
            load_from_cache_file=False if hasattr(self.function, "usage") else None,  # a server may answer otherwise
            desc=self.arguments.method,
        )

    def change(self, rows: Dataset) -> Dataset:
        """What becomes of all rows."""
        if self.choice is None:
            return self.mapped(rows)
        done: Dataset = self.method.load()(self.mapped(rows), **self.choice)
        return done

    @cached_property
    def attribute(self) -> tuple[Any, bool]:
        """The attribute with the names that count as terms, and whether any do; None where the method reads none."""
        if "attribute" not in self.options:
            return None, False
        return with_names(load_attribute(self.options["attribute"]), names_option(self.options.get("names", NO_NAMES)))

    def chosen(self, *names: str) -> dict[str, Any]:
        """Those of the named options that were given, as keyword arguments, and what rows without a text mean."""
        given = {name: self.options[name] for name in names if name in self.options}
        found = {_ARGUMENTS.get(name, name): _read(name, value) for name, value in given.items()}
        classes = getattr(self.rows.features.get(given.get("label_column")), "names", None) or []
        if classes and "on_label" in names:
            found["label_names"] = classes
        if "labels" in found:
            found["labels"] = [classes.index(label) if label in classes else label for label in found["labels"]]
        return {**found, "on_missing": self.arguments.on_missing}


def _read(name: str, value: Any) -> Any:
    """What a method is given for the value of an option."""
    try:
        return resolve_name(_READERS[name])(value) if name in _READERS else value
    except (OSError, ValueError) as error:
        raise ValueError(f"--{name}: {str(error).removeprefix(f'--{name} ')}") from error


def rewritten(job: Job) -> Any:
    """A class whose arguments are the text columns, each where the method has a fixed number, and the options."""
    columns = job.columns if job.method.n_columns else (job.columns,)
    return job.method.load()(*columns, **job.chosen(*job.method.options))


def asked(job: Job) -> Any:
    """A chat model, asked for every text once."""
    config = LLMConfig(**{name: job.options[name] for name in LLM if name in job.options})
    own = job.chosen(*(name for name in job.method.options if name not in LLM))
    return job.method.load()(job.columns[0], config=config, **own)


def scored(job: Job) -> Any:
    """The bias score of each text, of a model or of a table, unless it is there; what it is measured by is written."""
    from hf_fairness.measure.encoder.bias_score import BiasScore
    from hf_fairness.measure.encoder.bias_table import BiasTable, DistilledBiasScore
    from hf_fairness.refine.percentile import check_percentile

    if "percentile" in job.options:
        check_percentile(job.options["percentile"], "augment")  # before the long part
    if "score_column" in job.options:
        return None
    options = job.chosen("attribute", *SCORE)
    if "pairs" in options:
        options["pairs"] = _pairs(options["pairs"], options["attribute"])
    table, n_texts = (options.pop(name, None) for name in ("distilled", "distill"))
    if table is None:
        score = BiasScore(job.columns, options.pop("model"), **options)
        job.files[DIRECTION] = score.direction.save
        if n_texts is None:
            return score
        table = BiasTable.from_encoder(score.scorer, _some_texts(job, n_texts))
        job.files[TABLE] = table.save
    if table.card["attribute"] != load_attribute(options["attribute"]).name:
        raise ValueError(f"--distilled: the table is one of {table.card['attribute']!r}, not of the --attribute.")
    job.facts["distilled"] = partial(_looked_up, columns=job.columns, table=table)
    return DistilledBiasScore(job.columns, table, on_missing=job.arguments.on_missing)


def _some_texts(job: Job, n: int) -> list[str]:
    """Texts to make a table of."""
    from hf_fairness.scores.statistics import generator

    rows = job.rows.select(sorted(generator(0, "distill").permutation(len(job.rows))[:n].tolist()))
    texts = [text for row in zip(*(rows[name][:] for name in job.columns), strict=True) for text in row]
    return [text for text in texts if not is_missing(text)][:n]


def _looked_up(rows: Dataset, first: int, columns: Sequence[str], table: BiasTable) -> dict[str, Any]:
    """The table, how many words the first texts of a data set have, and how many of them the table lacks."""
    some = rows.select(range(max(0, min(len(rows), LOOKED_UP - first))))
    texts = [text for column in columns for text in some[column] if not is_missing(text)]
    numbers, _ = table.numbers(texts)
    unknown = int((numbers >= len(table.words)).sum())
    return {"tables": [table.card], "words looked up": len(numbers), "not in the table": unknown}


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
    from hf_fairness.measure.encoder.bias_pairs import LISTS

    if given in LISTS:
        return given
    try:
        rows = open_dataset(given)
    except (ValueError, OSError) as error:
        raise ValueError(f"--pairs takes {', '.join(LISTS)} or a file of pairs. {error}") from error
    groups, columns = load_attribute(attribute).group_names, rows.column_names
    if set(groups) <= set(columns):
        return rows.select_columns(list(groups)).to_list()
    if len(columns) != 2 or columns_of_texts(rows) != columns:
        raise ValueError(
            f"--pairs {given} has the columns {', '.join(columns)}; expected one of texts for each group, "
            f"{' and '.join(groups)}, or two columns of texts and no more."
        )
    return list(zip(rows[columns[0]], rows[columns[1]], strict=True))


def above_percentile(job: Job) -> dict[str, Any]:
    """Rows are chosen by their score, that of columns that are there or the one that was just put beside them."""
    columns = job.options.get("score_column") or [f"{column}_bias_absolute" for column in job.columns]
    swaps = {} if "target" not in job.method.options else {**job.chosen(*SWAP), "text_columns": list(job.columns)}
    return {"percentile": job.options["percentile"], "score_columns": list(columns), **swaps}


def by_group(job: Job) -> dict[str, Any]:
    """As many rows of every group: that of a column, or of the texts."""
    texts = {} if "group_column" in job.options else {"text_columns": list(job.columns)}
    return {**job.chosen(*job.method.options), **texts}


#: What the cards of several methods say, by a word for it.
LIMITS = {
    "copied": "The added rows have the labels of their sources. Nothing checked that a label still holds.",
    "groups": "All terms of a text change together, whoever they speak of; words that carry a group without naming it "
    "stay.",
    "unjudged": "Nothing judged the added counterfactuals: broken ones may be among them.",
    "model": "A model chose the words: its own biases and errors are in the texts.",
    "chosen": "Rows were chosen by a score of one model; compare with as many rows chosen at random before you credit "
    "it.",
}
_BY_MODEL = {"model_name_or_path": "a model that scores the texts", "distilled": "a table made of one"}
_BY_SCORE = {
    "model_name_or_path": _BY_MODEL["model_name_or_path"],
    "score_column": "columns of ready scores",
} | _BY_MODEL
_COMPENSATE = Method(
    "add the counterfactual of the rows with the highest bias score",
    "hf_fairness.refine:compensate",
    scored,
    (*SWAP, *SCORE, "score_column", "percentile"),
    above_percentile,
    required=({"percentile": ""}, _BY_SCORE),
    added="counterfactual",
    limits=("chosen", "groups", "copied", "unjudged"),
)

#: Name -> method, in the order of the help text.
METHODS: dict[str, Method] = {
    "swap": Method(
        "put the counterfactual of each text beside it",
        "hf_fairness.augment:CounterfactualSwap",
        rewritten,
        (*SWAP, *JUDGE),
        limits=("groups",),
    ),
    "cda": Method(
        "add after each row with terms its counterfactual row (counterfactual data augmentation)",
        "hf_fairness.augment:CounterfactualAugmentation",
        rewritten,
        (*SWAP, *JUDGE),
        added="counterfactual",
        limits=("groups", "copied"),
    ),
    "cds": Method(
        "write the counterfactual for a text with a fixed probability (counterfactual data substitution)",
        "hf_fairness.augment:CounterfactualSubstitution",
        rewritten,
        (*SWAP, *JUDGE, "probability", "seed"),
        limits=("groups",),
    ),
    "neutralize": Method(
        "put beside each text a version that names no group",
        "hf_fairness.augment:Neutralize",
        rewritten,
        ("attribute", "names", "tagger", "pronouns", "reflexive"),
        limits=("groups",),
    ),
    "variants": Method(
        "write one version of each text per group and a neutral one, as `ccd` and `audit` read them",
        "hf_fairness.augment:GroupVariants",
        rewritten,
        ("attribute", "names", "tagger", "prefix"),
        n_columns=1,
        marked="has_terms",
        limits=("groups",),
    ),
    "remove": Method(
        "put beside each text one without the terms (attribute blindness; seldom grammatical)",
        "hf_fairness.augment:RemoveTerms",
        rewritten,
        ("attribute", "names", "tagger", "placeholder"),
        limits=("The texts are seldom grammatical, and what is left of them often still tells the group.",),
    ),
    "balance": Method(
        "sample down (or up) until every group has as many rows",
        "hf_fairness.refine:balance",
        None,
        ("attribute", "sampling", "group_column", "within", "seed"),
        by_group,
        limits=("Equal numbers of rows do not make what the rows say equal.",),
    ),
    "score": Method(
        "put the bias score of each text beside it, for --score_column",
        "hf_fairness.measure.encoder.bias_score:BiasScore",
        scored,
        ("attribute", *SCORE),
        required=(_BY_MODEL,),
        limits=(
            "A score is that of one model along one direction: another model scores the same texts otherwise. "
            "direction.json holds the direction; `--direction direction.json` scores another corpus along it.",
        ),
    ),
    "subtract": Method(
        "leave out the rows with the highest bias score",
        "hf_fairness.refine:subtract",
        scored,
        ("attribute", *SCORE, "score_column", "percentile"),
        above_percentile,
        required=({"percentile": ""}, _BY_SCORE),
        limits=("chosen",),
    ),
    "compensate": _COMPENSATE,
    "replace": dataclasses.replace(
        _COMPENSATE,
        summary="put the counterfactual in the place of the rows with the highest bias score",
        function="hf_fairness.refine:replace",
    ),
    "text-swap": Method(
        "add after each row one with premise and hypothesis exchanged",
        "hf_fairness.augment.nlu:TextSwap",
        rewritten,
        ("label_column", "labels"),
        n_columns=2,
        added="augmented",
        limits=("copied", "Entailment holds in one direction only."),
    ),
    "synonyms": Method(
        "add after each row one with synonyms of WordNet",
        "hf_fairness.augment.nlu:SynonymSubstitution",
        rewritten,
        ("rate", "seed", "wordnet", "protect"),
        n_columns=1,
        added="augmented",
        limits=("copied",),
    ),
    "mlm": Method(
        "add after each row one with words that a masked language model fills in",
        "hf_fairness.augment.nlu:MaskedSubstitution",
        rewritten,
        ("model_name_or_path", "rate", "top_k", "seed", "protect", "batch_size", "device"),
        required=({"model_name_or_path": ""},),
        n_columns=1,
        added="augmented",
        limits=("copied", "model"),
    ),
    "paraphrase": Method(
        "add after each row one translated into another language and back",
        "hf_fairness.augment.nlu:Paraphrase",
        rewritten,
        ("forward_model", "backward_model", "num_beams", "batch_size", "device"),
        required=({"forward_model": ""}, {"backward_model": ""}),
        n_columns=1,
        added="augmented",
        limits=("copied", "model"),
    ),
    "llm": Method(
        "ask a chat model for one version of each text per group and a neutral one",
        "hf_fairness.generation:LLMGroupVariants",
        asked,
        ("attribute", "model_name_or_path", "base_url", "prompt", "cache_dir", *LLM),
        required=({"model_name_or_path": "a chat model", "base_url": "a server"},),
        n_columns=1,
        batch_size=64,
        marked="has_terms",
        limits=(
            "model",
            "Of each version only the count of group terms and the share of kept words were checked.",
        ),
    ),
}


@dataclass(kw_only=True)
class AugmentArguments(DataArguments, DeviceArguments, HubDatasetOptions):
    """Where the data comes from and goes to, and what is done with it."""

    RANGES: ClassVar[dict[str, tuple[float | None, float]]] = {
        "num_shards": (1, 99_999),
        "shard_index": (0, 99_998),
        "num_gpus": (0, 1_024),
        "rows_per_file": (1, 1_000_000_000),
        "distill": (200, 1_000_000_000),  # a table is made of no fewer
    }

    dataset: str = field(
        metadata={"help": "csv, tsv, json, jsonl, parquet or text file, saved folder, Hub id, or `demo`."}
    )
    method: str = field(metadata={"help": "What to do; the methods are listed below."})
    output_dir: str = field(metadata={"help": "Folder to write."})
    text_column: list[str] | None = field(
        default=None,
        metadata={
            "help": "Columns of the texts: one, or several that belong together (premise hypothesis). Default: `text`, "
            "or the only text column."
        },
    )
    on_missing: str = field(
        default="skip",
        metadata={"help": "Rows that lack a text: skip lets them pass and counts them, error refuses them."},
    )
    num_proc: int | None = field(
        default=None,
        metadata={"help": "Processes; with --engine ray its workers, default: as many as there is room for."},
    )
    batch_size: int | None = field(default=None, metadata={"help": "Rows per batch; default: 1000, with a model 32."})
    engine: str = field(
        default=ENGINES[0],
        metadata={
            "help": "datasets: this machine. ray: the workers of a Ray cluster (extra ray), file by file; the same "
            "command again goes on with the files that lack. All workers must see the folders."
        },
    )
    ray_address: str | None = field(
        default=None,
        metadata={
            "help": "Ray cluster: auto for the one that runs here, or HOST:PORT; default: RAY_ADDRESS, else one is "
            "started on this machine for this run."
        },
    )
    num_gpus: float | None = field(
        default=None, metadata={"help": "GPUs of each Ray worker that opens a model, such as 1 or 0.5; default: none."}
    )
    rows_per_file: int | None = field(
        default=None,
        metadata={
            "help": "Most rows of a file that --engine ray writes, and of those that a worker has in memory. Default: "
            "about 64 files, of 10,000 to 100,000 rows, with a model 500 to 50,000."
        },
    )
    num_shards: int | None = field(
        default=None,
        metadata={
            "help": "Write the data set in so many runs, each with its --shard_index (Slurm arrays); the last one "
            "writes the card, and a run that is done does nothing when it is started again."
        },
    )
    shard_index: int | None = field(default=None, metadata={"help": "Which of the --num_shards this is, from 0 on."})
    card_examples: bool = field(
        default=False, metadata={"help": "Show one row, before and after, word for word in the card."}
    )
    license: str | None = field(
        default=None, metadata={"help": "Licence of the result for its card, such as cc-by-4.0."}
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: half of what says a shard, a shard that there is not, or as :class:`DataArguments`.
        """
        super().__post_init__()
        given = [name for name in ("ray_address", "num_gpus", "rows_per_file") if getattr(self, name) is not None]
        refuse_any(
            {
                "--num_shards and --shard_index belong together: give both, such as --num_shards 64 --shard_index 0.": (
                    (self.num_shards is None) != (self.shard_index is None)
                ),
                f"--shard_index is {self.shard_index}, expected 0 to {(self.num_shards or 0) - 1} (--num_shards "
                f"{self.num_shards}).": (
                    self.num_shards is not None and not 0 <= (self.shard_index or 0) < self.num_shards
                ),
                f"--engine is {self.engine!r}, expected {' or '.join(ENGINES)}.": self.engine not in ENGINES,
                **{f"--{name} is for --engine {RAY}: add that, or leave it out.": self.engine != RAY for name in given},
                f"--engine {RAY} shares the work by itself: leave out --num_shards and --shard_index.": (
                    self.num_shards is not None and self.engine == RAY
                ),
            }
        )

    @property
    def split(self) -> str:
        """Name of the split without a slice such as ``[:10%]``."""
        return re.split(r"\W", self.dataset_split)[0] or "train"


def _options(title: str, defaults: Mapping[str, Any], *bases: type[Any], **options: tuple[Any, str]) -> type[Any]:
    """A dataclass of options: name -> type and help. Where there is no default, the method has its own."""
    entries = [
        (name, kind if name in defaults else kind | None, field(default=defaults.get(name), metadata={"help": text}))
        for name, (kind, text) in options.items()
    ]
    named = {"_argument_group_name": title}
    return dataclasses.make_dataclass("Options", entries, bases=bases, namespace=named, frozen=True)


TermOptions = _options(
    "methods that look for terms",
    {"attribute": "gender", "quality": True, "keep_rejected": False},
    attribute=(str, "Attribute: a name, or a JSON file of yours (see below)."),
    names=(
        str,
        f"Treat given names too: `{BUILT_IN}`, a CSV file with source and date, or `{NO_NAMES}`; default: "
        f"`{NO_NAMES}`.",
    ),
    target=(str, "Group to write; needed with more than two groups."),
    label_column=(str, "Column of the labels."),
    on_label=(str, "Where the label names a group: refuse (default), mark or swap."),
    tagger=(str, "spaCy model that settles pronouns."),
    quality=(bool, "Judge swaps (columns confidence and rejected_reason), and do not use those judged bad."),
    keep_rejected=(bool, "Use the swaps that were judged bad all the same."),
    probability=(float, "Of a substitution (cds); default 0.5."),
    pronouns=(str, "Neutral pronoun (neutralize), for example xe."),
    reflexive=(str, "Neutral reflexive pronoun, such as themself."),
    prefix=(str, "Put before the names of the added columns (variants)."),
    placeholder=(str, "What stands for a removed term (remove)."),
)
RefineOptions = _options(
    "bias score, and methods that choose rows",
    {},
    direction=(
        str,
        "direction.json of an earlier run: score along the same direction. Default: one is made of --pairs.",
    ),
    pairs=(
        str,
        "What the direction is made of: paper or extended (lists of word pairs), or a file with a column "
        "of texts for each group. Default: paper for word vectors, for other models sentences of this package.",
    ),
    form=(
        str,
        "Score the texts raw, or neutral: rewritten first so that they name no group. Default: raw for "
        "word vectors, neutral for other models.",
    ),
    importance=(str, "Weight of a word: max or mean. Default: as the model pools."),
    direction_cache=(
        bool,
        "Keep the direction in HF_HOME/hf_fairness/directions, by the content of the model, and take it from there. "
        "Default: true.",
    ),
    distill=(
        int,
        "Score so many texts with the model, make a table of their words, and score all texts by the table: fast and "
        f"rough (see BiasTable). The table is written as {TABLE}.",
    ),
    distilled=(str, f"{TABLE} of an earlier run: score by it, without a model."),
    score_column=(
        list[str],
        "Columns of scores that are there, such as those of `score` that end in _bias_absolute; without "
        "them --model_name_or_path scores the texts.",
    ),
    percentile=(float, "Rows with a bias score above this percentile are chosen; in [1, 100)."),
    sampling=(str, "down (default) or up (balance)."),
    group_column=(str, "Column of the groups (balance)."),
    within=(str, "Balance within each value of this column."),
)
ModelOptions = _options(
    "methods that draw words or ask a model",
    {},
    rate=(float, "Share of the words to replace; default 0.15."),
    top_k=(int, "Likeliest words to draw from (mlm); default 5."),
    labels=(list[str], "Labels whose rows are swapped (text-swap)."),
    wordnet=(str, "Folder of WordNet's files; default: that of nltk."),
    protect=(str, "Attribute whose terms are not replaced."),
    model_name_or_path=(str, "Model: Hub id or folder."),
    forward_model=(str, "Model into the other language (paraphrase)."),
    backward_model=(str, "Model back (paraphrase)."),
    num_beams=(int, "Width of the beam search; default 1."),
    base_url=(str, "Address of a chat-completions server (llm)."),
    prompt=(str, "JSON file of a prompt (llm)."),
    cache_dir=(str, "Folder of finished rewrites (llm): a run that was stopped goes on from them."),
)


LLMOptions = _options(
    "draws, and requests to a chat model",
    {"seed": 0},
    LLMConfig,
    seed=(int, "Seed of every draw, and sent to the server (llm)."),
)

#: Settings of requests that `--help` shows; `--help-all` shows the rest.
COMMON = ("temperature", "max_tokens", "concurrency", "requests_per_minute", "token_env")

#: All options beside :class:`AugmentArguments`.
OPTIONS: tuple[type[Any], ...] = (TermOptions, RefineOptions, ModelOptions, LLMOptions)


def chosen_options(arguments: AugmentArguments, groups: Sequence[Any]) -> dict[str, Any]:
    """The options that the method takes and that were given.

    Args:
        arguments: says the name of the method, and how many processes and rows a batch there shall be.
        groups: instances of :data:`OPTIONS`.

    Returns:
        name -> value.

    Raises:
        ValueError: no such method, an option that it does not take, or one that is missing.
    """
    name = arguments.method
    if name not in METHODS:
        raise ValueError(f"Unknown method {name!r}.{did_you_mean(name, METHODS)} Methods: {', '.join(METHODS)}.")
    method = METHODS[name]
    defaults = {item.name: item.default for group in groups for item in fields(group)}
    given = {option: value for group in groups for option, value in vars(group).items()}
    found = {
        option: value
        for option, value in given.items()
        if option in method.options and (value is not None or defaults[option] is not None)
    }
    foreign = next((name for name in given if name not in method.options and given[name] != defaults[name]), "")
    takers = [other for other, each in METHODS.items() if foreign in each.options]
    missing = [
        " or ".join(f"--{option} ({words})" if words else f"--{option}" for option, words in each.items())
        for each in method.required
        if found.keys().isdisjoint(each)
    ]
    ready = next((option for option in _READY if option in found), "")
    others = [f"--{option}" for option in (*SCORE, "score_column") if option in found and option != ready]
    sharded, on_ray = arguments.num_shards is not None, arguments.engine == RAY
    instead = "; score in shards (--method score), then choose once on that folder (--score_column)"
    refuse_any(
        {
            f"Method {name} has no option --{foreign}; it belongs to {', '.join(takers)}.": foreign,
            f"Method {name} needs {' and '.join(missing)}.": missing,
            f"--{ready} {_READY.get(ready, '').format(', '.join(others))}.": ready and others,
            "--distill makes one table of texts of the whole data set, so no shard can: distill it once on a part, and "
            f"score the shards with --distilled {TABLE}.": "distill" in found and (sharded or on_ray),
            f"Method {name} chooses among all rows, so no shard can run it: leave out --num_shards and --shard_index"
            f"{instead if 'score_column' in method.options else ''}.": sharded and method.choose,
            f"Method {name} with these options opens no model: leave out --num_gpus.": (
                arguments.num_gpus and not opens_model(found)
            ),
            f"Method {name} runs in one process: leave out --num_proc.": (
                opens_model({*method.options} - {"tagger"}) and (arguments.num_proc or 1) > 1 and not on_ray
            ),
        }
    )
    own = {"batch_size": arguments.batch_size, "device": arguments.device}
    return found | {option: value for option, value in own.items() if option in method.options and value is not None}


def opens_model(options: Iterable[str]) -> bool:
    """Whether a method with these options opens a model."""
    return not {"model_name_or_path", "forward_model", "base_url", "tagger"}.isdisjoint(options)
