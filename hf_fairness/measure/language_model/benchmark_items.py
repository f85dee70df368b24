"""What is known to be wrong with published benchmarks."""

from __future__ import annotations

import logging
from functools import cache

logger = logging.getLogger(__name__)


@cache
def say_known_defects(text: str) -> None:
    """Log what is known to be wrong with a benchmark, once per process.

    It goes to the log and not into a warning: it is there on every run and says nothing of this one, so a test suite
    that turns warnings into errors must not stop at it. Without logging set up Python prints it. ``meta`` holds it too.
    Silence it with ``logging.getLogger("hf_fairness.measure.language_model.benchmark_items").setLevel("ERROR")``.
    """
    logger.warning(text)
