"""The adversarial NLI benchmark of Liu et al. 2020: seven sets in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._challenge import challenge_columns, challenge_rows
from hf_fairness.dataset_scripts._raw import json_lines

#: The seven sets, what each holds, and the parts of the file that belong to it.
_SETS = {
    "PI-CD": ("partial input, classifier detected: SNLI's hard items (Gururangan et al. 2018)", ("PI_CD",)),
    "PI-SP": ("partial input, surface patterns of the hypothesis (Liu et al. 2020)", ("PI_SP",)),
    "IS-SD": ("inter-sentence, syntactic diagnosis: HANS (McCoy et al. 2019)", ("IS_SD",)),
    "IS-CS": ("inter-sentence, compositionality-sensitive items (Nie et al. 2019)", ("IS_CS",)),
    "LI-LI": ("logical inference, lexical inference (Naik et al. 2018, Glockner et al. 2018)", ("LI_LI",)),
    "LI-TS": ("logical inference, text fragments swapped (Wang et al. 2018)", ("LI_TS",)),
    "ST": (
        "stress tests: overlap, negation, length, spelling (Naik et al. 2018)",
        ("ST_WO", "ST_NE", "ST_LM", "ST_SE"),
    ),
}
_FILE = Raw("robust_nli.txt", github("tyliupku/nli-debiasing-datasets", "robust_nli.txt"))


class NLIAdversarial(RawDataset):
    """The benchmark; the rows are what ``measure.challenge_accuracy`` takes as references."""

    about = Description(
        title="NLI adversarial benchmark",
        summary="Seven sets, by their authors' count 114,754 items, against shortcuts of models of SNLI and MultiNLI.",
        homepage="https://github.com/tyliupku/nli-debiasing-datasets",
        licence="other",
        licence_note="The items come from several data sets, each under its own licence.",
        citation="""@inproceedings{liu-etal-2020-empirical,
  title = {An Empirical Study on Model-agnostic Debiasing Strategies for Robust Natural Language Inference},
  author = {Liu, Tianyu and Zheng, Xin and Ding, Xiaoan and Chang, Baobao and Sui, Zhifang},
  booktitle = {Proceedings of CoNLL},
  year = {2020},
  url = {https://aclanthology.org/2020.conll-1.48}
}""",
        configs={
            "all": Config("all seven sets", {"test": (_FILE,)}),
            **{name.lower(): Config(about, {"test": (_FILE,)}) for name, (about, _) in _SETS.items()},
        },
        columns=challenge_columns("nli_adversarial", "heuristic", "subcase"),
        tasks=("text-classification",),
        defects=(
            "Some gold labels are `non-entailment` or `non-contradiction`, for which two answers are right.",
            "Sets differ in size by far: the published score is the mean over the seven, not over items.",
        ),
        prohibited=("Training on it: it is a test set.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """The rows of one set, or of all."""
        known = {part: name for name, (_, parts) in _SETS.items() for part in parts}
        records = list(json_lines(files[0], ("split", "prem", "hypo", "label")))
        for number, record in enumerate(records):
            record.pick("split", known)
            record.text("hypo")
            record["id"] = str(number)
        wanted = self.config.name
        columns = tuple(self.columns)[1:]
        for record, row in challenge_rows("nli_adversarial", records, files[0], columns, key="id"):
            if wanted == "all" or row["heuristic"].lower() == wanted:
                yield record, row
