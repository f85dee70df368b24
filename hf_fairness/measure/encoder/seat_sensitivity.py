"""How much SEAT depends on how token vectors become a sentence vector: pooling and normalisation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hf_fairness.encoders import TransformersEncoder, Vectors, as_encoder, token_encoder
from hf_fairness.measure.encoder.seat import DIRECTION, IDEAL, Embedded, texts_of, words_of
from hf_fairness.measure.encoder.seat_tests import resolve_tests
from hf_fairness.measure.encoder.stimuli import AssociationTest
from hf_fairness.scores.meta import describe
from hf_fairness.scores.seat import Effect, effect, mean_absolute
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats

POOLINGS = ("mean", "cls", "max")
CONVENTION = (
    "effect sizes as in seat, one per pooling and normalisation, of the last hidden states of one model; unit: vectors "
    "of length 1, which changes no cosine; center: less the mean vector of all texts asked for; standardize: each "
    "dimension also divided by its standard deviation over these texts"
)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0.0, lengths, 1.0), dtype=np.float64)


def _center(vectors: Floats) -> Floats:
    return np.asarray(vectors - vectors.mean(axis=0), dtype=np.float64)


def _standardize(vectors: Floats) -> Floats:
    spread = vectors.std(axis=0)
    return np.asarray(_center(vectors) / np.where(spread > 0.0, spread, 1.0), dtype=np.float64)


#: What is done to the vectors of all texts before cosines are taken.
NORMALIZATIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda vectors: vectors,
    "unit": _unit,
    "center": _center,
    "standardize": _standardize,
}


def seat_sensitivity(
    model: Any,
    tests: Any = None,
    *,
    poolings: Sequence[str] = POOLINGS,
    normalize: Sequence[str] = ("none", "center", "standardize"),
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """SEAT of one model under several poolings and normalisations: one d for each.

    The texts go through the model once. A finding that flips with the pooling is one about the pooling. The pooling
    that the model was trained with is the one in use; the others are there to compare.

    Args:
        model: a transformers model, or a SentenceTransformer that is Transformer and Pooling; id, folder or object.
        tests: as in ``measure.seat``.
        poolings: of "mean", "cls", "max".
        normalize: of "none", "unit", "center", "standardize"; cosines make "unit" equal to "none".
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of all draws.
        **encoder_options: for ``as_encoder``, without ``pooling`` and ``normalize``.

    Returns:
        ``rows``: dicts with ``test``, ``purpose``, ``pooling``, ``normalize``, ``effect_size``,
        ``effect_size_ci95``, ``numerator``, ready for ``pandas.DataFrame``. ``mean_abs_effect_size``: rows with
        ``pooling``, ``normalize``, ``mean_abs_effect_size`` and its ``_ci95`` over the bias tests. ``spread``: per
        test the min, max and range of d over all rows. ``pooling_in_use``: that of the model as it was given. ``meta``.

    Raises:
        ValueError: as ``measure.seat``; an unknown pooling or normalisation, a model without token vectors.
        TypeError: a model that is no encoder.
    """
    for name, asked, known in (("poolings", poolings, POOLINGS), ("normalize", normalize, tuple(NORMALIZATIONS))):
        if isinstance(asked, str) or not asked or set(asked) - set(known):
            raise ValueError(f"{name} must be a list of some of {', '.join(known)}; got {asked!r}.")
    chosen = resolve_tests(tests)
    encoder = token_encoder(as_encoder(model, **encoder_options))
    texts = texts_of(chosen)
    pooled = _pool_all(encoder, texts, poolings)
    draws: dict[str, Any] = {"n_bootstrap": n_bootstrap, "seed": seed}
    rows: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for pooling in poolings:
        for kind in normalize:
            embedded = Embedded(tuple(texts), NORMALIZATIONS[kind](pooled[pooling].astype(np.float64)))
            made, mean = _cell(chosen, embedded, {"pooling": pooling, "normalize": kind}, draws)
            rows += made
            means += mean
    return {
        "rows": rows,
        "mean_abs_effect_size": means,
        "spread": {test.name: _spread([row for row in rows if row["test"] == test.name]) for test in chosen},
        "pooling_in_use": encoder.pooling,
        "meta": describe(
            n=len(texts),
            convention=CONVENTION,
            ideal=IDEAL,
            direction=DIRECTION,
            seed=seed,
            model=encoder.label,
            n_bootstrap=n_bootstrap,
        ),
    }


def _cell(
    tests: Sequence[AssociationTest], embedded: Embedded, cell: dict[str, Any], draws: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of one pooling and normalisation, and the row of their mean (none without a bias test)."""
    rows: list[dict[str, Any]] = []
    effects: list[Effect] = []
    for test in tests:
        s_x, s_y = embedded.associations(test)
        found = effect(s_x, s_y, **words_of(test))
        rows.append(
            {
                "test": test.name,
                "purpose": test.purpose,
                **cell,
                "effect_size": found.value,
                "effect_size_ci95": found.interval if draws["n_bootstrap"] else None,
                "numerator": float(s_x.mean() - s_y.mean()),
            }
        )
        if test.purpose == "bias":
            effects.append(found)
    bias = [row for row in rows if row["purpose"] == "bias"]
    return rows, [cell | mean_absolute(effects, **draws)] if bias else []


def _pool_all(encoder: TransformersEncoder, texts: Sequence[str], poolings: Sequence[str]) -> dict[str, Vectors]:
    """Sentence vectors under each pooling, from one pass over the texts; not normalised."""
    views = {pooling: copy.copy(encoder) for pooling in poolings}
    for pooling, view in views.items():
        view.pooling, view.normalize = pooling, False
    found: dict[str, Vectors] = {}
    for places, hidden, mask, _ in encoder.hidden_batches(list(texts)):
        for pooling, view in views.items():
            vectors = view._pool(hidden, mask).cpu().numpy()
            found.setdefault(pooling, np.empty((len(texts), vectors.shape[1]), dtype=np.float32))[places] = vectors
    return found


def _spread(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    values = [row["effect_size"] for row in rows]
    return {"min": min(values), "max": max(values), "range": max(values) - min(values)}
