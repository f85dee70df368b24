"""Models and data to named numbers: embed, then let ``hf_fairness.scores`` do the arithmetic."""

from __future__ import annotations

from hf_fairness.measure.audit import AuditResult, audit
from hf_fairness.measure.bias_direction import BiasDirection, bias_direction, direction_stability
from hf_fairness.measure.bias_score import BiasScore, bias_score, most_biased, word_table
from hf_fairness.measure.bias_words import exclusion_list
from hf_fairness.measure.cced import cced, cced_change
from hf_fairness.measure.polarity import polarity_accuracy
from hf_fairness.measure.probe import probe
from hf_fairness.measure.seat import seat
from hf_fairness.measure.stimuli import available_tests
from hf_fairness.measure.utility import similarity_structure, sts

__all__ = [
    "AuditResult",
    "BiasDirection",
    "BiasScore",
    "audit",
    "available_tests",
    "bias_direction",
    "bias_score",
    "cced",
    "cced_change",
    "direction_stability",
    "exclusion_list",
    "most_biased",
    "polarity_accuracy",
    "probe",
    "seat",
    "similarity_structure",
    "sts",
    "word_table",
]
