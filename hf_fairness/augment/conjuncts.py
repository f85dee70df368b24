"""Terms side by side that come out the same become one: *he or she* is *they*, *Jews and Muslims* are *believers*."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hf_fairness.augment.capitals import match_case
from hf_fairness.augment.lexicon import Hit

#: (start, end, new text, direction) of one change in the source text.
Change = tuple[int, int, str, str]

_DETERMINER = r"(?:(?P<determiner>the|an?|my|your|his|her|our|their|some|no) )?"
_LINK = re.compile(rf"(?P<ending>['’]s?)?(?P<sign> ?/ ?|,? (?:and|or|&) |, ){_DETERMINER}", re.IGNORECASE)
#: The end of a list after the last term: *men, women and children*.
_ENDS = re.compile(r"(?P<sign>,? (?:and|or|&) )", re.IGNORECASE)
_BEFORE = re.compile(r"\b(the|an?|my|your|his|her|our|their|some|no|one|each|every|both) $", re.IGNORECASE)
_PLURAL_VERB = re.compile(r" (?:are|were|have|both|do|aren't|weren't)\b")
_NUMBERS = {2: "two", 3: "three", 4: "four"}
#: Longest text between two terms of a list.
LONGEST_LINK = len("'s, and their ")
_LONGEST_DETERMINER = len(" every ")


class _Link(NamedTuple):
    """What stands between two terms.

    Attributes:
        text: all of it.
        sign: without a possessive ending before it and a determiner after it; ``""`` inside *s/he*.
        determiner: of the second term, in lower case.
    """

    text: str
    sign: str
    determiner: str

    @property
    def joins(self) -> bool:
        """Whether it joins the terms to a plural."""
        return self.sign.strip(" ,").lower() in ("and", "&", "")


class _Item(NamedTuple):
    """One member of a list in its new form.

    Attributes:
        start: offset of its first character.
        end: offset after its last one.
        new: what stands there then.
        direction: of its edit; ``""`` if it stays.
        hit: its term, the first one if there were several.
        form: the new form of one term alone.
        size: number of terms that it stands for.
    """

    start: int
    end: int
    new: str
    direction: str
    hit: Hit
    form: str
    size: int = 1


def collapse(text: str, hits: Sequence[Hit], changes: list[Change], target: Mapping[str, str]) -> list[Change]:
    """Join terms that stand side by side where they come out the same.

    Args:
        text: the source text.
        hits: its terms, in order.
        changes: what becomes of them and of the words around them.
        target: group of a term -> group (or ``"neutral"``) that is written.

    Returns:
        The changes, with one for each group of terms that was joined.
    """
    written = {change[0]: change for change in changes}
    merged: list[Change] = []
    for run, links in _lists(text, hits):
        merged += _joined(text, run, links, written, target)
    return _without_parts(changes, merged) if merged else changes


def _lists(text: str, hits: Sequence[Hit]) -> Iterator[tuple[list[Hit], list[_Link]]]:
    """Terms with nothing between them but commas and conjunctions: two of them, or a list that ends in one."""
    run, links = [hits[0]], list[_Link]()
    for place, hit in enumerate((*hits[1:], None), 1):
        owner = (
            hit and hit.candidate.cell == "possessive_determiner" and run[-1].candidate.concept.category != "pronoun"
        )
        if owner and place + 1 < len(hits) and _link_between(text, run[-1], hits[place + 1]):
            continue  # "his mother and his father"
        link = _link_between(text, run[-1], hit) if hit else None
        if hit and link and not (link.sign == ", " and links and links[-1].sign != ", "):
            run.append(hit)
            links.append(link)
            continue
        while links and links[-1].sign == ", " and not _ENDS.match(text, run[-1].end):  # no list: "ladies, gentlemen"
            run.pop()
            links.pop()
        if links:
            yield run, links
        if hit:
            run, links = [hit], []


def _link_between(text: str, first: Hit, second: Hit) -> _Link | None:
    between = text[first.end : second.start] if second.start - first.end <= LONGEST_LINK else ""
    if first.candidate.tail:
        return _Link("", "", "") if first.end == second.start else None
    match = _LINK.fullmatch(between)
    return _Link(between, match["sign"], (match["determiner"] or "").lower()) if match else None


def _joined(
    text: str, run: Sequence[Hit], links: Sequence[_Link], written: Mapping[int, Change], target: Mapping[str, str]
) -> list[Change]:
    """The changes that replace those of a list; none where all its members stay apart."""
    end = _ENDS.match(text, run[-1].end) if links[-1].sign == ", " else None
    last = _Link(end[0], end["sign"], "") if end else links[-1]
    items = [_item(text, run[0], written)]
    kept: list[_Link] = []
    for hit, link in zip(run[1:], links, strict=True):
        item = _item(text, hit, written)
        one = _merged(text, items[-1], item, link, last, target)
        if one:
            items[-1] = one
        else:
            items.append(item)
            kept.append(link)
    if len(items) == len(run):
        return []
    if all(link.sign != ", " for link in links):
        return [(item.start, item.end, item.new, item.direction) for item in items if item.size > 1]
    new = items[0].new
    for place, (item, link) in enumerate(zip(items[1:], kept, strict=True), 2):
        closing = last.sign if len(items) > 2 else last.sign.lstrip(",")
        new += closing if place == len(items) and not end else ", "
        new += f"{link.determiner} {item.new}" if link.determiner else item.new
    stop = items[-1].end + bool(end and end[0].startswith(",") and len(items) == 1)  # "people and children": no comma
    direction = next(item.direction for item in items if item.direction)
    return [(items[0].start, stop, new, direction)]


def _item(text: str, hit: Hit, written: Mapping[int, Change]) -> _Item:
    change = written.get(hit.start)
    if change:
        new = change[2].removesuffix(hit.candidate.tail)
        return _Item(change[0], max(change[1], hit.end), new, change[3], hit, new)
    old = said(text, hit)
    return _Item(hit.start, hit.end, old, "", hit, old)


def said(text: str, hit: Hit) -> str:
    """The term as the text writes it; in the place of the first part of *s/he* the word that it stands for."""
    source = text[hit.start : hit.end]
    if not hit.candidate.tail:
        return source
    if not any(map(str.isupper, source)):
        return str(hit.candidate.form)
    return str(hit.candidate.form.upper() if text[hit.end : hit.end + 2].isupper() else hit.candidate.form.capitalize())


def _merged(text: str, left: _Item, right: _Item, link: _Link, last: _Link, target: Mapping[str, str]) -> _Item | None:
    """Two members as one, None where they stay apart."""
    if left.form.lower() != right.form.lower() or not (left.direction or right.direction):
        return None
    first = left.hit.candidate
    if left.size == 1 and first.group == right.hit.candidate.group:
        return None
    before = _BEFORE.search(text[max(0, left.start - _LONGEST_DETERMINER) : left.start])
    determiner = before[1].lower() if before else ""
    one = left._replace(end=right.end, direction=left.direction or right.direction, size=left.size + 1)
    indefinite = link.determiner in ("a", "an")
    if link.determiner and not (indefinite and left.size > 1):
        same = determiner in ("a", "an") if indefinite else determiner == link.determiner
        if not same:
            return None
    if not link.sign or not last.joins:
        return one
    if before and determiner == "both":  # "both men and women"
        one = one._replace(start=left.start - len("both "))
        if before[1][0].isupper():
            one = one._replace(new=one.new[:1].upper() + one.new[1:])
        determiner = ""
    if first.cell == "any" and left.new and not first.concept.when:  # "Islam and Judaism", but not "ma and pa"
        return one if first.form[0].isupper() and not _PLURAL_VERB.match(text, right.end) else None
    if first.cell != "singular" or determiner in ("each", "every"):
        return one
    plural = first.concept.forms[target.get(first.group, first.group)][1]
    if not plural or (determiner in ("a", "an", "one") and not link.determiner):
        return None
    new = match_case(said(text, left.hit), first.form, plural)
    if new[-1:] in ("s", "S") and text[right.end : right.end + 2] in ("'s", "’s", "'S", "’S"):  # "mum and dad's house"
        one, new = one._replace(end=right.end + 2), new + text[right.end]
    if not indefinite:
        return one._replace(new=new)
    number = _NUMBERS.get(one.size)
    if not number or not before or one.size > 2:
        return None
    article = text[left.start - len(before[0]) : left.start]
    return one._replace(start=left.start - len(before[0]), new=f"{match_case(article.strip(), '', number)} {new}")


def _without_parts(changes: list[Change], merged: list[Change]) -> list[Change]:
    """The changes with those that were merged in the place of those that begin inside them."""
    kept: list[Change] = []
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
