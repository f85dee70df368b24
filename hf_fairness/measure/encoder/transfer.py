"""What a linear head reads from frozen embeddings: SentEval's classification tasks and SICK, by its protocol.

Texts are embedded once; a logistic regression is trained on the embeddings, for pairs (u, v) on |u - v| and u * v. The
L2 penalty is chosen on rows that are not measured: those of a development part, else by cross-validation. Rows in one
part only (MR, CR, SUBJ, MPQA) are measured by nested cross-validation, so that every row is told by a head that has not
seen it.

Sources: Conneau and Kiela 2018, *SentEval* (protocol, and in its code folds, penalties and splits); Tai et al. 2015,
section 4.2 and equations 15 to 17 (scores as distributions over a scale).

What is otherwise than in SentEval's code. The objective is that of its default, mean cross-entropy plus L2, but it is
minimised to its end by scikit-learn's `LogisticRegression`, not by Adam with early stopping. Features are divided by
their standard deviation (one number for a task, or for |u - v| and for u * v), so that no number depends on how long
embeddings are; on such features four penalties from 0.001 to 1 are tried, where SentEval has 0.00001 to 0.01 for
embeddings as they come. Scores are fitted by the divergence of Tai et al.; SentEval's code takes
the squared error of the probabilities. Accuracy is over all items, not the mean over folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.encoders import BaseEncoder, as_encoder
from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats
from hf_fairness.scores.transfer import class_scores, relatedness_scores
from hf_fairness.scores.vectors import pair_cosines
from hf_fairness.utils import FairnessWarning

#: L2 penalties beside the mean loss, the strongest first.
PENALTIES = (1.0, 1e-1, 1e-2, 1e-3)
#: Folds of SentEval's published numbers.
FOLDS = 10
#: Steps of the optimiser at most.
MAX_ITER = 1000

_Places = NDArray[np.intp]


@dataclass(frozen=True)
class TransferTask:
    """Texts or pairs of texts, what is to be told of them, and who is trained, chosen and measured on.

    Attributes:
        name: of the task, such as ``"SICK-R"``.
        texts: one or two columns of texts.
        gold: numbers of the classes, or scores; shape (n,).
        train: rows that heads are trained on.
        validation: rows that choose the penalty; empty: cross-validation on the training rows does.
        test: rows that are measured; empty: all training rows, by nested cross-validation.
        classes: names of the classes; empty for scores.
        scale: least and greatest whole score, for scores.
        positive: class whose F1 is told beside the accuracy.
        told: how the rows are used, in words.
    """

    name: str
    texts: tuple[tuple[str, ...], ...] = field(repr=False)
    gold: Floats = field(repr=False)
    train: _Places = field(repr=False)
    validation: _Places = field(repr=False)
    test: _Places = field(repr=False)
    classes: tuple[str, ...] = ()
    scale: tuple[int, int] | None = None
    positive: int | None = None
    told: str = ""

    @property
    def measured(self) -> _Places:
        """The rows that are measured."""
        return self.test if len(self.test) else self.train

    @property
    def key(self) -> str:
        """What stands for the task among the inputs of stages."""
        parts = [self.train.tolist(), self.validation.tolist(), self.test.tolist()]
        return content_key([list(each) for each in self.texts], self.gold.tolist(), parts, self.classes, self.scale)


@dataclass(frozen=True)
class Answers:
    """What was told of the measured rows of a task.

    Attributes:
        predicted: class or score of each, shape (m,).
        cosines: of the two embeddings, for scores; else empty.
        converged: whether every head was trained to its end.
    """

    predicted: Floats
    cosines: Floats
    converged: bool = True


def transfer(
    model: Any,
    task: TransferTask,
    *,
    folds: int = FOLDS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """How well a linear head on frozen embeddings does a task.

    Args:
        model: whatever ``as_encoder`` takes.
        task: of :func:`hf_fairness.measure.read_transfer_task`.
        folds: of every cross-validation.
        n_bootstrap: resamples behind the intervals of rank correlations.
        seed: of folds and resamples.
        **encoder_options: for ``as_encoder``.

    Returns:
        For classes what :func:`hf_fairness.scores.transfer.class_scores` does, for scores
        :func:`hf_fairness.scores.transfer.relatedness_scores`; ``meta`` with ``protocol`` and ``converged``.

    Raises:
        TypeError: a model that is no encoder.
        ValueError: fewer rows of a class than folds.
    """
    encoder = as_encoder(model, **encoder_options)
    found = score(task, ask(task, encoder, folds=folds, seed=seed), n_bootstrap=n_bootstrap, seed=seed)
    found["meta"]["model"] = encoder.label
    return found


def ask(task: TransferTask, encoder: BaseEncoder, *, folds: int = FOLDS, seed: int = 0) -> Answers:
    """Embed the texts, train the heads, and tell the measured rows.

    Args:
        task: what is asked.
        encoder: gives the embeddings.
        folds: of every cross-validation.
        seed: of the folds.

    Raises:
        ValueError: fewer rows of a class than folds.
    """
    check_folds(task, folds)
    texts = list(dict.fromkeys(text for column in task.texts for text in column))
    vectors, row = encoder.encode(texts), {text: place for place, text in enumerate(texts)}
    sides = [vectors[[row[text] for text in column]] for column in task.texts]
    return answer(task, sides, folds=folds, seed=seed)


def answer(task: TransferTask, sides: Sequence[NDArray[Any]], *, folds: int = FOLDS, seed: int = 0) -> Answers:
    """Train the heads on embeddings, and tell the measured rows.

    Args:
        task: what is asked.
        sides: embeddings of each column of texts, shape (n, d) each.
        folds: of every cross-validation.
        seed: of the folds.
    """
    from threadpoolctl import threadpool_limits

    matrix, gold, scale = features(sides).astype(np.float32), task.gold, task.scale
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        if len(task.test):
            parts = [(task.train, task.validation, task.test)]
        else:
            empty = np.array([], dtype=np.intp)
            parts = [(rest, empty, held) for rest, held in _folds(task.train, task, folds, seed)]
        predicted = np.full(len(gold), np.nan)
        for train, validation, test in parts:
            chooses = [(train, validation)] if len(validation) else list(_folds(train, task, folds, seed))
            penalty = _choose(matrix, gold, chooses, scale)
            head = next(_heads(matrix[train], gold[train], [penalty], scale))
            predicted[test] = _tell(head, matrix[test], scale)
    converged = not any("ConvergenceWarning" in each.category.__name__ for each in caught)
    measured = task.measured
    cosines = pair_cosines(*(side[measured] for side in sides)) if scale is not None else np.array([])
    return Answers(predicted[measured], cosines, converged)


def score(task: TransferTask, answers: Answers, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> dict[str, Any]:
    """Numbers of the answers; see :func:`transfer`.

    Args:
        task: what was asked.
        answers: what was told.
        n_bootstrap: resamples behind the intervals of rank correlations.
        seed: of the resamples.
    """
    gold, told = task.gold[task.measured], answers.predicted
    if task.scale is None:
        found = class_scores(told, gold, positive=task.positive)
    else:
        found = relatedness_scores(told, answers.cosines, gold, n_bootstrap=n_bootstrap, seed=seed)
    if not answers.converged:
        warnings.warn(
            f"{task.name}: a head was not trained to its end in {MAX_ITER} steps; its numbers may be a little low.",
            FairnessWarning,
            stacklevel=2,
        )
    found["meta"] |= {"protocol": task.told, "converged": answers.converged}
    return found


def features(sides: Sequence[NDArray[Any]]) -> Floats:
    """What a head reads: the embeddings, or |u - v| and u * v of pairs; each block centred and of deviation 1.

    The centre changes no optimum, for a head has a free intercept; it is reached in fewer steps.

    Args:
        sides: one or two arrays of shape (n, d).

    Returns:
        Shape (n, d), or (n, 2 d) for pairs.
    """
    first = np.asarray(sides[0], dtype=np.float64)
    if len(sides) == 1:
        return _scaled(first)
    second = np.asarray(sides[1], dtype=np.float64)
    return np.hstack([_scaled(np.abs(first - second)), _scaled(first * second)])


def check_folds(task: TransferTask, folds: int) -> None:
    """Refuse a task whose rows cannot fill the folds.

    Args:
        task: what is asked.
        folds: of every cross-validation.

    Raises:
        ValueError: says which class has too few rows.
    """
    if folds < 2:
        raise ValueError(f"--senteval_folds is {folds}, expected 2 or more.")
    if len(task.test) and len(task.validation):
        return
    # The rows of an outer fold are missing where an inner cross-validation chooses.
    least = folds if len(task.test) else folds + 1
    if task.scale is not None:
        sizes = {"rows to train on": len(task.train)}
    else:
        counts = np.bincount(task.gold[task.train].astype(np.intp), minlength=len(task.classes))
        sizes = {f"rows of the class {name}": int(n) for name, n in zip(task.classes, counts, strict=True)}
    what, n = min(sizes.items(), key=lambda each: each[1])
    if n < least:
        raise ValueError(
            f"--senteval {task.name}: there are {n} {what}, and {folds}-fold cross-validation needs {least} or more. "
            "Give more rows, or set --senteval_folds lower."
        )


def _scaled(block: Floats) -> Floats:
    centred = block - block.mean(axis=0)
    size = float(np.sqrt(np.mean(np.square(centred))))
    return centred / size if size > 1e-12 * float(np.abs(block).max()) else np.zeros_like(block)


def _folds(rows: _Places, task: TransferTask, folds: int, seed: int) -> Iterator[tuple[_Places, _Places]]:
    """Rows that stay and rows that are held out, fold by fold; classes in equal shares, as in SentEval."""
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = (KFold if task.scale is not None else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    for stay, held in splitter.split(rows, None if task.scale is not None else task.gold[rows]):
        yield rows[stay], rows[held]


def _choose(
    matrix: NDArray[np.float32], gold: Floats, parts: Sequence[tuple[_Places, _Places]], scale: tuple[int, int] | None
) -> float:
    """The penalty under which rows that were held out are told best on average; of equals the strongest."""
    quality = np.zeros(len(PENALTIES))
    for train, held in parts:
        heads = _heads(matrix[train], gold[train], PENALTIES, scale)
        quality += [_quality(_tell(head, matrix[held], scale), gold[held], scale) for head in heads]
    return PENALTIES[int(np.argmax(np.round(quality, 12)))]


def _heads(
    matrix: NDArray[np.float32], gold: Floats, penalties: Sequence[float], scale: tuple[int, int] | None
) -> Iterator[Any]:
    """One head, trained with each penalty in turn from where the last one ended.

    A score between two whole numbers is a distribution over both, with the score as its mean: its row counts for each
    of the two by its share (Tai et al. 2015, equation 15).
    """
    from sklearn.linear_model import LogisticRegression

    rows, targets, weights = matrix, gold, None
    if scale is not None:
        low = np.clip(np.floor(gold), scale[0], scale[1] - 1)
        share = gold - low
        rows, targets = np.vstack([matrix, matrix]), np.concatenate([low, low + 1.0])
        weights = np.concatenate([1.0 - share, share])
        kept = weights > 0.0
        rows, targets, weights = rows[kept], targets[kept], weights[kept]
    head = LogisticRegression(max_iter=MAX_ITER, warm_start=True)
    for penalty in penalties:
        yield head.set_params(C=1.0 / (len(matrix) * penalty)).fit(rows, targets, sample_weight=weights)


def _tell(head: Any, matrix: NDArray[np.float32], scale: tuple[int, int] | None) -> Floats:
    """Classes, or expected scores."""
    if scale is None:
        return np.asarray(head.predict(matrix), dtype=np.float64)
    return np.asarray(head.predict_proba(matrix) @ head.classes_, dtype=np.float64)


def _quality(told: Floats, gold: Floats, scale: tuple[int, int] | None) -> float:
    """Accuracy, or Pearson's correlation (0 where one side does not vary)."""
    if scale is None:
        return float(np.mean(told == gold))
    if np.ptp(told) == 0.0 or np.ptp(gold) == 0.0:
        return 0.0
    return float(np.corrcoef(told, gold)[0, 1])
