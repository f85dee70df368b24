"""The card of a derived data set: front matter that the Hub reads, numbers, and nothing of this machine."""

from __future__ import annotations

import dataclasses

import pytest
from huggingface_hub import DatasetCard

from hf_fairness.attributes import load_attribute
from hf_fairness.report.dataset_card import Derivation, dataset_card, flat_counts

MADE = Derivation(
    name="fairer | corpus",
    method="cda",
    summary="adds rows",
    source="/home/somebody/secret/corpus.csv",
    split="dev",
    columns=["premise", "hypothesis"],
    options={"seed": 0, "model": "/home/somebody/models/mine", "hub": "org/model"},
    counts={"rows in": 10, "rejected share": 0.123456, "texts": {"terms": {"male": 3}}},
    n_rows=12,
    attribute=load_attribute("gender"),
    reference="Somebody 2020",
    example={"text before": "She <i>sat</i>\n| there"},
    limits=["Mind the *gap*."],
    versions={"datasets": "5"},
)


def test_front_matter():
    card = dataset_card(MADE)
    assert DatasetCard(card.content).data.to_dict() == {
        "language": ["en"],
        "size_categories": ["n<1K"],
        "pretty_name": "fairer | corpus",
        "tags": ["hf-fairness"],
    }
    licensed = dataset_card(dataclasses.replace(MADE, licence="cc-by-4.0", attribute=None))
    assert licensed.data.to_dict()["license"] == "cc-by-4.0"
    assert licensed.data.language is None


@pytest.mark.parametrize(("n", "size"), [(999, "n<1K"), (1000, "1K<n<10K"), (10**5, "100K<n<1M"), (10**8, "n>10M")])
def test_size_category(n, size):
    assert dataset_card(dataclasses.replace(MADE, n_rows=n)).data.size_categories == [size]


def test_numbers_and_settings_are_tables():
    text = dataset_card(MADE).text
    for line in ("| rows in | 10 |", "| rejected share | 0.1235 |", "| texts: terms: male | 3 |", "| datasets | 5 |"):
        assert line in text
    assert f"| digest of the attribute | {MADE.attribute.digest} |" in text
    assert "| hub | org/model |" in text
    assert "| given names | not touched |" in text


def test_nothing_of_this_machine_and_no_markup():
    text = dataset_card(MADE).text
    assert "somebody" not in text
    assert "| source | corpus.csv |" in text
    assert "| model | mine |" in text
    assert "<i>" not in text
    assert "there" in text.split("## Example")[1].split("##")[0].strip()
    assert r"Mind the \*gap\*." in text
    assert r"# fairer \| corpus" in text


def test_what_is_not_known_is_said():
    text = dataset_card(MADE).text
    assert "does not make it fair" in text
    assert "No licence was stated" in text
    assert "People whom it does not name" in text
    plain = dataset_card(dataclasses.replace(MADE, attribute=None, example={})).text
    assert "People whom it does not name" not in plain
    assert "Nobody read the rows" in plain
    assert "## Terms" not in plain
    assert "## Example" not in plain


def test_sources_of_names_only_where_names_counted():
    source = MADE.attribute.names_source
    assert source
    marker = source.split(",")[0][:20]
    without = dataset_card(MADE).text.split("## Terms")[1]
    with_names = dataset_card(dataclasses.replace(MADE, names=True)).text.split("## Terms")[1]
    assert with_names.count(marker) == without.count(marker) + 1


def test_counts_as_lines():
    assert flat_counts({"a": 1, "b": {"c": 0.5, "d": {"e": 2}}}) == [("a", "1"), ("b: c", "0.5"), ("b: d: e", "2")]
