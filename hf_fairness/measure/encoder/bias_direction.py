"""The direction along which a model tells two groups apart: from word pairs, or from swapped sentences."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness._processes import of_all, turn
from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.encoders import BaseEncoder, as_encoder
from hf_fairness.measure.encoder.bias_pairs import LISTS, Pairs, choose_pairs, pair_differences, two_groups
from hf_fairness.measure.model_keys import encoder_key
from hf_fairness.runs import atomic_write_json, content_key
from hf_fairness.scores.bias_score import direction_of, halves_stability
from hf_fairness.scores.statistics import Floats, as_values, generator, percentile_interval
from hf_fairness.utils import cache_folder

logger = logging.getLogger(__name__)

#: Layout of a saved direction.
FORMAT = "hf-fairness/direction/1"
#: Of the code that makes one; raise it when another direction comes of the same model and pairs.
VERSION = 1
#: Where directions are kept, in the cache.
FOLDER = "directions"
#: Directions that a process keeps; one takes as much memory as one vector.
KEPT = 32
#: Least texts of pairs for which weights are hashed: on a processor a weight is hashed in the time in which ten short
#: texts pass it; an accelerator is a hundred times as fast, and its weights are hashed by the processor too.
CHEAP, CHEAP_ELSEWHERE = 50, 2000
_MADE: dict[str, BiasDirection] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class BiasDirection:
    """A direction from the first group to the second, with what it was made of.

    Attributes:
        vector: unit length, float64 (d,); negative side: first group, positive side: second group.
        groups: names of the two groups.
        explained_variance_ratio: share of variance of the first components, at most ten.
        n_pairs: pairs that it was made of.
        n_skipped: pairs without a vector, or texts without terms or with terms of both groups.
        kind: "word pairs", "text pairs", "swapped texts" or "built-in texts".
        stability: mean |cos| between the directions of two random halves of the pairs, over 20 halvings; None
            for fewer than four pairs.
        model: name of the model.
        seed: of the halvings.
    """

    vector: Floats
    groups: tuple[str, str]
    explained_variance_ratio: tuple[float, ...] = ()
    n_pairs: int = 0
    n_skipped: int = 0
    kind: str = "given"
    stability: float | None = None
    model: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        vector = as_values(self.vector, "the direction").copy()
        scale = float(np.abs(vector).max())
        if scale == 0.0:
            raise ValueError("The direction is a vector of zeros: no cosine with it is defined.")
        if abs(float(np.linalg.norm(vector / scale)) * scale - 1.0) > 1e-12:  # else a saved one stays as it was
            vector = vector / scale
            vector = vector / np.linalg.norm(vector)
        vector.flags.writeable = False
        object.__setattr__(self, "vector", vector)
        object.__setattr__(self, "groups", tuple(self.groups))
        if len(self.groups) != 2:
            raise ValueError(f"A direction has two groups; got {len(self.groups)}: {self.groups}.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BiasDirection) and self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash(self.vector.tobytes())

    def _plain(self) -> dict[str, Any]:
        return {**asdict(self), "vector": self.vector.tolist(), "groups": list(self.groups)}

    def save(self, path: str | Path) -> Path:
        """Write the direction as JSON.

        Args:
            path: the file.

        Returns:
            The path written.
        """
        ratios = list(self.explained_variance_ratio)
        return atomic_write_json(path, {"format": FORMAT, **self._plain(), "explained_variance_ratio": ratios})

    @classmethod
    def load(cls, path: str | Path) -> BiasDirection:
        """Read a direction that :meth:`save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no direction.
        """
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
                raise TypeError(f"no {FORMAT!r} file")
            fields["groups"] = tuple(fields["groups"])
            fields["explained_variance_ratio"] = tuple(fields["explained_variance_ratio"])
            return cls(**{**fields, "vector": np.array(fields["vector"], dtype=np.float64)})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is no saved direction ({error}). Expected what BiasDirection.save wrote."
            ) from error


def bias_direction(
    model: Any,
    pairs: Sequence[Any] | str | None = None,
    texts: Iterable[str] | None = None,
    *,
    attribute: str | Path | Attribute = "gender",
    seed: int = 0,
    use_cache: bool = True,
    **encoder_options: Any,
) -> BiasDirection:
    """The direction from one group to the other: first component of an uncentred PCA of pair differences.

    Word vectors take pairs of words. An encoder that reads context takes sentences: ``texts`` are swapped, and
    both versions are encoded; a text with terms of both groups has no direction and is left out.

    Args:
        model: whatever ``as_encoder`` takes; for the input embeddings of a transformer
            ``hf_fairness.encoders.input_embeddings(as_encoder(model))``.
        pairs: pairs of texts, in any order, for the attribute tells which is whose; where it knows neither, mappings
            of the groups to their texts, see ``bias_pairs.oriented_pairs``. Or "paper" or "extended", see
            ``bias_pairs.word_pairs``. None means "paper" for word vectors.
        texts: sentences, a hundred or more, with terms of the attribute. None (and no pairs) means the sentences
            that this package carries.
        attribute: name, file or object, with two groups.
        seed: of the halvings behind ``stability``.
        use_cache: keep the direction in ``hf_fairness/directions`` of Hugging Face's cache (``HF_HOME``), and take it
            from there, by the content of weights, tokenizer and pairs: a model that was trained on is another one.
            Word vectors, functions, a few pairs (25 on a processor, 1,000 elsewhere) take less time than looking.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, tokenizer, ...

    Returns:
        A :class:`BiasDirection`.

    Raises:
        TypeError: a model that is no encoder, texts that are none.
        ValueError: more than two groups, no pair left, words without a vector, equal members everywhere.

    Source:
        Dolci et al. 2023, sections 3.2 and 6.

    Example:
        >>> vectors = {"he": [-1.0, 0.0], "she": [1.0, 0.1], "man": [-1.0, 1.0], "woman": [1.0, 0.9]}
        >>> found = bias_direction(vectors, [("he", "she"), ("man", "woman")])
        >>> round(float(found.vector[0]), 3), found.n_pairs, found.explained_variance_ratio[0] > 0.99
        (1.0, 2, True)
    """
    value = load_attribute(attribute)
    groups = two_groups(value)
    encoder = as_encoder(model, **encoder_options)
    chosen, skipped, kind = choose_pairs(encoder, pairs, texts, value)
    about: dict[str, Any] = {
        "groups": groups,
        "n_pairs": len(chosen),
        "n_skipped": skipped,
        "kind": kind,
        "model": encoder.label,
        "seed": seed,
    }
    key = _key(encoder, chosen, seed) if use_cache else None
    found = None if key is None else _kept(key)
    if key is not None and encoder.shares:  # what one process knows, or none: they encode together
        found = of_all([(turn()[0], found)])[0]
    if found is None:
        found = BiasDirection(**_components(encoder, chosen, seed), **about)
        if key is not None:
            _keep(key, found)
    return replace(found, **about)


def _key(encoder: BaseEncoder, pairs: Pairs, seed: int) -> str | None:
    """What decides a direction; None for an encoder that cannot be named, or not in less time than the pairs take."""
    texts = [text for pair in pairs[:100] for text in pair]
    model: Any = getattr(encoder, "model", None)
    device = getattr(encoder, "device", None) or getattr(model, "device", "cpu")
    if 2 * len(pairs) < (CHEAP if str(device) == "cpu" else CHEAP_ELSEWHERE):
        return None
    key = encoder_key(encoder, texts)
    return None if key is None else content_key(VERSION, FORMAT, key, pairs, seed)


def _kept(key: str) -> BiasDirection | None:
    """A direction that this process knows, or that is on disk; a file that cannot be read is made anew."""
    with _LOCK:
        found = _MADE.pop(key, None)
        if found is not None:
            _MADE[key] = found  # last, so that the one which was not asked for the longest goes first
            return found
    file = cache_folder(FOLDER) / f"{key}.json"
    try:
        found = BiasDirection.load(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("The direction in the cache is made anew: %s", error)
        return None
    _remember(key, found)
    return found


def _keep(key: str, found: BiasDirection) -> None:
    """Keep a direction in the process and on disk; without room there, in the process."""
    _remember(key, found)
    try:
        found.save(cache_folder(FOLDER) / f"{key}.json")
    except OSError as error:
        logger.warning("The direction is not kept on disk: %s", error)


def _remember(key: str, found: BiasDirection) -> None:
    with _LOCK:
        _MADE[key] = found
        while len(_MADE) > KEPT:
            del _MADE[next(iter(_MADE))]


def _components(encoder: BaseEncoder, pairs: Pairs, seed: int) -> dict[str, Any]:
    """Direction, shares of variance and stability."""
    differences = pair_differences(encoder, pairs)
    first = direction_of(differences)
    halves = halves_stability(differences, seed=seed)
    return {
        "vector": first.vector,
        "explained_variance_ratio": tuple(first.explained_variance_ratio.tolist()),
        "stability": float(halves.mean()) if len(halves) else None,
    }


def direction_stability(
    model: Any,
    pairs: Sequence[Any] | str | None = None,
    texts: Iterable[str] | None = None,
    *,
    size: int | None = None,
    n_draws: int = 10,
    attribute: str | Path | Attribute = "gender",
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """How much the direction depends on the pairs: |cos| between directions of random draws of pairs.

    Args:
        model: as in :func:`bias_direction`.
        pairs: as there.
        texts: as there; many times ``size``, or the draws share most of their pairs.
        size: pairs per draw, without replacement; None means two halves of the pairs at a time, which share none.
        n_draws: number of draws, or of halvings.
        attribute: name, file or object, with two groups.
        seed: of the draws.
        **encoder_options: for ``as_encoder``.

    Returns:
        ``cosine`` (mean of |cos| over all pairs of draws, or over the halvings; ideal 1), ``cosine_min``,
        ``cosine_range95`` (central 95 % of the draws), ``n_pairs``, ``size``, ``n_draws``, and for word vectors
        without ``pairs`` ``cosine_of_lists``: |cos| between the paper's ten and the extended pairs, None elsewhere.

    Raises:
        ValueError: as :func:`bias_direction`; fewer than four pairs, a ``size`` that is too large, fewer than two
            draws.
    """
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2; got {n_draws}.")
    value = load_attribute(attribute)
    encoder = as_encoder(model, **encoder_options)
    chosen, _, kind = choose_pairs(encoder, pairs, texts, value)
    differences = pair_differences(encoder, chosen)
    if len(chosen) < 4 or not 1 <= (size or 1) <= len(chosen):
        raise ValueError(f"{len(chosen)} pairs are too few to draw {size or 'two halves'} from; four are needed.")
    if size is None:
        found = halves_stability(differences, n_draws=n_draws, seed=seed)
    else:
        rng = generator(seed, "draws")
        draws = [rng.permutation(len(chosen))[:size] for _ in range(n_draws)]
        axes = np.stack([direction_of(differences[rows]).vector for rows in draws])
        found = np.minimum(np.abs(axes @ axes.T)[np.triu_indices(n_draws, 1)], 1.0)
    lists = None
    if kind == "word pairs" and pairs is None:
        first, second = (
            direction_of(pair_differences(encoder, choose_pairs(encoder, name, None, value)[0])).vector
            for name in LISTS
        )
        lists = abs(float(first @ second))
    return {
        "cosine": float(found.mean()),
        "cosine_min": float(found.min()),
        "cosine_range95": percentile_interval(found),
        "n_pairs": len(chosen),
        "size": size or len(chosen) // 2,
        "n_draws": n_draws,
        "cosine_of_lists": lists,
    }
