"""`TargetGender` as `datasets.map` calls it, against its tagger alone on the same sentences.

The tagger is the lightest there is, the rules for Hebrew (a comparison of the last letter of each word): what the
filter adds weighs most beside it. A dictionary or an analyser takes 2 to 300 times as long.
"""

from __future__ import annotations

from typing import Any

from benchmarks.runner import FOLDER, Benchmark, SkipSubject

DATA = FOLDER.parent.parent / "shared" / "data" / "gfst"
BATCH_SIZE = 1000  # of datasets.map


def setup(quick: bool) -> dict[str, Any]:
    """The Hebrew news sentences with the gender of their sources, in batches, and the map function."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    from hf_fairness.filters import TargetGender, gender_tagger

    rows = [
        (text, gender)
        for gender in ("female", "male")
        for text in (DATA / f"news.2017.{gender.upper()}.en-he.he").read_text(encoding="utf-8").split("\n")[:-1]
    ][:: 10 if quick else 1]
    pieces = [rows[start : start + BATCH_SIZE] for start in range(0, len(rows), BATCH_SIZE)]
    batches = [
        {"target": [text for text, _ in piece], "source_gender": [each for _, each in piece]} for piece in pieces
    ]
    tagger = gender_tagger("he", "gfst")
    return {"batches": batches, "tagger": tagger, "filter": TargetGender(tagger=tagger), "n": float(len(rows))}


def subject(state: dict[str, Any]) -> float:
    """The map function on every batch."""
    for batch in state["batches"]:
        state["filter"](batch)
    return state["n"]


def peer(state: dict[str, Any]) -> float:
    """The tagger on the words of every batch, and nothing made of its answers."""
    for batch in state["batches"]:
        state["tagger"].genders([text.split() for text in batch["target"]])
    return state["n"]


BENCHMARK = Benchmark(
    name="target_filter",
    compares="TargetGender on batches of 1,000 against its bare tagger, Hebrew rules (40,000 news sentences)",
    bar=1 / 1.5,  # at most 1.5 times as long
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=9,
)
