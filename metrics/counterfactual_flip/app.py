"""A small page that computes counterfactual flips from rows typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.scores.flips import counterfactual_flip

VERSIONS = ("original", "counterfactual")
EXAMPLE = [[1, 1, 0.9, 0.8], [1, 0, 0.7, 0.4], [0, 0, 0.2, 0.1], [0, 0, 0.3, 0.35]]
KEYS = ("flip_rate", "mean_abs_probability_change", "counterfactual_parity", "counterfactual_parity_difference")


def measure(rows: list[list[Any]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and how many texts flipped.

    Args:
        rows: label of the original and of the changed text (0 and 1), and the probability of label 1 for both; rows
            with an empty cell are left out.

    Returns:
        One row per number, and a line of text.
    """
    full = pages.full_rows(rows)
    columns = [[float(row[place]) for row in full] for place in range(4)]
    result = counterfactual_flip(
        dict(zip(VERSIONS, columns[:2], strict=True)), probabilities=dict(zip(VERSIONS, columns[2:], strict=True))
    )
    found = pages.numbers(result, KEYS)
    return found, f"{result['n_flipped']} of {result['n']} texts get another label when their group words change."


def inputs(gradio: Any) -> list[Any]:
    """The rows, one per text."""
    headers = ["label", "label, changed text", "probability of 1", "probability of 1, changed text"]
    return [gradio.Dataframe(EXAMPLE, headers=headers, type="array", label="Rows")]


def build() -> Any:
    """The page, not yet launched."""
    about = "0 is ideal for flips and changes, 1 for the parity. Flips that cancel each other leave the parity at 1."
    return pages.build("Counterfactual flip", about, inputs, measure, ["number", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
