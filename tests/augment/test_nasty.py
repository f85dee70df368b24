"""Nasty sentences of users, with what is right: wrong swaps are known, and few of them are trusted."""

from __future__ import annotations

from benchmarks.exams.texts import nasty
from hf_fairness.augment import CounterfactualSwap, SwapQuality

#: Sentences whose swaps are wrong, as far as is known.
KNOWN_WRONG = 23


def test_nasty_sentences():
    asked = nasty()
    assert len(asked) == len({each.text for each in asked}) == 180
    batch = {"t": [each.text for each in asked]}
    swapped = CounterfactualSwap("t")(batch)
    confidence = SwapQuality("t")({**batch, **swapped})["confidence"]
    wrong = [new not in each.accepted for each, new in zip(asked, swapped["t_counterfactual"], strict=True)]
    assert sum(wrong) <= KNOWN_WRONG, [each.text for each, bad in zip(asked, wrong, strict=True) if bad]
    surest = sorted(confidence)[-len(confidence) // 4]
    trusted = [each.text for each, bad, p in zip(asked, wrong, confidence, strict=True) if bad and p > surest]
    assert not trusted
