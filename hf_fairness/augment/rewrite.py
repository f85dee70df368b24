"""The rewrites as functions on one text; the callables for datasets are in :mod:`.transforms` and :mod:`.variants`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment.edits import Edit
from hf_fairness.augment.engine import Tagger, engine_for
from hf_fairness.maps import check_text


def swap_targets(attribute: Attribute, target: str | None = None) -> dict[str, str]:
    """Which group is written for which.

    Args:
        attribute: the attribute.
        target: group to write for every term; None means "the other one", for attributes of two groups.

    Returns:
        group -> group.

    Raises:
        ValueError: an unknown group, or none where the attribute has more than two.
    """
    names = attribute.group_names
    if target is not None:
        attribute.group(target)
        return {name: target for name in names if name != target}
    if len(names) != 2:
        raise ValueError(
            f"A swap needs two groups, attribute {attribute.name!r} has {len(names)}: {', '.join(names)}. "
            "Pass target= with the group to write, or use GroupVariants, which writes them all."
        )
    return {names[0]: names[1], names[1]: names[0]}


def neutral_options(attribute: Attribute, pronouns: str, reflexive: str | None) -> tuple[dict[str, str] | None, bool]:
    """Forms of the neutral pronoun by case (None: those of the attribute) and whether its verb is plural.

    Raises:
        ValueError: the attribute has no such pronoun.
    """
    if not attribute.paradigms:
        return None, False
    default = next(paradigm for paradigm in attribute.paradigms if paradigm.group == NEUTRAL)
    paradigm = default if pronouns == "" else attribute.paradigm(pronouns)
    forms = dict(paradigm.forms)
    if reflexive is not None:
        forms["reflexive"] = reflexive
    return (None if paradigm is default and reflexive is None else forms), paradigm.agreement == "plural"


def swap(
    text: str, *, attribute: str | Path | Attribute = "gender", target: str | None = None, names: bool = False
) -> str:
    """Write a text with the terms of the other group.

    Pronouns get the case that the grammar asks for, articles follow, everything else stays as it is. A text
    that is not English, or has no terms, comes back unchanged.

    Args:
        text: one text.
        attribute: name, file or object.
        target: group to write for every term; needed where an attribute has more than two groups.
        names: whether given names are swapped for equally popular ones of the attribute's list.

    Returns:
        The counterfactual text.

    Raises:
        TypeError: ``text`` is no string.
        ValueError: unknown attribute or group, or no ``target`` where one is needed.

    Source: Dolci et al. 2023, section 4.2; here with pronouns resolved by case.

    Example:
        >>> from hf_fairness.augment import swap
        >>> swap("She's proud of her son; the medal is hers.")
        "He's proud of his daughter; the medal is his."
        >>> swap("He saw her.", target="female")
        'She saw her.'
    """
    value = load_attribute(attribute)
    return engine_for(value, names).swap(check_text(text), swap_targets(value, target))[0]


def neutralize(
    text: str,
    *,
    attribute: str | Path | Attribute = "gender",
    pronouns: str = "",
    reflexive: str | None = None,
    names: bool = False,
) -> str:
    """Write a text without the groups of an attribute.

    Pronouns become singular *they* and their verbs follow, nouns become their neutral counterparts.

    Args:
        text: one text.
        attribute: name, file or object.
        pronouns: id of another paradigm of the attribute (``"xe"``); ``""`` means its neutral one.
        reflexive: the reflexive pronoun where another is wanted (``"themself"``).
        names: whether given names of the attribute's list are replaced too.

    Returns:
        The neutral text.

    Raises:
        TypeError: ``text`` is no string.
        ValueError: unknown attribute or pronoun.

    Example:
        >>> from hf_fairness.augment import neutralize
        >>> neutralize("She says her mother is an actress who wants him back.")
        'They say their parent is a performer who wants them back.'
        >>> neutralize("He hurt himself.", reflexive="themself")
        'They hurt themself.'
    """
    value = load_attribute(attribute)
    forms, plural = neutral_options(value, pronouns, reflexive)
    engine = engine_for(value, names)
    found = engine.find(check_text(text))
    return engine.render(text, found, dict.fromkeys(value.group_names, NEUTRAL), forms, plural)[0]


def variants_with_edits(
    text: str,
    attribute: Attribute,
    *,
    names: bool = False,
    forms: Mapping[str, str] | None = None,
    plural: bool = True,
    tagger: Tagger | None = None,
) -> tuple[dict[str, str], list[Edit]]:
    """Every variant of a text by name (the groups, then ``"neutral"``), and the edits of all of them."""
    engine, groups = engine_for(attribute, names), attribute.group_names
    found = engine.find(text, tagger)
    outputs = (*groups, NEUTRAL)
    if not found[0]:
        return dict.fromkeys(outputs, text), []
    variants: dict[str, str] = {}
    edits: list[Edit] = []
    for output in outputs:
        targets = dict.fromkeys(groups, output)
        variants[output], changed = engine.render(text, found, targets, forms, plural)
        edits += changed
    return variants, edits


def group_variants(text: str, *, attribute: str | Path | Attribute = "gender", names: bool = False) -> dict[str, str]:
    """Write a text once for every group, and once without any.

    Args:
        text: one text.
        attribute: name, file or object; any number of groups.
        names: whether given names count as terms.

    Returns:
        One text per group, and one for ``"neutral"``. All are equal to ``text`` where it has no terms.

    Raises:
        TypeError: ``text`` is no string.
        ValueError: unknown attribute.

    Source: Deng et al. 2024, section 3.1: texts that say the same for every group, and a neutral one.

    Example:
        >>> from hf_fairness.augment import group_variants
        >>> group_variants("He likes her.")
        {'male': 'He likes him.', 'female': 'She likes her.', 'neutral': 'They like them.'}
    """
    return variants_with_edits(check_text(text), load_attribute(attribute), names=names)[0]
