"""What can be known before a GFST run spends hours: that it has what it needs, and that models and taggers answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import AutoConfig, GenerationConfig
from transformers.trainer_utils import IntervalStrategy

from hf_fairness._opening import WANTED, find_tokenizer, opening
from hf_fairness.alignment import ALIGNER_PACKAGES
from hf_fairness.attributes import load_attribute
from hf_fairness.erasure import DebiasWords, check_words
from hf_fairness.filters import (
    LANGUAGES,
    GenderTagger,
    LexiconTagger,
    SourceGender,
    TargetGender,
    gender_tagger,
    predict_genders,
)
from hf_fairness.measure.translator.translation_languages import language_pair
from hf_fairness.trainers.gfst.arguments import HARD_DEBIASED, RANDOM, UNFILTERED, GFSTArguments
from hf_fairness.trainers.gfst.config import GFSTConfig
from hf_fairness.trainers.gfst.embeddings import ADVICE
from hf_fairness.utils import REPORT, FairnessWarning, check_packages, refuse_any


def check_run(a: GFSTArguments, data: Mapping[str, Any], config: GFSTConfig) -> None:
    """What can be known before hours of work.

    Args:
        a: settings.
        config: those of the training.
        data: what `run_gfst` was given, by name; ``model`` with its tokenizer.

    Raises:
        ValueError: something is missing or does not fit; says what.
        ImportError, FileNotFoundError: a tagger, a measure or the report needs something that is not installed.
    """
    attribute = load_attribute(a.attribute, language=a.source_lang)
    SourceGender(wordlist=a.wordlist, attribute=attribute)  # refuses what it cannot work with
    known = [RANDOM, UNFILTERED, *attribute.group_names, *HARD_DEBIASED]
    unknown = next((name for name in a.arms if name not in known), None)
    needs_target = a.backwards or a.wants("filter_target")
    translates_back = a.backwards and a.wants("translate")
    reverse = data["reverse"] or a.reverse_model
    refuse_any(
        {
            f"--arms: unknown arm {unknown!r}. Arms: {', '.join(known)}; `none` for none.": unknown,
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
            "A model that is given as an object needs its tokenizer: tokenizer=...": (
                data["model"] is not None and data["model"][1] is None
            ),
            "Back-translation needs a model from target to source language: name it with --reverse_model.": (
                translates_back and reverse is None
            ),
            "--target_lang is missing: the code of the target language, such as it, de or ru.": (
                needs_target and a.target_lang is None
            ),
        }
    )
    own = data["model"] or a.model_name_or_path
    if a.wants("start") and own is not None:
        check_translator(own, a.source_code, a.target_code)
    words = DebiasWords.chosen(a.hd_words, attribute) if set(a.arms) & set(HARD_DEBIASED) else None
    if words is not None and a.wants("train") and own is not None:
        check_words(own[1] if isinstance(own, tuple) else find_tokenizer(own), words, ADVICE)
    if translates_back:
        check_translator(reverse, a.target_code, a.source_code)
    tagger = find_tagger(a, data["tagger"])
    if needs_target:
        row = {"target": ["a"], "source_gender": [attribute.group_names[0]]}
        TargetGender(lang=a.target_lang, tagger=tagger, **a.target_filter)(row)
    if a.wants("predict"):
        _check_measures(a, data, data["winomt_tagger"] or tagger)


def _check_measures(a: GFSTArguments, data: Mapping[str, Any], tagger: GenderTagger | None) -> None:
    """Find out what the last stages would lack."""
    winomt = data["winomt_rows"] is not None
    check_packages(
        *(["sacrebleu"] if data["test"] is not None else []),
        *([ALIGNER_PACKAGES[a.aligner]] if winomt and a.aligner in ALIGNER_PACKAGES else []),
        *(REPORT if a.wants("report") else ()),
    )
    if winomt and tagger is None and a.target_lang in LANGUAGES:
        predict_genders([["a"]], [[0]], a.target_lang, rules="original")
    if not winomt:
        warnings.warn(
            "No WinoMT rows were given: the run trains its models, but does not measure their gender accuracy. "
            "Name the published en.txt, or a data set of your own, with --winomt.",
            FairnessWarning,
            stacklevel=4,
        )


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
    try:
        generation = GenerationConfig.from_pretrained(source)
    except OSError:  # an old checkpoint keeps these settings in its config
        generation = GenerationConfig.from_model_config(config)
    language_pair(find_tokenizer(source), generation, source_code, target_code)


def find_tagger(a: GFSTArguments, tagger: GenderTagger | None) -> GenderTagger | None:
    """The tagger of the target filter; None for that of the language.

    Raises:
        ValueError: unknown language or kind.
        ImportError, FileNotFoundError: it is not installed.
    """
    if tagger is None and a.lexicon is not None:
        return LexiconTagger(a.lexicon, a.target_lang or "")
    if tagger is None and a.tagger is not None and a.target_lang is not None:
        return gender_tagger(a.target_lang, a.tagger)
    return tagger


def tagger_key(a: GFSTArguments, tagger: GenderTagger | None) -> Any:
    """What stands for the tagger among the inputs of stages."""
    path = getattr(tagger, "path", None)
    name = None if tagger is None else [type(tagger).__name__, tagger.name]
    return [a.target_lang, name, None if path is None else Path(path)]
