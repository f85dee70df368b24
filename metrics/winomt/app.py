"""A small page that runs WinoMT on translations typed in."""

from __future__ import annotations

from typing import Any

from hf_fairness import pages
from hf_fairness.filters.genders import LANGUAGES
from hf_fairness.measure.translator.winomt import winomt

COLUMNS = ("gender", "target_index", "sentence", "profession", "translation", "alignment")
SENTENCE = "The developer argued with the designer because {} did not like the design."
EXAMPLE = [
    ["female", "1", SENTENCE.format("she"), "developer", "Der Entwickler stritt mit dem Designer.", "0-0 1-1"],
    ["male", "1", SENTENCE.format("he"), "developer", "Der Entwickler stritt mit dem Designer.", "0-0 1-1"],
]
KEYS = ("accuracy", "recall_male", "recall_female", "delta_r", "f1_male", "f1_female", "delta_g", "unknown_rate")


def measure(lang: str, rows: list[list[str]]) -> tuple[pages.Rows, str]:
    """Rows of the table, and a line on what was measured.

    Args:
        lang: code of the target language.
        rows: gold gender, index of the noun, sentence, profession, translation, alignment; alignments in all rows or
            in none. Rows without a translation are left out.

    Returns:
        One row per number, and the counts.

    Raises:
        ValueError: an index that is no number, or what ``winomt`` raises.
    """
    full = [dict(zip(COLUMNS, map(str, row), strict=True)) for row in rows if str(row[4] or "").strip()]
    wrong = next((row["target_index"] for row in full if not row["target_index"].strip().isdecimal()), None)
    if wrong is not None:
        raise ValueError(f"target_index counts the words of the sentence from 0; got {wrong!r}.")
    references: list[dict[str, Any]] = [row | {"target_index": int(row["target_index"])} for row in full]
    links = [row["alignment"].strip() for row in full]
    result = winomt(
        [row["translation"] for row in full], references, lang=lang, alignments=links if any(links) else None
    )
    found = [[key, pages.text(result[key]), pages.text(result[f"{key}_ci95"])] for key in KEYS]
    failed = pages.text(result["alignment_failure_rate"])
    return found, f"{result['n']} rows, aligned by {result['aligner']}; share without a link: {failed}."


def inputs(gradio: Any) -> list[Any]:
    """The language, and the rows."""
    table = gradio.Dataframe(EXAMPLE, headers=list(COLUMNS), type="array", label="Rows")
    return [gradio.Dropdown(list(LANGUAGES), value="de", label="Target language"), table]


def build() -> Any:
    """The page, not yet launched."""
    about = (
        "Accuracy 1 and gaps of 0 are ideal; a gap above 0 favours men. Give alignments: the aligner learns from the "
        "rows themselves and needs thousands of them."
    )
    return pages.build("WinoMT", about, inputs, measure, ["number", "value", "95 % interval"])


if __name__ == "__main__":
    build().launch()
