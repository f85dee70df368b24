"""LEACE and INLP: what they promise, on labels that were planted; and what cannot be fitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from hf_fairness.erasure import Projection, inlp, leace


def planted(n=600, dim=12, n_labels=2, seed=0, shares=None):
    """Vectors in which the labels shift the mean along directions of their own, on correlated features."""
    random = np.random.default_rng(seed)
    labels = random.choice(n_labels, size=n, p=shares)
    shifts = random.normal(size=(n_labels, dim))
    return random.normal(size=(n, dim)) @ random.normal(size=(dim, dim)) + 2 * shifts[labels], labels


def probe(vectors, labels):
    """Accuracy of a linear probe on the rows that it saw."""
    return LogisticRegression(max_iter=5000, C=1e4).fit(vectors, labels).score(vectors, labels)


@settings(max_examples=15)
@given(st.integers(0, 100), st.integers(2, 4))
def test_leace_leaves_no_covariance_and_no_linear_probe(seed, n_labels):
    vectors, labels = planted(n_labels=n_labels, seed=seed)
    majority = np.bincount(labels).max() / len(labels)
    assert probe(vectors, labels) > majority + 0.05  # the harm
    eraser = leace(vectors, labels)
    new = eraser(vectors)
    scale = vectors.std()
    assert np.abs(np.cov(new.T, np.eye(n_labels)[labels].T)[: new.shape[1], new.shape[1] :]).max() < 1e-5 * scale
    assert probe(new, labels) == pytest.approx(majority, abs=0.005)
    assert eraser.rank == n_labels - 1
    assert np.allclose(eraser(new), new, atol=1e-4 * scale)  # erasing twice erases nothing more


def test_leace_moves_vectors_less_than_a_projection_that_erases_as_much():
    vectors, labels = planted(seed=3)
    shift = vectors[labels == 1].mean(axis=0) - vectors[labels == 0].mean(axis=0)
    orthogonal = Projection((shift / np.linalg.norm(shift))[None].astype(np.float32), np.ones(1))
    inverse = np.linalg.inv(np.cov(vectors.T))

    def moved(new):  # in the norm of the features' own covariance
        steps = new - vectors
        return np.einsum("ni,ij,nj->n", steps, inverse, steps).mean()

    centred = vectors - vectors.mean(axis=0)
    assert moved(leace(vectors, labels)(vectors)) < moved(orthogonal(centred) + vectors.mean(axis=0))


def test_the_eraser_is_the_formula_of_its_paper():
    vectors, labels = planted(n_labels=3, seed=5)
    centred = vectors - vectors.mean(axis=0)
    one_hot = np.eye(3)[labels] - np.eye(3)[labels].mean(axis=0)
    sizes, axes = np.linalg.eigh(centred.T @ centred / (len(vectors) - 1))
    whiten, colour = (axes * sizes**-0.5) @ axes.T, (axes * sizes**0.5) @ axes.T
    left, strength, _ = np.linalg.svd(whiten @ centred.T @ one_hot)
    kept = left[:, : int((strength > 1e-9).sum())]
    wanted = vectors - centred @ (colour @ kept @ kept.T @ whiten).T
    assert np.allclose(leace(vectors, labels)(vectors), wanted, atol=1e-3)


def test_labels_may_be_words():
    vectors, labels = planted()
    names = np.array(["male", "female"])[labels]
    assert np.allclose(leace(vectors, names)(vectors), leace(vectors, labels)(vectors), atol=1e-5)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_inlp_stops_where_a_probe_reads_nothing(n_labels):
    vectors, labels = planted(n=1500, n_labels=n_labels, seed=7)
    found = inlp(vectors, labels)
    assert found.accuracies[0] > found.majority + 0.1  # the harm
    assert found.reached
    assert found.accuracies[-1] <= found.majority
    assert list(found.accuracies[:-1]) == [accuracy for accuracy in found.accuracies[:-1] if accuracy > found.majority]
    kept = vectors.shape[1] - len(found.projection.directions)
    assert 0 < kept < vectors.shape[1]
    basis = found.projection.directions.astype(float)
    assert np.allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-5)


def test_inlp_on_the_rows_that_probes_saw_ends_at_the_majority_there():
    vectors, labels = planted(n=900, seed=9)
    found = inlp(vectors, labels, held_out=0.0)
    assert found.reached
    left = found.projection(vectors)
    again = LogisticRegression(max_iter=1000).fit(left, labels).score(left, labels)
    assert again == pytest.approx(found.accuracies[-1], abs=0.002)
    assert again <= np.bincount(labels).max() / len(labels) + 0.002


def test_rounds_that_run_out_are_said():
    vectors, labels = planted(seed=1)
    found = inlp(vectors, labels, max_rounds=1)
    assert len(found.accuracies) == 1
    assert not found.reached


VECTORS, LABELS = planted(n=40)


@pytest.mark.parametrize("fit", [leace, inlp])
@pytest.mark.parametrize(
    ("vectors", "labels", "message"),
    [
        (VECTORS, LABELS[:5], "expected one row for each of 5 labels"),
        (VECTORS, np.zeros(40, dtype=int), "All labels are 0: there is nothing to erase"),
        (VECTORS * np.nan, LABELS, "NaN or infinite"),
        (VECTORS[0], LABELS, "expected one row for each of 40 labels"),
    ],
)
def test_what_cannot_be_fitted_is_an_error(fit, vectors, labels, message):
    with pytest.raises(ValueError, match=message):
        fit(vectors, labels)


@pytest.mark.parametrize(
    ("options", "message"), [({"max_rounds": 0}, "max_rounds is 0"), ({"held_out": 1.0}, "held_out is 1.0")]
)
def test_settings_of_inlp_that_say_nothing_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        inlp(VECTORS, LABELS, **options)
