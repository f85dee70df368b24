"""Languages of translators that know many: which two are meant, what the tokenizer writes, how a translation begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

#: How codes look, for messages.
EXAMPLES = "'it_IT' (mBART), 'ita_Latn' (NLLB) or 'it' (M2M-100)"


def language_pair(
    tokenizer: Any, generation: Any, source: str | None = None, target: str | None = None
) -> tuple[str | None, str | None]:
    """The codes of source and target language, of those that were named and of what model and tokenizer say.

    A source that is not named is the tokenizer's own. A target that is not named is the one that the model is made to
    begin with, else the tokenizer's own.

    Args:
        tokenizer: of the model.
        generation: the model's ``generation_config``.
        source: code of the source language, as the tokenizer spells it; None: not named.
        target: the same of the target language.

    Returns:
        The two codes. Of a tokenizer without languages (no ``src_lang``) the source is None, and the target is what
        was named.

    Raises:
        ValueError: a code that the tokenizer does not know, a source language for a tokenizer without any, or one of
            many languages of which no target is known, or the same on both sides.
    """
    if target is not None:
        language_id(tokenizer, target, "target_code")
    if not hasattr(tokenizer, "src_lang"):
        if source is not None:
            raise ValueError(
                f"source_code is {source!r}, but a {type(tokenizer).__name__} knows no source languages: leave it out."
            )
        return None, target
    named, source = source, source or tokenizer.src_lang
    language_id(tokenizer, source, "source_code")
    if target is None:
        target = _forced(tokenizer, generation)
    if target is None and tokenizer.tgt_lang != source:  # an unset one becomes the source's when labels are made
        target = tokenizer.tgt_lang
    if target is None:
        raise ValueError(
            f"A model with a {type(tokenizer).__name__} translates into many languages and none was named. Give the "
            f"code of the target language (target_code; --target_code of the command), for example {EXAMPLES}, and of "
            "the source language (source_code; --source_code)."
        )
    if source == target:
        where = "" if named else ", which is the tokenizer's own where source_code (--source_code) is not given"
        raise ValueError(f"Source and target language are both {target!r}{where}. Name two languages.")
    return source, target


def language_id(tokenizer: Any, language: str, name: str) -> int:
    """The token of a language.

    Raises:
        ValueError: the tokenizer has none for it.
    """
    code = tokenizer.get_lang_token(language) if language in getattr(tokenizer, "lang_code_to_token", ()) else language
    found = tokenizer.convert_tokens_to_ids(code)
    if found is None or found == tokenizer.unk_token_id:
        raise ValueError(
            f"{name} is {language!r}, which is no language code of this {type(tokenizer).__name__}. Codes look like "
            f"{EXAMPLES}."
        )
    return int(found)


def set_languages(model: Any, tokenizer: Any, source: str | None = None, target: str | None = None) -> None:
    """Make the tokenizer write both sides in their languages, and the model begin its translations as its labels do.

    Args:
        model: whose ``generation_config`` is set.
        tokenizer: whose ``src_lang`` and ``tgt_lang`` are set; one without languages stays as it is.
        source: as in :func:`language_pair`.
        target: as there.

    Raises:
        ValueError: as there.
    """
    source, target = language_pair(tokenizer, model.generation_config, source, target)
    if source is None or target is None:
        return
    tokenizer.src_lang, tokenizer.tgt_lang = source, target
    model.generation_config.update(**beginning(model, tokenizer, target))


def beginning(model: Any, tokenizer: Any, target: str) -> dict[str, int | None]:
    """Settings of ``generate`` with which a translation begins as in training.

    Most models write the language first (``forced_bos_token_id``). Where the tokenizer puts its token after the end of
    a text, and the model turns that round for the decoder (the first mBART), the decoder starts from it.

    Args:
        model: an encoder-decoder.
        tokenizer: of it.
        target: code of the language.
    """
    import torch

    code = language_id(tokenizer, target, "target_code")
    before = getattr(tokenizer, "tgt_lang", None)
    try:
        tokenizer.tgt_lang = target
        labels = tokenizer(text_target="a")["input_ids"]
    finally:
        tokenizer.tgt_lang = before
    if labels[-1] == code and int(decoder_inputs(model, torch.tensor([labels]))[0, 0]) == code:
        return {"decoder_start_token_id": code, "forced_bos_token_id": None}
    return {"forced_bos_token_id": code}


def decoder_inputs(model: Any, labels: torch.Tensor) -> torch.Tensor:
    """What the decoder reads while it learns to write labels: the same, one later, after the token that starts it.

    Models that shift their labels inside the forward pass only (NLLB, M2M-100) start with ``decoder_start_token_id``.

    Args:
        model: an encoder-decoder.
        labels: (batch, length); padding is -100.
    """
    if hasattr(model, "prepare_decoder_input_ids_from_labels"):
        found: torch.Tensor = model.prepare_decoder_input_ids_from_labels(labels=labels)
        return found
    shifted = labels.roll(1, dims=1)
    shifted[:, 0] = model.config.decoder_start_token_id
    return shifted.masked_fill(shifted == -100, model.config.pad_token_id)


def _forced(tokenizer: Any, generation: Any) -> str | None:
    """The language that a model's translations are made to begin with; None where that is no language."""
    plain = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id, None}
    codes = {token: code for code, token in getattr(tokenizer, "lang_code_to_token", {}).items()}
    for number in (generation.forced_bos_token_id, generation.decoder_start_token_id):
        if number in plain:
            continue
        token = tokenizer.convert_ids_to_tokens(number)
        if number in tokenizer.all_special_ids or token in codes:
            return str(codes.get(token, token))
    return None
