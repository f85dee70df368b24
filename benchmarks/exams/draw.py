"""How the sentences of the sets beside this file were drawn.

    python -m benchmarks.exams.draw swap_exam       prints rows and halves; or swap_judged, swap_hard

Run at the commit before the one that adds the set: sentences that stand in the project are left out.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.exams.texts import DATA, FOLDER, Place, rows, text_at
from benchmarks.study import ROOT
from benchmarks.swap_quality import Rewrite, dictionary_words
from hf_fairness.augment import swap
from hf_fairness.runs import content_key


class Plan(NamedTuple):
    """How a set is drawn.

    Attributes:
        seed: of the draw.
        wanted: number of sentences of each source.
            halves: names of the halves, which take turns.
        without: sets whose rows and texts are left out.
        only_hard: draw sentences alone which `is_hard` picks, so that more swaps are wrong.
    """

    seed: int
    wanted: Mapping[str, int]
    halves: tuple[str, str]
    without: tuple[str, ...] = ()
    only_hard: bool = False


PLANS = {
    "swap_exam": Plan(
        20261123,
        {"news-en-fr": 65, "news-en-he": 65, "captions": 70, "tweets": 67, "headlines": 80, "forum": 53},
        ("closed", "open"),
    ),
    "swap_judged": Plan(
        20261124,
        {
            "news-en-fr": 97,
            "news-en-he": 97,
            "captions": 100,
            "tweets": 110,
            "headlines": 115,
            "forum": 16,
            "forums": 65,
        },
        ("random",),
        ("swap_exam",),
    ),
    "swap_hard": Plan(
        20261125,
        {"news-en-fr": 120, "news-en-he": 40, "captions": 30, "tweets": 170, "headlines": 60, "forum": 5, "forums": 30},
        ("hard",),
        ("swap_exam", "swap_judged"),
        only_hard=True,
    ),
}
#: Published lists hold these as words of one gender; they say nothing of a person in a sentence.
_NO_TERMS = {
    *("beard", "beards", "fella", "penis", "uterus", "barbershop", "testosterone", "estrogen", "prostate", "semen"),
    *("sperm", "ovarian", "womb", "menopause", "vagina", "brotherhood", "testicles", "testicular"),
}


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
    found: dict[str, list[Place]] = {"headlines": [], "forum": [], "forums": []}
    for key, name in (("news-en-fr", "news.2017.FEMALE.en-fr.en"), ("news-en-he", "news.2017.MALE.en-he.en")):
        lines = rows(data / "gfst" / name)
        found[key] = [Place(f"gfst/{name}", i, None) for i in range(10_000, len(lines))]
    sides = ("sentence1", "sentence2")
    file = "snli/snli_1.0_dev.jsonl"
    found["captions"] = [Place(file, i, side) for i in range(700, len(rows(data / file))) for side in sides]
    file = "data_diet/Twitter_train_original_gender.csv"
    found["tweets"] = [Place(file, i, "tweet") for i in range(2_000, len(rows(data / file)))]
    genres = {"headlines": "headlines", "deft-news": "headlines", "deft-forum": "forum", "main-forums": "forums"}
    for file, field in (("glue/STS-B/train.tsv", "filename"), ("glue/STS-B/dev.tsv", "genre")):
        for i, row in enumerate(rows(data / file)):
            if len(row) >= 9 and row[field] in genres:
                found[genres[row[field]]] += [Place(file, i, side) for side in sides]
    return found


def drawn_before(names: Iterable[str]) -> tuple[set[tuple[str, int]], set[str]]:
    """Rows of other sets, and the keys of their texts."""
    taken, keys = set(), set()
    for name in names:
        record = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        taken |= {(row["file"], row["row"]) for row in record["rows"]}
        keys |= {row["key"] for row in record["rows"]}
    return taken, keys


def draw(plan: Plan, data: Path = DATA) -> list[tuple[str, str, Place]]:
    """Source, half and place of each sentence."""
    words, rng, seen = gender_words(data / "wordlists"), random.Random(plan.seed), set()
    tree = ("tests", "hf_fairness", "benchmarks", "README.md", "trainers")
    grep = ["git", "grep", "-hI", "-e", ".", "--", *tree]
    known = subprocess.run(grep, cwd=ROOT, capture_output=True, text=True, check=True).stdout.lower()
    known = " ".join(known.split())
    taken, keys = drawn_before(plan.without)
    drawn: list[tuple[str, Place]] = []
    look_up = dictionary_words()
    every = pools(data)
    for source, wanted in plan.wanted.items():
        fit = [(place, text) for place in every[source] if _fits(text := text_at(place, data), words)]
        rng.shuffle(fit)
        used = set(taken)
        count = 0
        for place, text in fit:
            plain = " ".join(text.lower().split())
            new = plain not in seen and plain not in known and place[:2] not in used and content_key(text) not in keys
            if count < wanted and new and (not plan.only_hard or is_hard(text, look_up, words)):
                seen.add(plain)
                used.add(place[:2])
                drawn.append((source, place))
                count += 1
    rng.shuffle(drawn)
    turns: Counter[str] = Counter()
    halves = []
    for source, place in drawn:
        halves.append((source, plan.halves[turns[source] % len(plan.halves)], place))
        turns[source] += 1
    return halves


def is_hard(text: str, look_up: Rewrite, words: Collection[str]) -> bool:
    """Whether the swap differs from a look-up of each word, or leaves a word of the lists (but for *new*) alone."""
    swapped = swap(text)
    if swapped != look_up(text, ""):
        return True
    pairs = zip(re.findall("[A-Za-z]+", text), re.findall("[A-Za-z]+", swapped), strict=False)
    return any(old == new and old.lower() in words and old.lower() != "new" for old, new in pairs)


def _fits(text: str, words: Collection[str]) -> bool:
    """Whether a sentence has 4 to 45 words, one of them of the lists."""
    return 4 <= len(text.split()) <= 45 and any(word.lower() in words for word in re.findall("[A-Za-z]+", text))


if __name__ == "__main__":
    for source, half, place in draw(PLANS[sys.argv[1]]):
        print(source, half, place.file, place.row, place.field, sep="\t")
