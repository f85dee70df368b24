"""Polarity accuracy of texts that were rewritten for every group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.maps import MISSING
from hf_fairness.scores import polarity as scores
from hf_fairness.scores.statistics import N_BOOTSTRAP
from hf_fairness.utils import as_flag, is_missing


def polarity_accuracy(
    rows: Iterable[Mapping[str, Any]] | Mapping[str, Any],
    *,
    attribute: str | Path | Attribute = "gender",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Share of rows in which every variant reads as the group it was written for.

    Rows without words of the attribute (``has_terms`` false and no ``rejected_reason``) have identical variants that
    cannot differ in polarity: they are left out and counted, as are rows whose text is missing. Rejected rows count as
    they stand.

    Args:
        rows: a Dataset, an iterable of rows or a mapping of columns, with a text per group and ``neutral``, as
            ``GroupVariants`` and ``LLMGroupVariants`` make them.
        attribute: name, file or object.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.

    Returns:
        The keys of ``hf_fairness.scores.polarity.polarity_accuracy`` and ``n_skipped``.

    Raises:
        ValueError: a row is no mapping, a column or a text is missing, ``has_terms`` is neither true nor false, or no
            row is left.

    Source: Deng et al. 2024, equations 6 and 7.

    Example:
        >>> rows = [{"male": "He left.", "female": "She left.", "neutral": "They left."}]
        >>> polarity_accuracy(rows)["polarity_accuracy"]
        1.0
    """
    table: Any = rows
    if isinstance(rows, Mapping):
        from datasets import Dataset

        table = Dataset.from_dict(dict(rows))
    value = load_attribute(attribute)
    names = (*value.group_names, NEUTRAL)
    counts: dict[str, list[list[int]]] = {name: [] for name in names}
    skipped = 0
    for place, row in enumerate(table):
        if not isinstance(row, Mapping):
            raise ValueError(f"Each row must be a mapping of {', '.join(names)} to texts; rows[{place}] is {row!r}.")
        missing = [name for name in names if name not in row]
        if missing:
            raise ValueError(f"No column {missing[0]!r}. Columns: {', '.join(map(str, row))}.")
        has_terms = as_flag(row.get("has_terms", True), f"rows[{place}]['has_terms']")
        reason = row.get("rejected_reason")  # a file reads an empty cell as None or NaN
        if not has_terms and (is_missing(reason) or str(reason).strip() in ("", MISSING)):
            skipped += 1
            continue
        for name in names:
            if not isinstance(row[name], str):
                raise ValueError(
                    f"rows[{place}][{name!r}] is {row[name]!r}; expected a text. Leave rows without one out, or mark "
                    f"them by has_terms=False and rejected_reason={MISSING!r}, as GroupVariants does."
                )
            counts[name].append([value.counts(row[name])[group] for group in value.group_names])
    if not counts[NEUTRAL]:
        raise ValueError(
            f"No row with words of {value.name!r} is left to judge ({skipped} without). Check the attribute and texts."
        )
    arrays = {name: np.asarray(table, dtype=np.float64) for name, table in counts.items()}
    result = scores.polarity_accuracy(arrays, value.group_names, n_bootstrap=n_bootstrap, seed=seed)
    return {**result, "n_skipped": skipped}
