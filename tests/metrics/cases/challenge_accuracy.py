"""Small inputs of `challenge_accuracy`, worked out on paper."""

from __future__ import annotations

#: Heuristic a: 2 of 2 entailments, 1 of 2 others. Heuristic b: 1 of 1 and 1 of 1.
VALID = {
    "dataset": "hans",
    "references": [
        {"label": label, "heuristic": heuristic, "subcase": f"{heuristic}{label[0]}"}
        for heuristic, label in [
            ("a", "entailment"),
            ("a", "entailment"),
            ("a", "non-entailment"),
            ("a", "non-entailment"),
            ("b", "entailment"),
            ("b", "non-entailment"),
        ]
    ],
    "predictions": ["entailment", "ENTAILMENT", "entailment", "neutral", "entailment", "contradiction"],
}
EXPECTED = {
    "accuracy": 5 / 6,
    "balanced_accuracy": 5 / 6,
    "macro_accuracy": 0.875,
    "constant_accuracy": 0.5,
    "other_rate": 0.0,
    "labels > non-entailment > accuracy": 2 / 3,
    "by > heuristic > a > accuracy": 0.75,
    "by > heuristic > a > labels > entailment > accuracy": 1.0,
    "by > subcase > an > accuracy": 0.5,
    "by > subcase > an > n": 2,
    "predicted": {"contradiction": 1, "entailment": 4, "neutral": 1},
    "n": 6,
}
DEGENERATE = {
    "empty": ({"references": [], "predictions": []}, "references is empty"),
    "one group": (
        {"references": VALID["references"][:2], "predictions": ["entailment", "neutral"]},
        {"accuracy": 0.5, "balanced_accuracy": 0.5, "constant_accuracy": 1.0},
    ),
    "constant predictor": (
        {"predictions": ["entailment"] * 6},
        {"accuracy": 0.5, "labels > entailment > accuracy": 1.0, "labels > non-entailment > accuracy": 0.0},
    ),
    "all unknown": (
        {"dataset": "fever_symmetric", "references": ["SUPPORTS", "REFUTES"], "predictions": ["NEI"] * 2},
        {"accuracy": 0.0, "other_rate": 1.0, "constant_accuracy": 0.5},
    ),
    "nan": ({"predictions": [float("nan")] * 6}, "Row 0 has the label nan: expected"),
    "length mismatch": ({"predictions": ["entailment"]}, "got 1 for 6 rows"),
    "multiclass": (
        {
            "dataset": "scramble",
            "references": [
                {"label": label, "heuristic": "same", "subcase": "same short"}
                for label in ("entailment", "contradiction", "neutral")
            ],
            "predictions": ["entailment", "entailment", "neutral"],
        },
        {"accuracy": 2 / 3, "balanced_accuracy": 2 / 3, "labels > contradiction > accuracy": 0.0},
    ),
}
PAGE = ["hans", "entailment | entailment | subsequence\nentailment | non-entailment | subsequence"]
PAGE_LINE = "2 rows; one answer to all of them reaches 0.5."
