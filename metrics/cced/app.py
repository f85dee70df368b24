"""A small page that runs CCED on a model of the Hub and texts typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness.measure import cced
from hf_fairness.utils import require

EXAMPLE = [
    ["He is a doctor.", "She is a doctor.", "They are a doctor."],
    ["My brother cooks.", "My sister cooks.", "My sibling cooks."],
]
KEYS = ("cced", "cced_signed", "cced_relative", "mean_distance")


def measure(model: str, rows: list[list[str]]) -> tuple[list[list[str]], str]:
    """Rows of the table, and a line on how many texts were used.

    Args:
        model: Hub id or folder.
        rows: male, female and neutral version of each text; rows with an empty cell are left out.

    Returns:
        One row per number, and the counts.
    """
    gradio = require("gradio")
    full = [row for row in rows if all(str(cell or "").strip() for cell in row)]
    columns = {name: [row[place] for row in full] for place, name in enumerate(("male", "female", "neutral"))}
    try:
        result = cced(model.strip(), columns)
    except (TypeError, ValueError) as error:
        raise gradio.Error(str(error)) from error
    found = [[key, f"{result[key]:.4f}", "[{:.4f}, {:.4f}]".format(*result[f"{key}_ci95"])] for key in KEYS]
    return (
        found,
        f"{result['n']} texts used, {result['n_skipped']} without a difference between the versions.",
    )


def build() -> Any:
    """The page, not yet launched."""
    gradio = require("gradio")
    with gradio.Blocks(title="CCED") as page:
        gradio.Markdown("# CCED\n0 is ideal. An encoder that collapses scores well: read `cced_relative` too.")
        model = gradio.Textbox("sentence-transformers/all-MiniLM-L6-v2", label="Model (Hub id)")
        rows = gradio.Dataframe(EXAMPLE, headers=["male", "female", "neutral"], type="array", label="Versions")
        button = gradio.Button("Measure")
        table, summary = gradio.Dataframe(headers=["number", "value", "95 % interval"]), gradio.Markdown()
        button.click(measure, inputs=[model, rows], outputs=[table, summary])
    return page


if __name__ == "__main__":
    build().launch()
