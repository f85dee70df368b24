"""The fit behind a distilled bias score, on worlds whose words add what is known."""

from __future__ import annotations

import numpy as np
import pytest

from hf_fairness.scores.bias_table import TOP, Columns, Words, fidelity, fit_columns, mixed

#: Words that a text may hold, and in all: each adds a number of its own, which is the first of its vector's.
MET, ALL = 60, 80
TRUE = np.random.default_rng(9).uniform(-0.5, 0.5, ALL)
EXCLUDED = np.arange(ALL) == 2
TRUE[EXCLUDED] = 0.0
VECTORS = np.stack([TRUE, np.random.default_rng(8).normal(size=ALL)], axis=1)


def _world(n: int, growth: float, seed: int = 0) -> Words:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, n)
    number = rng.integers(0, MET, sizes.sum())
    text = np.repeat(np.arange(n), sizes)
    weighted = TRUE[number] * sizes[text] ** (growth - 1.0)
    sums = [np.bincount(text, part, n) for part in (weighted.clip(min=0.0), weighted.clip(max=0.0))]
    return Words(number, weighted, sizes, sums[0] + sums[1], sums[0] - sums[1])


@pytest.mark.parametrize("growth", [0.0, 0.5])
def test_a_world_of_words_is_found_again(growth):
    columns = mixed(fit_columns(_world(1500, growth), VECTORS, EXCLUDED), _world(100, growth, seed=2))
    assert columns.load.shape == columns.lean.shape == (ALL + 2,)
    assert columns.growth == pytest.approx(growth, abs=0.1)
    assert (columns.load >= 0.0).all()
    assert np.corrcoef(columns.load[:MET], np.abs(TRUE[:MET]))[0, 1] > 0.98
    assert np.corrcoef(columns.lean[:MET], TRUE[:MET])[0, 1] > 0.98
    other = _world(200, growth, seed=1)
    up, down = columns.scores(other.number, other.sizes)
    assert (up >= 0.0).all()
    assert (down <= 0.0).all()
    assert fidelity(other.absolute, up - down, n_bootstrap=20)["spearman"] > 0.97
    assert np.corrcoef(up + down, other.net)[0, 1] > 0.97


def test_a_word_that_no_text_holds_has_what_its_vector_tells():
    unmet = slice(MET, ALL)
    columns = fit_columns(_world(1500, 0.0), VECTORS, EXCLUDED)
    assert np.corrcoef(columns.lean[unmet], TRUE[unmet])[0, 1] > 0.9
    without = fit_columns(_world(1500, 0.0), np.zeros((ALL, 0)), EXCLUDED)
    assert np.ptp(without.lean[unmet]) == pytest.approx(0.0, abs=1e-9)
    assert np.corrcoef(without.lean[:MET], TRUE[:MET])[0, 1] > 0.95


def test_a_text_without_words_scores_zero():
    columns = Columns(np.ones(3), np.ones(3), 0.5, (0.5, 0.5))
    up, down = columns.scores(np.array([0, 0, 1, 1]), np.array([0, 4, 0]))
    assert (up.tolist(), down.tolist()) == ([0.0, 2.0, 0.0], [0.0, 0.0, 0.0])


def test_fidelity_by_hand():
    exact = np.arange(100.0)
    same = fidelity(exact, exact**3, n_bootstrap=50)
    assert (same["spearman"], same["top_found"], same["n"], same["top"]) == (pytest.approx(1.0), 1.0, 100, TOP)
    assert same["top_found_ci95"] == [1.0, 1.0]
    other = exact.copy()
    other[[99, 98]] = -1.0  # two of the five highest are lost
    half = fidelity(exact, other, n_bootstrap=200)
    assert half["top_found"] == 0.6
    assert half["top_found_ci95"][0] < 0.6 < half["top_found_ci95"][1]
    assert fidelity(exact, -exact, n_bootstrap=10)["top_found"] == 0.0
    with pytest.raises(ValueError, match="top must lie between 0 and 1; got 5"):
        fidelity(exact, exact, top=5, n_bootstrap=10)
