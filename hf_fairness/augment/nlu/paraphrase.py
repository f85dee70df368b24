"""Paraphrase by back-translation through a given translation pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_fairness.augment.nlu.base import GenericAugmentation
from hf_fairness.augment.nlu.models import (
    Translate,
    check_batch_size,
    evaluating,
    is_a,
    model_max_length,
    open_pair,
    padded_batches,
    reference,
)


class Paraphrase(GenericAugmentation):
    """After a row a copy of it whose text went into another language and back.

    A row gets no copy where the paraphrase is the source (apart from capitals and spaces) or empty, where the text
    is longer than the model reads, and where the model did not end its translation. Decoding is greedy or a beam
    search, never sampled. The label of the row is kept; nothing checks that the paraphrase means the same. Use it
    with ``batched=True``.

    Args:
        column: column that holds the texts, for example the hypotheses.
        forward: translation into the other language: a sequence-to-sequence model (Hub id, folder, transformers
            model, or a pair of model and tokenizer) that needs no language code or prompt, such as the Marian
            models; or a function of a list of texts that returns as many texts, for every other system.
        backward: the translation back, likewise.
        num_beams: width of the beam search; 1 is greedy.
        max_new_tokens: a translation must end before this many tokens.
        batch_size: texts per batch.
        device: where to run; None means where the models are.
        on_missing: what to do about a row that lacks a text: ``"skip"`` keeps it and adds none, ``"error"`` refuses it.

    Adds:
        ``augmented``: True for the added rows.
        ``augmentation``: ``"paraphrase"`` in the added rows, ``""`` in the others.

    Raises:
        TypeError: a translation that is none of these, or a function that does not return texts.
        ValueError: a number out of range; a function that returns more or fewer texts; at the first call: a model
            does not open.

    Source: Liu et al. 2020, paraphrasing, as described in Wang et al. 2023, section 3.6.

    Example:
        >>> from hf_fairness.augment.nlu import Paraphrase
        >>> there, back = {"It is big.": "C'est grand."}, {"C'est grand.": "It is large."}
        >>> pair = [lambda texts, table=table: [table[text] for text in texts] for table in (there, back)]
        >>> Paraphrase("text", *pair)({"text": ["It is big."]})["text"]
        ['It is big.', 'It is large.']
    """

    method = "paraphrase"

    def __init__(
        self,
        column: str,
        forward: Any,
        backward: Any,
        *,
        num_beams: int = 1,
        max_new_tokens: int = 128,
        batch_size: int = 32,
        device: str | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(column, on_missing=on_missing)
        if len(self.columns) != 1:
            raise TypeError(f"Paraphrase rewrites one column; got {', '.join(self.columns)}.")
        for name, value in (("num_beams", num_beams), ("max_new_tokens", max_new_tokens)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1; got {value}.")
        self.forward, self.backward = _source(forward, "forward"), _source(backward, "backward")
        self.num_beams = num_beams
        self.max_new_tokens = max_new_tokens
        self.batch_size = check_batch_size(batch_size)
        self.device = device
        self._pair: list[Translate] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pair": []}

    def rewrite_texts(self, texts: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Every text there and back, or as it is."""
        if not self._pair:
            self._pair = [self._translation(self.forward), self._translation(self.backward)]
        result = list(texts)
        places = [i for i, text in enumerate(texts) if text.strip()]
        current = [texts[i] for i in places]
        for translate, name in zip(self._pair, ("forward", "backward"), strict=True):
            current = _translated(translate, current, name)
            kept = [j for j, text in enumerate(current) if text.strip()]
            places, current = [places[j] for j in kept], [current[j].strip() for j in kept]
        for i, text in zip(places, current, strict=True):
            if _plain(text) != _plain(texts[i]):
                result[i] = text
        return result

    def _translation(self, source: Any) -> Translate:
        if not isinstance(source, (str, tuple)):
            function: Translate = source
            return function
        model, tokenizer = open_pair("AutoModelForSeq2SeqLM", source)
        return _Translator(model, tokenizer, self)


class _Translator:
    """A sequence-to-sequence model as a function of texts; ``""`` where it cannot translate a whole text."""

    def __init__(self, model: Any, tokenizer: Any, options: Paraphrase) -> None:
        self.model, self.tokenizer, self.options = model, tokenizer, options
        self.limit = model_max_length(model, tokenizer)

    def __call__(self, texts: list[str]) -> list[str]:
        options = self.options
        ids = self.tokenizer(texts)["input_ids"]
        fits = [i for i, tokens in enumerate(ids) if self.limit is None or len(tokens) <= self.limit]
        result = [""] * len(texts)
        pad = self.tokenizer.pad_token_id or 0
        with evaluating(self.model, options.device) as place:
            for chosen, batch in padded_batches([ids[i] for i in fits], pad, options.batch_size, place):
                written = self.model.generate(
                    **batch,
                    do_sample=False,
                    num_beams=options.num_beams,
                    max_new_tokens=options.max_new_tokens,
                    max_length=None,
                )
                decoded = self.tokenizer.batch_decode(written, skip_special_tokens=True)
                for j, text, tokens in zip(chosen, decoded, written.tolist(), strict=True):
                    if _ended(tokens, self.model.generation_config.eos_token_id, options.max_new_tokens):
                        result[fits[j]] = text
        return result


def _ended(tokens: Sequence[int], eos: int | Sequence[int] | None, most: int) -> bool:
    """Whether a translation (with its start token) ended by itself: the last possible end may be a forced one."""
    ends = {eos} if isinstance(eos, int) else set(eos or ())
    return not ends.isdisjoint(tokens[1:most])


def _source(value: Any, name: str) -> Any:
    if callable(value) and not is_a(value, "torch.nn", "Module"):
        return value
    return reference(value, f"a translation ({name}): a function of a list of texts, or a model")


def _translated(translate: Translate, texts: list[str], name: str) -> list[str]:
    if not texts:
        return []
    found = translate(list(texts))
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise TypeError(f"{name} must return a list of texts; got {type(found).__name__}.")
    if len(found) != len(texts):
        raise ValueError(f"{name} must return one text for each of {len(texts)}; it returned {len(found)}.")
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"{name} must return texts; got {type(text).__name__}: {text!r}.")
    return list(found)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
