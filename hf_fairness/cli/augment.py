"""`hf-fairness augment`: rewrite or refine a data set: counterfactuals, variants per group, balance, bias score."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.cli.augment_methods import (
    COMMON,
    DIRECTION,
    METHODS,
    OPTIONS,
    AugmentArguments,
    Job,
    Method,
    asked,
    chosen_options,
)
from hf_fairness.cli.hub import dataset_repository
from hf_fairness.cli.parsing import parse
from hf_fairness.maps import MISSING
from hf_fairness.results import columns
from hf_fairness.sources import columns_of_texts, open_rows, text_column
from hf_fairness.utils import FairnessWarning, is_missing, package_versions

if TYPE_CHECKING:
    from datasets import Dataset

    from hf_fairness.publishing import Published

DESCRIPTION = """Rewrite a data set (counterfactuals, neutral forms, variants per group, generic augmentations), or
refine it (balance; bias score; subtract or compensate by it). Writes OUTPUT_DIR/data/*.parquet, OUTPUT_DIR/README.md, a
card with every count and setting, and OUTPUT_DIR/augment.json. datasets.load_dataset(OUTPUT_DIR) opens it. No method
makes data fair."""

EXAMPLES = """examples:
  a counterfactual beside each row, on disk and on the Hub, with a card that states counts, rejected share and limits:
    hf-fairness augment news.csv --method cda --output_dir fair-news --push_to_hub --hub_dataset_id you/fair-news
  a corpus is scored once, for every percentile:
    hf-fairness augment sick.csv --method score --model_name_or_path MODEL --output_dir scored \\
        --text_column premise hypothesis
    hf-fairness augment scored --method subtract --percentile 95 --output_dir sub95 \\
        --score_column premise_bias_absolute hypothesis_bias_absolute
  a second corpus along the same direction:
    hf-fairness augment news.csv --method score --model_name_or_path MODEL --direction scored/direction.json \\
        --output_dir news
"""

_PACKAGES = ("hf-fairness", "datasets", "torch", "transformers", "nltk", "spacy")
#: What this command writes; only a folder that holds nothing else is ever replaced.
_WRITTEN = frozenset({"data", "README.md", "augment.json", DIRECTION})


def main(argv: Sequence[str]) -> dict[str, Any]:
    """Run the command; returns the counts."""
    width = max(map(len, METHODS))
    lines = [f"  {name:<{width}}  {method.summary}" for name, method in METHODS.items()]
    parsed = parse(
        [AugmentArguments, *OPTIONS],
        argv,
        prog="hf-fairness augment",
        description=DESCRIPTION,
        positional="dataset",
        common=COMMON,
        epilog="\n".join([EXAMPLES, "methods:", *lines]),
    )
    arguments, options = parsed[0], parsed[1:]
    name = arguments.method
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"Unknown method {name!r}.{hint} Methods: {', '.join(METHODS)}.")
    return run(arguments, chosen_options(METHODS[name], arguments, options))


def run(arguments: AugmentArguments, options: dict[str, Any]) -> dict[str, Any]:
    """Open the data, carry out the method, write, print the counts, push if asked to."""
    from hf_fairness.report.dataset_card import flat_counts
    from hf_fairness.runs import atomic_folder

    method = METHODS[arguments.method]
    output = Path(arguments.output_dir)
    _check_place(output, arguments)
    repository = dataset_repository(arguments, arguments.output_dir)
    with atomic_folder(output, replace=True, check=lambda: _check_output(output, arguments)) as folder:
        rows = open_rows(arguments)
        if arguments.max_rows is not None:
            rows = rows.select(range(min(len(rows), arguments.max_rows)))
        job = Job(method, rows, _columns(rows, method, arguments, options), options, arguments)
        done = outcome(job, method.run(job))
        _write(folder, job, done, repository)
    print(*columns([("counted", "value"), *flat_counts(done.counts)], left=(0,)), sep="\n")
    print(f"\n{'data':>10}  {output / _file(arguments)}\n{'card':>10}  {output / 'README.md'}")
    if repository is not None:
        print(_push(output, arguments, repository))
    return done.counts


def _columns(rows: Dataset, method: Method, arguments: AugmentArguments, options: dict[str, Any]) -> tuple[str, ...]:
    wanted = arguments.text_column
    if wanted is None and ("group_column" in options or ("score_column" in options and not method.added)):
        return ()  # groups or scores are there already, and no text is changed
    if method.n_columns == 2 and len(wanted or ()) != 2:
        raise ValueError(f"Method {arguments.method} needs two columns: --text_column premise hypothesis.")
    asked: Sequence[str | None] = wanted or [None]
    names = tuple(text_column(rows, name, arguments.dataset) for name in asked)
    if method.n_columns == 1 and len(names) > 1:
        raise ValueError(f"Method {arguments.method} reads one column; got {', '.join(names)}. Run it once for each.")
    return names


def _check_place(output: Path, arguments: AugmentArguments) -> None:
    """Raise if the data would be replaced by what is made of them."""
    source = Path(arguments.dataset)
    if source.exists() and output.resolve() in (source.resolve(), *source.resolve().parents):
        raise ValueError(
            f"{source} lies in {output}, which would be replaced. Choose another folder with --output_dir."
        )


def _check_output(output: Path, arguments: AugmentArguments) -> None:
    """Raise unless the folder may be written: it is new or empty, or holds what this command wrote."""
    if output.exists() and not output.is_dir():
        raise FileExistsError(f"{output} is a file. Choose another --output_dir.")
    inside = sorted(path.name for path in output.iterdir()) if output.exists() else []
    foreign = [name for name in inside if name not in _WRITTEN]
    if foreign:
        raise FileExistsError(f"{output} holds {foreign[0]!r}, which is not of this command. Choose another folder.")
    if inside and not arguments.overwrite:
        raise FileExistsError(f"{output} is not empty. Choose another folder, or replace its content with --overwrite.")


def _file(arguments: AugmentArguments) -> str:
    from hf_fairness.report.dataset_card import data_file

    return data_file(_split(arguments))


def _split(arguments: AugmentArguments) -> str:
    """Name of the split without a slice such as ``[:10%]``."""
    found = re.match(r"\w+", arguments.dataset_split)
    return found[0] if found else "train"


def _write(folder: Path, job: Job, done: Outcome, repository: str | None) -> None:
    """Write rows, card and record."""
    from hf_fairness.runs import atomic_write_json

    arguments = job.arguments
    if len(done.rows) == 0:
        raise ValueError(f"Method {arguments.method} left no row of {arguments.dataset}: nothing was written.")
    asked = dataclasses.asdict(arguments).items()
    settings = {name: value for name, value in asked if value is not None and name != "hub_token"}
    record = {"arguments": settings, "options": _stated(job), "counts": done.counts, **job.facts}
    (folder / "data").mkdir()
    for name, write in job.files.items():
        write(folder / name)
    done.rows.to_parquet(folder / _file(arguments))
    atomic_write_json(folder / "augment.json", json.loads(json.dumps(record, default=str)))
    _card(job, done, repository).save(folder / "README.md")


def _card(job: Job, done: Outcome, repository: str | None) -> Any:
    from hf_fairness.attributes import load_attribute
    from hf_fairness.attributes.names import with_names
    from hf_fairness.report.dataset_card import Derivation, dataset_card

    arguments, attribute, names = job.arguments, None, False
    if "attribute" in job.method.options:
        attribute, names = with_names(load_attribute(job.options["attribute"]), job.names)
    read = {name: value for name in ("dataset_config", "max_rows") if (value := getattr(arguments, name)) is not None}
    stated = read | {k: _public(value) for k, value in _stated(job).items() if k not in ("attribute", "names")}
    usage = {name: value for name, value in job.facts.get("usage", {}).items() if value is not None}
    name = (repository or Path(arguments.output_dir).resolve().name).rpartition("/")[2]
    return dataset_card(
        Derivation(
            name=name,
            method=arguments.method,
            summary=job.method.summary,
            source=_public(arguments.dataset),
            split=_split(arguments),
            columns=job.columns,
            options=stated,
            counts={**done.counts, **({"requests to the model": usage} if usage else {})},
            n_rows=len(done.rows),
            attribute=attribute,
            names=names,
            reference=job.method.source(),
            example=done.example if arguments.card_examples else {},
            limits=(*job.method.limits, *_on_rejected(job)),
            licence=arguments.license,
            versions=package_versions(_PACKAGES),
            repo_id=repository or "",
        )
    )


def _stated(job: Job) -> dict[str, Any]:
    """The options as they may be written down: of an address only the host, since the rest may hold a key."""
    stated = dict(job.options)
    if "base_url" in stated:
        stated["server"] = re.sub(r"^\w+://(?:[^/@]*@)?([^/?#]*).*$", r"\1", stated.pop("base_url"))
    return stated


def _public(value: Any) -> Any:
    """A value for the card: of what lies on this machine the name only."""
    return Path(value).name if isinstance(value, str) and value and Path(value).exists() else value


def _on_rejected(job: Job) -> list[str]:
    """What the card must say of rewrites that were judged bad."""
    if not job.options.get("quality", True):
        return ["Nothing judged the swaps: broken ones are among them."]
    if "keep_rejected" in job.options and not job.options["keep_rejected"]:
        place = "no row was added for it" if job.method.added else "the text itself stands in its place"
        return [
            f"A counterfactual that was judged bad was not used: {place}. The column rejected_reason says why, on the "
            "row of the text, and missing where there is no text; in all other rows it is empty."
        ]
    if "keep_rejected" not in job.options and job.method.run is not asked:
        return []
    return [
        "Rewrites that were judged bad are among the rows. This leaves them out: "
        "dataset.filter(lambda row: row['rejected_reason'] in ('', 'missing'))"
    ]


def _push(folder: Path, arguments: AugmentArguments, repository: str) -> Published:
    """Publish data and card; the record stays, as it holds local paths."""
    from hf_fairness.publishing import CARD, folder_files, publish

    return publish(
        {
            path: file
            for path, file in folder_files(folder).items()
            if path.startswith("data/") or path in (CARD, DIRECTION)
        },
        repository,
        repo_type="dataset",
        token=arguments.hub_token,
        private=arguments.hub_private_repo,
        message=f"Add data made with hf-fairness augment --method {arguments.method}",
    )


#: Most different reasons that a card lists.
_REASONS = 10
#: Longest text of an example.
_EXAMPLE = 400


class Outcome(NamedTuple):
    """What is left of a run.

    Attributes:
        counts: what was counted, in the order to show.
        rows: the rows to write.
        example: one row before and after; empty where no row was rewritten.
    """

    counts: dict[str, Any]
    rows: Dataset
    example: dict[str, str]


def outcome(job: Job, result: Dataset) -> Outcome:
    """Count what a method did, and choose an example.

    Args:
        job: the method and the data set before.
        result: the data set after.
    """
    rewritten = _rewritten(job, result)
    added = rewritten if job.method.added else [False] * len(result)
    n_added = sum(added) if job.method.added else max(0, len(result) - len(job.rows))
    counts: dict[str, Any] = {"rows in": len(job.rows), "rows without a text": sum(_lacking(job.rows, job.columns))}
    reasons = [""] * len(result)
    if "rejected_reason" in result.column_names:
        reasons = list(result["rejected_reason"])
        judged = [new or reason not in ("", MISSING) for new, reason in zip(rewritten, reasons, strict=True)]
        if job.method.marked:  # a model was asked for every text
            judged = [reason != MISSING for reason in reasons]
        counts |= _rejections([reason for reason in reasons if reason != MISSING], sum(judged))
    if job.method.suffix or job.method.marked:
        counts["rows changed"] = sum(rewritten)
    counts["rows added"] = n_added
    counts["rows left out by the method"] = len(job.rows) + n_added - len(result)
    counts["rows out"] = len(result)
    if "attribute" in job.method.options:
        counts |= {f"texts in {column}": _terms(job, column) for column in job.columns}
    good = (place for place, reason in enumerate(reasons) if rewritten[place] and not reason)
    place = next(good, None)
    return Outcome(counts, result, {} if place is None else _example(job, result, place, added))


def _lacking(rows: Dataset, columns: Sequence[str]) -> list[bool]:
    """Which rows lack a text."""
    if not columns:
        return []
    return [any(map(is_missing, texts)) for texts in zip(*(rows[name] for name in columns), strict=True)]


def _rewritten(job: Job, result: Dataset) -> list[bool]:
    """Which rows of the result have a new text."""
    if job.method.suffix:
        pairs = [(list(result[name]), list(result[f"{name}{job.method.suffix}"])) for name in job.columns]
        lacking = _lacking(result, job.columns)
        return [not gone and any(old[i] != new[i] for old, new in pairs) for i, gone in enumerate(lacking)]
    marked = f"{job.options.get('prefix', '')}{job.method.marked}" if job.method.marked else job.method.added
    return [False] * len(result) if marked is None else list(map(bool, result[marked]))


def _rejections(reasons: list[str], judged: int) -> dict[str, Any]:
    """Number, share of the rows judged, and reasons, the commonest first; a reason is named up to its colon."""
    kinds = Counter(re.split(r":|\(", reason)[0].strip() for reason in reasons if reason)
    rejected = sum(kinds.values())
    found: dict[str, Any] = {"rows judged": judged, "rejected": rejected}
    if judged:
        found["rejected share of the judged"] = rejected / judged
    return found | ({"rejected because": dict(kinds.most_common(_REASONS))} if kinds else {})


#: What is counted of the terms of a column, and its key in a summary.
_TERMS = {
    "with terms": "with_terms",
    "of several groups": "mixed",
    "without terms": "without_terms",
    "empty": "empty",
    "missing": "missing",
    "in another language": "other_language",
    "terms": "terms",
}


def _terms(job: Job, column: str) -> dict[str, Any]:
    from hf_fairness.attributes import load_attribute
    from hf_fairness.attributes.names import with_names
    from hf_fairness.augment import summarize

    attribute, names = with_names(load_attribute(job.options["attribute"]), job.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # it says what these counts say
        found = summarize(job.rows[column], attribute=attribute, names=names)
    return {words: found[key] for words, key in _TERMS.items()}


def _example(job: Job, rows: Dataset, place: int, added: list[bool]) -> dict[str, str]:
    """A row before and after."""
    row = rows[place]
    if job.method.marked:
        versions = [name for name in columns_of_texts(rows) if name not in job.rows.column_names]
        named = [name for name in versions if not name.endswith(("edits", "rejected_reason", GROUPS_COLUMN))]
        return {name: _short(row[name]) for name in (*job.columns, *named)}
    after = {name: row[f"{name}{job.method.suffix or ''}"] for name in job.columns}
    if "source_row" in row:
        row = job.rows[row["source_row"]]
    elif job.method.added:  # it stands behind the row that it was made of
        row = rows[next(i for i in range(place, -1, -1) if not added[i])]
    return {
        **{f"{name} before": _short(row[name]) for name in job.columns},
        **{f"{name} after": _short(after[name]) for name in job.columns},
    }


def _short(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]} ..."
