"""GLUE by fine-tuning: a copy of a changed encoder learns a task together with a classification head.

The head reads the embedding of the whole SentenceTransformer, of a text or of a pair in one input. A layer behind the
pooling (a projection that erases something) is thus part of what is measured; transformers' own classifiers would leave
it out, and an erased model would get the numbers of the original. Such layers stay as they are while transformer and
head learn: what a projection takes out stays out of the head's sight. The head takes embeddings at one length, so that
a model that ends by `Normalize` learns at the pace of one that does not.

What is otherwise than in the papers: Deng et al. 2024, tables 4 and 5 (and Yang et al. 2023) fine-tune BERT as a
`BertForSequenceClassification`, whose head reads the first token through BERT's own pooler. Compare arms with each
other here, not with those tables.
"""

from __future__ import annotations

import copy
import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn

from hf_fairness.measure.encoder.transfer import TransferTask
from hf_fairness.runs import atomic_write_json, discard
from hf_fairness.scores.statistics import Floats, generator
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.pair_training import encode_rows, pair_trainer
from hf_fairness.utils import is_main_process

logger = logging.getLogger(__name__)

#: Dropout before the head, as that of BERT's own classifier.
DROPOUT = 0.1
_COLUMNS = ("sentence1", "sentence2")


class EncoderClassifier(nn.Module):
    """A SentenceTransformer under a linear head.

    Args:
        model: is trained in place; modules behind the first one are frozen.
        n_classes: outputs of the head.

    Raises:
        ValueError: a model without a transformer.
    """

    def __init__(self, model: SentenceTransformer, n_classes: int) -> None:
        super().__init__()
        check_encoder(model)
        self.encoder = model.requires_grad_(False)
        self.transformer.requires_grad_(True)
        self.config = self.transformer.config
        width = model.get_embedding_dimension()
        self.dropout, self.head = nn.Dropout(DROPOUT), nn.Linear(width, n_classes)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    @property
    def transformer(self) -> Any:
        """The transformers model inside."""
        first: Any = self.encoder[0]
        return first.model

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Logits, and the cross-entropy where there are labels.

        Args:
            input_ids: tokens, shape (batch, tokens).
            attention_mask: which are there, same shape.
            token_type_ids: which text of a pair they belong to, for models that are told.
            labels: numbers of the classes, shape (batch,).
        """
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        vectors = self.encoder(inputs)["sentence_embedding"]
        vectors = nn.functional.normalize(vectors.float(), dim=-1) * math.sqrt(vectors.shape[-1])
        logits = self.head(self.dropout(vectors))
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def check_encoder(model: SentenceTransformer) -> None:
    """Refuse a model that cannot be fine-tuned on pairs.

    Raises:
        ValueError: its first module is no transformer.
    """
    if not isinstance(model[0], Transformer):
        raise ValueError(
            f"--glue_tasks fine-tune a transformer, and this model begins with {type(model[0]).__name__}. Leave them "
            "out; --senteval measures what a head reads from the embeddings of any model."
        )


def fine_tune(
    model: SentenceTransformer, task: TransferTask, folder: Path, settings: Mapping[str, Any], *, max_rows: int | None
) -> Floats:
    """Fine-tune a copy of a model on a task; call it on all processes of a launch.

    Args:
        model: stays as it is.
        task: classes of texts or pairs.
        folder: for checkpoints, which are gone on from and removed at the end.
        settings: of the training: ``seed``, ``num_train_epochs``, ``learning_rate`` ...
        max_rows: train on so many rows, drawn by the seed of the task's own rows; None: on all.

    Returns:
        Class of each measured row, shape (m,).
    """
    seed = int(settings["seed"])
    torch.manual_seed(seed)
    classifier = EncoderClassifier(copy.deepcopy(model).to("cpu"), len(task.classes))
    columns = _COLUMNS[: len(task.texts)]
    chosen = task.train
    if max_rows is not None and max_rows < len(chosen):
        chosen = np.sort(generator(0, task.name).permutation(chosen)[:max_rows])
    length = model.max_seq_length
    trainer = pair_trainer(
        classifier,
        model.tokenizer,
        _rows(task, chosen, columns),
        training_arguments={
            "output_dir": str(folder),
            "save_strategy": "epoch",
            "save_total_limit": 1,
            "per_device_eval_batch_size": 64,
            **settings,
        },
        columns=columns,
        max_length=length,
    )
    trainer.train(resume_from_checkpoint=last_whole_checkpoint(folder))
    measured = encode_rows(_rows(task, task.measured, columns), model.tokenizer, columns=columns, max_length=length)
    found = trainer.predict(measured).predictions
    logits = found[0] if isinstance(found, tuple) else found
    trainer.accelerator.wait_for_everyone()
    if is_main_process():
        discard(folder)
    return np.asarray(logits.argmax(axis=-1), dtype=np.float64)


def fine_tune_all(
    model: SentenceTransformer,
    tasks: Sequence[TransferTask],
    folder: Path,
    settings: Mapping[str, Any],
    *,
    max_rows: int | None,
) -> dict[str, int]:
    """Fine-tune a copy of a model on each task that has no answers in the folder yet, and write its answers.

    Args:
        model: stays as it is.
        tasks: classes of texts or pairs.
        folder: gets a file of each task, see :func:`answers_of`.
        settings: of :func:`fine_tune`.
        max_rows: of :func:`fine_tune`.

    Returns:
        How many rows each was measured on.
    """
    for task in tasks:
        if not _file(folder, task).is_file():
            logger.info("Fine-tuning on %s", task.name)
            told = fine_tune(model, task, folder / f"{task.name}-checkpoints", settings, max_rows=max_rows)
            if is_main_process():
                atomic_write_json(_file(folder, task), told.tolist())
    return {task.name: len(task.measured) for task in tasks}


def answers_of(task: TransferTask, folder: Path) -> Floats:
    """The classes that :func:`fine_tune_all` wrote."""
    return np.asarray(json.loads(_file(folder, task).read_text(encoding="utf-8")), dtype=np.float64)


def _file(folder: Path, task: TransferTask) -> Path:
    return folder / f"{task.name}.json"


def _rows(task: TransferTask, places: NDArray[np.intp], columns: Sequence[str]) -> Dataset:
    texts = {name: [texts[place] for place in places] for name, texts in zip(columns, task.texts, strict=True)}
    return Dataset.from_dict({**texts, "label": task.gold[places].astype(int).tolist()})
