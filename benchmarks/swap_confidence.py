"""The risks behind the confidence of a swap: fitted, and judged by cross-validation.

    python -m benchmarks.swap_confidence        prints the risks, the calibration of each set, the reliability table

Rows: two sets that one annotator judged with sight of our output (584 sentences at random, 357 hard ones), the open
half of the exam, and nasty sentences of the tests. The chance that a swap is right is exp(-sum of risks) times the
certainties of its ambiguous pronouns. Risks are not negative, so that more of them never give more confidence; each is
found by maximum likelihood, with a prior as if of ten such terms one had been wrong. Two things keep it honest:

- A sentence that was wrong when it was drawn and is right by now counts as half wrong: its kind was mended with sight
  of it, and nobody knows how many others of its kind were.
- Nasty sentences are wrong more often than text at random; a risk of their own takes this up and is left out later.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from benchmarks import swap_exam
from benchmarks.calibration import calibration
from benchmarks.exams.texts import FOLDER, Question, judged, nasty
from hf_fairness.attributes import load_attribute
from hf_fairness.augment.confidence import RISKS, risks
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.rewrite import swap_targets

#: The prior of a risk: as many terms, of which one is wrong.
PRIOR = 10.0
FOLDS = 10


class Row(NamedTuple):
    """A judged sentence: its set, source and risks, the certainty of its pronouns, and how wrong it counts as."""

    of: str
    source: str
    risks: Counter[str]
    certainty: float
    wrong: float


def row_of(name: str, question: Question, *, before: bool = False) -> Row:
    """Swap and judge a sentence; `before` says that it was wrong when it was drawn."""
    gender = load_attribute("gender")
    engine = engine_for(gender)
    found = engine.find(question.text)
    new, edits = engine.render(question.text, found, swap_targets(gender))
    spans = {edit.start: edit.end for edit in edits}
    changed = [hit for hit in found[0] if hit.start in spans]
    counts = risks(question.text, changed, list(spans.items()), gender)
    certainty = math.prod(hit.certainty for hit in changed)
    wrong = 1.0 if new not in question.accepted else 0.5 if before else 0.0
    return Row(name, question.source, counts, certainty, wrong)


def load() -> list[Row]:
    """Every judged sentence."""
    rows = []
    for name in ("swap_judged", "swap_hard"):
        before = set(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["wrong_when_drawn"])
        rows += [row_of(name, each, before=i in before) for i, each in enumerate(judged(name))]
    rows += [row_of("open half", each) for each in swap_exam.questions("open")]
    return rows + [row_of("nasty", each) for each in nasty()]


def fit(counts: np.ndarray, doubts: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """The risks of the greatest posterior probability.

    Args:
        counts: shape (n, k): how often each risk occurs.
        doubts: shape (n,): minus the logarithm of the certainty of the pronouns.
        wrong: shape (n,), in [0, 1].

    Returns:
        Shape (k,), above 0.
    """

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        log_right = np.minimum(-(counts @ weights + doubts), -1e-9)
        right = np.exp(log_right)
        value = -((1 - wrong) * log_right + wrong * np.log1p(-right)).sum()
        slope = counts.T @ ((1 - wrong) - wrong * right / (1 - right))
        return value + PRIOR * weights.sum() - np.log(weights).sum(), slope + PRIOR - 1 / weights

    start = np.full(counts.shape[1], 0.02)
    return minimize(loss, start, jac=True, bounds=[(1e-5, None)] * len(start), method="L-BFGS-B").x


def main() -> None:
    """Print the risks, and what cross-validation says of them."""
    rows = load()
    counts = np.array([[row.risks[name] for name in RISKS] for row in rows], dtype=float)
    table = np.hstack([counts, [[row.of == "nasty"] for row in rows]])
    doubts = np.array([-math.log(max(row.certainty, 1e-6)) for row in rows])
    wrong = np.array([row.wrong for row in rows])
    for name, value, n in zip(RISKS, fit(table, doubts, wrong), counts.sum(axis=0), strict=False):
        print(f'    "{name}": {value:.4f},  # n = {n:.0f}')
    folds, confidence = np.random.default_rng(0).integers(0, FOLDS, len(rows)), np.zeros(len(rows))
    for fold in range(FOLDS):
        out = folds == fold
        weights = fit(table[~out], doubts[~out], wrong[~out])[:-1]
        confidence[out] = np.exp(-(counts[out] @ weights + doubts[out]))
    right = (wrong < 1).astype(float)
    natural = ["swap_judged", "open half"]
    sets = {name: np.array([row.of == name for row in rows]) for name in (*natural, "swap_hard", "nasty")}
    sets["at random: swap_judged, open half"] = sets["swap_judged"] | sets["open half"]
    every = sets["at random: swap_judged, open half"]
    for source in sorted({row.source for row in rows if row.of in natural}):
        sets[f"  {source}"] = every & np.array([row.source == source for row in rows])
    print("\ncross-validated")
    for name, chosen in sets.items():
        found = calibration(confidence[chosen], right[chosen])
        print(f"{name}: ECE {found['ece']:.3f} {_ends(found['ece_ci95'])}, AUC for wrong swaps", end=" ")
        print(f"{found['auc_wrong'] or math.nan:.3f} {_ends(found['auc_wrong_ci95'])}, {found['n_wrong']} of", end=" ")
        print(f"{found['n']} wrong, mean confidence {found['mean_confidence']:.3f}")
    for line in calibration(confidence[every], right[every])["reliability"]:
        print(f"  n = {line['n']}: confidence {line['confidence']:.3f}, right {line['right']:.3f}", end=" ")
        print(_ends(line["right_ci95"]))


def _ends(ends: list[float] | None) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else "[no interval]"


if __name__ == "__main__":
    main()
