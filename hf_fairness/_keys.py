"""Content keys: one short text that names a value by what it holds, the same on every machine.

`hf_fairness.runs` re-exports `content_key`; import it from there.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import math
import os
import struct
import sys
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Protocol

import numpy as np

#: Part of every key; raise it when the encoding below changes, so that old keys stop matching.
ENCODING = b"hf-fairness-key-1"
#: Rows of a dataset that are hashed at a time; fixed, because it decides where columns are cut.
ROWS = 10_000


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


def content_key(*parts: Any) -> str:
    """Name values by their content: equal content gives an equal key in any process and on any machine.

    Accepted: None, bool, int, float, str, bytes, enum members; lists and tuples (equal to each other), sets,
    mappings in any key order; dataclass instances (class name and fields); numpy scalars and arrays (dtype,
    shape, values; byte order and memory layout do not count); a `Path` stands for the *content* of that file
    or folder, not for its name; a `datasets.Dataset` for its columns, types and rows in order, not for its
    cache fingerprint, its chunks or its format. A `str` that holds a path is only text; 1, 1.0 and True
    are three values.

    Args:
        parts: any number of values; their number and order count.

    Returns:
        32 hexadecimal digits (BLAKE2b, 128 bits).

    Raises:
        TypeError: a part cannot be hashed stably (a function, a model, an open file, ...); the message says
            where it sits and what to pass instead.
        FileNotFoundError: a `Path` does not exist.

    Example:
        >>> content_key({"b": [1, 2], "a": None}) == content_key({"a": None, "b": (1, 2)})
        True
    """
    digest = hashlib.blake2b(ENCODING, digest_size=16)
    _sequence(digest, b"parts", parts, "part ")
    return digest.hexdigest()


def _tag(digest: _Hash, tag: bytes, data: bytes = b"") -> None:
    """Feed one tagged value; tag and length go first, so that no two values share an encoding."""
    digest.update(struct.pack("<B", len(tag)) + tag + struct.pack("<Q", len(data)))
    digest.update(data)


def _sequence(digest: _Hash, tag: bytes, items: Any, where: str) -> None:
    _tag(digest, tag, struct.pack("<Q", len(items)))
    for index, item in enumerate(items):
        _feed(digest, item, f"{where}{index}" if where.endswith(" ") else f"{where}[{index}]")


def _feed(digest: _Hash, value: Any, where: str) -> None:
    if isinstance(value, enum.Enum):
        _tag(digest, b"enum", type(value).__qualname__.encode())
        _feed(digest, value.value, where)
    elif isinstance(value, np.generic) and value.dtype.char not in "gGFDMm":
        _feed(digest, value.item(), where)
    elif value is None or isinstance(value, (bool, int, float, str, bytes)):
        _scalar(digest, value)
    elif isinstance(value, (np.ndarray, np.generic)):
        _feed_array(digest, np.asarray(value), where)
    elif isinstance(value, Path):
        _path(digest, value, where)
    elif isinstance(value, Mapping):
        _mapping(digest, value, where)
    elif isinstance(value, (list, tuple)):
        _sequence(digest, b"list", value, where)
    elif isinstance(value, Set):
        keys = sorted(_own_key(item, f"{where} item") for item in value)
        _tag(digest, b"set", b"".join(keys))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _tag(digest, b"dataclass", type(value).__qualname__.encode())
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        _mapping(digest, fields, where, attribute=True)
    elif _is_dataset(value):
        _dataset(digest, value, where)
    else:
        raise TypeError(_refusal(value, where))


def _scalar(digest: _Hash, value: Any) -> None:
    if value is None:
        _tag(digest, b"none")
    elif isinstance(value, bool):
        _tag(digest, b"bool", b"1" if value else b"0")
    elif isinstance(value, int):
        _tag(digest, b"int", str(int(value)).encode())
    elif isinstance(value, float):
        _tag(digest, b"float", b"nan" if math.isnan(value) else struct.pack("<d", value))
    elif isinstance(value, str):
        _tag(digest, b"str", value.encode("utf-8", "surrogatepass"))
    else:
        _tag(digest, b"bytes", bytes(value))


def _own_key(value: Any, where: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, value, where)
    return digest.digest()


def _mapping(digest: _Hash, value: Mapping[Any, Any], where: str, *, attribute: bool = False) -> None:
    _tag(digest, b"dict", struct.pack("<Q", len(value)))
    for key in value:
        if not (key is None or isinstance(key, (bool, int, float, str, bytes, enum.Enum))):
            raise TypeError(_refusal(key, f"a key of {where}"))
    for key in sorted(value, key=lambda key: _own_key(key, f"a key of {where}")):
        _feed(digest, key, f"a key of {where}")
        _feed(digest, value[key], f"{where}.{key}" if attribute else f"{where}[{key!r}]")


def _feed_array(digest: _Hash, array: np.ndarray[Any, Any], where: str) -> None:
    if array.dtype.kind not in "biufcSUMm" or array.dtype.char in "gG":
        raise TypeError(
            f"content_key cannot hash {where}: a numpy array of dtype {array.dtype} has no stable bytes. "
            "Convert it first, for example array.astype('float64') or array.tolist()."
        )
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    _tag(digest, b"array", little.dtype.str.encode() + repr(array.shape).encode())
    _tag(digest, b"values", little.tobytes())


def _path(digest: _Hash, path: Path, where: str) -> None:
    if path.is_file():
        _tag(digest, b"file", _file_digest(path))
    elif path.is_dir():
        _tag(digest, b"folder")
        for name, file in sorted((file.relative_to(path).as_posix(), file) for file in files_of(path)):
            _tag(digest, b"name", name.encode("utf-8", "surrogateescape"))
            _tag(digest, b"file", _file_digest(file))
    else:
        raise FileNotFoundError(
            f"content_key got a path that does not exist ({where}): {path}. "
            "A Path stands for what it holds; pass str(path) if you mean the text."
        )


def files_of(folder: Path) -> list[Path]:
    """List the files below a folder, links to files included; empty folders do not count.

    Raises:
        ValueError: the folder holds a link to a folder, whose content could not be bounded.
    """
    found = []
    for parent, folders, files in os.walk(folder):
        for name in folders:
            link = Path(parent, name)
            if link.is_symlink():
                raise ValueError(f"{link} links to a folder; copy its content or pass {link.resolve()}.")
        found += [Path(parent, name) for name in files]
    return found


def _file_digest(path: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.digest()


def _is_dataset(value: Any) -> bool:
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(value, datasets.Dataset)


def _dataset(digest: _Hash, dataset: Any, where: str) -> None:
    _tag(digest, b"dataset", struct.pack("<Q", len(dataset)))
    _feed(digest, dataset.column_names, where)
    _feed(digest, dataset.features.to_dict(), f"{where}.features")
    if len(dataset) == 0 or not dataset.column_names:
        return
    columns = {name: hashlib.blake2b(digest_size=16) for name in dataset.column_names}
    for table in dataset.with_format("arrow").iter(batch_size=ROWS):
        for name, column in columns.items():
            _column(column, table.column(name).combine_chunks(), f"{where}[{name!r}]")
    for column in columns.values():
        _tag(digest, b"column", column.digest())


def _column(digest: _Hash, column: Any, where: str) -> None:
    """Feed one Arrow column: where it is null, then the other values, whatever its buffers look like."""
    import pyarrow
    import pyarrow.compute

    if isinstance(column, pyarrow.ChunkedArray):  # combine_chunks keeps an array that is too long for one chunk
        column = pyarrow.concat_arrays(column.chunks)
    if isinstance(column, pyarrow.ExtensionArray):
        column = column.storage
    kind = column.type
    _tag(digest, b"length", struct.pack("<Q", len(column)))
    if column.null_count:
        _tag(digest, b"nulls", np.packbits(column.is_null().to_numpy(zero_copy_only=False)).tobytes())
        column = column.drop_null()
    types = pyarrow.types
    if types.is_null(kind) or len(column) == 0:
        _tag(digest, b"empty")
    elif types.is_string(kind) or types.is_binary(kind):
        _texts(digest, column, np.dtype("<i4"))
    elif types.is_large_string(kind) or types.is_large_binary(kind):
        _texts(digest, column, np.dtype("<i8"))
    elif types.is_struct(kind):
        for index in range(kind.num_fields):
            _column(digest, column.flatten()[index], where)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        lengths = pyarrow.compute.list_value_length(column)
        _tag(digest, b"lengths", lengths.to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        _column(digest, pyarrow.compute.list_flatten(column), where)
    elif types.is_dictionary(kind):
        _column(digest, column.dictionary_decode(), where)
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind):
        _feed_array(digest, column.to_numpy(zero_copy_only=False), where)
    else:
        raise TypeError(f"content_key cannot hash {where}: cast the column from {kind} first.")


def _texts(digest: _Hash, column: Any, offset: np.dtype[Any]) -> None:
    _validity, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=offset)[column.offset : column.offset + len(column) + 1]
    _tag(digest, b"lengths", np.diff(ends).astype("<i8").tobytes())
    _tag(digest, b"texts", b"" if data is None else data[int(ends[0]) : int(ends[-1])].to_pybytes())


def _refusal(value: Any, where: str) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, type) or callable(value):
        name = getattr(value, "__qualname__", kind)
        hint = f"Code has no stable content: pass a name and a version instead, such as ({name!r}, 1)."
    elif kind.startswith("torch."):
        hint = "Pass tensor.numpy(force=True)."
    elif kind.startswith("datasets."):
        hint = "A stream has no known content: pass the name, revision and settings that it is made from."
    elif kind.startswith("datetime."):
        hint = "Pass value.isoformat()."
    else:
        hint = "Pass what it is made from: plain values, dataclasses, numpy arrays, datasets or Paths."
    return f"content_key cannot hash {where}: got {kind}. {hint}"
