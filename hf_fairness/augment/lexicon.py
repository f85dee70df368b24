"""The terms of an attribute as a table of surface forms and one regular expression that finds them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hf_fairness.attributes import Attribute, Concept
from hf_fairness.attributes.model import NEUTRAL

#: What stands for a given name in a neutral text.
NEUTRAL_NAME = "Alex"


@dataclass(frozen=True, eq=False)
class Candidate:
    """One reading of a surface form.

    Attributes:
        group: group of the term.
        concept: what it means.
        slot: position of the form in the concept's forms.
        form: the form as the file spells it.
        rare: whether it is only recognised, never produced.
        cell: name of the slot: singular, plural, or a case.
    """

    group: str
    concept: Concept
    slot: int
    form: str
    rare: bool
    cell: str


def candidates(concepts: Iterable[Concept], groups: tuple[str, ...]) -> dict[str, tuple[Candidate, ...]]:
    """Readings of every surface form.

    Args:
        concepts: what the forms mean.
        groups: names of the groups.

    Returns:
        Surface in lower case (a name: as written) -> readings, those with a condition first.
    """
    found: dict[str, list[Candidate]] = {}
    for concept in concepts:
        for group in groups:
            rows = [] if group in concept.generic else [(concept.forms[group], False)]
            rows += [(row, True) for row in concept.variants.get(group, ())]
            for row, rare in rows:
                for slot, form in enumerate(row):
                    key = form if concept.category == "name" else form.lower()
                    options = found.setdefault(key, [])
                    if all(option.concept.id != concept.id for option in options):
                        options.append(Candidate(group, concept, slot, form, rare, concept.slots[slot]))
    return {
        surface: tuple(sorted(options, key=lambda option: not option.concept.when))
        for surface, options in found.items()
    }


def name_concepts(attribute: Attribute) -> tuple[Concept, ...]:
    """The given names of an attribute as concepts; their neutral form is a name of no group."""
    return tuple(
        Concept(
            id=f"name.{pair.rank}",
            category="name",
            forms={**{group: (name,) for group, name in pair.names.items()}, NEUTRAL: (NEUTRAL_NAME,)},
            slots=("name",),
            variants={},
        )
        for pair in attribute.names
    )


def compile_terms(surfaces: Iterable[str]) -> re.Pattern[str]:
    """A regular expression that finds the longest surface at every word, in a text in lower case."""
    trie: dict[str, dict] = {}  # type: ignore[type-arg]
    for surface in surfaces:
        node = trie
        for letter in surface.lower():
            node = node.setdefault(letter, {})
        node[""] = {}
    return re.compile(rf"(?<![\w@]){_branch(trie)}(?![\w])(?!\.(?:com|org|net|co)\b)")


def _branch(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    """The trie as an expression; longer alternatives come first."""
    optional = "" in node
    parts = []
    for letter, rest in sorted(node.items()):
        if letter:
            shown = "['’]" if letter == "'" else re.escape(letter)
            parts.append(shown + _branch(rest))
    if not parts:
        return ""
    body = parts[0] if len(parts) == 1 and not optional else f"(?:{'|'.join(parts)})"
    return body + ("?" if optional else "")
