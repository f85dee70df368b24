"""The counter of statements."""

from __future__ import annotations

import pytest

from benchmarks import code_size
from benchmarks.study import ROOT

SOURCE = '''"""A module."""

import math


def area(radius: float) -> float:
    """Of a circle."""
    if radius < 0:
        raise ValueError(
            f"radius is {radius}"
        )
    return math.pi * radius**2
'''


def test_statements_are_those_of_the_grammar():
    assert code_size.counted(SOURCE)["statements"] == 4  # def, if, raise, return
    assert code_size.counted("x = 1; y = 2\n")["statements"] == 2
    assert code_size.counted("")["statements"] == 0


def test_what_is_crammed_into_one_statement_has_as_many_nodes():
    apart, together = code_size.counted("a = f(x)\nb = g(a)\n"), code_size.counted("b = g(f(x))\n")
    assert apart["statements"] == 2 * together["statements"]
    assert together["nodes"] > 0.5 * apart["nodes"]
    assert code_size.counted("import os\nx = 1\n") == code_size.counted('"""What it is."""\nx = 1\n')


def test_every_file_of_a_layer_is_where_it_is_looked_for():
    """A file that moves must not leave the count by it."""
    names = {each for globs in code_size.LAYERS.values() for each in globs} - {"trainers/recipes/*"}
    assert [name for name in sorted(names) if not list(ROOT.glob(name))] == []


@pytest.mark.whole
def test_the_table_adds_up():
    found = code_size.sizes(None)
    assert sum(found[layer]["statements"] for layer in code_size.LAYERS) == found["carrying layers"]["statements"]
    assert "carrying layers" in code_size.size_table(None)


@pytest.mark.whole
def test_the_way_of_a_command():
    modules = code_size.way("audit")
    assert {"hf_fairness.cli.audit", "hf_fairness.sources", "hf_fairness.scores.seat"} <= set(modules)
    assert "hf_fairness.trainers.ibadr.method" not in modules
