"""What a refinement is told, and the corpora that it makes of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness import FairnessWarning
from hf_fairness.measure.encoder.bias_direction import bias_direction
from hf_fairness.measure.encoder.bias_scorer import make_scorer
from hf_fairness.trainers import RefineArguments, RefineConfig
from hf_fairness.trainers.refine.corpora import CorpusScores, read_pairs, refine_rows
from support import refine_case

SWAP = {"attribute": "gender", "names": True}


def pairs(n: int = 60, **columns) -> Dataset:
    return Dataset.from_dict({**refine_case.rows(n), **columns})


def test_rows_come_in_one_form_and_those_held_out_share_no_premise():
    found = read_pairs(pairs(200, other=[1] * 200))
    train, test = found.parts["train"], found.parts["test"]
    assert (found.columns, found.label_names) == (("premise", "hypothesis"), ("other", "same"))
    assert len(train) + len(test) == 200
    assert 0 < len(test) <= 20
    assert train.column_names == ["premise", "hypothesis", "label"]
    assert not set(train["premise"]) & set(test["premise"])


def test_scores_are_put_between_0_and_1_by_the_ends_of_the_training_rows():
    columns = refine_case.rows(40, kind="score")
    train = Dataset.from_dict({**columns, "score": [1.0, 4.0] * 20})
    found = read_pairs(train, Dataset.from_dict({**columns, "score": [0.0, 2.5] * 20}))
    assert not found.classes
    assert set(found.parts["train"]["label"]) == {0.0, 1.0}
    assert set(found.parts["test"]["label"]) == {0.0, 0.5}


def test_whole_numbers_are_scores_where_they_are_called_so():
    columns = {name: values for name, values in refine_case.rows(40).items() if name != "label"}
    rows = Dataset.from_dict({**columns, "score": [1, 2, 3, 4] * 10, "label": [0, 1] * 20})
    assert not read_pairs(rows, label_column="score").classes
    assert read_pairs(rows).label_names == ("0", "1")


@pytest.mark.parametrize(("named", "expected"), [(None, ("0", "1", "2")), (["e", "n", "c"], ("e", "n", "c"))])
def test_a_label_that_is_missing_makes_no_scores_of_classes(named, expected):
    """A csv file with one empty cell in a column of 0, 1, 2 comes as fractions."""
    rows = pairs(60, label=[None if n == 7 else float(n % 3) for n in range(60)])
    with pytest.warns(FairnessWarning, match="1 of 60 train rows lack a text or 'label'"):
        found = read_pairs(rows, class_names=named)
    assert (found.classes, found.label_names) == (True, expected)
    assert set(found.parts["train"]["label"]) == {0, 1, 2}
    assert not read_pairs(pairs(60, label=[n % 3 + 0.5 for n in range(60)])).classes


def test_rows_without_a_text_or_label_are_left_out_and_counted():
    columns = refine_case.rows(60)
    columns["premise"][3], columns["hypothesis"][4], columns["label"][5] = None, " ", None
    columns["label"][6] = "-"
    with pytest.warns(FairnessWarning) as said:
        found = read_pairs(Dataset.from_dict(columns), Dataset.from_dict(refine_case.rows(9)))
    assert len(found.parts["train"]) == 56
    assert found.counts == {"n_rows": 60, "n_train_left_out": 4, "n_test_left_out": 0}
    assert "3 of 60 train rows lack a text or 'label'" in str(said[0].message)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"text": ["a"] * 30, "label": [0, 1] * 15}, {}, "need the text columns premise, hypothesis"),
        ({**refine_case.rows(30), "label": [1] * 30}, {}, "All training rows have one value in 'label'"),
        (refine_case.rows(8), {"test_rows": 2}, "rows are left to train on, expected 20 or more"),
        (refine_case.rows(30), {"label_column": "score"}, "no column 'score'"),
        (refine_case.rows(30), {"text_column": ["premise"]}, "Name two"),
        ({**refine_case.rows(30), "premise": [None] * 30}, {}, "None of the 30 train rows"),
    ],
)
def test_rows_that_cannot_be_trained_on_are_refused(columns, options, message):
    with pytest.raises(ValueError, match=message):
        read_pairs(Dataset.from_dict(columns), **options)


@pytest.mark.parametrize(("kind", "gone", "added"), [("sub", 20, 0), ("aug", 0, 20), ("replace", 20, 20)])
@pytest.mark.parametrize("seed", [None, 0])
def test_each_corpus_and_its_control_are_of_the_size_that_is_said(kind, gone, added, seed):
    texts = [f"{who} {n}" for n in range(100) for who in ("He sees", "She sees")]
    rows = Dataset.from_dict({"premise": texts, "hypothesis": [f"{t} here" for t in texts], "label": [0.5] * 200})
    scores = np.arange(200) / 200
    taken = Dataset.from_dict({**rows.select(range(180, 200)).to_dict()})
    rows = rows.map(lambda row, n: {"premise": f"{row['premise']} {n}"}, with_indices=True)  # no row is another's swap
    found, counts = refine_rows(rows, kind, 90.0, scores, ("premise", "hypothesis"), SWAP, random_seed=seed)
    assert (counts["n_left_out"], counts["n_added"]) == (gone, added)
    assert len(found) == counts["n_train"] == 200 - gone + added
    assert counts["share_changed"] == pytest.approx((gone + added) / 200)
    assert found.column_names == ["premise", "hypothesis", "label"]
    if gone and seed is None:
        assert not set(taken["premise"]) & {text.rpartition(" ")[0] for text in found["premise"][:180]}


def test_scores_of_texts_and_words_follow_the_formula():
    """Cosines of 0.6 with the direction at importances of a third each; a word of the exclusion list carries none."""
    vectors = {"he": [-1, 0], "she": [1, 0], "a": [0, 1], "nurse": [0.6, 0.8], "boxer": [-0.6, 0.8]}
    scorer = make_scorer(vectors, direction=bias_direction(vectors, [("he", "she")]), importance="mean")
    texts = [f"a nurse {n}" for n in range(6)] + ["she", "a boxer"]
    scored = CorpusScores.of([*texts, *texts], scorer)
    assert scored.texts == texts
    assert scored.sides[6].tolist() == [0.0, 0.0]
    assert (scored.sides[:6, 1] > 0.2).all()
    assert scored.sides[7, 0] == pytest.approx(-scored.sides[0, 1])
    rows = Dataset.from_dict({"one": ["she", "a boxer"], "two": ["a nurse 0", "she"]})
    assert scored.rows(rows, ("one", "two")) == pytest.approx([scored.sides[0, 1]] * 2)
    (_, first, *others) = scored.word_table(("male", "female"))
    assert first[:4] == ("nurse", "female", "6", "+0.600")
    assert others == []  # a boxer stands in one text


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"percentiles": [100.0]}, "--percentiles holds 100, expected"),
        ({"refinements": ["add"]}, "expected some of sub, aug, replace"),
        ({"refinements": []}, "refinements is empty"),
        ({"percentiles": []}, r"at percentiles \(none\)"),
        ({"main_arm": "sub-42"}, "main_arm is 'sub-42', expected one of"),
        ({"text_column": ["one"]}, "expected the names of two columns"),
        ({"n_bias_texts": 0}, "n_bias_texts is 0, expected 1 or more"),
        ({"names": "nowhere.csv"}, "there is no such file"),
        ({"validation_split": "dev"}, "--validation_split cannot be set here: no encoder is chosen by it"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(told, message):
    with pytest.raises(ValueError, match=message):
        RefineArguments(model_name_or_path="m", **told)


def test_the_main_arm_comes_first():
    assert list(RefineArguments(model_name_or_path="m").refined_arms)[:2] == ["sub-95", "sub-90"]
    few = RefineArguments(model_name_or_path="m", refinements=["aug"], percentiles=[80, 90.5, 80])
    assert list(few.refined_arms) == ["aug-80", "aug-90.5"]
    chosen = RefineArguments(model_name_or_path="m", main_arm="replace-97")
    assert next(iter(chosen.refined_arms)) == "replace-97"
    assert len(chosen.refined_arms) == 12


@pytest.mark.parametrize("name", ["save_strategy", "eval_strategy"])
def test_checkpoints_of_an_arm_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=f"--{name} cannot be set here"):
        RefineConfig(output_dir=str(tmp_path), use_cpu=True, **{name: "steps"})
