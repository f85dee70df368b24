"""Rankings of Zayed et al. 2023: what each keeps, how many, and what no ranking may do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.scores.rankings import BASES, RANKINGS, Ranking, count, keep

SCORES = {"ge": [0.5, 0.0, 0.9, 0.1, 0.0], "el2n": [0.1, 0.2, 0.3, 0.4, 0.5]}
CHANGED = [True, False, True, True, False]
HALF = {"factual_fraction": 0.4, "counterfactual_fraction": 0.4}

#: What an ascending ranking of all examples is warned of.
COPIES = "ignore:The ranking .* spends:hf_fairness.utils.FairnessWarning"


def drawn(n, seed):
    """Scores of n examples, of which some are tied and some have no counterfactual."""
    rng = np.random.default_rng(seed)
    changed = rng.random(n) < 0.5
    changed[0] = True
    values = np.round(rng.random(n), 1)
    return {"ge": values * changed, "el2n": values, "grand": values, "forgetting": np.floor(3 * values)}, changed


def test_table_3_has_these_rankings():
    table = {name: (rule.factual, rule.counterfactual, rule.order) for name, rule in RANKINGS.items()}
    assert table["vanilla_ge"] == ("ge", "ge", "ascending")
    assert table["healthy_random"] == (None, "ge", "descending")
    assert table["unhealthy_random"] == (None, "ge", "ascending")
    assert table["random"][:2] == (None, None)
    assert {"ge", "el2n", "grand", "forgetting"} <= set(table)
    assert RANKINGS["healthy_random"].scores == ("ge",)
    assert RANKINGS["random"].scores == ()


@pytest.mark.parametrize(
    ("ranking", "order", "base", "expected"),
    [
        ("healthy_random", None, "all", [0, 2]),
        ("unhealthy_random", None, "all", []),  # its two are copies of examples 1 and 4
        ("unhealthy_random", None, "changed", [3]),
        ("vanilla_ge", None, "changed", [3]),
        ("vanilla_ge", "descending", "changed", [2]),
        ("ge", None, "changed", [2]),
        ("ge", "ascending", "changed", [3]),
        ("el2n", None, "all", [3]),  # example 4 has the highest score and no counterfactual
        ("el2n", None, "changed", [3]),
        ("el2n", "ascending", "changed", [0]),
    ],
)
@pytest.mark.filterwarnings(COPIES)
def test_counterfactuals_on_paper(ranking, order, base, expected):
    kept = keep(ranking, SCORES, CHANGED, order=order, counterfactual_base=base, **HALF)
    assert np.flatnonzero(kept.counterfactual).tolist() == expected


def test_vanilla_ge_ranks_the_examples_too():
    fractions = {"factual_fraction": 0.2, "counterfactual_fraction": 0}
    assert keep("vanilla_ge", SCORES, CHANGED, order="descending", **fractions).factual.nonzero()[0].tolist() == [2]
    assert keep("vanilla_ge", SCORES, CHANGED, **fractions).factual.nonzero()[0].tolist() in ([1], [4])


@pytest.mark.filterwarnings(COPIES)
def test_random_ranks_depend_on_seed_and_number_alone():
    scores, changed = drawn(50, 0)
    fractions = {"factual_fraction": 0.3, "counterfactual_fraction": 0.3, "counterfactual_base": "all"}
    one = keep("random", {}, changed, seed=3, **fractions)
    again = keep("random", scores, np.ones(50, dtype=bool), seed=3, **fractions)
    assert (one.factual == again.factual).all()
    assert (one.counterfactual == (again.counterfactual & changed)).all()
    assert (one.factual != keep("random", {}, changed, seed=4, **fractions).factual).any()
    assert (again.factual != again.counterfactual).any()  # examples and counterfactuals are drawn apart
    for ranking in ("healthy_random", "unhealthy_random", "el2n"):  # so that rankings can be compared in pairs
        assert (keep(ranking, scores, changed, seed=3, **fractions).factual == one.factual).all()


def test_ties_are_broken_at_random_and_not_by_place():
    scores = {"ge": np.ones(200)}
    kept = [
        keep("ge", scores, np.ones(200), factual_fraction=0, counterfactual_fraction=0.5, seed=seed).counterfactual
        for seed in range(20)
    ]
    share = np.mean(kept, axis=0)
    assert all(row.sum() == 100 for row in kept)
    assert share[:100].mean() == pytest.approx(0.5, abs=0.05)
    assert share.min() > 0
    assert share.max() < 1


@given(
    st.sampled_from(sorted(RANKINGS)),
    st.sampled_from(BASES),
    st.integers(1, 40),
    st.integers(0, 5),
    st.integers(0, 20),
    st.integers(0, 20),
)
@pytest.mark.filterwarnings(COPIES)
def test_what_holds_of_every_ranking(ranking, base, n, seed, low, high):
    scores, changed = drawn(n, seed)
    low, high = sorted((low / 20, high / 20))
    options = {"seed": seed, "counterfactual_base": base}
    if not high:
        return
    more = keep(ranking, scores, changed, factual_fraction=high, counterfactual_fraction=high, **options)
    assert not (more.counterfactual & ~changed).any()
    assert more.factual.sum() == count(high, n)
    if base == "changed":
        assert more.counterfactual.sum() == count(high, int(changed.sum()))
    assert more.counterfactual.sum() <= count(high, n)
    if low:
        fewer = keep(ranking, scores, changed, factual_fraction=low, counterfactual_fraction=low, **options)
        assert not (fewer.factual & ~more.factual).any()
        assert not (fewer.counterfactual & ~more.counterfactual).any()
    whole = keep(ranking, scores, changed, factual_fraction=1, counterfactual_fraction=1, **options)
    assert whole.factual.all()
    assert (whole.counterfactual == changed).all()


@given(st.integers(1, 60), st.integers(0, 5))
def test_healthy_and_unhealthy_are_the_two_ends(n, seed):
    scores, changed = drawn(n, seed)
    options = {"factual_fraction": 0, "counterfactual_fraction": 0.5, "counterfactual_base": "changed"}
    found = {}
    for ranking in ("healthy_random", "unhealthy_random"):
        mask = keep(ranking, scores, changed, seed=seed, **options).counterfactual
        inside, outside = scores["ge"][mask], scores["ge"][changed & ~mask]
        found[ranking] = (inside, outside)
    for name, sign in (("healthy_random", 1), ("unhealthy_random", -1)):
        inside, outside = found[name]
        if len(inside) and len(outside):
            assert (sign * inside).min() >= (sign * outside).max()


def test_half_a_row_is_rounded_up():
    assert [count(fraction, 10) for fraction in (0.0, 0.04, 0.05, 0.14, 0.15, 0.25, 1.0)] == [0, 0, 1, 1, 2, 3, 10]
    assert count(0.145, 100) == 15  # as floats .145 x 100 is less than 14.5
    assert count(0.29, 100) == 29
    assert count(np.float64(0.3), 10) == 3


def test_a_ranking_of_ones_own():
    rule = Ranking("hard_first", "el2n", "ge")
    kept = keep(rule, SCORES, CHANGED, counterfactual_base="all", **HALF)
    assert np.flatnonzero(kept.factual).tolist() == [3, 4]
    assert np.flatnonzero(kept.counterfactual).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranking": "best"}, "Unknown ranking 'best'. Rankings: vanilla_ge, random"),
        ({"factual_fraction": 50}, r"factual_fraction must be in \[0, 1\]; got 50"),
        ({"counterfactual_fraction": -0.1}, r"counterfactual_fraction must be in \[0, 1\]; got -0.1"),
        ({"counterfactual_fraction": float("nan")}, "counterfactual_fraction must be in"),
        ({"counterfactual_fraction": None}, "counterfactual_fraction must be in"),
        ({"factual_fraction": 0, "counterfactual_fraction": 0}, "nothing would be kept"),
        ({"changed": [False] * 5}, "None of the 5 examples has a counterfactual"),
        ({"changed": [True] * 4}, "one entry per example; got 5 for 4"),
        ({"scores": {"ge": [0.1, np.nan, 0, 0, 0]}}, "NaN or infinite, the first in row 1"),
        ({"scores": {"el2n": [0.0] * 5}}, "needs the score 'ge'; got el2n"),
        ({"scores": {}}, "needs the score 'ge'; got none"),
        ({"order": "up"}, "order must be one of ascending, descending; got 'up'"),
        ({"order": "ascending"}, "no other order than its name says"),
        ({"ranking": "random", "order": "ascending"}, "no other order than its name says"),
        ({"counterfactual_base": "some"}, "counterfactual_base must be one of all, changed"),
    ],
)
def test_errors(changes, message):
    given_ = {"ranking": "healthy_random", "scores": SCORES, "changed": CHANGED, **HALF, **changes}
    with pytest.raises(ValueError, match=message):
        keep(**given_)


def test_no_counterfactual_is_needed_where_none_is_asked_for():
    kept = keep("random", {}, [False] * 4, factual_fraction=0.5, counterfactual_fraction=0)
    assert kept.factual.sum() == 2
    assert not kept.counterfactual.any()
