"""Small tasks whose labels a random encoder can tell: how the second text of a pair ends."""

from __future__ import annotations

from pathlib import Path

from datasets import Dataset

WORKS = ("sings", "reads", "cooks", "drives", "teaches", "paints", "digs", "sews")


def pairs(n: int, offset: int = 0) -> dict[str, list]:
    """Pairs of sentences and their labels."""
    first = [f"the woman {WORKS[place % 8]} and {place + offset} men walk" for place in range(n)]
    ends = (", and a son of his too", ", slowly but surely, all the way home")
    second = [text + ends[place % 2] for place, text in enumerate(first)]
    return {"sentence1": first, "sentence2": second, "label": [place % 2 for place in range(n)]}


def write_tasks(folder: Path) -> dict[str, str]:
    """A folder of MRPC in two parts, and a file of SICK-R in one."""
    mrpc = folder / "MRPC"
    mrpc.mkdir()
    Dataset.from_dict(pairs(60)).to_csv(str(mrpc / "train.csv"))
    Dataset.from_dict(pairs(20, 100)).to_csv(str(mrpc / "dev.csv"))
    scored = {**pairs(60), "score": [1.0 + place % 5 for place in range(60)]}
    Dataset.from_dict(scored).to_json(str(folder / "sick.jsonl"))
    return {"mrpc": str(mrpc), "sick-r": str(folder / "sick.jsonl")}


def write_glue(folder: Path) -> str:
    """A folder of GLUE with RTE alone."""
    rte = folder / "RTE"
    rte.mkdir(parents=True)
    Dataset.from_dict(pairs(48)).to_csv(str(rte / "train.csv"))
    Dataset.from_dict(pairs(24, 100)).to_csv(str(rte / "dev.csv"))
    return str(folder)
