"""Substitution with a masked language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.augment.nlu.base import GenericAugmentation, check_rate, protected
from hf_fairness.augment.nlu.models import (
    check_batch_size,
    evaluating,
    model_max_length,
    open_pair,
    padded_batches,
    reference,
)
from hf_fairness.augment.nlu.words import FUNCTION_WORDS, Word, draw, is_term, replace, replaceable, words_of
from hf_fairness.maps import row_seed

#: Marks of a token that starts a word (byte-level BPE, SentencePiece); WordPiece marks those that do not.
_STARTS = ("Ġ", "▁")
_CONTINUES = "##"
_PLAIN = re.compile(r"[^\W\d_]{2,}")
#: Decimals of a logit that count: two words closer than this are a tie, and the lower token id wins.
_DECIMALS = 4


class MaskedSubstitution(GenericAugmentation):
    """After a row a copy of it in which a masked language model has filled in some words anew.

    Drawn words are masked together, one mask each, and each is replaced by one of the ``top_k`` likeliest whole
    words, drawn by the row's seed: never a special token, a token that continues a word, a function word or the word
    itself. Capitalised words and function words (English) are not masked. The label of the row is kept, and nothing
    checks that it still holds: a masked model puts *cat* for *dog*. Use it with ``batched=True``.

    Args:
        column: column that holds the texts, for example the hypotheses.
        model: masked language model: Hub id, folder, transformers model, or a pair of model and tokenizer. With an
            id or a folder the callable pickles small and its results are cached by ``datasets``.
        rate: share of the words of a text that are replaced, at least one; in (0, 1].
        top_k: how many of the likeliest words are drawn from.
        seed: of the draws, which depend on the text alone.
        protect: attribute (name, file or object) whose terms are neither replaced nor put in; None for none.
        batch_size: texts per forward.
        device: where to run; None means where the model is.
        on_missing: what to do about a row that lacks a text: ``"skip"`` keeps it and adds none, ``"error"`` refuses it.

    Adds:
        ``augmented``: True for the added rows.
        ``augmentation``: ``"mlm"`` in the added rows, ``""`` in the others.

    Raises:
        TypeError: ``model`` is none.
        ValueError: a number out of range; at the first call: the model does not open, or cannot fill a mask.

    Source: Liu et al. 2020, Sub(MLM), as described in Wang et al. 2023, section 3.6.
    """

    method = "mlm"

    def __init__(
        self,
        column: str,
        model: Any,
        *,
        rate: float = 0.15,
        top_k: int = 5,
        seed: int = 0,
        protect: str | Path | Attribute | None = None,
        batch_size: int = 32,
        device: str | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(column, on_missing=on_missing)
        if len(self.columns) != 1:
            raise TypeError(f"MaskedSubstitution rewrites one column; got {', '.join(self.columns)}.")
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1; got {top_k}.")
        self.model = reference(model, "a masked language model")
        self.rate = check_rate(rate)
        self.top_k = top_k
        self.seed = seed
        self.protect = protected(protect)
        self.batch_size = check_batch_size(batch_size)
        self.device = device
        self._filler: _Filler | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_filler": None}

    def rewrite_texts(self, texts: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Every text with words filled in anew, or as it is."""
        if self._filler is None:
            self._filler = _Filler(*open_pair("AutoModelForMaskedLM", self.model), protect=self.protect)
        drawn = []
        for text, key in zip(texts, keys, strict=True):
            words = words_of(text)
            drawn.append(draw(replaceable(text, words, self.protect), len(words), self.rate, self.seed, key))
        places = [i for i, words in enumerate(drawn) if words]
        found = self._filler(
            [texts[i] for i in places], [drawn[i] for i in places], self.top_k, self.batch_size, self.device
        )
        result = list(texts)
        for i, options in zip(places, found, strict=True):
            changes = []
            for word, new in zip(drawn[i], options, strict=False):  # a text cut at the end has fewer
                if new:
                    changes.append((word, new[row_seed(self.seed, f"{keys[i]}\x1f{word.start}\x1fmlm") % len(new)]))
            result[i] = replace(texts[i], changes)
        return result


class _Filler:
    """A masked language model with the words of its vocabulary."""

    def __init__(self, model: Any, tokenizer: Any, *, protect: Attribute | None) -> None:
        import torch

        if tokenizer.mask_token_id is None:
            raise ValueError(f"{type(tokenizer).__name__} has no mask token: this is no masked language model.")
        self.model, self.tokenizer = model, tokenizer
        self.limit = model_max_length(model, tokenizer)
        self.words = _whole_words(tokenizer, int(model.config.vocab_size), protect)
        if not self.words:
            raise ValueError("The tokenizer has no whole words in small letters to put in.")
        self.barred = torch.ones(int(model.config.vocab_size), dtype=torch.bool)
        self.barred[list(self.words)] = False

    def __call__(
        self,
        texts: Sequence[str],
        drawn: Sequence[Sequence[Word]],
        top_k: int,
        batch_size: int,
        device: str | None,
    ) -> list[list[list[str]]]:
        """For every text and drawn word the words to choose from, the likeliest first."""
        mask = self.tokenizer.mask_token
        # a text that holds the mask itself cannot be told from ours
        masked = [
            text if mask in text else replace_with(text, words, mask) for text, words in zip(texts, drawn, strict=True)
        ]
        limit = {} if self.limit is None else {"truncation": True, "max_length": self.limit}
        ids = self.tokenizer(masked, **limit)["input_ids"] if masked else []
        result: list[list[list[str]]] = [[] for _ in texts]
        pad = self.tokenizer.pad_token_id or 0
        with evaluating(self.model, device) as place:
            for chosen, batch in padded_batches(ids, pad, batch_size, place):
                at = batch["input_ids"] == self.tokenizer.mask_token_id
                logits = self.model(**batch).logits[at].float().cpu()
                for row, ranked in zip(at.nonzero()[:, 0].tolist(), self._rank(logits), strict=True):
                    i = chosen[row]
                    if mask in texts[i]:
                        continue
                    word = drawn[i][len(result[i])].text
                    others = (self.words[token] for token in ranked)
                    kept = dict.fromkeys(other for other in others if other != word)
                    result[i].append(list(kept)[:top_k])
        return result

    def _rank(self, logits: Any) -> list[list[int]]:
        """Token ids of whole words by logit; ties by id."""
        import torch

        scores = torch.round(logits[:, : len(self.barred)], decimals=_DECIMALS)
        scores = scores.masked_fill(self.barred[: scores.shape[1]], -torch.inf)
        order = torch.sort(scores, dim=1, descending=True, stable=True).indices
        ranked: list[list[int]] = order[:, : min(len(self.words), _CONSIDERED)].tolist()
        return ranked


#: Ranked words that are looked at to find ``top_k`` that differ from the word and from each other.
_CONSIDERED = 200


def replace_with(text: str, words: Sequence[Word], mask: str) -> str:
    """The text with a mask for each of the words."""
    pieces, done = [], 0
    for word in words:
        pieces += [text[done : word.start], mask]
        done = word.end
    return "".join([*pieces, text[done:]])


def _whole_words(tokenizer: Any, size: int, protect: Attribute | None) -> dict[int, str]:
    """Token id -> the word that it is, for the words that may be put in."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    start = next((mark for mark in _STARTS if any(token.startswith(mark) for token in vocabulary)), "")
    special = set(tokenizer.all_special_ids)
    found = {}
    for token, number in sorted(vocabulary.items(), key=lambda item: item[1]):
        if number in special or number >= size or not token.startswith(start) or token.startswith(_CONTINUES):
            continue
        word = tokenizer.convert_tokens_to_string([token]).strip() if start else token
        if _PLAIN.fullmatch(word) and word.islower() and word not in FUNCTION_WORDS and not is_term(word, protect):
            found[number] = word
    return found
