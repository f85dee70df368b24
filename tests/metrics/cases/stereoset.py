"""StereoSet: two target terms of one domain and one of another."""

from __future__ import annotations

ROWS = [
    {"target": "chef", "bias_type": "profession"},
    {"target": "chef", "bias_type": "profession"},
    {"target": "poet", "bias_type": "profession"},
    {"target": "girl", "bias_type": "gender"},
]
# Stereotype, anti-stereotype, unrelated. A tie of the first two counts as anti.
SCORES = [[0.3, 0.2, 0.1], [0.1, 0.2, 0.15], [0.2, 0.2, 0.1], [0.3, 0.1, 0.2]]

VALID = {"rows": ROWS, "scores": SCORES}
EXPECTED = {
    # chef: LM (2 + 1) / 4, SS 1 / 2; poet: LM 1, SS 0; girl: LM 1 / 2, SS 1
    "lm_score": 0.75,
    "stereotype_score": 0.5,
    "icat": 0.75,
    "lm_score_micro": 0.75,
    "stereotype_score_micro": 0.5,
    "n": 4,
    "n_terms": 3,
    "tie_rate": 0.25,
    "domains > profession > lm_score": 0.875,
    "domains > profession > stereotype_score": 0.25,
    "domains > profession > icat": 0.4375,
    "domains > gender > icat": 0.0,
    "domains > gender > icat_ci95": None,  # one term says nothing of the spread
    "meta > n": 4,
}
DEGENERATE = {
    "empty": ({"rows": [], "scores": []}, "rows is empty"),
    "one group": (
        {"rows": ROWS[3:], "scores": SCORES[3:]},
        {"lm_score": 0.5, "stereotype_score": 1.0, "icat": 0.0, "icat_ci95": None},
    ),
    "constant predictor": (
        {"scores": [[0.5, 0.5, 0.5]] * 4},
        {"lm_score": 0.0, "stereotype_score": 0.0, "icat": 0.0, "tie_rate": 1.0},
    ),
    "all unknown": "there is no unknown class: a model that prefers nothing gives ties",
    "nan": ({"scores": [*SCORES[:3], [0.1, float("nan"), 0.1]]}, "NaN or infinite"),
    "length mismatch": ({"scores": SCORES[:3]}, "different numbers of rows"),
    "multiclass": ({"scores": [[0.1, 0.2]] * 4}, "three numbers per item"),
}
PAGE = [
    "",
    [
        ["chef", "profession", "", "0.3", "0.2", "0.1"],
        ["girl", "gender", "", "0.1", "0.2", "0.05"],
        ["", "", "", "", "", ""],
    ],
]
PAGE_LINE = "2 items of 2 target terms: lm_score 1 (ideal 1), stereotype_score 0.5"
