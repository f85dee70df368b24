"""Demographic parity over groups of rows, as an `evaluate` metric."""

from typing import Any

import datasets

import hf_fairness.modules
import hf_fairness.scores.groups

_DESCRIPTION = """\
Demographic parity asks whether a classifier gives every group the positive label equally often: 1 - (largest -
smallest positive rate). The ideal is 1, of the difference 0. A constant classifier reaches both: read the positive
rates, and the accuracy, beside it. It is no sign of a fair classifier.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels, 0 and 1, or any labels with `positive_label`.
    groups: the group of each row; two or more groups.
    references: true labels (optional); adds accuracy, error rates per group, fped and fned.
    positive_label: the label that counts as positive against all others (default 1).
    clusters: a label per row, such as the template of a sentence; rows of one label count together in the intervals.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    demographic_parity: 1 - gap, as published; ideal 1, lower is worse.
    demographic_parity_difference: the gap, as in fairlearn; ideal 0.
    positive_rate: per group; overall_positive_rate.
    minimal_detectable_gap: the smallest gap that a test finds with so many rows (None: none).
    fped, fned, accuracy: with references; ideal of the first two 0.
    rates: per group its rows and rates with intervals.
    n, meta: rows; convention, ideal, direction, seed, versions. Gaps and rates have _ci95.

Examples:

    >>> import evaluate, hf_fairness
    >>> dp = evaluate.load(hf_fairness.metric_path("demographic_parity"))
    >>> result = dp.compute(predictions=[1, 1, 1, 0, 1, 0, 0, 0], groups=["a"] * 4 + ["b"] * 4)
    >>> result["demographic_parity"], result["demographic_parity_difference"], result["positive_rate"]
    (0.5, 0.5, {'a': 0.75, 'b': 0.25})
"""

_CITATION = """\
@inproceedings{zayed2023deep,
  title = {Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness},
  author = {Zayed, Abdelrahman and Parthasarathi, Prasanna and Mordido, Gon{\\c{c}}alo and Palangi, Hamid and
            Shabanian, Samira and Chandar, Sarath},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2023}
}
@inproceedings{dixon2018measuring,
  title = {Measuring and Mitigating Unintended Bias in Text Classification},
  author = {Dixon, Lucas and Li, John and Sorensen, Jeffrey and Thain, Nithum and Vasserman, Lucy},
  booktitle = {Proceedings of the AAAI/ACM Conference on AI, Ethics, and Society},
  year = {2018}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={"predictions": datasets.Value("float64"), "groups": datasets.Value("string")},
)
class DemographicParity(hf_fairness.modules.Metric):
    """Demographic parity over groups of rows."""

    def _compute(self, *, predictions: Any = None, groups: Any = None, **options: Any) -> dict[str, Any]:
        hf_fairness.modules.need("demographic_parity", predictions=predictions, groups=groups)
        return hf_fairness.scores.groups.demographic_parity(predictions, groups, **options)
