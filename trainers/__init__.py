"""Trainer subclasses, configs, callbacks and evaluators that measure and mitigate bias."""

from hf_fairness.losses import (
    CCDLoss,
    confidence_regularization,
    product_of_experts,
    reweighted_cross_entropy,
)
from hf_fairness.trainers.bias_columns import ClassifierLearner, add_bias_log_probs
from hf_fairness.trainers.bias_trainers import ConfRegTrainer, PoETrainer, ReweightTrainer
from hf_fairness.trainers.ccd_config import CCDConfig
from hf_fairness.trainers.ccd_data import add_reference_embeddings
from hf_fairness.trainers.ccd_sweep import sweep_beta
from hf_fairness.trainers.ccd_trainer import CCDTrainer
from hf_fairness.trainers.data_diet_callback import GEPruningCallback
from hf_fairness.trainers.data_diet_config import DataDietConfig, PruningSettings
from hf_fairness.trainers.data_diet_trainer import DataDietTrainer
from hf_fairness.trainers.evaluators import CCEDEvaluator, SEATEvaluator
from hf_fairness.trainers.gfst_config import GFSTConfig
from hf_fairness.trainers.gfst_training import TranslationLoss, TranslationTrainer, train_translator
from hf_fairness.trainers.ibadr_config import IBADRConfig
from hf_fairness.trainers.pair_training import gold_confidence, train_pair_classifier

__all__ = [
    "CCDConfig",
    "CCDLoss",
    "CCDTrainer",
    "CCEDEvaluator",
    "ClassifierLearner",
    "ConfRegTrainer",
    "DataDietConfig",
    "DataDietTrainer",
    "GEPruningCallback",
    "GFSTConfig",
    "IBADRConfig",
    "PoETrainer",
    "PruningSettings",
    "ReweightTrainer",
    "SEATEvaluator",
    "TranslationLoss",
    "TranslationTrainer",
    "add_bias_log_probs",
    "add_reference_embeddings",
    "confidence_regularization",
    "gold_confidence",
    "product_of_experts",
    "reweighted_cross_entropy",
    "sweep_beta",
    "train_pair_classifier",
    "train_translator",
]
