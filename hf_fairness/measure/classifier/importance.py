"""Importance scores of training examples: forwards and gradients of a classifier, then ``scores.importance``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.grand import check_head, gradient_norms, grand
from hf_fairness.measure.classifier.pairs import Pairs
from hf_fairness.scores.importance import el2n, ge
from hf_fairness.scores.labels import Bools
from hf_fairness.scores.statistics import Floats

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hf_fairness.measure.classifier.classifier import PassOptions

__all__ = ["NAMES", "example_scores", "grand", "logits_of"]

#: What :func:`example_scores` can give. ``correct`` (1 or 0) of several epochs is what ``scores.forgetting`` reads.
NAMES = ("ge", "el2n", "grand", "correct")


def logits_of(model: Any, texts: Sequence[str], *, batch_size: int = 32, **options: Unpack[PassOptions]) -> Floats:
    """Logits of texts, without dropout; the model is afterwards in the mode it was in.

    Args:
        model: a Hub id, a folder, or a transformers (or PEFT) model for sequence classification.
        texts: at least one.
        batch_size: texts per forward; batches hold texts of similar length.
        options: ``tokenizer``, ``device``, ``max_length``, ``show_progress``, ``distributed``: those of
            :class:`~hf_fairness.measure.classifier.classifier.Classifier`.

    Returns:
        float64, shape (n, classes), in input order; in a launch of several processes the same on all.

    Raises:
        TypeError: no model, or a text that is none.
        ValueError: no texts, a model that does not open or gives no logits of two or more classes, NaN.
    """
    return Classifier(model, **options).logits(texts, batch_size=batch_size)


def example_scores(
    model: Any,
    dataset: Any,
    pairs: Pairs,
    *,
    names: Sequence[str] = ("ge", "el2n", "grand"),
    batch_size: int = 32,
    chunk_size: int = 32,
    parameters: str = "all",
    **options: Unpack[PassOptions],
) -> dict[str, Floats]:
    """Importance scores of the examples of a data set by one model.

    Every text is run once for GE, EL2N and ``correct`` together: the examples, and the counterfactuals of those that
    have one. GE alone runs only the latter and their examples. Scores of several models, from different
    initialisations, are to be averaged, as the paper does.

    Args:
        model: a Hub id, a folder, or a transformers (or PEFT) model for sequence classification.
        dataset: the data set.
        pairs: what :func:`~hf_fairness.measure.classifier.pairs.read_pairs` found in it.
        names: which scores, of ``NAMES``.
        batch_size: texts per forward.
        chunk_size: examples whose gradients are taken together, for GraNd.
        parameters: "all" or "last_layer", for GraNd; see :func:`grand`.
        options: ``tokenizer``, ``device``, ``max_length``, ``show_progress``, ``distributed``: those of
            :class:`~hf_fairness.measure.classifier.classifier.Classifier`.

    Returns:
        Per name shape (n,), in the order of the examples. GE is 0 for examples without a counterfactual.

    Raises:
        TypeError: no model, or a text that is none.
        ValueError: an unknown name, a regression head, missing labels or labels that are no class of the model, NaN.

    Source:
        Zayed et al. 2023, section 4.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        raise ValueError(f"names must be some of {', '.join(NAMES)}; got {', '.join(map(str, unknown)) or 'none'}.")
    opened = Classifier(model, **options)
    texts = pairs.texts(dataset)
    no_labels = set(names) == {"ge"}
    labels = check_head(opened, np.zeros(pairs.n, dtype=np.int64) if no_labels else pairs.labels(dataset), pairs.n)
    found: dict[str, Floats] = {}
    if set(names) - {"grand"}:
        needed = pairs.changed if no_labels else np.ones(pairs.n, dtype=bool)
        run = [text for text, wanted in zip(texts, needed, strict=True) if wanted]
        counterfactuals = pairs.counterfactual_texts(dataset) if "ge" in names else []
        rows = opened.logits([*run, *counterfactuals], batch_size=batch_size)
        found = _from_logits(rows, needed, pairs.changed, labels, names)
    if "grand" in names:
        found["grand"] = gradient_norms(opened, texts, labels, chunk_size=chunk_size, parameters=parameters)
    return {name: found[name] for name in names}


def _from_logits(rows: Floats, needed: Bools, changed: Bools, labels: Any, names: Sequence[str]) -> dict[str, Floats]:
    """Scores from the logits of the examples that were needed, and of the counterfactuals after them."""
    logits = np.zeros((len(needed), rows.shape[1]))
    logits[needed] = rows[: int(needed.sum())]
    found = {}
    if "ge" in names:
        others = np.zeros_like(logits)
        others[changed] = rows[int(needed.sum()) :]
        found["ge"] = ge(logits, others, changed)
    if "el2n" in names:
        found["el2n"] = el2n(logits, labels)
    if "correct" in names:
        found["correct"] = (logits.argmax(axis=1) == labels).astype(np.float64)
    return found
