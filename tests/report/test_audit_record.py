"""Audits as a record: what is read, and the verdict rule on numbers that can be followed by hand."""

from __future__ import annotations

import copy
import math

import pytest

from hf_fairness.record import Gap, Record
from hf_fairness.report import audit_record, summarize
from hf_fairness.report.summary import change_text
from hf_fairness.report.text import display_name, format_change, format_number, missing_sections


def cced(value: float, low: float, high: float, **more) -> dict:
    return {"model": "m", "cced": {"s": {"cced": value, "cced_ci95": [low, high], **more}}}


def seat(d: float, low: float, high: float, **more) -> dict:
    return {"seat": {"tests": {"6": {"effect_size": d, "effect_size_ci95": [low, high], **more}}}}


def sts(value: float, low: float, high: float) -> dict:
    return {"utility": {"sts_spearman": value, "sts_spearman_ci95": [low, high], "n": 10}}


def probe(value: float, low: float, high: float) -> dict:
    return {"probe": {"linear": {"accuracy": value, "accuracy_ci95": [low, high], "chance": 0.5}}}


def only_gap(after: dict, before: dict) -> Gap:
    (gap,) = audit_record(after, before=before).gaps
    return gap


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
    record = audit_record(after, before=before)
    (gap,), (measure,) = record.gaps, record.measures
    assert gap.verdict == verdict
    assert gap.difference == pytest.approx(measure.values["after"].value - measure.values["before"].value)


def test_paired_interval_goes_before_overlap():
    before = cced(0.10, 0.05, 0.15)
    gap = only_gap(cced(0.08, 0.03, 0.13, cced_change_ci95=[-0.03, -0.01]), before)
    assert (gap.verdict, gap.ci95) == ("improved", (-0.03, -0.01))
    assert only_gap(cced(0.08, 0.03, 0.13, cced_change_ci95=[-0.03, 0.01]), before).verdict == "no clear change"
    assert only_gap(cced(0.12, 0.07, 0.17, cced_change_ci95=[0.01, 0.03]), before).verdict == "worse"


def test_a_paired_interval_that_is_not_finite_counts_as_none():
    gap = only_gap(cced(0.05, 0.04, 0.06, cced_change_ci95=[-0.03, math.nan]), cced(0.10, 0.09, 0.11))
    assert (gap.verdict, gap.ci95, gap.basis) == ("improved", None, "the 95 % intervals do not overlap")


def test_every_kind_of_measure_reads_its_paired_interval():
    """Intervals so wide that they overlap: only the paired one can decide."""
    wide = {"effect_size": 1.0, "effect_size_ci95": [0.1, 1.9], "effect_size_change_ci95": [-0.5, -0.2]}
    after = {
        "seat": {
            "mean_abs_effect_size": 1.0,
            "mean_abs_effect_size_ci95": [0.1, 1.9],
            "mean_abs_effect_size_change_ci95": [-0.5, -0.2],
            "tests": {"6": wide, "1": {**wide, "effect_size_change_ci95": [-0.4, -0.2], "purpose": "retention"}},
        },
        "cced": {
            "s": {"pairs": {p: {"cced": 0.8, "cced_ci95": [0, 2], "cced_change_ci95": [-0.4, -0.1]} for p in "ab"}}
        },
        "probe": {
            "linear": {
                "accuracy": 0.8, "accuracy_ci95": [0.5, 1.0], "accuracy_change_ci95": [-0.2, -0.1], "chance": 0.5,
            }
        },
        "utility": {"sts_spearman": 0.7, "sts_spearman_ci95": [0, 1], "sts_spearman_change_ci95": [-0.2, -0.1]},
    }  # fmt: skip
    before = copy.deepcopy(after)
    before["seat"]["mean_abs_effect_size"] = before["seat"]["tests"]["6"]["effect_size"] = 1.35
    before["seat"]["tests"]["1"]["effect_size"] = 1.3
    before["probe"]["linear"]["accuracy"] = 0.95
    before["utility"]["sts_spearman"] = 0.85
    for pair in before["cced"]["s"]["pairs"].values():
        pair["cced"] = 1.05
    found = {gap.measure: gap.verdict for gap in audit_record(after, before=before).gaps}
    assert found == {
        "seat/mean_abs_effect_size": "improved",
        "seat/tests/6/effect_size": "improved",
        "seat/retention/1/effect_size": "worse",
        "cced/pairs/s: a/cced": "improved",
        "cced/pairs/s: b/cced": "improved",
        "probe/linear/accuracy": "improved",
        "utility/sts_spearman": "worse",
    }


def test_paired_interval_of_a_sign_flip_decides_nothing():
    """From 1.2 to -1.0 the difference is certain, yet the association is as strong as before."""
    gap = only_gap(seat(-1.0, -1.4, -0.6, effect_size_change_ci95=[-2.6, -1.8]), seat(1.2, 0.9, 1.5))
    assert gap.verdict == "no clear change"


def test_missing_interval_is_not_decided_but_named():
    record = audit_record({"utility": {"sts_spearman": 0.40, "n": 10}}, before=sts(0.82, 0.81, 0.83))
    assert record.gaps[0].verdict == "no interval"
    summary = summarize(record)
    assert not summary.worse
    assert "moved the wrong way" in summary.undecided[0]
    assert "0.820" in summary.undecided[0]
    assert "0.400" in summary.undecided[0]


def said_change(record: Record) -> str:
    return change_text(record.measures[0], record.gaps[0])


def test_change_relative():
    assert "(−75\N{NO-BREAK SPACE}%)" in said_change(
        audit_record(cced(0.05, 0.04, 0.06), before=cced(0.20, 0.19, 0.21))
    )
    assert "%" not in said_change(audit_record(cced(0.05, 0.04, 0.06), before=cced(0.0, 0.0, 0.0)))
    flipped = audit_record(seat(-0.3, -0.5, 0.1), before=seat(1.2, 1.0, 1.4))
    assert flipped.gaps[0].difference == pytest.approx(-1.5)
    assert said_change(flipped) == "−1.500 (size −75\N{NO-BREAK SPACE}%)"


def test_similarity_structure_starts_at_one_and_gets_no_verdict():
    """It can only fall: a verdict would always be the same."""
    after = {"utility": {"similarity_structure": 0.93, "similarity_structure_ci95": [0.92, 0.94]}}
    record = audit_record(after, before={"model": "old"})
    assert record.measures[0].values["before"].value == 1.0
    assert record.gaps[0].verdict == "not judged"
    alone = audit_record(after)
    assert set(alone.measures[0].values) == {"after"}
    assert alone.gaps == ()


def test_each_number_of_utility_has_its_own_sample():
    structure = {"similarity_structure": 0.99, "similarity_structure_ci95": [0.98, 1.0], "n_similarity_structure": 4000}
    both = {"sts_spearman": 0.8, "sts_spearman_ci95": [0.7, 0.9], "n_sts": 10} | structure
    assert [(m.metric, m.values["after"].value, m.sample) for m in audit_record({"utility": both}).measures] == [
        ("sts_spearman", 0.8, "10 pairs"),
        ("similarity_structure", 0.99, "4,000 pairs"),
    ]


def test_retention_tests_are_utility(before, after):
    measures = {measure.id: measure for measure in audit_record(after, before=before).measures}
    assert measures["seat/retention/1/effect_size"].kind == "utility"
    assert "seat/tests/1/effect_size" not in measures
    (marked,) = audit_record(seat(1.5, 1.2, 1.8, purpose="retention")).measures
    assert (marked.id, marked.direction) == ("seat/retention/6/effect_size", "higher")


def test_a_measure_on_one_side_only_is_kept_and_not_compared():
    record = audit_record(cced(0.1, 0.0, 0.2), before=sts(0.8, 0.7, 0.9), control=probe(0.6, 0.5, 0.7))
    assert {measure.metric: set(measure.values) for measure in record.measures} == {
        "cced": {"after"},
        "sts_spearman": {"before"},
        "accuracy": {"control"},
    }
    assert record.gaps == ()


@pytest.mark.parametrize("audit", [{}, {"seat": {}, "cced": {}, "probe": {}, "utility": {}}, {"seat": None}])
def test_empty_audit(audit):
    record = audit_record(audit)
    assert record.measures == ()
    assert summarize(record).headline == "Nothing was measured."
    missing = " ".join(record.not_measured)
    for word in ("SEAT", "CCED", "probe", "utility"):
        assert word in missing


def test_nan_is_left_out_and_named():
    audit = cced(math.nan, 0.0, 1.0) | {"probe": {"linear": {"accuracy": 0.6, "chance": 0.5, "n": 3}}}
    record = audit_record(audit)
    assert [measure.metric for measure in record.measures] == ["accuracy"]
    assert any(line.startswith("cced/s/cced:") for line in record.not_measured)
    assert record.not_measured == tuple(missing_sections(audit))


def test_a_probe_without_chance_is_not_judged():
    bare = {"probe": {"linear": {"accuracy": 0.9, "accuracy_ci95": [0.8, 0.95]}}}
    assert only_gap(bare, probe(0.5, 0.45, 0.55) | bare).verdict == "not judged"


def test_more_than_two_groups_show_every_pair():
    pairs = {
        name: {"cced": 0.1, "cced_ci95": [0.0, 0.2]}
        for name in ("christian-jewish", "christian-muslim", "jewish-muslim")
    }
    measures = audit_record(cced(0.1, 0.0, 0.2, pairs=pairs)).measures
    assert [measure.set for measure in measures] == ["s", *(f"s: {name}" for name in pairs)]
    assert [measure.detail for measure in measures] == [False, True, True, True]
    one = audit_record(cced(0.1, 0.0, 0.2, pairs={"male-female": {"cced": 0.1}}))
    assert [measure.set for measure in one.measures] == ["s"]  # the one pair says what stands above it


def test_arms_and_their_roles(before, after, control, training):
    record = audit_record(after, before=before, control=control, training=training | {"control": "half of it"})
    assert [(arm.name, arm.role) for arm in record.arms] == [
        ("before", "original"),
        ("control", "control"),
        ("after", "method"),
    ]
    assert record.arm("control").about == "half of it"
    assert record.arm("method").about == "out/minilm-ccd"
    assert "loss_curve" not in record.arm("method").training
    assert record.method == "CCD (content-conditional debiasing)"
    assert (record.name, audit_record(after, name="Our encoder").name) == ("out/minilm-ccd", "Our encoder")
    assert {(gap.arm, gap.against) for gap in record.gaps} == {("after", "before"), ("after", "control")}


def test_inputs_stay_as_they_were(before, after, control):
    copies = copy.deepcopy((before, after, control))
    audit_record(after, before=before, control=control)
    assert (before, after, control) == copies


def test_it_survives_json(before, after, control, training):
    record = audit_record(after, before=before, control=control, training=training)
    assert Record.from_json(record.to_json()).to_json() == record.to_json()


@pytest.mark.parametrize("side", ["after", "before", "control"])
def test_no_mapping_is_a_clear_error(side):
    given = {"after": {}, side: [1]}
    with pytest.raises(TypeError, match=rf"{side}: got list, expected the report"):
        audit_record(given.pop("after"), **given)


def test_numbers_in_words():
    assert [format_number(x) for x in (None, 0, -0.5, 0.00012, 12345)] == [
        "–",
        "0.000",
        "−0.500",
        "1.2e−4",
        "12,345",
    ]
    assert format_change(0.0, 0.0) == "0.000 (0.0\N{NO-BREAK SPACE}%)"


def test_display_name_hides_folders():
    assert display_name("org/model") == "org/model"
    assert display_name("/some/private/folder/model") == "model"
    assert display_name("C:\\people\\model") == "model"
    assert display_name("") == "unnamed model"
