"""How likely masked and causal language models find tokens, in batches of similar length.

A text that does not fit into the model is an error: what is left of a cut text is another text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hf_fairness._encoder_adapters import check_texts, is_a, model_max_length, name_of
from hf_fairness._processes import of_all, turn
from hf_fairness.augment.nlu.models import evaluating, padded_batches
from hf_fairness.scores.statistics import Floats
from hf_fairness.utils import progress

if TYPE_CHECKING:
    import torch

#: Tokens of a batch unless told otherwise: beyond this a processor gains nothing.
BATCH_TOKENS = 4096
#: Logits that are held at a time, 256 MB of float32: a batch of a causal model has one per token and word.
LOGIT_CELLS = 1 << 26
#: How a causal model's first token is scored, see ``CausalModel``.
STARTS = ("always", "first")


class Query(NamedTuple):
    """One question to a masked model: how likely the token ``target`` is at ``position`` of ``ids``."""

    ids: Sequence[int]
    position: int
    target: int


class LanguageModel:
    """What masked and causal models share; made by ``open_language_model``.

    Attributes:
        kind: "masked" or "causal".
        name: what results call it; of a folder the last part only.
        limit: most tokens of a text, special ones included; None where nobody says.
        words: size of the vocabulary.
    """

    kind = ""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        device: str | torch.device | None = None,
        batch_tokens: int = BATCH_TOKENS,
        show_progress: bool | None = None,
    ) -> None:
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1; got {batch_tokens}.")
        self.model = model.get_base_model() if is_a(model, "peft", "PeftModel") else model
        self.tokenizer, self.batch_tokens, self.show_progress = tokenizer, batch_tokens, show_progress
        self.device = None if device is None else str(device)
        path = Path(name_of(self.model)).expanduser()
        self.name = path.name if path.is_absolute() or path.exists() else name_of(self.model)
        self.limit = model_max_length(self.model, tokenizer)
        self.words = int(self.model.config.get_text_config().vocab_size)

    def _batches(
        self, rows: Sequence[Sequence[int]], budget: int, device: Any
    ) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Rows of token ids as padded batches of similar length within a budget of tokens; at least one row each.

        Processes that share rows take turns at them.

        Raises:
            ValueError: a row that does not fit into the model.
        """
        long = next((row for row in rows if self.limit is not None and len(row) > self.limit), None)
        if long is not None:
            raise ValueError(
                f"A text has {len(long)} tokens, {self.name} takes {self.limit} at most: "
                f"{self.tokenizer.decode(long)[:120]!r} ... Shorten it or leave it out; cut it would be another text."
            )
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        chunks: list[list[int]] = []
        start, (place, processes) = 0, turn()
        for stop in range(1, len(order) + 1):
            if stop == len(order) or (stop + 1 - start) * len(rows[order[stop]]) > budget:
                chunks.append(order[start:stop])
                start = stop
        pad = self.tokenizer.pad_token_id or 0
        show = False if self.show_progress is None and len(chunks) <= 8 else self.show_progress
        for chosen in progress(chunks[place::processes], "Scoring", show_progress=show, unit="batch"):
            for inside, batch in padded_batches([rows[i] for i in chosen], pad, len(chosen), device):
                yield [chosen[i] for i in inside], batch

    def _read(self, logits: torch.Tensor, targets: torch.Tensor, counts: torch.Tensor, ids: torch.Tensor) -> Floats:
        """Log-probabilities of those targets that count, else 0, of the targets' shape; ``ids`` are for messages."""
        logits = logits.float()
        found = (logits.gather(-1, targets[..., None])[..., 0] - logits.logsumexp(dim=-1)).double()
        found = found.masked_fill(~counts, 0.0)
        finite = found.isfinite().reshape(len(found), -1).all(dim=1)
        if not bool(finite.all()):
            text = self.tokenizer.decode(ids[int((~finite).nonzero()[0, 0])])
            raise ValueError(
                f"{self.name} gives NaN or infinity instead of probabilities, for example for {text[:120]!r}. "
                "Check the model's weights and dtype."
            )
        values: Floats = found.cpu().numpy()
        return values

    def _logits(self, batch: dict[str, Any], **options: Any) -> torch.Tensor:
        logits: torch.Tensor | None = getattr(self.model(**batch, **options), "logits", None)
        if logits is None or logits.ndim != 3:
            raise ValueError(
                f"{self.name} ({type(self.model).__name__}) has no language-model head: no logits per token."
            )
        return logits


class MaskedModel(LanguageModel):
    """A masked language model: BERT, RoBERTa and their kin."""

    kind = "masked"

    def __init__(self, model: Any, tokenizer: Any, **options: Any) -> None:
        super().__init__(model, tokenizer, **options)
        self.mask: int | None = tokenizer.mask_token_id
        if self.mask is None:
            raise ValueError(
                f"{type(tokenizer).__name__} of {self.name} has no mask token: a masked language model cannot be asked "
                "without one. Pass the model's own tokenizer, or a causal model."
            )
        self._head_alone: bool | None = None

    def tokens(self, texts: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
        """Token ids of the texts with their special tokens, and the positions of those that are not special.

        Raises:
            ValueError: no texts.
        """
        fields = self.tokenizer(check_texts(texts), return_special_tokens_mask=True)
        ids: list[list[int]] = fields["input_ids"]
        return ids, [[at for at, special in enumerate(row) if not special] for row in fields["special_tokens_mask"]]

    def pseudo_log_likelihoods(self, ids: Sequence[Sequence[int]], positions: Sequence[Sequence[int]]) -> list[Floats]:
        """Log-probability of chosen tokens of texts, each when it alone is masked.

        Args:
            ids: token ids of every text, with special tokens, as ``tokens`` gives them.
            positions: which of them to mask, one after the other.

        Returns:
            Per text an array like its positions; their sum is the pseudo-log-likelihood (Salazar et al. 2020).

        Raises:
            ValueError: the model has no head, or gives NaN.
        """
        queries = [
            Query([*row[:at], self.mask, *row[at + 1 :]], at, row[at])  # type: ignore[list-item]
            for row, chosen in zip(ids, positions, strict=True)
            for at in chosen
        ]
        ends = np.cumsum([len(chosen) for chosen in positions])
        return np.split(self.log_probabilities(queries), ends[:-1]) if len(ends) else []

    def log_probabilities(self, queries: Sequence[Query]) -> Floats:
        """Log-probability of every query's target, shape (n,), whatever they are batched with.

        Raises:
            ValueError: ids that do not fit into the model, a model without head, NaN.
        """
        import torch

        found: list[tuple[int, float]] = []
        with evaluating(self.model, self.device) as device:
            for places, batch in self._batches([query.ids for query in queries], self.batch_tokens, device):
                chosen = [queries[i] for i in places]
                at = torch.tensor([query.position for query in chosen], device=device)
                targets = torch.tensor([query.target for query in chosen], device=device)
                everything = torch.ones_like(targets, dtype=torch.bool)
                values = self._read(self._logits_at(batch, at), targets, everything, batch["input_ids"])
                found += zip(places, values.tolist(), strict=True)
        return np.array(of_all(found))

    def _logits_at(self, batch: dict[str, Any], at: torch.Tensor) -> torch.Tensor:
        """Logits at one position of every row, shape (batch, words).

        The head, a product with the whole vocabulary, is often the dearest part: it is run on these positions only
        where the first batch shows that this changes nothing.
        """
        import torch

        if self._head_alone is None:
            few = {key: value[:4] for key, value in batch.items()}
            try:
                alone = self._with_head_alone(few, at[:4])
            except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
                alone = None
            full = self._with_full_head(few, at[:4])
            near = 1e-3 if full.dtype in (torch.float32, torch.float64) else 0.05
            self._head_alone = (
                alone is not None and alone.shape == full.shape and torch.allclose(alone, full, rtol=near, atol=near)
            )
        return self._with_head_alone(batch, at) if self._head_alone else self._with_full_head(batch, at)

    def _with_full_head(self, batch: dict[str, Any], at: torch.Tensor) -> torch.Tensor:
        import torch

        step = max(1, LOGIT_CELLS // (batch["input_ids"].shape[1] * self.words))
        parts = []
        for start in range(0, len(at), step):
            logits = self._logits({key: value[start : start + step] for key, value in batch.items()})
            parts.append(logits[torch.arange(len(logits), device=at.device), at[start : start + step]])
        return torch.cat(parts)

    def _with_head_alone(self, batch: dict[str, Any], at: torch.Tensor) -> torch.Tensor:
        with _one_token_each(self.model.base_model, at):
            return self._logits(batch)[:, 0]


@contextlib.contextmanager
def _one_token_each(body: Any, at: torch.Tensor) -> Iterator[None]:
    """While it lasts, the body of a model hands the hidden state of one token per text to its head."""
    import torch

    def pick(module: Any, inputs: Any, output: Any) -> Any:
        hidden = output["last_hidden_state"]
        output["last_hidden_state"] = hidden[torch.arange(len(at), device=at.device), at][:, None]
        return output

    handle = body.register_forward_hook(pick)
    try:
        yield
    finally:
        handle.remove()


class CausalModel(LanguageModel):
    """A causal language model: GPT-2 and its kin.

    The start token is the tokenizer's BOS, else its EOS. With ``start="always"`` it stands before every text, and all
    tokens are scored after it. With ``start="first"``, as in the released code of StereoSet, the first token of a text
    is scored after the start token, and the others as if it had not been there. A model without a start token cannot
    score the first token, which is then left out.
    """

    kind = "causal"

    def __init__(self, model: Any, tokenizer: Any, **options: Any) -> None:
        super().__init__(model, tokenizer, **options)
        start = tokenizer.bos_token_id
        start = tokenizer.eos_token_id if start is None else start
        self.start: int | None = start

    def log_likelihoods(self, texts: Sequence[str], *, start: str = "always") -> list[Floats]:
        """Log-probability of every token of the texts given the tokens before it.

        Args:
            texts: at least one.
            start: "always" or "first", see the class.

        Returns:
            Per text one number per token; the sum is its log-likelihood, the mean that per token.

        Raises:
            ValueError: a text without a token that can be scored, one that is longer than the model takes, an unknown
                ``start``, a model without head, NaN.
        """
        if start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(STARTS)}; got {start!r}.")
        ids: list[list[int]] = self.tokenizer(check_texts(texts), add_special_tokens=False)["input_ids"]
        before = [] if self.start is None else [self.start]
        short = next((i for i, row in enumerate(ids) if len(before) + len(row) < 2), None)
        if short is not None:
            raise ValueError(f"texts[{short}] has no token that {self.name} can score: {texts[short]!r}.")
        if start == "always" or not before:
            return self._after([before + row for row in ids])
        firsts = list(dict.fromkeys(row[0] for row in ids))
        heads = dict(zip(firsts, self._after([[*before, first] for first in firsts]), strict=True))
        rests = iter(self._after([row for row in ids if len(row) > 1]))
        return [np.concatenate([heads[row[0]], next(rests)]) if len(row) > 1 else heads[row[0]] for row in ids]

    def _after(self, rows: Sequence[Sequence[int]]) -> list[Floats]:
        """Log-probability of every token but the first of each row, given those before it."""
        scored: list[tuple[int, Floats]] = []
        budget = min(self.batch_tokens, LOGIT_CELLS // self.words)
        with evaluating(self.model, self.device) as device:
            for places, batch in self._batches(rows, budget, device):
                ids = batch["input_ids"]
                logits = self._logits(batch, use_cache=False)
                if logits.shape[:2] != ids.shape:
                    raise ValueError(f"{self.name} ({type(self.model).__name__}) is no causal language model.")
                found = self._read(logits[:, :-1], ids[:, 1:], batch["attention_mask"][:, 1:].bool(), ids)
                scored += [(place, row[: len(rows[place]) - 1]) for place, row in zip(places, found, strict=True)]
        return of_all(scored)
