"""Asking a model for the variants of many texts, checking what it says, and keeping what is finished."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any
from unicodedata import normalize

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import GROUPS_COLUMN, NEUTRAL
from hf_fairness.generation.asking import Asker, Outcome
from hf_fairness.generation.cache import RewriteCache
from hf_fairness.generation.clients import as_client
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.diff import kept_words, tokens, variant_edits
from hf_fairness.generation.politeness import ChatError, PoliteClient
from hf_fairness.generation.prompts import Prompt, names_of
from hf_fairness.generation.usage import Ledger, Usage
from hf_fairness.maps import MISSING, MapFunction, Row, Texts, check_text
from hf_fairness.runs import content_key
from hf_fairness.utils import FairnessWarning, cache_folder, progress

#: A text of fewer words may keep none of them (*She is an aunt* -> *They are a parent's sibling*).
LONG_TEXT = 10
#: Part of every key. Raise it when stored rewrites would no longer be right.
STORED = 1


class Rewriter:
    """Asks a chat model for variants of texts, checks them, and never asks for a finished one again.

    Args:
        model: id of a chat model on the Hub, folder of a local one, or the name that ``base_url`` knows it by.
        client: ``InferenceClient``, text-generation pipeline, function of messages, or an object with a method
            ``complete``, instead of a model.
        base_url: address of a server that speaks the chat-completions protocol (TGI, vLLM, ...).
        attribute: name, file or object; any number of groups.
        prompt: task and examples, or the JSON file of a prompt; None means ``Prompt.default(attribute)``.
        cache_dir: folder of the finished rewrites; None means ``hf_fairness/rewrites`` in the cache of Hugging Face
            (``HF_HOME``).
        config: sampling, batches, limits, prices.

    Raises:
        ValueError: no model, an unknown attribute, or a prompt that does not fit the attribute.
    """

    def __init__(
        self,
        *,
        model: Any = None,
        client: Any = None,
        base_url: str | None = None,
        attribute: str | Path | Attribute = "gender",
        prompt: Prompt | str | Path | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        config: LLMConfig | None = None,
    ) -> None:
        self.attribute = load_attribute(attribute)
        self.config = config or LLMConfig()
        self.client = as_client(model, client, base_url, self.config)
        prompt = Prompt.default(self.attribute) if prompt is None else prompt
        self.prompt = prompt if isinstance(prompt, Prompt) else Prompt.load(prompt)
        self.prompt.check(self.attribute)
        self.cache_dir = Path(cache_dir) if cache_dir is not None else cache_folder("rewrites")
        self._open()

    def _open(self) -> None:
        self.names = names_of(self.attribute)
        self._ledger = Ledger(self.config)
        self._cache = RewriteCache(self.cache_dir if self.client.name else None)
        self._polite = PoliteClient(self.client, self.config, on_retry=lambda: self._ledger.add(retries=1))
        self._about = self._describe_request(self.prompt)

    def _describe_request(self, prompt: Prompt) -> str:
        sampling = (self.config.temperature, self.config.seed, self.config.max_tokens)
        return content_key("rewrite", STORED, self.client.name, prompt.digest, self.attribute.digest, sampling)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key[0] != "_" and key != "names"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def with_prompt(self, prompt: Prompt) -> Rewriter:
        """A rewriter with another prompt that shares model, limits, cache and counts with this one."""
        prompt.check(self.attribute)
        other = object.__new__(Rewriter)
        other.__dict__.update(self.__dict__, prompt=prompt, _about=self._describe_request(prompt))
        return other

    def usage(self) -> Usage:
        """Requests, tokens and cost so far, of this object and those made by :meth:`with_prompt`."""
        return self._ledger.usage()

    def key(self, text: str) -> str:
        """Key of a finished rewrite: model, prompt, attribute, sampling and text."""
        return content_key(self._about, text)

    def rewrite(self, texts: Sequence[str], *, show_progress: bool | None = None) -> list[Row]:
        """The added columns of some texts, in order.

        Each finished rewrite is on the disk before the next request of its thread goes out. When the run is killed
        or the server fails, call it again: finished texts are read, not asked for.

        Args:
            texts: equal ones are asked for once.
            show_progress: None means on a terminal and the main process.

        Returns:
            Per text the variants, ``has_terms``, ``edits``, ``confidence``, ``rejected_reason``, ``variant_groups``.

        Raises:
            TypeError: a text is none; the message holds its position.
            ValueError: a text is no valid Unicode, which no server takes.
            ChatError: the server refuses, or does not answer; the message says what is finished.
        """
        for i, text in enumerate(texts):
            _check_unicode(check_text(text, f" at position {i}"), i)
        distinct = list(dict.fromkeys(texts))
        outcomes = self._stored(distinct)
        wanted = [text for text in distinct if text not in outcomes]
        if wanted:
            self._ask(wanted, outcomes, show_progress)
        rows = {text: self._row(text, outcome) for text, outcome in outcomes.items()}
        unusable = [outcomes[text].failure for text in wanted if outcomes[text].failure]
        n = sum(bool(text.strip()) for text in distinct)
        self._ledger.add(texts=n, cached=n - len(wanted))
        self._ledger.add(unusable=sum(bool(outcome.failure) for outcome in outcomes.values()))
        if wanted and 2 * len(unusable) > len(wanted):
            warnings.warn(
                f"{self.client.name or 'The model'} gave no usable answer for {len(unusable)} of {len(wanted)} texts; "
                f"their rows are rejected. The first reason: {unusable[0]}.",
                FairnessWarning,
                stacklevel=2,
            )
        return [dict(rows[text]) for text in texts]

    def _stored(self, texts: Iterable[str]) -> dict[str, Outcome]:
        self._cache.refresh()
        found: dict[str, Outcome] = {}
        for text in texts:
            if not text.strip():
                found[text] = Outcome()
            elif (record := self._cache.get(self.key(text))) is not None:
                outcome = Outcome.from_record(record)
                if not (outcome.failure and self.config.retry_rejected):
                    found[text] = outcome
                    self._ledger.add(
                        saved_prompt_tokens=outcome.prompt_tokens, saved_completion_tokens=outcome.completion_tokens
                    )
        return found

    def _ask(self, texts: list[str], outcomes: dict[str, Outcome], show_progress: bool | None) -> None:
        asker = Asker(self._polite, self.prompt, self.names, self.config, self._ledger)
        finished: list[str] = []

        def done(text: str, outcome: Outcome) -> None:
            outcomes[text] = outcome
            if outcome.keep:
                self._cache.add(outcome.to_record(self.key(text), text, self.client.name))
            finished.append(text)

        size = self.config.texts_per_request
        chunks = [texts[start : start + size] for start in range(0, len(texts), size)]
        pool = ThreadPoolExecutor(min(self.config.concurrency, len(chunks)), thread_name_prefix="rewrite")
        try:
            futures = [pool.submit(asker.ask, chunk, done) for chunk in chunks]
            shown = progress(
                as_completed(futures), "Rewriting", total=len(futures), show_progress=show_progress, unit="request"
            )
            for future in shown:
                future.result()
        except ChatError as error:
            pool.shutdown(wait=True, cancel_futures=True)
            where = f" and stored in {self._cache.path}: run it again to go on" if self._cache.path else ""
            raise ChatError(
                f"{error} {len(finished)} of {len(texts)} texts are finished{where}.", error.status
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    @property
    def groups_record(self) -> str:
        """What the column of the group columns holds in every row: a JSON list."""
        return _groups_record(self.attribute)

    def _row(self, text: str, outcome: Outcome) -> Row:
        return variant_row(text, outcome, self.attribute, min_kept=self.config.min_kept)

    def describe(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """What a data set card should say of rows that were rewritten.

        Args:
            rows: with the columns that :meth:`rewrite` adds.

        Returns:
            ``method, model, attribute, language, groups, prompt_digest, n_examples``; counts ``n, n_accepted,
            n_without_terms, n_missing, n_rejected`` and ``rejected`` by kind; ``usage`` of this process.
        """
        n = without = missing = 0
        rejected: Counter[str] = Counter()
        for row in rows:
            n += 1
            if row["rejected_reason"] == MISSING:
                missing += 1
            elif row["rejected_reason"]:
                rejected[str(row["rejected_reason"]).partition(":")[0]] += 1
            elif not row["has_terms"]:
                without += 1
        return {
            "method": "rewriting by a language model",
            "model": self.client.name,
            "attribute": self.attribute.name,
            "language": self.attribute.language,
            "groups": list(self.attribute.group_names),
            "prompt_digest": self.prompt.digest,
            "n_examples": len(self.prompt.examples),
            "n": n,
            "n_accepted": n - without - missing - rejected.total(),
            "n_without_terms": without,
            "n_missing": missing,
            "n_rejected": rejected.total(),
            "rejected": dict(sorted(rejected.items())),
            "usage": self.usage().to_dict(),
        }


def variant_row(text: str, outcome: Outcome, attribute: Attribute, *, min_kept: float) -> Row:
    """The columns that :class:`LLMGroupVariants` adds for a text, with the reason where its rewrite is rejected.

    Args:
        text: what was rewritten.
        outcome: what came of it.
        attribute: whose groups the variants are of.
        min_kept: share of the words that each variant of a long text must keep.
    """
    names, rewrite = names_of(attribute), outcome.rewrite
    variants = rewrite.variants if rewrite else dict.fromkeys(names, text)
    reason = outcome.failure or (_rejected(text, variants, attribute, min_kept) if rewrite else "")
    return {
        **{name: variants[name] for name in names},
        "has_terms": len(set(variants.values())) > 1,
        "edits": variant_edits(text, variants, attribute) if rewrite else "[]",
        "confidence": rewrite.confidence if rewrite else 0.0 if outcome.failure else 1.0,
        "rejected_reason": reason,
        GROUPS_COLUMN: _groups_record(attribute),
    }


def _groups_record(attribute: Attribute) -> str:
    return json.dumps(list(attribute.group_names))


def _rejected(text: str, variants: Mapping[str, str], attribute: Attribute, min_kept: float) -> str:
    """Why the variants are rejected; ``""`` where they are not. Deng et al. 2024, equation 6."""
    text = normalize("NFC", text)  # models write letters composed, whatever they read
    variants = {name: normalize("NFC", variant) for name, variant in variants.items()}
    if len(set(variants.values())) == 1 and not any(
        count for one in (text, variants[NEUTRAL]) for count in attribute.counts(one).values()
    ):
        return "" if variants[NEUTRAL].strip() == text.strip() else "changed: no group is named, yet the text differs"
    for name, variant in variants.items():
        polarity = attribute.polarity(variant)
        if polarity != name:
            return f"polarity: the {name} variant reads {polarity}"
    words = tokens(text)
    if sum(token[0].isalnum() for token in words) >= LONG_TEXT:
        for name, variant in variants.items():
            kept = kept_words(words, tokens(variant))
            if kept < min_kept:
                return f"content: the {name} variant keeps {kept:.0%} of the words"
    return ""


def _check_unicode(text: str, place: int) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"The text at position {place} is no valid Unicode ({error.reason} at character {error.start}). "
            "Read its source with the right encoding."
        ) from None


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
