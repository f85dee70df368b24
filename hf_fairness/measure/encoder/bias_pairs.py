"""Pairs of texts that differ in the group alone: listed words, swapped sentences, and their difference vectors."""

from __future__ import annotations

import itertools
import json
import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.rewrite import swap_targets
from hf_fairness.encoders import BaseEncoder, StaticEncoder, check_texts
from hf_fairness.measure.audit import built_in_variants
from hf_fairness.scores.statistics import Floats
from hf_fairness.utils import FairnessWarning

logger = logging.getLogger(__name__)

Pairs = list[tuple[str, str]]

#: Lists of word pairs by name.
LISTS = ("paper", "extended")
#: Most pairs of the extended list.
EXTENDED = 50


def two_groups(attribute: Attribute) -> tuple[str, str]:
    """The groups of an attribute that has two.

    Raises:
        ValueError: it has more; the message lists them.
    """
    names = attribute.group_names
    if len(names) != 2:
        raise ValueError(
            f"The bias score measures along one direction, between two groups; attribute {attribute.name!r} has "
            f"{len(names)}: {', '.join(names)}. Give an attribute file with the two groups to compare."
        )
    return names[0], names[1]


def word_pairs(attribute: str | Path | Attribute = "gender", which: str = "paper") -> Pairs:
    """Word pairs of an attribute, first group first.

    Args:
        attribute: name, file or object, with two groups.
        which: "paper", the ten pairs of Dolci et al. (gender only; otherwise the extended list), or "extended",
            all pairs of the attribute that a swap can undo, one word each, in the order of the file.

    Returns:
        The pairs.

    Raises:
        ValueError: another list, more than two groups, or no pairs.

    Example:
        >>> word_pairs()[0], len(word_pairs())
        (('man', 'woman'), 10)
    """
    if which not in LISTS:
        raise ValueError(f"Word pairs are listed as {' and '.join(map(repr, LISTS))}; got {which!r}.")
    value = load_attribute(attribute)
    first, second = two_groups(value)
    if which == "paper":
        text = resources.files("hf_fairness.measure").joinpath("data/direction_pairs.json").read_text(encoding="utf-8")
        listed = json.loads(text).get(f"{value.name}.{value.language}")
        if listed:
            return oriented_pairs(listed, value)
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for term in value.invertible_terms():
        if term.text.isalpha():
            cells.setdefault((term.concept, term.slot), {}).setdefault(term.group, term.text)
    found = [(cell[first], cell[second]) for cell in cells.values() if len(cell) == 2]
    if not found:
        raise ValueError(f"Attribute {value.name!r} has no pairs of words that a swap can undo. Pass pairs=[...].")
    return found


def _lean(text: str, attribute: Attribute) -> int:
    """How many more words, or given names, of the second group than of the first a text has."""
    first, second = two_groups(attribute)
    found = attribute.counts(text)
    named = {name: group for pair in attribute.names for group, name in pair.names.items()} if text.isalpha() else {}
    return found[second] - found[first] + {second: 1, first: -1}.get(named.get(text, ""), 0)


def oriented_pairs(pairs: Iterable[Any], attribute: str | Path | Attribute = "gender") -> Pairs:
    """Pairs of texts with that of the attribute's first group first, in whatever order they are given.

    Which member belongs to which group is read from the attribute's words and names. A pair of which it knows no word
    is taken in the order of the others, if they are all in one order; alone, as first group first, with a warning.

    Args:
        pairs: each two texts, or a mapping of the two groups to their texts, which says itself which is which.
        attribute: name, file or object, with two groups.

    Returns:
        The pairs, in their order.

    Raises:
        ValueError: no pairs; something else than a pair; both words of one group; a mapping that contradicts the
            attribute; pairs that the attribute does not know beside known ones in both orders.

    Example:
        >>> oriented_pairs([("she", "he"), ("queen", "king"), ("Xena", "Xeno"), {"male": "A", "female": "B"}])
        [('he', 'she'), ('king', 'queen'), ('Xeno', 'Xena'), ('A', 'B')]
    """
    value = load_attribute(attribute)
    groups = two_groups(value)
    given = list(pairs)
    found: list[tuple[str, str]] = []
    signs: list[int] = []
    for pair in given:
        labelled = isinstance(pair, Mapping)
        texts = tuple(pair.get(name) for name in groups) if labelled else () if isinstance(pair, str) else tuple(pair)
        if len(texts) != 2 or not all(isinstance(text, str) for text in texts):
            raise ValueError(
                f"pairs must be pairs of texts, {' then '.join(groups)}, or mappings of these two names to texts; "
                f"got {pair!r}."
            )
        left, right = (_lean(text, value) for text in texts)
        if left == right != 0 and texts[0] != texts[1] and all(text.isalpha() for text in texts):
            raise ValueError(f"Both words of the pair {texts} are {groups[left > 0]}. Leave the pair out or mend it.")
        if labelled and left > right:
            raise ValueError(f"{dict(pair)} contradicts attribute {value.name!r}, which knows the texts the other way.")
        found.append((texts[0], texts[1]))
        signs.append(1 if labelled else (right > left) - (right < left))
    if not found:
        raise ValueError(f"pairs is empty: give pairs of texts, {' then '.join(groups)}.")
    order = _settled(signs, found, [isinstance(pair, Mapping) for pair in given], value)
    return [pair if sign > 0 else pair[::-1] for pair, sign in zip(found, order, strict=True)]


def _settled(signs: Sequence[int], pairs: Pairs, labelled: Sequence[bool], attribute: Attribute) -> list[int]:
    """The order of each pair, with that of the known ones for those that the attribute does not know (0)."""
    unknown = [pair for pair, sign in zip(pairs, signs, strict=True) if sign == 0 and pair[0] != pair[1]]
    known = {sign for sign, marked in zip(signs, labelled, strict=True) if sign != 0 and not marked}
    groups = two_groups(attribute)
    if unknown and len(known) > 1:
        raise ValueError(
            f"{len(unknown)} of {len(pairs)} pairs hold no word of attribute {attribute.name!r}, for example "
            f"{unknown[0]}, and the others stand in both orders. Say which text is whose: "
            f"{{{groups[0]!r}: ..., {groups[1]!r}: ...}}."
        )
    if unknown and not known:
        warnings.warn(
            f"{len(unknown)} of {len(pairs)} pairs hold no word of attribute {attribute.name!r}, for example "
            f"{unknown[0]}: they are taken as {groups[0]} first, {groups[1]} second. If they are not, every sign is "
            f"the wrong way round; {{{groups[0]!r}: ..., {groups[1]!r}: ...}} instead of a pair says it.",
            FairnessWarning,
            stacklevel=5,
        )
    turned = signs.count(-1)
    if turned:
        logger.info("%d of %d pairs were turned: %s comes first.", turned, len(pairs), groups[0])
    usual = min(known, default=1)
    return [sign or usual for sign in signs]


def swapped_pairs(texts: Iterable[str], attribute: str | Path | Attribute = "gender") -> tuple[Pairs, int]:
    """Each text with terms of one group beside its swapped version, first group first.

    Args:
        texts: the texts.
        attribute: name, file or object, with two groups.

    Returns:
        The pairs, and how many texts were left out because they hold no terms, or terms of both groups.

    Raises:
        ValueError: more than two groups.
        TypeError: a text that is none.
    """
    value = load_attribute(attribute)
    first, _ = two_groups(value)
    engine, targets = engine_for(value), swap_targets(value)
    pairs: Pairs = []
    skipped = 0
    for text in texts:
        new, edits = engine.swap(text, targets)
        ways = {edit.direction for edit in edits}
        if len(ways) != 1:
            skipped += 1
        else:
            pairs.append((text, new) if ways.pop().split("->")[0] == first else (new, text))
    return pairs, skipped


def _missing(encoder: BaseEncoder, pair: tuple[str, str]) -> list[str]:
    return [word for word in pair if isinstance(encoder, StaticEncoder) and encoder.lookup(word) is None]


def choose_pairs(
    encoder: BaseEncoder, pairs: Sequence[Any] | str | None, texts: Any, attribute: Attribute
) -> tuple[Pairs, int, str]:
    """The pairs that a direction is made of.

    Args:
        encoder: from ``as_encoder``; word vectors take words, other encoders sentences.
        pairs: pairs of texts as :func:`oriented_pairs` reads them, the name of a list, or None.
        texts: sentences to swap, or None.
        attribute: with two groups.

    Returns:
        The pairs, first group first; how many were left out; and their kind.

    Raises:
        ValueError: both ``pairs`` and ``texts``, texts for word vectors, no pair left, a given word without vector.
    """
    static = isinstance(encoder, StaticEncoder)
    if pairs is not None and texts is not None:
        raise ValueError("Give pairs=... or texts=..., not both.")
    if texts is not None:
        if static:
            raise ValueError("Word vectors know no context: give pairs=[(word, word), ...] instead of texts.")
        chosen, skipped = swapped_pairs(check_texts(texts), attribute)
        if not chosen:
            raise ValueError(f"None of the {skipped} texts has terms of exactly one group; nothing to swap.")
        return chosen, skipped, "swapped texts"
    if pairs is None and not static:
        variants = built_in_variants(attribute)
        if variants is None:
            raise ValueError(
                f"There are no built-in sentences for attribute {attribute.name!r} ({attribute.language}). "
                "Pass texts=[...], a hundred sentences or more with terms of the attribute."
            )
        first, second = two_groups(attribute)
        return list(zip(variants[first], variants[second], strict=True)), 0, "built-in texts"
    if pairs is None or isinstance(pairs, str):
        listed = word_pairs(attribute, pairs or "paper")
        found = [pair for pair in listed if not _missing(encoder, pair)]
        if not found:
            raise ValueError(f"{encoder.name} has both words of none of the {len(listed)} pairs; pass pairs=[...].")
        return found[:EXTENDED], len(listed) - len(found), "word pairs"
    given = oriented_pairs(pairs, attribute)
    lost = [word for left, right in given for word in _missing(encoder, (left, right))]
    if lost:
        raise ValueError(f"{encoder.name} has no vector of {', '.join(lost[:5])}; leave these pairs out.")
    return given, 0, "word pairs" if static else "text pairs"


def pair_differences(encoder: BaseEncoder, pairs: Pairs) -> Floats:
    """Second minus first member of each pair, float64 (n, d); each distinct text is encoded once."""
    texts = list(dict.fromkeys(itertools.chain.from_iterable(pairs)))
    row = {text: place for place, text in enumerate(texts)}
    vectors = encoder.encode(texts).astype(np.float64)
    return vectors[[row[second] for _, second in pairs]] - vectors[[row[first] for first, _ in pairs]]
