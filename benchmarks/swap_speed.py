"""`CounterfactualSwap` as `datasets.map` calls it, against a plain dictionary swap that gets pronouns wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.runner import FOLDER, Benchmark, SkipSubject

DATA = FOLDER.parent.parent / "shared" / "data" / "gfst"
BATCH_SIZE = 1000  # of datasets.map


def setup(quick: bool) -> dict[str, Any]:
    """The English news sentences, the map function, and the dictionary: one counterpart per word, cased forms too."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    from benchmarks.swap_quality import pairs_of_words
    from hf_fairness.augment import CounterfactualSwap

    texts = [text for path in sorted(DATA.glob("*.en")) for text in path.read_text(encoding="utf-8").splitlines()]
    words = pairs_of_words()
    cased = {form(word): form(other) for form in (str, str.capitalize) for word, other in words.items()}
    return {"texts": texts[:: 20 if quick else 1], "words": words, "cased": cased, "swap": CounterfactualSwap("text")}


def mapped(state: dict[str, Any], function: Callable[[dict[str, list[str]]], Any]) -> Iterator[Any]:
    """What a function of a batch makes of the texts, batch by batch."""
    texts = state["texts"]
    for start in range(0, len(texts), BATCH_SIZE):
        yield function({"text": texts[start : start + BATCH_SIZE]})


def subject(state: dict[str, Any]) -> float:
    """The map function on every batch: pronouns by case, names left alone, edits recorded."""
    for _ in mapped(state, state["swap"]):
        pass
    return float(len(state["texts"]))


def peer(state: dict[str, Any]) -> float:
    """The same batches through the dictionary, a capital kept: no signs, no case of pronouns, no record."""
    swap = state["words"].get

    def swapped(text: str) -> str:
        words = []
        for word in text.split():
            other = swap(word.lower())
            words.append(word if other is None else other.capitalize() if word[0].isupper() else other)
        return " ".join(words)

    for _ in mapped(state, lambda batch: {"swapped": [swapped(text) for text in batch["text"]]}):
        pass
    return float(len(state["texts"]))


def floor(state: dict[str, Any]) -> float:
    """The same with capitalised words as entries of their own: one look-up per word and nothing else."""
    swap = state["cased"].get

    def function(batch: dict[str, list[str]]) -> dict[str, list[str]]:
        return {"swapped": [" ".join(swap(word, word) for word in text.split()) for text in batch["text"]]}

    for _ in mapped(state, function):
        pass
    return float(len(state["texts"]))


BENCHMARK = Benchmark(
    name="swap_speed",
    compares="CounterfactualSwap on batches of 1,000 against a str.split dictionary swap (116,000 news sentences)",
    bar=0.167,  # six times as long as the dictionary
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=15,
)
