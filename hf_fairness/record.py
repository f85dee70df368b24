"""The one shape of a result: what was measured on which model, what changed, and what must be read beside it.

Every command puts what it found into a :class:`Record`; everything that is shown (terminal, Markdown, HTML, model card,
files on the Hub) is a function of it. The rule by which a difference counts stands here, once:

1. If an interval of the paired difference is given, the difference is clear when that interval excludes 0. For a
   measure whose ideal lies inside its range this holds only while both values lie on one side of the ideal; when they
   do not, rule 2 decides.
2. Otherwise it is clear when the two 95 % intervals of the distance to the ideal do not overlap. This is conservative:
   intervals may overlap a little although a paired test would tell the two apart.
3. A change that is smaller than the noise of the measure (two seeds of one training) is never clear.
4. Without intervals nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

#: Version of the layout of ``record.json``.
SCHEMA = "hf-fairness/record/1"

Interval: TypeAlias = tuple[float, float]
Kind: TypeAlias = Literal["bias", "utility", "information", "context"]
Direction: TypeAlias = Literal["lower", "higher", "zero", "chance", "none"]
Role: TypeAlias = Literal["original", "method", "control", "variant", "rival"]
Verdict: TypeAlias = Literal["improved", "worse", "no clear change", "no interval", "not judged"]


@dataclass(frozen=True)
class Declared:
    """What a number of a result is; the module of each score declares its own, once.

    Attributes:
        title: name in words, with the usual short name in brackets.
        kind: ``"bias"``, ``"utility"``, ``"information"`` (what a probe can read) or ``"context"``.
        ideal: best value; None where there is none.
        direction: which way is better: ``"zero"`` means nearer to the ideal, ``"chance"`` down to it.
        noise: differences smaller than this are not interpreted.
        convention: how it is computed, and how to read it, in one or two sentences.
    """

    title: str
    kind: Kind
    ideal: float | None
    direction: Direction
    noise: float = 0.0
    convention: str = ""


@dataclass(frozen=True)
class Value:
    """One number of one model.

    Attributes:
        value: finite, in the unit of the measure; rates are fractions.
        ci95: its 95 % interval; None where there is none.
        extras: further numbers to show beside it.
    """

    value: float
    ci95: Interval | None = None
    extras: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """One measure on one set of items, with its value for every model.

    Attributes:
        id: unique in the record, for example ``"cced/built-in/cced"``.
        set: name of the test or set of texts; may be empty.
        metric: key of the number in a result.
        title: name in words, with its set.
        kind: see :class:`Declared`; ``ideal``, ``direction``, ``noise`` and ``convention`` alike.
        values: by name of the arm; arms on which it was not measured are absent.
        part: of the data: ``"validation"`` numbers may have chosen something.
        sample: sample sizes in words.
        interval_over: what the intervals are over.
        detail: whether it is a part of another measure, and stands in tables only.
    """

    id: str
    set: str
    metric: str
    title: str
    kind: Kind
    ideal: float | None
    direction: Direction
    values: Mapping[str, Value]
    noise: float = 0.0
    convention: str = ""
    part: Literal["validation", "test"] = "test"
    sample: str = ""
    interval_over: Literal["items", "seeds", "both"] = "items"
    detail: bool = False


@dataclass(frozen=True)
class Arm:
    """One model of an experiment.

    Attributes:
        name: unique in the record.
        title: name for people.
        role: ``"original"``, ``"control"`` (the same without the method), ``"method"`` (what the command is for; at
            most one), ``"variant"`` or ``"rival"``.
        about: what it is, in one sentence; may be empty.
        training: how it was trained: steps, rows and the like.
    """

    name: str
    title: str
    role: Role
    about: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Gap:
    """One arm compared with another on one measure.

    Attributes:
        measure: its id.
        arm: name of the arm in question.
        against: name of the other.
        difference: value of the arm less that of the other.
        ci95: interval of the paired difference; None where it was not measured.
        p_value: of the paired comparison, None where there is none.
        p_adjusted: how the p-value was adjusted for many tests; empty if it was not.
        verdict: whether the arm is better, by the rule of this module.
        basis: what the verdict rests on.
    """

    measure: str
    arm: str
    against: str
    difference: float
    verdict: Verdict
    basis: str
    ci95: Interval | None = None
    p_value: float | None = None
    p_adjusted: str = ""


@dataclass(frozen=True)
class Table:
    """A table that only one method has: its heading and rows, as text.

    Attributes:
        title: what it shows.
        rows: the heading, then the rows; all of the same length.
        note: how to read it; may be empty.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Record:
    """What a command found.

    Attributes:
        command: the command that made it, such as ``"audit"``.
        name: of the report, as the person chose it, or of the model.
        method: what was done, in one sentence; the source in brackets.
        arms: the models, the original one first.
        measures: in the order of the report.
        gaps: comparisons of arms.
        asked: the settings of the run.
        subject: what was measured: attribute, language, data ...
        outcome: a sentence that goes before the findings where they cannot say it; may be empty.
        cautions: what changes how the numbers are to be read.
        no_control: why no arm is a control, where that has a reason; empty: none was measured.
        tables: what only this method has.
        figures: the pictures by name: data that :mod:`hf_fairness.report.plots` draws.
        texts: texts of the person's own data with the largest gap, by title; only where they were asked for.
        limits: what these numbers do not show.
        not_measured: in words.
        provenance: date, versions, seed.
        task: of the models, as the Hub calls it.
    """

    command: str
    name: str
    method: str
    arms: tuple[Arm, ...]
    measures: tuple[Measure, ...]
    gaps: tuple[Gap, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    subject: Mapping[str, Any] = field(default_factory=dict)
    outcome: str = ""
    cautions: tuple[str, ...] = ()
    no_control: str = ""
    tables: tuple[Table, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    task: str = "feature-extraction"
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        names, ids = [arm.name for arm in self.arms], [measure.id for measure in self.measures]
        for what, found in (("arm", names), ("measure", ids)):
            if twice := sorted({each for each in found if found.count(each) > 1}):
                raise ValueError(f"Two of the {what}s of a record are called {twice[0]!r}; names are unique.")
        unknown = {name for measure in self.measures for name in measure.values} - set(names)
        unknown |= {name for gap in self.gaps for name in (gap.arm, gap.against)} - set(names)
        if unknown:
            raise ValueError(f"A record has values of {sorted(unknown)[0]!r}, and no such arm; it has {names}.")
        if lost := {gap.measure for gap in self.gaps} - set(ids):
            raise ValueError(f"A gap is of the measure {sorted(lost)[0]!r}, which the record lacks.")
        if len([arm for arm in self.arms if arm.role == "method"]) > 1:
            raise ValueError("A record has one arm whose role is 'method'.")
        if any(len(row) != len(table.rows[0]) for table in self.tables for row in table.rows):
            raise ValueError("The rows of a table differ in length.")

    def arm(self, role: Role) -> Arm | None:
        """The first arm of a role; None where there is none."""
        return next((arm for arm in self.arms if arm.role == role), None)

    def gap(self, measure: Measure, arm: Arm | None, against: Arm | None) -> Gap | None:
        """The comparison of two arms on a measure; None where they were not compared."""
        if arm is None or against is None:
            return None
        key = (measure.id, arm.name, against.name)
        return next((gap for gap in self.gaps if (gap.measure, gap.arm, gap.against) == key), None)

    def to_json(self) -> dict[str, Any]:
        """JSON values; NaN and infinities become None."""
        found: dict[str, Any] = plain(asdict(self))
        return found

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Record:
        """Read what :meth:`to_json` made.

        Raises:
            ValueError: another schema, a key that is missing or unknown, or a value of another type; says which.
        """
        if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
            found = value.get("schema") if isinstance(value, Mapping) else type(value).__name__
            raise ValueError(f"Not a record of this version: its schema is {found!r}, expected {SCHEMA!r}.")
        record: Record = _read(cls, value, "record")
        return record


def compare(
    measures: Iterable[Measure],
    pairs: Iterable[tuple[str, str]],
    paired: Mapping[tuple[str, str, str], Mapping[str, Any]] | None = None,
) -> tuple[Gap, ...]:
    """Every comparison of two arms on every measure that both have.

    Args:
        measures: of the record.
        pairs: (arm, against), by name.
        paired: by (measure id, arm, against) what a paired comparison found: ``ci95``, ``p_value``, ``p_adjusted``.

    Returns:
        Gaps with verdicts, measure by measure.
    """
    found, pairs, known = [], list(pairs), dict(paired or {})
    for measure in measures:
        for arm, against in pairs:
            if arm not in measure.values or against not in measure.values:
                continue
            ours, theirs = measure.values[arm], measure.values[against]
            test = known.get((measure.id, arm, against), {})
            verdict, basis = judge(measure, theirs, ours, test.get("ci95"))
            found.append(Gap(measure.id, arm, against, ours.value - theirs.value, verdict, basis, **test))
    return tuple(found)


def judge(
    measure: Measure | Declared, before: Value, after: Value, ci95: Interval | None = None
) -> tuple[Verdict, str]:
    """Whether a measure is better after than before, by the rule of this module.

    Args:
        measure: ``direction``, ``ideal`` and ``noise`` are read.
        before: value of the arm it is compared with.
        after: value of the arm in question.
        ci95: interval of the paired difference after less before, if known.

    Returns:
        The verdict and what it rests on.
    """
    direction, ideal = measure.direction, measure.ideal
    if direction == "none":
        return "not judged", "this number has no better direction"
    difference = cost(after.value, ideal, direction) - cost(before.value, ideal, direction)
    if abs(difference) < measure.noise:
        return "no clear change", f"smaller than {measure.noise:g}, the difference between two training seeds"
    centre = ideal or 0.0
    same_side = (before.value - centre) * (after.value - centre) > 0
    if ci95 is not None and (direction != "zero" or same_side):
        if ci95[0] <= 0.0 <= ci95[1] or difference == 0.0:
            return "no clear change", "the interval of the paired difference holds 0"
        return ("improved" if difference < 0 else "worse"), "the interval of the paired difference excludes 0"
    if before.ci95 is None or after.ci95 is None:
        return "no interval", "an interval is missing, so nothing can be decided"
    old, new = (_cost_interval(value.ci95, ideal, direction) for value in (before, after) if value.ci95)
    if new[1] < old[0]:
        return "improved", "the 95 % intervals do not overlap"
    if new[0] > old[1]:
        return "worse", "the 95 % intervals do not overlap"
    return "no clear change", "the 95 % intervals overlap"


def cost(value: float, ideal: float | None, direction: Direction) -> float:
    """How far a value is from the best one: less is better, whatever the direction."""
    if direction == "higher":
        return -value
    if direction == "zero":
        return abs(value - (ideal or 0.0))
    if direction == "chance":
        return max(value - (ideal or 0.0), 0.0)
    return value


def _cost_interval(ci95: Interval, ideal: float | None, direction: Direction) -> Interval:
    ends = sorted(cost(end, ideal, direction) for end in ci95)
    if direction == "zero" and ci95[0] <= (ideal or 0.0) <= ci95[1]:
        return 0.0, ends[1]
    return ends[0], ends[1]


def number(section: Mapping[str, Any], key: str) -> float | None:
    """The finite number under a key; None where it is absent, no number, NaN or infinite."""
    value = section.get(key)
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return float(value)


def interval(section: Mapping[str, Any], key: str) -> Interval | None:
    """The interval ``[low, high]`` under a key; None where it is absent or not finite."""
    value = section.get(key)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        return None
    low, high = (number({"end": end}, "end") for end in value)
    return None if low is None or high is None else (min(low, high), max(low, high))


def mapping(section: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under a key; empty where it is absent or of another type."""
    value = section.get(key)
    return value if isinstance(value, Mapping) else {}


def non_finite(value: Any, path: str = "") -> list[str]:
    """Paths of all numbers in a nested result that are NaN or infinite."""
    if isinstance(value, Mapping):
        return [p for key, item in value.items() for p in non_finite(item, f"{path}/{key}" if path else str(key))]
    if isinstance(value, (list, tuple)):
        return [p for index, item in enumerate(value) for p in non_finite(item, f"{path}[{index}]")]
    return [path] if isinstance(value, Real) and not math.isfinite(value) else []


def read_measures(
    sections: Mapping[str, Mapping[str, Any]],
    declared: Mapping[str, Declared],
    *,
    path: str,
    set_name: str = "",
    set_title: str = "",
    extras: Mapping[str, str] | None = None,
    **more: Any,
) -> Iterator[Measure]:
    """The declared numbers of the results of one set.

    Args:
        sections: result of a score by arm: numbers under the declared keys, intervals under ``<key>_ci95``.
        declared: what to read, see :class:`Declared`.
        path: begins the ids of the measures.
        set_name: name of the set.
        set_title: the set in words, for the title; default: its name.
        extras: further numbers of a section to show beside each value: key and words.
        **more: further fields of the measures.

    Yields:
        A measure for each key that any arm has.
    """
    beside = {
        arm: {words: found for name, words in (extras or {}).items() if (found := number(section, name)) is not None}
        for arm, section in sections.items()
    }
    for key, what in declared.items():
        values = {
            arm: Value(found, interval(section, f"{key}_ci95"), beside[arm])
            for arm, section in sections.items()
            if (found := number(section, key)) is not None
        }
        if values:
            where = set_title or set_name
            yield Measure(
                **{
                    "id": "/".join(part for part in (path, set_name, key) if part),
                    "set": set_name,
                    "metric": key,
                    "title": f"{what.title}: {where}" if where else what.title,
                    "values": values,
                    **{each.name: getattr(what, each.name) for each in fields(what) if each.name != "title"},
                    **more,
                }
            )


def plain(value: Any) -> Any:
    """A nested result as JSON values: string keys, Python numbers, and None for NaN and infinities.

    Args:
        value: dicts, lists, tuples, sets, paths, numpy scalars and arrays, strings, numbers.

    Returns:
        The same as dicts, lists, str, int, float, bool and None.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "tolist") and not isinstance(value, (int, float)):
        return plain(value.tolist())  # numpy and torch, without importing either
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)


def _read(wanted: Any, value: Any, path: str) -> Any:
    """A value of the wanted type from JSON, or an error that says where it is of another."""
    origin, parts = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return value
    if is_dataclass(wanted) and isinstance(value, Mapping):
        hints, known = get_type_hints(wanted), {each.name: each for each in fields(wanted)}
        needed = {name for name, each in known.items() if each.default is MISSING and each.default_factory is MISSING}
        if wrong := sorted(set(value) - set(known)) + sorted(needed - set(value)):
            raise ValueError(f"{path}: {', '.join(wrong)} missing or unknown; expected {', '.join(known)}.")
        assert isinstance(wanted, type)
        return wanted(**{name: _read(hints[name], item, f"{path}.{name}") for name, item in value.items()})
    if origin is UnionType:
        fits = [part for part in parts if part is not NoneType]
        return None if value is None and NoneType in parts else _read(fits[0], value, path)
    if origin is Literal and value in parts:
        return value
    if origin is tuple and isinstance(value, (list, tuple)):
        kinds = [parts[0]] * len(value) if parts[-1] is ... else list(parts)
        if len(kinds) == len(value):
            return tuple(
                _read(kind, item, f"{path}[{k}]") for k, (kind, item) in enumerate(zip(kinds, value, strict=True))
            )
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, Mapping):
        return {key: _read(parts[1], item, f"{path}.{key}") for key, item in value.items()}
    if wanted is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(wanted, type) and not is_dataclass(wanted) and type(value) is wanted:
        return value
    raise ValueError(f"{path}: got {value!r:.80}, expected {getattr(wanted, '__name__', wanted)}.")
