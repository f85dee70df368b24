"""Write a text with the terms of other groups: counterparts with their capitals, articles, verbs, edits."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment import agreement
from hf_fairness.augment.edits import Edit, describe
from hf_fairness.augment.lexicon import Candidate, Hit
from hf_fairness.augment.memory import Memory
from hf_fairness.augment.scan import Scan

_LINK = re.compile(r"(?:['’]s?)? ?(?:/|\b(?:and|or)\b) ?")
_LONGEST_LINK = len("'s and ") + 1
_LONGEST_ONE = len(" every ")
_ARTICLE = re.compile(r"\b[Aa][Nn]?\s+$")


#: What is written for a term, group of the term, group that is written, what an ``edits`` column holds of the edit
#: beside its place, and whether all around the term stays as it is. A plain tuple: a named one is slower to unpack.
Counterpart = tuple[str, str, str, str, bool]

#: Source and candidate of a term -> its counterpart.
Counterparts = Memory[tuple[str, Candidate], Counterpart]


def write_quickly(text: str, hits: Sequence[Any], counterparts: Counterparts) -> tuple[str, str] | None:
    """What :func:`render` gives, where no word but the terms can change, with the edits as JSON; None where one might.

    Args:
        text: the source text.
        hits: its terms, in order; plain tuples will do.
        counterparts: of :func:`counterparts_for`.
    """
    written, records = "", ""
    done, last, left, right = 0, -_LONGEST_LINK, "", ""
    for start, end, candidate in hits:
        source = text[start:end]
        new, group, to, record, steady = counterparts[source, candidate]
        if not steady or (start - last < _LONGEST_LINK and left != group and right == to):
            return None  # an article may follow suit, or two terms may become one
        last, left, right = end, group, to
        if new != source:
            written += text[done:start] + new
            records += f', {{"span": [{start}, {end}], {record}}}'
            done = end
    return written + text[done:], f"[{records[2:]}]"


def render_quickly(text: str, hits: Sequence[Any], target: Mapping[str, str]) -> tuple[str, list[Edit]] | None:
    """The same with the edits as such, for a group of a term -> group to write."""
    counterparts = counterparts_for(target)
    quick = write_quickly(text, hits, counterparts)
    if quick is None:
        return None
    edits: list[Edit] = []
    for start, end, candidate in hits:
        source = text[start:end]
        new, group, to, _, _ = counterparts[source, candidate]
        if new != source:
            edits.append(Edit(start, end, source, new, f"{group}->{to}"))
    return quick[0], edits


def counterparts_for(target: Mapping[str, str]) -> Counterparts:
    """The counterparts of terms, for a group of a term -> group to write."""
    return _counterparts[tuple(target.items())]


def _counterpart(target: Mapping[str, str], key: tuple[str, Candidate]) -> Counterpart:
    source, candidate = key
    group = candidate.group
    to = target.get(group, group)
    if to == group:
        return source, group, group, "", True
    new = match_case(source, candidate.form, candidate.concept.forms[to][candidate.slot])
    steady = bool(new) and to != NEUTRAL and not agreement.article_differs(source, new)
    return new, group, to, describe((source, new, f"{group}->{to}", "")), steady


_counterparts = Memory[tuple[tuple[str, str], ...], Counterparts](
    lambda target: Memory(functools.partial(_counterpart, dict(target))), size=64
)


def render(
    text: str,
    hits: Sequence[Hit],
    scan: Scan | None,
    target: Mapping[str, str],
    pronouns_as: Mapping[str, str] | None = None,
    plural: bool = True,
) -> tuple[str, list[Edit]]:
    """Write a text with the terms of other groups.

    Args:
        text: the source text.
        hits: its terms, in order.
        scan: its tokens, where they are known already.
        target: group of a term -> group (or ``"neutral"``) to write.
        pronouns_as: forms by case that replace those of the neutral paradigm.
        plural: whether verbs of a neutral subject pronoun become plural.

    Returns:
        The new text and its edits, in order and without overlap.
    """
    changes: list[tuple[int, int, str, str]] = []
    for hit in hits:
        group = target.get(hit.candidate.group)
        if group is None or group == hit.candidate.group:
            continue
        source = text[hit.start : hit.end]
        form = hit.candidate.concept.forms[group][hit.candidate.slot]
        if pronouns_as and group == NEUTRAL and hit.candidate.concept.category == "pronoun":
            form = pronouns_as[hit.candidate.cell]
        direction = f"{hit.candidate.group}->{group}"
        new = match_case(source, hit.candidate.form, form)
        verbs = plural and group == NEUTRAL and hit.candidate.cell == "subject"
        if verbs or _ARTICLE.search(text, max(0, hit.start - 4), hit.start):
            scan = scan or Scan(text)
            changes += [(*change, direction) for change in _follow_ups(scan, hit, new, verbs=verbs)]
        changes.append((hit.start, _deletion_end(text, hit.end) if not new else hit.end, new, direction))
    if len(hits) > 1:
        changes = _collapse(text, hits, changes, target)
    return _apply(text, changes)


def match_case(source: str, form: str, new: str) -> str:
    """Write a new form with the capitals of the source.

    Args:
        source: what stands in the text.
        form: the source as the attribute file spells it.
        new: the counterpart as the attribute file spells it.

    Returns:
        The counterpart: as the file spells it if the source was, in capitals if the source was, with a
        capital first letter if the source had one.

    Example:
        >>> from hf_fairness.augment.rendering import match_case
        >>> match_case("HER", "her", "his"), match_case("Aunt", "aunt", "uncle")
        ('HIS', 'Uncle')
    """
    if source == form or not new:
        return new
    if len(source) > 1 and source.isupper():
        return new.upper()
    if source[0].isupper():
        if source.istitle() and ("-" in new or " " in source):
            return "".join(part[:1].upper() + part[1:] for part in re.split(r"([- ])", new))
        return new[0].upper() + new[1:]
    return new.lower() if source.islower() and not form.islower() else new


def _follow_ups(scan: Scan, hit: Hit, new: str, *, verbs: bool) -> list[tuple[int, int, str]]:
    """Verbs after a pronoun that becomes plural, and the article before a word whose first sound changes."""
    index = scan.at(hit.start)
    changes = agreement.plural_verbs(scan, index, hit.end) if verbs else []
    if hit.start == scan.starts[index]:
        onset = new or scan.text[hit.end :].lstrip()
        article = agreement.article_change(scan, index, scan.text[hit.start : hit.end], onset)
        if article:
            changes.append(article)
    return changes


def _deletion_end(text: str, end: int) -> int:
    return end + 1 if text[end : end + 1] in (" ", "-") else end


def _apply(text: str, changes: Iterable[tuple[int, int, str, str]]) -> tuple[str, list[Edit]]:
    pieces: list[str] = []
    edits: list[Edit] = []
    done, first_word = 0, len(text) - len(text.lstrip())
    for start, end, new, direction in sorted(changes):
        if start < done or text[start:end] == new:
            continue
        if not new and start <= first_word:  # a deleted first word hands on its capital
            follower = text[end : end + 1]
            if follower.islower() and text[start : start + 1].isupper():
                new, end = follower.upper(), end + 1
        pieces += [text[done:start], new]
        edits.append(Edit(start, end, text[start:end], new, direction))
        done = end
    return "".join([*pieces, text[done:]]), edits


def _collapse(
    text: str, hits: Sequence[Hit], changes: list[tuple[int, int, str, str]], target: Mapping[str, str]
) -> list[tuple[int, int, str, str]]:
    """Join *he or she* -> *they*, *men and women* -> *people* where both sides come out the same."""
    written = {change[0]: change for change in changes}
    merged: list[tuple[int, int, str, str]] = []
    for first, second in itertools.pairwise(hits):
        between = text[first.end : second.start]
        if not _LINK.fullmatch(between) or first.candidate.group == second.candidate.group:
            continue
        left = written.get(first.start, (first.start, first.end, text[first.start : first.end], ""))
        right = written.get(second.start, (second.start, second.end, text[second.start : second.end], ""))
        if left[2].lower() != right[2].lower() or not (left[3] or right[3]):
            continue
        new, cell = left[2], first.candidate.cell
        if "and" in between and cell == "singular":
            group = target.get(first.candidate.group, first.candidate.group)
            form = first.candidate.concept.forms[group][1]
            before = text[max(0, first.start - _LONGEST_ONE) : first.start].lower()
            if before.endswith((" a ", " an ", " one ", " each ", " every ")) or not form:
                continue
            new = match_case(text[first.start : first.end], first.candidate.form, form)
        elif "and" in between and cell == "any" and new:
            continue
        written.pop(second.start, None)
        end = max(right[1], second.end)
        written[first.start] = (first.start, end, new, left[3] or right[3])
        merged.append(written[first.start])
    return _without_parts(changes, merged) if merged else changes


def _without_parts(
    changes: list[tuple[int, int, str, str]], merged: list[tuple[int, int, str, str]]
) -> list[tuple[int, int, str, str]]:
    """The changes with those that were merged in the place of those that begin inside them."""
    kept: list[tuple[int, int, str, str]] = []
    ordered, place = sorted(changes), 0
    for span in merged:
        while place < len(ordered) and ordered[place][0] < span[0]:
            kept.append(ordered[place])
            place += 1
        while place < len(ordered) and ordered[place][0] < span[1]:
            place += 1
        while kept and span[0] <= kept[-1][0] < span[1]:
            kept.pop()
        kept.append(span)
    return kept + ordered[place:]
