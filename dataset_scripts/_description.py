"""What a data set is, declared: sources, licence, columns, splits, known defects, what one may not do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any


@dataclass(frozen=True)
class Raw:
    """A file as its authors publish it.

    Attributes:
        path: its place below the folder of the raw data; its name alone is found too, where no other file has it.
        url: where it is published; None: it is not fetched, see ``Description.obtain``.
        sha256: of the copy that this package was checked with; None: no such copy was at hand. What is downloaded
            without one is written down and must stay the same.
        member: path inside the archive at ``url``; None: the address is that of the file itself.
        also: other names it goes by, patterns such as ``news-*.tsv`` below the same folder.
        optional: whether its split can be built without it.
    """

    path: str
    url: str | None = None
    sha256: str | None = None
    member: str | None = None
    also: tuple[str, ...] = ()
    optional: bool = False

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name

    def fits(self, name: str) -> bool:
        """Whether a file of that name is this one."""
        return name == self.name or any(fnmatchcase(name, PurePosixPath(pattern).name) for pattern in self.also)


@dataclass(frozen=True)
class Column:
    """A column of a built data set.

    Attributes:
        about: what it holds, with its unit or range.
        kind: a type such as "string" or "float64"; the names of a class label; or a feature of `datasets`.
    """

    about: str
    kind: Any = "string"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes; empty where it is no class label."""
        return tuple(self.kind) if isinstance(self.kind, tuple) else ()

    def feature(self) -> Any:
        """The feature of `datasets`."""
        from datasets import ClassLabel, Value

        if self.names:
            return ClassLabel(names=list(self.names))
        return Value(self.kind) if isinstance(self.kind, str) else self.kind


@dataclass(frozen=True)
class Config:
    """One configuration: a language, a test, a task or a shape of the rows.

    Attributes:
        about: what it is, in one line.
        splits: name of each split, as the source calls it, to its raw files.
        columns: its columns, where they are not those of the data set.
    """

    about: str
    splits: Mapping[str, tuple[Raw, ...]]
    columns: Mapping[str, Column] = field(default_factory=dict)

    def raws(self) -> list[Raw]:
        """All raw files, each once."""
        return list(dict.fromkeys(raw for raws in self.splits.values() for raw in raws))


@dataclass(frozen=True)
class Description:
    """All that is said of a data set; a builder adds how a raw row becomes a row.

    Attributes:
        title: its name.
        summary: what it is, in one sentence.
        homepage: address of the source.
        licence: as the Hub spells it; "other" with ``licence_note``.
        citation: BibTeX.
        configs: the first is the default.
        columns: name to column; ``id`` (or ``id_column``) comes first.
        licence_note: what the licence means here.
        languages: codes of the languages.
        tasks: task categories of the Hub.
        defects: what is known to be wrong with it.
        prohibited: what one may not do with it.
        obtain: how to get the raw files where they are not fetched.
        restricted: whether the rows may not be redistributed without a right of one's own.
        version: to be raised whenever the same raw files give other rows.
        id_column: the column that is unique in a split.
    """

    title: str
    summary: str
    homepage: str
    licence: str
    citation: str
    configs: Mapping[str, Config]
    columns: Mapping[str, Column] = field(default_factory=dict)
    licence_note: str = ""
    languages: tuple[str, ...] = ("en",)
    tasks: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    prohibited: tuple[str, ...] = ()
    obtain: str = ""
    restricted: bool = False
    version: str = "1.0.0"
    id_column: str = "id"

    @property
    def default(self) -> str:
        """Name of the default configuration."""
        return next(iter(self.configs))

    def columns_of(self, config: str) -> Mapping[str, Column]:
        """The columns of a configuration, the id first."""
        own = self.configs[config].columns or self.columns
        return own if self.id_column in own else {self.id_column: Column("unique within its split"), **own}


def github(repository: str, path: str, branch: str = "HEAD") -> str:
    """Address of a file in a repository; HEAD is its default branch."""
    from urllib.parse import quote

    return f"https://raw.githubusercontent.com/{repository}/{branch}/{quote(path)}"
