"""Leaving out rows whose surface features go with their label, as Wu et al. 2022 filter generated texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.refine.labelled_texts import read_corpus
from hf_fairness.refine.text_features import TextFeatures
from hf_fairness.refine.z_table import FeatureRows, Features, ZTable, ZTest, check_labels, table_of, with_texts
from hf_fairness.rows import Columns
from hf_fairness.scores.statistics import generator


def z_filter(
    dataset: Any,
    *,
    text_columns: Columns,
    label_column: str = "label",
    features: Features | None = None,
    test: ZTest | None = None,
    batch_size: int | None = 1,
    start: Any = None,
    seed: int = 0,
    on_missing: str = "skip",
) -> Any:
    """Leave out rows that have a feature biased for their own label among the rows kept so far.

    Rows are looked at in random order, in batches; counts are those of the rows kept before the batch, expected shares
    and threshold those of the whole corpus (with ``start``), so that the labels keep their balance too. A feature stays
    in the corpus and loses its correlation, as far as the threshold asks: z grows with the number of rows, so in a
    small corpus a strong correlation is not significant, and a threshold of 0 or 1 filters more than the default. With
    ``batch_size=None`` counts are those of the whole corpus and every row with a biased feature goes: the feature is
    then left with the *other* labels only, which is an artefact of its own.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        text_columns: column or columns of texts; the features are of the last one, and of how it overlaps the first.
        label_column: column of the labels.
        features: from the texts of a row to names of its features; None: ``TextFeatures()``.
        test: when a feature is biased; None: ``ZTest()``.
        batch_size: rows between two counts; more is faster, and lets in as many biased rows before the first count.
            None: one count, of the whole corpus.
        start: rows that count as kept from the beginning and are not returned, for example the corpus that generated
            rows shall join; same columns. None: there are none.
        seed: of the order.
        on_missing: what to do about rows that lack a text: ``"skip"`` keeps them, for no feature speaks against them,
            ``"error"`` refuses them.

    Returns:
        The rows that stay, in their order. :func:`z_filter_report` says what this did.

    Raises:
        TypeError: no Dataset.
        ValueError: no rows, a missing column, a row without a label, one label, a batch size below 1.

    Source:
        Wu et al. 2022, z-filtering (with ``start``: conditional on a corpus). Deviations: a threshold on z instead of
        the k highest, and expected shares as ``ZTest`` says.

    Example:
        >>> from datasets import Dataset
        >>> rows = Dataset.from_dict({"text": ["no rain"] * 90 + ["no sun"] * 30, "label": [1] * 90 + [0] * 30})
        >>> kept = z_filter(rows, text_columns="text", test=ZTest(threshold=2.0))
        >>> len(kept) < 120
        True
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"z_filter: batch_size must be at least 1, or None; got {batch_size}.")
    test, extract = test or ZTest(), TextFeatures() if features is None else features
    names, texts, codes, values = read_corpus(dataset, text_columns, label_column, "z_filter", on_missing)
    check_labels(names, "z_filter")
    n = len(texts)
    if start is not None:
        _, more, _, their_values = read_corpus(start, text_columns, label_column, "z_filter: start", on_missing)
        numbers = {value: int(code) for value, code in zip(values, codes, strict=True)}
        unknown = next((value for value in their_values if value not in numbers), None)
        if unknown is not None:
            raise ValueError(f"z_filter: start has the label {unknown!r}, which the corpus lacks.")
        texts = texts + more
        codes = np.concatenate([codes, np.asarray([numbers[value] for value in their_values], dtype=np.intp)])
    found = FeatureRows.read(texts, extract)
    whole = table_of(found, codes, with_texts(texts), names, test, extract)
    if batch_size is None:
        keep = ~_flagged(found, np.arange(n), codes, whole.biased)
    else:
        keep = _one_after_another(found, codes, n, whole, batch_size, seed)
    return dataset.select(np.flatnonzero(keep))


def _flagged(
    found: FeatureRows, rows: NDArray[np.intp], codes: NDArray[np.intp], biased: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which rows have a feature that is biased for their own label."""
    indices, place = found.of(rows)
    hits = biased[indices, codes[rows][place]]
    return np.bincount(place, weights=hits, minlength=len(rows)) > 0


def _one_after_another(
    found: FeatureRows, codes: NDArray[np.intp], n: int, whole: ZTable, batch_size: int, seed: int
) -> NDArray[np.bool_]:
    """Which of the first n rows are kept; the rest count as kept from the beginning."""
    rest = np.arange(n, len(codes))
    counts = found.counts(rest, codes[rest], len(whole.labels))
    totals = counts.sum(axis=1)
    # z above the threshold, multiplied out: hits - n * share > threshold * sqrt(n * share * (1 - share)).
    spread = whole.threshold * np.sqrt(whole.expected * (1.0 - whole.expected))
    keep = np.zeros(n, dtype=bool)
    order = generator(seed).permutation(n)
    for first in range(0, n, batch_size):
        rows = order[first : first + batch_size]
        indices, place = found.of(rows)
        own = codes[rows][place]
        with_feature = totals[indices]
        above = counts[indices, own] - with_feature * whole.expected[own] > spread[own] * np.sqrt(with_feature)
        hits = above & (with_feature >= whole.min_count)
        stays = np.bincount(place, weights=hits, minlength=len(rows)) == 0
        keep[rows] = stays
        taken = stays[place]
        np.add.at(counts, (indices[taken], own[taken]), 1.0)
        np.add.at(totals, indices[taken], 1.0)
    return keep


def z_filter_report(before: ZTable, after: ZTable, top: int = 20) -> dict[str, Any]:
    """What a filter did to the features of a corpus.

    Args:
        before: ``z_table`` of the corpus.
        after: ``z_table`` of what stayed, with the same features and test.
        top: features per label at most.

    Returns:
        ``n``, ``n_kept``, ``kept_share_by_label``; ``before`` and ``after``: `ZTable.report` of each; ``features``: the
        most biased ones before, with ``z`` and ``z_after`` (None where no kept row has the feature).

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import z_table
        >>> rows = Dataset.from_dict({"text": ["no"] * 30 + ["so"] * 30, "label": [1] * 30 + [0] * 30})
        >>> table = z_table(rows, text_columns="text")
        >>> z_filter_report(table, table)["features"][0]["z_after"] > 5
        True
    """
    places = {name: place for place, name in enumerate(after.features)}
    labels = {label: place for place, label in enumerate(after.labels)}
    biased = before.biased
    features = []
    for place, label in enumerate(before.labels):
        rows = np.flatnonzero(biased[:, place])
        for row in rows[np.argsort(-before.z[rows, place], kind="stable")][:top]:
            then = places.get(before.features[row])
            z_after = after.z[then, labels[label]] if then is not None and label in labels else np.nan
            entry = {"label": str(label), **before.entry(int(row), place)}
            features.append({**entry, "z_after": None if np.isnan(z_after) else float(z_after)})
    kept = {}
    for label, count in zip(before.labels, before.label_counts, strict=True):
        kept[str(label)] = float(after.label_counts[labels[label]] / count) if label in labels else 0.0
    return {
        "n": int(before.label_counts.sum()),
        "n_kept": int(after.label_counts.sum()),
        "kept_share_by_label": kept,
        "features": features,
        "before": before.report(top),
        "after": after.report(top),
    }
