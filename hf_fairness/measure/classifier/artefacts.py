"""Rows whose artefact speaks against their label: what a model that relies on the artefact gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.refine.labelled_texts import read_corpus
from hf_fairness.rows import Columns
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import share_entry

#: From the texts of a row to the label that its artefact speaks for (name or number), None where it has no artefact.
SpeaksFor = Callable[..., Hashable | None]


def anti_artefact_rows(
    dataset: Any, speaks_for: SpeaksFor, *, text_columns: Columns, label_column: str = "label"
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows have an artefact, and in which of them it speaks for another label.

    Args:
        dataset: labelled rows; one ``datasets.Dataset``.
        speaks_for: from the texts of a row to a label or None, for example ``z_table(train, ...).speaks_for`` of
            ``hf_fairness.refine``.
        text_columns: column or columns of texts that it reads.
        label_column: names or numbers from 0.

    Returns:
        Two masks, shape (n,) each; the second is within the first.

    Raises:
        TypeError: no Dataset.
        ValueError: no rows, a missing column, a row without a label, or an artefact that speaks for an unknown label.

    Example:
        >>> from datasets import Dataset
        >>> rows = Dataset.from_dict({"text": ["no rain", "no sun", "wet"], "label": ["con", "ent", "ent"]})
        >>> def negation(text):
        ...     return "con" if "no" in text.split() else None
        >>> anti_artefact_rows(rows, negation, text_columns="text")[1].tolist()
        [False, True, False]
    """
    _, texts, _, values = read_corpus(dataset, text_columns, label_column, "anti_artefact_rows")
    words = getattr(dataset.features[label_column], "names", None)
    pointed = [speaks_for(*row) for row in texts]
    known = set(words or ()) | set(range(len(words or ()))) | set(values)
    unknown = next((label for label in pointed if label is not None and label not in known), None)
    if unknown is not None:
        listed = ", ".join(map(repr, words or sorted(set(values), key=str)))
        raise ValueError(f"speaks_for gives the label {unknown!r}, which the rows lack: {listed}.")
    names: dict[Hashable, Hashable] = dict(enumerate(words or ()))
    has = np.asarray([label is not None for label in pointed])
    differs = [names.get(label, label) != names.get(value, value) for label, value in zip(pointed, values, strict=True)]
    return has, has & np.asarray(differs)


def anti_artefact_share(
    dataset: Any, speaks_for: SpeaksFor, *, text_columns: Columns, label_column: str = "label"
) -> dict[str, Any]:
    """Share of rows, among those with an artefact, whose artefact speaks for another label than theirs.

    Args:
        dataset: labelled rows.
        speaks_for: as in :func:`anti_artefact_rows`.
        text_columns: as there.
        label_column: as there.

    Returns:
        ``anti_artefact_share`` (None where no row has an artefact) and ``artefact_share`` (of all rows), with
        ``_ci95``; ``n``, ``n_with_artefact``, ``meta``.

    Raises:
        TypeError: as :func:`anti_artefact_rows`.
        ValueError: as :func:`anti_artefact_rows`.
    """
    has, against = anti_artefact_rows(dataset, speaks_for, text_columns=text_columns, label_column=label_column)
    n, with_artefact = len(has), int(has.sum())
    return {
        **share_entry("anti_artefact_share", int(against.sum()), with_artefact),
        **share_entry("artefact_share", with_artefact, n),
        "n": n,
        "n_with_artefact": with_artefact,
        "meta": describe(
            n=with_artefact,
            convention="rows whose artefact speaks for another label / rows with an artefact; interval: Wilson",
            ideal="1 - 1 / number of labels, where labels are balanced: the artefact says nothing",
            direction="lower: the artefact gives the label away; higher than ideal: it speaks against it",
            seed=0,
        ),
    }
