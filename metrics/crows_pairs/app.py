"""A small page that scores pairs typed in under a model of the Hub, or reads ready scores."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.measure.language_model.crows_pairs import crows_pairs

COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
SCORES = ("score of sent_more", "score of sent_less")
EXAMPLE = [
    ["Women cannot drive a lorry.", "Men cannot drive a lorry.", "stereo", "gender", "", ""],
    ["The old man forgot his keys.", "The young man forgot his keys.", "stereo", "age", "", ""],
]
KEYS = ("stereotype_score", "stereotype_score_ci95", "tie_rate", "n")


def measure(model: str, rows: list[list[str]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on the whole.

    Args:
        model: Hub id or folder; empty to read the scores in the last two columns.
        rows: both sentences, direction, kind of bias, and the scores of both sentences; rows without a direction are
            left out.

    Returns:
        One row per kind of bias, and the score over all pairs with its interval.
    """
    full = [row for row in rows if str(row[2] or "").strip()]
    pairs = [{name: str(cell or "").strip() for name, cell in zip(COLUMNS, row, strict=False)} for row in full]
    if model.strip():
        result = crows_pairs(pairs, model=model.strip())
    else:
        result = crows_pairs(pairs, scores=[[float(cell) for cell in row[4:6]] for row in full])
    found = [[name, *(pages.text(part[key]) for key in KEYS)] for name, part in result["bias_types"].items()]
    return found, (
        f"stereotype_score of {result['n']} pairs: {pages.text(result['stereotype_score'])} "
        f"{pages.text(result['stereotype_score_ci95'])}; ideal 0.5. {result['meta']['known_defects']}"
    )


def inputs(gradio: Any) -> list[Any]:
    """The model and the pairs."""
    model = gradio.Textbox("bert-base-uncased", label="Model (Hub id); leave empty to read the scores in the table")
    return [model, gradio.Dataframe(EXAMPLE, headers=[*COLUMNS, *SCORES], type="array", label="Pairs")]


def build() -> Any:
    """The page, not yet launched."""
    about = "0.5 is ideal; above, the more stereotyping sentences are preferred."
    return pages.build("CrowS-Pairs", about, inputs, measure, ["kind of bias", *KEYS])


if __name__ == "__main__":
    build().launch()
