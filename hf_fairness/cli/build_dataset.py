"""`hf-fairness build-dataset`: build a data set of the papers from its raw files: parquet and card, on
disk or on the Hub.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hf_fairness.arguments import Command
from hf_fairness.cli.hub import HubDatasetOptions, dataset_repository
from hf_fairness.cli.methods import quiet_unless_watched
from hf_fairness.results import columns

if TYPE_CHECKING:
    from hf_fairness.dataset_scripts._card import BuiltConfig


@dataclass
class BuildArguments(HubDatasetOptions):
    """What `hf-fairness build-dataset` can be told."""

    dataset: str | None = field(default=None, metadata={"help": "Name of the data set; --list shows them."})
    data_dir: str | None = field(
        default=None,
        metadata={
            "help": "Folder with the raw files, named as their authors publish them (or the file, where there is one "
            "only). Default: they are downloaded from their authors and compared with their checksums."
        },
    )
    dataset_config: str | None = field(
        default=None,
        metadata={"help": "Configurations, with commas between. Default: all whose raw files are there."},
    )
    output_dir: str | None = field(
        default=None, metadata={"help": "Folder to write. Default: NAME; with --push_to_hub none is kept."}
    )
    i_have_the_right: bool = field(
        default=False, metadata={"help": "State that you may publish these rows; restricted data are not pushed else."}
    )
    cache_dir: str | None = field(
        default=None, metadata={"help": "Folder of downloads and of rows that were built. Default: that of datasets."}
    )
    show_list: bool = field(
        default=False,
        metadata={"aliases": ["--list"], "help": "List the data sets, their licences and configurations, and stop."},
    )


def run(arguments: BuildArguments) -> dict[str, BuiltConfig]:
    """List the data sets, or build one, print its splits, push it if asked to; returns what was built."""
    from hf_fairness.dataset_scripts._build import build, check_right, push

    if arguments.show_list:
        _print_list()
        return {}
    name = arguments.dataset
    if name is None:
        raise ValueError("Name a data set, for example `hf-fairness build-dataset winomt`; --list shows all.")
    if arguments.push_to_hub:
        check_right(name, arguments.i_have_the_right)
    repository = dataset_repository(arguments, arguments.output_dir or name)
    configs = [config.strip() for config in (arguments.dataset_config or "").split(",")]
    quiet_unless_watched()
    with tempfile.TemporaryDirectory() as temporary:
        keep = arguments.output_dir is not None or repository is None
        output = Path(arguments.output_dir or name) if keep else Path(temporary, name)
        built = build(
            name,
            output,
            data_dir=arguments.data_dir,
            configs=configs if any(configs) else None,
            cache_dir=arguments.cache_dir,
            overwrite=arguments.overwrite,
        )
        counts = [(config, split, str(n)) for config, made in built.items() for split, n in made.rows.items()]
        print(*columns([("configuration", "split", "rows"), *counts], left=(0, 1)), sep="\n")
        if keep:
            print(f"\n{output / 'README.md'}")
        if repository is not None:
            right, private, token = arguments.i_have_the_right, arguments.hub_private_repo, arguments.hub_token
            print(push(name, output, repository, right=right, private=private, token=token))
    return built


def _print_list() -> None:
    from hf_fairness.dataset_scripts import available, builder_class

    lines = [("name", "licence", "raw files", "configurations")]
    for name in available():
        about = builder_class(name).about
        raws = [raw for config in about.configs.values() for raw in config.raws()]
        source = "downloaded" if all(raw.url or raw.optional for raw in raws) else "your own copy"
        source = (source if raws else "none, generated") + (", restricted" if about.restricted else "")
        more = f", ... ({len(about.configs)})" if len(about.configs) > 5 else ""
        lines.append((name, about.licence, source, ", ".join(list(about.configs)[:5]) + more))
    print(*columns(lines, left=range(len(lines[0]))), sep="\n")


COMMAND = Command(
    description="""Build one of the data sets that the papers use: typed columns, stable ids, the splits of the source,
and a card with licence, citation, columns, known defects and what one may not do with it. Writes OUTPUT_DIR/README.md
and OUTPUT_DIR/CONFIGURATION/*.parquet, which datasets.load_dataset(OUTPUT_DIR, CONFIGURATION) opens.""",
    arguments="hf_fairness.cli.build_dataset:BuildArguments",
    config="",
    run=run,
    positional="dataset",
)
