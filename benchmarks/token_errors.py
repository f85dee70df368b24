"""Token errors of a rewritten text beside a right one; a token is a word or a sign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hf_fairness.scores.statistics import bootstrap_means, percentile_interval

_TOKEN = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")


def tokens(text: str) -> list[str]:
    """Words and signs."""
    return _TOKEN.findall(text)


def edit_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Least number of insertions, deletions and replacements between two sequences."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


def nearest_errors(text: str, accepted: Sequence[str]) -> tuple[int, int, int]:
    """Errors beside the text that is nearest among those that are right.

    Returns:
        Edit distance in tokens, the least one without regard to case, and the tokens of the nearest text.
    """
    got, golds = tokens(text), [tokens(each) for each in accepted]
    lower = [token.lower() for token in got]
    uncased = min(edit_distance(lower, [token.lower() for token in gold]) for gold in golds)
    errors, size = min((edit_distance(got, gold), len(gold)) for gold in golds)
    return errors, uncased, size


def token_error_rates(table: np.ndarray) -> dict[str, Any]:
    """Rates over texts.

    Args:
        table: shape (texts, 3): what `nearest_errors` gives of each text.

    Returns:
        ``token_error_rate``: errors over tokens, 0 is ideal, with ``token_error_rate_ci95`` over texts; the same
        without regard to case as ``token_error_rate_uncased``; ``exact``: share of texts without an error.
    """
    means = bootstrap_means(table)
    return {
        "token_error_rate": float(table[:, 0].sum() / table[:, 2].sum()),
        "token_error_rate_ci95": percentile_interval(means[:, 0] / means[:, 2]),
        "token_error_rate_uncased": float(table[:, 1].sum() / table[:, 2].sum()),
        "exact": float((table[:, 0] == 0).mean()),
    }
