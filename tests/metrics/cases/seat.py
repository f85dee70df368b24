"""Small inputs of `seat`, worked out on paper: s is 1, 0 for the first targets and -1, 0 for the second."""

from __future__ import annotations

SETS = {"targ1": ["he", "him"], "targ2": ["she", "her"], "attr1": ["work"], "attr2": ["home"]}
MODEL = {
    "he": [2.0, 0.0],
    "him": [1.0, 1.0],
    "she": [0.0, 3.0],
    "her": [1.0, 1.0],
    "work": [1.0, 0.0],
    "home": [0.0, 1.0],
}
VALID = {
    "model": MODEL,
    "tests": {
        "toy": SETS,
        "turned": SETS | {"targ1": SETS["targ2"], "targ2": SETS["targ1"]},
        "kept": SETS | {"purpose": "retention"},
    },
}
EXPECTED = {
    "tests > toy > effect_size": 1 / (2 / 3) ** 0.5,
    "tests > toy > numerator": 1.0,
    # Sums of two out of 1, 0, -1, 0: two of six partitions reach 1, five reach -1.
    "tests > toy > p_value": 2 / 6,
    "tests > toy > p_value_clustered": 2 / 6,
    "tests > toy > p_value_clustered_holm": 4 / 6,
    "tests > toy > p_value_clustered_bh": 4 / 6,
    "tests > turned > effect_size": -1 / (2 / 3) ** 0.5,
    "tests > turned > p_value_clustered": 1.0,
    "tests > toy > n_words": 4,
    "tests > toy > method": "exact",
    "retention > kept > effect_size": 1 / (2 / 3) ** 0.5,
    "mean_abs_effect_size": 1 / (2 / 3) ** 0.5,
    "meta > n": 6,
}
DEGENERATE = {
    "empty": ({"tests": {"toy": SETS | {"targ1": []}}}, "targ1 is empty"),
    "one group": ({"tests": {"toy": {k: v for k, v in SETS.items() if k != "targ2"}}}, "missing: targ2"),
    "constant predictor": (
        {"model": {key: [1.0, 1.0] for key in MODEL}},
        {
            "tests > toy > effect_size": 0.0,
            "tests > toy > p_value_clustered": 1.0,
            "tests > toy > minimal_detectable_effect_size": None,
        },
    ),
    "all unknown": ({"model": {"other": [1.0, 0.0]}}, "no word of .he. has a vector"),
    "nan": ({"model": MODEL | {"he": [float("nan"), 0.0]}}, "NaN"),
    "length mismatch": (
        {"tests": {"toy": SETS | {"targ1": {"examples": ["he", "him"], "clusters": ["he"]}}}},
        "got 1 words for 2 texts",
    ),
    "multiclass": ({"tests": {"toy": SETS | {"targ3": ["they"]}}}, "unknown: targ3"),
}
PAGE = ["MINILM", ["weat6"]]
PAGE_LINE = "Mean |d| of the bias tests: 1.02 ["
