"""The model that reads *her*, *his* and *'s*: what it reads, how sure it is, and where its weights come from."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import pronoun_model
from benchmarks.study import RESULTS, read_results
from hf_fairness.attributes import load_attribute
from hf_fairness.augment import neutralize, swap
from hf_fairness.augment.context_model import ContextModel, context_model, surroundings
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.pronouns import DETERMINER_OR_PRONOUN, OBJECT_OR_DETERMINER, resolve
from hf_fairness.runs import content_key

SMALL = {**pronoun_model.CONFIG, "classes": 8, "class_dimensions": 8, "folds": 2}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("We gave her change.", "We gave him change."),
        ("I told her “no” and left.", "I told him “no” and left."),
        ("You made her day!", "You made his day!"),
        ("They wished her luck.", "They wished him luck."),
        ("The jury found her guilty.", "The jury found him guilty."),
        ("I love her 😍", "I love him 😍"),
        ("i miss her so much lol", "i miss him so much lol"),
        ("I love her #wcw", "I love him #wcw"),
        ("bless her heart", "bless his heart"),
        ("Please call her.\nThanks", "Please call him.\nThanks"),
        ("I told <b>her</b> brother <i>everything</i>", "I told <b>his</b> sister <i>everything</i>"),
        ("He met (her) friends.", "She met (his) friends."),
        ("Pronouns: she/her", "Pronouns: he/him"),
        ("His & Hers", "Hers & His"),
        ("a friend of his.", "a friend of hers."),
        ("his and my dog", "her and my dog"),
        ("Ask him or her about it.", "Ask her or him about it."),
        ("HER GUTS", "HIS GUTS"),
        ("I HATE HER SO MUCH", "I HATE HIM SO MUCH"),
    ],
)
def test_pronouns_of_all_kinds_of_text(source, wanted):
    assert swap(source) == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("She's done.", "They're done."),
        ("She's done it again.", "They've done it again."),
        ("He's gotta go.", "They've gotta go."),
        ("He's been sick.", "They've been sick."),
        ("He's a doctor.", "They're a doctor."),
        ("What's she done?", "What have they done?"),
        ("Where's he going?", "Where are they going?"),
        ("He's known for his temper.", "They're known for their temper."),
        ("SHE'S LOST IT", "THEY'VE LOST IT"),
        ("She’s never been happier.", "They’ve never been happier."),
    ],
)
def test_is_and_has(source, wanted):
    assert neutralize(source) == wanted


def test_signs_that_hold_a_place_alone_are_passed_over():
    plain = surroundings("I told her story", 7, 10)
    for text in ("I told (her) story", 'I told "her" story', "I told *her* story", "I told <b>her</b> story"):
        start = text.index("her")
        assert surroundings(text, start, start + 3) == plain
    assert surroundings("her", 0, 3) == (("<s>", "<s>"), ("</s>", "</s>", "</s>"), "0")


def test_every_place_of_any_text_has_a_chance():
    model = context_model("object")
    texts = [
        "",
        "<",
        "a\n\n b",
        "her " * 40,
        "¿her?  her\ther",
        "x" * 500,
        "<her",
        "her>",
        "it's\u00a0her",
        "\ud83d her",
    ]
    for text in texts:
        for start in range(len(text)):
            assert 0 < model.chance(surroundings(text, start, start + 3)) < 1
    assert isinstance(model, ContextModel)


def test_a_hit_carries_the_chance_of_its_case():
    engine = engine_for(load_attribute("gender"))
    sure, unsure = (engine.find(text)[0][0].certainty for text in ("I know her.", "We saw her duck."))
    assert 0.5 <= unsure < 0.95 < sure <= 1
    assert engine.find("The king left.")[0][0].certainty == 1
    assert engine.find("I know her.", lambda text: [(7, 10, "PRP$")])[0][0].candidate.cell == "possessive_determiner"
    assert resolve("xx", 0, 2, frozenset({"b", "a"})) == ("a", 0.5)  # cases that no model knows


def test_the_weights_are_those_of_the_recorded_run():
    results = read_results(RESULTS / "pronoun_model.json")
    assert results["weights_key"] == content_key(pronoun_model.FILE)
    for name, rules in pronoun_model.CONFIG["rules_before"].items():
        assert results[name]["n"] == rules["n"]
    assert results["object"]["error_rate_ci95"][1] < pronoun_model.CONFIG["rules_before"]["object"]["errors"] / 19390
    assert pronoun_model.FILE.stat().st_size < 500_000


def test_the_chances_say_how_often_they_are_right():
    results = read_results(RESULTS / "pronoun_model.json")
    for name in pronoun_model.LABELS:
        table = results[name]["reliability"]
        n = sum(row["n"] for row in table)
        assert sum(row["n"] * abs(row["certainty"] - row["right"]) for row in table) / n < 0.01


def test_texts_that_are_no_news(shared):
    errors = pronoun_model.judged_errors(shared / "data")
    print(errors)
    assert errors["n"] == 267
    assert errors["errors"] <= 12


@pytest.mark.whole
def test_training_gives_the_same_weights_again_and_no_sentence_of_the_exam(shared):
    texts = pronoun_model.sentences(shared / "data")
    assert len(texts) > 100_000
    asked = {question.text for question in _asked()}
    assert asked.isdisjoint(texts)
    first, report = pronoun_model.trained(texts[::25], SMALL)
    assert first == pronoun_model.trained(texts[::25], SMALL)[0]
    for result in (report["object"], report["pronoun"]):
        assert result["errors"] < result["errors_of_the_commonest"] or result["errors_of_the_commonest"] < 20


def _asked():
    from benchmarks.swap_exam import questions

    return [question for question in questions("open") if question.source == "news"]


def test_scores_are_the_sum_of_the_features():
    """What the package adds up is what the training counted."""
    classes = {"told": "1", "story": "2"}
    around = surroundings("i told her story today", 7, 10)
    found = pronoun_model.features(around, classes)
    tables = pronoun_model._tables(found, np.arange(1, len(found) + 1))
    assert ContextModel(classes, 0.5, tables).score(around) == pytest.approx(0.5 + len(found) * (len(found) + 1) / 2)


def test_models_of_no_words_know_their_bias():
    assert ContextModel({}, 0.0, {}).chance(surroundings("her", 0, 3)) == 0.5
    assert {DETERMINER_OR_PRONOUN, OBJECT_OR_DETERMINER} == {
        frozenset({"possessive_determiner", "possessive_pronoun"}),
        frozenset({"object", "possessive_determiner"}),
    }
