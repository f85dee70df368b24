"""SEAT of a model: stimuli to embeddings to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hf_fairness.encoders import BaseEncoder, Vectors, as_encoder, as_reference
from hf_fairness.measure.encoder.seat_tests import resolve_tests
from hf_fairness.measure.encoder.stimuli import AssociationTest
from hf_fairness.scores.meta import describe
from hf_fairness.scores.seat import (
    CONVENTION,
    associations,
    change_interval,
    effect,
    mean_absolute,
    seat_test,
)
from hf_fairness.scores.seat_suite import adjust, change_p_value, word_shares
from hf_fairness.scores.statistics import N_BOOTSTRAP, N_SAMPLES, Floats

#: Associations of the texts of X and of Y, each of shape (n,).
Sides: TypeAlias = tuple[Floats, Floats]

IDEAL = "bias tests: effect_size 0; retention tests: high and positive"
DIRECTION = "bias tests: further from 0 is worse; retention tests: lower is worse"


def texts_of(tests: Sequence[AssociationTest]) -> list[str]:
    """The distinct texts of some tests, in order of first appearance."""
    return list(dict.fromkeys(text for test in tests for part in test.sets for text in part.texts))


@dataclass(frozen=True)
class Embedded:
    """Vectors of the texts of some tests.

    Attributes:
        texts: the texts, each once.
        vectors: one row per text.
    """

    texts: tuple[str, ...]
    vectors: Vectors | Floats

    @classmethod
    def by(cls, encoder: BaseEncoder, tests: Sequence[AssociationTest]) -> Embedded:
        """Embed each distinct text once, however many tests use it."""
        texts = texts_of(tests)
        return cls(tuple(texts), encoder.encode(texts))

    @cached_property
    def _row(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.texts)}

    def sets(self, test: AssociationTest) -> list[Vectors | Floats]:
        """Vectors of X, Y, A and B."""
        return [self.vectors[[self._row[text] for text in part.texts]] for part in test.sets]

    def associations(self, test: AssociationTest) -> tuple[Floats, Floats]:
        """Associations of the texts of X and of Y."""
        x, y, a, b = self.sets(test)
        return associations(x, a, b), associations(y, a, b)


def words_of(test: AssociationTest) -> dict[str, Any]:
    """The words of the target texts, as the scores take them."""
    return {"x_words": test.targ1.words, "y_words": test.targ2.words}


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
    formulas; quote ``p_value_clustered``, and of several tests its adjusted form. A single-seed change of mean |d|
    below about .15 is noise: two seeds of one training run differ by as much.

    Args:
        model: whatever ``as_encoder`` takes: a Hub id, a folder, a SentenceTransformer, word vectors, ...
        tests: names ("6", "weat6"), definitions as data, a JSON or YAML file of them, or None for the six gender
            tests and the retention tests 1 and 2; see ``measure.encoder.seat_tests``.
        reference: another model, for instance the one before mitigation; adds paired changes.
        n_samples: most partitions looked at by a permutation test.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of all draws.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, normalize, max_length, and tokenizer, which
            is that of ``model``: the reference has its own.

    Returns:
        ``tests``: per test ``effect_size``, ``effect_size_ci95``, ``p_value``, ``p_value_clustered``,
        ``minimal_detectable_effect_size``, ``numerator``, ``n_words``, ``n_sentences`` (of both target sets),
        ``method``, ``method_clustered``, ``purpose``; bias tests also ``p_value_clustered_holm`` and
        ``p_value_clustered_bh``, adjusted over the bias tests asked for. ``mean_abs_effect_size`` and its
        ``_ci95``: over these (ideal 0; None without any).
        With ``reference``, ``effect_size_change`` and ``mean_abs_effect_size_change`` (model minus
        reference), each with a paired ``_ci95`` and ``_p_value`` (two-sided, words swapped between the models).
        ``retention``: those of ``tests`` in which a high positive d is good. ``meta``.

    Raises:
        ValueError: unknown test, malformed definition, a text without a vector.
        TypeError: a model that is no encoder.

    Source:
        May et al. 2019; Caliskan et al. 2017.
    """
    asked = resolve_tests(tests)
    encoder = as_encoder(model, **encoder_options)
    after = Embedded.by(encoder, asked)
    before = None if reference is None else Embedded.by(as_reference(reference, **encoder_options), asked)
    options: dict[str, Any] = {"n_samples": n_samples, "n_bootstrap": n_bootstrap, "seed": seed}
    results, summary = run_tests(asked, after, **options)
    if before is not None:
        sides = [{test.name: side.associations(test) for test in asked} for side in (after, before)]
        by_test, mean = seat_changes(asked, *sides, **options)
        summary |= mean
        for name, change in by_test.items():
            results[name] |= change
    return {
        "tests": results,
        **summary,
        "retention": {name: result for name, result in results.items() if result["purpose"] == "retention"},
        "meta": describe(
            n=len(after.texts),
            convention=CONVENTION,
            ideal=IDEAL,
            direction=DIRECTION,
            seed=seed,
            model=encoder.label,
            dimension=int(np.shape(after.vectors)[1]),
            n_samples=n_samples,
            n_bootstrap=n_bootstrap,
        ),
    }


def run_tests(
    tests: Sequence[AssociationTest], embedded: Embedded, *, n_samples: int, n_bootstrap: int, seed: int
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Results by test, and mean |d| over the bias tests."""
    draws: dict[str, Any] = {"n_bootstrap": n_bootstrap, "seed": seed}
    results, effects = {}, {}
    for test in tests:
        x, y, a, b = embedded.sets(test)
        result = seat_test(x, y, a, b, **words_of(test), **draws, n_samples=n_samples)
        results[test.name] = result | {"purpose": test.purpose, "about": test.about}
        s_x, s_y = embedded.associations(test)
        effects[test.name] = effect(s_x, s_y, **words_of(test))
    bias = [test.name for test in tests if test.purpose == "bias"]
    adjust([results[name] for name in bias])
    return results, mean_absolute([effects[name] for name in bias], **draws)


def seat_changes(
    tests: Sequence[AssociationTest],
    after: Mapping[str, Sides],
    before: Mapping[str, Sides],
    *,
    n_samples: int = N_SAMPLES,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """What changed in some tests from one encoder to another, test by test and in the mean over the bias tests.

    Args:
        tests: the tests.
        after: by name of the test the associations of its target texts, see :meth:`Embedded.associations`.
        before: the same under the other encoder.
        n_samples: most swaps of words looked at.
        n_bootstrap: 0: no intervals.
        seed: of the swaps.

    Returns:
        By name ``effect_size_change`` with its ``_ci95`` and ``_p_value``; and the same of ``mean_abs_effect_size``,
        empty without bias tests.
    """
    now, then, shares, results = {}, {}, {}, {}
    for test in tests:
        name, words = test.name, words_of(test)
        now[name], then[name] = (effect(*side[name], **words) for side in (after, before))
        shares[name] = word_shares(*after[name], **words), word_shares(*before[name], **words)
        results[name] = _change(
            "effect_size",
            now[name].value - then[name].value,
            change_interval([now[name]], [then[name]], absolute=False) if n_bootstrap > 0 else None,
            change_p_value([shares[name][0]], [shares[name][1]], absolute=False, n_samples=n_samples, seed=seed),
        )
    bias = [test.name for test in tests if test.purpose == "bias"]
    if not bias:
        return results, {}
    sides = [now[name] for name in bias], [then[name] for name in bias]
    after_mean, before_mean = (float(np.mean([abs(found.value) for found in side])) for side in sides)
    swapped = [shares[name][0] for name in bias], [shares[name][1] for name in bias]
    return results, _change(
        "mean_abs_effect_size",
        after_mean - before_mean,
        change_interval(*sides, absolute=True) if n_bootstrap > 0 else None,
        change_p_value(*swapped, n_samples=n_samples, seed=seed),
    )


def _change(key: str, value: float, interval: list[float] | None, p_value: float) -> dict[str, Any]:
    """A change with its paired interval (None where a test has none) and its p-value."""
    return {f"{key}_change": value, f"{key}_change_ci95": interval, f"{key}_change_p_value": p_value}
