"""The base of all builders: a builder file declares its data set and says how a raw row becomes a row."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import datasets
from datasets.exceptions import DatasetGenerationError

import hf_fairness
from hf_fairness.dataset_scripts._description import Column, Config, Description, Raw, github
from hf_fairness.dataset_scripts._files import Files, checksums, content_of, fetch, find_files
from hf_fairness.dataset_scripts._raw import Record, damage

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["Column", "Config", "Description", "Raw", "RawDataset", "Record", "Rows", "github"]

#: Raw rows, for messages, and the rows made of them.
Rows = Iterator[tuple[Record, dict[str, Any]]]


@dataclass
class RawConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """A configuration and what its raw files hold.

    Attributes:
        raw: digest of the raw files and of the versions of builder and package; part of the key of the cache.
    """

    raw: str = ""


class RawDataset(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A data set that is built from raw files.

    A subclass sets ``about`` and writes ``rows``. Everything that comes out of ``rows`` is checked: the columns of the
    description, all there, no None and no empty list; class labels by name; an id that is unique in its split (where
    ``rows`` gives none, the split and the number of the row).

    Args:
        config_name: a key of ``about.configs``; None: the first.
        data_dir: folder with the raw files (or the one raw file); None: they are downloaded.
        **options: of ``datasets.DatasetBuilder``, such as ``cache_dir``.

    Raises:
        ValueError: an unknown configuration.
        MissingFilesError: ``data_dir`` holds no split of it.
    """

    about: ClassVar[Description]
    BUILDER_CONFIG_CLASS = RawConfig

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        version = datasets.Version(cls.about.version)
        cls.VERSION = version
        cls.DEFAULT_CONFIG_NAME = cls.about.default
        cls.BUILDER_CONFIGS = [
            RawConfig(name=name, version=version, description=config.about)
            for name, config in cls.about.configs.items()
        ]

    def __init__(
        self, *, config_name: str | None = None, data_dir: str | os.PathLike[str] | None = None, **options: Any
    ) -> None:
        name = config_name or self.about.default
        if name not in self.about.configs:
            known = ", ".join(self.about.configs)
            raise ValueError(f"{self.about.title} has no configuration {name!r}. Known: {known}.")
        self.files: Files = {}
        self.sums: dict[str, dict[str, Any]] = {}
        if data_dir is not None and self.about.configs[name].raws():
            self.files = find_files(self.about, name, data_dir)
            self.sums = checksums(self.files)
            options["data_dir"] = str(data_dir)
        key = content_of(self.sums, f"{self.about.version}, hf-fairness {hf_fairness.__version__}")
        super().__init__(config_name=name, raw=key, **options)

    @abc.abstractmethod
    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """The rows of a split.

        Args:
            split: its name.
            files: its raw files, in the order of the description, without optional ones that are not there.

        Yields:
            The raw row, and the columns of the row as Python values, class labels by name.
        """

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns of this configuration."""
        return self.about.columns_of(self.config.name)

    def download_and_prepare(self, *args: Any, **options: Any) -> None:
        """As in `datasets`, but damage of a raw file is raised as it is, not wrapped.

        Raises:
            RawDataError: a raw file is not as expected; the message names file, place and expectation.
        """
        try:
            super().download_and_prepare(*args, **options)
        except DatasetGenerationError as error:
            if isinstance(error.__cause__, ValueError):  # RawDataError, or what a reader of hf_fairness.measure says
                raise error.__cause__ from None
            raise

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=self.about.summary,
            citation=self.about.citation,
            homepage=self.about.homepage,
            license=self.about.licence,
            features=datasets.Features({name: column.feature() for name, column in self.columns.items()}),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        splits = self.about.configs[self.config.name].splits
        if not self.files and any(splits.values()):
            self.files = self._fetch(dl_manager)
            self.sums = checksums(self.files)
        self.info.download_checksums = self.sums  # kept with the rows in the cache
        files = self.files or dict.fromkeys(splits, ())
        shared = Counter(files.values())
        # Where a column of one file says which split a row belongs to, the file may hold some of the splits only.
        there = {
            split: paths
            for split, paths in files.items()
            if not paths or shared[paths] == 1 or next(self.rows(split, paths), None) is not None
        }
        if not there:
            self._no_rows(next(iter(files)), next(iter(files.values())))
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"split": split, "files": paths})
            for split, paths in there.items()
        ]

    def _fetch(self, manager: Any) -> Files:
        folder = self._cache_downloaded_dir
        if not isinstance(manager, datasets.DownloadManager):  # a stream has no checksum: fetch the files whole
            manager = datasets.DownloadManager(self.name, download_config=datasets.DownloadConfig(cache_dir=folder))
        return fetch(self.about, self.config.name, manager, folder)

    def _generate_examples(self, split: str, files: Sequence[Path]) -> Iterator[tuple[int, dict[str, Any]]]:
        check = Check(self.columns, self.about.id_column)
        number = -1
        for number, (record, values) in enumerate(self.rows(split, files)):
            row = {self.about.id_column: f"{split}-{number}", **values}
            check(record, row)
            yield number, row
        if number < 0:
            self._no_rows(split, files)

    def _no_rows(self, split: str, files: Sequence[Path]) -> None:
        raise damage(files[0], "line 1", f"rows of the split {split!r}", "it has none")


class Check:
    """Raises at the first row that is not what its columns promise.

    Args:
        columns: the columns.
        key: the column that is unique.
    """

    def __init__(self, columns: Mapping[str, Column], key: str) -> None:
        self.columns = columns
        self.labels = {name: frozenset(column.names) for name, column in columns.items() if column.names}
        self.key = key
        self.seen: dict[str, str] = {}

    def __call__(self, record: Record, row: Mapping[str, Any]) -> None:
        """Check one row."""
        for name in self.columns:
            if row.get(name) is None or row[name] == []:
                raise record.error(f"something in {name!r}", row.get(name))
        for name, known in self.labels.items():
            # -1 is what `datasets` means by a row without label.
            if row[name] not in known and row[name] != -1:
                raise record.error(f"{name!r} to be one of {', '.join(self.columns[name].names)}", row[name])
        key = row[self.key]
        first = self.seen.setdefault(key, record.place)
        if first is not record.place:
            raise record.error(f"every {self.key} once", f"it has {key!r} a second time, first in {first}")
