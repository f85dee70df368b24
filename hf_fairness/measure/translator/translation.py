"""Translations of many texts: sorted by length, in batches, kept on disk as they come."""

from __future__ import annotations

import contextlib
import copy
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from hf_fairness._opening import as_dtype
from hf_fairness._processes import shared_work, wanted_by_any
from hf_fairness.measure.model_keys import tokenizer_key, weights_key
from hf_fairness.measure.translator.translation_cache import TranslationCache
from hf_fairness.measure.translator.translation_languages import beginning, language_pair
from hf_fairness.runs import content_key
from hf_fairness.utils import FairnessWarning, in_eval

if TYPE_CHECKING:
    import torch

#: Limit of source and translation for a model that states none, in tokens.
DEFAULT_LIMIT = 512
#: Texts whose lengths in tokens round up to the same multiple of this share the limit of their translations.
LENGTH_STEP = 16
#: A translation may have this many tokens per token of its source, and this many more.
TOKENS_PER_TOKEN, MORE_TOKENS = 3, 32


@dataclass(frozen=True)
class TranslationConfig:
    """How texts are translated.

    Attributes:
        num_beams: width of the beam search; 1: greedy.
        batch_size: most texts in a batch.
        batch_tokens: most source tokens in a batch, padding included; a longer text is a batch of its own.
        max_source_length: tokens after which a source is cut; None: the model's limit.
        max_new_tokens: most tokens of a translation; None: three per token of the source and 32 more, at most the
            model's limit. Neither depends on what else is in the batch.
        source_code: code of the source language for tokenizers that have ``src_lang`` (mBART, NLLB, M2M-100); None:
            the tokenizer's own.
        target_code: code of the target language for such models, with which every translation begins; None: the one
            that the model or else the tokenizer is set to.
        prefix: put before every text: T5's ``"translate English to German: "``, ``">>ita<< "`` of multilingual OPUS.
        device: where to translate; None: where the model is.
        dtype: ``"bfloat16"`` or ``"float16"``: compute in mixed precision, whatever precision the weights are in; None:
            in that of the weights.
    """

    num_beams: int = 5
    batch_size: int = 64
    batch_tokens: int = 4096
    max_source_length: int | None = None
    max_new_tokens: int | None = None
    source_code: str | None = None
    target_code: str | None = None
    prefix: str = ""
    device: str | torch.device | None = None
    dtype: str | torch.dtype | None = None

    def __post_init__(self) -> None:
        """Check the counts."""
        for name in ("num_beams", "batch_size", "batch_tokens", "max_source_length", "max_new_tokens"):
            value = getattr(self, name)
            if value is None and name.startswith("max_"):
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}, expected a whole number, 1 or more.")


def translate(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    show_progress: bool | None = None,
    config: TranslationConfig | None = None,
    **options: Any,
) -> list[str]:
    """Translate texts with an encoder-decoder model by beam search.

    Every different text is translated once, in batches of texts of about the same length, longest first. A translation
    does not depend on the other texts, their order or the size of the batches, up to rounding in the model. Processes
    that share rows (`hf_fairness._processes.rows_shared`) take turns at the batches; all of them get all translations.

    Args:
        model: an ``AutoModelForSeq2SeqLM``; dropout is off here, and the model is left in the mode it was in.
        tokenizer: of the model.
        texts: one per row; an empty one (or white space) gives ``""`` and is not sent to the model.
        cache: folder for finished translations. A killed run goes on there after its last finished chunk; other
            weights, settings or texts never get each other's translations. None: none.
        show_progress: None means on a terminal and on the main process only.
        config: how to translate; None: the defaults.
        **options: fields of `TranslationConfig`, in place of those of ``config``.

    Returns:
        Translations in the order of the texts.

    Raises:
        TypeError: the model is no encoder-decoder, or texts are not texts.
        ValueError: an unknown option or language code, a text that is not valid Unicode, a language that is missing,
            or one that is on both sides.

    Warns:
        FairnessWarning: once, with their number, if sources were cut.
    """
    how = _configured(config, options)
    _check(model, texts)
    pending = sorted({text for text in texts if text.strip()})
    if not pending:
        return [""] * len(texts)
    with _translating(model, tokenizer, how) as settings:
        limit = token_limit(model, tokenizer)
        source_limit = min(limit, how.max_source_length or limit)
        key = () if cache is None else _model_key(model, tokenizer, how, settings)
        known = TranslationCache(cache, key)
        pending = sorted(wanted_by_any(text for text in pending if text not in known))
        encoded = _encode(tokenizer, pending, how.prefix, source_limit)
        limits = [min(how.max_new_tokens or new_token_limit(len(ids), limit), limit - 1) for ids in encoded]
        batches = length_batches([len(ids) for ids in encoded], limits, how)

        def work(batch: Sequence[int]) -> list[str]:
            settings.max_new_tokens = limits[batch[0]]
            found = _generate(model, tokenizer, [encoded[row] for row in batch], settings)
            known.add(zip((pending[row] for row in batch), found, strict=True))
            return found

        # the first process may clear the cache away as soon as it has the translations of all
        made = shared_work(batches, work, "translating", finish=known.flush, show_progress=show_progress)
        new = dict(zip(pending, made, strict=True))
    return [(new[text] if text in new else known[text]) if text.strip() else "" for text in texts]


def length_batches(lengths: Sequence[int], limits: Sequence[int], config: TranslationConfig) -> list[list[int]]:
    """Rows in batches: longest first, of one limit of new tokens each.

    Args:
        lengths: tokens of each row.
        limits: most new tokens of each row.
        config: ``batch_size`` and ``batch_tokens`` are read.

    Returns:
        Row numbers of each batch; every row is in one.

    Example:
        >>> length_batches([3, 9, 4], [20, 20, 20], TranslationConfig(batch_size=2))
        [[1, 2], [0]]
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: (-limits[row], -lengths[row], row)):
        if batches:
            first, rows = batches[-1][0], len(batches[-1]) + 1
            fits = rows <= config.batch_size and rows * lengths[first] <= config.batch_tokens
            if fits and limits[row] == limits[first]:
                batches[-1].append(row)
                continue
        batches.append([row])
    return batches


def _configured(config: TranslationConfig | None, options: dict[str, Any]) -> TranslationConfig:
    names = [field.name for field in fields(TranslationConfig)]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise ValueError(f"translate has no option {unknown[0]!r}. Options: {', '.join(names)}.")
    return replace(config or TranslationConfig(), **options)


def _check(model: Any, texts: Sequence[str]) -> None:
    if not getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        raise TypeError(
            f"model is a {type(model).__name__}, expected an encoder-decoder that generates: open it with "
            "AutoModelForSeq2SeqLM."
        )
    if isinstance(texts, str):
        raise TypeError(f"texts is one text, expected a list of texts: [{texts[:40]!r}].")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{row}] is a {type(text).__name__}, expected a text.")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"texts[{row}] is not valid Unicode ({error.reason}): it was read with the wrong encoding. Read the "
                "file as UTF-8 with errors='replace', or drop the row."
            ) from None


@contextlib.contextmanager
def _translating(model: Any, tokenizer: Any, how: TranslationConfig) -> Iterator[Any]:
    """Put model and tokenizer in order, yield the settings of ``generate``, and put both back."""
    import torch

    settings = copy.deepcopy(model.generation_config)
    settings.update(num_beams=how.num_beams, do_sample=False, max_length=None, num_return_sequences=1)
    if how.num_beams == 1:
        settings.update(early_stopping=None, length_penalty=None)
    before = {name: getattr(tokenizer, name) for name in ("src_lang", "tgt_lang") if hasattr(tokenizer, name)}
    source, target = language_pair(tokenizer, settings, how.source_code, how.target_code)
    if target is not None:
        settings.update(**beginning(model, tokenizer, target))
    try:
        if source is not None:
            tokenizer.src_lang = source
        if how.device is not None:
            model.to(how.device)
        kind = as_dtype(how.dtype)
        with in_eval(model), torch.inference_mode(), torch.autocast(model.device.type, kind, enabled=kind is not None):
            yield settings
    finally:
        for name, value in before.items():
            setattr(tokenizer, name, value)


def token_limit(model: Any, tokenizer: Any) -> int:
    """Most tokens that source or translation may have."""
    stated = (getattr(model.config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None))
    return min([value for value in stated if isinstance(value, int) and 0 < value < 10**6], default=DEFAULT_LIMIT)


def new_token_limit(length: int, limit: int) -> int:
    """Most tokens of the translation of a source.

    Args:
        length: tokens of the source.
        limit: of the model.

    Returns:
        Three per token and 32 more, the tokens rounded up to a multiple of 16; at most ``limit``.
    """
    rounded = -(-length // LENGTH_STEP) * LENGTH_STEP
    return min(TOKENS_PER_TOKEN * rounded + MORE_TOKENS, limit)


def _model_key(model: Any, tokenizer: Any, how: TranslationConfig, settings: Any) -> tuple[str, ...]:
    """What a translation depends on beside its text; batch sizes and the device do not count."""
    matter = {
        field.name: getattr(how, field.name)
        for field in fields(how)
        if field.name not in ("batch_size", "batch_tokens", "device")
    } | {"source_code": getattr(tokenizer, "src_lang", None), "dtype": str(as_dtype(how.dtype))}
    generation = settings.to_json_string(use_diff=False, ignore_metadata=True)
    own = model.config.to_dict()
    named = {name: value for name, value in own.items() if name not in ("_name_or_path", "transformers_version")}
    return (
        weights_key(model),
        tokenizer_key(tokenizer),
        content_key(matter),
        content_key(generation),
        content_key(repr(sorted(named.items(), key=lambda item: item[0]))),
    )


def _encode(tokenizer: Any, texts: Sequence[str], prefix: str, limit: int) -> list[list[int]]:
    """Token numbers of each text, those that are too long cut; says how many."""
    if not texts:
        return []
    encoded = tokenizer([prefix + text for text in texts], add_special_tokens=True)["input_ids"]
    long = [row for row, ids in enumerate(encoded) if len(ids) > limit]
    if long:
        cut = tokenizer([prefix + texts[row] for row in long], truncation=True, max_length=limit)["input_ids"]
        for row, ids in zip(long, cut, strict=True):
            encoded[row] = ids
        warnings.warn(
            f"{len(long)} of {len(texts)} texts have more than {limit} tokens; what comes after was not translated.",
            FairnessWarning,
            stacklevel=3,
        )
    return [list(ids) for ids in encoded]


def _generate(model: Any, tokenizer: Any, encoded: Sequence[Sequence[int]], settings: Any) -> list[str]:
    batch = tokenizer.pad({"input_ids": encoded}, return_tensors="pt").to(model.device)
    output = model.generate(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], generation_config=settings
    )
    if settings.forced_bos_token_id is not None:
        output = output[:, 2:]  # M2M-100's tokenizer does not count its languages among the special tokens
    found: list[str] = tokenizer.batch_decode(output, skip_special_tokens=True)
    return [text.strip() for text in found]
