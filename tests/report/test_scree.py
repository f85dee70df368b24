"""The scree plot of explained variance."""

from __future__ import annotations

import pytest

from hf_fairness.measure.encoder.bias_direction import bias_direction
from hf_fairness.report import draw, save_figure, scree_figure

TEN = [0.58, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02, 0.01]


def test_plot_of_a_direction_in_words_and_picture():
    vectors = {"he": [-1.0, 0.0], "she": [1.0, 0.1], "man": [-1.0, 1.0], "woman": [1.0, 0.8]}
    found = bias_direction(vectors)
    plot = draw("scree", scree_figure(found.explained_variance_ratio))
    assert plot.svg.startswith("<svg")
    assert "0.99" in plot.description
    assert "share of variance" in plot.svg
    assert plot.svg == draw("scree", scree_figure(list(found.explained_variance_ratio))).svg  # the same every time


def test_several_directions_have_a_legend():
    plot = draw("scree", scree_figure({"10 pairs": TEN, "<50> pairs": [0.41, 0.2]}))
    assert "10 pairs" in plot.svg
    assert "<50>" not in plot.svg
    assert "&lt;50&gt;" in plot.svg
    assert plot.svg.count("%</text>") == 2
    assert "10 pairs: 0.580, 0.100" in plot.description


@pytest.mark.parametrize(("name", "start"), [("scree.png", b"\x89PNG"), ("scree.svg", b"<?xml"), ("scree", b"\x89PNG")])
def test_plot_as_a_file(tmp_path, name, start):
    path = save_figure(scree_figure({"10": TEN, "50": TEN[:4]}), tmp_path / name)
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("ratios", [[], {}, {"a": []}, [1.2], [float("nan")]])
def test_nothing_to_draw(ratios):
    with pytest.raises(ValueError, match="variance ratios"):
        scree_figure(ratios)
