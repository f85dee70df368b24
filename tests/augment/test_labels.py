"""Where the label is the attribute: refuse, mark, or swap it too."""

from __future__ import annotations

import pytest
from datasets import ClassLabel, Dataset, Features, Value

from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSubstitution, CounterfactualSwap

TEXTS = ["He teaches.", "She paints.", "Rain."]


def bios() -> Dataset:
    """As in bias-in-bios: the label is a profession, a second column holds the gender."""
    columns = {"text": TEXTS, "profession": [0, 1, 0], "gender": [0, 1, 1]}
    names = {"profession": ["teacher", "painter"], "gender": ["male", "female"]}
    kinds = {name: ClassLabel(names=values) for name, values in names.items()}
    return Dataset.from_dict(columns, features=Features({"text": Value("string"), **kinds}))


@pytest.mark.parametrize("kind", [CounterfactualSwap, CounterfactualAugmentation, CounterfactualSubstitution])
def test_a_label_that_says_the_attribute_is_refused(kind):
    options = {"probability": 1.0} if kind is CounterfactualSubstitution else {}
    guarded = kind("text", label_column="label", **options)
    with pytest.raises(ValueError, match=r"Label 'female' in column 'label' says a group.*on_label='swap'"):
        guarded({"text": ["She left."], "label": ["female"]})
    batch = {"text": ["She left.", "Rain."], "label": ["nurse", "female"]}  # no gender, or no change
    guarded(batch)
    assert "label_preserved" not in guarded.outputs()


@pytest.mark.parametrize(
    ("label", "preserved"),
    [
        ("female", False),
        ("Female", False),
        (" she", False),
        ("mothers", False),
        ("nurse", True),
        ("host", True),
        ("", True),
    ],
)
def test_what_says_a_group(label, preserved):
    marked = CounterfactualSwap("text", label_column="label", on_label="mark")
    assert marked({"text": "She left.", "label": label})["label_preserved"] is preserved
    assert marked({"text": "Rain.", "label": label})["label_preserved"] is True
    assert CounterfactualSwap("text", label_column="label")({"text": "Rain.", "label": label})["edits"] == "[]"


def test_a_profession_passes_and_a_gender_column_is_swapped_with_the_text():
    data = bios()
    professions = data.features["profession"].names
    guard = CounterfactualAugmentation("text", label_column="profession", label_names=professions)
    assert len(data.map(guard, batched=True)) == 5
    swapped = CounterfactualAugmentation(
        "text", label_column="gender", label_names=data.features["gender"].names, on_label="swap"
    )
    made = data.map(swapped, batched=True)
    assert made["text"][:] == ["He teaches.", "She teaches.", "She paints.", "He paints.", "Rain."]
    assert made["gender"][:] == [0, 1, 1, 0, 1]
    assert made["profession"][:] == [0, 0, 1, 1, 0]
    assert made.features["gender"] == data.features["gender"]


def test_new_labels_get_a_column_where_new_texts_do():
    data, names = bios(), ["male", "female"]
    swapped = data.map(
        CounterfactualSwap("text", label_column="gender", label_names=names, on_label="swap"), batched=True
    )
    assert swapped["gender_counterfactual"][:] == [1, 0, 1]
    assert swapped.features["gender_counterfactual"] == Value("int64")
    substituted = CounterfactualSubstitution(
        "text", probability=1.0, label_column="sex", label_names={"M": "male", "F": "female"}, on_label="swap"
    )
    row = substituted({"text": ["He left.", "Rain."], "sex": ["M", "F"]})
    assert row["sex_substituted"] == ["F", "F"]
    words = CounterfactualSwap("text", label_column="label", on_label="swap")
    labels = ["Mother", "HE", "male", "other"]
    assert words({"text": ["She left."] * 4, "label": labels})["label_counterfactual"] == [
        "Father",
        "SHE",
        "female",
        "other",
    ]


def test_labels_without_a_value_stay():
    marked = CounterfactualSwap("text", label_column="g", label_names=["male", "female"], on_label="swap")
    assert marked({"text": "He left.", "g": -1})["g_counterfactual"] == -1


def test_one_target_guards_the_labels_that_it_makes_wrong():
    marked = CounterfactualSwap("text", target="female", label_column="label", on_label="mark")
    rows = {"text": ["He met her."] * 2, "label": ["female", "male"]}
    assert marked(rows)["label_preserved"] == [True, False]
    faith = CounterfactualSwap("text", attribute="religion", target="jewish", label_column="label", on_label="swap")
    row = faith({"text": "A mosque in town.", "label": "muslim"})
    assert (row["text_counterfactual"], row["label_counterfactual"]) == ("A synagogue in town.", "jewish")


@pytest.mark.parametrize(
    ("options", "row", "error", "message"),
    [
        ({"on_label": "drop"}, None, ValueError, "on_label must be one of 'refuse', 'mark', 'swap'"),
        ({}, {"text": "He left."}, ValueError, "no column 'label'. Columns: text"),
        ({}, {"text": "He left.", "label": 1}, TypeError, "are no words, got int 1. Pass label_names="),
        ({"label_names": ["male", "other"], "on_label": "swap"}, None, ValueError, "which label_names lacks"),
        ({"label_names": {1.5: "male"}}, None, TypeError, "whole numbers or strings"),
        (
            {"on_label": "mark"},
            {"text": "x", "label": "x", "label_preserved": True},
            ValueError,
            "overwrite column 'label_preserved'",
        ),
    ],
)
def test_bad_input_is_a_clear_error(options, row, error, message):
    with pytest.raises(error, match=message):
        CounterfactualSwap("text", label_column="label", **options)(row)


def test_numbers_of_a_column_that_lacks_one_are_the_labels_that_were_named():
    rows = Dataset.from_dict({"text": TEXTS, "label": [0.0, 1.0, None]})
    names = {"label_column": "label", "label_names": ["male", "female"]}
    with pytest.raises(ValueError, match="Label 'male' in column 'label' says a group"):
        rows.map(CounterfactualSwap("text", **names), batched=True)
    swapped = CounterfactualSwap("text", on_label="swap", **names)(rows[:])
    assert swapped["label_counterfactual"] == [1, 0, -1]
