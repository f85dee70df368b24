"""What a refinement does to a corpus, in numbers: the distribution of scores, thresholds, what is swapped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.attributes import load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment import CounterfactualAugmentation
from hf_fairness.refine.balancing import polarities
from hf_fairness.refine.counterfactuals import SOURCE, Texts, rows_of, swapped, unseen
from hf_fairness.refine.percentile import PERCENTILES, check_percentile, threshold
from hf_fairness.rows import Columns, check_dataset, check_lacking, column_names, column_values, row_scores
from hf_fairness.scores import meta
from hf_fairness.scores.statistics import Floats, share_entry

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hf_fairness.augment.transforms import SwapOptions

CONVENTION = (
    "score of a row: greatest absolute value among its scores; threshold: percentile, linear between neighbours; "
    "rows strictly above it are taken; share_duplicated: share of these whose counterfactual is added, its interval "
    "over rows. Thresholds and counts describe this corpus and estimate nothing."
)


def describe(
    original: Any,
    refined: Any = None,
    *,
    score_columns: Columns | None = None,
    scores: ArrayLike | None = None,
    refined_scores: ArrayLike | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    text_columns: Columns | None = None,
    bins: int = 60,
    **swap_options: Unpack[SwapOptions],
) -> dict[str, Any]:
    """Describe the scores of a corpus, and what subtraction and compensation do at each percentile.

    Args:
        original: the corpus before; one ``datasets.Dataset``.
        refined: the corpus after, if there is one.
        score_columns: column or columns of scores; or
        scores: the scores of ``original``, shape (n,) or (n, k).
        refined_scores: the scores of ``refined``, measured again; None takes those of its rows that were not
            added, if it has the score columns.
        percentiles: each in [1, 100); those of the paper unless told otherwise.
        text_columns: column or columns of texts. With them the result says how many rows above a threshold
            have terms and how many rows of each group there are.
        bins: number of bars of the histogram.
        **swap_options: those of ``hf_fairness.augment.CounterfactualSwap``.

    Returns:
        Python numbers, lists and strings, ready for JSON:

        - ``n``, ``max``, ``mean``: rows, highest and mean score.
        - ``histogram``: ``counts`` and ``edges``, one longer.
        - ``percentiles``: for each, in rising order, ``percentile``, ``threshold``, ``n_above``,
          ``share_above``, ``max_kept`` (highest score that subtraction leaves) and, with ``text_columns``,
          ``n_with_terms`` (rows above that have terms), ``n_without_terms``, ``n_added`` (rows that
          compensation adds), ``n_already_there`` (rows whose counterfactual is in the corpus, or is added
          once for several) and ``share_duplicated`` = n_added / n_above with its ``_ci95``, None where no row
          lies above.
        - ``groups``: with ``text_columns``, rows by the polarity of their texts.
        - ``n_missing``: with ``text_columns``, rows that lack a text; they have no polarity and are not swapped, and
          with ``on_missing="error"`` they are refused.
        - ``refined``: with ``refined``, the same ``n``, ``max``, ``mean`` and ``groups`` after, and
          ``n_scored``, the rows behind max and mean, and ``n_counterfactual``. Without scores max and mean are
          None.
        - ``meta``.

    Raises:
        TypeError: no Dataset, or columns of another type.
        ValueError: percentile out of range, no rows, a missing column, NaN.

    Source: Dolci et al. 2023, section 4.2 and figure 5.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import describe
        >>> corpus = Dataset.from_dict({"text": ["He ran.", "Rain."], "score": [0.9, 0.1]})
        >>> describe(corpus, score_columns="score", percentiles=[50])["percentiles"][0]["max_kept"]
        0.1
    """
    check_dataset(original, "describe")
    values = row_scores(original, score_columns, scores, "describe")
    levels = sorted({check_percentile(level, "describe") for level in percentiles})
    if not levels:
        raise ValueError("describe: percentiles is empty; name at least one, for example [95].")
    counts, edges = np.histogram(values, bins=bins, range=(0.0, float(values.max()) or 1.0))
    rows = [_level(values, level) for level in levels]
    result: dict[str, Any] = {
        "n": len(values),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
        "percentiles": rows,
    }
    names: Texts = ()
    if text_columns is not None:
        names = column_names(original, text_columns, "describe", "text_columns")
        _add_swaps(rows, original, values, names, swap_options)
        result["groups"], result["n_missing"] = _groups(original, names, swap_options)
    if refined is not None:
        check_dataset(refined, "describe")
        result["refined"] = _after(refined, score_columns, refined_scores)
        if names:
            after = result["refined"]
            after["groups"], after["n_missing"] = _groups(refined, names, swap_options)
    result["meta"] = meta.describe(
        n=len(values),
        convention=CONVENTION,
        ideal="max 0",
        direction="higher scores are worse",
        seed=0,
        score_columns=[score_columns] if isinstance(score_columns, str) else list(score_columns or []),
        text_columns=list(names),
    )
    return result


def _level(values: Floats, level: float) -> dict[str, Any]:
    limit = threshold(values, level)
    above = values > limit
    return {
        "percentile": level,
        "threshold": limit,
        "n_above": int(above.sum()),
        "share_above": float(above.mean()),
        "max_kept": float(values[~above].max()),
    }


def _add_swaps(levels: list[dict[str, Any]], dataset: Any, values: Floats, names: Texts, options: SwapOptions) -> None:
    """Write into each level how many of its rows are swapped; every row is swapped once for all levels."""
    chosen = np.flatnonzero(values > levels[0]["threshold"])
    made = swapped(dataset, chosen, CounterfactualAugmentation(list(names), **options))
    scores = values[np.asarray(column_values(made, SOURCE), dtype=np.intp)]
    texts, seen = rows_of(made, names), set(rows_of(dataset, names))
    for level in levels:
        inside = np.flatnonzero(scores > level["threshold"])
        added = np.zeros(level["n_above"])
        added[: len(unseen([texts[place] for place in inside], seen))] = 1.0
        level |= {
            "n_with_terms": len(inside),
            "n_without_terms": level["n_above"] - len(inside),
            "n_added": int(added.sum()),
            "n_already_there": len(inside) - int(added.sum()),
            **share_entry("share_duplicated", int(added.sum()), len(added)),
        }


def _groups(dataset: Any, names: Texts, options: SwapOptions) -> tuple[dict[str, int], int]:
    """Rows by the polarity of their texts, and rows that lack one."""
    value = load_attribute(options.get("attribute", "gender"))
    found = polarities(dataset, names, value)
    lacking = np.asarray([polarity is None for polarity in found])
    check_lacking(lacking, "describe", names, options.get("on_missing", "skip"), "they are counted apart")
    counts = Counter(found)
    return {name: counts[name] for name in (*value.group_names, NEUTRAL)}, int(lacking.sum())


def _after(refined: Any, score_columns: Columns | None, scores: ArrayLike | None) -> dict[str, Any]:
    flagged = "counterfactual" in refined.column_names
    added = np.asarray(column_values(refined, "counterfactual") if flagged else [False] * len(refined), dtype=bool)
    values = np.zeros(0)
    if scores is not None:
        values = row_scores(refined, None, scores, "describe: refined")
    elif score_columns is not None:
        values = row_scores(refined, score_columns, None, "describe: refined")[~added]
    return {
        "n": len(refined),
        "n_counterfactual": int(added.sum()),
        "n_scored": len(values),
        "max": float(values.max()) if len(values) else None,
        "mean": float(values.mean()) if len(values) else None,
    }
