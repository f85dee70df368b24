"""The permutation test behind SEAT, 100,000 draws, against a plain Python loop over permutations."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from benchmarks.runner import Benchmark
from hf_fairness.scores.permutation import permutation_test

DRAWS = 100_000
LOOP_DRAWS = 2_000
SENTENCES = 56  # a side of test 6: 8 names in 7 templates


class State(NamedTuple):
    """Associations of the two target sets, and how many draws each side makes."""

    x: list[float]
    y: list[float]
    draws: int
    loop_draws: int


def setup(quick: bool) -> State:
    """Draw associations as a real encoder gives them: small numbers, X a little higher."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.01, 0.03, SENTENCES), rng.normal(0.0, 0.03, SENTENCES)
    return State(x.tolist(), y.tolist(), DRAWS // 10 if quick else DRAWS, LOOP_DRAWS // 4 if quick else LOOP_DRAWS)


def subject(state: State) -> float:
    """Our test; the unit of work is one draw."""
    permutation_test(state.x, state.y, n_samples=state.draws, seed=0)
    return state.draws


def peer(state: State) -> float:
    """What one writes first: shuffle, compare the means, count."""
    rng = random.Random(0)
    both, n = state.x + state.y, len(state.x)
    observed = sum(both[:n]) / n - sum(both[n:]) / len(state.y)
    hits = 0
    for _ in range(state.loop_draws):
        rng.shuffle(both)
        hits += sum(both[:n]) / n - sum(both[n:]) / len(state.y) >= observed
    return state.loop_draws


BENCHMARK = Benchmark(
    name="seat_permutation",
    compares="SEAT permutation test (100,000 draws) against a plain Python loop, per draw",
    bar=20.0,
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
