"""Sequence classifiers over texts or pairs of texts: opened once, run in batches of similar length."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from hf_fairness._encoder_adapters import check_texts, is_a, is_live, model_max_length, name_of, split_pair
from hf_fairness._opening import find_tokenizer, open_pretrained, refuse_dtype
from hf_fairness._processes import one_thread_after_fork
from hf_fairness.scores.statistics import Floats
from hf_fairness.utils import progress

if TYPE_CHECKING:
    import torch

EXPECTED = "a Hub id or folder of a sequence classifier, or a live one with tokenizer=..."


class PassOptions(TypedDict, total=False):
    """The options that all passes share; :class:`Classifier` explains them."""

    tokenizer: Any
    device: str | torch.device | None
    dtype: str | torch.dtype | None
    max_length: int | None
    show_progress: bool | None
    distributed: bool


class Classifier:
    """A transformers model for sequence classification, opened for passes over texts.

    Args:
        model: a Hub id, a folder, or a transformers (or PEFT) model, also one that accelerate has wrapped, or the pair
            of it and its tokenizer.
        tokenizer: for a live model; None looks where the model came from.
        device: None means where a live model is, and accelerate's device for one that is opened here.
        dtype: of the weights of a model that is opened here, such as "float16"; None means that of its weights.
        max_length: tokens of a text; None means what the model can take. Longer texts are cut.
        show_progress: None means on a terminal, on the main process.
        distributed: whether the processes of a launch share the work. All of them must then make the same calls, and
            get the same results. With False, or before torch's process group is there, each does all of it.

    Attributes:
        name: what messages call the model; of a folder the last part only.

    Raises:
        TypeError: no model.
        ValueError: a model that does not open, or without a tokenizer.
    """

    def __init__(
        self,
        model: Any,
        *,
        tokenizer: Any = None,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        max_length: int | None = None,
        show_progress: bool | None = None,
        distributed: bool = True,
    ) -> None:
        model, tokenizer = split_pair(model, tokenizer)
        if isinstance(model, (str, Path)):
            where = _accelerate_device() if device is None else device
            kind = "AutoModelForSequenceClassification"
            self.model = open_pretrained(kind, model, dtype=dtype, device=where).eval()
            self.tokenizer = find_tokenizer(model, tokenizer)
        else:
            self.model = _unwrapped(model)
            if not is_live(self.model):
                raise TypeError(f"model is no sequence classifier: got {type(model).__name__}. Expected {EXPECTED}.")
            refuse_dtype(dtype)
            self.tokenizer = find_tokenizer(self.model, tokenizer)
        name = str(model) if isinstance(model, (str, Path)) else name_of(self.model)
        path = Path(name).expanduser()
        self.name = path.name if path.is_absolute() or path.exists() else name
        self.device, self.show_progress, self.distributed = device, show_progress, distributed
        self.max_length = model_max_length(self.model, self.tokenizer) if max_length is None else max_length

    @property
    def label_names(self) -> dict[int, str]:
        """Names of the classes in the model's configuration."""
        return {int(number): str(name) for number, name in (self.model.config.id2label or {}).items()}

    def tokens(self, *texts: Sequence[str]) -> dict[str, list[list[int]]]:
        """Token ids and what else the model reads, without padding.

        Args:
            texts: one list of texts, or two for pairs.
        """
        cut = {} if self.max_length is None else {"truncation": True, "max_length": self.max_length}
        return dict(self.tokenizer(*(check_texts(column) for column in texts), **cut))

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[torch.device]:
        """Within the block dropout is off; afterwards every part of the model is in its former mode again."""
        import torch

        modes = [(module, module.training) for module in self.model.modules()]
        one_thread_after_fork()
        target = self.model.device if self.device is None else torch.device(self.device)
        self.model.to(target)
        self.model.eval()
        try:
            yield target
        finally:
            for module, mode in modes:
                module.training = mode

    def logits(self, *texts: Sequence[str], batch_size: int = 32) -> Floats:
        """Logits of texts, or of pairs of texts.

        Args:
            texts: one list of texts, or two for pairs.
            batch_size: texts per forward; batches hold texts of similar length.

        Returns:
            Shape (n, classes), in input order; on all processes the same.

        Raises:
            ValueError: no texts, a model that does not give logits of two or more classes, NaN.
        """
        import torch

        def checked(batch: Any) -> Any:
            with torch.no_grad():  # no inference mode: what a model keeps from it would be of no use in training
                logits = getattr(self.model(**batch), "logits", None)
            if logits is None or logits.ndim != 2 or logits.shape[1] < 2:
                raise ValueError(
                    f"{self.name} ({type(self.model).__name__}) gives no logits of two or more classes per text."
                )
            return logits

        result = self.read(checked, *texts, batch_size=batch_size, description="Classifying")
        if not np.isfinite(result).all():
            raise ValueError(f"{self.name} gives NaN or infinite logits. Check the model's weights and dtype.")
        return result

    def read(
        self, work: Callable[[Any], Any], *texts: Sequence[str], batch_size: int = 32, description: str = "Reading"
    ) -> Floats:
        """What is made of every text, or pair of texts, in batches of similar length.

        Args:
            work: from a padded batch, on the device of the model, to a tensor with a row for each text.
            texts: one list of texts, or two for pairs.
            batch_size: texts per forward.
            description: for the label of the bar.

        Returns:
            Shape (n, ...), in input order; on all processes the same.

        Raises:
            ValueError: no texts.
        """
        from transformers import DataCollatorWithPadding

        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
        fields, collate = self.tokens(*texts), DataCollatorWithPadding(self.tokenizer)
        lengths = [len(ids) for ids in fields["input_ids"]]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]

        def forward(places: list[int], device: torch.device) -> Any:
            rows = [{key: values[place] for key, values in fields.items()} for place in places]
            return work(collate(rows).to(device))

        return self.collect(forward, batches, len(order), description)

    def collect(
        self, work: Callable[[list[int], torch.device], Any], batches: Sequence[list[int]], n: int, description: str
    ) -> Floats:
        """Results of batches of rows in the order of the rows; processes of a launch take turns at the batches.

        Args:
            work: from the rows of a batch and the device to a tensor with a row for each.
            batches: rows of each batch.
            n: number of rows.
            description: for the label of the bar.

        Returns:
            Shape (n, ...), the same on every process.
        """
        import torch

        rank, processes = 0, 1
        if self.distributed and torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
        result = np.zeros(0)
        with self.evaluating() as device:
            mine = batches[rank::processes]
            for rows in progress(mine, description, show_progress=self.show_progress, unit="batch"):
                found = work(rows, device).double().cpu().numpy()
                if not result.size:
                    result = np.zeros((n, *found.shape[1:]))
                result[rows] = found
        return result if processes == 1 else _summed(result, n)


def _summed(result: Floats, n: int) -> Floats:
    """The sum over processes of what each has of n rows, the rest being 0."""
    import torch
    from accelerate import PartialState
    from accelerate.utils import gather_object, reduce

    shape = next(shape for shape in gather_object([result.shape]) if shape[0] == n)  # unknown where no batch was run
    tensor = torch.as_tensor(result if result.size else np.zeros(shape), device=PartialState().device)
    total: Floats = reduce(tensor, reduction="sum").cpu().numpy()
    return total


def _accelerate_device() -> Any:
    from accelerate import PartialState

    return PartialState().device


def _unwrapped(model: Any) -> Any:
    """The model inside what accelerate or torch.compile has put around it."""
    if not is_a(model, "torch.nn", "Module") or is_a(model, "transformers", "PreTrainedModel"):
        return model
    from accelerate.utils import extract_model_from_parallel

    return extract_model_from_parallel(model)
