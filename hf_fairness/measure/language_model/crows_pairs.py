"""CrowS-Pairs of a language model: pairs of sentences to (pseudo-)log-likelihoods to scores."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness.measure.language_model.benchmark_items import check_source, say_known_defects
from hf_fairness.measure.language_model.token_scores import MaskedModel
from hf_fairness.measure.models import open_language_model
from hf_fairness.rows import read_columns
from hf_fairness.scores import crows_pairs as scores_of
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values

SENTENCES = ("sent_more", "sent_less")
KINDS = ("stereo_antistereo", "bias_type")
KNOWN_DEFECTS = (
    "CrowS-Pairs has known defects: pairs that state no stereotype, name no group or groups that do not compare, "
    "change more than the group, or are no good English (Blodgett et al. 2021). Look at the items (items=True) before "
    "you quote a score."
)
MASKED = "masked model: log-probabilities of the tokens that both sentences share, masked one at a time, summed"
CAUSAL = "causal model: log-likelihood of the whole sentence"


def read_crows_pairs(file: str | Path) -> dict[str, list[str]]:
    """Columns of the published CSV file.

    Args:
        file: ``crows_pairs_anonymized.csv``, or a file with its columns.

    Returns:
        ``sent_more``, ``sent_less``, ``stereo_antistereo``, ``bias_type`` and whatever else the file holds.

    Raises:
        ValueError: a missing column, or no rows.
    """
    with Path(file).open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle))
    others = [name for name in (rows[0] if rows else ()) if name and name not in (*SENTENCES, *KINDS)]
    return read_columns(rows, (*SENTENCES, *KINDS), str(file), others)


def shared_tokens(first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
    """Positions of the unmodified tokens of two sentences.

    The matching blocks of ``difflib.SequenceMatcher``, as published: nearly always, but not by definition, the
    longest common subsequence. They depend on the order of the two.

    Args:
        first: token ids of one sentence.
        second: token ids of the other.

    Returns:
        Positions in the first and in the second, of the same length.

    Example:
        >>> shared_tokens([7, 1, 2, 3], [8, 9, 1, 2, 3])
        ([1, 2, 3], [2, 3, 4])
    """
    blocks = SequenceMatcher(None, first, second).get_matching_blocks()
    return (
        [block.a + step for block in blocks for step in range(block.size)],
        [block.b + step for block in blocks for step in range(block.size)],
    )


def score_pairs(
    pairs: Any, model: Any, *, per_token: bool = False, start: str = "always", **model_options: Any
) -> Floats:
    """Scores of both sentences of every pair under a language model.

    Masked model: the pseudo-log-likelihood of the tokens that both sentences share (``shared_tokens``), special tokens
    left out, one masked at a time, summed, not divided by their number. Causal model: the log-likelihood of the whole
    sentence, which Nangia et al. do not define; summed by default, as for masked models.

    Args:
        pairs: rows with ``sent_more``, ``sent_less``, ``stereo_antistereo``: a Dataset, dicts or a mapping of columns.
        model: whatever ``open_language_model`` takes.
        per_token: divide a causal model's log-likelihood by the number of tokens, as Meade et al. 2022 do (with
            ``start="first"``).
        start: how a causal model scores the first token, see ``CausalModel``.
        **model_options: for ``open_language_model``: tokenizer, device, dtype, batch_tokens, show_progress.

    Returns:
        Of ``sent_more`` and ``sent_less``, shape (n, 2).

    Raises:
        TypeError: a model or rows of a wrong kind.
        ValueError: a missing column, a model without language-model head, a text that is too long, NaN.
    """
    columns = read_columns(pairs, (*SENTENCES, KINDS[0]), "rows")
    opened = open_language_model(model, **model_options)
    more, less = (columns[name] for name in SENTENCES)
    if not isinstance(opened, MaskedModel):
        found = opened.log_likelihoods([*more, *less], start=start)
        return _two_columns([values.mean() if per_token else values.sum() for values in found])
    if per_token or start != "always":
        raise ValueError(f"per_token and start are for causal models; {opened.name} is a masked one. Leave them out.")
    ids, inner = opened.tokens([*more, *less])
    positions: list[list[int]] = [[] for _ in ids]
    for i, direction in enumerate(columns[KINDS[0]]):
        # As published: the sentence about the disadvantaged group comes first, and blocks depend on the order.
        first, second = (i, i + len(more)) if direction == "stereo" else (i + len(more), i)
        for place, shared in zip((first, second), shared_tokens(ids[first], ids[second]), strict=True):
            positions[place] = sorted(set(shared) & set(inner[place]))
    found = opened.pseudo_log_likelihoods(ids, positions)
    return _two_columns([values.sum() for values in found])


def _two_columns(values: Sequence[float]) -> Floats:
    half = len(values) // 2
    return np.column_stack([values[:half], values[half:]]).astype(np.float64)


def crows_pairs(
    rows: Any,
    *,
    model: Any = None,
    scores: Any = None,
    items: bool = False,
    decimals: int | None = 3,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **model_options: Any,
) -> dict[str, Any]:
    """How often a language model prefers the more stereotyping of two sentences.

    Args:
        rows: ``sent_more``, ``sent_less``, ``stereo_antistereo`` ("stereo" or "antistereo"), ``bias_type``: a Dataset,
            dicts, a mapping of columns, or the path of the published CSV file. With ``scores`` the sentences may be
            left out.
        model: whatever ``open_language_model`` takes; masked and causal models are scored as ``score_pairs`` says.
        scores: instead of a model, scores of ``sent_more`` and ``sent_less``, shape (n, 2); the higher, the likelier.
        items: whether to return every pair with its scores.
        decimals: scores that are equal when rounded to so many decimals are a tie (published: 3); None compares them
            as they are.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.
        **model_options: for ``score_pairs``: tokenizer, device, dtype, batch_tokens, show_progress, per_token, start.

    Returns:
        What ``scores.crows_pairs.crows_pairs`` returns: ``stereotype_score`` (ideal .5), the shares per direction,
        ``tie_rate``, ``n``, ``bias_types``, ``meta``; with ``items`` also ``items``: per pair its columns,
        ``sent_more_score``, ``sent_less_score``, and ``preferred`` ("sent_more", "sent_less" or "tie").

    Raises:
        TypeError: a model or rows of a wrong kind, or both or neither of ``model`` and ``scores``.
        ValueError: no rows, a missing column, different lengths, NaN, a text that is too long.

    Source:
        Nangia et al. 2020 and the released code; Blodgett et al. 2021 on what is wrong with the pairs.

    Example:
        >>> rows = [{"stereo_antistereo": "stereo", "bias_type": "age"}] * 2
        >>> crows_pairs(rows, scores=[[-1.0, -2.0], [-3.0, -2.0]])["stereotype_score"]
        0.5
    """
    check_source("crows_pairs", model, scores, model_options)
    say_known_defects(KNOWN_DEFECTS)
    table = read_crows_pairs(rows) if isinstance(rows, (str, Path)) else rows
    wanted, optional = (KINDS, SENTENCES) if model is None else ((*SENTENCES, *KINDS), ())
    columns = read_columns(table, wanted, "rows", optional)
    meta = {"scoring": "ready scores", "model": None, "known_defects": KNOWN_DEFECTS}
    if model is not None:
        how = {key: model_options.pop(key) for key in ("per_token", "start") if key in model_options}
        opened = open_language_model(model, **model_options)
        scores = score_pairs(columns, opened, **how)
        meta |= {"model": opened.name, "scoring": MASKED if isinstance(opened, MaskedModel) else _causal(opened, **how)}
    found = as_values(scores, "scores", ndim=2)
    result = scores_of.crows_pairs(
        found, *(columns[kind] for kind in KINDS), decimals=decimals, n_bootstrap=n_bootstrap, seed=seed
    )
    result["meta"] |= meta
    if items:
        result["items"] = _items(columns, found, decimals)
    return result


def _causal(opened: Any, per_token: bool = False, start: str = "always") -> str:
    token = opened.tokenizer.convert_ids_to_tokens(opened.start) if opened.start is not None else None
    divided = "divided by its number of tokens" if per_token else "summed over its tokens"
    first = "the first token is left out" if token is None else f"start token {token!r}, start={start!r}"
    return f"{CAUSAL}, {divided}; {first}"


def _items(columns: dict[str, list[Any]], scores: Floats, decimals: int | None) -> list[dict[str, Any]]:
    """One dict per pair, of strings and floats."""
    names = ("tie", *SENTENCES)  # by preference 0, 1, -1
    preferred = [names[side] for side in scores_of.preferences(scores, decimals=decimals)]
    return [
        {
            **{name: str(values[i]) for name, values in columns.items()},
            **{f"{name}_score": float(scores[i, side]) for side, name in enumerate(SENTENCES)},
            "preferred": preferred[i],
        }
        for i in range(len(scores))
    ]
