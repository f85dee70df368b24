"""Which columns the one reader of variants takes for groups, and which rows for usable."""

from __future__ import annotations

import logging

import pytest
from datasets import Dataset, concatenate_datasets, load_dataset

from hf_fairness import measure
from hf_fairness.augment import GroupVariants
from hf_fairness.measure.variants import read_variants
from hf_fairness.trainers import CCEDEvaluator

TEXTS = ["She sings.", "It rained.", "His mother left."]
MADE = {"male": ["He sings.", "x"], "female": ["She sings.", "x"], "neutral": ["They sing.", "x"]}
#: What users have beside their texts.
OTHERS = {
    "headline": ["a", "b", "c"],
    "source": ["x", "y", "z"],
    "id": ["1", "2", "3"],
    "label": ["good", "bad", "good"],
    "score": [0.1, 0.2, 0.3],
    "topic": ["arts", None, "home"],
}


def made(**options) -> Dataset:
    """Variants beside all the columns that were there."""
    return Dataset.from_dict({"text": TEXTS, **OTHERS}).map(GroupVariants("text", **options), batched=True)


def through_csv(rows, folder):
    rows.to_csv(folder / "rows.csv", index=False)
    return load_dataset("csv", data_files=str(folder / "rows.csv"), split="train", cache_dir=str(folder / "cache"))


def through_parquet(rows, folder):
    rows.to_parquet(folder / "rows.parquet")
    return Dataset.from_parquet(str(folder / "rows.parquet"), cache_dir=str(folder / "cache"))


WAYS = {
    "as made": lambda rows, folder: rows,
    "csv": through_csv,
    "parquet": through_parquet,
    "arrow": lambda rows, folder: Dataset(rows.data.table),
    "pandas": lambda rows, folder: rows.with_format("pandas"),
    "mapping": lambda rows, folder: rows.to_dict(),
    "frame": lambda rows, folder: rows.to_pandas().to_dict("list"),
    "unrecorded": lambda rows, folder: rows.remove_columns(["variant_groups", "has_terms", "edits"]),
    "flags as texts": lambda rows, folder: {**rows.to_dict(), "has_terms": ["True", "False", "true"]},
}


@pytest.mark.parametrize("way", WAYS)
def test_groups_are_those_of_the_attribute_whatever_stands_beside_them(way, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="hf_fairness.measure.variants"):
        read = read_variants(WAYS[way](made(), tmp_path))
    assert {name: texts[0] for name, texts in read.groups.items()} == {"male": "He sings.", "female": "She sings."}
    assert (read.neutral[0], read.n_skipped, read.kept) == ("They sing.", 1, (True, False, True))
    assert "Groups: columns male, female; neutral texts: column neutral; ignored: text, headline" in caplog.text


def test_leftover_columns_change_no_number():
    vectors = {text: [len(text), ord(text[0])] for name in (*MADE, "text", "source") for text in made()[name]}
    alone = made().select_columns(["male", "female", "neutral", "has_terms"])
    assert measure.cced(vectors, made())["cced"] == measure.cced(vectors, alone)["cced"] > 0
    assert list(measure.cced(vectors, made())["distance"]) == ["male", "female"]


def test_groups_of_another_attribute_a_prefix_or_by_name():
    rows = Dataset.from_dict({"text": ["A Muslim family.", "It rained."], "male": ["a", "b"], "female": ["c", "d"]})
    faith = rows.remove_columns(["male", "female"]).map(GroupVariants("text", attribute="religion"), batched=True)
    assert set(read_variants(faith).groups) == {"christian", "jewish", "muslim"}
    prefixed = Dataset.from_dict({"text": TEXTS, "male": TEXTS, "female": TEXTS[::-1]})
    prefixed = prefixed.map(GroupVariants("text", prefix="x_"), batched=True)
    read = read_variants(prefixed, neutral="x_neutral")
    assert (list(read.groups), read.n_skipped) == (["x_male", "x_female"], 1)
    plain = prefixed.remove_columns("x_variant_groups")
    assert list(read_variants(plain, neutral="x_neutral").groups) == ["x_male", "x_female"]
    named = read_variants(made(), groups=["female", "headline"])
    assert list(named.groups) == ["female", "headline"]
    both = concatenate_datasets([made(), faith.select_columns(["text", "neutral", "variant_groups"])])
    with pytest.raises(ValueError, match="made for different groups"):
        read_variants(both)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"has_terms": ["maybe", "False"]}, r"has_terms'\]\[0\] must be true or false"),
        ({"has_terms": [None, False]}, "must be true or false"),
        ({"rejected_reason": [0, 1]}, "rejected_reason must be texts"),
        ({"male": ["", "x"]}, "Row 0 has an empty text in column 'male'"),
        ({"male": [None, "x"]}, r"variants\['male'\]\[0\] must be a text; got NoneType"),
        ({"variant_groups": ["male, female"] * 2}, "must be a JSON list"),
        ({"variant_groups": ['["man", "woman"]'] * 2}, "missing man, woman"),
        ({"christian": ["a", "b"], "jewish": ["a", "b"], "muslim": ["a", "b"]}, "Several attributes fit"),
    ],
)
def test_what_cannot_be_read_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        read_variants({**MADE, **change})


def test_unknown_groups_must_be_named():
    rows = {"young": ["a"], "old": ["b"], "neutral": ["c"]}
    with pytest.raises(ValueError, match=r"no attribute fits.*name the columns"):
        read_variants(rows)
    assert list(read_variants(rows, groups=["young", "old"]).groups) == ["young", "old"]


def test_cells_of_rows_that_are_left_out_may_be_missing():
    rows = {"male": ["He.", None], "female": ["She.", ""], "neutral": ["They.", None], "has_terms": [True, False]}
    rejected = {**rows, "has_terms": [True, True], "rejected_reason": [float("nan"), "refused"]}
    assert read_variants(rows).n_skipped == read_variants(rejected).n_skipped == 1


def test_the_evaluator_reads_as_the_metric_does(caplog):
    with caplog.at_level(logging.INFO, logger="hf_fairness.measure.variants"):
        evaluator = CCEDEvaluator(made(), n_bootstrap=10)
        words = {text: [float(len(text)), 1.0] for name in MADE for text in made()[name]}
        found = evaluator._measure(words)
        assert found["cced"] == measure.cced(words, made())["cced"]
    assert caplog.text.count("Groups: columns male, female") == 2  # the evaluator's once, and the metric's
