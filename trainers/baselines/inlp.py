"""INLP as a baseline: the directions of linear probes are taken out until a probe reads no more than the majority."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hf_fairness.attributes import Attribute
from hf_fairness.erasure import LinearMap, inlp, normalizes
from hf_fairness.trainers.baselines.base import Given
from hf_fairness.trainers.baselines.erasers import ErasingBaseline, check_ranges, labelled_vectors
from hf_fairness.trainers.training.encoder import TrainableEncoder

logger = logging.getLogger(__name__)


@dataclass
class INLPSettings:
    """What INLP reads."""

    RANGES: ClassVar[dict[str, Any]] = {"inlp_rounds": (1, 100_000), "inlp_held_out": (0.0, 0.9)}

    inlp_rounds: int = field(default=100, metadata={"help": "Probes that INLP trains at most."})
    inlp_held_out: float = field(
        default=0.2,
        metadata={
            "help": "Share of the training texts, drawn by the seed, on which INLP's probes are judged; 0: on those "
            "that they saw."
        },
    )


class INLP(ErasingBaseline):
    """Each probe, a logistic regression, sees the vectors as the model will give them, at length 1 where it normalises.

    Which texts judge the probes is drawn by the seed, so that the spread over seeds shows what hangs on that choice;
    all versions of a text are on one side. Near-duplicates of it may be on the other: probes that are better for it
    take out more.

    Source: Ravfogel et al. 2020, *Null It Out: Guarding Protected Attributes by Iterative Nullspace Projection*.
    """

    name = "inlp"
    control = "random-directions"
    title = "INLP (Ravfogel et al. 2020)"
    about = (
        "followed by a layer that takes out the directions of linear probes for the group, one after another until a "
        "probe is no better than the majority; the encoder is not trained"
    )
    options = ("inlp_rounds", "inlp_held_out")
    seeded = True

    def check(self, encoder: TrainableEncoder, config: Any, attribute: Attribute) -> None:
        """Refuse settings out of their range."""
        check_ranges(config, INLPSettings)

    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The projection.

        Raises:
            ValueError: nothing of the vectors is left.
        """
        vectors, labels, clusters = labelled_vectors(given)
        config = given.config
        found = inlp(
            vectors,
            labels,
            max_rounds=config.inlp_rounds,
            held_out=config.inlp_held_out,
            seed=config.seed,
            clusters=clusters,
            unit_length=normalizes(given.encoder.model),
        )
        k = len(found.projection.directions)
        if k >= found.projection.width:
            raise ValueError(
                f"INLP took out all {k} dimensions of the vectors before a probe failed: nothing is left of them. Give "
                f"more than {len(given.rows)} texts, or end it earlier with --inlp_rounds."
            )
        if not k:
            logger.warning(
                "INLP: the first probe has accuracy %.3f on the texts that judge, no more than the majority: nothing "
                "is taken out, and the model stays as it was.",
                found.accuracies[0],
            )
        if not found.reached:
            logger.warning(
                "INLP: after %d rounds a probe still has accuracy %.3f (majority %.3f); --inlp_rounds sets how many.",
                len(found.accuracies),
                found.accuracies[-1],
                found.majority,
            )
        told = {"rounds": len(found.accuracies), "n_directions": k, "majority": found.majority}
        first, last = found.accuracies[0], found.accuracies[-1]
        return found.projection, {**told, "first_accuracy": first, "last_accuracy": last, "reached": found.reached}
