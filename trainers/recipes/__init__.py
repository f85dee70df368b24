"""Pipelines of several stages, each resumable: the work behind the commands of `hf-fairness`."""

from hf_fairness.trainers.recipes.ccd import run_ccd
from hf_fairness.trainers.recipes.ccd_arguments import CCDArguments

__all__ = ["CCDArguments", "run_ccd"]
