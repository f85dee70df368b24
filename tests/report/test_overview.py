"""The first picture: a row for each measure, on an axis of its own, that says nothing the numbers do not."""

from __future__ import annotations

import dataclasses
import re

import pytest

from hf_fairness.record import Measure
from hf_fairness.report import audit_record, render_html
from hf_fairness.report.html import MOST, Strip, strips
from hf_fairness.report.summary import with_interval
from support.tiny_record import LESS, MORE, SAME, measure, record


def only(each: Measure) -> Strip:
    (strip,) = strips(record(each))
    return strip


def drawn(page: str) -> list[str]:
    """The rows as the page draws them."""
    return re.findall(r'<div class="strip">.*?</small></div>\n</div>', page, re.DOTALL)


def test_each_row_has_its_own_axis():
    small = {"original": (0.002, 0.001, 0.003), "ours": (0.001, 0.0005, 0.0015)}
    big = {"original": (200.0, 100.0, 300.0), "ours": (100.0, 50.0, 150.0)}
    rows = strips(record(measure("small", **small), measure("big", **big)))
    assert [row.of("method") for row in rows] == [rows[0].of("method")] * 2  # the same shares of both axes
    assert [row.ends() for row in rows] == [["0.0000", "0.0030"], ["0", "300"]]


def test_places_follow_the_values_and_their_intervals():
    found = record(measure("m", control=(0.9, 0.7, 1.0), **LESS))
    (strip,) = strips(found)
    assert strip.axis == (0.0, 1.1)
    assert (strip.at(0.0), strip.at(1.1)) == (4, 96)
    (row,) = drawn(render_html(found))
    for role, numbers in (("original", (1.0, 0.9, 1.1)), ("method", (0.4, 0.3, 0.5)), ("control", (0.9, 0.7, 1.0))):
        at, low, high = (pytest.approx(4 + 92 * number / 1.1, abs=0.01) for number in numbers)
        assert strip.of(role) == at
        interval = re.search(rf'class="i-{role}" x1="([\d.]+)%" x2="([\d.]+)%"', row)
        assert [float(interval[1]), float(interval[2])] == [low, high]
        assert f'<svg x="{strip.of(role)}%"' in row
    assert f'x1="{strip.of("original")}%" x2="{strip.of("method")}%"' in row
    assert f'x1="{strip.at(0.0)}%" x2="{strip.at(0.0)}%" y1="0"' in row  # the ideal


def test_the_method_lies_on_the_control():
    assert [arm.role for arm in only(measure("m", control=1.0, **LESS)).arms] == ["original", "control", "method"]


def test_an_ideal_far_off_is_said_but_not_drawn():
    """Drawn, it would press the values into one place."""
    near = only(measure("m", "utility", "higher", 1.0, original=(0.80, 0.75, 0.85), ours=(0.81, 0.76, 0.86)))
    assert near.at(1.0) == 96
    far = measure("m", "utility", "higher", 1.0, original=(0.200, 0.199, 0.201), ours=(0.203, 0.202, 0.204))
    assert only(far).at(1.0) is None
    assert abs(only(far).of("original") - only(far).of("method")) > 30
    (row,) = drawn(render_html(record(far)))
    assert "(ideal 1)" in row
    assert "stroke-dasharray" not in row
    none = render_html(record(measure("m", "utility", "higher", None, original=0.2, ours=0.3)))
    assert "(higher is better)" in drawn(none)[0]
    chance = render_html(record(measure("m", "information", "chance", 0.5, original=0.7, ours=0.6)))
    assert "(chance is 0.500)" in drawn(chance)[0]


def test_values_without_intervals_or_width():
    same = measure("m", original=0.5, ours=0.5)
    assert 'class="i-' not in render_html(record(same))
    assert only(same).of("original") == only(same).of("method")
    zero = only(measure("m", original=0.0, ours=0.0))
    assert zero.of("original") == zero.at(0.0) == 50.0


def test_verdicts_are_those_of_the_record():
    rows = strips(record(measure("a", **LESS), measure("b", **MORE), measure("c", **SAME)))
    assert [row.verdict for row in rows] == ["improved", "worse", "no clear change"]
    assert only(measure("alone", ours=(0.4, 0.3, 0.5))).verdict == ""


def test_one_side_only():
    strip = only(measure("m", ours=(0.4, 0.3, 0.5)))
    assert (strip.of("original"), [arm.role for arm in strip.arms]) == (None, ["method"])
    assert strip.of("method") == strip.at(0.4)


def test_the_row_in_words():
    page = render_html(record(measure("m", control=0.9, **LESS)))
    words = re.search(r'<svg role="img" aria-label="([^"]*)"', page)[1]
    assert words == "m: original 1.000 [0.900, 1.100]; control 0.900; ours 0.400 [0.300, 0.500]; ideal 0"


def test_bias_first_and_what_is_shown():
    use, read = measure("use", "utility", "higher", 1.0, **SAME), measure("read", "information", **SAME)
    beside = measure("beside", "context", "none", None, **SAME)
    chose = measure("chose", "bias", more={"part": "validation"}, **SAME)
    part = measure("part", more={"detail": True}, **SAME)
    rows = strips(record(read, use, beside, chose, part, measure("bias", **SAME)))
    assert [row.measure.title for row in rows] == ["bias", "use", "read"]
    assert [row.measure.title for row in strips(record(use, part))] == ["part", "use"]  # else no bias would be seen
    many = strips(record(use, *(measure(f"b{k}", **SAME) for k in range(30))))
    assert len(many) == MOST


def test_many_models_show_the_three_of_the_tables():
    each = measure("m", control=0.9, rival=0.8, other=0.7, **LESS)
    assert [arm.role for arm in only(each).arms] == ["original", "control", "method"]


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
        for arm in row.arms:
            assert f"<small>{arm.title} {with_interval(row.measure.values[arm.name])}</small>" in page


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
