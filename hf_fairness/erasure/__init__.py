"""Linear erasure: what is fitted once on vectors, and then removes a part of any vector."""

from hf_fairness.erasure.concepts import Eraser, Nullspace, inlp, leace
from hf_fairness.erasure.hard_debias import (
    DebiasWords,
    encoder_alone,
    hard_debias,
    hard_debias_embeddings,
    hard_debias_vectors,
    token_words,
    whole_sets,
)
from hf_fairness.erasure.projection import Projection, sentence_debias

__all__ = [
    "DebiasWords",
    "Eraser",
    "Nullspace",
    "Projection",
    "encoder_alone",
    "hard_debias",
    "hard_debias_embeddings",
    "hard_debias_vectors",
    "inlp",
    "leace",
    "sentence_debias",
    "token_words",
    "whole_sets",
]
