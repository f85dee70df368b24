"""A small page that divides answers to a challenge set by heuristic and gold label."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure.classifier.challenge import challenge_accuracy
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS

EXAMPLE = """\
entailment | entailment | lexical_overlap
entailment | non-entailment | lexical_overlap
neutral | non-entailment | subsequence
entailment | entailment | subsequence"""


def measure(dataset: str, text: str) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on all rows.

    Args:
        dataset: name of the challenge set.
        text: a line per row: prediction, gold label and, where the set has any, heuristic, separated by ``|``.

    Returns:
        Accuracy with interval overall, per gold label and per heuristic, and the constant answer's accuracy.
    """
    rows, predictions = [], []
    for number, line in enumerate(pages.lines(text)):
        predicted, *others = (part.strip() for part in line.split("|"))
        if len(others) not in (1, 2):
            raise ValueError(f"Line {number + 1} must read: prediction | gold label | heuristic. Got {line!r}.")
        predictions.append(predicted)
        heuristic = others[1] if len(others) > 1 else "none"
        rows.append({"label": others[0], "heuristic": heuristic, "subcase": heuristic})
    result = challenge_accuracy(rows, dataset=dataset, predictions=predictions)
    parts = {"all": result, **{f"label {name}": entry for name, entry in result["labels"].items()}}
    parts |= result.get("by", {}).get("heuristic", {})
    table = [
        [name, pages.text(entry["accuracy"]), pages.text(entry["accuracy_ci95"]), str(entry["n"])]
        for name, entry in parts.items()
    ]
    return table, f"{result['n']} rows; one answer to all of them reaches {pages.text(result['constant_accuracy'])}."


def inputs(gradio: Any) -> list[Any]:
    """The set and the answers."""
    return [
        gradio.Dropdown(list(CHALLENGE_SETS), value="hans", label="Challenge set"),
        gradio.Textbox(EXAMPLE, lines=8, label="prediction | gold label | heuristic"),
    ]


def build() -> Any:
    """The page, not yet launched."""
    about = "1 is ideal, lower is worse; a label far below the others shows a shortcut."
    return pages.build("Challenge accuracy", about, inputs, measure, ["", "accuracy", "95 % interval", "rows"])


if __name__ == "__main__":
    build().launch()
