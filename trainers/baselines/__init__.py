"""Methods that stand beside ours in `hf-fairness compare`: each changes the same model with the same rows."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_fairness.trainers.baselines.base import Baseline

#: Class of each method by what ``--methods`` calls it, in the order of the report.
BASELINES: dict[str, str] = {
    "ccd": "ccd:CCD",
    "ccd-llm": "ccd_llm:CCDLLM",
    "dpce": "dpce:DPCE",
    "adept": "adept:ADEPTF",
    "cda": "cda:CDA",
    "dropout": "dropout:Dropout",
    "continued": "continued:Continued",
    "hard-debias": "hard_debias:HardDebias",
    "sentence-debias": "sentence_debias:SentenceDebias",
    "inlp": "inlp:INLP",
    "leace": "leace:LEACE",
    "random-directions": "sentence_debias:RandomDirections",
}


def baseline(name: str) -> Baseline:
    """The method of a name.

    Raises:
        KeyError: there is none.
    """
    found: Baseline = resolve_name(f"{__name__}.{BASELINES[name]}")()
    return found
