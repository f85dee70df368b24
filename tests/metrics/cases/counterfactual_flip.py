"""Inputs of counterfactual flip: of four changed texts two flip, both away from the positive label."""

from __future__ import annotations

from typing import Any

VALID: dict[str, Any] = {
    "predictions": [1, 1, 1, 0, 1],
    "counterfactual_predictions": [1, 0, 0, 0, 0],
    "probabilities": [0.9, 0.75, 0.5, 0.25, 0.9],
    "counterfactual_probabilities": [0.65, 0.25, 0.25, 0.5, 0.1],
    "references": [1, 1, 0, 0, 1],
    "changed": [True, True, True, True, False],
}
# Positive rates 3/4 and 1/4; of reference 1: 2/2 and 1/2; of reference 0: 1/2 and 0. Changes 1/4, 1/2, 1/4, 1/4.
EXPECTED: dict[str, Any] = {
    "flip_rate": 0.5,
    "mean_abs_probability_change": 0.3125,
    "counterfactual_parity": 0.5,
    "counterfactual_parity_difference": 0.5,
    "counterfactual_equal_opportunity_0": 0.5,
    "counterfactual_equal_opportunity_1": 0.5,
    "counterfactual_equalized_odds": 0.5,
    "counterfactual_equalized_odds_difference": 0.5,
    "positive_rate": {"original": 0.75, "counterfactual": 0.25},
    "n_flipped": 2,
    "n": 4,
    "n_rows": 5,
    "changed_share": 0.8,
}
_ONE = {"references": None, "changed": None, "probabilities": None, "counterfactual_probabilities": None}
DEGENERATE: dict[str, Any] = {
    "empty": (
        _ONE | {"predictions": [], "counterfactual_predictions": []},
        r"predictions.'original'. must hold .* got shape \(0,\)",
    ),
    "one group": (
        _ONE | {"predictions": {"original": [1, 0]}, "counterfactual_predictions": None},
        "two or more versions of the texts.*got .'original'.",
    ),
    "constant predictor": (
        {"predictions": [1] * 5, "counterfactual_predictions": [1] * 5},
        {"flip_rate": 0.0, "counterfactual_parity": 1.0, "positive_rate": {"original": 1.0, "counterfactual": 1.0}},
    ),
    "all unknown": ({"changed": [False] * 5}, "None of the 5 rows was changed"),
    "nan": ({"probabilities": [0.9, 0.75, 0.5, 0.25, float("nan")]}, "probabilities.'original'. holds 1 value"),
    "length mismatch": (
        {"counterfactual_predictions": [1, 0]},
        "predictions.'counterfactual'. needs one entry per row: got 2 for 5 rows",
    ),
    "multiclass": ({"predictions": [2, 1, 1, 0, 1]}, "0 and 1; got .0, 1, 2.*positive_label="),
}
PAGE: list[Any] = [[[1, 1, 0.9, 0.8], ["1", 0, 0.7, 0.4], [0, 0, 0.2, 0.1], [None, "", "", ""]]]
PAGE_LINE = "1 of 3 texts"
