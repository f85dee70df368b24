"""The layout of an attribute file, and the errors that name what is wrong with one.

A file is a JSON object::

    {"schema_version": 1, "name": "gender", "language": "en", "description": "...", "licence": "Apache-2.0",
     "sources": [{"what": "...", "citation": "...", "licence": "MIT"}],
     "groups": ["male", "female"],
     "paradigms": [{"id": "he", "group": "male", "agreement": "singular", "subject": "he", ...}],
     "concepts": [{"id": "parent", "category": "kinship",
                   "forms": {"male": ["father", "fathers"], "female": [...], "neutral": [...]},
                   "variants": {...}, "generic": [...], "when": [...], "keep": [...]}],
     "protected": ["mother tongue", "Our Father"],
     "combined": [{"parts": ["s/", "he"], "words": ["she", "he"]}],
     "together": [{"male": ["guy", "guys"], "female": ["girl", "girls"]}],
     "inherent": [{"text": "pregnant", "group": "female", "reason": "body"}],
     "names": {"source": "...", "year": 2023, "pairs": [{"rank": 1, "male": "James", "female": "Mary"}]}}

``forms`` lists the singular and then the plural; one form alone where number does not matter.
Every group and ``neutral`` must be there, with equally many forms. ``variants`` are recognised and never
produced, ``generic`` names groups whose form is produced and never recognised, ``when`` and ``keep`` name
contexts (:data:`CONTEXTS`). ``protected`` phrases are never touched; one that is spelled with a capital here counts
only where the text has that capital too. ``combined`` spellings say two groups at once. ``together`` are terms of
several concepts that are counterparts where a text has all of them. All but ``concepts`` may be empty or left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hf_fairness.attributes.model import (
    CASES,
    NEUTRAL,
    Attribute,
    Concept,
    InherentTerm,
    NamePair,
    Paradigm,
)
from hf_fairness.attributes.terms import collect_groups, pronoun_concepts

#: What ``when`` and ``keep`` may say. The rule engine of ``hf_fairness.augment`` decides whether each holds.
CONTEXTS = {
    "after_name": "capitalised, right after another capitalised word (Burger King)",
    "before_name": "capitalised, right before another capitalised word (Lady Gaga)",
    "bare_name": "capitalised singular without a determiner, so likely a name (King said)",
    "bare_inside": "the same, but not at the start of a sentence (when Son asks)",
    "capitalised": "capitalised inside a sentence (the Dallas Cowboys)",
    "upper": "in capitals where the text is not (an MA)",
    "digit_before": "right after a number (10 ms)",
    "before_noun": "right before a noun or an adjective (a female doctor)",
    "predicate": "after a form of be or of a like verb, without a determiner (she is female)",
    "after_determiner": "right after an article or a possessive (the host)",
    "verb": "after to or a modal, or before an object: a verb (to man the desk)",
    "exclaimed": "called out or thrown in, and said of nobody (Man, this is slow)",
    "called_out": "the same, with a capital (Brother! What a day)",
    "given_name": "the same, of a title that is a given name too (Duke Ellington)",
    "counted": "the end of a compound with a number (a 3-man crew)",
    "bare_start": "the first word of a sentence, right before a verb: likely a name (Christian said)",
    "connector": "of a plug, a socket or the like (a male connector)",
    "party": "of a state, a firm or the like (non-state actors)",
    "game": "beside words of chess or cards (the queen and a pawn)",
    "named_after": "before the name of a place or a thing (Prince Edward Island)",
    "before_of": "right before of, for or to (the mother of all battles)",
    "common_word": "a given name that is a common word too, at the start of a sentence (Will you come)",
}

_FIELDS = {
    "schema_version", "name", "language", "description", "licence", "sources", "groups", "paradigms",
    "concepts", "protected", "combined", "together", "inherent", "names",
}  # fmt: skip
_REQUIRED = ("schema_version", "name", "language", "description", "licence", "sources", "groups", "concepts")
_CONCEPT_FIELDS = {"id", "category", "forms", "variants", "generic", "when", "keep"}
_SLOTS = {1: ("any",), 2: ("singular", "plural")}


class AttributeFileError(ValueError):
    """An attribute file breaks the schema; the message names the file and the field."""


class _Reader:
    """Checks with messages that begin with the file and the path of the field."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fail(self, where: str, got: Any, expected: str) -> AttributeFileError:
        shown = repr(got)
        shown = shown if len(shown) < 80 else shown[:77] + "..."
        return AttributeFileError(f"{self.file}: field {where}: got {shown}, expected {expected}.")

    def text(self, value: Any, where: str, *, empty: bool = False) -> str:
        if not isinstance(value, str) or (not value.strip() and not empty) or value != value.strip():
            raise self.fail(where, value, "a string without spaces around it" + ("" if empty else ", not empty"))
        return value

    def items(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail(where, value, "a list")
        return value

    def table(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(where, value, "an object")
        return value

    def choice(self, value: Any, where: str, allowed: Sequence[str]) -> str:
        if value not in allowed:
            raise self.fail(where, value, f"one of {', '.join(map(repr, allowed))}")
        return str(value)

    def fields(self, value: dict[str, Any], where: str, known: set[str]) -> None:
        unknown = sorted(set(value) - known)
        if unknown:
            raise self.fail(where, unknown[0], f"only the fields {', '.join(sorted(known))}")


def parse_attribute(content: Any, *, file: str = "attribute") -> Attribute:
    """Turn the content of an attribute file into an :class:`Attribute`.

    Args:
        content: what ``json.load`` gave.
        file: name for the error messages.

    Returns:
        The attribute.

    Raises:
        AttributeFileError: a field is missing, unknown, or of the wrong kind.
    """
    read = _Reader(file)
    content = read.table(content, "(top)")
    read.fields(content, "(top)", _FIELDS)
    for name in _REQUIRED:
        if name not in content:
            raise read.fail(name, None, "the field to be there")
    if content["schema_version"] != 1:
        raise read.fail("schema_version", content["schema_version"], "1")
    groups = tuple(read.text(name, f"groups[{i}]") for i, name in enumerate(read.items(content["groups"], "groups")))
    if len(groups) < 2 or len(set(groups)) != len(groups) or NEUTRAL in groups:
        raise read.fail("groups", list(groups), "at least two different names, none of them 'neutral'")
    paradigms = _paradigms(read, content.get("paradigms", []), groups)
    concepts = _concepts(read, content["concepts"], groups)
    names, names_source = _names(read, content.get("names"), groups)
    known = collect_groups(groups, concepts + pronoun_concepts(paradigms, groups))
    terms = {term.text for group in known for term in group.terms}
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True).encode()
    return Attribute(
        name=read.text(content["name"], "name"),
        language=read.text(content["language"], "language"),
        groups=known,
        concepts=concepts,
        paradigms=paradigms,
        protected=tuple(
            read.text(phrase, f"protected[{i}]")
            for i, phrase in enumerate(read.items(content.get("protected", []), "protected"))
        ),
        inherent=_inherent(read, content.get("inherent", []), groups),
        names=names,
        names_source=names_source,
        sources=_sources(read, content["sources"]),
        licence=read.text(content["licence"], "licence"),
        digest=hashlib.blake2b(canonical, digest_size=16).hexdigest(),
        combined=_combined(read, content.get("combined", []), terms),
        together=_together(read, content.get("together", []), groups, terms),
    )


def _paradigms(read: _Reader, value: Any, groups: tuple[str, ...]) -> tuple[Paradigm, ...]:
    found = []
    for i, item in enumerate(read.items(value, "paradigms")):
        where = f"paradigms[{i}]"
        item = read.table(item, where)
        read.fields(item, where, {"id", "group", "agreement", *CASES})
        found.append(
            Paradigm(
                id=read.text(item.get("id"), f"{where}.id"),
                group=read.choice(item.get("group"), f"{where}.group", (*groups, NEUTRAL, "")),
                agreement=read.choice(item.get("agreement"), f"{where}.agreement", ("singular", "plural")),
                forms={case: read.text(item.get(case), f"{where}.{case}") for case in CASES},
            )
        )
    present = {paradigm.group for paradigm in found} - {""}
    missing = [name for name in (*groups, NEUTRAL) if name not in present]
    if present and missing:
        raise read.fail("paradigms", sorted(present), f"a paradigm for {', '.join(missing)} too, or none at all")
    return tuple(found)


def _concepts(read: _Reader, value: Any, groups: tuple[str, ...]) -> tuple[Concept, ...]:
    found: list[Concept] = []
    seen: set[str] = set()
    for i, item in enumerate(read.items(value, "concepts")):
        where = f"concepts[{i}]"
        item = read.table(item, where)
        read.fields(item, where, _CONCEPT_FIELDS)
        identity = read.text(item.get("id"), f"{where}.id")
        where = f"concepts[{i}] ({identity})"
        if identity in seen:
            raise read.fail(f"{where}.id", identity, "an id that no other concept has")
        seen.add(identity)
        forms = _forms(read, item.get("forms"), f"{where}.forms", groups)
        size = len(forms[NEUTRAL])
        variants: dict[str, tuple[tuple[str, ...], ...]] = {}
        for name, rows in read.table(item.get("variants", {}), f"{where}.variants").items():
            read.choice(name, f"{where}.variants", groups)
            variants[name] = tuple(
                _row(read, row, f"{where}.variants.{name}[{j}]", size)
                for j, row in enumerate(read.items(rows, f"{where}.variants.{name}"))
            )
        lists = {
            key: tuple(
                read.choice(entry, f"{where}.{key}[{j}]", allowed)
                for j, entry in enumerate(read.items(item.get(key, []), f"{where}.{key}"))
            )
            for key, allowed in (("generic", groups), ("when", tuple(CONTEXTS)), ("keep", tuple(CONTEXTS)))
        }
        category = read.text(item.get("category"), f"{where}.category")
        found.append(Concept(identity, category, forms, _SLOTS[size], variants, **lists))
    if not found:
        raise read.fail("concepts", found, "at least one concept")
    return tuple(found)


def _forms(read: _Reader, value: Any, where: str, groups: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    table = read.table(value, where)
    read.fields(table, where, {*groups, NEUTRAL})
    forms: dict[str, tuple[str, ...]] = {}
    for name in (*groups, NEUTRAL):
        if name not in table:
            raise read.fail(f"{where}.{name}", None, "a list of one form or of singular and plural")
        size = len(read.items(table[name], f"{where}.{name}"))
        if size not in _SLOTS or (forms and size != len(forms[groups[0]])):
            raise read.fail(f"{where}.{name}", table[name], "one form, or singular and plural, as in the other groups")
        forms[name] = _row(read, table[name], f"{where}.{name}", size, empty=name == NEUTRAL)
    return forms


def _row(read: _Reader, value: Any, where: str, size: int, *, empty: bool = False) -> tuple[str, ...]:
    row = read.items(value, where)
    if len(row) != size:
        raise read.fail(where, row, f"a list of {size} forms")
    return tuple(read.text(form, f"{where}[{j}]", empty=empty) for j, form in enumerate(row))


def _combined(read: _Reader, value: Any, terms: set[str]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    found = []
    for i, item in enumerate(read.items(value, "combined")):
        where = f"combined[{i}]"
        item = read.table(item, where)
        read.fields(item, where, {"parts", "words"})
        parts = _row(read, item.get("parts"), f"{where}.parts", 2)
        words = _row(read, item.get("words"), f"{where}.words", 2)
        for j, word in enumerate(words):
            if word not in terms:
                raise read.fail(f"{where}.words[{j}]", word, "a term of the file")
        found.append((parts, words))
    return tuple(found)


def _together(
    read: _Reader, value: Any, groups: tuple[str, ...], terms: set[str]
) -> tuple[dict[str, tuple[str, ...]], ...]:
    found = []
    for i, item in enumerate(read.items(value, "together")):
        where = f"together[{i}]"
        item = read.table(item, where)
        read.fields(item, where, set(groups))
        size = len(read.items(item.get(groups[0]), f"{where}.{groups[0]}"))
        rows = {name: _row(read, item.get(name), f"{where}.{name}", size) for name in groups}
        for name, row in rows.items():
            for word in row:
                if word not in terms:
                    raise read.fail(f"{where}.{name}", word, "a term of the file")
        found.append(rows)
    return tuple(found)


def _inherent(read: _Reader, value: Any, groups: tuple[str, ...]) -> tuple[InherentTerm, ...]:
    found = []
    for i, item in enumerate(read.items(value, "inherent")):
        where = f"inherent[{i}]"
        item = read.table(item, where)
        read.fields(item, where, {"text", "group", "reason"})
        found.append(
            InherentTerm(
                text=read.text(item.get("text"), f"{where}.text"),
                group=read.choice(item.get("group"), f"{where}.group", groups),
                reason=read.text(item.get("reason"), f"{where}.reason"),
            )
        )
    return tuple(found)


def _names(read: _Reader, value: Any, groups: tuple[str, ...]) -> tuple[tuple[NamePair, ...], str]:
    if value is None:
        return (), ""
    table = read.table(value, "names")
    read.fields(table, "names", {"source", "year", "pairs"})
    source = read.text(table.get("source"), "names.source")
    year = table.get("year")
    if isinstance(year, bool) or not isinstance(year, int):
        raise read.fail("names.year", year, "a year as a number")
    pairs = []
    for i, item in enumerate(read.items(table.get("pairs"), "names.pairs")):
        where = f"names.pairs[{i}]"
        item = read.table(item, where)
        read.fields(item, where, {"rank", *groups})
        rank = item.get("rank")
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
            raise read.fail(f"{where}.rank", rank, "a whole number from 1")
        pairs.append(NamePair(rank, {name: read.text(item.get(name), f"{where}.{name}") for name in groups}))
    return tuple(pairs), f"{source} ({year})"


def _sources(read: _Reader, value: Any) -> tuple[str, ...]:
    found = []
    for i, item in enumerate(read.items(value, "sources")):
        where = f"sources[{i}]"
        item = read.table(item, where)
        read.fields(item, where, {"what", "citation", "licence"})
        parts = [read.text(item.get(key), f"{where}.{key}") for key in ("what", "citation", "licence")]
        found.append(f"{parts[0]}: {parts[1]} ({parts[2]})")
    if not found:
        raise read.fail("sources", value, "at least one source with its licence")
    return tuple(found)
