"""The numbers of a refinement, and its picture and table."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness import FairnessWarning
from hf_fairness.refine import PERCENTILES, compensate, describe, replace, subtract
from hf_fairness.report import draw, refinement_figure, refinement_table, save_figure

TEXTS = {"text_columns": ["premise", "hypothesis"]}
SCORES = {"score_columns": ["premise_bias_absolute", "hypothesis_bias_absolute"]}


@pytest.fixture(scope="module")
def many() -> Dataset:
    """2,000 scores with a long tail, as bias scores have."""
    scores = np.random.default_rng(0).gamma(3.0, 0.01, 2000)
    texts = [f"He has {i} keys." if i % 5 < 3 else f"It took {i} days." for i in range(2000)]
    return Dataset.from_dict({"text": texts, "score": scores})


def test_the_numbers_by_hand(pairs):
    found = describe(pairs, percentiles=[80, 50], bins=9, **SCORES, **TEXTS)
    assert (found["n"], found["max"]) == (10, pytest.approx(0.9))
    assert found["mean"] == pytest.approx(0.45)
    assert found["histogram"]["counts"] == [1, 1, 1, 1, 1, 1, 1, 1, 2]
    assert found["histogram"]["edges"] == pytest.approx([0.1 * i for i in range(10)])
    half, top = found["percentiles"]
    assert (half["percentile"], top["percentile"]) == (50, 80)
    assert half["threshold"] == pytest.approx(0.45)
    assert (half["n_above"], half["share_above"], half["max_kept"]) == (5, 0.5, pytest.approx(0.4))
    assert (half["n_with_terms"], half["n_without_terms"], half["n_added"], half["n_already_there"]) == (4, 1, 2, 2)
    assert half["share_duplicated"] == 0.4
    assert half["share_duplicated_ci95"][0] < 0.4 < half["share_duplicated_ci95"][1]
    assert (top["n_above"], top["n_added"], top["n_already_there"]) == (2, 1, 1)
    # by words: He, A man; She, woman; nurse + She; He, boy; She, girl; actress
    assert found["groups"] == {"male": 2, "female": 4, "neutral": 4}


def test_what_is_counted_is_what_is_done(pairs):
    for level in describe(pairs, percentiles=[30, 50, 80], **SCORES, **TEXTS)["percentiles"]:
        kept = subtract(pairs, percentile=level["percentile"], **SCORES)
        assert len(kept) == 10 - level["n_above"]
        assert max(max(kept[name]) for name in SCORES["score_columns"]) == pytest.approx(level["max_kept"])
        more = compensate(pairs, percentile=level["percentile"], **SCORES, **TEXTS)
        assert sum(more["counterfactual"]) == level["n_added"]


def test_the_corpus_after(pairs):
    after = describe(pairs, subtract(pairs, percentile=50, **SCORES), **SCORES, **TEXTS)["refined"]
    assert (after["n"], after["n_counterfactual"], after["n_scored"]) == (5, 0, 5)
    assert after["max"] == pytest.approx(0.4)
    assert after["groups"] == {"male": 1, "female": 1, "neutral": 3}

    replaced = replace(pairs, percentile=50, **SCORES, **TEXTS)
    after = describe(pairs, replaced, **SCORES, **TEXTS)["refined"]
    assert (after["n"], after["n_counterfactual"], after["n_scored"]) == (7, 2, 5)
    assert after["max"] == pytest.approx(0.4)  # of added rows the score is not known
    again = describe(pairs, replaced, refined_scores=np.arange(7) / 10, **SCORES)["refined"]
    assert (again["n_scored"], again["max"]) == (7, 0.6)
    assert "groups" not in again


def test_without_texts_only_scores_are_described(many):
    found = describe(many, scores=many["score"][:])
    assert [level["percentile"] for level in found["percentiles"]] == list(PERCENTILES)
    assert [level["n_above"] for level in found["percentiles"]] == [200, 140, 100, 60]
    assert "groups" not in found
    assert "n_added" not in found["percentiles"][0]
    assert found["meta"]["score_columns"] == []


def test_the_result_is_plain_and_says_its_convention(many):
    found = describe(many, many, score_columns="score", text_columns="text")
    assert json.loads(json.dumps(found)) == found
    assert sum(found["histogram"]["counts"]) == found["meta"]["n"] == 2000
    assert "strictly above" in found["meta"]["convention"]
    assert found["meta"]["direction"] == "higher scores are worse"
    assert found["percentiles"][2]["share_duplicated"] == pytest.approx(0.6, abs=0.15)


@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_rows_without_a_text_are_counted_apart():
    whole = Dataset.from_dict({"text": ["He ran.", "She sat.", "Rain."], "score": [1.0, 0.9, 0.8]})
    holed = Dataset.from_dict({"text": ["He ran.", "She sat.", "Rain.", None], "score": [1.0, 0.9, 0.8, 0.7]})
    options = {"score_columns": "score", "text_columns": "text", "percentiles": [1]}
    with pytest.warns(FairnessWarning, match="describe: 1 of 4 rows lack a value in text"):
        found = describe(holed, holed, **options)
    assert (found["n"], found["n_missing"], found["refined"]["n_missing"]) == (4, 1, 1)
    assert found["groups"] == describe(whole, **options)["groups"] == found["refined"]["groups"]
    assert found["percentiles"][0]["n_with_terms"] == 2
    with pytest.raises((ValueError, TypeError), match=r"lack a value|Expected a text"):
        describe(holed, on_missing="error", **options)
    added = compensate(holed, percentile=1, text_columns="text", score_columns="score")
    assert added["text"][:] == ["He ran.", "She sat.", "Rain.", None, "She ran.", "He sat."]


def test_equal_scores_have_nothing_above():
    corpus = Dataset.from_dict({"text": ["He ran.", "Rain."], "score": [0.0, 0.0]})
    found = describe(corpus, score_columns="score", text_columns="text")
    assert found["max"] == 0.0
    assert {level["n_above"] for level in found["percentiles"]} == {0}
    assert found["percentiles"][0]["share_duplicated"] is None
    assert refinement_table(found)[1][-1] == "–"
    assert "threshold-95" in draw("refinement", refinement_figure(found)).svg


def test_mistakes_are_errors(pairs):
    with pytest.raises(ValueError, match=r"percentile must lie in \[1, 100\)"):
        describe(pairs, percentiles=[95, 100], **SCORES)
    with pytest.raises(ValueError, match="percentiles is empty"):
        describe(pairs, percentiles=[], **SCORES)
    with pytest.raises(TypeError, match="needs the whole corpus"):
        describe(pairs, pairs.to_iterable_dataset(), **SCORES)
    with pytest.raises(ValueError, match="refined: scores needs one entry per row"):
        describe(pairs, pairs, refined_scores=[0.1], **SCORES)


def lines_of(svg: str) -> dict[str, tuple[float, float, float]]:
    """Threshold lines of a picture: x, and the two ends in y."""
    found = {}
    for element in ElementTree.fromstring(svg).iter():
        name = element.get("id", "")
        if "threshold-" in name:
            d = next(child.get("d") for child in element.iter() if child.tag.endswith("path")).split()
            found[name.rpartition("-")[2]] = (float(d[1]), float(d[2]), float(d[5]))
    return found


def test_the_histogram_has_a_line_at_each_threshold(many, tmp_path):
    found = describe(many, score_columns="score", text_columns="text")
    path = save_figure(refinement_figure(found), tmp_path / "deep" / "histogram.svg")
    lines = lines_of(path.read_text(encoding="utf-8"))
    assert list(lines) == ["90", "93", "95", "97"]
    at = [lines[f"{level['percentile']:g}"][0] for level in found["percentiles"]]
    thresholds = [level["threshold"] for level in found["percentiles"]]
    slope = np.diff(at) / np.diff(thresholds)
    assert slope == pytest.approx([slope[0]] * 3, rel=1e-3)  # one linear axis
    assert all(bottom - top > 20 for _, bottom, top in lines.values())
    assert [item.name for item in (tmp_path / "deep").iterdir()] == ["histogram.svg"]


def test_the_file_needs_no_page_around_it(many, tmp_path):
    found = describe(many, score_columns="score")
    text = save_figure(refinement_figure(found), str(tmp_path / "h.svg")).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert "var(" not in text
    assert all(float(root.get(side).removesuffix("pt")) > 100 for side in ("width", "height"))
    plot = draw("refinement", refinement_figure(found))
    assert "var(--ink, " in plot.svg  # on the report's page the colours follow it
    assert "2,000 rows" in plot.description
    assert "95th percentile" in plot.description
    assert draw("refinement", refinement_figure(found)).svg == plot.svg


def test_other_inputs_are_refused():
    with pytest.raises(ValueError, match=r"Wanted what hf_fairness.refine.describe returns"):
        refinement_figure({"n": 3})
    with pytest.raises(ValueError, match=r"Wanted what hf_fairness.refine.describe returns"):
        refinement_table([1])


def test_the_table_shows_what_was_described(pairs):
    heading, half = refinement_table(describe(pairs, percentiles=[50], **SCORES, **TEXTS))
    assert heading[:4] == ["percentile", "threshold", "rows above", "share above"]
    assert half[:5] == ["50", "0.450", "5", "0.500", "0.400"]
    assert half[5:7] == ["4", "2"]
    assert half[7].startswith("0.400 [")
    assert len(refinement_table(describe(pairs, **SCORES))[0]) == 5
