"""Random contents of the template grammar: which sentences are in the parts of a world, and in what shares."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hf_fairness.demo.grammar_forms import FEMALE, GENDERS, MALE, NEUTRAL, Content, Grammar

#: Contents are split by a hash that no seed changes: no sentence of one part says what one of another part says.
_PARTS = 10
VALIDATION, TEST, PARALLEL, MONOLINGUAL = (0,), (1, 2), (3, 4, 5, 6), (7, 8, 9)


@dataclass(frozen=True)
class WorldConfig:
    """What a world holds besides the sizes and biases that `translation_world` names.

    Attributes:
        plain_share: share of sentences whose gender no pronoun settles; the rest speak of a man or a woman.
        they_share: share of the plain ones that have a person and singular they, translated in the masculine.
        two_share: share of sentences with persons that have two of them.
        stereotype_share: share of the men and women who have an occupation that is stereotyped for them.
        monolingual_feminine_share: share of women in the monolingual text; None: as in the parallel data.
        n_validation: clean pairs to watch a training.
        n_test: clean pairs of the generic test set.
        winomt_draws: contents of WinoMT rows for each occupation and pattern with two persons.
    """

    plain_share: float = 0.4
    they_share: float = 0.05
    two_share: float = 0.5
    stereotype_share: float = 0.8
    monolingual_feminine_share: float | None = None
    n_validation: int = 200
    n_test: int = 400
    winomt_draws: int = 1

    def __post_init__(self) -> None:
        """Check the shares."""
        for name in ("plain_share", "they_share", "two_share", "stereotype_share", "monolingual_feminine_share"):
            value = getattr(self, name)
            if value is not None:
                check_share(name, value)


def check_share(name: str, value: float) -> None:
    """Refuse what is no share.

    Raises:
        ValueError: it is outside [0, 1].
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value}; expected a share in [0, 1].")


#: Contents, and the gender that each is about: a group, singular they, or ``""`` without a person.
Drawn = list[tuple[Content, str]]


class Part:
    """Random contents of one part of all contents."""

    def __init__(self, grammar: Grammar, config: WorldConfig, part: Sequence[int], seed: int) -> None:
        self.grammar, self.config, self.part = grammar, config, part
        self.random = random.Random(f"world {part} {seed}")

    def mixture(self, n: int, feminine_share: float, no_women: Collection[str] = ()) -> Drawn:
        """Contents in the shares of the config, shuffled; no woman has an occupation of ``no_women``."""
        n_plain = round(n * self.config.plain_share)
        n_they = round(n_plain * self.config.they_share)
        n_women = round((n - n_plain) * feminine_share)
        drawn = [(self.content("plain"), "") for _ in range(n_plain - n_they)]
        drawn += [(self.content("two", list(self.grammar.stereotypes)), NEUTRAL) for _ in range(n_they)]
        drawn += [(self.person(FEMALE, no_women), FEMALE) for _ in range(n_women)]
        drawn += [(self.person(MALE), MALE) for _ in range(n - n_plain - n_women)]
        self.random.shuffle(drawn)
        return drawn

    def person(self, gender: str, without: Collection[str] = ()) -> Content:
        """A content about a man or a woman, whose occupation mostly fits the stereotype."""
        kind = "two" if self.random.random() < self.config.two_share else "one"
        fits = self.random.random() < self.config.stereotype_share
        stereotypes = self.grammar.stereotypes.items()
        return self.content(
            kind, [name for name, usual in stereotypes if (usual == gender) == fits and name not in without]
        )

    def content(self, kind: str, referents: Sequence[str] = (), pattern: str = "") -> Content:
        """A content of this part: of a kind, with one of the occupations for the referent, of one pattern if named."""
        patterns = [each for each in self.grammar.of_kind(kind) if pattern in ("", each.id)]
        while True:
            chosen = self.random.choice(patterns)
            words = {
                slot: self.random.choice(referents if slot == chosen.referent else self.grammar.options(slot))
                for slot in chosen.slots
            }
            content = Content(chosen, words)
            if len(set(words.values())) == len(words) and content.part(_PARTS) in self.part:
                return content

    def winomt(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Every occupation in every pattern with two persons, as a man and as a woman, once also as they."""
        rows, references = [], []
        patterns = self.grammar.of_kind("two")
        for number, (occupation, usual) in enumerate(self.grammar.stereotypes.items()):
            for place, pattern in enumerate(patterns):
                for turn in range(self.config.winomt_draws):
                    content = self.content("two", [occupation], pattern.id)
                    they = turn == 0 and place == number % len(patterns)
                    for gender in (*GENDERS, NEUTRAL) if they else GENDERS:
                        rows.append(
                            {
                                "gender": gender,
                                "target_index": self.grammar.target_index(content),
                                "sentence": self.grammar.source(content, gender),
                                "profession": occupation,
                                "stereotype": "" if gender == NEUTRAL else "pro" if gender == usual else "anti",
                                "absent": gender == FEMALE and occupation in self.grammar.absent,
                            }
                        )
                        references.append(self.grammar.target(content, gender))
        return rows, references


def noisy_rows(drawn: Drawn, share: float, generator: random.Random) -> list[bool]:
    """Which pairs are translated with a man in place of a woman: exactly this share of the women's."""
    women = [row for row, (_, gender) in enumerate(drawn) if gender == FEMALE]
    chosen = set(generator.sample(women, round(share * len(women))))
    return [row in chosen for row in range(len(drawn))]
