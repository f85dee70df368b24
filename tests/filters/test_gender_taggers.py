"""Taggers of grammatical gender: what each reads from words that one can check, what they say when something lacks."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.filters import (
    GENDERS,
    LANGUAGES,
    ApertiumTagger,
    ArabicTagger,
    GenderTagger,
    GermanTagger,
    HebrewTagger,
    LexiconTagger,
    PymorphyTagger,
    SpacyMorphTagger,
    gender_tagger,
    pymorphy,
)
from hf_fairness.filters.genders import LANGUAGE_TABLE
from hf_fairness.filters.protocol import agreement, bare, pieces, spread

LETTERS = {"male": "m", "female": "f", "neutral": "n"}


def letters(tagger: GenderTagger, sentence: str) -> list[str]:
    """Genders of each token as letters, in the order f, m, n."""
    (genders,) = tagger.genders([sentence.split()])
    return ["".join(sorted(LETTERS[gender] for gender in found)) for found in genders]


def sets(*words: str) -> list[frozenset[str]]:
    """The other way round: "fm" to a set."""
    names = {letter: gender for gender, letter in LETTERS.items()}
    return [frozenset(names[letter] for letter in word) for word in words]


# --- words


def test_pieces_and_bare_words() -> None:
    assert pieces("Designer,") == ["Designer", ","]
    assert pieces('מנכ"לית.') == ['מנכ"לית', "."]
    assert pieces("Шеф-повар") == ["Шеф-повар"]
    assert bare("«l'enfant»,") == "l'enfant"
    assert bare("...") == ""


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (["fm", "f"], "f"),  # l' + infirmière
        (["", "m", ""], "m"),
        (["m", "f"], "m"),  # contradiction: the first stays
        (["fm", "mn", "f"], "m"),
        ([], ""),
        (["fm", "fm"], "fm"),
    ],
)
def test_agreement_narrows_from_left_to_right(units: list[str], expected: str) -> None:
    assert [agreement(sets(*units))] == sets(expected)


def test_units_of_an_analyser_go_to_their_tokens() -> None:
    tokens = ["l'amica", "ama", "de", "llaves"]  # 0-7, 8-11, 12-14, 15-21
    found = spread(tokens, [(0, 2, sets("fm")[0]), (2, 7, sets("f")[0]), (8, 21, sets("f")[0])])
    assert found == sets("f", "f", "f", "f")
    assert spread(tokens, [(20, 21, sets("m")[0])]) == sets("", "", "", "m")
    assert spread([], []) == []


# --- one tagger after the other


def test_russian_readings() -> None:
    sentence = "Механика вызвала, потому рабочего"  # the mechanic (accusative) or mechanics; called; because; worker
    assert letters(PymorphyTagger("ru", "all"), sentence) == ["fm", "f", "", "mn"]
    assert letters(PymorphyTagger("ru", "best"), sentence) == ["f", "f", "", "n"]
    assert letters(PymorphyTagger("ru", "person"), sentence) == ["m", "f", "", "m"]


def test_ukrainian() -> None:
    assert letters(PymorphyTagger("uk"), "Лікарка порадила механіку.") == ["f", "f", "m"]


def test_hebrew_rules() -> None:
    sentence = "המנהלת שאלה את המורה אם השרת היה בבית."  # the manager (f) asked OBJ the teacher if the janitor was home
    assert letters(HebrewTagger("words"), sentence) == ["f", "f", "", "fm", "", "m", "m", "m"]
    assert letters(HebrewTagger("winomt"), sentence) == ["f", "f", "", "f", "m", "f", "f", "f"]
    assert letters(HebrewTagger("gfst"), sentence) == ["f", "f", "", "f", "", "f", "f", ""]
    assert letters(HebrewTagger("words"), "CEO 12 –") == ["", "", ""]


def test_arabic_rules() -> None:
    sentence = "تحدثت المهندسة مع الطبيب."
    assert letters(ArabicTagger("words"), sentence) == ["m", "f", "", "m"]
    assert letters(ArabicTagger("winomt"), sentence) == ["m", "f", "m", "m"]
    assert letters(ArabicTagger("words"), "المُعَلِّمَةُ الموظفات") == ["f", "f"]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Die Ärztin, der Mechaniker", ["f", "f", "fm", "m"]),
        ("dem Kind einen Designer", ["mn", "", "m", "m"]),
        ("der Angestellte der Angestellten", ["m", "fm", "f", "fm"]),  # nominative; genitive or dative
        ("der neue Chef der neuen Chefin", ["m", "", "m", "f", "", "f"]),
        ("der Hebamme", ["fm", "f"]),  # an -e of the stem
        ("seiner Krankenschwester sie beim Termin", ["f", "f", "f", "mn", ""]),
        ("die Lehrer die neuen Lehrerinnen die Angestellten", ["", "m", "", "", "f", "", "fm"]),  # plural
        ("die Angestellte die neue Angestellte die CEO", ["f", "fm", "f", "", "fm", "f", ""]),
        ("der den der die", ["fm", "m", "fm", "f"]),
        ("in drin", ["", ""]),  # no nouns
    ],
)
def test_german_articles_and_endings(sentence: str, expected: list[str]) -> None:
    assert letters(GermanTagger(), sentence) == expected


def test_german_dictionary_knows_nouns_and_the_ends_of_compounds() -> None:
    tagger = GermanTagger("german-nouns")
    assert letters(tagger, "dem Kind beim Termin Sonne") == ["mn", "n", "mn", "m", "f"]
    assert letters(tagger, "Empfangsmitarbeiterin Grundschulkind Xyzin") == ["f", "n", "f"]
    assert tagger.name.startswith("articles and german-nouns 1")


@pytest.mark.usefixtures("apertium")
@pytest.mark.parametrize(
    ("lang", "sentence", "expected"),
    [
        ("es", "La enfermera habló con el abogado.", ["f", "f", "", "", "m", "m"]),
        ("es", "Vio al ama de llaves", ["", "m", "f", "f", "f"]),  # one noun of three words
        ("fr", "L'infirmière parle à l'analyste", ["f", "", "", "fm"]),
        (
            "fr",
            "Il rend visite à la coiffeuse.",
            ["m", "", "", "", "f", "f"],
        ),  # an expression with an article at its end
        ("it", "All'infermiera piace il medico.", ["f", "", "m", "m"]),
    ],
)
def test_apertium(lang: str, sentence: str, expected: list[str]) -> None:
    assert letters(ApertiumTagger(lang), sentence) == expected


@pytest.mark.usefixtures("apertium")
def test_apertium_takes_any_characters() -> None:
    tokens = [
        "^a$/",
        "<b>",
        "la\\",
        "[chica]",
        "{x}",
        "@",
        "a\nb\0c",
        "ni\u00adña",
        "\ud800",
        "😀",
        "la niña",
        "",
        "*",
        "+",
    ]
    (found,) = ApertiumTagger("es").genders([tokens])
    assert len(found) == len(tokens)
    assert [found[place] for place in (2, 3, 7, 10)] == sets("f", "f", "f", "f")
    assert ApertiumTagger("es").genders([[], ["niña"], []]) == [[], sets("f"), []]
    assert ApertiumTagger("es").genders([]) == []


@pytest.fixture
def italian_pipeline(tmp_path: Path) -> str:
    """A spaCy pipeline without a model: its rules give morphological features to three words."""
    import spacy

    pipeline = spacy.blank("it")
    ruler = pipeline.add_pipe("attribute_ruler")
    for word, feature in {"amica": "Gender=Fem", "il": "Gender=Masc", "artista": "Gender=Fem,Masc"}.items():
        ruler.add([[{"LOWER": word}]], {"MORPH": f"{feature}|Number=Sing"})
    pipeline.to_disk(tmp_path / "it_rules")
    return str(tmp_path / "it_rules")


def test_spacy_morphology(italian_pipeline: str) -> None:
    tagger = SpacyMorphTagger("it", italian_pipeline, batch_size=2)
    assert letters(tagger, "L'amica saluta il noto artista.") == ["f", "", "m", "", "fm"]
    sentences = [["il"], [], ["amica"]]
    assert tagger.genders(sentences) == [sets("m"), [], sets("f")]
    assert tagger.name.startswith("spaCy it_")
    assert pickle.loads(pickle.dumps(tagger)) == tagger


def test_lexicon(tmp_path: Path) -> None:
    path = tmp_path / "ces.tsv"
    path.write_text(
        "lékař\tlékař\tN;MASC;SG\nlékař\tlékařka\tN;FEM;SG\n\njít\tšel\tV;MASC;PST\nx\tšel\tN;NEUT\n", "utf-8"
    )
    tagger = LexiconTagger(str(path), "cs")
    assert letters(tagger, "Lékařka, lékař šel neznámo") == ["f", "m", "mn", ""]
    path.write_text("žena\tžena\tN;FEM;SG\n", "utf-8")
    os.utime(path, ns=(1, 1))  # another time stamp, whatever the resolution of the file system
    assert letters(tagger, "žena lékař") == ["f", ""]


# --- the same for all


def every_tagger() -> list[tuple[str, str]]:
    return [
        (lang, kind) for lang in LANGUAGES for kind in LANGUAGE_TABLE[lang].taggers if kind not in ("apertium", "spacy")
    ]


TEXTS = st.lists(st.lists(st.text(alphabet="Derinßäамиклשהתאבةنا'\"., -", max_size=8), max_size=5), max_size=4)


@pytest.mark.parametrize(("lang", "kind"), every_tagger())
@given(sentences=TEXTS)
@settings(max_examples=20)
def test_a_batch_is_tagged_as_one_by_one(lang: str, kind: str, sentences: list[list[str]]) -> None:
    tagger = gender_tagger(lang, kind)
    found = tagger.genders(sentences)
    assert found == [tagger.genders([sentence])[0] for sentence in sentences]
    assert [len(genders) for genders in found] == [len(sentence) for sentence in sentences]
    assert all(genders <= set(GENDERS) for row in found for genders in row)


@pytest.mark.usefixtures("apertium")
@pytest.mark.parametrize("lang", ["es", "fr", "it"])
def test_apertium_tags_a_batch_as_one_by_one(lang: str, shared: Path) -> None:
    lines = (shared / f"data/winomt/translations/google.en-{lang}.txt").read_text("utf-8").splitlines()[::1300]
    sentences = [line.split(" ||| ")[1].split() for line in lines]
    tagger = ApertiumTagger(lang)
    found = tagger.genders(sentences)
    assert found == [tagger.genders([sentence])[0] for sentence in sentences]
    assert found == tagger.genders(sentences[::-1])[::-1]
    assert any({"female"} == genders for row in found for genders in row)


@pytest.mark.parametrize(("lang", "kind"), [*every_tagger(), ("es", "apertium"), ("de", "spacy")])
def test_taggers_are_values(lang: str, kind: str) -> None:
    tagger = gender_tagger(lang, kind)
    assert isinstance(tagger, GenderTagger) if kind != "spacy" else True  # its name needs the model
    assert pickle.loads(pickle.dumps(tagger)) == tagger
    assert hash(tagger) == hash(gender_tagger(lang, kind))


def test_the_first_kind_is_the_default() -> None:
    for lang in LANGUAGES:
        assert gender_tagger(lang) == gender_tagger(lang, next(iter(LANGUAGE_TABLE[lang].taggers)))


# --- what is missing


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"lang='xx'. Known languages: ar, de, .* LexiconTagger"):
        gender_tagger("xx")
    with pytest.raises(ValueError, match="No tagger of kind 'apertium' for 'ru'; there are pymorphy3"):
        gender_tagger("ru", "apertium")
    for build in (
        lambda: PymorphyTagger("de"),
        lambda: PymorphyTagger("ru", "worst"),
        lambda: HebrewTagger("none"),
        lambda: ArabicTagger("none"),
        lambda: GermanTagger("none"),
        lambda: ApertiumTagger("de"),
    ):
        with pytest.raises(ValueError, match=r"got (lang=)?'(de|worst|none)'"):
            build()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymorphy3", None)
    monkeypatch.setitem(sys.modules, "german_nouns.config", None)
    pymorphy._analyzer.cache_clear()
    with pytest.raises(ImportError, match="pymorphy3 is not installed"):
        PymorphyTagger("uk").genders([["словонеіснує"]])
    from hf_fairness.filters import german

    monkeypatch.setattr(german, "dictionary", german.dictionary.__wrapped__)
    with pytest.raises(ImportError, match="german_nouns is not installed"):
        GermanTagger("german-nouns").genders([["Nirgendwortding"]])


def test_missing_analysers_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"fra-oci.automorf.bin.*apt-get install apertium apertium-oci-fra\."):
        ApertiumTagger("fr", str(tmp_path)).genders([["le"]])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"lt-proc, cg-proc, apertium-tagger.*gender_tagger\('it', 'spacy'\)"):
        ApertiumTagger("it").genders([["il"]])


@pytest.mark.usefixtures("apertium")
def test_a_failing_analyser_says_which(tmp_path: Path) -> None:
    for ending in ("automorf.bin", "rlx.bin", "prob"):
        (tmp_path / f"ita-cat.{ending}").write_bytes(b"nothing of use")
    with pytest.raises(RuntimeError, match=r"(lt|cg)-proc ended with status \d+: \S"):
        ApertiumTagger("it", str(tmp_path)).genders([["il"]])


def test_missing_and_useless_spacy_pipelines(tmp_path: Path) -> None:
    import spacy

    with pytest.raises(FileNotFoundError, match="python -m spacy download it_core_news_sm"):
        SpacyMorphTagger("it", str(tmp_path / "nowhere")).genders([["il"]])
    spacy.blank("it").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match="has no components: none writes morphological features"):
        SpacyMorphTagger("it", str(tmp_path / "blank")).genders([["il"]])


def test_missing_and_useless_lexicons(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        LexiconTagger(str(tmp_path / "none.tsv")).genders([["a"]])
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\n", "utf-8")
    with pytest.raises(ValueError, match="line 1: expected lemma, form and features"):
        LexiconTagger(str(path)).genders([["a"]])
    path.write_text("a\tb\tN;SG\n", "utf-8")
    os.utime(path, ns=(1, 1))
    with pytest.raises(ValueError, match="no line with MASC, FEM, NEUT"):
        LexiconTagger(str(path)).genders([["a"]])


# --- gold of the target filter of GFST: no word of the other gender, one of the wanted


@pytest.mark.parametrize("tagger", [HebrewTagger("gfst"), PymorphyTagger("ru", "best")], ids=["he", "ru"])
def test_words_of_each_gender_decide_as_the_authors_did(
    tagger: GenderTagger, shared: Path, request: pytest.FixtureRequest
) -> None:
    lines = (shared / "gold/gfst/target_filter_he_ru_200.tsv").read_text("utf-8").splitlines()[1:]
    rows = [row for row in (line.split("\t") for line in lines) if row[0] == request.node.callspec.id]
    assert len(rows) == 100
    for (_, feminine, masculine, _, target), genders in zip(
        rows, tagger.genders([row[4].split() for row in rows]), strict=True
    ):
        female, male = ({gender} in genders for gender in ("female", "male"))
        assert (str(female and not male), str(male and not female)) == (feminine, masculine), target
