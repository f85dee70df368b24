"""Records with few measures, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

from hf_fairness.record import Arm, Measure, Record, Value, compare

ROLES: dict[str, Any] = {
    "original": "original",
    "ours": "method",
    "control": "control",
    "rival": "rival",
    "other": "variant",
}
#: Values of arms: clearly less, clearly more, and no clear change.
LESS = {"original": (1.0, 0.9, 1.1), "ours": (0.4, 0.3, 0.5)}
MORE = {"original": (0.4, 0.3, 0.5), "ours": (1.0, 0.9, 1.1)}
SAME = {"original": (1.0, 0.9, 1.1), "ours": (0.95, 0.85, 1.05)}


def measure(
    name: str,
    kind: Any = "bias",
    direction: Any = "lower",
    ideal: float | None = 0.0,
    more: dict[str, Any] | None = None,
    **values: float | tuple[float, float, float],
) -> Measure:
    """A measure with its values by arm: a number, or one with its interval. Further fields stand in `more`."""
    arms = {
        arm: Value(value[0], (value[1], value[2])) if isinstance(value, tuple) else Value(float(value))
        for arm, value in values.items()
    }
    return Measure(name, "", name, name, kind, ideal, direction, arms, **(more or {}))


def record(*measures: Measure, **more: Any) -> Record:
    """A record whose method is compared with every other arm."""
    names = [name for name in ROLES if any(name in each.values for each in measures)]
    arms = tuple(Arm(name, name, ROLES[name]) for name in names)
    pairs = [("ours", name) for name in names if name != "ours"]
    return Record("ccd", "a model", "a method", arms, measures, compare(measures, pairs), **more)
