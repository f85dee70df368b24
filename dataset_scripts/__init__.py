"""Builders of the data sets that the papers use: raw source to parquet and card.

One module per data set, imported only when it is asked for:

    from hf_fairness.dataset_scripts import load
    rows = load("winomt", data_dir="raw/winomt", split="test")

`hf-fairness build-dataset NAME` writes the same rows as parquet with a card, and pushes them.
"""

from __future__ import annotations

import importlib
import os
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hf_fairness.utils import did_you_mean

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

    from hf_fairness.dataset_scripts._base import RawDataset

__all__ = ["available", "builder_class", "load"]


def available() -> tuple[str, ...]:
    """Names of the data sets that can be built.

    Example:
        >>> "winomt" in available()
        True
    """
    names = (path.name.removesuffix(".py") for path in files(__name__).iterdir() if path.name.endswith(".py"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def builder_class(name: str) -> type[RawDataset]:
    """The builder of a data set, a ``datasets.GeneratorBasedBuilder``; ``.about`` describes the data set.

    Args:
        name: one of ``available()``.

    Raises:
        ValueError: an unknown name.

    Example:
        >>> builder_class("winomt").about.licence
        'mit'
    """
    if name not in available():
        raise ValueError(
            f"Unknown data set {name!r}.{did_you_mean(name, available())} Known: {', '.join(available())}."
        )
    module = importlib.import_module(f"{__name__}.{name}")
    from hf_fairness.dataset_scripts._base import RawDataset

    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, RawDataset) and value.__module__ == module.__name__
    )


def load(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    config: str | None = None,
    split: str | None = None,
    streaming: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Dataset | DatasetDict | IterableDataset | IterableDatasetDict:
    """Build a data set, or take it from the cache when its raw files have not changed.

    Args:
        name: one of ``available()``.
        data_dir: folder with the raw files as their authors publish them, or the file where there is one only; None:
            they are downloaded from their authors and compared with their checksums.
        config: name of the configuration; None: the first, see ``builder_class(name).about.configs``.
        split: name of the split, as the source calls it; None: all that there are.
        streaming: read the raw files row by row, without building anything.
        cache_dir: folder of the cache; None: that of `datasets`.

    Returns:
        Rows of a split, or a dictionary of splits, with typed columns.

    Raises:
        ValueError: an unknown data set or configuration; a damaged raw file (the message names file and line).
        OSError: raw files are not there, or cannot be fetched.

    Example:
        >>> [row["name"] for row in load("seat", config="6", split="test", streaming=True)]
        ['6']
    """
    options: dict[str, Any] = {} if cache_dir is None else {"cache_dir": str(cache_dir)}
    builder = builder_class(name)(config_name=config, data_dir=data_dir, **options)
    if streaming:
        return builder.as_streaming_dataset(split)
    builder.download_and_prepare()
    return builder.as_dataset(split)
