"""Filters of parallel data by gender; taggers of grammatical gender, one adapter per file behind one protocol.

Filters are callables for ``datasets.map``, and ``Kept`` and ``OneGroup`` for ``dataset.filter``; on other engines
``.arrow`` of each takes tables (:mod:`hf_fairness.maps`), and of these two gives the rows that are kept.
"""

from hf_fairness.filters.apertium import ApertiumTagger
from hf_fairness.filters.arabic import ArabicTagger
from hf_fairness.filters.drops import Kept, OneGroup, TooFewPairsError, drops
from hf_fairness.filters.genders import LANGUAGES, gender_tagger, predict_genders, rule_tagger
from hf_fairness.filters.german import GermanTagger
from hf_fairness.filters.german_sentences import GermanSentenceTagger
from hf_fairness.filters.hebrew import HebrewTagger
from hf_fairness.filters.lexicon import LexiconTagger
from hf_fairness.filters.pair_length import PairLength
from hf_fairness.filters.protocol import GENDERS, Genders, GenderTagger
from hf_fairness.filters.pymorphy import PymorphyTagger
from hf_fairness.filters.source import SourceGender
from hf_fairness.filters.spacy_morph import SpacyMorphTagger
from hf_fairness.filters.target import GrammaticalGender, TargetGender

__all__ = [
    "GENDERS",
    "LANGUAGES",
    "ApertiumTagger",
    "ArabicTagger",
    "GenderTagger",
    "Genders",
    "GermanSentenceTagger",
    "GermanTagger",
    "GrammaticalGender",
    "HebrewTagger",
    "Kept",
    "LexiconTagger",
    "OneGroup",
    "PairLength",
    "PymorphyTagger",
    "SourceGender",
    "SpacyMorphTagger",
    "TargetGender",
    "TooFewPairsError",
    "drops",
    "gender_tagger",
    "predict_genders",
    "rule_tagger",
]
