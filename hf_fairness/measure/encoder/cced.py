"""CCED of a model on variants of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_fairness.encoders import as_encoder
from hf_fairness.measure.variants import read_variants
from hf_fairness.scores.cced import cced as score
from hf_fairness.scores.cced import cced_change as change
from hf_fairness.scores.statistics import N_BOOTSTRAP


def cced(
    model: Any,
    variants: Any,
    *,
    groups: Sequence[str] | None = None,
    neutral: str = "neutral",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """Content-conditional equal distance of a model on versions of the same texts.

    Args:
        model: whatever ``as_encoder`` takes.
        variants: output of ``GroupVariants``, or a mapping of group names and ``neutral`` to lists of texts.
            Rows without attribute terms are left out and counted; rows of one ``frame`` (a column of labels)
            count together.
        groups: the group columns; None means those that ``GroupVariants`` recorded, or those of an attribute.
        neutral: column of the neutral texts.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, normalize, ...

    Returns:
        What ``scores.cced.cced`` returns (``cced``, ``cced_signed``, ``cced_relative``, ``mean_distance``
        with ``_ci95``, ``n``, ``pairs``, ``distance``, ``meta``), and ``n_skipped``.

    Raises:
        TypeError: a model that is no encoder, or variants that are neither Dataset nor mapping.
        ValueError: a missing column, one group only, rows that do not match, or no row with attribute terms.

    Source:
        Deng et al. 2024.
    """
    texts = read_variants(variants, groups=groups, neutral=neutral)
    encoder = as_encoder(model, **encoder_options)
    vectors = texts.embed(encoder, neutral=neutral)
    result = score(vectors, neutral=neutral, clusters=texts.clusters, n_bootstrap=n_bootstrap, seed=seed)
    result["n_skipped"] = texts.n_skipped
    result["meta"]["model"] = encoder.label
    return result


def cced_change(
    before: Any,
    after: Any,
    variants: Any,
    *,
    groups: Sequence[str] | None = None,
    neutral: str = "neutral",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """How CCED changed from one model to another on the same texts, with paired intervals.

    Args:
        before: the model before; whatever ``as_encoder`` takes.
        after: the model after.
        variants: as in ``cced``.
        groups: as in ``cced``.
        neutral: as in ``cced``.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.
        **encoder_options: for ``as_encoder``, for both.

    Returns:
        What ``scores.cced.cced_change`` returns (``cced_change_share`` -0.6 is a fall by 60 %), and ``n_skipped``.

    Raises:
        TypeError: a model that is no encoder.
        ValueError: as ``cced``, or a CCED of 0 before.
    """
    texts = read_variants(variants, groups=groups, neutral=neutral)
    first, second = (texts.embed(as_encoder(model, **encoder_options), neutral=neutral) for model in (before, after))
    result = change(first, second, neutral=neutral, clusters=texts.clusters, n_bootstrap=n_bootstrap, seed=seed)
    return {**result, "n_skipped": texts.n_skipped}
