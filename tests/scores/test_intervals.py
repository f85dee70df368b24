"""Intervals: on paper, for what small groups and few clusters do to them, and for how often they cover."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import binom

from benchmarks import interval_coverage as study
from hf_fairness.scores import intervals
from hf_fairness.scores.auc import area_under_curve
from hf_fairness.scores.cced import cced
from hf_fairness.scores.flips import counterfactual_flip
from hf_fairness.scores.groups import demographic_parity, equalized_odds
from hf_fairness.scores.labels import as_labels
from hf_fairness.scores.polarity import polarity_accuracy
from hf_fairness.scores.statistics import cluster_index, generator, mean_interval, over_seeds, read_keys
from hf_fairness.utils import FairnessWarning


@pytest.mark.parametrize(("hits", "n"), [(0, 8), (3, 8), (70, 70), (1, 200)])
def test_limits_of_a_rate_leave_out_the_mid_p_tails(hits, n):
    low, high = (float(end[0]) for end in intervals.rate_limits([hits / n], [n]))
    if hits:
        assert binom.sf(hits, n, low) + binom.pmf(hits, n, low) / 2 == pytest.approx(0.025, abs=1e-9)
    if hits < n:
        assert binom.cdf(hits - 1, n, high) + binom.pmf(hits, n, high) / 2 == pytest.approx(0.025, abs=1e-9)
    assert (low == 0.0, high == 1.0) == (hits == 0, hits == n)


def test_a_rate_of_none_and_a_gap_of_one_row_are_no_points():
    predictions, groups = [0] * 8 + [1] * 4 + [0] * 4, ["a"] * 8 + ["b"] * 8
    result = demographic_parity(predictions, groups)
    low, high = result["rates"]["a"]["positive_rate_ci95"]
    assert (low, high > 0.3) == (0.0, True)
    with pytest.warns(FairnessWarning, match="Only 1 row.s. in the smallest group"):
        one = demographic_parity([1] + [1, 0] * 50, ["a"] + ["b"] * 100)
    low, high = one["demographic_parity_difference_ci95"]
    assert low == 0.0
    assert high > 0.55


@pytest.mark.whole
@pytest.mark.parametrize("sizes", [(8, 8), (20, 20), (70, 70), (70, 8)])
@pytest.mark.parametrize("rates", [(0.15, 0.15), (0.5, 0.5), (0.15, 0.5)])
def test_gaps_of_two_groups_cover(sizes, rates):
    cell = study.two_groups(study.ours, sizes, rates)
    assert 0.93 <= cell["coverage"] <= 0.99, cell
    assert cell["width"] <= 1.3 * study.two_groups(study.newcombe, sizes, rates)["width"]


def test_no_method_can_cover_all_cells_of_eight_rows_as_wanted():
    assert study.best_worst_case(8, 0.02, 0.15) < 0.93
    assert study.ordered_bound(8, 0.02, 0.15) < study.best_worst_case(8, 0.02, 0.15)


def test_no_ordered_method_can_cover_all_cells_of_twenty_rows_as_wanted():
    assert study.ordered_bound(20, 0.02, 0.15) < 0.8
    assert study.ordered_bound(40, 0.02, 0.15) > 0.93  # it forbids nothing where there are rows enough


# Simulated coverages lie further inside the bars than two of their standard errors (.0069 at 1000 draws, .004 at 3000).
@pytest.mark.whole
@pytest.mark.parametrize("rates", [(0.15,) * 3, (0.5,) * 5, (0.15, 0.15, 0.5)])
def test_largest_gaps_cover(rates):
    assert 0.92 <= study.largest_gaps(70, rates, runs=1000)["after"]["coverage"] <= 0.99


@pytest.mark.whole
@pytest.mark.parametrize("clusters", study.CLUSTERS)
@pytest.mark.parametrize("kind", ["frames", "skewed", "uneven"])  # "heavy" at 12 is too near the bar for so few draws
def test_cced_covers_with_few_clusters(kind, clusters):
    cell = study.cced_cells(kind, clusters, runs=3000)
    assert 0.92 <= cell["after"]["coverage"] <= 0.99, cell
    assert cell["after"]["coverage"] > cell["before"]["coverage"]


@pytest.mark.whole
@pytest.mark.parametrize("words", study.WORDS)
@pytest.mark.parametrize("d", study.EFFECTS)
def test_effect_sizes_of_seat_cover(words, d):
    cell = study.seat_cells(words, d, runs=1000)
    assert 0.92 <= cell["after"]["coverage"] <= 0.99, cell


@pytest.mark.whole
@pytest.mark.parametrize("seeds", study.SEEDS)
@pytest.mark.parametrize("mean", study.LEVELS)
def test_means_over_seeds_cover(seeds, mean):
    cell = study.seed_cells(seeds, mean, runs=4000)
    assert 0.92 <= cell["after"]["coverage"] <= 0.99, cell
    assert cell["after"]["width"] <= cell["before"]["width"]


def test_the_page_of_the_benchmark_names_every_miss():
    cell = {"n": [8, 8], "after": {"coverage": 0.9, "width": 3.0}, "newcombe": {"coverage": 0.95, "width": 2.0}}
    results = {kind: [cell] for kind in study.BARS} | {"bound": {"8: 0.1, 0.2": 0.9}}
    assert len(study.misses(results)) == 2 * len(study.BARS)
    assert "**0.900** (3.000, 1.50)" in study.tables(results)


def test_gap_with_clusters_uses_what_the_groups_share():
    """A template moves both groups alike: the gap is known better than the rates."""
    rng = np.random.default_rng(0)
    level = np.repeat(rng.random(40), 10)
    groups, clusters = np.tile(["a", "b"], 200), np.repeat(np.arange(40), 10)
    predictions = (rng.random(400) < level).astype(int)
    together = demographic_parity(predictions, groups, clusters=clusters)
    low, high = together["demographic_parity_difference_ci95"]
    ends = [row["positive_rate_ci95"] for row in together["rates"].values()]
    assert high - low < sum(end[1] - end[0] for end in ends) / 2


def test_one_cluster_has_no_interval_and_few_are_warned_of():
    predictions, groups = [1, 0] * 20, ["a", "a", "b", "b"] * 10
    with pytest.warns(FairnessWarning, match="Only 1 clusters"):
        result = demographic_parity(predictions, groups, clusters=["one"] * 40)
    assert result["demographic_parity_difference"] == 0.0
    assert result["demographic_parity_difference_ci95"] is None
    assert result["rates"]["a"]["positive_rate_ci95"] is None
    embeddings = {name: np.random.default_rng(seed).normal(size=(40, 3)) for seed, name in enumerate("abn")}
    with pytest.warns(FairnessWarning, match="Only 1 clusters"):
        assert cced(embeddings, neutral="n", clusters=[7] * 40)["cced_ci95"] is None
    assert area_under_curve([0.1, 0.2, 0.3], [True, False, True], clusters=[1, 1, 1])["auc_ci95"] is None


def test_clusters_in_any_container_are_the_same_clusters():
    labels = [0, 0, 1, 1, 2, 2]
    kinds = [
        labels,
        np.array(labels),
        torch.tensor(labels),
        list(torch.tensor(labels)),
        pd.Series(labels),
        map(str, labels),
    ]
    for given in kinds:
        assert cluster_index(list(given) if isinstance(given, map) else given, 6).tolist() == labels


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, np.float64("nan"), pd.NaT])
def test_a_missing_label_is_no_cluster(missing):
    with pytest.raises(ValueError, match=r"clusters holds 1 row.*first in row 1.*not one group"):
        cluster_index(["a", missing, "b"], 3)


def test_labels_that_differ_do_not_merge():
    assert len(set(read_keys(["b", "b\0", "B"], 3, "groups"))) == 3
    rates = demographic_parity([1, 0] * 8, ["b"] * 8 + ["b\0"] * 8)["positive_rate"]
    assert set(rates) == {"b", "b\0"}
    big = [2**63, 2**63 + 1] * 8
    assert len(set(as_labels(big, "groups").tolist())) == 2
    assert set(demographic_parity([1, 0] * 8, big)["positive_rate"]) == {str(2**63), str(2**63 + 1)}


@pytest.mark.parametrize("seed", [None, "0", 1.5])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match=r"seed must be a whole number.*Leave it out"):
        generator(seed)
    with pytest.raises(ValueError, match="seed must be a whole number"):
        demographic_parity([1, 0] * 8, ["a", "b"] * 8, seed=seed)


def test_half_precision_tensors_are_numbers():
    scores = torch.tensor([0.25, 0.5, 0.75, 0.5] * 4, dtype=torch.bfloat16)
    versions = {"a": [1, 0] * 8, "b": [1, 0] * 8}
    result = counterfactual_flip(versions, probabilities={"a": scores, "b": scores.flip(0)}, changed=[1] * 16)
    assert result["mean_abs_probability_change"] > 0.0
    odds = equalized_odds(
        torch.tensor([1, 0] * 8), torch.tensor([1, 1, 0, 0] * 4), ["a"] * 8 + ["b"] * 8, probabilities=scores
    )
    assert 0.0 <= odds["auc"] <= 1.0
    rows = torch.randn(12, 3, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(0))
    assert cced({"a": rows, "b": -rows, "neutral": rows / 2})["cced"] > 0.0


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan")])
def test_missing_counts_are_named(missing):
    counts = {"a": [[1, 0], [missing, 0]], "b": [[0, 1], [0, 1]]}
    with pytest.raises(ValueError, match=r"counts\['a'\] holds 1 value.*row 1"):
        polarity_accuracy(counts, ["a", "b"])
    with pytest.raises(ValueError, match="predictions holds 1 row"):
        demographic_parity([1, missing, 0], ["a", "b", "b"])


def test_time_and_memory_are_linear_in_groups():
    import tracemalloc

    peaks = []
    for k in (1000, 4000):
        groups, references = np.arange(8 * k) % k, np.arange(8 * k) // k % 2
        predictions = np.random.default_rng(0).integers(0, 2, 8 * k)
        tracemalloc.start()
        demographic_parity(predictions, groups, references=references, clusters=groups // 7)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 4.0**1.2 * peaks[0]


def test_means_over_seeds_stay_in_their_range():
    assert over_seeds([0.2, 0.9], low=0.0, high=1.0)["ci95"] == [0.0, 1.0]
    assert over_seeds([1.0, 2.0, 3.0])["ci95"] == pytest.approx([2.0 - 4.302653 / 3**0.5, 2.0 + 4.302653 / 3**0.5])
    assert over_seeds([0.5, None])["mean"] is None
    assert mean_interval([0.5]) is None
