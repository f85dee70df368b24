"""Rows of a GFST run: pairs and texts in one layout, drawn with a seed, counted, written with a card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset, Features, Value, concatenate_datasets

from hf_fairness.attributes import Attribute
from hf_fairness.filters import Kept, PairLength
from hf_fairness.filters.target import WORDS
from hf_fairness.maps import MapFunction
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.runs import PACKAGES
from hf_fairness.scores.statistics import generator
from hf_fairness.utils import package_versions

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard

SOURCE, TARGET, TEXT, GENDER = "source", "target", "text", "source_gender"
#: Reason where a back-translation speaks of another group than the text that it was made from.
OTHER = "other_group"
REFERENCE = "Choubey et al. 2021, GFST: Gender-Filtered Self-Training for More Accurate Gender in Translation"
#: Said on every card of machine translations.
MACHINE = "One side of every pair was written by a translation model and was not read by anybody."


def as_rows(rows: Dataset, columns: Sequence[str], name: str) -> Dataset:
    """Only the named text columns, with an empty text where a value is missing.

    Raises:
        TypeError: ``rows`` is no Dataset.
        ValueError: a column is missing or holds no texts, or there are no rows.
    """
    if not isinstance(rows, Dataset):
        raise TypeError(f"{name} is a {type(rows).__name__}, expected a datasets.Dataset. Of a dict take one split.")
    for column in columns:
        if column not in rows.column_names:
            raise ValueError(
                f"{name} has no column {column!r}; its columns: {', '.join(rows.column_names) or 'none'}. Rename with "
                "rows.rename_column, or give the name of the column."
            )
        kind = getattr(rows.features[column], "dtype", None)
        if kind not in ("string", "large_string"):
            raise ValueError(f"Column {column!r} of {name} holds {kind or rows.features[column]}, not texts.")
    if len(rows) == 0:
        raise ValueError(f"{name} has no rows.")
    chosen = rows.with_format(None).select_columns(list(columns))
    if any(chosen.data.column(column).null_count for column in columns):
        chosen = chosen.map(_filled, batched=True)
    return chosen.cast(Features({column: Value("string") for column in columns}))


def _filled(batch: Mapping[str, Sequence[str | None]]) -> dict[str, list[str]]:
    return {name: ["" if text is None else text for text in texts] for name, texts in batch.items()}


class GroupReason:
    """Say of each text which group it speaks of, and why it is dropped (``""``: kept).

    Args:
        labels: what gives a text its group: ``SourceGender`` or ``GrammaticalGender``.
        groups: names of the groups; other labels are reasons to drop.
        column: of the texts.
        max_tokens: longest text.
        like: column with the group that a text must have; None: any group, which becomes ``source_gender``.
        output_column: of the reasons; it must end in ``_reason``.
    """

    def __init__(
        self,
        labels: MapFunction,
        groups: Sequence[str],
        *,
        column: str,
        max_tokens: int,
        like: str | None = None,
        output_column: str = "source_reason",
    ) -> None:
        self.labels, self.groups, self.column = labels, tuple(groups), column
        self.like, self.output_column = like, output_column
        self.check = PairLength(max_tokens=max_tokens)

    def __call__(self, batch: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The added columns of a batch."""
        texts = list(batch[self.column])
        lengths = self.check({SOURCE: texts, TARGET: texts})["length_reason"]
        (name,) = self.labels.outputs()
        found = list(self.labels({self.labels.column: texts})[name])
        wanted = found if self.like is None else batch[self.like]
        rows = zip(lengths, found, wanted, strict=True)
        reasons = [length or self._reason(label, group) for length, label, group in rows]
        return {self.output_column: reasons, **({GENDER: found} if self.like is None else {})}

    def _reason(self, label: str, wanted: str) -> str:
        if label not in self.groups:
            return label
        return "" if label == wanted else OTHER


def counts(values: Sequence[str]) -> dict[str, int]:
    """How often each value occurs, by name."""
    return dict(sorted(Counter(values).items()))


def kept(rows: Dataset) -> Dataset:
    """The rows that no filter dropped, without the reasons."""
    reasons = reasons_of(rows)
    words = [WORDS] if WORDS in rows.column_names else []
    return rows.filter(Kept(*reasons), batched=True).remove_columns([*reasons, *words])


def reasons_of(rows: Dataset) -> list[str]:
    """Columns that say why a row is dropped."""
    return [name for name in rows.column_names if name.endswith("_reason")]


def per_group(rows: Dataset, sizes: Mapping[str, int], *, seed: int) -> Dataset:
    """So many rows of each group, drawn with a seed and left in their order.

    Args:
        rows: with the column ``source_gender``.
        sizes: group -> number of rows, at most as many as there are.
        seed: of the choice; a smaller size takes a part of what a larger one takes.

    Returns:
        The rows that were drawn.
    """
    labels = np.asarray(rows[GENDER][:])
    rng = generator(seed)
    chosen = [rng.permutation(np.flatnonzero(labels == group))[:size] for group, size in sizes.items()]
    return rows.select(np.sort(np.concatenate(chosen)))


def drawn(rows: Dataset, size: int, *, seed: int) -> Dataset:
    """So many rows in random order; where there are fewer, all of them again and again."""
    rng = generator(seed)
    rounds = [rng.permutation(len(rows)) for _ in range(-(-size // len(rows)))]
    return rows.select(np.concatenate(rounds)[:size] if rounds else [])


def joined(parts: Sequence[tuple[Dataset, int]]) -> Dataset:
    """Source and target of several sets, each as often as its number says."""
    return concatenate_datasets([part.select_columns([SOURCE, TARGET]) for part, times in parts for _ in range(times)])


def rows_card(
    rows: Dataset,
    *,
    name: str,
    summary: str,
    source: str,
    options: Mapping[str, Any],
    numbers: Mapping[str, Any],
    attribute: Attribute,
    machine: bool = True,
    repo_id: str = "",
) -> DatasetCard:
    """The card of the rows of a stage: how they were made.

    Args:
        rows: what it is about.
        name: of the stage.
        summary: what the stage does, in one line.
        source: what the rows were made from, as a reader knows it.
        options: what was set.
        numbers: what was counted, nested mappings allowed.
        attribute: whose words were used.
        machine: whether one side is machine output.
        repo_id: where they are published; "" means the folder of the stage.
    """
    made = Derivation(
        name=repo_id or f"GFST, {name.replace('_', ' ')}",
        method="gfst",
        summary=summary,
        source=source,
        split="train",
        columns=[column for column in (TEXT, SOURCE, TARGET) if column in rows.column_names],
        options={key: str(value) for key, value in options.items() if value is not None},
        counts=numbers,
        n_rows=len(rows),
        attribute=attribute,
        reference=REFERENCE,
        limits=[MACHINE] if machine else [],
        versions=package_versions(PACKAGES),
        repo_id=repo_id,
        saved=not repo_id,
    )
    return dataset_card(made)
