"""The card of a built data set: everything that its description says, and what it was built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import hf_fairness
from hf_fairness.dataset_scripts._description import Column, Description
from hf_fairness.report.dataset_card import size_category
from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard

RESTRICTED = (
    "These rows may not be passed on. Whoever pushes them to the Hub states to have the right to; keep the repository "
    "private unless the licence allows more."
)
_USE = """from datasets import load_dataset

rows = load_dataset("{place}", "{config}")"""


def place_of(name: str) -> str:
    """What stands in a card for the repository of a data set until it is pushed."""
    return f"ORGANISATION/{name}"


@dataclass(frozen=True)
class BuiltConfig:
    """A configuration as it was built.

    Attributes:
        rows: number of rows of each split.
        files: parquet files of each split, below the folder of the data set.
        raws: raw file to SHA-256.
        content: digest of the parquet files.
    """

    rows: Mapping[str, int]
    files: Mapping[str, Sequence[str]]
    raws: Mapping[str, str]
    content: str


def render_card(name: str, about: Description, built: Mapping[str, BuiltConfig]) -> DatasetCard:
    """Write the card.

    The front matter lists every file, so that ``load_dataset(repository, configuration)`` finds splits under their
    own names, and a digest of them in a configuration's description: `datasets` caches what it reads from a folder by
    the front matter, and would return the rows of an earlier build from its cache without it.

    Args:
        name: of the builder.
        about: the data set.
        built: its configurations, at least one.

    Returns:
        A ``huggingface_hub.DatasetCard``.
    """
    from huggingface_hub import DatasetCard, DatasetCardData

    default = about.default if about.default in built else next(iter(built))
    data = DatasetCardData(
        pretty_name=about.title,
        language=list(about.languages),
        license=about.licence,
        task_categories=list(about.tasks) or None,
        size_categories=[size_category(max(sum(config.rows.values()) for config in built.values()))],
        tags=["hf-fairness"],
        configs=[
            {
                "config_name": config,
                **({"default": True} if config == default else {}),
                "description": f"{about.configs[config].about} (files {made.content})",
                "data_files": [{"split": split, "path": list(paths)} for split, paths in made.files.items()],
            }
            for config, made in built.items()
        ],
    )
    return DatasetCard(f"---\n{data.to_yaml()}\n---\n\n{_body(name, about, built)}")


def _body(name: str, about: Description, built: Mapping[str, BuiltConfig]) -> str:
    licence = [f"`{about.licence}`.", *([escape_markdown(about.licence_note)] if about.licence_note else [])]
    counts = [(config, split, n) for config, made in built.items() for split, n in made.rows.items()]
    parts = [
        f"# {escape_markdown(about.title)}",
        escape_markdown(about.summary),
        f"Built by `hf-fairness build-dataset {name}`, hf-fairness {hf_fairness.__version__}, builder {about.version}.",
        *([f"**Restricted.** {RESTRICTED}"] if about.restricted else []),
        "## Use",
        _code("python", _USE.format(place=place_of(name), config=next(iter(built)))),
        "## Configurations and splits",
        markdown_table([("Configuration", "What it is"), *((config, about.configs[config].about) for config in built)]),
        markdown_table([("Configuration", "Split", "Rows"), *counts]),
        "## Columns",
        *_columns(about, built),
        "## Known defects",
        bullets(about.defects),
        "## What it may not be used for",
        bullets(about.prohibited),
        "## Source",
        f"<{about.homepage}> {escape_markdown(about.obtain)}".strip(),
        markdown_table([("Raw file", "Configurations", "SHA-256", "Known beforehand"), *_raws(about, built)]),
        "## Licence",
        " ".join(licence),
        "## Citation",
        _code("bibtex", about.citation),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _columns(about: Description, built: Mapping[str, BuiltConfig]) -> list[str]:
    """One table per set of columns, under the names of the configurations that have it."""
    shapes: dict[str, list[str]] = {}
    for config in built:
        columns = [(key, _type(column), column.about) for key, column in about.columns_of(config).items()]
        shapes.setdefault(markdown_table([("Column", "Type", "What it holds"), *columns]), []).append(config)
    parts = []
    for text, configs in shapes.items():
        if len(shapes) > 1:
            parts.append(f"Of {', '.join(f'`{config}`' for config in configs)}:")
        parts.append(text)
    return parts


def _type(column: Column) -> str:
    if column.names:
        return "class: " + ", ".join(f"{place} {name}" for place, name in enumerate(column.names))
    return column.kind if isinstance(column.kind, str) else "list or struct"


def _raws(about: Description, built: Mapping[str, BuiltConfig]) -> list[tuple[Any, ...]]:
    pinned = {raw.sha256 for config in built for raw in about.configs[config].raws() if raw.sha256}
    found: dict[tuple[str, str], list[str]] = {}
    for config, made in built.items():
        for item in made.raws.items():
            found.setdefault(item, []).append(config)
    return [
        (name, ", ".join(configs), digest, "yes" if digest in pinned else "no")
        for (name, digest), configs in found.items()
    ]
