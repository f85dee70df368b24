"""Bias-IR: which group's version of a document a search model finds first, as an `evaluate` measurement."""

from typing import Any

import datasets

import hf_fairness.modules
from hf_fairness.measure.encoder.bias_ir import bias_ir

_DESCRIPTION = """\
Bias-IR asks which group's version of the same document a search model puts first for a query that names no group.
The share of queries with the male version first is ideally .5. Few queries are away from .5 by chance alone, so read
`mean_deviation` beside `chance_mean_deviation` and `p_value`.
"""

_KWARGS_DESCRIPTION = """
Args:
    documents: rows, one per document: `query_id`, `query`, `text`, `group`; also `title`, `category`, `relevant`,
        `document_id`, `expected`, where there are any. A path is read as the published GrepBiasIR files.
    model: Hub id, local folder, SentenceTransformer, transformers model (with `tokenizer=...`), word vectors, or an
        object with `encode(texts)`; documents are ranked by cosine with the query.
    ranking: instead of a model, per `query_id` the `document_id`s, best first.
    predictions: instead of a model, one score per row, higher is better; goes with `references`, the rows.
    reference: the same kind of input of another model; adds paired changes.
    groups: the versions to compare; None means all but `neutral` (default "neutral").
    relevance: "relevant" (default), "non-relevant" or "all" documents.
    titles: whether title and text are encoded (default True) or the text alone.
    query_prefix, document_prefix: for encoders that want them (default "").
    ties: "split" (default: half for each of two groups), "drop" or "none".
    items: whether to list every query with its scores (default False).
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of all draws (default 0).
    **encoder options: batch_size, device, pooling, normalize, max_length, tokenizer, show_progress.

Returns:
    <group>_ratio (male_ratio, female_ratio): ideal 1 / number of groups; mean_deviation: mean over categories of
        |ratio - ideal|, ideal 0; tie_rate; mean_gap; each with _ci95.
    chance_mean_deviation, p_value: mean_deviation when the versions of each query are exchanged at random.
    categories: ratios, deviation, chance_deviation, n, n_tied of each category.
    neutral: first_rate and mean_rank per version, where neutral versions are given.
    expected: ratio of the group that annotators expected, where they expected one.
    change: model minus reference, with _ci95 and p-values, where a reference is given.
    items: if asked for, per query its scores and the group that came first.
    n, n_queries, n_tied, n_skipped, meta.

Examples:

    >>> import evaluate, hf_fairness
    >>> bias_ir = evaluate.load(hf_fairness.metric_path("bias_ir"))
    >>> rows = [{"query_id": q, "group": group} for q in ("a", "b", "c") for group in ("male", "female")]
    >>> result = bias_ir.compute(predictions=[0.9, 0.1, 0.8, 0.7, 0.2, 0.3], references=rows)
    >>> round(result["male_ratio"], 3), round(result["mean_deviation"], 3), result["n"]
    (0.667, 0.167, 3)
    >>> round(result["chance_mean_deviation"], 1)  # three queries are that far from .5 by chance
    0.2
"""

_CITATION = """\
@inproceedings{krieg2023grep,
  title = {Grep-BiasIR: A Dataset for Investigating Gender Representation Bias in Information Retrieval Results},
  author = {Krieg, Klara and Parada-Cabaleiro, Emilia and Medicus, Gertraud and Lesota, Oleg and Schedl, Markus and
            Rekabsaz, Navid},
  booktitle = {Proceedings of the Conference on Human Information Interaction and Retrieval},
  year = {2023}
}
@article{deng2024llm,
  title = {LLM-Assisted Content Conditional Debiasing for Fair Text Embedding},
  author = {Deng, Wenlong and Chen, Blair and Zhao, Beidi and Zhang, Chiyu and Li, Xiaoxiao and Thrampoulidis,
            Christos},
  year = {2024}
}
"""

_TEXTS = ("query_id", "document_id", "category", "query", "title", "text", "group", "expected")


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={
        "predictions": datasets.Value("float64"),
        "references": {**{name: datasets.Value("string") for name in _TEXTS}, "relevant": datasets.Value("bool")},
    },
    optional={**{name: "" for name in _TEXTS if name not in ("query_id", "group")}, "relevant": True},
    reference_urls=["https://arxiv.org/abs/2201.07754"],
)
class BiasIR(hf_fairness.modules.Measurement):
    """Share of queries for which each group's version of a document comes first."""

    def _compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        documents: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        if predictions is None and references is None:
            hf_fairness.modules.need("bias_ir", documents=documents)
            return bias_ir(documents, **options)
        hf_fairness.modules.refuse("bias_ir", "predictions (scores) and references (rows)", documents=documents)
        hf_fairness.modules.need("bias_ir", predictions=predictions, references=references)
        return bias_ir(references, scores=predictions, **options)
