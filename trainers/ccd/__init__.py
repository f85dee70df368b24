"""Content-conditional debiasing (CCD, Deng et al. 2024)."""
