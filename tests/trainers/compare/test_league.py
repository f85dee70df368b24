"""Claims: which stand, which fall, and what their p-values are."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from hf_fairness.record import Arm, Gap, Measure, Record, Value
from hf_fairness.scores.multiple_tests import holm
from hf_fairness.trainers.compare.league import Gain, claims, gain, league_table, pareto
from hf_fairness.trainers.experiment import over_seeds

CONTROLS = {"m": "control"}
ARMS = (Arm("before", "none", "original"), Arm("control", "control", "control"), Arm("m", "M", "rival"))


def measure(values: dict[str, float], *, half: float = 0.01, kind: str = "bias", direction: str = "lower", **more):
    found = {name: Value(value, (value - half, value + half)) for name, value in values.items()}
    return Measure("x", "s", "x", "a title (X): s", kind, more.pop("ideal", 0.0), direction, found, **more)


def record(one: Measure, *gaps: Gap) -> Record:
    return Record("compare", "r", "", ARMS, (one,), gaps)


def gap(arm: str, against: str, difference: float, half: float | None = 0.005) -> Gap:
    ends = None if half is None else (difference - half, difference + half)
    return Gap("x", arm, against, difference, "improved", "", ends)


def three(control: float, method: float, *, spread: float = 0.0, half: float = 0.005, **how) -> list[Record]:
    """Three seeds of an original at .10, a control and a method."""
    found = []
    for step in (-spread, 0.0, spread):
        values = {"before": 0.1, "control": control, "m": method + step}
        gaps = [gap(a, b, values[a] - values[b], half) for a, b in (("control", "before"), ("m", "before"))]
        found.append(record(measure(values, **how), *gaps, gap("m", "control", values["m"] - values["control"], half)))
    return found


@pytest.mark.parametrize("spread", [0.0, 0.004])
@pytest.mark.parametrize("difference", [-0.03, -0.006, -0.02])
def test_a_p_value_is_below_a_twentieth_just_where_the_interval_of_the_record_excludes_0(spread, difference):
    seeds = three(0.1, 0.1 + difference, spread=spread)
    (low, high) = next(each.ci95 for each in over_seeds(seeds).gaps if (each.arm, each.against) == ("m", "before"))
    found = gain([each.measures[0] for each in seeds], [each.gaps[1] for each in seeds])
    assert (found.p_value() < 0.05) is not (low <= 0.0 <= high)
    assert found.mean == pytest.approx(-difference)


def test_the_p_value_of_items_alone_is_that_of_a_normal_distribution():
    found = Gain(0.02, 0.0, 1, (0.01, 0.01))
    assert found.p_value() == pytest.approx(2 * stats.norm.sf(0.02 / 0.01 * stats.norm.ppf(0.975)), rel=1e-6)


def test_the_p_value_of_seeds_alone_is_students():
    values = [0.01, 0.02, 0.04]
    error = stats.sem(values)
    found = Gain(sum(values) / 3, error, 3, (0.0, 0.0))
    assert found.p_value() == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue, rel=1e-6)


def test_differences_on_both_sides_of_the_ideal_are_judged_by_size_and_both_intervals():
    one = measure({"before": -0.3, "m": 0.1}, half=0.05, direction="zero")
    found = gain([one], [gap("m", "before", 0.4, 0.01)])
    assert found.mean == pytest.approx(0.2)
    assert found.widths == pytest.approx((math.hypot(0.05, 0.05),) * 2)


def test_below_the_ideal_a_rise_is_a_gain():
    found = gain([measure({"before": -0.3, "m": -0.1}, direction="zero")], [gap("m", "before", 0.2, 0.05)])
    assert (found.mean, found.widths) == (pytest.approx(0.2), pytest.approx((0.05, 0.05)))


def statuses(seeds: list[Record], margin: float = 0.03) -> dict[str, str]:
    return {claim.arm: claim.status for claim in claims(seeds, CONTROLS, margin=margin)}


def test_a_claim_stands_where_the_method_beats_the_original_and_the_control():
    assert statuses(three(0.1, 0.05)) == {"m": "stands"}


def test_a_claim_falls_where_the_control_did_better():
    assert statuses(three(0.02, 0.05)) == {"m": "falls"}


def test_a_claim_falls_where_the_measure_rose():
    assert statuses(three(0.1, 0.15)) == {"m": "falls"}


def test_what_the_control_did_as_well_cannot_be_decided():
    assert statuses(three(0.0501, 0.05)) == {"m": "cannot be decided"}


def test_seeds_that_differ_leave_it_open():
    assert statuses(three(0.1, 0.05, spread=0.04))["m"] == "cannot be decided"


def test_a_difference_below_the_noise_of_the_measure_is_none():
    assert statuses(three(0.1, 0.05, noise=0.06))["m"] == "cannot be decided"


def test_without_an_interval_nothing_is_decided():
    seeds = [record(measure({"before": 0.1, "m": 0.05}), gap("m", "before", -0.05, None))]
    bare = Measure("x", "s", "x", "t", "bias", 0.0, "lower", {k: Value(v) for k, v in (("before", 0.1), ("m", 0.05))})
    assert statuses([Record("compare", "r", "", ARMS, (bare,), seeds[0].gaps)]) == {"m": "cannot be decided"}


@pytest.mark.parametrize(
    ("lost", "half", "status"),
    [(0.01, 0.005, "stands"), (0.025, 0.02, "cannot be decided"), (0.08, 0.02, "falls")],
)
def test_utility_is_kept_where_clearly_less_than_the_margin_is_lost(lost, half, status):
    values = {"before": 0.8, "m": 0.8 - lost}
    one = measure(values, kind="utility", direction="higher", ideal=1.0)
    assert statuses([record(one, gap("m", "before", -lost, half))]) == {"m": status}


def test_a_share_that_can_only_fall_is_held_against_the_margin():
    one = measure({"before": 1.0, "m": 0.99}, half=0.001, kind="utility", direction="none", ideal=1.0)
    assert statuses([record(one, gap("m", "before", -0.01, None))]) == {"m": "stands"}


def test_holm_is_over_all_claims_of_the_table():
    def many(n: int) -> Record:
        ones, gaps = [], []
        for place in range(n):
            one = measure({"before": 0.1, "m": 0.1 - 0.006})
            ones.append(Measure(**{**vars(one), "id": f"x{place}"}))
            gaps.append(Gap(f"x{place}", "m", "before", -0.006, "improved", "", (-0.0115, -0.0005)))
        return Record("compare", "r", "", ARMS, tuple(ones), tuple(gaps))

    (alone,) = claims([many(1)], {}, margin=0.03)
    several = claims([many(4)], {}, margin=0.03)
    assert alone.status == "stands"
    assert {each.status for each in several} == {"cannot be decided"}
    assert [each.p_value for each in several] == pytest.approx(holm([alone.p_value] * 4))


def test_the_table_and_the_picture_hold_every_model():
    seeds = three(0.1, 0.05)
    merged = over_seeds(seeds)
    table = league_table(
        merged, claims(seeds, CONTROLS, margin=0.03), {"m": {"seconds": 7.2, "peak_memory_mib": 30}}, 0.03
    )
    assert table.rows[0] == ("Model", "Claims", "X: s", "Time", "Memory")
    assert [row[0] for row in table.rows[1:]] == ["none", "M", "control"]
    assert table.rows[2][1:] == ("✓ 1", "0.050 [0.040, 0.060] ✓", "7 s", "30 MiB")
    picture = pareto(merged, "x", "x")
    assert picture is not None
    assert picture["series"]["M"] == [pytest.approx([0.05, 0.05, 0.04, 0.06, 0.04, 0.06])]
    assert pareto(merged, "x", "y") is None
