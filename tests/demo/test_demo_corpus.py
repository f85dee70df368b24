"""The demo's training corpus: size, balance, language, and distance from the evaluation sets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from hashlib import sha256

import pytest

from hf_fairness.demo import Frame, corpus, corpus_sentences, frames, plain_sentences, triple_frames, variants
from hf_fairness.demo._filling import fillings, indefinite_article, load_frames, realize

VOWEL_SOUNDS = {"honest", "hour", "hourglass", "heir", "X-ray"}
TOPICS = {"work", "home", "sport", "study", "health", "news"}
PRONOUNS = r"(?:he|she|him|her|his|hers|himself|herself)"
# Nouns for participants that Winogender pairs with an occupation, and their like.
BYSTANDERS = (
    "advisee|applicant|bartender|bidder|buyer|child|client|coach|customer|employee|friend|"
    "guest|homeowner|host|judge|man|minister|moviegoer|neighbor|onlooker|owner|passenger|"
    "patient|pedestrian|peer|protester|pupil|referee|resident|schoolchild|specialist|"
    "stranger|student|taxpayer|teenager|tenant|undergraduate|victim|visitor|witness|woman|"
    "worker|broker|trainer"
)
OCCUPATIONS = (
    "accountant|administrator|advisor|appraiser|architect|auditor|baker|broker|carpenter|"
    "cashier|chef|chemist|clerk|counselor|dietitian|dispatcher|doctor|educator|electrician|"
    "engineer|examiner|firefighter|hairdresser|hygienist|inspector|instructor|investigator|"
    "janitor|lawyer|librarian|machinist|manager|mechanic|nurse|nutritionist|officer|"
    "optician|painter|paralegal|paramedic|pathologist|pharmacist|physician|planner|plumber|"
    "practitioner|programmer|psychologist|receptionist|salesperson|scientist|secretary|"
    "specialist|supervisor|surgeon|teacher|technician|therapist|veterinarian|worker|bartender"
)


def winogender_shape() -> re.Pattern[str]:
    """Two people, at least one by occupation, and then in the same sentence a pronoun that may mean either.

    Heuristic: article + up to two modifiers + occupation, and article + up to two modifiers + another person
    (or someone / somebody), in either order, then any third-person pronoun, with no ., ? or ! in between. The
    jobs of the corpus count as occupations; named and possessed people ("her brother") are no bystanders.
    """
    jobs = "|".join(job.split()[-1] for job in load_frames("frames.json")[1]["common"]["job"])
    occupation = rf"\b(?:the|an?)\s+(?:[\w-]+\s+){{0,2}}(?:{OCCUPATIONS}|{jobs})\b"
    people = rf"(?:{OCCUPATIONS}|{BYSTANDERS}|{jobs})"
    person = rf"\b(?:(?:the|an?|another)\s+(?:[\w-]+\s+){{0,2}}{people}|someone|somebody)\b"
    gap = r"[^.?!]*?"
    either = rf"(?:{occupation}{gap}{person}|{person}{gap}{occupation})"
    return re.compile(rf"{either}{gap}\b{PRONOUNS}\b", re.IGNORECASE)


def both_groups() -> list[tuple[Frame, str]]:
    """Every filled frame in its male and its female form."""
    patterns, lists = load_frames("frames.json")
    return [
        (frame, realize(text, group)) for frame in patterns for text in fillings(frame, lists, 8) for group in (0, 1)
    ]


def test_size_and_uniqueness():
    sentences = corpus()
    assert len(sentences) >= 1800
    assert len(set(sentences)) == len(sentences)
    assert len(frames()) >= 240
    assert len({frame.id for frame in frames()}) == len({frame.text for frame in frames()}) == len(frames())


def test_topics_are_covered_evenly():
    per_topic = Counter(frame.topic for frame in frames())
    assert set(per_topic) == TOPICS
    assert min(per_topic.values()) >= 40
    assert max(per_topic.values()) <= 1.1 * min(per_topic.values())


def test_male_and_female_are_balanced_per_frame_and_topic():
    by_frame: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in corpus_sentences():
        by_frame[sentence.frame][sentence.group] += 1
    assert len(by_frame) == len(frames())
    assert all(count["male"] == count["female"] == 4 for count in by_frame.values())


def test_content_does_not_depend_on_gender():
    """Words that are not gendered themselves stand with men and women as if by the toss of a coin."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (_, text), (_, other), sentence in zip(
        both_groups()[::2], both_groups()[1::2], sorted_sentences(), strict=True
    ):
        assert sentence.text == (text if sentence.group == "male" else other)
        for word in set(re.findall(r"\w+", text)) & set(re.findall(r"\w+", other)):
            counts[word][sentence.group] += 1
    frequent = [count for count in counts.values() if 8 <= count.total() <= 400]
    assert len(frequent) > 200
    chi2 = [(count["male"] - count["female"]) ** 2 / count.total() for count in frequent]
    assert sum(chi2) / len(chi2) < 1.1  # 1 is what independence gives


def sorted_sentences():
    position = {frame.id: index for index, frame in enumerate(frames())}
    return sorted(corpus_sentences(), key=lambda sentence: position[sentence.frame])  # stable: fillings keep order


def test_every_frame_says_who_in_both_forms():
    for (frame, male), (_, female) in zip(both_groups()[::2], both_groups()[1::2], strict=True):
        assert male != female, frame.id


def test_every_gendered_form_occurs():
    words = Counter(re.findall(r"[a-z'-]+", " ".join(corpus()).lower()))
    for form in [
        "he",
        "she",
        "him",
        "her",
        "his",
        "hers",
        "himself",
        "herself",
        "he's",
        "she's",
        "he'll",
        "she'll",
    ]:
        assert words[form] >= 4, form
    for form in ["man", "woman", "men", "women", "father", "mother", "brother", "sister", "actor", "actress"]:
        assert words[form] >= 4, form
    assert "Mr. " in " ".join(corpus())
    assert "Ms. " in " ".join(corpus())


def test_lengths_vary():
    lengths = [len(text.split()) for text in corpus()]
    assert min(lengths) >= 6
    assert max(lengths) <= 45
    assert sum(length <= 10 for length in lengths) > 100
    assert sum(length >= 22 for length in lengths) > 100


ALL_TEXTS = {
    "corpus": lambda: [text for _, text in both_groups()],
    **{name: lambda name=name: variants()[name] for name in ("male", "female", "neutral")},
    "plain": plain_sentences,
}


@pytest.mark.parametrize("source", ALL_TEXTS)
def test_surface_is_clean(source):
    starts_well = re.compile(r'"?[A-Z]')
    ends_well = re.compile(r'[.?!]"?$')
    for text in ALL_TEXTS[source]():
        assert not re.search(r"\s\s|\s[,.;:?!]|^\s|\s$", text), text
        assert not re.search(r"[{}\[\]|~@/_]", text), text
        assert text.count('"') % 2 == 0, text
        assert starts_well.match(text), text
        assert ends_well.search(text), text
        assert not re.search(r"\b(\w+) \1\b", text), text
        for start in re.findall(r"[.?!] (\w)", re.sub(r"\bM[rsx]+\.", "Mx", text)):
            assert start.isupper(), text


@pytest.mark.parametrize("source", ALL_TEXTS)
def test_a_and_an_agree(source):
    for text in ALL_TEXTS[source]():
        for article, word in re.findall(r"\b(an?) ([\w-]+)", text, re.IGNORECASE):
            sounds_vowel = word[0].lower() in "aeiou" or word in VOWEL_SOUNDS
            sounds_vowel = sounds_vowel and not re.match(r"uni(?!n|m)|use|eu|one", word)
            assert (article.lower() == "an") == sounds_vowel, text


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("baker", "a"),
        ("architect", "an"),
        ("hour", "an"),
        ("unicorn", "a"),
        ("uninvited", "an"),
        ("user", "a"),
    ],
)
def test_indefinite_article(word, article):
    assert indefinite_article("a", word) == article


def test_no_open_slot_and_no_unused_list():
    for name in ("frames.json", "triples.json", "plain.json"):
        patterns, lists = load_frames(name)
        text = " ".join(frame.text for frame in patterns)
        for owner, words in lists.items():
            for word_list, options in words.items():
                assert f"@{word_list}" in text, (owner, word_list)
                assert len(set(options)) == len(options), (owner, word_list)


def test_two_processes_write_the_same_corpus():
    code = (
        "import hashlib, json; from hf_fairness.demo import corpus, plain_sentences, variants;"
        "texts = [corpus(), variants(with_frame=True), plain_sentences(with_frame=True)];"
        "print(hashlib.sha256(json.dumps(texts).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == len(sha256().hexdigest())


def test_last_tenth_holds_whole_frames_of_all_topics():
    sentences = corpus_sentences()
    cut = len(sentences) - len(sentences) // 10
    assert {sentence.topic for sentence in sentences[cut:]} == TOPICS
    before, after = ({sentence.frame for sentence in part} for part in (sentences[:cut], sentences[cut:]))
    assert len(before & after) <= 1


def test_no_frame_of_winogenders_shape():
    shape = winogender_shape()
    found = {frame.id: text for frame, text in both_groups() if shape.search(text)}
    assert not found
    triples = variants(with_frame=True)
    assert not {i: text for i, text in zip(triples["frame"], triples["female"], strict=True) if shape.search(text)}


def test_the_shape_heuristic_knows_winogender(shared):
    lines = (shared / "data/winogender/all_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    gendered = [line.split("\t")[1] for line in lines if ".neutral." not in line]
    shape = winogender_shape()
    assert len(gendered) == 480
    assert sum(bool(shape.search(text)) for text in gendered) / len(gendered) > 0.9


def test_too_few_fillings_is_an_error():
    frame = Frame("work-99", "work", "[He|She] likes {tea/coffee}.")
    with pytest.raises(ValueError, match=r"work-99: got 2 different fillings, expected 3"):
        fillings(frame, {}, 3)


def test_an_unknown_list_is_an_error():
    with pytest.raises(ValueError, match=r"work-99: no word list 'drinks'"):
        fillings(Frame("work-99", "work", "[He|She] likes {@drinks}."), {"common": {}}, 1)


def test_triples_reuse_no_frame():
    assert not {frame.text for frame in triple_frames()} & {frame.text for frame in frames()}
