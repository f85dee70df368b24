"""Pairs of sentences about people at work, a tiny encoder and quick settings, for the tests of `hf-fairness refine`."""

from __future__ import annotations

import json
import random
from pathlib import Path

from support.kill_world import write_csv
from support.tiny_bert import save_tiny_bert

PEOPLE = {"he": "she", "the man": "the woman", "the boy": "the girl", "my uncle": "my aunt"}
WORK = {"male": ["boxer", "mason", "pilot"], "female": ["nurse", "dancer", "nanny"], "": ["baker", "singer", "poet"]}
PLACES = ["house", "park", "town", "school", "garden", "street", "market", "office"]
DEEDS = ["sings", "waits", "reads", "works", "sleeps", "smiles"]


def rows(n: int, *, seed: int = 0, kind: str = "label") -> dict[str, list]:
    """Columns ``premise``, ``hypothesis`` and ``label`` (same deed or another), or ``score`` in [0, 5]."""
    draws = random.Random(seed)
    found: dict[str, list] = {"premise": [], "hypothesis": [], kind: []}
    for _ in range(n):
        side = draws.choice([*WORK])
        person, other = draws.choice([*PEOPLE.items()])
        person = {"male": person, "female": other}.get(side, draws.choice([person, other]))
        place, deed, second = draws.choice(PLACES), draws.choice(DEEDS), draws.choice(DEEDS)
        found["premise"].append(f"{person} is a {draws.choice(WORK[side])} and {deed} in the {place}")
        found["hypothesis"].append(f"{person} {second} in the {place}")
        found[kind].append(("other", "same")[deed == second] if kind == "label" else 5.0 * (deed == second))
    return found


def words() -> list[str]:
    """All words of the pairs, and letters for any other text."""
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()-/$%&"]
    texts = [*PEOPLE, *PEOPLE.values(), *(word for side in WORK.values() for word in side), *PLACES, *DEEDS]
    return [*" ".join(texts).split(), "is", "a", "and", "in", "the", *letters, *(f"##{x}" for x in letters)]


def make_encoder(folder: Path, *, seed: int = 0) -> str:
    """A random BERT that knows the words."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 16}
    return save_tiny_bert(folder, words(), max_length=64, seed=seed, **sizes)


def make_tests(folder: Path) -> str:
    """A file with one test of bias and one of retention."""
    templates = {"targ1": WORK["male"], "targ2": WORK["female"], "attr1": [*PEOPLE], "attr2": [*PEOPLE.values()]}
    other = {"targ1": PLACES[:4], "targ2": DEEDS[:4], "attr1": PLACES[4:], "attr2": DEEDS[4:]}
    tests = [
        {"name": "work", "about": "work and gender", **templates},
        {"name": "kinds", "purpose": "retention", "about": "places and deeds", **other},
    ]
    path = folder / "tests.json"
    path.write_text(json.dumps(tests), encoding="utf-8")
    return str(path)


def make_words(folder: Path, *, n: int = 120, kind: str = "label") -> list[str]:
    """The words of a quick command, without the output folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = write_csv(folder / "pairs.csv", rows(n, kind=kind))
    quick = ["--n_samples", "100", "--n_bootstrap", "20", "--seat_tests", make_tests(folder), "--use_cpu"]
    training = ["--learning_rate", "1e-3", "--per_device_train_batch_size", "16", "--report_to", "none"]
    return [make_encoder(folder / "encoder"), "--dataset", data, *quick, *training, "--disable_tqdm", "True"]
