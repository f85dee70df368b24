"""Inputs of equalized odds: TPR 1 and 1/2, FPR 1/2 in both groups."""

from __future__ import annotations

from typing import Any

VALID: dict[str, Any] = {
    "predictions": [1, 1, 1, 0, 1, 0, 1, 0],
    "references": [1, 1, 0, 0, 1, 1, 0, 0],
    "groups": ["a"] * 4 + ["b"] * 4,
    "probabilities": [0.9, 0.8, 0.6, 0.2, 0.7, 0.4, 0.55, 0.1],
}
# Mean gap (1/2 + 0) / 2; overall TPR 3/4. Of 4 x 4 pairs, 0.4 loses to 0.6 and 0.55: 14 of 16.
EXPECTED: dict[str, Any] = {
    "equalized_odds": 0.75,
    "equalized_odds_difference": 0.5,
    "fped": 0.0,
    "fned": 0.5,
    "auc": 0.875,
    "accuracy": 0.625,
    "n": 8,
    "rates > a > positive_rate": 0.75,
}
DEGENERATE: dict[str, Any] = {
    "empty": ({"predictions": [], "references": [], "groups": []}, r"predictions must hold .* got shape \(0,\)"),
    "one group": ({"groups": ["a"] * 8}, "at least two groups to compare; got 'a' alone"),
    "constant predictor": (
        {"predictions": [1] * 8, "probabilities": [0.9] * 8},
        {"equalized_odds": 1.0, "equalized_odds_difference": 0.0, "auc": 0.5, "overall_positive_rate": 1.0},
    ),
    "all unknown": ({"groups": [None] * 8}, "groups holds 8 row.s. without a label"),
    "nan": ({"probabilities": [0.9] * 7 + [float("nan")]}, "probabilities holds 1 value.s. that are NaN"),
    "length mismatch": ({"probabilities": [0.5]}, "probabilities needs one entry per row: got 1 for 8 rows"),
    "multiclass": ({"predictions": [2, 1, 1, 0, 1, 0, 1, 0]}, "0 and 1; got .0, 1, 2.*positive_label="),
}
PAGE: list[Any] = [[[1, 1, "a"], [0, 0, "a"], ["0", 1, "b"], [1, 0, "b"], [None, "", ""]]]
PAGE_LINE = "a: 1 and 0, b: 0 and 1. Rows: 4."
