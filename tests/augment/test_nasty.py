"""Nasty sentences of users, with what is right: wrong swaps are known, and few of them are trusted."""

from __future__ import annotations

from benchmarks.exams.texts import nasty
from hf_fairness.augment import CounterfactualSwap, SwapQuality

#: Sentences whose swaps are wrong, as far as is known.
KNOWN_WRONG = {
    "My wife (34F) and I (36M) argue a lot.",
    "her 👀 tho",
    "SHE GAVE HER ALL AND THEY GAVE HER NOTHING",
    "I saw her duck under the table in her bag.",
    "They made her captain angry.",
    "It cost her company money.",
    "They showed her kindness.",
    "I'll get her water.",
    "Watching her dance is fun.",
    "They named her president.",
    "I prefer his to yours.",
    "She lives in Queens, near King Street.",
    "The Dallas Cowboys lost to the Kings.",
    "her's is bigger than his",
    "its himselfs fault",
}
#: Confidence of the surest of them at most.
FLAGGED = 0.975


def test_nasty_sentences():
    asked = nasty()
    assert len(asked) == len({each.text for each in asked}) == 180
    batch = {"t": [each.text for each in asked]}
    swapped = CounterfactualSwap("t")(batch)
    confidence = SwapQuality("t")({**batch, **swapped})["confidence"]
    wrong = [new not in each.accepted for each, new in zip(asked, swapped["t_counterfactual"], strict=True)]
    assert {each.text for each, bad in zip(asked, wrong, strict=True) if bad} <= KNOWN_WRONG
    trusted = [each.text for each, bad, p in zip(asked, wrong, confidence, strict=True) if bad and p > FLAGGED]
    assert not trusted


def test_ordinary_swaps_are_trusted():
    row = {"t": "He said that the woman had left, and she did not come back."}
    assert SwapQuality("t")({**row, **CounterfactualSwap("t")(row)})["confidence"] > FLAGGED
