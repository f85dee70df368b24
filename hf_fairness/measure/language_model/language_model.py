"""Open a masked or causal language model for scoring: a Hub id, a folder or a transformers model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._encoder_adapters import is_a, split_pair
from hf_fairness.augment.nlu.models import open_model, reference
from hf_fairness.measure.language_model.token_scores import BATCH_TOKENS, CausalModel, MaskedModel, Query
from hf_fairness.utils import FairnessWarning, opening_problem

if TYPE_CHECKING:
    import torch

__all__ = ["CausalModel", "MaskedModel", "Query", "open_language_model"]

_WANTED = "a masked or a causal language model"


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
        TypeError: ``model`` is none of these, or has no tokenizer.
        ValueError: it does not open, has no language-model head, or is an encoder-decoder; ``dtype`` with a model that
            is open already.
    """
    if isinstance(model, (MaskedModel, CausalModel)):
        return model
    model, tokenizer = split_pair(model, tokenizer)
    options: dict[str, Any] = {"device": device, "batch_tokens": batch_tokens, "show_progress": show_progress}
    if not isinstance(model, (str, Path)):
        if dtype is not None:
            raise ValueError("dtype is for a model that is opened by name; convert yours with model.to(dtype).")
        inner = model.get_base_model() if is_a(model, "peft", "PeftModel") else model
        if inner is not model and model.active_peft_config.is_prompt_learning:
            raise ValueError("A model with learned prompts cannot be scored: the prompts are not in the model itself.")
        pair: Any = reference(inner if tokenizer is None else (inner, tokenizer), _WANTED)
        return _class_of(pair[0].config, [kind.__name__ for kind in type(inner).__mro__], inner)(*pair, **options)
    source = reference(model, _WANTED)
    import torch
    from accelerate import PartialState
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    except Exception as error:  # the Hub's client and the loaders have many
        raise ValueError(f"{source} does not open as {_WANTED}: {opening_problem(error)}") from error
    kind = _class_of(config, config.architectures or [], None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairnessWarning)
        try:
            opened, own = open_model(
                "AutoModelForMaskedLM" if kind is MaskedModel else "AutoModelForCausalLM", str(source)
            )
        except FairnessWarning as warning:
            raise ValueError(
                f"{source} has no trained language-model head, or lacks other weights: {warning} Expected {_WANTED}."
            ) from warning
    kind_of_number = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if dtype is not None and not isinstance(kind_of_number, torch.dtype):
        raise ValueError(f"dtype must be None or one of torch's, as 'float16'; got {dtype!r}.")
    opened.to(device=PartialState().device if device is None else device, dtype=kind_of_number)
    return kind(opened, own if tokenizer is None else tokenizer, **options)


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
