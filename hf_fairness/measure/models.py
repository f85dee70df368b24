"""The one opener of models that are measured: an id, a folder or a live model, with device and type of numbers.

Each returns what its kind of measure works with: :func:`open_encoder` something with ``encode(texts)``,
:func:`open_classifier` something with ``logits(texts)``, :func:`open_language_model` something that scores tokens,
:func:`open_translator` model and tokenizer.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._encoder_adapters import is_a, is_live, split_pair
from hf_fairness._opening import find_tokenizer, open_pretrained, opening, reference, refuse_dtype
from hf_fairness.encoders import as_encoder as open_encoder
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.language_model.token_scores import BATCH_TOKENS, CausalModel, MaskedModel

if TYPE_CHECKING:
    import torch

__all__ = ["open_classifier", "open_encoder", "open_language_model", "open_translator"]

_WANTED = "a masked or a causal language model"


def open_classifier(model: Any, **options: Any) -> Classifier:
    """Open a sequence classifier for passes over texts.

    Args:
        model: a Hub id, a folder, a transformers (or PEFT) model, the pair of it and its tokenizer, or what this
            function returned.
        **options: tokenizer, device, dtype, max_length, show_progress, distributed: see
            :class:`~hf_fairness.measure.classifier.classifier.Classifier`.

    Raises:
        TypeError: no model.
        ValueError: a model that does not open, or without a tokenizer.
    """
    return model if isinstance(model, Classifier) else Classifier(model, **options)


def open_translator(
    model: Any,
    *,
    tokenizer: Any = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    to_train: bool = False,
) -> tuple[Any, Any]:
    """Open a model that translates (an encoder-decoder), with its tokenizer.

    Args:
        model: a Hub id, a folder, a transformers (or PEFT) model, or the pair of it and its tokenizer.
        tokenizer: of the model; None looks where the model came from.
        device: where to put it; None leaves it where it is.
        dtype: of the weights of a model that is opened by name; None means that of its weights.
        to_train: whether it will be changed: it is opened anew then, whoever has it open, or copied.

    Raises:
        TypeError: none of these.
        ValueError: it does not open as an encoder-decoder, has no tokenizer, or ``dtype`` with a model that is open.
        ImportError: its tokenizer needs something that is not installed; names the extra.
    """
    model, tokenizer = split_pair(model, tokenizer)
    if isinstance(model, (str, Path)):
        opened = open_pretrained("AutoModelForSeq2SeqLM", model, dtype=dtype, device=device, to_train=to_train)
        return opened, find_tokenizer(model, tokenizer)
    if not is_live(model):
        raise TypeError(f"model is no translator: got {type(model).__name__}. Expected an id, a folder or a model.")
    refuse_dtype(dtype)
    if to_train:
        model, tokenizer = copy.deepcopy((model, tokenizer))
    return model if device is None else model.to(device), find_tokenizer(model, tokenizer)


def open_language_model(
    model: Any,
    *,
    tokenizer: Any = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    batch_tokens: int = BATCH_TOKENS,
    show_progress: bool | None = None,
) -> MaskedModel | CausalModel:
    """Open a language model for scoring; its class or configuration says whether it is masked or causal.

    Args:
        model: a Hub id or local folder, a transformers (or PEFT) model with a language-model head, or the pair of it
            and its tokenizer.
        tokenizer: of the model; None looks where the model came from.
        device: where to run; None means where a model is, and accelerate's device for one that is opened here.
        dtype: for a model that is opened here; None means that of its weights.
        batch_tokens: tokens per forward, padding included; results do not depend on it.
        show_progress: None means on a terminal, on the main process, when there is much to score.

    Returns:
        A ``MaskedModel`` or a ``CausalModel``.

    Raises:
        TypeError: ``model`` is none of these.
        ValueError: it does not open, has no tokenizer or no language-model head, or is an encoder-decoder; ``dtype``
            with a model that is open already.
    """
    if isinstance(model, (MaskedModel, CausalModel)):
        return model
    model, tokenizer = split_pair(model, tokenizer)
    options: dict[str, Any] = {"device": device, "batch_tokens": batch_tokens, "show_progress": show_progress}
    if not isinstance(model, (str, Path)):
        refuse_dtype(dtype)
        inner = model.get_base_model() if is_a(model, "peft", "PeftModel") else model
        if inner is not model and model.active_peft_config.is_prompt_learning:
            raise ValueError("A model with learned prompts cannot be scored: the prompts are not in the model itself.")
        pair: Any = reference(inner if tokenizer is None else (inner, tokenizer), _WANTED)
        return _class_of(pair[0].config, [kind.__name__ for kind in type(inner).__mro__], inner)(*pair, **options)
    source = str(reference(model, _WANTED))
    from accelerate import PartialState
    from transformers import AutoConfig

    with opening(source, _WANTED):
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    kind = _class_of(config, config.architectures or [], None)
    auto_class = "AutoModelForMaskedLM" if kind is MaskedModel else "AutoModelForCausalLM"
    where = device or PartialState().device
    opened = open_pretrained(auto_class, source, dtype=dtype, device=where, lacking="refuse")
    return kind(opened, find_tokenizer(source, tokenizer), **options)


def _class_of(config: Any, names: Sequence[str], model: Any) -> type[MaskedModel] | type[CausalModel]:
    """Masked or causal, by the names of the classes of a model or of those its configuration states."""
    from transformers.models.auto import modeling_auto as auto

    masked, causal = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    kind = config.model_type
    if not getattr(config, "is_encoder_decoder", False):
        if set(names) & set(masked.values()):
            return MaskedModel
        if set(names) & set(causal.values()):
            return CausalModel
        if model is None and kind in masked and not getattr(config, "is_decoder", False):
            return MaskedModel
        if model is None and kind in causal:
            return CausalModel
    raise ValueError(
        f"{names[0] if names else kind} has no language-model head that scores tokens. Expected {_WANTED}, for "
        "example from AutoModelForMaskedLM or AutoModelForCausalLM; encoder-decoders cannot be scored here."
    )
