"""BLEU and chrF of translations, with intervals that resample the same rows as the other scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from hf_fairness.record import Declared
from hf_fairness.scores.rates import interval, resampled_sums
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats
from hf_fairness.utils import require

MEASURES = {
    "bleu": Declared("translation quality (BLEU)", "utility", 1.0, "higher"),
    "chrf": Declared("translation quality (chrF)", "utility", 1.0, "higher"),
}


def translation_quality(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    compare_to: Sequence[str] | None = None,
    clusters: Sequence[Hashable] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Corpus BLEU and chrF by sacrebleu's defaults, as fractions.

    Args:
        translations: one per row, not tokenised.
        references: one reference translation per row.
        compare_to: another system's translations of the same rows.
        clusters: a label per row; rows of one label are resampled together.
        n_bootstrap: resamples of rows behind the intervals; 0: none.
        seed: of the resamples.

    Returns:
        ``bleu``, ``chrf`` in [0, 1] (higher is better) with ``_ci95``; ``signatures`` of both. With ``compare_to`` also
        ``comparison``: per score ``a``, ``b``, ``difference``, ``difference_ci95`` over the same resamples.

    Raises:
        ImportError: sacrebleu is not installed.
        ValueError: no rows, or not one reference per row.
    """
    sacrebleu = require("sacrebleu")
    if not len(translations) or len(translations) != len(references):
        raise ValueError(
            f"Expected one reference translation per row; got {len(references)} for {len(translations)} translations."
        )
    if compare_to is not None and len(compare_to) != len(translations):
        raise ValueError(f"compare_to must hold the same rows; got {len(compare_to)} of {len(translations)}.")
    found: dict[str, Any] = {"signatures": {}}
    comparison = {}
    for name, metric in {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF()}.items():
        sides = [_counts(metric, texts, references) for texts in (translations, compare_to) if texts is not None]
        sums = resampled_sums(np.hstack(sides), clusters=clusters, n_bootstrap=n_bootstrap, seed=seed)
        width = sides[0].shape[1]
        draws = [_scores(metric, sums[:, start : start + width]) for start in range(0, sums.shape[1], width)]
        values = [float(_scores(metric, side.sum(axis=0, keepdims=True))[0]) for side in sides]
        found |= {name: values[0], f"{name}_ci95": interval(draws[0])}
        found["signatures"][name] = str(metric.get_signature())
        if compare_to is not None:
            comparison[name] = {
                "a": values[0],
                "b": values[1],
                "difference": values[0] - values[1],
                "difference_ci95": interval(draws[0] - draws[1]),
            }
    return found if compare_to is None else {**found, "comparison": comparison}


def _counts(metric: Any, texts: Sequence[str], references: Sequence[str]) -> Floats:
    """What the metric counts in each row; the corpus score is a function of the sums."""
    return np.array(metric._extract_corpus_statistics(list(texts), [list(references)]), dtype=np.float64)


def _scores(metric: Any, sums: Floats) -> Floats:
    """The corpus score, as a fraction, of each row of sums."""
    return np.array([metric._compute_score_from_stats(row.tolist()).score / 100.0 for row in sums])
