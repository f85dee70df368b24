"""`hf-fairness augment`: rewrite or refine a data set: counterfactuals, variants per group, balance, bias score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from hf_fairness.cli.augment_counts import fill, told_counts
from hf_fairness.cli.augment_methods import (
    COMMON,
    DIRECTION,
    LIMITS,
    METHODS,
    OPTIONS,
    RAY,
    TABLE,
    AugmentArguments,
    Job,
    chosen_options,
)
from hf_fairness.cli.hub import dataset_repository
from hf_fairness.cli.parsing import parse
from hf_fairness.cli.shards import SHARDS, Shards
from hf_fairness.cli.unfinished import add_up, as_json
from hf_fairness.publishing import CARD, folder_files, publish
from hf_fairness.results import columns
from hf_fairness.utils import package_versions, world_size

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
    job = Job(arguments, options, dataset_repository(arguments, arguments.output_dir))
    if arguments.num_shards is not None:
        counts = _shard(job)
    elif arguments.engine == RAY:
        from hf_fairness.cli.augment_ray import on_ray

        counts = on_ray(job)
    else:
        with atomic_folder(arguments.output_dir, replace=True, check=partial(check_output, job)) as folder:
            job.open()
            counts = complete(job, folder, fill(folder / data_file(arguments.split), job, folder))
    _show(job, counts)
    return counts


def _shard(job: Job) -> dict[str, Any]:
    """Write one shard, and where no other is missing what belongs to all; returns their counts, or none yet."""
    from hf_fairness.report.dataset_card import data_file

    job.open()
    arguments, number, index = job.arguments, job.arguments.num_shards or 1, job.arguments.shard_index or 0
    output, file = Path(arguments.output_dir), partial(data_file, arguments.split, number=number)
    shards = Shards(output, job.rows, number, file=file, record=RECORD, settings=settings(job, job.columns))
    job.rows = shards.part(index)

    def finish(told: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
        return complete(job, output, add_up([told, {"facts": {"shards": plan}}]))

    write, check = partial(fill, job=job, folder=output), partial(check_output, job)
    counts = shards.run(index, write, finish, check=check, overwrite=arguments.overwrite)
    missing = shards.keys().count(None)
    print(f"Shard {index} of {number} is there: {output / file(index)}" + f"; still missing: {missing}" * bool(missing))
    return counts


def _show(job: Job, counts: Mapping[str, Any]) -> None:
    """Print the counts and where the data lies; push data and card if asked to, once all of them are there."""
    from hf_fairness.report.dataset_card import flat_counts

    output, arguments = Path(job.arguments.output_dir), job.arguments
    if counts:
        print(*columns([("counted", "value"), *flat_counts(counts)], left=(0,)), sep="\n")
        print(f"\n{'data':>10}  {output / 'data'}\n{'card':>10}  {output / CARD}")
    if job.repository is not None and (output / RECORD).exists():
        files = {path: file for path, file in folder_files(output).items() if path != RECORD}  # it holds local paths
        how: dict[str, Any] = {"token": arguments.hub_token, "private": arguments.hub_private_repo}
        message = f"Add data made with hf-fairness augment --method {arguments.method}"
        print(publish(files, job.repository, repo_type="dataset", message=message, **how))


def settings(job: Job, text_column: Sequence[str] | None) -> dict[str, Any]:
    """All that decides about a row, beside the rows; of files and folders that options name their content."""
    from hf_fairness.runs import content_key

    given = {
        name: content_key(Path(value)) if isinstance(value, str) and Path(value).exists() else value
        for name, value in job.options.items()
        if name not in _HOW
    }
    read = {"text_column": text_column, "on_missing": job.arguments.on_missing}
    version = [package_versions(("hf-fairness",)), getattr(job.method.load(), "version", 1)]
    return {"method": job.arguments.method, **read, **given, "version": version}


def check_output(job: Job) -> None:
    """Raise unless the folder may be written: it is new or empty, or holds what this command wrote of other data.

    Raises:
        ValueError: a source lies in it.
        FileExistsError: it holds something else, or what may not be replaced.
    """
    output, named = Path(job.arguments.output_dir), (job.arguments.dataset, *job.options.values())
    sources = [Path(text) for text in named if isinstance(text, str) and text and Path(text).exists()]
    lost = next((each for each in sources if output.resolve() in (each.resolve(), *each.resolve().parents)), None)
    inside = sorted(path.name for path in output.glob("*"))
    foreign = next((name for name in inside if name not in _WRITTEN), None)
    if lost is not None:
        raise ValueError(f"{lost} lies in {output}, which would be replaced. Choose another folder with --output_dir.")
    if foreign is not None:
        raise FileExistsError(f"{output} holds {foreign!r}, which is not of this command. Choose another folder.")
    if inside and not job.arguments.overwrite:
        raise FileExistsError(f"{output} is not empty. Choose another folder, or replace its content with --overwrite.")


def complete(job: Job, folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """Write what belongs to all rows, the record last; returns the counts."""
    from hf_fairness.runs import atomic_write_json, atomic_write_text, discard

    if not told["tally"]["rows out"]:
        discard(folder)
        raise ValueError(f"Method {job.arguments.method} left no row of {job.arguments.dataset}: nothing was written.")
    counts = told_counts(told["tally"])
    without = ("hub_token", "shard_index")
    asked = {name: value for name, value in asdict(job.arguments).items() if value is not None and name not in without}
    record = {"arguments": asked, "options": _stated(job), "counts": counts, **told["facts"]}
    atomic_write_text(folder / CARD, str(_card(job, counts, told)))
    atomic_write_json(folder / RECORD, as_json(record))
    return counts


def _card(job: Job, counts: Mapping[str, Any], told: Mapping[str, Any]) -> Any:
    from hf_fairness.report.dataset_card import Derivation, dataset_card
    from hf_fairness.report.text import shown_name, shown_settings

    arguments, (attribute, names) = job.arguments, job.attribute
    read = {name: getattr(arguments, name) for name in ("dataset_config", "max_rows")}
    usage = {name: value for name, value in told["facts"].get("usage", {}).items() if value is not None}
    return dataset_card(
        Derivation(
            name=(job.repository or Path(arguments.output_dir).resolve().name).rpartition("/")[2],
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
            example=dict(told["example"]) if arguments.card_examples else {},
            limits=[*(LIMITS.get(limit, limit) for limit in job.method.limits), *_on_rejected(job)],
            licence=arguments.license,
            versions=package_versions(_PACKAGES),
            repo_id=job.repository or "",
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
    judged = job.options.get("quality", True)
    kept = job.options.get("keep_rejected", "base_url" in job.method.options)  # a chat model has nothing in their place
    place = "no row was added for it" if job.method.added else "the text itself stands in its place"
    said = {
        "Nothing judged the swaps: broken ones are among them.": not judged,
        f"A counterfactual that was judged bad was not used: {place}. The column rejected_reason says why, on the row "
        "of the text, and missing where there is no text; in all other rows it is empty.": (
            judged and not kept and "keep_rejected" in job.options
        ),
        "Rewrites that were judged bad are among the rows. This leaves them out: "
        "dataset.filter(lambda row: row['rejected_reason'] in ('', 'missing'))": judged and kept,
    }
    return [text for text, holds in said.items() if holds]
