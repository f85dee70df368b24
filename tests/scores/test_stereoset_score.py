"""StereoSet scores: the authors' numbers, on paper, and what must not change them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores.stereoset import stereoset, stereoset_change

KEYS = ("lm_score", "stereotype_score", "icat")
ITEMS = st.lists(
    st.tuples(
        st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3), st.sampled_from("abcd"), st.sampled_from(["x", "y"])
    ),
    min_size=1,
    max_size=30,
)


def score(items, **options):
    *columns, targets, domains = zip(*items, strict=True)
    return stereoset(np.array(columns, float).T, targets, domains, **{"n_bootstrap": 50} | options)


def test_the_published_scores_of_gpt2(shared):
    folder = shared / "gold/stereoset"
    lines = (folder / "gpt2_intrasentence_scores.tsv").read_text().splitlines()
    rows = list(csv.DictReader(lines, delimiter="\t"))
    scores = [[float(row[f"gpt2:{label}"]) for label in ("stereo", "anti", "unrel")] for row in rows]
    result = stereoset(scores, [row["target"] for row in rows], [row["domain"] for row in rows])
    gold = json.loads((folder / "gpt2_expected.json").read_text())["gpt2"]
    assert set(gold) == {*result["domains"], "gender+race+religion"}
    names = {"lm_score": "LM Score", "stereotype_score": "SS Score", "icat": "ICAT Score", "n": "Count"}
    names |= {"lm_score_micro": "micro_LM", "stereotype_score_micro": "micro_SS", "n_terms": "n_targets"}
    for domain, expected in gold.items():
        part = result["domains"].get(domain, result)
        for key, name in names.items():
            if name in expected:
                scale = 1.0 if key.startswith("n") else 100.0
                assert scale * part[key] == pytest.approx(expected[name], abs=1e-6), (domain, key)
        assert part["tie_rate"] == 0.0
        for key in KEYS:
            low, high = part[f"{key}_ci95"]
            assert low < part[key] < high


def test_terms_weigh_equally_and_a_tie_counts_as_anti():
    # Term a: three items, all stereotype; term b: one item, a tie that is better than the unrelated sentence.
    items = [(3, 2, 1, "a", "x")] * 3 + [(2, 2, 1, "b", "x")]
    result = score(items)
    assert (result["lm_score"], result["stereotype_score"], result["icat"]) == (1.0, 0.5, 1.0)
    assert (result["stereotype_score_micro"], result["tie_rate"], result["n_terms"]) == (0.75, 0.25, 2)
    assert result["icat_ci95"] == [0.0, 1.0]  # both terms drawn: 1; one of them twice: 0


def test_a_tie_with_the_unrelated_sentence_is_no_understanding():
    assert score([(1, 1, 1, "a", "x"), (2, 1, 1, "b", "x")])["lm_score"] == 0.25


def test_one_term_has_no_interval():
    result = score([(3, 2, 1, "a", "x"), (2, 3, 1, "a", "x"), (3, 1, 2, "b", "y")])
    assert result["domains"]["x"]["lm_score_ci95"] is None
    assert result["lm_score_ci95"] is not None
    assert score([(3, 2, 1, "a", "x"), (3, 2, 1, "b", "x")], n_bootstrap=0)["icat_ci95"] is None


@settings(max_examples=40)
@given(ITEMS, st.randoms(use_true_random=False))
def test_order_and_scale_do_not_matter(items, random):
    result = score(items)
    shuffled = [(*(2.0**value for value in item[:3]), *item[3:]) for item in items]
    random.shuffle(shuffled)
    again = score(shuffled)
    for part, other in [(result, again)] + [
        (result["domains"][name], again["domains"][name]) for name in result["domains"]
    ]:
        assert [other[key] for key in KEYS] == pytest.approx([part[key] for key in KEYS])
        assert 0.0 <= part["icat"] <= part["lm_score"] + 1e-12
    assert sum(part["n"] for part in result["domains"].values()) == result["n"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": [[1.0, 2.0]]}, "three numbers per item"),
        ({"scores": [[1.0, 2.0, float("nan")]]}, "NaN or infinite"),
        ({"scores": np.empty((0, 3))}, "at least 1"),
        ({"targets": []}, "different numbers of rows"),
        ({"domains": ["x", "y"]}, "different numbers of rows"),
    ],
)
def test_bad_input_is_a_clear_error(changes, message):
    inputs = {"scores": [[1.0, 2.0, 3.0]], "targets": ["a"], "domains": ["x"]} | changes
    with pytest.raises(ValueError, match=message):
        stereoset(**inputs)


def test_a_change_is_the_difference_of_the_scores_and_tested_term_by_term():
    rng = np.random.default_rng(0)
    terms = [f"term {place % 12}" for place in range(60)]
    before = rng.normal(size=(60, 3))
    after = before + 0.7 * rng.normal(size=(60, 3))
    sides = [stereoset(side, terms, ["gender"] * 60) for side in (after, before)]
    found, back = stereoset_change(after, before, terms), stereoset_change(before, after, terms)
    for key in ("lm_score", "stereotype_score", "icat"):
        wanted = sides[0][key] - sides[1][key]
        assert found[f"{key}_change"] == pytest.approx(wanted)
        low, high = found[f"{key}_change_ci95"]
        assert low < wanted < high
        assert back[f"{key}_change_ci95"] == pytest.approx([-high, -low])
        assert 0.0 < found[f"{key}_change_p_value"] <= 1.0
    assert stereoset_change(before, before, terms)["icat_change_ci95"] is None
    with pytest.raises(ValueError, match="three scores for each of the 60 items"):
        stereoset_change(after[:, :2], before, terms)
