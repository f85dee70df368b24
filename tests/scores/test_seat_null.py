"""True nulls that look like SEAT: how often each p-value claims an effect where there is none.

In test 6 of MiniLM .82 and .87 of the variance of s within a target set lie between words (intraclass correlation).
The simulated sentences have .8, from a vector of the word, one of the template and noise; the real ones are MiniLM's,
of names that a coin deals into two sets. Seeds were chosen once.
"""

from __future__ import annotations

import numpy as np
import pytest

from hf_fairness.measure.encoder.stimuli import load_test, sentences
from hf_fairness.scores.permutation import permutation_test
from hf_fairness.scores.seat import associations, effect_size, seat_test
from hf_fairness.scores.seat_suite import minimal_detectable_effect_size

RUNS = 1500
LEVEL = 0.05
WIDTH = 24


def _rates(runs):
    """Share of runs in which the sentence-level and the clustered p-value reject at .05."""
    found = np.array([[run["p_value"], run["p_value_clustered"]] for run in runs])
    assert len(found) >= 1000
    return (found <= LEVEL).mean(axis=0)


def _side(rng, templates):
    """Eight words in 7 to 10 of ten sentences each: vectors, and the word of each."""
    words, rows = [], []
    for word, vector in enumerate(rng.normal(size=(8, WIDTH))):
        kept = rng.permutation(10)[: rng.integers(7, 11)]
        rows.append(vector + templates[kept] + 0.25 * rng.normal(size=(len(kept), WIDTH)))
        words += [word] * len(kept)
    return np.concatenate(rows), words


def _simulated(rng):
    templates = 0.43 * rng.normal(size=(10, WIDTH))
    (x, x_words), (y, y_words) = _side(rng, templates), _side(rng, templates)
    a, b = _side(rng, templates)[0], _side(rng, templates)[0]
    return x, y, a, b, x_words, y_words


def _correlation(values, words):
    """Share of variance between words; sides of unequal words, so by the mean number of sentences."""
    groups = [values[np.array(words) == word] for word in sorted(set(words))]
    size = np.mean([len(group) for group in groups])
    between = size * np.var([group.mean() for group in groups], ddof=1)
    within = np.mean([group.var(ddof=1) for group in groups])
    return (between - within) / (between + (size - 1) * within)


def test_the_simulated_words_hang_together_as_real_ones_do(shared):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        x, _, a, b, words, _ = _simulated(rng)
        found.append(_correlation(associations(x, a, b), words))
    assert 0.75 < np.mean(found) < 0.85, np.mean(found)
    with np.load(shared / "gold/seat/emb_sent-weat6.npz") as stored:
        x, y, a, b = (stored[key] for key in ("targ1", "targ2", "attr1", "attr2"))
    real = [_correlation(associations(side, a, b), np.repeat(np.arange(8), 8)) for side in (x, y)]
    assert real == pytest.approx([0.825, 0.866], abs=0.01)


def test_rejections_of_a_simulated_null():
    rng = np.random.default_rng(0)
    runs = []
    for seed in range(RUNS):
        x, y, a, b, x_words, y_words = _simulated(rng)
        runs.append(seat_test(x, y, a, b, x_words=x_words, y_words=y_words, n_samples=499, n_bootstrap=0, seed=seed))
    sentence, word = _rates(runs)
    assert 0.03 <= word <= 0.07, word
    assert sentence > 0.20, sentence


@pytest.mark.whole
def test_rejections_of_names_that_were_dealt_at_random(minilm):
    """MiniLM's own sentences: 16 of 64 names, dealt into two sets, so that no set can be nearer to anything."""
    names = [name for part in load_test("weat3").sets[:2] for name in part.texts]
    texts = [text for name in names for text in sentences(name, "name")]
    vectors = minilm.encode(texts, show_progress_bar=False).reshape(len(names), 8, -1)
    a, b = (minilm.encode(list(part.texts), show_progress_bar=False) for part in load_test("weat6").sets[2:])
    rng, words, runs = np.random.default_rng(0), np.repeat(np.arange(8), 8).tolist(), []
    for seed in range(RUNS):
        dealt = rng.permutation(len(names))[:16]
        x, y = (vectors[half].reshape(64, -1) for half in (dealt[:8], dealt[8:]))
        runs.append(seat_test(x, y, a, b, x_words=words, y_words=words, n_samples=499, n_bootstrap=0, seed=seed))
    sentence, word = _rates(runs)
    assert 0.03 <= word <= 0.07, word
    assert sentence > 0.20, sentence


@pytest.mark.whole
def test_the_minimal_detectable_effect_is_found_four_times_in_five():
    """A gap between the words' means of the stated size; the test of words sees it in about 80 % of the runs."""
    rng, words = np.random.default_rng(0), np.repeat(np.arange(8), 8).tolist()
    sides = {"x_words": words, "y_words": words}

    def draw(gap):
        return [np.repeat(rng.normal(size=8) + shift, 8) + 0.45 * rng.normal(size=64) for shift in (gap / 2, -gap / 2)]

    def mean_effect(gap):
        return np.mean([effect_size(*draw(gap)) for _ in range(200)])

    stated = np.mean([minimal_detectable_effect_size(*draw(0.0), **sides) for _ in range(200)])
    gap = next(gap for gap in np.arange(0.5, 3.0, 0.05) if mean_effect(gap) > stated)
    clusters = {"x_clusters": words, "y_clusters": words}
    p_values = [permutation_test(*draw(gap), **clusters, n_samples=499, seed=seed).p_value for seed in range(400)]
    power = np.mean(np.array(p_values) <= LEVEL)
    assert 0.7 < power < 0.9, (power, gap, stated)
