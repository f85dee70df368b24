"""What happens to the rows above a percentile of their scores: taken out, balanced, or both."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.refine.counterfactuals import SOURCE, refined
from hf_fairness.rows import Columns, check_dataset, column_values, row_scores
from hf_fairness.scores.statistics import Floats, generator
from hf_fairness.utils import FairnessWarning

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hf_fairness.augment.transforms import SwapOptions

#: Percentiles of Dolci et al. 2023, section 4.2.
PERCENTILES = (90.0, 93.0, 95.0, 97.0)


def check_percentile(percentile: float, what: str) -> float:
    """The percentile as a float.

    Raises:
        TypeError: no number.
        ValueError: outside [1, 100).
    """
    if isinstance(percentile, bool) or not isinstance(percentile, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what}: percentile must be a number, got {percentile!r}.")
    if not 1 <= percentile < 100:
        raise ValueError(
            f"{what}: percentile must lie in [1, 100), in per cent; got {percentile!r}. "
            "For the 5 % of rows with the highest scores write percentile=95."
        )
    return float(percentile)


def threshold(scores: Floats, percentile: float) -> float:
    """The percentile of the scores, linear between neighbours, to the bit as ``numpy.percentile``."""
    below, share = rank(len(scores), percentile)
    above = min(below + 1, len(scores) - 1)
    ranked = np.partition(scores, (below, above))
    return between(float(ranked[below]), float(ranked[above]), share)


def rank(n: int, percentile: float) -> tuple[int, float]:
    """Place of the score just below a percentile among n sorted ones, from 0, and the share of the way to the next."""
    place = (n - 1) * (percentile / 100)
    return int(place), place - int(place)


def between(low: float, high: float, share: float) -> float:
    """The value at a share of the way between two, rounded as numpy does it."""
    return high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share


def rows_above(scores: Floats, percentile: float, what: str) -> NDArray[np.bool_]:
    """Which rows lie strictly above the percentile; says so when none does."""
    taken: NDArray[np.bool_] = scores > threshold(scores, check_percentile(percentile, what))
    if not taken.any():
        warnings.warn(
            f"{what}: no row lies above the {percentile:g}th percentile, because its value is also the highest "
            "score; nothing is taken. Lower the percentile, or look at the scores.",
            FairnessWarning,
            stacklevel=4,
        )
    return taken


def subtract(
    dataset: Any, *, percentile: float, score_columns: Columns | None = None, scores: ArrayLike | None = None
) -> Any:
    """Leave out the rows with the highest scores.

    A row's score is the greatest absolute value among its scores. Rows strictly above the percentile go; the
    percentile is linear between neighbouring scores, so rows equal to it stay, however many they are.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        percentile: in [1, 100); 95 leaves out about 5 % of the rows. The paper takes 97, 95, 93 and 90.
        score_columns: column or columns of scores, for example ``premise_bias_absolute`` and
            ``hypothesis_bias_absolute`` as ``hf_fairness.measure.BiasScore`` adds them; or
        scores: the scores, shape (n,) or (n, k).

    Returns:
        The other rows, in their order.

    Raises:
        TypeError: no Dataset, no percentile, or columns that hold no numbers.
        ValueError: percentile out of range, no rows, a missing column, NaN.

    Source: Dolci et al. 2023, section 4.2.1.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import subtract
        >>> corpus = Dataset.from_dict({"text": ["a", "b", "c"], "score": [0.1, 0.9, 0.2]})
        >>> subtract(corpus, percentile=90, score_columns="score")["text"][:]
        ['a', 'c']
    """
    return _refined("subtract", dataset, percentile, score_columns, scores)


def compensate(
    dataset: Any,
    *,
    percentile: float,
    text_columns: Columns,
    score_columns: Columns | None = None,
    scores: ArrayLike | None = None,
    **swap_options: Unpack[SwapOptions],
) -> Any:
    """Add the counterfactual of every row with a high score, so that the corpus says it of every group.

    Rows strictly above the percentile (see :func:`subtract`) are swapped in all text columns together. Rows
    without terms are skipped, and no row is added whose texts the result already holds: each is added once,
    and where the corpus has both versions nothing is added. An added row keeps the values of its source in
    all other columns, its scores too: measure these again where they matter.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        percentile: in [1, 100); 95 looks at about 5 % of the rows.
        text_columns: column or columns of texts, swapped together.
        score_columns: column or columns of scores; or
        scores: the scores, shape (n,) or (n, k).
        **swap_options: those of ``hf_fairness.augment.CounterfactualSwap``: attribute, target, names,
            label_column, tagger, ... The paper swaps given names too (``names=True``).

    Returns:
        All rows in their order, then the added ones in the order of their sources, with three more columns:
        ``counterfactual`` (bool), ``edits`` (JSON, read by ``parse_edits``; ``"[]"`` for a row that was there)
        and ``source_row`` (number of the row that this one is, or was made from), by which :func:`split` keeps
        both together.

    Raises:
        TypeError: no Dataset, no percentile, or columns of another type.
        ValueError: percentile out of range, no rows, a missing column, NaN, or a data set that has one of the
            three columns, as after an earlier call.

    Source: Dolci et al. 2023, section 4.2.2; there a row is added even where the corpus holds it.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import compensate
        >>> corpus = Dataset.from_dict({"text": ["Rain.", "She is a nurse."], "score": [0.1, 0.9]})
        >>> compensate(corpus, percentile=50, text_columns="text", score_columns="score")["text"][:]
        ['Rain.', 'She is a nurse.', 'He is a nurse.']
    """
    return _refined("compensate", dataset, percentile, score_columns, scores, text_columns, swap_options)


def replace(
    dataset: Any,
    *,
    percentile: float,
    text_columns: Columns,
    score_columns: Columns | None = None,
    scores: ArrayLike | None = None,
    **swap_options: Unpack[SwapOptions],
) -> Any:
    """Put the counterfactual in the place of every row with a high score.

    What :func:`subtract` keeps, then what :func:`compensate` would add. So a row above the percentile without
    terms is left out, and so is one whose counterfactual the corpus already holds.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        percentile: in [1, 100); 95 replaces about 5 % of the rows.
        text_columns: column or columns of texts, swapped together.
        score_columns: column or columns of scores; or
        scores: the scores, shape (n,) or (n, k).
        **swap_options: those of ``hf_fairness.augment.CounterfactualSwap``.

    Returns:
        The rows that are kept in their order, then the counterfactuals in the order of their sources, with the
        columns that :func:`compensate` adds.

    Raises:
        TypeError: as :func:`compensate`.
        ValueError: as :func:`compensate`.

    Source: Dolci et al. 2023, section 7, who propose it as future work.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import replace
        >>> corpus = Dataset.from_dict({"text": ["Rain.", "She is a nurse."], "score": [0.1, 0.9]})
        >>> replace(corpus, percentile=50, text_columns="text", score_columns="score")["text"][:]
        ['Rain.', 'He is a nurse.']
    """
    return _refined("replace", dataset, percentile, score_columns, scores, text_columns, swap_options)


def _refined(
    what: str,
    dataset: Any,
    percentile: float,
    score_columns: Columns | None,
    scores: ArrayLike | None,
    text_columns: Columns = (),
    options: SwapOptions | None = None,
) -> Any:
    """Find the rows above a percentile, and do with them what one of the functions above does."""
    check_dataset(dataset, what)
    above = rows_above(row_scores(dataset, score_columns, scores, what), percentile, what)
    return treated(what, dataset, above, text_columns, options)


def treated(
    what: str,
    dataset: Any,
    above: NDArray[np.bool_],
    text_columns: Columns = (),
    options: SwapOptions | None = None,
    *,
    first: int = 0,
    accepted: NDArray[np.intp] | None = None,
) -> Any:
    """A corpus, or a part of one, of which it is known which rows lie above the percentile.

    Args:
        what: ``"subtract"``, ``"compensate"`` or ``"replace"``.
        dataset: the rows.
        above: which of them do, shape (n,).
        text_columns: swapped together.
        options: of the swap.
        first: number of the first row in the corpus.
        accepted: as :func:`hf_fairness.refine.counterfactuals.refined` takes it.
    """
    kept = np.arange(len(dataset)) if what == "compensate" else np.flatnonzero(~above)
    if what == "subtract":
        return dataset.select(kept)
    chosen = np.flatnonzero(above)
    return refined(dataset, chosen, kept, text_columns, options or {}, what, first=first, accepted=accepted)


def random_subtract(dataset: Any, *, n: int | None = None, like: Any = None, seed: int = 0) -> Any:
    """Leave out rows at random: the control that tells the choice of rows from their number.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        n: number of rows to leave out; or
        like: another refinement of the same corpus; as many rows are left as it has.
        seed: of the choice.

    Returns:
        The other rows, in their order.

    Raises:
        TypeError: no Dataset, or both or neither of ``n`` and ``like``.
        ValueError: ``n`` outside [0, number of rows), or ``like`` has more rows than the corpus, or none.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import random_subtract
        >>> len(random_subtract(Dataset.from_dict({"text": ["a", "b", "c"]}), n=1))
        2
    """
    check_dataset(dataset, "random_subtract")
    if (n is None) == (like is None):
        raise TypeError("random_subtract: give n or like, and not both.")
    number = len(dataset) - len(like) if n is None else n
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"random_subtract: n must be a whole number, got {n!r}.")
    if not 0 <= number < len(dataset):
        wanted = f"like with 1 to {len(dataset)} rows" if n is None else f"n in [0, {len(dataset)})"
        got = len(like) if n is None else n
        raise ValueError(f"random_subtract: wanted {wanted} for a corpus of {len(dataset)} rows, got {got}.")
    kept = generator(seed).permutation(len(dataset))[number:]
    return dataset.select(np.sort(kept))


def random_refine(
    dataset: Any,
    *,
    like: Any,
    text_columns: Columns,
    seed: int = 0,
    **swap_options: Unpack[SwapOptions],
) -> Any:
    """Do to rows at random what a refinement did to those with high scores: the control of equal size for any of them.

    As many rows are left out as ``like`` leaves out, and as many counterfactuals are added as it adds, of rows drawn
    at random. Where it both leaves out and adds (:func:`replace`), the sources of those added are left out first.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        like: what :func:`subtract`, :func:`compensate` or :func:`replace` made of it.
        text_columns: column or columns of texts, swapped together.
        seed: of the choice.
        **swap_options: those of ``hf_fairness.augment.CounterfactualSwap``, as for ``like``.

    Returns:
        The rows, with the columns of ``like``.

    Raises:
        TypeError: no Dataset.
        ValueError: ``like`` is no refinement of this corpus.

    Warns:
        FairnessWarning: the corpus has fewer rows that can be swapped than ``like`` has counterfactuals.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import compensate, random_refine
        >>> corpus = Dataset.from_dict({"text": ["Rain.", "He sang.", "She is a nurse."], "score": [0.1, 0.2, 0.9]})
        >>> fairer = compensate(corpus, percentile=60, text_columns="text", score_columns="score")
        >>> random_refine(corpus, like=fairer, text_columns="text", seed=1)["text"][:]
        ['Rain.', 'He sang.', 'She is a nurse.', 'She sang.']
    """
    check_dataset(dataset, "random_refine")
    n = len(dataset)
    added = int(sum(column_values(like, "counterfactual"))) if "counterfactual" in like.column_names else 0
    gone = n - (len(like) - added)
    if not 0 <= gone < n:
        raise ValueError(
            f"random_refine: like holds {len(like) - added} rows of a corpus of {n}: it is none of its own."
        )
    if "counterfactual" not in like.column_names:
        return random_subtract(dataset, n=gone, seed=seed)
    order = generator(seed).permutation(n)
    size = made = 0
    while made < added and size < n:  # most rows need not be swapped to find as many as are wanted
        size = min(n, max(2 * size, 4 * added, 16))
        rows = refined(dataset, order[:size], np.arange(n), text_columns, swap_options, "random_refine")
        made = len(rows) - n
    if not added:
        rows = refined(dataset, order[:0], np.arange(n), text_columns, swap_options, "random_refine")
    if made < added:
        warnings.warn(
            f"random_refine: {made} rows of the corpus can be swapped, and {added} are wanted: all of them are added.",
            FairnessWarning,
            stacklevel=2,
        )
    sources = column_values(rows, SOURCE)[n : n + added]
    first = sources if gone else []
    out = [*first, *(row for row in order.tolist() if row not in set(first))][:gone]
    kept = np.setdiff1d(np.arange(n), np.asarray(out, dtype=np.intp))
    return rows.select([*kept.tolist(), *range(n, n + len(sources))])
