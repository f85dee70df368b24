"""Every kind of picture is drawn from data in JSON values, says what it shows, and makes no markup of a name."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import pytest

from hf_fairness.report.plots import KINDS, draw, figures, save_figure
from support.tiny_record import record

EVIL = '<b>&"$\\frac{1}$'
POINTS = {EVIL: [[0, 0.5], [1, None], [2, 0.75]], "grey": [[0, 0.25]]}
COUNTS = {"round 1": {EVIL: [2, 1], "pool": [9, 3]}, "round 2": {EVIL: [0, 0], "pool": [1, 0]}}
DATA = {
    "lines": {"series": POINTS | {"with ends": [[0, 1.0, 0.5, 1.5], [1, 2.0, 1.5, 2.5]]}},
    "scatter": {"series": POINTS, "labels": [[0, 0.5, EVIL]], "marks": {EVIL: 1.0}},
    "projection": {"series": POINTS, "limits": [-1.0, 3.0, 0.0, 1.0]},
    "bars": {"rows": {EVIL: {"a": 1.0, "b": None}, "other": {"a": 2.0, "b": -1.0}}, "format": ".0f"},
    "histogram": {"rows": COUNTS, "edges": [0.0, 0.5, 1.0], "outline": ["pool"]},
}
WORDS = {
    "lines": "from 0.500 to 0.750; grey from 0.250 to 0.250; with ends from 1.000 to 2.000",
    "scatter": "2 <b>",  # those that are drawn
    "projection": "1 grey",
    "bars": "a 1; other: a 2, b -1",
    "histogram": "pool",
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_kind_is_drawn_and_said(kind):
    data = {"kind": kind, "title": EVIL, "caption": "How.", "grey": ["grey"], "x_label": "x", "y_label": "y"} | DATA[
        kind
    ]
    plot = draw("a name/../x", data)
    root = ElementTree.fromstring(plot.svg)
    assert (plot.title, plot.caption) == (EVIL, "How.")
    assert WORDS[kind] in plot.description
    assert root.get("aria-label") == plot.description
    assert "<b>" not in plot.svg
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(each.startswith("a-name-x-") for each in ids)
    assert draw("x", {**data, "description": "In words."}).description == "In words."


def test_names_of_files_come_from_no_path():
    drawn = figures(dataclasses.replace(record(), figures={"../a b": {"kind": "bars", "title": "t", **DATA["bars"]}}))
    assert list(drawn) == ["-a-b"]


def test_a_picture_of_no_known_kind_is_refused():
    with pytest.raises(ValueError, match="x is of the kind 'pie', expected one of lines"):
        draw("x", {"kind": "pie", "title": "t"})


@pytest.mark.parametrize(
    ("name", "start"), [("p.svg", b"<?xml"), ("p.png", b"\x89PNG"), ("p.pdf", b"%PDF"), ("p", b"\x89PNG")]
)
def test_the_ending_of_a_file_decides_its_format(tmp_path, name, start):
    path = save_figure({"kind": "bars", "title": "t", **DATA["bars"]}, tmp_path / "deep" / name)
    assert path.read_bytes().startswith(start)
