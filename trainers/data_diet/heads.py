"""Many small classifiers on frozen features, trained side by side: one batched product in place of one per head.

A head is an MLP with one hidden layer, logits = relu(x W1 + b1) W2 + b2, trained with Adam on the cross-entropy.
What a head learns depends, up to rounding, on its own seed and rows and on the number of steps, not on the heads
beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from hf_fairness.trainers.training.stopping import DivergedError, all_finite

#: Rows that are predicted at once: they and the hidden layer of all heads should stay small beside the features.
CHUNK = 4096


class Heads:
    """A stack of heads of one size, one per seed.

    Args:
        seeds: of the initial weights and of the order of the rows, one per head.
        width: numbers in a feature vector.
        n_classes: number of labels.
        hidden: units of the hidden layer.
        num_train_epochs: passes over the rows; the paper's 15.
        per_device_train_batch_size: rows of a step.
        learning_rate: of Adam, falling linearly to 0.

    Example:
        >>> import numpy as np
        >>> features, labels = np.eye(2, dtype=np.float32), np.array([0, 1])
        >>> heads = Heads([0, 1], 2, hidden=8, num_train_epochs=50, learning_rate=0.1)
        >>> heads.fit(features, labels, [np.arange(2)] * 2).logits(features).argmax(axis=-1).tolist()
        [[0, 1], [0, 1]]
    """

    def __init__(
        self,
        seeds: Sequence[int],
        width: int,
        *,
        n_classes: int = 2,
        hidden: int = 64,
        num_train_epochs: int = 15,
        per_device_train_batch_size: int = 64,
        learning_rate: float = 1e-3,
    ) -> None:
        self.seeds, self.epochs = list(seeds), num_train_epochs
        self.batch_size, self.learning_rate = per_device_train_batch_size, learning_rate
        self._generators = [torch.Generator().manual_seed(seed) for seed in self.seeds]
        sizes = [(width, hidden, width), (1, hidden, width), (hidden, n_classes, hidden), (1, n_classes, hidden)]
        drawn = [
            [(torch.rand(rows, columns, generator=g) * 2.0 - 1.0) / math.sqrt(fan) for rows, columns, fan in sizes]
            for g in self._generators
        ]
        #: W1 (heads, width, hidden), b1 (heads, 1, hidden), W2 (heads, hidden, classes), b2 (heads, 1, classes).
        self.parameters: list[Tensor] = [torch.stack(parts) for parts in zip(*drawn, strict=True)]

    def fit(
        self,
        features: NDArray[np.float32],
        labels: NDArray[Any],
        rows: Sequence[NDArray[np.intp]],
        *,
        longest: int = 0,
        after_epoch: Callable[[Heads], object] | None = None,
    ) -> Heads:
        """Train every head on its own rows.

        An epoch of each head is cut into as many batches as the head with most rows needs, so that all take the same
        steps; sizes of batches differ by one at most.

        Args:
            features: shape (n, width), shared by all heads.
            labels: class of each row, shape (n,).
            rows: for each head the rows that it is trained on.
            longest: most rows of a head that is trained elsewhere, and has to take the same steps.
            after_epoch: called with the heads.

        Returns:
            The heads.

        Raises:
            ValueError: not one set of rows per head, or a head with fewer rows than steps in an epoch.
            DivergedError: weights that are no numbers any more.
        """
        sizes = [len(chosen) for chosen in rows]
        steps = max(1, math.ceil(max([longest, *sizes]) / self.batch_size))
        if len(sizes) != len(self.seeds) or min(sizes) < steps:
            raise ValueError(f"Each of the {len(self.seeds)} heads needs at least {steps} rows; got {sizes[:10]} rows.")
        inputs, targets = torch.from_numpy(features), torch.tensor(labels, dtype=torch.int64)
        own = [torch.tensor(chosen, dtype=torch.int64) for chosen in rows]
        optimizer = torch.optim.Adam(self.parameters, lr=self.learning_rate, foreach=True)
        rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps * self.epochs)
        for epoch in range(self.epochs):
            for batch, weights in self._batches(own, steps):
                gradients = self.gradients(inputs[batch], targets[batch], weights)
                for parameter, gradient in zip(self.parameters, gradients, strict=True):
                    parameter.grad = gradient
                optimizer.step()
                rate.step()
            if not all_finite(self.parameters):
                raise DivergedError(
                    f"Training of the heads diverged: weights are NaN or infinite after epoch {epoch + 1} of "
                    f"{self.epochs} (learning rate {self.learning_rate:g}). Take a lower learning rate; if it happens "
                    "at once, check the encoder's vectors for large numbers."
                )
            if after_epoch is not None:
                after_epoch(self)
        return self

    def _batches(self, rows: Sequence[Tensor], steps: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Row numbers of a step, shape (heads, size), and their weights in the loss: 1 / rows; both 0 where padded."""
        orders = [r[torch.randperm(len(r), generator=g)] for r, g in zip(rows, self._generators, strict=True)]
        for step in range(steps):
            parts = [order[step * len(order) // steps : (step + 1) * len(order) // steps] for order in orders]
            weights = [torch.full((len(part), 1), 1.0 / len(part)) for part in parts]
            yield pad_sequence(parts, batch_first=True), pad_sequence(weights, batch_first=True)

    def gradients(self, inputs: Tensor, targets: Tensor, weights: Tensor) -> list[Tensor]:
        """Gradients of the weighted sum of cross-entropies, in the order of the parameters.

        Args:
            inputs: shape (heads, rows, width).
            targets: classes, shape (heads, rows).
            weights: shape (heads, rows, 1).

        Returns:
            One tensor per parameter.
        """
        hidden, logits = self._forward(inputs)
        errors, back = (each * weights for each in self._errors(hidden, logits, targets))
        return [
            torch.bmm(inputs.transpose(1, 2), back),
            back.sum(dim=1, keepdim=True),
            torch.bmm(hidden.transpose(1, 2), errors),
            errors.sum(dim=1, keepdim=True),
        ]

    def _errors(self, hidden: Tensor, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Gradient of each row's cross-entropy by its logits, and by what enters the hidden units."""
        errors = torch.softmax(logits, dim=-1)
        errors.scatter_add_(-1, targets.unsqueeze(-1), torch.full_like(errors[..., :1], -1.0))
        back = torch.bmm(errors, self.parameters[2].transpose(1, 2))
        return errors, back.masked_fill_(hidden == 0, 0.0)

    def _forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden units and logits, shape (heads, rows, units), of inputs of the same shape."""
        first, first_bias, second, second_bias = self.parameters
        hidden = torch.baddbmm(first_bias, inputs, first).relu_()
        return hidden, torch.baddbmm(second_bias, hidden, second)

    def _predict(self, features: NDArray[np.float32]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Rows that all heads are given, with hidden units and logits, a part at a time, the units in one product."""
        first, first_bias, second, second_bias = self.parameters
        weights, bias = first.transpose(0, 1).flatten(1), first_bias.flatten()
        for rows in torch.split(torch.from_numpy(features), CHUNK):
            units = torch.addmm(bias, rows, weights).relu_()
            hidden = units.view(len(rows), len(self.seeds), -1).transpose(0, 1)
            yield rows, hidden, torch.baddbmm(second_bias, hidden, second)

    def logits(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits of every head, shape (heads, n, classes)."""
        return np.asarray(torch.cat([logits for *_, logits in self._predict(features)], dim=1).numpy())

    def grand(self, features: NDArray[np.float32], labels: NDArray[Any]) -> NDArray[np.float64]:
        """Length of the gradient of each row's loss by all parameters, shape (heads, n).

        The gradient of a layer by its weights is the outer product of what enters the layer and of the error that
        comes back, so its length is the product of theirs: no gradient has to be formed.

        Source:
            Paul, Ganguli and Dziugaite 2021 (GraNd).
        """
        targets = torch.split(torch.tensor(labels, dtype=torch.int64), CHUNK)
        parts = []
        for (inputs, hidden, logits), wanted in zip(self._predict(features), targets, strict=True):
            errors, back = self._errors(hidden, logits, wanted.expand(len(self.seeds), -1))
            entering, middle, last, first = ((v * v).sum(dim=-1) for v in (inputs, hidden, errors, back))
            parts.append((first * (entering + 1.0) + last * (middle + 1.0)).sqrt())
        return np.asarray(torch.cat(parts, dim=1).numpy(), dtype=np.float64)

    def select(self, head: int) -> dict[str, Tensor]:
        """The parameters of one head by name, as tensors of their own with the shapes of torch's layers."""
        first, first_bias, second, second_bias = (value[head] for value in self.parameters)
        weights = {"hidden.weight": first.T.contiguous(), "output.weight": second.T.contiguous()}
        return {**weights, "hidden.bias": first_bias[0].clone(), "output.bias": second_bias[0].clone()}
