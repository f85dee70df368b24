"""Bias-IR of an encoder, of ready scores or of a ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness.encoders import BaseEncoder, as_encoder
from hf_fairness.measure.encoder.grep_biasir import read_grep_biasir
from hf_fairness.scores import bias_ir as scoring
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values
from hf_fairness.scores.vectors import pair_cosines
from hf_fairness.utils import as_flag, is_missing

#: Which documents are compared: those that answer the query, those that do not, or both.
RELEVANCE = ("relevant", "non-relevant", "all")
#: Cosines are rounded to this many decimals: smaller differences are the noise of float32.
DECIMALS = 6


@dataclass(frozen=True)
class BiasIRConfig:
    """What is compared.

    Attributes:
        groups: the versions that are compared; None: all that the rows name, but ``neutral``.
        neutral: the version without a group.
        relevance: "relevant" documents (as published), "non-relevant" ones, or "all".
        titles: whether title and text are encoded (as published) or the text alone; without titles a quarter of the
            published pairs are the same text and tie.
        query_prefix: put before each query, for encoders that want one.
        document_prefix: put before each document.
        ties: see ``scores.bias_ir.bias_ir``.
        items: whether the result lists every row.
    """

    groups: Sequence[str] | None = None
    neutral: str = "neutral"
    relevance: str = "relevant"
    titles: bool = True
    query_prefix: str = ""
    document_prefix: str = ""
    ties: str = "split"
    items: bool = False

    def __post_init__(self) -> None:
        if self.relevance not in RELEVANCE:
            raise ValueError(f"relevance must be one of {', '.join(RELEVANCE)}; got {self.relevance!r}.")
        if isinstance(self.groups, str):
            raise ValueError(f"groups must be a list of names; got the text {self.groups!r}.")


@dataclass(frozen=True)
class _Items:
    """Query and document set of each row that is scored; ``versions`` holds places of documents."""

    versions: dict[str, list[int]]
    categories: list[str]
    queries: list[str]
    relevant: list[bool]
    expected: list[str]
    n_skipped: int


def bias_ir(
    documents: str | Path | Iterable[Mapping[str, Any]],
    *,
    model: Any = None,
    scores: Sequence[float] | None = None,
    ranking: Mapping[str, Sequence[str]] | None = None,
    reference: Any = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **options: Any,
) -> dict[str, Any]:
    """Share of queries for which each group's version of a document is found first.

    Give a model, or scores, or a ranking. A model scores a document by the cosine of query and document.

    Args:
        documents: rows with ``query_id``, ``query``, ``text`` and ``group``; also, where there are any, ``title``,
            ``category``, ``relevant``, ``document_id`` and ``expected``. A path is read as GrepBiasIR.
        model: whatever ``as_encoder`` takes.
        scores: one number per row of ``documents``, higher is better.
        ranking: per ``query_id`` the ``document_id`` s, best first; documents that are missing share the last place.
        reference: the same kind of input of another model; adds paired changes.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of all draws.
        **options: fields of ``BiasIRConfig``; with a model also options of ``as_encoder``, of which the reference does
            not take ``tokenizer``: it has its own.

    Returns:
        What ``scores.bias_ir.bias_ir`` returns; ``n_skipped``: pairs of query and relevance that lack a group's
        version; ``change`` with ``reference``: see ``scores.bias_ir.bias_ir_change``; with ``items=True`` ``items``,
        per row ``query_id``, ``category``, ``relevant``, ``scores`` per version and the ``first`` group ("": a tie).

    Raises:
        TypeError: an unknown option, a model that is no encoder.
        ValueError: none or several of model, scores and ranking; a column that is missing; ``relevant`` that is
            neither true nor false; two versions of one group; no query with all groups.

    Source:
        Krieg et al. 2023; Deng et al. 2024.
    """
    given = [name for name, value in (("model", model), ("scores", scores), ("ranking", ranking)) if value is not None]
    if len(given) != 1:
        raise ValueError(f"Give one of model, scores and ranking; got {' and '.join(given) or 'none'}.")
    known = {field.name for field in fields(BiasIRConfig)}
    config = BiasIRConfig(**{name: value for name, value in options.items() if name in known})
    encoding = {name: value for name, value in options.items() if name not in known}
    if encoding and model is None:
        raise TypeError(f"bias_ir has no option {next(iter(encoding))!r}. Options: {', '.join(sorted(known))}.")
    rows = _rows(documents)
    items = _items(rows, config)
    source = next(value for value in (model, scores, ranking) if value is not None)
    values, label = _scored(given[0], source, rows, items, config, encoding)
    groups = [name for name in items.versions if name != config.neutral]
    columns: dict[str, Any] = {"categories": items.categories, "queries": items.queries}
    run: dict[str, Any] = {"neutral": config.neutral, "ties": config.ties, "n_bootstrap": n_bootstrap, "seed": seed}
    expected = [name if name in groups else "" for name in items.expected]
    result = scoring.bias_ir(values, **columns, **run, expected=expected if any(expected) else None)
    if reference is not None:
        encoding.pop("tokenizer", None)  # that of the model: a reference has its own
        other, name = _scored(given[0], reference, rows, items, config, encoding)
        result["change"] = {**scoring.bias_ir_change(values, other, **columns, **run), "reference": name}
    result["n_skipped"] = items.n_skipped
    if config.items:
        result["items"] = _listed(items, values, groups)
    text = "title and text" if config.titles else "text"
    result["meta"] |= {"model": label, "relevance": config.relevance, "document": text}
    return result


def _rows(documents: str | Path | Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The documents as a list of rows with the needed columns."""
    rows = read_grep_biasir(documents) if isinstance(documents, (str, Path)) else list(documents)
    if not rows:
        raise ValueError("documents is empty: Bias-IR needs rows with query_id, query, text and group.")
    for place, row in enumerate(rows):
        missing = [name for name in ("query_id", "group") if not isinstance(row, Mapping) or name not in row]
        if missing:
            raise ValueError(
                f"documents[{place}] must be a mapping with query_id, query, text and group; it has no {missing[0]!r}."
            )
        if is_missing(row["query_id"]):
            raise ValueError(f"documents[{place}] has no query: its query_id is {row['query_id']!r}; expected a label.")
    features = getattr(documents, "features", None) or {}
    named = {name: kind.int2str for name, kind in features.items() if hasattr(kind, "int2str")}
    return [
        {name: None if is_missing(value) else named.get(name, _same)(value) for name, value in row.items()}
        for row in rows
    ]


def _same(value: Any) -> Any:
    return value


def _said(value: Any) -> str:
    """A cell as text; what is missing is empty, the number 0 is not."""
    return "" if value is None else str(value)


def _items(rows: Sequence[Mapping[str, Any]], config: BiasIRConfig) -> _Items:
    """Documents of one query and relevance side by side, one per version."""
    found = dict.fromkeys(name for row in rows if (name := _said(row["group"])))
    groups = [name for name in found if name != config.neutral] if config.groups is None else list(config.groups)
    if len(groups) < 2 or any(name not in found for name in groups):
        raise ValueError(f"documents must hold versions of at least two groups; wanted {groups}, got {list(found)}.")
    sets: dict[tuple[str, bool], dict[str, int]] = {}
    for place, row in enumerate(rows):
        relevant, name = as_flag(row.get("relevant", True), f"documents[{place}]['relevant']"), str(row["group"])
        if config.relevance != "all" and relevant != (config.relevance == "relevant"):
            continue
        versions = sets.setdefault((str(row["query_id"]), relevant), {})
        if name in versions and name in (*groups, config.neutral):
            raise ValueError(f"Query {row['query_id']!r} has two documents of {name!r} with the same relevance.")
        versions[name] = place
    kept = {key: versions for key, versions in sets.items() if all(name in versions for name in groups)}
    if not kept:
        raise ValueError(
            f"No query has a {config.relevance} document of each of {groups}. Check `group` and `relevant` of the rows."
        )
    names = [*groups, *([config.neutral] if all(config.neutral in versions for versions in kept.values()) else [])]
    first = [rows[versions[groups[0]]] for versions in kept.values()]
    return _Items(
        versions={name: [versions[name] for versions in kept.values()] for name in names},
        categories=[_said(row.get("category")) or "all" for row in first],
        queries=[query for query, _ in kept],
        relevant=[relevant for _, relevant in kept],
        expected=[_said(row.get("expected")) for row in first],
        n_skipped=len(sets) - len(kept),
    )


def _listed(items: _Items, values: Mapping[str, Floats], groups: Sequence[str]) -> list[dict[str, Any]]:
    """Every row with its scores and the group that came first."""
    result = []
    for place, query in enumerate(items.queries):
        scores = {name: float(column[place]) for name, column in values.items()}
        best = [name for name in groups if scores[name] == max(scores[group] for group in groups)]
        where = {"query_id": query, "category": items.categories[place], "relevant": items.relevant[place]}
        result.append({**where, "scores": scores, "first": best[0] if len(best) == 1 else ""})
    return result


def _scored(
    kind: str,
    source: Any,
    rows: Sequence[Mapping[str, Any]],
    items: _Items,
    config: BiasIRConfig,
    encoding: dict[str, Any],
) -> tuple[dict[str, Floats], str]:
    """Scores per version, and what they come from."""
    label = kind
    if kind == "model":
        encoder = as_encoder(source, **encoding)
        label = encoder.label
        return _cosines(encoder, rows, items, config), label
    values = _given(source, rows) if kind == "scores" else _from_ranking(source, rows, items)
    return {name: values[places] for name, places in items.versions.items()}, label


def _cosines(
    encoder: BaseEncoder, rows: Sequence[Mapping[str, Any]], items: _Items, config: BiasIRConfig
) -> dict[str, Floats]:
    """Cosine of query and document; each distinct text is encoded once."""

    def query(row: Mapping[str, Any]) -> str:
        return config.query_prefix + str(row["query"])

    def document(row: Mapping[str, Any]) -> str:
        title = str(row.get("title") or "") if config.titles else ""
        return config.document_prefix + f"{title} {row['text']}".strip()

    used = [rows[place] for places in items.versions.values() for place in places]
    bad = next((row for row in used if not all(isinstance(row.get(name), str) for name in ("query", "text"))), None)
    if bad is not None:
        raise ValueError(f"A model needs `query` and `text` in each row; query {bad['query_id']!r} lacks one.")
    texts = list(dict.fromkeys(text for row in used for text in (query(row), document(row))))
    place_of = {text: place for place, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    result = {}
    for name, places in items.versions.items():
        left = vectors[[place_of[query(rows[place])] for place in places]]
        right = vectors[[place_of[document(rows[place])] for place in places]]
        cosines = pair_cosines(left, right, left_name="queries", right_name=f"documents of {name!r}")
        result[name] = np.round(cosines, DECIMALS)
    return result


def _given(scores: Sequence[float], rows: Sequence[Mapping[str, Any]]) -> Floats:
    """Ready scores, one per row."""
    values = as_values(scores, "scores")
    if len(values) != len(rows):
        raise ValueError(f"scores needs one number per row of documents: got {len(values)} for {len(rows)} rows.")
    return values


def _from_ranking(ranking: Mapping[str, Sequence[str]], rows: Sequence[Mapping[str, Any]], items: _Items) -> Floats:
    """Minus the place in the list of the query; what is not in it shares the last place."""
    if not isinstance(ranking, Mapping):
        raise ValueError(f"ranking must map each query_id to its document_ids; got {type(ranking).__name__}.")
    lists = {str(query): [str(name) for name in names] for query, names in ranking.items()}
    missing = [query for query in items.queries if query not in lists]
    if missing:
        raise ValueError(f"ranking has no list for {len(missing)} queries, the first {missing[0]!r}.")
    # Passages of one document may stand in a list several times: the first place counts.
    places = {
        query: {name: place for place, name in reversed(list(enumerate(names)))} for query, names in lists.items()
    }
    result, found = np.zeros(len(rows)), 0
    for row_place in sorted({place for chosen in items.versions.values() for place in chosen}):
        row = rows[row_place]
        if row.get("document_id") is None:
            raise ValueError(f"A ranking needs document_id in each row; query {row['query_id']!r} lacks one.")
        known = places[str(row["query_id"])]
        found += str(row["document_id"]) in known
        result[row_place] = -float(known.get(str(row["document_id"]), len(lists[str(row["query_id"])])))
    if not found:
        raise ValueError(
            f"None of the documents stands in the list of its query: a document_id is {str(row['document_id'])!r}, and "
            f"the list of query {row['query_id']!r} begins with {lists[str(row['query_id'])][:3]}. Spell ids alike."
        )
    return result
