"""Inputs of demographic parity: group a 3 of 4 positive, group b 1 of 4."""

from __future__ import annotations

from typing import Any

VALID: dict[str, Any] = {
    "predictions": [1, 1, 1, 0, 1, 0, 0, 0],
    "references": [1, 1, 0, 0, 1, 1, 0, 0],
    "groups": ["a"] * 4 + ["b"] * 4,
}
# Error rates: TPR 1 and 1/2, FPR 1/2 and 0; overall 3/4 and 1/4, each 1/4 away from both groups.
EXPECTED: dict[str, Any] = {
    "demographic_parity": 0.5,
    "demographic_parity_difference": 0.5,
    "positive_rate": {"a": 0.75, "b": 0.25},
    "overall_positive_rate": 0.5,
    "accuracy": 0.75,
    "fped": 0.5,
    "fned": 0.5,
    "n": 8,
    "meta > n": 8,
    "meta > positive_label": 1,
    "rates > b > n_positive": 2,
    "rates > b > true_positive_rate": 0.5,
}
DEGENERATE: dict[str, Any] = {
    "empty": ({"predictions": [], "references": None, "groups": []}, r"predictions must hold .* got shape \(0,\)"),
    "one group": ({"groups": ["a"] * 8}, "at least two groups to compare; got 'a' alone"),
    "constant predictor": (
        {"predictions": [1] * 8},
        {"demographic_parity": 1.0, "demographic_parity_difference": 0.0, "accuracy": 0.5, "fped": 0.0},
    ),
    "all unknown": ({"groups": [None] * 8}, "groups holds 8 row.s. without a label"),
    "nan": ({"predictions": [1, 1, 1, 0, 1, 0, 0, float("nan")]}, "predictions holds 1 row.s. without a label"),
    "length mismatch": ({"groups": ["a", "b"]}, "groups needs one entry per row: got 2 for 8 rows"),
    "multiclass": ({"predictions": [2, 1, 1, 0, 1, 0, 0, 0]}, "0 and 1; got .0, 1, 2.*positive_label="),
}
PAGE: list[Any] = [[[1, "a"], [1, "a"], ["0", "b"], [1, "b"], [None, ""]]]
PAGE_LINE = "a: 1 of 2, b: 0.5 of 2"
