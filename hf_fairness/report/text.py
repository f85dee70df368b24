"""Words and numbers as people read them: formatting, limits, and what was not measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hf_fairness.record import Interval, mapping, non_finite, number
from hf_fairness.results import ABSENT as ABSENT
from hf_fairness.results import format_interval as format_interval
from hf_fairness.results import format_number as format_number
from hf_fairness.results import leaves

#: Said in every report, whatever the numbers are.
DISCLAIMER = (
    "These are measurements of a few kinds of bias on the texts named here. They do not show that the model "
    "is fair, and no set of such numbers could."
)

#: How intervals and verdicts are to be read.
BRACKETS = (
    "Brackets hold 95 % confidence intervals. A change counts as clear when the interval of the paired difference "
    "excludes 0 or, where no such interval is given, when the two intervals do not overlap; a change that is smaller "
    "than the difference between two seeds of one training, where that is known, never counts."
)

#: What no number of the report can show.
LIMITS = (
    "An interval covers the choice of the test items only: not the seed of the training, the wording of the "
    "templates, or the choice of the word lists.",
    "SEAT uses simple template sentences. Low effect sizes there do not mean that longer, natural texts are "
    "free of the association.",
    "An association in embeddings is not a harm, and its absence prevents none. What happens to people "
    "depends on the application, which has to be measured there, with the people concerned.",
    "Bias that shows in other ways, such as worse service for a group, stereotyped wording or erasure of a "
    "group, is not seen by distances between embeddings.",
    "A group that the word lists do not name is invisible here.",
)

_SECTIONS = {
    "seat": "Associations between groups and concepts (SEAT)",
    "cced": "Distances of group versions to the neutral text (CCED)",
    "probe": "How well a probe reads the group from the embedding",
    "utility": "Retained utility",
}


def format_value(value: float | None, ends: Interval | None) -> str:
    """A number with its interval."""
    return f"{format_number(value)} {format_interval(ends)}".strip()


def format_fixed(value: float, ends: Interval | None = None, form: str = ".3f") -> str:
    """A number with its interval, both written alike, as in ``"+.3f"``: for columns of numbers of one size."""
    shown = "" if ends is None else f" [{ends[0]:{form}}, {ends[1]:{form}}]"
    return f"{value:{form}}{shown}".replace("-", "−")


def joined(value: object) -> str:
    """A value, or a list of them, as text."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def format_percent(fraction: float | None) -> str:
    """A signed percentage, one decimal below 10 %."""
    if fraction is None:
        return ""
    text = f"{100 * fraction:+.{0 if abs(fraction) >= 0.1 else 1}f}".replace("-", "−")
    return f"{'0.0' if text in ('+0.0', '−0.0') else text}\N{NO-BREAK SPACE}%"


def format_change(change: float, relative: float | None, *, of_size: bool = False) -> str:
    """The change with its sign and, in brackets, as a share of the value (or its size) before."""
    signed = ("+" if change > 0 else "") + format_number(change)
    percent = format_percent(relative)
    return f"{signed} ({'size ' if of_size else ''}{percent})" if percent else signed


def relative_change(before: float, after: float, *, of_size: bool = False) -> float | None:
    """The change as a fraction of the value before (of its size, where signs may differ); None where it misleads."""
    old, new = (abs(before), abs(after)) if of_size else (before, after)
    return None if old < 0 or new < 0 or abs(old) <= 1e-12 else (new - old) / abs(old)


def display_name(label: object) -> str:
    """Name of a model for a public page: a Hub id stays, of a folder only the last part is shown."""
    text = str(label).strip() or "unnamed model"
    if text.startswith(("/", "~", "./", "../", "\\")) or re.match(r"^[A-Za-z]:[\\/]", text):
        return re.split(r"[\\/]", text.rstrip("\\/"))[-1] or "unnamed model"
    return text


def missing_sections(audit: Mapping[str, Any]) -> list[str]:
    """What this audit left out, in words: its own list, empty sections, then numbers that were not finite."""
    stated, utility = audit.get("not_measured"), mapping(audit, "utility")
    unlabelled = utility and number(utility, "sts_spearman") is None
    found = (
        *(map(str, stated) if isinstance(stated, (list, tuple)) else ()),
        *(f"{text}: no result in this audit" for key, text in _SECTIONS.items() if not mapping(audit, key)),
        *(["Agreement with human similarity scores: no labelled pairs were given"] if unlabelled else []),
        *(
            f"{path}: the result was not a finite number and is left out"
            for path in non_finite(audit)
            if not path.startswith("projection")
        ),
        f"Other attributes than {audit.get('attribute') or 'the one named above'}, and combinations of attributes",
        f"Other languages than {audit.get('language') or 'the one named above'}",
        "Effects in an application: retrieval, ranking, classification, with real users",
    )
    return list(dict.fromkeys(found))


def shown_settings(settings: Mapping[str, Any], *, without: Collection[str] = ()) -> dict[str, Any]:
    """Settings as a report shows them: what was set, and of files and folders the last part alone."""
    return {
        key: [shown_name(each) for each in value] if isinstance(value, (list, tuple)) else shown_name(value)
        for key, value in settings.items()
        if key not in without and value is not None and value != ""
    }


def shown_name(value: Any) -> Any:
    """A source as a reader knows it: its id, or the names of its files and folders without what is above them.

    Args:
        value: id, file or folder, several with commas between; anything else is returned as it is.
    """
    if not isinstance(value, (str, Path)):
        return value
    return ",".join(map(_shown, str(value).split(","))) if str(value).strip() else ""


def _shown(part: str) -> str:
    """One source, or ``NAME=SOURCE``."""
    if part and Path(part).exists():
        return Path(part).resolve().name
    name, equals, source = part.partition("=")
    return f"{name}={_shown(source)}" if equals and source and "/" not in name else display_name(part)


def setting_texts(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of every scalar in nested settings; lists are joined, curves left out, paths cut."""
    found = []
    for name, value in leaves(settings, ".", lambda key, part: key in {"loss_curve", "log_history"} or part is None):
        items = value if isinstance(value, (list, tuple)) else [value]
        if not any(item is None or isinstance(item, (Mapping, list, tuple)) for item in items):
            texts = (f"{item:.6g}" if isinstance(item, float) else display_name(item) for item in items)
            found.append((name, ", ".join(texts)))
    return found
