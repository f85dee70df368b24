"""Small corpora for the tests of `hf-fairness augment`, and a reader of its card."""

from __future__ import annotations

import re

ROWS = [
    {"text": "She met her brother.", "label": 1},
    {"text": "Rain.", "label": 0},
    {"text": "He is a waiter.", "label": 1},
    {"text": "She is pregnant.", "label": 0},
    {"text": "Der Mann und die Frau sind nicht zu Hause.", "label": 0},
    {"text": "The queen | left.", "label": 1},
]
PAIRS = [
    {"premise": "A man eats.", "hypothesis": "He eats rice.", "label": "neutral"},
    {"premise": "A dog runs.", "hypothesis": "An animal runs.", "label": "entailment"},
    {"premise": "A girl sits.", "hypothesis": "A girl stands.", "label": "contradiction"},
]


def number(card: str, label: str) -> str:
    """The value beside a label in a table of the card."""
    found = re.search(rf"^\| {re.escape(label)} \| (.*?) \|$", card, re.MULTILINE)
    assert found, f"{label!r} is not in\n{card}"
    return found[1]
