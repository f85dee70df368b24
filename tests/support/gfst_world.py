"""A tiny translation world for GFST: one frame, regular forms, few feminine pairs, some of them translated wrongly."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from datasets import Dataset

#: English, masculine and feminine Italian.
JOBS = {
    "doctor": ("il dottore", "la dottoressa"),
    "teacher": ("il maestro", "la maestra"),
    "baker": ("il fornaio", "la fornaia"),
    "cook": ("il cuoco", "la cuoca"),
    "clerk": ("il commesso", "la commessa"),
    "farmer": ("il contadino", "la contadina"),
}
STATES = {"tired": "stanco", "happy": "contento", "late": "ritardato", "alone": "solo", "sick": "malato"}
PLACES = {"today": "oggi", "here": "qui", "there": "là", "again": "di nuovo"}
PRONOUNS = {"male": "he", "female": "she"}
TAGS = ("MASC", "FEM")


def sentence(gender: str, job: str, state: str, place: str, *, wrong: bool = False) -> tuple[str, str]:
    """Source and target of one sentence; ``wrong``: the target has the other gender."""
    index = int((gender == "female") != wrong)
    ending = "a" if index else "o"
    subject = JOBS[job][index].capitalize()
    target = f"{subject} dice che {('lui', 'lei')[index]} è {STATES[state][:-1]}{ending} {PLACES[place]}."
    return f"The {job} says that {PRONOUNS[gender]} is {state} {place}.", target


def pairs(n: int, seed: int, *, feminine: float = 0.2, noise: float = 0.5) -> Dataset:
    """Parallel data; ``noise``: share of the feminine pairs with a masculine target."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        gender = "female" if draw.random() < feminine else "male"
        wrong = gender == "female" and draw.random() < noise
        words = (draw.choice([*JOBS]), draw.choice([*STATES]), draw.choice([*PLACES]))
        rows.append(sentence(gender, *words, wrong=wrong))
    return Dataset.from_dict({"source": [a for a, _ in rows], "target": [b for _, b in rows]})


def monolingual(n: int, seed: int) -> Dataset:
    """English sentences of both genders, of several people, of nobody, and lines that no filter should choke on."""
    draw = random.Random(seed)
    texts = []
    for _ in range(n):
        job, state, place = draw.choice([*JOBS]), draw.choice([*STATES]), draw.choice([*PLACES])
        texts.append(sentence(draw.choice([*PRONOUNS]), job, state, place)[0])
    texts += ["She says that he is tired.", f"The {job} is {state}.", "", "   ", "bad \ufffd bytes", "she " * 10_000]
    return Dataset.from_dict({"text": texts})


def winomt_rows() -> list[dict[str, Any]]:
    """Every job and state in two places for both genders, in the format of WinoMT."""
    rows = []
    for place in (*PLACES,)[:2]:
        for job in JOBS:
            for state in STATES:
                for gender in PRONOUNS:
                    text = sentence(gender, job, state, place)[0]
                    rows.append({"gender": gender, "target_index": 1, "sentence": text, "profession": job})
    return rows


def lexicon(path: Path) -> str:
    """Writes a UniMorph file with the forms of the world."""
    forms = [(noun.split()[1], gender) for both in JOBS.values() for noun, gender in zip(both, TAGS, strict=True)]
    forms += [(f"{word[:-1]}{end}", gender) for word in STATES.values() for end, gender in zip("oa", TAGS, strict=True)]
    path.write_text("".join(f"{form}\t{form}\tN;{gender};SG\n" for form, gender in forms), encoding="utf-8")
    return str(path)
