"""Small inputs of `bias_ir`, worked out on paper."""

from __future__ import annotations

GROUPS = ("male", "female", "neutral")


def _rows(queries, groups=GROUPS):
    return [{"query_id": q, "category": topic, "group": group} for q, topic in queries for group in groups]


#: Topic "home": the male version first in one of two; topic "work": first in one, tied in the other.
VALID = {
    "references": _rows([("1", "home"), ("2", "home"), ("3", "work"), ("4", "work")]),
    "predictions": [3.0, 1.0, 2.0, 1.0, 2.0, 3.0, 3.0, 1.0, 0.0, 1.0, 1.0, 0.0],
}
EXPECTED = {
    "male_ratio": 0.625,
    "female_ratio": 0.375,
    "mean_deviation": 0.125,
    "tie_rate": 0.25,
    "mean_gap": 1.25,
    "categories > work > male_ratio": 0.75,
    "categories > home > deviation": 0.0,
    "neutral > first_rate": 0.25,
    "neutral > mean_rank > male": 1.625,
    "neutral > mean_rank > neutral": 2.25,
    "n": 4,
    "n_tied": 1,
    "n_skipped": 0,
}
DEGENERATE = {
    "empty": ({"references": [], "predictions": []}, "documents is empty"),
    "one group": ({"references": _rows([("1", "a")], ["male"]), "predictions": [1.0]}, "at least two groups"),
    "constant predictor": (
        {"predictions": [1.0] * 12},
        {"male_ratio": 0.5, "mean_deviation": 0.0, "tie_rate": 1.0, "chance_mean_deviation": 0.0, "p_value": 1.0},
    ),
    "all unknown": (
        {"references": [row | {"group": ""} for row in VALID["references"]]},
        r"at least two groups; wanted \[\], got \[\]",
    ),
    "nan": ({"predictions": [float("nan")] * 12}, "NaN or infinite"),
    "length mismatch": ({"predictions": [1.0]}, "got 1 for 12 rows"),
    "multiclass": (
        {"references": _rows([("1", "a")], ["a", "b", "c"]), "predictions": [1.0, 0.0, 0.0]},
        {"a_ratio": 1.0, "b_ratio": 0.0, "mean_deviation": 4 / 9},
    ),
}
PAGE = ["MINILM", "who repairs engines | He repairs the engine. | She repairs the engine."]
PAGE_LINE = "1 queries, 0 tied"
