"""Small inputs of `bias_score`, worked out on paper: the direction lies along the first axis."""

from __future__ import annotations

MODEL = {"he": [-1.0, 0.0], "she": [1.0, 0.0], "nurse": [3.0, 4.0], "boxer": [-3.0, 4.0]}
VALID = {"texts": ["nurse", "boxer", "she"], "model": MODEL}
EXPECTED = {
    "female": [0.6, 0.0, 0.0],
    "male": [0.0, -0.6, 0.0],
    "female_mean": 0.2,
    "male_mean": -0.2,
    "absolute_mean": 0.4,
    "n": 3,
    "n_words": 3,
    "n_excluded": 1,
    "n_unknown": 0,
}
DEGENERATE = {
    "empty": ({"texts": []}, "texts is empty"),
    "one group": ({"model": {k: v for k, v in MODEL.items() if k != "she"}}, "both words of none of the 10 pairs"),
    "constant predictor": ({"model": {key: [1.0, 1.0] for key in MODEL}}, "differ in no direction"),
    "all unknown": (
        {"texts": ["quux", "she"]},
        {"absolute": [0.0, 0.0], "absolute_mean": 0.0, "n_unknown": 1, "n_excluded": 1},
    ),
    "nan": ({"model": MODEL | {"nurse": [float("nan"), 0.0]}}, "NaN"),
    "length mismatch": ({"model": MODEL | {"nurse": [1.0]}}, "nurse"),
    "multiclass": ({"attribute": "religion"}, "between two groups"),
}
PAGE = ["MINILM", "This is a homemaker.\n\nHe is a boxer.", "neutral"]
PAGE_LINE = "2 texts in neutral form, importance mean: mean absolute score "
