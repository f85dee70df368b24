"""The plain sentences: many, varied, without gendered terms, and no change to what the other files yield."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from hashlib import sha256

import pytest

from hf_fairness.attributes import load_attribute
from hf_fairness.demo import corpus, frames, plain_frames, plain_sentences, triple_frames, variants
from hf_fairness.demo._filling import GROUP_SLOT

GENDER = load_attribute("gender")
# Third-person pronouns, and nouns that the attribute need not list but that a reader takes as gendered.
MORE_GENDERED = (
    r"\b(?:he|she|him|her|his|hers|himself|herself|themself|wo?m[ae]n|males?|females?|guys?|lad(?:y|ies)|mother\w*|"
    r"father\w*|\w+(?:man|men|woman|women)|(?:act|wait|host|emp|godd|duch|count|steward|heir|princ)r?ess(?:es)?|"
    r"mr|mrs|ms|sir|madam)\b"
)


def test_size_and_uniqueness():
    sentences = plain_sentences()
    assert len(sentences) >= 1000
    assert len(set(sentences)) == len(sentences)
    assert len(plain_frames()) >= 130
    texts, ids = ({getattr(frame, name) for frame in plain_frames()} for name in ("text", "id"))
    assert len(texts) == len(ids) == len(plain_frames())


def test_each_row_names_its_frame():
    rows = plain_sentences(with_frame=True)
    assert [text for text, _ in rows] == plain_sentences()
    assert Counter(frame for _, frame in rows) == {frame.id: 8 for frame in plain_frames()}


def test_many_topics_evenly():
    per_topic = Counter(frame.topic for frame in plain_frames())
    assert len(per_topic) >= 16
    assert set(per_topic.values()) == {8}


def test_lengths_and_forms_vary():
    lengths = [len(text.split()) for text in plain_sentences()]
    assert min(lengths) >= 5
    assert max(lengths) <= 30
    assert sum(length <= 7 for length in lengths) > 100
    assert sum(length >= 16 for length in lengths) > 100
    assert sum(text.endswith("?") for text in plain_sentences()) > 100
    starts = Counter(text.split()[0] for text in plain_sentences())
    assert max(starts.values()) < len(lengths) / 4


def test_no_gendered_term():
    for text in plain_sentences():
        assert not any(GENDER.counts(text).values()), text
        assert not GENDER.inherent_in(text), text
        assert not re.search(MORE_GENDERED, text, re.IGNORECASE), text


def test_no_given_name():
    names = {value for pair in GENDER.names for value in _strings(dataclasses.astuple(pair))}
    assert len(names) > 20
    for text in plain_sentences():
        assert not names & set(re.findall(r"\w+", text)), text


def _strings(value: object) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return _strings(tuple(value.values()))
    return set().union(*map(_strings, value)) if isinstance(value, (tuple, list)) else set()


@pytest.mark.parametrize("text", ["She reads.", "A fireman came.", "Our actress sang.", "The princess left."])
def test_the_check_finds_a_gendered_term(text):
    assert any(GENDER.counts(text).values())
    assert re.search(MORE_GENDERED, text, re.IGNORECASE)


def test_no_group_slot_and_no_frame_of_the_others():
    texts = {frame.text for frame in plain_frames()}
    assert not [text for text in texts if GROUP_SLOT.search(text)]
    assert not texts & {frame.text for frame in (*frames(), *triple_frames())}
    assert not set(plain_sentences()) & {*corpus(), *(text for column in variants().values() for text in column)}


def test_result_is_a_fresh_list():
    plain_sentences().clear()
    assert plain_sentences()


def test_corpus_and_triples_are_as_before():
    """Trained models and published numbers rest on these texts: a change here is a new version of the demo."""

    def digest(texts):
        return sha256(json.dumps(texts).encode()).hexdigest()

    assert digest(corpus()) == "05499dea0f0d3a2a66f22b15fee1ae9e802f116a09fdd8a7b8e402d09f0c16c2"
    assert digest(variants(with_frame=True)) == "5d4cb6f92872c66628a6c9be16bafd7475aacab740560a3887bac535a6f3a148"
