"""The one reader of class labels: whole numbers, names, or the numbers of a ClassLabel; every method asks it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Label = int | str
#: Numbers of classes are refused from here on: a row of logits has one entry for each, so such a number is an id.
MOST_CLASSES = 100_000
#: Rows that a message names.
SHOWN = 5


def read_labels(
    values: Sequence[Any] | NDArray[Any],
    what: str,
    *,
    names: Sequence[str] | None = None,
    rows: Sequence[int] | NDArray[Any] | None = None,
) -> list[Label]:
    """Labels as whole numbers or names.

    Whole numbers are whole numbers however they are written: ``1``, ``1.0`` and ``True`` are one label. Anything else
    with a fraction is a score and no label: it is not rounded. A row without a label (None, NaN, ``pandas.NA``, an
    empty text, a number below 0 as ``datasets`` writes it) is refused, never made a class of its own.

    Args:
        values: one per row.
        what: how messages call them.
        names: of a ClassLabel: the numbers are replaced by them; None: there are none.
        rows: number of the row of each value, for messages; None: 0, 1 and so on.

    Returns:
        One whole number or name per row.

    Raises:
        ValueError: rows without a label, with fractions, with anything else, or with a number that has no name; the
            message names the first rows.

    Example:
        >>> read_labels([1, 0.0, True, "yes"], "label"), read_labels([1, 0], "label", names=["no", "yes"])
        ([1, 0, 1, 'yes'], ['yes', 'no'])
    """
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    found = [_label(value) for value in plain]

    def refuse(places: list[int], problem: str, advice: str) -> None:
        if places:
            shown = ", ".join(str(place if rows is None else int(rows[place])) for place in places[:SHOWN])
            more = " ..." if len(places) > SHOWN else ""
            raise ValueError(
                f"{what}: {len(places)} of {len(plain)} rows {problem}, the first in row {shown}{more} "
                f"({plain[places[0]]!r}). {advice}"
            )

    missing = [
        place
        for place, label in enumerate(found)
        if label is None or label == "" or (isinstance(label, (int, float)) and label < 0)
    ]
    refuse(missing, "have no label", "Leave them out, and say how many they were; classes count from 0.")
    fractions = [place for place, label in enumerate(found) if isinstance(label, float)]
    advice = "Make classes of scores yourself, for example: label = int(score >= 0.5)."
    refuse(fractions, "have a number that is not whole", f"Labels are whole numbers or names. {advice}")
    others = [place for place, label in enumerate(found) if not isinstance(label, (int, str))]
    refuse(others, "hold neither a whole number nor a name", "Labels are single values.")
    labels: list[Label] = [label for label in found if isinstance(label, (int, str))]
    if names is None:
        return labels
    unnamed = [place for place, label in enumerate(labels) if isinstance(label, int) and label >= len(names)]
    refuse(unnamed, "have a number without a name", f"The names are {', '.join(names)}.")
    return [names[label] if isinstance(label, int) else label for label in labels]


def class_numbers(
    values: Sequence[Any] | NDArray[Any],
    what: str = "labels",
    *,
    n_classes: int | None = None,
    rows: Sequence[int] | NDArray[Any] | None = None,
) -> NDArray[np.int64]:
    """Labels that are numbers of classes already, from 0.

    Args:
        values: one per row.
        what: how messages call them; where they are a column, its name.
        n_classes: number of classes of the model; None: any number below ``MOST_CLASSES``.
        rows: as in :func:`read_labels`.

    Returns:
        int64, shape (n,).

    Raises:
        ValueError: as :func:`read_labels`; names, numbers beyond the classes.

    Example:
        >>> class_numbers([1, 0.0, True]).tolist()
        [1, 0, 1]
    """
    labels = read_labels(values, what, rows=rows)
    how = "Number them from 0: dataset.class_encode_column(...) does, and keeps the names."
    name = next((label for label in labels if isinstance(label, str)), None)
    if name is not None:
        raise ValueError(f"{what} must be class numbers; got the name {name!r}. {how}")
    numbers = [label for label in labels if isinstance(label, int)]
    limit = MOST_CLASSES if n_classes is None else n_classes
    if max(numbers, default=0) >= limit:
        wanted = f"0 to {n_classes - 1}" if n_classes is not None else f"numbers below {MOST_CLASSES:,}"
        raise ValueError(f"{what} go up to {max(numbers)}; expected classes {wanted}. {how}")
    return np.asarray(numbers, dtype=np.int64)


def class_names(labels: Iterable[Label]) -> list[str]:
    """Names of the labels that occur: numbers by size, then names in alphabetical order.

    Labels far apart (0 and 10 ** 18) are two classes, not all that lie between.

    Example:
        >>> class_names([10, 2, 2, "b"])
        ['2', '10', 'b']
    """
    kinds = set(labels)
    numbers = sorted(kind for kind in kinds if isinstance(kind, int))
    return list(dict.fromkeys([*map(str, numbers), *sorted(kind for kind in kinds if isinstance(kind, str))]))


def refuse_numbers(labels: Sequence[Label], names: Sequence[str], what: str) -> None:
    """Raise where labels are numbers and the classes are words whose order nobody stated.

    Args:
        labels: of :func:`read_labels`.
        names: of the classes, in alphabetical order.
        what: how messages call the labels.

    Raises:
        ValueError: says which number.
    """
    number = next((label for label in labels if isinstance(label, int)), None)
    if number is not None and not any(_is_number(name) for name in names):
        raise ValueError(
            f"{what}: there is the label {number}, and the training rows have the words {', '.join(names)}: which is "
            "which? Write words here too, or make a ClassLabel of the training rows (for IBADR and refine "
            "--class_names says their order)."
        )


def places(
    labels: Sequence[Label],
    names: Sequence[str],
    what: str,
    *,
    rows: Sequence[int] | NDArray[Any] | None = None,
) -> NDArray[np.int64]:
    """Place of each label among the names of the classes.

    A label stands for the class of that name, else for the first one that has it in another case; a number, where no
    class has it for a name and the names are words, for the class with that place.

    Args:
        labels: of :func:`read_labels`.
        names: of the classes.
        what: how messages call the labels.
        rows: as in :func:`read_labels`.

    Returns:
        int64, shape (n,).

    Raises:
        ValueError: a label that is no class.

    Example:
        >>> places(["B", 0], ["a", "b"], "label").tolist()
        [1, 0]
    """
    known: dict[str, int] = {name.casefold(): place for place, name in reversed(list(enumerate(names)))}
    if not any(_is_number(name) for name in names):
        known |= {str(place): place for place in range(len(names)) if str(place) not in known}
    exact = {name: place for place, name in reversed(list(enumerate(names)))}
    kinds = {label: exact.get(str(label), known.get(str(label).casefold())) for label in set(labels)}
    wrong = [row for row, label in enumerate(labels) if kinds[label] is None]
    if wrong:
        raise ValueError(
            f"{what}: {len(wrong)} of {len(labels)} rows have a label that is not in the map: row "
            f"{wrong[0] if rows is None else rows[wrong[0]]} has the label {labels[wrong[0]]!r}, and the classes are "
            f"{', '.join(names)}."
        )
    return np.asarray([kinds[label] for label in labels], dtype=np.int64)


def _is_number(name: str) -> bool:
    return name.isdecimal()


def _label(value: Any) -> Any:
    """A whole number, a name, a fraction as float, None for a missing value, or a value that is no label."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value if value.strip() else ""
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    # pandas need not be there, so what it writes for a missing value is told by its name.
    return None if value is None or type(value).__name__ in ("NAType", "NaTType") else _NoLabel


class _NoLabel:
    """Stands for a value that is neither number nor text."""
