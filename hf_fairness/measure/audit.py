"""One audit of one encoder: bias, what a probe can read, and what the encoder is still good for."""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.encoders import BaseEncoder, Vectors, as_encoder
from hf_fairness.measure.encoder.probe import KINDS, probe
from hf_fairness.measure.encoder.seat import seat
from hf_fairness.measure.encoder.utility import similarity_structure, sts
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
    show_progress: bool | None = None,
    **encoder_options: Any,
) -> AuditResult:
    """Measure bias and utility of a text encoder.

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
        show_progress: None means on a terminal.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, normalize, max_length.

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
    encoder = as_encoder(model, show_progress=show_progress, **encoder_options)
    before = None if reference is None else as_encoder(reference, show_progress=show_progress, **encoder_options)
    sets = _sets(values, variants)
    tests = built_in_tests(values) if seat_tests is None else list(seat_tests)
    if not sets and not tests:
        raise ValueError(
            f"There are no SEAT tests and no built-in texts for {values.name!r} ({values.language}): "
            "give texts with variants={name: rows made by GroupVariants}."
        )
    settings: dict[str, Any] = {"n_bootstrap": n_bootstrap, "seed": seed}
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
    steps: list[str] = [*(["SEAT"] if tests else []), *sets, "probe", "utility"]
    embeddings: dict[str, dict[str, Vectors]] = {}
    for step in progress(steps, f"Audit of {encoder.label}", show_progress=show_progress, unit="part"):
        if step == "SEAT" and tests:
            report["seat"] = seat(encoder, tests, reference=before, n_samples=n_samples, **settings)
        elif step == "probe":
            report["probe"] = _probes(embeddings, sets, settings)
        elif step == "utility":
            report["utility"] = _utility(encoder, before, sts_pairs, settings)
        else:
            report["cced"][step], embeddings[step] = _cced(sets[step], encoder, before, settings)
            if n_texts and step != BUILT_IN:
                report.setdefault("texts", {})[step] = largest_gaps(sets[step].neutral, embeddings[step], n_texts)
    return AuditResult(report, embeddings)


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
        if name in (*sets, "SEAT", "probe", "utility"):
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
        kind: {**probe(embeddings=embeddings[name], kind=kind, clusters=clusters, **settings), "set": name}
        for kind in KINDS
    }


def _utility(
    encoder: BaseEncoder, before: BaseEncoder | None, sts_pairs: Any, settings: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if sts_pairs is not None:
        found |= sts(encoder, sts_pairs, reference=before, **settings)
    if before is not None:
        structure = similarity_structure(before, encoder, **settings)
        meta = {"sts": found.pop("meta", None), "similarity_structure": structure.pop("meta")}
        n = {"n_sts": found.pop("n", None), "n_similarity_structure": structure.pop("n")}
        found |= structure | {key: value for key, value in n.items() if value is not None} | {"meta": meta}
    return found
