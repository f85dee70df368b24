"""Accuracy on challenge sets per heuristic, sub-case and label, as an `evaluate` metric."""

from typing import Any

import datasets

import hf_fairness.measure.classifier.challenge
import hf_fairness.modules

_DESCRIPTION = """\
A challenge set is made so that a shortcut (word overlap, the claim alone) is right for one label and wrong for the
other. The metric gives accuracy per heuristic, sub-case and gold label, because the overall number hides the shortcut:
a model that always says entailment has half of HANS right. The ideal is 1.
"""

_KWARGS_DESCRIPTION = """
Args:
    references: rows with `label` and the columns that the set is divided by (`heuristic`, `subcase`), as
        `hf_fairness.measure.read_challenge_set` makes them of the published files; or such a file.
    dataset: "hans", "fever_symmetric", "scramble", "nli_adversarial", or a `ChallengeSet` of your own.
    predictions: label of each row, by name or by id.
    model: instead of predictions, Hub id, folder or live model (with `tokenizer=...`) that classifies pairs of texts,
        or a function of two lists of texts; rows then need `premise` and `hypothesis`.
    label_names: name of each label id, a list or a mapping; None means the model's own.
    hypothesis_first: whether the model reads (hypothesis, premise), for FEVER (claim, evidence); default False.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).
    **model options: tokenizer, batch_size, device, max_length, show_progress.

Returns:
    accuracy: ideal 1; balanced_accuracy: mean over gold labels; macro_accuracy: mean over heuristics of the mean over
        their sub-cases; other_rate: predictions that are right for no row; pair_accuracy, pair_same_rate, where the
        set has pairs; each with _ci95.
    constant_accuracy: the best that one answer to all rows can reach.
    labels: per gold label accuracy, accuracy_ci95, n.
    by: {"heuristic": {name: the same and its labels}, "subcase": {...}}.
    predicted: count of each prediction; n, n_pairs, n_unpaired, meta.

Examples:

    >>> import evaluate, hf_fairness
    >>> challenge = evaluate.load(hf_fairness.metric_path("challenge_accuracy"))
    >>> rows = [{"heuristic": "subsequence", "subcase": "se_adjective", "label": "entailment"}]
    >>> rows += [{"heuristic": "subsequence", "subcase": "sn_NP/S", "label": "non-entailment"}] * 3
    >>> answers = ["entailment", "neutral", "contradiction", "entailment"]
    >>> result = challenge.compute(predictions=answers, references=rows, dataset="hans")
    >>> result["accuracy"], round(result["by"]["subcase"]["sn_NP/S"]["accuracy"], 3), result["constant_accuracy"]
    (0.75, 0.667, 0.75)
"""

_CITATION = """\
@inproceedings{mccoy-etal-2019-right,
  title = {Right for the Wrong Reasons: Diagnosing Syntactic Heuristics in Natural Language Inference},
  author = {McCoy, Tom and Pavlick, Ellie and Linzen, Tal},
  booktitle = {Proceedings of ACL},
  year = {2019}
}
@inproceedings{schuster-etal-2019-towards,
  title = {Towards Debiasing Fact Verification Models},
  author = {Schuster, Tal and Shah, Darsh and Yeo, Yun Jie Serene and Roberto Filizzola Ortiz, Daniel and Santus, Enrico
            and Barzilay, Regina},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year = {2019}
}
@inproceedings{dasgupta2018evaluating,
  title = {Evaluating Compositionality in Sentence Embeddings},
  author = {Dasgupta, Ishita and Guo, Demi and Stuhlm{\\"u}ller, Andreas and Gershman, Samuel J. and Goodman, Noah D.},
  booktitle = {Proceedings of the Annual Meeting of the Cognitive Science Society},
  year = {2018}
}
@inproceedings{liu-etal-2020-empirical,
  title = {An Empirical Study on Model-agnostic Debiasing Strategies for Robust Natural Language Inference},
  author = {Liu, Tianyu and Zheng, Xin and Ding, Xiaoan and Chang, Baobao and Sui, Zhifang},
  booktitle = {Proceedings of CoNLL},
  year = {2020}
}
"""

_COLUMNS = ("premise", "hypothesis", "label", "heuristic", "subcase", "pair", "cluster")


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={
        "predictions": datasets.Value("string"),
        "references": {name: datasets.Value("string") for name in _COLUMNS},
    },
    optional={name: "" for name in _COLUMNS if name != "label"},
    reference_urls=["https://aclanthology.org/P19-1334", "https://aclanthology.org/D19-1341"],
)
class ChallengeAccuracy(hf_fairness.modules.Metric):
    """Accuracy per heuristic, sub-case and gold label."""

    def _compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        dataset: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        hf_fairness.modules.need("challenge_accuracy", references=references, dataset=dataset)
        return hf_fairness.measure.classifier.challenge.challenge_accuracy(
            references, dataset=dataset, predictions=predictions, **options
        )
