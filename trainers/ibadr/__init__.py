"""Iterative bias-aware data set refinement (IBADR, Wang et al. 2023)."""
