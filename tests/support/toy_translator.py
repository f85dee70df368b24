"""A language of a few words that a tiny Marian learns in seconds, and the model itself."""

from __future__ import annotations

import random

from datasets import Dataset

NOUNS = {"cat": "gatto", "dog": "cane", "friend": "amico", "nurse": "infermiere", "boss": "capo", "child": "bimbo"}
VERBS = {"sees": "vede", "knows": "conosce", "helps": "aiuta", "hears": "sente"}
OPENINGS = {
    "": "",
    "today ": "oggi ",
    "they say that ": "dicono che ",
    "we all know now that ": "ora sappiamo tutti che ",
}


def toy_pairs() -> list[tuple[str, str]]:
    """All sentences, in a fixed mixed order."""
    found = []
    for opening, other in OPENINGS.items():
        for one, uno in NOUNS.items():
            for verb, verbo in VERBS.items():
                for two, due in NOUNS.items():
                    found.append((f"{opening}the {one} {verb} the {two}.", f"{other}il {uno} {verbo} il {due}."))
    random.Random(0).shuffle(found)
    return found


def toy_rows(n: int, *, start: int = 0) -> Dataset:
    """Some of the sentences, as source and target."""
    pairs = toy_pairs()[start : start + n]
    return Dataset.from_dict({"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]})


def toy_tokenizer():
    """Words of both languages."""
    from hf_fairness.trainers.gfst.small_translator import small_tokenizer

    return small_tokenizer([text for pair in toy_pairs() for text in pair], vocab_size=100, level="word")


def toy_model(tokenizer, *, dropout: float = 0.0, seed: int = 0):
    """Random weights."""
    from hf_fairness.trainers.gfst.small_translator import small_marian

    return small_marian(tokenizer, d_model=32, layers=1, heads=2, ffn=64, dropout=dropout, max_length=64, seed=seed)
