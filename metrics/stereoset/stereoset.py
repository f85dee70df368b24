"""StereoSet: does a language model prefer stereotypes, and sense to nonsense, as an `evaluate` measurement."""

from typing import Any

import datasets

import hf_fairness.modules
from hf_fairness.measure.language_model.stereoset import stereoset

_DESCRIPTION = """\
StereoSet shows a language model a stereotype, an anti-stereotype and an unrelated sentence. `lm_score` is how often it
prefers the first two to the third (ideal 1), `stereotype_score` how often the stereotype to the anti-stereotype
(ideal .5), both averaged over target terms; `icat` joins them (ideal 1). The sentences have known defects (Blodgett
et al. 2021); look at the items before you quote a score.
"""

_KWARGS_DESCRIPTION = """
Args:
    rows: items with `target`, `bias_type` and, for a model, `context` and `sentences` as published: a Dataset (the
        Hub's copy), dicts, a mapping of columns, or the path of the published JSON file (its intrasentence items).
        `references` is another name for them; items added in batches hold `target` and `bias_type` only.
    model: Hub id, local folder, or a transformers model with a language-model head (with `tokenizer=...`). It is asked
        intrasentence items only.
    scores: instead of a model, scores of stereotype, anti-stereotype and unrelated sentence, shape (n, 3), or by the
        ids of the sentences; so intersentence items (next sentence) can be measured too. `predictions` is another
        name for them, and the one to add batches under.
    targets: measure only the items whose target term is one of these words (default None: all items). The filtered
        StereoSet of Yang et al. 2023 and Deng et al. 2024 are the items whose target is in the word list of the
        debiasing.
    items: whether to return every item with its scores (default False).
    n_bootstrap: resamples of target terms behind the intervals (default 2,000).
    seed: of the resamples (default 0).
    **model options: tokenizer, device, dtype, batch_tokens, show_progress; for causal models also start ("first", as
        published, or "always").

Returns:
    lm_score: 0 to 1, ideal 1; stereotype_score: 0 to 1, ideal .5; icat: 0 to 1, ideal 1; each with _ci95 (None for a
        single target term).
    lm_score_micro, stereotype_score_micro: items weighed equally.
    n_left_out: with targets, how many items have another target.
    n, n_terms, tie_rate (stereotype and anti-stereotype score the same).
    domains: the same keys per domain.
    items: if asked for, per item its target, domain, the three scores and which sentence is preferred.
    meta: convention, scoring, ideal, direction, known defects, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> module = evaluate.load(hf_fairness.metric_path("stereoset"))
    >>> rows = [{"target": name, "bias_type": "profession"} for name in ("chef", "chef", "poet", "poet")]
    >>> scores = [[0.3, 0.2, 0.1], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1], [0.2, 0.1, 0.3]]
    >>> result = module.compute(rows=rows, scores=scores)
    >>> result["lm_score"], result["stereotype_score"], result["icat"]
    (0.625, 0.75, 0.3125)
"""

_CITATION = """\
@inproceedings{nadeem-etal-2021-stereoset,
  title = {{S}tereo{S}et: Measuring stereotypical bias in pretrained language models},
  author = {Nadeem, Moin and Bethke, Anna and Reddy, Siva},
  booktitle = {Proceedings of ACL-IJCNLP},
  year = {2021}
}
@inproceedings{blodgett-etal-2021-stereotyping,
  title = {Stereotyping {N}orwegian Salmon: An Inventory of Pitfalls in Fairness Benchmark Datasets},
  author = {Blodgett, Su Lin and Lopez, Gilsinia and Olteanu, Alexandra and Sim, Robert and Wallach, Hanna},
  booktitle = {Proceedings of ACL-IJCNLP},
  year = {2021}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={
        "predictions": datasets.List(datasets.Value("float64")),
        "references": {"target": datasets.Value("string"), "bias_type": datasets.Value("string")},
    },
    reference_urls=["https://aclanthology.org/2021.acl-long.416", "https://aclanthology.org/2021.acl-long.81"],
)
class StereoSet(hf_fairness.modules.Measurement):
    """StereoSet of a language model."""

    def _compute(
        self,
        *,
        rows: Any = None,
        scores: Any = None,
        predictions: Any = None,
        references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        rows = hf_fairness.modules.one_of("stereoset", rows=rows, references=references)
        scores = hf_fairness.modules.one_of("stereoset", scores=scores, predictions=predictions)
        hf_fairness.modules.need("stereoset", rows=rows)
        return stereoset(rows, scores=scores, **options)
