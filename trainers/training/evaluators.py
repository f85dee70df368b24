"""Evaluators for sentence-transformers: bias of the model in training, beside the evaluators of its quality.

Pass them as ``evaluator=`` to a ``SentenceTransformerTrainer``. Less is better, which a Trainer has to be told: with
``metric_for_best_model="eval_mean_abs_effect_size"`` or ``"eval_cced"`` set ``greater_is_better=False``. A model that
is chosen by a bias metric alone may have forgotten its task: put an evaluator of quality into the list, and choose by
that one if in doubt.
"""

from __future__ import annotations

import csv
import logging
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator

from hf_fairness.measure.encoder.cced import cced
from hf_fairness.measure.encoder.seat import seat
from hf_fairness.measure.encoder.seat_tests import resolve_tests
from hf_fairness.measure.variants import read_variants
from hf_fairness.results import flatten

logger = logging.getLogger(__name__)


class _BiasEvaluator(SentenceEvaluator):
    """Names, logs, writes and stores what ``_measure`` returns."""

    #: First part of the name of the CSV file.
    kind: str

    def __init__(
        self,
        primary_metric: str,
        *,
        name: str,
        batch_size: int,
        show_progress: bool | None,
        write_csv: bool,
        n_bootstrap: int,
        seed: int,
    ) -> None:
        super().__init__()
        self.primary_metric = primary_metric
        self.greater_is_better = False
        self.name, self.batch_size, self.show_progress, self.write_csv = name, batch_size, show_progress, write_csv
        self.n_bootstrap, self.seed = n_bootstrap, seed
        self.csv_file = f"{self.kind}_evaluation{f'_{name}' if name else ''}_results.csv"

    @abstractmethod
    def _measure(self, model: Any) -> dict[str, float]:
        """Metrics of the model, without the name of this evaluator."""

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure the model where it is.

        Args:
            model: SentenceTransformer in training.
            output_path: folder of the CSV file; None writes none.
            epoch: for the CSV file and the model card.
            steps: for the CSV file and the model card.

        Returns:
            Metrics, each called after this evaluator's name and what it is.
        """
        found = self._measure(model)
        if output_path is not None and self.write_csv:
            self._write(Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **found})
        metrics: dict[str, float] = self.prefix_name_to_metrics(found, self.name)
        logger.info("%s%s: %s", self.description, f" of {self.name}" if self.name else "", metrics)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def _write(self, path: Path, row: dict[str, float]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.is_file()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)

    def get_config_dict(self) -> dict[str, Any]:
        """What the model card says of this evaluator."""
        return {"n_bootstrap": self.n_bootstrap, "seed": self.seed}


class SEATEvaluator(_BiasEvaluator):
    """Sentence encoder association tests of the model in training; see ``hf_fairness.measure.seat``.

    The primary metric is ``mean_abs_effect_size`` over the bias tests (ideal 0, less is better). Two seeds of one
    training run differ by about .15 in it: do not choose checkpoints by smaller differences. Beside it stand its
    interval, and per test ``<test>_effect_size`` and ``<test>_p_value_clustered``.

    Args:
        tests: as in ``measure.seat``; at least one bias test. None means the six gender tests and tests 1 and 2.
        name: put before every metric, with an underscore.
        batch_size: texts per forward pass.
        n_samples: most partitions looked at by a permutation test. Fewer than in a final measurement, for speed.
        n_bootstrap: resamples behind the interval; 0: none.
        seed: of all draws.
        show_progress: None means on a terminal, when there is much to encode.
        write_csv: append a row to ``seat_evaluation_<name>_results.csv`` in each evaluation.

    Raises:
        ValueError: unknown or malformed tests, or no bias test among them.

    Example:
        >>> evaluator = SEATEvaluator(["6", "8"], name="gender")
        >>> evaluator.primary_metric, evaluator.greater_is_better, evaluator.csv_file
        ('mean_abs_effect_size', False, 'seat_evaluation_gender_results.csv')
    """

    kind = "seat"

    def __init__(
        self,
        tests: Any = None,
        *,
        name: str = "",
        batch_size: int = 32,
        n_samples: int = 1000,
        n_bootstrap: int = 200,
        seed: int = 0,
        show_progress: bool | None = None,
        write_csv: bool = True,
    ) -> None:
        super().__init__(
            "mean_abs_effect_size",
            name=name,
            batch_size=batch_size,
            show_progress=show_progress,
            write_csv=write_csv,
            n_bootstrap=n_bootstrap,
            seed=seed,
        )
        self.tests, self.n_samples = resolve_tests(tests), n_samples
        if all(test.purpose != "bias" for test in self.tests):
            names = ", ".join(test.name for test in self.tests)
            raise ValueError(f"SEATEvaluator averages |d| over bias tests and got none: {names}. Add one, e.g. '6'.")

    def _measure(self, model: Any) -> dict[str, float]:
        result = seat(
            model,
            self.tests,
            n_samples=self.n_samples,
            n_bootstrap=self.n_bootstrap,
            seed=self.seed,
            batch_size=self.batch_size,
            show_progress=self.show_progress,
        )
        metrics = _with_interval(result, "mean_abs_effect_size")
        for test, values in result["tests"].items():
            metrics |= {f"{test}_{key}": values[key] for key in ("effect_size", "p_value_clustered")}
        return metrics

    def get_config_dict(self) -> dict[str, Any]:
        """What the model card says of this evaluator."""
        tests = [test.name for test in self.tests]
        return {"tests": tests, "n_samples": self.n_samples, **super().get_config_dict()}


class CCEDEvaluator(_BiasEvaluator):
    """Content-conditional equal distance of the model in training; see ``hf_fairness.measure.cced``.

    The primary metric is ``cced`` (ideal 0, less is better); ``cced_relative`` and ``mean_distance`` stand beside it,
    because a model that collapses scores well. Measure on texts that the training does not see.

    Args:
        variants: output of ``GroupVariants``, or a mapping of group names and ``neutral`` to lists of texts.
        groups: the group columns; None means those that ``GroupVariants`` recorded, or those of an attribute.
        neutral: column of the neutral texts.
        name: put before every metric, with an underscore.
        batch_size: texts per forward pass.
        n_bootstrap: resamples behind the intervals, at least 1. Fewer than in a final measurement, for speed.
        seed: of the resamples.
        show_progress: None means on a terminal, when there is much to encode.
        write_csv: append a row to ``cced_evaluation_<name>_results.csv`` in each evaluation.

    Raises:
        TypeError: variants that are neither Dataset nor mapping.
        ValueError: a missing column, one group only, no row with attribute terms, or no resamples.

    Example:
        >>> texts = {"male": ["He sings."], "female": ["She sings."], "neutral": ["They sing."]}
        >>> CCEDEvaluator(texts, name="songs").csv_file
        'cced_evaluation_songs_results.csv'
    """

    kind = "cced"

    def __init__(
        self,
        variants: Any,
        *,
        groups: Sequence[str] | None = None,
        neutral: str = "neutral",
        name: str = "",
        batch_size: int = 32,
        n_bootstrap: int = 200,
        seed: int = 0,
        show_progress: bool | None = None,
        write_csv: bool = True,
    ) -> None:
        super().__init__(
            "cced",
            name=name,
            batch_size=batch_size,
            show_progress=show_progress,
            write_csv=write_csv,
            n_bootstrap=n_bootstrap,
            seed=seed,
        )
        if n_bootstrap < 1:
            raise ValueError(f"n_bootstrap must be at least 1; got {n_bootstrap}.")
        self.variants, self.neutral = read_variants(variants, groups=groups, neutral=neutral), neutral

    def _measure(self, model: Any) -> dict[str, float]:
        result = cced(
            model,
            self.variants,
            neutral=self.neutral,
            n_bootstrap=self.n_bootstrap,
            seed=self.seed,
            batch_size=self.batch_size,
            show_progress=self.show_progress,
        )
        others = {key: result[key] for key in ("cced_signed", "cced_relative", "mean_distance")}
        return _with_interval(result, "cced") | others

    def get_config_dict(self) -> dict[str, Any]:
        """What the model card says of this evaluator."""
        return {"n_texts": len(self.variants.neutral), **super().get_config_dict()}


def _with_interval(result: dict[str, Any], key: str) -> dict[str, float]:
    """A number, and the ends of its interval where there is one: metrics of a Trainer are single numbers."""
    return flatten({name: result[name] for name in (key, f"{key}_ci95")})
