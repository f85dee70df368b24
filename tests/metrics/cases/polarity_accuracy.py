"""Small inputs of `polarity_accuracy`, worked out on paper."""

from __future__ import annotations

RIGHT = {"male": "He left.", "female": "She left.", "neutral": "They left."}

#: The second text ties in its male version, the third has no word of the group there.
VALID = {
    "variants": [
        RIGHT,
        RIGHT | {"male": "He and she left."},
        RIGHT | {"male": "They left."},
        RIGHT,
        RIGHT | {"has_terms": False},
    ]
}
EXPECTED = {
    "polarity_accuracy": 0.5,
    "versions > male > accuracy": 0.5,
    "versions > male > n_neutral": 2,
    "versions > male > n_tied": 1,
    "versions > female > accuracy": 1.0,
    "versions > neutral > n_neutral": 4,
    "n": 4,
    "n_skipped": 1,
}
COUNTS = {"a": [[1, 0, 0]], "b": [[0, 1, 0]], "c": [[0, 0, 2]], "neutral": [[0, 0, 0]]}
DEGENERATE = {
    "empty": ({"variants": []}, "No row with words of 'gender' is left"),
    "one group": ({"variants": None, "counts": {"a": [[1]]}, "groups": ["a"]}, "at least two groups"),
    "constant predictor": (
        {"variants": [dict.fromkeys(RIGHT, "She left.")]},
        {"polarity_accuracy": 0.0, "versions > female > accuracy": 1.0, "versions > male > accuracy": 0.0},
    ),
    "all unknown": (
        {"variants": [dict.fromkeys(RIGHT, "It rains.")]},
        {"polarity_accuracy": 0.0, "versions > neutral > accuracy": 1.0, "versions > male > n_neutral": 1},
    ),
    "nan": (
        {"variants": None, "counts": {"a": [[float("nan"), 0]], "b": [[0, 1]]}, "groups": ["a", "b"]},
        "NaN or infinite",
    ),
    "length mismatch": (
        {"variants": None, "counts": {"a": [[1, 0]], "b": [[0, 1]] * 2}, "groups": ["a", "b"]},
        r"must have shape \(1, 2\)",
    ),
    "multiclass": (
        {"variants": None, "counts": COUNTS, "groups": ["a", "b", "c"]},
        {"polarity_accuracy": 1.0, "n": 1, "n_skipped": 0},
    ),
}
PAGE = ["He left. | She left. | They left."]
# Half the least rate at which one of one is right is .025.
PAGE_LINE = "1 texts, share with every version right: 1 [0.05, 1]"
