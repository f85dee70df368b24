"""Sentence encoders trained on a corpus whose most stereotyped rows are taken out or balanced (Dolci et al. 2023)."""
