"""Rows that are kept apart: texts of one frame, near-duplicates of each other, stay on one side of a split."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hf_fairness.maps import row_seed
from hf_fairness.scores.statistics import generator

#: Texts are near-duplicates when they share at least this part of their distinct words (Jaccard index).
NEAR = 0.4
#: 40 bands of 3 hashes: of two texts at the bound, 93 % meet in some band; of two unlike ones (.1) 4 % do.
_BANDS, _ROWS = 40, 3
#: A text is compared with so many others of a band at most, which keeps the time linear in the number of texts.
_LEADERS = 8
_PRIME = np.uint64((1 << 31) - 1)
_WORD = re.compile(r"\w+")


def frames_of(texts: Sequence[str], labels: Sequence[Hashable] | None = None) -> list[int]:
    """A number for each text, the same for near-duplicates and for texts of one label.

    Near-duplicates share at least two fifths of their distinct words (Jaccard index), or stand in one chain of such
    pairs: sentences filled into one template do. Pairs are looked for by MinHash and checked word by word, in time
    linear in the number of texts; a pair just above the bound may be missed. Texts without spaces are compared by
    pairs of characters.

    Args:
        texts: one per row.
        labels: what rows are known to come from; None, and labels that are None, say nothing.

    Returns:
        Numbers from 0 in the order of first appearance.

    Example:
        >>> frames_of(["They open a shop in May.", "Rain fell all day.", "They open a bakery in May."])
        [0, 1, 0]
    """
    parts = [_parts(text) for text in texts]
    parent = list(range(len(texts)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    def join(one: int, other: int) -> None:
        parent[root(other)] = root(one)

    first: dict[Hashable, int] = {}
    for place, label in enumerate(labels or ()):
        if label is not None:
            join(first.setdefault(label, place), place)
    signatures = _signatures(parts)
    for band in range(_BANDS):
        leaders: dict[bytes, list[int]] = {}
        for place, signature in enumerate(signatures[:, band * _ROWS : (band + 1) * _ROWS]):
            others = leaders.setdefault(signature.tobytes(), [])
            alike = [other for other in others if _near(parts[other], parts[place])]
            for other in alike:
                join(other, place)
            if not alike and len(others) < _LEADERS:
                others.append(place)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(place), len(numbers)) for place in range(len(texts))]


def split_frames(frames: Sequence[int], sizes: Mapping[str, int], *, seed: int = 0) -> dict[str, NDArray[np.intp]]:
    """Rows of each part that is held out, in whole frames drawn at random; the rest is nobody's.

    Args:
        frames: a number for each row, see :func:`frames_of`.
        sizes: rows wanted by part, filled in this order. A part gets no frame that would more than double it, and may
            come out smaller than wanted, or empty.
        seed: of the order of the frames.

    Returns:
        Indices of rows by part, ascending; no frame is in two of them.
    """
    members: dict[int, list[int]] = {}
    for row, frame in enumerate(frames):
        members.setdefault(frame, []).append(row)
    order = generator(seed, "held out").permutation(list(members)).tolist()
    parts: dict[str, NDArray[np.intp]] = {}
    for name, size in sizes.items():
        taken: list[int] = []
        for frame in list(order):
            if len(taken) >= size:
                break
            if len(taken) + len(members[frame]) <= 2 * size and len(order) > 1:
                taken += members[frame]
                order.remove(frame)
        parts[name] = np.array(sorted(taken), dtype=np.intp)
    return parts


def _parts(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    if len(words) < 3:  # a script without spaces, or hardly a text
        joined = "".join(words)
        return frozenset(a + b for a, b in pairwise(joined)) or frozenset(words)
    return frozenset(words)


def _near(one: frozenset[str], other: frozenset[str]) -> bool:
    both = len(one & other)
    return both >= NEAR * (len(one) + len(other) - both)


def _signatures(parts: Sequence[frozenset[str]]) -> NDArray[np.uint64]:
    """MinHash signatures, shape (texts, bands * rows); equal sets have equal ones, and so have empty ones."""
    random = generator(0, "minhash")
    factors, shifts = random.integers(1, int(_PRIME), size=(2, _BANDS * _ROWS), dtype=np.uint64)
    hashes: dict[str, NDArray[np.uint64]] = {}
    result = np.zeros((len(parts), _BANDS * _ROWS), dtype=np.uint64)
    for place, words in enumerate(parts):
        for word in words:
            if word not in hashes:
                number = np.uint64(row_seed(0, word) % int(_PRIME))
                hashes[word] = (factors * number + shifts) % _PRIME
        if words:
            result[place] = np.min([hashes[word] for word in words], axis=0)
    return result
