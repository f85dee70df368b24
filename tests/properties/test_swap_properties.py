"""What holds for every text: swapping twice, spacing, purity of variants."""

from __future__ import annotations

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import GroupVariants, apply_edits, group_variants, neutralize, parse_edits, swap

GENDER = load_attribute("gender")
#: Words with no gender that stand around the terms; all lower case, so that nothing looks like a name.
FILLER = "table quickly green said near with old runs slept because beyond seven".split()  # noqa: SIM905
invertible = st.sampled_from(sorted(term.text for term in GENDER.invertible_terms()))
every_term = st.sampled_from(sorted({term.text for group in GENDER.groups for term in group.terms}))
#: Terms of one word with a counterpart of one word; a phrase may become one word, and then a space goes.
PHRASES = {c.id for c in GENDER.concepts if any(" " in form for row in c.forms.values() for form in row)}
single = st.sampled_from(
    sorted(
        term.text
        for group in GENDER.groups
        for term in group.terms
        if term.concept not in PHRASES and " " not in term.text
    )
)
filler = st.sampled_from(FILLER)
shape = st.sampled_from([str, str.capitalize, str.upper])
sign = st.sampled_from([" ", "  ", ", ", ". ", "; ", " - ", "\n", "'s ", ' "', '" '])


def sentences(terms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    piece = st.tuples(st.one_of(terms, filler), sign).map("".join)
    # "the" shows that it is English: "ma" and "son" alone are as much Italian and French
    return st.lists(piece, min_size=1, max_size=12).map("".join).map("the {}".format)


@settings(max_examples=400)
@given(sentences(invertible))
def test_swapping_twice_is_the_identity_on_invertible_terms(text):
    assume(not re.search(r"[^s]s's", text, re.IGNORECASE))  # "ladies's" comes back as it should be: "ladies'"
    assert swap(swap(text)) == text


@settings(max_examples=200)
@given(invertible, shape)
def test_an_invertible_term_keeps_its_shape(term, form):
    source = f"the {form(term)} here"
    assert swap(swap(source)) == source


@settings(max_examples=200)
@given(sentences(single))
def test_signs_and_spacing_are_kept(text):
    other = swap(text)
    assert re.sub(r"[\w'’-]+", "", other) == re.sub(r"[\w'’-]+", "", text)


@settings(max_examples=300)
@given(sentences(every_term))
def test_variants_say_one_group_each_and_follow_from_the_edits(text):
    row = GroupVariants("t")({"t": text})
    edits = parse_edits(row["edits"])
    for name in ("male", "female", "neutral"):
        assert apply_edits(text, edits, to=name) == row[name]
    if not row["has_terms"]:
        assert row["male"] == row["female"] == row["neutral"] == text


@settings(max_examples=300)
@given(st.text(max_size=80))
def test_any_text_is_survived(text):
    for result in (swap(text), neutralize(text), *group_variants(text).values()):
        assert isinstance(result, str)


@settings(max_examples=300)
@given(sentences(invertible))
def test_a_variant_is_a_fixed_point(text):
    variants = group_variants(text)
    for name in ("male", "female"):
        assert group_variants(variants[name])[name] == variants[name]


@settings(max_examples=200)
@given(sentences(invertible))
def test_neutral_forms_are_neutral(text):
    lowered = text.lower()
    assert not any(GENDER.counts(neutralize(lowered)).values()) or neutralize(lowered) == lowered
