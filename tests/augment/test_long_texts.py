"""Time grows with the length of a text, not with its square, whatever the text repeats."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable

import numpy as np
import pytest

from hf_fairness.augment import CounterfactualSwap, group_variants, neutralize, swap
from hf_fairness.augment.prose import blanked, no_prose
from hf_fairness.generation.parse import parse_answer
from hf_fairness.report.merge import update_card

pytestmark = pytest.mark.whole

UNITS = [
    "he ",
    "he or she ",
    "men and women ",
    "King ",
    "a king ",
    "Mrs Mary ",
    "she's ",
    "was he ",
    "his/her ",
    "pregnant he ",
    'she said "he" ',
    "https://she.org/he ",
    "she@he.com ",
    "Told Her Smith ",
    "über she ",
    "Man Bites Dog | ",
    "She Met Her: he\n",
    "<b>he</b> `she ",
]
#: What opens something and never closes it, or might be one long name.
SIGNS = ["<a b='", '<a b="', "<script>", "<!--", "`", "``a", "```", "```\n", "{{", '{"', "[[", "](", "a.", "a/", "a\\"]
SIGNS += [
    "a@",
    "@a.",
    "#a-",
    "a:",
    "&a",
    "?a=",
    "\\cite[",
    '\n  "a',
    "> ",
    "ab.com/",
    "~~~\n",
    "<a b ",
    ":a",
    "_a",
    "*",
]
REWRITES: dict[str, Callable[[str], object]] = {
    "swap": swap,
    "neutralize": neutralize,
    "variants": group_variants,
    "judged": lambda text: CounterfactualSwap("t", quality=True, keep_rejected=True)({"t": [text]}),
}
CARDS = ["<!-- hf-fairness:begin -->\n", "<!--\n", "<!--\n# Bias, Risks and Limitations\n", "```\n\n````", "````x\n"]


def exponent(function: Callable[[str], object], unit: str, least: int = 10_000) -> float:
    """Slope of the logarithm of the processor's time over that of the length; the best of three."""
    sizes = [least * 2**step for step in range(4)]
    texts = [(unit * (size // len(unit) + 1))[:size] for size in sizes]
    function(texts[0])
    taken = np.full((3, len(sizes)), np.inf)
    gc.disable()  # its share depends on what else is alive
    try:
        for row, (place, text) in itertools.product(range(3), enumerate(texts)):  # in turns: a busy spell hits all
            start = time.process_time()
            function(text)
            taken[row, place] = time.process_time() - start
    finally:
        gc.enable()
    times = np.maximum(taken.min(axis=0), 1e-3)  # what is faster than this is the clock's
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


@pytest.mark.parametrize(
    "name", ["swap", *(pytest.param(name, marks=pytest.mark.whole) for name in REWRITES if name != "swap")]
)
def test_rewrites_are_linear(name):
    above = set(UNITS)
    for _ in range(4):  # a shared machine adds to some of the times; a square stays one however often it is measured
        above = {unit for unit in above if exponent(REWRITES[name], unit) > 1.2}
    assert above == set()


def test_what_is_no_prose_is_found_in_linear_time():
    above = set(SIGNS)
    for _ in range(4):
        above = {unit for unit in above if exponent(lambda text: (no_prose(text), blanked(text)), unit) > 1.2}
    assert above == set()


@pytest.mark.parametrize("unit", CARDS)
def test_cards_and_answers_are_linear(unit):
    assert exponent(lambda text: update_card(text, "## New\n"), unit, 50_000) < 1.2
    assert exponent(lambda text: update_card(f"# Bias, risks and limitations{text}x", "## New\n"), " ", 50_000) < 1.2
    assert exponent(lambda text: parse_answer(text, 1, ["a"]), '\n{"a": 1, ', 50_000) < 1.2
