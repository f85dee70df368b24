"""Refinement of a corpus as a whole: which rows go, which are added, how they are split.

Each function takes one ``datasets.Dataset`` and returns one (:func:`split` a ``DatasetDict``), with the columns
and types of the input. What concerns a row by itself is a map function of :mod:`hf_fairness.augment`.

Scores come as columns, for example those of ``hf_fairness.measure.BiasScore``, or as an array. A refined corpus
is not shown to be fair: measure the model that is trained on it, beside one trained on
:func:`random_subtract`.
"""

from hf_fairness.refine.balancing import balance
from hf_fairness.refine.description import describe
from hf_fairness.refine.percentile import PERCENTILES, compensate, random_refine, random_subtract, replace, subtract
from hf_fairness.refine.splitting import split
from hf_fairness.refine.text_features import TextFeatures
from hf_fairness.refine.z_filter import z_filter, z_filter_report
from hf_fairness.refine.z_table import ZTable, ZTest, z_table

__all__ = [
    "PERCENTILES",
    "TextFeatures",
    "ZTable",
    "ZTest",
    "balance",
    "compensate",
    "describe",
    "random_refine",
    "random_subtract",
    "replace",
    "split",
    "subtract",
    "z_filter",
    "z_filter_report",
    "z_table",
]
