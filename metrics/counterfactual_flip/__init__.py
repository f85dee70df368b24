"""Metrics of hf-fairness as `evaluate` modules; load one with `evaluate.load(hf_fairness.metric_path(name))`."""
