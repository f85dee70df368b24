"""Norms of the gradients of single examples (GraNd), with ``torch.func``."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.layer_gradients import Calls, layer_square, plan_of, square
from hf_fairness.scores.class_labels import class_numbers
from hf_fairness.scores.labels import Labels
from hf_fairness.scores.statistics import Floats
from hf_fairness.utils import FairnessWarning

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor, nn
    from typing_extensions import Unpack

    from hf_fairness.measure.classifier.classifier import PassOptions

PARAMETERS = ("all", "last_layer")
#: Relative difference from a plain backward at which the norms of a model are not believed.
TOLERANCE = 1e-3


def grand(
    model: Any,
    texts: Sequence[str],
    labels: Labels,
    *,
    chunk_size: int = 32,
    parameters: str = "all",
    **options: Unpack[PassOptions],
) -> Floats:
    """Length of the gradient of the loss of each example (GraNd).

    GraNd = ||d cross-entropy(logits(text), label) / d parameters||_2, without dropout. Texts of one length are put
    into one chunk, so that nothing is padded; chunks gain the more, the more texts there are of each length.

    Attention runs as plain matrix products meanwhile, for ``torch.func`` has no rule for fused kernels; models with
    ``attn_implementation`` "sdpa" or "eager" can do that. The first example is compared with a plain backward: if a
    model does not run under ``torch.func``, or the two differ, all examples are done by plain backwards, one by one,
    with a warning.

    Args:
        model: a Hub id, a folder, or a transformers (or PEFT) model for sequence classification.
        texts: the examples.
        labels: class of each, shape (n,).
        chunk_size: most examples at a time; memory grows with it about as in training.
        parameters: "all": all that are trained (``requires_grad``), as published. "last_layer": weight and bias of the
            last linear layer, an approximation that needs no backward through the model.
        options: ``tokenizer``, ``device``, ``max_length``, ``show_progress``, ``distributed``: those of
            :class:`~hf_fairness.measure.classifier.classifier.Classifier`.

    Returns:
        Shape (n,), not negative. Higher: the example would change the model more.

    Raises:
        TypeError: no model.
        ValueError: a regression head, missing labels, labels that are no class of the model, NaN, unknown
            ``parameters``, nothing to train.

    Source:
        Paul, Ganguli and Dziugaite 2021; Zayed et al. 2023, section 2.
    """
    return gradient_norms(Classifier(model, **options), texts, labels, chunk_size=chunk_size, parameters=parameters)


def gradient_norms(
    opened: Classifier, texts: Sequence[str], labels: Labels, *, chunk_size: int = 32, parameters: str = "all"
) -> Floats:
    """:func:`grand` of an opened classifier."""
    import torch

    if parameters not in PARAMETERS:
        raise ValueError(f"parameters must be one of {', '.join(PARAMETERS)}; got {parameters!r}.")
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1; got {chunk_size}.")
    fields = opened.tokens(texts)
    masked = fields.pop("attention_mask", None) is not None
    ids, numbers = fields["input_ids"], check_head(opened, labels, len(fields["input_ids"]))
    norms = ExampleGradients(opened.model, opened.name, masked=masked, last_layer=parameters == "last_layer")

    def work(rows: list[int], device: torch.device) -> Tensor:
        chunk = {key: torch.tensor([values[row] for row in rows], device=device) for key, values in fields.items()}
        return norms(chunk, torch.as_tensor(numbers[rows], device=device))

    result = opened.collect(work, _chunks(ids, chunk_size), len(ids), "Gradients")
    if not (result < float("inf")).all():
        raise ValueError(f"{opened.name} gives NaN or infinite gradients. Check the model's weights and dtype.")
    return result


def check_head(opened: Classifier, labels: Labels, n: int) -> NDArray[Any]:
    """The labels as class numbers of a classifier.

    Raises:
        ValueError: the model regresses, or has several classes per text; not one label per text; a label out of range.
    """
    config = opened.model.config
    classes, problem = int(config.num_labels), getattr(config, "problem_type", None)
    if classes < 2 or problem in ("regression", "multi_label_classification"):
        raise ValueError(
            f"{opened.name} is no classifier with one class per text: num_labels={classes}, problem_type={problem!r}. "
            "Importance scores need logits of two or more classes: open the model with num_labels=2 or more."
        )
    numbers = class_numbers(list(labels))
    if len(numbers) != n:
        raise ValueError(f"labels needs one entry per text; got {len(numbers)} for {n} texts.")
    if numbers.max() >= classes:
        raise ValueError(
            f"labels go up to {int(numbers.max())}, but {opened.name} has {classes} classes, numbered from 0. Open it "
            f"with num_labels={int(numbers.max()) + 1}, or check the labels."
        )
    return numbers


def _chunks(ids: Sequence[Sequence[int]], chunk_size: int) -> list[list[int]]:
    """Rows of one length, at most so many in a chunk."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, tokens in enumerate(ids):
        by_length[len(tokens)].append(row)
    return [
        rows[start : start + chunk_size]
        for _, rows in sorted(by_length.items())
        for start in range(0, len(rows), chunk_size)
    ]


class ExampleGradients:
    """Norms of the gradients of examples by ``torch.func``; one by one where a model does not run under it.

    Args:
        model: a module whose output, or its ``logits``, are logits of shape (batch, classes). No example may depend
            on others of its batch.
        name: how messages call it.
        masked: whether it takes an ``attention_mask``.
        last_layer: whether the gradient is that of the last linear layer alone.

    Raises:
        ValueError: nothing to train.
    """

    def __init__(self, model: nn.Module, name: str, *, masked: bool = False, last_layer: bool = False) -> None:
        if not any(weight.requires_grad for weight in model.parameters()):
            raise ValueError(f"{name} has nothing to train: no parameter has requires_grad. Unfreeze some.")
        self.model, self.name, self.masked, self.last_layer = model, name, masked, last_layer
        self.checked = self.plain = False

    def __call__(self, chunk: dict[str, Tensor], labels: Tensor) -> Tensor:
        """The norms of a chunk.

        Args:
            chunk: inputs of the model by name, the first axis being the examples.
            labels: class of each, shape (n,).

        Returns:
            Shape (n,).
        """
        import torch

        if self.checked and not self.plain:
            return self._together(chunk, labels)
        first = self._alone(chunk, labels, 0)
        if not self.checked:
            self.checked = True
            try:
                norms = self._together(chunk, labels)
                if torch.allclose(norms[0].float(), first.float(), rtol=TOLERANCE, atol=1e-7) or not first.isfinite():
                    return norms
                reason = f"its first norm is {float(norms[0]):.6g} by torch.func and {float(first):.6g} by a backward"
            except torch.OutOfMemoryError:
                raise
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                reason = str(error).strip().splitlines()[0][:200]
            self.plain = True
            warnings.warn(
                f"{self.name} does not run under torch.func ({reason}), so that gradients are taken one example at a "
                "time, which is slow. Open it with attn_implementation='eager' if it has another.",
                FairnessWarning,
                stacklevel=2,
            )
        return torch.stack([first, *(self._alone(chunk, labels, row) for row in range(1, len(labels)))])

    def _together(self, chunk: dict[str, Tensor], labels: Tensor) -> Tensor:
        """Norms of a chunk by ``torch.func``."""
        import torch
        from torch.func import grad, vmap
        from torch.nn.attention import SDPBackend, sdpa_kernel

        probe = Calls()
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):  # no graph of the model's own parameters
            with probe.recorded(self.model):
                self._entropy({key: values[0] for key, values in chunk.items()}, labels[0])
            plan = plan_of(self.model, probe, last_layer=self.last_layer)

            def loss(others: dict[str, Tensor], shifts: list[Tensor], row: dict[str, Tensor], label: Tensor) -> Any:
                calls = Calls(plan.places, shifts)
                with calls.recorded(self.model):
                    entropy = self._entropy(row, label, others)
                return entropy, [calls.inputs[place] for place in plan.places]

            shifts = [torch.zeros_like(probe.outputs[place]) for place in plan.places]
            each = vmap(grad(loss, argnums=(0, 1), has_aux=True), in_dims=(None, None, 0, 0))
            (direct, at_outputs), inputs = each(plan.others, shifts, chunk, labels)
            squares = sum((square(part) for part in direct.values()), torch.zeros(len(labels), device=labels.device))
            for module, calls in plan.layers:
                squares = squares + layer_square(module, [inputs[c] for c in calls], [at_outputs[c] for c in calls])
        return squares.sqrt()

    def _alone(self, chunk: dict[str, Tensor], labels: Tensor, row: int) -> Tensor:
        """The norm of one example by a plain backward."""
        import torch

        calls, trained = Calls(), self.model
        with torch.enable_grad(), calls.recorded(self.model):
            loss = self._entropy({key: values[row] for key, values in chunk.items()}, labels[row])
        if self.last_layer:
            trained = calls.modules[calls.last_linear()]
        weights = [weight for weight in trained.parameters() if weight.requires_grad]
        if not weights:
            raise ValueError(f"The last layer of {self.name} is frozen, so that it has no gradient. Unfreeze it.")
        parts = torch.autograd.grad(loss, weights, allow_unused=True)
        return torch.stack([part.float().square().sum() for part in parts if part is not None]).sum().sqrt()

    def _entropy(self, row: dict[str, Tensor], label: Tensor, parameters: dict[str, Tensor] | None = None) -> Tensor:
        """Cross-entropy of one example, with some parameters replaced."""
        import torch

        inputs = {key: values[None] for key, values in row.items()}
        if self.masked:  # made here and not an input of vmap, for models look at its values
            inputs["attention_mask"] = torch.ones(1, len(row["input_ids"]), dtype=torch.long, device=label.device)
        output = torch.func.functional_call(self.model, parameters or {}, kwargs=inputs)
        logits = getattr(output, "logits", output)
        return torch.nn.functional.cross_entropy(logits.float(), label[None])
