"""WinoMT's rows: read from the published files, from dicts, with the words for the person in the source."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.attributes import load_attribute
from hf_fairness.scores.winomt_rates import BOTH, SUBSETS
from hf_fairness.utils import is_missing, lines_of

#: Articles that stand in front of a profession and are translated with it.
ARTICLES = ("the", "a", "an")
#: Between source and translation in the published translation files.
SEPARATOR = " ||| "
#: Which rows are resampled together.
CLUSTERINGS = ("sentence", "profession", "row")

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def read_winomt(
    path: str | os.PathLike[str],
    *,
    pro: str | os.PathLike[str] | None = None,
    anti: str | os.PathLike[str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of a file in WinoMT's format: gender, index of the profession's noun, sentence, profession, by tabs.

    Args:
        path: ``en.txt``, ``en_pro.txt`` or ``en_anti.txt`` of the published data.
        pro: file of the pro-stereotypical rows; None: ``en_pro.txt`` beside ``path``, if it is there.
        anti: file of the anti-stereotypical rows; None: ``en_anti.txt`` beside ``path``, if it is there.

    Returns:
        Per row ``gender``, ``target_index``, ``sentence``, ``profession`` and ``stereotype``: ``"pro"``, ``"anti"``,
        ``"both"`` for a row that stands in both files, or ``""`` for one in neither.

    Raises:
        ValueError: a line without four columns or with an index that is no number.
    """
    place = Path(path)
    base = place.stem
    for name in SUBSETS:
        base = base.removesuffix(f"_{name}")
    members: dict[str, set[tuple[str, ...]]] = {name: set() for name in SUBSETS}
    for name, given in zip(SUBSETS, (pro, anti), strict=True):
        file = place.with_name(f"{base}_{name}{place.suffix}") if given is None else Path(given)
        if given is not None or file.is_file():
            members[name] = set(map(tuple, _lines(file)))
    return [
        {
            "gender": gender,
            "target_index": int(index),
            "sentence": sentence,
            "profession": profession,
            "stereotype": _stereotype((gender, index, sentence, profession), members),
        }
        for gender, index, sentence, profession in _lines(place)
    ]


def _stereotype(row: tuple[str, ...], members: Mapping[str, set[tuple[str, ...]]]) -> str:
    """The subset of a row, ``"both"`` or ``""``."""
    found = [name for name, rows in members.items() if row in rows]
    return BOTH if len(found) > 1 else "".join(found)


def _lines(path: Path) -> list[list[str]]:
    """The four columns of each line."""
    found = []
    for number, line in enumerate(lines_of(path), 1):
        columns = line.split("\t")
        if len(columns) != 4 or not columns[1].isdecimal():
            raise ValueError(
                f"{path}, line {number}: expected gender, index, sentence, profession with tabs between; got {line!r}."
            )
        found.append(columns)
    return found


def read_translations(path: str | os.PathLike[str]) -> list[str]:
    """Translations of a file in WinoMT's format, ``source ||| translation``.

    The sources are left out: in every published file two of them differ from the data, so rows are matched by their
    place.

    Args:
        path: for example ``google.en-de.txt``.

    Returns:
        The translations, in the order of the file.

    Raises:
        ValueError: a line without the separator.
    """
    found = []
    for number, line in enumerate(lines_of(Path(path)), 1):
        _, separator, translation = line.partition(SEPARATOR.rstrip())
        if not separator:
            raise ValueError(f"{path}, line {number}: expected 'source{SEPARATOR}translation'; got {line!r}.")
        found.append(translation.strip())
    return found


def as_rows(references: Any) -> list[Mapping[str, Any]]:
    """WinoMT rows as a list of mappings, from a Dataset, a list of dicts or a dict of columns.

    Class labels of a Dataset become their names.

    Raises:
        TypeError: something else.
        ValueError: columns of different length.
    """
    if isinstance(references, Mapping):
        lengths = {name: len(column) for name, column in references.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns of references differ in length: {lengths}.")
        return [dict(zip(references, values, strict=True)) for values in zip(*references.values(), strict=True)]
    labels = {
        name: feature.int2str
        for name, feature in (getattr(references, "features", None) or {}).items()
        if hasattr(feature, "int2str")
    }
    rows = list(references)
    if labels:
        rows = [{**row, **{name: label(row[name]) for name, label in labels.items()}} for row in rows]
    wrong = next((place for place, row in enumerate(rows) if not isinstance(row, Mapping)), None)
    if wrong is not None:
        raise TypeError(
            "references must hold rows, a dict each, as read_winomt and read_must_she make them of files; "
            f"references[{wrong}] is {rows[wrong]!r}."
        )
    return rows


def column(rows: Sequence[Mapping[str, Any]], name: str, default: Any = None) -> list[Any]:
    """One field of all rows; None, NaN and pandas' NA are values that are missing.

    Raises:
        ValueError: a row without it, and no default.
    """
    values = [row.get(name) for row in rows]
    values = [default if is_missing(value) else value for value in values]
    missing = next((number for number, value in enumerate(values) if value is None), None)
    if missing is not None:
        raise ValueError(
            f"references[{missing}] has no {name!r}: it is {rows[missing].get(name)!r}; the row's keys: "
            f"{', '.join(map(repr, rows[missing]))}."
        )
    return values


def texts_of(rows: Sequence[Mapping[str, Any]], name: str, default: str | None = None) -> list[str]:
    """One field of all rows, which holds texts.

    Raises:
        ValueError: a row without it and no default, or something else than a text.
    """
    values = column(rows, name, default)
    wrong = next((number for number, value in enumerate(values) if not isinstance(value, str)), None)
    if wrong is not None:
        raise ValueError(f"references[{wrong}]: {name!r} is {values[wrong]!r}; expected a text.")
    return values


def person_indices(rows: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Indices of the words for the person in each source sentence: the noun, and an article before it.

    Raises:
        ValueError: no sentence or index in a row, or an index outside its sentence.

    Example:
        >>> person_indices([{"sentence": "The clerk left.", "target_index": 1}])
        [[0, 1]]
    """
    found = []
    places = zip(texts_of(rows, "sentence"), column(rows, "target_index"), strict=True)
    for number, (sentence, given) in enumerate(places):
        words = sentence.split()
        index = _whole(given)
        if index is None or not 0 <= index < len(words):
            raise ValueError(
                f"references[{number}]: target_index {given} lies outside its sentence of {len(words)} words. "
                "It is a whole number and counts words from 0, split at spaces."
            )
        article = index > 0 and words[index - 1].lower() in ARTICLES
        found.append([index - 1, index] if article else [index])
    return found


def _whole(value: Any) -> int | None:
    """The whole number that a value or text stands for; None if it is none."""
    try:
        number = int(value)
        return number if isinstance(value, str) or number == value else None
    except (TypeError, ValueError, OverflowError):
        return None


def clusters_of(rows: Sequence[Mapping[str, Any]], by: str) -> list[str] | None:
    """Labels of rows that are resampled together.

    Args:
        rows: WinoMT rows.
        by: ``"sentence"``: versions of one sentence, which differ in words of gender only; ``"profession"``: all rows
            of one profession; ``"row"``: each by itself.

    Returns:
        One label per row; None where each row stands by itself, also when it is all that is known of the rows.

    Raises:
        ValueError: an unknown ``by``.

    Example:
        >>> clusters_of([{"sentence": "The clerk lost his hat."}, {"sentence": "The clerk lost her hat."}], "sentence")
        ['the clerk lost * hat', 'the clerk lost * hat']
    """
    if by not in CLUSTERINGS:
        raise ValueError(f"clusters must be one of {', '.join(map(repr, CLUSTERINGS))}; got {by!r}.")
    if by == "row":
        return None
    values = texts_of(rows, by, "")
    if not all(values):
        return None
    if by == "profession":
        return [value.lower() for value in values]
    attribute = load_attribute("gender")
    open_words = {term.text.lower() for group in attribute.groups for term in group.terms}
    open_words |= {form.lower() for paradigm in attribute.paradigms for form in paradigm.forms.values()}
    return [" ".join("*" if word in open_words else word for word in _WORD.findall(value.lower())) for value in values]
