"""What can be known before a GFST run spends hours: that it has what it needs, and that the tagger answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hf_fairness.filters import GenderTagger, LexiconTagger, TargetGender, gender_tagger
from hf_fairness.trainers.recipes.gfst_arguments import RANDOM, UNFILTERED, GFSTArguments
from hf_fairness.trainers.recipes.gfst_models import check_translator


def check_run(
    a: GFSTArguments, groups: Any, parallel: Any, monolingual: Any, model: Any, tokenizer: Any, reverse: Any
) -> None:
    """What can be known before hours of work.

    Raises:
        ValueError: something is missing or does not fit; says what.
    """
    known = [RANDOM, UNFILTERED, *groups]
    unknown = [name for name in a.variants if name not in known]
    if unknown:
        raise ValueError(f"Unknown variant {unknown[0]!r}. Variants: {', '.join(known)}; `none` for none.")
    if a.backwards and UNFILTERED in a.variants:
        raise ValueError("no_target_filter needs translations to leave unfiltered; back-translation has none.")
    if monolingual is None and a.until not in ("parallel", "start", "initial"):
        raise ValueError("There is no monolingual text to translate: give it, or end the run before it is needed.")
    needs_parallel = a.wants("train") or (a.wants("start") and a.trains_initial)
    if parallel is None and (needs_parallel or a.until == "parallel"):
        raise ValueError("There are no parallel data: the models are trained on them. Give pairs of texts.")
    if model is not None and tokenizer is None:
        raise ValueError("A model that is given as an object needs its tokenizer: tokenizer=...")
    if a.wants("start") and model is None and a.model is not None:
        check_translator(a.model)
    if a.backwards and a.wants("translate"):
        if reverse is None and a.reverse_model is None:
            raise ValueError("Back-translation needs a model from target to source language: give reverse_model.")
        if reverse is None and a.reverse_model is not None:
            check_translator(a.reverse_model)
    if a.lang is None and (a.backwards or a.wants("filter_target")):
        raise ValueError("lang is missing: the code of the target language, such as it, de or ru.")


def find_tagger(a: GFSTArguments, tagger: GenderTagger | None, groups: Any) -> GenderTagger | None:
    """The tagger of the target filter, tried on a word; None for that of the language.

    Raises:
        ValueError: unknown language or kind.
        ImportError, FileNotFoundError: it is not installed.
    """
    if tagger is None and a.lexicon is not None:
        tagger = LexiconTagger(a.lexicon, a.lang or "")
    if tagger is None and a.tagger is not None and a.lang is not None:
        tagger = gender_tagger(a.lang, a.tagger)
    if a.backwards or a.wants("filter_target"):
        how = TargetGender(
            lang=a.lang, tagger=tagger, human_nouns_only=a.human_nouns_only, nouns=a.nouns, ambiguous=a.ambiguous
        )
        how({"target": ["a"], "source_gender": [groups[0]]})
    return tagger


def tagger_key(a: GFSTArguments, tagger: GenderTagger | None) -> Any:
    """What stands for the tagger among the inputs of stages."""
    path = getattr(tagger, "path", None)
    name = None if tagger is None else [type(tagger).__name__, tagger.name]
    return [a.lang, name, None if path is None else Path(path)]
