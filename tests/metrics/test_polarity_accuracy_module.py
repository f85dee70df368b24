"""Polarity accuracy as an evaluate module; what all modules share is in test_module_cases.py."""

from __future__ import annotations

import doctest
from pathlib import Path

import evaluate
import pytest
from datasets import Dataset

import hf_fairness
from hf_fairness.attributes import load_attribute

CARD = Path(__file__).resolve().parents[2] / "metrics/polarity_accuracy/README.md"
GROUPS = ("male", "female", "neutral")


@pytest.fixture(scope="module")
def module():
    return evaluate.load(hf_fairness.metric_path("polarity_accuracy"))


def test_rows_columns_and_counts_agree(module):
    rows = [
        {"male": "He met his wife.", "female": "She met her husband.", "neutral": "They met their spouse."},
        {"male": "The king slept.", "female": "The king slept.", "neutral": "The monarch slept."},
        {"male": "Tom and his sister sang.", "female": "Ann and her sister sang.", "neutral": "They sang."},
    ]
    result = module.compute(variants=rows)
    assert module.compute(variants=Dataset.from_list(rows)) == result
    columns = {name: [row[name] for row in rows] for name in GROUPS}
    assert module.compute(variants=columns) == result
    attribute = load_attribute("gender")
    names = list(attribute.group_names)
    counts = {name: [[attribute.counts(text)[group] for group in names] for text in columns[name]] for name in GROUPS}
    assert module.compute(counts=counts, groups=names) == result
    # "He", "his" against "wife"; a king that nobody swapped; "his" against "sister", a tie.
    assert result["polarity_accuracy"] == pytest.approx(1 / 3)
    assert {name: part["accuracy"] for name, part in result["versions"].items()} == pytest.approx(
        {"male": 2 / 3, "female": 2 / 3, "neutral": 1.0}
    )
    assert result["versions"]["male"]["n_tied"] == 1
    assert result["versions"]["female"]["n_neutral"] == 0


def test_rows_marked_in_a_text_file(module):
    row = {"male": "He left.", "female": "She left.", "neutral": "They left."}
    same = dict.fromkeys(GROUPS, "It rains.")
    rows = [row | {"has_terms": "True"}, same | {"has_terms": "False"}]
    result = module.compute(variants=rows)
    assert (result["polarity_accuracy"], result["n"], result["n_skipped"]) == (1.0, 1, 1)


def test_triples_written_by_people(module, shared):
    lines = (shared / "data/winogender/all_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    versions: dict[str, list[str]] = {name: [] for name in GROUPS}
    for line in lines:
        name, text = line.split("\t")
        versions[name.split(".")[-2]].append(text)
    result = module.compute(variants=versions, n_bootstrap=50)
    assert (result["n"], result["n_skipped"]) == (240, 0)
    assert result["polarity_accuracy"] == 1.0
    # The harm that it is there to find: versions in the wrong column, a swap that left half of the texts as they were.
    exchanged = versions | {"male": versions["female"], "female": versions["male"]}
    wrong = module.compute(variants=exchanged, n_bootstrap=50)
    assert (wrong["polarity_accuracy"], wrong["versions"]["neutral"]["accuracy"]) == (0.0, 1.0)
    half = versions | {"female": versions["male"][:120] + versions["female"][120:]}
    assert module.compute(variants=half, n_bootstrap=50)["polarity_accuracy"] == 0.5


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "needs variants"),
        ({"predictions": ["a"]}, ValueError, "takes no predictions"),
        ({"variants": [], "groups": ["a"]}, ValueError, "takes no groups"),
        ({"counts": {"a": [[1]]}}, ValueError, "needs groups"),
        ({"counts": {"a": [[1]]}, "groups": ["a"], "variants": []}, ValueError, "takes no variants"),
        ({"variants": [{"male": "He left."}]}, ValueError, "No column 'female'"),
        ({"variants": [{"male": "He left."}], "attributes": "gender"}, TypeError, "attributes"),
    ],
)
def test_inputs_are_validated(module, inputs, error, message):
    with pytest.raises(error, match=message):
        module.compute(**inputs)


def test_examples_of_the_card_run():
    failed, attempted = doctest.testfile(str(CARD), module_relative=False, encoding="utf-8")
    assert (failed, attempted > 3) == (0, True)
