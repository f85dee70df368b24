"""Losses: tensors in, a loss or its named parts out."""

from hf_fairness.losses.adept import adept_loss, squared_distances
from hf_fairness.losses.ccd import (
    CCDLoss,
    KernelWidth,
    ccd_loss,
    embedding_distance,
    gaussian_kernel,
    kernel_width,
)
from hf_fairness.losses.confidence_regularization import confidence_regularization, scaled_teacher
from hf_fairness.losses.dct import contrastive_rows, dct_loss
from hf_fairness.losses.dpce import dpce_loss
from hf_fairness.losses.product_of_experts import product_of_experts
from hf_fairness.losses.reweight import example_weights, reweighted_cross_entropy
from hf_fairness.losses.simcse import simcse_loss

__all__ = [
    "CCDLoss",
    "KernelWidth",
    "adept_loss",
    "ccd_loss",
    "confidence_regularization",
    "contrastive_rows",
    "dct_loss",
    "dpce_loss",
    "embedding_distance",
    "example_weights",
    "gaussian_kernel",
    "kernel_width",
    "product_of_experts",
    "reweighted_cross_entropy",
    "scaled_teacher",
    "simcse_loss",
    "squared_distances",
]
