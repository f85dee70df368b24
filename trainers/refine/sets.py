"""What the encoders of a refinement are measured on: association tests, bias of texts, utility."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from hf_fairness.encoders import BaseEncoder
from hf_fairness.measure.encoder.bias_score import ABSOLUTE, bias_score
from hf_fairness.measure.encoder.seat import Embedded, Sides, seat, seat_changes
from hf_fairness.measure.encoder.stimuli import AssociationTest
from hf_fairness.record import Measure
from hf_fairness.report.audit_record import audit_changes, audit_measures
from hf_fairness.rows import column_values
from hf_fairness.runs import content_key
from hf_fairness.scores import bias_score as bias_scores
from hf_fairness.scores import challenge, structure
from hf_fairness.scores.compare import paired_comparison
from hf_fairness.scores.statistics import share_entry
from hf_fairness.scores.structure import spearman_draws, spearman_interval
from hf_fairness.scores.vectors import pair_cosines
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored
from hf_fairness.trainers.refine.corpora import LABEL
from hf_fairness.trainers.refine.training import Head

#: From an arm to its encoder, opened once for all sets.
Open = Callable[[Fitted], BaseEncoder]


@dataclass(kw_only=True)
class EncoderSet(EvalSet):
    """Something that encoders are measured on.

    Attributes:
        open: gives the encoder of an arm.
        draws: ``n_bootstrap``, ``seed`` and, for association tests, ``n_samples``.
    """

    open: Open = field(repr=False)
    draws: Mapping[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class SeatSet(EncoderSet):
    """Association tests; differences are paired word by word."""

    tests: Sequence[AssociationTest] = ()

    def __post_init__(self) -> None:
        self.key = content_key(list(self.tests), dict(self.draws))

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """What `measure.seat` says."""
        encoder = self.open(fitted)
        embedded = Embedded.by(encoder, self.tests)
        sides = {test.name: embedded.associations(test) for test in self.tests}
        arrays = {f"{name}/{side}": found[place] for name, found in sides.items() for place, side in enumerate("xy")}
        self.keep(folder, **arrays)
        return {"seat": seat(encoder, self.tests, **self.draws)}

    def _sides(self, scored: Scored) -> dict[str, Sides]:
        arrays = self.kept(scored)
        return {test.name: (arrays[f"{test.name}/x"], arrays[f"{test.name}/y"]) for test in self.tests}

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """The change of each effect size, and of the mean over the bias tests."""
        by_test, mean = seat_changes(self.tests, self._sides(one), self._sides(other), **self.draws)
        found = one.result["seat"]
        tests = {name: {**result, **by_test[name]} for name, result in found["tests"].items()}
        return audit_changes({"seat": {**found, **mean, "tests": tests}})

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """Every effect size."""
        yield from audit_measures(results)

    def id(self, key: str) -> str:
        """The changes come by id."""
        return key


@dataclass(kw_only=True)
class BiasSet(EncoderSet):
    """The bias score of texts under each encoder, along its own direction."""

    texts: Sequence[str] = field(default=(), repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        options = {name: getattr(value, "digest", value) for name, value in self.options.items()}
        options.pop("use_cache", None)  # it changes no number
        self.key = content_key(list(self.texts), options, dict(self.draws))
        self.declared = bias_scores.MEASURES

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Means over the texts."""
        found = bias_score(self.texts, self.open(fitted), **self.options, **self.draws)
        self.keep(folder, absolute=np.array(found[ABSOLUTE]))
        return {key: value for key, value in found.items() if not isinstance(value, list) or key.endswith("_ci95")}

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """The paired difference, text by text."""
        sides = (self.kept(each)[ABSOLUTE] for each in (one, other))
        return {"absolute_mean": paired_comparison(*sides, **self.draws)}


@dataclass(kw_only=True)
class ClassSet(EncoderSet):
    """Pairs whose class the encoder was trained to tell, by its own head."""

    rows: Dataset = field(repr=False)
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.key = content_key(self.rows, list(self.columns), dict(self.draws))
        convention = "Accuracy of the head that was trained with the encoder, on pairs that no arm was trained on."
        self.declared = {"accuracy": replace(challenge.MEASURES["accuracy"], convention=convention)}

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """The share of pairs that are told rightly."""
        left, right = (self.open(fitted).encode(column_values(self.rows, name)) for name in self.columns)
        hits = Head.load(Path(fitted.model).parent).guess(left, right) == np.array(column_values(self.rows, LABEL))
        self.keep(folder, hits=hits.astype(np.float64))
        return {"n": len(hits), **share_entry("accuracy", int(hits.sum()), len(hits))}

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """The paired difference; pairs with one first text count together."""
        sides = (self.kept(each)["hits"] for each in (one, other))
        clusters = column_values(self.rows, self.columns[0])
        return {"accuracy": paired_comparison(*sides, clusters=clusters, **self.draws)}


@dataclass(kw_only=True)
class SimilaritySet(EncoderSet):
    """Pairs with scores of how alike they are."""

    pairs: tuple[Sequence[str], Sequence[str], Sequence[float]] = field(repr=False)

    def __post_init__(self) -> None:
        self.key = content_key([list(part) for part in self.pairs], dict(self.draws))
        self.declared = {"sts_spearman": structure.MEASURES["sts_spearman"]}

    def _draws(self, cosines: Any) -> tuple[float, Any]:
        return spearman_draws(cosines, self.pairs[2], x_name="cosines", y_name="scores", **self.draws)

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Spearman correlation of the cosines with the scores."""
        cosines = pair_cosines(*(self.open(fitted).encode(list(texts)) for texts in self.pairs[:2]))
        self.keep(folder, cosines=cosines)
        value, draws = self._draws(cosines)
        return {"n": len(cosines), "sts_spearman": value, "sts_spearman_ci95": spearman_interval(draws)}

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """The paired difference over resamples of the pairs."""
        (a, first), (b, second) = (self._draws(self.kept(each)["cosines"]) for each in (one, other))
        return {"sts_spearman": {"difference": a - b, "difference_ci95": spearman_interval(first - second)}}
