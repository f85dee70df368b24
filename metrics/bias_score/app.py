"""A small page that scores texts typed in under a model of the Hub."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure.encoder.bias_score import bias_score

EXAMPLE = ["She likes the new pink dress.", "Football players scoring touchdowns", "This is a homemaker."]


def measure(model: str, texts: str, form: str = "neutral") -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on what was scored.

    Args:
        model: Hub id or folder.
        texts: one text a line.
        form: "neutral" or "raw".

    Returns:
        One row per text, and the mean with its interval.
    """
    full = pages.lines(texts)
    result = bias_score(full, model.strip(), form=form)
    columns = [result[key] for key in (*result["meta"]["groups"], "absolute")]
    rows = [[line, *(f"{value:.4f}" for value in row)] for line, *row in zip(full, *columns, strict=True)]
    return (
        rows,
        f"{result['n']} texts in {form} form, importance {result['meta']['importance']}: mean absolute score "
        f"{result['absolute_mean']:.4f} {pages.text(result['absolute_mean_ci95'])}; ideal 0.",
    )


def inputs(gradio: Any) -> list[Any]:
    """The model, the texts and their form."""
    texts = gradio.Textbox("\n".join(EXAMPLE), lines=6, label="Texts, one a line")
    form = gradio.Radio(["neutral", "raw"], value="neutral", label="Form")
    return [pages.model_box(gradio), texts, form]


def build() -> Any:
    """The page, not yet launched."""
    about = "0 is ideal; negative leans to the first group, positive to the second."
    return pages.build("Bias score", about, inputs, measure, ["text", "first group", "second group", "absolute"])


if __name__ == "__main__":
    build().launch()
