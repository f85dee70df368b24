"""Translation models of a GFST run: opened, made fresh, saved, named by what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig

from hf_fairness._opening import WANTED, find_tokenizer, opening
from hf_fairness.measure.model_keys import tokenizer_key, weights_key
from hf_fairness.measure.translator.translation_languages import language_pair
from hf_fairness.utils import foreign_code_refused


def check_translator(source: Any, source_code: str | None, target_code: str | None) -> None:
    """Look at configuration and tokenizer of a model, which cost little, before hours are spent on it.

    Args:
        source: id or folder, or a model with its tokenizer.
        source_code: code of the language that it translates from, or None.
        target_code: code of the one that it translates to, or None.

    Raises:
        ValueError: there is no such model, it is no encoder-decoder, or a language is missing or unknown.
        ImportError: its tokenizer needs something that is not installed.
    """
    if isinstance(source, tuple):
        model, tokenizer = source
        language_pair(tokenizer, model.generation_config, source_code, target_code)
        return
    with opening(source, WANTED["AutoModelForSeq2SeqLM"]):
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    if not config.is_encoder_decoder:
        raise ValueError(
            f"{source} is a {config.model_type}, expected an encoder-decoder that translates (AutoModelForSeq2SeqLM)."
        )
    language_pair(find_tokenizer(source), _generation_config(source, config), source_code, target_code)


def _generation_config(source: Path | str, config: Any) -> GenerationConfig:
    """How a model generates; an old checkpoint may keep these settings in its config."""
    try:
        return GenerationConfig.from_pretrained(source)
    except OSError:
        return GenerationConfig.from_model_config(config)


def fresh_model(source: Path | str, *, seed: int) -> Any:
    """A model of the same architecture with weights drawn anew.

    Args:
        source: id or folder of the model whose architecture is taken.
        seed: of the weights.
    """
    with torch.random.fork_rng(devices=[]), foreign_code_refused(source):
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
        torch.manual_seed(seed)
        model = AutoModelForSeq2SeqLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    model.generation_config = _generation_config(source, config)
    return model


def model_key(source: str | Path | tuple[Any, Any]) -> Any:
    """What stands for a model among the inputs of a stage: content of a folder or of an object, or a name.

    Args:
        source: id on the Hub, folder, or a live model with its tokenizer.
    """
    if isinstance(source, (str, Path)):
        return Path(source) if Path(source).exists() else str(source)
    model, tokenizer = source
    return [weights_key(model), tokenizer_key(tokenizer), repr(sorted(model.config.to_diff_dict().items()))]


def save_translator(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write model and tokenizer as a folder that the auto classes open."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
