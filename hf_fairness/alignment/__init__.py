"""Word alignment: which words of a translation stand for which words of the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hf_fairness.alignment.fast_align import fast_align
from hf_fairness.alignment.installed import eflomal, parse_pharaoh, read_pharaoh, systran

#: Links (source index, target index) of each sentence pair.
Links = list[list[tuple[int, int]]]
#: What aligns a corpus: words of the sources, words of the targets, none of them empty.
Aligner = Callable[[Sequence[Sequence[str]], Sequence[Sequence[str]]], Links]

ALIGNERS: dict[str, Aligner] = {"fast_align": fast_align, "systran": systran, "eflomal": eflomal}
#: What those import that are not part of this package.
ALIGNER_PACKAGES: dict[str, str] = {"systran": "systran_align", "eflomal": "eflomal"}

__all__ = ["ALIGNERS", "ALIGNER_PACKAGES", "Aligner", "Links", "align", "parse_pharaoh", "read_pharaoh"]


def align(
    source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], *, aligner: str | Aligner = "fast_align"
) -> Links:
    """Align the words of a corpus with those of its translation.

    The corpus is also what the aligner learns from: a few sentences are aligned badly, whatever the aligner.

    Args:
        source: words of each source sentence.
        target: words of each target sentence, in the same order. A pair with an empty side has no links.
        aligner: ``"fast_align"`` (numpy), ``"systran"`` (pip install systran-align), ``"eflomal"`` (GPL, pip install
            eflomal), or a function of source and target.

    Returns:
        Per sentence pair its links (source index, target index).

    Raises:
        ValueError: sides of different length, a string in place of its words, or an unknown aligner.
        ImportError: the aligner is not installed.

    Example:
        >>> align([["a", "b"], ["b"]], [["A", "B"], ["B"]])
        [[(0, 0), (1, 1)], [(0, 0)]]
    """
    if isinstance(aligner, str) and aligner not in ALIGNERS:
        raise ValueError(f"Unknown aligner {aligner!r}. Known: {', '.join(ALIGNERS)}, or a function of your own.")
    if len(source) != len(target):
        raise ValueError(f"source and target must pair up; got {len(source)} and {len(target)} sentences.")
    for sentence in (*source[:1], *target[:1]):
        if isinstance(sentence, str):
            raise ValueError(f"Sentences are lists of words; got the string {sentence!r}. Split it first.")
    full = [row for row, (words, others) in enumerate(zip(source, target, strict=True)) if words and others]
    found: Links = [[] for _ in source]
    run = ALIGNERS[aligner] if isinstance(aligner, str) else aligner
    if full:
        for row, links in zip(full, run([source[row] for row in full], [target[row] for row in full]), strict=True):
            found[row] = links
    return found
