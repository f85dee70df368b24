"""What is no prose is never touched, whatever the rewrite; what only looks like it is rewritten."""

from __future__ import annotations

import itertools
import random

import pytest

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import (
    CounterfactualSwap,
    GroupVariants,
    RemoveTerms,
    SwapQuality,
    apply_edits,
    group_variants,
    neutralize,
    parse_edits,
    swap,
)
from hf_fairness.augment.prose import blanked, no_prose

NO_PROSE = [
    '<a href="http://her.org" title="a man">',
    "<img alt='his mother' src=men.png hidden/>",
    "<man>",
    '<script>var her = "she said";</script>',
    "<STYLE>\n.man { color: red }\n</STYLE>",
    "<!-- she said > that he left -->",
    "<code>her\nman</code>",
    "<!DOCTYPE man>",
    "&female;",
    "https://www.example.com/he/she?x=her#men",
    "www.she.org/men",
    "girl.com",
    "her.name.co.uk",
    "example.com/women-and-men",
    "t.co/her",
    "localhost:8080/her",
    "](women)",
    "](/wiki/man_(word))",
    "][her]",
    "[[Man|",
    "her@x.com",
    "anna.man@women.org",
    "git@github.com:her/men.git",
    "@her",
    "@his.name",
    "@man-utd",
    "@she@mastodon.social",
    "#her",
    "#girl-power",
    "`her`",
    "`she = he`",
    "``she `or` he``",
    "```\nshe said\n```",
    "~~~python\nhe = her\n~~~",
    "his_and_hers.txt",
    "women.PDF",
    "C:\\Users\\her",
    "src/men.py",
    "src/men/her",
    "/home/she/men",
    "./her",
    "~/mother",
    "her_name",
    "?q=her&x=men",
    "{he}",
    "{{ him }}",
    "{% if she %}",
    "${her}",
    "$her",
    "%(her)s",
    ":woman:",
    "\\her",
    "\\ref{her}",
    "r/men",
    "/u/she",
    "Man::find",
    "her()",
    "self.her",
    "her.first_name",
    "hf.men.her",
    "[quote=Her]",
    '{"he": 1, "she": 2',
    "10.1000/men.her",
]
PROSE = [
    ("and/or she", "and/or he"),
    ("he/she", "she/he"),
    ("she's w/him", "he's w/her"),
    ("(she)", "(he)"),
    ("#1 man", "#1 woman"),
    ("a man @ work", "a woman @ work"),
    ("men<women", "women<men"),
    ("5 < 6 and he > she", "5 < 6 and she > he"),
    ("a <b and c> d she", "a <b and c> d he"),
    ("he->she", "she->he"),
    ("Then she.He left", "Then he.She left"),
    ("The girl.She left", "The boy.He left"),
    ("wife/husband", "husband/wife"),
    ("he\\she", "she\\he"),
    ("men&women", "women&men"),
    ("he`s the man and she`s not", "she`s the woman and he`s not"),
    ("She met `Tom' as a man", "He met `Tom' as a woman"),
    ("``He left,'' she said, ``I think''", "``She left,'' he said, ``I think''"),
    ("he ... she...they", "she ... he...they"),
    ("at 10 p.m.she left, i.e.she ran", "at 10 p.m.he left, i.e.he ran"),
    ("he <3 her", "she <3 him"),
    ("$5 for men=trash", "$5 for women=trash"),
    ("{he|she}", "{she|he}"),
    ("\\emph{she} and \\textbf{his book}", "\\emph{he} and \\textbf{her book}"),
    ("[She](/her) left", "[He](/her) left"),
    ("<td>Man</td><td>Woman</td>", "<td>Woman</td><td>Man</td>"),
    ("I saw <b>her</b>.", "I saw <b>him</b>."),
    ("<p>She saw <i>her</i> son.</p>", "<p>He saw <i>his</i> daughter.</p>"),
    ("told her<br>He left", "told him<br>She left"),
    ("I told _her_ so", "I told _him_ so"),
    ("I told **her** so", "I told **him** so"),
    ("__She__ left ~~her~~", "__He__ left ~~him~~"),
    ("# Women\n* she\n- he\n1.She\n> he", "# Men\n* he\n- she\n1.He\n> she"),
    ('{"text": "she left"}', '{"text": "he left"}'),
    ('He asked, "who is she?": a question', 'She asked, "who is he?": a question'),
    ("Dear {name}, she left", "Dear {name}, he left"),
    ("See https://x.org/she, then he left", "See https://x.org/she, then she left"),
    ("http://x.org/he—she left", "http://x.org/he—he left"),
    ("RT @her: she left", "RT @her: he left"),
    ("&quot;She left&quot;", "&quot;He left&quot;"),
    ("(he/him)", "(she/her)"),
    ("It broke.\\nShe left.\\n\\nHe told her.", "It broke.\\nHe left.\\n\\nShe told him."),
]


@pytest.mark.parametrize("piece", NO_PROSE)
@pytest.mark.parametrize("frame", ["{}", "She read {} and she says it is hers.", "Zoë: she\n{}\nhe"])
def test_no_rewrite_touches_what_is_no_prose(piece, frame):
    text = frame.replace("{}", piece if piece[0] != "~" or "~/" in piece else f"\n{piece}\n")
    place = text.index(piece)
    inside = range(place, place + len(piece))
    row = {"text": text}
    for function in (CounterfactualSwap("text"), RemoveTerms("text"), RemoveTerms("text", placeholder="_")):
        edits = parse_edits(function(row)["edits"])
        assert bool(edits) == (frame != "{}")
        assert not [edit for edit in edits if set(inside) & set(range(edit.start, edit.end))]
    for new in (swap(text), swap(text, target="male"), neutralize(text), *group_variants(text).values()):
        assert piece in new
    assert swap(swap(text)) == text


@pytest.mark.parametrize(("source", "wanted"), PROSE)
def test_prose_stays_prose(source, wanted):
    assert swap(source) == wanted
    assert swap(wanted) == source


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("He runs and `jumps` a lot.", "They run and `jumps` a lot."),
        ("He is there, see #is she", "They are there, see #is they"),
        ("He wants <b class='x and is'>a thing</b>.", "They want <b class='x and is'>a thing</b>."),
        ("He reads x.org/a,jumps and his mail.", "They read x.org/a,jumps and their mail."),
        ("Male http://x.org/a doctors left.", " http://x.org/a doctors left."),
        ("He @is here.", "They @is here."),
    ],
)
def test_what_follows_a_term_edits_prose_alone(source, wanted):
    assert neutralize(source).lstrip() == wanted.lstrip()


def test_other_attributes_and_names_leave_it_alone_too():
    assert swap("Mary met @Mary at mary.com", names=True) == "James met @Mary at mary.com"
    text = "See #church, church.org and `church` or the church."
    assert group_variants(text, attribute="religion")["muslim"] == "See #church, church.org and `church` or the mosque."
    assert GroupVariants("t", attribute="religion")({"t": "@church"})["has_terms"] is False


@pytest.mark.parametrize("text", ["She left. See #pregnant.", "She read https://x.org/she and www.pregnant.org."])
def test_the_judge_of_swaps_reads_prose_alone(text):
    row = {"text": text}
    assert SwapQuality("text")({**row, **CounterfactualSwap("text")(row)})["rejected_reason"] == ""


def test_random_mixtures_come_back_and_edits_lie_in_prose():
    draw = random.Random(5)
    pieces = [
        *NO_PROSE,
        *(source for source, _ in PROSE),
        "she said",
        "He",
        "*",
        "<",
        "`",
        "\n",
        "(",
        "]",
        "@",
        "{",
        '"',
    ]
    engine_text = [" ".join(draw.choices(pieces, k=draw.randint(2, 6))) for _ in range(600)]
    for text in engine_text:
        row = CounterfactualSwap("text")({"text": text})
        edits, spans = parse_edits(row["edits"]), no_prose(text)
        assert apply_edits(text, edits) == row["text_counterfactual"]
        assert all(edit.end <= a or b <= edit.start for edit, (a, b) in itertools.product(edits, spans)), text
        assert spans == sorted(spans)
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
        assert len(blanked(text)) == len(text)
    assert load_attribute("gender").group_names == ("male", "female")


def test_what_is_not_closed_is_prose():
    for text in ("<script> she", "<!-- she", "<code>she", "`she", "{{ she", "<b title='she", "``she", "[[she", "{she"):
        assert swap(text) != text
    assert swap("```py\nshe") == "```py\nshe"  # a fence lasts to the end of the text
