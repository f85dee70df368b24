"""A small page that scores texts typed in under a model of the Hub."""

from __future__ import annotations

from typing import Any

from hf_fairness.measure.bias_score import bias_score
from hf_fairness.utils import require

EXAMPLE = ["She likes the new pink dress.", "Football players scoring touchdowns", "This is a homemaker."]


def measure(model: str, texts: list[str], form: str = "neutral") -> tuple[list[list[str]], str]:
    """Rows of the table, and a line on what was scored.

    Args:
        model: Hub id or folder.
        texts: the texts; empty ones are left out.
        form: "neutral" or "raw".

    Returns:
        One row per text, and the mean with its interval.
    """
    gradio = require("gradio")
    full = [text.strip() for text in texts if text.strip()]
    try:
        result = bias_score(full, model.strip(), form=form)
    except (TypeError, ValueError) as error:
        raise gradio.Error(str(error)) from error
    groups = result["meta"]["groups"]
    columns = [result[key] for key in (*groups, "absolute")]
    rows = [[text, *(f"{value:.4f}" for value in row)] for text, *row in zip(full, *columns, strict=True)]
    low, high = result["absolute_mean_ci95"]
    return (
        rows,
        f"{result['n']} texts in {form} form, importance {result['meta']['importance']}: mean absolute score "
        f"{result['absolute_mean']:.4f} [{low:.4f}, {high:.4f}]; ideal 0.",
    )


def build() -> Any:
    """The page, not yet launched."""
    gradio = require("gradio")
    with gradio.Blocks(title="Bias score") as page:
        gradio.Markdown(
            "# Bias score\n0 is ideal; negative leans to the first group, positive to the second. A low score does "
            "not show that a text or a model is fair."
        )
        model = gradio.Textbox("sentence-transformers/all-MiniLM-L6-v2", label="Model (Hub id)")
        texts = gradio.Textbox("\n".join(EXAMPLE), lines=6, label="Texts, one a line")
        form = gradio.Radio(["neutral", "raw"], value="neutral", label="Form")
        button = gradio.Button("Measure")
        table = gradio.Dataframe(headers=["text", "first group", "second group", "absolute"])
        summary = gradio.Markdown()
        button.click(
            lambda name, lines, how: measure(name, lines.splitlines(), how),
            inputs=[model, texts, form],
            outputs=[table, summary],
        )
    return page


if __name__ == "__main__":
    build().launch()
