"""What can be known before a GFST run spends hours: that it has what it needs, and that the tagger answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hf_fairness.alignment import ALIGNER_PACKAGES
from hf_fairness.filters import (
    LANGUAGES,
    GenderTagger,
    LexiconTagger,
    TargetGender,
    gender_tagger,
    predict_genders,
)
from hf_fairness.trainers.gfst.arguments import RANDOM, UNFILTERED, GFSTArguments
from hf_fairness.trainers.gfst.models import check_translator
from hf_fairness.utils import REPORT, check_packages


def check_run(
    a: GFSTArguments, groups: Any, train: Any, monolingual: Any, model: Any, tokenizer: Any, reverse: Any
) -> None:
    """What can be known before hours of work.

    Raises:
        ValueError: something is missing or does not fit; says what.
    """
    known = [RANDOM, UNFILTERED, *groups]
    unknown = [name for name in a.arms if name not in known]
    if unknown:
        raise ValueError(f"--arms: unknown arm {unknown[0]!r}. Arms: {', '.join(known)}; `none` for none.")
    if a.backwards and UNFILTERED in a.arms:
        raise ValueError("--arms no_target_filter needs translations to leave unfiltered; back-translation has none.")
    if monolingual is None and a.until not in ("parallel", "start", "initial"):
        raise ValueError(
            "There is no monolingual text to translate: name it with --monolingual_dataset, or end the run before it "
            "is needed (--until)."
        )
    needs_parallel = a.wants("train") or (a.wants("start") and a.trains_initial)
    if train is None and (needs_parallel or a.until == "parallel"):
        raise ValueError(
            "There are no parallel data: the models are trained on them. Name pairs of texts with --dataset."
        )
    if model is not None and tokenizer is None:
        raise ValueError("A model that is given as an object needs its tokenizer: tokenizer=...")
    own = a.model_name_or_path if model is None else (model, tokenizer)
    if a.wants("start") and own is not None:
        check_translator(own, a.source_code, a.target_code)
    if a.backwards and a.wants("translate"):
        other = a.reverse_model if reverse is None else reverse
        if other is None:
            raise ValueError(
                "Back-translation needs a model from target to source language: name it with --reverse_model."
            )
        check_translator(other, a.target_code, a.source_code)
    if a.target_lang is None and (a.backwards or a.wants("filter_target")):
        raise ValueError("--target_lang is missing: the code of the target language, such as it, de or ru.")


def find_tagger(a: GFSTArguments, tagger: GenderTagger | None, groups: Any) -> GenderTagger | None:
    """The tagger of the target filter, tried on a word; None for that of the language.

    Raises:
        ValueError: unknown language or kind.
        ImportError, FileNotFoundError: it is not installed.
    """
    if tagger is None and a.lexicon is not None:
        tagger = LexiconTagger(a.lexicon, a.target_lang or "")
    if tagger is None and a.tagger is not None and a.target_lang is not None:
        tagger = gender_tagger(a.target_lang, a.tagger)
    if a.backwards or a.wants("filter_target"):
        how = TargetGender(
            lang=a.target_lang, tagger=tagger, human_nouns_only=a.human_nouns_only, nouns=a.nouns, ambiguous=a.ambiguous
        )
        how({"target": ["a"], "source_gender": [groups[0]]})
    return tagger


def check_measures(a: GFSTArguments, *, winomt: bool, test: bool, tagger: GenderTagger | None) -> None:
    """Find out what the last stages would lack.

    Args:
        a: settings.
        winomt: whether WinoMT is measured.
        test: whether a generic test set is.
        tagger: that of WinoMT; None: that of the language's rules.

    Raises:
        ImportError, FileNotFoundError: it is not installed.
    """
    if not a.wants("predict"):
        return
    needed = ["sacrebleu"] if test else []
    if winomt and a.aligner in ALIGNER_PACKAGES:
        needed.append(ALIGNER_PACKAGES[a.aligner])
    check_packages(*needed, *(REPORT if a.wants("report") else ()))
    if winomt and tagger is None and a.target_lang in LANGUAGES:
        predict_genders([["a"]], [[0]], a.target_lang, rules="original")


def tagger_key(a: GFSTArguments, tagger: GenderTagger | None) -> Any:
    """What stands for the tagger among the inputs of stages."""
    path = getattr(tagger, "path", None)
    name = None if tagger is None else [type(tagger).__name__, tagger.name]
    return [a.target_lang, name, None if path is None else Path(path)]
