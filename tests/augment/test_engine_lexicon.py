"""Possessives, spellings of two groups at once, idioms and things, and lists that come out the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import (
    CounterfactualSwap,
    GroupVariants,
    Neutralize,
    apply_edits,
    group_variants,
    neutralize,
    parse_edits,
    summarize,
    swap,
)
from hf_fairness.utils import FairnessWarning

#: Each is the swap of the other.
INVERSE = [
    ("the ladies' room", "the gentlemen's room"),
    ("the ladies’ room", "the gentlemen’s room"),
    ("THE LADIES' ROOM", "THE GENTLEMEN'S ROOM"),
    ("'Good evening, ladies' and no more", "'Good evening, gentlemen' and no more"),
    ("the actresses' dressing rooms", "the actors' dressing rooms"),
    ("his wives' cars", "her husbands' cars"),
    ("womens rights", "mens rights"),
    ("a girls' school", "a boys' school"),
    ("the boss's wife's car", "the boss's husband's car"),
    ("the princess's dress", "the prince's dress"),
    ("Dear actor(s),", "Dear actress(es),"),
    ("his/hers", "hers/his"),
    ("His & Hers", "Hers & His"),
    ("My bf/gf", "My gf/bf"),
    ("my gf's mom", "my bf's dad"),
    ("The barmaid smiled.", "The barman smiled."),
    ("two handymen", "two handywomen"),
    ("His Royal Highness Princess Anne", "Her Royal Highness Prince Anne"),
    ("Prince George christened in town", "Princess George christened in town"),
    ("Guys act like girls.", "Girls act like guys."),
    ("mums and dads", "dads and mums"),
    ("gods and goddesses", "goddesses and gods"),
    ("sir/ma'am", "ma'am/sir"),
    ("Dear Sir or Madam,", "Dear Madam or Sir,"),
    ("Mr Bell left.", "Ms Bell left."),
    ("Mr and Mrs Bell left.", "Mrs and Mr Bell left."),
    ("Mr. Bell left, Mrs. Bell stayed.", "Mrs. Bell left, Mr. Bell stayed."),
    ("mr bell left", "mrs bell left"),
    ("Madam President", "Mr. President"),
    ("Madame Curie spoke.", "Monsieur Curie spoke."),
    ("Our father went fishing.", "Our mother went fishing."),
    ("a pretty woman", "a pretty man"),
    ("He met his baby mama.", "She met her baby daddy."),
    ("Is he the man?", "Is she the woman?"),
    ("It's a boy!", "It's a girl!"),
    ("Boy, 12, found", "Girl, 12, found"),
    ("a husband, a father, and a man", "a wife, a mother, and a woman"),
    ("a female plumber", "a male plumber"),
    ("the leading actor", "the leading actress"),
    ("Lord and Lady Grantham", "Lady and Lord Grantham"),
    ("King and Queen Camilla waved.", "Queen and King Camilla waved."),
    ("HRH Prince William", "HRH Princess William"),
    ("the lady of the house", "the man of the house"),
    ("A cleaning lady came.", "A cleaning man came."),
    ("Her Ladyship bowed.", "His Lordship bowed."),
    ("the leading lady", "the leading man"),
    ("Viscount Grey spoke.", "Viscountess Grey spoke."),
    ("My GFs and BFs", "My BFs and GFs"),
    ("the ladies' word: ‘ladies’", "the gentlemen's word: ‘gentlemen’"),
    ("the son of a teacher", "the daughter of a teacher"),
    ("My dad told me on the phone.", "My mom told me on the phone."),
    ("My uncle Sam called.", "My aunt Sam called."),
    ("The man proposes today.", "The woman proposes today."),
    ("My sister plants trees.", "My brother plants trees."),
    ("the man up the road", "the woman up the road"),
    ("two men in black suits", "two women in black suits"),
    ("the eligible bachelors in town", "the eligible spinsters in town"),
]


@pytest.mark.parametrize(("one", "other"), INVERSE)
def test_a_swap_and_back(one, other):
    assert (swap(one), swap(other)) == (other, one)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("the heiress' estate", "the heir's estate"),
        ("s/he and (s)he", "he/she and he/she"),
        ("S/he left. (S)he won.", "He/she left. He/she won."),
        ("a (wo)man", "a man/woman"),
        ("an air hostess", "an air steward"),
        ("the executrix", "the executor"),
        ("Baroness Grey and Duchess Kate", "Baron Grey and Duke Kate"),
        ("a warlock", "a witch"),
    ],
)
def test_one_way(source, wanted):
    assert swap(source) == wanted


KEPT = [
    "Mum's the word.",
    "Man, this is slow.",
    "man i hate mondays",
    "Oh man! Oh, boy!",
    "boy, was I wrong",
    "I don't know, man.",
    "Come on, man!",
    "a male connector and a female plug",
    "male-to-female HDMI adapters",
    "The plug is male.",
    "mankind and manpower",
    "man the phones",
    "no man's land, old wives' tales",
    "her sister company",
    "a ladybird and a kingpin",
    "a queen size bed",
    "a mom-and-pop store",
    "You need to man up.",
    "the Wright brothers",
    "Mario Bros",
    "Duke Ellington played.",
    "a 3-man crew and a two-man tent",
    "Brother! What a day.",
    "bachelor's degree",
    "non-state actors",
    "The queen takes the rook.",
    "Prince Edward Island",
    "Guy Ritchie and Lady Gaga",
    "lady gaga",
    "Ma'daan is a village.",
]


@pytest.mark.parametrize("text", KEPT)
def test_idioms_things_and_names_stay(text):
    assert swap(text).replace("his sister", "her sister") == text


def test_phrases_go_no_further_than_the_idiom():
    assert swap("I told my mum on the phone.") == "I told my dad on the phone."
    assert swap("womankind and mankind") == "mankind and womankind"
    assert swap("My sister act is not hers.") == "My brother act is not his."


def test_what_is_left_alone_is_counted():
    texts = ["Her mother tongue is Welsh.", "Man, this is slow.", "A male plug.", "The Lion King", "Our father", ""]
    assert summarize(texts)["kept"] == {"mother tongue": 1, "man": 1, "male": 1, "lion king": 1}
    with pytest.warns(FairnessWarning):
        assert summarize(["Meine Mutter ist nicht das Problem, man."])["kept"] == {}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("S/he is here; s/he's late.", "They are here; they're late."),
        ("his/hers", "theirs"),
        ("Men and women like it.", "People like it."),
        ("Boys, girls and men", "Children and people"),
        ("boys, girls, men, and women", "children and people"),
        ("MEN AND WOMEN", "PEOPLE"),
        ("A man and a woman left.", "Two people left."),
        ("a son or a daughter", "a child"),
        ("My mom and my dad left.", "My parents left."),
        ("Every man and woman", "Every person"),
        ("Yes. Female doctors work.", "Yes. Doctors work."),
        ("A girls' school", "A children's school"),
        ("boy(s)", "child(ren)"),
        ("My GF left.", "My partner left."),
        ("men, women, and children", "people and children"),
        ("a man, a woman or a child", "a person or a child"),
        ("ladies, gentlemen", "people, people"),
        ("He hugged his brother and his sister.", "They hugged their siblings."),
        ("his mother and her father", "their parent and their parent"),
        ("Both men and women left.", "People left."),
        ("his/her dad", "their parent"),
        ("Mum and Dad's house", "Parents' house"),
        ("dad's and mum's", "parents'"),
        ("his mother, father and uncle", "their parents and parent's sibling"),
    ],
)
def test_neutral(source, wanted):
    assert neutralize(source) == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("Jews and Muslims live here.", "Believers live here."),
        ("They said: Jews, Christians, and Muslims live here.", "They said: believers live here."),
        ("The priest, the rabbi and the imam left.", "The clerics left."),
        ("The church and the mosque were closed.", "The places of worship were closed."),
        ("A Jew and a Muslim walk into a bar.", "Two believers walk into a bar."),
        ("the Jewish and Muslim communities", "the religious communities"),
        ("Is she Muslim?", "Is she religious?"),
        ("JEWS AND MUSLIMS", "BELIEVERS"),
        ("Jewish or Muslim?", "Religious?"),
        ("Merry Christmas! Our Christmas tree", "Happy holidays! Our holiday tree"),
        ("Christian said so. A devout Christian said so.", "Christian said so. A devout believer said so."),
        ("The Church of England", "The Church of England"),
    ],
)
def test_neutral_religion(source, wanted):
    assert neutralize(source, attribute="religion") == wanted


def test_variants_of_both_at_once():
    assert group_variants("S/he saw his/her dad.") == {
        "male": "He saw his dad.",
        "female": "She saw her mom.",
        "neutral": "They saw their parent.",
    }
    assert group_variants("gods and goddesses")["neutral"] == "deities"


_WORDS = st.sampled_from([text for pair in INVERSE for text in pair] + KEPT)


@given(st.lists(_WORDS, min_size=1, max_size=3).map(". ".join))
def test_edits_lead_to_what_is_written(text):
    swapped = CounterfactualSwap("t")({"t": text})
    assert apply_edits(text, parse_edits(swapped["edits"])) == swapped["t_counterfactual"] == swap(text)
    neutral = Neutralize("t")({"t": text})
    assert apply_edits(text, parse_edits(neutral["edits"])) == neutral["t_neutral"]
    variants = GroupVariants("t")({"t": text})
    for name in ("male", "female", "neutral"):
        assert apply_edits(text, parse_edits(variants["edits"]), to=name) == variants[name]


@pytest.mark.parametrize("word", ["she", "(s)he", "x" * 50])
def test_long_lists_take_linear_time(word):
    text = f"{word}, " * 20_000 + "he and she"
    assert swap(text).endswith("she and he")
    assert neutralize(text)


def test_what_a_file_says_of_several_words():
    gender = load_attribute("gender")
    assert (("s/", "he"), ("she", "he")) in gender.combined
    assert {"male": ("guy", "guys"), "female": ("girl", "girls")} in gender.together
