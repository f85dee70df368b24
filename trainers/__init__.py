"""Trainer subclasses, configs and callbacks that mitigate bias."""

from hf_fairness.losses import CCDLoss
from hf_fairness.trainers.ccd_config import CCDConfig
from hf_fairness.trainers.ccd_data import add_reference_embeddings
from hf_fairness.trainers.ccd_sweep import sweep_beta
from hf_fairness.trainers.ccd_trainer import CCDTrainer

__all__ = ["CCDConfig", "CCDLoss", "CCDTrainer", "add_reference_embeddings", "sweep_beta"]
