"""Word alignments of eflomal (GPL; installed by whoever wants it)."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hf_fairness.alignment.pharaoh import parse_pharaoh


def eflomal(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> list[list[tuple[int, int]]]:
    """Align with eflomal, forward direction, its default model. It draws at random: two runs differ a little.

    Args:
        source: words of each source sentence; no sentence is empty.
        target: words of each target sentence, in the same order; none is empty.

    Returns:
        Per sentence pair its links (source index, target index).

    Raises:
        ImportError: eflomal is not installed.

    Source:
        Östling, Tiedemann 2016, *Efficient Word Alignment with Markov Chain Monte Carlo*.
    """
    try:
        library = importlib.import_module("eflomal")
    except ImportError as error:
        raise ImportError(
            "eflomal is not installed. It is under the GPL and needs a C compiler, so no extra of hf-fairness brings "
            "it: pip install eflomal, or take aligner='fast_align'."
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        links = Path(folder, "links")
        library.Aligner().align(
            [" ".join(words) + "\n" for words in source],
            [" ".join(words) + "\n" for words in target],
            links_filename_fwd=str(links),
        )
        return parse_pharaoh(links.read_text(encoding="utf-8").splitlines())
