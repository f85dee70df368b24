"""SEAT of a model: stimuli to embeddings to scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from hf_fairness.encoders import Vectors, as_encoder
from hf_fairness.measure.stimuli import resolve_tests
from hf_fairness.scores.meta import describe
from hf_fairness.scores.seat import (
    CONVENTION,
    associations,
    bootstrap_effect_sizes,
    effect_size,
    mean_absolute,
    mean_draws,
    seat_test,
)
from hf_fairness.scores.statistics import N_BOOTSTRAP, N_SAMPLES, Floats, percentile_interval


def seat(
    model: Any,
    tests: Any = None,
    *,
    reference: Any = None,
    n_samples: int = N_SAMPLES,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """Sentence Encoder Association Tests of a model.

    Each distinct sentence is embedded once, however many tests use it. See ``scores.seat.seat_test`` for the
    formulas; quote ``p_value_clustered``. A single-seed change of mean |d| below about .15 is noise: two
    seeds of one training run differ by as much.

    Args:
        model: whatever ``as_encoder`` takes: a Hub id, a folder, a SentenceTransformer, word vectors, ...
        tests: names ("6", "weat6"), definitions as data, or None for the six gender tests and the retention
            tests 1 and 2; see ``measure.stimuli``.
        reference: another model, for instance the one before mitigation; adds paired changes.
        n_samples: most partitions looked at by a permutation test.
        n_bootstrap: resamples behind the intervals.
        seed: of all draws.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, normalize, max_length, tokenizer,
            ...

    Returns:
        ``tests``: per test ``effect_size``, ``effect_size_ci95``, ``p_value``, ``p_value_clustered``,
        ``numerator``, ``n_words``, ``n_sentences`` (of both target sets), ``method``, ``method_clustered``,
        ``purpose``. ``mean_abs_effect_size`` and its ``_ci95``: over the bias tests asked for (ideal 0; None
        without any).
        With ``reference``, ``effect_size_change`` and ``mean_abs_effect_size_change`` (model minus
        reference), each with a paired ``_ci95``. ``retention``: those of ``tests`` in which a high positive d
        is good. ``meta``.

    Raises:
        ValueError: unknown test, malformed definition, a text without a vector.
        TypeError: a model that is no encoder.

    Source:
        May et al. 2019; Caliskan et al. 2017.
    """
    asked = resolve_tests(tests)
    encoder = as_encoder(model, **encoder_options)
    texts = list(dict.fromkeys(text for test in asked for part in test.sets for text in part.texts))
    row = {text: place for place, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    other = None if reference is None else as_encoder(reference, **encoder_options).encode(texts)
    results, draws, draws_before, effects_before = {}, [], [], []
    for test in asked:
        rows = [[row[text] for text in part.texts] for part in test.sets]
        words: dict[str, Any] = {"x_words": test.targ1.words, "y_words": test.targ2.words}
        resampling: dict[str, Any] = {**words, "n_bootstrap": n_bootstrap, "seed": seed}
        result = seat_test(*(vectors[part] for part in rows), **resampling, n_samples=n_samples)
        result["purpose"] = test.purpose
        drawn = _draw(vectors, rows, resampling)[1]
        if other is not None:
            effect, earlier = _draw(other, rows, resampling)
            result |= _change("effect_size", result["effect_size"] - effect, drawn, earlier)
        if test.purpose == "bias":
            draws.append(drawn)
            if other is not None:
                draws_before.append(earlier)
                effects_before.append(abs(effect))
        results[test.name] = result
    bias = [result for result in results.values() if result["purpose"] == "bias"]
    summary = mean_absolute(bias, draws)
    if effects_before:
        gap = summary["mean_abs_effect_size"] - float(np.mean(effects_before))
        summary |= _change("mean_abs_effect_size", gap, mean_draws(draws), mean_draws(draws_before))
    return {
        "tests": results,
        **summary,
        "retention": {name: result for name, result in results.items() if result["purpose"] == "retention"},
        "meta": describe(
            n=len(texts),
            convention=CONVENTION,
            ideal="bias tests: effect_size 0; retention tests: high and positive",
            direction="bias tests: further from 0 is worse; retention tests: lower is worse",
            seed=seed,
            model=encoder.label,
            dimension=int(np.shape(vectors)[1]),
            n_samples=n_samples,
            n_bootstrap=n_bootstrap,
        ),
    }


def _draw(vectors: Vectors, rows: list[list[int]], resampling: dict[str, Any]) -> tuple[float, Floats]:
    """The effect size of one test, and its values when words are resampled."""
    x, y, a, b = (vectors[part] for part in rows)
    s_x, s_y = associations(x, a, b), associations(y, a, b)
    return effect_size(s_x, s_y), bootstrap_effect_sizes(s_x, s_y, **resampling)


def _change(key: str, value: float, after: Floats, before: Floats) -> dict[str, Any]:
    """A change with its paired interval; None where nothing could be resampled."""
    return {
        f"{key}_change": value,
        f"{key}_change_ci95": percentile_interval(after - before) if len(after) else None,
    }
