"""One encoder on one corpus of pairs: classes through a softmax head, scores through the cosine."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping, Sequence
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
from hf_fairness.refine.splitting import split
from hf_fairness.scores.statistics import Floats
from hf_fairness.trainers.refine.arguments import SMALL, USUAL, RefineConfig
from hf_fairness.trainers.refine.corpora import LABEL, MOST_HELD_OUT
from hf_fairness.trainers.refine.nli import BILSTM, BILSTM_SMALL, train_on_nli
from hf_fairness.trainers.training.encoder import TrainableEncoder, save_encoder
from hf_fairness.trainers.training.guarded import Guarded

HEAD = "head.npz"
#: Further settings that BiLSTM-max is trained with.
_TAKEN = (
    *("per_device_train_batch_size", "max_steps", "weight_decay", "gradient_accumulation_steps", "warmup_steps"),
    *("use_cpu", "bf16", "fp16", "disable_tqdm", "report_to"),
)


class PairTrainer(Guarded, SentenceTransformerTrainer):
    """`SentenceTransformerTrainer` in float32 that stops when it diverges."""

    quick = True


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
        "epochs": float(own.num_train_epochs or 0.0) if own.max_steps <= 0 else float(trainer.state.epoch or 0.0),
        "loss": next((each["train_loss"] for each in reversed(history) if "train_loss" in each), None),
        "history": history,
    }


def bilstm_config(config: RefineConfig, which: str) -> RefineConfig:
    """The settings for BiLSTM-max: as published or for a small corpus, but for those that the caller gives.

    Args:
        config: of the run.
        which: ``published`` or ``small``.

    Returns:
        A copy.
    """
    found, usual = copy.deepcopy(config), BILSTM_SMALL if which == SMALL else BILSTM
    for name in set(USUAL) - config.given:
        setattr(found, name, usual[name])
    return found


def bilstm_settings(config: RefineConfig, which: str) -> dict[str, Any]:
    """What :func:`train_on_nli` is told by a config from :func:`bilstm_config`."""
    told = {name: getattr(config, name) for name in (*USUAL, *_TAKEN)}
    plain = {name: getattr(value, "value", value) for name, value in told.items()}
    return {**(BILSTM_SMALL if which == SMALL else BILSTM), **plain}


def train_bilstm(
    model: SentenceTransformer,
    rows: Dataset,
    columns: Sequence[str],
    label_names: Sequence[str],
    folder: Path,
    *,
    seed: int,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Train BiLSTM-max on pairs, and save it with its head as :func:`train_encoder` does.

    A tenth of the rows, at most 10,000, is set apart to choose the learning rate and the best weights by (published:
    10,000); rows that share their first text stay together.

    Args:
        model: it is trained in place.
        rows: the texts and ``label``: the number of a class.
        columns: of the texts.
        label_names: names of the classes.
        folder: gets ``model`` and the head; checkpoints in it are gone on from, and removed at the end.
        seed: of the classifier, of the order of the rows and of the rows set apart.
        settings: fields of ``NLIConfig``.

    Returns:
        As :func:`train_encoder`, and ``dev_accuracy``, ``dev_majority`` and ``n_dev``.

    Raises:
        DivergedError: the loss or the weights are no numbers any more.
    """
    size = max(1, min(MOST_HELD_OUT, len(rows) // 10))
    parts = split(rows, test=size, together=columns[0], seed=seed)
    checkpoints = folder / "trainer"
    found = train_on_nli(
        model,
        parts["train"],
        dev_rows=parts["test"],
        seed=seed,
        output_dir=checkpoints,
        columns=columns,
        label_column=LABEL,
        label_names=label_names,
        **settings,
    )
    save_encoder(TrainableEncoder(found.model), folder / "model")
    Head(found.weight.astype(np.float64), found.bias.astype(np.float64)).save(folder)
    shutil.rmtree(checkpoints)
    epochs = zip(found.loss, found.accuracy, found.learning_rate, strict=True)
    return {
        "steps": found.steps,
        "epochs": float(len(found.loss)),
        "loss": float(np.mean(found.loss)) if found.loss else None,
        "history": [
            {"epoch": float(number), "loss": loss, "eval_accuracy": accuracy, "learning_rate": rate}
            for number, (loss, accuracy, rate) in enumerate(epochs, start=1)
        ],
        "dev_accuracy": found.best_accuracy,
        "dev_majority": found.majority,
        "n_dev": found.n_dev,
    }


def open_trained(folder: Path, device: str) -> SentenceTransformer:
    """Open what :func:`train_encoder` saved."""
    return SentenceTransformer(str(folder), device=device, trust_remote_code=False)
