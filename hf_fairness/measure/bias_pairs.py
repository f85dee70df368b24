"""Pairs of texts that differ in the group alone: listed words, swapped sentences, and their difference vectors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
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
            return [(left, right) for left, right in listed]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for term in value.invertible_terms():
        if term.text.isalpha():
            cells.setdefault((term.concept, term.slot), {}).setdefault(term.group, term.text)
    found = [(cell[first], cell[second]) for cell in cells.values() if len(cell) == 2]
    if not found:
        raise ValueError(f"Attribute {value.name!r} has no pairs of words that a swap can undo. Pass pairs=[...].")
    return found


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
    encoder: BaseEncoder, pairs: Sequence[tuple[str, str]] | str | None, texts: Any, attribute: Attribute
) -> tuple[Pairs, int, str]:
    """The pairs that a direction is made of.

    Args:
        encoder: from ``as_encoder``; word vectors take words, other encoders sentences.
        pairs: pairs of texts, the name of a list, or None.
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
    given = [tuple(pair) for pair in pairs]
    wrong = next((pair for pair in given if len(pair) != 2 or not all(isinstance(text, str) for text in pair)), None)
    if wrong is not None or not given:
        raise ValueError(f"pairs must be pairs of texts, {' then '.join(two_groups(attribute))}; got {wrong or given}.")
    lost = [word for left, right in given for word in _missing(encoder, (left, right))]
    if lost:
        raise ValueError(f"{encoder.name} has no vector of {', '.join(lost[:5])}; leave these pairs out.")
    return [(left, right) for left, right in given], 0, "word pairs" if static else "text pairs"


def pair_differences(encoder: BaseEncoder, pairs: Pairs) -> Floats:
    """Second minus first member of each pair, float64 (n, d); each distinct text is encoded once."""
    texts = list(dict.fromkeys(itertools.chain.from_iterable(pairs)))
    row = {text: place for place, text in enumerate(texts)}
    vectors = encoder.encode(texts).astype(np.float64)
    return vectors[[row[second] for _, second in pairs]] - vectors[[row[first] for first, _ in pairs]]
