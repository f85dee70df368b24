"""Pipelines of several stages, each resumable: the work behind the commands of `hf-fairness`."""

from hf_fairness.trainers.recipes.ccd import run_ccd
from hf_fairness.trainers.recipes.ccd_arguments import CCDArguments
from hf_fairness.trainers.recipes.data_diet import run_data_diet
from hf_fairness.trainers.recipes.data_diet_arguments import DataDietArguments
from hf_fairness.trainers.recipes.data_diet_features import HeadClassifier
from hf_fairness.trainers.recipes.gfst import run_gfst
from hf_fairness.trainers.recipes.gfst_arguments import GFSTArguments
from hf_fairness.trainers.recipes.ibadr import run_ibadr
from hf_fairness.trainers.recipes.ibadr_arguments import IBADRArguments
from hf_fairness.trainers.recipes.ibadr_sweep import sweep_ibadr

__all__ = [
    "CCDArguments",
    "DataDietArguments",
    "GFSTArguments",
    "HeadClassifier",
    "IBADRArguments",
    "run_ccd",
    "run_data_diet",
    "run_gfst",
    "run_ibadr",
    "sweep_ibadr",
]
