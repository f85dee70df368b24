"""Guards: agreement with a judge, histograms, diversity; and the settings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.guards import degree_histogram, diversity, expected_agreement, label_agreement


def test_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    judged = np.where(rng.random(400) < 0.4, labels, rng.integers(0, 3, 400))
    found = label_agreement(judged, labels, 3)
    assert found["kappa"] == pytest.approx(cohen_kappa_score(judged, labels))
    assert found["agreement"] == (judged == labels).mean()
    assert found["agreement_ci95"][0] < found["agreement"] < found["agreement_ci95"][1]
    assert not found["at_chance"]


def test_labels_without_meaning_are_at_chance():
    rng = np.random.default_rng(1)
    flags = [
        label_agreement(rng.integers(0, 3, 300), rng.integers(0, 3, 300), 3, seed=k)["at_chance"] for k in range(60)
    ]
    assert np.mean(flags) > 0.85  # 95 % but for the draw of 60


def test_a_judge_that_always_says_the_same_tells_nothing():
    found = label_agreement([1] * 50, [0, 1] * 25, 2)
    assert found["kappa"] == 0.0
    assert found["at_chance"]
    constant = label_agreement([1] * 50, [1] * 50, 2)
    assert constant["kappa"] is None  # chance is 1
    assert constant["at_chance"]


def test_labels_worse_than_chance_are_not_at_chance():
    """A judge that follows the bias on samples against it."""
    assert not label_agreement([0, 1] * 50, [1, 0] * 50, 2)["at_chance"]


def test_what_a_biased_judge_is_expected_to_agree_with():
    """A judge that is right where the bias is: on samples against the bias nobody expects it to agree."""
    rng = np.random.default_rng(1)
    known = rng.random(20_000)
    right = rng.random(20_000) < known  # right as often as the bias degree says
    for low, high in ((0.0, 0.3), (0.5, 1.0)):
        samples = rng.uniform(low, high, 2000)
        assert expected_agreement(right, known, samples) == pytest.approx((low + high) / 2, abs=0.03)
    assert expected_agreement(right, known, known) == pytest.approx(right.mean())
    assert expected_agreement([True], [0.95], [0.95, 0.95, 0.05]) == 1.0  # a bin without validation rows is left out
    assert expected_agreement([True], [1.0], [0.05]) is None


def test_no_samples():
    with pytest.raises(ValueError, match="Agreement needs a judged class per label"):
        label_agreement([], [], 2)


def test_histogram_and_diversity():
    assert degree_histogram([]) == {"counts": [0] * 10, "mean": None, "n": 0}
    assert sum(degree_histogram(np.linspace(0, 1, 101))["counts"]) == 101
    found = diversity([["a b", "A b"], ["c", "c"]])
    assert found == {"distinct_1": 3 / 6, "distinct_2": 0.5, "distinct_3": None, "mean_words": 3.0, "n": 2}
    assert diversity([["a b", "c d"]], limit=1)["n"] == 1


def test_defaults_are_those_of_the_paper():
    """Wang et al. 2023, section 3.1."""
    config = IBADRConfig()
    stated = (
        config.n_shallow,
        config.shallow_num_train_epochs,
        config.shallow_learning_rate,
        config.generator_learning_rate,
    )
    assert stated == (2000, 3, 5e-5, 5e-5)
    assert (config.n_generated, config.n_iterations, config.n_bias_indicators) == (200_000, 5, 5)
    assert (config.generator_num_train_epochs, config.generator_later_num_train_epochs) == (3, 1)
    assert (config.num_train_epochs, config.learning_rate) == (8, 1e-5)
    assert (config.per_device_train_batch_size, config.early_stopping_patience, config.seed) == (32, 2, 0)
    assert config.low_indicators == 2  # r <= N_bi / 2


@pytest.mark.parametrize(("n", "low"), [(2, 1), (3, 1), (5, 2), (7, 3), (9, 4)])
def test_low_indicators_are_half_rounded_down(n, low):
    assert IBADRConfig(n_bias_indicators=n).low_indicators == low
    assert IBADRConfig(n_bias_indicators=n, random_indicator=False).low_indicators == 1


def test_one_round_draws_as_many():
    config = IBADRConfig(iterative=False, n_generated=10, n_iterations=3)
    assert (config.rounds, config.n_drawn) == (1, 30)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_bias_indicators", 1),
        ("n_shallow", 0),
        ("top_p", 0.0),
        ("confidence_threshold", 1.5),
        ("temperature", 0.0),
        ("label_distribution", [0.5, 0.6]),
        ("label_distribution", [-0.5, 1.5]),
        ("num_train_epochs", 0),
        ("n_iterations", 0),
    ],
)
def test_bad_settings(setting, value):
    with pytest.raises(ValueError, match=f"--{setting} is"):
        IBADRConfig(**{setting: value})


def test_shares_of_labels():
    assert IBADRConfig().label_shares(4) == [0.25] * 4
    assert IBADRConfig(label_distribution=[0.2, 0.8]).label_shares(2) == [0.2, 0.8]
    with pytest.raises(ValueError, match="label_distribution has 2 shares for 3 labels"):
        IBADRConfig(label_distribution=[0.2, 0.8]).label_shares(3)
