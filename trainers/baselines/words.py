"""Words in sentences and the tokens that they came to, for methods that change the hidden states of words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from hf_fairness.attributes import Attribute
from hf_fairness.trainers.training.encoder import TrainableEncoder

#: Lists of SEAT's words (tests 6 to 8) that are no words of a group.
_SEAT_LISTS = ("Career", "Family", "Math", "Arts", "Science", "Arts_8")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

#: Where words stand in a text: first offset, offset after the end, and the word in lower case.
Spans = list[tuple[int, int, str]]


@cache
def neutral_words() -> tuple[str, ...]:
    """English words that belong to no group: the occupations and the words of SEAT's tests 6 to 8 of this package."""
    package = files("hf_fairness")
    occupations = [
        word
        for name in ("grammar.en.json", "stereotypes.json")
        for word in json.loads((package / "demo" / name).read_text(encoding="utf-8"))["occupations"]
    ]
    lists = json.loads((package / "measure" / "data" / "seat_words.json").read_text(encoding="utf-8"))["lists"]
    seat = [word for name in _SEAT_LISTS for word in lists[name]["words"]]
    return tuple(dict.fromkeys(word.lower() for word in [*occupations, *seat]))


def read_words(path: str | None, attribute: Attribute, option: str) -> tuple[str, ...]:
    """The words of a file, one word or phrase a line; lines that begin with # are skipped.

    Args:
        path: the file; None means :func:`neutral_words`.
        attribute: whose terms are left out.
        option: name of the setting, for errors.

    Raises:
        ValueError: no such file, no word in it, or no list for the language.
    """
    if path is None:
        if attribute.language != "en":
            raise ValueError(
                f"The words of this package are English, and {attribute.name!r} is in {attribute.language!r}: give "
                f"words of that language with --{option} FILE, one a line."
            )
        found: Iterable[str] = neutral_words()
    else:
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{option} is {path!r}, expected a text file of words, one a line: {error}") from error
        found = (line.strip().lower() for line in lines if not line.lstrip().startswith("#"))
    words = tuple(dict.fromkeys(word for word in found if word and attribute.group_of(word) is None))
    if not words:
        raise ValueError(f"{option}: {path} holds no word that belongs to no group, expected one a line.")
    return words


def finder(words: Iterable[str]) -> Callable[[str], Spans]:
    """A function that finds these words and phrases in a text, in any capitals, the longer of two that overlap."""
    longest = sorted({word.lower() for word in words}, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)
    return lambda text: [(*match.span(), match[0].lower()) for match in pattern.finditer(text)]


def group_finder(attribute: Attribute, group: str) -> Callable[[str], Spans]:
    """A function that finds the words of a group in a text: single words, in any capitals, also before ``'s``."""

    def find(text: str) -> Spans:
        spans = []
        for match in _WORD.finditer(text):
            word = match[0].lower().replace("’", "'")
            stem = word if attribute.group_of(word) is not None else word.split("'")[0]
            if attribute.group_of(stem) == group:
                spans.append((match.start(), match.start() + len(stem), stem))
        return spans

    return find


@dataclass(frozen=True)
class Sentence:
    """A tokenised text and words in it.

    Attributes:
        inputs: what the tokenizer made of it, one number per token under each name.
        words: each found word in lower case with the places of its tokens. Words that were cut off, or
            have a piece that the tokenizer does not know, are not among them.
        tokens: places of the tokens that are no special ones.
    """

    inputs: Mapping[str, list[int]]
    words: tuple[tuple[str, tuple[int, ...]], ...]
    tokens: tuple[int, ...]

    def of_tokens(self) -> Sentence:
        """The sentence with each of its tokens as a word."""
        return Sentence(self.inputs, tuple(("", (place,)) for place in self.tokens), self.tokens)


def check_reading(encoder: TrainableEncoder) -> None:
    """Raise unless the encoder is a transformer whose tokenizer says where in a text its tokens stand.

    Raises:
        ValueError: says what it is instead.
    """
    from sentence_transformers.base.modules import Transformer

    first = encoder.model[0]
    if not isinstance(first, Transformer):
        raise ValueError(
            f"The first module of the model is {type(first).__name__}, expected a transformer: the hidden states of "
            "words are what is trained."
        )
    if not getattr(encoder.model.tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(encoder.model.tokenizer).__name__} does not say where in a text its tokens stand, which is needed "
            "to find words. Save the model with a fast tokenizer (AutoTokenizer makes one for most models)."
        )


def read_sentences(tokenizer: Any, texts: Sequence[str], find: Callable[[str], Spans]) -> list[Sentence]:
    """Tokenise texts, cut to the tokenizer's length, and find words in them.

    Args:
        tokenizer: a fast one.
        texts: read without the prompts that some encoders put before a text.
        find: gives the words of a text.

    Returns:
        One per text.
    """
    stripped = [text.strip() for text in texts]
    if not stripped:
        return []
    encoded = tokenizer(stripped, truncation=True, return_offsets_mapping=True, return_special_tokens_mask=True)
    names = [
        name for name in encoded if name not in ("offset_mapping", "special_tokens_mask", "overflow_to_sample_mapping")
    ]
    found = []
    for row, text in enumerate(stripped):
        special = encoded["special_tokens_mask"][row]
        places = [
            (place, *span)
            for place, span in enumerate(encoded["offset_mapping"][row])
            if not special[place] and span[1] > span[0]
        ]
        words = []
        for start, end, word in find(text):
            tokens = tuple(place for place, first, last in places if first < end and last > start)
            known = all(encoded["input_ids"][row][place] != tokenizer.unk_token_id for place in tokens)
            if tokens and known and places[-1][2] >= end:
                words.append((word, tokens))
        inputs = {name: list(encoded[name][row]) for name in names}
        found.append(Sentence(inputs, tuple(words), tuple(place for place, *_ in places)))
    return found


def padded(tokenizer: Any, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
    """Inputs of a model for several sentences, padded on the right, each of shape (sentences, tokens)."""
    values = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}
    return {
        name: pad_sequence(
            [torch.tensor(each.inputs[name]) for each in sentences],
            batch_first=True,
            padding_value=values.get(name, 0),
        )
        for name in sentences[0].inputs
    }


def shares(sentences: Sequence[Sentence], n_tokens: int) -> Tensor:
    """What each token adds to each word: 1 / pieces of the word, float32 of shape (sentences, words, tokens).

    Sentences with fewer words than another have rows of zeros.
    """
    found = torch.zeros(len(sentences), max(len(each.words) for each in sentences), n_tokens)
    for row, sentence in enumerate(sentences):
        for column, (_, tokens) in enumerate(sentence.words):
            found[row, column, list(tokens)] = 1 / len(tokens)
    return found


def hidden_states(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """States of all tokens in all layers, that of the embeddings first, float32 (sentences, tokens, layers, dim).

    Raises:
        ValueError: the model does not give them.
    """
    layers = model(**inputs, output_hidden_states=True, return_dict=True).get("hidden_states")
    if not layers:
        raise ValueError(f"{type(model).__name__} gives no hidden states of its layers, which are what is trained.")
    return torch.stack(tuple(layers), dim=2).float()


@torch.no_grad()
def iter_word_states(
    model: Any, tokenizer: Any, sentences: Iterable[Sentence], *, batch_size: int = 32
) -> Iterator[tuple[list[str], Tensor]]:
    """The found words of sentences and their states, batch by batch, shortest sentences first.

    Yields:
        Words, and float32 of shape (words, layers, dim): the mean over the pieces of each.
    """
    order = sorted((each for each in sentences if each.words), key=lambda each: len(each.tokens))
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        inputs = {name: value.to(model.device) for name, value in padded(tokenizer, batch).items()}
        states = hidden_states(model, inputs)
        taken = torch.einsum("bwt,btld->bwld", shares(batch, states.shape[1]).to(states.device), states)
        there = [(row, column, word) for row, each in enumerate(batch) for column, (word, _) in enumerate(each.words)]
        rows, columns, words = zip(*there, strict=True)
        yield list(words), taken[list(rows), list(columns)]


def mean_states(
    model: Any, tokenizer: Any, sentences: Iterable[Sentence], *, batch_size: int = 32
) -> tuple[dict[str, Tensor], Counter[str]]:
    """Mean state of each word over all places where it stands, and how many these are.

    Returns:
        word: float32, shape (layers, dim), on the model's device; words in alphabetical order.
    """
    sums: dict[str, Tensor] = {}
    counts: Counter[str] = Counter()
    for words, states in iter_word_states(model, tokenizer, sentences, batch_size=batch_size):
        names = sorted(set(words))
        place = torch.tensor([names.index(word) for word in words], device=states.device)
        added = states.new_zeros(len(names), *states.shape[1:]).double().index_add_(0, place, states.double())
        counts.update(words)
        for name, value in zip(names, added, strict=True):
            sums[name] = sums[name] + value if name in sums else value
    return {name: (sums[name] / counts[name]).float() for name in sorted(sums)}, counts
