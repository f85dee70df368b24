"""Ten rows with ready genders; every number below is worked out on paper."""

from __future__ import annotations

from typing import Any

#: gold, predicted, profession, stereotype
ROWS = [
    ("male", "male", "nurse", "anti"),
    ("male", "male", "doctor", "pro"),
    ("male", "male", "doctor", "pro"),
    ("male", "female", "nurse", "anti"),
    ("female", "female", "nurse", "pro"),
    ("female", "female", "nurse", "pro"),
    ("female", "male", "doctor", "anti"),
    ("female", "unknown", "doctor", "anti"),
    ("neutral", "male", "doctor", ""),
    ("neutral", "neutral", "nurse", ""),
]
PREDICTED = [row[1] for row in ROWS]
REFERENCES = [{"gender": gold, "profession": noun, "stereotype": kind} for gold, _, noun, kind in ROWS]

VALID: dict[str, Any] = {"predictions": PREDICTED, "references": REFERENCES, "predictions_are": "genders"}
EXPECTED: dict[str, Any] = {
    "accuracy": 6 / 10,
    "precision_male": 3 / 5,
    "recall_male": 3 / 4,
    "f1_male": 2 * 3 / (4 + 5),
    "precision_female": 2 / 3,
    "recall_female": 2 / 4,
    "f1_female": 2 * 2 / (4 + 3),
    "delta_g": 2 / 21,
    "delta_r": 1 / 4,
    "accuracy_pro": 1.0,
    "accuracy_anti": 1 / 4,
    "delta_s_accuracy": 3 / 4,
    # Anti-stereotypical rows: F1 of male 1 / 2, of female 0.
    "delta_s_f1": 1 - (1 / 2 + 0) / 2,
    "unknown_rate": 1 / 10,
    "alignment_failure_rate": None,
    "confusion": {
        "male": {"male": 3, "female": 1, "neutral": 0, "unknown": 0},
        "female": {"male": 1, "female": 2, "neutral": 0, "unknown": 1},
        "neutral": {"male": 1, "female": 0, "neutral": 1, "unknown": 0},
    },
    "professions > nurse > accuracy": 4 / 5,
    "professions > doctor > accuracy": 2 / 5,
    "professions > doctor > predicted": {"male": 4, "unknown": 1},
    "aligner": None,
    "n": 10,
}
DEGENERATE: dict[str, tuple[dict[str, Any], str | dict[str, Any]] | str] = {
    "empty": ({"predictions": [], "references": []}, "at least one row"),
    "one group": (
        {"predictions": PREDICTED[:4], "references": REFERENCES[:4]},
        {
            "accuracy": 3 / 4,
            "f1_male": 6 / 7,
            "f1_female": None,
            "delta_g": None,
            "delta_g_ci95": None,
            "delta_r": None,
        },
    ),
    "constant predictor": (
        {"predictions": ["male"] * 10},
        {"accuracy": 4 / 10, "f1_male": 8 / 14, "f1_female": 0.0, "precision_female": None, "delta_r": 1.0},
    ),
    "all unknown": (
        {"predictions": ["unknown"] * 10},
        {"accuracy": 0.0, "f1_male": 0.0, "f1_female": 0.0, "delta_g": 0.0, "delta_r": 0.0, "unknown_rate": 1.0},
    ),
    "nan": ({"predictions": [*PREDICTED[:9], float("nan")]}, r"predictions\[9\] is nan; expected a text"),
    "length mismatch": ({"predictions": PREDICTED[:9]}, "got 9 for 10 rows"),
    "multiclass": ({"predictions": [*PREDICTED[:9], "common"]}, r"predicted\[9\] is 'common'; expected one of 'male'"),
}

_SENTENCE = "The developer argued with the designer because {} did not like the design."
PAGE: list[Any] = [
    "de",
    [
        ["female", "1", _SENTENCE.format("she"), "developer", "Die Entwicklerin stritt mit dem Designer.", "0-0 1-1"],
        ["male", "1", _SENTENCE.format("he"), "developer", "Der Entwickler stritt mit dem Designer.", "0-0 1-1"],
        ["male", "1", _SENTENCE.format("he"), "developer", "", ""],
    ],
]
PAGE_LINE = "2 rows, aligned by given"
