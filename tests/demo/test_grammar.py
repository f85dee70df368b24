"""The world of the template grammar: sentences agree, shares are what was asked for, parts share no sentence."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hf_fairness.demo.grammar import LANGUAGES, WorldConfig, demo_world, translation_world
from hf_fairness.demo.grammar_forms import FEMALE, GENDERS, MALE, NEUTRAL, PERSONS, Content, load_grammar
from hf_fairness.filters import LexiconTagger, SourceGender, gender_tagger
from hf_fairness.filters.apertium import LANGUAGES as APERTIUM
from hf_fairness.filters.apertium import missing
from hf_fairness.measure import winomt

WORD = re.compile(r"\w+")
PRONOUNS = {MALE: {"he", "his", "himself"}, FEMALE: {"she", "her", "herself"}}
SIZES = {"n_parallel": 600, "n_monolingual": 300, "feminine_share": 0.25, "label_noise": 0.3, "seed": 7}


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


@pytest.fixture(scope="module", params=LANGUAGES)
def world(request):
    return translation_world(request.param, **SIZES)


@pytest.fixture(scope="module")
def tagger(world, tmp_path_factory):
    return LexiconTagger(world.write_lexicon(tmp_path_factory.mktemp("lexicon")), world.lang)


@st.composite
def contents(draw):
    """A language, and any content of any pattern with a person; no two slots hold the same word."""
    lang = draw(st.sampled_from(LANGUAGES))
    pattern = draw(st.sampled_from([each for each in load_grammar(lang).patterns if each.referent]))
    chosen = {slot: draw(st.sampled_from(load_grammar(lang).options(slot))) for slot in pattern.slots}
    assume(len(set(chosen.values())) == len(chosen))
    return lang, Content(pattern, chosen)


@cache
def lexicon_of(lang: str) -> dict[str, set[str]]:
    """Features of each form."""
    found: dict[str, set[str]] = {}
    for line in load_grammar(lang).lexicon().splitlines():
        _, form, features = line.split("\t")
        found.setdefault(form, set()).add(features.split(";")[0])
    return found


@settings(max_examples=300)
@given(contents())
def test_a_sentence_has_the_forms_of_its_own_gender_only(drawn):
    """The person's noun and all that agrees with it are of the gender of the pronoun, and the rest stays."""
    lang, content = drawn
    grammar = load_grammar(lang)
    texts = {gender: words(grammar.target(content, gender)) for gender in GENDERS}
    changed = [place for place, pair in enumerate(zip(*texts.values(), strict=True)) if len(set(pair)) > 1]
    assert changed
    for (gender, text), feature in zip(texts.items(), ("MASC", "FEM"), strict=True):
        shown = [lexicon_of(lang).get(text[place], set()) for place in changed]
        assert all(feature in each or each <= possessives(grammar, content) for each in shown), text
        assert any(each == {feature} for each in shown), text
        noun = grammar.word(content.pattern.referent, content.profession, gender).form
        assert noun.casefold() in text
        source = set(words(grammar.source(content, gender)))
        assert source & PRONOUNS[gender]
        assert not source & PRONOUNS[FEMALE if gender == MALE else MALE]


def possessives(grammar, content: Content) -> set[str]:
    """German *ihren Schlüssel* changes with the owner and agrees with the key."""
    things = [grammar.word(slot, word) for slot, word in content.words.items() if slot not in PERSONS]
    return {each.gender for each in things if each.gender} if "{a.his}" in content.pattern.target else set()


@settings(max_examples=300)
@given(contents())
def test_sources_and_targets_are_of_about_one_length(drawn):
    """No pair is longer than the filters of the method allow (a ratio of 1.5)."""
    lang, content = drawn
    grammar = load_grammar(lang)
    for gender in (*GENDERS, NEUTRAL):
        sides = [len(text.split()) for text in (grammar.source(content, gender), grammar.target(content, gender))]
        assert max(sides) / min(sides) <= 1.5, grammar.target(content, gender)


@settings(max_examples=200)
@given(contents())
def test_target_index_is_the_noun(drawn):
    lang, content = drawn
    grammar = load_grammar(lang)
    for gender in GENDERS:
        split = grammar.source(content, gender).split()
        assert split[grammar.target_index(content)].strip(".") == content.profession


def test_every_word_and_pattern_has_a_translation():
    for lang in LANGUAGES:
        grammar = load_grammar(lang)
        assert set(grammar.foreign["frames"]) == {pattern.id for pattern in grammar.patterns}
        assert set(grammar.foreign["occupations"]) == set(grammar.stereotypes)
        for name, options in grammar.lists.items():
            assert set(grammar.foreign["lists"][name]) == set(options), name
            assert len(options) == len(set(options))
        assert Counter(grammar.stereotypes.values())[MALE] == Counter(grammar.stereotypes.values())[FEMALE]
        assert set(grammar.absent) <= set(grammar.stereotypes)
        for pattern in grammar.patterns:
            slots = set(re.findall(r"\{(\w+)", pattern.source))
            assert set(re.findall(r"\{(\w+)", pattern.target)) == slots, pattern.id


def test_the_articles_fit_the_sounds():
    """Italian lo and uno before s and a consonant; nothing is elided, so no noun begins with a vowel."""
    grammar = load_grammar("it")
    for slot in ("a", "thing", "place", "venue"):
        for english in grammar.options(slot):
            for gender in GENDERS if slot == "a" else ("",):
                word = grammar.word(slot, english, gender)
                assert word.form[0] not in "aeiouh"
                if word.gender == "MASC":
                    expected = "lo" if re.match(r"s[^aeiou]|z|gn|ps|x|y", word.form) else "il"
                    assert word.forms["the"] == expected, word.form


@pytest.mark.parametrize(("lang", "kind"), [("it", "apertium"), ("de", "german-nouns")])
def test_an_independent_dictionary_gives_the_nouns_their_gender(lang, kind):
    if lang in APERTIUM and missing(lang):
        pytest.skip(f"Apertium is not installed: {', '.join(missing(lang))}")
    if kind == "german-nouns":
        pytest.importorskip("german_nouns")
    grammar = load_grammar(lang)
    nouns = {}
    for slot in ("a", "thing", "place", "venue"):
        for english in grammar.options(slot):
            for gender in GENDERS if slot == "a" else ("",):
                word = grammar.word(slot, english, gender)
                nouns[word.forms["the"], word.form] = {"MASC": MALE, "FEM": FEMALE, "NEUT": NEUTRAL}[word.gender]
    found = [genders[1] for genders in gender_tagger(lang, kind).genders([list(phrase) for phrase in nouns])]
    known = [(noun, gender, each) for (noun, gender), each in zip(nouns.items(), found, strict=True) if each]
    assert len(known) > 0.7 * len(nouns)
    assert not [noun for noun, gender, each in known if gender not in each]


def test_counts_are_exact(world):
    persons = [origin for origin in world.origins if origin.gender in GENDERS]
    women = [origin for origin in persons if origin.gender == FEMALE]
    assert len(world.parallel) == len(world.origins) == 600
    assert len(world.monolingual) == 300
    assert len(persons) == 360
    assert len(women) == 90
    assert sum(origin.noisy for origin in world.origins) == sum(origin.noisy for origin in women) == 27
    assert sum(origin.gender == NEUTRAL for origin in world.origins) == 12
    assert len(world.validation) == WorldConfig().n_validation
    assert len(world.generic_test) == WorldConfig().n_test


def test_stereotypes_are_followed_as_often_as_the_config_says(world):
    usual = load_grammar(world.lang).stereotypes
    persons = [origin for origin in world.origins if origin.gender in GENDERS]
    fitting = sum(usual[origin.profession] == origin.gender for origin in persons)
    assert 0.72 < fitting / len(persons) < 0.88  # .8 and four standard deviations of 360 draws


def test_the_source_filter_reads_every_gender(world):
    labels = SourceGender("source")({"source": world.parallel["source"][:]})["source_gender"]
    expected = {MALE: MALE, FEMALE: FEMALE, NEUTRAL: "none", "": "none"}
    assert labels == [expected[origin.gender] for origin in world.origins]


def test_targets_are_clean_but_for_the_noise(world):
    for origin, target in zip(world.origins, world.parallel["target"], strict=True):
        if origin.gender in GENDERS:
            written = MALE if origin.noisy else origin.gender
            assert world.forms[origin.profession][written].casefold() in words(target)


def test_absent_forms_are_in_no_target(world):
    absent = {world.forms[name][FEMALE].casefold() for name in load_grammar(world.lang).absent}
    assert len(absent) == 4
    for rows in (world.parallel, world.validation, world.generic_test):
        assert not absent & set(words(" ".join(rows["target"])))
    assert absent & set(words(" ".join(world.references)))
    assert sum(row["absent"] for row in world.winomt_rows) == 4 * 7


def masked(text: str) -> str:
    neutral = {"she": "he", "her": "his", "herself": "himself", "they": "he", "were": "was", "their": "his"}
    return " ".join(neutral.get(word, word) for word in words(text))


def test_parts_say_different_things(world):
    parts = {
        "parallel": world.parallel["source"],
        "validation": world.validation["source"],
        "monolingual": world.monolingual["text"],
        "test": [*world.generic_test["source"], *(row["sentence"] for row in world.winomt_rows)],
    }
    seen = {name: {masked(text) for text in texts} for name, texts in parts.items()}
    for name, texts in seen.items():
        for other, known in seen.items():
            assert name == other or not texts & known, (name, other)


def test_winomt_rows(world):
    counts = Counter((row["gender"], row["stereotype"]) for row in world.winomt_rows)
    assert counts == {(MALE, "pro"): 119, (MALE, "anti"): 119, (FEMALE, "pro"): 119, (FEMALE, "anti"): 119} | {
        (NEUTRAL, ""): 34
    }
    for row in world.winomt_rows:
        assert row["sentence"].split()[row["target_index"]] == row["profession"]
    assert len(world.references) == len(world.winomt_rows)


def test_references_score_perfectly_and_masculine_ones_show_the_gap(world, tagger, tmp_path):
    """The harm can be measured: a system that knows no feminine has the greatest gap there is."""
    options = {"lang": world.lang, "tagger": tagger, "rules": "agreement", "n_bootstrap": 0}
    clean = winomt(world.references, world.winomt_rows, **options)
    by_nouns = LexiconTagger(world.write_lexicon(tmp_path, nouns_only=True), world.lang)
    nouns = winomt(world.references, world.winomt_rows, **{**options, "tagger": by_nouns})
    assert nouns["recall_male"] > 0.98
    assert nouns["recall_female"] > 0.98
    assert clean["recall_male"] > 0.98
    assert clean["recall_female"] > 0.98
    men = [
        reference for row, reference in zip(world.winomt_rows, world.references, strict=True) if row["gender"] == MALE
    ]
    rows = [row for row in world.winomt_rows if row["gender"] != NEUTRAL]
    biased = winomt([text for text in men for _ in GENDERS], rows, **options)
    assert biased["delta_r"] > 0.9


def test_a_feminine_article_before_a_masculine_noun_is_female_by_all_words_only(tmp_path):
    world = translation_world("it", **SIZES)
    nouns = {forms[FEMALE]: forms[MALE] for forms in world.forms.values()}
    hybrids = [
        " ".join(nouns.get(word, word) if row["gender"] == FEMALE else word for word in text.split())
        for row, text in zip(world.winomt_rows, world.references, strict=True)
    ]
    assert any("la fornaio" in text.lower() for text in hybrids)
    recalls = [
        winomt(
            hybrids,
            world.winomt_rows,
            lang="it",
            tagger=LexiconTagger(world.write_lexicon(tmp_path, nouns_only=nouns_only)),
            rules="agreement",
            n_bootstrap=0,
        )["recall_female"]
        for nouns_only in (False, True)
    ]
    assert recalls[0] > 0.9
    assert recalls[1] < 0.1


def test_same_seed_same_world(world):
    again = translation_world(world.lang, **SIZES)
    assert again.parallel.to_dict() == world.parallel.to_dict()
    assert again.monolingual.to_dict() == world.monolingual.to_dict()
    assert again.winomt_rows == world.winomt_rows
    other = translation_world(world.lang, **{**SIZES, "seed": 8})
    assert other.parallel.to_dict() != world.parallel.to_dict()


def test_noise_changes_targets_only(world):
    clean = translation_world(world.lang, **{**SIZES, "label_noise": 0.0})
    assert clean.parallel["source"][:] == world.parallel["source"][:]
    differ = [a != b for a, b in zip(clean.parallel["target"], world.parallel["target"], strict=True)]
    assert differ == [origin.noisy for origin in world.origins]


def test_the_demo_world_is_biased():
    shares = Counter(origin.gender for origin in demo_world().origins)
    assert shares[FEMALE] < shares[MALE] / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lang": "fr"}, "it, de"),
        ({"feminine_share": 1.2}, "feminine_share is 1.2"),
        ({"label_noise": -0.1}, "label_noise is -0.1"),
        ({"n_parallel": 0}, "n_parallel=0"),
    ],
)
def test_errors_say_what_was_wanted(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        translation_world(**{**SIZES, **options})


def test_shares_of_the_config_are_checked():
    with pytest.raises(ValueError, match=re.escape("two_share is 2; expected a share in [0, 1]")):
        WorldConfig(two_share=2)
