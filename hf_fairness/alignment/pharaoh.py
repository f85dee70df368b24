"""Alignments as text: the Pharaoh format, one line per sentence pair, ``0-0 1-2``."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path


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
