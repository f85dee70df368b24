"""What one does with a fitted eraser: map a column of vectors, put it into a model, keep it in a file."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness._atomic import atomic_write_bytes
from hf_fairness._tables import is_table, names_of, plain_column, with_columns
from hf_fairness.erasure.concepts import Eraser
from hf_fairness.erasure.projection import LinearMap, Projection
from hf_fairness.maps import MapFunction
from hf_fairness.utils import FairnessWarning, is_missing

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

#: Kinds of erasers, by what files and columns call them.
KINDS: dict[str, type[LinearMap]] = {"Projection": Projection, "Eraser": Eraser}
#: Of the files.
FORMAT = "hf-fairness eraser 1"


class Erase(MapFunction):
    """Takes a column of vectors through a fitted eraser, for ``datasets.map``, with ``batched=True`` or without.

    Adds ``<column>_erased``, float32 vectors, and ``<column>_erased_by``: the kind of the eraser and its digest, which
    tells the saved file that it is. Every vector goes through alone, so that batches change no bit. What the eraser
    promises holds for vectors as the column has them: where it was fitted on vectors of length 1, give such.

    Args:
        column: of the vectors: lists or arrays of ``eraser.width`` numbers.
        eraser: what ``sentence_debias``, ``leace`` or ``inlp`` fitted (of the latter ``.projection``).
        output: name of the added column; default: ``<column>_erased``.
        on_missing: what to do about a row without a vector: ``"skip"`` gives it zeros, with a warning; ``"error"``
            refuses it.

    Raises:
        TypeError: no eraser; values that are no vectors (at the call, with row and column).
        ValueError: a column is missing or would be overwritten; vectors of another width, NaN or infinite numbers.

    Example:
        >>> eraser = Projection(np.array([[1.0, 0.0]], dtype=np.float32), np.ones(1))
        >>> Erase("vector", eraser)({"vector": [[3.0, 4.0]]})["vector_erased"].tolist()
        [[0.0, 4.0]]
    """

    def __init__(self, column: str, eraser: LinearMap, *, output: str | None = None, on_missing: str = "skip") -> None:
        super().__init__([column], on_missing=on_missing)
        self.eraser, self.output = _known(eraser), output or f"{column}_erased"
        self.by = f"{_kind(eraser)} {eraser.digest}"

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {self.output: "list<float32>", f"{self.output}_by": "string"}

    def __call__(self, batch: Any) -> Any:
        """Add the columns to a row or a batch, as ``datasets.map`` hands it over in any format of the data set."""
        self.check_columns(names_of(batch))
        values, single = _vectors(batch, self.column)
        if single:
            return {self.output: self._erased(values)[0], f"{self.output}_by": self.by}
        erased, by = self._erased(values), [self.by] * len(values)
        if is_table(batch):
            return with_columns(batch, {self.output: list(erased), f"{self.output}_by": by}, self.outputs(), ())
        return {self.output: erased, f"{self.output}_by": by}

    def _erased(self, values: Sequence[Any]) -> NDArray[np.float32]:
        """The vectors of a batch after the eraser, float32 (n, dim)."""
        found = np.zeros((len(values), self.eraser.width), dtype=np.float32)
        gone = [row for row, value in enumerate(values) if not hasattr(value, "shape") and is_missing(value)]
        if gone and self.on_missing == "skip":
            warnings.warn(
                f"Erase: rows without a vector in {self.column} pass through and are given zeros; on_missing='error' "
                "refuses them.",
                FairnessWarning,
                stacklevel=3,
            )
        skipped = set(gone) if self.on_missing == "skip" else set()
        for row, value in enumerate(values):
            if row not in skipped:
                found[row] = self.eraser(self._vector(value, row))
        return found

    def _vector(self, value: Any, row: int) -> NDArray[np.float64]:
        where = f"Erase: row {row} of the batch, column {self.column!r}"
        try:
            vector = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.zeros((0, 0))
        if vector.ndim != 1:
            raise TypeError(f"{where}: expected a vector of numbers, got {type(value).__name__}: {str(value)[:60]}.")
        if len(vector) != self.eraser.width:
            raise ValueError(
                f"{where}: a vector of {len(vector)} numbers, expected {self.eraser.width}, as those that the eraser "
                "was fitted on: take vectors of the same encoder, or fit again."
            )
        if not np.isfinite(vector).all():
            raise ValueError(f"{where}: the vector holds NaN or infinite numbers. Check the encoder, or drop the row.")
        return vector


def _vectors(batch: Any, column: str) -> tuple[list[Any], bool]:
    """The vectors of a batch, None where one is missing; and whether it was no batch but a row, which has one."""
    if is_table(batch):
        return list(plain_column(batch, column)), False
    values = batch[column]
    if not isinstance(values, np.ndarray) and hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, np.ndarray):
        single = values.ndim < 2 and values.dtype != object
    else:
        single = not isinstance(values, (list, tuple)) or any(isinstance(value, (int, float)) for value in values)
    return [values] if single else list(values), single


def normalizes(model: SentenceTransformer) -> bool:
    """Whether the last layer of a SentenceTransformer brings its vectors to length 1."""
    from sentence_transformers.sentence_transformer.modules import Normalize

    return isinstance(model[-1], Normalize)


def append_eraser(model: SentenceTransformer, eraser: LinearMap, *, normalize: bool | None = None) -> None:
    """Put an eraser behind the last layer of a model, in place, as a frozen ``Dense`` layer in the model's precision.

    The layer comes last, after a ``Normalize`` too, for an eraser is fitted on what the model gives. Whether vectors
    are then brought to length 1 again decides what of the erasure is left:

    - A projection keeps its promise: directions that are 0 stay 0 at any length. So a model that normalised does so
      again. What a *probe* reads may still change with the lengths: INLP is fitted with ``unit_length=True`` for that.
    - An affine eraser (LEACE) does not: covariance 0 with a label is lost where vectors are divided by lengths that
      differ from group to group, and no matrix makes up for that. So its vectors stay as they come out, no longer of
      length 1; a model that compared by dot product, which was the cosine, then compares by cosine. Whoever normalises
      them later (``normalize_embeddings=True``) gives up the guarantee, and keeps about what little is left of it.

    In float16 or bfloat16 a covariance of 0 is 0 up to the rounding of that type. Opened again, the layer is an
    ordinary one: a training changes it unless it is frozen again.

    Args:
        model: a SentenceTransformer.
        eraser: of the width of its vectors.
        normalize: whether to bring vectors to length 1 again; None means for a projection if the model did, never for
            an affine eraser.

    Raises:
        TypeError: no SentenceTransformer, or no eraser.
        ValueError: vectors of another width, or a model that cuts them (``truncate_dim``) to the width of the eraser.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    if not isinstance(model, SentenceTransformer):
        raise TypeError(f"model is a {type(model).__name__}, expected a SentenceTransformer: its layers are added to.")
    _known(eraser)
    with model.truncate_embeddings(None):
        width = model.get_embedding_dimension()
    if width != eraser.width:
        cut = model.truncate_dim
        raise ValueError(
            f"The eraser takes vectors of {eraser.width} numbers, but the model gives {width}"
            + (
                f", of which the first {cut} are kept after all layers: set truncate_dim=None and fit"
                if cut
                else ": fit"
            )
            + " on vectors of this model."
        )
    unit = normalizes(model)
    weight, shift = torch.from_numpy(eraser.matrix), eraser.shift
    bias = None if shift is None else torch.from_numpy(shift.copy())
    layer = Dense(
        width, width, bias=bias is not None, activation_function=torch.nn.Identity(), init_weight=weight, init_bias=bias
    )
    like = next((each for each in model.parameters() if each.is_floating_point()), weight)
    model.append(layer.requires_grad_(False).to(device=like.device, dtype=like.dtype))
    if unit and isinstance(eraser, Projection) if normalize is None else normalize:
        model.append(Normalize())
    elif unit and model.similarity_fn_name == "dot":
        model.similarity_fn_name = "cosine"


def with_eraser(model: SentenceTransformer, eraser: LinearMap, *, normalize: bool | None = None) -> SentenceTransformer:
    """A copy of a model, on the CPU, with an eraser behind its last layer; see :func:`append_eraser`.

    Returns:
        The copy; it saves, and opens anywhere, as a SentenceTransformer with one layer more. The model stays as it is.

    Raises:
        TypeError: as :func:`append_eraser`.
        ValueError: as there.
    """
    found = copy.deepcopy(model)
    append_eraser(found, eraser, normalize=normalize)
    return found.to("cpu")


def save_eraser(eraser: LinearMap, path: str | Path) -> Path:
    """Write an eraser as one safetensors file, whole or not at all; a projection takes 4 bytes a number of k x dim.

    Returns:
        The path written.

    Raises:
        TypeError: no eraser.
    """
    from safetensors.numpy import save

    names = [each.name for each in fields(_known(eraser))]  # type: ignore[arg-type]
    arrays = {name: np.array(getattr(eraser, name), order="C") for name in names}
    told = {"format": FORMAT, "kind": _kind(eraser), "digest": eraser.digest}
    return atomic_write_bytes(path, save(arrays, metadata=told))


def load_eraser(path: str | Path) -> LinearMap:
    """Read an eraser that :func:`save_eraser` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds something else, or was changed since.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(Path(path), framework="numpy") as file:
            told = file.metadata() or {}
            if told.get("format") != FORMAT:
                raise ValueError(f"no {FORMAT!r} file")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        made = KINDS[told["kind"]](**{name: value if value.ndim else value.item() for name, value in arrays.items()})
        if made.digest != told["digest"]:
            raise ValueError(f"its content is {made.digest}, not {told['digest']}")
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no saved eraser ({error}). Expected what save_eraser wrote.") from error
    return made


def _kind(eraser: LinearMap) -> str:
    return type(eraser).__name__


def _known(eraser: LinearMap) -> LinearMap:
    if KINDS.get(_kind(eraser)) is not type(eraser):
        hint = " Take its .projection." if hasattr(eraser, "projection") else ""
        raise TypeError(f"eraser is a {_kind(eraser)}, expected a Projection or an Eraser that was fitted.{hint}")
    return eraser
