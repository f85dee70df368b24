"""Word alignments of systran-align, a maintained fork of fast_align that joins both directions."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hf_fairness.utils import require


def systran(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> list[list[tuple[int, int]]]:
    """Align with systran-align: both directions are trained as ``fast_align -d -o -v`` and joined.

    Args:
        source: words of each source sentence; no sentence is empty.
        target: words of each target sentence, in the same order; none is empty.

    Returns:
        Per sentence pair its links (source index, target index).

    Raises:
        ImportError: systran-align is not installed.
    """
    library = require("systran_align")
    with tempfile.TemporaryDirectory() as folder:
        corpus, forward, backward = (str(Path(folder, name)) for name in ("corpus", "forward", "backward"))
        with Path(corpus).open("w", encoding="utf-8") as file:
            file.writelines(f"{' '.join(a)} ||| {' '.join(b)}\n" for a, b in zip(source, target, strict=True))
        library.generate_alignment_probabilities(
            corpus, forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        found = library.Aligner(forward, backward).align_batch(
            [list(words) for words in source], [list(words) for words in target]
        )
    return [[(int(i), int(j)) for i, j in pair["alignments"]] for pair in found]
