"""From concepts and paradigms to the terms of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hf_fairness.attributes.model import CASES, NEUTRAL, Concept, Group, Paradigm, Term


def pronoun_concepts(paradigms: Sequence[Paradigm], groups: Sequence[str]) -> tuple[Concept, ...]:
    """The pronouns as concepts, one per case, from the first paradigm of each group and of neutral."""
    chosen: dict[str, Paradigm] = {}
    for paradigm in paradigms:
        if paradigm.group:
            chosen.setdefault(paradigm.group, paradigm)
    if any(name not in chosen for name in (*groups, NEUTRAL)):
        return ()
    return tuple(
        Concept(
            id=f"pronoun.{case}",
            category="pronoun",
            forms={name: (chosen[name].forms[case],) for name in (*groups, NEUTRAL)},
            slots=(case,),
            variants={},
        )
        for case in CASES
    )


def collect_groups(names: tuple[str, ...], concepts: Sequence[Concept]) -> tuple[Group, ...]:
    """Collect the terms of each group and say which of them a swap can undo."""
    uses: dict[str, int] = {}
    rows: list[tuple[str, str, Concept, int, bool]] = []
    for concept in concepts:
        for name in names:
            if name not in concept.generic:
                rows += [(form, name, concept, slot, True) for slot, form in enumerate(concept.forms[name])]
            for variant in concept.variants.get(name, ()):
                rows += [(form, name, concept, slot, False) for slot, form in enumerate(variant)]
    for form, *_ in rows:
        uses[form.lower()] = uses.get(form.lower(), 0) + 1

    def invertible(form: str, concept: Concept, slot: int, primary: bool) -> bool:
        counterparts: Mapping[str, tuple[str, ...]] = concept.forms
        return (
            primary
            and not concept.generic
            and not concept.when
            and all(uses[counterparts[name][slot].lower()] == 1 for name in names)
        )

    terms: dict[str, dict[tuple[str, str, str], Term]] = {name: {} for name in names}
    for form, name, concept, slot, primary in rows:
        key = (form, concept.id, concept.slots[slot])
        term = Term(form, name, concept.id, concept.slots[slot], primary, invertible(form, concept, slot, primary))
        terms[name].setdefault(key, term)
    return tuple(Group(name, tuple(terms[name].values())) for name in names)
