"""One round's samples: drawn, read, compared with the pool, judged, filtered, written."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.scores.statistics import share_entry
from hf_fairness.trainers.ibadr.data import LABEL
from hf_fairness.trainers.ibadr.generator import generator_confidence
from hf_fairness.trainers.ibadr.guards import (
    LabelsAtChanceError,
    degree_histogram,
    diversity,
    expected_agreement,
    label_agreement,
)
from hf_fairness.trainers.ibadr.job import FIRST_SHALLOW, Job
from hf_fairness.trainers.ibadr.pool import ACCEPTED, REJECTED, Seen, pool_rows, write_rows
from hf_fairness.trainers.ibadr.sampling import Samples, sample
from hf_fairness.utils import FairnessWarning, is_main_process

#: How far from chance a judge's expected agreement must be for it to tell anything.
JUDGE_MARGIN = 0.1


def draw_samples(
    job: Job,
    generator: tuple[Any, Any],
    pool: Dataset,
    *,
    number: int,
    shallow: str,
    judge: str,
    confident: str | None,
    folder: Path,
) -> dict[str, Any]:
    """Draw the samples of a round, write those that the pool grows by, and say what became of all.

    Args:
        job: data and settings.
        generator: model and format of its samples.
        pool: rows that there are already.
        number: of the round.
        shallow: stage of the shallow model.
        judge: stage or source of the classifier that says what label a sample has.
        confident: stage or source whose confidence the filter asks; None: the generator.
        folder: where the rows go.

    Returns:
        ``counts``, ``labels`` (rows of each number), ``agreement`` before and after the filter, ``degrees``
        (histograms), ``diversity``, ``anti_artefact`` where it is defined.

    Raises:
        ValueError: no sample can be read, or none is left.
        LabelsAtChanceError: the labels of samples mean nothing to the judge.
    """
    c, task = job.config, job.task
    drawn = sample(*generator, c.n_drawn, config=c, key=f"round-{number}")
    reasons = np.array(drawn.reasons, dtype=object)
    _new_texts(drawn, reasons, pool, task.columns)
    fresh = np.flatnonzero(reasons == "")
    if not len(fresh):
        raise ValueError(_nothing_left(number, c.n_drawn, reasons, c.max_new_tokens))
    rows = _rows(job, drawn, fresh, number, np.ones(len(fresh)))
    degrees = job.degrees(shallow, rows)
    confidence = degrees
    if confident is None:
        confidence = generator_confidence(*generator, task.texts(rows), rows[LABEL], rows["indicator"], config=c)
    elif confident != shallow:
        confidence = job.degrees(confident, rows)
    judged = job.probabilities(judge, rows).argmax(axis=1)
    kept = confidence >= c.confidence_threshold
    reasons[fresh[~kept]] = "low_confidence"
    report = _describe(job, rows, confidence, degrees, judged, kept)
    report["counts"] = {"drawn": c.n_drawn, **dict(Counter(reason or "accepted" for reason in reasons.tolist()))}
    known = degrees if shallow == FIRST_SHALLOW else None
    report["judge"] = _judge(job, report["agreement"]["before"], rows, known, judge)
    _check(job, number, report, kept, confidence)
    if is_main_process():
        rows = rows.remove_columns("confidence").add_column("confidence", confidence)
        write_rows(rows.select(np.flatnonzero(kept)), folder / ACCEPTED)
        left = np.flatnonzero(reasons != "")
        others = _rows(job, drawn, left, number, np.zeros(len(left)))
        values = np.full(len(reasons), -1.0, dtype=np.float32)
        values[fresh] = confidence
        others = others.remove_columns("confidence").add_column("confidence", values[left])
        write_rows(others.add_column("reason", reasons[left].tolist()), folder / REJECTED)
    return report


def _new_texts(drawn: Samples, reasons: NDArray[Any], pool: Dataset, columns: Sequence[str]) -> None:
    """Mark samples whose texts are in the pool, or in an earlier sample."""
    seen = Seen([list(pool[name]) for name in columns], pool[LABEL])
    for place, (texts, label) in enumerate(zip(drawn.texts, drawn.labels, strict=True)):
        if not reasons[place]:
            reasons[place] = seen.add(texts, int(label))


def _rows(job: Job, drawn: Samples, places: NDArray[Any], number: int, confidence: NDArray[Any]) -> Dataset:
    """Samples as rows of the pool."""
    columns = job.task.columns
    return pool_rows(
        [[drawn.texts[place][k] for place in places] for k in range(len(columns))],
        drawn.labels[places],
        columns=columns,
        label_column=LABEL,
        iteration=number,
        indicators=drawn.indicators[places],
        confidences=confidence,
        source_ids=[f"round-{number}:{place}" for place in places],
    )


def _describe(
    job: Job,
    rows: Dataset,
    confidence: NDArray[Any],
    degrees: NDArray[Any],
    judged: NDArray[Any],
    kept: NDArray[np.bool_],
) -> dict[str, Any]:
    """What the filter did: everything before and after it."""
    task, seed = job.task, job.config.seed
    labels = np.asarray(list(rows[LABEL]))
    sides = {"before": np.arange(len(rows)), "after": np.flatnonzero(kept)}
    texts = task.texts(rows)
    limit = max(1, min(len(sides["after"]), len(task.train)))
    order = random_generator(seed, "diversity").permutation(len(task.train))[:limit]
    found: dict[str, Any] = {
        "labels": {
            side: np.bincount(labels[places], minlength=len(task.label_names)).tolist()
            for side, places in sides.items()
        },
        "agreement": {
            side: label_agreement(judged[places], labels[places], len(task.label_names), seed=seed)
            for side, places in sides.items()
            if len(places)
        },
        "degrees": {side: degree_histogram(degrees[places]) for side, places in sides.items()},
        "confidence": {side: degree_histogram(confidence[places]) for side, places in sides.items()},
        "diversity": {
            "original": diversity(task.texts(task.train.select(order))),
            "after": diversity([[column[k] for k in sides["after"]] for column in texts], limit=limit),
        },
    }
    if job.anti_artefact is not None:
        flags = np.asarray(job.anti_artefact(rows), dtype=bool)
        found["anti_artefact"] = {
            side: {**share_entry("anti_artefact_share", int(flags[places].sum()), len(places)), "n": len(places)}
            for side, places in sides.items()
        }
    return found


def _judge(job: Job, before: dict[str, Any], rows: Dataset, degrees: NDArray[Any] | None, judge: str) -> dict[str, Any]:
    """What agreement the judge would reach on validation rows as biased as the samples, and what that tells of these.

    Args:
        job: data and models.
        before: agreement of the samples with the judge.
        rows: the samples.
        degrees: their bias degrees under the first shallow model, if known.
        judge: stage or source of the judge.

    Returns:
        ``validation_accuracy`` of the judge; ``expected_agreement``; ``can_tell``: whether that is far enough from
        chance; ``below_expected``: whether the samples reach less than half of what it is above chance, interval and
        all.
    """
    known = job.task.validation
    right = job.probabilities(judge, known).argmax(axis=1) == np.asarray(list(known[LABEL]))
    if degrees is None:
        degrees = job.degrees(FIRST_SHALLOW, rows)
    expected = expected_agreement(right, job.degrees(FIRST_SHALLOW, known), degrees)
    above = 0.0 if expected is None else expected - before["chance"]
    ends = before["agreement_ci95"]
    return {
        "validation_accuracy": float(right.mean()),
        "expected_agreement": expected,
        "can_tell": expected is None or abs(above) >= JUDGE_MARGIN,
        "below_expected": above >= JUDGE_MARGIN and ends is not None and ends[1] < before["chance"] + above / 2,
    }


def _check(job: Job, number: int, report: dict[str, Any], kept: NDArray[np.bool_], confidence: NDArray[Any]) -> None:
    """Stop where the samples are of no use.

    Raises:
        LabelsAtChanceError: their labels mean nothing to a judge that can tell.
        ValueError: none passes the filter.
    """
    c, found, judge = job.config, report["agreement"]["before"], report["judge"]
    text = (
        f"Round {number}: the labels of {found['n']} samples agree with the judge's in {found['agreement']:.0%}, "
        f"where chance gives {found['chance']:.0%}"
    )
    if judge["expected_agreement"] is not None:
        text += f" and validation rows as biased as they are {judge['expected_agreement']:.0%}"
    more = (
        "Train it longer (--generator_num_train_epochs, --generator_learning_rate), on more rows, or take a larger one"
    )
    if found["at_chance"] and not judge["can_tell"]:
        text += ". The judge follows the bias and cannot tell; give a better one with --judge_model."
        warnings.warn(text, FairnessWarning, stacklevel=2)
    elif found["at_chance"]:
        text += f": the generator has not learned what the labels mean. {more}"
        if c.check_agreement:
            raise LabelsAtChanceError(f"{text}; or set --check_agreement False. The pool holds the earlier rounds.")
        warnings.warn(f"{text}.", FairnessWarning, stacklevel=2)
    elif judge["below_expected"]:
        text += (
            f": most say little, and a model that learns from them can get worse. {more}, one that was trained before, "
            "or ask a good classifier which samples to keep (--confidence_from)."
        )
        warnings.warn(text, FairnessWarning, stacklevel=2)
    if not kept.any():
        raise ValueError(
            f"Round {number}: none of {len(kept)} new samples reaches the confidence {c.confidence_threshold:g} of "
            f"{c.confidence_from}; the highest is {confidence.max():.3f}. Lower --confidence_threshold, or ask another "
            "model (--confidence_from). The pool holds the earlier rounds."
        )


def _nothing_left(number: int, n: int, reasons: NDArray[Any], max_new_tokens: int) -> str:
    """Why no sample is new and readable."""
    counts = Counter(reasons.tolist())
    parts = ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
    cause = (
        f"The generator does not end its samples within --max_new_tokens {max_new_tokens}: train it longer, or allow "
        "more"
        if counts.most_common(1)[0][0] == "unended"
        else "Train the generator longer, on more rows, or draw from more of its distribution"
    )
    return f"Round {number}: none of {n} samples is of use ({parts}). {cause}. The pool holds the earlier rounds."
