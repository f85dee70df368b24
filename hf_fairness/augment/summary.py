"""Counts of what a rewrite touches and what it leaves alone, for reports and data set cards."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.augment.engine import LANGUAGES, engine_for
from hf_fairness.maps import check_text
from hf_fairness.utils import FairnessWarning


def summarize(
    texts: Iterable[str], *, attribute: str | Path | Attribute = "gender", names: bool = False
) -> dict[str, Any]:
    """Count the texts that a rewrite changes, and say why the others stay.

    The map functions are pure and keep no counts; this pass over the same column gives them. A warning says
    how many texts are in another language, since these are left as they are.

    Args:
        texts: for example ``dataset["text"]``; read once.
        attribute: name, file or object.
        names: whether given names count as terms.

    Returns:
        ``n``: number of texts. ``with_terms``: texts that a rewrite to another group changes.
        ``without_terms``, ``empty``, ``other_language``: the rest; the four add up to ``n``.
        ``mixed``: texts with terms of more than one group (of ``with_terms``).
        ``terms``: group -> number of terms.

    Raises:
        TypeError: a text is none; the message holds its position.

    Example:
        >>> from hf_fairness.augment import summarize
        >>> counts = summarize(["She left.", "Rain.", ""])
        >>> counts["with_terms"], counts["without_terms"], counts["empty"], counts["terms"]
        (1, 1, 1, {'male': 0, 'female': 1})
    """
    value = load_attribute(attribute)
    engine = engine_for(value, names)
    in_language = LANGUAGES[value.language]
    counts = dict.fromkeys(("n", "with_terms", "without_terms", "empty", "other_language", "mixed"), 0)
    terms = dict.fromkeys(value.group_names, 0)
    for i, text in enumerate(texts):
        counts["n"] += 1
        if not check_text(text, f" at position {i}").strip():
            counts["empty"] += 1
            continue
        hits = engine.find(text)[0]
        if hits:
            counts["with_terms"] += 1
            counts["mixed"] += len({hit.candidate.group for hit in hits}) > 1
            for hit in hits:
                terms[hit.candidate.group] += 1
        else:
            counts["without_terms" if in_language(text) else "other_language"] += 1
    if counts["other_language"]:
        warnings.warn(
            f"{counts['other_language']} of {counts['n']} texts do not look like language "
            f"{value.language!r}; they are left as they are and count as texts without terms.",
            FairnessWarning,
            stacklevel=2,
        )
    return {**counts, "terms": terms}
