"""Polarity accuracy of texts rewritten for every group, as an `evaluate` measurement."""

from typing import Any

import hf_fairness.measure
import hf_fairness.modules
import hf_fairness.scores.polarity

_DESCRIPTION = """\
Polarity accuracy asks of texts that were rewritten for every group whether each version reads as the group it was
written for: the group with most words in it; no such word, or a tie, is neutral. A text is right when all its versions
are. The ideal is 1. It checks rewrites, not a model, and sees nothing but the words of the lists.
"""

_KWARGS_DESCRIPTION = """
Args:
    variants: rows with a text per group and "neutral", as `hf_fairness.augment.GroupVariants` makes them: a Dataset, a
        list of mappings, or a mapping of columns. Rows whose `has_terms` is false are left out and counted, unless
        they have a `rejected_reason`.
    attribute: name, file or object of the attribute (default "gender"). Goes with `variants`.
    counts: instead of both, a mapping of each group and "neutral" to an array of shape (n, groups): how many words of
        each group the version has.
    groups: with `counts`, the names of the columns.
    neutral, clusters: with `counts`, the key of the neutral version, and a label per text that resemble each other.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    polarity_accuracy: share of texts with every version right, ideal 1; polarity_accuracy_ci95.
    versions: per group and "neutral": accuracy, accuracy_ci95, n_neutral (versions of neutral polarity), n_tied (of
        these, by a tie).
    n: texts; n_skipped: texts left out (0 for counts); meta.

Examples:

    >>> import evaluate, hf_fairness
    >>> polarity = evaluate.load(hf_fairness.metric_path("polarity_accuracy"))
    >>> rows = [{"male": "He left.", "female": "She left.", "neutral": "They left."}]
    >>> rows += [{"male": "He and she left.", "female": "She left.", "neutral": "They left."}]
    >>> result = polarity.compute(variants=rows)
    >>> result["polarity_accuracy"], result["versions"]["male"]["n_tied"]
    (0.5, 1)
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
class PolarityAccuracy(hf_fairness.modules.Measurement):
    """Share of texts of which every version reads as the group it was written for."""

    def _compute(
        self,
        *,
        variants: Any = None,
        counts: Any = None,
        groups: Any = None,
        predictions: Any = None,
        references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        expected = "variants=..., or counts={group: (n, groups), ...} and groups=[...]"
        hf_fairness.modules.refuse("polarity_accuracy", expected, predictions=predictions, references=references)
        if counts is None:
            hf_fairness.modules.need("polarity_accuracy", variants=variants)
            hf_fairness.modules.refuse("polarity_accuracy", expected, groups=groups)
            return hf_fairness.measure.polarity_accuracy(variants, **options)
        hf_fairness.modules.need("polarity_accuracy", groups=groups)
        hf_fairness.modules.refuse("polarity_accuracy", f"either counts or {expected}", variants=variants)
        return {**hf_fairness.scores.polarity.polarity_accuracy(counts, groups, **options), "n_skipped": 0}
