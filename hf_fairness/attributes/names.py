"""Given names from a dated source, paired by popularity, in place of the few that an attribute file lists.

The file of gender lists the 30 pairs that Dolci et al. 2023 print; the paper swapped 2 x 2,500 names. Tables of that
size are not in this package: name one with its source and date, such as a ``yobYYYY.txt`` of the US Social Security
Administration (public domain), with ``load_names(path, source=..., date=..., top=2500)`` or ``--names FILE``.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hf_fairness.attributes.loading import load_attribute
from hf_fairness.attributes.model import Attribute, NamePair

#: What options such as `--names` are given for the names of the attribute's own file, and for none.
BUILT_IN, NO_NAMES = "built-in", "none"
#: Headings that a file may use for the column of the groups, beside the name of the attribute.
_GROUP_HEADINGS = ("group", "sex")
_STATEMENT = re.compile(r"#\s*(source|date)\s*:\s*(.+)", re.IGNORECASE)


@dataclass(frozen=True)
class NameTable:
    """Pairs of equally popular given names, one per group; swapping by it twice gives the name again.

    Attributes:
        attribute: name of the attribute.
        groups: groups of the attribute, in its order.
        pairs: the names by rank; rank 1 is the most popular name of each group.
        source: who counted.
        date: when, or of which year of birth.
        ambiguous: names left out because they occur in more than one group.
        clashing: names left out because they are terms of the attribute (*King*, *Duke*).
        unpaired: names left out because another group has fewer.
    """

    attribute: str
    groups: tuple[str, ...]
    pairs: tuple[NamePair, ...] = field(repr=False)
    source: str
    date: str
    ambiguous: int = 0
    clashing: int = 0
    unpaired: int = 0

    def __len__(self) -> int:
        return len(self.pairs)

    def apply(self, attribute: Attribute) -> Attribute:
        """The attribute with these names in place of its own.

        Raises:
            ValueError: the table was read for other groups.
        """
        if self.groups != attribute.group_names:
            raise ValueError(
                f"The names are of groups {', '.join(self.groups)}; attribute {attribute.name!r} has "
                f"{', '.join(attribute.group_names)}. Read them with load_names(..., attribute={attribute.name!r})."
            )
        content = repr((attribute.digest, self.source, self.date, [list(pair.names.values()) for pair in self.pairs]))
        digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        stated = f"{self.source} ({self.date})"
        return dataclasses.replace(attribute, names=self.pairs, names_source=stated, digest=digest)


def with_names(attribute: Attribute, names: bool | str | Path | NameTable) -> tuple[Attribute, bool]:
    """The attribute with the names that a caller asks for, and whether names count as terms.

    Args:
        attribute: the attribute.
        names: False for none, True for those of the attribute's file, a table, or the path of one that states
            its source and date.
    """
    if isinstance(names, bool):
        return attribute, names
    if not isinstance(names, (str, Path, NameTable)):
        raise TypeError(f"names must be True, False, a path or what load_names gave; got {names!r}.")
    table = names if isinstance(names, NameTable) else load_names(names, attribute=attribute)
    return table.apply(attribute), True


def names_option(given: str) -> bool | str:
    """What transforms take as ``names`` for the word of an option.

    Args:
        given: ``built-in`` for the names of the attribute's file, ``none`` for none, or the path of a table.

    Raises:
        ValueError: no such file.

    Example:
        >>> names_option("built-in"), names_option("none")
        (True, False)
    """
    if given in (BUILT_IN, NO_NAMES):
        return given == BUILT_IN
    if not Path(given).is_file():
        raise ValueError(f"--names {given}: there is no such file. Expected {BUILT_IN}, {NO_NAMES} or a CSV file.")
    return given


def load_names(
    path: str | Path,
    *,
    source: str | None = None,
    date: str | int | None = None,
    attribute: str | Path | Attribute = "gender",
    columns: Sequence[str] | None = None,
    groups: Mapping[str, str] | None = None,
    top: int | None = None,
    ambiguous_share: float = 0.05,
) -> NameTable:
    r"""Read given names with their popularity and pair those of equal rank.

    The file has one name per line, separated by commas or tabs: ``name``, ``group`` (or ``sex``) and ``count`` or
    ``rank``; other columns are passed over. Lines of one name and group add up, so that years can be joined. Rank i of
    one group is swapped for rank i of another, counted after names that cannot be swapped are left out.

    Args:
        path: a csv or tsv file in UTF-8.
        source: who counted; None reads it from a line ``# source: ...`` of the file.
        date: year of the count; None reads it from a line ``# date: ...``.
        attribute: name, file or object.
        columns: headings for a file without any, in order: ``("name", "sex", "count")`` for a ``yobYYYY.txt`` of the
            US Social Security Administration.
        groups: value in the file -> group; None takes a group's name or its unambiguous beginning (``F``).
        top: keep this many names per group; None keeps all.
        ambiguous_share: a name is left out where more than this share of its bearers is in other groups. Where only
            ranks are given, any second group makes it ambiguous.

    Returns:
        The table; pass it as ``names=`` to a transform.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no source or date, a line that cannot be read (with its number), or no pair left.

    Source: Dolci et al. 2023, section 4.2 (a name becomes an equally popular one).

    Example:
        >>> import pathlib, tempfile
        >>> from hf_fairness.attributes import load_names
        >>> path = pathlib.Path(tempfile.mkdtemp(), "yob1990.txt")
        >>> _ = path.write_text("Jessica,F,46485\nMichael,M,65302\nMichael,F,278\n")
        >>> load_names(path, source="US SSA", date=1990, columns=("name", "sex", "count")).pairs[0].names
        {'male': 'Michael', 'female': 'Jessica'}
    """
    path, value = Path(path), load_attribute(attribute)
    if not path.is_file():
        raise FileNotFoundError(f"Name file {path} does not exist (looked from {Path.cwd()}).")
    if not 0 <= ambiguous_share < 0.5:
        raise ValueError(f"ambiguous_share must be in [0, 0.5), got {ambiguous_share!r}.")
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1 or None, got {top!r}.")
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    source, date = _stated(path.name, lines, source, date)
    counts, counted = _read(path.name, lines, value, columns, groups)
    kept, ambiguous = _unambiguous(counts, ambiguous_share if counted else 0.0)
    taken = _terms(value)
    ranked = {
        group: sorted((name for name in names if name.lower() not in taken), key=lambda name: (-names[name], name))
        for group, names in kept.items()
    }
    clashing = sum(map(len, kept.values())) - sum(map(len, ranked.values()))
    size = min(len(names[:top]) for names in ranked.values())
    if not size:
        found = ", ".join(f"{len(names)} {group}" for group, names in ranked.items())
        raise ValueError(f"{path.name}: no pair of names: {found} (ambiguous and left out: {ambiguous}).")
    pairs = tuple(NamePair(i + 1, {group: names[i] for group, names in ranked.items()}) for i in range(size))
    unpaired = sum(len(names[:top]) - size for names in ranked.values())
    return NameTable(value.name, value.group_names, pairs, source, date, ambiguous, clashing, unpaired)


def _stated(file: str, lines: Iterable[str], source: str | None, date: str | int | None) -> tuple[str, str]:
    """Source and date as the caller says, else as the lines say."""
    stated = {match[1].lower(): match[2].strip() for match in map(_STATEMENT.match, lines) if match}
    found = source or stated.get("source", ""), str(date or stated.get("date", "")).strip()
    if not found[0] or not re.search(r"\d{4}", found[1]):
        raise ValueError(
            f"{file}: names need a source and a date with a year, got {found[0]!r} and {found[1]!r}. Pass source= and "
            "date=, or begin the file with the lines '# source: ...' and '# date: ...'."
        )
    return found


def _read(
    file: str,
    lines: Iterable[str],
    attribute: Attribute,
    columns: Sequence[str] | None,
    groups: Mapping[str, str] | None,
) -> tuple[dict[str, dict[str, float]], bool]:
    """Group -> name -> popularity (a count, or minus the best rank), and whether it is a count."""
    popularity: dict[str, dict[str, float]] = {group: {} for group in attribute.group_names}
    places: dict[str, int] | None = None if columns is None else _places(file, columns, attribute)
    known = _group_values(attribute, groups)
    for number, row in _rows(lines):
        if places is None:
            places = _places(file, row, attribute)
            continue
        try:
            name, group = row[places["name"]].strip(), known[row[places["group"]].strip().casefold()]
            amount = float(row[places.get("count", places.get("rank", 0))])
            if not name or not amount > 0:
                raise ValueError("no name, or no positive number")
        except (IndexError, KeyError, ValueError) as error:
            raise ValueError(
                f"{file}, line {number}: got {row!r}, expected a name, a group ({', '.join(map(repr, known))}) and a "
                "count or rank above 0. For other words of a group pass groups={word: group}."
            ) from error
        if name.isupper() or name.islower():
            name = name.title()
        names = popularity[group]
        if "count" in places:
            names[name] = names.get(name, 0.0) + amount
        else:
            names[name] = max(names.get(name, -amount), -amount)
    return popularity, places is not None and "count" in places


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that is neither empty nor a comment."""
    delimiter = ""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            delimiter = delimiter or ("\t" if "\t" in line else ",")
            yield number, next(csv.reader([line], delimiter=delimiter))


def _places(file: str, headings: Sequence[str], attribute: Attribute) -> dict[str, int]:
    places: dict[str, int] = {}
    for i, heading in enumerate(headings):
        word = heading.strip().lower()
        places.setdefault("group" if word in (*_GROUP_HEADINGS, attribute.name) else word, i)
    if not {"name", "group"} <= places.keys() or not {"count", "rank"} & places.keys():
        raise ValueError(
            f"{file}: the columns are {', '.join(map(repr, headings))}; expected name, group (or sex) and count or "
            "rank. For a file without headings pass columns=, for example ('name', 'sex', 'count')."
        )
    return places


def _group_values(attribute: Attribute, groups: Mapping[str, str] | None) -> dict[str, str]:
    """What may stand in the group column, in lower case -> group."""
    if groups is not None:
        return {word.casefold(): attribute.group(group).name for word, group in groups.items()}
    known: dict[str, str] = {}
    for group in attribute.group_names:
        others = [other.casefold() for other in attribute.group_names if other != group]
        starts = [group.casefold()[:length] for length in range(1, len(group) + 1)]
        known |= {start: group for start in starts if not any(other.startswith(start) for other in others)}
        known[group.casefold()] = group
    return known


def _unambiguous(counts: Mapping[str, Mapping[str, float]], share: float) -> tuple[dict[str, dict[str, float]], int]:
    """The names by the one group that they belong to, and how many belong to several."""
    kept: dict[str, dict[str, float]] = {group: {} for group in counts}
    ambiguous: set[str] = set()
    for group, names in counts.items():
        for name, amount in names.items():
            other = sum(table.get(name, 0.0) for table in counts.values()) - amount
            if other == 0 or (share and other <= share * (amount + other)):
                kept[group][name] = amount
            elif not share or amount > share * (amount + other):
                ambiguous.add(name)
    return kept, len(ambiguous)


def _terms(attribute: Attribute) -> set[str]:
    """Words of the attribute in lower case, which no name may be."""
    terms = {term.text.lower() for group in attribute.groups for term in group.terms}
    return terms | {term.text.lower() for term in attribute.inherent}
