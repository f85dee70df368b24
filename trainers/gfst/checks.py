"""What can be known before a GFST run spends hours: that it has what it needs, and that models and taggers answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.alignment import ALIGNER_PACKAGES
from hf_fairness.attributes import load_attribute
from hf_fairness.filters import (
    LANGUAGES,
    GenderTagger,
    LexiconTagger,
    SourceGender,
    TargetGender,
    gender_tagger,
    predict_genders,
)
from hf_fairness.trainers.gfst.arguments import RANDOM, UNFILTERED, GFSTArguments
from hf_fairness.trainers.gfst.models import check_translator
from hf_fairness.utils import REPORT, FairnessWarning, check_packages


def check_run(a: GFSTArguments, data: Mapping[str, Any]) -> None:
    """What can be known before hours of work.

    Args:
        a: settings.
        data: what `run_gfst` was given, by name.

    Raises:
        ValueError: something is missing or does not fit; says what.
        ImportError, FileNotFoundError: a tagger, a measure or the report needs something that is not installed.
    """
    attribute = load_attribute(a.attribute, language=a.source_lang)
    SourceGender(wordlist=a.wordlist, attribute=attribute)  # refuses what it cannot work with
    groups = attribute.group_names
    known = [RANDOM, UNFILTERED, *groups]
    unknown = next((name for name in a.arms if name not in known), None)
    needs_parallel = a.until == "parallel" or a.wants("train") or (a.wants("start") and a.trains_initial)
    needs_target = a.backwards or a.wants("filter_target")
    reverse = data["reverse"] or a.reverse_model
    problems = (
        (unknown, f"--arms: unknown arm {unknown!r}. Arms: {', '.join(known)}; `none` for none."),
        (
            a.backwards and UNFILTERED in a.arms,
            "--arms no_target_filter needs translations to leave unfiltered; back-translation has none.",
        ),
        (
            data["monolingual"] is None and a.until not in ("parallel", "start", "initial"),
            "There is no monolingual text to translate: name it with --monolingual_dataset, or end the run before it "
            "is needed (--until).",
        ),
        (
            data["train"] is None and needs_parallel,
            "There are no parallel data: the models are trained on them. Name pairs of texts with --dataset.",
        ),
        (
            data["model"] is not None and data["tokenizer"] is None,
            "A model that is given as an object needs its tokenizer: tokenizer=...",
        ),
        (
            a.backwards and a.wants("translate") and reverse is None,
            "Back-translation needs a model from target to source language: name it with --reverse_model.",
        ),
        (
            a.target_lang is None and needs_target,
            "--target_lang is missing: the code of the target language, such as it, de or ru.",
        ),
    )
    for wrong, message in problems:
        if wrong:
            raise ValueError(message)
    own = a.model_name_or_path if data["model"] is None else (data["model"], data["tokenizer"])
    if a.wants("start") and own is not None:
        check_translator(own, a.source_code, a.target_code)
    if a.backwards and a.wants("translate"):
        check_translator(reverse, a.target_code, a.source_code)
    tagger = find_tagger(a, data["tagger"])
    if needs_target:
        how: dict[str, Any] = {"human_nouns_only": a.human_nouns_only, "nouns": a.nouns, "ambiguous": a.ambiguous}
        TargetGender(lang=a.target_lang, tagger=tagger, **how)({"target": ["a"], "source_gender": [groups[0]]})
    if a.wants("predict"):
        _check_measures(a, data, data["winomt_tagger"] or tagger)


def _check_measures(a: GFSTArguments, data: Mapping[str, Any], tagger: GenderTagger | None) -> None:
    """Find out what the last stages would lack."""
    winomt = data["winomt_rows"] is not None
    aligner = [ALIGNER_PACKAGES[a.aligner]] if winomt and a.aligner in ALIGNER_PACKAGES else []
    sacrebleu = ["sacrebleu"] if data["test"] is not None else []
    check_packages(*sacrebleu, *aligner, *(REPORT if a.wants("report") else ()))
    if winomt and tagger is None and a.target_lang in LANGUAGES:
        predict_genders([["a"]], [[0]], a.target_lang, rules="original")
    if not winomt:
        warnings.warn(
            "No WinoMT rows were given: the run trains its models, but does not measure their gender accuracy. "
            "Name the published en.txt, or a data set of your own, with --winomt.",
            FairnessWarning,
            stacklevel=4,
        )


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
