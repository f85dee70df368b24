"""Hard debiasing of word vectors: neutral words lose their part in the subspace of the groups, pairs keep equal parts.

For static vectors, and for the matrix of token embeddings inside a model.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness._word_vectors import InputEmbeddings
from hf_fairness.attributes import Attribute
from hf_fairness.erasure.projection import Projection, sentence_debias, unit_rows

#: What tokenizers put before a token that begins a word (SentencePiece, byte-level BPE), and before one that does not.
_BEGINS, _GOES_ON = ("▁", "Ġ"), "##"
#: Categories of concepts that say the group and hardly more.
_PLAIN = ("kinship", "person")
#: Sets that a message names of those that a tokenizer splits, or does not know.
_NAMED = 5
#: Names under which Bolukbasi et al. publish their lists.
_DEFINITIONAL, _EQUALIZE = "definitional_pairs.json", "equalize_pairs.json"
_SPECIFIC = ("gender_specific_full.json", "gender_specific_seed.json")


@dataclass(frozen=True)
class DebiasWords:
    """The words that hard debiasing goes by.

    Attributes:
        definitional: sets of words that differ in the group alone: the subspace comes from them.
        equalize: sets of words that shall differ in the group alone.
        specific: words that keep their part in the subspace.
    """

    definitional: tuple[tuple[str, ...], ...]
    equalize: tuple[tuple[str, ...], ...] = ()
    specific: frozenset[str] = frozenset()

    @classmethod
    def of(cls, attribute: Attribute) -> DebiasWords:
        """Those of an attribute: sets of single words with one word for each group.

        Definitional are pronouns and words for kin and persons (where an attribute has neither, all its words); all
        sets are equalised; every word of a group is specific.

        Example:
            >>> from hf_fairness.attributes import load_attribute
            >>> words = DebiasWords.of(load_attribute("gender"))
            >>> ("he", "she") in words.definitional, ("actor", "actress") in words.definitional
            (True, False)
        """
        groups = attribute.group_names
        pronouns = [
            [next((each.forms[case] for each in attribute.paradigms if each.group == group), "") for group in groups]
            for case in dict.fromkeys(case for each in attribute.paradigms for case in each.forms)
        ]
        nouns = {
            plain: [
                list(forms)
                for concept in attribute.concepts
                if (concept.category in _PLAIN) == plain
                for forms in zip(*(concept.forms.get(group, ()) for group in groups), strict=False)
            ]
            for plain in (True, False)
        }
        plain = _sets([*pronouns, *nouns[True]])
        every = _sets([*plain, *nouns[False]])
        terms = [term.text for group in attribute.groups for term in group.terms]
        return cls(plain or every, every, frozenset([*terms, *(each.text for each in attribute.inherent)]))

    @classmethod
    def chosen(cls, folder: str | Path | None, attribute: Attribute) -> DebiasWords:
        """Those of a folder, as :meth:`read`; without one those of the attribute, as :meth:`of`."""
        return cls.of(attribute) if folder is None else cls.read(folder)

    @classmethod
    def read(cls, folder: str | Path) -> DebiasWords:
        """Those of a folder with the lists of Bolukbasi et al. 2016, or others in files of the same names.

        Args:
            folder: with ``definitional_pairs.json``; ``equalize_pairs.json`` and ``gender_specific_full.json`` (or
                ``_seed``) where there are such words.

        Raises:
            ValueError: no such file, or one that does not hold a list of the kind.
        """
        place = Path(folder)
        if not (place / _DEFINITIONAL).is_file():
            raise ValueError(
                f"{folder} has no {_DEFINITIONAL}, expected a folder with the lists of Bolukbasi et al. 2016: "
                f"{_DEFINITIONAL}, and where you have them {_EQUALIZE} and {_SPECIFIC[0]}."
            )
        found: dict[str, Any] = {}
        for name in (_DEFINITIONAL, _EQUALIZE, *_SPECIFIC):
            try:
                read = json.loads((place / name).read_text(encoding="utf-8")) if (place / name).is_file() else []
            except ValueError as error:
                raise ValueError(f"{place / name} is no JSON file: {error}.") from error
            words = isinstance(read, list) and all(isinstance(each, str) for each in read)
            sets = isinstance(read, list) and all(
                isinstance(each, list) and len(each) > 1 and all(isinstance(word, str) for word in each)
                for each in read
            )
            if not (words if name in _SPECIFIC else sets):
                wanted = "words" if name in _SPECIFIC else "lists of two or more words, one of each group"
                raise ValueError(f"{place / name} holds something else than a JSON list of {wanted}.")
            found[name] = read
        definitional, equalize = (tuple(map(tuple, found[name])) for name in (_DEFINITIONAL, _EQUALIZE))
        return cls(definitional, equalize, frozenset(found[_SPECIFIC[0]] or found[_SPECIFIC[1]]))


def _sets(found: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Sets of single words, none of them twice, each set once."""
    whole = (tuple(each) for each in found if all(word and " " not in word for word in each))
    return tuple(dict.fromkeys(each for each in whole if len(set(each)) == len(each)))


def hard_debias(
    words: Sequence[str],
    vectors: ArrayLike,
    *,
    definitional: Iterable[Sequence[str]],
    equalize: Iterable[Sequence[str]] = (),
    specific: Collection[str] = (),
    k: int = 1,
    keep_lengths: bool = False,
) -> tuple[NDArray[np.float64], Projection]:
    """Word vectors without stereotypes along the first directions in which definitional words differ.

    All vectors are brought to length 1. The subspace holds the first k principal components of the definitional sets,
    each centred on its mean. Words that are neither specific nor in a set to equalise lose their part w_B in it and are
    brought to length 1 again. In a set to equalise with the mean m, every word becomes
    v + sqrt(1 - |v|^2) (w_B - m_B) / |w_B - m_B| with v = m - m_B: all words of the set are then as far from any
    neutral word.

    Args:
        words: one per vector, each once; looked up as they are written.
        vectors: shape (n, dim).
        definitional: sets of words that differ in the group alone, such as pairs; a set with a word that has no vector
            is left out.
        equalize: sets of words that shall differ in the group alone, as there; of sets that share a word the first
            counts.
        specific: words that keep their part, as *beard* does.
        k: how many directions the subspace has.
        keep_lengths: whether every word gets its old length back, as a model needs that reads it; the published code
            leaves length 1.

    Returns:
        The new vectors, shape (n, dim), and the projection that neutral words went through.

    Raises:
        ValueError: not one vector per word, a word twice, a vector of zeros, no definitional set with vectors, more
            directions than they differ in, a set to equalise whose words do not differ in the subspace.

    Source:
        Bolukbasi et al. 2016, *Man is to Computer Programmer as Woman is to Homemaker?*, section 6. Their code also
        neutralises words of sets to equalise that are not listed as specific, which leaves their order to rounding.

    Example:
        >>> vectors = [[1.0, 0.1], [-1.0, 0.1], [0.6, 0.8]]
        >>> new, _ = hard_debias(["he", "she", "doctor"], vectors, definitional=[("he", "she")], specific={"he", "she"})
        >>> new.round(3).tolist()[2]
        [0.0, 1.0]
    """
    given = np.asarray(vectors, dtype=np.float64)
    place = {word: row for row, word in enumerate(words)}
    if given.ndim != 2 or len(given) != len(words):
        raise ValueError(f"vectors have the shape {given.shape}, expected one row for each of {len(words)} words.")
    if len(place) < len(words):
        raise ValueError("A word stands twice among the words: each has one vector.")
    lengths = np.linalg.norm(given, axis=1, keepdims=True)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0.0)))
    if len(wrong):
        raise ValueError(
            f"The vector of {words[wrong[0]]!r} has no direction: it holds zeros alone, NaN or infinite numbers."
        )
    units = given / lengths
    found = _rows(definitional, place)
    if not found:
        raise ValueError("No definitional set has vectors for all its words: give sets of words that are in `words`.")
    if len({len(rows) for rows in found}) > 1:
        raise ValueError("The definitional sets differ in size, expected as many words in each: one of each group.")
    projection = sentence_debias({str(i): units[[rows[i] for rows in found]] for i in range(len(found[0]))}, k=k)
    basis = projection.directions.astype(np.float64)
    inside = (units @ basis.T) @ basis
    equal = _apart(_rows(equalize, place))
    steady = {row for rows in equal for row in rows} | {place[word] for word in specific if word in place}
    neutral = np.setdiff1d(np.arange(len(words)), list(steady))
    new = units.copy()
    new[neutral] = unit_rows(units[neutral] - inside[neutral])
    for rows in equal:
        apart = inside[rows] - inside[rows].mean(axis=0)
        sizes = np.linalg.norm(apart, axis=1, keepdims=True)
        if (sizes < 1e-6).any():  # directions are float32
            names = ", ".join(words[row] for row in rows)
            raise ValueError(f"The words {names} do not differ in the subspace: they cannot be equalised.")
        shared = (units[rows] - inside[rows]).mean(axis=0)
        new[rows] = shared + np.sqrt(max(0.0, 1.0 - float(shared @ shared))) * apart / sizes
    return (new * lengths if keep_lengths else new), projection


def _rows(sets: Iterable[Sequence[str]], place: Mapping[str, int]) -> list[list[int]]:
    """Rows of the words of each set that has them all."""
    return [[place[word] for word in each] for each in sets if all(word in place for word in each)]


def _apart(sets: Iterable[list[int]]) -> list[list[int]]:
    """Sets that share no row: of two that do, the first."""
    found: list[list[int]] = []
    for rows in sets:
        if not any(set(rows) & set(earlier) for earlier in found):
            found.append(rows)
    return found


def token_words(tokenizer: Any) -> list[str]:
    """The word that each token of a tokenizer is by itself, by id; ``""`` for pieces of words and special tokens.

    Where the tokenizer marks the pieces that begin a word (*▁he*, *Ġhe*) only these are words, else those that it does
    not mark as going on (*##he*).
    """
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    marked = any(token.startswith(_BEGINS) for token in tokens if token)
    found = []
    for token in tokens:
        begins = bool(token) and token not in special and (token.startswith(_BEGINS) or not marked)
        word = re.sub(f"^[{''.join(_BEGINS)}]", "", token) if begins else ""
        found.append("" if word.startswith(_GOES_ON) else word)
    return found


def whole_sets(tokenizer: Any, sets: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The sets whose words are each one token of a tokenizer, written in one of the ways that are looked up.

    What is not among them was split into pieces, or is unknown: such words are left as pieces are.
    """
    known = set(token_words(tokenizer))
    return [tuple(each) for each in sets if any(all(word in known for word in form) for form in _cased([each]))]


def check_words(tokenizer: Any, words: DebiasWords, advice: str = "Give words that it has as one token.") -> None:
    """Refuse a tokenizer that has no definitional set as whole words.

    Args:
        tokenizer: of `transformers`.
        words: what to debias by.
        advice: what to do, for the message.

    Raises:
        ValueError: says so.
    """
    if not whole_sets(tokenizer, words.definitional):
        shown = ", ".join("/".join(each) for each in words.definitional[:_NAMED])
        raise ValueError(
            f"The tokenizer splits a word of every one of the {len(words.definitional)} definitional sets ({shown} "
            f"...): there is nothing to find a direction of the groups by. {advice}"
        )


def encoder_alone(model: Any) -> Any:
    """A translator whose encoder reads a matrix of embeddings of its own, where one was tied to decoder or output.

    Args:
        model: an ``AutoModelForSeq2SeqLM``.

    Returns:
        The model, or where weights were tied another one of its class that computes the same and is larger by one
        matrix, or by as many as were tied. Saved, it opens with ``AutoModelForSeq2SeqLM.from_pretrained``.

    Raises:
        ValueError: the architecture cannot have two.
    """
    if not _tied(model):
        return model
    config = copy.deepcopy(model.config)
    # Marian's decoder and output stay tied to each other; other families have one setting for all that is tied.
    name = "share_encoder_decoder_embeddings"
    setattr(config, name if hasattr(config, name) else "tie_word_embeddings", False)
    apart = type(model)(config).to(device=model.device, dtype=model.dtype)
    missing = apart.load_state_dict(model.state_dict(), strict=False).missing_keys
    if missing or _tied(apart):
        raise ValueError(
            f"{type(model).__name__} reads one matrix of embeddings in encoder and decoder, and cannot have two: the "
            "encoder's cannot be changed alone."
        )
    apart.generation_config = model.generation_config
    return apart.train(model.training)


def _tied(model: Any) -> bool:
    """Whether the encoder's matrix is that of the decoder or of the output."""
    own = model.get_encoder().get_input_embeddings().weight
    output = model.get_output_embeddings()
    others = [model.get_decoder().get_input_embeddings().weight, *([] if output is None else [output.weight])]
    return any(own.data_ptr() == other.data_ptr() for other in others)


def hard_debias_embeddings(
    model: Any,
    tokenizer: Any,
    *,
    definitional: Iterable[Sequence[str]],
    equalize: Iterable[Sequence[str]] = (),
    specific: Collection[str] = (),
    k: int = 1,
) -> Projection:
    """Hard-debias the token embeddings that a model reads, in place; lengths stay.

    Words that are one token are looked up as they are written, in lower case, and with a capital; pieces of words are
    neutral. Special tokens, and rows beyond the tokenizer, are left alone. Where output embeddings are tied they change
    too.

    Args:
        model: of `transformers`, or any with ``get_input_embeddings()``.
        tokenizer: its tokenizer.
        definitional: as for :func:`hard_debias`.
        equalize: as there.
        specific: as there.
        k: as there.

    Returns:
        The projection that neutral tokens went through.

    Raises:
        ValueError: as :func:`hard_debias`.

    Source:
        Bolukbasi et al. 2016; for the subwords of a translator's encoder: Choubey et al. 2021, section 4 (+HD).
    """
    import torch

    weight = model.get_input_embeddings().weight
    special = set(tokenizer.all_special_ids)
    words = token_words(tokenizer)[: len(weight)]
    ids = [row for row in range(len(words)) if row not in special and bool(weight[row].detach().any())]
    seen: set[str] = set()
    names = []
    for row in ids:  # a name of its own for all that is no word
        word = words[row]
        names.append(word if word and word not in seen else f"\0{row}")
        seen.add(word)
    new, projection = hard_debias(
        names,
        weight[ids].detach().double().cpu().numpy(),
        definitional=_cased(definitional),
        equalize=_cased(equalize),
        specific={form for (form,) in _cased([word] for word in specific)},
        k=k,
        keep_lengths=True,
    )
    with torch.no_grad():
        weight[ids] = torch.as_tensor(new, dtype=weight.dtype, device=weight.device)
    return projection


def hard_debias_vectors(vectors: Any, words: DebiasWords, *, k: int = 1) -> tuple[Any, Projection]:
    """Hard-debiased word vectors, each of the length that it had; words are also looked up with a capital.

    Args:
        vectors: a mapping of words to vectors (gensim's KeyedVectors too), or ``InputEmbeddings`` of a transformer.
        words: what to go by, such as ``DebiasWords.of(attribute)``; sets with a word that has no vector are left out.
        k: how many directions the subspace has.

    Returns:
        A dict of float32 vectors, or ``InputEmbeddings``; and the projection that neutral words went through. What was
        given stays as it is, and so does a vector of zeros.

    Raises:
        ValueError: as :func:`hard_debias`.

    Source:
        Bolukbasi et al. 2016, section 6; as input of a sentence encoder: Dolci et al. 2023, section 5.4. Their released
        vectors have length 1; here lengths stay, so that an encoder that reads them sees one change and not two.

    Example:
        >>> words = DebiasWords((("he", "she"),), specific=frozenset({"he", "she"}))
        >>> new, _ = hard_debias_vectors({"he": [1.0, 0.0], "she": [-1.0, 0.0], "boss": [3.0, 4.0]}, words)
        >>> new["boss"].tolist(), new["he"].tolist()
        ([0.0, 5.0], [1.0, 0.0])
    """
    sets: dict[str, Any] = {"definitional": words.definitional, "equalize": words.equalize, "specific": words.specific}
    if isinstance(vectors, InputEmbeddings):
        holder = _Holder(vectors.matrix)
        projection = hard_debias_embeddings(holder, vectors.tokenizer, **sets, k=k)
        return InputEmbeddings(holder.layer.weight.numpy(), vectors.tokenizer, vectors.name), projection
    found = {word: np.asarray(vectors[word], dtype=np.float32) for word in getattr(vectors, "index_to_key", vectors)}
    lean = [word for word, vector in found.items() if vector.any()]
    new, projection = hard_debias(
        lean,
        np.stack([found[word] for word in lean]) if lean else np.empty((0, 0)),
        definitional=_cased(words.definitional),
        equalize=_cased(words.equalize),
        specific={form for (form,) in _cased([word] for word in words.specific)},
        k=k,
        keep_lengths=True,
    )
    return {**found, **dict(zip(lean, new.astype(np.float32), strict=True))}, projection


class _Holder:
    """A matrix of embeddings where :func:`hard_debias_embeddings` looks for it; it is copied."""

    def __init__(self, matrix: NDArray[np.float32]) -> None:
        import torch

        rows, width = matrix.shape
        self.layer = torch.nn.Embedding(rows, width, _weight=torch.tensor(matrix), _freeze=True)

    def get_input_embeddings(self) -> Any:
        return self.layer


def _cased(sets: Iterable[Sequence[str]]) -> list[list[str]]:
    """Each set as it is written, in lower case, and with capitals; equal ones once."""
    forms = (str, str.lower, str.capitalize)
    return [list(each) for each in dict.fromkeys(tuple(form(word) for word in one) for one in sets for form in forms)]
