"""The reader of tasks for frozen embeddings: which columns they have, and how their rows are used.

SentEval's tasks are known by name (MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC, SICK-E, SICK-R, STS-B), and RTE and WNLI of
GLUE, with the columns of the data sets in which they are published. A task of another name has ``label`` and either
``text`` (or ``sentence``) or a pair of texts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_fairness.measure.encoder.transfer import TransferTask
from hf_fairness.rows import read_columns
from hf_fairness.scores import class_labels
from hf_fairness.scores.statistics import Floats, as_values
from hf_fairness.sources import PARTS

logger = logging.getLogger(__name__)

_SINGLE = (("text",), ("sentence",))
_PAIRED = (
    ("sentence1", "sentence2"),
    ("sentence_A", "sentence_B"),
    ("premise", "hypothesis"),
    ("text1", "text2"),
    ("#1 String", "#2 String"),
)
#: Columns that say to which part a row of one table belongs.
_PART_COLUMNS = ("SemEval_set", "split")
#: What data sets write where a label is kept secret.
_SECRET = (-1, "-1", "-", None)
_ORDER = ("train", "validation", "test")


@dataclass(frozen=True)
class Known:
    """What is known of a task.

    Attributes:
        title: its name.
        texts: columns of its texts, the first that are there.
        gold: column of its labels or scores, the first that is there.
        merged: whether it is published without parts, so that all rows are measured by nested cross-validation.
        scale: least and greatest score, for scores.
        positive: names of the class whose F1 is told.
    """

    title: str
    texts: tuple[tuple[str, ...], ...] = _SINGLE
    gold: tuple[str, ...] = ("label",)
    merged: bool = False
    scale: tuple[int, int] | None = None
    positive: tuple[str, ...] = ()


_KNOWN = (
    *(Known(title, merged=True) for title in ("MR", "CR", "SUBJ", "MPQA")),
    Known("SST-2"),
    Known("TREC", gold=("coarse_label", "label-coarse", "label")),
    Known("MRPC", texts=_PAIRED, gold=("label", "Quality"), positive=("1", "equivalent")),
    *(Known(title, texts=_PAIRED) for title in ("RTE", "WNLI")),
    Known("SICK-E", texts=_PAIRED, gold=("entailment_label", "entailment_judgment", "label")),
    Known("SICK-R", texts=_PAIRED, gold=("relatedness_score", "score"), scale=(1, 5)),
    Known("STS-B", texts=_PAIRED, gold=("score", "label"), scale=(0, 5)),
)


def plain_name(name: str) -> str:
    """A task's name in small letters without hyphens."""
    return re.sub(r"[-_]", "", name).lower()


#: Known tasks by name in small letters without hyphens.
TASKS = {plain_name(known.title): known for known in _KNOWN}


def known_task(name: str) -> Known:
    """What is known of a task, whatever hyphens and capitals its name is written with.

    Args:
        name: of the task.

    Raises:
        ValueError: a name that could not be part of an id.

    Example:
        >>> known_task("sick_r").title, known_task("mine").texts[0]
        ('SICK-R', ('sentence1', 'sentence2'))
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(f"--senteval: a task is called {name!r}, expected letters, digits, '-', '_' and '.'.")
    return TASKS.get(plain_name(name)) or Known(name, texts=(*_PAIRED, *_SINGLE))


def read_transfer_task(name: str, rows: Any, *, folds: int = 10, flag: str = "--senteval") -> TransferTask:
    """A task of rows, checked.

    Rows in a part for training and another one: the penalty is chosen on a development part, where there are three
    parts, else by cross-validation on the training part, and the last part with labels is measured. Rows in one part,
    or of a task that is published in one: nested cross-validation.

    Args:
        name: of the task: one of SentEval's, or another.
        rows: a Dataset, DataFrame, mapping of columns or dicts, of which a column ``SemEval_set`` or ``split`` may say
            the part; or a mapping of ``train``, ``validation`` (``dev``, ``trial``) and ``test`` to such.
        folds: of cross-validation, for what is told of the rows.
        flag: that named the task, for messages.

    Returns:
        The task.

    Raises:
        TypeError: rows of another shape.
        ValueError: a missing column, a row without text or label, one class, equal scores, no part to train on.

    Example:
        >>> rows = {"text": ["a", "b", "c", "d"], "label": [0, 1, 0, 1]}
        >>> task = read_transfer_task("mine", rows)
        >>> task.classes, len(task.measured)
        (('0', '1'), 4)
    """
    known = known_task(name)
    flag = f"{flag} {known.title}"
    parts = _parts(rows, known, flag)
    if known.merged:
        parts = {"train": {key: [v for part in parts.values() for v in part[key]] for key in parts["train"]}}
    columns = [key for key in parts["train"] if key != ""]
    texts = tuple(tuple(text for part in parts.values() for text in part[key]) for key in columns)
    values = [value for part in parts.values() for value in part[""]]
    ends = np.cumsum([0, *(len(part[""]) for part in parts.values())])
    places = {part: np.arange(ends[at], ends[at + 1]) for at, part in enumerate(parts)}
    test = next((part for part in reversed(_ORDER[1:]) if part in places), None)
    empty = np.array([], dtype=np.intp)
    how = _told(parts, test, folds)
    more: dict[str, Any] = {
        "train": places["train"],
        "validation": places["validation"] if test == "test" and "validation" in places else empty,
        "test": empty if test is None else places[test],
        "told": how,
    }
    if known.scale is not None:
        return TransferTask(known.title, texts, _scores(values, known.scale, flag, more), scale=known.scale, **more)
    labels = class_labels.read_labels(values, f"{flag}, labels")
    classes = class_labels.class_names(labels)
    gold = class_labels.places(labels, classes, f"{flag}, labels").astype(np.float64)
    for part in ("train", "test"):
        if len(more[part]) and len(set(gold[more[part]])) < 2:
            only = classes[int(gold[more[part]][0])]
            raise ValueError(
                f"{flag}: all {len(more[part])} {part} rows have the label {only!r}, expected two classes or more."
            )
    strange = sorted(set(gold[more["test"]]) - set(gold[more["train"]]))
    if strange:
        raise ValueError(f"{flag}: the class {classes[int(strange[0])]!r} is in the test rows and in no training row.")
    positive = next((place for place, each in enumerate(classes) if each in known.positive), None)
    return TransferTask(known.title, texts, gold, classes=tuple(classes), positive=positive, **more)


def _parts(rows: Any, known: Known, flag: str) -> dict[str, dict[str, list[Any]]]:
    """Columns of each part that has labels: texts, and under ``""`` labels or scores."""
    given: dict[str, Any] = {"": rows}
    if isinstance(rows, Mapping) and any(str(name).lower() in ("", *PARTS) for name in rows):
        given = dict(rows)
    if len(given) == 1:
        (table,) = given.values()
        return _split(_read(table, known, flag, "rows"), flag)
    found: dict[str, dict[str, list[Any]]] = {}
    for split, table in given.items():
        part = PARTS.get(split.lower())
        if part is None:
            logger.info("%s: the split %s is not used.", flag, split)
            continue
        if part in found:
            raise ValueError(f"{flag} has two splits that are {part}: {', '.join(given)}. Leave one of them out.")
        if part != "train" and _secret(table, known):
            logger.info("%s: the split %s has no labels and is not used.", flag, split)
            continue
        found[part] = _read(table, known, flag, f"{split} rows")
        found[part].pop("part", None)
    if "train" not in found:
        raise ValueError(f"{flag} has the splits {', '.join(given)}, expected one called train.")
    return {part: found[part] for part in _ORDER if part in found}


def _read(table: Any, known: Known, flag: str, what: str) -> dict[str, list[Any]]:
    """Checked texts under their columns, labels or scores under ``""``, and ``part`` where a column says it."""
    have = read_columns(table, (), f"{flag}, {what}", _all_columns(known))
    texts = next((names for names in known.texts if set(names) <= set(have)), None)
    gold = next((name for name in known.gold if name in have), None)
    if texts is None or gold is None:
        wanted = " or ".join(", ".join(names) for names in known.texts) if texts is None else " or ".join(known.gold)
        columns = list(getattr(table, "column_names", None) or getattr(table, "columns", None) or table)
        there = ", ".join(map(str, columns[:12])) if columns and isinstance(columns[0], str) else "none of them"
        raise ValueError(
            f"{flag}: the {what} lack a column of {'texts' if texts is None else 'labels'}: expected {wanted}; they "
            f"have {there}. Rename yours."
        )
    for name in texts:
        bad = next((i for i, text in enumerate(have[name]) if not isinstance(text, str) or not text.strip()), None)
        if bad is not None:
            raise ValueError(
                f"{flag}: row {bad} of the {what} has no text in {name!r}: {have[name][bad]!r}. Fill it or leave it "
                "out."
            )
    part = next((have[name] for name in _PART_COLUMNS if name in have), None)
    found = {**{name: have[name] for name in texts}, "": have[gold]}
    return found if part is None else {**found, "part": part}


def _all_columns(known: Known) -> Sequence[str]:
    return tuple(dict.fromkeys([*(name for names in known.texts for name in names), *known.gold, *_PART_COLUMNS]))


def _split(table: dict[str, list[Any]], flag: str) -> dict[str, dict[str, list[Any]]]:
    """One table by the column that says the part of each row, where there is one."""
    says = table.pop("part", None)
    if says is None:
        return {"train": table}
    strange = next((value for value in says if PARTS.get(str(value).lower()) is None), None)
    if strange is not None:
        raise ValueError(f"{flag}: a row belongs to the part {strange!r}, expected one of {', '.join(PARTS)}.")
    parts = [PARTS[str(value).lower()] for value in says]
    if "train" not in parts:
        raise ValueError(f"{flag}: no row belongs to the part train.")
    return {
        part: {name: [v for v, of in zip(values, parts, strict=True) if of == part] for name, values in table.items()}
        for part in _ORDER
        if part in parts
    }


def _secret(table: Any, known: Known) -> bool:
    """Whether a part has no labels at all."""
    have = read_columns(table, (), "rows", known.gold, as_names=False)
    gold = next((have[name] for name in known.gold if name in have), [])
    return all(value in _SECRET for value in gold)


def _scores(values: Sequence[Any], scale: tuple[int, int], flag: str, parts: Mapping[str, Any]) -> Floats:
    gold = as_values(values, f"{flag}, scores", minimum=3)
    if gold.min() < scale[0] or gold.max() > scale[1]:
        strange = gold[int(np.argmax(np.abs(gold - sum(scale) / 2)))]
        raise ValueError(f"{flag}: there is a score of {strange:g}, expected {scale[0]} to {scale[1]}.")
    for part in ("train", "validation", "test"):
        own = gold[parts[part]]
        if len(own) and np.ptp(own) == 0.0:
            raise ValueError(
                f"{flag}: all {len(own)} {part} rows have the score {own[0]:g}: nothing can be told apart."
            )
    return gold


def _told(parts: Mapping[str, Any], test: str | None, folds: int) -> str:
    """How the rows are used, in words."""
    sizes = {part: len(columns[""]) for part, columns in parts.items()}
    if test is None:
        return f"nested {folds}-fold cross-validation of {sizes['train']:,} rows"
    chosen = "the validation rows" if test == "test" and "validation" in sizes else f"{folds}-fold cross-validation"
    return f"trained on {sizes['train']:,} rows, penalty by {chosen}, measured on the {test} rows"
