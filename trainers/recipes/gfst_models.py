"""Translation models of a GFST run: opened, made fresh, saved, named by what they hold."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig

from hf_fairness.augment.nlu.models import open_model
from hf_fairness.measure.model_keys import tokenizer_key, weights_key


def open_translator(source: Path | str) -> tuple[Any, Any]:
    """Model and tokenizer of an id on the Hub or a folder.

    Raises:
        ValueError: it does not open as a sequence-to-sequence model.
    """
    return open_model("AutoModelForSeq2SeqLM", str(source))


def check_translator(source: str) -> None:
    """Look at the configuration of a model, which costs nothing, before hours are spent on it.

    Raises:
        ValueError: there is no such model, or it is no encoder-decoder.
    """
    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    except Exception as error:  # the Hub's client and the loaders have many
        raise ValueError(f"{source} does not open as a translation model: {error}") from error
    if not config.is_encoder_decoder:
        raise ValueError(
            f"{source} is a {config.model_type}, expected an encoder-decoder that translates (AutoModelForSeq2SeqLM)."
        )


def fresh_model(source: Path | str, *, seed: int) -> Any:
    """A model of the same architecture with weights drawn anew.

    Args:
        source: id or folder of the model whose architecture is taken.
        seed: of the weights.
    """
    config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForSeq2SeqLM.from_config(config, dtype=torch.float32)
    with contextlib.suppress(OSError):  # an old checkpoint may keep these settings in its config
        model.generation_config = GenerationConfig.from_pretrained(source)
    return model


def model_key(model: Any, tokenizer: Any = None) -> Any:
    """What stands for a model among the inputs of a stage: content of a folder or of an object, or a name.

    Args:
        model: id on the Hub, folder, or a live model.
        tokenizer: of a live model.
    """
    if isinstance(model, (str, Path)):
        return Path(model) if Path(model).exists() else str(model)
    return [weights_key(model), tokenizer_key(tokenizer), repr(sorted(model.config.to_diff_dict().items()))]


def save_translator(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write model and tokenizer as a folder that the auto classes open."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
