"""How likely a swap is right: a risk for every changed term and for every term left alone, by what it is.

    p = exp(-sum of risks) x product of the certainties of ambiguous pronouns

Risks were estimated on 1,319 sentences whose gender swaps were judged; `benchmarks.swap_confidence` fits them and tells
how well they do on sentences left out. The risks of a capital, a sign or a phrase were named with sight of these
sentences, so that the numbers of a cross-validation are a little too good.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence

from hf_fairness.attributes import Attribute
from hf_fairness.augment import english as en
from hf_fairness.augment.lexicon import Hit
from hf_fairness.augment.prose import touches
from hf_fairness.augment.scan import Scan

#: Risk -> minus the logarithm of how often such a term is right, all else being equal.
#: ``text``: of every text; ``pronoun``, ``case`` (a pronoun of several cases), ``noun``, ``rare noun``, ``name``: of
#: every changed term, with those below that hold for it; ``left``, ``left capital``: of every term left alone; the
#: others are of the text.
RISKS = {
    "text": 0.0016,
    "pronoun": 0.0021,
    "case": 0.0052,
    "noun": 0.0085,
    "rare noun": 0.0829,
    "name": 0.1000,
    "capital": 0.1661,
    "call": 0.0666,
    "plural possessive": 0.0666,
    "headline": 0.0440,
    "beside a sign": 0.0322,
    "chat": 0.4013,
    "left": 0.0583,
    "left capital": 0.1476,
    "no last sign": 0.0178,
    "inherent": 0.0338,
}

#: Nouns that are common in any text; the others are more often part of a name or a phrase.
_COMMON = en.words(
    "man men woman women boy boys girl girls guy guys male males female females lady ladies gentleman gentlemen mother "
    "mothers father fathers mom moms mum mums dad dads mommy daddy son sons daughter daughters wife wives husband "
    "husbands sister sisters brother brothers aunt aunts uncle uncles girlfriend boyfriend girlfriends boyfriends "
    "grandmother grandfather grandma grandpa"
)
_WORD = re.compile(r"[^\W_]+")
_AGE = re.compile(r"\d\d[mf]")
_SIGNS = frozenset("<>{}[]`*_/\\@#=&|~^+")
#: Spellings of chat that no attribute lists; ages (34F) say a gender too.
_CHAT = en.words(
    "shes hes hims hisself theirself himselfs herselfs himselves herselves boi bois boyz gurl gurls gurlz grl grls "
    "girlz hubs hubby hubbies wifey wifeys"
)


def probability(counts: Counter[str], certainty: float) -> float:
    """Chance that all changes are right and none lacks.

    Args:
        counts: how often each risk occurs, as `risks` gives it.
        certainty: product of the certainties of the changed pronouns, in [0, 1].

    Returns:
        In [0, 1]; more risks and less certainty never give more.
    """
    return certainty * math.exp(-sum(RISKS[name] * n for name, n in counts.items()))


def risks(text: str, changed: Sequence[Hit], spans: Sequence[tuple[int, int]], attribute: Attribute) -> Counter[str]:
    """Count the risks of one text.

    Args:
        text: the source.
        changed: its terms that were changed.
        spans: start and end of all edits, in any order.
        attribute: the attribute that was swapped.

    Returns:
        Key of :data:`RISKS` -> number.
    """
    edits = sorted(spans)
    places = [match.span() for match in _WORD.finditer(text)]
    kept = [(text[start:end].lower(), start, end) for start, end in places if not touches(edits, start, end)]
    left = [(start, end) for word, start, end in kept if word in _single_terms(attribute)]
    counts = Counter(["text", *("chat" for word, _, _ in kept if word in _CHAT or _AGE.fullmatch(word))])
    if not changed and not left:
        return counts
    scan = Scan(text)
    for hit in changed:
        counts.update(_of_change(scan, hit))
    for start, end in left:
        if scan.in_prose(start, end):
            counts["left capital" if text[start].isupper() else "left"] += 1
    if counts.total() > 1 and text.rstrip()[-1:].isalnum():  # a headline, a note in a chat
        counts["no last sign"] = 1
    if changed:
        counts["inherent"] += sum(1 for _ in attribute.inherent_spans(text))
    return counts


@functools.lru_cache(maxsize=32)
def _single_terms(attribute: Attribute) -> frozenset[str]:
    """Terms of one word, in lower case."""
    found = {term.text.lower() for group in attribute.groups for term in group.terms}
    return frozenset(term for term in found if _WORD.fullmatch(term))


def _of_change(scan: Scan, hit: Hit) -> list[str]:
    """The risks of a changed term."""
    index, concept = scan.at(hit.start), hit.candidate.concept
    kind = concept.category if concept.category in ("pronoun", "name") else "noun"
    rare = kind == "noun" and scan.lower[index].removesuffix("'s") not in _COMMON
    found = ["case" if hit.certainty < 1 else "rare noun" if rare else kind]
    headline = scan.in_headline(index)
    if headline:
        found.append("headline")
    if kind != "pronoun" and scan.capital(index) and not headline and not scan.initial(index):
        found.append("capital")
    if kind == "noun" and _calls(scan, index):
        found.append("call")
    after = scan.text[hit.end : hit.end + 2]
    if kind != "pronoun" and after[:1] in ("'", "’") and not after[1:].isalpha() and scan.lower[index].endswith("s"):
        found.append("plural possessive")
    if _beside_sign(scan.text, hit.start, hit.end):
        found.append("beside a sign")
    return found


def _calls(scan: Scan, index: int) -> bool:
    """Whether a noun without a determiner opens its sentence and is set off by a sign: *Man, this is slow*."""
    return scan.initial(index) and (scan.low(index + 1) in (",", "!") or scan.lower[index].endswith("'s"))


def _beside_sign(text: str, start: int, end: int) -> bool:
    """Whether a sign of markup, code or a choice (*his/her*) touches a term."""
    return not _SIGNS.isdisjoint(text[max(0, start - 1) : start] + text[end : end + 1])
