"""A small page that runs SEAT on a model of the Hub."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure import available_tests, seat
from hf_fairness.measure.encoder.stimuli import DEFAULT_TESTS

COLUMNS = (
    "effect_size",
    "effect_size_ci95",
    "p_value",
    "p_value_clustered",
    "p_value_clustered_holm",
    "minimal_detectable_effect_size",
    "n_words",
    "n_sentences",
    "purpose",
)


def measure(model: str, tests: list[str]) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on the mean.

    Args:
        model: Hub id or folder.
        tests: names of tests.

    Returns:
        One row per test (a dash where a number is not defined), and the mean |d| with its interval.
    """
    result = seat(model.strip(), tests)
    rows = [[name, *(pages.text(test.get(key)) for key in COLUMNS)] for name, test in result["tests"].items()]
    mean, interval = result["mean_abs_effect_size"], result["mean_abs_effect_size_ci95"]
    if mean is None:
        return rows, "No bias test was chosen."
    return (
        rows,
        f"Mean |d| of the bias tests: {pages.text(mean)} {pages.text(interval)}; ideal 0. Quote "
        "p_value_clustered of one test, p_value_clustered_holm of several.",
    )


def inputs(gradio: Any) -> list[Any]:
    """The model, and the tests to tick."""
    choices = [(f"{name}: {about}", name) for name, about in available_tests().items()]
    tests = gradio.CheckboxGroup(choices, value=list(DEFAULT_TESTS[:6]), label="Tests")
    return [pages.model_box(gradio), tests]


def build() -> Any:
    """The page, not yet launched."""
    return pages.build("SEAT", "An effect size of 0 is ideal for a bias test.", inputs, measure, ["test", *COLUMNS])


if __name__ == "__main__":
    build().launch()
