"""Which features of a corpus go with a label: counts, z-statistics, and what a feature speaks for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.refine.labelled_texts import read_corpus
from hf_fairness.refine.text_features import TextFeatures
from hf_fairness.rows import Columns
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import Floats, share_entry
from hf_fairness.scores.z_statistics import z_statistics, z_threshold

#: From the texts of a row to the names of its features.
Features = Callable[..., Sequence[Hashable]]
EXPECTED = ("labels", "uniform")
CONVENTION = (
    "z = (share of the label among rows with the feature - expected share) / its standard error under the expected "
    "share; a feature counts once per row; biased: z above the threshold in at least min_count rows"
)


@dataclass(frozen=True)
class ZTest:
    """When a feature is called biased.

    Attributes:
        threshold: z above which it is; None: Bonferroni over all features and labels tested, at ``level``.
        level: probability of calling any feature biased where none is.
        expected: what shares are compared with: ``"labels"``, those of the labels in the corpus, or ``"uniform"``,
            1 / number of labels, as published. They agree where labels are balanced; where they are not, uniform shares
            call every frequent word biased for the most frequent label.
        min_count: rows that must have the feature: in fewer the normal distribution behind the threshold is off.
    """

    threshold: float | None = None
    level: float = 0.01
    expected: str = "labels"
    min_count: int = 20

    def __post_init__(self) -> None:
        if self.expected not in EXPECTED:
            raise ValueError(f"expected is {self.expected!r}; known are {', '.join(map(repr, EXPECTED))}.")
        if self.min_count < 1:
            raise ValueError(f"min_count must be at least 1; got {self.min_count}.")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise ValueError(f"threshold must be a finite number; got {self.threshold}.")
        z_threshold(self.level, 1)

    def shares(self, label_counts: Floats) -> Floats:
        """Expected share of each label."""
        if self.expected == "uniform":
            return np.full(len(label_counts), 1.0 / len(label_counts))
        return np.asarray(label_counts / max(1.0, label_counts.sum()), dtype=np.float64)

    def limit(self, counts: Floats) -> float:
        """The threshold for a table of counts, shape (features, labels)."""
        if self.threshold is not None:
            return float(self.threshold)
        tested = int((counts.sum(axis=1) >= self.min_count).sum()) * counts.shape[1]
        return z_threshold(self.level, max(1, tested))


@dataclass(frozen=True)
class FeatureRows:
    """The features of every row, as numbers.

    Attributes:
        names: of the features.
        indices: numbers of features, row after row.
        starts: where each row's begin in ``indices``, shape (rows + 1,).
    """

    names: tuple[Hashable, ...]
    indices: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def read(cls, texts: Sequence[tuple[str, ...]], features: Features) -> FeatureRows:
        """Features of rows of texts; a row without texts has none."""
        numbers: dict[Hashable, int] = {}
        indices: list[int] = []
        starts = [0]
        for row in texts:
            indices += {numbers.setdefault(name, len(numbers)) for name in (features(*row) if row else ())}
            starts.append(len(indices))
        return cls(tuple(numbers), np.asarray(indices, dtype=np.intp), np.asarray(starts, dtype=np.intp))

    def of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Features of some rows, one after another, and the place in ``rows`` that each belongs to."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        place = np.repeat(np.arange(len(rows)), lengths)
        inside = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.indices[self.starts[rows][place] + inside], place

    def counts(self, rows: NDArray[np.intp], labels: NDArray[np.intp], n_labels: int) -> Floats:
        """Rows by feature and label, shape (features, labels); ``labels`` are those of ``rows``."""
        indices, place = self.of(rows)
        cells = np.bincount(indices * n_labels + labels[place], minlength=len(self.names) * n_labels)
        return cells.reshape(len(self.names), n_labels).astype(np.float64)


@dataclass(frozen=True)
class ZTable:
    """z-statistics of the features of a corpus.

    Attributes:
        features: names of the features.
        labels: names of the labels.
        counts: rows by feature and label, shape (features, labels).
        z: shape (features, labels).
        expected: expected share of each label.
        threshold: z above which a feature is biased for a label.
        min_count: rows that a biased feature has at least.
        label_counts: rows of each label.
        extract: what named the features.
    """

    features: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    counts: Floats
    z: Floats
    expected: Floats
    threshold: float
    min_count: int
    label_counts: Floats
    extract: Features = field(repr=False)

    @cached_property
    def biased(self) -> NDArray[np.bool_]:
        """Which features are biased for which labels, shape (features, labels)."""
        enough = self.counts.sum(axis=1, keepdims=True) >= self.min_count
        return np.asarray(enough & (np.nan_to_num(self.z, nan=-np.inf) > self.threshold))

    def speaks_for(self, *texts: str) -> Hashable | None:
        """The label that the most biased feature of a row speaks for; None where it has no biased feature.

        Args:
            texts: of the row, as the table was made from.
        """
        rows = [place for name in self.extract(*texts) if (place := self._places.get(name)) is not None]
        strength = self._strength[rows]
        if not strength.size or strength.max() == -np.inf:
            return None
        return self.labels[int(np.unravel_index(strength.argmax(), strength.shape)[1])]

    def report(self, top: int = 20) -> dict[str, Any]:
        """The most biased features of each label, ready for JSON.

        Args:
            top: features per label at most.

        Returns:
            ``n_biased`` (pairs of feature and label), ``n_features``, ``threshold``, ``by_label``: for each label its
            rows ``n``, ``expected_share``, ``n_biased`` and ``features``: ``feature``, ``n`` rows with it, ``share`` of
            the label among them with its ``_ci95``, ``z``; and ``meta``.
        """
        biased, by_label = self.biased, {}
        for place, label in enumerate(self.labels):
            rows = np.flatnonzero(biased[:, place])
            rows = rows[np.argsort(-self.z[rows, place], kind="stable")][:top]
            by_label[str(label)] = {
                "n": int(self.label_counts[place]),
                "expected_share": float(self.expected[place]),
                "n_biased": int(biased[:, place].sum()),
                "features": [self.entry(int(row), place) for row in rows],
            }
        return {
            "n_biased": int(biased.sum()),
            "n_features": len(self.features),
            "threshold": self.threshold,
            "by_label": by_label,
            "meta": describe(
                n=int(self.label_counts.sum()),
                convention=CONVENTION,
                ideal="no biased feature",
                direction="higher z: the feature alone says more of the label",
                seed=0,
                min_count=self.min_count,
            ),
        }

    def entry(self, row: int, place: int) -> dict[str, Any]:
        """One feature and label of the report."""
        n, hits = int(self.counts[row].sum()), int(self.counts[row, place])
        z = float(self.z[row, place])
        return {"feature": str(self.features[row]), "n": n, **share_entry("share", hits, n), "z": z}

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {name: place for place, name in enumerate(self.features)}

    @cached_property
    def _strength(self) -> Floats:
        """Each z of a biased feature, else minus infinity."""
        return np.where(self.biased, self.z, -np.inf)


def z_table(
    dataset: Any,
    *,
    text_columns: Columns,
    label_column: str = "label",
    features: Features | None = None,
    test: ZTest | None = None,
    on_missing: str = "skip",
) -> ZTable:
    """z-statistics of the features of a corpus: which words, overlaps and lengths go with which label.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        text_columns: column or columns of texts; the features are of the last one, and of how it overlaps the first.
        label_column: column of the labels.
        features: from the texts of a row to names of its features; None: ``TextFeatures()``.
        test: when a feature is biased; None: ``ZTest()``.
        on_missing: what to do about rows that lack a text: ``"skip"`` leaves them out, ``"error"`` refuses them.

    Returns:
        The table.

    Raises:
        TypeError: no Dataset.
        ValueError: no rows, a missing column, a row without a label, one label.

    Source:
        Gardner et al. 2021; Wu et al. 2022, *Generating Data to Mitigate Spurious Correlations in Natural Language
        Inference Datasets*. Deviation: shares are compared with those of the corpus unless ``ZTest`` says otherwise.

    Example:
        >>> from datasets import Dataset
        >>> rows = Dataset.from_dict({"text": ["no rain", "no sun", "rain", "sun"] * 20, "label": [1, 1, 0, 0] * 20})
        >>> table = z_table(rows, text_columns="text")
        >>> table.speaks_for("no wind"), round(table.report()["by_label"]["1"]["features"][0]["z"], 2)
        (1, 6.32)
    """
    names, texts, codes, _ = read_corpus(dataset, text_columns, label_column, "z_table", on_missing)
    check_labels(names, "z_table")
    extract = TextFeatures() if features is None else features
    found = FeatureRows.read(texts, extract)
    return table_of(found, codes, with_texts(texts), names, test or ZTest(), extract)


def with_texts(texts: Sequence[tuple[str, ...]]) -> NDArray[np.intp]:
    """Numbers of the rows that have texts."""
    return np.asarray([row for row, own in enumerate(texts) if own], dtype=np.intp)


def check_labels(names: tuple[Hashable, ...], what: str) -> None:
    """Raise unless there are two labels or more."""
    if len(names) < 2:
        raise ValueError(f"{what}: all rows have the label {names[0]!r}; features tell labels apart, two at least.")


def table_of(
    found: FeatureRows,
    codes: NDArray[np.intp],
    rows: NDArray[np.intp],
    names: tuple[Hashable, ...],
    test: ZTest,
    extract: Features,
) -> ZTable:
    """The table of some rows of a corpus."""
    counts = found.counts(rows, codes[rows], len(names))
    label_counts = np.bincount(codes[rows], minlength=len(names)).astype(np.float64)
    expected = test.shares(label_counts)
    z = z_statistics(counts, expected) if len(counts) else np.zeros(counts.shape)
    limit = test.limit(counts)
    return ZTable(found.names, names, counts, z, expected, limit, test.min_count, label_counts, extract)
