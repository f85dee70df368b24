"""From genders of words to the gender of a person: each rule on paper, then the authors' numbers on their data."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from hf_fairness.alignment import align, read_pharaoh
from hf_fairness.filters import LANGUAGES, LexiconTagger, PymorphyTagger, predict_genders, rule_tagger


def predict(lang: str, rules: str, sentence: str, targets: list[int], source: str = "") -> str:
    (gender,) = predict_genders([sentence.split()], [targets], lang, rules=rules, source_words=[source])
    return gender


# --- the original rules


@pytest.mark.parametrize(
    ("sentence", "targets", "source", "expected"),
    [
        ("Die Entwicklerin stritt mit dem Designer,", [0, 1], "developer", "female"),  # ending
        ("Sie bat den Bäcker um das Brot.", [2, 3], "baker", "female"),  # "den" is no article there; "Sie" is nearest
        ("Der Arzt, der Chef und die Frau", [1], "physician", "male"),  # the article in front
        ("Das Kind kam.", [0, 1], "child", "neutral"),
        ("Die Frau kam.", [], "driver", "male"),  # not aligned
        ("Kommt Personal?", [1], "staff", "male"),  # no article at all
        ("Der Pfleger kam.", [0, 1], "nurse", "female"),  # one English word decides alone
        ("Der Pfleger kam.", [0, 1], "", "male"),  # unless it is not given
    ],
)
def test_original_german(sentence: str, targets: list[int], source: str, expected: str) -> None:
    assert predict("de", "original", sentence, targets, source) == expected


def test_original_german_counts_places_before_and_after_splitting_punctuation() -> None:
    sentence = "Ja, ja, die dort, der Koch ging."  # Koch: index 5 at spaces; pieces: die 4, der 7
    assert predict("de", "original", sentence, [5]) == "female"


@pytest.mark.parametrize(
    ("sentence", "targets", "expected"),
    [
        ("Механик дал клерку подарок", [0], "female"),  # also "of mechanics (f)"
        ("нанял помощника, потому", [1, 2], "neutral"),  # one male; the comma and "because" are neutral
        ("нанял помощника потому", [1, 2], "male"),  # tie: the first
        ("нанял помощника потому", [2, 1], "neutral"),  # in the order of the links
        ("одну из дежурному", [2], "male"),  # masculine or neuter
        ("Врач сказала", [], "unknown"),
    ],
)
def test_original_russian(sentence: str, targets: list[int], expected: str) -> None:
    assert predict("ru", "original", sentence, targets) == expected


def test_original_ukrainian() -> None:
    assert predict("uk", "original", "Лікарка порадила механіку.", [0]) == "female"
    assert predict("uk", "original", "Лікар порадив механіку.", [0]) == "male"


@pytest.mark.parametrize(
    ("lang", "sentence", "targets", "expected"),
    [
        ("he", "המזכירה תיקנה את היזם", [0], "female"),
        ("he", "תיקן את היזם", [1, 2], "male"),  # the mark of the object does not count
        ("he", "השרת ניקה", [0], "female"),  # the janitor (m): by its last letter
        ("he", "השרת ניקה", [], "female"),
        ("ar", "المهندسة، هنا", [0], "female"),
        ("ar", "المهندس هنا", [0], "male"),
        ("ar", "المهندسة هنا", [], "male"),
    ],
)
def test_original_hebrew_and_arabic(lang: str, sentence: str, targets: list[int], expected: str) -> None:
    assert predict(lang, "original", sentence, targets) == expected


@pytest.mark.parametrize("lang", [lang for lang in LANGUAGES if lang not in ("es", "fr", "it")])
def test_rules_of_2020_differ_in_hebrew_and_arabic_where_nothing_is_aligned(lang: str) -> None:
    late = predict(lang, "original_2020", "a b", [])
    assert late == ("unknown" if lang in ("ar", "he") else predict(lang, "original", "a b", []))
    assert predict(lang, "original_2020", "المهندسة לקוחה", [0, 1]) == predict(
        lang, "original", "المهندسة לקוחה", [0, 1]
    )


@pytest.mark.usefixtures("apertium")
@pytest.mark.parametrize(
    ("lang", "sentence", "targets", "expected"),
    [
        ("es", "La enfermera habló con alguien.", [0, 1], "female"),
        ("es", "La enfermera habló con alguien.", [4], "neutral"),  # no gender among the aligned words
        ("es", "La enfermera habló con alguien.", [], "unknown"),
        ("es", "El asistente y la otra", [0, 3], "male"),  # tie: the first
        ("fr", "L'infirmière parle au médecin", [2, 3], "male"),
        ("fr", "L'analyste parle", [0], "neutral"),
        ("it", "Ha visto l'insegnante", [2], "neutral"),
    ],
)
def test_original_romance(lang: str, sentence: str, targets: list[int], expected: str) -> None:
    assert predict(lang, "original", sentence, targets) == expected


# --- our rules


@pytest.mark.parametrize(
    ("lang", "sentence", "targets", "expected"),
    [
        ("de", "Sie bat den Bäcker um das Brot.", [3], "male"),  # the article in front is read without a link
        ("de", "Er half der Hebamme", [2, 3], "female"),
        ("de", "Er half der Reinigungskraft", [2, 3], "neutral"),  # feminine by grammar, of anybody
        ("de", "Der Sheriff kam.", [0, 1], "male"),  # open, so "der" leans
        ("de", "Das gab er der Angestellten.", [3, 4], "female"),
        ("de", "Das Kind kam.", [0, 1], "neutral"),
        ("de", "Jemand kam.", [0], "neutral"),
        ("de", "Die Frau kam.", [], "unknown"),
        ("de", "Die Frau kam.", [2], "unknown"),
        ("de", "Sie sah den Arzt", [0, 2, 3], "male"),  # a stray link comes after the words that stand together
        ("ru", "Механик дал клерку подарок", [0], "male"),  # a person, not "of mechanics"
        ("ru", "нанял помощника, потому", [1, 2], "male"),
        ("ru", "Кто-то сказал", [0], "neutral"),
        ("uk", "Хтось сказав", [0], "neutral"),
        ("he", "השרת ניקה", [0], "male"),
        ("he", "איש המכירות הלך", [0, 1], "male"),  # the head comes first
        ("he", "המורה הלכה", [0], "neutral"),  # written alike
        ("he", "פקידת הקבלה", [0, 1], "female"),
        ("ar", "المهندسة هنا", [0], "female"),
        ("ar", "المهندسة هنا", [], "unknown"),
    ],
)
def test_default_rules(lang: str, sentence: str, targets: list[int], expected: str) -> None:
    assert predict(lang, "agreement", sentence, targets) == expected


@pytest.mark.usefixtures("apertium")
@pytest.mark.parametrize(
    ("lang", "sentence", "targets", "expected"),
    [
        ("es", "El cocinero rió del conserje.", [4], "male"),  # "del" settles a noun for both
        ("es", "Vio al ama de llaves", [1, 2, 3, 4], "female"),  # "el" before a stressed a is no masculine
        ("es", "Vio a la víctima", [2, 3], "neutral"),
        ("fr", "Il rend visite à la coiffeuse.", [3, 4, 5], "female"),
        ("fr", "Il parle à quelqu'un.", [3], "neutral"),
        ("it", "Compra il pane dal fornaio.", [4], "male"),
        ("it", "L'insegnante parla.", [0], "neutral"),
    ],
)
def test_default_romance(lang: str, sentence: str, targets: list[int], expected: str) -> None:
    assert predict(lang, "agreement", sentence, targets) == expected


# --- both


def test_a_tagger_in_place_of_the_default() -> None:
    sentence = [["Механика", "позвала"]]
    assert predict_genders(sentence, [[0]], "ru") == ["male"]
    assert predict_genders(sentence, [[0]], "ru", tagger=PymorphyTagger("ru", "best")) == ["female"]


def test_another_language_with_a_lexicon(tmp_path: Path) -> None:
    path = tmp_path / "ces.tsv"
    path.write_text("lékař\tlékařka\tN;FEM;SG\n", "utf-8")
    assert predict_genders([["Lékařka", "přišla."]], [[0]], "cs", tagger=LexiconTagger(str(path), "cs")) == ["female"]


def test_rules_name_their_tagger() -> None:
    for lang in LANGUAGES:
        for rules in ("agreement", "original"):
            tagger = rule_tagger(lang, rules)
            assert (tagger is None) == ((lang, rules) == ("de", "original"))
            assert tagger is None or f"({lang}" in tagger.name


def test_no_sentences() -> None:
    assert predict_genders([], [], "ru") == []


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="Got 2 sentences, 1 targets and 2 source words"):
        predict_genders([["a"], ["b"]], [[0]], "de")
    with pytest.raises(ValueError, match=r"Sentence 0 has 1 tokens, but targets \[0, 1\]"):
        predict_genders([["a"]], [[0, 1]], "de")
    with pytest.raises(ValueError, match=r"Sentence 0 has 1 tokens, but targets \[-1\]"):
        predict_genders([["a"]], [[-1]], "de")
    with pytest.raises(ValueError, match="Sentence 0 is a text, expected a list of tokens"):
        predict_genders(["Die Frau"], [[0]], "de")
    with pytest.raises(ValueError, match="rules is one of agreement, original, original_2020; got 'best'"):
        predict_genders([["a"]], [[0]], "de", rules="best")
    with pytest.raises(ValueError, match="No rules for lang='xx'"):
        predict_genders([["a"]], [[0]], "xx")


# --- the authors' numbers


class WinoMT(NamedTuple):
    """Translations by Google with the alignment of the tokens split at spaces."""

    gold: list[str]
    professions: list[str]
    sentences: list[list[str]]
    targets: list[list[int]]


def winomt(shared: Path, lang: str, links: list[list[tuple[int, int]]] | None = None) -> WinoMT:
    rows = [line.split("\t") for line in (shared / "data/winomt/en.txt").read_text("utf-8").splitlines()]
    lines = (shared / f"data/winomt/translations/google.en-{lang}.txt").read_text("utf-8").splitlines()
    sources, sentences = (
        [text.split() for text in side] for side in zip(*(line.split(" ||| ") for line in lines), strict=True)
    )
    links = align(sources, sentences) if links is None else links
    targets = []
    for (_, index, *_), source, pairs in zip(rows, sources, links, strict=True):
        noun = int(index)
        wanted = [noun - 1, noun] if noun and source[noun - 1].lower() in ("the", "a", "an") else [noun]
        targets.append([target for word in wanted for start, target in pairs if start == word])
    return WinoMT([row[0] for row in rows], [row[3] for row in rows], sentences, targets)


def logged(shared: Path, lang: str) -> dict:
    return json.loads((shared / "gold/winomt/logged_google.json").read_text("utf-8"))[lang]


def confusion(gold: list[str], predicted: list[str]) -> dict[str, dict[str, int]]:
    counts = Counter(zip(gold, predicted, strict=True))
    return {row: {column: n for (of, column), n in counts.items() if of == row} for row in sorted(set(gold))}


def accuracy_and_gap(table: dict[str, dict[str, int]]) -> tuple[float, float]:
    """Acc and F1_male - F1_female in points, over all rows."""

    def f1(gender: str) -> float:
        right = table[gender].get(gender, 0)
        return 2 * right / (sum(table[gender].values()) + sum(row.get(gender, 0) for row in table.values()))

    total = sum(sum(row.values()) for row in table.values())
    return 100 * sum(table[gender].get(gender, 0) for gender in table) / total, 100 * (f1("male") - f1("female"))


@pytest.mark.parametrize("lang", ["de", "ru"])
def test_original_rules_give_the_authors_answer_in_every_row(shared: Path, lang: str, tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_bytes(gzip.decompress((shared / f"gold/winomt/google-{lang}.fast_align.gz").read_bytes()))
    data = winomt(shared, lang, read_pharaoh(path))
    predicted = predict_genders(data.sentences, data.targets, lang, rules="original", source_words=data.professions)
    lines = (shared / f"gold/winomt/google-{lang}.tsv").read_text("utf-8").splitlines()
    published = [row[2] for row in (line.split("\t") for line in lines) if row[0] == "all"]
    assert Counter(zip(predicted, published, strict=True)) == Counter(zip(published, published, strict=True))
    assert confusion(data.gold, predicted) == logged(shared, lang)["confusion_gold_to_pred"]


def test_original_hebrew_with_our_alignment(shared: Path) -> None:
    data = winomt(shared, "he")
    predicted = predict_genders(data.sentences, data.targets, "he", rules="original")
    acc, gap = accuracy_and_gap(confusion(data.gold, predicted))
    expected = logged(shared, "he")["expected"]
    assert abs(acc - expected["acc"]) < 0.5
    assert abs(gap - expected["dG"]) < 0.5
    # The rows of the later code, where a word without a link is unknown.
    lines = (shared / "gold/winomt/google-he.tsv").read_text("utf-8").splitlines()
    published = [row[2] for row in (line.split("\t") for line in lines) if row[0] == "all"]
    late = [gender if targets else "unknown" for gender, targets in zip(predicted, data.targets, strict=True)]
    assert sum(ours == theirs for ours, theirs in zip(late, published, strict=True)) >= 0.99 * len(published)


@pytest.mark.whole
@pytest.mark.usefixtures("apertium")
@pytest.mark.parametrize(("lang", "points"), [("es", 3.0), ("fr", 3.0), ("it", 4.5)])
def test_original_romance_with_our_alignment(shared: Path, lang: str, points: float) -> None:
    """Apertium knows the gender of more words than the spaCy models of 2019 did.

    In Italian the logged run has 662 neutral answers, ours 388, and 483 of our gendered ones are for a single word
    with an apostrophe ("l'infermiera").
    """
    data = winomt(shared, lang)
    acc, gap = accuracy_and_gap(
        confusion(data.gold, predict_genders(data.sentences, data.targets, lang, rules="original"))
    )
    expected = logged(shared, lang)["expected"]
    assert abs(acc - expected["acc"]) < points
    assert abs(gap - expected["dG"]) < points


@pytest.mark.parametrize("lang", ["de", "he", "ru"])
@pytest.mark.parametrize("rules", ["agreement", "original"])
def test_predictions_do_not_depend_on_the_batch(shared: Path, lang: str, rules: str) -> None:
    data = winomt(shared, lang, [[(n, n) for n in range(5)]] * 3888)
    rows = range(0, 3888, 97)
    together = predict_genders(data.sentences, data.targets, lang, rules=rules)
    assert [together[row] for row in rows] == [
        predict_genders([data.sentences[row]], [data.targets[row]], lang, rules=rules)[0] for row in rows
    ]
    assert len(set(together)) > 1
