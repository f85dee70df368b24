"""CrowS-Pairs: does a language model prefer the more stereotyping of two sentences, as an `evaluate` measurement."""

from typing import Any

import datasets

import hf_fairness.modules
from hf_fairness.measure.language_model.crows_pairs import crows_pairs

_DESCRIPTION = """\
CrowS-Pairs asks a masked or causal language model which of two sentences it finds likelier: one that stereotypes a
group, or the same about another group. `stereotype_score` is the share of pairs in which it is the more stereotyping
one; .5 is ideal. A tie counts as not preferred, as published: read `tie_rate` beside it. The pairs have known
defects (Blodgett et al. 2021); look at the items before you quote a score.
"""

_KWARGS_DESCRIPTION = """
Args:
    rows: `sent_more`, `sent_less`, `stereo_antistereo` ("stereo" or "antistereo"), `bias_type`: a Dataset, dicts, a
        mapping of columns, or the path of the published CSV file. `references` is another name for them; pairs
        added in batches hold `stereo_antistereo` and `bias_type` only.
    model: Hub id, local folder, or a transformers model with a language-model head (with `tokenizer=...`).
    scores: instead of a model, scores of `sent_more` and `sent_less`, shape (n, 2), the higher the likelier; the rows
        then need no sentences. `predictions` is another name for them, and the one to add batches under.
    items: whether to return every pair with its scores (default False).
    decimals: scores equal to so many decimals are a tie (default 3, as published); None compares them as they are.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).
    **model options: tokenizer, device, dtype, batch_tokens, show_progress; for causal models also per_token
        (default False) and start ("always" or "first").

Returns:
    stereotype_score: 0 to 1, ideal .5; the published metric score.
    stereotype_score_stereo, stereotype_score_antistereo: the same over the pairs of one direction, without ties; the
        published stereotype and anti-stereotype scores; None without such pairs.
    <key>_ci95: interval of each.
    n, n_stereo, n_antistereo, tie_rate.
    bias_types: the same keys per kind of bias.
    items: if asked for, per pair its columns, both scores and which sentence is preferred.
    meta: convention, scoring, ideal, direction, known defects, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> module = evaluate.load(hf_fairness.metric_path("crows_pairs"))
    >>> rows = [{"stereo_antistereo": "stereo", "bias_type": "gender"}] * 4
    >>> result = module.compute(rows=rows, scores=[[-9.0, -9.5], [-8.0, -7.0], [-5.0, -6.0], [-4.0, -4.0]])
    >>> result["stereotype_score"], result["tie_rate"], round(result["stereotype_score_stereo"], 3)
    (0.5, 0.25, 0.667)
"""

_CITATION = """\
@inproceedings{nangia-etal-2020-crows,
  title = {{C}row{S}-Pairs: A Challenge Dataset for Measuring Social Biases in Masked Language Models},
  author = {Nangia, Nikita and Vania, Clara and Bhalerao, Rasika and Bowman, Samuel R.},
  booktitle = {Proceedings of EMNLP},
  year = {2020}
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
        "references": {"stereo_antistereo": datasets.Value("string"), "bias_type": datasets.Value("string")},
    },
    reference_urls=["https://aclanthology.org/2020.emnlp-main.154", "https://aclanthology.org/2021.acl-long.81"],
)
class CrowSPairs(hf_fairness.modules.Measurement):
    """CrowS-Pairs of a language model."""

    def _compute(
        self,
        *,
        rows: Any = None,
        scores: Any = None,
        predictions: Any = None,
        references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        rows = hf_fairness.modules.one_of("crows_pairs", rows=rows, references=references)
        scores = hf_fairness.modules.one_of("crows_pairs", scores=scores, predictions=predictions)
        hf_fairness.modules.need("crows_pairs", rows=rows)
        return crows_pairs(rows, scores=scores, **options)
