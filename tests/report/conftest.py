"""Audits with invented but realistic numbers: a sentence encoder before and after CCD, and its control."""

from __future__ import annotations

import copy

import numpy as np
import pytest

BEFORE_D = {"6": 1.294, "6b": 0.277, "7": 0.728, "7b": 1.440, "8": 0.721, "8b": 1.286}
AFTER_D = {"6": 1.102, "6b": 0.041, "7": 0.402, "7b": 0.913, "8": -0.310, "8b": 0.780}
CONTROL_D = {"6": 1.281, "6b": 0.260, "7": 0.741, "7b": 1.402, "8": 0.735, "8b": 1.270}


def _test(d: float, half: float) -> dict:
    return {
        "effect_size": d,
        "effect_size_ci95": [d - half, d + half],
        "p_value": max(0.00001, 0.5 - abs(d) / 3),
        "p_value_clustered": max(0.0004, 0.6 - abs(d) / 3),
        "numerator": d * 0.08,
        "n_words": 16,
        "n_sentences": 128,
        "method": "exact",
    }


def _seat(sizes: dict[str, float]) -> dict:
    mean = float(np.mean([abs(d) for d in sizes.values()]))
    retention = {name: _test(d, 0.2) | {"purpose": "retention"} for name, d in (("1", 1.42), ("2", 1.51))}
    return {
        "tests": {name: _test(d, 0.35) for name, d in sizes.items()} | retention,
        "mean_abs_effect_size": mean,
        "mean_abs_effect_size_ci95": [mean - 0.18, mean + 0.18],
        "retention": retention,
        "meta": {"n": 8, "seed": 0},
    }


def _cced(value: float, distance: float, n: int) -> dict:
    relative = value / distance
    return {
        "cced": value,
        "cced_ci95": [value * 0.93, value * 1.07],
        "cced_signed": -value / 3,
        "cced_signed_ci95": [-value / 2, -value / 6],
        "cced_relative": relative,
        "cced_relative_ci95": [relative * 0.93, relative * 1.07],
        "mean_distance": distance,
        "mean_distance_ci95": [distance * 0.97, distance * 1.03],
        "n": n,
        "n_skipped": 12,
        "pairs": {"male-female": {"cced": value}},
        "meta": {"n": n},
    }


def _points(seed: int, gap: float) -> dict:
    rng = np.random.default_rng(seed)
    topics = rng.normal(0, 14, (9, 2))
    base = np.repeat(topics, 12, axis=0) + rng.normal(0, 2.2, (108, 2))
    shift = {"male": gap, "female": -gap, "neutral": 0.0}
    return {
        group: (base + np.array([by, by / 2]) + rng.normal(0, 0.6, base.shape)).round(3).tolist()
        for group, by in shift.items()
    }


def _audit(name: str, sizes: dict, cced: dict, probe: tuple, sts: float, gap: float) -> dict:
    return {
        "model": name,
        "attribute": "gender",
        "language": "en",
        "date": "2026-01-15T10:00:00+00:00",
        "versions": {"hf_fairness": "0.1.0", "torch": "2.13.0"},
        "seat": _seat(sizes),
        "cced": {key: _cced(*numbers) for key, numbers in cced.items()},
        "probe": {
            kind: {"accuracy": a, "accuracy_ci95": [a - 0.02, a + 0.02], "chance": 0.5, "n": 800}
            for kind, a in zip(("linear", "mlp"), probe, strict=True)
        },
        "utility": {"sts_spearman": sts, "sts_spearman_ci95": [sts - 0.015, sts + 0.015], "n": 1500},
        "projection": {"method": "tsne", "points": _points(3, gap), "n": 324},
        "not_measured": ["CrowS-Pairs and StereoSet: the model has no language-model head"],
    }


@pytest.fixture
def before() -> dict:
    """The original encoder."""
    sets = {"built-in": (0.093, 0.492, 240), "own triples": (0.081, 0.455, 1000)}
    return _audit("sentence-transformers/all-MiniLM-L6-v2", BEFORE_D, sets, (0.962, 0.958), 0.8203, 2.6)


@pytest.fixture
def after() -> dict:
    """The mitigated encoder: less CCED, no clear change of STS, a little less similarity structure."""
    sets = {"built-in": (0.021, 0.371, 240), "own triples": (0.034, 0.350, 1000)}
    audit = _audit("out/minilm-ccd", AFTER_D, sets, (0.915, 0.921), 0.8189, 0.5)
    audit["utility"] |= {"similarity_structure": 0.989, "similarity_structure_ci95": [0.987, 0.991]}
    return audit


@pytest.fixture
def control() -> dict:
    """The same training without the method."""
    sets = {"built-in": (0.091, 0.490, 240), "own triples": (0.080, 0.452, 1000)}
    audit = _audit("out/minilm-control", CONTROL_D, sets, (0.960, 0.957), 0.8201, 2.5)
    audit["utility"] |= {"similarity_structure": 0.997, "similarity_structure_ci95": [0.996, 0.998]}
    return audit


@pytest.fixture
def training() -> dict:
    """What the trainer recorded."""
    steps = range(10, 480, 10)
    return {
        "method": "CCD (content-conditional debiasing)",
        "hyperparameters": {"learning_rate": 5e-5, "beta": 1.0, "epochs": 1, "batch_size": 32, "seed": 42},
        "data": "1,500 triples made by rules from sentences written for the project",
        "n": 1500,
        "n_skipped": 214,
        "rho": 0.4871,
        "seconds": 78.2,
        "loss_curve": [
            {
                "step": step,
                "bias": 0.2 * float(np.exp(-step / 120)) + 0.02,
                "rep": 0.09 * (1 - float(np.exp(-step / 60))),
                "learning_rate": 5e-5,
            }
            for step in steps
        ],
    }


@pytest.fixture
def minimal() -> tuple[dict, dict]:
    """Two audits with one measure each, to be changed by a test."""
    one = {"model": "a", "cced": {"s": {"cced": 0.10, "cced_ci95": [0.09, 0.11], "n": 50}}}
    two = copy.deepcopy(one)
    two["model"] = "b"
    return one, two
