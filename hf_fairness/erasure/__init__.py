"""Linear erasure: what is fitted once on vectors, and then removes a part of any vector."""

from hf_fairness.erasure.concepts import Eraser, Nullspace, inlp, leace
from hf_fairness.erasure.hard_debias import hard_debias, hard_debias_embeddings, token_words
from hf_fairness.erasure.projection import Projection, sentence_debias

__all__ = [
    "Eraser",
    "Nullspace",
    "Projection",
    "hard_debias",
    "hard_debias_embeddings",
    "inlp",
    "leace",
    "sentence_debias",
    "token_words",
]
