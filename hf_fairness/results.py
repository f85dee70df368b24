"""A result of a metric for a log (:func:`flatten`) and for a person (:func:`show`).

Results are plain nested dicts, with intervals under ``<key>_ci95`` and with ``meta``, which says what the numbers
mean. They stay plain: a class of our own would be no ``dict`` to YAML, and only its outermost level would read well. So
what a log or a terminal needs is made from them by functions.
"""

from __future__ import annotations

import math
import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

#: Stands for a number that was not measured.
ABSENT = "–"
#: Ending of the key of an interval.
CI95 = "_ci95"
#: What of ``meta`` is said below a table.
_SAID = {"ideal": "Ideal: ", "direction": "Direction: ", "convention": "Convention: ", "known_defects": ""}
#: Longest name and longest text in a table.
_WIDEST_NAME, _WIDEST_TEXT = 60, 30


def flatten(result: Mapping[str, Any]) -> dict[str, int | float]:
    """One flat dict of finite numbers, as ``compute_metrics`` of a ``transformers.Trainer`` returns it.

    Keys of nested dicts are joined with ``_``, as they are in the data; the ends of an interval become
    ``<key>_ci95_low`` and ``<key>_ci95_high``. What is no finite number is left out: texts, None, yes and no, ``meta``,
    and lists with an entry for each row. Every module takes ``compute(..., flat=True)`` for it.

    Args:
        result: of a metric, a measurement or a function of ``hf_fairness.measure`` or ``hf_fairness.scores``.

    Returns:
        Python numbers by name, in the order of the result.

    Raises:
        TypeError: it is no mapping.
        ValueError: two numbers have the same name when the keys are joined.

    Example:
        >>> flatten({"gap": 0.5, "gap_ci95": [0.25, 0.75], "rate": {"female": 0.75, "male": None}, "meta": {"seed": 0}})
        {'gap': 0.5, 'gap_ci95_low': 0.25, 'gap_ci95_high': 0.75, 'rate_female': 0.75}
    """
    _check(result, "flatten")
    found: dict[str, int | float] = {}
    for name, value in leaves({key: part for key, part in result.items() if key != "meta"}, "_", _is_meta):
        ends = _ends(value) if name.endswith(CI95) else None
        for key, part in zip((f"{name}_low", f"{name}_high"), ends, strict=True) if ends else [(name, value)]:
            number = _number(part)
            if number is None:
                continue
            if key in found:
                raise ValueError(
                    f"Two numbers of the result are called {key!r} when keys are joined with '_'. Rename the group or "
                    "set whose name makes the two alike, or read the nested result."
                )
            found[key] = number
    return found


def show(result: Mapping[str, Any], *, entries: int | None = 20) -> None:
    """Print a result as a table: each number with its interval, sizes of groups, and what the numbers mean below.

    Args:
        result: of a metric, a measurement or a function of ``hf_fairness.measure`` or ``hf_fairness.scores``.
        entries: most entries shown of a nested dict (a result may have a hundred professions); None shows all.

    Raises:
        TypeError: it is no mapping.

    Example:
        >>> show({"gap": 0.5, "gap_ci95": [0.25, 0.75], "rate": {"a": 0.75, "b": 0.25}, "meta": {"ideal": "gap 0"}})
              value   95 % interval
        ---------------------------
        gap   0.500  [0.250, 0.750]
        rate
          a   0.750
          b   0.250
        <BLANKLINE>
        Ideal: gap 0
    """
    print(result_table(result, entries=entries))  # noqa: T201


def result_table(result: Mapping[str, Any], *, entries: int | None = 20, width: int | None = None) -> str:
    """What :func:`show` prints.

    Args:
        result: as there.
        entries: as there.
        width: of the lines below the table; None takes the terminal's. The table is as wide as it needs to be.

    Returns:
        Lines of text, without a last line end.

    Raises:
        TypeError: it is no mapping.
        ValueError: ``entries`` below 1.
    """
    _check(result, "show")
    if entries is not None and entries < 1:
        raise ValueError(f"entries must be at least 1, or None for all; got {entries}.")
    width = width or min(shutil.get_terminal_size((100, 24)).columns, 120)
    rows = [["", "value", "95 % interval", "n"], *_rows(result, 0, entries)]
    kept = [place for place in range(4) if place == 0 or any(row[place] for row in rows[1:])]
    table = columns([[row[place] for place in kept] for row in rows], left={0}) if len(rows) > 1 else []
    notes = [textwrap.fill(note, width, break_on_hyphens=False) for note in _notes(result)]
    return "\n".join([*table, *([""] if table and notes else []), *notes])


def leaves(nested: Mapping[Any, Any], joint: str, left_out: Callable[[str, Any], bool]) -> Iterator[tuple[str, Any]]:
    """Everything in a nested dict that is no dict, under its joined keys.

    Args:
        nested: dicts of dicts, to any depth.
        joint: stands between two keys.
        left_out: whether an entry is left out, by its own key and its value.

    Yields:
        Joined keys and value.
    """
    for key, value in nested.items():
        if left_out(str(key), value):
            continue
        if isinstance(value, Mapping):
            for name, leaf in leaves(value, joint, left_out):
                yield f"{key}{joint}{name}", leaf
        else:
            yield str(key), value


def format_number(value: float | None) -> str:
    """Three decimals, a true minus sign, and powers of ten for what would round to 0."""
    if value is None:
        return ABSENT
    if value != 0 and abs(value) < 0.0005:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3f}"
    return text.replace("-", "−")


def format_interval(ends: Sequence[float | None] | None) -> str:
    """``[low, high]``, or an empty string where there is none."""
    return f"[{format_number(ends[0])}, {format_number(ends[1])}]" if ends else ""


def columns(rows: Sequence[Sequence[str]], *, left: Collection[int] | None = None) -> list[str]:
    """Rows of text as lines with aligned columns, and a rule below the heading.

    Args:
        rows: the heading first, all of one length.
        left: places of the columns that are set left; None means the first and the last.

    Returns:
        The lines. A letter as wide as two, as in Chinese, counts as two, one that combines with another as none.
    """
    widths = [max(_width(row[place]) for row in rows) for place in range(len(rows[0]))]
    left = {0, len(widths) - 1} if left is None else left
    lines = []
    for row in rows:
        blanks = [" " * (size - _width(cell)) for cell, size in zip(row, widths, strict=True)]
        pairs = enumerate(zip(row, blanks, strict=True))
        cells = [cell + blank if place in left else blank + cell for place, (cell, blank) in pairs]
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "-" * max(map(_width, lines)), *lines[1:]]


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _check(result: Any, name: str) -> None:
    if not isinstance(result, Mapping):
        why = " (compute() gives None on all but the main process)" if result is None else ""
        raise TypeError(f"{name}() needs the result of a metric, a dict; got {type(result).__name__}{why}.")


def _is_meta(key: str, value: Any) -> bool:
    """Whether an entry says what the numbers beside it mean; a group may be called "meta" too."""
    return isinstance(value, Mapping) and isinstance(value.get("convention"), str)


def _number(value: Any) -> int | float | None:
    """A finite Python number; None for everything else."""
    value = value.tolist() if hasattr(value, "tolist") else value  # numpy and torch, without importing either
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    if isinstance(value, Integral):
        return int(value)
    return float(value) if math.isfinite(value) else None


def _ends(value: Any) -> Sequence[Any] | None:
    """The two ends of an interval; None where it is none."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if isinstance(value, (list, tuple)) and len(value) == 2 else None


def _rows(result: Mapping[Any, Any], depth: int, entries: int | None) -> list[list[str]]:
    """Lines of a table of a nested dict: name, value, interval, number of rows."""
    shown = {
        str(key): value
        for key, value in result.items()
        if not _is_meta(str(key), value)
        and not (depth == 0 and key == "meta")
        and not (isinstance(value, str) and not value)
        and not (depth > 0 and key == "n" and isinstance(_number(value), int))  # stands in the heading of the block
        and not (str(key).endswith(CI95) and str(key).removesuffix(CI95) in result and (value is None or _ends(value)))
    }
    rows = []
    for place, (key, value) in enumerate(shown.items()):
        if depth and entries is not None and place == entries and len(shown) > entries:
            rows.append([f"{'  ' * depth}… {len(shown) - entries} more", "", "", ""])
            break
        name = "  " * depth + one_line(key, _WIDEST_NAME)
        if isinstance(value, Mapping):
            rows.append(
                [
                    name,
                    "" if value else ABSENT,
                    "",
                    _cell(value["n"]) if isinstance(_number(value.get("n")), int) else "",
                ]
            )
            rows += _rows(value, depth + 1, entries)
        else:
            ends = _ends(value if key.endswith(CI95) else result.get(f"{key}{CI95}"))
            interval = format_interval([_number(end) for end in ends]) if ends else ""
            rows.append([name, "" if key.endswith(CI95) and ends else _cell(value), interval, ""])
    return rows


def _cell(value: Any) -> str:
    """A value as a table shows it."""
    number = _number(value)
    if isinstance(number, int):
        return f"{number:,}".replace("-", "−")
    if number is not None or value is None or isinstance(value, float):
        return format_number(number)
    if not isinstance(value, (str, bytes)) and hasattr(value, "__len__"):
        return f"{len(value):,} values"
    return one_line(str(value), _WIDEST_TEXT)


def one_line(text: str, longest: int) -> str:
    """A text in one line that commands no terminal, with its middle cut out if it is long: names of sets come last."""
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return line if len(line) <= longest else f"{line[: longest // 2]}…{line[-(longest // 2) + 1 :]}"


def _notes(result: Mapping[Any, Any], path: str = "") -> Iterator[str]:
    """What each ``meta`` of a result says of how to read it."""
    for key, value in result.items():
        if not isinstance(value, Mapping):
            continue
        if _is_meta(str(key), value) or (not path and key == "meta"):
            for said, title in _SAID.items():
                if value.get(said):
                    yield f"{path}{title}{' '.join(str(value[said]).split())}"
        else:
            yield from _notes(value, f"{path}{one_line(str(key), _WIDEST_NAME)}. ")
