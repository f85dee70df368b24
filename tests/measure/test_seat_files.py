"""SEAT tests from files: the layouts that people have, and errors that say what is wrong with a file."""

from __future__ import annotations

import json

import pytest
import yaml

from hf_fairness.measure import seat
from hf_fairness.measure.encoder.seat_tests import read_tests, resolve_tests
from hf_fairness.measure.encoder.stimuli import ROLES, load_test
from hf_fairness.utils import FairnessWarning

SETS = {"targ1": ["he"], "targ2": ["she"], "attr1": ["work"], "attr2": ["home"]}
LAYOUT = {role: {"category": role.upper(), "examples": [f"{role} a", f"{role} b"]} for role in ROLES}


@pytest.fixture
def write(tmp_path):
    def make(name, content):
        path = tmp_path / name
        text = yaml.safe_dump(content) if path.suffix in (".yaml", ".yml") else json.dumps(content, indent=2)
        path.write_text(content if isinstance(content, str) else text)
        return path

    return make


@pytest.mark.parametrize("name", ["mine.json", "mine.jsonl", "mine.yaml", "mine.yml"])
def test_one_definition_is_called_after_its_file(write, name):
    path = write(name, LAYOUT)
    (test,) = read_tests(path)
    assert (test.name, test.purpose, test.targ1.name) == ("mine", "bias", "TARG1")
    assert test.targ1.texts == test.targ1.words == ("targ1 a", "targ1 b")
    assert resolve_tests(path) == resolve_tests(str(path)) == resolve_tests([path]) == [test]


@pytest.mark.parametrize("name", ["tests.json", "tests.yaml"])
def test_definitions_by_name_and_lists(write, name):
    both = read_tests(write(name, {"a": SETS, "b": SETS | {"purpose": "retention"}}))
    assert [(test.name, test.purpose) for test in both] == [("a", "bias"), ("b", "retention")]
    mixed = read_tests(write(f"more_{name}", ["6", SETS, SETS | {"name": "c"}]))
    assert [test.name for test in mixed] == ["6", "more_tests2", "c"]
    assert mixed[0] == load_test("6")


def test_lines_of_definitions(write):
    path = write("lines.jsonl", "".join(json.dumps(SETS | {"name": name}) + "\n\n" for name in "ab"))
    assert [test.name for test in read_tests(path)] == ["a", "b"]
    assert [test.name for test in resolve_tests(["6b", path])] == ["6b", "a", "b"]


def test_words_of_a_file_take_the_templates(write):
    path = write("names.json", SETS | {"targ1": {"words": ["Ann"], "kind": "name"}})
    assert read_tests(path)[0].targ1.texts[0] == "This is Ann."
    assert read_tests(path, templates="question")[0].targ1.texts[0] == "Is this Ann?"


def test_published_files_load_as_they_are(shared):
    for stem, same in (("sent-weat6", "6"), ("weat6", "weat6"), ("sent-religion1", "religion1")):
        path = shared / f"data/seat/{stem}.jsonl"
        if stem.startswith("sent-"):
            with pytest.warns(FairnessWarning, match="p_value_clustered protects from nothing"):
                (test,) = resolve_tests(path)
        else:
            (test,) = resolve_tests(path)
        assert test.name == stem
        assert [part.texts for part in test.sets] == [part.texts for part in load_test(same).sets]
    # The vignettes of the double bind are an experiment's own texts: they are read, not generated.
    with pytest.warns(FairnessWarning, match="clusters"):
        (test,) = resolve_tests(shared / "data/seat/heilman_double_bind_likable_1+3-.jsonl")
    assert len(test.targ1.texts) == 8


def test_a_file_that_was_cut_off_is_named_with_its_line(shared):
    with pytest.raises(ValueError, match=r"weat7b\.jsonl: not valid JSON: .* line 34.*cut off"):
        resolve_tests(shared / "data/seat/weat7b.jsonl")


def test_a_measurement_by_file(write):
    vectors = {"he": [1.0, 0.1], "she": [0.1, 1.0], "work": [1.0, 0.3], "home": [0.3, 1.0]}
    result = seat(vectors, write("toy.yaml", SETS))
    assert result["tests"]["toy"] == seat(vectors, {"toy": SETS})["tests"]["toy"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "", "a.json: not valid JSON"),
        ("a.json", "[]", "holds no tests.*got nothing"),
        ("a.json", "3", "holds no tests.*got int"),
        ("a.yaml", "a: [", "a.yaml: not valid YAML"),
        ("a.json", '{"targ1": ["x"]}', "a.json: Test 'a' needs the sets.*missing: targ2, attr1, attr2"),
        ("a.json", json.dumps([SETS, 3.5]), r"a.json: tests\[1\] must be a name"),
        ("a.json", json.dumps({"b": 1}), "a.json: Test 'b' must be a mapping"),
        ("a.jsonl", json.dumps(SETS) + "\n{x}\n", "a.jsonl: line 2 is not valid JSON"),
        ("a.json", '["66"]', "a.json: Unknown SEAT test '66'"),
        (
            "a.yaml",
            "targ1: [no]\ntarg2: [she]\nattr1: [x]\nattr2: [y]",
            r"a.yaml: targ1\[0\] must be a text; got False",
        ),
    ],
)
def test_bad_files_are_named(write, name, content, message):
    with pytest.raises(ValueError, match=message):
        resolve_tests(str(write(name, content)))


def test_a_missing_or_foreign_file():
    with pytest.raises(ValueError, match=r"There is no file .*none\.json"):
        resolve_tests("none.json")
    with pytest.raises(ValueError, match=r"end in \.json"):
        read_tests("tests.csv")
