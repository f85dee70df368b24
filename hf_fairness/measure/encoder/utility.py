"""Retained utility of an encoder: STS, and similarity structure against the original encoder."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hf_fairness.encoders import BaseEncoder, as_encoder, as_reference, check_texts
from hf_fairness.rows import read_columns
from hf_fairness.scores import structure
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values

#: Number of pairs of the built-in list.
N_PAIRS = 4000

Pairs = Sequence[tuple[str, str]]


@cache
def unrelated_pairs() -> tuple[tuple[str, str], ...]:
    """The fixed list of 4,000 pairs of unrelated English sentences behind ``similarity_structure``.

    Sentences without gendered terms that no training of this package uses
    (``hf_fairness.demo.plain_sentences``) are put in an order that depends on their text only, and neighbours
    are paired; then again in another order, until there are 4,000 pairs. The two sentences of a pair come
    from different frames, and no pair occurs twice.

    Returns:
        4,000 pairs, the same on every machine.

    Raises:
        ValueError: there are too few sentences (a defect of the installation).

    Source:
        Written for this project.
    """
    from hf_fairness.demo import plain_sentences

    frame_of = dict(plain_sentences(with_frame=True))
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for round_number in range(50):
        order = sorted(frame_of, key=lambda text: hashlib.blake2b(f"{round_number}\n{text}".encode()).digest())
        for left, right in zip(order[::2], order[1::2], strict=False):
            if frame_of[left] != frame_of[right]:
                pairs.setdefault(frozenset((left, right)), (left, right))
            if len(pairs) == N_PAIRS:
                return tuple(pairs.values())
    raise ValueError(
        f"Got {len(pairs)} pairs of {len(frame_of)} plain sentences, expected {N_PAIRS}; reinstall hf-fairness."
    )


def _embed_pairs(encoder: BaseEncoder, left: Sequence[str], right: Sequence[str]) -> tuple[Any, Any]:
    """Embeddings of both sides; each distinct text is encoded once."""
    texts = list(dict.fromkeys([*left, *right]))
    vectors, row = encoder.encode(texts), {text: place for place, text in enumerate(texts)}
    return vectors[[row[text] for text in left]], vectors[[row[text] for text in right]]


def similarity_structure(
    original: Any,
    mitigated: Any,
    pairs: Pairs | None = None,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """How much of its geometry an encoder kept: correlation of similarities of unrelated sentences.

    Spearman correlation between the cosine similarities of one fixed list of pairs under both encoders. STS
    may stay the same while this falls, because STS looks at similar sentences only. The built-in pairs hold no
    gendered term: moving only the embeddings of sentences that do, as a mitigation should, costs nothing here.

    Args:
        original: the encoder before; whatever ``as_encoder`` takes.
        mitigated: the encoder after.
        pairs: pairs of texts; None means the built-in list of 4,000 English pairs, of sentences without
            gendered terms that no training of this package uses.
        n_bootstrap: resamples of pairs behind the interval; 0: no interval.
        seed: of the resamples.
        **encoder_options: for ``as_encoder``, for both.

    Returns:
        ``similarity_structure`` in [-1, 1], ideal 1, lower is worse; ``similarity_structure_ci95``; ``n``;
        ``meta`` with a digest of the list.

    Raises:
        TypeError: a model that is no encoder, pairs that are no pairs of texts.
        ValueError: fewer than three pairs, or an encoder that maps all texts to one point.
    """
    given = list(unrelated_pairs() if pairs is None else pairs)
    bad = next((i for i, pair in enumerate(given) if isinstance(pair, str) or len(pair) != 2), None)
    if bad is not None:
        raise TypeError(f"pairs[{bad}] must be two texts; got {given[bad]!r}.")
    left = check_texts([pair[0] for pair in given], "left texts of pairs")
    right = check_texts([pair[1] for pair in given], "right texts of pairs")
    encoders = [as_encoder(model, **encoder_options) for model in (original, mitigated)]
    (a, b), (c, d) = (_embed_pairs(encoder, left, right) for encoder in encoders)
    result = structure.similarity_structure(a, b, c, d, n_bootstrap=n_bootstrap, seed=seed)
    result["meta"] |= {
        "pairs": "built-in" if pairs is None else "given",
        "pairs_digest": hashlib.blake2b("\n".join([*left, *right]).encode(), digest_size=8).hexdigest(),
        "original": encoders[0].label,
        "mitigated": encoders[1].label,
    }
    return result


def read_scored_pairs(pairs: Any) -> tuple[list[str], list[str], Floats]:
    """First texts, second texts and gold scores.

    Args:
        pairs: a Dataset, DataFrame or mapping with columns ``sentence1``, ``sentence2`` and ``score`` (or
            ``label``), a CSV or TSV file with these columns, or a list of (text, text, score).

    Returns:
        Two lists of texts, and scores of shape (n,).

    Raises:
        TypeError: none of these.
        ValueError: a missing column, different lengths, scores that are no numbers.
    """
    if isinstance(pairs, (str, Path)):
        pairs = _read_table(Path(pairs))
    if isinstance(pairs, Sequence) and not isinstance(pairs, str) and all(_is_triple(row) for row in pairs):
        first, second, gold = ([row[place] for row in pairs] for place in range(3))
    else:
        found = read_columns(pairs, ("sentence1", "sentence2"), "pairs", ("score", "label"), as_names=False)
        if not {"score", "label"} & set(found):
            raise ValueError("pairs needs columns sentence1, sentence2 and score; missing: score.")
        first, second = found["sentence1"], found["sentence2"]
        gold = found["score"] if "score" in found else found["label"]
    left, right = check_texts(first, "sentence1"), check_texts(second, "sentence2")
    values = as_values(gold, "score")
    if not len(left) == len(right) == len(values):
        raise ValueError(f"sentence1, sentence2 and score differ in length: {len(left)}, {len(right)}, {len(values)}.")
    return left, right, values


def _is_triple(row: Any) -> bool:
    return isinstance(row, Sequence) and not isinstance(row, str) and len(row) == 3


def _read_table(file: Path) -> dict[str, list[Any]]:
    """Columns of a file with one pair a line."""
    wanted = (
        "Give a .csv or .tsv file with columns sentence1, sentence2 and score, a Dataset, or a list of (text, text, "
        "score)."
    )
    if file.suffix.lower() not in (".csv", ".tsv"):
        raise TypeError(f"pairs: {str(file)[:80]!r} is no CSV or TSV file. {wanted}")
    if not file.is_file():
        raise ValueError(f"pairs: there is no file {file}. {wanted}")
    # Quotation marks in tab-separated files are text: that is how GLUE and most corpora write them.
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if file.suffix.lower() == ".tsv" else {}
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines, **options))
    names = [name for name in (rows[0] if rows else ()) if name]
    found: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in names}
    for name in {"score", "label"} & found.keys():
        try:
            found[name] = [float(value) for value in found[name]]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{file}: column {name!r} must hold numbers; {error}.") from error
    return found


def sts(
    model: Any,
    pairs: Any,
    *,
    reference: Any = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **encoder_options: Any,
) -> dict[str, Any]:
    """Semantic textual similarity: Spearman correlation of cosine similarity with human scores.

    Args:
        model: whatever ``as_encoder`` takes.
        pairs: columns ``sentence1``, ``sentence2``, ``score``, or a file with them; see ``read_scored_pairs``.
        reference: another model, for instance the one before mitigation; adds the paired change.
        n_bootstrap: resamples of pairs behind the interval; 0: no interval.
        seed: of the resamples.
        **encoder_options: for ``as_encoder``; ``tokenizer`` is that of ``model``, the reference has its own.

    Returns:
        ``sts_spearman`` in [-1, 1], ideal 1, lower is worse; ``sts_spearman_ci95``; with ``reference`` also
        ``sts_spearman_change`` and its ``_ci95``; ``n``; ``meta``.

    Raises:
        TypeError: a model that is no encoder, or pairs of another shape.
        ValueError: a missing column, fewer than three pairs, equal scores.
    """
    left, right, gold = read_scored_pairs(pairs)
    encoder = as_encoder(model, **encoder_options)
    other = None if reference is None else _embed_pairs(as_reference(reference, **encoder_options), left, right)
    vectors = _embed_pairs(encoder, left, right)
    result = structure.sts(*vectors, gold, reference=other, n_bootstrap=n_bootstrap, seed=seed)
    result["meta"]["model"] = encoder.label
    return result
