"""Vectors of words out of context: mappings, text files, and the input embeddings of a transformer."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness._encoder_adapters import (
    BaseEncoder,
    SentenceTransformerEncoder,
    TransformersEncoder,
    Vectors,
    is_a,
    unit_length,
)

#: A word: letters and digits with inner hyphens and apostrophes.
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class StaticEncoder(BaseEncoder):
    """Word vectors: the vector of the whole text if it has one, else the mean over its known words."""

    shares = False

    def __init__(self, vectors: Any, *, normalize: bool = False) -> None:
        self.vectors, self.normalize = vectors, normalize
        self.name = f"word vectors ({type(vectors).__name__})"

    def lookup(self, word: str) -> Any:
        """The vector of a word as written, else in small letters, else None."""
        found = next((self.vectors[form] for form in (word, word.lower()) if form in self.vectors), None)
        if found is None:
            return None
        vector = found.detach().float().cpu().numpy() if hasattr(found, "detach") else np.asarray(found)
        if vector.dtype.kind not in "fiub":
            raise ValueError(f"{self.name}: the vector of {word!r} must hold numbers; got {found!r}.")
        return vector

    def _encode(self, texts: list[str]) -> Any:
        rows = []
        for text in texts:
            whole = self.lookup(text)
            found = [whole] if whole is not None else [self.lookup(word) for word in WORD.findall(text)]
            known = [np.asarray(vector, dtype=np.float32) for vector in found if vector is not None]
            if not known:
                raise ValueError(f"{self.name}: no word of {text!r} has a vector. Leave the text out or add its words.")
            rows.append(np.mean(known, axis=0))
        return unit_length(np.stack(rows)) if self.normalize else np.stack(rows)


class InputEmbeddings:
    """The input embedding matrix of a transformer as word vectors; a word of several pieces has their mean.

    Args:
        matrix: one row per token, float32 (vocabulary, dim).
        tokenizer: the tokenizer of the model.
        name: how messages call the model.
    """

    def __init__(self, matrix: Vectors, tokenizer: Any, name: str) -> None:
        self.matrix, self.tokenizer, self.name = matrix, tokenizer, name
        self.vector_size = int(matrix.shape[1])
        self._found: dict[str, list[int]] = {}

    def _pieces(self, word: str) -> list[int]:
        if word not in self._found:
            ids = self.tokenizer(f" {word}", add_special_tokens=False)["input_ids"] if word.strip() else []
            unknown = self.tokenizer.unk_token_id
            self._found[word] = [] if unknown is not None and unknown in ids else list(ids)
        return self._found[word]

    def __len__(self) -> int:
        return len(self.matrix)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and bool(self._pieces(word))

    def __getitem__(self, word: str) -> Vectors:
        pieces = self._pieces(word)
        if not pieces:
            raise KeyError(word)
        return np.asarray(self.matrix[pieces].mean(axis=0), dtype=np.float32)


def word_module(encoder: BaseEncoder) -> Any:
    """The module of an encoder that holds its word vectors; None where it has none, or no tokenizer of transformers."""
    model: Any = getattr(encoder, "model", None)
    first: Any = model[0] if is_a(model, "sentence_transformers", "SentenceTransformer") and len(model) else None
    known = is_a(first, "sentence_transformers.sentence_transformer.modules", "WordEmbeddings")
    return first if known and hasattr(getattr(first, "tokenizer", None), "tokenizer") else None


def input_embeddings(encoder: BaseEncoder) -> InputEmbeddings:
    """Word vectors from the input embedding matrix of an encoder.

    Args:
        encoder: a transformers model or SentenceTransformer, as ``as_encoder`` returned it; of one that is built on
            word vectors these.

    Returns:
        A mapping of words to vectors; a word that the tokenizer does not know is not in it.

    Raises:
        ValueError: the encoder has no such matrix.

    Source:
        Dolci et al. 2023, section 3.2: word vectors matched to the encoder.
    """
    words = word_module(encoder)
    if words is not None:
        return InputEmbeddings(
            words.emb_layer.weight.detach().float().cpu().numpy(), words.tokenizer.tokenizer, encoder.name
        )
    if isinstance(encoder, SentenceTransformerEncoder):
        model, tokenizer = encoder.model.transformers_model, encoder.model.tokenizer
    elif isinstance(encoder, TransformersEncoder):
        model, tokenizer = encoder.model, encoder.tokenizer
    else:
        model = tokenizer = None
    layer = model.get_input_embeddings() if is_a(model, "transformers", "PreTrainedModel") else None
    if layer is None:
        raise ValueError(f"{encoder.name} has no input embedding matrix; a transformers model has one.")
    return InputEmbeddings(layer.weight.detach().float().cpu().numpy(), tokenizer, encoder.name)


def own_word_vectors(encoder: BaseEncoder) -> StaticEncoder | None:
    """The word vectors that an encoder is built on, as a BiLSTM is; None for one that makes them in context.

    Args:
        encoder: from ``as_encoder``.

    Source:
        Dolci et al. 2023, section 3: GloVe of InferSent.
    """
    if word_module(encoder) is None:
        return None
    vectors = StaticEncoder(input_embeddings(encoder))
    vectors.name = encoder.name
    return vectors


def read_word_vectors(path: str | Path, *, words: Container[str] | None = None) -> dict[str, Vectors]:
    """Word vectors from a text file: a word and its numbers per line (GloVe), with a header line or without.

    Args:
        path: the file, for example ``glove.840B.300d.txt`` or what word2vec writes with ``binary 0``.
        words: keep these words only, which saves memory; None keeps all.

    Returns:
        word: float32 (d,). Where a word stands twice, the first line counts.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line without numbers, or of another length than the first; no vector at all.
    """
    found: dict[str, Vectors] = {}
    width = 0
    with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip().split(" ")
            if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                width = int(parts[1])
                continue
            width = width or len(parts) - 1
            # A word may hold spaces (". . ." in GloVe 840B): the numbers are the last ones.
            word = " ".join(parts[: len(parts) - width])
            if word in found or (words is not None and word not in words):
                continue
            try:
                vector = np.array(parts[len(parts) - width :], dtype=np.float32)
            except ValueError:
                vector = np.empty(0, dtype=np.float32)
            if not word or width < 1 or len(vector) != width or not np.isfinite(vector).all():
                raise ValueError(
                    f"{path}, line {number}: expected a word and {width or 'some'} numbers; got {line[:60]!r}."
                )
            found[word] = vector
    if not found:
        raise ValueError(f"{path} holds no word vectors{' of the words asked for' if words is not None else ''}.")
    return found
