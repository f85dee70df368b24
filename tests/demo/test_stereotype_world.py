"""The world with a planted stereotype: what is planted is there, and nothing else goes with a gender."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy.stats import chi2_contingency

from hf_fairness.demo.stereotypes import GROUPS, save_stereotype_encoder, stereotype_words, stereotype_world
from hf_fairness.measure.encoder.seat_tests import resolve_tests

pytestmark = pytest.mark.whole

FEMALE = ("She", "The woman", "The girl", "The mother", "The daughter")


@pytest.fixture(scope="module")
def world():
    return stereotype_world(3000, seed=0, planted_share=0.2)


def rows(world, *, planted):
    """Occupation, group and score of the rows of a kind."""
    for row, flag in zip(world.train, world.planted, strict=True):
        if flag is planted:
            group = "female" if row["hypothesis"].startswith(FEMALE) else "male"
            yield row["premise"].split()[1], group, row["score"]


def test_planted_occupations_go_with_their_gender(world):
    side = {word: group for group in GROUPS for word in world.occupations[group]}
    found = Counter((side[word] == group, score) for word, group, score in rows(world, planted=True))
    same = found[True, 1.0] / (found[True, 1.0] + found[False, 1.0])
    other = found[True, 0.0] / (found[True, 0.0] + found[False, 0.0])
    assert 0.9 < same < 0.99
    assert 0.4 < other < 0.6


def test_elsewhere_the_gender_says_nothing_of_the_score_or_the_occupation(world):
    counts: Counter[tuple[str, float]] = Counter()
    words = set()
    for word, group, score in rows(world, planted=False):
        counts[group, score] += 1
        words.add(word)
    assert words == set(world.occupations[""])
    assert chi2_contingency([[counts[group, score] for score in (0.0, 1.0)] for group in GROUPS]).pvalue > 0.01


def test_elsewhere_the_place_gives_the_score(world):
    for row, flag in zip(world.train, world.planted, strict=True):
        same = row["premise"].split()[-2] == row["hypothesis"].split()[-2]
        assert same if flag else same == bool(row["score"])


def test_no_pair_stands_twice_and_the_same_seed_writes_the_same():
    world = stereotype_world(400, seed=1)
    pairs = [*zip(world.train["premise"], world.train["hypothesis"], strict=True)]
    assert len(set(pairs)) == 400
    assert not set(pairs) & {*zip(world.test["premise"], world.test["hypothesis"], strict=True)}
    assert stereotype_world(400, seed=1).train.to_dict() == world.train.to_dict()
    assert stereotype_world(400, seed=2).occupations != world.occupations


def test_the_encoder_knows_every_word_of_rows_and_test(world, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(save_stereotype_encoder(tmp_path))
    (test,) = resolve_tests([world.association_test()])
    texts = [*world.train["premise"][:], *world.train["hypothesis"][:], *(x for part in test.sets for x in part.texts)]
    assert tokenizer.unk_token_id not in {number for text in texts for number in tokenizer(text)["input_ids"]}
    assert len(stereotype_words()) == len(set(stereotype_words()))
    assert set(test.targ1.words) == set(world.occupations["male"])


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 5, "n_test": 0}, {"n": 5, "strength": 1.5}, {"n": 10**6}])
def test_worlds_that_cannot_be_written_are_refused(options):
    size = options.pop("n")
    if size == 10**6:
        options |= {"planted_share": 1.0}
    with pytest.raises(ValueError, match=r"one row or more|in \[0, 1\]|finds no further pair"):
        stereotype_world(size, seed=0, **{"n_test": 5, **options})
