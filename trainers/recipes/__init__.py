"""Pipelines of several stages, each resumable: the work behind the commands of `hf-fairness`."""

from hf_fairness.trainers.recipes.ccd import run_ccd
from hf_fairness.trainers.recipes.ccd_arguments import CCDArguments
from hf_fairness.trainers.recipes.data_diet import run_data_diet
from hf_fairness.trainers.recipes.data_diet_arguments import DataDietArguments
from hf_fairness.trainers.recipes.data_diet_features import HeadClassifier

__all__ = ["CCDArguments", "DataDietArguments", "HeadClassifier", "run_ccd", "run_data_diet"]
