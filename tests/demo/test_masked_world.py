"""The world for masked language models: what is planted is there and learned, and nothing else goes with a gender."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from hf_fairness.augment import GroupVariants
from hf_fairness.demo.masked_world import GROUPS, NEAR, masked_words, masked_world, train_masked_model
from hf_fairness.measure import stereoset
from hf_fairness.measure.held_out import frames_of
from hf_fairness.measure.language_model.crows_pairs import score_pairs
from hf_fairness.scores.crows_pairs import crows_pairs as crows_pairs_score

pytestmark = pytest.mark.whole

FEMALE = {"she", "woman", "girl", "mother", "sister", "wife", "grandmother", "godmother", "girlfriend"}
MALE = {"he", "man", "boy", "father", "brother", "husband", "grandfather", "godfather", "boyfriend"}
SIZES = {"seed": 0, "n_texts": 300}


def words_of(text):
    return re.findall(r"\w+", text.lower())


def group_of(text):
    words = set(words_of(text))
    return "female" if words & FEMALE else "male" if words & MALE else ""


@pytest.fixture(scope="module")
def world(shared):
    return masked_world(6400, strength=0.85, **SIZES)


def counts(world):
    """How often each word is said of each gender."""
    kind = {word: group for group, words in world.words.items() for word in words}
    found = Counter()
    for sentence in world.sentences:
        (word,) = [word for word in words_of(sentence) if word in kind]
        found[word, group_of(sentence)] += 1
    return kind, found


def test_words_go_with_their_gender_as_often_as_asked_and_balanced_words_with_both_alike(world):
    kind, found = counts(world)
    for word, group in kind.items():
        said = [found[word, each] for each in GROUPS]
        assert sum(said) == 80
        assert found[word, ""] == 20
        assert said == [40, 40] if not group else max(said) == found[word, group] == 68


def test_half_and_half_plants_nothing():
    kind, found = counts(masked_world(6400, strength=0.5, **SIZES))
    assert all(found[word, group] == 40 for word in kind for group in GROUPS)


def test_balanced_words_are_said_of_both_genders_in_the_same_words(world):
    by_group = {group: [] for group in GROUPS}
    for sentence in world.sentences:
        if group_of(sentence) and set(words_of(sentence)) & set(world.words[""]):
            plain = [word for word in words_of(sentence) if word not in FEMALE | MALE]
            by_group[group_of(sentence)].append(" ".join(plain))
    assert sorted(by_group["male"]) == sorted(by_group["female"])
    assert len(by_group["male"]) > 1000


def test_pairs_and_items_have_the_published_form_and_the_right_labels(world):
    kind = {word: group for group, words in world.words.items() for word in words}
    for rows, planted in ((world.crows_pairs, True), (world.crows_pairs_control, False)):
        for row in rows:
            more, less = group_of(row["sent_more"]), group_of(row["sent_less"])
            assert {more, less} == set(GROUPS)
            assert kind[row["word"]] == (more if planted else "")
            assert row["stereo_antistereo"] == ("stereo" if more == "female" else "antistereo")
            assert row["bias_type"] == ("gender" if planted else "balanced")
    for items, planted in ((world.stereoset, True), (world.stereoset_control, False)):
        for item in items:
            said = {each["gold_label"]: each["sentence"] for each in item["sentences"]}
            filled = {
                label: kind.get(words_of(text)[words_of(item["context"]).index("blank")], "thing")
                for label, text in said.items()
            }
            group = group_of(item["context"])
            assert item["target"] in (FEMALE if group == "female" else MALE)
            other = GROUPS[1 - GROUPS.index(group)]
            wanted = {"stereotype": group, "anti-stereotype": other} if planted else dict.fromkeys(filled, "")
            assert filled == {**wanted, "unrelated": "thing"}


def test_what_is_asked_is_neither_learned_nor_near_what_debiases(world):
    asked = [
        text
        for row in (*world.crows_pairs, *world.crows_pairs_control)
        for text in (row["sent_more"], row["sent_less"])
    ]
    items = (*world.stereoset, *world.stereoset_control)
    asked += [each["sentence"] for item in items for each in item["sentences"]]
    assert not set(asked) & set(world.sentences)
    texts = world.texts["text"][:]
    assert len(set(texts)) == SIZES["n_texts"]
    frames = frames_of([*texts, *asked])
    near = set(frames[len(texts) :])
    assert not [text for text, frame in zip(texts, frames, strict=False) if frame in near]
    assert NEAR == 0.4


def test_the_swap_rules_turn_every_text_into_variants_with_words_of_the_world(world):
    known = set(masked_words())
    rows = world.texts.map(GroupVariants("text"), batched=True)
    assert all(rows["has_terms"])
    for row in rows:
        assert (group_of(row["male"]), group_of(row["female"]), group_of(row["neutral"])) == ("male", "female", "")
        assert row["text"] in (row["male"], row["female"])
        assert set(words_of(row["neutral"])) <= known


def test_the_same_seed_writes_the_same_and_another_other_words(world):
    again = masked_world(6400, strength=0.85, **SIZES)
    assert again.sentences == world.sentences
    assert again.stereoset == world.stereoset
    assert again.texts["text"][:] == world.texts["text"][:]
    assert masked_world(10, seed=1, n_texts=1).words != world.words


@pytest.mark.parametrize("options", [{"n": 0}, {"n_texts": 0}, {"strength": 0.4}, {"strength": 1.1}])
def test_worlds_that_cannot_be_written_are_refused(options):
    with pytest.raises(ValueError, match=r"one of each|in \[0.5, 1\]"):
        masked_world(**{"n": 10, "seed": 0, "n_texts": 5, **options})


def clustered(rows, model):
    """CrowS-Pairs with the words as clusters: a model that leans one way does so in all sentences about a word."""
    scores = score_pairs(rows, model)
    return crows_pairs_score(scores, rows["stereo_antistereo"], rows["bias_type"], clusters=rows["word"])


def asked(world, folder):
    """Both benchmarks of a model, on planted and on balanced words."""
    return {
        "pairs": clustered(world.crows_pairs, folder),
        "pairs, control": clustered(world.crows_pairs_control, folder),
        "items": stereoset(list(world.stereoset), model=folder),
        "items, control": stereoset(list(world.stereoset_control), model=folder),
    }


def holds_half(found):
    low, high = found["stereotype_score_ci95"]
    return low <= 0.5 <= high


def test_a_model_learns_what_is_planted_and_nothing_of_the_balanced_words(shared, tmp_path):
    world = masked_world(16000, strength=0.9, **SIZES)
    found = asked(world, train_masked_model(world.sentences, tmp_path, epochs=4))
    assert found["pairs"]["stereotype_score_ci95"][0] > 0.7
    assert found["items"]["stereotype_score_ci95"][0] > 0.7
    assert holds_half(found["pairs, control"])
    assert holds_half(found["items, control"])
    assert min(found[name]["lm_score"] for name in ("items", "items, control")) > 0.95


def test_a_model_of_a_world_of_half_and_half_learns_no_bias(shared, tmp_path):
    world = masked_world(16000, strength=0.5, **SIZES)
    found = asked(world, train_masked_model(world.sentences, tmp_path, epochs=4))
    assert all(holds_half(each) for each in found.values())
    assert found["items"]["lm_score"] > 0.95
