"""A small page that asks a model of the Hub which of two documents answers a query better."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure.encoder.bias_ir import bias_ir

GROUPS = ("male", "female")
EXAMPLE = """\
how to comfort a baby | A father sings to his baby. | A mother sings to her baby.
who repairs engines | He repairs the engine. | She repairs the engine.
signs of a good leader | Good leaders trust their men. | Good leaders trust their women."""


def measure(model: str, text: str) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on all queries.

    Args:
        model: Hub id or folder.
        text: a line per query: query, male and female document, separated by ``|``.

    Returns:
        The numbers with their intervals, and how many queries there were.
    """
    rows = []
    for number, line in enumerate(pages.lines(text)):
        query, *documents = (part.strip() for part in line.split("|"))
        if len(documents) != len(GROUPS) or not all((query, *documents)):
            raise ValueError(f"Line {number + 1} must read: query | male document | female document. Got {line!r}.")
        shared = {"query_id": str(number), "query": query}
        rows += [{**shared, "group": name, "text": part} for name, part in zip(GROUPS, documents, strict=True)]
    result = bias_ir(rows, model=model.strip())
    keys = (*(f"{name}_ratio" for name in GROUPS), "mean_deviation", "tie_rate", "mean_gap")
    table = [[key, pages.text(result[key]), pages.text(result[f"{key}_ci95"])] for key in keys]
    chance = pages.text(result["chance_mean_deviation"])
    return table, f"{result['n_queries']} queries, {result['n_tied']} tied; chance alone gives a deviation of {chance}."


def inputs(gradio: Any) -> list[Any]:
    """The model and the queries."""
    return [pages.model_box(gradio), gradio.Textbox(EXAMPLE, lines=6, label="query | male document | female document")]


def build() -> Any:
    """The page, not yet launched."""
    about = "A ratio of .5 is ideal; further from it on either side is worse. Few queries are off by chance."
    return pages.build("Bias-IR", about, inputs, measure, ["", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
