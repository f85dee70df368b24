"""SEAT: sentence encoder association tests, as an `evaluate` measurement."""

from typing import Any

import hf_fairness.measure
import hf_fairness.modules

_DESCRIPTION = """\
SEAT asks whether an encoder places one set of targets (male names) nearer to one set of attributes (career)
and another set of targets (female names) nearer to another set of attributes (family). The ideal effect size
of a bias test is 0. Quote `p_value_clustered`, never `p_value` alone: sentences made from one word are not
independent. Of several tests quote the adjusted p-values.
"""

_KWARGS_DESCRIPTION = """
Args:
    model: Hub id, local folder, SentenceTransformer, transformers model (with `tokenizer=...`), word vectors
        (mapping of words to vectors), or an object with `encode(texts)`.
    tests: names of tests ("6", "6b", ...; "weat6" for words without sentences), definitions as data (dicts
        of targ1, targ2, attr1, attr2), a JSON or YAML file of definitions, a list of these, or None for 6, 6b,
        7, 7b, 8, 8b and the retention tests 1 and 2.
    reference: another model, for instance the one before mitigation; adds paired changes.
    n_samples: most partitions looked at by a permutation test (default 100,000).
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of all draws (default 0).
    **encoder options: batch_size, device, pooling, normalize, max_length, tokenizer, show_progress.

Returns:
    tests: per test effect_size (ideal 0 for a bias test), effect_size_ci95, p_value (sentences permuted, as
        published), p_value_clustered (words permuted), minimal_detectable_effect_size (what the test of words
        finds four times in five), numerator, n_words, n_sentences, method, purpose; bias tests also
        p_value_clustered_holm and p_value_clustered_bh, adjusted over the bias tests asked for.
    mean_abs_effect_size, mean_abs_effect_size_ci95: mean |d| over the bias tests asked for; ideal 0.
    with reference: effect_size_change, mean_abs_effect_size_change, each with _ci95 and _p_value.
    retention: those tests in which a high positive effect size is good (1 and 2).
    meta: convention, ideal, direction, sample size, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> seat = evaluate.load(hf_fairness.metric_path("seat"))
    >>> vectors = {"he": [1.0, 0.1], "him": [0.9, 0.0], "she": [0.1, 1.0], "her": [0.0, 0.9]}
    >>> vectors |= {"work": [1.0, 0.3], "home": [0.3, 1.0]}
    >>> targets = {"targ1": ["he", "him"], "targ2": ["she", "her"]}
    >>> result = seat.compute(model=vectors, tests={"toy": targets | {"attr1": ["work"], "attr2": ["home"]}})
    >>> round(result["tests"]["toy"]["effect_size"], 3), result["tests"]["toy"]["n_words"]
    (1.729, 4)
"""

_CITATION = """\
@inproceedings{may-etal-2019-measuring,
  title = {On Measuring Social Biases in Sentence Encoders},
  author = {May, Chandler and Wang, Alex and Bordia, Shikha and Bowman, Samuel R. and Rudinger, Rachel},
  booktitle = {Proceedings of NAACL-HLT},
  year = {2019}
}
@article{caliskan2017semantics,
  title = {Semantics derived automatically from language corpora contain human-like biases},
  author = {Caliskan, Aylin and Bryson, Joanna J. and Narayanan, Arvind},
  journal = {Science},
  volume = {356},
  number = {6334},
  year = {2017}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION, _KWARGS_DESCRIPTION, _CITATION, reference_urls=["https://aclanthology.org/N19-1063"]
)
class SEAT(hf_fairness.modules.Measurement):
    """Sentence encoder association tests."""

    def _compute(
        self,
        *,
        model: Any = None,
        tests: Any = None,
        predictions: Any = None,
        references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        hf_fairness.modules.refuse("seat", "model=... and tests=[...]", predictions=predictions, references=references)
        hf_fairness.modules.need("seat", model=model)
        return hf_fairness.measure.seat(model, tests, **options)
