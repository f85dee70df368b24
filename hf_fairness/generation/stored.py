"""Variants of texts from finished rewrites alone: nothing is asked, and no client is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.generation.asking import Outcome
from hf_fairness.generation.cache import Record, RewriteCache
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.prompts import names_of
from hf_fairness.generation.rewriter import variant_row
from hf_fairness.maps import Row


def stored_variants(
    texts: Sequence[str],
    cache: str | os.PathLike[str],
    *,
    attribute: str | Path | Attribute = "gender",
    min_kept: float = LLMConfig.min_kept,
) -> list[Row | None]:
    """What a file of finished rewrites holds for some texts, checked as :class:`Rewriter` checks what it is answered.

    Rewrites are found by their text and by the names of their variants, whichever model and prompt they were made with;
    of several the newest one that can be used is taken. Blank texts have none.

    Args:
        texts: any number, any order.
        cache: the file ``rewrites.jsonl`` of a :class:`Rewriter`, or the folder that holds it.
        attribute: whose groups the variants must be of.
        min_kept: share of the words that each variant of a text of ten words or more must keep.

    Returns:
        Per text the columns of :class:`LLMGroupVariants` and ``rewritten_by``, the name of the model; None where the
        file has no usable answer for it. What is there and did not pass the checks has a ``rejected_reason``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file holds lines, and none of them is a rewrite.

    Example:
        >>> import tempfile
        >>> from hf_fairness.generation import Rewriter, stored_variants
        >>> from hf_fairness.generation.cache import RewriteCache
        >>> said = {"male": "He left.", "female": "She left.", "neutral": "They left."}
        >>> line = {"key": "1", "text": "She left.", "variants": said, "confidence": 0.9, "failure": "", "model": "m"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     RewriteCache(folder).add(line | {"prompt_tokens": 9, "completion_tokens": 9})
        ...     row, none = stored_variants(["She left.", "He sat."], folder)
        >>> row["neutral"], row["rejected_reason"], row["rewritten_by"], none
        ('They left.', '', 'm', None)
    """
    value, opened = load_attribute(attribute), RewriteCache.of_file(cache)
    records = opened.records()
    usable = _by_text(records, names_of(value))
    if not usable and opened.path is not None and opened.path.stat().st_size:
        groups = ", ".join(names_of(value))
        raise ValueError(
            f"{opened.path} holds no usable rewrite with the variants {groups} ({len(records)} line(s) were read). It "
            "must be the rewrites.jsonl that Rewriter or LLMGroupVariants wrote for this attribute."
        )
    found: list[Row | None] = []
    for text in texts:
        record = usable.get(text) if text.strip() else None
        if record is None:
            found.append(None)
            continue
        row = variant_row(text, Outcome.from_record(record), value, min_kept=min_kept)
        found.append({**row, "rewritten_by": str(record.get("model", ""))})
    return found


def _by_text(records: Iterable[Record], names: Sequence[str]) -> dict[str, Record]:
    """The newest usable record of each text."""
    return {record["text"]: record for record in records if _is_usable(record, names)}


def _is_usable(record: Record, names: Sequence[str]) -> bool:
    variants: Any = record.get("variants")
    return (
        isinstance(record.get("text"), str)
        and not record.get("failure", "")
        and isinstance(variants, dict)
        and set(variants) == set(names)
        and all(isinstance(text, str) and text.strip() for text in variants.values())
        and {"failure", "confidence", "prompt_tokens", "completion_tokens"} <= set(record)
    )
