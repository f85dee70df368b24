"""What trains the models of a search: small heads on frozen features (fast), or whole models (full).

Both learners train a model per seed and answer with its logits; what is made of the logits (probabilities, scores of
examples) is the same for both and stands here once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from scipy.special import softmax

from hf_fairness.encoders import as_encoder
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.grand import gradient_norms
from hf_fairness.runs import atomic_write_json
from hf_fairness.scores.importance import el2n, forgetting, ge
from hf_fairness.scores.statistics import Floats
from hf_fairness.trainers.data_diet.arguments import OF_TRAINER, DataDietArguments
from hf_fairness.trainers.data_diet.data import DietData, Rows
from hf_fairness.trainers.data_diet.heads import Heads
from hf_fairness.trainers.data_diet.scores import StopAfter
from hf_fairness.trainers.training.pair_training import open_pair_classifier, train_pair_classifier
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.trainers.training.published import merge_adapters
from hf_fairness.trainers.training.remembered import remembered
from hf_fairness.utils import progress

#: What a saved head was trained on, and its weights.
HEAD, WEIGHTS = "head.json", "head.safetensors"
#: Short runs of seed s and number i start from seed 1000 (s + 1) + i, away from those of the trainings themselves.
SHORT_RUNS = 1000
#: Heads that are trained in one product.
STACK = 5

#: Arrays by name whose first axis is that of the models.
ByModel = dict[str, NDArray[Any]]


def probabilities(
    learner: Learner, rows: Sequence[Rows], seeds: Sequence[int], texts: Mapping[str, Sequence[str]]
) -> dict[str, Floats]:
    """Train a model per seed on its rows of the pool, and ask it.

    Args:
        learner: trains them.
        rows: of each model.
        seeds: of each model.
        texts: by name of the set.

    Returns:
        Probabilities of the classes by name of the set, shape (seeds, n, classes).
    """
    longest = max(map(len, rows))

    def work(part: slice) -> ByModel:
        models: Any = learner.train(rows[part], seeds[part], longest=longest)
        return {name: learner.logits(models, each) for name, each in texts.items()}

    logits = learner.in_parts(work, len(seeds))
    return {name: softmax(values.astype(np.float64), axis=-1) for name, values in logits.items()}


def example_scores(learner: Learner) -> dict[str, Floats]:
    """Scores of the factual examples, for every seed averaged over short runs of its own.

    The runs are trained on the factual examples with the schedule of a whole training. GE, EL2N and GraNd are
    those after ``score_after_epochs`` epochs; forgetting counts over all epochs. No step of training can give GraNd on
    its way: each batch of an epoch meets other weights, so that the norms would be of as many models, and whole models
    are trained with dropout. A pass after the epoch gives it.

    Args:
        learner: trains the runs.

    Returns:
        ``ge``, ``el2n``, ``grand``, ``forgetting``, shape (seeds, n); ``ge_runs``: GE of single runs,
        shape (seeds n_init, n); for heads also ``ge_epochs``: mean GE after each epoch, shape (epochs, n).
    """
    a, examples = learner.arguments, np.arange(learner.diet.n)
    runs = [SHORT_RUNS * (seed + 1) + number for seed in a.seeds for number in range(a.n_init)]

    def work(part: slice) -> ByModel:
        seeds, epochs = runs[part], list[ByModel]()

        def look(models: Any) -> None:
            epochs.append(_scores_now(learner, models, len(epochs) + 1))

        learner.train([examples] * len(seeds), seeds, after_epoch=look)
        right = np.stack([epoch.pop("correct") for epoch in epochs], axis=1)
        found = {**epochs[a.score_after_epochs - 1], "forgetting": np.stack(list(map(forgetting, right)))}
        if all("ge" in epoch for epoch in epochs):
            found["ge_epochs"] = np.stack([epoch["ge"] for epoch in epochs], axis=1)
        return found

    each = learner.in_parts(work, len(runs), "Scoring runs")
    by_epoch = {"ge_epochs": each.pop("ge_epochs").mean(axis=0)} if "ge_epochs" in each else {}
    means = {name: values.reshape(-1, a.n_init, len(examples)).mean(axis=1) for name, values in each.items()}
    return {**means, "ge_runs": each["ge"], **by_epoch}


def _scores_now(learner: Learner, models: Any, epoch: int) -> ByModel:
    """What is predicted rightly after an epoch, of heads GE too; after the epoch of the scores all of them."""
    train, last = learner.diet.train, epoch == learner.arguments.score_after_epochs
    changed = train.changed.to_numpy()
    logits = learner.logits(models, train.text)
    found: ByModel = {"correct": logits.argmax(axis=-1) == train.label.to_numpy()}
    if last or learner.arguments.mode == "fast":
        flipped = np.zeros_like(logits)
        flipped[:, changed] = learner.logits(models, train.counterfactual[changed])
        found["ge"] = np.stack([ge(*pair, changed) for pair in zip(logits, flipped, strict=True)])
    if last:
        found["el2n"] = np.stack([el2n(each, train.label.to_numpy()) for each in logits])
        found["grand"] = learner.grand(models)
    return found


def encode(model: str, texts: Sequence[str], *, device: Any, cached: Path | None) -> NDArray[np.float32]:
    """Vectors of texts, float32; processes that share rows all call it.

    Args:
        model: an encoder.
        texts: distinct texts.
        device: None means where the encoder is.
        cached: file of the vectors of these texts, for further searches; None: none.
    """

    def compute() -> dict[str, NDArray[Any]]:
        return {"vectors": as_encoder(model, device=device).encode(texts)}

    return (compute() if cached is None else remembered(cached, compute))["vectors"]


def side_by_side(work: Callable[[slice], ByModel], n: int, title: str = "") -> ByModel:
    """What a work gives for each part of n heads, one part after the other; the parts are done in a thread each.

    With all threads in every product of small heads they wait for each other at each step, which took nine times as
    long on two cores that others used too.
    """
    threads = torch.get_num_threads()
    edges = np.linspace(0, n, max(min(threads, n), math.ceil(n / STACK)) + 1).astype(int).tolist()
    parts = [slice(*pair) for pair in pairwise(edges)]
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            return _joined(pool.map(work, parts), len(parts), title)
        finally:
            torch.set_num_threads(threads)


def one_by_one(work: Callable[[slice], ByModel], n: int, title: str = "") -> ByModel:
    """What a work gives for each of n models, one after the other."""
    return _joined((work(slice(place, place + 1)) for place in range(n)), n, title)


def _joined(parts: Iterable[ByModel], n: int, title: str) -> ByModel:
    """Arrays of so many parts of the models, end to end; with a bar while they are made, where it has a title."""
    made = list(progress(parts, title, total=n, show_progress=None if title else False))
    return {name: np.concatenate([part[name] for part in made]) for name in made[0]}


class HeadLearner:
    """Trains heads on frozen features.

    Args:
        diet: texts and labels.
        arguments: of the search.
        texts: every text of the search.
        file: their vectors, shape (n, width), as `numpy.save` writes them.

    Attributes:
        in_parts: what a work gives for each of n models, joined.
        pool: vectors of all training rows.
    """

    in_parts = staticmethod(side_by_side)

    def __init__(self, diet: DietData, arguments: DataDietArguments, texts: Sequence[str], file: Path) -> None:
        self.diet, self.arguments = diet, arguments
        self.vectors = np.load(file, mmap_mode="r")
        self.place = {text: number for number, text in enumerate(texts)}
        self._read: dict[tuple[str, ...], NDArray[np.float32]] = {}
        self.pool = self._features(diet.pool)

    def _features(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, gathered once: every model of the search is asked about the same few sets."""
        asked = tuple(texts)
        if asked not in self._read:
            self._read[asked] = self.vectors[[self.place[text] for text in texts]]
        return self._read[asked]

    def train(
        self,
        rows: Sequence[Rows],
        seeds: Sequence[int],
        *,
        longest: int = 0,
        after_epoch: Callable[[Heads], object] | None = None,
    ) -> Heads:
        """One head per seed; ``after_epoch`` is called with them, ``longest`` is that of :meth:`.Heads.fit`."""
        a = self.arguments
        heads = Heads(
            seeds,
            self.vectors.shape[1],
            n_classes=len(self.diet.classes),
            hidden=a.hidden,
            num_train_epochs=a.num_train_epochs,
            per_device_train_batch_size=a.per_device_train_batch_size,
            learning_rate=1e-3 if a.learning_rate is None else a.learning_rate,
        )
        return heads.fit(self.pool, self.diet.pool_labels, rows, longest=longest, after_epoch=after_epoch)

    def logits(self, heads: Heads, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (heads, n, classes)."""
        return heads.logits(self._features(texts))

    def grand(self, heads: Heads) -> Floats:
        """GraNd of the factual examples, shape (heads, n)."""
        return heads.grand(self.pool[: self.diet.n], self.diet.train.label.to_numpy())

    def save(self, rows: Rows, seed: int, folder: Path) -> None:
        """Train a head and write it as safetensors beside what it was trained on; :class:`HeadClassifier` reads it."""
        from safetensors.torch import save_file

        save_file(self.train([rows], [seed]).select(0), folder / WEIGHTS)
        about = {"encoder": self.arguments.model_name_or_path, "classes": self.diet.classes, "seed": seed}
        atomic_write_json(folder / HEAD, about)


class FullLearner:
    """Fine-tunes one model at a time, all weights or LoRA adapters; else as :class:`HeadLearner`.

    Args:
        diet: texts and labels.
        arguments: of the search.
    """

    in_parts = staticmethod(one_by_one)

    def __init__(self, diet: DietData, arguments: DataDietArguments) -> None:
        self.diet, self.arguments = diet, arguments

    def train(
        self,
        rows: Sequence[Rows],
        seeds: Sequence[int],
        *,
        longest: int = 0,
        after_epoch: Callable[[Classifier], object] | None = None,
    ) -> Classifier:
        """The model of the one seed, fine-tuned on its rows of the pool; ``longest`` has no say in it."""
        a = self.arguments
        (seed,), (own,) = seeds, rows
        model, tokenizer = open_pair_classifier(a.model_name_or_path, label_names=self.diet.classes, seed=seed)
        if a.use_peft:
            from peft import LoraConfig, TaskType, get_peft_model

            sizes = {"r": a.lora_r, "lora_alpha": a.lora_alpha, "lora_dropout": a.lora_dropout}
            model = get_peft_model(full_precision(model), LoraConfig(task_type=TaskType.SEQ_CLS, **sizes))
        default = 1e-4 if a.use_peft else 2e-5
        same = ("num_train_epochs", "per_device_train_batch_size", "use_cpu", *OF_TRAINER)
        settings = {
            **{name: getattr(a, name) for name in same},
            "seed": seed,
            "run_name": f"data-diet, seed {seed}",
            "learning_rate": default if a.learning_rate is None else a.learning_rate,
            "logging_strategy": "no" if a.report_to == "none" else "epoch",
        }
        texts = {"text": [self.diet.pool[row] for row in own], "label": self.diet.pool_labels[own]}
        trained = Classifier(model, tokenizer=tokenizer, show_progress=False)
        look = None if after_epoch is None else lambda _: after_epoch(trained)
        train_pair_classifier(
            model,
            tokenizer,
            Dataset.from_dict(texts),
            training_arguments=settings,
            columns=["text"],
            callbacks=[StopAfter(a.num_train_epochs, look)],
        )
        return trained

    def logits(self, model: Classifier, texts: Sequence[str]) -> Floats:
        """Shape (1, n, classes)."""
        return model.logits(list(texts), batch_size=4 * self.arguments.per_device_train_batch_size)[None]

    def grand(self, model: Classifier) -> Floats:
        """GraNd of the factual examples, shape (1, n)."""
        return gradient_norms(model, list(self.diet.train.text), self.diet.train.label.to_numpy())[None]

    def save(self, rows: Rows, seed: int, folder: Path) -> None:
        """Train a model and write all of it, which opens wherever the base model is; adapters lie beside it."""
        trained = self.train([rows], [seed])
        for each in (trained.model, trained.tokenizer):
            each.save_pretrained(folder)
        if self.arguments.use_peft:
            merge_adapters(trained.model, folder)


#: Trains models on rows of the pool and predicts with them.
Learner = HeadLearner | FullLearner


class HeadClassifier:
    """A saved head with its encoder.

    Args:
        folder: what `hf-fairness data-diet` wrote, or the id of a repository on the Hub that holds it.
        encoder: the encoder; None opens the one that the head names.
    """

    def __init__(self, folder: str | Path, encoder: Any = None) -> None:
        from safetensors.numpy import load_file

        if not Path(folder).is_dir():
            from huggingface_hub import snapshot_download

            folder = snapshot_download(str(folder))
        record = json.loads((Path(folder) / HEAD).read_text(encoding="utf-8"))
        self.weights, self.classes = load_file(Path(folder) / WEIGHTS), record["classes"]
        self.encoder = as_encoder(record["encoder"] if encoder is None else encoder)

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of the classes, shape (n, classes)."""
        hidden = self.encoder.encode(texts) @ self.weights["hidden.weight"].T + self.weights["hidden.bias"]
        logits = np.maximum(hidden, 0.0) @ self.weights["output.weight"].T + self.weights["output.bias"]
        return np.asarray(softmax(logits.astype(np.float64), axis=-1))

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Label of each text."""
        return [self.classes[place] for place in self.predict_proba(texts).argmax(axis=1)]
