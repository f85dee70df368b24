"""Every interval of hf-fairness: vectorised, seeded, in float64.

A bootstrap is a matrix of weights: how often each row (or each cluster of rows) was drawn; all that follows is
a matrix product.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.utils import is_missing, whole

Floats = NDArray[np.float64]

#: Bootstrap draws unless told otherwise: 50 of them lie beyond each end of a 95 % interval.
N_BOOTSTRAP = 2000
#: Permutation draws unless told otherwise (May et al. 2019).
N_SAMPLES = 100_000
#: Largest reach of an interval on the logarithm, a factor of 100: beyond it the units have told nothing.
MOST_LOG = 4.6
#: Cells of the largest temporary array (4 million float64 are 32 MB).
CHUNK_CELLS = 4_000_000


def as_values(values: ArrayLike, name: str, *, minimum: int = 1, ndim: int = 1) -> Floats:
    """A finite float64 array of the wanted number of dimensions, or an error that names the input.

    Args:
        values: anything numpy reads as numbers.
        name: how messages call it.
        minimum: least number of rows.
        ndim: number of dimensions.

    Returns:
        The array, float64.

    Raises:
        ValueError: wrong number of dimensions, too few rows, NaN or infinity.
    """
    try:
        array = _as_array(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers of {ndim} dimension(s); got {type(values).__name__}: {error}"
        ) from error
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s); got shape {array.shape}.")
    if array.shape[0] < minimum:
        raise ValueError(f"{name} holds {array.shape[0]} row(s); at least {minimum} are needed.")
    finite = np.isfinite(array)
    if not finite.all():
        bad = int(np.argwhere(~finite)[0][0])
        raise ValueError(
            f"{name} holds {int((~finite).sum())} value(s) that are NaN or infinite, the first in row {bad}. "
            "Find out where they come from; dropping them would change what is measured."
        )
    return array


def _as_array(values: Any) -> Floats:
    """Numbers as float64; a missing one becomes NaN, which is refused with its row."""
    if hasattr(values, "detach"):  # a tensor; numpy has no bfloat16
        values = values.detach().cpu()
        values = values.double() if values.is_floating_point() else values
    elif isinstance(values, list | tuple) and values and hasattr(values[0], "detach"):
        return np.array([_as_array(value) for value in values], dtype=np.float64)
    elif isinstance(values, np.ma.MaskedArray):  # numpy would read what is under the mask
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        objects = np.asarray(values, dtype=object)
        if objects.dtype != object or not any(is_missing(value) for value in objects.ravel()):
            raise
        return np.array([np.nan if is_missing(value) else value for value in objects.ravel()], np.float64).reshape(
            objects.shape
        )


def checked_seed(seed: Any) -> int:
    """The seed as an integer, or an error that says what a seed is."""
    try:
        return int(operator.index(seed))
    except TypeError:
        raise ValueError(
            f"seed must be a whole number, so that the result can be repeated; got {seed!r}. Leave it out for 0."
        ) from None


def generator(seed: int, *keys: object) -> np.random.Generator:
    """A generator for ``seed``; with ``keys``, a stream of its own for that seed and these keys.

    The same seed and keys give the same draws wherever they are asked for, so that two statistics over the
    same words resample these words together.

    Args:
        seed: any integer.
        *keys: anything whose ``repr`` identifies it.

    Returns:
        A numpy Generator; the global one is never used.
    """
    number = checked_seed(seed)
    digest = hashlib.blake2b(repr((number, keys)).encode(), digest_size=16).digest() if keys else b""
    return np.random.default_rng(int.from_bytes(digest, "big") if keys else abs(number))


def read_keys(values: Any, n: int, name: str) -> list[Hashable]:
    """The ONE reader of labels that tell rows apart (clusters, groups, queries): plain Python values, none missing.

    Two rows have the same label where the values are equal and of one kind: tensors and arrays are read as the numbers
    they hold, whole numbers of any size stay exact, texts keep every character.

    Args:
        values: a label per row: a sequence, an array, a series or a tensor.
        n: number of rows.
        name: how messages call them.

    Returns:
        One hashable value per row.

    Raises:
        ValueError: not one label per row, a missing one (None, NaN, ``pandas.NA``), one that cannot be a label.
    """
    labels = list(plain(values))
    if len(labels) != n:
        raise ValueError(f"{name} needs one label per row: got {len(labels)} labels for {n} rows.")
    labels = [_plain_label(label) for label in labels]
    missing = [row for row, label in enumerate(labels) if is_missing(label)]
    if missing:
        raise ValueError(
            f"{name} holds {len(missing)} row(s) without a label, the first in row {missing[0]}. Leave these rows out "
            "of all inputs, and say how many they were; rows without a label are not one group."
        )
    for row, label in enumerate(labels):
        try:
            hash(label)
        except TypeError:
            raise ValueError(
                f"{name}[{row}] is a {type(label).__name__}, which cannot be a label; give a text or a number per row."
            ) from None
    return labels


def plain(values: Any) -> Any:
    """A tensor, array, series or column of a data set as Python values (half precision too); all else as it is."""
    values = whole(values)
    if hasattr(values, "detach"):  # a torch tensor, maybe on a device
        values = values.detach().cpu()
    if hasattr(values, "tolist") and not isinstance(values, str | bytes):
        if getattr(getattr(values, "dtype", None), "kind", "") == "S":
            return [bytes(value) for value in values]
        return values.tolist()
    return values


def _plain_label(label: Any) -> Any:
    """A label as the Python value that it holds."""
    if hasattr(label, "detach"):
        label = label.detach().cpu()
    if hasattr(label, "tolist") and getattr(label, "ndim", 1) == 0:
        label = label.tolist()
    return tuple(_plain_label(part) for part in label) if isinstance(label, list | tuple) else label


def cluster_index(clusters: Any, n: int, name: str = "clusters") -> NDArray[np.intp]:
    """Number clusters 0, 1, ... in order of first appearance.

    Args:
        clusters: a label per row, as ``read_keys`` reads them.
        n: number of rows.
        name: how the message calls them.

    Returns:
        Cluster number of each row, shape (n,).

    Raises:
        ValueError: as ``read_keys``.
    """
    if type(clusters) is np.ndarray and clusters.dtype.kind in "biu" and clusters.shape == (n,) and n:
        _, first, index = np.unique(clusters, return_index=True, return_inverse=True)
        order = np.empty(len(first), dtype=np.intp)
        order[np.argsort(first)] = np.arange(len(first))
        return np.asarray(order[index])
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in read_keys(clusters, n, name)], dtype=np.intp)


def cluster_sums(values: Floats, index: NDArray[np.intp]) -> Floats:
    """Sum the rows of each cluster: (n,) or (n, k) values to (clusters,) or (clusters, k)."""
    total = np.zeros((int(index.max()) + 1, *values.shape[1:]))
    np.add.at(total, index, values)
    return total


def bootstrap_weights(n: int, n_bootstrap: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each of ``n`` units was drawn in each of ``n_bootstrap`` resamples, in chunks of rows.

    Args:
        n: number of units.
        n_bootstrap: number of resamples.
        rng: where the draws come from.

    Yields:
        Weights of shape (chunk, n); each row sums to n.
    """
    step = max(1, CHUNK_CELLS // max(n, 1))
    for start in range(0, n_bootstrap, step):
        rows = min(step, n_bootstrap - start)
        drawn = rng.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def bootstrap_means(
    values: ArrayLike,
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Floats:
    """Column means of resampled rows; columns are resampled together, which is what makes it paired.

    Args:
        values: shape (n,) or (n, k).
        clusters: a label per row; whole clusters are then drawn instead of rows, and the mean is still over
            rows.
        n_bootstrap: number of resamples.
        seed: of the draws.

    Returns:
        Shape (n_bootstrap,) or (n_bootstrap, k).

    Raises:
        ValueError: no rows, NaN, or not one cluster label per row.
    """
    array = np.asarray(values, dtype=np.float64)
    array = as_values(array, "values", ndim=2 if array.ndim == 2 else 1)
    matrix = array.reshape(len(array), -1)
    counts = np.ones(len(array))
    if clusters is not None:
        index = cluster_index(clusters, len(array))
        matrix, counts = cluster_sums(matrix, index), cluster_sums(counts, index)
    parts = [
        (weights @ matrix) / (weights @ counts)[:, None]
        for weights in bootstrap_weights(len(matrix), n_bootstrap, generator(seed))
    ]
    means = np.concatenate(parts)
    return means[:, 0] if array.ndim == 1 else means


def percentile_interval(samples: ArrayLike, *, confidence: float = 0.95) -> list[float]:
    """The central interval of bootstrap samples, as ``[low, high]``.

    Args:
        samples: values of the statistic under resampling, shape (n_bootstrap,).
        confidence: share of the samples inside, between 0 and 1.

    Returns:
        Two Python floats.

    Raises:
        ValueError: ``confidence`` outside (0, 1), no samples, NaN.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1; got {confidence}.")
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(as_values(samples, "samples"), [tail, 1.0 - tail])
    return [float(low), float(high)]


def share_interval(hits: int, n: int) -> list[float]:
    """95 % interval of a share by Wilson's score, which is no point where none or all of the rows are hits.

    Args:
        hits: rows that have the property.
        n: rows, at least one.

    Returns:
        ``[low, high]``.

    Raises:
        ValueError: no rows, more hits than rows.

    Source:
        Wilson 1927, *Probable Inference, the Law of Succession, and Statistical Inference*.

    Example:
        >>> [round(end, 3) for end in share_interval(0, 100)]
        [0.0, 0.037]
    """
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"Wanted 0 to n hits among n rows, at least one row; got {hits} of {n}.")
    from scipy.stats import binomtest  # takes half a second to import

    return [float(end) for end in binomtest(hits, n).proportion_ci(method="wilson")]


def share_entry(key: str, hits: int, n: int) -> dict[str, Any]:
    """A share and its interval as entries of a result; None where there are no rows."""
    if not n:
        return {key: None, f"{key}_ci95": None}
    return {key: hits / n, f"{key}_ci95": share_interval(hits, n)}


def freedom_of(sizes: ArrayLike) -> float:
    """Degrees of freedom of the variance of a mean over units of these sizes.

    The squared deviations of units from their common mean, weighted by size, are matched in mean and variance with a
    chi-squared distribution, as if sums of units varied in proportion to their sizes.

    Args:
        sizes: rows of each unit, two units or more.

    Returns:
        The number of units - 1 where all have one size, less where a few hold most rows.

    Source:
        Satterthwaite 1946; Bell and McCaffrey 2002 for clusters.

    Example:
        >>> round(freedom_of([8, 8, 8]), 9), round(freedom_of([22, 1, 1]), 2)
        (2.0, 1.26)
    """
    array = np.asarray(sizes, dtype=np.float64)
    weights = array / array.sum()
    # Residuals of units with unit variance: weights * (own - weighted mean); trace of their covariance and its square.
    two, three, four, five = (float((weights**power).sum()) for power in (2, 3, 4, 5))
    trace = two - 2.0 * three + two**2
    square = two**4 + 2.0 * two * four - 4.0 * two**2 * three + 2.0 * three**2 + four * (1.0 + 2.0 * two) - 4.0 * five
    # Between 1 and units - 1 by nature; rounding can leave that where one unit holds nearly all rows.
    return min(max(trace**2 / square, 1.0), len(weights) - 1.0) if square > 0.0 else 1.0


def mean_interval(
    values: ArrayLike, *, clusters: Any = None, low: float = -math.inf, high: float = math.inf
) -> list[float] | None:
    """95 % interval of a mean of few or clustered values: Student's, cut at the ends of the range.

    Args:
        values: shape (n,).
        clusters: a label per row; the mean is over rows, its variance is between clusters, with the degrees of freedom
            of ``freedom_of``.
        low: least value that the mean can have.
        high: greatest value.

    Returns:
        ``[low, high]``; None with fewer than two rows or clusters.

    Raises:
        ValueError: no rows, NaN, or not one cluster label per row.

    Example:
        >>> [round(end, 3) for end in mean_interval([0.9, 1.0], low=0.0, high=1.0)]
        [0.315, 1.0]
    """
    from scipy.special import stdtrit

    array = as_values(values, "values")
    parts, sizes = array - array.mean(), np.ones(len(array))
    if clusters is not None:
        index = cluster_index(clusters, len(array))
        parts, sizes = cluster_sums(parts, index), cluster_sums(sizes, index)
    units = len(parts)
    if units < 2:
        return None
    error = math.sqrt(float(parts @ parts) * units / (units - 1)) / len(array)
    half, mean = float(stdtrit(freedom_of(sizes), 0.975)) * error if error else 0.0, float(array.mean())
    return [max(low, mean - half), min(high, mean + half)]


def mean_statistic_interval(
    columns: ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    clusters: Any = None,
    positive: bool = False,
) -> list[float] | None:
    """95 % interval of a function of column means: Student's, with the variance that leaving out each unit shows.

    The degrees of freedom are those of ``freedom_of``; ``benchmarks/interval_coverage.py`` shows how often the interval
    covers.

    Args:
        columns: shape (n, k).
        statistic: maps means, shape (m, k), to the statistic, shape (m,).
        clusters: a label per row, left out as a whole.
        positive: whether the statistic is above 0 by nature (a mean distance): then the interval is made on the
            logarithm.

    Returns:
        ``[low, high]``; None with fewer than two units, or where leaving one out leaves the statistic undefined.

    Raises:
        ValueError: no rows, NaN, or not one cluster label per row.

    Example:
        >>> [round(end, 3) for end in mean_statistic_interval([[1.0], [2.0], [3.0]], lambda m: m[:, 0], positive=True)]
        [0.557, 7.186]
    """
    from scipy.special import stdtrit

    sums = as_values(columns, "columns", ndim=2)
    sizes = np.ones(len(sums))
    if clusters is not None:
        index = cluster_index(clusters, len(sums))
        sums, sizes = cluster_sums(sums, index), cluster_sums(sizes, index)
    units, rows = len(sums), float(sizes.sum())
    if units < 2:
        return None
    value = float(statistic(sums.sum(axis=0, keepdims=True) / rows)[0])
    without = statistic((sums.sum(axis=0) - sums) / (rows - sizes)[:, None])
    if not (math.isfinite(value) and np.isfinite(without).all()):
        return None
    positive = positive and value > 0.0 and bool((without > 0.0).all())
    moves = np.log(without / value) if positive else without - value
    error = math.sqrt(float(moves @ moves) * (units - 1) / units)
    half = float(stdtrit(freedom_of(sizes), 0.975)) * error if error else 0.0
    if positive:
        half = min(half, MOST_LOG)
        return [value * math.exp(-half), value * math.exp(half)]
    return [value - half, value + half]


def over_seeds(values: Sequence[float | None], *, low: float = -math.inf, high: float = math.inf) -> dict[str, Any]:
    """Mean over seeds with Student's interval, cut at the ends of the range that the quantity can have.

    The interval says how the mean would move with other seeds, on the same texts.

    Args:
        values: one per seed.
        low: least possible value: 0 for a rate, -1 for a difference of rates.
        high: greatest possible value.

    Returns:
        ``mean``, ``ci95`` (None with one seed), ``by_seed``; mean and interval None where a seed's value is undefined.

    Example:
        >>> found = over_seeds([0.2, 0.6], low=0.0, high=1.0)
        >>> found["mean"], found["ci95"]
        (0.4, [0.0, 1.0])
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return {"mean": None, "ci95": None, "by_seed": list(values)}
    array = as_values(known, "values by seed")
    return {"mean": float(array.mean()), "ci95": mean_interval(array, low=low, high=high), "by_seed": array.tolist()}
