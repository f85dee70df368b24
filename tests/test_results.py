"""Results for a log (`flatten`) and for a person (`show`)."""

from __future__ import annotations

import json
from collections import OrderedDict

import numpy as np
import pytest
import torch

import hf_fairness
from hf_fairness.results import columns, flatten, result_table, show

META = {"convention": "a convention", "ideal": "gap 0", "direction": "higher is worse", "n": 8, "seed": 0}
RESULT = {
    "gap": 0.5,
    "gap_ci95": [0.25, 0.75],
    "delta": None,
    "delta_ci95": None,
    "positive_rate": {"female": 0.75, "male": 0.25},
    "rates": {"female": {"n": 4, "positive_rate": 0.75, "positive_rate_ci95": [0.24, 0.98]}},
    "method": "exact",
    "items": [{"score": 1.0}, {"score": 2.0}],
    "n": 8,
    "meta": META,
}


def test_they_are_at_hand_without_further_imports():
    assert hf_fairness.flatten is flatten
    assert hf_fairness.show is show


def test_flat_numbers_of_a_result():
    assert flatten(RESULT) == {
        "gap": 0.5,
        "gap_ci95_low": 0.25,
        "gap_ci95_high": 0.75,
        "positive_rate_female": 0.75,
        "positive_rate_male": 0.25,
        "rates_female_n": 4,
        "rates_female_positive_rate": 0.75,
        "rates_female_positive_rate_ci95_low": 0.24,
        "rates_female_positive_rate_ci95_high": 0.98,
        "n": 8,
    }
    assert flatten({}) == {}


def test_numbers_of_numpy_and_torch_become_those_of_python():
    given = {
        "a": np.float32(0.5),
        "b": np.int64(3),
        "c": torch.tensor(0.25),
        "d": np.array(2),
        "e_ci95": np.array([0.0, 1.0]),
        "f_ci95": (0.5, None),
    }
    found = flatten(given)
    assert found == {"a": 0.5, "b": 3, "c": 0.25, "d": 2, "e_ci95_low": 0.0, "e_ci95_high": 1.0, "f_ci95_low": 0.5}
    assert {type(value) for value in found.values()} == {int, float}


@pytest.mark.parametrize(
    "value",
    [None, "text", "", True, np.bool_(True), float("nan"), float("inf"), np.float32("nan"), [1.0, 2.0], [], {}, "0.5"],
)
def test_what_is_no_finite_number_is_left_out(value):
    assert flatten({"key": value, "n": 1}) == {"n": 1}
    assert flatten({"key_ci95": [value, value], "n": 1}) == {"n": 1}


def test_meta_is_left_out_wherever_it_stands_and_a_group_of_that_name_is_not():
    nested = {"dp": RESULT, "dp_meta": META, "meta": {"seed": 3}, "rates": {"meta": {"rate": 0.5}, "convention": 0.25}}
    found = flatten(nested)
    assert not [key for key in found if "seed" in key or key.startswith(("dp_meta", "meta"))]
    assert (found["dp_n"], found["rates_meta_rate"], found["rates_convention"]) == (8, 0.5, 0.25)
    assert "rate" in result_table(nested)


@pytest.mark.parametrize("result", [{"a": {"b_c": 1}, "a_b": {"c": 2}}, {"rate": {1: 0.5, "1": 0.25}}])
def test_two_numbers_of_one_name_are_an_error(result):
    with pytest.raises(ValueError, match=r"Two numbers of the result are called '(a_b_c|rate_1)'.*Rename"):
        flatten(result)


@pytest.mark.parametrize("function", [flatten, show])
def test_what_is_no_result_is_named(function):
    with pytest.raises(TypeError, match=r"needs the result of a metric, a dict; got NoneType.*main process"):
        function(None)
    with pytest.raises(TypeError, match=r"a dict; got list\."):
        function([RESULT])


def test_table_of_a_result(capsys):
    show(RESULT)
    assert capsys.readouterr().out == (
        "                      value   95 % interval  n\n"
        "----------------------------------------------\n"
        "gap                   0.500  [0.250, 0.750]\n"
        "delta                     –\n"
        "positive_rate\n"
        "  female              0.750\n"
        "  male                0.250\n"
        "rates\n"
        "  female                                     4\n"
        "    positive_rate     0.750  [0.240, 0.980]\n"
        "method                exact\n"
        "items              2 values\n"
        "n                         8\n"
        "\n"
        "Ideal: gap 0\n"
        "Direction: higher is worse\n"
        "Convention: a convention\n"
    )


def test_a_result_stays_as_it_was_and_plain():
    before = json.dumps(RESULT)
    result_table(RESULT)
    flatten(RESULT)
    assert json.dumps(RESULT) == before
    assert result_table(OrderedDict(RESULT)) == result_table(RESULT) == result_table(json.loads(before))


def test_values_of_every_kind():
    found = {
        "a": -0.25,
        "b": 1e-7,
        "c": 123456,
        "d": 12345.6,
        "e": True,
        "f": float("nan"),
        "g": None,
        "h": {},
        "i": "",
    }
    cells = [line.split() for line in result_table(found).splitlines()[2:]]
    assert cells == [
        ["a", "−0.250"],
        ["b", "1.0e−7"],
        ["c", "123,456"],
        ["d", "12,346"],
        ["e", "True"],
        ["f", "–"],
        ["g", "–"],
        ["h", "–"],
    ]
    assert result_table({}) == ""
    assert result_table({"meta": META}).splitlines() == [
        "Ideal: gap 0",
        "Direction: higher is worse",
        "Convention: a convention",
    ]


def test_letters_of_every_width_stand_below_each_other():
    names = ["male", "女性", "mujer", "e\N{COMBINING ACUTE ACCENT}le\N{COMBINING GRAVE ACCENT}ve", "женщина"]
    rates = {name: {"rate": 0.5, "rate_ci95": [0.25, 0.75]} for name in names} | {name + "!": 0.5 for name in names}
    lines = result_table({"rates": rates}).splitlines()
    assert [line for line in lines if "女性!" in line] == ["  女性!     0.500"]
    assert [line for line in lines if "ve!" in line] == [f"  {names[3]}!    0.500"]
    assert [line for line in lines if "женщина!" in line] == ["  женщина!  0.500"]
    assert columns([["", "x"], ["女", "1"], ["ab", "2"]]) == ["    x", "-----", "女  1", "ab  2"]


def test_long_names_and_texts_are_cut_and_command_no_terminal():
    found = {"x" * 200: 0.5, "a\nb\x1b[31m": "red\x1b[0m " + "y" * 200, "z": 1.0}
    lines = result_table(found).splitlines()
    assert max(map(len, lines)) <= 60 + 2 + 30
    assert not [letter for line in lines for letter in line if not letter.isprintable()]
    assert len(lines) == 2 + len(found)
    assert sum("…" in line for line in lines) == 2


def test_blocks_of_many_entries_are_cut_unless_all_are_wanted():
    found = {"professions": {f"p{i}": {"accuracy": 0.5, "n": 3} for i in range(104)}} | {f"k{i}": i for i in range(30)}
    lines = result_table(found).splitlines()
    assert "  … 84 more" in lines
    assert [line.split()[0] for line in lines if line.startswith("k")] == [f"k{i}" for i in range(30)]
    assert len(lines) == 2 + 1 + 20 * 2 + 1 + 30
    everything = result_table(found, entries=None).splitlines()
    assert len(everything) == 2 + 1 + 104 * 2 + 30
    assert "more" not in result_table({"a": {"b": 1, "c": 2}}, entries=2)
    with pytest.raises(ValueError, match="entries must be at least 1"):
        show(found, entries=0)


def test_what_the_numbers_mean_is_wrapped_and_said_of_each_result():
    long = META | {"convention": "word " * 60}
    text = result_table({"seat": {"d": 0.5, "meta": long}, "cced": {"cced": 0.1, "meta": META}}, width=50)
    assert max(map(len, text.splitlines())) <= 50
    assert text.split().count("word") == 60
    assert "seat. Ideal: gap 0" in text
    assert "cced. Convention: a convention" in text
