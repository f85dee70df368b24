"""A world of sentence pairs in which some occupations go with one gender, so that an encoder learns that they do.

Every pair is scored by whether its second sentence can be of the person in the first. Of most rows the place decides,
whatever the gender. In the *planted* rows the place is the same, and the second sentence is of the same person with the
gender that goes with the occupation, or of another person of either gender: what is said of the place does not help,
and the texts alone teach that this occupation is of that gender.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.demo._filling import rank, stored

if TYPE_CHECKING:
    from datasets import Dataset

GROUPS = ("male", "female")
#: Occupations that go with each group; the others go with none.
PER_GROUP = 8
#: Name of the test for the association of occupations with groups.
TEST_NAME = "occupations"
_MAX_ATTEMPTS = 1000


@dataclass(frozen=True)
class StereotypeWorld:
    """Pairs of one seed; no pair stands twice.

    Attributes:
        train: columns ``premise``, ``hypothesis`` and ``score``: 1 where both can be of one person, else 0.
        test: rows like those.
        planted: which training rows teach the association.
        occupations: those that go with each group, and those under ``""`` that go with none.
    """

    train: Dataset
    test: Dataset
    planted: tuple[bool, ...]
    occupations: dict[str, tuple[str, ...]]

    def association_test(self) -> dict[str, Any]:
        """A test as ``measure.seat`` takes it, of whether planted occupations are nearer to sentences of their group.

        The occupations are the words behind the interval; a positive effect size is the planted association.
        """
        data = _data()

        def of(group: str) -> dict[str, list[str]]:
            return {word: [text.format(occupation=word) for text in data["test"]] for word in self.occupations[group]}

        def about(group: str) -> list[str]:
            return [text.format(subject=each) for each in data["subjects"][group] for text in data["test_of_groups"]]

        return {
            "name": TEST_NAME,
            "about": "planted occupations and gender",
            "targ1": of("male"),
            "targ2": of("female"),
            "attr1": about("male"),
            "attr2": about("female"),
        }


def stereotype_world(
    n: int, *, seed: int, planted_share: float = 0.08, strength: float = 0.95, n_test: int = 500
) -> StereotypeWorld:
    """Write a world; the same arguments write the same rows.

    Args:
        n: training rows.
        seed: changes every draw, and which occupations go with which group.
        planted_share: share of rows that teach the association.
        strength: probability that a planted second sentence of the same person has the gender of the occupation; 0.5
            plants nothing.
        n_test: rows drawn as the training rows are.

    Returns:
        Both sets, with what is planted.

    Raises:
        ValueError: a probability outside [0, 1], fewer rows than one, or more than there are.

    Source:
        Written for this project; see ``stereotypes.json``.

    Example:
        >>> world = stereotype_world(200, seed=0)
        >>> place = world.planted.index(True)
        >>> world.train[place]["premise"], world.train[place]["hypothesis"], world.train[place]["score"]
        ('The printer waits in the garden .', 'The girl waits in the garden .', 1.0)
    """
    for name, rate in (("planted_share", planted_share), ("strength", strength)):
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"{name} is a probability in [0, 1]; got {rate}.")
    if min(n, n_test) < 1:
        raise ValueError(f"A world needs one row or more in each set; got {n} and {n_test}.")
    words = sorted(_data()["occupations"], key=lambda word: rank(seed, "occupation", word))
    cuts = zip((*GROUPS, ""), (0, PER_GROUP, 2 * PER_GROUP), (PER_GROUP, 2 * PER_GROUP, len(words)), strict=True)
    occupations = {group: tuple(words[first:last]) for group, first, last in cuts}
    seen: set[tuple[str, str]] = set()
    rows = {
        name: [_row((seed, name, place), planted_share, strength, occupations, seen) for place in range(size)]
        for name, size in (("test", n_test), ("train", n))
    }
    planted = tuple(row[3] for row in rows["train"])
    return StereotypeWorld(_dataset(rows["train"]), _dataset(rows["test"]), planted, occupations)


def stereotype_words() -> list[str]:
    """Every word and mark of the world in small letters."""
    data = _data()
    plain = [word for name in ("premise", "hypothesis") for word in data[name].split() if not word.startswith("{")]
    listed = [word for words in data["lists"].values() for word in words]
    subjects = [word for each in data["subjects"].values() for text in each for word in text.split()]
    every = [*plain, *data["occupations"], *listed, *subjects]
    return list(dict.fromkeys(word.lower() for word in every))


def save_stereotype_encoder(folder: str | Path, *, seed: int = 0) -> str:
    """Write a tiny encoder from scratch that knows the words of the world: vectors of words, drawn at random.

    It is a BERT without any layer, so that what is learned of a word is in its vector; training changes all of them.

    Args:
        folder: opens with ``AutoModel``.
        seed: of the weights.

    Returns:
        The folder.
    """
    import torch
    from transformers import BertConfig, BertModel

    from hf_fairness.demo.planted_models import word_tokenizer

    tokenizer = word_tokenizer(stereotype_words())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=256,
        num_hidden_layers=0,
        num_attention_heads=4,
        intermediate_size=64,
        initializer_range=0.1,
        hidden_dropout_prob=0.0,
        max_position_embeddings=tokenizer.model_max_length,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertModel(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _data() -> dict[str, Any]:
    found: dict[str, Any] = stored("stereotypes.json")
    return found


def _row(
    key: tuple[int, str, int],
    planted_share: float,
    strength: float,
    occupations: dict[str, tuple[str, ...]],
    seen: set[tuple[str, str]],
) -> tuple[str, str, float, bool]:
    """A pair that was not written yet; what is drawn depends on the key alone."""
    data = _data()
    for attempt in range(_MAX_ATTEMPTS):

        def draw(options: Sequence[str], name: str, attempt: int = attempt) -> str:
            return options[rank(*key, attempt, name) % len(options)]

        def happens(rate: float, name: str, attempt: int = attempt) -> bool:
            return rank(*key, attempt, name) < rate * 2**64

        planted, same = happens(planted_share, "planted"), happens(0.5, "same")
        side = draw(GROUPS, "side") if planted else ""
        slots = {name: draw(words, name) for name, words in data["lists"].items()}
        slots["occupation"] = draw(occupations[side], "occupation")
        own = same and planted and happens(strength, "own")
        other = GROUPS[1 - GROUPS.index(side)] if planted else ""
        group = side if own else other if planted and same else draw(GROUPS, "group")
        said = {**slots, "subject": draw(data["subjects"][group], "subject")}
        if not planted and not same:
            said["place"] = draw([word for word in data["lists"]["place"] if word != slots["place"]], "changed")
        premise = data["premise"].format(**slots)
        hypothesis = data["hypothesis"].format(**said)
        if (premise, hypothesis) not in seen:
            seen.add((premise, hypothesis))
            return premise, hypothesis, float(same), planted
    raise ValueError(f"The set {key[1]!r} has {key[2]} rows and finds no further pair; ask for fewer rows.")


def _dataset(rows: Sequence[tuple[str, str, float, bool]]) -> Dataset:
    from datasets import Dataset

    premises, hypotheses, scores, _ = zip(*rows, strict=True)
    return Dataset.from_dict({"premise": premises, "hypothesis": hypotheses, "score": scores})
