"""LEACE and INLP: what they promise, on labels that were planted; and what cannot be fitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from hf_fairness.erasure import Projection, inlp, leace
from hf_fairness.erasure.projection import unit_rows


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
    counts = np.sort(np.bincount(labels))
    assume(counts[-1] > counts[-2])  # between two majorities rounding decides
    majority = counts[-1] / len(labels)
    assert probe(vectors, labels) > majority + 0.05  # the harm
    eraser = leace(vectors, labels)
    new = eraser(vectors)
    scale = vectors.std()
    assert np.abs(np.cov(new.T, np.eye(n_labels)[labels].T)[: new.shape[1], new.shape[1] :]).max() < 1e-5 * scale
    assert probe(new, labels) == pytest.approx(majority, abs=0.005)
    assert eraser.rank == n_labels - 1
    assert np.allclose(eraser(new), new, atol=1e-4 * scale)  # erasing twice erases nothing more


def covariance(vectors, labels):
    """Largest covariance of a dimension with a label, as a share of the spread of the vectors."""
    one_hot = np.eye(labels.max() + 1)[labels]
    centred = vectors - vectors.mean(axis=0)
    return np.abs(centred.T @ (one_hot - one_hot.mean(axis=0))).max() / len(vectors) / vectors.std()


def test_a_label_that_hardly_shows_is_erased_too():
    """By default `concept-erasure` leaves in what covaries by less than .01."""
    vectors, labels = planted(n=4000, n_labels=3, seed=2, shares=[0.5, 0.49, 0.01])
    rare = labels == 2
    vectors[rare] += vectors[labels == 0].mean(axis=0) - vectors[rare].mean(axis=0) + 0.02  # nearly as the first
    assert covariance(vectors * (labels != 1)[:, None], labels) > 1e-4  # the harm
    eraser = leace(vectors, labels)
    assert eraser.rank == 2
    assert covariance(eraser(vectors), labels) < 1e-6


@pytest.mark.parametrize("n", [40, 300])
def test_directions_without_spread_do_no_harm(n):
    """Fewer rows than dimensions, and rows whose last dimensions differ by float32 rounding alone."""
    random = np.random.default_rng(4)
    flat = 50.0 + 0.1 * random.normal(size=(n, 20)) @ random.normal(size=(20, 96))
    vectors, labels = flat.astype(np.float32), random.integers(0, 2, size=n)
    vectors[labels == 1] += flat[0].astype(np.float32) - 50.0
    assert covariance(vectors, labels) > 0.1
    eraser = leace(vectors, labels)
    assert eraser.rank == 1
    assert covariance(eraser(vectors), labels) < 1e-6
    assert np.abs(eraser.matrix).max() < 10  # rounding divided by its own size would make this thousands


def test_length_1_afterwards_undoes_leace_and_not_a_projection():
    random = np.random.default_rng(6)
    labels = np.arange(2000) % 2
    vectors = random.normal(size=(2000, 8))
    vectors[:, 0] += 3.0  # what both labels share
    vectors[labels == 1, 1:4] *= 4.0  # one label is longer, in directions that say nothing
    vectors[labels == 1, 4] += 2.0
    erased = leace(vectors, labels)(vectors)
    assert covariance(erased, labels) < 1e-6
    assert covariance(unit_rows(erased), labels) > 0.05  # why no Normalize follows it in a model
    projection = inlp(vectors, labels, max_rounds=2).projection
    assert np.abs(unit_rows(projection(vectors)) @ projection.directions.T).max() < 1e-6


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


def pairs(n=300, dim=40, shift=0.5, seed=0):
    """Texts in two versions: contents far apart, versions near, with a small step from label to label."""
    random = np.random.default_rng(seed)
    step = random.normal(size=dim)
    content = 3 * random.normal(size=(n, dim))
    versions = [content + sign * shift * step / np.linalg.norm(step) for sign in (-1, 1)]
    return np.concatenate(versions), np.repeat([0, 1], n), list(range(n)) * 2


def test_versions_of_a_text_are_held_out_together():
    """Else a probe is wrong on the other version of what it has seen, and the search ends with all still there."""
    vectors, labels, texts = pairs(shift=0.3)
    alone, together = (inlp(vectors, labels, clusters=clusters, seed=3) for clusters in (None, texts))

    def gap(left):
        return np.linalg.norm(left[labels == 1].mean(axis=0) - left[labels == 0].mean(axis=0))

    assert alone.accuracies[0] < 0.48 < 0.5 < together.accuracies[0]
    assert gap(alone.projection(vectors)) == pytest.approx(gap(vectors))  # the harm
    assert gap(together.projection(vectors)) < 0.1 * gap(vectors)
    assert together.reached
    assert together.majority == 0.5  # both versions of every text that judges


def test_probes_see_the_vectors_that_a_model_which_normalises_gives():
    vectors, labels = planted(n=900, seed=9)
    vectors[labels == 1] *= 3.0
    found = inlp(vectors, labels, held_out=0.0, unit_length=True)
    assert found.accuracies[0] > found.majority + 0.1
    assert found.reached
    left = unit_rows(found.projection(vectors))
    assert LogisticRegression(max_iter=1000).fit(left, labels).score(left, labels) <= found.majority + 0.002


def test_the_seed_draws_who_judges():
    vectors, labels, texts = pairs()
    one, same, other = (inlp(vectors, labels, clusters=texts, seed=seed, max_rounds=1) for seed in (0, 0, 1))
    assert one.projection.digest == same.projection.digest != other.projection.digest


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
        (VECTORS * 0, LABELS, "All vectors hold zeros alone: there is nothing to erase"),
        (VECTORS * 0 + VECTORS[0], LABELS, "All vectors hold the same numbers: there is nothing to erase"),
    ],
)
def test_what_cannot_be_fitted_is_an_error(fit, vectors, labels, message):
    with pytest.raises(ValueError, match=message):
        fit(vectors, labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rounds": 0}, "max_rounds is 0"),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"clusters": [0]}, "clusters has 1 values, expected one for each of 40 vectors"),
        ({"clusters": [0] * 40}, "All vectors are of one cluster: none can be held out"),
        ({"clusters": LABELS}, r"No vector of [01] is among those to train probes on"),
    ],
)
def test_settings_of_inlp_that_say_nothing_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        inlp(VECTORS, LABELS, **options)
