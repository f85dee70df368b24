"""Methods that stand beside ours in `hf-fairness compare`: each changes the same model with the same rows."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_fairness.trainers.baselines.base import Baseline

#: Class of each method by what ``--methods`` calls it, in the order of the report.
BASELINES: dict[str, str] = {
    "control": "ccd.method:CCDControl",
    "ccd": "ccd.method:CCD",
    "ccd-llm": "baselines.ccd_llm:CCDLLM",
    "dpce": "baselines.dpce:DPCE",
    "adept": "baselines.adept:ADEPTF",
    "cda": "baselines.cda:CDA",
    "dropout": "baselines.dropout:Dropout",
    "continued": "baselines.continued:Continued",
    "hard-debias": "baselines.hard_debias:HardDebias",
    "sentence-debias": "baselines.sentence_debias:SentenceDebias",
    "inlp": "baselines.inlp:INLP",
    "leace": "baselines.leace:LEACE",
    "random-directions": "baselines.sentence_debias:RandomDirections",
}


def baseline(name: str) -> Baseline:
    """The method of a name.

    Raises:
        KeyError: there is none.
    """
    found: Baseline = resolve_name(f"hf_fairness.trainers.{BASELINES[name]}")()
    return found
