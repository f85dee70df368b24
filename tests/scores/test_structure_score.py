"""Rank correlations of similarities: on paper and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from hf_fairness.scores import structure
from hf_fairness.scores.probe import probe_accuracy


def test_spearman_on_paper():
    # d = 0 1 -1 0: 1 - 6 * 2 / (4 * 15)
    assert structure.spearman_draws([10, 20, 30, 40], [1, 3, 2, 4])[0] == pytest.approx(0.8)


def test_spearman_and_its_resamples_equal_scipy_with_ties():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, 60)
    y = x + rng.integers(0, 5, 60)
    value, draws = structure.spearman_draws(x, y, n_bootstrap=20, seed=4)
    assert value == pytest.approx(spearmanr(x, y)[0], abs=1e-12)
    rows = np.random.default_rng(4).integers(0, 60, size=(20, 60))
    assert draws == pytest.approx([spearmanr(x[row], y[row])[0] for row in rows], abs=1e-12)


def test_structure_is_one_for_a_rotation_and_falls_with_noise():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 300, 8))
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    same = structure.similarity_structure(left, right, left @ turn, 3 * right @ turn)
    assert same["similarity_structure"] == pytest.approx(1.0)
    noisy = structure.similarity_structure(left, right, left + rng.normal(size=left.shape), right)
    low, high = noisy["similarity_structure_ci95"]
    assert low < noisy["similarity_structure"] < high < 0.95
    assert noisy["n"] == 300


def test_sts_change_is_paired():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 200, 6))
    gold = np.einsum("ij,ij->i", left, right) + rng.normal(size=200)
    result = structure.sts(left, right, gold, reference=(left, right))
    assert result["sts_spearman_change"] == 0.0
    assert result["sts_spearman_change_ci95"] == [0.0, 0.0]
    worse = structure.sts(left + rng.normal(size=left.shape), right, gold, reference=(left, right))
    assert worse["sts_spearman_change_ci95"][1] < 0


def test_probe_accuracy_on_paper():
    result = probe_accuracy([[1, 1], [1, 0], [0, 0], [1, 1]])
    assert (result["accuracy"], result["chance"], result["n"]) == (0.625, 0.5, 4)
    assert result["accuracy_ci95"][0] < 0.625 < result["accuracy_ci95"][1]
    with pytest.raises(ValueError, match="0 and 1"):
        probe_accuracy([[0.3, 1.0]])
