"""CCED arithmetic, on paper."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hf_fairness.scores.cced import cced, cced_change

ORIGIN = [[0.0, 0.0], [0.0, 0.0]]
TWO = {"male": [[3.0, 4.0], [1.0, 0.0]], "female": [[0.0, 1.0], [0.0, 2.0]], "neutral": ORIGIN}


def test_two_groups_on_paper():
    result = cced(TWO)  # distances 5, 1 and 1, 2: gaps 4, -1
    assert result["cced"] == 2.5
    assert result["cced_signed"] == 1.5
    assert result["mean_distance"] == 2.25
    assert result["cced_relative"] == pytest.approx(2.5 / 2.25)
    assert result["distance"] == {"male": 3.0, "female": 1.5}
    assert result["n"] == result["meta"]["n"] == 2
    assert result["pairs"]["male-female"]["cced"] == 2.5
    # Leaving one row out multiplies 2.5 by 1.6 or .4: with one degree of freedom Student's interval on the logarithm
    # reaches further than the factor of e^4.6 that is allowed.
    reach = math.exp(4.6)
    assert 12.7062 * math.sqrt((math.log(1.6) ** 2 + math.log(0.4) ** 2) / 2) > 4.6
    assert result["cced_ci95"] == pytest.approx([2.5 / reach, 2.5 * reach])
    json.dumps(result)


def test_three_groups_average_over_pairs():
    three = TWO | {"nonbinary": [[0.0, 0.0], [0.0, 0.0]]}
    result = cced(three)  # distances m 5 1, f 1 2, n 0 0: gaps mf 4 1, mn 5 1, fn 1 2
    assert result["cced"] == pytest.approx((2.5 + 3.0 + 1.5) / 3)
    assert {pair: values["cced"] for pair, values in result["pairs"].items()} == {
        "male-female": 2.5,
        "male-nonbinary": 3.0,
        "female-nonbinary": 1.5,
    }
    assert result["pairs"]["male-nonbinary"]["mean_distance"] == 1.5


def test_shrinking_all_distances_fakes_cced_but_not_its_relative_form():
    small = {name: 0.1 * np.asarray(values) for name, values in TWO.items()}
    assert cced(small)["cced"] == pytest.approx(0.25)
    assert cced(small)["cced_relative"] == pytest.approx(cced(TWO)["cced_relative"])


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(0)
    frames = np.repeat(np.arange(8), 20)
    male = (1 + rng.normal(size=8)[frames] + 0.01 * rng.normal(size=160))[:, None] * [[1.0, 0.0]]
    data = {"male": male, "female": np.tile([[0.0, 1.0]], (160, 1)), "neutral": np.zeros((160, 2))}
    plain, clustered = cced(data)["cced_ci95"], cced(data, clusters=frames.tolist())["cced_ci95"]
    assert clustered[1] - clustered[0] > 2 * (plain[1] - plain[0])


def test_change_is_paired():
    rng = np.random.default_rng(0)
    before = {name: rng.normal(size=(100, 4)) for name in ("male", "female", "neutral")}
    centre = before["neutral"]
    after = {name: centre + 0.4 * (values - centre) for name, values in before.items()}
    result = cced_change(before, after)
    assert result["cced_change_share"] == pytest.approx(-0.6)
    assert result["cced_change_share_ci95"] == pytest.approx([-0.6, -0.6])
    assert result["cced_relative_change_share"] == pytest.approx(0.0, abs=1e-12)
    assert result["cced_change"] == pytest.approx(cced(after)["cced"] - cced(before)["cced"])
    assert result["mean_distance_change"] < 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"male": ORIGIN, "female": ORIGIN}, "neutral"),
        ({"male": ORIGIN, "neutral": ORIGIN}, "at least two"),
        (TWO | {"male": [[1.0, 0.0]]}, "different numbers of rows"),
        (TWO | {"male": [[1.0], [2.0]]}, "lengths"),
        (TWO | {"male": [[np.nan, 0.0], [1.0, 0.0]]}, r"embeddings\['male'\] holds 1"),
        ({"male": ORIGIN, "female": ORIGIN, "neutral": ORIGIN}, "collapsed"),
        ({"male": np.empty((0, 2)), "female": np.empty((0, 2)), "neutral": np.empty((0, 2))}, "0 row"),
    ],
)
def test_bad_embeddings_are_named(data, message):
    with pytest.raises(ValueError, match=message):
        cced(data)


def test_change_refuses_other_texts_and_zero():
    with pytest.raises(ValueError, match="same texts"):
        cced_change(TWO, {name: values[:1] for name, values in TWO.items()})
    equal = {"male": [[1.0, 0.0]], "female": [[0.0, 1.0]], "neutral": [[0.0, 0.0]]}
    with pytest.raises(ValueError, match="share"):
        cced_change(equal, equal)
