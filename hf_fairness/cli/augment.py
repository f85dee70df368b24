"""`hf-fairness augment`: rewrite or refine a data set: counterfactuals, variants per group, balance, bias score."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.cli.augment_methods import (
    COMMON,
    DIRECTION,
    METHODS,
    OPTIONS,
    RAY,
    TABLE,
    AugmentArguments,
    Job,
    asked,
    chosen_options,
)
from hf_fairness.cli.hub import dataset_repository
from hf_fairness.cli.parsing import parse
from hf_fairness.cli.shards import SHARDS, Shards
from hf_fairness.cli.unfinished import add_up
from hf_fairness.maps import MISSING
from hf_fairness.publishing import CARD, folder_files, publish, write_splits
from hf_fairness.results import columns
from hf_fairness.sources import columns_of_texts, open_rows, text_column
from hf_fairness.utils import is_missing, package_versions, warned_elsewhere, world_size

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
  a corpus that is too large for the model: a table of the words of 10,000 texts, then others by that table alone:
    hf-fairness augment part.parquet --method score --model_name_or_path MODEL --distill 10000 --output_dir part
    hf-fairness augment corpus.parquet --method score --distilled part/bias_table.npz --output_dir scored
  the same on many machines that see one folder, as a Slurm array; what failed is run again with the same line:
    sbatch --array 0-63 --wrap 'hf-fairness augment corpus --method cda --output_dir fair \\
        --num_shards 64 --shard_index $SLURM_ARRAY_TASK_ID'
  the same on the workers of a Ray cluster, which share the work by themselves; what was stopped goes on with the same
  line:
    hf-fairness augment corpus --method cda --output_dir fair --engine ray --ray_address auto
"""

_PACKAGES = ("hf-fairness", "datasets", "torch", "transformers", "nltk", "spacy")
RECORD = "augment.json"
#: What this command writes; only a folder that holds nothing else is ever replaced.
_WRITTEN = frozenset({"data", CARD, RECORD, DIRECTION, TABLE, SHARDS})
#: Options on which no row depends.
_HOW = {
    *("batch_size", "device", "cache_dir", "base_url", "token_env"),
    *("concurrency", "requests_per_minute", "timeout", "retries", "backoff", "max_wait"),
}


def main(argv: Sequence[str]) -> dict[str, Any]:
    """Open the data, carry out the method, write, print the counts, push if asked to; returns the counts."""
    from hf_fairness.report.dataset_card import data_file
    from hf_fairness.runs import atomic_folder

    width = max(map(len, METHODS))
    lines = [f"  {name:<{width}}  {method.summary}" for name, method in METHODS.items()]
    arguments, *groups = parse(
        [AugmentArguments, *OPTIONS],
        argv,
        prog="hf-fairness augment",
        description=DESCRIPTION,
        positional="dataset",
        common=COMMON,
        epilog="\n".join([EXAMPLES, "methods:", *lines]),
    )
    if world_size() > 1:
        raise ValueError(
            "augment takes one process: start it without torchrun, as many jobs with --num_shards N --shard_index I."
        )
    options = chosen_options(arguments, groups)
    repository, output = dataset_repository(arguments, arguments.output_dir), Path(arguments.output_dir)
    check = partial(_check_output, output, arguments, options)
    if arguments.num_shards is not None:
        return _shard(output, _job(arguments, options), repository, check)
    if arguments.engine == RAY:
        from hf_fairness.cli.augment_ray import on_ray

        finish = partial(_complete, repository=repository)
        counts, data = on_ray(arguments, options, partial(_job, arguments, options), finish, check), "data"
    else:
        with atomic_folder(output, replace=True, check=check) as folder:
            job = _job(arguments, options)
            rows = job.method.run(job)
            write_splits(folder, {arguments.split: rows})
            counts, data = _complete(folder, job, outcome(job, rows), repository), data_file(arguments.split)
    _show(counts, output, data, arguments, repository)
    return counts


def _job(
    arguments: AugmentArguments,
    options: Mapping[str, Any],
    rows: Dataset | None = None,
    kind: Callable[..., Job] = Job,
    **more: Any,
) -> Job:
    """The method on the rows that the command names, or on others."""
    if rows is None:
        rows = open_rows(arguments)
        rows = rows.select(range(min(len(rows), arguments.max_rows or len(rows))))
    return kind(METHODS[arguments.method], rows, _columns(rows, arguments, options), options, arguments, **more)


def _show(
    counts: Mapping[str, Any], output: Path, data: str, arguments: AugmentArguments, repository: str | None
) -> None:
    """Print the counts and where the data lies; push if asked to."""
    from hf_fairness.report.dataset_card import flat_counts

    print(*columns([("counted", "value"), *flat_counts(counts)], left=(0,)), sep="\n")
    print(f"\n{'data':>10}  {output / data}\n{'card':>10}  {output / CARD}")
    if repository is not None:
        print(_push(output, arguments, repository))


def _shard(output: Path, job: Job, repository: str | None, check: Callable[[], None]) -> dict[str, Any]:
    """Write one shard, and where no other is missing what belongs to all; returns their counts, or none yet."""
    from hf_fairness.report.dataset_card import data_file

    arguments, number, index = job.arguments, job.arguments.num_shards or 1, job.arguments.shard_index or 0
    file = partial(data_file, arguments.split, number=number)
    wanted = settings(arguments, job.options, job.columns)
    shards = Shards(output, job.rows, number, file=file, record=RECORD, settings=wanted)
    part = replace(job, rows=shards.part(index), facts={})

    def fill(path: Path) -> dict[str, Any]:
        rows = part.method.run(part)
        rows.to_parquet(path)
        _write_files(output, part)
        return add_up([outcome(part, rows), {"facts": part.facts}])

    def finish(told: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
        job.facts["shards"] = plan
        counts = _complete(output, job, told, repository)
        _show(counts, output, file(0).replace("00000", "*", 1), arguments, repository)
        return counts

    counts = shards.run(index, fill, finish, check=check, overwrite=arguments.overwrite)
    missing = len(shards.missing())
    print(f"Shard {index} of {number} is there: {output / file(index)}" + f"; still missing: {missing}" * bool(missing))
    return counts


def settings(
    arguments: AugmentArguments, options: Mapping[str, Any], text_column: Sequence[str] | None
) -> dict[str, Any]:
    """All that decides about a row, beside the rows; of files and folders that options name their content."""
    from hf_fairness.runs import content_key

    given = {
        name: content_key(Path(value)) if isinstance(value, str) and Path(value).exists() else value
        for name, value in options.items()
        if name not in _HOW
    }
    method = METHODS[arguments.method].load()
    read = {"text_column": text_column, "on_missing": arguments.on_missing}
    version = [package_versions(("hf-fairness",)), getattr(method, "version", 1)]
    return {"method": arguments.method, **read, **given, "version": version}


def _columns(rows: Dataset, arguments: AugmentArguments, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The text columns that the method reads."""
    method, wanted = METHODS[arguments.method], arguments.text_column
    if wanted is None and ("group_column" in options or ("score_column" in options and not method.added)):
        return ()  # groups or scores are there already, and no text is changed
    if method.n_columns == 2 and len(wanted or ()) != 2:
        raise ValueError(f"Method {arguments.method} needs two columns: --text_column premise hypothesis.")
    names = tuple(text_column(rows, name, arguments.dataset) for name in wanted or (None,))
    if method.n_columns == 1 and len(names) > 1:
        raise ValueError(f"Method {arguments.method} reads one column; got {', '.join(names)}. Run it once for each.")
    return names


def _check_output(output: Path, arguments: AugmentArguments, options: Mapping[str, Any]) -> None:
    """Raise unless the folder may be written: it is new or empty, or holds what this command wrote of other data."""
    for source in (Path(text) for text in (arguments.dataset, *options.values()) if isinstance(text, str) and text):
        if source.exists() and output.resolve() in (source.resolve(), *source.resolve().parents):
            raise ValueError(
                f"{source} lies in {output}, which would be replaced. Choose another folder with --output_dir."
            )
    inside = sorted(path.name for path in output.glob("*"))
    foreign = next((name for name in inside if name not in _WRITTEN), None)
    if foreign is not None:
        raise FileExistsError(f"{output} holds {foreign!r}, which is not of this command. Choose another folder.")
    if inside and not arguments.overwrite:
        raise FileExistsError(f"{output} is not empty. Choose another folder, or replace its content with --overwrite.")


def _write_files(folder: Path, job: Job) -> None:
    """Write what belongs beside the rows, and is the same whoever writes it."""
    for name, write in job.files.items():
        if not (folder / name).exists():
            write(folder / name)


def _complete(folder: Path, job: Job, told: Mapping[str, Any], repository: str | None) -> dict[str, Any]:
    """Write what belongs to all rows, the record last; returns the counts."""
    from hf_fairness.runs import atomic_write_json, atomic_write_text, discard

    if not told["tally"]["rows out"]:
        discard(folder)
        raise ValueError(f"Method {job.arguments.method} left no row of {job.arguments.dataset}: nothing was written.")
    _write_files(folder, job)
    job.facts = add_up([job.facts, told["facts"]])
    counts = told_counts(told["tally"])
    without = ("hub_token", "shard_index")
    asked = {name: value for name, value in asdict(job.arguments).items() if value is not None and name not in without}
    record = {"arguments": asked, "options": _stated(job), "counts": counts, **job.facts}
    atomic_write_text(folder / CARD, str(_card(job, counts, told["example"], repository)))
    atomic_write_json(folder / RECORD, json.loads(json.dumps(record, default=str)))
    return counts


def _card(job: Job, counts: Mapping[str, Any], example: Mapping[str, str], repository: str | None) -> Any:
    from hf_fairness.report.dataset_card import Derivation, dataset_card
    from hf_fairness.report.text import shown_name, shown_settings

    arguments, (attribute, names) = job.arguments, job.attribute
    read = {name: getattr(arguments, name) for name in ("dataset_config", "max_rows")}
    usage = {name: value for name, value in job.facts.get("usage", {}).items() if value is not None}
    return dataset_card(
        Derivation(
            name=(repository or Path(arguments.output_dir).resolve().name).rpartition("/")[2],
            method=arguments.method,
            summary=job.method.summary,
            source=shown_name(arguments.dataset),
            split=arguments.split,
            columns=job.columns,
            options=shown_settings(read | _stated(job), without=("attribute", "names")),
            counts={**counts, **({"requests to the model": usage} if usage else {})},
            n_rows=counts["rows out"],
            attribute=attribute,
            names=names,
            reference=job.method.source(),
            example=example if arguments.card_examples else {},
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
    return publish(
        {
            path: file
            for path, file in folder_files(folder).items()
            if path.startswith("data/") or path in (CARD, DIRECTION, TABLE)
        },
        repository,
        repo_type="dataset",
        token=arguments.hub_token,
        private=arguments.hub_private_repo,
        message=f"Add data made with hf-fairness augment --method {arguments.method}",
    )


#: Reasons, or phrases that were left alone, of which the commonest are told.
_TOLD = 10
#: Keys of what is counted by reason and by phrase.
_BECAUSE, _LEFT = "rejected because", "left as idioms, things or names"
#: Longest text of an example.
_EXAMPLE = 400


def outcome(job: Job, result: Dataset, first: int = 0) -> dict[str, Any]:
    """Count what a method did, and choose an example.

    Args:
        job: the method and the data set before, or a part of it.
        result: what became of it.
        first: number of the first row before in the whole data set.

    Returns:
        ``tally``: what was counted, in the order to show, in whole numbers that add up over parts of a data set;
        ``example``: one row before and after, empty where no row was rewritten; ``facts``: what the job counts.
    """
    rewritten, n_in, n_out = _rewritten(job, result), len(job.rows), len(result)
    n_added = sum(rewritten) if job.method.added else max(0, n_out - n_in)
    counts: dict[str, Any] = {"rows in": n_in, "rows without a text": sum(_lacking(job.rows, job.columns))}
    judged = "rejected_reason" in result.column_names
    reasons: list[str] = result["rejected_reason"][:] if judged else [""] * n_out
    if judged:
        counts |= _rejections(job, rewritten, reasons)
    if job.method.suffix or job.method.marked:
        counts["rows changed"] = sum(rewritten)
    counts |= {"rows added": n_added, "rows left out by the method": n_in + n_added - n_out, "rows out": n_out}
    if "attribute" in job.options:
        counts |= {f"texts in {column}": _terms(job, column) for column in job.columns}
    place = next((place for place, reason in enumerate(reasons) if rewritten[place] and not reason), None)
    example = {} if place is None else _example(job, result, place, rewritten, first)
    facts = {name: count(job.rows, first) for name, count in job.counts.items()}
    return {"tally": counts, "example": example, "facts": facts}


def _lacking(rows: Dataset, columns: Sequence[str]) -> list[bool]:
    """Which rows lack a text."""
    return [any(map(is_missing, texts)) for texts in zip(*(rows[name][:] for name in columns), strict=True)]


def _rewritten(job: Job, result: Dataset) -> list[bool]:
    """Which rows of the result have a new text."""
    method = job.method
    if method.suffix:
        texts, new = (zip(*(result[name + end][:] for name in job.columns), strict=True) for end in ("", method.suffix))
        lacking = _lacking(result, job.columns)
        return [not gone and old != now for gone, old, now in zip(lacking, texts, new, strict=True)]
    marked = f"{job.options.get('prefix', '')}{method.marked}" if method.marked else method.added
    return [False] * len(result) if marked is None else list(map(bool, result[marked][:]))


def _rejections(job: Job, rewritten: Sequence[bool], reasons: Sequence[str]) -> dict[str, Any]:
    """Number of the rows judged and rejected, and for which reasons; a reason is named up to its colon.

    Judged are the rows with a new text, and those whose new text is not used; by a model all that have a text.
    """
    pairs = zip(rewritten, reasons, strict=True)
    judged = sum(reason != MISSING and bool(job.method.marked or new or reason) for new, reason in pairs)
    kinds = Counter(re.split(r":|\(", reason)[0].strip() for reason in reasons if reason not in ("", MISSING))
    return {"rows judged": judged, "rejected": kinds.total(), _BECAUSE: dict(kinds)}


def told_counts(tally: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of the counts of :func:`outcome`: the rejected share, too; of reasons and phrases the commonest."""
    found: dict[str, Any] = {}
    for name, value in tally.items():
        if name in (_BECAUSE, _LEFT):
            commonest = dict(sorted(value.items(), key=lambda item: (-item[1], item[0]))[:_TOLD])
            if value:
                found[name] = {"all": sum(value.values()), **commonest} if name == _LEFT else commonest
        else:
            found[name] = told_counts(value) if isinstance(value, Mapping) else value
        if name == "rejected" and tally["rows judged"]:
            found["rejected share of the judged"] = value / tally["rows judged"]
    return found


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
    from hf_fairness.augment import summarize

    attribute, names = job.attribute
    with warned_elsewhere():  # it says what these counts say
        found = summarize(job.rows[column], attribute=attribute, names=names)
    return {**{words: found[key] for words, key in _TERMS.items()}, _LEFT: found["kept"]}


def _example(job: Job, rows: Dataset, place: int, rewritten: Sequence[bool], first: int) -> dict[str, str]:
    """A row before and after."""
    before = after = rows[place]
    if job.method.marked:
        new = [name for name in columns_of_texts(rows) if name not in job.rows.column_names]
        versions = [name for name in new if not name.endswith(("edits", "rejected_reason", GROUPS_COLUMN))]
        return {name: _short(after[name]) for name in (*job.columns, *versions)}
    if "source_row" in after and "source_row" not in job.rows.column_names:
        before = job.rows[after["source_row"] - first]
    elif job.method.added:  # it stands behind the row that it was made of
        before = rows[next(i for i in range(place, -1, -1) if not rewritten[i])]
    sides = (("before", before, ""), ("after", after, job.method.suffix or ""))
    return {f"{name} {side}": _short(row[name + end]) for side, row, end in sides for name in job.columns}


def _short(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]} ..."
