"""CCD on versions of the same texts that a language model wrote, where those of CCD are swapped by a dictionary.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*, section 3.3; its tables
2 to 5 call the two CCD-GPT or CCD-Gemini, and CCD-CDA.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset

from hf_fairness.attributes import Attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.generation import stored_variants
from hf_fairness.generation.cache import rewrites_file
from hf_fairness.runs import content_key
from hf_fairness.trainers.baselines.base import SOURCE, Baseline, Given
from hf_fairness.trainers.ccd.method import train_ccd
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder
from hf_fairness.trainers.training.encoder_method import MIN_ROWS

logger = logging.getLogger(__name__)


@dataclass
class CCDLLMSettings:
    """What `ccd-llm` reads beside the settings of CCD."""

    ccd_llm_cache: str | None = field(
        default=None,
        metadata={
            "help": "Finished rewrites for the method ccd-llm: the rewrites.jsonl of hf_fairness.generation, or its "
            "folder. Nothing is asked: rows whose text it lacks are left out."
        },
    )


class CCDLLM(Baseline):
    """CCD as `hf-fairness ccd` trains it, on rewrites by a language model in place of swapped versions.

    Rows are those of the run, so that the texts of the audits are not among them. The rewrite of a row is that of the
    text it came with (column ``source_text``); of rows that were given as versions, that of the first version that the
    file holds. Rows that it lacks, and rewrites that fail the checks of `Rewriter`, are left out and counted: with few
    rewrites the difference to `ccd` is one of fewer rows, too. If no validation row is left, the last training rows
    choose the checkpoint, as without a validation set.
    """

    name: ClassVar[str] = "ccd-llm"
    control: ClassVar[str] = "control"
    title: ClassVar[str] = "CCD on rewrites by a language model (Deng et al. 2024)"
    about: ClassVar[str] = "trained with content-conditional debiasing on versions that a language model wrote"
    options: ClassVar[tuple[str, ...]] = ("ccd_llm_cache", "beta", "bias_weight", "rho", "keep_dropout")

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:
        """Refuse a run without rewrites, or with those of another attribute."""
        own: Any = config
        if not own.ccd_llm_cache:
            raise ValueError(
                "ccd-llm needs finished rewrites: give --ccd_llm_cache the rewrites.jsonl that hf_fairness.generation "
                "writes (LLMGroupVariants(..., cache_dir=...)), or leave ccd-llm out of the methods."
            )
        try:
            stored_variants([], own.ccd_llm_cache, attribute=attribute)
        except OSError as error:
            raise ValueError(f"ccd_llm_cache is {own.ccd_llm_cache}: {error}") from error

    def files(self, config: Any) -> list[Path]:
        """The rewrites."""
        return [rewrites_file(config.ccd_llm_cache)] if config.ccd_llm_cache else []

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Train with CCD on the rewrites of the rows."""
        cache = given.config.ccd_llm_cache
        rows, counts = rewritten_rows(given.rows, cache, given.groups, given.attribute)
        if len(rows) < MIN_ROWS:
            told = ", ".join(f"{number} {words}" for words, number in counts.items())
            raise ValueError(
                f"{len(rows)} of the {len(given.rows)} rows to train on have a rewrite in {cache} that can be used "
                f"({told}), expected at least {MIN_ROWS}. Rewrite more of the texts with LLMGroupVariants first."
            )
        validation = None
        if given.validation is not None:
            validation, _ = rewritten_rows(given.validation, cache, given.groups, given.attribute)
            validation = validation if len(validation) else None
        key = content_key("rewrites", given.rows_key, rows, validation)
        trained = train_ccd(replace(given, rows=rows, validation=validation, rows_key=key), folder)
        return {**trained, "rewrites": counts, "rewritten_by": dict(Counter(rows["rewritten_by"][:]))}


def rewritten_rows(
    rows: Dataset, cache: str | Path, groups: Sequence[str], attribute: Attribute
) -> tuple[Dataset, dict[str, int]]:
    """The rows of which a file holds rewrites, with these in place of the versions.

    Args:
        rows: a column per group and ``neutral``; :data:`SOURCE` where it is known.
        cache: see `stored_variants`.
        groups: the group columns; those of the attribute.
        attribute: whose groups they are.

    Returns:
        Rows with the group columns, ``neutral`` and ``rewritten_by``; and how many rows are ``used``, ``not in the
        file``, ``rejected`` by the checks, and ``without terms``.

    Raises:
        ValueError: other groups than the attribute's: rewrites are of its groups.
        FileNotFoundError: there is no such file.
    """
    if set(groups) != set(attribute.group_names):
        raise ValueError(
            f"The rows are about the groups {', '.join(groups)}, and rewrites about those of {attribute.name}: "
            f"{', '.join(attribute.group_names)}. Leave ccd-llm out, or give texts instead of versions."
        )
    columns = [SOURCE] if SOURCE in rows.column_names else [*groups, NEUTRAL]
    texts = list(zip(*(rows[name][:] for name in columns), strict=True))
    distinct = [text for text in dict.fromkeys(text for row in texts for text in row) if text]
    stored = dict(zip(distinct, stored_variants(distinct, cache, attribute=attribute), strict=True))
    names, counts = (*groups, NEUTRAL, "rewritten_by"), Counter({"used": 0, "not in the file": 0})
    kept: dict[str, list[str]] = {name: [] for name in names}
    for row in texts:
        found = [one for text in row if (one := stored.get(text)) is not None]
        good = next((one for one in found if not one["rejected_reason"] and one["has_terms"]), None)
        if good is None:
            rejected = any(one["rejected_reason"] for one in found)
            counts["not in the file" if not found else "rejected" if rejected else "without terms"] += 1
            continue
        counts["used"] += 1
        for name in names:
            kept[name].append(str(good[name]))
    logger.info("Rewrites of %s: %s.", cache, ", ".join(f"{number} {words}" for words, number in counts.items()))
    return Dataset.from_dict(kept), dict(counts)
