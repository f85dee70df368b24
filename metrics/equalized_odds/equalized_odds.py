"""Equalized odds over groups of rows, as an `evaluate` metric."""

from typing import Any

import datasets

import hf_fairness.modules
import hf_fairness.scores.groups

_DESCRIPTION = """\
Equalized odds asks whether a classifier has the same true and the same false positive rate in every group. Published:
the mean of equal_opportunity_0 and equal_opportunity_1, each 1 - (largest - smallest rate); ideal 1. fairlearn's
difference: the larger of the two gaps; ideal 0. It is no sign of a fair classifier: the true labels may be biased
themselves.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels, 0 and 1, or any labels with `positive_label`.
    references: true labels; every group needs rows of both.
    groups: the group of each row; two or more groups.
    probabilities: of the positive label (optional); adds auc.
    positive_label: the label that counts as positive against all others (default 1).
    clusters: a label per row, such as the template of a sentence; rows of one label count together in the intervals.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    equalized_odds: 1 - mean of the gaps of true and false positive rates, as published; ideal 1, lower is worse.
    equalized_odds_difference: the larger gap, as in fairlearn; ideal 0.
    fped, fned: sum over groups of the distance of their false positive (negative) rate to the overall one; ideal 0.
    minimal_detectable_gap_0, minimal_detectable_gap_1: the smallest gap of false (true) positive rates that a test
        finds with so many rows.
    accuracy, overall_positive_rate, auc; rates: per group its rows and rates with intervals.
    n, meta: rows; convention, ideal, direction, seed, versions. Gaps and rates have _ci95.

Examples:

    >>> import evaluate, hf_fairness
    >>> eo = evaluate.load(hf_fairness.metric_path("equalized_odds"))
    >>> predictions, references = [1, 1, 1, 0, 1, 0, 1, 0], [1, 1, 0, 0, 1, 1, 0, 0]
    >>> result = eo.compute(predictions=predictions, references=references, groups=["a"] * 4 + ["b"] * 4)
    >>> result["equalized_odds"], result["equalized_odds_difference"], result["fped"], result["fned"]
    (0.75, 0.5, 0.0, 0.5)
"""

_CITATION = """\
@inproceedings{hardt2016equality,
  title = {Equality of Opportunity in Supervised Learning},
  author = {Hardt, Moritz and Price, Eric and Srebro, Nathan},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2016}
}
@inproceedings{dixon2018measuring,
  title = {Measuring and Mitigating Unintended Bias in Text Classification},
  author = {Dixon, Lucas and Li, John and Sorensen, Jeffrey and Thain, Nithum and Vasserman, Lucy},
  booktitle = {Proceedings of the AAAI/ACM Conference on AI, Ethics, and Society},
  year = {2018}
}
@inproceedings{zayed2023deep,
  title = {Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness},
  author = {Zayed, Abdelrahman and Parthasarathi, Prasanna and Mordido, Gon{\\c{c}}alo and Palangi, Hamid and
            Shabanian, Samira and Chandar, Sarath},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2023}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={
        "predictions": datasets.Value("float64"),
        "references": datasets.Value("float64"),
        "groups": datasets.Value("string"),
    },
)
class EqualizedOdds(hf_fairness.modules.Metric):
    """Equalized odds over groups of rows."""

    def _compute(
        self, *, predictions: Any = None, references: Any = None, groups: Any = None, **options: Any
    ) -> dict[str, Any]:
        hf_fairness.modules.need("equalized_odds", predictions=predictions, references=references, groups=groups)
        return hf_fairness.scores.groups.equalized_odds(predictions, references, groups, **options)
