"""Variants of texts written by a language model, as a function for ``datasets.map`` and as a plain one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.prompts import Prompt
from hf_fairness.generation.rewriter import Rewriter
from hf_fairness.generation.usage import Usage
from hf_fairness.maps import MapFunction, Row, Texts


class LLMGroupVariants(MapFunction):
    """Add one column per group and a neutral one, written by a language model: the triples of CCED and CCD.

    The columns are those of ``GroupVariants`` and two more, so either can stand in for the other. Rewrites are kept
    on disk as they finish; a second map, or one that resumes after a crash, asks only for what is missing. Rows whose
    ``rejected_reason`` is not empty should not be trained on.

    A model may answer a text differently in other company, so one request holds one text unless
    ``config.texts_per_request`` says otherwise. With ``num_proc`` every process has its own requests, limits and
    counts: prefer ``config.concurrency``, which needs one process, or :func:`rewrite`.

    Args:
        column: column that holds the texts.
        model: id of a chat model on the Hub, folder of a local one, or the name that ``base_url`` knows it by.
        client: ``InferenceClient``, text-generation pipeline, function of messages, or an object with a method
            ``complete``, instead of a model.
        base_url: address of a server that speaks the chat-completions protocol (TGI, vLLM, ...).
        attribute: name, file or object; any number of groups.
        prompt: task and examples, or the JSON file of a prompt; None means ``Prompt.default(attribute)``.
        cache_dir: folder of the finished rewrites; None means a folder in the cache of Hugging Face.
        config: sampling, batches, limits, prices.
        on_missing: what to do about a row that lacks a text: ``"skip"`` asks for nothing and gives the reason
            ``"missing"``, ``"error"`` refuses it.

    Adds:
        one column per group and ``neutral``: the variants; the text itself where the model gave no usable answer.
        ``has_terms``: whether the variants differ.
        ``edits``: JSON, read by ``hf_fairness.augment.parse_edits``; found by comparing text and variants.
        ``confidence``: what the model states, in [0, 1]; 0 where it gave no usable answer.
        ``rejected_reason``: ``""``, or the kind and the reason: ``no usable answer``, ``refused``, ``polarity`` (a
        variant whose words are not of its group), ``content`` (little of the text is left), ``changed``.

    Raises:
        ValueError: no model, an unknown attribute, a prompt that does not fit it; at the call, missing columns.

    Source: Deng et al. 2024, section 3.3, equations 5 and 6.

    Example:
        >>> from hf_fairness.generation.prompts import dump_answer
        >>> said = {"male": "He left.", "female": "She left.", "neutral": "They left."}
        >>> model = lambda messages: dump_answer([{"variants": said, "confidence": 0.9}])
        >>> row = LLMGroupVariants("text", client=model)({"text": "She left."})
        >>> row["male"], row["neutral"], row["confidence"], row["rejected_reason"]
        ('He left.', 'They left.', 0.9, '')
    """

    version = 2

    def __init__(
        self,
        column: str,
        *,
        model: Any = None,
        client: Any = None,
        base_url: str | None = None,
        attribute: str | Path | Attribute = "gender",
        prompt: Prompt | str | Path | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        config: LLMConfig | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(column, on_missing=on_missing)
        self.rewriter = Rewriter(
            model=model,
            client=client,
            base_url=base_url,
            attribute=attribute,
            prompt=prompt,
            cache_dir=cache_dir,
            config=config,
        )

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        texts = dict.fromkeys(self.rewriter.names, "string")
        marks = {"has_terms": "bool", "edits": "string", "confidence": "float64", "rejected_reason": "string"}
        return {**texts, **marks, GROUPS_COLUMN: "string"}

    def constants(self) -> Row:
        """The record of what is a group."""
        return {GROUPS_COLUMN: self.rewriter.groups_record}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows; ``datasets`` shows the progress."""
        return self.rewriter.rewrite([texts[0] for texts in rows], show_progress=False)

    def usage(self) -> Usage:
        """Requests, tokens and cost of this process."""
        return self.rewriter.usage()


def rewrite(texts: Sequence[str], *, show_progress: bool | None = None, **options: Any) -> list[Row]:
    """Variants of texts as a list of rows, without a data set.

    Args:
        texts: what to rewrite.
        show_progress: None means on a terminal and the main process.
        **options: as for :class:`Rewriter`.

    Returns:
        Per text the columns of :class:`LLMGroupVariants`.
    """
    return Rewriter(**options).rewrite(texts, show_progress=show_progress)
