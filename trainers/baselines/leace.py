"""LEACE as a baseline: after one affine layer no linear probe reads the group off the rows that it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.erasure import LinearMap, leace
from hf_fairness.trainers.baselines.base import Given
from hf_fairness.trainers.baselines.erasers import ErasingBaseline, labelled_vectors
from hf_fairness.trainers.training.encoder import TrainableEncoder
from hf_fairness.utils import check_packages


class LEACE(ErasingBaseline):
    """Fitted on the vectors that the encoder gives of the group versions, each labelled with its group.

    Vectors of an encoder that normalises do not have length 1 any more, see :func:`hf_fairness.erasure.append_eraser`.

    Source: Belrose et al. 2023, *LEACE: Perfect linear concept erasure in closed form*.
    """

    name = "leace"
    control = "random-directions"
    title = "LEACE (Belrose et al. 2023)"
    about = (
        "followed by an affine layer behind which vectors and groups do not covary on the training rows; nothing is "
        "trained"
    )

    def check(self, encoder: TrainableEncoder, config: Any, attribute: Attribute) -> None:
        """Find out that the package is missing before anything is made.

        Raises:
            ImportError: `concept-erasure` is not installed (extra ``erasure``).
        """
        check_packages("concept_erasure")

    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The affine map."""
        vectors, labels, _ = labelled_vectors(given)
        eraser = leace(vectors, labels)
        return eraser, {"rank": eraser.rank}
