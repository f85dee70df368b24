"""Accuracy, F1 and agreement with scores, against counts on paper and scipy; changes are paired."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, pearsonr, spearmanr

from hf_fairness.scores.transfer import class_changes, class_scores, relatedness_changes, relatedness_scores


def test_accuracy_and_f1_are_those_on_paper():
    found = class_scores([1, 1, 1, 0, 0, 2], [1, 1, 0, 0, 1, 2], positive=1)
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found["majority"] == pytest.approx(3 / 6)
    low, high = binomtest(4, 6).proportion_ci(method="wilson")
    assert found["accuracy_ci95"] == pytest.approx([low, high])
    low, high = found["f1_ci95"]
    assert 0.0 <= low < found["f1"] < high <= 1.0
    assert "f1" not in class_scores([1, 0], [1, 0])


def test_a_class_that_is_never_told_has_no_f1_but_a_number():
    found = class_scores([0, 0, 0], [1, 0, 0], positive=1)
    assert found["f1"] == 0.0


def test_the_change_of_accuracy_is_mcnemars_exact_test():
    gold = np.ones(40)
    told, before = gold.copy(), gold.copy()
    told[:2] = 0
    before[2:11] = 0  # 2 items are told by the other model alone, 9 by this one alone
    found = class_changes(told, before, gold, positive=1)
    assert found["accuracy_change"] == pytest.approx(7 / 40)
    assert found["accuracy_change_p_value"] == pytest.approx(binomtest(2, 11).pvalue)
    low, high = found["accuracy_change_ci95"]
    assert 0 < low < 7 / 40 < high
    assert found["f1_change"] == pytest.approx(2 * 38 / 78 - 2 * 31 / 71)
    same = class_changes(told, told, gold)
    assert (same["accuracy_change"], same["accuracy_change_p_value"]) == (0.0, 1.0)


@pytest.fixture(scope="module")
def scored():
    random = np.random.default_rng(0)
    gold = random.uniform(1, 5, 200)
    near, far = gold + random.normal(0, 0.3, 200), gold + random.normal(0, 1.5, 200)
    return gold, near, far


def test_agreement_is_that_of_scipy(scored):
    gold, near, far = scored
    found = relatedness_scores(near, far, gold, n_bootstrap=200)
    assert found["pearson"] == pytest.approx(pearsonr(near, gold).statistic)
    assert found["spearman"] == pytest.approx(spearmanr(near, gold).statistic)
    assert found["cosine_spearman"] == pytest.approx(spearmanr(far, gold).statistic)
    assert found["mse"] == pytest.approx(np.mean((near - gold) ** 2))
    for key in ("pearson", "spearman", "cosine_spearman", "mse"):
        low, high = found[f"{key}_ci95"]
        assert low < found[key] < high
    assert relatedness_scores(near + 100.0, far, gold, n_bootstrap=0)["pearson"] == pytest.approx(found["pearson"])


def test_predictions_that_do_not_vary_agree_with_nothing(scored):
    gold, _, far = scored
    found = relatedness_scores(np.full(len(gold), 3.0), far, gold, n_bootstrap=20)
    assert (found["pearson"], found["spearman"]) == (0.0, 0.0)


def test_changes_of_agreement_are_paired(scored):
    gold, near, far = scored
    found = relatedness_changes(near, near, far, far, gold, n_bootstrap=200)
    assert found["pearson_change"] == pytest.approx(pearsonr(near, gold).statistic - pearsonr(far, gold).statistic)
    assert found["pearson_change_p_value"] < 0.01
    assert found["pearson_change_ci95"][0] > 0
    assert found["mse_change_ci95"][1] < 0
    assert found["cosine_spearman_change_ci95"][0] > 0
    same = relatedness_changes(near, far, near, far, gold, n_bootstrap=50)
    assert (same["pearson_change"], same["spearman_change"], same["mse_change_p_value"]) == (0.0, 0.0, 1.0)


def test_different_items_are_refused():
    with pytest.raises(ValueError, match="must be of the same items; got 3 and 2"):
        class_scores([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="predictions holds 0 row"):
        class_scores([], [])
