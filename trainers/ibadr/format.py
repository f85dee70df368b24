"""How a sample looks to the generator: ``<bias indicator> <label> first text <next> second text <end>``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch.nn.utils.rnn import pad_sequence


class SampleFormat:
    """The special tokens of samples, in a tokenizer.

    Args:
        tokenizer: of the generator; the tokens are added to it where it lacks them.
        n_labels: number of labels.
        n_texts: texts of a row, 1 or 2.
        n_indicators: bias indicators; 0: samples carry none.

    Attributes:
        tokenizer: the tokenizer.
        new_ids: ids of the special tokens.
        start: number of tokens before the first text, the same for all samples.

    Example:
        >>> from hf_fairness.demo.planted_models import planted_tokenizer
        >>> layout = SampleFormat(planted_tokenizer(pairs=False), n_labels=1, n_texts=2, n_indicators=1)
        >>> layout.tokenizer.decode(layout.prefix(1, 0) + layout.encode(["Anna has cups ."], ["Ben has cups ."])[0])
        '<s> <|bias-1|> <|label-0|> anna has cups . <|next|> ben has cups . <|end|>'
    """

    def __init__(self, tokenizer: Any, *, n_labels: int, n_texts: int, n_indicators: int) -> None:
        indicators, labels = range(1, n_indicators + 1), range(n_labels)
        names = [*(f"<|bias-{k}|>" for k in indicators), *(f"<|label-{k}|>" for k in labels), "<|next|>", "<|end|>"]
        tokenizer.add_tokens(names, special_tokens=True)
        self._ids: dict[str, int] = dict(zip(names, tokenizer.convert_tokens_to_ids(names), strict=True))
        self.tokenizer, self.n_labels, self.n_texts, self.n_indicators = tokenizer, n_labels, n_texts, n_indicators
        self.new_ids = sorted(self._ids.values())
        self.next, self.end = self._ids["<|next|>"], self._ids["<|end|>"]
        begin = tokenizer.bos_token_id
        self._begin = [] if begin is None else [begin]
        self.start = len(self._begin) + bool(n_indicators) + 1

    @property
    def forbidden(self) -> list[int]:
        """Ids that are never drawn: they stand before the texts only, or mean nothing."""
        drawn = {self.end} if self.n_texts == 1 else {self.next, self.end}
        return sorted({*self.new_ids, *self.tokenizer.all_special_ids} - drawn)

    def prefix(self, indicator: int, label: int) -> list[int]:
        """Ids before the first text.

        Args:
            indicator: from 1 for the least biased; it does not matter where samples carry none.
            label: from 0.
        """
        told = [self._ids[f"<|bias-{indicator}|>"]] if self.n_indicators else []
        return [*self._begin, *told, self._ids[f"<|label-{label}|>"]]

    def encode(self, *texts: Sequence[str]) -> list[list[int]]:
        """Ids of texts with what divides and ends them.

        Args:
            texts: one list per text column. What is spelled as a special token in them is left out.
        """
        own = set(self.new_ids)
        parts = [self.tokenizer(list(column), add_special_tokens=False)["input_ids"] for column in texts]
        found = []
        for row in zip(*parts, strict=True):
            first, *others = ([token for token in part if token not in own] for part in row)
            found.append([*first, *(token for part in others for token in (self.next, *part)), self.end])
        return found

    def read(self, drawn: Sequence[Sequence[int]]) -> list[tuple[tuple[str, ...], str]]:
        """Texts of samples.

        Args:
            drawn: ids after the prefix; those after the first end token do not matter.

        Returns:
            Texts and ``""``, or empty texts and why: ``unended``, ``wrong_parts``, ``empty_text``, ``broken_text``.
        """
        read, nothing = map(self._read, drawn), ("",) * self.n_texts
        return [(nothing, found) if isinstance(found, str) else (found, "") for found in read]

    def _read(self, ids: Sequence[int]) -> tuple[str, ...] | str:
        """Texts of a sample, or why it has none."""
        if self.end not in ids:
            return "unended"
        body = np.array(ids[: ids.index(self.end)], dtype=np.int64)
        parts = [part[part != self.next].tolist() for part in np.split(body, np.flatnonzero(body == self.next))]
        if len(parts) != self.n_texts:
            return "wrong_parts"
        options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        texts = tuple(" ".join(self.tokenizer.decode(part, **options).split()) for part in parts)
        if not all(texts):
            return "empty_text"
        return "broken_text" if any("\ufffd" in text for text in texts) else texts

    def rows(
        self, dataset: Dataset, columns: Sequence[str], *, label_column: str, max_new_tokens: int
    ) -> tuple[Dataset, int]:
        """Training rows of the generator.

        Args:
            dataset: texts, labels and, where samples carry them, a column ``indicator``.
            columns: text columns.
            label_column: numbers of labels.
            max_new_tokens: longest row after the prefix; a row that is cut would teach that samples do not end.

        Returns:
            ``input_ids``, and how many rows were too long and were left out.

        Raises:
            ValueError: all rows are too long.
        """

        def encode(batch: Mapping[str, Any]) -> dict[str, Any]:
            indicators = batch["indicator"] if self.n_indicators else [0] * len(batch[label_column])
            bodies = self.encode(*(batch[name] for name in columns))
            told = zip(indicators, batch[label_column], bodies, strict=True)
            return {"input_ids": [self.prefix(k, y) + body for k, y, body in told if len(body) <= max_new_tokens]}

        made = dataset.map(encode, batched=True, remove_columns=dataset.column_names, desc="Tokenizing")
        if not len(made):
            raise ValueError(
                f"Each of the {len(dataset)} rows is longer than {max_new_tokens} tokens: raise max_new_tokens."
            )
        return made, len(dataset) - len(made)

    def collate(self, rows: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, torch.Tensor]:
        """A batch of rows with ``input_ids``, padded on the right; the loss is that of what follows the prefix."""
        ids = [torch.tensor(row["input_ids"]) for row in rows]
        labels = pad_sequence(ids, batch_first=True, padding_value=-100)
        mask = labels != -100
        batch = {"input_ids": labels.where(mask, self.end), "attention_mask": mask.to(torch.int64)}
        labels[:, : self.start] = -100
        return {**batch, "labels": labels}
