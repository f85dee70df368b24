"""SentenceDebias as a baseline, and its control: as many directions removed that were drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hf_fairness.attributes import Attribute
from hf_fairness.erasure import LinearMap, Projection, sentence_debias
from hf_fairness.trainers.baselines.base import Given
from hf_fairness.trainers.baselines.erasers import ErasingBaseline, group_vectors, option_for_k
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


class _Directions(ErasingBaseline):
    """Takes k directions out of the vectors.

    Args:
        option: what sets k.
    """

    option: ClassVar[str]

    def __init__(self, option: str = "") -> None:
        self.k_option = option or self.option

    @property
    def options(self) -> tuple[str, ...]:  # type: ignore[override]
        """The number of directions."""
        return (self.k_option,)

    def check(self, encoder: TrainableEncoder, config: Any, attribute: Attribute) -> None:
        """Refuse a number of directions that is none, or more than the encoder's vectors have."""
        k, width = getattr(config, self.k_option), encoder.model.get_embedding_dimension()
        if k < 1 or (width is not None and k >= width):
            raise ValueError(
                f"--{self.k_option} is {k}, expected 1 to {(width or k) - 1}: the vectors have {width} dimensions."
            )


class SentenceDebias(_Directions):
    """Takes out the first principal components of the differences between versions of a text.

    Source: Liang et al. 2020, *Towards Debiasing Sentence Representations*.
    """

    name = "sentence-debias"
    control = "random-directions"
    title = "SentenceDebias (Liang et al. 2020)"
    about = (
        "followed by a layer that takes out the directions in which versions of a text about each group differ "
        "(SentenceDebias, Liang et al. 2020)"
    )
    option = "sentence_debias_directions"

    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The subspace in which the group versions of the training rows differ."""
        with option_for_k(self.k_option):
            projection = sentence_debias(group_vectors(given), k=getattr(given.config, self.k_option))
        told = {"n_directions": len(projection.directions), "explained": float(projection.explained.sum())}
        return projection, told


class RandomDirections(_Directions):
    """Takes out directions drawn at random: what the removal of so many does by itself.

    The control of the methods that train says nothing of those that project; this is theirs.
    """

    name = "random-directions"
    is_control = True
    title = "random directions (control of projections)"
    about = "followed by a layer that takes out directions drawn at random; nothing is trained"
    option = "random_directions"
    seeded = True

    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The projection."""
        width = int(given.encoder.model.get_embedding_dimension() or 0)
        projection = Projection.random(getattr(given.config, self.k_option), width, given.config.seed)
        return projection, {"n_directions": len(projection.directions)}
