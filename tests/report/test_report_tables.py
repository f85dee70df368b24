"""The verdict rule, checked on numbers that can be followed by hand."""

from __future__ import annotations

import copy
import math

import pytest

from hf_fairness.report import delta_table, summarize
from hf_fairness.report.text import display_name, format_change, format_number, missing_sections
from hf_fairness.report.values import read_values


def cced(value: float, low: float, high: float, **more) -> dict:
    return {"model": "m", "cced": {"s": {"cced": value, "cced_ci95": [low, high], **more}}}


def seat(d: float, low: float, high: float, **more) -> dict:
    return {"seat": {"tests": {"6": {"effect_size": d, "effect_size_ci95": [low, high], **more}}}}


def sts(value: float, low: float, high: float) -> dict:
    return {"utility": {"sts_spearman": value, "sts_spearman_ci95": [low, high], "n": 10}}


def probe(value: float, low: float, high: float) -> dict:
    return {"probe": {"linear": {"accuracy": value, "accuracy_ci95": [low, high], "chance": 0.5}}}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (cced(0.10, 0.09, 0.11), cced(0.05, 0.04, 0.06), "improved"),
        (cced(0.05, 0.04, 0.06), cced(0.10, 0.09, 0.11), "worse"),
        (cced(0.10, 0.07, 0.13), cced(0.08, 0.05, 0.11), "no clear change"),
        (cced(0.10, 0.09, 0.11), cced(0.08, 0.07, 0.09), "no clear change"),  # they touch
        (sts(0.82, 0.81, 0.83), sts(0.70, 0.69, 0.71), "worse"),
        (sts(0.70, 0.69, 0.71), sts(0.82, 0.81, 0.83), "improved"),
        (seat(1.2, 1.0, 1.4), seat(0.2, -0.1, 0.5), "improved"),
        (seat(-1.2, -1.4, -1.0), seat(-0.2, -0.5, 0.1), "improved"),
        (seat(0.2, -0.1, 0.5), seat(-1.2, -1.4, -1.0), "worse"),
        (seat(1.2, 1.1, 1.3), seat(-1.2, -1.3, -1.1), "no clear change"),  # as far from 0 as before
        (seat(1.20, 1.19, 1.21), seat(1.10, 1.09, 1.11), "no clear change"),  # less than two seeds differ
        (probe(0.9, 0.88, 0.92), probe(0.5, 0.48, 0.52), "improved"),
        (probe(0.50, 0.49, 0.51), probe(0.40, 0.39, 0.41), "no clear change"),  # below chance reads nothing
        (probe(0.6, 0.58, 0.62), probe(0.8, 0.78, 0.82), "worse"),
    ],
)
def test_verdict(before, after, verdict):
    (row,) = delta_table(after, before)
    assert row.verdict == verdict
    assert row.change == pytest.approx(row.after - row.before)


def test_paired_interval_goes_before_overlap():
    before = cced(0.10, 0.05, 0.15)
    after = cced(0.08, 0.03, 0.13, cced_change_ci95=[-0.03, -0.01])
    (row,) = delta_table(after, before)
    assert (row.verdict, row.change_ci95) == ("improved", (-0.03, -0.01))
    (row,) = delta_table(after, before, paired={"cced/s/cced": [-0.03, 0.01]})
    assert row.verdict == "no clear change"
    worse = cced(0.12, 0.07, 0.17, change={"cced_change_ci95": [0.01, 0.03]})
    (row,) = delta_table(worse, before)
    assert row.verdict == "worse"


def test_paired_interval_of_a_sign_flip_decides_nothing():
    """From 1.2 to -1.1 the difference is certain, yet the association is as strong as before."""
    before, after = seat(1.2, 0.9, 1.5), seat(-1.0, -1.4, -0.6, effect_size_change_ci95=[-2.6, -1.8])
    (row,) = delta_table(after, before)
    assert row.verdict == "no clear change"


def test_paired_must_name_a_row():
    with pytest.raises(ValueError, match=r"paired: got 'cced/x/cced'.*cced/s/cced"):
        delta_table(cced(0.1, 0.0, 0.2), paired={"cced/x/cced": [0, 1]})
    with pytest.raises(ValueError, match="expected an interval"):
        delta_table(cced(0.1, 0.0, 0.2), paired={"cced/s/cced": [0, math.nan]})


def test_missing_interval_is_not_decided_but_named():
    before, after = sts(0.82, 0.81, 0.83), {"utility": {"sts_spearman": 0.40, "n": 10}}
    rows = delta_table(after, before)
    assert rows[0].verdict == "no interval"
    summary = summarize(rows)
    assert not summary.worse
    assert "moved the wrong way" in summary.undecided[0]
    assert "0.820" in summary.undecided[0]
    assert "0.400" in summary.undecided[0]


def test_change_relative():
    (row,) = delta_table(cced(0.05, 0.04, 0.06), cced(0.20, 0.19, 0.21))
    assert row.change_relative == pytest.approx(-0.75)
    (row,) = delta_table(cced(0.05, 0.04, 0.06), cced(0.0, 0.0, 0.0))
    assert row.change_relative is None
    (row,) = delta_table(seat(-0.3, -0.5, 0.1), seat(1.2, 1.0, 1.4))
    assert (row.change, row.change_relative) == (pytest.approx(-1.5), pytest.approx(-0.75))
    assert row.change_text == "−1.500 (size −75\N{NO-BREAK SPACE}%)"


def test_similarity_structure_is_compared_with_one():
    after = {"utility": {"similarity_structure": 0.93, "similarity_structure_ci95": [0.92, 0.94]}}
    (row,) = delta_table(after, {"model": "old"})
    assert (row.before, row.verdict) == (1.0, "worse")
    (row,) = delta_table(after)
    assert (row.before, row.verdict) == (None, "no comparison")


def test_nested_utility_results_are_found():
    after = {
        "utility": {
            "sts": sts(0.8, 0.7, 0.9)["utility"],
            "similarity": {"similarity_structure": 0.99, "similarity_structure_ci95": [0.98, 1.0], "n": 4000},
        }
    }
    rows = delta_table(after)
    assert [(row.metric, row.after, row.sample) for row in rows] == [
        ("sts_spearman", 0.8, "10 pairs"),
        ("similarity_structure", 0.99, "4,000 pairs"),
    ]


def test_retention_tests_are_utility_also_when_listed_with_the_others(before, after):
    rows = {row.id: row for row in delta_table(after, before)}
    assert rows["seat/retention/1/effect_size"].kind == "utility"
    assert "seat/tests/1/effect_size" not in rows
    marked = seat(1.5, 1.2, 1.8, purpose="retention")
    (value,) = read_values(marked)
    assert (value.id, value.direction) == ("seat/retention/6/effect_size", "higher")


def test_a_lost_retention_test_is_worse(before, after):
    after["seat"]["retention"]["1"] |= {"effect_size": 0.4, "effect_size_ci95": [0.2, 0.6]}
    summary = summarize(delta_table(after, before))
    assert any("retention test" in line for line in summary.worse)


def test_worsened_utility_is_reported(before, after, control):
    """Whatever improves, a loss of utility stands first, with its numbers."""
    after["utility"] |= {"sts_spearman": 0.61, "sts_spearman_ci95": [0.60, 0.62]}
    summary = summarize(delta_table(after, before, control))
    assert summary.improved
    line = next(line for line in summary.worse if "human scores" in line)
    assert "0.820" in line
    assert "0.610" in line
    assert "2 got worse" in summary.headline
    assert any("clearly worse than the control" in line for line in summary.cautions)


def test_every_judged_row_is_in_exactly_one_list(before, after, control):
    rows = delta_table(after, before, control)
    summary = summarize(rows)
    lists = [summary.worse, summary.improved, summary.unclear, summary.undecided]
    judged = [row for row in rows if row.verdict not in {"not judged", "no comparison"}]
    assert sum(map(len, lists)) == len(judged) > 10
    for row in judged:
        assert sum(any(line.startswith(f"{row.title}:") for line in lines) for lines in lists) >= 1


def test_collapse_is_called_out():
    """All distances shrink together: CCED falls, CCED / mean distance does not."""
    before = cced(0.10, 0.09, 0.11, cced_relative=0.2, cced_relative_ci95=[0.18, 0.22])
    after = cced(0.05, 0.04, 0.06, cced_relative=0.2, cced_relative_ci95=[0.18, 0.22])
    summary = summarize(delta_table(after, before))
    assert any("drawn its embeddings together" in line for line in summary.cautions)
    honest = cced(0.05, 0.04, 0.06, cced_relative=0.1, cced_relative_ci95=[0.09, 0.11])
    assert not any("together" in line for line in summarize(delta_table(honest, before)).cautions)


def test_improvement_that_the_control_shares_is_called_out():
    before, after = cced(0.10, 0.09, 0.11), cced(0.05, 0.04, 0.06)
    alone = summarize(delta_table(after, before))
    assert any("No control" in line for line in alone.cautions)
    shared = summarize(delta_table(after, before, cced(0.05, 0.04, 0.06)))
    assert any("cannot be told apart" in line for line in shared.cautions)
    own = summarize(delta_table(after, before, cced(0.10, 0.09, 0.11)))
    assert not any("cannot be told apart" in line for line in own.cautions)


def test_measure_that_is_gone_after_training_is_named():
    before = cced(0.10, 0.09, 0.11) | sts(0.8, 0.7, 0.9)
    summary = summarize(delta_table(cced(0.05, 0.04, 0.06), before))
    assert any("Measured before but not after" in line for line in summary.cautions)


def test_single_audit(before):
    summary = summarize(delta_table(before))
    assert not summary.improved
    assert "nothing to compare with" in summary.headline
    assert any("the interval excludes 0" in line for line in summary.measured)
    assert any("the interval holds 0" in line for line in summary.measured)  # test 6b


@pytest.mark.parametrize("audit", [{}, {"seat": {}, "cced": {}, "probe": {}, "utility": {}}, {"seat": None}])
def test_empty_audit(audit):
    assert delta_table(audit) == []
    assert summarize([]).headline == "Nothing was measured."
    missing = " ".join(missing_sections(audit))
    for word in ("SEAT", "CCED", "probe", "utility"):
        assert word in missing


def test_nan_is_left_out_and_named():
    audit = cced(math.nan, 0.0, 1.0) | {"probe": {"linear": {"accuracy": 0.6, "chance": 0.5, "n": 3}}}
    assert [row.metric for row in delta_table(audit)] == ["accuracy"]
    assert any(line.startswith("cced/s/cced:") for line in missing_sections(audit))


def test_more_than_two_groups_show_every_pair():
    pairs = {
        name: {"cced": 0.1, "cced_ci95": [0.0, 0.2]}
        for name in ("christian-jewish", "christian-muslim", "jewish-muslim")
    }
    rows = delta_table(cced(0.1, 0.0, 0.2, pairs=pairs))
    assert [row.set for row in rows] == ["s", *(f"s: {name}" for name in pairs)]
    assert len({row.id for row in rows}) == 4


def test_inputs_stay_as_they_were(before, after, control):
    copies = copy.deepcopy((before, after, control))
    delta_table(after, before, control)
    assert (before, after, control) == copies


def test_no_mapping_is_a_clear_error():
    with pytest.raises(TypeError, match=r"audit: got list, expected the dict"):
        delta_table([1])  # type: ignore[arg-type]


def test_numbers_in_words():
    assert [format_number(x) for x in (None, 0, -0.5, 0.00012, 12345)] == [
        "–",
        "0.000",
        "−0.500",
        "1.2e−4",
        "12,345",
    ]
    assert format_change(0.0, 0.0) == "0.000 (0.0\N{NO-BREAK SPACE}%)"
    assert format_change(None, None) == "–"


def test_display_name_hides_folders():
    assert display_name("org/model") == "org/model"
    assert display_name("/some/private/folder/model") == "model"
    assert display_name("C:\\people\\model") == "model"
    assert display_name("") == "unnamed model"
