"""Write a text with the terms of other groups: counterparts with their capitals, articles, verbs, edits."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment import agreement
from hf_fairness.augment.capitals import match_case, opens_sentence
from hf_fairness.augment.conjuncts import LONGEST_LINK, Change, collapse, said
from hf_fairness.augment.edits import Edit, describe, dump_edits
from hf_fairness.augment.lexicon import Candidate, Hit
from hf_fairness.augment.prose import no_prose, touches
from hf_fairness.augment.scan import Scan

_ARTICLE = re.compile(r"\b[Aa][Nn]?\s+$")
_APOSTROPHES = ("'", "’")
#: *(s)* after a singular.
_PLURAL_MARK = re.compile(r"\((?:e?s|ren)\)(?!\w)", re.IGNORECASE)
#: Quotation marks that open or close; an apostrophe after a plural closes one where the last one opened.
_QUOTE = re.compile(r"(?<!\w)(['‘])(?=\w)|(?<=\S)['’](?!\w)")
_SENTENCE = 300  # characters before an apostrophe that are looked at


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
    changes: list[Change] = []
    for hit in hits:
        start, end, candidate = hit.start, hit.end, hit.candidate
        group = target.get(candidate.group)
        if group is None or group == candidate.group:
            continue
        source = said(text, hit)
        new, direction, _, steady, _ = _counterpart(source, candidate, group)
        if pronouns_as and group == NEUTRAL and candidate.concept.category == "pronoun":
            new = match_case(source, candidate.form, pronouns_as[candidate.cell])
        if new[:1].islower() and source[0].isupper() and opens_sentence(text, start):
            new = new[0].upper() + new[1:]
        verbs = plural and group == NEUTRAL and candidate.cell == "subject"
        if verbs or (not steady and _ARTICLE.search(text, max(0, start - 4), start)):
            scan = scan or Scan(text)
            changes += [(*change, direction) for change in _follow_ups(scan, hit, new, verbs=verbs)]
        changes += [(*change, direction) for change in _endings(text, end, candidate, new, group)]
        changes.append((start, _deletion_end(text, end) if not new else end, new + candidate.tail, direction))
    if len(hits) > 1:
        changes = collapse(text, hits, changes, target)
    return _apply(text, changes)


def write(text: str, hits: Sequence[Hit], scan: Scan | None, target: Mapping[str, str]) -> tuple[str, str]:
    """What :func:`render` gives, with the edits as the JSON string of an ``edits`` column.

    Where no word but the terms can change, which is most texts, no edits are made first, which saves a fifth of the
    time of a swap. A test holds the two together.
    """
    brackets = "(" in text
    if len(hits) == 1 and not brackets:
        start, end, candidate, _ = hits[0]
        source = text[start:end]
        new, _, record, steady, ends = _counterpart(source, candidate, target.get(candidate.group, candidate.group))
        if steady and not (ends and text[end : end + 1] in _APOSTROPHES):
            if new == source:
                return text, "[]"
            return f"{text[:start]}{new}{text[end:]}", f'[{{"span": [{start}, {end}], {record}}}]'
    written, records = "", ""
    done, last, left, right = 0, -len(text) - LONGEST_LINK, "", ""
    for start, end, candidate, _ in hits:
        source, group = text[start:end], candidate.group
        to = target.get(group, group)
        new, _, record, steady, ends = _counterpart(source, candidate, to)
        joined = left != group and right == to and start - last <= LONGEST_LINK
        changes = joined or not steady or (ends and text[end : end + 1] in _APOSTROPHES)
        if changes or (brackets and text[end : end + 1] == "("):
            rendered, edits = render(text, hits, scan, target)  # an article follows suit, or two terms become one
            return rendered, dump_edits(edits)
        last, left, right = end, group, to
        if new != source:
            written += text[done:start] + new
            records += f', {{"span": [{start}, {end}], {record}}}'
            done = end
    return written + text[done:], f"[{records[2:]}]"


@functools.lru_cache(maxsize=1 << 14)
def _counterpart(source: str, candidate: Candidate, group: str) -> tuple[str, str, str, bool, bool]:
    """What a group has in the place of a term.

    Returns:
        The new form, direction and record of the edit, whether all around it stays but for a possessive ending, and
        whether such an ending may change.
    """
    direction = f"{candidate.group}->{group}"
    if group == candidate.group:
        return source, direction, "", True, False
    new = match_case(source, candidate.form, candidate.concept.forms[group][candidate.slot])
    steady = bool(new) and group != NEUTRAL and not agreement.article_differs(source, new) and not candidate.tail
    noun = candidate.concept.category != "pronoun"
    if noun and steady:  # a capital may change too
        steady = not (new[0].islower() and source[0].isupper())
    return new, direction, describe(source, new, direction, ""), steady, noun and _in_s(source) != _in_s(new)


def _follow_ups(scan: Scan, hit: Hit, new: str, *, verbs: bool) -> list[tuple[int, int, str]]:
    """Verbs after a pronoun that becomes plural, and the article before a word whose first sound changes."""
    index = scan.at(hit.start)
    changes = agreement.plural_verbs(scan, index, hit.end) if verbs else []
    if hit.start == scan.starts[index]:
        onset = new or scan.text[hit.end :].lstrip()
        article = agreement.article_change(scan, index, scan.text[hit.start : hit.end], onset)
        if article:
            changes.append(article)
    return [change for change in changes if scan.in_prose(change[0], change[1])]


def _in_s(word: str) -> bool:
    return word[-1:] in ("s", "S")


def _endings(text: str, end: int, candidate: Candidate, new: str, group: str) -> list[tuple[int, int, str]]:
    """What becomes of a possessive ending, or of *(s)*, after a term: *ladies' room* is *gentlemen's room*."""
    if candidate.concept.category == "pronoun" or not new:
        return []
    if text[end : end + 1] == "(" and candidate.cell == "singular" and (mark := _PLURAL_MARK.match(text, end)):
        plural = candidate.concept.forms[group][1]
        ending = f"({plural[len(new) :]})" if plural.lower().startswith(new.lower()) else f"/{plural}"
        return [(end, mark.end(), ending)] if ending != mark.group() else []
    if text[end : end + 1] not in _APOSTROPHES:
        return []
    after = text[end + 1 : end + 3]
    if after[:1] in ("s", "S") and not after[1:].isalpha():
        alone = candidate.cell == "plural" and _in_s(new) and not _in_s(text[end - 1])
        return [(end + 1, end + 2, "")] if alone else []
    if after[:1].isalpha() or not _in_s(text[end - 1]) or _in_s(new) or _closes_quotation(text, end):
        return []
    return [(end + 1, end + 1, "S" if new.isupper() else "s")]


def _closes_quotation(text: str, place: int) -> bool:
    """Whether an apostrophe ends a quotation that began before it."""
    signs = _QUOTE.findall(text, max(0, place - _SENTENCE), place)
    return bool(signs and signs[-1])


def _deletion_end(text: str, end: int) -> int:
    return end + 1 if text[end : end + 1] in (" ", "-") else end


def _apply(text: str, changes: Iterable[Change]) -> tuple[str, list[Edit]]:
    pieces: list[str] = []
    edits: list[Edit] = []
    done = 0
    for start, end, new, direction in sorted(changes):
        source = text[start:end]
        if start < done or source == new:
            continue
        if not new and opens_sentence(text, start):  # a deleted first word hands on its capital
            follower = text[end : end + 1]
            if follower.islower() and source[:1].isupper() and not touches(no_prose(text), end, end + 1):
                new, end = follower.upper(), end + 1
                source = text[start:end]
        pieces += (text[done:start], new)
        edits.append(Edit(start, end, source, new, direction))
        done = end
    return "".join(pieces) + text[done:], edits
