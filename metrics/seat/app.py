"""A small page that runs SEAT on a model of the Hub."""

from __future__ import annotations

from typing import Any

from hf_fairness.measure import available_tests, seat
from hf_fairness.measure.stimuli import DEFAULT_TESTS
from hf_fairness.utils import require

COLUMNS = (
    "effect_size",
    "effect_size_ci95",
    "p_value",
    "p_value_clustered",
    "n_words",
    "n_sentences",
    "purpose",
)


def _text(value: Any) -> str:
    """A number or an interval with three digits."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"[{value[0]:.3g}, {value[1]:.3g}]" if isinstance(value, list) else str(value)


def measure(model: str, tests: list[str]) -> tuple[list[list[str]], str]:
    """Rows of the table, and a line on the mean.

    Args:
        model: Hub id or folder.
        tests: names of tests.

    Returns:
        One row per test, and the mean |d| with its interval.
    """
    gradio = require("gradio")
    try:
        result = seat(model.strip(), tests)
    except (TypeError, ValueError) as error:
        raise gradio.Error(str(error)) from error
    rows = [[name, *(_text(test[key]) for key in COLUMNS)] for name, test in result["tests"].items()]
    mean, interval = result["mean_abs_effect_size"], result["mean_abs_effect_size_ci95"]
    if mean is None:
        return rows, "No bias test was chosen."
    return (
        rows,
        f"Mean |d| of the bias tests: {_text(mean)} {_text(interval)}; ideal 0. Quote p_value_clustered.",
    )


def build() -> Any:
    """The page, not yet launched."""
    gradio = require("gradio")
    with gradio.Blocks(title="SEAT") as page:
        gradio.Markdown(
            "# SEAT\nAn effect size of 0 is ideal for a bias test. A zero does not show that a model is fair."
        )
        model = gradio.Textbox("sentence-transformers/all-MiniLM-L6-v2", label="Model (Hub id)")
        choices = [(f"{name}: {about}", name) for name, about in available_tests().items()]
        tests = gradio.CheckboxGroup(choices, value=list(DEFAULT_TESTS[:6]), label="Tests")
        button = gradio.Button("Measure")
        table, summary = gradio.Dataframe(headers=["test", *COLUMNS]), gradio.Markdown()
        button.click(measure, inputs=[model, tests], outputs=[table, summary])
    return page


if __name__ == "__main__":
    build().launch()
