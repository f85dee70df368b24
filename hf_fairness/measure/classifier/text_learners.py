"""Fast classifiers of texts or pairs of texts, and their predictions on rows that they were not trained on.

A *learner* takes texts (one list per column), class numbers and the number of classes, and gives a *predictor*, which
takes texts and gives log-probabilities. `hf_fairness.trainers.ClassifierLearner` fine-tunes a transformer in this form.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.encoders import as_encoder
from hf_fairness.refine.text_features import TextFeatures
from hf_fairness.scores.statistics import Floats, cluster_index, generator
from hf_fairness.utils import progress

#: One list of texts per column.
Texts = Sequence[Sequence[str]]
#: From one list of texts per column, as separate arguments, to log-probabilities, shape (n, classes).
Predictor = Callable[..., Floats]
Learner = Callable[[Texts, NDArray[np.intp], int], Predictor]


@dataclass(frozen=True)
class TextLearner:
    """Logistic regression on tf-idf of surface features: seconds for thousands of rows, and blind to meaning.

    Attributes:
        features: from the texts of a row to names of its features.
        regularization: inverse strength of the penalty on weights, above 0, as scikit-learn's ``C``.

    Example:
        >>> predict = TextLearner()([["no rain", "rain", "no sun", "sun"] * 5], np.array([1, 0, 1, 0] * 5), 2)
        >>> predict(["no wind", "wind"]).argmax(axis=1).tolist()
        [1, 0]
    """

    features: Callable[..., Sequence[str]] = field(default_factory=lambda: TextFeatures(both=True))
    regularization: float = 1.0

    def __call__(self, texts: Texts, labels: NDArray[np.intp], n_classes: int) -> Predictor:
        """Train on texts."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        model = make_pipeline(
            TfidfVectorizer(analyzer=self._analyze, lowercase=False, dtype=np.float64),
            LogisticRegression(C=self.regularization, max_iter=1000),
        )
        fitted = _fit(model, list(zip(*texts, strict=True)), labels, n_classes)
        return lambda *columns: fitted(list(zip(*columns, strict=True)))

    def _analyze(self, row: tuple[str, ...]) -> Sequence[str]:
        return self.features(*row)


@dataclass(frozen=True)
class EncoderLearner:
    """Logistic regression on embeddings of a frozen encoder; of a pair (u, v) on u, v, |u − v| and u · v.

    Attributes:
        model: whatever ``hf_fairness.encoders.as_encoder`` takes.
        options: for ``as_encoder``: tokenizer, batch_size, device ...
    """

    model: Any
    options: dict[str, Any] = field(default_factory=dict)
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, texts: Texts, labels: NDArray[np.intp], n_classes: int) -> Predictor:
        """Train on texts."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        fitted = _fit(model, self._embed(texts), labels, n_classes)
        return lambda *columns: fitted(self._embed(columns))

    def _embed(self, texts: Texts) -> Floats:
        """Embeddings of rows; every text goes through the encoder once in the life of the learner."""
        new = list(dict.fromkeys(text for column in texts for text in column if text not in self._known))
        if new:
            self._known.update(zip(new, as_encoder(self.model, **self.options).encode(new), strict=True))
        parts = [np.asarray([self._known[text] for text in column], dtype=np.float64) for column in texts]
        if len(parts) == 2:
            parts += [np.abs(parts[0] - parts[1]), parts[0] * parts[1]]
        return np.hstack(parts)


def _fit(model: Any, inputs: Any, labels: NDArray[np.intp], n_classes: int) -> Callable[[Any], Floats]:
    """A fitted scikit-learn classifier as a function to log-probabilities of all classes, seen or not."""
    from threadpoolctl import threadpool_limits

    seen = np.unique(labels)
    unseen = 1.0 / (len(labels) + n_classes)  # what one row more would give a class, roughly
    if len(seen) > 1:
        # These fits are small: beside torch's own threads, more than one only wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.filterwarnings("ignore", message=".*failed to converge", category=UserWarning)
            model.fit(inputs, labels)

    def predict(rows: Any) -> Floats:
        probabilities = np.full((len(rows), n_classes), unseen)
        probabilities[:, seen] = model.predict_proba(rows) if len(seen) > 1 else 1.0
        probabilities = np.maximum(probabilities, np.finfo(np.float64).tiny)
        return np.asarray(np.log(probabilities / probabilities.sum(axis=1, keepdims=True)))

    return predict


def fold_numbers(
    texts: Texts, folds: int, *, clusters: Sequence[Hashable] | None = None, seed: int = 0
) -> NDArray[np.intp]:
    """The fold of every row; rows with equal texts, or of one cluster, share a fold.

    Args:
        texts: one list per column that the classifier sees.
        folds: number of parts, at least 2.
        clusters: a label per row, for rows that resemble each other; None: equal texts only.
        seed: of the choice.

    Returns:
        Numbers from 0, shape (n,).

    Raises:
        ValueError: fewer than two folds, or fewer different texts (or clusters) than folds.

    Example:
        >>> fold_numbers([["a", "b", "a", "c"]], 2).tolist()[::2]
        [0, 0]
    """
    rows = list(zip(*texts, strict=True))
    index = cluster_index(rows if clusters is None else clusters, len(rows))
    number = int(index.max()) + 1 if len(index) else 0
    if folds < 2 or number < folds:
        raise ValueError(
            f"Wanted at least 2 folds, and as many different texts (or clusters); got {folds} folds and {number}. "
            "Give more rows, or fewer folds."
        )
    return np.asarray((generator(seed, "folds").permutation(number) % folds)[index], dtype=np.intp)


def out_of_fold(
    texts: Texts,
    labels: NDArray[np.intp],
    learner: Learner,
    n_classes: int,
    fold_of: NDArray[np.intp],
    *,
    show_progress: bool | None = None,
) -> Floats:
    """Log-probabilities of every row by a classifier that was trained on the other folds.

    Args:
        texts: one list per column that the classifier sees.
        labels: class numbers, shape (n,).
        learner: what is trained, once per fold.
        n_classes: number of classes.
        fold_of: fold of each row, shape (n,).
        show_progress: None means on a terminal.

    Returns:
        Shape (n, n_classes).

    Raises:
        ValueError: a predictor that gives another shape, or NaN.
    """
    result = np.full((len(labels), n_classes), np.nan)
    for fold in progress(np.unique(fold_of), "Cross-fitting", show_progress=show_progress, unit="fold"):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        predict = learner(_select(texts, train), labels[train], n_classes)
        result[test] = checked_log_probs(predict(*_select(texts, test)), len(test), n_classes)
    return result


def checked_log_probs(values: Any, n: int, n_classes: int) -> Floats:
    """What a predictor gave, as float64 of the right shape.

    Raises:
        ValueError: another shape, NaN, or rows that are no log-probabilities.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (n, n_classes):
        raise ValueError(
            f"The classifier gave an array of shape {found.shape} for {n} rows and {n_classes} classes, expected "
            f"({n}, {n_classes}): one log-probability per row and class, in the order of the labels."
        )
    with np.errstate(over="ignore"):
        total = np.exp(found).sum(axis=1)
    bad = np.flatnonzero(~(np.abs(total - 1.0) <= 1e-3))
    if len(bad):
        raise ValueError(
            f"The classifier gave {found[bad[0]].tolist()} for a row, whose probabilities sum to {total[bad[0]]:.4g}; "
            "expected logarithms of probabilities that sum to 1 (no NaN, no logits, no probabilities)."
        )
    return found


def _select(texts: Texts, rows: NDArray[np.intp]) -> list[list[str]]:
    return [[column[row] for row in rows] for column in texts]
