"""Training an encoder on with what it was made by, on texts alone: contrastive, or by filling in masked words.

The texts decide what comes out: see `cda`, `dropout` and `continued`, which share all that is here.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from safetensors.torch import load_file
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sentence_transformers.util import all_gather
from torch import Tensor, nn
from transformers import DataCollatorForLanguageModeling, Trainer
from transformers.utils import SAFE_WEIGHTS_NAME

from hf_fairness.losses import simcse_loss
from hf_fairness.trainers.training.encoder import TrainableEncoder
from hf_fairness.trainers.training.guarded import Guarded

#: Columns of what is trained on: the text, and the number of the row that it is a version of.
TEXT, ROW = "text", "row"


class Contrastive(nn.Module):
    """Unsupervised SimCSE: each text is embedded twice, dropout makes the difference; see `simcse_loss`.

    On several processes the texts of all are negatives of each, so that two processes of half the batch train what one
    of the whole batch does.

    Args:
        encoder: what is trained; it must have dropout.
        temperature: divides the cosines.
    """

    def __init__(self, encoder: TrainableEncoder, temperature: float) -> None:
        super().__init__()
        self.encoder, self.temperature = encoder.model, temperature

    def collate(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Model inputs of every text, twice, and the numbers of their rows."""
        texts = [row[TEXT] for row in rows]
        return {ROW: torch.tensor([row[ROW] for row in rows]), **self.encoder.preprocess([*texts, *texts])}

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """The loss of a batch."""
        rows = inputs.pop(ROW)
        first, second = self.encoder(inputs)["sentence_embedding"].chunk(2)
        processes = 1
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            processes = torch.distributed.get_world_size()
            first, second, rows = all_gather(first), all_gather(second), all_gather(rows)
        loss = simcse_loss(first, second, rows, temperature=self.temperature)
        # Each process has gradients of its own texts alone, and their mean is taken where the sum is wanted.
        return {"loss": loss + (processes - 1) * (loss - loss.detach())}

    def activation_checkpointing_enable(self, **options: Any) -> None:
        """For `Trainer`."""
        self.encoder[0].model.activation_checkpointing_enable(**options)


class MaskedWords(nn.Module):
    """Masked language modelling: the head says what stood at 15 % of the places (Devlin et al. 2019).

    Which places, and that of these 80 % are masked, 10 % take a random word and 10 % stay, is drawn by
    `DataCollatorForLanguageModeling`; anew at every step and, other than in its usual place, within the step: so that a
    resumed training draws what one that was not stopped does.

    Args:
        encoder: what is trained, with its head; a head below adapters (LoRA) stays as it is.
    """

    def __init__(self, encoder: TrainableEncoder) -> None:
        super().__init__()
        if encoder.head is None:
            raise ValueError("The encoder has no masked-language-model head.")
        self.head, self.preprocess = encoder.head, encoder.model.preprocess
        self.masking = DataCollatorForLanguageModeling(encoder.model.tokenizer, mlm_probability=0.15)
        self.takes = set(inspect.signature(self.head.forward).parameters)
        if encoder.adapted:
            inside = {id(weight) for weight in encoder.transformer.model.parameters()}
            for weight in self.head.parameters():
                weight.requires_grad_(weight.requires_grad and id(weight) in inside)

    def collate(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Model inputs of every text."""
        inputs = self.preprocess([row[TEXT] for row in rows])
        return {name: value for name, value in inputs.items() if name in self.takes}

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """The loss of a batch: the mean over the places that were chosen, 0 where none was."""
        ids = inputs.pop("input_ids")
        masked, wanted = (each.to(ids.device) for each in self.masking.torch_mask_tokens(ids.cpu().clone()))
        chosen = wanted != -100
        logits = self.head(input_ids=masked, **inputs).logits[chosen]
        return {"loss": F.cross_entropy(logits.float(), wanted[chosen], reduction="sum") / chosen.sum().clamp(min=1)}

    def activation_checkpointing_enable(self, **options: Any) -> None:
        """For `Trainer`."""
        self.head.activation_checkpointing_enable(**options)


class ContinuedTrainer(Guarded, Trainer):
    """Trains an encoder on texts; its checkpoints hold the trained weights alone.

    Args:
        objective: :class:`Contrastive` or :class:`MaskedWords`; it holds the encoder.
        args: settings; every ``per_device_train_batch_size`` texts are a batch.
        texts: rows of :data:`TEXT` and :data:`ROW`.
        kwargs: others of `Trainer`.
    """

    quick = True

    def __init__(self, objective: Contrastive | MaskedWords, args: Any, texts: Dataset, **kwargs: Any) -> None:
        super().__init__(model=objective, args=args, train_dataset=texts, data_collator=objective.collate, **kwargs)
        self.model_accepts_loss_kwargs = False  # losses are means over a batch

    def _weights(self) -> dict[str, Tensor]:
        """What training changes; weights that are shared come once."""
        kept = set(self.model.state_dict())
        trained = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        return trained | {name: value for name, value in self.model.named_buffers() if name in kept}

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        super()._save(output_dir, {name: value.detach().contiguous() for name, value in self._weights().items()})

    def _load_from_checkpoint(self, checkpoint: str, model: Any = None) -> None:
        saved, weights = load_file(Path(checkpoint, SAFE_WEIGHTS_NAME)), self._weights()
        if {name: value.shape for name, value in saved.items()} != {n: value.shape for n, value in weights.items()}:
            raise ValueError(
                f"{checkpoint} holds other weights than those that are trained here. Resume with the same model, "
                "objective and use_peft as the run that wrote it, or remove it."
            )
        with torch.no_grad():
            for name, value in weights.items():
                value.copy_(saved[name])


def number_rows(versions: Sequence[Sequence[str]]) -> list[int]:
    """A number per row, the same where rows have a version in common, directly or by way of other rows.

    Example:
        >>> number_rows([["he sings", "she sings"], ["a king", "a queen"], ["she sings", "they sing"]])
        [0, 1, 0]
    """
    places = [row for row, texts in enumerate(versions) for _ in texts]
    known: dict[str, int] = {}
    texts = [known.setdefault(text, len(versions) + len(known)) for row in versions for text in row]
    n = len(versions) + len(known)
    graph = coo_array((np.ones(len(places), dtype=np.int8), (places, texts)), shape=(n, n))
    return [int(number) for number in connected_components(graph, directed=False)[1][: len(versions)]]
