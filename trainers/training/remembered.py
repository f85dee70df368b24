"""Arrays that are computed once: files named by all that the arrays depend on."""

from __future__ import annotations

import io
import logging
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from numpy.typing import NDArray

from hf_fairness.runs import atomic_write_bytes, remove_left_overs

logger = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]


def remembered(path: Path, compute: Callable[[], Arrays]) -> Arrays:
    """Read arrays from a file, or compute and write them; the main process decides for all, and all get the same."""
    main = PartialState().is_main_process
    found: list[Any] = [None]
    if main and path.is_file():
        try:
            found = [unpack_arrays(path.read_bytes())]
            logger.info("%s holds what was computed before.", path)
        except ValueError as error:
            logger.warning("%s is computed again: %s.", path, error)
    broadcast_object_list(found)
    if found[0] is None:
        found = [compute()]
        broadcast_object_list(found)
        if main:
            atomic_write_bytes(path, pack_arrays(found[0]))
            remove_left_overs(path.parent, shared=True)
    return found[0]


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays by name as the bytes of an npz archive."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def unpack_arrays(data: bytes) -> Arrays:
    """Undo `pack_arrays`.

    Raises:
        ValueError: no such archive.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"no readable npz archive: {error}") from error
