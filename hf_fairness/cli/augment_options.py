"""The options of `hf-fairness augment`, and which of them a method takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from hf_fairness.arguments import DataArguments, DeviceArguments
from hf_fairness.attributes.names import BUILT_IN, NO_NAMES
from hf_fairness.cli.augment_methods import METHODS, SCORE, Method
from hf_fairness.cli.hub import HubDatasetOptions
from hf_fairness.generation.config import LLMConfig


@dataclass(kw_only=True)
class AugmentArguments(DataArguments, DeviceArguments, HubDatasetOptions):
    """Where the data comes from and goes to, and what is done with it."""

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
    num_proc: int | None = field(default=None, metadata={"help": "Processes."})
    batch_size: int | None = field(default=None, metadata={"help": "Rows per batch; default: 1000, with a model 32."})
    card_examples: bool = field(
        default=False, metadata={"help": "Show one row, before and after, word for word in the card."}
    )
    overwrite: bool = field(default=False, metadata={"help": "Replace what an earlier run of this command wrote."})
    license: str | None = field(
        default=None, metadata={"help": "Licence of the result for its card, such as cc-by-4.0."}
    )

    def __post_init__(self) -> None:
        """Check what every command checks."""
        DataArguments.__post_init__(self)
        HubDatasetOptions.__post_init__(self)


def _options(title: str, **options: tuple[Any, Any, str]) -> type[Any]:
    """A dataclass of options: name -> type, default and help. Where the default is None, the method has its own."""
    entries = [
        (name, kind, field(default=default, metadata={"help": text})) for name, (kind, default, text) in options.items()
    ]
    return dataclasses.make_dataclass("Options", entries, namespace={"_argument_group_name": title})


TermOptions = _options(
    "methods that look for terms",
    attribute=(str, "gender", "Attribute: a name, or a JSON file of yours (see below)."),
    names=(
        str | None,
        None,
        f"Treat given names too: `{BUILT_IN}`, a CSV file with source and date, or `{NO_NAMES}`; default: "
        f"`{NO_NAMES}`.",
    ),
    target=(str | None, None, "Group to write; needed with more than two groups."),
    label_column=(str | None, None, "Column of the labels."),
    on_label=(str | None, None, "Where the label names a group: refuse (default), mark or swap."),
    tagger=(str | None, None, "spaCy model that settles pronouns."),
    quality=(bool, True, "Judge swaps (columns confidence and rejected_reason), and do not use those judged bad."),
    keep_rejected=(bool, False, "Use the swaps that were judged bad all the same."),
    probability=(float | None, None, "Of a substitution (cds); default 0.5."),
    pronouns=(str | None, None, "Neutral pronoun (neutralize), for example xe."),
    reflexive=(str | None, None, "Neutral reflexive pronoun, such as themself."),
    prefix=(str | None, None, "Put before the names of the added columns (variants)."),
    placeholder=(str | None, None, "What stands for a removed term (remove)."),
)
RefineOptions = _options(
    "bias score, and methods that choose rows",
    direction=(
        str | None,
        None,
        "direction.json of an earlier run: score along the same direction. Default: one is made of --pairs.",
    ),
    pairs=(
        str | None,
        None,
        "What the direction is made of: paper or extended (lists of word pairs), or a file with a column "
        "of texts for each group. Default: paper for word vectors, for other models sentences of this package.",
    ),
    form=(
        str | None,
        None,
        "Score the texts raw, or neutral: rewritten first so that they name no group. Default: raw for "
        "word vectors, neutral for other models.",
    ),
    importance=(str | None, None, "Weight of a word: max or mean. Default: as the model pools."),
    score_column=(
        list[str] | None,
        None,
        "Columns of scores that are there, such as those of `score` that end in _bias_absolute; without "
        "them --model_name_or_path scores the texts.",
    ),
    percentile=(float | None, None, "Rows with a bias score above this percentile are chosen; in [1, 100)."),
    sampling=(str | None, None, "down (default) or up (balance)."),
    group_column=(str | None, None, "Column of the groups (balance)."),
    within=(str | None, None, "Balance within each value of this column."),
)
ModelOptions = _options(
    "methods that draw words or ask a model",
    rate=(float | None, None, "Share of the words to replace; default 0.15."),
    top_k=(int | None, None, "Likeliest words to draw from (mlm); default 5."),
    labels=(list[str] | None, None, "Labels whose rows are swapped (text-swap)."),
    wordnet=(str | None, None, "Folder of WordNet's files; default: that of nltk."),
    protect=(str | None, None, "Attribute whose terms are not replaced."),
    model_name_or_path=(str | None, None, "Model: Hub id or folder."),
    forward_model=(str | None, None, "Model into the other language (paraphrase)."),
    backward_model=(str | None, None, "Model back (paraphrase)."),
    num_beams=(int | None, None, "Width of the beam search; default 1."),
    base_url=(str | None, None, "Address of a chat-completions server (llm)."),
    prompt=(str | None, None, "JSON file of a prompt (llm)."),
    cache_dir=(str | None, None, "Folder of finished rewrites (llm): a run that was stopped goes on from them."),
)


@dataclass(frozen=True)
class LLMOptions(LLMConfig):
    """How a chat model is asked, and the seed of every method."""

    _argument_group_name = "draws, and requests to a chat model"

    seed: int = field(default=0, metadata={"help": "Seed of every draw, and sent to the server (llm)."})


#: Settings of requests that `--help` shows; `--help-all` shows the rest.
COMMON = ("temperature", "max_tokens", "concurrency", "requests_per_minute", "token_env")

#: All options beside :class:`AugmentArguments`.
OPTIONS: tuple[type[Any], ...] = (TermOptions, RefineOptions, ModelOptions, LLMOptions)


def chosen_options(method: Method, arguments: AugmentArguments, groups: Sequence[Any]) -> dict[str, Any]:
    """The options that the method takes and that were given.

    Args:
        method: the method.
        arguments: says its name, and how many processes and rows a batch there shall be.
        groups: instances of :data:`OPTIONS`.

    Returns:
        name -> value.

    Raises:
        ValueError: an option that it does not take, or one that is missing.
    """
    given = {item.name: (getattr(group, item.name), item.default) for group in groups for item in fields(group)}
    for name, (value, default) in given.items():
        if name not in method.options and value != default:
            takers = [other for other, each in METHODS.items() if name in each.options]
            raise ValueError(f"Method {arguments.method} has no option --{name}; it belongs to {', '.join(takers)}.")
    found = {name: value for name, (value, _) in given.items() if name in method.options and value is not None}
    missing = [f"--{name}" for name in method.required if name not in found]
    if missing:
        raise ValueError(f"Method {arguments.method} needs {' and '.join(missing)}.")
    if method.one_of and not set(method.one_of) & set(found):
        wanted = " or ".join(f"--{name} ({words})" for name, words in method.one_of.items())
        raise ValueError(f"Method {arguments.method} needs {wanted}.")
    scoring = [f"--{name}" for name in SCORE if name in found]
    if "score_column" in found and scoring:
        raise ValueError(
            f"--score_column names ready scores: leave out {', '.join(scoring)}, or score anew without it."
        )
    if not method.parallel and (arguments.num_proc or 1) > 1:
        raise ValueError(f"Method {arguments.method} runs in one process: leave out --num_proc.")
    own = {name: getattr(arguments, name) for name in ("batch_size", "device") if name in method.options}
    return found | {name: value for name, value in own.items() if value is not None}
