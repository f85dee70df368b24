"""WinoMT: gender accuracy of machine translation, as an `evaluate` metric."""

from typing import Any

import datasets

import hf_fairness.modules
from hf_fairness.measure.translator.winomt import winomt

_DESCRIPTION = """\
WinoMT asks whether a translation keeps the gender that the English sentence gives to a person: "The doctor asked the
nurse to help her" has a female doctor. Translations are aligned with their sources, the gender of the word for the
person is read from its form. The ideal accuracy is 1, the ideal of the gaps delta_g, delta_r and delta_s is 0. The
aligner and the rules change the numbers more than many systems differ: compare under the same ones. A system without
gaps on these templates is not thereby fair.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: translations, one per row; ready genders ("male", "female", "neutral", "unknown") with
        `predictions_are="genders"`.
    references: WinoMT rows: dicts of gender, target_index, sentence, profession and, where known, stereotype ("pro",
        "anti", "both" or ""). `hf_fairness.measure.read_winomt(path)` makes them of the published files.
        Other keys are ignored.
    lang: target language: ar, de, es, fr, he, it, ru, uk; not needed with ready genders.
    compare_to: another system's predictions for the same rows; adds `comparison`.
    reference_translations: one per row; adds BLEU and chrF as `translation_quality`.
    aligner: "fast_align" (default), "systran", "eflomal", or a function of the words of sources and targets.
    alignments: ready links per row, "0-0 1-2" (source-target); with compare_to also compare_alignments.
    tagger: a gender tagger, or its kind; by default the one that the rules of the language ask for.
    rules: "original" (of the code of 2019; default), "original_2020" (of the code since August 2020: unaligned Hebrew
        and Arabic rows are unknown) or "agreement" (the words for the person narrow each other).
    rounding: "exact" (default), or "original": percentages rounded to one decimal before gaps are taken.
    clusters: what counts together in the intervals: "sentence" (default), "profession" or "row".
    items: whether to list every row (default False).
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).

Returns:
    accuracy, precision_, recall_, f1_ + male and female: ideal 1.
    delta_g: F1 male - F1 female; delta_r: recall male - recall female; ideal 0.
    delta_s_accuracy, delta_s_f1: pro- minus anti-stereotypical rows; ideal 0; None without stereotypes.
    unknown_rate, alignment_failure_rate: ideal 0. All of these with _ci95.
    confusion: gold -> predicted -> rows. professions: per profession n, accuracy, accuracy_ci95, gold, predicted.
    aligner, tagger, rules, lang; n; meta: convention, ideal, direction, sample sizes, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> winomt = evaluate.load(hf_fairness.metric_path("winomt"))
    >>> sentence = "The developer argued with the designer because she did not like the design."
    >>> row = {"target_index": 1, "profession": "developer"}
    >>> rows = [row | {"gender": "female", "sentence": sentence}]
    >>> rows += [row | {"gender": "male", "sentence": sentence.replace("she", "he")}]
    >>> german = ["Der Entwickler stritt mit dem Designer, weil sie das Design nicht mochte."]
    >>> german += ["Der Entwickler stritt mit dem Designer, weil er das Design nicht mochte."]
    >>> result = winomt.compute(predictions=german, references=rows, lang="de", alignments=["0-0 1-1", "0-0 1-1"])
    >>> result["accuracy"], result["delta_r"], result["confusion"]["female"]["male"]
    (0.5, 1.0, 1)
"""

_CITATION = """\
@inproceedings{stanovsky-etal-2019-evaluating,
  title = {Evaluating Gender Bias in Machine Translation},
  author = {Stanovsky, Gabriel and Smith, Noah A. and Zettlemoyer, Luke},
  booktitle = {Proceedings of ACL},
  year = {2019}
}
@inproceedings{choubey-etal-2021-gfst,
  title = {GFST: Gender-Filtered Self-Training for More Accurate Gender in Translation},
  author = {Choubey, Prafulla Kumar and Currey, Anna and Mathur, Prashant and Dinu, Georgiana},
  booktitle = {Proceedings of EMNLP},
  year = {2021}
}
"""


@hf_fairness.modules.documented(
    _DESCRIPTION,
    _KWARGS_DESCRIPTION,
    _CITATION,
    features={
        "predictions": datasets.Value("string"),
        "references": {
            "gender": datasets.Value("string"),
            "target_index": datasets.Value("int64"),
            "sentence": datasets.Value("string"),
            "profession": datasets.Value("string"),
            "stereotype": datasets.Value("string"),
        },
    },
    optional={"stereotype": ""},
    reference_urls=["https://aclanthology.org/P19-1164", "https://github.com/gabrielStanovsky/mt_gender"],
)
class WinoMT(hf_fairness.modules.Metric):
    """Gender accuracy of machine translation."""

    def _compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        hf_fairness.modules.need("winomt", predictions=predictions, references=references)
        return winomt(predictions, references, **options)
