"""A small page that computes demographic parity from rows typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.scores.groups import demographic_parity

EXAMPLE = [[label, group] for group, labels in (("a", (1, 1, 1, 0)), ("b", (1, 0, 0, 0))) for label in labels]
KEYS = ("demographic_parity", "demographic_parity_difference", "overall_positive_rate")


def measure(rows: list[list[Any]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and the positive rate per group.

    Args:
        rows: prediction and group of each row, labels being 0 and 1; rows with an empty cell are left out.

    Returns:
        One row per number, and a line of text.
    """
    full = pages.full_rows(rows)
    predictions, groups = [float(row[0]) for row in full], [str(row[1]) for row in full]
    result = demographic_parity(predictions, groups)
    found = pages.numbers(result, KEYS)
    rates = ", ".join(
        f"{name}: {pages.text(row['positive_rate'])} of {row['n']}" for name, row in result["rates"].items()
    )
    least = pages.text(result["minimal_detectable_gap"])
    return found, f"Predicted positive: {rates}. Smallest gap that a test finds with so few rows: {least}."


def inputs(gradio: Any) -> list[Any]:
    """The rows, one per prediction."""
    return [gradio.Dataframe(EXAMPLE, headers=["prediction", "group"], type="array", label="Rows")]


def build() -> Any:
    """The page, not yet launched."""
    about = "1 is ideal, 0 for the difference. A constant classifier reaches both."
    return pages.build("Demographic parity", about, inputs, measure, ["number", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
