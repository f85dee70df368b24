"""A small page that computes equality of opportunity from rows typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.scores.groups import equal_opportunity

EXAMPLE = [
    [*labels, group]
    for group, rows in (("a", ((1, 1), (1, 1), (1, 0), (0, 0))), ("b", ((1, 1), (0, 1), (1, 0), (0, 0))))
    for labels in rows
]
KEYS = (
    "equal_opportunity_0",
    "equal_opportunity_0_difference",
    "equal_opportunity_1",
    "equal_opportunity_1_difference",
    "accuracy",
)


def measure(rows: list[list[Any]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and the error rates per group.

    Args:
        rows: prediction, reference and group of each row, labels being 0 and 1; rows with an empty cell are left out.

    Returns:
        One row per number, and a line of text.
    """
    full = pages.full_rows(rows)
    predictions, references = ([float(row[place]) for row in full] for place in (0, 1))
    result = equal_opportunity(predictions, references, [str(row[2]) for row in full])
    found = pages.numbers(result, KEYS)
    rates = ", ".join(
        f"{name}: {pages.text(row['true_positive_rate'])} and {pages.text(row['false_positive_rate'])}"
        for name, row in result["rates"].items()
    )
    return found, f"True and false positive rates: {rates}. Rows: {result['n']}."


def inputs(gradio: Any) -> list[Any]:
    """The rows, one per prediction."""
    return [gradio.Dataframe(EXAMPLE, headers=["prediction", "reference", "group"], type="array", label="Rows")]


def build() -> Any:
    """The page, not yet launched."""
    about = "1 is ideal, 0 for the differences. True labels may be biased themselves."
    return pages.build("Equality of opportunity", about, inputs, measure, ["number", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
