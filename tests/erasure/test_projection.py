"""Projections: theorems, the subspace against scikit-learn's, and what cannot be fitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from hf_fairness.erasure import Projection, RankError, sentence_debias


def planted(n=200, dim=16, seed=0, spread=0.05):
    """Versions of texts that differ along one direction, up to noise; and that direction."""
    random = np.random.default_rng(seed)
    direction = random.normal(size=dim)
    direction /= np.linalg.norm(direction)
    content, noise = random.normal(size=(n, dim)), lambda: spread * random.normal(size=(n, dim))
    return {"male": content + direction + noise(), "female": content - direction + noise()}, direction


def test_the_planted_direction_is_found_and_removed():
    groups, direction = planted()
    found = sentence_debias(groups)
    assert abs(found.directions[0] @ direction) > 0.999
    assert found.explained[0] > 0.9
    gap = (groups["male"] - groups["female"]) @ direction
    left = (found(groups["male"]) - found(groups["female"])) @ direction
    assert np.abs(gap).mean() > 1.9  # the harm is there before
    assert np.abs(left).mean() < 0.1


def test_the_subspace_is_that_of_the_principal_components_of_the_centred_versions():
    random = np.random.default_rng(1)
    groups = {name: random.normal(size=(40, 9)) for name in ("a", "b", "c")}
    centred = np.concatenate([rows - np.mean(list(groups.values()), axis=0) for rows in groups.values()])
    wanted = PCA(3, svd_solver="full").fit(centred)  # of mean 0 already
    found = sentence_debias(groups, k=3)
    ours, theirs = (each.T @ each for each in (found.directions, wanted.components_))
    assert np.allclose(ours, theirs, atol=1e-6)
    assert found.explained == pytest.approx(wanted.explained_variance_ratio_)


@given(st.integers(1, 5), st.integers(0, 3))
def test_a_projection_is_symmetric_and_equal_to_its_square(k, seed):
    for found in (Projection.random(k, 8, seed), sentence_debias(planted(30, 8, seed, spread=0.5)[0], k=k)):
        matrix = found.matrix
        assert np.allclose(matrix, matrix.T)
        assert np.allclose(matrix @ matrix, matrix, atol=1e-5)
        assert np.trace(matrix) == pytest.approx(8 - k, abs=1e-4)
        vectors = np.random.default_rng(seed).normal(size=(5, 8))
        assert np.allclose(found(vectors), vectors @ matrix, atol=1e-5)
        assert np.allclose(found(vectors) @ found.directions.T, 0, atol=1e-5)


SAME = np.ones((5, 4))


@pytest.mark.parametrize(
    ("groups", "k", "message"),
    [
        ({"male": SAME}, 1, "expected two or more groups"),
        ({"male": SAME, "female": SAME[:3]}, 1, r"shapes .* expected two or more groups of the same shape"),
        ({"male": SAME, "female": SAME}, 1, "expected 1 to 0: the versions of the texts differ in 0 directions"),
        (planted(10, 4, spread=0.0)[0], 2, "k .* is 2, expected 1 to 1"),
        (planted(10, 4)[0], 0, "k .* is 0, expected 1 to"),
        (
            {"male": SAME * 0, "female": SAME * 0},
            1,
            "expected 1 to 0: the versions of the texts differ in 0 directions",
        ),
        ({"male": SAME * np.nan, "female": SAME}, 1, "NaN or infinite"),
    ],
)
def test_what_cannot_be_fitted_is_an_error(groups, k, message):
    with pytest.raises(ValueError, match=message):
        sentence_debias(groups, k=k)


@pytest.mark.parametrize("k", [0, 9])
def test_random_directions_are_not_more_than_there_are(k):
    with pytest.raises(RankError, match=f"is {k}, expected 1 to 8"):
        Projection.random(k, 8)


def test_vectors_of_another_width_are_an_error():
    with pytest.raises(ValueError, match=r"shape \(2, 5\), expected 8 numbers each"):
        Projection.random(1, 8)(np.ones((2, 5)))
