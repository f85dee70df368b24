"""Pipelines of several stages, each resumable: the work behind the commands of `hf-fairness`."""

from hf_fairness.trainers.recipes.ccd import CCDArguments, run_ccd

__all__ = ["CCDArguments", "run_ccd"]
