"""Counts of what a rewrite touches and what it leaves alone, for reports and data set cards."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.augment.engine import LANGUAGES, engine_for
from hf_fairness.maps import check_text
from hf_fairness.utils import FairnessWarning, is_missing, whole


def summarize(
    texts: Any, *, column: str | None = None, attribute: str | Path | Attribute = "gender", names: bool = False
) -> dict[str, Any]:
    """Count the texts that a rewrite changes, and say why the others stay.

    The map functions are pure and keep no counts; this pass over the same column gives them. A warning says
    how many texts are in another language, since these are left as they are.

    Args:
        texts: texts, for example ``dataset["text"]``; or a data set, a stream or several splits, whose column of texts
            is read. Read once.
        column: the column of a data set; None means ``text``, or the only column of texts there is.
        attribute: name, file or object.
        names: whether given names count as terms.

    Returns:
        ``n``: number of texts. ``with_terms``: texts that a rewrite to another group changes.
        ``without_terms``, ``empty``, ``missing`` (None, NaN), ``other_language``: the rest; the five add up to ``n``.
        ``mixed``: texts with terms of more than one group (of ``with_terms``).
        ``terms``: group -> number of terms.
        ``kept``: phrase in lower case -> how often it was left alone, as an idiom (*mother tongue*), a thing (*male*
        of a connector) or part of a name (*Burger King*); the commonest first.

    Raises:
        TypeError: neither texts nor a data set; or a text is none, and the message holds its position.
        ValueError: a data set without such a column, or with several to choose from.

    Example:
        >>> from hf_fairness.augment import summarize
        >>> counts = summarize(["She left.", "Rain.", ""])
        >>> counts["with_terms"], counts["without_terms"], counts["empty"], counts["terms"]
        (1, 1, 1, {'male': 0, 'female': 1})
        >>> summarize(["His mother tongue.", "Her mother."])["kept"]
        {'mother tongue': 1}
    """
    value = load_attribute(attribute)
    engine = engine_for(value, names)
    in_language = LANGUAGES[value.language]
    counts = dict.fromkeys(("n", "with_terms", "without_terms", "empty", "missing", "other_language", "mixed"), 0)
    terms = dict.fromkeys(value.group_names, 0)
    kept = Counter[str]()
    for i, text in enumerate(_texts_of(texts, column)):
        counts["n"] += 1
        if is_missing(text):
            counts["missing"] += 1
            continue
        if not check_text(text, f" at position {i}").strip():
            counts["empty"] += 1
            continue
        hits = engine.find(text)[0]
        kept.update(engine.kept(text, hits))
        if hits:
            counts["with_terms"] += 1
            counts["mixed"] += len({hit.candidate.group for hit in hits}) > 1
            for hit in hits:
                terms[hit.candidate.group] += 1
        else:
            counts["without_terms" if in_language(text) else "other_language"] += 1
    if counts["other_language"]:
        warnings.warn(
            f"{counts['other_language']} of {counts['n']} texts do not look like language "
            f"{value.language!r}; they are left as they are and count as texts without terms.",
            FairnessWarning,
            stacklevel=2,
        )
    return {**counts, "terms": terms, "kept": dict(kept.most_common())}


def _texts_of(data: Any, column: str | None) -> Iterable[Any]:
    """The texts of what :func:`summarize` was given."""
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise TypeError(
            f"summarize takes texts or a data set, got {type(data).__name__}: {data!r:.60}. Pass a list of texts, "
            'dataset["text"], or the data set itself.'
        )
    if hasattr(data, "column_names") and not isinstance(data, Mapping):
        return _column_of(data, column)
    if isinstance(data, Mapping):
        splits = list(data.values())
        if not splits or not all(hasattr(split, "column_names") for split in splits):
            raise TypeError(
                f"summarize takes texts or a data set, got a {type(data).__name__} of {', '.join(map(str, data))}. "
                "Pass one of its columns."
            )
        return itertools.chain.from_iterable(_column_of(split, column) for split in splits)
    if column is not None:
        raise TypeError(f"summarize: column={column!r} belongs to a data set, got {type(data).__name__}. Leave it out.")
    found: Iterable[Any] = whole(data)
    return found


def _column_of(data: Any, column: str | None) -> Iterable[Any]:
    """The texts of a data set or a stream."""
    rows = data.with_format(None)
    if rows.column_names is None:  # a stream that was not looked into
        rows = rows._resolve_features()
    names = list(rows.column_names or ())
    found = [name for name in names if str(getattr(rows.features[name], "dtype", "")).endswith("string")]
    name = column or ("text" if "text" in found else found[0] if len(found) == 1 else None)
    if name is None or name not in names:
        what = "several columns of texts" if column is None and found else f"no column {column or 'of texts'!r}"
        raise ValueError(
            f"summarize: the data set has {what}. Columns: {', '.join(names)}. Name one: "
            "summarize(dataset, column=...)."
        )
    batches = rows.select_columns([name]).iter(batch_size=1000)
    return itertools.chain.from_iterable(batch[name] for batch in batches)
