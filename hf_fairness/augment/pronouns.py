"""Which case an ambiguous pronoun has: *her* is *him* or *his*, *his* is *her* or *hers*; and how sure that is.

The words around decide, by a fitted model (:mod:`.context_model`); what a form shows by itself is settled before.
"""

from __future__ import annotations

import functools
import re

from hf_fairness.augment.context_model import ContextModel, context_model, surroundings

OBJECT = "object"
DETERMINER = "possessive_determiner"
PRONOUN = "possessive_pronoun"

OBJECT_OR_DETERMINER = frozenset({OBJECT, DETERMINER})
DETERMINER_OR_PRONOUN = frozenset({DETERMINER, PRONOUN})
#: Cases of a form -> the model that tells them apart, and its first reading.
_MODELS = {OBJECT_OR_DETERMINER: ("object", OBJECT), DETERMINER_OR_PRONOUN: ("pronoun", PRONOUN)}
_TAGS = {
    OBJECT_OR_DETERMINER: {"PRP": OBJECT, "PRP$": DETERMINER},
    DETERMINER_OR_PRONOUN: {"PRP": PRONOUN},
}
#: How sure a tagger is of an ambiguous pronoun, and how sure it is what a form shows by itself.
TAGGED, SHOWN = 0.98, 0.99

_ATTACHED = re.compile(r"['’](\w+)|[-‑]\w")
_JOINING = frozenset("'’-‑")
_ENDS = frozenset(".,;!?")
_LINKS = frozenset({"/", "or", "and"})
#: Letters in which the words right beside a pronoun are looked for.
_NEAR = 24
_PARTNER = re.compile(r"\s*(?:[/&]|and\b|or\b)\s*(\w+)", re.IGNORECASE)
_CASES = {
    **dict.fromkeys(("him", "them", "me", "us"), OBJECT),
    **dict.fromkeys(("her", "his", "their", "my", "your", "our"), DETERMINER),
    **dict.fromkeys(("hers", "theirs", "mine", "yours", "ours"), PRONOUN),
}


def tagged(tag: str, cells: frozenset[str]) -> str:
    """Case that a Penn tag says; ``""`` where it leaves the case open: *his* is PRP$ before a noun and alone."""
    return _TAGS.get(cells, {}).get(tag, "")


@functools.cache
def _model(cells: frozenset[str]) -> tuple[ContextModel | None, str]:
    """The model that tells these cases apart, and its first reading."""
    name, first = _MODELS.get(cells, ("", ""))
    return context_model(name) if name else None, first


def resolve(text: str, start: int, end: int, cells: frozenset[str]) -> tuple[str, float]:
    """Case of a pronoun.

    Args:
        text: the text.
        start: offset of the pronoun.
        end: offset after it.
        cells: the cases that this form may have.

    Returns:
        One of ``cells``, and the chance in [0, 1] that it is right.

    Example:
        >>> from hf_fairness.augment.pronouns import OBJECT_OR_DETERMINER, resolve
        >>> [resolve(text, 7, 10, OBJECT_OR_DETERMINER)[0] for text in ("We saw her.", "We saw her dog.")]
        ['object', 'possessive_determiner']
    """
    model, first = _model(cells)
    if model is None:
        return min(cells), 1 / len(cells)
    follower = text[end : end + 1]
    attached = _ATTACHED.match(text, end) if follower in _JOINING else None
    if attached:  # her-self, her's
        return DETERMINER if OBJECT not in cells or (attached[1] or "").lower() == "s" else OBJECT, SHOWN
    if follower == " " or follower in _ENDS:
        before = text[max(0, start - _NEAR) : start].rstrip(" ").rpartition(" ")[2]
        after = text[end + (follower == " ") : end + _NEAR].partition(" ")[0]
        if after not in _LINKS and after != "&" and len(before) < _NEAR - 1 and len(after) < _NEAR - 1:
            chance = model.settled(before, after, text[start].islower())
            if chance is not None:
                return (first, chance) if chance > 0.5 else (DETERMINER, 1 - chance)
    around = surroundings(text, start, end)
    if around.after[0] in _LINKS:
        partner = _PARTNER.match(text, end)
        other = partner[1].lower() if partner else ""
        if _CASES.get(other) in cells - {DETERMINER} and other != text[start:end].lower():
            return _CASES[other], SHOWN  # him, his or hers
        if partner and _CASES.get(other) == DETERMINER and other != text[start:end].lower():
            around = surroundings(text, start, partner.end())  # his or her work
    if around.before[0] == "/" and around.before[1] in ("he", "they", "him"):  # she/her, he/him/his
        return first, SHOWN
    chance = model.chance(around)
    if chance > 0.5:
        return first, chance
    return DETERMINER, 1 - chance
