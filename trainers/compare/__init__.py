"""`hf-fairness compare`: any number of methods and models on one bench."""
