"""The first picture: a row for each measure, on an axis of its own, that says nothing the numbers do not."""

from __future__ import annotations

import dataclasses
import re

import pytest

from hf_fairness.record import Measure
from hf_fairness.report import audit_record, render_html
from hf_fairness.report.html import MOST, Strip, strips
from support.tiny_record import LESS, MORE, SAME, measure, record


def only(each: Measure) -> Strip:
    (strip,) = strips(record(each))
    return strip


def value_at(strip: Strip, place: float) -> float:
    """The number at a place, by two others of the axis (its ends are rounded)."""
    points = {point.at: float(point.text.split()[0].replace("−", "-")) for point in strip.points}
    (a, x), (b, y) = sorted(points.items())[:2]
    return x + (place - a) * (y - x) / (b - a)


def test_each_row_has_its_own_axis():
    small = {"original": (0.002, 0.001, 0.003), "ours": (0.001, 0.0005, 0.0015)}
    big = {"original": (200.0, 100.0, 300.0), "ours": (100.0, 50.0, 150.0)}
    rows = strips(record(measure("small", **small), measure("big", **big)))
    assert [row.points[-1].at for row in rows] == [rows[0].points[-1].at] * 2  # the same shares of both axes
    assert [row.ends for row in rows] == [("0.0000", "0.0030"), ("0", "300")]


def test_places_follow_the_values_and_their_intervals():
    strip = only(measure("m", control=(0.9, 0.7, 1.0), **LESS))
    by_role = {point.role: point for point in strip.points}
    assert (strip.start, strip.end) == (by_role["original"].at, by_role["method"].at)
    for role, numbers in (("original", (1.0, 0.9, 1.1)), ("method", (0.4, 0.3, 0.5)), ("control", (0.9, 0.7, 1.0))):
        point = by_role[role]
        assert [value_at(strip, place) for place in (point.at, point.low, point.high)] == pytest.approx(
            numbers, abs=1e-3
        )
        assert 0 <= point.low <= point.at <= point.high <= 100
    assert value_at(strip, strip.ideal) == pytest.approx(0.0, abs=1e-3)


def test_the_method_lies_on_the_control():
    assert [point.role for point in only(measure("m", control=1.0, **LESS)).points] == ["original", "control", "method"]


def test_an_ideal_far_off_is_said_but_not_drawn():
    """Drawn, it would press the values into one place."""
    near = only(measure("m", "utility", "higher", 1.0, original=(0.80, 0.75, 0.85), ours=(0.81, 0.76, 0.86)))
    assert near.ideal is not None
    assert value_at(near, near.ideal) == pytest.approx(1.0, abs=1e-3)
    far = only(measure("m", "utility", "higher", 1.0, original=(0.200, 0.199, 0.201), ours=(0.203, 0.202, 0.204)))
    assert far.ideal is None
    assert far.note == "ideal 1"
    assert abs(far.start - far.end) > 30
    none = only(measure("m", "utility", "higher", None, original=0.2, ours=0.3))
    assert (none.ideal, none.note) == (None, "higher is better")
    assert only(measure("m", "information", "chance", 0.5, original=0.7, ours=0.6)).note == "chance is 0.500"


def test_values_without_intervals_or_width():
    strip = only(measure("m", original=0.5, ours=0.5))
    assert {(point.low, point.high) for point in strip.points} == {(None, None)}
    assert strip.start == strip.end
    zero = only(measure("m", original=0.0, ours=0.0))
    assert zero.start == zero.ideal == 50.0


def test_verdicts_are_those_of_the_record():
    rows = strips(record(measure("a", **LESS), measure("b", **MORE), measure("c", **SAME)))
    assert [row.verdict for row in rows] == ["improved", "worse", "no clear change"]
    assert only(measure("alone", ours=(0.4, 0.3, 0.5))).verdict == ""


def test_one_side_only():
    strip = only(measure("m", ours=(0.4, 0.3, 0.5)))
    assert (strip.start, [point.role for point in strip.points]) == (None, ["method"])
    assert strip.end == strip.points[0].at


def test_the_row_in_words():
    strip = only(measure("m", control=0.9, **LESS))
    for part in ("m: ", "original 1.000 [0.900, 1.100]", "ours 0.400 [0.300, 0.500]", "control 0.900", "ideal 0"):
        assert part in strip.description


def test_bias_first_and_what_is_shown():
    use, read = measure("use", "utility", "higher", 1.0, **SAME), measure("read", "information", **SAME)
    beside = measure("beside", "context", "none", None, **SAME)
    chose = measure("chose", "bias", more={"part": "validation"}, **SAME)
    part = measure("part", more={"detail": True}, **SAME)
    rows = strips(record(read, use, beside, chose, part, measure("bias", **SAME)))
    assert [row.title for row in rows] == ["Bias", "Use", "Read"]
    assert [row.title for row in strips(record(use, part))] == ["Part", "Use"]  # else no bias would be seen
    many = strips(record(use, *(measure(f"b{k}", **SAME) for k in range(30))))
    assert len(many) == MOST


def test_many_models_show_the_three_of_the_tables():
    each = measure("m", control=0.9, rival=0.8, other=0.7, **LESS)
    assert [point.role for point in only(each).points] == ["original", "control", "method"]


def test_the_page_shows_every_row_with_its_verdict(before, after, control, training):
    found = audit_record(after, before=before, control=control, training=training)
    page, rows = render_html(found), strips(found)
    assert len(rows) == 9  # SEAT, two of each set of texts, two probes, two of utility
    assert page.count('<div class="strip">') == len(rows)
    assert page.count('aria-label="') >= len(rows)
    shown = re.findall(r'<div class="verdict ([a-z-]+)">([a-z ]+)<', page)
    assert [verdict for _, verdict in shown] == [row.verdict for row in rows]
    assert all(name == verdict.replace(" ", "-") for name, verdict in shown)
    for row in rows:
        for point in row.points:
            assert f"<small>{point.title} {point.text}</small>" in page


def test_the_legend_names_every_model(before, after, control):
    """Also where the first measure was not taken on all of them."""
    for audit in (before, control):
        del audit["seat"]
    page = render_html(audit_record(after, before=before, control=control))
    legend = re.search(r'<ul class="legend".*?</ul>', page, re.DOTALL)[0]
    assert re.findall(r"</svg> (\w+)<", legend) == ["before", "after", "control"]


def test_no_rows_no_picture():
    assert strips(dataclasses.replace(record(), arms=())) == []
    assert '<div class="overview">' not in render_html(record())
