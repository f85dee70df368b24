"""Group probe: how well a classifier reads the group from an embedding."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.encoders import as_encoder
from hf_fairness.measure.variants import read_variants
from hf_fairness.scores.probe import probe_accuracy
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index, generator
from hf_fairness.scores.vectors import embeddings as checked
from hf_fairness.scores.vectors import same_width
from hf_fairness.utils import FairnessWarning, progress

KINDS = ("linear", "mlp")


def _classifier(kind: str, seed: int) -> Any:
    """A fresh classifier; inputs are standardised on the training part only."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return make_pipeline(
        StandardScaler(), MLPClassifier(hidden_layer_sizes=(64,), alpha=1e-3, max_iter=60, random_state=seed)
    )


def _is_embeddings(model: Any) -> bool:
    """Whether this is a mapping of groups to matrices, and not of words to vectors."""
    return isinstance(model, Mapping) and len(model) > 0 and all(np.ndim(value) == 2 for value in model.values())


def _out_of_fold(
    table: Floats, index: NDArray[np.intp], kind: str, folds: int, seed: int, show_progress: bool | None
) -> tuple[Floats, bool]:
    """Which predictions are right, (n, groups), and if all fits converged; ``table`` is (n, groups, d)."""
    from threadpoolctl import threadpool_limits

    n, groups, width = table.shape
    fold_of = (generator(seed, "folds").permutation(int(index.max()) + 1) % folds)[index]
    target, correct, converged = np.tile(np.arange(groups), n), np.zeros((n, groups)), True
    for fold in progress(range(folds), f"Probe ({kind})", show_progress=show_progress, unit="fold"):
        test = fold_of == fold
        train = np.repeat(~test, groups)
        model = _classifier(kind, seed)
        # These fits are small: beside torch's own threads, more than one only wait for each other (4 times slower).
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
            warnings.simplefilter("always")
            model.fit(table.reshape(n * groups, width)[train], target[train])
        converged = converged and not any("ConvergenceWarning" in w.category.__name__ for w in caught)
        predicted = model.predict(table[test].reshape(-1, width)).reshape(-1, groups)
        correct[test] = predicted == np.arange(groups)
    return correct, converged


def probe(
    model: Any = None,
    variants: Any = None,
    *,
    kind: str = "linear",
    embeddings: Mapping[str, ArrayLike] | None = None,
    groups: Sequence[str] | None = None,
    neutral: str = "neutral",
    clusters: Sequence[Hashable] | None = None,
    folds: int = 5,
    max_rows: int | None = 2000,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    show_progress: bool | None = None,
    **encoder_options: Any,
) -> dict[str, Any]:
    """Accuracy of predicting the group from the embedding of its version of a text, by cross-validation.

    All versions of a text are in the same fold, so that the probe never sees the text it is tested on. A low
    value for the linear probe does not mean that the information is gone: look at the MLP too. A high value
    is no harm in itself; the texts name the group.

    Args:
        model: whatever ``as_encoder`` takes, or the embeddings (see there).
        variants: output of ``GroupVariants`` or a mapping of groups to texts; rows without attribute terms
            are left out and counted.
        kind: "linear" (logistic regression) or "mlp" (one hidden layer of 64).
        embeddings: instead of a model: shape (n, d) per group, row i the same text; ``neutral`` is left out.
        groups: the group columns; None means those that ``GroupVariants`` recorded, or those of an attribute.
        neutral: column that is no group; it may be absent.
        clusters: a label per row used, for texts that resemble each other: they then share a fold. None takes
            the column ``frame`` of the variants, if there is one; else rows with equal embeddings share a fold.
        folds: number of parts.
        max_rows: texts used at most, drawn by ``seed``; None uses all.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of folds and classifier.
        show_progress: None means on a terminal.
        **encoder_options: for ``as_encoder``.

    Returns:
        ``accuracy``, ``accuracy_ci95``, ``chance``, ``n`` texts used, ``n_skipped`` (no terms),
        ``n_left_out`` (beyond ``max_rows``), ``meta``.

    Raises:
        ValueError: unknown kind, one group, fewer texts than folds, different numbers of rows, NaN.
        TypeError: a model that is no encoder; neither variants nor embeddings.

    Warns:
        FairnessWarning: fewer different texts than folds: copies of a text then count as different texts.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
    if folds < 2:
        raise ValueError(f"folds must be at least 2; got {folds}.")
    given = model if embeddings is None and variants is None and _is_embeddings(model) else embeddings
    skipped, label = 0, "embeddings"
    if given is None:
        if model is None or variants is None:
            raise TypeError("probe needs model and variants, or embeddings={group: (n, d), ...}.")
        texts = read_variants(variants, groups=groups, neutral=neutral, need_neutral=False)
        encoder = as_encoder(model, **encoder_options)
        given, skipped, label = texts.embed(encoder, neutral=None), texts.n_skipped, encoder.label
        clusters = texts.clusters if clusters is None else clusters
    arrays = {
        name: checked(given[name], f"embeddings[{name!r}]")
        for name in (groups or [name for name in given if name != neutral])
    }
    if len(arrays) < 2:
        raise ValueError(f"A probe tells groups apart: at least two are needed; got {list(arrays)}.")
    same_width(arrays)
    rows = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"Row i must be the same text for every group; got different numbers of rows: {rows}.")
    table = np.stack(list(arrays.values()), axis=1)
    total = len(table)
    index = cluster_index(range(total) if clusters is None else clusters, total)
    if max_rows is not None and total > max_rows:
        kept = np.sort(generator(seed, "rows").permutation(total)[:max_rows])
        table, index = table[kept], cluster_index(index[kept].tolist(), max_rows)
    if clusters is None:
        # A text that is there several times is one text, or the probe would be tested on what it has seen.
        different = cluster_index([row.tobytes() for row in table], len(table))
        if different.max() + 1 >= folds:
            index = different
        elif len(table) >= folds:
            warnings.warn(
                f"Only {int(different.max()) + 1} of the {len(table)} texts differ, too few for {folds} folds: the "
                "probe is tested on copies of texts that it learned. Give more different texts, or fewer folds.",
                FairnessWarning,
                stacklevel=2,
            )
    if index.max() + 1 < folds:
        raise ValueError(
            f"{int(index.max()) + 1} different texts (or clusters) cannot fill {folds} folds: give more, or "
            "fewer folds."
        )
    correct, converged = _out_of_fold(table, index, kind, folds, seed, show_progress)
    result = probe_accuracy(correct, clusters=index, n_bootstrap=n_bootstrap, seed=seed)
    result |= {"n_skipped": skipped, "n_left_out": total - len(table)}
    result["meta"] |= {
        "kind": kind,
        "folds": folds,
        "converged": converged,
        "groups": list(arrays),
        "model": label,
    }
    return result
