"""What stands beside every number: sample size, convention, ideal value, direction, versions, seed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import hf_fairness
from hf_fairness.scores.statistics import checked_seed

#: Libraries whose versions are stated when they were loaded, for then they may have made the embeddings.
MODEL_LIBRARIES = ("sentence_transformers", "torch", "transformers")


def describe(*, n: int, convention: str, ideal: str, direction: str, seed: int, **more: Any) -> dict[str, Any]:
    """The ``meta`` entry of a result.

    Args:
        n: number of items behind the headline number.
        convention: which of the conventions on which papers differ was taken.
        ideal: value of an encoder without the measured bias, or of full retention.
        direction: which way is worse.
        seed: of every draw behind the intervals and tests.
        **more: anything else a reader needs.

    Returns:
        A dict of Python numbers and strings.
    """
    versions = {"hf_fairness": hf_fairness.__version__, "numpy": np.__version__}
    versions |= {name: str(sys.modules[name].__version__) for name in MODEL_LIBRARIES if name in sys.modules}
    return {
        "n": int(n),
        "convention": convention,
        "ideal": ideal,
        "direction": direction,
        "seed": checked_seed(seed),
        "versions": versions,
        **more,
    }
