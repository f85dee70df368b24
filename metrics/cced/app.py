"""A small page that runs CCED on a model of the Hub and texts typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure import cced

EXAMPLE = [
    ["He is a doctor.", "She is a doctor.", "They are a doctor."],
    ["My brother cooks.", "My sister cooks.", "My sibling cooks."],
]
VERSIONS = ("male", "female", "neutral")
KEYS = ("cced", "cced_signed", "cced_relative", "mean_distance")


def measure(model: str, rows: list[list[str]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on how many texts were used.

    Args:
        model: Hub id or folder.
        rows: male, female and neutral version of each text; rows with an empty cell are left out.

    Returns:
        One row per number, and the counts.
    """
    full = pages.full_rows(rows)
    result = cced(model.strip(), {name: [row[place] for row in full] for place, name in enumerate(VERSIONS)})
    found = pages.numbers(result, KEYS, 4)
    return (
        found,
        f"{result['n']} texts used, {result['n_skipped']} without a difference between the versions.",
    )


def inputs(gradio: Any) -> list[Any]:
    """The model, and the versions of each text."""
    versions = gradio.Dataframe(EXAMPLE, headers=list(VERSIONS), type="array", label="Versions")
    return [pages.model_box(gradio), versions]


def build() -> Any:
    """The page, not yet launched."""
    about = "0 is ideal. An encoder that collapses scores well: read `cced_relative` too."
    return pages.build("CCED", about, inputs, measure, ["number", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
