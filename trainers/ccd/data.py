"""Rows for CCD training: which to keep, and what the original encoder makes of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from datasets import Dataset, Features, List, Value
from sentence_transformers import SentenceTransformer
from torch import Tensor

from hf_fairness._linear import quick_linear
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.losses import KernelWidth, kernel_width
from hf_fairness.losses.ccd import gaussian_kernel
from hf_fairness.losses.columns import embed_columns
from hf_fairness.measure.variants import read_variants
from hf_fairness.rows import check_dataset
from hf_fairness.utils import did_you_mean, in_eval, progress

logger = logging.getLogger(__name__)

REFERENCE_COLUMN = "label"


@dataclass(frozen=True)
class CCDReferences:
    """What the original encoder makes of the variants; it never changes, so it is computed once.

    Attributes:
        neutral: embeddings of the neutral texts, float32 of shape (rows, dim).
        distances: per group, the distance of each of its texts to the neutral one, shape (rows,).
    """

    neutral: np.ndarray
    distances: Mapping[str, np.ndarray] = field(default_factory=dict)

    def kernel_width(self, rho: str | float = "mean") -> KernelWidth:
        """The kernel's width for these distances; see `hf_fairness.losses.kernel_width`."""
        return kernel_width(torch.from_numpy(np.stack(list(self.distances.values()))), rho)

    def random_targets(self, rho: float, seed: int = 0) -> np.ndarray:
        """What a control is trained towards: closeness of each group to the neutral text, float32 (rows, groups).

        Each row's own closeness, moved by the gaps between groups that another row has: for one half of the rows,
        drawn at random, upwards, for the other downwards. (Rows stand in a random circle and each takes from the
        next.) The targets are about as far away as those of the method, and their median, where an absolute loss
        ends that cannot learn what is random, is the gap that each text has. A row that took another's gap as it
        is would end at the gap that is common to all rows: smaller gaps, which is what the method is for.
        """
        distances = np.stack(list(self.distances.values()), axis=1)
        closeness = gaussian_kernel(torch.from_numpy(distances.astype(np.float64) ** 2), rho).numpy()
        gaps = closeness - closeness.mean(axis=1, keepdims=True)
        random = np.random.default_rng(seed)
        order = random.permutation(len(gaps))
        source = np.empty_like(order)
        source[order] = np.roll(order, -1)
        up = random.permutation(np.arange(len(gaps)) % 2 == 0)
        return np.asarray(closeness + np.where(up, 1, -1)[:, None] * gaps[source], dtype=np.float32)

    def add_to(self, dataset: Dataset, targets: np.ndarray | None = None) -> Dataset:
        """The data set with the neutral texts' embeddings, and targets behind them, as column ``label``."""
        if REFERENCE_COLUMN in dataset.column_names:
            dataset = dataset.remove_columns(REFERENCE_COLUMN)
        values = self.neutral if targets is None else np.concatenate([self.neutral, targets], axis=1)
        return dataset.add_column(
            REFERENCE_COLUMN,
            list(values),
            feature=List(Value("float32"), length=values.shape[1]),
        ).with_format("torch")


def text_columns(dataset: Dataset) -> list[str]:
    """Names of the columns that hold strings."""
    features: Features = dataset.features
    return [
        name
        for name, feature in features.items()
        if isinstance(feature, Value) and feature.dtype in ("string", "large_string")
    ]


def select_rows(
    dataset: Dataset, neutral: str = NEUTRAL, groups: Sequence[str] | None = None
) -> tuple[Dataset, list[str], int]:
    """The rows that can train CCD, with their text columns only, as `hf_fairness.measure.variants` reads them.

    Args:
        dataset: rows with one text column per group and one neutral text column.
        neutral: name of the neutral column.
        groups: names of the group columns; None means those that the rows record, or those of an attribute.

    Returns:
        The rows kept, with columns in the order groups, neutral; the group columns; and how many rows were left out.

    Raises:
        TypeError: not a `datasets.Dataset`: rho is taken over the whole training set.
        ValueError: a column is missing or holds no text, a text is empty, or no row is left.
    """
    check_dataset(dataset, "CCD")
    texts = text_columns(dataset)
    for column in [neutral, *(groups or [])]:
        if column not in texts:
            state = "holds no text" if column in dataset.column_names else "is missing"
            raise ValueError(
                f"Column {column!r} {state}. Text columns of the data set: {', '.join(texts) or 'none'}."
                + did_you_mean(column, texts)
                + " GroupVariants (hf_fairness.augment) makes one column per group and a neutral one; other names are "
                "given by group_columns and neutral_column."
            )
    read = read_variants(dataset, groups=groups, neutral=neutral)
    columns = [*read.groups, neutral]
    for name in columns:
        longer = [other for other in columns if other.startswith(f"{name}_")]
        if longer:
            raise ValueError(
                f"Columns {name!r} and {longer[0]!r} cannot be told apart once tokenised; rename one of them."
            )
    return dataset.select(np.flatnonzero(read.kept)).select_columns(columns), list(read.groups), read.n_skipped


@torch.no_grad()
def embed_references(
    model: SentenceTransformer,
    dataset: Dataset,
    groups: Sequence[str],
    neutral: str = "neutral",
    *,
    collator: Any,
    batch_size: int = 32,
    rank: int = 0,
    world_size: int = 1,
    show_progress: bool | None = None,
) -> CCDReferences:
    """Embed the neutral texts and measure every group's distance to them, dropout off.

    Rows are sorted by length. With several processes each takes every ``world_size``-th batch and all get all
    results; the batches do not depend on the number of processes, so neither do the numbers.

    Args:
        model: the original encoder, on its device.
        dataset: rows with text columns.
        groups: names of the group columns; empty to embed the neutral texts only.
        neutral: name of the neutral column.
        collator: what training uses to turn rows into model inputs (prompts, length limit).
        batch_size: rows per forward.
        rank: index of this process.
        world_size: number of processes.
        show_progress: None means on a terminal and on the main process.

    Returns:
        Embeddings and distances in the order of the rows.
    """
    columns = [*groups, neutral]
    rows = dataset.select_columns(columns).with_format(None)[:]
    order = np.argsort([len(text) for text in rows[neutral]], kind="stable")
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    parts = []
    mine = batches[rank::world_size]
    with in_eval(model), quick_linear():
        for batch in progress(mine, "Embedding with the original encoder", show_progress=show_progress):
            inputs = collator([{name: rows[name][index] for name in columns} for index in batch.tolist()])
            embedded = embed_columns(model, _features(inputs, columns, model.device))
            apart = [(group - embedded[-1]).pow(2).sum(-1).sqrt().cpu().numpy() for group in embedded[:-1]]
            parts.append((batch, embedded[-1].float().cpu().numpy(), apart))
    if world_size > 1:
        parts = gather_object(parts)
    places = np.concatenate([batch for batch, _, _ in parts])
    inverse = np.argsort(places)
    return CCDReferences(
        neutral=np.concatenate([vectors for _, vectors, _ in parts])[inverse],
        distances={
            group: np.concatenate([apart[i] for _, _, apart in parts])[inverse] for i, group in enumerate(groups)
        },
    )


def _features(inputs: Mapping[str, Any], columns: Sequence[str], device: torch.device) -> list[dict[str, Any]]:
    """Split a collated batch into one feature dict per column, as the trainer does."""
    features: list[dict[str, Any]] = []
    for column in columns:
        prefix = f"{column}_"
        features.append(
            {
                key[len(prefix) :]: value.to(device) if isinstance(value, Tensor) else value
                for key, value in inputs.items()
                if key.startswith(prefix)
            }
        )
    return features


def add_reference_embeddings(
    dataset: Dataset,
    model: SentenceTransformer,
    *,
    neutral_column: str = "neutral",
    batch_size: int = 32,
    show_progress: bool | None = None,
) -> Dataset:
    """Add column ``label``: the model's embeddings of the neutral texts, before any training.

    For `hf_fairness.losses.CCDLoss` in a plain ``SentenceTransformerTrainer``; `CCDTrainer` does it itself.

    Args:
        dataset: rows with a neutral text column.
        model: the original encoder.
        neutral_column: name of that column.
        batch_size: texts per forward.
        show_progress: None means on a terminal.

    Returns:
        The data set with ``label``: float32 vectors of the model's dimension.

    Raises:
        ValueError: the column is missing.
    """
    if neutral_column not in text_columns(dataset):
        raise ValueError(
            f"Column {neutral_column!r} is missing or holds no text. Text columns of the data set: "
            f"{', '.join(text_columns(dataset)) or 'none'}."
        )
    from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator

    collator = SentenceTransformerDataCollator(preprocess_fn=model.preprocess)
    references = embed_references(
        model,
        dataset,
        [],
        neutral_column,
        collator=collator,
        batch_size=batch_size,
        show_progress=show_progress,
    )
    return references.add_to(dataset)
