"""The target filter: the authors' decisions, the rule of section 2, nouns for persons, what is said."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.filters import (
    Genders,
    GermanSentenceTagger,
    GrammaticalGender,
    LexiconTagger,
    PymorphyTagger,
    SpacyMorphTagger,
    TargetGender,
    TooFewPairsError,
    drops,
)
from hf_fairness.filters.grammatical import read_nouns

GROUPS = ("female", "male")


def reasons(function: TargetGender, texts: Sequence[str], wanted: str) -> list[str]:
    return function({"target": list(texts), "source_gender": [wanted] * len(texts)})["target_reason"]


@dataclass(frozen=True)
class Letters:
    """A tagger that is given with its answers: each letter of a token is one of its readings."""

    name: str = "letters"

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        names = {"m": "male", "f": "female", "n": "neutral"}
        return [[frozenset(names[each] for each in token if each in names) for token in row] for row in sentences]


# --- the authors' decisions


@pytest.mark.parametrize(("lang", "least"), [("he", 1.0), ("ru", 0.97)])
def test_decisions_on_the_reference_pairs(lang: str, least: float, shared: Path) -> None:
    with (shared / "gold/gfst/target_filter_he_ru_200.tsv").open(encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if r["lang"] == lang]
    assert len(rows) == 100
    function, right, kept = TargetGender(lang=lang), 0, 0
    for group, column in zip(GROUPS, ("fem_pass", "msc_pass"), strict=True):
        found = reasons(function, [row["target"] for row in rows], group)
        right += sum((each == "") == (row[column] == "True") for each, row in zip(found, rows, strict=True))
        kept += found.count("")
    assert right >= least * 200
    assert kept >= 9  # the decisions are not all the same


@pytest.mark.usefixtures("apertium")
@pytest.mark.parametrize(
    ("name", "lang", "group", "step"),
    [
        ("news.2017.FEMALE.en-fr", "fr", "female", 20),
        ("news.2017.FEMALE.en-it", "it", "female", 10),
        ("news.2017.MALE.en-it", "it", "male", 10),
    ],
)
def test_the_authors_pairs_are_kept_and_not_turned_round(
    name: str, lang: str, group: str, step: int, shared: Path
) -> None:
    lines = (shared / f"data/gfst/{name}.{lang}").read_text("utf-8").split("\n")[:-1:step]
    assert len(lines) >= 1500
    (other,) = set(GROUPS) - {group}
    rows = {"target": lines * 2, "source_gender": [group] * len(lines) + [other] * len(lines)}
    found = TargetGender(lang=lang)(rows)["target_reason"]
    assert found[: len(lines)].count("") >= 0.7 * len(lines)
    assert found[len(lines) :].count("") <= 0.01 * len(lines)


def test_released_hebrew_lines_are_kept(shared: Path) -> None:
    for name, group in (("FEMALE", "female"), ("MALE", "male")):
        lines = (shared / f"data/gfst/news.2017.{name}.en-he.he").read_text("utf-8").split("\n")[:-1:10]
        assert set(reasons(TargetGender(lang="he"), lines, group)) == {""}


def test_released_german_lines(shared: Path) -> None:
    lines = (shared / "data/gfst/news.2016.MALE.BT.en-de.de").read_text("utf-8").split("\n")[:-1:3]
    found = Counter(GrammaticalGender(lang="de")({"text": lines})["target_gender"])
    assert found["male"] >= 0.6 * len(lines)
    assert found["female"] <= 0.01 * len(lines)
    # back-translation: the authors kept only texts with a pronoun
    function = GrammaticalGender(tagger=Letters(), lang="de", pronouns=True)
    assert all(function._label(line, frozenset({"male"})) == "male" for line in lines)


# --- the rule on paper


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m x", ("opposite_gender", "")),
        ("m f", ("opposite_gender", "opposite_gender")),
        ("x n", ("no_word_of_gender", "no_word_of_gender")),
        ("m n x", ("opposite_gender", "")),
        ("mf f", ("", "opposite_gender")),  # an open form says nothing
        ("mf", ("no_word_of_gender", "no_word_of_gender")),
        ("mn", ("no_word_of_gender", "no_word_of_gender")),
        (" \t", ("empty", "empty")),
        ("", ("empty", "empty")),
    ],
)
def test_reasons(text: str, expected: tuple[str, str]) -> None:
    assert tuple(reasons(TargetGender(tagger=Letters()), [text], group)[0] for group in GROUPS) == expected


def test_open_forms_may_count_for_each() -> None:
    function = TargetGender(tagger=Letters(), ambiguous="each")
    assert reasons(function, ["mf f", "mf", "mn", "f"], "female") == ["opposite_gender"] * 3 + [""]
    assert reasons(function, ["mn", "mn f"], "male") == ["", "opposite_gender"]


def test_sources_without_one_gender_need_no_tagger() -> None:
    rows = {"target": ["f", "f", ""], "source_gender": ["mixed", "none", "none"]}
    assert TargetGender(tagger=Letters())(rows)["target_reason"] == ["source_mixed", "source_none", "source_none"]


TEXTS = st.lists(st.lists(st.sampled_from(["m", "f", "n", "mf", "mn", "fn", "mfn", "x"]), max_size=5), max_size=5)


@given(sentences=TEXTS, ambiguous=st.sampled_from(["neither", "each"]))
def test_the_rule_of_section_2(sentences: list[list[str]], ambiguous: str) -> None:
    function = TargetGender(tagger=Letters(), ambiguous=ambiguous)
    labels = GrammaticalGender(tagger=Letters(), ambiguous=ambiguous)
    texts = [" ".join(words) for words in sentences]
    for group, own, other in (("female", "f", "m"), ("male", "m", "f")):
        for words, text, reason in zip(sentences, texts, reasons(function, texts, group), strict=True):
            says = {"neither": lambda word, letter: word == letter, "each": lambda word, letter: letter in word}[
                ambiguous
            ]
            good = any(says(word, own) for word in words) and not any(says(word, other) for word in words)
            assert (reason == "") == good
            assert (labels({"text": text})["target_gender"] == group) == good
    turned = ["".join({"m": "f", "f": "m"}.get(letter, letter) for letter in text) for text in texts]
    assert reasons(function, texts, "female") == reasons(function, turned, "male")


def test_labels_of_texts() -> None:
    rows = {"text": ["m x", "f n", "m f", "mf", ""]}
    assert GrammaticalGender(tagger=Letters())(rows)["target_gender"] == ["male", "female", "mixed", "none", "none"]


# --- pronouns of back-translation


def test_a_pronoun_may_be_wanted() -> None:
    function = GrammaticalGender(lang="de", pronouns=True)
    texts = ["Die Ärztin lobt ihre Chefin.", "Die Ärztin ging.", "Der Arzt, der ihn kennt", "Der Arzt kennt den Chef."]
    assert function({"text": texts})["target_gender"] == ["female", "none", "male", "none"]
    own = GrammaticalGender(tagger=Letters(), pronouns={"female": ["Sa"], "male": ["So"]})
    assert own({"text": ["f «sa»", "f so", "m So", "m"]})["target_gender"] == ["female", "none", "male", "none"]
    with pytest.raises(ValueError, match=r"No pronouns known for lang=None; known: de, es, .*pronouns=\{'male': "):
        GrammaticalGender(tagger=Letters(), pronouns=True)
    with pytest.raises(ValueError, match="pronouns has none for male"):
        GrammaticalGender(tagger=Letters(), pronouns={"female": ["elle"]})


# --- nouns for persons


def test_only_nouns_for_persons(tmp_path: Path) -> None:
    text = "Sie lobt den Tisch der Ärztin."
    assert reasons(TargetGender(lang="de"), [text], "female") == ["opposite_gender"]
    for nouns in (["Ärztin", "Arzt"], tmp_path / "nouns.txt", str(tmp_path / "nouns.tsv")):
        (tmp_path / "nouns.txt").write_text("# persons\nÄrztin\n\nArzt\n", "utf-8")
        (tmp_path / "nouns.tsv").write_text("Arzt\tÄrztin\tN;FEM;SG\nArzt\tArzt\tN;MASC;SG\n", "utf-8")
        function = TargetGender(lang="de", human_nouns_only=True, nouns=nouns)
        assert reasons(function, [text, "Sie geht.", "Der Arzt."], "female") == [
            "",
            "no_word_of_gender",
            "opposite_gender",
        ]


@pytest.mark.usefixtures("apertium")
def test_nouns_after_an_apostrophe() -> None:
    function = TargetGender(lang="it", human_nouns_only=True, nouns=["Amica"])
    assert reasons(function, ["L'amica apre il libro", "L’amica"], "female") == ["", ""]


def test_a_tagger_may_know_persons() -> None:
    texts = ["Учительница взяла журнал.", "Она взяла журнал."]  # the teacher (f) took the journal (m); she took it
    assert reasons(TargetGender(lang="ru"), texts, "female") == ["opposite_gender", "opposite_gender"]
    function = TargetGender(lang="ru", human_nouns_only=True)
    assert reasons(function, texts, "female") == ["", ""]
    assert PymorphyTagger("uk").persons([["Лікарка,", "стіл", "..."], []]) == [[True, False, False], []]


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        ("ru", ["Она сказала.", "Потом сказала она:", "Он сказал.", "Она и он.", "Компания сказала.", "Она скажет."]),
        (
            "uk",
            ["Вона сказала.", "Потім сказала вона:", "Він сказав.", "Вона і він.", "Компанія сказала.", "Вона скаже."],
        ),
    ],
)
def test_a_pronoun_with_a_verb_in_the_past_shows_a_person(lang: str, texts: list[str]) -> None:
    function = TargetGender(lang=lang, human_nouns_only=True)
    none = ["no_word_of_gender"] * 3
    assert reasons(function, texts, "female") == ["", "", "opposite_gender", *none]
    assert reasons(function, texts, "male") == ["opposite_gender", "opposite_gender", "", *none]


# --- whole sentences of German


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # surnames that are nouns
        ("Frau Müller kam.", ["female"]),
        ("Anna Weber und Frau Dr. Wagner lachten.", ["female"]),
        ("Schneider kam mit Angela Schneider.", []),
        ("Der Müller kam.", ["male"]),
        ("Die junge Frau Koch sah einen Weber.", ["female", "male"]),
        ("Klaus fuhr nach Bremen und Kassel.", []),
        # she, they and the person addressed
        ("Kommen Sie bitte, haben Sie Zeit?", []),
        ("Ich danke Ihnen, dass Sie kommen.", []),
        ("Sie haben recht.", []),
        ("Sie hat recht.", ["female"]),
        ("Dann sagte sie nichts.", ["female"]),
        ("Dann sagten sie nichts.", []),
        ("Er hofft, dass sie morgen gewinnt.", ["female", "male"]),
        ("Er hofft, dass sie morgen gewinnen.", ["male"]),
        ("Er liebt sie.", ["male"]),
        # the plural has no gender, but persons have
        ("Er hob seine Hände.", ["male"]),
        ("Nach 20 Minuten fielen die Tore.", []),
        ("Er sah die Frauen.", ["female", "male"]),
        ("Die Studenten gehen.", ["male"]),
        ("Die Ärztinnen gehen.", ["female"]),
        ("Die kleinen Kinder der Firmen, die gehen", []),
        # articles go by their nouns
        ("Er spielt in seiner Mannschaft.", ["female", "male"]),
        ("Sie dankte ihrem Arzt.", ["female", "male"]),
        ("Eine 27-Jährige kam.", ["female"]),
        ("Die Abgeordnete ging.", ["female"]),
        ("Zusammen siegen wir. Neulich in der SPD.", []),
    ],
)
def test_what_german_words_show(text: str, expected: list[str]) -> None:
    genders = TargetGender(lang="de").words.of([text])[0]
    assert sorted(genders) == expected


def test_the_kept_rate_of_the_authors_german_pairs(shared: Path, root: Path) -> None:
    """All pairs are masculine by the authors' filter; benchmarks/README.md states what ours keeps."""
    lines = (shared / "data/gfst/news.2016.MALE.BT.en-de.de").read_text("utf-8").split("\n")[:-1]
    for group, low, high in (("male", 0.85, 0.95), ("female", 0.0, 0.005)):
        rows = {"target": lines, "source_gender": [group] * len(lines)}
        found = TargetGender(lang="de")(rows)
        kept = found["target_reason"].count("") / len(lines)
        assert low <= kept <= high
        if group == "male":
            assert f"{kept:.2f}".lstrip("0") + " (de" in (root / "benchmarks" / "README.md").read_text("utf-8")
            columns = [
                dict(zip(("source_gender", *found), row, strict=True))
                for row in zip(rows["source_gender"], *found.values(), strict=True)
            ]
            words = drops(columns, "target_reason")["words"]
            assert {"mannschaft", "der"} < set(words)
            assert max(words.values()) < 0.05 * len(lines)


def test_the_words_that_blocked_are_named() -> None:
    function = TargetGender(lang="de")
    texts = ["Die Ärztin, die Ärztin sah den Arzt.", "Der Arzt kam.", "Regen."]
    found = function({"target": texts, "source_gender": ["male", "male", "male"]})
    assert found["target_words"] == ["die ärztin", "", ""]
    rows = Dataset.from_dict({"source_gender": ["male"] * 3, **found})
    assert drops(rows, "target_reason")["words"] == {"die": 1, "ärztin": 1}
    assert "words" not in drops(rows, "target_reason", words_column=None)
    with pytest.raises(TooFewPairsError, match=r"opposite_gender 1 \(most often for die, ärztin\)"):
        drops(rows.select([0]), "target_reason")


def test_noun_lists(tmp_path: Path) -> None:
    assert read_nouns(["Zoë", "zoë ", "", "Amie"]) == ("amie", "zoë")
    with pytest.raises(FileNotFoundError, match=r"Noun list nowhere\.txt does not exist"):
        read_nouns("nowhere.txt")
    (tmp_path / "latin.txt").write_bytes("amie\nfiancée\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.txt is not UTF-8"):
        read_nouns(tmp_path / "latin.txt")
    with pytest.raises(ValueError, match="nouns holds no word"):
        read_nouns([])


# --- odd texts


@pytest.mark.usefixtures("apertium")
def test_odd_translations_are_decided_all_the_same() -> None:
    plain = ["La dottoressa è arrivata."]
    odd = [
        f"{plain[0]} \x00 \x07",
        f"{plain[0]} \ud800 \udfff",
        f"{plain[0]} \ufffd donâ€™t",
        plain[0] + " ," * 10_000,
        f"{plain[0]} {'x' * 10_000}",
        plain[0].replace(" ", "\u00a0 "),
        "dottoressa\n" * 10_000,
    ]
    function = TargetGender(lang="it")
    assert reasons(function, odd + plain, "female") == [""] * 8
    assert reasons(function, odd, "male") == ["opposite_gender"] * 7


# --- what is wrong


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Give lang=, or a tagger="):
        TargetGender()
    with pytest.raises(ValueError, match="No tagger for lang='xx'"):
        GrammaticalGender(lang="xx")
    with pytest.raises(ValueError, match="must have a method genders"):
        TargetGender(tagger="apertium")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ambiguous is one of neither, each; got 'both'"):
        TargetGender(lang="de", ambiguous="both")
    with pytest.raises(ValueError, match=r"does not tell nouns for persons from others\. Give a list"):
        TargetGender(lang="de", human_nouns_only=True)
    with pytest.raises(ValueError, match="needs human_nouns_only=True"):
        TargetGender(lang="de", nouns=["Arzt"])
    with pytest.raises(ValueError, match=r"column 'source_gender' says 'femme'; words show male, female"):
        TargetGender(lang="he")({"target": ["x"], "source_gender": ["femme"]})
    with pytest.raises(ValueError, match="TargetGender: no column 'source_gender'"):
        TargetGender(lang="he")({"target": ["x"]})
    with pytest.raises(TypeError, match="row 0 of the batch, column 'target', got NoneType"):
        TargetGender(lang="he", on_missing="error")({"target": [None], "source_gender": ["male"]})


def test_missing_taggers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = SpacyMorphTagger("it", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="python -m spacy download it_core_news_sm"):
        reasons(TargetGender(tagger=tagger), ["a"], "male")
    with pytest.raises(FileNotFoundError, match=r"Lexicon .* does not exist"):
        reasons(TargetGender(tagger=LexiconTagger(str(tmp_path / "none.tsv"))), ["a"], "male")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"apt-get install apertium apertium-oci-fra\."):
        reasons(TargetGender(lang="fr"), ["a"], "male")


def test_the_taggers_of_whole_sentences() -> None:
    assert TargetGender(lang="de").words.tagger == GermanSentenceTagger()
    assert TargetGender(lang="ru").words.tagger == PymorphyTagger("ru", "best")
    assert TargetGender(lang="he", tagger=Letters()).words.tagger == Letters()


@pytest.mark.usefixtures("apertium")
def test_spanish_and_german() -> None:
    spanish = ["La doctora está cansada.", "El doctor está cansado.", "La doctora vio al doctor."]
    german = ["Die Ärztin ist müde.", "Der Arzt ist müde.", "Die Ärztin sah den Arzt."]
    for lang, texts in (("es", spanish), ("de", german)):
        assert reasons(TargetGender(lang=lang), texts, "female") == ["", "opposite_gender", "opposite_gender"]
        assert reasons(TargetGender(lang=lang), texts, "male") == ["opposite_gender", "", "opposite_gender"]


def test_a_decomposed_text_is_read_as_the_composed_one(tmp_path):
    """As files from macOS spell it: each accent is a character of its own."""
    forms = tmp_path / "forms.tsv"
    forms.write_text(normalize("NFD", "été\tétait\tN;FEM;SG\nél\tél\tN;MASC;SG\n"), encoding="utf-8")
    tagger = LexiconTagger(str(forms))
    texts = ["était", "Él sabe."]
    for rows in (texts, [normalize("NFD", text) for text in texts]):
        kept = TargetGender("text", tagger=tagger)({"text": rows, "source_gender": ["female", "male"]})
        assert kept["target_reason"] == ["", ""]
        label = GrammaticalGender(tagger=tagger, pronouns={"male": ["él"], "female": ["ella"]})
        assert label({"text": rows})["target_gender"] == ["none", "male"]
    assert read_nouns([normalize("NFD", "Élève")]) == ("élève",)
