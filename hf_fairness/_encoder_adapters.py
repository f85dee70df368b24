"""The adapters behind ``hf_fairness.encoders.as_encoder``, and the checks that all of them share."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hf_fairness._processes import one_thread_after_fork, shared_work, turn, wanted_by_any
from hf_fairness.utils import in_eval, is_main_process, progress, whole

if TYPE_CHECKING:
    import torch

Vectors = NDArray[np.float32]
POOLINGS = ("mean", "cls", "max")
EXPECTED = (
    "a Hub id, a local model folder, a SentenceTransformer, a transformers model with tokenizer=..., word "
    "vectors (a mapping of words to vectors), or an object with encode(texts) -> array of shape (n, d)"
)
#: Families that count positions from 2, so that two of the stated positions are never used.
_OFFSET_POSITIONS = frozenset({"camembert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"})


def check_texts(texts: Sequence[str], name: str = "texts") -> list[str]:
    """The texts as a list, or an error that names the first item that is no string.

    Args:
        texts: the texts.
        name: how messages call them.

    Returns:
        A list of str, at least one.

    Raises:
        TypeError: a single string, or an item that is no string.
        ValueError: no texts.
    """
    if isinstance(texts, str):
        raise TypeError(f"{name} must be a list of texts; got one string. Put it in a list.")
    items = list(whole(texts))
    for place, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(f"{name}[{place}] must be a string; got {type(item).__name__}: {item!r}.")
    if not items:
        raise ValueError(f"{name} is empty: there is nothing to encode.")
    return items


def check_vectors(vectors: Any, texts: Sequence[str], source: str) -> Vectors:
    """What an encoder returned, as float32 of shape (n, d), or an error that names the encoder.

    Args:
        vectors: an array, a tensor, or a list of either.
        texts: the texts that were encoded.
        source: how messages call the encoder.

    Returns:
        float32, shape (n, d).

    Raises:
        TypeError: not numbers.
        ValueError: not one vector per text, NaN or infinity.
    """
    try:
        if hasattr(vectors, "detach"):
            vectors = vectors.detach().float().cpu().numpy()
        elif isinstance(vectors, (list, tuple)) and vectors and hasattr(vectors[0], "detach"):
            vectors = [vector.detach().float().cpu().numpy() for vector in vectors]
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{source} is no encoder: encode(texts) must return numbers of shape (n, d); {error}."
        ) from error
    if array.ndim != 2 or len(array) != len(texts) or array.shape[1] == 0:
        raise ValueError(
            f"{source} is no encoder: encode() of {len(texts)} texts must return one vector per text, shape "
            f"({len(texts)}, d); got shape {array.shape}."
        )
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"{source} returned NaN or infinity for {int((~finite).sum())} of {len(texts)} texts, the first "
            f"in row {place}: {texts[place]!r}. Check the model's weights and dtype."
        )
    return array


class BaseEncoder(ABC):
    """Checks what goes in and what comes out; subclasses fill ``_encode``."""

    #: How messages and ``meta`` call this encoder.
    name: str = "encoder"
    #: Whether processes that share rows share the texts here: not where another encoder is asked, or a table.
    shares: ClassVar[bool] = True
    #: Whether vectors are scaled to length 1 here.
    normalize: bool = False

    @property
    def label(self) -> str:
        """The name without the folders above it, fit for a published result."""
        path = Path(self.name).expanduser()
        return path.name if path.is_absolute() or path.exists() else self.name

    def opened_with(self, option: str) -> Any:
        """What an option of ``as_encoder`` is here; None where there is no such option."""
        return getattr(self, option, None)

    @abstractmethod
    def _encode(self, texts: list[str]) -> Any:
        """Vectors of the texts in input order."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts.

        Args:
            texts: at least one string.

        Returns:
            float32, shape (n, d), in input order.

        Raises:
            TypeError: an item that is no string, or an encoder that returns no numbers.
            ValueError: no texts, or vectors of a wrong shape, or NaN among them.
        """
        items = check_texts(texts)
        processes = turn()[1] if self.shares else 1
        if processes == 1:
            return check_vectors(self._encode(items), items, self.name)
        order = sorted(range(len(items)), key=lambda place: len(items[place]))
        parts = [order[start::processes] for start in range(min(processes, len(items)))]

        def work(places: Sequence[int]) -> Vectors:
            mine = [items[place] for place in places]
            return check_vectors(self._encode(mine), mine, self.name)

        return np.stack(shared_work(parts, work, "Encoding", show_progress=False))


class RememberingEncoder(BaseEncoder):
    """Another encoder that is asked for each text once: what it gave stays in memory for as long as this object lives.

    Kept are 4 bytes a dimension and text (15 MB for 10,000 texts of 384 dimensions) and the texts themselves.

    Args:
        encoder: what gives the vectors.
    """

    shares = False

    def __init__(self, encoder: BaseEncoder) -> None:
        self.encoder, self.name = encoder, encoder.name
        self._vectors: dict[str, Vectors] = {}

    def opened_with(self, option: str) -> Any:
        """As the other encoder was opened."""
        return self.encoder.opened_with(option)

    def unseen(self, texts: Iterable[str]) -> list[str]:
        """Those of the texts that have no vector yet, each once, in order of first appearance.

        Where processes share rows, they are those that any of these lacks.
        """
        return wanted_by_any(text for text in dict.fromkeys(texts) if text not in self._vectors)

    def _encode(self, texts: list[str]) -> Any:
        if new := self.unseen(texts):
            self._vectors.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


class SentenceTransformerEncoder(BaseEncoder):
    """A ``SentenceTransformer``: its own pooling and normalisation; its training mode is put back."""

    def __init__(
        self,
        model: Any,
        *,
        batch_size: int = 32,
        device: str | torch.device | None = None,
        normalize: bool | None = None,
        max_length: int | None = None,
        show_progress: bool | None = None,
    ) -> None:
        self.model, self.batch_size, self.device = model, batch_size, device
        self.normalize, self.max_length, self.show_progress = bool(normalize), max_length, show_progress
        self.name = name_of(model)
        if normalize is False and self.opened_with("normalize"):
            raise ValueError(
                f"{self.name} is a SentenceTransformer with a Normalize module, which makes all vectors 1 long; got "
                "normalize=False. Leave it out, or open the model without that module."
            )

    def opened_with(self, option: str) -> Any:
        """As the other encoders; a ``Normalize`` module normalises too."""
        unit = option == "normalize" and any(type(each).__name__ == "Normalize" for each in self.model)
        return unit or super().opened_with(option)

    def _encode(self, texts: list[str]) -> Any:
        from hf_fairness._linear import quick_linear

        show = self.show_progress
        if show is None:
            show = sys.stderr.isatty() and is_main_process() and len(texts) > 8 * self.batch_size
        was_length = self.model.max_seq_length
        one_thread_after_fork()
        with in_eval(self.model), quick_linear():
            try:
                if self.max_length is not None:
                    self.model.max_seq_length = self.max_length
                return self.model.encode(
                    texts,
                    batch_size=self.batch_size,
                    device=None if self.device is None else str(self.device),
                    normalize_embeddings=self.normalize,
                    convert_to_numpy=True,
                    show_progress_bar=show,
                )
            finally:
                if self.max_length is not None:
                    self.model.max_seq_length = was_length


class TransformersEncoder(BaseEncoder):
    """A transformers model with its tokenizer: last hidden state, pooled over the attended tokens."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        batch_size: int = 32,
        device: str | torch.device | None = None,
        pooling: str = "mean",
        normalize: bool = False,
        max_length: int | None = None,
        show_progress: bool | None = None,
    ) -> None:
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
        self.name = name_of(model)
        self.model, self.tokenizer = _body(model), tokenizer
        self.batch_size, self.device, self.pooling = batch_size, device, pooling
        self.normalize, self.show_progress = normalize, show_progress
        self.max_length = model_max_length(self.model, tokenizer) if max_length is None else max_length

    def _encode(self, texts: list[str]) -> Any:
        import torch

        order: list[int] = []
        rows: list[torch.Tensor] = []
        for places, hidden, mask, _ in self.hidden_batches(texts):
            order += places
            rows.append(self._pool(hidden, mask).cpu())
        pooled = torch.cat(rows).numpy()
        result = np.empty_like(pooled)
        result[order] = pooled
        return result

    def hidden_batches(
        self, texts: list[str], *, offsets: bool = False
    ) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor, list[list[tuple[int, int]]]]]:
        """Hidden states of all tokens, in batches of texts of similar length; one batch is held at a time.

        Args:
            texts: at least one string.
            offsets: whether the characters of each token are asked for, which a slow tokenizer cannot tell.

        Yields:
            Places of the batch's texts; hidden states, float32 (batch, tokens, dim), on the device; which of
            them are tokens, (batch, tokens); per text the span of each token, empty unless ``offsets``.
        """
        import torch

        from hf_fairness._linear import quick_linear

        fields = self._fields(texts, offsets)
        spans = fields.pop("offset_mapping") if offsets else None
        order = sorted(range(len(texts)), key=lambda i: len(fields["input_ids"][i]))
        show = False if self.show_progress is None and len(texts) <= 8 * self.batch_size else self.show_progress
        device = self.model.device if self.device is None else torch.device(self.device)
        one_thread_after_fork()
        self.model.to(device)
        with in_eval(self.model):
            for start in progress(range(0, len(texts), self.batch_size), "Encoding", show_progress=show, unit="batch"):
                places = order[start : start + self.batch_size]
                with torch.no_grad(), quick_linear():  # not around the yield: the caller's code is none of our business
                    hidden, mask = self._forward({k: [v[i] for i in places] for k, v in fields.items()}, device)
                yield places, hidden, mask, [spans[i] for i in places] if spans is not None else []

    def _fields(self, texts: list[str], offsets: bool) -> Any:
        """Unpadded token lists of texts by field, with the characters of each token where they are asked for."""
        options = {} if self.max_length is None else {"truncation": True, "max_length": self.max_length}
        return self.tokenizer(texts, **({"return_offsets_mapping": True} if offsets else {}), **options)

    def _forward(self, fields: dict[str, list[list[int]]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Hidden states, and which of them are tokens, of one batch of unpadded token lists."""
        import torch

        lengths = [len(ids) for ids in fields["input_ids"]]
        if min(lengths) == 0:
            raise ValueError(f"{self.name}: the tokenizer made no token of a text; an empty text has no vector here.")
        pads = {"input_ids": self.tokenizer.pad_token_id or 0}
        batch = {
            # Padded here, on the right: it works for tokenizers without a padding token and puts CLS first.
            key: torch.tensor([v + [pads.get(key, 0)] * (max(lengths) - len(v)) for v in values], device=device)
            for key, values in fields.items()
        }
        mask = torch.arange(max(lengths), device=device)[None, :] < torch.tensor(lengths, device=device)[:, None]
        batch["attention_mask"] = mask.long()
        accepted = inspect.signature(self.model.forward).parameters
        output = self.model(**{key: value for key, value in batch.items() if key in accepted})
        hidden = getattr(output, "last_hidden_state", None)
        if hidden is None or hidden.ndim != 3:
            raise ValueError(
                f"{self.name} ({type(self.model).__name__}) is no encoder: its output has no "
                f"last_hidden_state of shape (batch, tokens, dim). Expected {EXPECTED}."
            )
        return hidden.float(), mask

    def _pool(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """One vector per text, of its hidden states."""
        import torch

        keep = mask[:, :, None]
        if self.pooling == "mean":
            pooled = (hidden * keep).sum(dim=1) / keep.sum(dim=1)
        elif self.pooling == "max":
            pooled = hidden.masked_fill(~keep, -torch.inf).amax(dim=1)
        else:
            pooled = hidden[:, 0]
        return torch.nn.functional.normalize(pooled, dim=-1) if self.normalize else pooled


class RecurrentEncoder(TransformersEncoder):
    """A SentenceTransformer of word vectors and an LSTM: the states of the LSTM, pooled over the tokens.

    Args:
        model: its modules are WordEmbeddings, LSTM and Pooling, and perhaps Normalize.
        pooling: of the model.
        normalize: scale vectors to length 1.
        max_length: tokens that are read.
        batch_size: texts per forward pass.
        device: None means where the model is.
        show_progress: as for the other encoders.
    """

    def __init__(
        self,
        model: Any,
        *,
        pooling: str,
        normalize: bool = False,
        max_length: int | None = None,
        batch_size: int = 32,
        device: str | torch.device | None = None,
        show_progress: bool | None = None,
    ) -> None:
        self.name, self.model, self.pooling = name_of(model), model, pooling
        wrapped = model[0].tokenizer
        self.tokenizer = getattr(wrapped, "tokenizer", wrapped)
        self.batch_size, self.device = batch_size, device
        self.normalize, self.show_progress, self.max_length = normalize, show_progress, max_length

    def _fields(self, texts: list[str], offsets: bool) -> Any:
        """As `WordEmbeddings` reads texts: what is too long is cut off, the token that ends a text with it."""
        fields = self.tokenizer(texts, **({"return_offsets_mapping": True} if offsets else {}))
        names = ("input_ids", "offset_mapping") if offsets else ("input_ids",)
        return {name: [row[: self.max_length] for row in fields[name]] for name in names}

    def _forward(self, fields: dict[str, list[list[int]]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        ids = fields["input_ids"]
        lengths = torch.tensor([len(row) for row in ids])
        longest = int(lengths.max())
        if int(lengths.min()) == 0:
            raise ValueError(f"{self.name}: it knows no word of a text, and such a text has no vector here.")
        mask = (torch.arange(longest)[None, :] < lengths[:, None]).to(device)
        batch = {
            "input_ids": torch.tensor([row + [0] * (longest - len(row)) for row in ids], device=device),
            "attention_mask": mask.long(),
            "sentence_lengths": lengths,
        }
        for module in (self.model[0], self.model[1]):
            batch = module(batch)
        return batch["token_embeddings"].float(), mask


class FunctionEncoder(BaseEncoder):
    """A function of a list of texts, or the ``encode`` method of somebody else's object."""

    def __init__(self, function: Callable[[list[str]], Any], *, name: str, normalize: bool = False) -> None:
        self.function, self.name, self.normalize = function, name, normalize

    def _encode(self, texts: list[str]) -> Any:
        vectors = check_vectors(self.function(texts), texts, self.name)
        return unit_length(vectors) if self.normalize else vectors


def unit_length(vectors: Vectors) -> Vectors:
    """Vectors of length 1; a vector of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0.0, lengths, 1.0), dtype=np.float32)


def is_a(model: Any, module: str, name: str) -> bool:
    """Isinstance without importing: an object of a library exists only if the library is loaded."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)


def is_live(model: Any) -> bool:
    """Whether something is a model of transformers or PEFT, open already."""
    return is_a(model, "transformers", "PreTrainedModel") or is_a(model, "peft", "PeftModel")


def split_pair(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Model and tokenizer of a pair of the two, which some of our functions ask for; others as they are."""
    if isinstance(model, tuple) and len(model) == 2 and is_live(model[0]):
        return model[0], model[1] if tokenizer is None else tokenizer
    return model, tokenizer


def name_of(model: Any) -> str:
    """Where a model came from, else its class."""
    if is_a(model, "sentence_transformers", "SentenceTransformer"):
        card = getattr(model, "model_card_data", None)
        name = getattr(card, "model_id", None) or getattr(card, "base_model", None)
        if not name and len(model):
            name = getattr(getattr(getattr(model[0], "auto_model", None), "config", None), "_name_or_path", None)
    else:
        name = getattr(model, "name_or_path", None)
    return str(name) if name else type(model).__name__


def _body(model: Any) -> Any:
    """The part of a transformers model that gives hidden states: no head, no decoder, adapters left in."""
    if is_a(model, "peft", "PeftModel"):
        model = model.get_base_model()
    body = model.base_model
    if getattr(body.config, "is_encoder_decoder", False):
        body = body.get_encoder()
    return body


def model_max_length(model: Any, tokenizer: Any) -> int | None:
    """Most tokens the model can take, or None where neither model nor tokenizer says."""
    positions = getattr(model.config, "max_position_embeddings", None)
    limits = [positions] if isinstance(positions, int) and positions > 0 else []
    if limits and getattr(model.config, "model_type", "") in _OFFSET_POSITIONS:
        limits = [limits[0] - 2]
    stated = getattr(tokenizer, "model_max_length", None)
    if isinstance(stated, int) and stated < 10**6:  # tokenizers state 10**30 where nothing is known
        limits.append(stated)
    return min(limits) if limits else None
