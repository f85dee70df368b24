"""Small gradio pages of the metrics: inputs, a button, a table and a line of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_fairness.utils import require

#: What ``measure`` of a page returns: the rows of the table, and a line below it.
Rows = list[list[str]]
#: What the page says of every metric.
NO_CLAIM = "No value shows that a model is fair."


def text(value: Any, digits: int = 3) -> str:
    """A value as a table shows it: numbers to ``digits`` significant digits, intervals in brackets, None as a dash.

    Example:
        >>> text(0.123456), text([0.1, 0.25]), text(None), text("seat"), text(12)
        ('0.123', '[0.1, 0.25]', '–', 'seat', '12')
    """
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(text(part, digits) for part in value) + "]"
    return str(value)


def numbers(result: Mapping[str, Any], keys: Sequence[str], digits: int = 3) -> Rows:
    """Rows of a table of numbers: the key, its value and its interval.

    Example:
        >>> numbers({"rate": 0.25, "rate_ci95": [0.125, 0.5]}, ["rate"])
        [['rate', '0.25', '[0.125, 0.5]']]
    """
    return [[key, text(result[key], digits), text(result[f"{key}_ci95"], digits)] for key in keys]


def full_rows(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Rows of a typed table without an empty cell; 0 is not empty.

    Example:
        >>> full_rows([[1, "a"], [0, "b"], [None, "c"], ["", "d"]])
        [[1, 'a'], [0, 'b']]
    """
    return [row for row in rows if all(cell is not None and str(cell).strip() for cell in row)]


def build(
    title: str,
    about: str,
    inputs: Callable[[Any], Sequence[Any]],
    measure: Callable[..., tuple[Rows, str]],
    headers: Sequence[str],
) -> Any:
    """The page of one metric, not yet launched.

    Args:
        title: heading.
        about: ideal value and direction, in a sentence or two.
        inputs: given the gradio module, makes the input components, in the order in which ``measure`` takes them.
        measure: computes the rows of the table and a line of text; its ValueError, TypeError and OSError are shown on
            the page.
        headers: of the table.

    Returns:
        ``gradio.Blocks``.

    Raises:
        ImportError: gradio is not installed; the message names the extra.
    """
    gradio = require("gradio")

    def shown(*values: Any) -> tuple[Rows, str]:
        try:
            return measure(*values)
        except (TypeError, ValueError, OSError, ImportError) as error:
            raise gradio.Error(str(error)) from error

    with gradio.Blocks(title=title) as page:
        gradio.Markdown(f"# {title}\n{about} {NO_CLAIM}")
        components = list(inputs(gradio))
        button = gradio.Button("Measure")
        table, line = gradio.Dataframe(headers=list(headers)), gradio.Markdown()
        button.click(shown, inputs=components, outputs=[table, line])
    return page


def model_box(gradio: Any, value: str = "sentence-transformers/all-MiniLM-L6-v2") -> Any:
    """The box for the model's Hub id."""
    return gradio.Textbox(value, label="Model (Hub id)")


def lines(value: str) -> list[str]:
    r"""Lines of a text box, stripped, without the empty ones.

    Example:
        >>> lines(" a \n\nb")
        ['a', 'b']
    """
    return [line.strip() for line in value.splitlines() if line.strip()]
