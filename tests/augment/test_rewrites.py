"""Swaps, neutral forms and variants: against hand-written examples and against published test sets."""

from __future__ import annotations

import collections
import csv
import json
import re
from pathlib import Path

import pytest

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import group_variants, looks_english, neutralize, swap

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "swaps.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", GOLDEN, ids=lambda example: example["shows"] + ": " + example["input"][:30])
def test_golden(example):
    assert swap(example["input"]) == example["swap"]
    assert neutralize(example["input"]) == example["neutral"]


def test_there_are_enough_golden_examples():
    assert len(GOLDEN) >= 80
    assert len({example["input"] for example in GOLDEN}) == len(GOLDEN)


def rate(pairs: list[tuple[str, str]], what: str, show: int = 5) -> float:
    wrong = [pair for pair in pairs if pair[0] != pair[1]]
    share = 1 - len(wrong) / len(pairs)
    print(f"{what}: {share:.4f} exact of {len(pairs)}")
    for got, wanted in wrong[:show]:
        print(f"   got    {got}\n   wanted {wanted}")
    return share


def test_winogender_triples(shared):
    triples: dict[str, dict[str, str]] = collections.defaultdict(dict)
    lines = (shared / "data" / "winogender" / "all_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for line in lines:
        name, sentence = line.split("\t")
        template, group = name.removesuffix(".txt").rsplit(".", 1)
        triples[template][group] = sentence
    rows = list(triples.values())
    assert len(rows) == 240
    assert all(len(row) == 3 for row in rows)
    assert rate([(swap(row["male"]), row["female"]) for row in rows], "Winogender male -> female") >= 0.99
    assert rate([(swap(row["female"]), row["male"]) for row in rows], "Winogender female -> male") >= 0.99
    assert rate([(neutralize(row["male"]), row["neutral"]) for row in rows], "Winogender male -> neutral") >= 0.97
    assert rate([(neutralize(row["female"]), row["neutral"]) for row in rows], "Winogender female -> neutral") >= 0.97
    variants = [group_variants(row["female"]) for row in rows]
    assert all(set(variant) == {"male", "female", "neutral"} for variant in variants)
    assert (
        rate([(v["male"], row["male"]) for v, row in zip(variants, rows, strict=True)], "Winogender variants") >= 0.99
    )


def winomt_twins(path: Path, *, other_terms: bool = False) -> list[tuple[str, str]]:
    """Sentences of the file that differ in one pronoun's gender.

    With ``other_terms`` also those with a further gendered word, though a swap of the whole text is then no twin: the
    file changes one person of two.
    """
    male, female = (
        re.compile(r"\b(?:he|him|his|himself)\b", re.I),
        re.compile(r"\b(?:she|her|hers|herself)\b", re.I),
    )
    gender = load_attribute("gender")
    frames: dict[str, dict[str, set[str]]] = collections.defaultdict(lambda: {"male": set(), "female": set()})
    for line in path.read_text(encoding="utf-8").splitlines():
        sentence = line.split("\t")[2]
        frame = female.sub("_", male.sub("_", sentence))
        if not other_terms and any(gender.counts(frame).values()):
            continue
        for name, pattern in (("male", male), ("female", female)):
            if pattern.search(sentence):
                frames[frame][name].add(sentence)
    return [
        (next(iter(frame["male"])), next(iter(frame["female"])))
        for frame in frames.values()
        if len(frame["male"]) == 1 and len(frame["female"]) == 1 and frame["male"] != frame["female"]
    ]


def test_winomt_twins(shared):
    twins = winomt_twins(shared / "data" / "winomt" / "en.txt")
    assert len(twins) > 1_500
    assert rate([(swap(male), female) for male, female in twins], "WinoMT twins male -> female", 20) >= 0.99
    assert rate([(swap(female), male) for male, female in twins], "WinoMT twins female -> male", 40) >= 0.99
    every = winomt_twins(shared / "data" / "winomt" / "en.txt", other_terms=True)
    both = [(swap(one), other) for male, female in every for one, other in ((male, female), (female, male))]
    assert rate(both, "WinoMT twins, also with further gendered words, both ways", 0) >= 0.99


def test_all_pairs_of_the_paper_swap(shared):
    text = (shared / "papers" / "dolci2023_bias_score.txt").read_text(encoding="utf-8")
    appendix = text.split("Appendix A Gender Words", 1)[1].split("Appendix B", 1)[0]
    pairs = re.findall(r"^([a-z]+) \\(?:iff|implies) \*(\w+)\*$", appendix, flags=re.MULTILINE)
    case_bound = {"him", "his", "her", "hers"}
    count = 0
    for male, female in pairs:
        if male in case_bound:
            continue
        count += 1
        for source, wanted in ((male, female), (female, male)):
            for form in (str, str.capitalize):
                assert swap(f"the {form(source)} here") == f"the {form(wanted)} here"
    assert count >= 58
    assert swap("his and hers") == "hers and his"
    assert swap("I saw him.") == "I saw her."


def test_names_are_opt_in():
    assert swap("James met his wife.") == "James met her husband."
    assert swap("James met his wife.", names=True) == "Mary met her husband."
    assert swap("Mark the page, Mark.", names=True) == "Mark the page, Sandra."
    assert group_variants("Mary left.", names=True)["male"] == "James left."
    with pytest.raises(ValueError, match="lists no names"):
        swap("x", attribute="religion", target="muslim", names=True)


def test_neopronouns_keep_the_verb():
    assert neutralize("She says her dog likes him.", pronouns="xe") == "Xe says xyr dog likes xem."
    assert neutralize("He hurt himself.", reflexive="themself") == "They hurt themself."


def test_three_groups():
    variants = group_variants("A Christian family went to church.", attribute="religion")
    assert variants == {
        "christian": "A Christian family went to church.",
        "jewish": "A Jewish family went to synagogue.",
        "muslim": "A Muslim family went to mosque.",
        "neutral": "A religious family went to place of worship.",
    }
    assert swap("The rabbi read the Torah.", attribute="religion", target="muslim") == "The imam read the Quran."
    assert swap("A Muslim prayed.", attribute="religion", target="jewish") == "A Jew prayed."
    with pytest.raises(ValueError, match=r"has 3: christian, jewish, muslim.*target="):
        swap("A Muslim prayed.", attribute="religion")
    with pytest.raises(ValueError, match=r"Unknown group 'hindu'.*christian, jewish, muslim"):
        swap("A Muslim prayed.", attribute="religion", target="hindu")


def test_target_writes_one_group_only():
    assert swap("He met her sister.", target="female") == "She met her sister."


@pytest.mark.parametrize("text", ["", "   ", "\n", "No terms here.", "123", "🙂"])
def test_texts_without_terms_come_back(text):
    assert swap(text) == text
    assert neutralize(text) == text
    assert set(group_variants(text).values()) == {text}


@pytest.mark.parametrize(
    "text",
    [
        "Die Frau, die man kennt, ist nicht da.",
        "Son père et ma mère sont là.",
        "Ma la mamma non è male.",
        "El hombre y su madre son de aquí.",
        "Er hat ein Haus, und man sieht es.",
        "彼は he と言った。",
        "Она не знает, кто такой he.",
        "de man is een vader en hij heeft geen zoon",
    ],
)
def test_other_languages_are_left_as_they_are(text):
    assert not looks_english(text)
    assert swap(text) == neutralize(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "She went to Los Angeles.",
        "Her fiancé is naïve.",
        "La La Land is her film.",
        "Mother!",
        "her son",
        "König is his name.",
    ],
)
def test_english_with_foreign_words_is_english(text):
    assert looks_english(text)


@pytest.mark.parametrize("function", [swap, neutralize, group_variants])
@pytest.mark.parametrize("text", [None, 3, b"he", ["he"]])
def test_what_is_no_text_is_an_error(function, text):
    with pytest.raises(TypeError, match="Expected a text, got"):
        function(text)


@pytest.mark.parametrize("function", [swap, neutralize, group_variants])
def test_unknown_attribute(function):
    with pytest.raises(ValueError, match="Unknown attribute 'age'"):
        function("x", attribute="age")


def dictionary_swap():
    """The usual baseline: split at blanks, look each word up, one counterpart per word."""
    plain = {
        "he": "she",
        "she": "he",
        "his": "her",
        "him": "her",
        "her": "his",
        "himself": "herself",
        "herself": "himself",
    }
    for concept in load_attribute("gender").concepts:
        for male, female in zip(concept.forms["male"], concept.forms["female"], strict=True):
            plain.setdefault(male, female)
            plain.setdefault(female, male)
    plain.update({word.capitalize(): other.capitalize() for word, other in list(plain.items())})
    return lambda text: " ".join(plain.get(word, word) for word in text.split())


def full_flips(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs that differ in gendered words only, and in all of them (others flip one of two people)."""
    gender = load_attribute("gender")

    def flips(x: str, y: str) -> bool:
        return not any(gender.counts(x).values()) if x == y else gender.counts(x) != gender.counts(y)

    return [
        (a, b)
        for a, b in pairs
        if a != b and len(a.split()) == len(b.split())
        and all(flips(x, y) for x, y in zip(a.split(), b.split(), strict=True))
    ]  # fmt: skip


def wrong_tokens(rewrite, pairs: list[tuple[str, str]]) -> int:
    return sum(
        x != y
        for a, b in pairs
        for source, wanted in ((a, b), (b, a))
        for x, y in zip(rewrite(source).split(), wanted.split(), strict=False)
    )


def crows_pairs(shared: Path) -> list[tuple[str, str]]:
    with (shared / "data" / "crows_pairs" / "crows_pairs_anonymized.csv").open(encoding="utf-8") as file:
        return [(row["sent_more"], row["sent_less"]) for row in csv.DictReader(file) if row["bias_type"] == "gender"]


def grep_biasir(shared: Path) -> list[tuple[str, str]]:
    """Male and female version of a document (they stand in one query beside each other)."""
    pairs = []
    for path in sorted((shared / "data" / "grep_biasir").glob("queries-documents_*.csv")):
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        grouped: dict[tuple[str, str], dict[str, str]] = collections.defaultdict(dict)
        for row in rows:
            for field in ("doc_title", "document"):
                grouped[(row["q_id"], row["relevant"] + field)][row["content_gender"]] = row[field]
        pairs += [(group["M"], group["F"]) for group in grouped.values() if {"M", "F"} <= set(group)]
    return pairs


@pytest.mark.parametrize("source", [crows_pairs, grep_biasir])
def test_token_error_is_at_most_half_of_a_dictionary_swap(shared, source):
    pairs = full_flips(source(shared))
    ours, dictionary = wrong_tokens(swap, pairs), wrong_tokens(dictionary_swap(), pairs)
    print(f"{source.__name__}: {len(pairs)} pairs both ways: wrong tokens {ours}, dictionary swap {dictionary}")
    for a, b in pairs:
        for x, y in ((a, b), (b, a)):
            if swap(x) != y:
                print(f"   got    {swap(x)}\n   wanted {y}")
    assert len(pairs) >= 60
    assert ours <= dictionary / 2
