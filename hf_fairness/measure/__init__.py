"""Models and data to named numbers: embed, then let ``hf_fairness.scores`` do the arithmetic."""

from __future__ import annotations

from hf_fairness.measure.audit import AuditResult, audit
from hf_fairness.measure.classifier.artefacts import anti_artefact_rows, anti_artefact_share
from hf_fairness.measure.classifier.challenge import challenge_accuracy
from hf_fairness.measure.classifier.challenge_sets import ChallengeSet, read_challenge_set
from hf_fairness.measure.classifier.importance import example_scores, grand, logits_of
from hf_fairness.measure.classifier.leakage import ngram_overlap, overlapping_rows
from hf_fairness.measure.classifier.pairs import Pairs, read_pairs
from hf_fairness.measure.classifier.partial_input import partial_input, partial_input_change
from hf_fairness.measure.classifier.polarity import polarity_accuracy
from hf_fairness.measure.classifier.text_learners import EncoderLearner, TextLearner
from hf_fairness.measure.encoder.bias_direction import BiasDirection, bias_direction, direction_stability
from hf_fairness.measure.encoder.bias_ir import bias_ir
from hf_fairness.measure.encoder.bias_score import BiasScore, bias_score, most_biased, word_table
from hf_fairness.measure.encoder.bias_table import BiasTable, DistilledBiasScore
from hf_fairness.measure.encoder.bias_words import exclusion_list
from hf_fairness.measure.encoder.cced import cced, cced_change
from hf_fairness.measure.encoder.grep_biasir import read_grep_biasir
from hf_fairness.measure.encoder.probe import probe
from hf_fairness.measure.encoder.seat import seat
from hf_fairness.measure.encoder.seat_sensitivity import seat_sensitivity
from hf_fairness.measure.encoder.seat_templates import seat_templates
from hf_fairness.measure.encoder.stimuli import available_tests
from hf_fairness.measure.encoder.transfer import TransferTask, transfer
from hf_fairness.measure.encoder.transfer_data import read_transfer_task
from hf_fairness.measure.encoder.utility import similarity_structure, sts
from hf_fairness.measure.language_model.crows_pairs import crows_pairs, read_crows_pairs
from hf_fairness.measure.language_model.stereoset import read_stereoset, stereoset
from hf_fairness.measure.translator.must_she import must_she, read_must_she
from hf_fairness.measure.translator.translation import TranslationConfig, translate
from hf_fairness.measure.translator.winomt import WinoMTConfig, winomt
from hf_fairness.measure.translator.winomt_data import read_translations, read_winomt
from hf_fairness.scores.translation_quality import translation_quality

__all__ = [
    "AuditResult",
    "BiasDirection",
    "BiasScore",
    "BiasTable",
    "ChallengeSet",
    "DistilledBiasScore",
    "EncoderLearner",
    "Pairs",
    "TextLearner",
    "TransferTask",
    "TranslationConfig",
    "WinoMTConfig",
    "anti_artefact_rows",
    "anti_artefact_share",
    "audit",
    "available_tests",
    "bias_direction",
    "bias_ir",
    "bias_score",
    "cced",
    "cced_change",
    "challenge_accuracy",
    "crows_pairs",
    "direction_stability",
    "example_scores",
    "exclusion_list",
    "grand",
    "logits_of",
    "most_biased",
    "must_she",
    "ngram_overlap",
    "overlapping_rows",
    "partial_input",
    "partial_input_change",
    "polarity_accuracy",
    "probe",
    "read_challenge_set",
    "read_crows_pairs",
    "read_grep_biasir",
    "read_must_she",
    "read_pairs",
    "read_stereoset",
    "read_transfer_task",
    "read_translations",
    "read_winomt",
    "seat",
    "seat_sensitivity",
    "seat_templates",
    "similarity_structure",
    "stereoset",
    "sts",
    "transfer",
    "translate",
    "translation_quality",
    "winomt",
    "word_table",
]
