"""WinoMT through `evaluate.load(...).compute(...)`, against the authors' numbers on Google's translations."""

from __future__ import annotations

import json
import os
import re

import evaluate
import pytest

import hf_fairness
from hf_fairness.measure.translator.winomt_data import read_translations, read_winomt

#: Columns of the gold files are in the order of the data: anti-stereotypical, pro-stereotypical, without a stereotype.
STEREOTYPES = ["anti"] * 1584 + ["pro"] * 1584 + [""] * 720


@pytest.fixture(scope="module")
def winomt():
    return evaluate.load(hf_fairness.metric_path("winomt"))


@pytest.fixture(scope="module")
def gold(shared):
    return shared / "gold" / "winomt"


@pytest.fixture(scope="module")
def logged(gold):
    return json.loads((gold / "logged_google.json").read_text())


@pytest.fixture(scope="module")
def rows(shared):
    return read_winomt(shared / "data" / "winomt" / "en.txt")


def read_gold(gold, lang):
    """Gold and predicted gender per row, by subset."""
    found = {}
    for line in (gold / f"google-{lang}.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        subset, *pair = line.split("\t")
        found.setdefault(subset, []).append(tuple(pair))
    assert found["all"][:1584] == found["anti"]
    assert found["all"][1584:3168] == found["pro"]
    return found["all"]


@pytest.mark.parametrize("lang", ["de", "he", "ru", "uk", "ar"])
def test_authors_predictions_give_the_authors_numbers(winomt, gold, lang):
    pairs = read_gold(gold, lang)
    references = [{"gender": gender, "stereotype": kind} for (gender, _), kind in zip(pairs, STEREOTYPES, strict=True)]
    options = {"predictions": [read for _, read in pairs], "references": references, "predictions_are": "genders"}
    found = winomt.compute(**options, rounding="original", clusters="row")
    expected = json.loads((gold / "expected_fast_align.json").read_text())[f"google/{lang}"]
    published = {
        "accuracy": expected["acc"],
        "f1_male": expected["all"]["f1_male"],
        "f1_female": expected["all"]["f1_female"],
        "delta_g": expected["dG"],
        "delta_s_accuracy": expected["dS_acc"],
        "delta_s_f1": expected["dS_macroF1"],
        "delta_r": expected["dR"],
        "accuracy_pro": expected["pro"]["acc"],
        "accuracy_anti": expected["anti"]["acc"],
        "recall_male": expected["recall"]["male"],
        "recall_female": expected["recall"]["female"],
    }
    for key, value in published.items():
        assert 100 * found[key] == pytest.approx(value, abs=0.05), key
    for gender, counts in expected["confusion"].items():
        assert {name: count for name, count in found["confusion"][gender].items() if count} == counts
    exact = winomt.compute(**options, clusters="row")
    assert 100 * exact["delta_r"] == pytest.approx(expected["dR"], abs=1e-9)
    # Half-widths at 3,888 rows: 1.6 points of accuracy, 3.3 of delta_r where rates are one half.
    for key, width in (("accuracy", 0.016), ("delta_r", 0.033)):
        low, high = exact[f"{key}_ci95"]
        assert low < exact[key] < high
        assert 0.5 * width < (high - low) / 2 < 1.1 * width, key


@pytest.mark.parametrize("lang", ["de", "es", "fr", "he", "it", "ru", "uk"])
def test_logged_confusions_give_the_logged_numbers(winomt, logged, lang):
    table = logged[lang]["confusion_gold_to_pred"]
    pairs = [(gender, read) for gender, row in table.items() for read, n in row.items() for _ in range(n)]
    found = winomt.compute(
        predictions=[read for _, read in pairs],
        references=[{"gender": gender} for gender, _ in pairs],
        predictions_are="genders",
        rounding="original",
        n_bootstrap=0,
    )
    names = {
        "acc": "accuracy",
        "f1_male": "f1_male",
        "p_male": "precision_male",
        "r_male": "recall_male",
        "f1_female": "f1_female",
        "p_female": "precision_female",
        "r_female": "recall_female",
        "dG": "delta_g",
        "dR": "delta_r",
    }
    assert set(logged[lang]["expected"]) == set(names)
    for name, value in logged[lang]["expected"].items():
        assert 100 * found[names[name]] == pytest.approx(value, abs=1e-6), name
    assert found["delta_s_accuracy"] is None


def translated(winomt, shared, rows, lang, **options):
    """The metric of Google's translations; no ready alignment. Skips where a tagger is missing, except in CI."""
    translations = read_translations(shared / "data" / "winomt" / "translations" / f"google.en-{lang}.txt")
    try:
        return winomt.compute(predictions=translations, references=rows, lang=lang, n_bootstrap=0, **options)
    except (ImportError, FileNotFoundError) as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}; in CI it must be there")
        pytest.skip(str(error))


#: Points of accuracy and of delta_g within which the pass from translations must lie. German, Russian and Hebrew come
#: out equal to the last digit. Spanish, French and Italian are read by Apertium, not by the spaCy models of 2019.
BARS = {"de": 1.0, "ru": 1.0, "es": 3.0, "fr": 3.0, "it": 4.5, "he": 4.5}


def quoted(root, key, lang):
    """A number of the card's table: "59.4 (59.3)" gives "59.4"; a key is all of a row's name, or before " ("."""
    lines = (root / "metrics/winomt/README.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if re.match(r"\|.*\| de \| ru \|", line))
    row = next(line for line in lines[start:] if line.startswith((f"| {key} (", f"| {key} |")))
    columns = [cell.strip() for cell in lines[start].split("|")]
    return row.split("|")[columns.index(lang)].split()[0]


@pytest.mark.whole
@pytest.mark.parametrize("lang", BARS)
def test_translations_give_the_logged_numbers(winomt, shared, root, rows, logged, lang):
    found = translated(winomt, shared, rows, lang, rounding="original")
    expected = logged[lang]["expected"]
    for key in ("accuracy", "delta_g"):
        assert quoted(root, key, lang) == f"{100 * found[key]:.1f}", key
    assert found["aligner"] == "fast_align"
    assert abs(100 * found["accuracy"] - expected["acc"]) <= BARS[lang]
    assert abs(100 * found["delta_g"] - expected["dG"]) <= BARS[lang]
    assert found["n"] == 3888
    assert len(found["professions"]) == 104


@pytest.mark.parametrize("lang", BARS)
def test_the_rules_since_2020(winomt, shared, root, rows, gold, lang):
    """Hebrew rows without aligned words are unknown; numbers of the authors' code of today where there are any."""
    found = translated(winomt, shared, rows, lang, rounding="original", rules="original_2020")
    for key in ("accuracy", "delta_g"):
        assert quoted(root, f"{key}, `original_2020`", lang) == f"{100 * found[key]:.1f}"
    expected = json.loads((gold / "expected_fast_align.json").read_text()).get(f"google/{lang}")
    if expected is not None:
        assert 100 * found["accuracy"] == pytest.approx(expected["acc"], abs=0.05)
        assert 100 * found["delta_g"] == pytest.approx(expected["dG"], abs=0.05)
        assert found["confusion"]["female"]["unknown"] == expected["confusion"]["female"].get("unknown", 0)


LANGUAGE_NAMES = {"de": "German", "ru": "Russian", "he": "Hebrew", "es": "Spanish", "fr": "French", "it": "Italian"}


@pytest.mark.parametrize("lang", BARS)
def test_the_card_tells_what_our_rules_give(winomt, shared, root, rows, lang):
    found = translated(winomt, shared, rows, lang, rounding="original", rules="agreement")
    card = " ".join((root / "metrics/winomt/README.md").read_text(encoding="utf-8").split())
    assert f"{100 * found['delta_g']:.1f} in {LANGUAGE_NAMES[lang]}" in card


@pytest.mark.whole
@pytest.mark.parametrize("lang", ["de", "ru", "he"])
def test_translations_give_the_authors_prediction_in_every_aligned_row(winomt, shared, rows, gold, lang):
    found = translated(winomt, shared, rows, lang, items=True)
    pairs = read_gold(gold, lang)
    # Hebrew: the gold file has rows without an alignment as unknown, the logged numbers as female.
    other = [item for item, (_, read) in zip(found["items"], pairs, strict=True) if item["predicted"] != read]
    assert all(not item["words"] for item in other)
    assert len(other) <= {"de": 0, "ru": 0, "he": 239}[lang]


@pytest.mark.whole
def test_the_aligner_changes_the_result(winomt, shared, rows):
    pytest.importorskip("systran_align")
    one, other = (translated(winomt, shared, rows, "ru", aligner=name) for name in ("fast_align", "systran"))
    assert (one["aligner"], other["aligner"]) == ("fast_align", "systran")
    assert other["accuracy"] - one["accuracy"] > 0.02
    assert other["alignment_failure_rate"] < one["alignment_failure_rate"]


def test_compared_with_a_masculine_system(winomt, shared, rows):
    """Every row as masculine: lower accuracy, larger gap, both beyond chance."""
    pairs = read_gold(shared / "gold" / "winomt", "de")
    found = winomt.compute(
        predictions=[read for _, read in pairs], references=rows, predictions_are="genders", compare_to=["male"] * 3888
    )["comparison"]
    # Two rows of the data differ in gender from the translations' sources.
    assert found["accuracy"]["b"] == pytest.approx(1826 / 3888, abs=1e-3)
    for key, sign in (("accuracy", 1), ("delta_r", -1)):
        low, high = found[key]["difference_ci95"]
        assert sign * low > 0
        assert sign * high > 0
        assert found[key]["p_value_holm"] < 0.01
    assert found["delta_r"]["b"] == 1.0


def test_batches_give_the_same(winomt):
    row = {"sentence": "The clerk left.", "target_index": 1, "profession": "clerk", "stereotype": "pro"}
    references = [row | {"gender": gender} for gender in ("male", "female", "female")]
    predictions = ["male", "male", "female"]
    at_once = winomt.compute(predictions=predictions, references=references, predictions_are="genders")
    winomt.add_batch(predictions=predictions[:2], references=references[:2])
    winomt.add(prediction=predictions[2], reference=references[2])
    assert winomt.compute(predictions_are="genders") == at_once


@pytest.mark.parametrize("missing", ["predictions", "references"])
def test_missing_inputs_are_named(winomt, missing):
    given = {"predictions": ["male"], "references": [{"gender": "male"}], "predictions_are": "genders"}
    with pytest.raises(ValueError, match=f"needs {missing}="):
        winomt.compute(**{key: value for key, value in given.items() if key != missing})
