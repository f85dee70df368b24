"""One encoder on one corpus of pairs: classes through a softmax head, scores through the cosine."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Value
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss, SoftmaxLoss
from transformers import set_seed

from hf_fairness.encoders import Vectors
from hf_fairness.runs import atomic_folder
from hf_fairness.scores.statistics import Floats
from hf_fairness.trainers.refine.arguments import RefineConfig
from hf_fairness.trainers.refine.corpora import LABEL
from hf_fairness.trainers.training.encoder import TrainableEncoder
from hf_fairness.trainers.training.guarded import Guarded

HEAD = "head.npz"


class PairTrainer(Guarded, SentenceTransformerTrainer):
    """`SentenceTransformerTrainer` in float32 that stops when it diverges."""


@dataclass(frozen=True)
class Head:
    """The linear layer of a classifier of pairs.

    Attributes:
        weight: shape (classes, 4 d).
        bias: shape (classes,).
    """

    weight: Floats
    bias: Floats

    def guess(self, left: Vectors, right: Vectors) -> NDArray[np.intp]:
        """Class of each pair from the embeddings of its texts, shape (n, d) each."""
        features = np.hstack([left, right, np.abs(left - right), left * right])
        return np.asarray((features @ self.weight.T + self.bias).argmax(axis=1), dtype=np.intp)

    def save(self, folder: Path) -> None:
        """Write it."""
        np.savez(folder / HEAD, weight=self.weight, bias=self.bias)

    @classmethod
    def load(cls, folder: Path) -> Head:
        """Read it."""
        with np.load(folder / HEAD) as arrays:
            return cls(arrays["weight"], arrays["bias"])


def train_encoder(
    encoder: TrainableEncoder,
    config: RefineConfig,
    rows: Dataset,
    columns: Sequence[str],
    n_classes: int,
    folder: Path,
) -> dict[str, Any]:
    """Train a copy of an encoder on pairs, and save it as a SentenceTransformer that opens anywhere.

    Classes are learned by a softmax head on (u, v, |u - v|, u * v), as published; scores by the squared error of the
    cosine.

    Args:
        encoder: where the training begins; stays as it is.
        config: settings; the seed is that of the head, of LoRA and of the order of the rows.
        rows: the texts and ``label``: the number of a class, or a score in [0, 1].
        columns: of the texts.
        n_classes: 0 where scores are learned.
        folder: gets ``model`` and the head.

    Returns:
        ``steps``, ``epochs``, ``loss`` (mean over the training) and ``history`` of the losses.

    Raises:
        DivergedError: the loss or the weights are no numbers any more.
    """
    own = copy.deepcopy(config)
    own.output_dir, own.push_to_hub = str(folder / "trainer"), False
    encoder.model.to("cpu")
    encoder = copy.deepcopy(encoder)
    set_seed(own.seed)
    if own.use_peft:
        encoder.add_lora(own)
    model = encoder.model.to(own.device)
    model.model_card_data.generate_widget_examples = False
    plain = dict(zip(columns, ("sentence1", "sentence2"), strict=True))  # some names have a place of their own
    rows = rows.select_columns([*columns, LABEL]).rename_columns({old: new for old, new in plain.items() if old != new})
    if n_classes:
        width = int(model.get_embedding_dimension() or 0)
        loss: Any = SoftmaxLoss(model, width, n_classes, concatenation_sent_multiplication=True)
    else:
        loss = CosineSimilarityLoss(model)
        rows = rows.cast_column(LABEL, Value("float32"))
    trainer = PairTrainer(model=model, args=own, train_dataset=rows, loss=loss)
    trainer.train()
    trainer.accelerator.wait_for_everyone()
    history = list(trainer.state.log_history)
    if trainer.is_world_process_zero():
        save_encoder(encoder, folder / "model")
        if n_classes:
            linear = trainer.accelerator.unwrap_model(loss).classifier
            Head(*(each.detach().float().cpu().numpy() for each in (linear.weight, linear.bias))).save(folder)
    return {
        "steps": trainer.state.global_step,
        "epochs": float(own.num_train_epochs) if own.max_steps <= 0 else float(trainer.state.epoch or 0.0),
        "loss": next((each["train_loss"] for each in reversed(history) if "train_loss" in each), None),
        "history": history,
    }


def save_encoder(encoder: TrainableEncoder, folder: Path) -> None:
    """Write an encoder without the card of the library, which shows texts that it was trained on."""
    with encoder.as_saved(), atomic_folder(folder) as place:
        encoder.model.save(str(place), create_model_card=False)


def open_trained(folder: Path, device: str) -> SentenceTransformer:
    """Open what :func:`train_encoder` saved."""
    return SentenceTransformer(str(folder), device=device, trust_remote_code=False)
