"""Contrastive rows: spans by hand, which rows are added, and the rules of map functions."""

from __future__ import annotations

import pickle

import pytest
from datasets import ClassLabel, Dataset, Features, Value
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.augment import ContrastiveClaims, SubstitutionNegator
from hf_fairness.augment.contrastive_claims import _OPPOSITE, substitute
from hf_fairness.augment.scan import TOKEN

ROWS = {
    "claim": ["It opened in 1990.", "He won.", "It opened in May.", "She was first.", "A dog."],
    "evidence": ["Opened in 1990, it is old.", "He won and won.", "May it be.", "The first was she.", "A cat."],
    "label": [0, 0, 1, 0, 2],
    "id": [10, 11, 12, 13, 14],
}
NAMES = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]


def contrast(**options):
    return ContrastiveClaims(supports=0, refutes=1, negate=negate, **options)


def negate(claim):
    return {"It opened in 1990.": "It opened in 1985.", "He won.": "He lost.", "She was first.": "She was last."}.get(
        claim, ""
    )


def test_rows_are_those_of_the_rule():
    made = contrast()(ROWS)
    found = list(zip(*(made[name] for name in ("claim", "evidence", "label", "contrast", "id")), strict=True))
    assert found == [
        ("It opened in 1990.", "Opened in 1990, it is old.", 0, "original", 10),
        ("It opened in 1985.", "Opened in 1990, it is old.", 1, "negative_claim", 10),
        ("It opened in 1990.", "Opened in 1985, it is old.", 1, "modified_evidence", 10),
        ("It opened in 1985.", "Opened in 1985, it is old.", 0, "both", 10),
        ("He won.", "He won and won.", 0, "original", 11),
        ("He lost.", "He won and won.", 1, "negative_claim", 11),  # the span stands in the evidence twice
        ("It opened in May.", "May it be.", 1, "original", 12),
        ("She was first.", "The first was she.", 0, "original", 13),
        ("She was last.", "The first was she.", 1, "negative_claim", 13),
        ("She was first.", "The last was she.", 1, "modified_evidence", 13),
        ("She was last.", "The last was she.", 0, "both", 13),
        ("A dog.", "A cat.", 2, "original", 14),
    ]


@pytest.mark.parametrize(
    ("claim", "negative", "evidence", "expected"),
    [
        ("He is tall.", "He is short.", "A tall man.", "A short man."),
        ("He is tall.", "He is very, very short.", "A tall man.", ""),  # four tokens
        ("He is tall.", "He is not tall.", "A tall man.", ""),  # only words added
        ("He is not tall.", "He is tall.", "A tall man.", ""),  # only words left out
        ("He is tall.", "He is tall.", "A tall man.", ""),
        ("He is tall.", "He is short.", "A TALL man.", ""),  # as written
        ("He is tall.", "He is short.", "A man.", ""),
        ("Anna Berg ran.", "Bo Holm ran.", "It is  Anna Berg !", "It is  Bo Holm !"),  # spaces stay
        ("A a b.", "A b.", "a", ""),
        ("x", "y", "x", "y"),
        ("", "y", "x", ""),
    ],
)
def test_substitution(claim, negative, evidence, expected):
    assert substitute(claim, negative, evidence) == expected


def test_a_longer_span_on_request():
    assert substitute("a b c d e", "w x y z e", "a b c d", max_span=4) == "w x y z"
    assert substitute("a b c d e", "w x y z e", "a b c d") == ""


@settings(max_examples=100)
@given(*[st.text(alphabet="ab .,", max_size=12)] * 3)
def test_substitution_can_be_taken_back(claim, negative, evidence):
    changed = substitute(claim, negative, evidence)
    if changed:
        assert changed != evidence
        back = substitute(negative, claim, changed)
        assert not back or TOKEN.findall(back) == TOKEN.findall(evidence)


def test_the_default_negator():
    negator = SubstitutionNegator()
    changed = negator("It opened in 1990 with 12 rooms.")
    year = int(changed.split()[3])
    assert 1981 <= year <= 1989
    assert changed == f"It opened in {year} with 12 rooms."
    more = int(negator("It has 12 rooms.").split()[2])
    assert 13 <= more <= 21
    assert negator("The First one.") == "The Last one."
    assert negator("LATER on.") == "EARLIER on."
    for claim in ("He is tall.", "", "1990s", "From 1990-1995.", "Nr. 3.5", "A3", "1,000 men"):
        assert negator(claim) == ""
    assert {SubstitutionNegator(seed)("It has 12 rooms.") for seed in range(30)} > {negator("It has 12 rooms.")}


def test_opposites_are_their_own_inverse_and_no_word_of_a_group():
    from hf_fairness.attributes import load_attribute

    assert all(_OPPOSITE[other] == word for word, other in _OPPOSITE.items())
    terms = {term.text.lower() for group in load_attribute("gender").groups for term in group.terms}
    assert not terms & set(_OPPOSITE)


def make_rows():
    label = {"label": ClassLabel(names=NAMES)}
    features = {"claim": Value("string"), "evidence": Value("string"), **label, "id": Value("int64")}
    return Dataset.from_dict({name: values * 4 for name, values in ROWS.items()}, features=Features(features))


def test_map_does_not_depend_on_batches_and_streams_agree():
    rows, function = make_rows(), contrast()
    whole = rows.map(function, batched=True, load_from_cache_file=False)
    assert len(whole) == 4 * 12
    for size in (1, 3):
        assert rows.map(function, batched=True, batch_size=size, load_from_cache_file=False)[:] == whole[:]
    stream = rows.to_iterable_dataset().map(function, batched=True, features=function.features(rows.features))
    assert list(stream) == list(whole)
    assert whole.features == function.features(rows.features)
    again = pickle.loads(pickle.dumps(ContrastiveClaims(supports=0, refutes=1)))
    assert again(ROWS) == ContrastiveClaims(supports=0, refutes=1)(ROWS)


def test_supported_and_refuted_claims_share_their_words():
    """Each number told the label; afterwards every claim stands with both labels."""
    claims = [f"It has {n} rooms." for n in range(1, 9)]
    rows = {"claim": claims, "evidence": [f"A house of {n} rooms" for n in range(1, 9)], "label": ["s"] * 8}
    made = ContrastiveClaims(supports="s", refutes="r")(rows)
    for claim in made["claim"]:
        assert {label for other, label in zip(made["claim"], made["label"], strict=True) if other == claim} == {
            "r",
            "s",
        }
    assert made["label"].count("s") == made["label"].count("r") == 16


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="two labels of one type; got 0 and 0"):
        ContrastiveClaims(supports=0, refutes=0)
    with pytest.raises(ValueError, match="one type"):
        ContrastiveClaims(supports=0, refutes="REFUTES")
    with pytest.raises(ValueError, match="at least 1 word"):
        contrast(max_span=0)
    with pytest.raises(TypeError, match=r"holds 0, and supports is 'SUPPORTS'.*str2int"):
        ContrastiveClaims(supports="SUPPORTS", refutes="REFUTES")(ROWS)
    with pytest.raises(ValueError, match="no column 'gold'"):
        contrast(label_column="gold")(ROWS)
    with pytest.raises(TypeError, match="negate must give a text"):
        ContrastiveClaims(supports=0, refutes=1, negate=lambda claim: None)(ROWS)
    with pytest.raises(TypeError, match="map it with batched=True"):
        make_rows().map(contrast())
    with pytest.raises(ValueError, match="would overwrite column 'contrast'"):
        contrast()(contrast()(ROWS))
