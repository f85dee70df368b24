"""Partial-input probe: how much of the label one text of a pair gives away, without the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.measure.classifier.text_learners import (
    EncoderLearner,
    Learner,
    TextLearner,
    checked_log_probs,
    fold_numbers,
    out_of_fold,
)
from hf_fairness.record import Declared
from hf_fairness.refine.labelled_texts import read_corpus
from hf_fairness.rows import Columns, check_dataset
from hf_fairness.scores.compare import paired_comparison
from hf_fairness.scores.intervals import combination, rates_of
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index, generator

CONVENTION = (
    "accuracy of out-of-fold predictions (or on the test set) of a classifier trained on one column; majority: always "
    "the most frequent label of the training rows; balanced: mean over labels of the share of their rows that is "
    "right, with probabilities divided by the labels' shares in training; rows with equal texts share a fold and are "
    "counted together; the interval is of these predictions: classifiers are not trained anew"
)
MEASURES = {
    "accuracy": Declared("label read from one text of the pair alone (accuracy)", "information", None, "none"),
    "gain": Declared(
        "the same, above the most frequent label",
        "information",
        0.0,
        "lower",
        convention="Partial input: how much of the label one text of a pair gives away without the other.",
    ),
}


def partial_input(
    dataset: Any,
    *,
    column: str = "hypothesis",
    full_columns: Columns | None = ("premise", "hypothesis"),
    label_column: str = "label",
    model: Any = None,
    learner: Learner | None = None,
    test: Any = None,
    clusters: Sequence[Hashable] | None = None,
    folds: int = 5,
    max_rows: int | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Accuracy of a classifier that sees one column only, beside the majority and a classifier that sees all.

    Where the label is a relation between two texts, one of them alone should say nothing of it. What it says is an
    artefact of how the texts were made, and a classifier can use it in place of the task.

    Args:
        dataset: labelled rows; one ``datasets.Dataset``.
        column: the column that is seen.
        full_columns: columns of the full input; None leaves that comparison out.
        label_column: names or numbers from 0.
        model: an encoder, whatever ``as_encoder`` takes: logistic regression on its embeddings; or
        learner: what is trained, for example ``hf_fairness.trainers.ClassifierLearner``, which fine-tunes a
            transformer. Without either: logistic regression on tf-idf of n-grams.
        test: rows to test on, with the same columns; all of ``dataset`` is then trained on. None: cross-validation.
        clusters: a label per row (of ``test``, if there is one), for rows that resemble each other, as all pairs of one
            premise do: they share a fold and count together. None: rows with equal text in ``column``.
        folds: number of parts.
        max_rows: rows of ``dataset`` used at most, drawn by ``seed``; not with ``clusters`` of its own rows. None uses
            all.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of folds and choice of rows.

    Returns:
        ``accuracy`` of the part, ``majority``, ``full_accuracy``, each in [0, 1]; ``gain`` = accuracy − majority (ideal
        0; higher: more of the label can be read off), ``gap`` = full accuracy − accuracy; ``balanced_accuracy`` and
        ``full_balanced_accuracy``, whose ideal for the part is ``chance`` = 1 / labels: where one label is frequent, a
        column can say much of the others and ``gain`` still be 0. All with ``_ci95``, the differences paired; those
        with the full input are None without it. ``by_label``: accuracy of the part on rows of each label; ``n``,
        ``meta``.

    Raises:
        TypeError: no Dataset, both a model and a learner, or a model that is no encoder.
        ValueError: a missing column, one label, fewer texts than folds, labels of ``test`` that were not trained on.

    Source:
        Poliak et al. 2018, *Hypothesis Only Baselines in Natural Language Inference*; Gururangan et al. 2018,
        *Annotation Artifacts in Natural Language Inference Data*.

    Example:
        >>> from datasets import Dataset
        >>> rows = {"premise": ["It rains"] * 20, "hypothesis": ["no sun", "wet"] * 10, "label": [1, 0] * 10}
        >>> found = partial_input(Dataset.from_dict(rows), clusters=list(range(20)))
        >>> found["accuracy"], found["majority"]
        (1.0, 0.5)
    """
    chosen, title = _learner(model, learner)
    check_dataset(dataset, "partial_input")
    if max_rows is not None and len(dataset) > max_rows:
        if clusters is not None and test is None:
            raise ValueError("Give clusters or max_rows, not both: choose the rows of whole clusters beforehand.")
        dataset = dataset.select(np.sort(generator(seed, "rows").permutation(len(dataset))[:max_rows]))
    data = _Data(dataset, test, column, full_columns, label_column)
    units = data.column(column) if clusters is None else clusters
    index = cluster_index(units, data.n)
    fold_of = None if test is not None else fold_numbers([data.column(column)], folds, clusters=clusters, seed=seed)
    views = {"": data.log_probs([column], chosen, fold_of)}
    if data.full:
        views["full_"] = data.log_probs(data.full, chosen, fold_of)
    result = _summary(views, data, index, n_bootstrap)
    right = views[""].argmax(axis=1) == data.labels
    result["by_label"] = {}
    for code in np.unique(data.labels):
        rows = right[data.labels == code]
        result["by_label"][str(data.names[code])] = {"accuracy": float(rows.mean()), "n": len(rows)}
    return {
        **result,
        "n": data.n,
        "meta": describe(
            n=data.n,
            convention=CONVENTION,
            ideal="gain 0 and balanced accuracy at chance: the column alone says nothing of the label",
            direction="higher gain: more of the label can be read off this column alone",
            seed=seed,
            model=title,
            column=column,
            folds=None if test is not None else folds,
            n_train=len(data.train_labels),
            n_clusters=int(index.max()) + 1,
        ),
    }


def partial_input_change(
    before: Any,
    after: Any,
    test: Any,
    *,
    column: str = "hypothesis",
    label_column: str = "label",
    model: Any = None,
    learner: Learner | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """What one column alone gives away before and after a corpus was changed, on one test set.

    Args:
        before: the corpus as it was.
        after: augmented or filtered.
        test: rows that are in neither, distributed like ``before``.
        column: the column that is seen.
        label_column: names or numbers from 0.
        model: as in :func:`partial_input`.
        learner: as in :func:`partial_input`.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of swaps.

    Returns:
        ``before``, ``after``: accuracy of each; ``difference`` = after − before with ``difference_ci95`` and
        ``p_value`` (paired, rows of one text together); ``majority`` of the test set; ``n``, ``meta``. Lower after is
        what a refinement is for: the artefact no longer helps.

    Raises:
        TypeError: as :func:`partial_input`.
        ValueError: as :func:`partial_input`.
    """
    chosen, title = _learner(model, learner)
    sides = [_Data(corpus, test, column, None, label_column) for corpus in (after, before)]
    right = [(side.log_probs([column], chosen, None).argmax(axis=1) == side.labels).astype(float) for side in sides]
    units = sides[0].column(column)
    found = paired_comparison(right[0], right[1], clusters=units, n_bootstrap=n_bootstrap, seed=seed)
    labels = np.unique(sides[0].labels, return_counts=True)[1]
    return {
        "before": found["b"],
        "after": found["a"],
        **{key: found[key] for key in ("difference", "difference_ci95", "p_value", "method")},
        "majority": float(labels.max() / labels.sum()),
        "n": found["n"],
        "meta": describe(
            n=found["n"],
            convention="a = after, b = before: accuracy of classifiers that see one column; " + found["convention"],
            ideal="after: that of the majority",
            direction="higher after: more of the label can be read off this column alone",
            seed=seed,
            model=title,
            column=column,
            n_train={"before": len(sides[1].train_labels), "after": len(sides[0].train_labels)},
        ),
    }


class _Data:
    """Texts and labels of the rows that are trained on and of those that are measured."""

    def __init__(self, dataset: Any, test: Any, column: str, full: Columns | None, label_column: str) -> None:
        self.full = [] if full is None else [full] if isinstance(full, str) else list(full)
        columns = list(dict.fromkeys([column, *self.full]))
        self.names, rows, self.train_labels, values = read_corpus(dataset, columns, label_column, "partial_input")
        if len(self.names) < 2:
            raise ValueError(f"partial_input: all rows have the label {self.names[0]!r}; two at least are needed.")
        self._train = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
        self._texts, self.labels = self._train, self.train_labels
        if test is not None:
            names, rows, codes, others = read_corpus(test, columns, label_column, "partial_input: test")
            if all(getattr(each.features[label_column], "names", None) for each in (dataset, test)):
                # A split may number its labels in its own way: names are compared.
                values, others = [self.names[code] for code in self.train_labels], [names[code] for code in codes]
            numbers = {value: int(code) for value, code in zip(values, self.train_labels, strict=True)}
            unknown = next((value for value in others if value not in numbers), None)
            if unknown is not None:
                raise ValueError(f"partial_input: test has the label {unknown!r}, which no training row has.")
            self._texts = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
            self.labels = np.asarray([numbers[value] for value in others], dtype=np.intp)
        self.n = len(self.labels)

    def column(self, name: str) -> list[str]:
        """Texts of the rows that are measured."""
        return self._texts[name]

    def log_probs(self, columns: Sequence[str], learner: Learner, fold_of: NDArray[np.intp] | None) -> Floats:
        """What a classifier that sees these columns makes of the rows that are measured, shape (n, labels)."""
        n_classes = len(self.names)
        texts = [self._texts[name] for name in columns]
        if fold_of is None:
            predict = learner([self._train[name] for name in columns], self.train_labels, n_classes)
            return checked_log_probs(predict(*texts), self.n, n_classes)
        return out_of_fold(texts, self.labels, learner, n_classes, fold_of, show_progress=False)


def _learner(model: Any, learner: Learner | None) -> tuple[Learner, str]:
    """What is trained, and its name."""
    if model is not None and learner is not None:
        raise TypeError("Give an encoder as model, or a learner, not both.")
    chosen: Learner = learner or (TextLearner() if model is None else EncoderLearner(model))
    return chosen, getattr(chosen, "__name__", type(chosen).__name__)


def _summary(views: dict[str, Floats], data: _Data, index: NDArray[np.intp], n_bootstrap: int) -> dict[str, Any]:
    """Accuracies and their differences, with intervals."""
    shares = np.bincount(data.train_labels, minlength=len(data.names)) / len(data.train_labels)
    own = np.eye(len(data.names))[data.labels]
    every = np.ones((data.n, 1))
    hits, rows = [own[:, [shares.argmax()]]], [every]
    weights: dict[str, dict[int, float]] = {"majority": {0: 1.0}}
    present = np.flatnonzero(own.any(axis=0))  # a label of which there are no rows has no share that is right
    for name, log_probs in views.items():
        guesses = (log_probs - np.log(shares)).argmax(axis=1)
        first = sum(part.shape[1] for part in hits)
        hits += [
            (log_probs.argmax(axis=1) == data.labels)[:, None],
            own[:, present] * (guesses == data.labels)[:, None],
        ]
        rows += [every, own[:, present]]
        weights[f"{name}accuracy"] = {first: 1.0}
        places = range(first + 1, first + 1 + len(present))
        weights[f"{name}balanced_accuracy"] = dict.fromkeys(places, 1.0 / len(present))
    weights["gain"] = weights["accuracy"] | {0: -1.0}
    if "full_accuracy" in weights:
        weights["gap"] = weights["full_accuracy"] | dict.fromkeys(weights["accuracy"], -1.0)
    rates = rates_of(np.hstack(hits).astype(np.float64), np.hstack(rows), clusters=index)
    result: dict[str, Any] = {"chance": 1.0 / len(data.names)}
    for name in ("accuracy", "majority", "gain", "balanced_accuracy", "full_accuracy", "full_balanced_accuracy", "gap"):
        parts = weights.get(name)
        result |= {name: None, f"{name}_ci95": None}
        if parts is not None:
            factors = np.array([parts.get(place, 0.0) for place in range(len(rates.values))])
            result[name] = float(factors @ rates.values)
            result[f"{name}_ci95"] = combination(rates, factors) if n_bootstrap else None
    return result
