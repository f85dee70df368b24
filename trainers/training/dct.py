"""Debiasing contrastive learning: a trainer, and the columns in which its rows bring what a bias-only model says.

Source: Lyu et al. 2023, *Feature-Level Debiased Natural Language Understanding* (DCT); see `hf_fairness.losses.dct`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from datasets import Dataset, List, Value, concatenate_datasets
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from hf_fairness.losses import dct_loss
from hf_fairness.losses.dct import check_settings
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.rows import column_values, text_columns
from hf_fairness.trainers.training.bias_trainers import BiasTrainer
from hf_fairness.trainers.training.pair_training import class_numbers

#: Rows whose biased features are most like those of a row of another label, one for each epoch of the bias-only model;
#: and whether the bias-only model gets a row wrong.
NEGATIVES_COLUMN, HARD_COLUMN = "dct_negatives", "dct_hard"
#: Rows compared with all hard ones at a time.
CHUNK = 1024


def add_dct_columns(
    dataset: Dataset,
    features: Sequence[ArrayLike],
    log_probs: ArrayLike,
    *,
    label_column: str = "label",
    threshold: float = 0.8,
) -> Dataset:
    """Add what `DCTTrainer` reads, and the hard rows once more at the end, as the authors' code does.

    Hard are the rows that the bias-only model gets wrong with a probability of ``threshold`` or more; where it gets no
    row of a label so, those of the label that it gets wrong at all, or else all of them. The negative of a row is the
    hard row of another label whose biased features are nearest (Euclidean distance; the lowest of equals).

    Args:
        dataset: rows with labels.
        features: of the bias-only model after each of its epochs, each of shape (n, dim): what its last layer takes,
            see :func:`bias_features`. In epoch k of the main model the k-th are used, later the last.
        log_probs: of the bias-only model when it was trained, shape (n, n_classes).
        label_column: numbers of classes.
        threshold: of the probability.

    Returns:
        The rows with ``dct_negatives`` (a row number for each of ``features``) and ``dct_hard``, then the hard ones.

    Raises:
        ValueError: one class only, or arrays of another length.

    Source:
        Lyu et al. 2023, dynamic negative sampling, as their code has it (``pos_neg_index/MNLI``): TinyBERT trained for
        five epochs on all rows as the bias-only model, hard rows by a threshold of 0.8, an approximate search in the
        place of our exact one.

    Example:
        >>> rows = Dataset.from_dict({"label": [0, 0, 1, 1]})
        >>> seen = np.array([[0.0], [1.0], [0.1], [1.1]])
        >>> said = np.log([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.1]])  # wrong of rows 1 and 3
        >>> found = add_dct_columns(rows, [seen], said)
        >>> found["dct_negatives"][:], found["dct_hard"][:]
        ([[3], [3], [1], [1], [3], [1]], [False, True, False, True, True, True])
    """
    labels, probabilities = class_numbers(dataset, label_column), np.exp(np.asarray(log_probs, dtype=np.float64))
    arrays = [np.asarray(each, dtype=np.float64) for each in features]
    if not arrays or any(len(each) != len(labels) for each in (probabilities, *arrays)):
        sizes = [len(each) for each in (probabilities, *arrays)]
        raise ValueError(f"{len(labels)} rows need log-probabilities and features of as many; got {sizes}.")
    if len(set(labels.tolist())) < 2:
        raise ValueError("All rows have one label: a contrast needs rows of another.")
    hard = hard_rows(labels, probabilities, threshold)
    negatives = np.stack([nearest_of_another_label(each, labels, hard) for each in arrays], axis=1)
    feature = List(Value("int32"), length=len(arrays))
    rows = dataset.add_column(NEGATIVES_COLUMN, list(negatives.astype(np.int32)), feature=feature)
    rows = rows.add_column(HARD_COLUMN, hard.tolist())
    return concatenate_datasets([rows, rows.select(np.flatnonzero(hard))])


def hard_rows(labels: NDArray[np.int64], probabilities: NDArray[Any], threshold: float) -> NDArray[np.bool_]:
    """Which rows a bias-only model gets wrong, shape (n,); of every label one at least."""
    wrong = probabilities.argmax(axis=1) != labels
    hard = wrong & (probabilities.max(axis=1) >= threshold)
    for label in np.unique(labels):
        own = labels == label
        if not hard[own].any():
            hard[own] = wrong[own] if wrong[own].any() else True
    return hard


def nearest_of_another_label(
    features: NDArray[Any], labels: NDArray[np.int64], hard: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """For each row the hard row of another label with the nearest features, shape (n,)."""
    places = np.flatnonzero(hard)
    known, theirs = features[places], labels[places]
    found = np.zeros(len(labels), dtype=np.int64)
    for start in range(0, len(labels), CHUNK):
        own = slice(start, start + CHUNK)
        distances = (known**2).sum(axis=1) - 2.0 * features[own] @ known.T  # up to what is the same for all of a row
        distances[theirs[None] == labels[own, None]] = np.inf
        found[own] = places[distances.argmin(axis=1)]
    return found


def bias_features(
    model: Any,
    tokenizer: Any,
    dataset: Dataset,
    *,
    columns: Sequence[str] | None = None,
    batch_size: int = 64,
    device: Any = None,
) -> NDArray[np.float64]:
    """What the last layer of a classifier takes, for each row.

    Args:
        model: Hub id, folder or live classifier.
        tokenizer: of a live model; None looks where the model came from.
        dataset: rows with texts.
        columns: text columns; None as in `text_columns`.
        batch_size: rows per forward.
        device: None means where a live model is.

    Returns:
        Shape (n, dim), in input order.
    """
    opened = Classifier(model, tokenizer=tokenizer, device=device, show_progress=False)
    texts = [dataset[name][:] for name in text_columns(dataset, columns)]

    def features(batch: Any) -> Tensor:
        with torch.no_grad(), taken_by_head(opened.model) as taken:
            opened.model(**batch)
        return of_rows(taken[-1], batch.get("attention_mask"))

    return opened.read(features, *texts, batch_size=batch_size, description="Reading biased features")


def head_of(model: nn.Module) -> nn.Linear:
    """The last layer of a classifier: the last linear one with an output for each class.

    Raises:
        ValueError: there is none.
    """
    n = int(getattr(getattr(model, "config", None), "num_labels", 0))
    found = [part for part in model.modules() if isinstance(part, nn.Linear) and part.out_features == n]
    if not found:
        raise ValueError(f"{type(model).__name__} has no linear layer with {n} outputs, one for each class.")
    return found[-1]


@contextmanager
def taken_by_head(model: nn.Module) -> Iterator[list[Tensor]]:
    """Within the block, what the last layer took in each forward."""
    taken: list[Tensor] = []
    handle = head_of(model).register_forward_pre_hook(lambda _, inputs: taken.append(inputs[0]))
    try:
        yield taken
    finally:
        handle.remove()


def of_rows(taken: Tensor, mask: Tensor | None) -> Tensor:
    """Features of the rows, shape (batch, dim); of a model that classifies every token those of the last one."""
    if taken.ndim == 2:
        return taken
    places = torch.arange(taken.shape[1], device=taken.device)
    last = (places * (torch.ones_like(places) if mask is None else mask)).argmax(-1)
    return taken[torch.arange(len(taken), device=taken.device), last]


class Contrast(nn.Module):
    """What `DCTTrainer` puts into a model while it trains: projections, the momentum encoder, and the queue of keys.

    Args:
        model: the classifier; the momentum encoder begins as a copy of it.
        queue_size: keys that are kept.
    """

    queue: Tensor
    queue_labels: Tensor
    n_enqueued: Tensor

    def __init__(self, model: nn.Module, queue_size: int) -> None:
        super().__init__()
        width, place = head_of(model).in_features, head_of(model).weight.device
        self.key_model = copy.deepcopy(model).requires_grad_(False)
        self.query_head = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width)).to(place)
        self.key_head = copy.deepcopy(self.query_head).requires_grad_(False)
        self.register_buffer("queue", torch.zeros(queue_size, width, device=place))
        self.register_buffer("queue_labels", torch.zeros(queue_size, dtype=torch.long, device=place))
        self.register_buffer("n_enqueued", torch.zeros((), dtype=torch.long, device=place))

    @torch.no_grad()
    def follow(self, model: nn.Module, momentum: float) -> None:
        """Move the momentum encoder and its projection towards the model and its own."""
        mine = dict(self.key_model.named_parameters())
        pairs = [(mine[name], weight) for name, weight in model.named_parameters() if name in mine]
        pairs += zip(self.key_head.parameters(), self.query_head.parameters(), strict=True)
        for own, other in pairs:
            own.mul_(momentum).add_(other.detach().to(own.dtype), alpha=1.0 - momentum)

    @torch.no_grad()
    def encode(self, batch: Mapping[str, Any]) -> Tensor:
        """Keys of rows, shape (rows, dim), of length 1."""
        with taken_by_head(self.key_model) as taken:
            self.key_model(**batch)
        return normalize(self.key_head(of_rows(taken[-1], batch.get("attention_mask"))).float(), dim=-1)

    @torch.no_grad()
    def enqueue(self, keys: Tensor, labels: Tensor) -> None:
        """Put keys in the place of the oldest ones."""
        size = len(self.queue)
        keys, labels = keys[-size:], labels[-size:]
        places = (self.n_enqueued + torch.arange(len(keys), device=keys.device)) % size
        self.queue[places], self.queue_labels[places] = keys, labels
        self.n_enqueued += len(keys)

    @property
    def keys(self) -> tuple[Tensor, Tensor]:
        """The keys that there are, and their labels."""
        n = min(int(self.n_enqueued), len(self.queue))
        return self.queue[:n].clone(), self.queue_labels[:n].clone()


class DCTTrainer(BiasTrainer):
    """Trains with a contrast to rows that a bias-only model names, see `hf_fairness.losses.dct_loss`.

    For every row, ``n_positives`` random hard rows of its label and the hard row of another label whose biased features
    are nearest to its own are encoded by a momentum encoder and put into a queue; the keys of the queue are what the
    row is contrasted with. Training rows need the columns of :func:`add_dct_columns`, and must keep their order.
    Projections, momentum encoder and queue are part of the model, and of its checkpoints, while it trains; afterwards
    they are gone. A step reads ``n_positives`` + 1 further rows for each of its own, without gradients.

    Args:
        args: those of `transformers.Trainer`.
        weight: of the contrastive part, in [0, 1].
        temperature: of the similarities, above 0.
        momentum: share of its own that the momentum encoder keeps in a step.
        queue_size: keys that are kept.
        n_positives: rows drawn for each row.
        n_nearest: keys of its label that a row is drawn to, the most similar ones.
        n_farthest: the same of the least similar ones.
        kwargs: those of `transformers.Trainer`.

    Raises:
        ValueError: as `BiasTrainer`; numbers out of range; a streamed training set.

    Source:
        Lyu et al. 2023; sizes and weights are those of their code. Deviations: the queue begins empty, and not with
        random keys of random labels; the momentum encoder moves once in a step, also with accumulation; the classifier
        keeps its own head, and has no hidden layer and no dropout added before it; projections have no dropout.
    """

    engines = ()  # it reads weights of the model beside its forward

    columns = (NEGATIVES_COLUMN,)
    what = (
        "A text classifier: {base}, trained with debiasing contrastive learning (Lyu et al. 2023) against what a "
        "bias-only model reads."
    )

    def __init__(
        self,
        *args: Any,
        weight: float = 0.1,
        temperature: float = 0.04,
        momentum: float = 0.999,
        queue_size: int = 32_000,
        n_positives: int = 16,
        n_nearest: int = 1,
        n_farthest: int = 150,
        **kwargs: Any,
    ) -> None:
        sizes = {"queue_size": queue_size, "n_positives": n_positives}
        for name, value in sizes.items():
            if value < 1:
                raise ValueError(f"{name} is {value}, expected 1 or more.")
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"momentum is {momentum}, expected a number from 0 to 1.")
        check_settings(weight, temperature, n_nearest, n_farthest)
        super().__init__(*args, **kwargs)
        if not isinstance(self.train_dataset, Dataset):
            raise ValueError("DCTTrainer draws rows by their numbers: give a datasets.Dataset that is no stream.")
        self.momentum, self.queue_size, self.n_positives = momentum, queue_size, n_positives
        self.contrast: dict[str, Any] = {
            "weight": weight, "temperature": temperature, "n_nearest": n_nearest, "n_farthest": n_farthest
        }  # fmt: skip
        self._taken: Tensor | None = None
        self._mask: Tensor | None = None
        self._step = (-1, 0)

    def check_rows(self, rows: Dataset, n_classes: int) -> None:
        """Raise unless the rows have the columns, and the columns name rows."""
        for name in (NEGATIVES_COLUMN, HARD_COLUMN):
            if name not in rows.column_names:
                raise ValueError(
                    f"The training rows have no column {name!r}; they have {', '.join(rows.column_names)}. "
                    "hf_fairness.trainers.add_dct_columns adds it."
                )
        numbers = np.asarray(column_values(rows, NEGATIVES_COLUMN))
        if numbers.ndim != 2 or numbers.min() < 0 or numbers.max() >= len(rows):
            raise ValueError(
                f"Column {NEGATIVES_COLUMN!r} must hold numbers of rows, 0 to {len(rows) - 1}, as many for each row; "
                "were rows left out after they were made?"
            )
        labels, hard = (np.asarray(column_values(rows, name)) for name in (self._labels_of(rows), HARD_COLUMN))
        self._hard = {int(label): np.flatnonzero(hard & (labels == label)) for label in np.unique(labels)}
        lacking = [label for label, places in self._hard.items() if not len(places)]
        if lacking:
            raise ValueError(f"No row of the label {lacking[0]} is marked in the column {HARD_COLUMN!r}; one must be.")

    @staticmethod
    def _labels_of(rows: Dataset) -> str:
        """Column of the labels."""
        return "labels" if "labels" in rows.column_names else "label"

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train with the projections, the momentum encoder and the queue in the model, and take them out again."""
        head = head_of(self.model)
        self.model.dct = Contrast(self.model, self.queue_size)
        handles = [head.register_forward_pre_hook(self._take), self.model.register_forward_hook(self._give)]
        try:
            return super().train(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
            del self.model.dct

    def _take(self, _: nn.Module, inputs: tuple[Any, ...]) -> None:
        """Project what the last layer takes, in the forward of the model, so that processes share the gradients."""
        if torch.is_grad_enabled():
            self._taken = self.model.dct.query_head(of_rows(inputs[0], self._mask))

    def _give(self, _: nn.Module, __: Any, output: Any) -> Any:
        """Put the projections among the outputs, where a wrapper of several processes looks for what has a gradient.

        They stand where the hidden states would, which were not asked for: such a wrapper knows no other names.
        """
        if self._taken is None:
            return output
        if isinstance(output, dict):
            output["hidden_states"] = (self._taken,)
            return output
        return (*output, self._taken)

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The loss of a batch; in eval mode the model's own, which is plain cross entropy."""
        self._mask = inputs.get("attention_mask")
        return super().compute_loss(model, inputs, *args, **kwargs)

    def row_losses(self, logits: Tensor, labels: Tensor, **columns: Tensor) -> Tensor:
        """Cross entropy and contrastive part of each row, shape (batch,)."""
        assert self._taken is not None
        queries, self._taken = normalize(self._taken.float(), dim=-1), None
        self._fill(labels, columns[NEGATIVES_COLUMN])
        parts = dct_loss(
            logits, labels, queries, *self.model.dct.keys, **self.contrast, reduction="none", check_values=False
        )
        return parts["cross_entropy"] + parts["contrastive"]

    def _fill(self, labels: Tensor, negatives: Tensor) -> None:
        """Encode the partners of a batch and put them into the queue."""
        step, turn = self._step
        self._step = (step, turn + 1) if step == self.state.global_step else (self.state.global_step, 0)
        step, turn = self._step
        if not turn and step:
            self.model.dct.follow(self.model, self.momentum)
        random = np.random.default_rng([self.args.seed, step, turn, self.args.process_index])
        epoch = min(int(self.state.epoch or 0), negatives.shape[1] - 1)
        positives = np.concatenate([random.choice(self._hard[label], self.n_positives) for label in labels.tolist()])
        rows = [*positives.tolist(), *negatives[:, epoch].tolist()]
        found = self.train_dataset[rows]
        self._set_signature_columns_if_needed()
        left = {"label", "labels", "label_ids", *self.columns}
        names = [name for name in found if name in self._signature_columns and name not in left]
        batch = self.data_collator([{name: found[name][place] for name in names} for place in range(len(rows))])
        batch = self._prepare_inputs(dict(batch))
        theirs = torch.as_tensor(found[self._labels_of(self.train_dataset)], device=labels.device)
        keys = self.accelerator.gather(self.model.dct.encode(batch))
        self.model.dct.enqueue(keys, self.accelerator.gather(theirs))
