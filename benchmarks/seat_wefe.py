"""SEAT test 6 on ready vectors against WEFE's WEAT with its p-value: the same texts, vectors and number of draws.

WEFE computes every association anew in every draw, one text at a time. Ours does it once, and then more: the test
over words beside that over sentences, an interval of d and the smallest d that could be found. Where the definitions
are the same the numbers are: d with ddof = 0, as WEFE has it, and the difference of the sums. The floor is one matrix
product and one plain numpy permutation of the associations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.runner import Benchmark, agree
from hf_fairness.measure.encoder.seat import Embedded, texts_of, words_of
from hf_fairness.measure.encoder.seat_tests import resolve_tests
from hf_fairness.scores.seat import associations, effect_size, seat_test

WIDTH = 384
#: Draws of ours and of WEFE's, whose time is all draws.
DRAWS = {"50 draws": (50, 50), "100,000 draws, WEFE 20": (100_000, 20)}
#: WEFE's results of float32 vectors, ours of the same in float64.
TOLERANCE = 1e-5


class State(NamedTuple):
    """Vectors of the four sets and the words of the first two; the same as WEFE takes them; how many draws."""

    sets: list[Any]
    words: dict[str, Any]
    model: Any
    query: Any
    draws: tuple[int, int]


def setup(quick: bool, size: str) -> State:
    """Vectors as a biased encoder would give them: random, and X and A share a direction."""
    from gensim.models import KeyedVectors
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    (test,) = resolve_tests(["6"])
    texts, rng = texts_of([test]), np.random.default_rng(0)
    table = rng.normal(size=(len(texts), WIDTH)).astype(np.float32)
    shared = {text for part in (test.targ1, test.attr1) for text in part.texts}
    table[[text in shared for text in texts]] += 0.3 * rng.normal(size=WIDTH).astype(np.float32)
    vectors = KeyedVectors(WIDTH)
    vectors.add_vectors(texts, table)
    sides = [list(part.texts) for part in test.sets]
    query = Query(sides[:2], sides[2:], ["X", "Y"], ["A", "B"])
    sets = Embedded(tuple(texts), table).sets(test)
    ours, theirs = (draws // (4 if quick else 1) for draws in DRAWS[size])
    return State(sets, words_of(test), WordEmbeddingModel(vectors, "vectors"), query, (ours, theirs))


def check(state: State) -> dict[str, float]:
    """What both say; d and the difference of sums agree, the p-values are of other draws."""
    ours, theirs = _ours(state), _theirs(state)
    x, y, a, b = state.sets
    s_x, s_y = associations(x, a, b), associations(y, a, b)
    d = effect_size(s_x, s_y, ddof=0)
    agree("effect size, ddof = 0", [d], [theirs["effect_size"]], TOLERANCE)
    agree("difference of sums", [s_x.sum() - s_y.sum()], [theirs["weat"]], TOLERANCE * len(s_x))
    return {"d (ddof = 0) of both": d, "p": ours["p_value"], "WEFE's p": float(theirs["p_value"])}


def _ours(state: State) -> dict[str, Any]:
    return seat_test(*state.sets, **state.words, n_samples=state.draws[0])


def _theirs(state: State) -> dict[str, Any]:
    from wefe.metrics import WEAT

    found: dict[str, Any] = WEAT().run_query(
        state.query, state.model, calculate_p_value=True, p_value_iterations=state.draws[1]
    )
    return found


def subject(state: State) -> float:
    """The whole result of ours; the unit of work is one draw."""
    _ours(state)
    return state.draws[0]


def peer(state: State) -> float:
    """The whole result of WEFE's."""
    _theirs(state)
    return state.draws[1]


def floor(state: State) -> float:
    """Associations, and a permutation of them for one p-value."""
    x, y, a, b = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in state.sets)
    both = np.concatenate([x, y]) @ (a.mean(axis=0) - b.mean(axis=0))
    draws = np.random.default_rng(0).permuted(np.tile(both, (state.draws[0], 1)), axis=1)
    np.mean(draws[:, : len(x)].mean(axis=1) >= both[: len(x)].mean())
    return state.draws[0]


BENCHMARK = Benchmark(
    name="seat_wefe",
    compares="SEAT test 6 on ready vectors against WEFE's WEAT with its p-value, per draw",
    bar=dict.fromkeys(DRAWS, 1.0),
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=5,
    rival="wefe",
    check=check,
)
