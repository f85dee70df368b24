"""Linear erasure: what is fitted once on vectors, and then removes a part of any vector."""

from hf_fairness.erasure.projection import Projection, sentence_debias

__all__ = ["Projection", "sentence_debias"]
