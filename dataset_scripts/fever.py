"""FEVER: claims with evidence that supports or refutes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import json_lines

_LABELS = {"SUPPORTS": "supports", "REFUTES": "refutes", "NOT ENOUGH INFO": "not enough info"}
_LABEL = Column("what the evidence says of the claim", tuple(_LABELS.values()))
_CLAIM_ID = Column("FEVER's id of the claim, shared by its rows")
_SERVER = "https://fever.ai/download/fever/"
_PAIRS = {
    "train": (Raw("fever.train.jsonl", "https://www.dropbox.com/s/v1a0depfg7jp90f/fever.train.jsonl?dl=1"),),
    "dev": (Raw("fever.dev.jsonl", "https://www.dropbox.com/s/bdwf46sa2gcuf6j/fever.dev.jsonl?dl=1"),),
}
_CLAIMS = {
    "train": (Raw("train.jsonl", f"{_SERVER}train.jsonl"),),
    "dev": (Raw("shared_task_dev.jsonl", f"{_SERVER}shared_task_dev.jsonl"),),
}


class FEVER(RawDataset):
    """FEVER; labels are named as in ``fever_symmetric``."""

    about = Description(
        title="FEVER",
        summary="185,000 claims about Wikipedia, labelled supported, refuted or not decidable.",
        homepage="https://fever.ai/dataset/fever.html",
        licence="other",
        licence_note="Wikipedia's text under CC BY-SA 3.0, annotations under FEVER's own terms; see the source.",
        citation="""@inproceedings{thorne-etal-2018-fever,
  title = {FEVER: a Large-scale Dataset for Fact Extraction and VERification},
  author = {Thorne, James and Vlachos, Andreas and Christodoulopoulos, Christos and Mittal, Arpit},
  booktitle = {Proceedings of NAACL},
  year = {2018},
  url = {https://aclanthology.org/N18-1074}
}""",
        configs={
            "pairs": Config(
                "claim and sentence of evidence, as Schuster et al. 2019 paired them",
                _PAIRS,
                {
                    "premise": Column("the evidence"),
                    "hypothesis": Column("the claim"),
                    "label": _LABEL,
                    "claim_id": _CLAIM_ID,
                },
            ),
            "claims": Config(
                "claims with pointers to evidence, as published",
                _CLAIMS,
                {
                    "claim": Column("the claim"),
                    "label": _LABEL,
                    "evidence": Column("JSON text: sets of [page, number of the sentence]; [] where nothing was found"),
                },
            ),
        },
        tasks=("text-classification",),
        defects=(
            "A claim alone gives many labels away, negation most of all (Schuster et al. 2019): see fever_symmetric.",
            "In `pairs` a claim with several sentences of evidence has several rows.",
        ),
        prohibited=("Presenting refuted claims, which were made up for the data set, as facts.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per claim and evidence, or per claim."""
        if self.config.name == "pairs":
            for record in json_lines(files[0], ("id", "claim", "evidence", "gold_label")):
                label = record.pick("gold_label", _LABELS)
                texts = {"premise": record.text("evidence"), "hypothesis": record.text("claim")}
                yield record, {**texts, "label": label, "claim_id": str(record["id"])}
            return
        for record in json_lines(files[0], ("id", "label", "claim", "evidence")):
            label = record.pick("label", _LABELS)
            try:
                sets = [[[page, number] for _, _, page, number in group if page] for group in record["evidence"]]
            except (TypeError, ValueError):
                raise record.error("lists of [id, id, page, sentence] in 'evidence'", record["evidence"]) from None
            evidence = json.dumps([group for group in sets if group], ensure_ascii=False)
            yield record, {"id": str(record["id"]), "claim": record.text("claim"), "label": label, "evidence": evidence}
