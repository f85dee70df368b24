"""Headlines of any length are read alike before and after a swap; running sentences with names are no headlines."""

from __future__ import annotations

import itertools

import pytest

from hf_fairness.augment import swap
from hf_fairness.augment.scan import Scan

SWAPPED = [
    ("Why Smart Women Lie", "Why Smart Men Lie"),
    ("why smart Women Lie", "why smart Men Lie"),
    ("Jobs Men Want", "Jobs Women Want"),
    ("Man Bites Dog", "Woman Bites Dog"),
    ("5 Things Men Want", "5 Things Women Want"),
    ("Queen Visits School", "King Visits School"),
    ("Women Lie", "Men Lie"),
    ("Princess opens new hospital in Leeds", "Prince opens new hospital in Leeds"),
    ("Man Arrested", "Woman Arrested"),
    ("Queen Dies", "King Dies"),
    ("Man Bites Dog - The Guardian", "Woman Bites Dog - The Guardian"),
    ("Man bites dog | BBC News", "Woman bites dog | BBC News"),
    ("Man Bites Dog (video)", "Woman Bites Dog (video)"),
    ("Man Bites Dog – video", "Woman Bites Dog – video"),
    ("Watch it here | Man Bites Dog | more", "Watch it here | Woman Bites Dog | more"),
    ("BREAKING NEWS: Man bites dog", "BREAKING NEWS: Woman bites dog"),
    ("MAN BITES DOG: A strange king spoke.", "WOMAN BITES DOG: A strange queen spoke."),
    ("Man Bites Dog: a strange story of a king", "Woman Bites Dog: a strange story of a queen"),
    ("MOM JAILED FOR KILLING SON", "DAD JAILED FOR KILLING DAUGHTER"),
    ("The Man Who Sold the World", "The Woman Who Sold the World"),
    ("How to Talk to Your Boyfriend about His Mother", "How to Talk to Your Girlfriend about Her Father"),
    ("Five Reasons Boys are in the Friend Zone", "Five Reasons Girls are in the Friend Zone"),
    ("Ms Brown Wins Award", "Mr Brown Wins Award"),
    ("Lord Jones Backs Women", "Lady Jones Backs Men"),
    ("U.S. Women Win Gold", "U.S. Men Win Gold"),
    ("Why Women Need Men? Men Answer", "Why Men Need Women? Women Answer"),
    ("Man Bites Dog https://t.co/abc via @cnn #news", "Woman Bites Dog https://t.co/abc via @cnn #news"),
    ("## Why Smart Women Lie", "## Why Smart Men Lie"),
    ("* Jobs Men Want\n* Jobs Women Want", "* Jobs Women Want\n* Jobs Men Want"),
    ("Why Smart Women Lie\nShe met Young Boys there.", "Why Smart Men Lie\nHe met Young Boys there."),
    ("<h1>Man Bites Dog</h1><p>She saw it.</p>", "<h1>Woman Bites Dog</h1><p>He saw it.</p>"),
    ("Carole King Wins Her Award", "Carole King Wins His Award"),
]
KEPT = [
    "Yesterday Anna met Emily Queen",
    "Young Boys lost 2-0",
    "Boy George",
    "Lady Gaga",
    "Manchester United",
    "Dear Anna King and Emily Queen,",
    "Larry King",
    "King visits the school every year.",
    "King says no",
    "Duke beats Kentucky",
    "Emily King left.",
    "Billy Boy and Anna Queen are in New York City",
]


@pytest.mark.parametrize(("source", "wanted"), SWAPPED)
def test_a_headline_is_swapped_and_comes_back(source, wanted):
    assert swap(source) == wanted
    assert swap(wanted) == source


@pytest.mark.parametrize("text", KEPT)
def test_a_running_sentence_with_names_is_no_headline(text):
    assert swap(text) == text
    assert not Scan(text).in_headline(len(Scan(text)) - 1)


def test_titles_before_names_are_titles_with_and_without_a_headline():
    for text in ("Prince Charles met Queen Camilla", "Prince Charles Met Queen Camilla"):
        assert Scan(text).in_headline(0) == ("Met" in text)
        assert swap(text).lower() == "princess charles met king camilla"
        assert swap(swap(text)) == text


@pytest.mark.parametrize("case", [str, str.upper, str.title])
def test_headlines_of_every_length_come_back(case):
    """Subjects, verbs and ends in every mixture, with a source after them or a text below."""
    heads = ("", "Why ", "10 Reasons ", "How Smart ")
    subjects = ("Men", "Women", "Boys", "the Girls", "Kings", "Your Daughters")
    verbs = (" Lie", " Want Jobs", " Leave Home", " Hate Football")
    ends = ("", " With Their Wives", " - The Guardian", " | BBC", ": What to Know", "\nShe said that he was there.")
    for parts in itertools.product(heads, subjects, verbs, ends):
        text = case("".join(parts))
        assert swap(text) != text, text
        assert swap(swap(text)) == text


def test_one_line_in_capitals_is_read_as_such():
    scan = Scan("MA SAID NO.\nMy MA is late.")
    assert [scan.in_capitals(k) for k in range(len(scan))] == [True] * 4 + [False] * 5
    assert swap("MA SAID NO.\nI have an MA.") == "PA SAID NO.\nI have an MA."
