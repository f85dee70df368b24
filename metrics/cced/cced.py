"""CCED: content-conditional equal distance, as an `evaluate` measurement."""

from typing import Any

import hf_fairness.measure
import hf_fairness.modules
import hf_fairness.scores.cced as cced_scores

_DESCRIPTION = """\
CCED asks whether the male, the female (and any other) version of a text lie equally far from its neutral
version: the mean over texts and pairs of groups of the absolute difference of these distances. The ideal
is 0. An encoder that collapses scores well, so read `cced_relative` and `mean_distance` beside it.
"""

_KWARGS_DESCRIPTION = """
Args:
    model: Hub id, local folder, SentenceTransformer, transformers model (with `tokenizer=...`), word vectors
        (mapping of words to vectors), or an object with `encode(texts)`. Goes with `variants`.
    variants: output of `hf_fairness.augment.GroupVariants`, or a mapping of group names and "neutral" to
        lists of texts, row i being the same text. Rows without attribute terms, or with a `rejected_reason`, are
        left out and counted.
    embeddings: instead of both, a mapping of group names and "neutral" to arrays of shape (n, d).
    groups: the group columns of `variants`; None means those that GroupVariants recorded, or else those of the
        attribute whose groups all have a column. Every other column is ignored.
    clusters: with `embeddings`, a label per row for rows that resemble each other;
        rows of one label count together in the intervals.
    neutral: key of the neutral texts (default "neutral").
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).
    **encoder options: batch_size, device, pooling, normalize, max_length, tokenizer, show_progress.

Returns:
    cced, cced_signed, cced_relative: ideal 0; mean_distance; each with _ci95.
    n: texts used; n_skipped: texts left out (0 for embeddings).
    pairs: the same numbers per pair of groups; distance: mean distance to neutral per group.
    meta: convention, ideal, direction, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> cced = evaluate.load(hf_fairness.metric_path("cced"))
    >>> embeddings = {"male": [[2.0, 0.0], [1.0, 0.0]], "female": [[0.0, 1.0], [0.0, 1.0]]}
    >>> result = cced.compute(embeddings=embeddings | {"neutral": [[0.0, 0.0], [0.0, 0.0]]})
    >>> result["cced"], result["mean_distance"], result["cced_relative"]
    (0.5, 1.25, 0.4)
"""

_CITATION = """\
@article{deng2024llm,
  title = {LLM-Assisted Content Conditional Debiasing for Fair Text Embedding},
  author = {Deng, Wenlong and Chen, Blair and Zhao, Beidi and Zhang, Chiyu and Li, Xiaoxiao and Thrampoulidis,
            Christos},
  year = {2024}
}
"""


@hf_fairness.modules.documented(_DESCRIPTION, _KWARGS_DESCRIPTION, _CITATION)
class CCED(hf_fairness.modules.Measurement):
    """Content-conditional equal distance."""

    def _compute(
        self,
        *,
        model: Any = None,
        variants: Any = None,
        embeddings: Any = None,
        predictions: Any = None,
        references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        expected = "model=... and variants=..., or embeddings={group: (n, d), ..., 'neutral': (n, d)}"
        hf_fairness.modules.refuse("cced", expected, predictions=predictions, references=references)
        if embeddings is None:
            hf_fairness.modules.need("cced", model=model, variants=variants)
            return hf_fairness.measure.cced(model, variants, **options)
        hf_fairness.modules.refuse("cced", f"either embeddings or {expected}", model=model, variants=variants)
        return {**cced_scores.cced(embeddings, **options), "n_skipped": 0}
