"""Several SEAT tests, two models, small tests: checked on paper and against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from hf_fairness.scores.seat import effect_size
from hf_fairness.scores.seat_suite import adjust, change_p_value, minimal_detectable_effect_size, word_shares


def test_adjusted_p_values_on_paper():
    results = [{"p_value_clustered": p} for p in (0.01, 0.04, 0.03)]
    adjust(results)
    assert [result["p_value_clustered_holm"] for result in results] == pytest.approx([0.03, 0.06, 0.06])
    assert [result["p_value_clustered_bh"] for result in results] == pytest.approx([0.03, 0.04, 0.04])
    adjust([])


def test_shares_of_words_sum_to_the_effect_size():
    rng = np.random.default_rng(0)
    s_x, s_y = rng.normal(size=7) + 1, rng.normal(size=5)
    words = {"x_words": list("aaabbcc"), "y_words": list("ddeea")}
    shares = word_shares(s_x, s_y, **words)
    assert list(shares) == list("abcde")
    assert sum(shares.values()) == pytest.approx(effect_size(s_x, s_y))
    both = np.concatenate([s_x, s_y])
    assert shares["b"] == pytest.approx((s_x[3:5] - both.mean()).sum() / 7 / both.std(ddof=1))
    assert set(word_shares([1.0, 1.0], [1.0], x_words="ab", y_words="c").values()) == {0.0}


@pytest.mark.parametrize("absolute", [True, False])
def test_change_equals_a_plain_loop_over_all_swaps(absolute):
    rng = np.random.default_rng(1)
    words = "abcdef"
    after, before = ([dict(zip(words, rng.normal(size=6), strict=True)) for _ in range(2)] for _ in range(2))
    after[1].pop("f")  # a word need not stand in every test

    def value(side):
        sums = [sum(shares.values()) for shares in side]
        return np.mean(np.abs(sums) if absolute else sums)

    observed = abs(value(after) - value(before))
    hits = 0
    for swapped in itertools.product([False, True], repeat=6):
        sides = [[{}, {}], [{}, {}]]
        for test, (word, swap) in itertools.product(range(2), zip(words, swapped, strict=True)):
            pair = after[test].get(word, 0.0), before[test].get(word, 0.0)
            sides[0][test][word], sides[1][test][word] = pair[::-1] if swap else pair
        hits += abs(value(sides[0]) - value(sides[1])) >= observed - 1e-12
    assert change_p_value(after, before, absolute=absolute) == pytest.approx(hits / 64)


def test_detectable_effect_on_paper():
    # Means of words: error sqrt(2 * .06 / 8); t of 14 degrees at .95 and .8 are 1.7613 and .8681.
    s, words = np.arange(1, 9) / 10, list("abcdefgh")
    gap = (1.76131 + 0.86805) * np.sqrt(2 * 0.06 / 8)
    expected = gap / np.sqrt((2 * 0.42 + 4 * gap**2) / 15)
    found = minimal_detectable_effect_size(s, s, x_words=words, y_words=words)
    assert found == pytest.approx(expected, abs=1e-4)


@settings(max_examples=50)
@given(
    sides=some.integers(2, 6).flatmap(lambda n: arrays(np.float64, (2, 2 * n), elements=some.floats(-1, 1, width=32))),
    scale=some.floats(0.01, 100),
)
def test_detectable_effect_is_a_d(sides, scale):
    x, y = sides
    words = [place // 2 for place in range(len(x))]
    found = minimal_detectable_effect_size(x, y, x_words=words, y_words=words)
    assert found is None or 0.0 <= found < 2.0
    turned = minimal_detectable_effect_size(scale * y + 1, scale * x + 1, x_words=words, y_words=words)
    if np.concatenate([x - x.mean(), y - y.mean()]).std() > 1e-3:
        assert turned == pytest.approx(found, rel=1e-6, abs=1e-9)
    assert sum(word_shares(x, y, x_words=words, y_words=words).values()) == pytest.approx(
        effect_size(x, y) if np.concatenate([x, y]).std(ddof=1) > 1e-12 else 0.0, abs=1e-9
    )


def test_more_words_see_more_and_more_sentences_of_them_do_not():
    rng = np.random.default_rng(0)

    def detectable(n_words, n_sentences):
        words = np.repeat(np.arange(n_words), n_sentences).tolist()
        s_x, s_y = (np.repeat(rng.normal(size=n_words), n_sentences) for _ in range(2))
        s_x, s_y = s_x + 0.1 * rng.normal(size=len(s_x)), s_y + 0.1 * rng.normal(size=len(s_y))
        return minimal_detectable_effect_size(s_x, s_y, x_words=words, y_words=words)

    few, many_sentences, many_words = detectable(8, 2), detectable(8, 20), detectable(80, 2)
    assert many_sentences == pytest.approx(few, rel=0.15)
    assert many_words < 0.5 * few


@pytest.mark.parametrize(("s_x", "words"), [([1.0, 2.0], "aa"), ([1.0, 1.0], "ab")])
def test_detectable_effect_is_none_without_variation_over_words(s_x, words):
    assert minimal_detectable_effect_size(s_x, [3.0, 3.0], x_words=words, y_words="ab") is None


@pytest.mark.parametrize("options", [{"alpha": 0.6}, {"power": 0.5}])
def test_detectable_effect_refuses_odd_levels(options):
    with pytest.raises(ValueError, match=r"alpha must lie between 0 and \.5"):
        minimal_detectable_effect_size([1.0, 2.0], [1.0, 2.0], x_words="ab", y_words="ab", **options)
