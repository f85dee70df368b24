"""Linear erasure: what is fitted once on vectors, and then removes a part of any vector.

An eraser is fitted by :func:`sentence_debias`, :func:`leace` or :func:`inlp`, and then maps a column of a data set
(:class:`Erase`), goes into a model as a layer that is saved with it (:func:`with_eraser`), or into a file
(:func:`save_eraser`). Word vectors and the embeddings of tokens are hard-debiased.
"""

from hf_fairness.erasure.concepts import Eraser, Nullspace, inlp, leace
from hf_fairness.erasure.hard_debias import (
    DebiasWords,
    check_words,
    encoder_alone,
    hard_debias,
    hard_debias_embeddings,
    hard_debias_vectors,
    token_words,
    whole_sets,
)
from hf_fairness.erasure.projection import LinearMap, Projection, RankError, sentence_debias
from hf_fairness.erasure.use import Erase, append_eraser, load_eraser, normalizes, save_eraser, with_eraser

__all__ = [
    "DebiasWords",
    "Erase",
    "Eraser",
    "LinearMap",
    "Nullspace",
    "Projection",
    "RankError",
    "append_eraser",
    "check_words",
    "encoder_alone",
    "hard_debias",
    "hard_debias_embeddings",
    "hard_debias_vectors",
    "inlp",
    "leace",
    "load_eraser",
    "normalizes",
    "save_eraser",
    "sentence_debias",
    "token_words",
    "whole_sets",
    "with_eraser",
]
