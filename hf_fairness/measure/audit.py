"""One audit of one encoder: bias, what a probe can read, and what the encoder is still good for."""

from __future__ import annotations

import datetime
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.encoders import BaseEncoder, RememberingEncoder, Vectors, as_encoder, as_reference
from hf_fairness.measure.encoder.probe import KINDS, probe
from hf_fairness.measure.encoder.seat import seat, texts_of
from hf_fairness.measure.encoder.seat_tests import resolve_tests
from hf_fairness.measure.encoder.stimuli import AssociationTest
from hf_fairness.measure.encoder.utility import read_scored_pairs, similarity_structure, sts, unrelated_pairs
from hf_fairness.measure.variants import Variants, read_variants
from hf_fairness.scores.cced import cced, cced_change
from hf_fairness.scores.statistics import N_BOOTSTRAP, N_SAMPLES
from hf_fairness.utils import package_versions, progress

logger = logging.getLogger(__name__)

#: Name of the set of variants that this package carries.
BUILT_IN = "built-in"
#: Packages whose versions a report states.
PACKAGES = ("hf-fairness", "torch", "transformers", "sentence-transformers", "numpy", "scipy", "scikit-learn")
#: A probe on fewer texts than this says nothing.
MIN_PROBE_TEXTS = 20
#: Texts are encoded in parts of at least so many, and in at most so many parts, between which progress is told.
PART_TEXTS, MOST_PARTS = 1024, 10


#: What is done, in words, and the work.
Step = tuple[str, Callable[[], None]]


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes:
        report: named numbers, JSON-able; see :func:`audit`.
        embeddings: per set of variants, per group and ``neutral``: shape (n, d); for pictures.
    """

    report: dict[str, Any]
    embeddings: dict[str, dict[str, Vectors]] = field(repr=False)


@cache
def _built_in() -> dict[str, Any]:
    text = resources.files("hf_fairness.measure").joinpath("data/built_in.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def built_in_tests(attribute: Attribute) -> list[str]:
    """Names of the SEAT tests that belong to an attribute; empty where there are none."""
    return list(_built_in().get(f"{attribute.name}.{attribute.language}", {}).get("seat_tests", []))


def built_in_variants(attribute: Attribute) -> dict[str, list[str]] | None:
    """The set of variants that this package carries for an attribute; None where there is none."""
    if not _built_in().get(f"{attribute.name}.{attribute.language}", {}).get("variants"):
        return None
    from hf_fairness.demo import variants

    return variants(with_frame=True)


def audit(
    model: Any,
    *,
    reference: Any = None,
    attribute: str | Attribute = "gender",
    language: str = "en",
    variants: Mapping[str, Any] | None = None,
    sts_pairs: Any = None,
    seat_tests: Sequence[str] | None = None,
    n_samples: int = N_SAMPLES,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    n_texts: int = 0,
    probes: bool = True,
    show_progress: bool | None = None,
    **encoder_options: Any,
) -> AuditResult:
    """Measure bias and utility of a text encoder.

    Each distinct text is encoded once, however many of the measures use it. Give a ``RememberingEncoder`` as model or
    reference to keep the vectors for a further audit.

    Args:
        model: whatever ``hf_fairness.encoders.as_encoder`` takes.
        reference: the encoder before mitigation; adds ``similarity_structure`` and paired intervals of the change.
        attribute: name, file or object of the attribute.
        language: language of its terms.
        variants: further sets by name: output of ``GroupVariants``, or a mapping of groups and ``neutral`` to texts.
            A column ``frame`` names rows that resemble each other: its rows count together.
        sts_pairs: rows with ``sentence1``, ``sentence2`` and ``score``, for STS.
        seat_tests: names of tests; None means those that belong to the attribute.
        n_samples: most partitions looked at by a permutation test.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of every draw.
        n_texts: how many texts of each given set, those with the largest gap between groups, stand in the report.
        probes: whether to train the probes, of which there is no paired comparison.
        show_progress: one bar over the whole audit; None means on a terminal. Without it the same goes to the log.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, normalize, max_length, and tokenizer, which
            is that of ``model``: the reference has its own.

    Returns:
        The result, whose ``report`` holds ``seat`` (see `measure.seat`), ``cced`` by set (see `measure.cced`),
        ``probe`` by kind, ``utility`` (``sts_spearman``, ``similarity_structure``), ``texts`` by set where asked (pairs
        of a neutral text and its gap), and what was audited. With
        ``reference``, ``<key>_change_ci95`` is the paired interval of after minus before.

    Raises:
        TypeError: a model that is no encoder.
        ValueError: nothing to measure for this attribute, or bad variants or pairs.
    """
    values = load_attribute(attribute, language=language)
    encoder = _remembering(as_encoder, model, encoder_options)
    before = None if reference is None else _remembering(as_reference, reference, encoder_options)
    sets = _sets(values, variants)
    names = built_in_tests(values) if seat_tests is None else list(seat_tests)
    if not sets and not names:
        raise ValueError(
            f"There are no SEAT tests and no built-in texts for {values.name!r} ({values.language}): "
            "give texts of your own with `variants`, rows that GroupVariants made."
        )
    tests = resolve_tests(names) if names else []
    pairs = None if sts_pairs is None else list(zip(*read_scored_pairs(sts_pairs), strict=True))
    report: dict[str, Any] = {
        "model": encoder.label,
        "attribute": values.name,
        "language": values.language,
        "groups": list(values.group_names),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "versions": package_versions(PACKAGES),
        "cced": {},
        "probe": {},
    }
    settings = {"n_bootstrap": n_bootstrap, "seed": seed}
    job = _Audit(encoder, before, tests, sets, pairs, n_samples, settings, n_texts, probes, report)
    bar: Any = progress(list(job.steps()), f"Audit of {encoder.label}", show_progress=show_progress, unit="part")
    for said, work in bar:
        if bar.disable:
            logger.info("Audit of %s: %s", encoder.label, said)
        else:
            bar.set_description(f"Audit of {encoder.label}: {said}")
        work()
    return AuditResult(report, job.embeddings)


@dataclass
class _Audit:
    """One audit: what is measured on which texts, and what was found so far."""

    encoder: RememberingEncoder
    before: RememberingEncoder | None
    tests: Sequence[AssociationTest]
    sets: Mapping[str, Variants]
    pairs: Sequence[tuple[str, str, float]] | None
    n_samples: int
    settings: Mapping[str, int]
    n_texts: int
    probes: bool
    report: dict[str, Any]
    embeddings: dict[str, dict[str, Vectors]] = field(default_factory=dict)

    def texts(self) -> list[str]:
        """All texts that any measure asks for."""
        found = [*texts_of(self.tests), *(text for texts in self.sets.values() for text in texts.texts())]
        found += [text for first, second, _ in self.pairs or () for text in (first, second)]
        if self.before is not None:
            found += [text for pair in unrelated_pairs() for text in pair]
        return found

    def steps(self) -> Iterator[Step]:
        """Encode all texts, then measure."""
        texts, resamples = self.texts(), f"{self.settings['n_bootstrap']:,} resamples"
        yield from _encode_in_parts(self.encoder, texts, "texts")
        if self.before is not None:
            yield from _encode_in_parts(self.before, texts, f"texts with the reference {self.before.label}")
        if self.tests:
            said = f"SEAT: {len(self.tests)} tests, up to {self.n_samples:,} partitions in each, {resamples}"
            yield said, self.seat
        for name, found in self.sets.items():
            yield f"CCED on {name}: {len(found.neutral):,} texts, {resamples}", partial(self.cced, name)
        yield "probes and utility", self.rest

    def seat(self) -> None:
        """All tests."""
        found = seat(self.encoder, self.tests, reference=self.before, n_samples=self.n_samples, **self.settings)
        self.report["seat"] = found

    def cced(self, name: str) -> None:
        """One set of variants."""
        texts = self.sets[name]
        self.report["cced"][name], vectors = _cced(texts, self.encoder, self.before, self.settings)
        self.embeddings[name] = vectors
        if self.n_texts and name != BUILT_IN:
            self.report.setdefault("texts", {})[name] = largest_gaps(texts.neutral, vectors, self.n_texts)

    def rest(self) -> None:
        """Probes on the first set, STS and similarity structure."""
        if self.probes:
            self.report["probe"] = _probes(self.embeddings, self.sets, self.settings)
        self.report["utility"] = _utility(self.encoder, self.before, self.pairs, self.settings)


def _remembering(opener: Callable[..., BaseEncoder], model: Any, options: Mapping[str, Any]) -> RememberingEncoder:
    """The model as an encoder that is asked for each text once, and shows no bar of its own."""
    encoder = opener(model, show_progress=False, **options)
    return encoder if isinstance(encoder, RememberingEncoder) else RememberingEncoder(encoder)


def _encode_in_parts(encoder: RememberingEncoder, texts: Sequence[str], what: str) -> Iterator[Step]:
    """Steps that encode what the encoder has not seen, the longest texts first as in one call for all of them."""
    new = sorted(encoder.unseen(texts), key=len, reverse=True)
    size = max(PART_TEXTS, math.ceil(len(new) / MOST_PARTS))
    for start in range(0, len(new), size):
        part = new[start : start + size]
        yield f"encoding {what}, {start + len(part):,} of {len(new):,}", partial(_encode, encoder, part)


def _encode(encoder: RememberingEncoder, texts: list[str]) -> None:
    encoder.encode(texts)


def largest_gaps(texts: Sequence[str], vectors: Mapping[str, Vectors], n: int) -> list[tuple[str, float]]:
    """The texts whose group versions differ most in their distance to the neutral one, with that difference.

    Args:
        texts: neutral texts.
        vectors: embeddings of the versions by group, and ``neutral``, shape (texts, d) each.
        n: how many; each text once.

    Returns:
        Text and gap, the largest first.

    Raises:
        ValueError: ``n`` is negative.
    """
    if n < 0:
        raise ValueError(f"n is {n}, expected 0 or more: it says how many texts are shown.")
    neutral = vectors[NEUTRAL]
    distances = np.stack([np.linalg.norm(v - neutral, axis=1) for name, v in vectors.items() if name != NEUTRAL])
    gaps = dict(sorted(zip(texts, np.ptp(distances, axis=0).tolist(), strict=True), key=lambda pair: pair[1]))
    return sorted(gaps.items(), key=lambda pair: -pair[1])[:n]


def _sets(attribute: Attribute, given: Mapping[str, Any] | None) -> dict[str, Variants]:
    built_in = built_in_variants(attribute)
    sets: dict[str, Any] = {} if built_in is None else {BUILT_IN: built_in}
    for name, rows in (given or {}).items():
        if name in sets:
            raise ValueError(f"A set of variants may not be called {name!r}; choose another name.")
        sets[name] = rows
    return {name: read_variants(rows, groups=attribute.group_names) for name, rows in sets.items()}


def _cced(
    texts: Variants, encoder: BaseEncoder, before: BaseEncoder | None, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Vectors]]:
    vectors = texts.embed(encoder)
    result = {**cced(vectors, clusters=texts.clusters, **settings), "n_skipped": texts.n_skipped}
    if before is not None:
        result |= cced_change(texts.embed(before), vectors, clusters=texts.clusters, **settings)
    return result, vectors


def _probes(
    embeddings: Mapping[str, Mapping[str, Vectors]], sets: Mapping[str, Variants], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Linear and MLP probe on the first set of variants; none where its texts are too few."""
    if not embeddings:
        return {}
    name = next(iter(embeddings))
    clusters = sets[name].clusters
    if len(set(clusters or range(len(sets[name].neutral)))) < MIN_PROBE_TEXTS:
        return {}
    return {
        kind: {
            **probe(embeddings=embeddings[name], kind=kind, clusters=clusters, show_progress=False, **settings),
            "set": name,
        }
        for kind in KINDS
    }


def _utility(
    encoder: BaseEncoder, before: BaseEncoder | None, pairs: Any, settings: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if pairs is not None:
        found |= sts(encoder, pairs, reference=before, **settings)
    if before is not None:
        structure = similarity_structure(before, encoder, **settings)
        meta = {"sts": found.pop("meta", None), "similarity_structure": structure.pop("meta")}
        n = {"n_sts": found.pop("n", None), "n_similarity_structure": structure.pop("n")}
        found |= structure | {key: value for key, value in n.items() if value is not None} | {"meta": meta}
    return found
