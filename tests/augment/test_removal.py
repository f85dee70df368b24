"""Texts without terms, and several columns at once."""

from __future__ import annotations

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.augment import (
    CounterfactualAugmentation,
    CounterfactualSubstitution,
    CounterfactualSwap,
    GroupVariants,
    Neutralize,
    RemoveTerms,
    apply_edits,
    parse_edits,
    summarize,
)

PAIR = {"premise": ["A man waves to his son.", "Rain.", "She ran."], "hypothesis": ["He waves.", "Wet.", "It ran."]}


@pytest.mark.parametrize(
    ("text", "blind"),
    [
        ("She lives with her sister's cat.", "lives with cat."),
        ("Give it to her mother.", "Give it to."),
        ("Mr. Smith met Mrs Jones, the actress.", "Smith met Jones, the."),
        ("(his book)", "(book)"),
        ("The actor-director ran; she's ill.", "The director ran; 's ill."),
        ('He said "he left".', 'said "left".'),
        ("the boys' room", "the room"),
        ("Ask him\nor her\n", "Ask\nor\n"),
        ("She", ""),
        ("Nothing here.", "Nothing here."),
        ("", ""),
    ],
)
def test_terms_go_with_a_space_beside_them(text, blind):
    row = RemoveTerms("text")({"text": text})
    edits = parse_edits(row["edits"])
    assert row["text_blind"] == blind == apply_edits(text, edits)
    assert {edit.to for edit in edits} <= {"removed"}


def test_a_placeholder_keeps_the_places():
    row = RemoveTerms("text", placeholder="[X]")({"text": "She saw Mr. Smith's wife, Mary."})
    assert row["text_blind"] == "[X] saw [X]. Smith's [X], Mary."
    named = RemoveTerms("text", placeholder="[X]", names=True)({"text": "She saw Mary."})
    assert named["text_blind"] == "[X] saw [X]."
    with pytest.raises(TypeError, match="placeholder must be a string, got None"):
        RemoveTerms("text", placeholder=None)


@given(
    st.lists(st.sampled_from(["she", "his", "Mr.", "aunt", "cat", ",", "'s", "(", ".", "\n", "-", "Ann"]), max_size=12)
)
def test_no_term_is_left_and_nothing_else_is_lost(words):
    text = " ".join(words)
    row = RemoveTerms("text", attribute="gender")({"text": text})
    assert apply_edits(text, parse_edits(row["edits"])) == row["text_blind"]
    terms = summarize([text])["terms"]
    assert len(parse_edits(row["edits"])) == sum(terms.values())
    assert row["text_blind"].count("cat") == text.count("cat")
    assert row["text_blind"].count("Ann") == text.count("Ann")


def test_columns_are_swapped_together():
    both = ["premise", "hypothesis"]
    row = CounterfactualSwap(both)(PAIR)
    assert row["premise_counterfactual"] == ["A woman waves to her daughter.", "Rain.", "He ran."]
    assert row["hypothesis_counterfactual"] == ["She waves.", "Wet.", "It ran."]
    edits = parse_edits(row["edits"][0])
    assert [(edit.column, edit.source) for edit in edits] == [
        ("premise", "man"),
        ("premise", "his"),
        ("premise", "son"),
        ("hypothesis", "He"),
    ]
    for column in both:
        own = [edit for edit in edits if edit.column == column]
        assert apply_edits(PAIR[column][0], own) == row[f"{column}_counterfactual"][0]
    assert row["edits"][1] == "[]"
    assert all(not edit.column for edit in parse_edits(CounterfactualSwap(["premise"])(PAIR)["edits"][0]))
    neutral = Neutralize(both)(PAIR)
    assert neutral["hypothesis_neutral"][0] == "They wave."
    assert RemoveTerms(both)(PAIR)["premise_blind"][0] == "A waves to."
    with pytest.raises(ValueError, match="GroupVariants takes one column, got premise, hypothesis"):
        GroupVariants(both)


def test_augmentation_copies_a_row_once_with_all_columns_swapped():
    data = Dataset.from_dict({**PAIR, "label": [0, 1, 2]})
    made = data.map(CounterfactualAugmentation(["premise", "hypothesis"]), batched=True)
    assert made["label"][:] == [0, 0, 1, 2, 2]
    assert made["counterfactual"][:] == [False, True, False, False, True]
    assert made[1]["premise"] == "A woman waves to her daughter."
    assert made[1]["hypothesis"] == "She waves."
    assert made[4]["premise"] == "He ran."
    assert made[4]["hypothesis"] == "It ran."  # no term of its own: copied as it is


def test_substitution_draws_once_per_row():
    texts = [f"He has {i} cups." for i in range(300)]
    row = CounterfactualSubstitution(["a", "b"])({"a": texts, "b": texts[::-1]})
    assert 100 < sum(row["substituted"]) < 200
    for name in ("a", "b"):
        assert [text.startswith("She") for text in row[f"{name}_substituted"]] == row["substituted"]
