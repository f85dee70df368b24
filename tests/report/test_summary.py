"""The findings in words: what got worse is never missing, the control is believed, and the headline says no more."""

from __future__ import annotations

import dataclasses

import pytest

from hf_fairness.record import Measure, Record
from hf_fairness.report import audit_record, summarize
from support.tiny_record import LESS, MORE, SAME, measure, record


def headline(*measures: Measure, **more) -> str:
    return summarize(record(*measures, **more)).headline


# --- the lists -------------------------------------------------------------------------------------------------------


def test_worsened_utility_is_reported(before, after, control):
    """Whatever improves, a loss of utility is listed with its numbers, and the headline says what it cost."""
    after["utility"] |= {"sts_spearman": 0.61, "sts_spearman_ci95": [0.60, 0.62]}
    summary = summarize(audit_record(after, before=before, control=control))
    assert summary.improved
    line = next(line for line in summary.worse if "human" in line or "people" in line)
    assert "0.820" in line
    assert "0.610" in line
    assert "1 got worse" in summary.counts
    assert "It cost: agreement with people" in summary.headline
    assert "0.820 → 0.610" in summary.headline
    beside = next(line for line in summary.others if line.startswith("Against control:"))
    assert "STS, Spearman" in beside[beside.index("clearly worse on") :].split(";")[0]


def test_a_lost_retention_test_is_worse(before, after):
    after["seat"]["retention"]["1"] |= {"effect_size": 0.4, "effect_size_ci95": [0.2, 0.6]}
    summary = summarize(audit_record(after, before=before))
    assert any("(SEAT 1)" in line and "1.420" in line for line in summary.worse)
    assert "(SEAT 1)" in summary.headline


def test_every_judged_measure_is_in_exactly_one_list(before, after, control):
    found = audit_record(after, before=before, control=control)
    summary = summarize(found)
    lists = [*summary.worse, *summary.improved, *summary.unclear, *summary.undecided]
    titles = {each.id: each.title for each in found.measures}
    details = {each.id for each in found.measures if each.detail}
    judged = [gap for gap in found.gaps if gap.against == "before" and gap.verdict != "not judged"]
    listed = [gap for gap in judged if gap.measure not in details or gap.verdict in ("improved", "worse")]
    assert len(lists) == len(listed) > 5
    for gap in listed:
        title = titles[gap.measure]
        assert sum(line.lower().startswith(f"{title}:".lower()) for line in lists) == 1, title
    for gap in judged:  # a part without a clear change stands in no list: its verdict is in the tables
        assert gap in listed or gap.verdict.startswith("no ")


@pytest.mark.parametrize("kind", ["bias", "utility", "information"])
@pytest.mark.parametrize("detail", [True, False])
def test_nothing_that_got_worse_is_left_out(kind, detail):
    summary = summarize(record(measure("m", kind, more={"detail": detail}, **MORE)))
    assert [line.split(":")[0] for line in summary.worse] == ["M"]
    assert "1 got worse" in summary.counts


def test_counts_are_of_one_measure_or_of_several():
    one = [measure("m", **LESS), measure("u", "utility", **SAME), measure("p", "information", **SAME)]
    assert summarize(record(*one)).counts == (
        "Of 1 measure of bias, 1 improved; of 1 measure of utility, 1 did not clearly change; of 1 probe, 1 did not "
        "clearly change."
    )
    two = [measure(f"{each.id} too", each.kind, **SAME) for each in one]
    assert summarize(record(*one, *two)).counts == (
        "Of 2 measures of bias, 1 improved, 1 did not clearly change; of 2 measures of utility, 2 did not clearly "
        "change; of 2 probes, 2 did not clearly change."
    )


def test_collapse_is_called_out(minimal):
    """All distances shrink together: CCED falls, CCED / mean distance does not."""
    before, after = minimal
    before["cced"]["s"] |= {"cced_relative": 0.2, "cced_relative_ci95": [0.18, 0.22]}
    after["cced"]["s"] = {
        "cced": 0.05, "cced_ci95": [0.04, 0.06], "cced_relative": 0.2, "cced_relative_ci95": [0.18, 0.22],
    }  # fmt: skip
    assert any("drawn its embeddings together" in line for line in summarize_audit(after, before).cautions)
    after["cced"]["s"] |= {"cced_relative": 0.1, "cced_relative_ci95": [0.09, 0.11]}
    assert not any("together" in line for line in summarize_audit(after, before).cautions)


def summarize_audit(after, before):
    return summarize(audit_record(after, before=before))


def test_improvement_that_the_control_shares_is_called_out():
    alone = summarize(record(measure("m", **LESS)))
    assert any("No control" in line for line in alone.cautions)
    shared = summarize(record(measure("m", control=(0.4, 0.3, 0.5), **LESS)))
    assert any("not clearly better than the control on: m" in line for line in shared.cautions)
    beaten = summarize(record(measure("m", control=(0.1, 0.05, 0.15), **LESS)))
    assert any("not clearly better than the control on: m" in line for line in beaten.cautions)
    assert beaten.others == ("Against control: clearly worse on m.",)
    own = summarize(record(measure("m", control=(1.0, 0.9, 1.1), **LESS)))
    assert not any("control" in line for line in own.cautions)
    assert own.others == ("Against control: clearly better on m.",)


def test_measure_that_is_gone_after_training_is_named():
    summary = summarize(record(measure("m", **LESS), measure("lost", "utility", original=(0.8, 0.7, 0.9))))
    assert "Measured before but not after: lost." in summary.cautions
    assert "No utility was compared, so it stays open what the change cost." in summary.cautions
    whole = summarize(record(measure("m", **LESS), measure("kept", "utility", **SAME)))
    assert not any("not after" in line or "No utility" in line for line in whole.cautions)


def test_cautions_of_the_record_come_first():
    summary = summarize(record(measure("m", **LESS), cautions=("Only ten rows.",)))
    assert summary.cautions[0] == "Only ten rows."
    assert summarize(Record("audit", "m", "a", (), (), cautions=("Only ten rows.",))).cautions == ("Only ten rows.",)


@pytest.mark.parametrize(
    ("ideal", "ours", "said"),
    [
        (0.0, 0.7, "moved the right way"),
        (0.0, 1.2, "moved the wrong way"),
        (0.0, 1.0, "unchanged"),
        (2.0, 1.2, "moved the right way"),
        (2.0, 0.7, "moved the wrong way"),
    ],
)
def test_what_cannot_be_decided_says_where_it_moved(ideal, ours, said):
    summary = summarize(record(measure("m", direction="zero", ideal=ideal, original=1.0, ours=ours)))
    assert len(summary.undecided) == 1
    assert f"{said}, but without an interval" in summary.undecided[0]
    assert not summary.worse + summary.improved + summary.unclear
    assert "1 cannot be decided" in summary.counts


def test_p_values_say_how_they_were_adjusted():
    found = record(measure("m", **LESS))
    gap = dataclasses.replace(found.gaps[0], ci95=(-0.8, -0.4), p_value=0.0123, p_adjusted="Holm, 4 tests")
    (line,) = summarize(dataclasses.replace(found, gaps=(gap,))).improved
    assert "M: 1.000 [0.900, 1.100] → 0.400 [0.300, 0.500]" in line
    assert "[−0.800, −0.400]" in line
    assert "p = 0.012 (Holm, 4 tests)" in line
    assert line.endswith("; ideal 0.")


# --- the headline ----------------------------------------------------------------------------------------------------


def test_headline_says_what_changed_most_the_control_and_the_cost():
    small = {"original": (1.0, 0.99, 1.01), "ours": (0.9, 0.89, 0.91)}
    told = headline(
        measure("a little", **small),
        measure("most", control=(0.98, 0.9, 1.1), **LESS),
        measure("use", "utility", "higher", 1.0, **SAME),
    )
    assert told == (
        "Changed most: most, 1.000 → 0.400 (60\N{NO-BREAK SPACE}% of the way to 0). The control came to 0.980, clearly "
        "further from the ideal. No measure of utility clearly fell."
    )


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ((0.98, 0.9, 1.1), "The control came to 0.980, clearly further from the ideal."),
        ((0.42, 0.3, 0.5), "The control came to 0.420, which cannot be told from it."),
        ((0.10, 0.05, 0.15), "The control came to 0.100, clearly nearer to the ideal."),
        (0.98, "The control came to 0.980, which cannot be told from it."),
    ],
)
def test_headline_says_how_the_control_compares(control, said):
    assert said in headline(measure("most", control=control, **LESS))


def test_headline_without_a_control_says_so():
    assert "There is no control to say" in headline(measure("m", **LESS))


def test_a_reason_for_having_no_control_stands_in_the_place_of_the_caution():
    why = "The method is the control of the others."
    summary = summarize(record(measure("m", **LESS), no_control=why))
    assert f"to 0). {why} " in summary.headline
    assert summary.cautions[0] == why
    assert not any("no control" in line.lower() for line in (summary.headline, *summary.cautions))
    beside = summarize(record(measure("m", control=(1.0, 0.9, 1.1), **LESS), no_control=why))
    assert why not in beside.headline + "".join(beside.cautions)  # there is one


def test_headline_names_bias_that_got_worse_even_where_other_bias_fell():
    told = headline(measure("most", **LESS), measure("rose", **MORE), measure("rose too", **MORE))
    assert "Changed most: most" in told
    assert "Clearly worse: rose, and 1 more." in told
    assert headline(measure("rose", **MORE)).startswith("No measure of bias clearly improved. Clearly worse: rose.")


def test_headline_names_the_greatest_cost_first():
    told = headline(
        measure("m", **LESS),
        measure("small loss", "utility", "higher", None, original=(1.0, 0.99, 1.01), ours=(0.9, 0.89, 0.91)),
        measure("great loss", "utility", "higher", None, original=(1.0, 0.99, 1.01), ours=(0.2, 0.19, 0.21)),
    )
    assert told.endswith("It cost: great loss, 1.000 → 0.200, and 1 more.")


def test_headline_claims_no_free_lunch_where_nothing_could_be_decided():
    told = headline(measure("m", **LESS), measure("use", "utility", "higher", 1.0, original=0.8, ours=0.4))
    assert told.endswith("What it cost cannot be told without intervals: use, 0.800 → 0.400.")
    assert headline(measure("m", **LESS)).endswith("What it cost was not measured.")
    chosen = measure("use", "utility", "higher", 1.0, more={"part": "validation"}, **SAME)
    assert headline(measure("m", **LESS), chosen).endswith("What it cost was measured on validation data only.")
    kept = measure("structure", "utility", "none", 1.0, original=1.0, ours=0.97)
    assert headline(measure("m", **LESS), kept).endswith("Beside it: structure, 1.000 → 0.970.")


def test_headline_on_parts_of_measures_only():
    """A part is named where nothing else improved; a whole measure goes before it, even if it moved less."""
    part = measure("a part", original=(1.0, 0.9, 1.1), ours=(0.1, 0.0, 0.2), more={"detail": True})
    assert headline(part).startswith("Changed most: a part, 1.000 → 0.100 (90\N{NO-BREAK SPACE}% of the way to 0).")
    assert headline(part, measure("whole", **LESS)).startswith("Changed most: whole, 1.000 → 0.400")


def test_headline_takes_no_number_that_chose_the_model():
    chosen = measure("chosen on", original=(1.0, 0.9, 1.1), ours=(0.1, 0.0, 0.2), more={"part": "validation"})
    assert headline(chosen, measure("m", **SAME)).startswith("No measure of bias clearly improved.")


def test_headline_where_no_bias_was_compared():
    told = headline(measure("use", "utility", "higher", 1.0, **SAME))
    assert told == "No measure of bias was compared. No measure of utility clearly fell."


def test_headline_begins_with_the_outcome():
    assert headline(measure("m", **LESS), outcome="No rows were left.").startswith("No rows were left. Changed most: m")


def test_headline_of_one_model(before, minimal):
    summary = summarize(audit_record(before))
    assert not summary.improved
    assert not summary.counts
    assert summary.headline == (
        "Of 6 tests of association, 5 differ clearly from the ideal; furthest is association test (SEAT 7b): 1.440 "
        "[1.090, 1.790], ideal 0. There is nothing to compare this model with."
    )
    assert any("above chance" in line for line in summary.measured)
    assert summarize(audit_record(minimal[0])).headline == "1 measure of one model; nothing to compare with."


def test_one_model_says_where_its_intervals_lie():
    def said(value: float, low: float, high: float) -> str:
        audit = {"seat": {"tests": {"6b": {"effect_size": value, "effect_size_ci95": [low, high]}}}}
        (line,) = summarize(audit_record(audit)).measured
        return line

    assert said(0.277, -0.1, 0.6).endswith("ideal 0; the interval holds it.")
    assert said(1.277, 0.9, 1.6).endswith("ideal 0; the interval excludes it.")
    bare = {"seat": {"tests": {"6b": {"effect_size": 0.3}}}, "probe": {"linear": {"accuracy": 0.6, "chance": 0.5}}}
    assert all("no interval was given" in line for line in summarize(audit_record(bare)).measured)


def test_headline_where_nothing_is_compared():
    alone = record(measure("m", ours=1.0), measure("n", original=1.0))
    summary = summarize(alone)
    assert summary.headline == "The models were measured; there is none to compare them with."
    assert not summary.counts + "".join(summary.measured)
    assert summarize(Record("audit", "m", "a", (), ())).headline == "Nothing was measured."
    told = summarize(Record("gfst", "m", "a", (), (), outcome="No pair passed the filters."))
    assert told.headline == "No pair passed the filters."


def test_a_rival_stands_beside_the_others():
    summary = summarize(
        record(measure("m", rival=(0.1, 0.05, 0.15), **LESS), measure("n", rival=(1, 0.9, 1.1), **LESS))
    )
    assert summary.others == ("Against rival: clearly better on n; clearly worse on m.",)
