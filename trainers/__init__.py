"""Trainer subclasses, configs, callbacks and evaluators that measure and mitigate bias."""

from hf_fairness.losses import CCDLoss
from hf_fairness.trainers.ccd_config import CCDConfig
from hf_fairness.trainers.ccd_data import add_reference_embeddings
from hf_fairness.trainers.ccd_sweep import sweep_beta
from hf_fairness.trainers.ccd_trainer import CCDTrainer
from hf_fairness.trainers.data_diet_callback import GEPruningCallback
from hf_fairness.trainers.data_diet_config import DataDietConfig
from hf_fairness.trainers.data_diet_trainer import DataDietTrainer
from hf_fairness.trainers.evaluators import CCEDEvaluator, SEATEvaluator

__all__ = [
    "CCDConfig",
    "CCDLoss",
    "CCDTrainer",
    "CCEDEvaluator",
    "DataDietConfig",
    "DataDietTrainer",
    "GEPruningCallback",
    "SEATEvaluator",
    "add_reference_embeddings",
    "sweep_beta",
]
