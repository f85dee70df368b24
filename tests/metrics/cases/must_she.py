"""Four rows with six terms; every number below is worked out on paper."""

from __future__ import annotations

from typing import Any

REFERENCES = [
    {"category": "1F", "gender_terms": "amica amico;stata stato"},
    {"category": "2F", "gender_terms": "sola solo"},
    {"category": "1M", "gender_terms": "un una;contento contenta"},
    {"category": "2M", "gender_terms": "stanco stanca"},
]
#: terms, found, right, wrong: 2 2 1 1, then 1 1 1 0, then 2 1 1 0, then 1 1 0 1
PREDICTIONS = ["È stata un amico.", "Era sola", "Un uomo felice", "Era stanca."]

VALID: dict[str, Any] = {"predictions": PREDICTIONS, "references": REFERENCES}
EXPECTED: dict[str, Any] = {
    "accuracy": 3 / 6,
    "accuracy_wrong": 2 / 6,
    "delta_accuracy": 1 / 6,
    "term_coverage": 5 / 6,
    "gender_accuracy": 3 / 5,
    "genders > F > accuracy": 2 / 3,
    "genders > M > accuracy": 1 / 3,
    "genders > F > delta_accuracy": 1 / 3,
    "genders > M > delta_accuracy": 0.0,
    "accuracy_gap": 1 / 3,
    "delta_accuracy_gap": 1 / 3,
    "categories > 1 > accuracy": 2 / 4,
    "categories > 2 > delta_accuracy": 0.0,
    "category_genders > 2F > accuracy": 1.0,
    "category_genders > 1M > term_coverage": 1 / 2,
    "n": 4,
    "n_terms": 6,
}
DEGENERATE: dict[str, tuple[dict[str, Any], str | dict[str, Any]] | str] = {
    "empty": ({"predictions": [], "references": []}, "at least one row"),
    "one group": (
        {"predictions": PREDICTIONS[:2], "references": REFERENCES[:2]},
        {"accuracy": 2 / 3, "accuracy_gap": None, "accuracy_gap_ci95": None},
    ),
    "constant predictor": (
        {"predictions": ["Un amico stanco e solo è stato contento"] * 4},
        {"accuracy": 3 / 6, "accuracy_wrong": 3 / 6, "genders > F > accuracy": 0.0, "accuracy_gap": 1.0},
    ),
    "all unknown": (
        {"predictions": ["ciao"] * 4},
        {"accuracy": 0.0, "delta_accuracy": 0.0, "term_coverage": 0.0, "gender_accuracy": None},
    ),
    "nan": ({"predictions": [*PREDICTIONS[:3], float("nan")]}, r"predictions\[3\] is nan; expected a text"),
    "length mismatch": ({"predictions": PREDICTIONS[:3]}, "got 3 for 4 rows"),
    "multiclass": (
        {
            "predictions": ["a", "b", "c"],
            "references": [
                {"category": "any", "gender": name, "gender_terms": [term]}
                for name, term in (("x", ("a", "z")), ("y", ("z", "b")), ("w", ("c", "z")))
            ],
        },
        {"accuracy": 2 / 3, "genders > y > accuracy": 0.0, "accuracy_gap": 1.0, "delta_accuracy_gap": 2.0},
    ),
}

PAGE: list[Any] = [
    [["2F", "amica amico;stata stato", "È stata un amico."], ["2M", "un una", "È un ragazzo."], ["2M", "un una", ""]]
]
PAGE_LINE = "2 rows with 3 gender-marked terms"
