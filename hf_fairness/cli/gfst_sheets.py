"""`hf-fairness gfst-sheets`: score what people answered on the sheets that `hf-fairness gfst --human_sheets` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_fairness.arguments import Command
from hf_fairness.results import show

#: Question -> what its table calls the number, and how it is read.
TITLES = {
    "gender": "accuracy: the gender of the source, or ambiguous",
    "quality": "mean quality, 1 to 6",
    "preserved": "share of pairs; TP kept and right, TN dropped and wrong, FP kept and wrong, FN dropped and right",
}


@dataclass(kw_only=True)
class SheetArguments:
    """What `hf-fairness gfst-sheets` can be told."""

    sheets: list[str] = field(metadata={"help": "CSV files of one question, one for each annotator."})
    key: str = field(metadata={"help": "Key of the sheets: the CSV file that was written with them."})
    output_dir: str | None = field(
        default=None, metadata={"help": "Folder that gets the numbers as QUESTION_scores.json; default: none."}
    )


def run(arguments: SheetArguments) -> dict[str, Any]:
    """Read, score and print; returns what `score_sheets` returns."""
    from hf_fairness.measure.translator.human import score_sheets
    from hf_fairness.runs import atomic_write_json

    scores = score_sheets(arguments.sheets, arguments.key)
    if scores["n_blank"] == scores["n_annotators"] * scores["n_rows"]:
        raise ValueError(
            f"No row of {', '.join(arguments.sheets)} has an answer in its column {scores['question']!r}: there is "
            "nothing to score yet."
        )
    _print(scores)
    if arguments.output_dir is not None:
        folder = Path(arguments.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"\n{atomic_write_json(folder / (scores['question'] + '_scores.json'), scores)}")
    return scores


def _print(scores: Mapping[str, Any]) -> None:
    """The scores for a terminal."""
    agreement = scores["agreement"]
    told = "" if agreement is None else f"; annotators agree on {agreement:.0%} of the rows that two of them answered"
    print(f"{scores['question']}: {TITLES[scores['question']]}")
    print(f"{scores['n_annotators']} annotators, {scores['n_rows']} rows, {scores['n_blank']} without answer{told}\n")
    shown = {part: scores[part] for part in ("groups", "systems") if part in scores}
    if scores.get("differences"):
        gaps = scores["differences"].items()
        shown["differences"] = {
            pair: {"mean": gap["mean"], "mean_ci95": gap["ci95"], "n": gap["n"]} for pair, gap in gaps
        }
    show(shown, entries=None)


COMMAND = Command(
    description="""
Score sheets that people filled in (Choubey et al. 2021, tables 5, 9 and 17). A sheet asks one question
of every row, in its last column: `gender` (masculine, feminine, inconsistent, ambiguous or n/a), `quality` (1 to 6), or
`preserved` (yes or no: does the translation keep the gender of the source). Give the sheets of all annotators of one
draw, and its key. Intervals are over sentences.""",
    epilog="""example:
  hf-fairness gfst MODEL ... --human_sheets 100 --output_dir out      # writes out/human and out/human_keys
  hf-fairness gfst-sheets anna/gender.csv ben/gender.csv --key out/human_keys/gender_key.csv
""",
    arguments="hf_fairness.cli.gfst_sheets:SheetArguments",
    config="",
    run=run,
    positional="sheets",
)
