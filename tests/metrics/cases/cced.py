"""Small inputs of `cced`, worked out on paper: distances 2 and 1, then 1 and 1."""

from __future__ import annotations

VALID = {
    "embeddings": {
        "male": [[2.0, 0.0], [1.0, 0.0]],
        "female": [[0.0, 1.0], [0.0, 1.0]],
        "neutral": [[0.0, 0.0], [0.0, 0.0]],
    }
}
EXPECTED = {
    "cced": 0.5,
    "cced_signed": 0.5,
    "mean_distance": 1.25,
    "cced_relative": 0.4,
    "pairs > male-female > cced": 0.5,
    "distance > male": 1.5,
    "n": 2,
    "n_skipped": 0,
}
_E = VALID["embeddings"]
_SAME = {"male": ["it rains"], "female": ["it rains"], "neutral": ["it rains"]}
DEGENERATE = {
    "empty": ({"embeddings": {key: [] for key in _E}}, r"embeddings\['male'\]"),
    "one group": ({"embeddings": {"male": _E["male"], "neutral": _E["neutral"]}}, "at least two are needed"),
    "constant predictor": ({"embeddings": {key: [[1.0, 0.0]] for key in _E}}, "equals the neutral one"),
    "all unknown": (
        {"embeddings": None, "model": {"it": [1.0], "rains": [1.0]}, "variants": _SAME},
        "None of the 1 rows holds an attribute term",
    ),
    "nan": ({"embeddings": _E | {"male": [[float("nan"), 0.0], [1.0, 0.0]]}}, r"embeddings\['male'\].*NaN"),
    "length mismatch": ({"embeddings": _E | {"male": [[2.0, 0.0]]}}, "different numbers of rows"),
    # Three groups at distances 2, 1, 0 and 1, 1, 1: gaps 1, 2, 1 and 0, 0, 0.
    "multiclass": (
        {"embeddings": _E | {"other": [[0.0, 0.0], [1.0, 0.0]]}},
        {"cced": 4 / 6, "mean_distance": 1.0, "pairs > male-other > cced": 1.0},
    ),
}
PAGE = [
    "MINILM",
    [["He sings.", "She sings.", "They sing."], ["It rains.", "It rains.", "It rains."], ["", "unfinished", ""]],
]
PAGE_LINE = "1 texts used, 1 without a difference"
