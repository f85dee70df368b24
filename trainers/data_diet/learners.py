"""What trains the models of a search: small heads on frozen features (fast), or whole models (full)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from scipy.special import softmax

from hf_fairness._opening import find_tokenizer
from hf_fairness._processes import wanted_by_any
from hf_fairness.encoders import as_encoder
from hf_fairness.measure.classifier import importance
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.runs import atomic_write_bytes, atomic_write_json, remove_left_overs
from hf_fairness.scores.importance import el2n, forgetting, ge
from hf_fairness.scores.statistics import Floats
from hf_fairness.trainers.data_diet.arguments import OF_TRAINER, DataDietArguments
from hf_fairness.trainers.data_diet.data import DietData, Rows
from hf_fairness.trainers.data_diet.heads import Heads
from hf_fairness.trainers.data_diet.scores import StopAfter
from hf_fairness.trainers.training.pair_training import open_pair_classifier, train_pair_classifier
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.trainers.training.published import merge_adapters
from hf_fairness.utils import is_main_process, progress

FEATURES = "features.npy"
#: What a saved head was trained on.
HEAD = "head.json"
#: Short runs of seed s and number i start from seed 1000 (s + 1) + i, away from those of the trainings themselves.
SHORT_RUNS = 1000


def example_scores(learner: Learner, arguments: DataDietArguments) -> dict[str, Floats]:
    """Scores of the factual examples, for every seed averaged over short runs of its own.

    The runs are trained on the factual examples with the schedule of a whole training. GE, EL2N and GraNd are
    those after ``score_after_epochs`` epochs; forgetting counts over all epochs. No step of training can give GraNd on
    its way: each batch of an epoch meets other weights, so that the norms would be of as many models, and whole models
    are trained with dropout. A pass after the epoch gives it, of heads without any gradient (:meth:`.Heads.grand`).

    Args:
        learner: trains the runs.
        arguments: of the search.

    Returns:
        ``ge``, ``el2n``, ``grand``, ``forgetting``, shape (seeds, n); ``ge_runs``: GE of single runs,
        shape (seeds n_init, n); for heads also ``ge_epochs``: mean GE after each epoch, shape (epochs, n).
    """
    n = arguments.n_init
    runs = [SHORT_RUNS * (seed + 1) + number for seed in arguments.seeds for number in range(n)]
    stacks = [runs[start : start + learner.stack] for start in range(0, len(runs), learner.stack)]
    parts = [learner.score(stack) for stack in progress(stacks, "Scoring runs")]
    each = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    by_epoch = {"ge_epochs": each.pop("ge_epochs").mean(axis=0)} if "ge_epochs" in each else {}
    means = {name: values.reshape(-1, n, values.shape[1]).mean(axis=1) for name, values in each.items()}
    return {**means, "ge_runs": each["ge"], **by_epoch}


def encode(model: str, texts: Sequence[str], *, device: Any, cached: Path | None) -> tuple[NDArray[np.float32], bool]:
    """Vectors of texts, float32, and whether they were encoded now; processes that share rows all call it.

    Args:
        model: an encoder.
        texts: distinct texts.
        device: None means where the encoder is.
        cached: file of the vectors of these texts, for further searches; None: none.
    """
    if cached is not None and not wanted_by_any([] if cached.is_file() else [str(cached)]):
        return np.load(cached), False
    vectors = as_encoder(model, device=device).encode(texts)
    if cached is not None and is_main_process():
        stream = io.BytesIO()
        np.save(stream, vectors)
        atomic_write_bytes(cached, stream.getvalue())
        remove_left_overs(cached.parent, shared=True)
    return vectors, True


def side_by_side(work: Callable[[slice], dict[str, Floats]], n: int) -> dict[str, Floats]:
    """What a work gives for each part of n heads, one part after the other; the parts are done in a thread each.

    With all threads in every product of small heads they wait for each other at each step, which took nine times as
    long on two cores that others used too.
    """
    threads = torch.get_num_threads()
    edges = np.linspace(0, n, min(threads, n) + 1).astype(int).tolist()
    with ThreadPoolExecutor(len(edges) - 1, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            parts = list(pool.map(work, [slice(*pair) for pair in pairwise(edges)]))
        finally:
            torch.set_num_threads(threads)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class HeadLearner:
    """Trains heads on frozen features.

    Args:
        diet: texts and labels.
        arguments: of the search.
        texts: every text of the search.
        vectors: of the texts, shape (n, width).

    Attributes:
        stack: short runs that are scored together.
    """

    stack: ClassVar[int] = 10

    def __init__(
        self, diet: DietData, arguments: DataDietArguments, texts: Sequence[str], vectors: NDArray[np.float32]
    ) -> None:
        self.diet, self.arguments = diet, arguments
        place = {text: number for number, text in enumerate(texts)}
        self.inputs = vectors[[place[text] for text in diet.pool]]
        self.measured = {
            blind: {part: vectors[[place[text] for text in read]] for part, read in diet.measured(blind=blind).items()}
            for blind in (False, True)
        }

    def _fit(
        self,
        rows: Sequence[Rows],
        seeds: Sequence[int],
        part: slice = slice(None),
        look: Callable[[Heads, int], None] | None = None,
    ) -> Heads:
        """One head per seed of a part of them; ``look`` is called with these and the number of epochs done."""
        a = self.arguments
        heads = Heads(
            seeds[part],
            self.inputs.shape[1],
            n_classes=len(self.diet.classes),
            hidden=a.hidden,
            num_train_epochs=a.num_train_epochs,
            per_device_train_batch_size=a.per_device_train_batch_size,
            learning_rate=1e-3 if a.learning_rate is None else a.learning_rate,
        )
        steps = heads.steps([len(chosen) for chosen in rows])
        return heads.fit(self.inputs, self.diet.pool_labels, rows[part], steps=steps, after_epoch=look)

    def probabilities(self, rows: Sequence[Rows], seeds: Sequence[int], *, blind: bool) -> dict[str, Floats]:
        """Train a head per seed on its rows of the pool.

        Returns:
            Probabilities on each measured set, shape (seeds, n, classes).
        """

        def work(part: slice) -> dict[str, Floats]:
            heads = self._fit(rows, seeds, part)
            return {name: heads.probabilities(inputs) for name, inputs in self.measured[blind].items()}

        return side_by_side(work, len(seeds))

    def save(self, rows: Rows, seed: int, folder: Path) -> None:
        """Train a head and write it as safetensors beside what it was trained on; :class:`HeadClassifier` reads it."""
        from safetensors.torch import save_file

        save_file(self._fit([rows], [seed]).select(0), folder / "head.safetensors")
        about = {"encoder": self.arguments.model_name_or_path, "classes": self.diet.classes, "seed": seed}
        atomic_write_json(folder / HEAD, about)

    def score(self, runs: Sequence[int]) -> dict[str, Floats]:
        """Scores of the factual examples by short runs with these seeds, shape (runs, n); see :func:`example_scores`.

        ``ge_epochs``: GE after every epoch, shape (runs, epochs, n).
        """
        return side_by_side(lambda part: self._score(runs[part]), len(runs))

    def _score(self, runs: Sequence[int]) -> dict[str, Floats]:
        n, changed, labels = self.diet.n, self.diet.train.changed, self.diet.train.labels
        factual, flipped = self.inputs[:n], self.inputs[n : 2 * n][changed]
        correct, by_epoch, found = [], [], {}

        def look(heads: Heads, epoch: int) -> None:
            logits, others = heads.logits(factual), np.zeros((len(runs), n, len(self.diet.classes)))
            others[:, changed] = heads.logits(flipped)
            correct.append(logits.argmax(axis=-1) == labels)
            by_epoch.append(np.stack([ge(one, other, changed) for one, other in zip(logits, others, strict=True)]))
            if epoch == self.arguments.score_after_epochs:
                found["ge"], found["grand"] = by_epoch[-1], heads.grand(factual, labels)
                found["el2n"] = np.stack([el2n(one, labels) for one in logits])

        self._fit([np.arange(n)] * len(runs), runs, look=look)
        found["forgetting"] = np.stack([forgetting(run) for run in np.stack(correct, axis=1)])
        return {**found, "ge_epochs": np.stack(by_epoch, axis=1)}


class FullLearner:
    """Fine-tunes one model per seed, all weights or LoRA adapters; of trained models the probabilities are kept.

    Args:
        diet: texts and labels.
        arguments: of the search.

    Attributes:
        stack: short runs that are scored together.
    """

    stack: ClassVar[int] = 1

    def __init__(self, diet: DietData, arguments: DataDietArguments) -> None:
        self.diet, self.arguments = diet, arguments

    def _train(self, rows: Rows, seed: int, look: Callable[[Any], None] | None = None) -> tuple[Any, Any]:
        """Fine-tune on rows of the pool; ``look`` is called with the model after every epoch. Model and tokenizer."""
        a = self.arguments
        model, tokenizer = open_pair_classifier(a.model_name_or_path, label_names=self.diet.classes, seed=seed)
        if a.use_peft:
            from peft import LoraConfig, TaskType, get_peft_model

            sizes = {"r": a.lora_r, "lora_alpha": a.lora_alpha, "lora_dropout": a.lora_dropout}
            model = get_peft_model(full_precision(model), LoraConfig(task_type=TaskType.SEQ_CLS, **sizes))
        default = 1e-4 if a.use_peft else 2e-5
        settings = {
            **{name: getattr(a, name) for name in OF_TRAINER},
            "num_train_epochs": a.num_train_epochs,
            "per_device_train_batch_size": a.per_device_train_batch_size,
            "use_cpu": a.use_cpu,
            "seed": seed,
            "run_name": f"data-diet, seed {seed}",
            "learning_rate": default if a.learning_rate is None else a.learning_rate,
            "logging_strategy": "no" if a.report_to == "none" else "epoch",
        }
        texts = {"text": [self.diet.pool[row] for row in rows], "label": self.diet.pool_labels[rows]}
        trained = train_pair_classifier(
            model,
            tokenizer,
            Dataset.from_dict(texts),
            training_arguments=settings,
            columns=["text"],
            callbacks=[StopAfter(a.num_train_epochs, look)],
        )
        return trained, tokenizer

    def _logits(self, model: Any, tokenizer: Any, texts: Sequence[str], times: int = 1) -> NDArray[Any]:
        return importance.logits_of(
            model,
            texts,
            tokenizer=tokenizer,
            batch_size=times * self.arguments.per_device_train_batch_size,
            show_progress=False,
        )

    def probabilities(self, rows: Sequence[Rows], seeds: Sequence[int], *, blind: bool) -> dict[str, Floats]:
        """The same as :meth:`HeadLearner.probabilities`, one model after the other."""
        texts, models = self.diet.measured(blind=blind), map(self._train, rows, seeds)
        logits = [{name: self._logits(*trained, each, 4) for name, each in texts.items()} for trained in models]
        return {name: softmax(np.stack([each[name] for each in logits]), axis=-1) for name in texts}

    def save(self, rows: Rows, seed: int, folder: Path) -> None:
        """Train a model and write all of it, which opens wherever the base model is; adapters lie beside it."""
        model, tokenizer = self._train(rows, seed)
        for each in (model, tokenizer):
            each.save_pretrained(folder)
        if self.arguments.use_peft:
            merge_adapters(model, folder)

    def score(self, runs: Sequence[int]) -> dict[str, Floats]:
        """The same as :meth:`HeadLearner.score`, of a single run."""
        train, a, correct, found = self.diet.train, self.arguments, list[NDArray[np.bool_]](), dict[str, Floats]()
        table = Dataset.from_dict(
            {"text": train.texts, "text_counterfactual": train.counterfactuals, "label": train.labels}
        )
        tokenizer, pairs = find_tokenizer(a.model_name_or_path), read_pairs(table)

        def look(model: Any) -> None:
            names = ("ge", "el2n", "grand") if len(correct) + 1 == a.score_after_epochs else ()
            scores = importance.example_scores(
                model,
                table,
                pairs,
                names=(*names, "correct"),
                batch_size=a.per_device_train_batch_size,
                tokenizer=tokenizer,
                show_progress=False,
            )
            correct.append(scores.pop("correct").astype(bool))
            found.update(scores)

        self._train(np.arange(self.diet.n), runs[0], look)
        found["forgetting"] = forgetting(np.stack(correct))
        return {name: np.asarray(values, dtype=np.float64)[None] for name, values in found.items()}


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
        self.weights, self.classes = load_file(Path(folder) / "head.safetensors"), record["classes"]
        self.encoder = as_encoder(record["encoder"] if encoder is None else encoder)

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of the classes, shape (n, classes)."""
        hidden = self.encoder.encode(texts) @ self.weights["hidden.weight"].T + self.weights["hidden.bias"]
        logits = np.maximum(hidden, 0.0) @ self.weights["output.weight"].T + self.weights["output.bias"]
        return np.asarray(softmax(logits.astype(np.float64), axis=-1))

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Label of each text."""
        return [self.classes[place] for place in self.predict_proba(texts).argmax(axis=1)]
