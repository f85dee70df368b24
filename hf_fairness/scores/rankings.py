"""Which factual and which counterfactual examples to keep (Zayed et al. 2023, Table 3)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.labels import Bools, as_labels, positives
from hf_fairness.scores.statistics import Floats, as_values, generator
from hf_fairness.utils import FairnessWarning

ORDERS = ("ascending", "descending")
#: What ``counterfactual_fraction`` is a share of, and what it is where nothing is said.
BASES = ("all", "changed")
DEFAULT_BASE = "changed"


@dataclass(frozen=True)
class Ranking:
    """How the two kinds of examples are ranked; the first are kept.

    Attributes:
        name: of the ranking.
        factual: score by which the factual examples are ranked; None: at random.
        counterfactual: score by which the counterfactual examples are ranked; None: at random.
        order: "ascending" keeps low scores, "descending" high ones.
        fixed: whether the order is part of the name, so that another one would be another ranking.
    """

    name: str
    factual: str | None
    counterfactual: str | None
    order: str = "descending"
    fixed: bool = False

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores that it needs."""
        return tuple(dict.fromkeys(name for name in (self.factual, self.counterfactual) if name is not None))


#: The rankings of Table 3, and those of the counterfactuals alone of experiment 1 (figures 2 and 3). ``vanilla_ge``
#: keeps the lowest scores as printed; the authors' code keeps the highest: ``order="descending"``.
RANKINGS: dict[str, Ranking] = {
    ranking.name: ranking
    for ranking in (
        Ranking("vanilla_ge", "ge", "ge", order="ascending"),
        Ranking("random", None, None, fixed=True),
        Ranking("healthy_random", None, "ge", fixed=True),
        Ranking("unhealthy_random", None, "ge", order="ascending", fixed=True),
        *(Ranking(name, None, name) for name in ("ge", "el2n", "grand", "forgetting")),
    )
}


class Kept(NamedTuple):
    """What a ranking keeps.

    Attributes:
        factual: per example, whether it is kept, shape (n,).
        counterfactual: per example, whether its counterfactual is kept, shape (n,).
    """

    factual: Bools
    counterfactual: Bools


def keep(
    ranking: str | Ranking,
    scores: Mapping[str, ArrayLike],
    changed: Any,
    *,
    factual_fraction: float,
    counterfactual_fraction: float,
    seed: int = 0,
    order: str | None = None,
    counterfactual_base: str = DEFAULT_BASE,
) -> Kept:
    """Choose the first examples and the first counterfactuals of a ranking.

    Random ranks depend on the seed and the number of examples alone, and differ between examples and counterfactuals;
    they also order examples with equal scores. What a smaller fraction keeps, a larger one keeps too. The number kept
    is the fraction times the base, rounded to the nearest whole number, halves up.

    With ``counterfactual_base="changed"`` only examples with a counterfactual are ranked, and the share is one of
    these: every ranking keeps equally many. With ``"all"`` all n examples are ranked, as in the paper, and the share
    is one of n. There an example without group words has an identical copy as its counterfactual. A copy takes its
    rank here too, but is not kept: it would only train twice on one text. An ascending ranking by GE then spends its
    share on copies first, which is warned of.

    Args:
        ranking: name in ``RANKINGS``, or a ranking.
        scores: the scores that it needs by name, shape (n,) each; others are not read.
        changed: which examples have a counterfactual, shape (n,).
        factual_fraction: share of the examples to keep, in [0, 1] (a in the paper).
        counterfactual_fraction: share of the counterfactuals to keep, in [0, 1] (b in the paper).
        seed: of the random ranks.
        order: "ascending" or "descending", for rankings whose name does not fix it; None means that of Table 3, and
            descending for the rankings of experiment 1.
        counterfactual_base: "changed", or "all" as in the paper.

    Returns:
        Two masks over the examples.

    Raises:
        ValueError: an unknown ranking, order or base; a fraction outside [0, 1], both 0; a missing score, NaN, another
            number of scores than examples; no counterfactual where some are wanted.

    Warns:
        FairnessWarning: a ranking by a score keeps less than half of the counterfactuals that the share promises,
            for it put examples without one first.

    Source:
        Zayed et al. 2023, sections 4.2 and 5, Table 3. Deviation: the default counts shares of counterfactuals that
        there are.

    Example:
        >>> kept = keep("healthy_random", {"ge": [0.1, 0.0, 0.9, 0.4]}, [True, False, True, True],
        ...             factual_fraction=0.5, counterfactual_fraction=0.5)
        >>> int(kept.factual.sum()), kept.counterfactual.tolist()
        (2, [False, False, True, True])
    """
    rule = _rule(ranking, order)
    if counterfactual_base not in BASES:
        raise ValueError(f"counterfactual_base must be one of {', '.join(BASES)}; got {counterfactual_base!r}.")
    fractions = {"factual_fraction": factual_fraction, "counterfactual_fraction": counterfactual_fraction}
    for name, fraction in fractions.items():
        _check_fraction(name, fraction)
    if factual_fraction == counterfactual_fraction == 0:
        raise ValueError("factual_fraction and counterfactual_fraction are both 0: nothing would be kept.")
    rows = positives(as_labels(changed, "changed"), "changed")
    if counterfactual_fraction > 0 and not rows.any():
        raise ValueError(
            f"None of the {len(rows)} examples has a counterfactual: no text was changed by the swap. Check the "
            "attribute and language of the texts, or set counterfactual_fraction=0."
        )
    found = _scores(rule, scores, len(rows))
    ranked = np.ones(len(rows), dtype=bool) if counterfactual_base == "all" else rows
    factual = _first(rule, found, "factual", np.ones(len(rows), dtype=bool), factual_fraction, seed)
    counterfactual = _first(rule, found, "counterfactual", ranked, counterfactual_fraction, seed)
    kept = Kept(factual, counterfactual & rows)
    if rule.counterfactual is not None and spent_on_copies(
        int(kept.counterfactual.sum()), counterfactual_fraction, int(rows.sum())
    ):
        warnings.warn(
            f"The ranking {rule.name!r} spends {int((counterfactual & ~rows).sum())} of its "
            f"{int(counterfactual.sum())} places on examples without a counterfactual, which it puts first, and keeps "
            f"{int(kept.counterfactual.sum())} of {int(rows.sum())} counterfactuals at "
            f"counterfactual_fraction={counterfactual_fraction:g}. counterfactual_base='changed' ranks those alone "
            "that have one.",
            FairnessWarning,
            stacklevel=2,
        )
    return kept


def spent_on_copies(kept: int, fraction: float, changed: int) -> bool:
    """Whether less than half of the counterfactuals are kept that the share promises.

    Args:
        kept: number of counterfactuals that are kept.
        fraction: share of them that was asked for.
        changed: number of counterfactuals that there are.

    Example:
        >>> spent_on_copies(0, 0.3, 100), spent_on_copies(30, 0.3, 100)
        (True, False)
    """
    return 2 * kept < count(fraction, changed)


def count(fraction: float, total: int) -> int:
    """A share of a total as a whole number: the nearest, halves up.

    The fraction is taken as the decimal number that it prints as, so that .145 of 100 is 14.5 and gives 15.

    Example:
        >>> count(0.145, 100), count(0.3, 10)
        (15, 3)
    """
    return int((Decimal(repr(float(fraction))) * total).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _check_fraction(name: str, fraction: Any) -> None:
    try:
        inside = 0.0 <= float(fraction) <= 1.0
    except (TypeError, ValueError):
        inside = False
    if not inside:
        raise ValueError(f"{name} must be in [0, 1]; got {fraction!r}. Half of the examples is 0.5, not 50.")


def _rule(ranking: str | Ranking, order: str | None) -> Ranking:
    """The ranking of that name with the order that was asked for."""
    rule = RANKINGS.get(ranking) if isinstance(ranking, str) else ranking
    if rule is None:
        raise ValueError(f"Unknown ranking {ranking!r}. Rankings: {', '.join(RANKINGS)}.")
    for given in (rule.order, order):
        if given is not None and given not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}; got {given!r}.")
    if order is None or order == rule.order:
        return rule
    if rule.fixed:
        raise ValueError(
            f"The ranking {rule.name!r} has no other order than its name says; got order={order!r}. Leave it out, or "
            "take 'ge', 'vanilla_ge' or 'healthy_random'."
        )
    return replace(rule, order=order)


def _scores(rule: Ranking, scores: Mapping[str, ArrayLike], n: int) -> dict[str, Floats]:
    """The scores that a ranking needs, checked."""
    found = {}
    for name in rule.scores:
        if name not in scores:
            raise ValueError(f"The ranking {rule.name!r} needs the score {name!r}; got {', '.join(scores) or 'none'}.")
        found[name] = as_values(scores[name], f"scores[{name!r}]")
        if len(found[name]) != n:
            raise ValueError(f"scores[{name!r}] needs one entry per example; got {len(found[name])} for {n} examples.")
    return found


def _first(rule: Ranking, scores: Mapping[str, Floats], kind: str, ranked: Bools, fraction: float, seed: int) -> Bools:
    """Which examples come first."""
    n, score = len(ranked), getattr(rule, kind)
    draws = generator(seed, "keep", kind, n).permutation(n)
    key = np.zeros(n) if score is None else scores[score] * (1.0 if rule.order == "ascending" else -1.0)
    places = np.lexsort((draws, key))
    places = places[ranked[places]]
    chosen = np.zeros(n, dtype=bool)
    chosen[places[: count(fraction, len(places))]] = True
    return chosen
