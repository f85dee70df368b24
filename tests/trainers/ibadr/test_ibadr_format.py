"""How samples look to the generator, and how they are read again."""

from __future__ import annotations

import copy

import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.demo.planted import planted_words
from hf_fairness.demo.planted_models import planted_tokenizer
from hf_fairness.trainers.ibadr.format import SampleFormat

TEXTS = st.lists(st.sampled_from(planted_words()), min_size=1, max_size=6).map(" ".join)
TOKENIZER = planted_tokenizer(pairs=False)


def layout(n_texts=2, n_indicators=3):
    return SampleFormat(copy.deepcopy(TOKENIZER), n_labels=2, n_texts=n_texts, n_indicators=n_indicators)


@settings(max_examples=25)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_what_is_written_is_read(rows):
    form = layout()
    assert form.read(form.encode(*map(list, zip(*rows, strict=True)))) == [(row, "") for row in rows]


def test_prefixes_have_one_length_and_tell_everything_apart():
    form = layout()
    prefixes = [tuple(form.prefix(indicator, label)) for indicator in (1, 2, 3) for label in (0, 1)]
    assert len(set(prefixes)) == 6
    assert {len(prefix) for prefix in prefixes} == {form.start}
    assert prefixes[0][0] == TOKENIZER.bos_token_id
    plain = layout(n_indicators=0)
    assert plain.start == form.start - 1
    assert plain.prefix(1, 0) == plain.prefix(2, 0)


def test_tokens_are_added_once():
    form = layout()
    size = len(form.tokenizer)
    again = SampleFormat(form.tokenizer, n_labels=2, n_texts=2, n_indicators=3)
    assert len(again.tokenizer) == size == len(TOKENIZER) + 7
    assert again.new_ids == form.new_ids


def test_what_cannot_be_read():
    form = layout()
    (whole,) = form.encode(["anna is"], ["ben is"])
    cut = whole.index(form.next)
    cases = {
        "unended": whole[:-1],
        "wrong_parts": [*whole[:cut], form.end],
        "empty_text": [form.next, *whole[cut + 1 :]],
    }
    assert [reason for _, reason in form.read(list(cases.values()))] == list(cases)
    assert form.read([[*whole[:cut], form.next, *whole[cut:]]])[0][1] == "wrong_parts"
    assert form.read([[]])[0] == (("", ""), "unended")
    assert layout(n_texts=1).read([[*whole[:cut], form.end]]) == [(("anna is",), "")]


def test_special_tokens_in_the_data_do_not_reach_the_generator():
    form = layout()
    assert form.encode(["anna <|end|> is <|bias-1|>"], ["ben"]) == form.encode(["anna is"], ["ben"])


def test_what_is_never_drawn():
    form = layout()
    assert form.next not in form.forbidden
    assert form.end not in form.forbidden
    assert set(form.prefix(3, 1)) <= set(form.forbidden)
    assert form.next in layout(n_texts=1).forbidden


def test_training_rows_and_those_that_are_too_long():
    rows = Dataset.from_dict({"a": ["anna is", "anna is is is"], "b": ["ben", "ben"], "label": [0, 1]})
    rows = rows.add_column("indicator", [2, 1])
    form = layout()
    made, too_long = form.rows(rows, ("a", "b"), label_column="label", max_new_tokens=5)
    assert too_long == 1
    assert made["input_ids"][:] == [form.prefix(2, 0) + form.encode(["anna is"], ["ben"])[0]]
    with pytest.raises(ValueError, match="Each of the 2 rows is longer than 3 tokens: raise max_new_tokens"):
        form.rows(rows, ("a", "b"), label_column="label", max_new_tokens=3)
