"""Gender-filtered self-training for translation (GFST, Choubey et al. 2021)."""
