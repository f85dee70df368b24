"""Whether made texts repeat those of a test set: shared n-grams, and whole texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.refine.text_features import ngrams_of, words_of
from hf_fairness.rows import read_columns
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import share_entry

Rows = Any


def ngram_overlap(
    samples: Rows,
    challenge: Mapping[str, Rows],
    *,
    columns: Sequence[str] = ("premise", "hypothesis"),
    whole_column: str | None = "hypothesis",
    n: int = 8,
    examples: int = 5,
) -> dict[str, Any]:
    """Share of samples that have an n-gram, or a whole text, in common with a test set.

    Words are compared in small letters and without marks. Short texts have no n-gram of eight words; they are caught
    when the whole text of ``whole_column`` is one of the test set's.

    Args:
        samples: generated rows: a ``datasets.Dataset`` or a list of mappings.
        challenge: test sets by name, rows as ``samples``.
        columns: text columns that are looked at, in the samples and in the test sets; a test set may lack some.
        whole_column: column whose whole texts are compared; None compares n-grams only.
        n: words of an n-gram.
        examples: row numbers of leaking samples that are listed at most.

    Returns:
        ``leak_share`` (either of both, in any set), ``ngram_share`` and ``equal_share``, each with ``_ci95``; the same
        under ``by_set`` for each test set, with ``n_reference`` rows; ``examples``: numbers of rows; ``n``, ``meta``.
        Ideal 0; higher is worse: the test set no longer measures what a model has not seen.

    Raises:
        ValueError: no samples, no test set, a missing column, n below 1.

    Example:
        >>> samples = [{"hypothesis": "The cat saw us."}, {"hypothesis": "It rains."}]
        >>> found = ngram_overlap(samples, {"hans": [{"hypothesis": "it rains"}]}, columns=["hypothesis"])
        >>> found["leak_share"], found["by_set"]["hans"]["ngram_share"]
        (0.5, 0.0)
    """
    flags = overlapping_rows(samples, challenge, columns=columns, whole_column=whole_column, n=n)
    total = len(next(iter(flags.values()))["ngram"])
    shared = {kind: np.any([found[kind] for found in flags.values()], axis=0) for kind in ("ngram", "equal")}
    leaks = shared["ngram"] | shared["equal"]
    return {
        **_shares(shared, leaks),
        "by_set": {
            name: {**_shares(found, found["ngram"] | found["equal"]), "n_reference": len(challenge[name])}
            for name, found in flags.items()
        },
        "examples": np.flatnonzero(leaks)[:examples].tolist(),
        "n": total,
        "meta": describe(
            n=total,
            convention=f"n-grams of {n} words, small letters, without marks, within one text; equal: all words of "
            f"{whole_column}; interval: Wilson",
            ideal="0",
            direction="higher: more of the test set is in the training rows",
            seed=0,
        ),
    }


def overlapping_rows(
    samples: Rows,
    challenge: Mapping[str, Rows],
    *,
    columns: Sequence[str] = ("premise", "hypothesis"),
    whole_column: str | None = "hypothesis",
    n: int = 8,
) -> dict[str, dict[str, NDArray[np.bool_]]]:
    """Which samples share an n-gram or a whole text with each test set; arguments of :func:`ngram_overlap`.

    Returns:
        For each test set ``ngram`` and ``equal``, one entry per sample: so that leaking samples can be left out.

    Raises:
        ValueError: as :func:`ngram_overlap`.
    """
    if n < 1 or not challenge or not len(samples):
        raise ValueError(
            f"Overlap needs samples, test sets and n of at least 1; got {len(samples)}, {len(challenge)}, {n}."
        )
    wanted = list(dict.fromkeys([*columns, *([] if whole_column is None else [whole_column])]))
    texts = read_columns(samples, wanted, "samples")
    grams: dict[str, int] = {}
    wholes: dict[str, int] = {}
    for place, (name, rows) in enumerate(challenge.items()):
        reference = read_columns(rows, (), name, wanted)
        if not reference:
            raise ValueError(f"The test set {name!r} has none of the columns {', '.join(wanted)}.")
        for column, values in reference.items():
            for text in set(values):
                words = words_of(text)
                if column in columns:
                    for gram in ngrams_of(words, n):
                        grams[gram] = grams.get(gram, 0) | 1 << place
                if column == whole_column:
                    wholes[" ".join(words)] = wholes.get(" ".join(words), 0) | 1 << place
    found = {kind: [0] * len(next(iter(texts.values()))) for kind in ("ngram", "equal")}
    for column, values in texts.items():
        for row, text in enumerate(values):
            words = words_of(text)
            if column in columns:
                for gram in ngrams_of(words, n):
                    found["ngram"][row] |= grams.get(gram, 0)
            if column == whole_column and words:
                found["equal"][row] |= wholes.get(" ".join(words), 0)
    return {
        name: {kind: np.array([bool(bits >> place & 1) for bits in rows], dtype=bool) for kind, rows in found.items()}
        for place, name in enumerate(challenge)
    }


def _shares(shared: Mapping[str, NDArray[np.bool_]], leaks: NDArray[np.bool_]) -> dict[str, Any]:
    result = share_entry("leak_share", int(leaks.sum()), len(leaks))
    for kind, rows in shared.items():
        result |= share_entry(f"{kind}_share", int(rows.sum()), len(rows))
    return result
