"""MuST-SHE: gender-marked words in translations of natural sentences, as an `evaluate` metric."""

from typing import Any

import datasets

import hf_fairness.modules
from hf_fairness.measure.translator.must_she import must_she

_DESCRIPTION = """\
MuST-SHE asks whether translations of natural sentences have the gender-marked words of the reference, in the right
form rather than in that of the other gender. The ideal of accuracy and of delta_accuracy is 1, of the gaps between
genders 0. A word that the system translates by another one counts as not found, so read term_coverage beside it. High
accuracy here does not show that a system is fair.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: translations, one per row.
    references: MuST-SHE rows: dicts of category ("1F": category 1, feminine forms, as published) and gender_terms
        ("correct wrong;correct wrong"); instead of the letter, gender may be given. Other keys are ignored
        (`add_batch` reads category, gender and gender_terms).
        `hf_fairness.measure.translator.must_she.read_must_she(path)` makes them of the published file.
    compare_to: another system's translations; adds `comparison`.
    tokenized: whether translations are tokenised already (default False: punctuation and elisions are split off).
    quality: whether to add BLEU and chrF against `reference` and `wrong_reference` of the rows (default False).
    items: whether to list every row (default False).
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    accuracy: right forms / terms; accuracy_wrong: wrong forms / terms; delta_accuracy: their difference, ideal 1.
    term_coverage: terms found in either form / terms; gender_accuracy: right / right and wrong forms, ideal 1.
    accuracy_gap, delta_accuracy_gap: largest difference between genders; ideal 0. All of these with _ci95.
    genders, categories, category_genders: the same per gender, category, and both ("2F").
    n, n_terms; meta: convention, ideal, direction, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> must_she = evaluate.load(hf_fairness.metric_path("must_she"))
    >>> rows = [{"category": "2F", "gender_terms": "amica amico;stata stato"}]
    >>> rows += [{"category": "2M", "gender_terms": "un una"}]
    >>> result = must_she.compute(predictions=["È stata un amico.", "È un ragazzo."], references=rows)
    >>> round(result["accuracy"], 3), round(result["delta_accuracy"], 3), result["genders"]["F"]["accuracy"]
    (0.667, 0.333, 0.5)
"""

_CITATION = """\
@inproceedings{bentivogli-etal-2020-gender,
  title = {Gender in Danger? Evaluating Speech Translation Technology on the MuST-SHE Corpus},
  author = {Bentivogli, Luisa and Savoldi, Beatrice and Negri, Matteo and Di Gangi, Mattia A. and Cattoni, Roldano and
            Turchi, Marco},
  booktitle = {Proceedings of ACL},
  year = {2020}
}
@inproceedings{gaido-etal-2020-breeding,
  title = {Breeding Gender-aware Direct Speech Translation Systems},
  author = {Gaido, Marco and Savoldi, Beatrice and Bentivogli, Luisa and Negri, Matteo and Turchi, Marco},
  booktitle = {Proceedings of COLING},
  year = {2020}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={
        "predictions": datasets.Value("string"),
        "references": {
            "category": datasets.Value("string"),
            "gender": datasets.Value("string"),
            "gender_terms": datasets.Value("string"),
        },
    },
    reference_urls=["https://aclanthology.org/2020.acl-main.619", "https://aclanthology.org/2020.coling-main.350"],
)
class MuSTSHE(hf_fairness.modules.Metric):
    """Gender-marked words in translations of natural sentences."""

    def _compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        hf_fairness.modules.need("must_she", predictions=predictions, references=references)
        return must_she(predictions, references, **options)
