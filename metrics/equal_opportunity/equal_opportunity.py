"""Equality of opportunity over groups of rows, as an `evaluate` metric."""

from typing import Any

import datasets

import hf_fairness.modules
import hf_fairness.scores.groups

_DESCRIPTION = """\
Equality of opportunity asks whether a classifier gives the positive label equally often to the rows of every group
that share a true label: 1 - (largest - smallest rate), for true label 1 (true positive rates, the usual meaning) and 0
(false positive rates). The ideal is 1, of the differences 0. It is no sign of a fair classifier: the true labels may
be biased themselves.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels, 0 and 1, or any labels with `positive_label`.
    references: true labels.
    groups: the group of each row; two or more groups.
    positive_label: the label that counts as positive against all others (default 1).
    clusters: a label per row, such as the template of a sentence; rows of one label count together in the intervals.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    equal_opportunity_0, equal_opportunity_1: 1 - gap, as published; ideal 1, lower is worse.
    equal_opportunity_0_difference, equal_opportunity_1_difference: the gaps; ideal 0. fairlearn's is that of 1.
        None where a group has no rows with that true label.
    minimal_detectable_gap_0, minimal_detectable_gap_1: the smallest gap that a test finds with so many rows.
    accuracy, overall_positive_rate; rates: per group its rows and rates with intervals.
    n, meta: rows; convention, ideal, direction, seed, versions. Gaps and rates have _ci95.

Examples:

    >>> import evaluate, hf_fairness
    >>> eo = evaluate.load(hf_fairness.metric_path("equal_opportunity"))
    >>> predictions, references = [1, 1, 0, 0, 1, 0, 1, 0], [1, 1, 0, 0, 1, 1, 0, 0]
    >>> result = eo.compute(predictions=predictions, references=references, groups=["a"] * 4 + ["b"] * 4)
    >>> result["equal_opportunity_1"], result["equal_opportunity_1_difference"]
    (0.5, 0.5)
    >>> result["rates"]["a"]["true_positive_rate"], result["rates"]["b"]["true_positive_rate"]
    (1.0, 0.5)
"""

_CITATION = """\
@inproceedings{hardt2016equality,
  title = {Equality of Opportunity in Supervised Learning},
  author = {Hardt, Moritz and Price, Eric and Srebro, Nathan},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2016}
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
class EqualOpportunity(hf_fairness.modules.Metric):
    """Equality of opportunity over groups of rows."""

    def _compute(
        self, *, predictions: Any = None, references: Any = None, groups: Any = None, **options: Any
    ) -> dict[str, Any]:
        hf_fairness.modules.need("equal_opportunity", predictions=predictions, references=references, groups=groups)
        return hf_fairness.scores.groups.equal_opportunity(predictions, references, groups, **options)
