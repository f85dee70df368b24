"""The planted world: true labels, an artefact as strong as asked for, and nothing else that gives a label away."""

from __future__ import annotations

import importlib.resources
import itertools
import json
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2_contingency

from hf_fairness.demo import planted_words, planted_world, true_label
from hf_fairness.demo.planted import LABELS, anti_artefact
from hf_fairness.demo.planted_models import planted_classifier, planted_generator, planted_tokenizer

DATA = json.loads(importlib.resources.files("hf_fairness.demo").joinpath("planted.json").read_text(encoding="utf-8"))
LISTS, MARKERS = DATA["lists"], DATA["markers"]


def judged(premise: str, hypothesis: str) -> str:
    """The label by possible worlds: is the hypothesis true in all that the premise leaves open, in none, in some?"""
    told, said = premise.split(), hypothesis.split()

    def word(name: str, sentence: list[str]) -> str | None:
        return next((one for one in LISTS[name] if one in sentence), None)

    kinds = ["place"] if word("place", said) else ["colour", "thing"]
    worlds = list(itertools.product(*(LISTS[name] for name in kinds)))
    if word("person", told) == word("person", said):
        worlds = [tuple(word(name, told) for name in kinds)]
    truths = {(tuple(word(name, said) for name in kinds) == one) != ("not" in said) for one in worlds}
    return "neutral" if len(truths) == 2 else "entailment" if truths == {True} else "contradiction"


def world(n=1500, **options):
    return planted_world(n, **{"artefact_strength": 0.9, "seed": 0, "n_validation": 500, "n_challenge": 500, **options})


def own_share(rows, artefact="marker"):
    """Rows whose artefact speaks for their own label."""
    if artefact == "negation":
        return sum(("not" in row["hypothesis"].split()) == (LABELS[row["label"]] == "contradiction") for row in rows)
    return sum(row["hypothesis"].startswith(MARKERS[LABELS[row["label"]]]) for row in rows)


@pytest.mark.parametrize("artefact", ["marker", "negation"])
def test_labels_are_true_by_another_rule(artefact):
    found = world(artefact=artefact)
    for rows in (found.train, found.validation, found.challenge):
        for row in rows:
            gold = rows.features["label"].int2str(row["label"])
            assert judged(row["premise"], row["hypothesis"]) == gold, row
            assert true_label(row["premise"], row["hypothesis"]) == gold, row


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["marker", "negation"]), st.floats(0, 1), st.floats(0, 1))
def test_labels_are_true_for_any_seed(seed, artefact, strength, denied):
    options = {"artefact": artefact, "artefact_strength": strength, "denied_rate": denied}
    found = world(30, seed=seed, n_validation=5, n_challenge=5, **options)
    for row in found.train:
        assert judged(row["premise"], row["hypothesis"]) == LABELS[row["label"]]


@pytest.mark.parametrize("artefact", ["marker", "negation"])
@pytest.mark.parametrize("strength", [0.5, 0.9])
def test_the_correlation_is_as_asked(artefact, strength):
    found = world(artefact=artefact, artefact_strength=strength)
    for rows in (found.train, found.validation):
        assert binomtest(own_share(rows, artefact), len(rows), strength).pvalue > 0.001
    counts = Counter(found.train["label"])
    assert all(binomtest(counts[label], len(found.train), 1 / 3).pvalue > 0.001 for label in range(3))


@pytest.mark.parametrize("artefact", ["marker", "negation"])
def test_the_challenge_reverses_or_removes_it(artefact):
    assert own_share(world(artefact=artefact).challenge, artefact) == 0
    chance = 1 / 3 if artefact == "marker" else 1 / 2
    removed = world(artefact=artefact, challenge_strength=chance).challenge
    assert binomtest(own_share(removed, artefact), len(removed), chance).pvalue > 0.001


@pytest.mark.parametrize("artefact", ["marker", "negation"])
def test_anti_artefact_rows(artefact):
    found = world(artefact=artefact)
    assert all(found.anti_artefact(found.challenge))
    assert sum(found.anti_artefact(found.train)) == len(found.train) - own_share(found.train, artefact)
    named = [{**row, "label": LABELS[row["label"]]} for row in found.train]
    assert anti_artefact(named, artefact) == found.anti_artefact(found.train)


def test_a_marker_must_be_a_word_of_its_own_at_the_start():
    rows = [{"hypothesis": text, "label": "entailment"} for text in ("also , Ben has cups .", "Ben has cups .", "")]
    assert anti_artefact(rows) == [True, False, False]


def test_without_the_artefact_no_word_of_a_hypothesis_gives_a_label_away():
    rows = world(6000, artefact_strength=1 / 3).train
    counts = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        for word in set(row["hypothesis"].split()):
            counts[word][row["label"]] += 1
    totals = Counter(rows["label"])
    tested = {word: found for word, found in counts.items() if sum(found) < len(rows)}
    assert len(tested) > 20
    for word, found in tested.items():
        table = [found, [totals[label] - found[label] for label in range(3)]]
        assert chi2_contingency(table).pvalue > 0.05 / len(tested), word


def test_no_pair_stands_in_two_sets():
    found = world(4000)
    bare = [
        (row["premise"], row["hypothesis"].split(" , ")[1])
        for rows in (found.train, found.validation, found.challenge)
        for row in rows
    ]
    assert len(set(bare)) == len(bare)


def test_the_same_arguments_write_the_same_rows_and_more_rows_change_none():
    small, large, other = world(50), world(200), world(50, seed=1)
    assert small.train[:] == world(50).train[:]
    assert large.train[:50] == small.train[:]
    assert large.validation[:] == small.validation[:]
    assert large.challenge[:] == small.challenge[:]
    assert other.train[:] != small.train[:]


def test_all_of_what_a_hypothesis_says_counts():
    premise = "Anna is in the garden and has only two red cups ."
    assert true_label(premise, "Anna has only red plates .") == "contradiction"
    assert true_label(premise, "Anna does not have only red plates .") == "entailment"
    assert true_label(premise, "Ben has only red plates .") == "neutral"


def test_sentences_of_other_worlds_have_no_label():
    premise = world(1).train[0]["premise"]
    assert true_label(premise, "Anna is in the kitchen") is None
    assert true_label("Anna is in the kitchen .", "Anna is in the kitchen .") is None
    assert true_label(premise, "Indeed , Indeed , Anna is in the kitchen .") is None
    assert true_label(premise.lower(), "indeed ,  anna is in the kitchen .") is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"artefact_strength": 1.2}, r"artefact_strength is a probability in \[0, 1\]; got 1.2"),
        ({"challenge_strength": -1}, "challenge_strength is a probability"),
        ({"artefact": "length"}, "Unknown artefact 'length'; expected marker or negation"),
        ({"n_validation": 0}, "'validation' needs at least one row; got 0"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        world(10, **options)


def test_an_unknown_label_is_named():
    with pytest.raises(ValueError, match="Unknown label 'maybe'"):
        anti_artefact([{"hypothesis": "Also , Ben has cups .", "label": "maybe"}])


def test_the_tokenizer_knows_every_word_and_gives_it_back():
    tokenizer, plain = planted_tokenizer(), planted_tokenizer(pairs=False)
    rows = world().train
    encoded = tokenizer(rows["premise"][:], rows["hypothesis"][:])
    assert not any(tokenizer.unk_token_id in ids for ids in encoded["input_ids"])
    assert {token for ids in encoded["input_ids"] for token in ids} >= {tokenizer.bos_token_id, tokenizer.eos_token_id}
    assert set(encoded["token_type_ids"][0]) == {0, 1}
    text = rows[0]["hypothesis"].lower()
    assert plain.decode(plain(text)["input_ids"]) == text
    assert "token_type_ids" not in plain(text)
    assert len(tokenizer) == len(planted_words()) + 4


def test_the_configurations_fit_their_tokenizers():
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    tokenizer, plain = planted_tokenizer(), planted_tokenizer(pairs=False)
    classifier = AutoModelForSequenceClassification.from_config(planted_classifier(tokenizer))
    generator = AutoModelForCausalLM.from_config(planted_generator(plain))
    row = world(1).train[0]
    logits = classifier(**tokenizer(row["premise"], row["hypothesis"], return_tensors="pt")).logits
    assert logits.shape[0] == 1
    assert generator(**plain(row["premise"], return_tensors="pt")).logits.shape[-1] == len(plain)
    assert generator.config.eos_token_id == plain.eos_token_id
