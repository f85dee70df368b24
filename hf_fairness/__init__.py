"""Measure and reduce social bias in text data, encoders, classifiers and translators.

Importing this package is cheap: nothing is downloaded and no model library is loaded until it is needed. The names
that most people need are here, each loaded when it is first used; the rest is in ``hf_fairness.augment``, ``refine``,
``measure``, ``filters``, ``generation`` and ``trainers``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hf_fairness.results import flatten, show
from hf_fairness.utils import FairnessWarning, metric_path

if TYPE_CHECKING:
    from hf_fairness.attributes import load_attribute
    from hf_fairness.augment import (
        CounterfactualAugmentation,
        CounterfactualSubstitution,
        CounterfactualSwap,
        GroupVariants,
        Neutralize,
    )
    from hf_fairness.measure import BiasScore
    from hf_fairness.measure.audit import audit
    from hf_fairness.trainers import CCDConfig, CCDTrainer, DataDietConfig, DataDietTrainer, GEPruningCallback

__version__ = "0.1.0"

__all__ = [
    "BiasScore",
    "CCDConfig",
    "CCDTrainer",
    "CounterfactualAugmentation",
    "CounterfactualSubstitution",
    "CounterfactualSwap",
    "DataDietConfig",
    "DataDietTrainer",
    "FairnessWarning",
    "GEPruningCallback",
    "GroupVariants",
    "Neutralize",
    "__version__",
    "audit",
    "flatten",
    "load_attribute",
    "metric_path",
    "show",
]

#: Package of each name that is loaded when it is first used.
_LAZY = {
    "attributes": ("load_attribute",),
    "augment": (
        "CounterfactualAugmentation",
        "CounterfactualSubstitution",
        "CounterfactualSwap",
        "GroupVariants",
        "Neutralize",
    ),
    "measure": ("BiasScore", "audit"),
    "trainers": ("CCDConfig", "CCDTrainer", "DataDietConfig", "DataDietTrainer", "GEPruningCallback"),
}


def __getattr__(name: str) -> Any:
    for package, names in _LAZY.items():
        if name in names:
            return getattr(importlib.import_module(f"hf_fairness.{package}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
