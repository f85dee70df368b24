"""What the published benchmarks of language models share: a model or ready scores, and known defects."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

logger = logging.getLogger(__name__)


@cache
def say_known_defects(text: str) -> None:
    """Log what is known to be wrong with a benchmark, once per process.

    It goes to the log and not into a warning: it is there on every run and says nothing of this one, so a test suite
    that turns warnings into errors must not stop at it. Without logging set up Python prints it. ``meta`` holds it too.
    Silence it with ``logging.getLogger("hf_fairness.measure.language_model.benchmark_items").setLevel("ERROR")``.
    """
    logger.warning(text)


def check_source(what: str, model: Any, scores: Any, model_options: Mapping[str, Any]) -> None:
    """Raise unless there is either a model, with its options, or ready scores.

    Raises:
        TypeError: both or neither, or options of a model with ready scores.
    """
    if (model is None) == (scores is None):
        raise TypeError(f"{what} needs model=... or scores=..., one of the two.")
    if scores is not None and model_options:
        raise TypeError(f"{', '.join(model_options)}: options of a model, but ready scores were given.")
