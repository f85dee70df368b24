"""Reading an answer: one JSON object, checked piece by piece; nothing of it is ever executed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


#: An object that begins on a line of its own.
#: Broken objects after which no other one is looked for.
_BROKEN = 100
_LINE_START = re.compile(r"\n[ \t]*\{")


class UnusableAnswer(ValueError):
    """An answer that is not what was asked for; the message says why, for the model and for the report."""


@dataclass(frozen=True)
class Rewrite:
    """The usable part of an answer for one text."""

    variants: dict[str, str]
    confidence: float


@dataclass
class Parsed:
    """What an answer holds.

    Attributes:
        rewrites: position of a text in the request -> its rewrite.
        problem: what is wrong with the rest; ``""`` where nothing is.
    """

    rewrites: dict[int, Rewrite] = field(default_factory=dict)
    problem: str = ""


def parse_answer(answer: str, n: int, names: Sequence[str]) -> Parsed:
    """Read the rewrites of ``n`` texts from an answer.

    Code fences, a thought in front and words around the object are tolerated, a second object is not. An entry
    counts if its id was asked for once, every variant is a non-empty text and the confidence lies in [0, 1]; other
    entries are left out, so that half an answer is half used.

    Args:
        answer: what the model wrote.
        n: number of texts in the request; their ids are 1 to n.
        names: names of the variants.

    Returns:
        Rewrites by position, and the first problem.

    Example:
        >>> answer = '{"rewrites": [{"id": 1, "variants": {"a": "x", "b": "y"}, "confidence": 0.9}]}'
        >>> parse_answer(answer, 1, ["a", "b"]).rewrites[0].confidence
        0.9
    """
    parsed = Parsed()
    try:
        items = _items(find_object(answer))
    except UnusableAnswer as error:
        parsed.problem = str(error)
        return parsed
    seen: set[int] = set()
    for item in items:
        try:
            place = _place(item, n)
            if place in seen:
                parsed.rewrites.pop(place, None)
                raise UnusableAnswer(f"id {place + 1} occurs twice")
            seen.add(place)
            parsed.rewrites[place] = _rewrite(item, names)
        except UnusableAnswer as error:
            parsed.problem = parsed.problem or str(error)
    if len(parsed.rewrites) < n and not parsed.problem:
        missing = next(i for i in range(n) if i not in parsed.rewrites)
        parsed.problem = f"there is no entry with id {missing + 1}"
    return parsed


def find_object(answer: str) -> dict[str, Any]:
    """The one JSON object in an answer.

    Raises:
        UnusableAnswer: there is none, there are several, or it is no strict JSON.
    """
    text = _THOUGHT.sub("", answer).strip()
    if not text:
        raise UnusableAnswer("the answer is empty")
    for candidate in (text, *(fenced.strip() for fenced in _FENCE.findall(text)[:1])):
        try:
            value = _DECODER.decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
        raise UnusableAnswer(f"expected a JSON object, found {type(value).__name__}")
    return _object_in(text)


def _object_in(text: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    problem = ""
    place, broken = text.find("{"), 0
    while place >= 0 and broken < _BROKEN:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except RecursionError:
            raise UnusableAnswer("the JSON is nested too deeply") from None
        except ValueError as error:
            problem, broken = problem or f"the JSON is broken ({error})", broken + 1
            later = _LINE_START.search(text, place + 1)  # what stands inside a broken object does not count
            place = later.end() - 1 if later else -1
            continue
        found.append(value)
        place = text.find("{", end)
    if len(found) > 1:
        raise UnusableAnswer(f"expected one JSON object, found {len(found)}")
    if not found or (problem and "rewrites" not in found[0]):
        raise UnusableAnswer(problem or "there is no JSON object in the answer")
    return found[0]


def _items(value: dict[str, Any]) -> list[Any]:
    items = value.get("rewrites")
    if not isinstance(items, list):
        raise UnusableAnswer("the object has no list `rewrites`")
    return items


def _place(item: Any, n: int) -> int:
    if not isinstance(item, dict):
        raise UnusableAnswer("an entry of `rewrites` is no object")
    number = item.get("id")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= n:
        raise UnusableAnswer(f"an entry has the id {number!r}; asked for were 1 to {n}")
    return number - 1


def _rewrite(item: dict[str, Any], names: Sequence[str]) -> Rewrite:
    where, variants, confidence = f"entry {item['id']}", item.get("variants"), item.get("confidence")
    if not isinstance(variants, dict):
        raise UnusableAnswer(f"{where} has no object `variants`")
    found: dict[str, str] = {}
    for name in names:
        variant = variants.get(name)
        if not isinstance(variant, str) or not variant.strip():
            raise UnusableAnswer(f"{where} has no text for {name!r}")
        try:
            variant.encode("utf-8")
        except UnicodeEncodeError:
            raise UnusableAnswer(f"{where}: the text for {name!r} is no valid Unicode") from None
        found[name] = variant
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        raise UnusableAnswer(f"{where} has the confidence {confidence!r}; expected a number from 0 to 1")
    return Rewrite(found, float(confidence))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_pairs)
