"""Word alignments of programs that are installed apart, and the Pharaoh format in which they come, ``0-0 1-2``."""

from __future__ import annotations

import gzip
import importlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from hf_fairness.utils import require


def parse_pharaoh(lines: Iterable[str]) -> list[list[tuple[int, int]]]:
    """Links of each line.

    Args:
        lines: per sentence pair its links as "source-target", separated by spaces; an empty line has none.

    Returns:
        Per line its links (source index, target index), in the order of the line.

    Raises:
        ValueError: something else than links; the message names the line.

    Example:
        >>> parse_pharaoh(["0-0 1-2", ""])
        [[(0, 0), (1, 2)], []]
    """
    found = []
    for number, line in enumerate(lines, 1):
        links = []
        for link in line.split():
            source, _, target = link.partition("-")
            if not (source.isdecimal() and target.isdecimal()):
                raise ValueError(
                    f"Line {number} of the alignments holds {link!r}; expected links such as '0-0 1-2' "
                    "(source index, target index)."
                )
            links.append((int(source), int(target)))
        found.append(links)
    return found


def read_pharaoh(path: str | os.PathLike[str]) -> list[list[tuple[int, int]]]:
    """Links of a file in the Pharaoh format, compressed (``.gz``) or not; see ``parse_pharaoh``.

    Args:
        path: of the file.

    Returns:
        Per line its links.

    Raises:
        ValueError: a line holds something else than links.
    """
    data = Path(path).read_bytes()
    text = gzip.decompress(data) if Path(path).suffix == ".gz" else data
    return parse_pharaoh(text.decode("utf-8").splitlines())


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
