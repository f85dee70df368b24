"""How the sentences of the swap exam were drawn: `python -m benchmarks.exams.draw` prints rows and halves.

Run at the commit before the one that adds the exam: sentences that stand in the project are left out.
"""

from __future__ import annotations

import csv
import json
import random
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.study import ROOT

DATA = ROOT.parent / "shared" / "data"
SEED = 20261123
#: Sentences of each source.
WANTED = {"news-en-fr": 65, "news-en-he": 65, "captions": 70, "tweets": 67, "headlines": 80, "forum": 53}
#: Published lists hold these as words of one gender; they say nothing of a person in a sentence.
_NO_TERMS = {
    *("beard", "beards", "fella", "penis", "uterus", "barbershop", "testosterone", "estrogen", "prostate", "semen"),
    *("sperm", "ovarian", "womb", "menopause", "vagina", "brotherhood", "testicles", "testicular"),
}


class Place(NamedTuple):
    """Where a sentence stands."""

    file: str
    row: int
    field: str | None
    text: str


def gender_words(folder: Path) -> set[str]:
    """Single words of the published lists (Bolukbasi et al. 2016, Zhao et al. 2018), not those of this package."""
    found = set(json.loads((folder / "gender_specific_full.json").read_text(encoding="utf-8")))
    for pair in json.loads((folder / "bias_attribute_words.json").read_text(encoding="utf-8"))["gender"]:
        found |= set(pair)
    for name in ("generalized_swaps.txt", "extra_gendered_words.txt"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            found |= {word.strip() for word in line.split("\t")}
    return {word.lower() for word in found if word and not set("'_ ") & set(word)} - _NO_TERMS


def pools(data: Path) -> dict[str, list[Place]]:
    """Rows that no rule and no test reads, by source."""
    found: dict[str, list[Place]] = {"headlines": [], "forum": []}
    for key, name in (("news-en-fr", "news.2017.FEMALE.en-fr.en"), ("news-en-he", "news.2017.MALE.en-he.en")):
        lines = (data / "gfst" / name).read_text(encoding="utf-8").split("\n")
        found[key] = [Place(f"gfst/{name}", i, None, line) for i, line in enumerate(lines) if i >= 10_000]
    file = "snli/snli_1.0_dev.jsonl"
    rows = [json.loads(line) for line in (data / file).read_text(encoding="utf-8").splitlines()]
    sides = ("sentence1", "sentence2")
    found["captions"] = [Place(file, i, side, row[side]) for i, row in enumerate(rows) if i >= 700 for side in sides]
    file = "data_diet/Twitter_train_original_gender.csv"
    with (data / file).open(encoding="utf-8", newline="") as lines_of_file:
        tweets = list(csv.DictReader(lines_of_file))
    found["tweets"] = [Place(file, i, "tweet", row["tweet"]) for i, row in enumerate(tweets) if i >= 2_000]
    file = "glue/STS-B/train.tsv"
    head, *lines = (line.split("\t") for line in (data / file).read_text(encoding="utf-8").split("\n"))
    genres = {"headlines": "headlines", "deft-news": "headlines", "deft-forum": "forum"}
    for i, cells in enumerate(lines):
        if len(cells) >= 9 and cells[2] in genres:
            found[genres[cells[2]]] += [Place(file, i, side, cells[head.index(side)]) for side in sides]
    return found


def draw(data: Path = DATA) -> list[tuple[str, str, Place]]:
    """Source, half and place of each sentence."""
    words, rng, seen = gender_words(data / "wordlists"), random.Random(SEED), set()
    tree = ("tests", "hf_fairness", "benchmarks", "README.md", "trainers")
    grep = ["git", "grep", "-hI", "-e", ".", "--", *tree]
    known = subprocess.run(grep, cwd=ROOT, capture_output=True, text=True, check=True).stdout.lower()
    known = " ".join(known.split())
    drawn: list[tuple[str, Place]] = []
    every = pools(data)
    for source, wanted in WANTED.items():
        fit = [
            place
            for place in every[source]
            if 4 <= len(place.text.split()) <= 45
            and any(word.lower() in words for word in re.findall("[A-Za-z]+", place.text))
        ]
        rng.shuffle(fit)
        rows: set[tuple[str, int]] = set()
        for place in fit:
            text = " ".join(place.text.lower().split())
            if len(rows) < wanted and text not in seen and text not in known and place[:2] not in rows:
                seen.add(text)
                rows.add(place[:2])
                drawn.append((source, place))
    rng.shuffle(drawn)
    turns: Counter[str] = Counter()
    halves = []
    for source, place in drawn:
        halves.append((source, ("closed", "open")[turns[source] % 2], place))
        turns[source] += 1
    return halves


if __name__ == "__main__":
    for source, half, place in draw():
        print(source, half, place.file, place.row, place.field, sep="\t")
