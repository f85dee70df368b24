"""What is asked of the samples of a round: whether their labels mean something, how biased and how varied they are."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.intervals import Z, rates_of
from hf_fairness.scores.meta import describe
from hf_fairness.utils import FairnessWarning

#: How far from chance a judge's expected agreement must be for it to tell anything.
JUDGE_MARGIN = 0.1
#: What helps a generator that has not learned what labels mean.
_LEARN_MORE = (
    "Train it longer (--generator_num_train_epochs, --generator_learning_rate), on more rows, or take a larger one"
)
#: Bins of a histogram of bias degrees, from 0 to 1.
BINS = 10


class LabelsAtChanceError(ValueError):
    """The labels of samples agree with a judge no more than by chance."""


def label_agreement(judged: ArrayLike, labels: ArrayLike, n_labels: int, *, seed: int = 0) -> dict[str, Any]:
    """How often a model trained on the original data gives a sample the label that was asked for.

    Beside the rate stands what two independent labellings with the same counts would reach (``chance``), and Cohen's
    kappa. Samples of low bias degree are those on which a biased judge errs, so a low rate alone proves nothing; a
    kappa that cannot be told from 0 says that the generator has not learned what labels mean, or that the judge has
    not.

    Args:
        judged: classes by the judge, shape (n,).
        labels: classes asked for, shape (n,).
        n_labels: number of classes.
        seed: stated in ``meta``.

    Returns:
        ``agreement`` in [0, 1], ``chance``, ``kappa`` (ideal 1; 0: chance), the first and last with ``_ci95``;
        ``at_chance``: whether the interval of kappa holds 0 (or there is none); ``n``, ``meta``.

    Raises:
        ValueError: no samples, or not one class for each.

    Source:
        Cohen 1960 for kappa.

    Example:
        >>> found = label_agreement([0, 1, 0, 1] * 20, [0, 1, 0, 1] * 20, 2)
        >>> found["agreement"], found["chance"], found["kappa"], found["at_chance"]
        (1.0, 0.5, 1.0, False)
    """
    one, other = np.asarray(judged, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    if not len(one) or one.shape != other.shape:
        raise ValueError(f"Agreement needs a judged class per label, and one at least; got {one.shape}, {other.shape}.")
    n, right = len(one), (one == other)[:, None].astype(np.float64)
    rate = rates_of(right, np.ones((n, 1)))
    judged_share, label_share = (np.bincount(side, minlength=n_labels) / n for side in (one, other))
    agreement, chance = float(right.mean()), float(judged_share @ label_share)
    kappa = (agreement - chance) / (1.0 - chance) if chance < 1.0 else None
    ends = None
    if kappa is not None and 0.0 < agreement < 1.0:
        # What each sample adds to kappa, its part in the counts of both sides included (the delta method).
        moves = (right[:, 0] - agreement) * (1.0 - chance)
        moves -= (judged_share[other] + label_share[one] - 2.0 * chance) * (1.0 - agreement)
        error = float(np.linalg.norm(moves)) / n / (1.0 - chance) ** 2
        ends = [max(-1.0, kappa - Z * error), min(1.0, kappa + Z * error)]
    elif kappa is not None:  # all agree, or none does
        ends = [max(-1.0, (end - chance) / (1.0 - chance)) for end in rate.interval(0) or []]
    return {
        **rate.entry("agreement", 0),
        "chance": chance,
        "kappa": kappa,
        "kappa_ci95": ends,
        "at_chance": ends is None or ends[0] <= 0.0 <= ends[1],
        "n": len(one),
        "meta": describe(
            n=len(one),
            convention="share of samples whose judged class is the label asked for; chance: of independent labellings "
            "with the same counts; 95 % intervals: mid-P of the agreement, the delta method for kappa",
            ideal="agreement 1, kappa 1",
            direction="lower is worse; kappa 0 is chance",
            seed=seed,
        ),
    }


def expected_agreement(right: ArrayLike, validation_degrees: ArrayLike, degrees: ArrayLike) -> float | None:
    """How often a judge would agree with the labels of samples, were these as true as those of the validation rows.

    A judge that follows the bias errs on just the rows that are asked for, so its accuracy on all validation rows
    says little of them. Validation rows are weighted here to the bias degrees of the samples, in ``BINS`` bins;
    samples in bins without validation rows are left out.

    Args:
        right: whether the judge is right on each validation row, shape (n_validation,).
        validation_degrees: p(label | texts) of validation rows under the shallow model of the original data, shape
            (n_validation,).
        degrees: the same of samples, shape (n,).

    Returns:
        A share in [0, 1]; None where no bin holds both.

    Example:
        >>> expected_agreement([True, True, False, False], [0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.1, 0.9])
        0.25
    """
    values, found = np.asarray(right, dtype=np.float64), np.asarray(validation_degrees, dtype=np.float64)
    own, theirs = (np.minimum((np.asarray(x) * BINS).astype(int), BINS - 1) for x in (found, degrees))
    sizes = np.bincount(own, minlength=BINS)
    weights = np.where(sizes > 0, np.bincount(theirs, minlength=BINS), 0).astype(np.float64)
    if not weights.any():
        return None
    rates = np.bincount(own, weights=values, minlength=BINS) / np.maximum(sizes, 1)
    return float(weights @ rates / weights.sum())


def degree_histogram(degrees: ArrayLike) -> dict[str, Any]:
    """Counts of bias degrees in bins of equal width from 0 to 1, and their mean.

    Args:
        degrees: p(label | texts) under the shallow model, shape (n,).

    Returns:
        ``counts``, ``mean`` (None without rows), ``n``.

    Example:
        >>> degree_histogram([0.05, 0.5, 1.0])["counts"]
        [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    """
    values = np.asarray(degrees, dtype=np.float64)
    counts, _ = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    return {"counts": counts.tolist(), "mean": float(values.mean()) if len(values) else None, "n": len(values)}


def diversity(texts: Sequence[Sequence[str]], *, limit: int | None = None) -> dict[str, Any]:
    """How varied texts are: different word n-grams per n-gram, and words per row.

    The share falls as texts grow in number, so compare sets of one size only.

    Args:
        texts: one list per text column.
        limit: rows that are looked at, the first ones; None means all.

    Returns:
        ``distinct_1``, ``distinct_2``, ``distinct_3`` in (0, 1], lower is less varied, None where a row has no such
        n-gram; ``mean_words`` of a row, ``n`` rows.

    Source:
        Li et al. 2016 (distinct-n).

    Example:
        >>> diversity([["a b a b"]])["distinct_2"]
        0.6666666666666666
    """
    rows = [[text.casefold().split() for text in row] for row in list(zip(*texts, strict=True))[:limit]]
    found: dict[str, Any] = {}
    for size in (1, 2, 3):
        grams = [
            tuple(words[start : start + size])
            for row in rows
            for words in row
            for start in range(len(words) - size + 1)
        ]
        found[f"distinct_{size}"] = len(set(grams)) / len(grams) if grams else None
    words = sum(len(words) for row in rows for words in row)
    return {**found, "mean_words": words / len(rows) if rows else None, "n": len(rows)}


def judge_of_labels(
    right: ArrayLike, known: ArrayLike, degrees: ArrayLike, agreement: Mapping[str, Any]
) -> dict[str, Any]:
    """What agreement a judge would reach on rows with true labels that are as biased as the samples, and what it tells.

    Args:
        right: whether the judge gives validation rows their label, shape (m,).
        known: bias degrees of the validation rows, shape (m,).
        degrees: bias degrees of the samples, by the same model, shape (n,).
        agreement: of the samples with the judge, as :func:`label_agreement` gives it.

    Returns:
        ``validation_accuracy`` of the judge; ``expected_agreement``; ``can_tell``: whether that is far enough from
        chance; ``below_expected``: whether the samples reach less than half of what it is above chance, interval and
        all.
    """
    expected = expected_agreement(right, known, degrees)
    above = 0.0 if expected is None else expected - agreement["chance"]
    ends = agreement["agreement_ci95"]
    return {
        "validation_accuracy": float(np.asarray(right, dtype=np.float64).mean()),
        "expected_agreement": expected,
        "can_tell": expected is None or abs(above) >= JUDGE_MARGIN,
        "below_expected": above >= JUDGE_MARGIN and ends is not None and ends[1] < agreement["chance"] + above / 2,
    }


def check_labels(where: str, agreement: Mapping[str, Any], judge: Mapping[str, Any], *, stop: bool) -> str:
    """Warn where the labels of samples mean little.

    Args:
        where: begins the message.
        agreement: of the samples with the judge, as :func:`label_agreement` gives it.
        judge: as :func:`judge_of_labels` gives it.
        stop: raise where they mean nothing to a judge that can tell.

    Returns:
        What was found, where there is a warning; else nothing.

    Raises:
        LabelsAtChanceError: they mean nothing, and ``stop`` is set.
    """
    if not (agreement["at_chance"] or judge["below_expected"]):
        return ""
    expected = judge["expected_agreement"]
    beside = "" if expected is None else f" and validation rows as biased as they are {expected:.0%}"
    if not agreement["at_chance"]:
        problem = (
            f": most say little, and a model that learns from them can get worse. {_LEARN_MORE}, one that was trained "
            "before, or ask a good classifier which samples to keep (--confidence_from)."
        )
    elif judge["can_tell"]:
        problem = f": the generator has not learned what the labels mean. {_LEARN_MORE}"
    else:
        problem = ". The judge follows the bias and cannot tell; give a better one with --judge_model."
    found = (
        f"{where}: the labels of {agreement['n']} samples agree with the judge's in {agreement['agreement']:.0%}, "
        f"where chance gives {agreement['chance']:.0%}{beside}"
    )
    if stop and agreement["at_chance"] and judge["can_tell"]:
        raise LabelsAtChanceError(
            f"{found}{problem}; or set --check_agreement False. The pool holds the earlier rounds."
        )
    warnings.warn(f"{found}{problem}", FairnessWarning, stacklevel=2)
    return found


def nothing_left(where: str, reasons: Sequence[str], max_new_tokens: int) -> str:
    """Why no sample is new and readable, in words.

    Args:
        where: begins the message.
        reasons: why each of the samples is left out.
        max_new_tokens: length at which samples are cut.
    """
    counts = Counter(reasons)
    parts = ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
    cause = (
        f"The generator does not end its samples within --max_new_tokens {max_new_tokens}: train it longer, or allow "
        "more"
        if counts.most_common(1)[0][0] == "unended"
        else "Train the generator longer, on more rows, or draw from more of its distribution"
    )
    return f"{where}: none of {len(reasons)} samples is of use ({parts}). {cause}. The pool holds the earlier rounds."
