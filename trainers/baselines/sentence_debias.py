"""SentenceDebias as a baseline, and its control: as many directions removed that were drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hf_fairness.attributes import Attribute
from hf_fairness.erasure import LinearMap, Projection, sentence_debias
from hf_fairness.trainers.baselines.base import Given
from hf_fairness.trainers.baselines.erasers import ErasingBaseline, check_ranges, group_vectors, option_for_k
from hf_fairness.trainers.training.encoder import TrainableEncoder


@dataclass
class SentenceDebiasSettings:
    """What SentenceDebias reads."""

    RANGES: ClassVar[dict[str, Any]] = {"sentence_debias_directions": (1, 100_000)}

    sentence_debias_directions: int = field(default=1, metadata={"help": "Directions that SentenceDebias removes (k)."})


@dataclass
class RandomDirectionsSettings:
    """What the removal of random directions reads."""

    RANGES: ClassVar[dict[str, Any]] = {"random_directions": (1, 100_000)}

    random_directions: int = field(
        default=1,
        metadata={
            "help": "Directions that random-directions removes; as many as the projection that it stands beside."
        },
    )


class SentenceDebias(ErasingBaseline):
    """Takes out the first principal components of the differences between versions of a text.

    Source: Liang et al. 2020, *Towards Debiasing Sentence Representations*.
    """

    name = "sentence-debias"
    control = "random-directions"
    title = "SentenceDebias (Liang et al. 2020)"
    about = (
        "followed by a layer that takes out the directions in which versions of a text about each group differ; "
        "nothing is trained"
    )
    options = ("sentence_debias_directions",)

    def check(self, encoder: TrainableEncoder, config: Any, attribute: Attribute) -> None:
        """Refuse a number of directions that is none, or more than the encoder's vectors have."""
        check_ranges(config, SentenceDebiasSettings)
        _check_width(encoder, "sentence_debias_directions", config.sentence_debias_directions)

    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The projection."""
        projection = fitted_directions(
            given, given.config.sentence_debias_directions, option="sentence_debias_directions"
        )
        return projection, told_of(projection)


class RandomDirections(ErasingBaseline):
    """Takes out directions drawn at random: what the removal of so many does by itself.

    The control of the methods that train says nothing of those that project; this is theirs.
    """

    name = "random-directions"
    is_control = True
    title = "random directions (control of projections)"
    about = "followed by a layer that takes out directions drawn at random; nothing is trained"
    options = ("random_directions",)
    seeded = True

    def check(self, encoder: TrainableEncoder, config: Any, attribute: Attribute) -> None:
        """Refuse a number of directions that is none, or more than the encoder's vectors have."""
        check_ranges(config, RandomDirectionsSettings)
        _check_width(encoder, "random_directions", config.random_directions)

    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The projection."""
        width = int(given.encoder.model.get_embedding_dimension() or 0)
        projection = Projection.random(given.config.random_directions, width, given.config.seed)
        return projection, {"n_directions": len(projection.directions)}


def fitted_directions(given: Given, k: int, *, option: str) -> Projection:
    """The subspace in which the group versions of the training rows differ.

    Args:
        given: encoder, rows and groups.
        k: how many directions.
        option: what sets k, for the message.

    Raises:
        ValueError: more directions than they differ in.
    """
    with option_for_k(option):
        return sentence_debias(group_vectors(given), k=k)


def told_of(projection: Projection) -> dict[str, Any]:
    """What a report says of fitted directions: how many, and the share of the groups' differences in them."""
    return {"n_directions": len(projection.directions), "explained": float(projection.explained.sum())}


def _check_width(encoder: TrainableEncoder, option: str, k: int) -> None:
    width = encoder.model.get_embedding_dimension()
    if width is not None and k >= width:
        raise ValueError(f"--{option} is {k}, expected fewer than the {width} dimensions of the encoder's vectors.")
