"""How much SEAT depends on its sentences: the same words in several sets of templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hf_fairness.encoders import as_encoder
from hf_fairness.measure.encoder.seat import DIRECTION, IDEAL, Embedded, run_tests, texts_of
from hf_fairness.measure.encoder.seat_tests import resolve_tests
from hf_fairness.measure.encoder.stimuli import AssociationTest, Templates, template_set, template_sets
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, N_SAMPLES

CONVENTION = (
    "effect sizes as in seat, one per template set, words and attributes the same; sd over template sets with ddof=1; "
    "intervals are over target words within a template set, so they do not hold the choice of templates"
)


def seat_templates(
    model: Any,
    tests: Any = None,
    *,
    templates: Sequence[str] | Mapping[str, str | Templates] | None = None,
    n_samples: int = N_SAMPLES,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """SEAT with several sets of sentences around the same words: each d, and the spread between them.

    A conclusion that holds in one template set only is one about these sentences, not about the words.

    Args:
        model: whatever ``as_encoder`` takes.
        tests: as in ``measure.seat``; sets that are given as ready sentences stay as they are, and at least one
            set of each test must be given as words.
        templates: names of template sets, or name to templates by kind of word (or to the name of a set of this
            package, see ``measure.encoder.stimuli.template_set``); None means all of ``template_sets()``.
        n_samples: most partitions looked at by a permutation test.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of all draws.
        **encoder_options: for ``as_encoder``.

    Returns:
        ``tests``: per test ``by_templates``, the result of ``measure.seat`` for each template set, and over the
        sets ``effect_size_mean``, ``effect_size_min``, ``effect_size_max``, ``effect_size_sd`` (0 would mean
        that templates do not matter). ``mean_abs_effect_size``: over the bias tests, per template set, with
        ``_ci95``; ``mean_abs_effect_size_min``, ``_max``, ``_sd``. ``meta``.

    Raises:
        ValueError: as ``measure.seat``; fewer than two template sets, a set without templates for a kind of word
            that is needed, a test whose sentences no template changes.
        TypeError: a model that is no encoder.
    """
    known = _template_sets(templates)
    suites = {name: resolve_tests(tests, templates=chosen) for name, chosen in known.items()}
    _check_that_sentences_differ(suites)
    encoder = as_encoder(model, **encoder_options)
    embedded = Embedded.by(encoder, [test for suite in suites.values() for test in suite])
    by_test: dict[str, dict[str, Any]] = {}
    means: dict[str, dict[str, Any]] = {}
    for name, suite in suites.items():
        results, mean = run_tests(suite, embedded, n_samples=n_samples, n_bootstrap=n_bootstrap, seed=seed)
        for test, result in results.items():
            by_test.setdefault(test, {"purpose": result["purpose"], "by_templates": {}})["by_templates"][name] = result
        if mean["mean_abs_effect_size"] is not None:
            means[name] = mean
    for entry in by_test.values():
        values = [result["effect_size"] for result in entry["by_templates"].values()]
        entry |= _spread("effect_size", values) | {"effect_size_mean": float(np.mean(values))}
    summary: dict[str, Any] = {"mean_abs_effect_size": means}
    if means:
        summary |= _spread("mean_abs_effect_size", [mean["mean_abs_effect_size"] for mean in means.values()])
    return {
        "tests": by_test,
        **summary,
        "meta": describe(
            n=len(embedded.texts),
            convention=CONVENTION,
            ideal=IDEAL,
            direction=DIRECTION,
            seed=seed,
            model=encoder.label,
            templates=list(known),
            n_samples=n_samples,
            n_bootstrap=n_bootstrap,
        ),
    }


def _template_sets(templates: Sequence[str] | Mapping[str, str | Templates] | None) -> dict[str, str | Templates]:
    """Template sets by name; those of this package stay names, so that "published" leaves out what the authors did."""
    if templates is None:
        templates = list(template_sets())
    elif isinstance(templates, str):
        templates = [templates]
    named: dict[str, str | Templates] = (
        dict(templates) if isinstance(templates, Mapping) else {name: name for name in templates}
    )
    if len(named) < 2:
        raise ValueError(
            f"A spread needs at least two template sets; got {', '.join(named) or 'none'}. For one set use "
            f"measure.encoder.seat. Known: {', '.join(template_sets())}."
        )
    for value in named.values():
        template_set(value)
    return named


def _check_that_sentences_differ(suites: Mapping[str, Sequence[AssociationTest]]) -> None:
    for versions in zip(*suites.values(), strict=True):
        if len({tuple(texts_of([test])) for test in versions}) == 1:
            raise ValueError(
                f"Test {versions[0].name!r} has the same texts in every template set. Give at least one of its sets as "
                'words, for example {"words": ["John", "Paul"], "kind": "name"}, and take a test of sentences.'
            )


def _spread(key: str, values: Sequence[float]) -> dict[str, float]:
    return {
        f"{key}_min": float(np.min(values)),
        f"{key}_max": float(np.max(values)),
        f"{key}_sd": float(np.std(values, ddof=1)),
    }
