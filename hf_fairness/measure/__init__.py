"""Models and data to named numbers: embed, then let ``hf_fairness.scores`` do the arithmetic."""

from __future__ import annotations

from hf_fairness.measure.audit import AuditResult, audit
from hf_fairness.measure.cced import cced, cced_change
from hf_fairness.measure.probe import probe
from hf_fairness.measure.seat import seat
from hf_fairness.measure.stimuli import available_tests
from hf_fairness.measure.utility import similarity_structure, sts

__all__ = [
    "AuditResult",
    "audit",
    "available_tests",
    "cced",
    "cced_change",
    "probe",
    "seat",
    "similarity_structure",
    "sts",
]
