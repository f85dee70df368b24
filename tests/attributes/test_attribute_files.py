"""Every attribute file follows the schema, and the English gender file is complete."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from hf_fairness.attributes import (
    Attribute,
    AttributeFileError,
    available_attributes,
    load_attribute,
    parse_attribute,
)
from hf_fairness.attributes.loading import DATA
from hf_fairness.attributes.model import CASES, NEUTRAL
from hf_fairness.augment.english import IRREGULAR_PLURAL

FILES = sorted(DATA.glob("*.json"))


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def attribute(request) -> Attribute:
    return load_attribute(request.param)


def test_there_are_files():
    assert {"gender.en.json", "religion.en.json"} <= {path.name for path in FILES}
    assert available_attributes() == sorted(tuple(path.stem.split(".")) for path in FILES)


def test_a_file_is_named_after_its_content(attribute):
    assert (attribute.name, attribute.language) in available_attributes()


def test_a_file_states_source_and_licence(attribute):
    assert attribute.licence
    assert attribute.sources
    assert all(re.search(r"\(.+\)$", source) for source in attribute.sources)


def test_neutral_forms_carry_no_group(attribute):
    for concept in attribute.concepts:
        for form in concept.forms[NEUTRAL]:
            assert not any(attribute.counts(form).values()), (concept.id, form)


def test_inherent_terms_are_not_swapped(attribute):
    terms = {term.text.lower() for group in attribute.groups for term in group.terms}
    assert not terms & {term.text.lower() for term in attribute.inherent}


def test_no_form_is_both_a_term_of_two_groups_unless_its_context_tells(attribute):
    for word in {term.text.lower() for group in attribute.groups for term in group.terms}:
        holders = {group.name for group in attribute.groups for term in group.terms if term.text.lower() == word}
        assert len(holders) == 1, (word, holders)


def test_paradigms_have_every_case(attribute):
    for paradigm in attribute.paradigms:
        assert set(paradigm.forms) == set(CASES)


def test_equal_content_is_equal(attribute, tmp_path):
    path = tmp_path / "copy.json"
    source = next(file for file in FILES if file.name == f"{attribute.name}.{attribute.language}.json")
    path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    assert load_attribute(path) == attribute
    assert hash(load_attribute(path)) == hash(attribute)
    assert load_attribute(attribute) is attribute


def appendix_pairs(shared: Path) -> list[tuple[str, str]]:
    text = (shared / "papers" / "dolci2023_bias_score.txt").read_text(encoding="utf-8")
    appendix = text.split("Appendix A Gender Words", 1)[1].split("Appendix B", 1)[0]
    return re.findall(r"^(\w+) \\(?:iff|implies) \*(\w+)\*$", appendix, flags=re.MULTILINE)


def test_all_pairs_of_the_paper_are_there(shared):
    gender = load_attribute("gender")
    pairs = appendix_pairs(shared)
    words = [pair for pair in pairs if pair[0].islower()]
    names = [pair for pair in pairs if not pair[0].islower()]
    assert len(words) >= 61
    assert len(names) == 30
    for male, female in words:
        assert gender.group_of(male) == "male", male
        assert gender.group_of(female) == "female", female
        assert gender.group_of(male.capitalize()) == "male"
    assert [(pair.names["male"], pair.names["female"]) for pair in gender.names] == names
    assert [pair.rank for pair in gender.names] == list(range(1, 31))
    assert "2023" in gender.names_source


def test_most_pairs_of_public_lists_are_known(shared):
    gender = load_attribute("gender")
    swaps = (shared / "data" / "wordlists" / "generalized_swaps.txt").read_text(encoding="utf-8")
    words = {word.strip(". ") for line in swaps.splitlines() for word in line.split("\t") if word.strip()}
    missing = sorted(word for word in words if gender.group_of(word) is None)
    print("generalized_swaps.txt: missing", missing)
    assert set(missing) <= {
        "lord",
        "lords",
        "mentleman",
    }  # `lord` is a title before a name only; a misspelling

    definitional = json.loads((shared / "data" / "wordlists" / "definitional_pairs.json").read_text())
    for female, male in definitional[:-1]:
        assert (gender.group_of(female), gender.group_of(male)) == ("female", "male")


def test_professions_with_a_definite_gender_are_known(shared):
    gender = load_attribute("gender")
    rows = json.loads((shared / "data" / "wordlists" / "professions.json").read_text())
    definite = [(word, score) for word, score, _ in rows if abs(score) >= 0.8 and "_" not in word]
    inherent = {term.text for term in gender.inherent}
    missing = [word for word, _ in definite if gender.group_of(word) is None and word not in inherent]
    print("professions with |definitional| >= .8 not known:", missing)
    assert len(missing) <= 0.1 * len(definite)
    for word, score in definite:
        if gender.group_of(word):
            assert gender.group_of(word) == ("male" if score > 0 else "female"), word


def test_group_of_and_counts():
    gender = load_attribute("gender")
    assert gender.group_of("HERS") == "female"
    assert gender.group_of("They") is None
    assert gender.group_of("Mary") is None  # names are off
    assert gender.counts("She's his mother-in-law's boss.") == {"male": 1, "female": 2}
    assert gender.count_many(["he", "table"]) == [{"male": 1, "female": 0}, {"male": 0, "female": 0}]
    assert [gender.polarity(text) for text in ("She ran.", "He and she.", "Rain.")] == [
        "female",
        "neutral",
        "neutral",
    ]


def test_inherent_words_can_be_seen():
    gender = load_attribute("gender")
    found = {term.text: term.group for term in gender.inherent_in("The pregnant man has prostate cancer; feminism.")}
    assert found == {"pregnant": "female", "prostate": "male", "feminism": "female"}


def test_groups_are_n_ary():
    religion = load_attribute("religion")
    assert religion.group_names == ("christian", "jewish", "muslim")
    assert religion.group("jewish").terms
    assert [religion.group_of(word) for word in ("church", "Synagogue", "mosque")] == list(religion.group_names)


def test_neopronouns_are_data():
    gender = load_attribute("gender")
    assert gender.paradigm("xe").forms["object"] == "xem"
    assert {"he", "she", "they", "xe", "ze", "ey"} <= {paradigm.id for paradigm in gender.paradigms}
    with pytest.raises(ValueError, match=r"Unknown pronoun 'zzz'.*he, she, they"):
        gender.paradigm("zzz")


def test_invertible_terms_leave_out_what_a_swap_cannot_undo():
    texts = {term.text for term in load_attribute("gender").invertible_terms()}
    assert {"he", "she", "mother", "king", "actress"} <= texts
    assert not texts & {"her", "his", "hers", "him", "Ms", "mum", "hostess", "lady"}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: load_attribute("genre"), ValueError, "Unknown attribute 'genre'.*gender \\(en\\)"),
        (lambda: load_attribute("gender", language="xx"), ValueError, "for language 'xx'"),
        (lambda: load_attribute("nowhere/gender.json"), FileNotFoundError, "nowhere"),
        (lambda: load_attribute(3), TypeError, "got int"),
        (lambda: load_attribute("gender").group("robot"), ValueError, "Unknown group 'robot'.*male, female"),
    ],
)
def test_bad_names_are_clear_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


GOOD = {
    "schema_version": 1,
    "name": "size",
    "language": "en",
    "description": "a toy",
    "licence": "CC0",
    "sources": [{"what": "all", "citation": "made up here", "licence": "CC0"}],
    "groups": ["small", "large"],
    "concepts": [
        {
            "id": "cup",
            "category": "thing",
            "forms": {"small": ["cup"], "large": ["mug"], "neutral": ["vessel"]},
        }
    ],
}


def broken(change) -> dict:
    content = copy.deepcopy(GOOD)
    change(content)
    return content


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda c: c.pop("licence"), "licence"),
        (lambda c: c.update(schema_version=2), "schema_version"),
        (lambda c: c.update(colour="red"), r"\(top\)"),
        (lambda c: c.update(groups=["small"]), "groups"),
        (lambda c: c.update(groups=["small", "neutral"]), "groups"),
        (lambda c: c.update(sources=[]), "sources"),
        (lambda c: c.update(concepts=[]), "concepts"),
        (lambda c: c["concepts"][0].pop("category"), r"concepts\[0\] \(cup\).category"),
        (lambda c: c["concepts"][0]["forms"].pop("large"), r"concepts\[0\] \(cup\).forms.large"),
        (lambda c: c["concepts"][0]["forms"].update(large=["mug", "mugs"]), r"forms.large"),
        (lambda c: c["concepts"][0]["forms"].update(large=["mug "]), r"forms.large\[0\]"),
        (lambda c: c["concepts"][0].update(when=["sometimes"]), r"when\[0\]"),
        (lambda c: c["concepts"][0].update(generic=["medium"]), r"generic\[0\]"),
        (lambda c: c["concepts"].append(c["concepts"][0]), "id"),
        (
            lambda c: c.update(inherent=[{"text": "x", "group": "medium", "reason": "r"}]),
            r"inherent\[0\].group",
        ),
        (lambda c: c.update(names={"source": "s", "year": "1990", "pairs": []}), "names.year"),
        (lambda c: c.update(combined=[{"parts": ["c/", "mug"], "words": ["cup", "jug"]}]), r"combined\[0\].words\[1\]"),
        (lambda c: c.update(combined=[{"parts": ["c/"], "words": ["cup", "mug"]}]), r"combined\[0\].parts"),
        (lambda c: c.update(together=[{"small": ["cup"], "large": ["jug"]}]), r"together\[0\].large"),
        (lambda c: c.update(together=[{"small": ["cup"]}]), r"together\[0\].large"),
        (lambda c: c.update(paradigms=[{"id": "it"}]), r"paradigms\[0\]"),
    ],
)
def test_a_broken_file_names_file_and_field(change, field):
    with pytest.raises(AttributeFileError, match=rf"toy\.json: field .*{field}"):
        parse_attribute(broken(change), file="toy.json")


def test_a_file_that_is_no_json(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(AttributeFileError, match=r"x\.json: not valid JSON"):
        load_attribute(path)


def test_a_new_attribute_is_one_file(tmp_path):
    from hf_fairness.augment import group_variants

    path = tmp_path / "size.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert group_variants("A cup.", attribute=path) == {
        "small": "A cup.",
        "large": "A mug.",
        "neutral": "A vessel.",
    }


def test_no_code_names_an_attribute(root):
    folders = (root / "hf_fairness" / "attributes", root / "hf_fairness" / "augment")
    sources = [path for folder in folders for path in folder.glob("*.py")]
    assert len(sources) > 8
    for path in sources:
        assert not re.search(r"==\s*['\"](?:gender|religion|male|female)['\"]", path.read_text(encoding="utf-8")), path
    assert IRREGULAR_PLURAL["is"] == "are"
