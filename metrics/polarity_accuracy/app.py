"""A small page that checks rewrites of texts for two groups."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.attributes import load_attribute
from hf_fairness.measure import polarity_accuracy

ATTRIBUTE = load_attribute("gender")
VERSIONS = (*ATTRIBUTE.group_names, "neutral")
EXAMPLE = """\
He is a good cook. | She is a good cook. | They are a good cook.
My brother left with his wife. | My sister left with her husband. | My sibling left with their spouse."""


def measure(text: str) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on all texts.

    Args:
        text: a line per text: its versions in the order of ``VERSIONS``, separated by ``|``.

    Returns:
        Accuracy per version with interval, and of whole texts.
    """
    rows = []
    for number, line in enumerate(pages.lines(text)):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != len(VERSIONS):
            raise ValueError(f"Line {number + 1} must hold {len(VERSIONS)} versions: {' | '.join(VERSIONS)}.")
        rows.append(dict(zip(VERSIONS, parts, strict=True)))
    result = polarity_accuracy(rows, attribute=ATTRIBUTE)
    keys = ("accuracy", "accuracy_ci95", "n_neutral", "n_tied")
    table = [[name, *(pages.text(entry[key]) for key in keys)] for name, entry in result["versions"].items()]
    share, interval = pages.text(result["polarity_accuracy"]), pages.text(result["polarity_accuracy_ci95"])
    return table, f"{result['n']} texts, share with every version right: {share} {interval}; ideal 1."


def inputs(gradio: Any) -> list[Any]:
    """The texts."""
    return [gradio.Textbox(EXAMPLE, lines=6, label=" | ".join(VERSIONS))]


def build() -> Any:
    """The page, not yet launched."""
    about = "1 is ideal, lower is worse: versions that do not read as the group they were written for."
    headers = ["version", "accuracy", "95 % interval", "neutral", "tied"]
    return pages.build("Polarity accuracy", about, inputs, measure, headers)


if __name__ == "__main__":
    build().launch()
