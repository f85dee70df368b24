"""The encoder of the paper: word vectors, an LSTM in both directions, and the maximum over its states (BiLSTM-max).

It is made of modules of `sentence_transformers`, so that it opens anywhere with ``SentenceTransformer(folder)``.

Source: Conneau et al. 2017, *Supervised Learning of Universal Sentence Representations from Natural Language Inference
Data* (InferSent); Dolci et al. 2023, section 4.3.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import LSTM, Pooling, WordEmbeddings
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.demo import minilm_path
from hf_fairness.encoders import (
    WORD_VECTOR_FILES,
    BaseEncoder,
    InputEmbeddings,
    StaticEncoder,
    Vectors,
    as_encoder,
    check_texts,
    input_embeddings,
    own_word_vectors,
    read_word_vectors,
)
from hf_fairness.erasure import DebiasWords, hard_debias_vectors
from hf_fairness.measure.encoder.bias_pairs import LISTS, word_pairs
from hf_fairness.measure.encoder.seat import texts_of
from hf_fairness.measure.encoder.seat_tests import resolve_tests

logger = logging.getLogger(__name__)

#: States of the LSTM in each direction, as published: sentence vectors of 4,096 numbers.
HIDDEN_SIZE = 2048
#: Tokens that every text begins and ends with, and the one that fills batches up.
BEGIN, END, PAD = "<s>", "</s>", "<pad>"
#: What begins every token but these in the vocabulary.
_MARK = "▁"
#: Words as GloVe has them: cut before *n't* and *'s*, hyphens inside, each sign by itself.
_TOKENS = r"\w+?(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W_]+(?:-[^\W_]+)*|[^\w\s]"


def bilstm_max(
    vectors: Any = None,
    *,
    texts: Iterable[str] | None = None,
    attribute: str | Path | Attribute = "gender",
    debias: DebiasWords | None = None,
    hidden_size: int = HIDDEN_SIZE,
    seed: int = 0,
    device: str | None = None,
) -> SentenceTransformer:
    """A BiLSTM-max encoder with weights drawn at random, to be trained with :func:`train_on_nli`.

    Its word vectors stay as they are given; the LSTM reads them. Words are those of the vectors: a text is cut as the
    texts of GloVe were (*don't* is *do n't*), and a word without a vector is passed over, as published. Every text has
    a begin and an end, so that one without any known word has a vector too: that of the empty text.

    The input embeddings of a transformer are read with its own tokenizer, each piece of a word as a word: no word is
    unknown then, and the matrix is kept whole.

    Args:
        vectors: a text file of word vectors (GloVe, word2vec); a mapping of words to vectors (gensim's KeyedVectors
            too); or a SentenceTransformer, its id or folder, or ``input_embeddings(...)`` of one, whose input
            embeddings are taken. None takes those of the all-MiniLM-L6-v2 that the package ``demo`` carries.
        texts: only words of these texts (and of :func:`measured_texts`) are kept of word vectors; words of other texts
            are unknown then. None keeps all.
        attribute: whose words are kept too.
        debias: words to hard-debias the vectors by before they are read (tables 8 to 11 of Dolci et al.), such as
            ``DebiasWords.of(load_attribute("gender"))`` or ``DebiasWords.read(folder)``; None reads them as they are.
        hidden_size: states in each direction; a sentence vector has twice as many numbers. 2,048 as published.
        seed: of the weights.
        device: None means where sentence-transformers puts models.

    Returns:
        A SentenceTransformer of WordEmbeddings, LSTM and Pooling (max).

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no word of the texts has a vector, vectors of different lengths or with NaN, a transformer without a
            fast tokenizer or whose tokenizer makes nothing of an empty text.

    Source:
        Conneau et al. 2017; Dolci et al. 2023, section 4.3. A word that is only known in small letters has that
        vector, which the published code does not look for.

    Example:
        >>> model = bilstm_max({"a": [1.0, 0.0], "nurse": [0.0, 1.0]}, hidden_size=3, device="cpu")
        >>> model.encode(["A nurse", "", "zzz"]).shape
        (3, 6)
    """
    if hidden_size < 1:
        raise ValueError(f"hidden_size is {hidden_size}, expected 1 or more.")
    if texts is not None:
        sets = () if debias is None else (*debias.definitional, *debias.equalize)
        texts = [*check_texts(list(texts)), *measured_texts(attribute), *(word for each in sets for word in each)]
    words, matrix = _read(vectors, texts, debias)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        lstm, read = LSTM(matrix.shape[1], hidden_size), WordEmbeddings(words, matrix)
    return SentenceTransformer(modules=[read, lstm, Pooling(2 * hidden_size, "max")], device=device)


def is_bilstm(model: Any) -> bool:
    """Whether a SentenceTransformer reads word vectors with an LSTM."""
    return len(model) > 1 and isinstance(model[0], WordEmbeddings) and isinstance(model[1], LSTM)


def measured_texts(attribute: str | Path | Attribute = "gender") -> list[str]:
    """Texts that SEAT (its default tests) and the bias score read, and all words and names that a swap may write.

    Args:
        attribute: name, file or object; one with two groups adds its word pairs.
    """
    value = load_attribute(attribute)
    pairs = [pair for which in LISTS for pair in word_pairs(value, which)] if len(value.groups) == 2 else []
    terms = [term.text for group in value.groups for term in group.terms]
    forms = [form for row in value.paradigms for form in row.forms.values()]
    names = [name for pair in value.names for name in pair.names.values()]
    return [*texts_of(resolve_tests()), *(word for pair in pairs for word in pair), *terms, *forms, *names]


def open_word_vectors(vectors: Any = None, texts: Iterable[str] | None = None) -> Any:
    """What :func:`bilstm_max` takes as vectors, opened: a mapping of words, or the input embeddings of a transformer.

    Args:
        vectors: as there.
        texts: of a file only the words of these texts are read, and those with which a text begins and ends.

    Returns:
        A mapping of words to vectors, or ``InputEmbeddings``.
    """
    if isinstance(vectors, (str, Path)) and Path(vectors).suffix.lower() in WORD_VECTOR_FILES:
        if not Path(vectors).is_file():
            raise FileNotFoundError(f"There is no file of word vectors {vectors} (looked from {Path.cwd()}).")
        return read_word_vectors(vectors, words=None if texts is None else {BEGIN, END, *_forms(texts)})
    if vectors is None or isinstance(vectors, (str, Path, BaseEncoder, SentenceTransformer)):
        encoder = as_encoder(minilm_path() if vectors is None else vectors, device="cpu")
        static = encoder if isinstance(encoder, StaticEncoder) else own_word_vectors(encoder)
        return input_embeddings(encoder) if static is None else static.vectors
    return vectors


def _read(vectors: Any, texts: list[str] | None, debias: DebiasWords | None) -> tuple[PreTrainedTokenizerFast, Vectors]:
    """Tokenizer and matrix, one row per token."""
    opened = open_word_vectors(vectors, texts)
    if isinstance(opened, InputEmbeddings):
        opened = opened if debias is None else hard_debias_vectors(opened, debias)[0]
        return _tokenizer_of(opened), opened.matrix
    if not isinstance(as_encoder(opened), StaticEncoder):
        raise TypeError(f"vectors are {type(vectors).__name__}, expected word vectors or a SentenceTransformer.")
    wanted = _all_words(opened) if texts is None else _forms(texts)
    lower = not any(word != word.lower() and word in opened for word in wanted)
    wanted = list(dict.fromkeys(word.lower() for word in wanted)) if lower else wanted
    known = StaticEncoder(opened)
    known = StaticEncoder({word: known.lookup(word) for word in (BEGIN, END, *wanted) if word in opened})
    rows = {word: vector for word in wanted if (vector := known.lookup(word)) is not None}
    if not rows:
        raise ValueError(
            f"None of the {len(wanted)} words of the texts has a vector (such as {', '.join(wanted[:5])}): "
            "these vectors are of other words."
        )
    width = {np.shape(vector) for vector in rows.values()}
    if len(width) > 1 or len(min(width)) != 1 or not all(np.isfinite(vector).all() for vector in rows.values()):
        raise ValueError(f"Word vectors must be finite and of one length; got the shapes {sorted(width)[:5]}.")
    logger.info("%d of %d words have a vector.", len(rows), len(wanted))
    if debias is not None:
        known = StaticEncoder(hard_debias_vectors(known.vectors, debias)[0])
    matrix = np.stack([*_ends(known, next(iter(width))), *(known.lookup(word) for word in rows)])
    return _tokenizer(list(rows), lower=lower), np.asarray(matrix, dtype=np.float32)


def _ends(source: StaticEncoder, shape: tuple[int, ...]) -> Iterator[Any]:
    """Vectors of padding, begin and end; zeros for those that the word vectors lack."""
    for token in (PAD, BEGIN, END):
        vector = None if token == PAD else source.lookup(token)
        yield np.zeros(shape) if vector is None else vector


def _all_words(vectors: Any) -> list[str]:
    """Words of a mapping that a text can hold: no phrases."""
    return [word for word in map(str, getattr(vectors, "index_to_key", vectors)) if [word] == list(_words([word]))]


@cache
def _normalizer(*, lower: bool) -> Any:
    return normalizers.Sequence([normalizers.Replace("’", "'"), *([normalizers.Lowercase()] if lower else [])])


@cache
def _cutter() -> Any:
    """Cuts a text into words, each with a mark before it."""
    split = pre_tokenizers.Split(Regex(_TOKENS), behavior="removed", invert=True)
    return pre_tokenizers.Sequence([split, pre_tokenizers.Metaspace(prepend_scheme="always", split=False)])


def _words(texts: Iterable[str]) -> Iterator[str]:
    """Words of texts as the tokenizer cuts them, as often as they occur."""
    normalize, cut = _normalizer(lower=False), _cutter()
    for text in texts:
        for piece, _ in cut.pre_tokenize_str(normalize.normalize_str(text)):
            yield piece.removeprefix(_MARK)


def _forms(texts: Iterable[str]) -> list[str]:
    """Words of texts, as they are written and in small letters, each once."""
    return list(dict.fromkeys(form for word in _words(texts) for form in (word, word.lower())))


def _tokenizer(words: list[str], *, lower: bool) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words that passes over others and knows which characters it read.

    It is a BPE without merges: a word of the vocabulary is one token, and of another word nothing is left, since no
    single character is a token (all have a mark before them).
    """
    vocabulary = {token: place for place, token in enumerate([PAD, BEGIN, END, *(f"{_MARK}{word}" for word in words)])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    backend.normalizer, backend.pre_tokenizer = _normalizer(lower=lower), _cutter()
    ends = [(token, vocabulary[token]) for token in (BEGIN, END)]
    backend.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A {END}", special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=PAD, bos_token=BEGIN, eos_token=END)


def _tokenizer_of(embeddings: InputEmbeddings) -> PreTrainedTokenizerFast:
    """A copy of the tokenizer of input embeddings, for texts of any length."""
    tokenizer = copy.deepcopy(embeddings.tokenizer)
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(f"{embeddings.name}: its tokenizer ({type(tokenizer).__name__}) is no fast one.")
    if not tokenizer("")["input_ids"]:
        raise ValueError(
            f"{embeddings.name}: its tokenizer makes no token of an empty text, which has no vector then. Take input "
            "embeddings of an encoder (BERT, MiniLM, RoBERTa), or word vectors."
        )
    tokenizer.model_max_length = int(1e30)
    return tokenizer
