"""Inputs of equality of opportunity: TPR 1 and 1/2, FPR 1/2 and 0."""

from __future__ import annotations

from typing import Any

VALID: dict[str, Any] = {
    "predictions": [1, 1, 1, 0, 1, 0, 0, 0],
    "references": [1, 1, 0, 0, 1, 1, 0, 0],
    "groups": ["a"] * 4 + ["b"] * 4,
}
EXPECTED: dict[str, Any] = {
    "equal_opportunity_0": 0.5,
    "equal_opportunity_0_difference": 0.5,
    "equal_opportunity_1": 0.5,
    "equal_opportunity_1_difference": 0.5,
    "accuracy": 0.75,
    "n": 8,
    "rates > a > true_positive_rate": 1.0,
    "rates > a > false_positive_rate": 0.5,
    "rates > b > true_positive_rate": 0.5,
    "rates > b > false_positive_rate": 0.0,
}
DEGENERATE: dict[str, Any] = {
    "empty": ({"predictions": [], "references": [], "groups": []}, r"predictions must hold .* got shape \(0,\)"),
    "one group": ({"groups": ["a"] * 8}, "at least two groups to compare; got 'a' alone"),
    "constant predictor": (
        {"predictions": [0] * 8},
        {"equal_opportunity_0": 1.0, "equal_opportunity_1_difference": 0.0, "overall_positive_rate": 0.0},
    ),
    "all unknown": ({"groups": [None] * 8}, "groups holds 8 row.s. without a label"),
    "nan": ({"references": [1, 1, 0, 0, 1, 1, 0, float("nan")]}, "references holds 1 row.s. without a label"),
    "length mismatch": ({"references": [1, 0]}, "references needs one entry per row: got 2 for 8 rows"),
    "multiclass": ({"references": [2, 1, 0, 0, 1, 1, 0, 0]}, "0 and 1; got .0, 1, 2.*positive_label="),
}
PAGE: list[Any] = [[[1, 1, "a"], [0, 0, "a"], ["0", 1, "b"], [1, 0, "b"], [None, "", ""]]]
PAGE_LINE = "a: 1 and 0, b: 0 and 1"
