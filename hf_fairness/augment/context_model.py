"""A small model of the words around a place of a text: the chance that a word there has one reading of two.

Logistic regression over the three words before and after, their classes, their endings and pairs of these. Plain
Python: a few dozen look-ups in tables that `benchmarks/pronoun_model.py` fitted and wrote to `data/contexts.json`.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from hf_fairness.augment import english as en
from hf_fairness.augment.scan import lower_case

#: Words that are looked at before a place and after it.
BEFORE, AFTER = 2, 3
#: What stands in the place of words before the beginning and after the end of a text.
START, END = "<s>", "</s>"

#: What a feature looks at: the word itself (w), its class (k) or its ending (e) at a distance, or the capital (c).
TEMPLATES = (
    *("w-1", "w-2", "w+1", "w+2", "k-1", "k-2", "k+1", "k+2", "e-1", "e+1", "e+2", "c+1"),
    *("w-1 w+1", "w-1 k+1", "k-1 w+1", "k-1 k+1", "w-1 w+2", "w-1 k+2", "w-1 c+1"),
    *("w+1 w+2", "w+1 k+2", "k+1 k+2", "w-2 w-1", "k-1 k+1 k+2"),
)
_DISTANCES = ("-1", "-2", "+1", "+2")
_PLACES = {name: k for k, name in enumerate([kind + place for place in _DISTANCES for kind in "wke"] + ["c+1"])}
#: Before a sign, a function word or an adverb; before an article; before another word.
_CLOSES = (".", "a", "")
#: Log odds of the words right beside a place from which on the others are not looked at.
_ENOUGH = 4.5
_NOTHING: dict[str, float] = {}
#: Verbs that say what may follow, and words that say what they are after a pronoun.
_VERB_LISTS = (
    en.GIVE_VERBS, en.GIVE_STRICTLY, en.BARE_INFINITIVE_VERBS, en.COMPLEMENT_VERBS, en.CALL_VERBS, en.MOTION_VERBS,
    en.SENSE_VERBS, en.CAUSATIVE_VERBS, en.MAKE_VERBS, en.TELL_VERBS,
)  # fmt: skip
_WORD_LISTS = (
    en.GIFTS, en.OWNED, en.BASE_VERBS, en.PLAIN_BASE_VERBS, en.COMPLEMENTS, en.PARTICIPLES, en.AMOUNTS,
    en.MAYBE_ADVERBS, en.TIME_UNITS, en.FREE_ADVERBS,
)  # fmt: skip
_CLOSED = (
    en.PREPOSITIONS | en.PARTICLES | en.DETERMINERS | en.PRONOUNS | en.CONJUNCTIONS | en.AUXILIARIES | en.FREE_ADVERBS
) - {"own"}
_WINDOW = 40  # letters on each side in which the words are looked for
_TOKEN = re.compile(r"\b[wW]/|#\d+|[#@]\w+|\d[\d.,]*\d\b|\w+(?:['’\-‑]\w+)*|\.\.+|\n(?=\s*(?:\n|[^\sa-z]))|[^\w\s]")
_TAG = re.compile(r"<(/?\w+)[^<>]*>")
_CUT_TAG = re.compile(r"^[^<]*>|<\w[^>]*$")
_BREAKING_TAGS = frozenset({"br", "p", "div", "li", "td", "/p", "/div", "/li", "/td"})
_SIGNS = {
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’`", "'"),
    **dict.fromkeys("-–‑−", "—"),
    **dict.fromkeys("$£€¥", "$"),
    **dict.fromkeys("&+", "and"),
    "…": "..",
}
_PLAIN_SIGNS = frozenset(".,;:!?\"'()[]{}—/%*")
_PAIRS = frozenset({("(", ")"), ("[", "]"), ('"', '"'), ("'", "'"), ("*", "*"), ("~", "~"), ("_", "_"), ("__", "__")})
_OPENING = frozenset(first for first, _ in _PAIRS)


@functools.lru_cache(maxsize=1 << 15)
def normal(token: str) -> str:
    """A token as the tables spell it: small letters, one sign for quotes, dashes, currencies, numbers and emoji.

    Example:
        >>> from hf_fairness.augment.context_model import normal
        >>> [normal(token) for token in ("Told", "“", "£", "25th", "#1", "#blessed", "b4")]
        ['told', '"', '$', '0', 'first', '!', 'before']
    """
    first = token[0]
    if first.isalpha() or first == "_":
        word = lower_case(token).replace("’", "'").replace("‑", "-")
        return en.SPELLINGS.get(word, word)
    if first.isdigit():
        return "0"
    if first == "\n":
        return END
    if len(token) > 1:
        return ".." if first == "." else "first" if token[1].isdigit() else "!"
    return first if first in _PLAIN_SIGNS else _SIGNS.get(first, "!")


class Surroundings(NamedTuple):
    """What stands around a place of a text.

    Attributes:
        before: the `BEFORE` tokens before it, the nearest first.
        after: the `AFTER` tokens after it.
        capital: ``"1"`` where a capital follows a small letter, ``"0"`` where none does, ``""`` where the place itself
            begins with a capital, so that one after it says nothing.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    capital: str


def tokens(text: str) -> list[tuple[int, int, str]]:
    """Start, end and spelling of the tokens of a text."""
    return [(*match.span(), match[0]) for match in _TOKEN.finditer(text)]


def surroundings(text: str, start: int, end: int) -> Surroundings:
    """The words and signs around a place. Brackets, quotes, stars and tags that hold it alone are passed over.

    Example:
        >>> from hf_fairness.augment.context_model import surroundings
        >>> surroundings("I told (her) story", 8, 11)
        Surroundings(before=('told', 'i'), after=('story', '</s>', '</s>'), capital='0')
    """
    low = start - _WINDOW
    left = text[low if low > 0 else 0 : start].rsplit(" ", BEFORE + 1)
    right = text[end : end + _WINDOW].split(" ", AFTER + 1)
    capital = ""
    if text[start].islower():
        capital = "1" if text[end : end + 2].lstrip()[:1].isupper() else "0"
    if len(left) > BEFORE:
        before = _back(left[-1]) + _back(left[-2]) if left[-1] else _back(left[-2])
        before += _back(left[-3])
    else:
        before = sum(map(_back, reversed(left)), ())
    if len(right) > AFTER:
        after = _parts(right[0]) + _parts(right[1]) if right[0] else _parts(right[1])
        after += _parts(right[2]) + _parts(right[3])
    else:
        after = sum(map(_parts, right), ())
    while after and before and before[0] in _OPENING and (before[0], after[0]) in _PAIRS:
        before, after = before[1:], after[1:]
    if END in before or len(before) < BEFORE:
        before = _padded(before, START, BEFORE)
    if END in after or len(after) < AFTER:
        after = _padded(after, END, AFTER)
    return Surroundings(before[:BEFORE], after[:AFTER], capital)


@functools.lru_cache(maxsize=1 << 16)
def _parts(chunk: str) -> tuple[str, ...]:
    """The tokens of what stands between blanks, as the tables spell them; tags are left out."""
    if "<" in chunk or ">" in chunk:
        chunk = _CUT_TAG.sub("", _TAG.sub(_untagged, chunk))
    return tuple([normal(token) for token in _TOKEN.findall(chunk)])


@functools.lru_cache(maxsize=1 << 16)
def _back(chunk: str) -> tuple[str, ...]:
    """The same, the last token first."""
    return _parts(chunk)[::-1]


def _padded(tokens: tuple[str, ...], border: str, number: int) -> tuple[str, ...]:
    """The tokens up to the border, and the border in the place of those that are not there."""
    kept = tokens[: tokens.index(END)] if END in tokens else tokens
    return kept + (border,) * (number - len(kept))


def _untagged(tag: re.Match[str]) -> str:
    """A blank in the place of a tag, a border in that of one that ends a paragraph or a line."""
    return "\n\n" if tag[1].lower() in _BREAKING_TAGS else " "


class ContextModel:
    """Chance that the first of two readings is right, from the words around.

    Args:
        classes: word -> its class; words of no class have that of their last two letters.
        bias: log odds where nothing is known.
        tables: template -> weights: by value for a template of one part, by first and last value for one of several.

    Example:
        >>> from hf_fairness.augment.context_model import context_model, surroundings
        >>> model = context_model("object")
        >>> text = "We gave her change."
        >>> model.chance(surroundings(text, 8, 11)) > 0.5
        True
    """

    def __init__(self, classes: Mapping[str, str], bias: float, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._classes = classes
        self._bias = bias
        self._tables = tables
        self._capital, self._lists = tables.get("c+1", {}), tables.get("lists", {})
        cached = functools.lru_cache(maxsize=1 << 14)
        self.settled = functools.lru_cache(maxsize=1 << 16)(self.settled)  # type: ignore[method-assign]
        self._last, self._earlier = cached(self._tell_last), cached(self._tell_earlier)
        self._next, self._second = cached(self._tell_next), cached(self._tell_second)

    def _alone(self, distance: str, seen: Sequence[str]) -> float:
        """What a token says by itself."""
        return float(
            sum([self._tables.get(kind + distance, {}).get(view, 0) for kind, view in zip("wke", seen, strict=True)])
        )

    def _rows(self, view: str, *templates: str) -> list[Any]:
        """What a view says with another one, for each template."""
        return [self._tables.get(template, {}).get(view, _NOTHING) for template in templates]

    def _tell_last(self, token: str) -> tuple[Any, ...]:
        word, kind, _ = seen = views(token, self._classes)
        of_word = self._rows(word, "w-1 w+1", "w-1 k+1", "w-1 w+2", "w-1 k+2", "w-1 c+1")
        of_class = self._rows(kind, "k-1 w+1", "k-1 k+1", "k-1 k+1 k+2")
        return self._alone("-1", seen), *of_word, *of_class, verb_lists(token)

    def _tell_earlier(self, token: str) -> tuple[float, Any]:
        seen = views(token, self._classes)
        return self._alone("-2", seen), *self._rows(seen[0], "w-2 w-1")

    def _tell_next(self, token: str) -> tuple[Any, ...]:
        word, kind, _ = seen = views(token, self._classes)
        closed = {
            close: sum([self._lists.get(name + close, 0) for name in kinds(token)]) for close in _CLOSES
        }  # by what stands after it
        rows = (*self._rows(word, "w+1 w+2", "w+1 k+2"), *self._rows(kind, "k+1 k+2"))
        return self._alone("+1", seen), kind, closed, sum(closed.values()) / len(closed), *rows

    def _tell_second(self, token: str) -> tuple[float, str, str]:
        seen = views(token, self._classes)
        return self._alone("+2", seen), seen[1], closes(token)

    def score(self, around: Surroundings) -> float:
        """Log odds of the first reading: the sum of the weights of its :func:`features`, one by one for speed."""
        (last, earlier), after, capital = around
        first, second, _ = after
        a, w_w1, w_k1, w_w2, w_k2, w_c, k_w1, k_k1, k_kk, verbs = self._last(last)
        b, w_w = self._earlier(earlier)
        c, kind, closed, _, w1_w2, w1_k2, k1_k2 = self._next(first)
        d, other, close = self._second(second)
        total = self._bias + self._capital.get(capital, 0) + a + b + c + d + closed[close]
        total += w_w1.get(first, 0) + w_k1.get(kind, 0) + w_w2.get(second, 0) + w_k2.get(other, 0)
        total += w_c.get(capital, 0) + k_w1.get(first, 0) + k_k1.get(kind, 0) + w_w.get(last, 0)
        total += w1_w2.get(second, 0) + w1_k2.get(other, 0) + k1_k2.get(other, 0)
        if k_kk:
            total += k_kk.get(f"{kind} {other}", 0)
        if verbs:
            for name in listed(verbs, after):
                total += self._lists.get(name, 0)
        return float(total)

    def settled(self, before: str, after: str, small: bool) -> float | None:
        """Chance of the first reading where what stands right beside a place says enough; None where it does not.

        In 61,000 places of news the words further away turned one of these readings round.

        Args:
            before: what stands before the place, up to a blank; ``""`` at the beginning of the text.
            after: what stands after it.
            small: whether the place itself begins with a small letter.
        """
        behind, ahead = _back(before), _parts(after)
        if not ahead:
            return None
        last, first = behind[0] if behind else START, ahead[0]
        if first == END or last == END or (last, first) in _PAIRS:
            return None
        a, w_w1, w_k1, _, _, w_c, k_w1, k_k1, _, verbs = self._last(last)
        if verbs and first[0].isalnum():
            return None
        capital = ("1" if after[0].isupper() else "0") if small else ""
        c, kind, _, mean, *_ = self._next(first)
        total = self._bias + self._capital.get(capital, 0) + a + c + mean
        total += w_w1.get(first, 0) + w_k1.get(kind, 0) + w_c.get(capital, 0)
        total += k_w1.get(first, 0) + k_k1.get(kind, 0)
        return 1 / (1 + math.exp(-total)) if abs(total) > _ENOUGH else None

    def chance(self, around: Surroundings) -> float:
        """Chance of the first reading, in [0, 1]."""
        return 1 / (1 + math.exp(-self.score(around)))


def views(token: str, classes: Mapping[str, str]) -> tuple[str, str, str]:
    """Word, class and ending of a token."""
    ending = token[-2:]
    return token, classes.get(token) or f"-{ending}", ending


@functools.lru_cache(maxsize=1 << 14)
def verb_lists(word: str) -> tuple[str, ...]:
    """Numbers of the lists of verbs that hold a word."""
    return tuple(str(k) for k, verbs in enumerate(_VERB_LISTS) if word in verbs)


@functools.lru_cache(maxsize=1 << 14)
def kinds(word: str) -> tuple[str, ...]:
    """What the word lists and its ending say of a word after a pronoun."""
    found = [str(k) for k, words in enumerate(_WORD_LISTS) if word in words]
    if word.endswith("ing") and word not in en.ING_NOUNS:
        found.append("ing")
    elif word.endswith("ed") and word not in en.ED_NOUNS:
        found.append("ed")
    elif word.endswith("ly") and word not in en.LY_WORDS:
        found.append("ly")
    elif word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")):
        found.append("s")
    elif word.endswith(en.ADJECTIVE_ENDINGS):
        found.append("adj")
    elif not found and word.isalpha():
        found.append("noun")
    return tuple(found)


@functools.lru_cache(maxsize=1 << 14)
def closes(word: str) -> str:
    """Whether a phrase ends before a word, one of `_CLOSES`."""
    if word in en.ARTICLES:
        return "a"
    if not word[0].isalnum() or word in _CLOSED or (word.endswith("ly") and word not in en.LY_WORDS):
        return "."
    return ""


def listed(verbs: Sequence[str], after: Sequence[str]) -> list[str]:
    """The lists of a verb with those of the words after the pronoun, and whether a phrase ends there."""
    first, second, third = after
    close = closes(second)
    found = [f"{verb} {kind}{close}" for verb in verbs for kind in kinds(first)]
    if not close:
        close = closes(third)
        found += [f"{verb} 2 {kind}{close}" for verb in verbs for kind in kinds(second)]
    return found


def features(around: Surroundings, classes: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Template, first value and other values of all that the model looks at."""
    values = [view for token in (*around.before, *around.after[:2]) for view in views(token, classes)]
    values.append(around.capital)
    found = []
    for name in TEMPLATES:
        first, *rest = (values[_PLACES[part]] for part in name.split())
        found.append((name, first, " ".join(rest)))
    close = closes(around.after[1])
    names = [kind + close for kind in kinds(around.after[0])] + listed(verb_lists(around.before[0]), around.after)
    return found + [("lists", name, "") for name in names]


@functools.lru_cache(maxsize=1)
def _stored() -> Any:
    file = resources.files(__package__) / "data" / "contexts.json"
    return json.loads(file.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=8)
def context_model(name: str) -> ContextModel:
    """A fitted model: ``"object"`` (against a determiner), ``"pronoun"`` (against one), ``"has"`` (against *is*)."""
    stored = _stored()
    classes = {word: str(number) for number, line in enumerate(stored["classes"]) for word in line.split(" ")}
    return ContextModel(classes, **stored["models"][name])
