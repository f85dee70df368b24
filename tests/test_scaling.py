"""Long inputs cost as much more as they are longer, in time and memory."""

from __future__ import annotations

import pytest

from benchmarks.scaling import CASES, exponent, measure, misses, table

pytestmark = pytest.mark.whole


def test_exponents_are_slopes():
    sizes = (10, 20, 40, 80)
    assert exponent(sizes, [3.0 * size for size in sizes]) == pytest.approx(1.0)
    assert exponent(sizes, [size**2 for size in sizes]) == pytest.approx(2.0)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_cost_is_about_linear(case):
    """At an eighth of the sizes, where milliseconds are measured beside other jobs: a square would still show."""
    row = measure(case, quick=True, repeats=3)
    if row["time_exponent"] >= 1.5:  # once more: the machine may have been busy
        row = measure(case, quick=True, repeats=9)
    assert row["time_exponent"] < 1.5, table({case.name: row})
    assert row["memory_exponent"] < 1.3, table({case.name: row})
    assert misses({case.name: row}, bar=1.5) == []
