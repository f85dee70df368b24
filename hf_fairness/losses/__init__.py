"""Losses: tensors in, named loss parts out."""

from hf_fairness.losses.ccd import (
    CCDLoss,
    KernelWidth,
    ccd_loss,
    embedding_distance,
    gaussian_kernel,
    kernel_width,
)

__all__ = ["CCDLoss", "KernelWidth", "ccd_loss", "embedding_distance", "gaussian_kernel", "kernel_width"]
