"""SEAT stimuli equal the published sets."""

from __future__ import annotations

import json
import re

import pytest

from hf_fairness.measure import available_tests
from hf_fairness.measure.stimuli import (
    DEFAULT_TESTS,
    ROLES,
    load_test,
    plural,
    resolve_tests,
    sentences,
    user_test,
)

SENTENCE_FILES = {
    "angry_black_woman_stereotype": "sent-angry_black_woman_stereotype",
    "angry_black_woman_stereotype_b": "sent-angry_black_woman_stereotype_b",
    "competent_one_word": "sent-heilman_double_bind_competent_one_word",
    "likable_one_word": "sent-heilman_double_bind_likable_one_word",
    **{name: f"sent-{name}" for name in ("religion1", "religion1b", "religion2", "religion2b")},
}
TRUNCATED = {"7b"}  # the published word file of this test ends in the middle


def _published(path):
    """A published set; some files lack a comma or have one too many."""
    text = re.sub(r",(\s*[\]}])", r"\1", path.read_text())
    return json.loads(re.sub(r'([\]"}])\s*\n(\s*")', r"\1,\n\2", text))


@pytest.mark.parametrize("name", list(available_tests()))
def test_sentences_equal_the_published_sets_in_order(shared, name):
    published = _published(shared / f"data/seat/{SENTENCE_FILES.get(name, f'sent-weat{name}')}.jsonl")
    test = load_test(name)
    for role, part in zip(ROLES, test.sets, strict=True):
        assert list(part.texts) == published[role]["examples"], role
        assert len(part.words) == len(part.texts)


@pytest.mark.parametrize("name", [name for name in available_tests() if name[0].isdigit() and name not in TRUNCATED])
def test_words_equal_the_published_sets_in_order(shared, name):
    published = _published(shared / f"data/seat/weat{name}.jsonl")
    for role, part in zip(ROLES, load_test(f"weat{name}").sets, strict=True):
        assert list(part.texts) == list(part.words) == published[role]["examples"], role


def test_words_of_7b_are_those_of_7_and_6():
    seven, names, both = load_test("weat7"), load_test("weat6"), load_test("weat7b")
    assert (both.targ1, both.targ2) == (seven.targ1, seven.targ2)
    assert (both.attr1, both.attr2) == (names.targ1, names.targ2)


def test_every_sentence_belongs_to_its_word():
    part = load_test("6b").targ1
    owners = dict(zip(part.texts, part.words, strict=True))
    expected = {
        "A man is a person.": "man",
        "Men are people.": "man",
        "There he is.": "he",
        "His is here.": "his",
    }
    assert {text: owners[text] for text in expected} == expected
    assert list(dict.fromkeys(part.words)) == list(load_test("weat6b").targ1.texts)
    for name in DEFAULT_TESTS:
        for part in load_test(name).sets:
            assert len(set(part.texts)) == len(part.texts) == len(part.words)


@pytest.mark.parametrize(
    ("word", "kind", "kept"),
    [
        ("violin", "thing", ("A violin is a thing.", "Violins are things.")),
        ("aunt", "person", ("An aunt is a person.", "Aunts are people.")),
        ("joy", "mass", ("It is joy.",)),
        ("he", "subject", ("There he is.",)),
        ("John", "word", ("John",)),
    ],
)
def test_kinds_of_words(word, kind, kept):
    assert set(kept) <= set(sentences(word, kind))


def test_plurals():
    assert [plural(word) for word in ("toy", "story", "box", "church", "boy")] == [
        "toys",
        "stories",
        "boxes",
        "churches",
        "boys",
    ]


SETS = {"targ1": ["he"], "targ2": ["she"], "attr1": ["work"], "attr2": ["home"]}


def test_user_tests_take_lists_words_examples_and_sentences():
    test = user_test(
        {
            "name": "mine",
            "purpose": "retention",
            "targ1": {
                "words": ["Ahmed", "child"],
                "kind": "name",
                "kinds": {"thing": ["child"]},
                "forms": {"child": ["child", "children"]},
            },
            "targ2": {"category": "Names", "examples": ["This is Ann."]},
            "attr1": {"work": ["I work.", "We work."], "office": ["The office is open."]},
            "attr2": ["home"],
        },
        "unused",
    )
    assert (test.name, test.purpose, test.targ2.name) == ("mine", "retention", "Names")
    assert "The person's name is Ahmed." in test.targ1.texts
    assert "Children are things." in test.targ1.texts
    assert test.attr1.words == ("work", "work", "office")
    assert test.attr2.texts == test.attr2.words == ("home",)


def test_asking_for_tests():
    assert [test.name for test in resolve_tests()] == list(DEFAULT_TESTS)
    assert [test.name for test in resolve_tests("weat6")] == ["weat6"]
    assert [test.name for test in resolve_tests(["6", SETS, 7])] == ["6", "user2", "7"]
    assert [test.name for test in resolve_tests({"a": SETS, "b": SETS})] == ["a", "b"]
    assert resolve_tests(SETS)[0].targ1.texts == ("he",)
    assert load_test("sent-weat6").sets == load_test("6").sets


@pytest.mark.parametrize(
    ("tests", "error", "message"),
    [
        (["66"], ValueError, "Unknown SEAT test '66'. Known: 1, 2"),
        ([], ValueError, "tests is empty"),
        (["6", "6"], ValueError, "more than once"),
        ([3.5], TypeError, r"tests\[0\]"),
        (7, TypeError, "names, definitions or None"),
        ([{"targ1": ["a"]}], ValueError, "missing: targ2, attr1, attr2"),
        ([SETS | {"targ3": ["a"]}], ValueError, "unknown: targ3"),
        ([SETS | {"targ1": []}], ValueError, "targ1 is empty"),
        ([SETS | {"targ1": {}}], ValueError, "targ1 is empty"),
        ([SETS | {"targ1": ["a", "a"]}], ValueError, "more than once"),
        ([SETS | {"targ1": ["a", 3]}], ValueError, r"targ1\[1\]"),
        ([SETS | {"targ1": "he"}], ValueError, "list of texts"),
        ([SETS | {"purpose": "fun"}], ValueError, "bias, retention"),
        ([SETS | {"targ1": {"words": ["a"], "kind": "noun"}}], ValueError, "Unknown kind of word 'noun'"),
        (
            [SETS | {"targ1": {"words": ["a"], "kind": "thing", "forms": {"a": ["a"]}}}],
            ValueError,
            "singular, plural",
        ),
    ],
)
def test_bad_tests_are_named(tests, error, message):
    with pytest.raises(error, match=message):
        resolve_tests(tests)
