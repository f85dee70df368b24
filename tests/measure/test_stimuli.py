"""SEAT stimuli equal the published sets."""

from __future__ import annotations

import json

import pytest

from hf_fairness.measure import available_tests
from hf_fairness.measure.encoder.seat_tests import resolve_tests, user_test
from hf_fairness.measure.encoder.stimuli import (
    DEFAULT_TESTS,
    ROLES,
    load_test,
    plural,
    sentences,
    template_set,
    template_sets,
)

#: Our names of the published sets that are not called after their test.
PUBLISHED_NAMES = {
    "heilman_double_bind_competent_one_word": "competent_one_word",
    "heilman_double_bind_likable_one_word": "likable_one_word",
}
#: Texts of an experiment, not built from words: they are read from their files, never generated.
VIGNETTES = {
    f"heilman_double_bind_{trait}_{parts}" for trait in ("competent", "likable") for parts in ("1", "1-", "1+3-")
}
TRUNCATED = {"weat7b"}  # the published file ends in the middle
OURS = {"competent_vignette", "likable_vignette"}


def _name_of(stem):
    """Our name of the test in a published file."""
    words_only = not stem.startswith("sent-")
    base = stem.removeprefix("sent-")
    base = PUBLISHED_NAMES.get(base, base.removeprefix("weat"))
    return f"weat{base}" if words_only else base


def test_every_published_set_is_generated_or_named_here(shared):
    stems = {path.stem for path in (shared / "data/seat").glob("*.jsonl")}
    assert len(stems) == 48
    equal = set()
    for stem in stems - VIGNETTES - TRUNCATED:
        published = json.loads((shared / f"data/seat/{stem}.jsonl").read_text())
        test = load_test(_name_of(stem))
        for role, part in zip(ROLES, test.sets, strict=True):
            assert list(part.texts) == published[role]["examples"], (stem, role)
            assert len(part.words) == len(part.texts)
        equal.add(stem)
    assert len(equal) == 41
    assert {_name_of(stem) for stem in equal if stem.startswith("sent-")} == set(available_tests()) - OURS


def test_words_of_7b_are_those_of_7_and_6():
    seven, names, both = load_test("weat7"), load_test("weat6"), load_test("weat7b")
    assert (both.targ1, both.targ2) == (seven.targ1, seven.targ2)
    assert (both.attr1, both.attr2) == (names.targ1, names.targ2)


@pytest.mark.parametrize(("name", "last"), [("competent_vignette", "suppliers."), ("likable_vignette", "leaders.")])
def test_our_vignettes_are_one_text_for_each_name(name, last):
    test = load_test(name)
    pairs = [pair for part in test.sets[:2] for pair in zip(part.texts, part.words, strict=True)]
    assert len(pairs) == 16
    assert all(text.startswith(word) and text.endswith(last) for text, word in pairs)
    # Nothing but the name differs: no pronoun gives the group away a second time.
    assert len({text.replace(word, "N") for text, word in pairs}) == 1
    assert test.attr1.texts[0] == f"The head of purchasing is {test.attr1.words[0]}."
    assert load_test(f"weat{name}").targ1.texts == load_test("weat6").targ1.texts


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


@pytest.mark.parametrize("templates", list(template_sets()))
def test_every_template_set_fills_every_test_of_words(templates):
    kinds = set(template_sets()["published"]) - {"vignette_open", "vignette_praised", "vignette_trait"}
    assert kinds <= set(template_sets()[templates])
    for name in set(available_tests()) - OURS:
        for part, words in zip(load_test(name, templates=templates).sets, load_test(f"weat{name}").sets, strict=True):
            if templates != "published":  # which left out every sentence of two words of test 9
                assert tuple(dict.fromkeys(part.words)) == words.texts
            assert all(text[0].isupper() or not text[0].isalpha() for text in part.texts)
            assert not any("{" in text for text in part.texts)
            assert len(set(part.texts)) == len(part.texts)


def test_sentences_are_left_out_with_the_published_templates_only():
    seven = load_test("7").targ2
    assert seven.words.count("dance") == 11
    own = {kind: list(texts) for kind, texts in template_sets()["published"].items()}
    assert load_test("7", templates=own).targ2.words.count("dance") == 14
    assert load_test("7", templates="published") == load_test("7")


def test_a_users_templates():
    mine = {"name": ["Hello {word}!"], "thing": ["{a} {singular}, two {plural}"]}
    test = user_test(
        SETS | {"targ1": {"words": ["Ann"], "kind": "name"}, "targ2": {"words": ["owl"], "kind": "thing"}},
        "mine",
        templates=mine,
    )
    assert test.targ1.texts == ("Hello Ann!",)
    assert test.targ2.texts == ("An owl, two owls",)
    assert test.attr1.texts == ("work",)
    with pytest.raises(ValueError, match=r"Unknown kind of word 'mass' for 'math': there are no templates"):
        load_test("7", templates=mine)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ("long", "Unknown template set 'long'. Known: published, bare"),
        ({}, "must map kinds"),
        ({"name": []}, r"templates\['name'\] is empty"),
        ({"name": ["Hello."]}, "no place to fill"),
        ({"name": ["Hello {name}."]}, "it holds name"),
        ({"name": ["Hello {word."]}, "is no template"),
        ({"name": ["Say {a}."]}, "must hold"),
    ],
)
def test_bad_templates_are_named(templates, message):
    with pytest.raises(ValueError, match=message):
        template_set(templates)


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
            "targ2": {
                "category": "Names",
                "examples": ["This is Ann.", "That is Ann.", "This is Eve."],
                "clusters": ["Ann", "Ann", "Eve"],
            },
            "attr1": {"work": ["I work.", "We work."], "office": ["The office is open."]},
            "attr2": ["home"],
        },
        "unused",
    )
    assert (test.name, test.purpose, test.targ2.name) == ("mine", "retention", "Names")
    assert "The person's name is Ahmed." in test.targ1.texts
    assert "Children are things." in test.targ1.texts
    assert test.targ2.words == ("Ann", "Ann", "Eve")
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
        ([SETS | {"targ1": {"examples": ["a", "b"], "clusters": ["a"]}}], ValueError, "got 1 words for 2 texts"),
        ({"mine": 3}, TypeError, "Test 'mine' must be a mapping"),
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
