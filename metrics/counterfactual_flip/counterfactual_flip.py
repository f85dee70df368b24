"""Counterfactual flips, parity and probability changes of a classifier, as an `evaluate` metric."""

from collections.abc import Mapping
from typing import Any

import datasets

import hf_fairness.modules
import hf_fairness.scores.flips

_DESCRIPTION = """\
Counterfactual flip asks what a classifier does when only the group words of a text are changed: how often its label
flips (ideal 0), how far its probability moves (ideal 0), and whether one version gets the positive label more often
(counterfactual parity, ideal 1). Pairs of versions of the same texts go in. Texts that the change left as they were
are excluded. A flip rate of 0 is no sign of a fair classifier: the change reaches listed words only.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: predicted labels of the texts, 0 and 1, or any labels with `positive_label`. Or, for several versions
        of each text, a mapping of version names to labels.
    counterfactual_predictions: predicted labels of the changed texts, same rows.
    probabilities: of the positive label (optional); a mapping where predictions are one.
    counterfactual_probabilities: of the changed texts.
    references: true labels, which hold for every version (optional); adds the paired forms of equal opportunity and
        equalized odds.
    changed: whether the versions of a row differ in their text (optional; None: all do); other rows are excluded.
    positive_label: the label that counts as positive against all others (default 1).
    clusters: a label per row, such as its template; rows of one label count together in the intervals.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    flip_rate: share of changed texts whose label flips; ideal 0.
    mean_abs_probability_change: ideal 0; None without probabilities.
    counterfactual_parity: 1 - gap between the positive rates of the versions, as published; ideal 1.
    counterfactual_parity_difference: the gap; ideal 0.
    counterfactual_equal_opportunity_0, counterfactual_equal_opportunity_1, counterfactual_equalized_odds: with
        references; ideal 1; their _difference, ideal 0. None where no changed row has the true label.
    positive_rate: per version; rates: the same with intervals.
    minimal_detectable_gap: the smallest gap that a test finds with so many pairs.
    n: changed rows; n_flipped; n_rows; changed_share (None where `changed` was not given).
    meta: convention, ideal, direction, seed, versions. Gaps and rates have _ci95.

Examples:

    >>> import evaluate, hf_fairness
    >>> flip = evaluate.load(hf_fairness.metric_path("counterfactual_flip"))
    >>> inputs = {"predictions": [1, 1, 0, 0], "counterfactual_predictions": [1, 0, 0, 0]}
    >>> result = flip.compute(**inputs, changed=[True, True, True, False])
    >>> round(result["flip_rate"], 4), round(result["counterfactual_parity"], 4), result["changed_share"]
    (0.3333, 0.6667, 0.75)
"""

_CITATION = """\
@inproceedings{zayed2023deep,
  title = {Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness},
  author = {Zayed, Abdelrahman and Parthasarathi, Prasanna and Mordido, Gon{\\c{c}}alo and Palangi, Hamid and
            Shabanian, Samira and Chandar, Sarath},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2023}
}
@inproceedings{garg2019counterfactual,
  title = {Counterfactual Fairness in Text Classification through Robustness},
  author = {Garg, Sahaj and Perot, Vincent and Limtiaco, Nicole and Taly, Ankur and Chi, Ed H. and Beutel, Alex},
  booktitle = {Proceedings of the AAAI/ACM Conference on AI, Ethics, and Society},
  year = {2019}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={"predictions": datasets.Value("float64"), "counterfactual_predictions": datasets.Value("float64")},
)
class CounterfactualFlip(hf_fairness.modules.Metric):
    """Counterfactual flips, parity and probability changes."""

    def _compute(
        self,
        *,
        predictions: Any = None,
        counterfactual_predictions: Any = None,
        probabilities: Any = None,
        counterfactual_probabilities: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        name, given = "counterfactual_flip", [probabilities, counterfactual_probabilities]
        hf_fairness.modules.need(name, predictions=predictions)
        if isinstance(predictions, Mapping):
            hf_fairness.modules.refuse(
                name,
                "every version in the mappings",
                counterfactual_predictions=counterfactual_predictions,
                counterfactual_probabilities=counterfactual_probabilities,
            )
        else:
            hf_fairness.modules.need(name, counterfactual_predictions=counterfactual_predictions)
            predictions = {"original": predictions, "counterfactual": counterfactual_predictions}
            if any(column is not None for column in given):
                hf_fairness.modules.need(
                    name, probabilities=probabilities, counterfactual_probabilities=counterfactual_probabilities
                )
                probabilities = dict(zip(predictions, given, strict=True))
        return hf_fairness.scores.flips.counterfactual_flip(predictions, probabilities=probabilities, **options)
