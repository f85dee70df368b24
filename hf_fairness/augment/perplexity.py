"""How much likelier or less likely a language model finds a counterfactual than its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_fairness.augment.nlu.models import (
    check_batch_size,
    evaluating,
    model_max_length,
    open_pair,
    padded_batches,
    reference,
)
from hf_fairness.augment.transforms import VERSION, counterfactual_names
from hf_fairness.maps import MapFunction, Row, Texts

if TYPE_CHECKING:
    import torch

Pair = tuple[Sequence[str], Sequence[str]]


class PerplexityRatio(MapFunction):
    """Add the perplexity of a counterfactual over that of its text, under a causal language model.

    Perplexity is exp of the mean negative log-likelihood per token, over all tokens of all columns; every column
    starts anew after the model's start token. Values near 1 are ideal; a broken swap has a high one. So has an unusual
    one (*the engineer and her team*): the model's own bias is in the ratio, so filter with care.

    Args:
        model: causal language model: Hub id, folder, transformers model, or a pair of model and tokenizer. With an id
            or a folder it is opened at the first call, in float32, and the callable pickles small.
        columns: name or names of the text columns.
        counterfactual_columns: columns with their counterfactuals; None means ``<column>_counterfactual``.
        batch_size: texts per forward; batches are sorted by length, the result does not depend on it.
        max_length: tokens of a text that count; None means what the model takes.
        device: where to run; None means where the model is.
        on_missing: what to do about a row that lacks a text; as in :class:`CounterfactualSwap`.

    Adds:
        ``perplexity_ratio``: above 0; 1.0 where nothing changed, no token can be predicted, or a text is missing.

    Raises:
        TypeError: ``model`` is none.
        ValueError: at the first call: the model does not open, or is no causal language model.
    """

    version = VERSION

    def __init__(
        self,
        model: Any,
        columns: str | Sequence[str],
        *,
        counterfactual_columns: str | Sequence[str] | None = None,
        batch_size: int = 16,
        max_length: int | None = None,
        device: str | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns)
        self.sources: Texts = self.columns
        counterfactuals = counterfactual_names(self.sources, counterfactual_columns)
        super().__init__((*self.sources, *counterfactuals), on_missing=on_missing)
        self.model = reference(model, "a causal language model")
        self.batch_size = check_batch_size(batch_size)
        if max_length is not None and max_length < 2:
            raise ValueError(f"max_length must be at least 2 or None, got {max_length!r}.")
        self.max_length = max_length
        self.device = device
        self._scorer: _Scorer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scorer": None}

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"perplexity_ratio": "float64"}

    def missing(self, texts: Texts) -> Row:
        """The ratio of a row that lacks a text."""
        return {"perplexity_ratio": 1.0}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        n = len(self.sources)
        return [{"perplexity_ratio": ratio} for ratio in self.ratios([(row[:n], row[n:]) for row in rows])]

    def ratios(self, pairs: Sequence[Pair]) -> list[float]:
        """Perplexity ratio of every pair of texts and counterfactuals, one of each per column."""
        changed = [pair for pair in pairs if list(pair[0]) != list(pair[1])]
        texts = list(dict.fromkeys(text for pair in changed for side in pair for text in side))
        if texts and self._scorer is None:
            self._scorer = _Scorer(self.model, self.max_length)
        found = self._scorer(texts, self.batch_size, self.device) if self._scorer is not None else []
        losses = dict(zip(texts, found, strict=True))

        def mean_loss(side: Sequence[str]) -> float:
            total, count = (sum(values) for values in zip(*(losses[text] for text in side), strict=True))
            return total / count if count else math.nan

        result = []
        for source, target in pairs:
            difference = 0.0 if list(source) == list(target) else mean_loss(target) - mean_loss(source)
            result.append(1.0 if math.isnan(difference) else math.exp(min(difference, 700.0)))
        return result


class _Scorer:
    """A causal language model with its tokenizer."""

    def __init__(self, source: str | tuple[Any, Any], limit: int | None) -> None:
        self.model, self.tokenizer = open_pair("AutoModelForCausalLM", source)
        if isinstance(source, str):
            self.model.float()
        most = model_max_length(self.model, self.tokenizer)
        self.limit = min(size for size in (limit, most) if size is not None) if limit or most else None
        start = self.tokenizer.bos_token_id
        start = self.tokenizer.eos_token_id if start is None else start
        self.start = [] if start is None else [start]

    def __call__(self, texts: Sequence[str], batch_size: int, device: str | None) -> list[tuple[float, int]]:
        """Sum of the negative log-likelihoods of every text, and of how many tokens."""
        tokens = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
        ids = [[*self.start, *row][: self.limit] for row in tokens]
        result = [(0.0, 0)] * len(ids)
        places = [i for i, row in enumerate(ids) if len(row) > 1]
        with evaluating(self.model, device) as where:
            for chosen, batch in padded_batches([ids[i] for i in places], 0, batch_size, where):
                losses = self._losses(batch)
                for row, loss in zip(chosen, losses.tolist(), strict=True):
                    result[places[row]] = (loss, len(ids[places[row]]) - 1)
        return result

    def _losses(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        output = self.model(**batch, use_cache=False)
        logits = getattr(output, "logits", None)
        if logits is None or logits.shape[:2] != batch["input_ids"].shape:
            raise ValueError(f"{type(self.model).__name__} is no causal language model: it gives no logits per token.")
        logits, targets = logits[:, :-1].float(), batch["input_ids"][:, 1:]
        losses = logits.logsumexp(dim=-1) - logits.gather(-1, targets[:, :, None])[:, :, 0]
        total: torch.Tensor = (losses.double() * batch["attention_mask"][:, 1:]).sum(dim=1)
        return total
