"""Reading raw files strictly: whatever is wrong with one, the error names the file, the place and what was expected."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
#: Longest value that a message shows.
_SHOWN = 80


class RawDataError(ValueError):
    """A raw file is not what its data set needs; the message names file and place."""


def damage(file: Path, place: str, expected: str, got: object) -> RawDataError:
    """The error for one place of a file.

    Args:
        file: the file.
        place: where in it, for example "line 3".
        expected: what should stand there.
        got: what stands there; long values are cut.
    """
    shown = got if isinstance(got, str) and got.startswith("it ") else repr(got)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    return RawDataError(f"{file}, {place}: expected {expected}; got {shown}.")


class Record(dict[str, Any]):
    """One raw row: column -> value, and where it stands.

    Attributes:
        file: the file.
        place: where in it, for example "line 3".
    """

    def __init__(self, values: Mapping[str, Any], file: Path, place: str) -> None:
        super().__init__(values)
        self.file = file
        self.place = place

    def error(self, expected: str, got: object) -> RawDataError:
        """An error that names this place."""
        return damage(self.file, self.place, expected, got)

    def text(self, column: str) -> str:
        """A text that is not blank, without space around it."""
        value = self[column]
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"a text in {column!r}", value)
        return value.strip()

    def pick(self, column: str, names: Mapping[str, str] | Sequence[str]) -> str:
        """One of a few labels, or the name that a raw label stands for."""
        value = self[column]
        known = names if isinstance(names, Mapping) else {name: name for name in names}
        if not isinstance(value, str) or value not in known:
            raise self.error(f"{column!r} to be one of {', '.join(known)}", value)
        return known[value]

    def number(self, column: str, low: float = float("-inf"), high: float = float("inf")) -> float:
        """A number within bounds; NaN is none."""
        value = self[column]
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise self.error(f"a number in {column!r}", value) from None
        if not low <= found <= high:
            raise self.error(f"{column!r} from {low:g} to {high:g}", value)
        return found

    def whole(self, column: str) -> int:
        """A whole number, at least 0."""
        found = self.number(column, 0)
        if found != int(found):
            raise self.error(f"a whole number in {column!r}", self[column])
        return int(found)


def text_lines(file: Path) -> Generator[str, None, None]:
    """Lines of a UTF-8 file, with their ends; a name that ends in .gz is decompressed, a byte order mark left out.

    Raises:
        RawDataError: bytes that are not UTF-8, or a compressed file that is cut off.
    """
    number = 0
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                text = line.decode("utf-8")
                yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        got = f"it has the byte 0x{error.object[error.start]:02x} at place {error.start + 1}"
        raise damage(file, f"line {number}", "UTF-8 text", got) from None
    except (EOFError, gzip.BadGzipFile) as error:
        raise damage(file, f"line {number + 1}", "a whole gzip file", str(error)) from None


def table(
    file: Path,
    columns: Sequence[str],
    *,
    delimiter: str = ",",
    quoted: bool = True,
    header: bool = True,
) -> Iterator[Record]:
    """Rows of a CSV or TSV file.

    Args:
        file: the file.
        columns: columns that must be there; without header those that there are, in order.
        delimiter: between columns.
        quoted: whether quotation marks enclose values; else they are text.
        header: whether the first line names the columns.

    Yields:
        Rows with all columns of the file, as texts.

    Raises:
        RawDataError: a column is missing, another delimiter, a row with too many or too few values, no UTF-8.
    """
    options: dict[str, Any] = {"quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, "strict": True}
    names, start = (None if header else list(columns)), 1
    with contextlib.closing(text_lines(file)) as lines:  # closed by an error too, whatever holds its traceback
        reader = csv.reader(lines, delimiter=delimiter, **options)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                expected = f"values separated by {DELIMITERS[delimiter]}, every quotation mark closed"
                raise damage(file, f"lines {start} to {max(reader.line_num, start)}", expected, str(error)) from None
            if names is None:
                names = row
                _check_header(file, row, columns, delimiter)
            elif row:
                if len(row) != len(names):
                    expected = f"{len(names)} values ({', '.join(names)[:_SHOWN]}) separated by {DELIMITERS[delimiter]}"
                    raise damage(file, f"line {start}", expected, f"it has {len(row)}: {row!r}")
                yield Record(dict(zip(names, row, strict=True)), file, f"line {start}")
            start = reader.line_num + 1
    if names is None:
        raise damage(file, "line 1", f"a header with {', '.join(columns)}", "it is empty")


def _check_header(file: Path, found: Sequence[str], columns: Sequence[str], delimiter: str) -> None:
    missing = [name for name in columns if name not in found]
    if not missing:
        return
    line = delimiter.join(found)
    expected = f"a header with {', '.join(columns)}, separated by {DELIMITERS[delimiter]}"
    for other, name in DELIMITERS.items():
        if other != delimiter and set(columns) <= {part.strip('"') for part in line.split(other)}:
            raise damage(file, "line 1", expected, f"it is separated by {name}")
    raise damage(file, "line 1", expected, f"it has no {missing[0]!r}, it has {', '.join(found)}")


def json_lines(file: Path, columns: Sequence[str]) -> Iterator[Record]:
    """Objects of a file with one JSON object per line; blank lines do not count.

    Args:
        file: the file.
        columns: keys that every object must have.

    Raises:
        RawDataError: a line that is no JSON object, or lacks a key.
    """
    for number, line in enumerate(text_lines(file), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            expected = f"one JSON object with {', '.join(columns)} (is the file cut off?)"
            raise damage(file, f"line {number}", expected, f"it {error.msg} at column {error.colno}") from None
        yield _record(value, columns, file, f"line {number}")


def json_document(file: Path) -> Any:
    """The value of a JSON file.

    Raises:
        RawDataError: no JSON, or not UTF-8.
    """
    try:
        return json.loads("".join(text_lines(file)))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise damage(file, place, "JSON (is the file cut off?)", f"it {error.msg}") from None


def json_items(items: Any, columns: Sequence[str], file: Path) -> Iterator[Record]:
    """Objects of a list in a JSON file.

    Args:
        items: the list.
        columns: keys that every object must have.
        file: where it stands, for messages.

    Raises:
        RawDataError: no list, an item that is no object, or lacks a key.
    """
    if not isinstance(items, list):
        raise damage(file, "item 1", f"a list of objects with {', '.join(columns)}", items)
    for number, item in enumerate(items, 1):
        yield _record(item, columns, file, f"item {number}")


def _record(value: Any, columns: Sequence[str], file: Path, place: str) -> Record:
    if not isinstance(value, dict):
        raise damage(file, place, f"an object with {', '.join(columns)}", value)
    missing = [name for name in columns if name not in value]
    if missing:
        got = f"it has no {missing[0]!r}, it has {', '.join(map(str, value))}"
        raise damage(file, place, f"an object with {', '.join(columns)}", got)
    return Record(value, file, place)


def same_length(tables: Sequence[Sequence[Record]], files: Sequence[Path]) -> None:
    """Raise unless files that belong together, row by row, have equally many rows.

    Raises:
        RawDataError: one is shorter than another; the message names the shortest.
    """
    counts = {file: len(rows) for file, rows in zip(files, tables, strict=True)}
    short, long = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    if counts[short] < counts[long]:
        expected = f"as many rows as {long.name}, {counts[long]}"
        raise damage(short, f"line {counts[short] + 1}", expected, f"it has {counts[short]}")
