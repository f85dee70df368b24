"""Fast mode: every distinct text is encoded once, then many heads are trained and scored on the frozen vectors."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from hf_fairness.encoders import as_encoder
from hf_fairness.runs import atomic_write_bytes, atomic_write_json, remove_left_overs
from hf_fairness.scores.importance import el2n, forgetting, ge
from hf_fairness.trainers.data_diet.data import DietData, Rows
from hf_fairness.trainers.data_diet.heads import Heads, HeadSettings
from hf_fairness.utils import progress

Vectors = NDArray[np.float32]
FILE = "features.npy"
#: What a saved head was trained on.
HEAD = "head.json"
#: Short runs of seed s and number i start from seed 1000 (s + 1) + i, away from those of the trainings themselves.
SHORT_RUNS = 1000
#: Heads that are scored together.
STACK = 10


def distinct_texts(data: DietData) -> list[str]:
    """Every text that a search on frozen features reads, once, in an order that depends on the texts only."""
    texts = set(data.pool)
    for blind in (False, True):
        for column in data.measured(blind=blind).values():
            texts.update(column)
    return sorted(texts)


def encode(
    model: Any, texts: Sequence[str], folder: Path, *, device: str | None = None, cache: Path | None = None
) -> dict[str, Any]:
    """Encode texts into a file of float32 vectors.

    Args:
        model: anything that ``as_encoder`` takes.
        texts: distinct texts.
        folder: where the file goes; the texts themselves are not written.
        device: None means where the encoder is.
        cache: file of vectors by hash of their text, for other searches with the same encoder; None: none.

    Returns:
        ``n`` texts, ``n_encoded`` of them now, and ``width`` of a vector.
    """
    known = _read_cache(cache)
    hashes = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for text in texts]
    new = [place for place, name in enumerate(hashes) if name not in known]
    if new:
        vectors = as_encoder(model, device=device).encode([texts[place] for place in new])
        known |= {hashes[place]: vector for place, vector in zip(new, vectors, strict=True)}
    if new and cache is not None:
        stream = io.BytesIO()
        np.savez(stream, hashes=np.array(list(known)), vectors=np.stack(list(known.values())))
        atomic_write_bytes(cache, stream.getvalue())
        remove_left_overs(cache.parent, shared=True)
    found = np.stack([known[name] for name in hashes])
    np.save(folder / FILE, found)
    return {"n": len(texts), "n_encoded": len(new), "width": int(found.shape[1])}


def _read_cache(path: Path | None) -> dict[str, Vectors]:
    if path is None or not path.is_file():
        return {}
    with np.load(path) as arrays:
        return dict(zip(arrays["hashes"].tolist(), arrays["vectors"], strict=True))


@dataclass(frozen=True, eq=False)
class Features:
    """Vectors of distinct texts.

    Args:
        texts: distinct texts.
        vectors: shape (n, width).
    """

    texts: Sequence[str]
    vectors: Vectors

    @classmethod
    def load(cls, folder: Path, texts: Sequence[str]) -> Features:
        """What :func:`encode` wrote for these texts."""
        return cls(texts, np.load(folder / FILE))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.texts)}

    def of(self, texts: Iterable[str]) -> Vectors:
        """Vectors of texts, in their order."""
        place = self._place
        return np.ascontiguousarray(self.vectors[[place[text] for text in texts]])


class HeadLearner:
    """Heads on the frozen features of a search.

    Args:
        data: texts and labels.
        features: vectors of every text of the data.
        settings: of the heads.
        name: of the encoder, for saved heads.
    """

    def __init__(self, data: DietData, features: Features, settings: HeadSettings, *, name: str = "") -> None:
        self.data, self.settings, self.name = data, settings, name
        self.inputs = features.of(data.pool)
        self._features = features
        self._measured: dict[bool, dict[str, Vectors]] = {}

    def fit(self, rows: Sequence[Rows], seeds: Sequence[int]) -> Heads:
        """One head per seed."""
        heads = Heads(seeds, self.inputs.shape[1], self.settings)
        return heads.fit(self.inputs, self.data.pool_labels, rows)

    def probabilities(self, models: Heads, *, blind: bool) -> dict[str, NDArray[np.float64]]:
        """Probabilities on every set that is measured, shape (seeds, n, classes)."""
        if blind not in self._measured:
            columns = self.data.measured(blind=blind)
            self._measured[blind] = {name: self._features.of(texts) for name, texts in columns.items()}
        return {name: models.probabilities(inputs) for name, inputs in self._measured[blind].items()}

    def save(self, models: Heads, index: int, folder: Path) -> None:
        """Write one head as safetensors beside what it was trained on; :class:`HeadClassifier` reads it."""
        from safetensors.torch import save_file

        save_file(models.select(index), folder / "head.safetensors")
        record = {"encoder": self.name, "classes": self.data.classes, "seed": models.seeds[index]}
        atomic_write_json(folder / HEAD, record)

    def example_scores(
        self, seeds: Sequence[int], *, n_init: int, after: int, show_progress: bool | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Scores of the factual examples, for every seed averaged over short runs of its own.

        The runs are trained on the factual examples with the schedule of a whole training. GE, EL2N and GraNd are
        those after ``after`` epochs; forgetting counts over all epochs; GE is also kept after every epoch.

        Args:
            seeds: of the trainings that will use the scores.
            n_init: runs per seed.
            after: epochs.
            show_progress: None means on a terminal.

        Returns:
            ``ge``, ``el2n``, ``grand``, ``forgetting``, shape (seeds, n); ``ge_runs``: GE of single runs,
            shape (seeds n_init, n); ``ge_epochs``: mean GE after each epoch, shape (epochs, n).
        """
        runs = [SHORT_RUNS * (seed + 1) + number for seed in seeds for number in range(n_init)]
        parts: dict[str, list[NDArray[np.float64]]] = {}
        stacks = [runs[start : start + STACK] for start in range(0, len(runs), STACK)]
        for stack in progress(stacks, "Scoring runs", show_progress=show_progress):
            for name, values in self._score(stack, after).items():
                parts.setdefault(name, []).append(values)
        epochs = np.average(np.stack(parts.pop("ge_epochs")), axis=0, weights=[len(stack) for stack in stacks])
        joined = {name: np.concatenate(values) for name, values in parts.items()}
        means = {name: values.reshape(len(seeds), n_init, -1).mean(axis=1) for name, values in joined.items()}
        return {**means, "ge_runs": joined["ge"], "ge_epochs": epochs}

    def _score(self, runs: Sequence[int], after: int) -> dict[str, NDArray[np.float64]]:
        """Scores by some runs, shape (runs, n) each; GE after every epoch, their mean, shape (epochs, n)."""
        data, n = self.data, self.data.n
        changed, labels = data.train.changed, data.train.labels
        factual, flipped = self.inputs[:n], self.inputs[n : 2 * n][changed]
        correct: list[NDArray[np.bool_]] = []
        by_epoch: list[NDArray[np.float64]] = []
        found: dict[str, NDArray[np.float64]] = {}

        def look(epoch: int) -> None:
            logits, others = heads.logits(factual), np.zeros((len(runs), n, self.settings.n_classes))
            others[:, changed] = heads.logits(flipped)
            correct.append(logits.argmax(axis=-1) == labels)
            by_epoch.append(ge(logits, others, changed))
            if epoch == after:
                pairs = list(zip(logits, others, strict=True))
                found["ge"] = np.stack([ge(one, other, changed) for one, other in pairs])
                found["el2n"] = np.stack([el2n(one, labels) for one in logits])
                found["grand"] = heads.grand(factual, labels)

        heads = Heads(runs, self.inputs.shape[1], self.settings)
        heads.fit(self.inputs, data.pool_labels, [np.arange(n)] * len(runs), after_epoch=look)
        history = np.stack(correct, axis=1)
        found["forgetting"] = np.stack([forgetting(run) for run in history])
        return {**found, "ge_epochs": np.stack(by_epoch)}


class HeadClassifier:
    """A saved head with its encoder.

    Args:
        folder: what :meth:`HeadLearner.save` wrote, or the id of a repository on the Hub that holds it.
        encoder: the encoder; None opens the one that the head names.
    """

    def __init__(self, folder: str | Path, encoder: Any = None) -> None:
        import json

        from safetensors.numpy import load_file

        if not Path(folder).is_dir():
            from huggingface_hub import snapshot_download

            folder = snapshot_download(str(folder))
        record = json.loads((Path(folder) / HEAD).read_text(encoding="utf-8"))
        self.weights = load_file(Path(folder) / "head.safetensors")
        self.classes: list[str] = record["classes"]
        self.encoder = as_encoder(record["encoder"] if encoder is None else encoder)

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of the classes, shape (n, classes)."""
        weights = self.weights
        hidden = self.encoder.encode(texts) @ weights["hidden.weight"].T + weights["hidden.bias"]
        logits = np.maximum(hidden, 0.0) @ weights["output.weight"].T + weights["output.bias"]
        return np.asarray(softmax(logits.astype(np.float64), axis=-1))

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Label of each text."""
        return [self.classes[place] for place in self.predict_proba(texts).argmax(axis=1)]
