"""Bias score of a model on texts: as a map function, as a measurement, and word by word."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hf_fairness.attributes import Attribute, NameTable
from hf_fairness.encoders import check_texts
from hf_fairness.maps import MapFunction, Row, Texts
from hf_fairness.measure.encoder.bias_direction import BiasDirection
from hf_fairness.measure.encoder.bias_scorer import Scored, Scorer, make_scorer
from hf_fairness.runs import content_key
from hf_fairness.scores.bias_score import WordBias, summarize_scores
from hf_fairness.scores.statistics import N_BOOTSTRAP

ABSOLUTE = "absolute"


def score_columns(column: str, groups: tuple[str, str]) -> tuple[str, str, str]:
    """Names of the columns that a score adds for a text column: negative and positive group, absolute."""
    first, second = groups
    return f"{column}_bias_{first}", f"{column}_bias_{second}", f"{column}_bias_{ABSOLUTE}"


class BiasScore(MapFunction):
    """Add the bias score of text columns: how much stereotype their words carry in a model.

    Args:
        columns: name or names of the text columns.
        model: whatever ``as_encoder`` takes. A path or Hub id pickles as such; several processes then load it each.
        direction: from ``bias_direction``, or the file it was saved to; None makes one of ``pairs``. The attribute
            ``direction`` is the one that was used.
        pairs: as in :func:`make_scorer`.
        attribute: name, file or object, with two groups.
        importance: "max" (published) or "mean"; None means the one that the model pools by.
        form: "raw" (published) or "neutral"; None means "neutral" for an encoder that reads context.
        names: given names on the exclusion list: True, False, a file or a list of more.
        on_missing: what to do about a row that lacks a text: ``"skip"`` scores it 0, ``"error"`` refuses it.
        **options: ``word_vectors``, ``use_cache`` as in :func:`make_scorer`; for ``as_encoder``: batch_size, ...

    Adds:
        ``<column>_bias_<group>`` for both groups: <= 0 for the first of the attribute, >= 0 for the second;
        ``<column>_bias_absolute``: >= 0. Ideal 0. An empty text scores 0.

    Raises:
        TypeError: a model that is no encoder; a text that is none (at the call).
        ValueError: as :func:`make_scorer`; a column that is missing or would be overwritten (at the call).

    Source:
        Dolci et al. 2023, equations 1 to 3.

    Example:
        >>> vectors = {"he": [-1, 0], "she": [1, 0], "is": [0, 1], "a": [0, 1], "nurse": [0.6, 0.8]}
        >>> from hf_fairness.measure.encoder.bias_direction import bias_direction
        >>> direction = bias_direction(vectors, [("he", "she")])
        >>> BiasScore("text", vectors, direction=direction)({"text": "He is a nurse"})["text_bias_absolute"] > 0.0
        True
    """

    def __init__(
        self,
        columns: str | Sequence[str],
        model: Any,
        *,
        direction: BiasDirection | str | Path | None = None,
        pairs: Sequence[Any] | str | None = None,
        attribute: str | Path | Attribute = "gender",
        importance: str | None = None,
        form: str | None = None,
        names: bool | str | Path | NameTable | Iterable[str] = True,
        on_missing: str = "skip",
        **options: Any,
    ) -> None:
        super().__init__(columns, on_missing=on_missing)
        if not isinstance(names, (bool, str, Path, NameTable)):
            names = tuple(names)
        scorer = make_scorer(
            model,
            direction=direction,
            pairs=pairs,
            attribute=attribute,
            importance=importance,
            form=form,
            names=names,
            **options,
        )
        self.model, self.options = model, options
        self.direction, self.attribute = scorer.direction, scorer.attribute
        self.importance, self.form, self.names = scorer.importance, scorer.form, names
        #: Content of the files that are named, so that a model trained anew in its folder is another one.
        self.files = [
            content_key(Path(value))
            for value in (model, options.get("word_vectors"), names)
            if isinstance(value, (str, Path)) and Path(value).exists()
        ]
        self._scorer: Scorer | None = scorer

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scorer": None}

    @property
    def scorer(self) -> Scorer:
        """The model, opened once per process."""
        if self._scorer is None:
            self._scorer = make_scorer(
                self.model,
                direction=self.direction,
                attribute=self.attribute,
                importance=self.importance,
                form=self.form,
                names=self.names,
                **self.options,
            )
        return self._scorer

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {key: "float64" for column in self.columns for key in score_columns(column, self.direction.groups)}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows; each distinct text is encoded once."""
        texts = list(dict.fromkeys(text for row in rows for text in row))
        found: dict[str, WordBias] = {texts[place]: scored.bias for place, scored in self.scorer.score(texts)}
        results: list[Row] = []
        for row in rows:
            result: Row = {}
            for column, text in zip(self.columns, row, strict=True):
                bias = found[text]
                result |= zip(
                    score_columns(column, self.direction.groups),
                    (bias.negative, bias.positive, bias.absolute),
                    strict=True,
                )
            results.append(result)
        return results


def _table(scored: Scored, groups: tuple[str, str]) -> dict[str, Any]:
    bias = scored.bias
    rows = [
        {
            "word": word,
            "importance": float(scored.importance[i]),
            "bias": float(bias.bias[i]),
            "weighted": float(bias.weighted[i]),
            "excluded": bool(scored.excluded[i]),
            "known": bool(scored.known[i]),
        }
        for i, word in enumerate(scored.words)
    ]
    sums = {groups[0]: bias.negative, groups[1]: bias.positive, ABSOLUTE: bias.absolute}
    return {"text": scored.text, "rows": rows, **sums}


def bias_score(
    texts: Iterable[str],
    model: Any,
    *,
    words: bool = False,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **options: Any,
) -> dict[str, Any]:
    """Bias score of texts under a model, with means and intervals.

    Args:
        texts: at least one text.
        model: whatever ``as_encoder`` takes.
        words: whether to return the table of words of every text as well.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of what is drawn.
        **options: for :func:`make_scorer`: direction, pairs, attribute, importance, form, names, word_vectors,
            use_cache, batch_size, device, ...

    Returns:
        per group and for ``absolute`` one number per text, ``<key>_mean`` and ``<key>_mean_ci95``; the first
        group's is <= 0, the second's >= 0; ideal 0. ``n`` texts; ``n_words``, ``n_excluded`` on the list and
        ``n_unknown`` without a vector; ``words`` if asked for; ``meta``.

    Raises:
        TypeError: a model that is no encoder, a text that is none.
        ValueError: no texts, or as :func:`make_scorer`.

    Source:
        Dolci et al. 2023, equations 1 to 3.

    Example:
        >>> vectors = {"he": [-1, 0], "she": [1, 0], "a": [0, 1], "nurse": [3, 4], "boxer": [-3, 4]}
        >>> from hf_fairness.measure.encoder.bias_direction import bias_direction
        >>> direction = bias_direction(vectors, [("he", "she")])
        >>> result = bias_score(["a nurse", "a boxer"], vectors, direction=direction)
        >>> [round(value, 3) for value in result["female"]], [round(value, 3) for value in result["male"]]
        ([0.514, 0.0], [0.0, -0.514])
    """
    items = check_texts(list(texts) if not isinstance(texts, str) else texts)
    scorer = make_scorer(model, **options)
    unique = list(dict.fromkeys(items))
    tables: dict[str, Any] = {}
    sums: dict[str, WordBias] = {}
    counts = np.zeros((len(unique), 3), dtype=np.int64)
    for place, scored in scorer.score(unique):
        sums[unique[place]] = scored.bias
        counts[place] = len(scored.words), scored.excluded.sum(), (~scored.known).sum()
        if words:
            tables[unique[place]] = _table(scored, scorer.direction.groups)
    result = summarize_scores(
        [sums[text].positive for text in items],
        [sums[text].negative for text in items],
        groups=scorer.direction.groups,
        n_bootstrap=n_bootstrap,
        seed=seed,
        **scorer.described(),
    )
    row = {text: place for place, text in enumerate(unique)}
    total = counts[[row[text] for text in items]].sum(axis=0).tolist()
    result |= dict(zip(("n_words", "n_excluded", "n_unknown"), total, strict=True))
    if words:
        result["words"] = [tables[text] for text in items]
    return result


def word_table(text: str, model: Any, **options: Any) -> dict[str, Any]:
    """What each word of a text adds to its bias score (tables 2 and 12 of the paper).

    Args:
        text: one text.
        model: whatever ``as_encoder`` takes.
        **options: as in :func:`bias_score`.

    Returns:
        ``text`` as it was scored; ``rows``: per word ``word``, ``importance``, ``bias``, ``weighted``,
        ``excluded`` (on the exclusion list) and ``known`` (False: no vector, or past the model's length); the sums
        per group and ``absolute``; ``meta``.
    """
    result = bias_score([text], model, words=True, n_bootstrap=1, **options)
    return {**result["words"][0], "meta": result["meta"]}


def most_biased(
    texts: Iterable[str], scores: Mapping[str, Any], k: int = 10, *, groups: Sequence[str] | None = None
) -> dict[str, list[tuple[str, float]]]:
    """Texts with the highest scores towards each group (tables 3, B1 and B2 of the paper).

    Args:
        texts: the texts.
        scores: per group one score per text: what :func:`bias_score` returned, or columns that
            :class:`BiasScore` added, such as ``{"female": dataset["text_bias_female"]}``.
        k: texts per group.
        groups: keys of ``scores``; None means the groups that ``scores["meta"]`` names, else all its keys.

    Returns:
        group: ``(text, score)``, furthest from 0 first; each distinct text once, those with score 0 left out.

    Raises:
        ValueError: ``k`` below 1, no such group, not one score per text.

    Example:
        >>> most_biased(["a", "b", "c"], {"male": [-0.1, -0.3, 0.0]}, k=2)
        {'male': [('b', -0.3), ('a', -0.1)]}
    """
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    asked = list(groups if groups is not None else scores.get("meta", {}).get("groups", scores))
    missing = [group for group in asked if group not in scores]
    if missing or not asked:
        raise ValueError(f"There are no scores for {', '.join(missing) or 'any group'}; got {', '.join(scores)}.")
    items = check_texts(list(texts))
    found: dict[str, list[tuple[str, float]]] = {}
    for group in asked:
        values = [float(value) for value in scores[group]]
        if len(values) != len(items):
            raise ValueError(f"Expected one score per text: {len(items)} texts, {len(values)} scores of {group!r}.")
        pairs = {text: value for text, value in zip(items, values, strict=True) if value != 0.0}
        found[group] = heapq.nsmallest(k, pairs.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
    return found
