"""A small page that runs MuST-SHE on translations typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure.translator.must_she import must_she

COLUMNS = ("category", "gender_terms", "translation")
EXAMPLE = [
    ["2F", "amica amico;stata stato", "È stata un amico."],
    ["2M", "un una", "È un ragazzo."],
]
KEYS = ("accuracy", "accuracy_wrong", "delta_accuracy", "term_coverage", "gender_accuracy", "accuracy_gap")


def measure(rows: list[list[str]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on what was measured.

    Args:
        rows: category, terms and translation; rows without a translation are left out.

    Returns:
        One row per number, and the counts.
    """
    full = [dict(zip(COLUMNS, map(str, row), strict=True)) for row in rows if str(row[2] or "").strip()]
    result = must_she([row["translation"] for row in full], full)
    found = [[key, pages.text(result[key]), pages.text(result[f"{key}_ci95"])] for key in KEYS]
    return found, f"{result['n']} rows with {result['n_terms']} gender-marked terms."


def inputs(gradio: Any) -> list[Any]:
    """The rows."""
    return [gradio.Dataframe(EXAMPLE, headers=list(COLUMNS), type="array", label="Rows")]


def build() -> Any:
    """The page, not yet launched."""
    about = (
        "An accuracy of 1 is ideal, a gap between genders of 0. Terms: right and wrong form, pairs separated by ';'."
    )
    return pages.build("MuST-SHE", about, inputs, measure, ["number", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
