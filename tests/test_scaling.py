"""Long inputs cost as much more as they are longer, in time and memory."""

from __future__ import annotations

import time

import pytest

from benchmarks.scaling import CASES, Case, exponent, measure, misses, table

pytestmark = pytest.mark.whole
#: Without those timed by the clock, which other tests share.
TIMED = [case for case in CASES if case.clock is time.process_time]


def test_exponents_are_slopes():
    sizes = (10, 20, 40, 80)
    assert exponent(sizes, [3.0 * size for size in sizes]) == pytest.approx(1.0)
    assert exponent(sizes, [size**2 for size in sizes]) == pytest.approx(2.0)


@pytest.mark.parametrize("case", TIMED, ids=[case.name for case in TIMED])
def test_cost_is_about_linear(case):
    """At small parts of the sizes, where milliseconds are measured beside other jobs: a square would still show."""
    row = measure(case, quick=True, repeats=3)
    if row["time_exponent"] >= 1.5:  # once more: the machine may have been busy
        row = measure(case, quick=True, repeats=9)
    assert row["time_exponent"] < 1.5, table({case.name: row})
    assert row["memory_exponent"] < 1.3, table({case.name: row})
    assert misses({case.name: row}, bar=1.5, super_linear=1.5) == []


def test_a_square_is_called_super_linear_and_a_busy_machine_is_not():
    def pairs(n: int):
        return lambda: [a * b for a in range(n) for b in range(n)]

    row = measure(Case("pairs", "rows", (60, 120, 240, 480), pairs), repeats=3)
    assert any("super-linear" in line for line in misses({"pairs": row}))
    steady = {**row, "time_exponent": 1.0, "memory_exponent": 1.0, "time_interval_last": [0.7, 1.6]}
    assert misses({"pairs": {**steady, "time_interval": [1.0, 1.3]}}) == []
