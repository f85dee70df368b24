"""What can be known before a GFST run spends hours: that it has what it needs, and that models and taggers answer."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import AutoConfig, GenerationConfig
from transformers.trainer_utils import IntervalStrategy

from hf_fairness._opening import WANTED, find_tokenizer, opening
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation_languages import language_pair
from hf_fairness.trainers.gfst.arguments import HARD_DEBIASED, RANDOM, UNFILTERED
from hf_fairness.trainers.gfst.pairs import GENDER, SOURCE, TARGET, TEXT
from hf_fairness.trainers.gfst.sets import WINOMT
from hf_fairness.utils import REPORT, FairnessWarning, check_packages, refuse_any, warned_elsewhere

if TYPE_CHECKING:
    from hf_fairness.trainers.gfst.method import GFSTMethod


def check_run(method: GFSTMethod) -> None:
    """What can be known before hours of work: models are looked at, filters and measures are tried on a row.

    Args:
        method: with settings and data; it needs no run yet.

    Raises:
        ValueError: something is missing or does not fit; says what.
        ImportError, FileNotFoundError: a tagger, a measure or the report needs something that is not installed.
    """
    a, data, config = method.arguments, method.data, method.config
    known = [RANDOM, UNFILTERED, *method.groups, *HARD_DEBIASED]
    own, reverse = data["model"] or a.model_name_or_path, data["reverse"] or a.reverse_model
    refuse_any(
        {
            **{
                f"--arms: unknown arm {name!r}. Arms: {', '.join(known)}; `none` for none.": name not in known
                for name in a.arms
            },
            "--arms no_target_filter needs translations to leave unfiltered; back-translation has none.": (
                a.backwards and UNFILTERED in a.arms
            ),
            "--stop_arms_early asks the validation loss when to stop: name pairs with --validation_dataset, and leave "
            "--early_stopping_patience and --eval_strategy as they are.": a.stop_arms_early
            and (
                data["validation"] is None
                or config.early_stopping_patience is None
                or config.eval_strategy == IntervalStrategy.NO
            ),
            "There is no monolingual text to translate: name it with --monolingual_dataset, or end the run before it "
            "is needed (--until).": data["monolingual"] is None and a.until not in ("parallel", "start", "initial"),
            "There are no parallel data: the models are trained on them. Name pairs of texts with --dataset.": (
                data["train"] is None
                and (a.until == "parallel" or a.wants("train") or (a.wants("start") and a.trains_initial))
            ),
            "Back-translation needs a model from target to source language: name it with --reverse_model.": (
                a.backwards and a.wants("translate") and reverse is None
            ),
            "--target_lang is missing: the code of the target language, such as it, de or ru.": (
                a.target_lang is None and a.wants("filter_target")
            ),
        }
    )
    if a.wants(method.first):
        method.text_filters()[1]({TEXT: ["a"]})
    if a.wants("start") and own is not None:
        method.check_words(check_translator(own, a.source_code, a.target_code))
    if a.wants("translate") and a.backwards:
        check_translator(reverse, a.target_code, a.source_code)
    if a.wants(method.last):
        method.pair_filters()[1]({SOURCE: ["a"], TARGET: ["a"], GENDER: [method.groups[0]]})
    if a.wants("report"):
        check_packages(*REPORT)
    sets = method.sets() if a.wants("predict") else []
    with warned_elsewhere():
        for each in sets:
            each.measure(["a"], each.rows[:1], n_bootstrap=0)
    if a.wants("predict") and WINOMT not in [each.name for each in sets]:
        warnings.warn(
            "No WinoMT rows were given: the run trains its models, but does not measure their gender accuracy. "
            "Name the published en.txt, or a data set of your own, with --winomt.",
            FairnessWarning,
            stacklevel=3,
        )


def check_translator(source: Any, source_code: str | None, target_code: str | None) -> Any:
    """Look for the languages of a model, in its configuration and tokenizer, before hours are spent on it.

    The weights of one that is named are not read: where all that needs them is finished, nothing opens them.

    Args:
        source: id or folder, or a model with its tokenizer.
        source_code: code of the language that it translates from, or None.
        target_code: code of the one that it translates to, or None.

    Returns:
        Its tokenizer.

    Raises:
        ValueError: there is no such model, it is no encoder-decoder, or a language is missing or unknown.
        ImportError: its tokenizer needs something that is not installed.
    """
    if not isinstance(source, (str, Path)):
        model, tokenizer = open_translator(source)
        language_pair(tokenizer, model.generation_config, source_code, target_code)
        return tokenizer
    with opening(source, WANTED["AutoModelForSeq2SeqLM"]):
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
        if not config.is_encoder_decoder:
            raise ValueError(f"it is a {config.model_type}.")
    try:
        generation = GenerationConfig.from_pretrained(source)
    except OSError:  # an old checkpoint keeps these settings in its config
        generation = GenerationConfig.from_model_config(config)
    tokenizer = find_tokenizer(source)
    language_pair(tokenizer, generation, source_code, target_code)
    return tokenizer
