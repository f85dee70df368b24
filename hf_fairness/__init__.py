"""Measure and reduce social bias in text data, encoders, classifiers and translators.

Importing this package is cheap: nothing is downloaded and no model library is loaded until it is needed.
"""

from hf_fairness.utils import FairnessWarning, metric_path

__version__ = "0.1.0"

__all__ = ["FairnessWarning", "__version__", "metric_path"]
