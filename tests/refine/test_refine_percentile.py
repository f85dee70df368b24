"""Subtraction, compensation and replacement at a percentile, on rows small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value

from hf_fairness import FairnessWarning
from hf_fairness.augment import parse_edits
from hf_fairness.refine import compensate, random_refine, random_subtract, replace, subtract
from hf_fairness.refine.percentile import threshold

TEXTS = {"text_columns": ["premise", "hypothesis"]}
SCORES = {"score_columns": ["premise_bias_absolute", "hypothesis_bias_absolute"]}
PROVENANCE = ["counterfactual", "edits", "source_row"]


def test_subtract_takes_the_pairs_whose_higher_score_lies_above_the_percentile(pairs):
    kept = subtract(pairs, percentile=50, **SCORES)
    assert kept.to_list() == pairs.to_list()[:5]
    assert kept.features == pairs.features


@pytest.mark.parametrize("percentile", [90, 93, 95, 97, 50.5])
def test_subtract_agrees_with_numpy_on_ties(percentile):
    scores = np.random.default_rng(0).integers(0, 60, 1000) / 60
    corpus = Dataset.from_dict({"row": range(1000), "score": scores})
    kept = subtract(corpus, percentile=percentile, score_columns="score")
    expected = np.flatnonzero(scores <= np.percentile(scores, percentile))
    assert 0 < len(expected) < 1000
    assert kept["row"][:] == expected.tolist()


def test_the_threshold_is_that_of_numpy_to_the_bit():
    rng = np.random.default_rng(0)
    for n in range(1, 60):
        scores = np.abs(rng.normal(size=n)) * 10.0 ** rng.integers(-9, 9)
        for percentile in (1, 50, 93, *rng.uniform(1, 100, 5)):
            assert threshold(scores, percentile) == np.percentile(scores, percentile)


def test_scores_may_be_an_array_of_either_shape(pairs):
    matrix = np.array([pairs[name] for name in SCORES["score_columns"]]).T
    wanted = subtract(pairs, percentile=70, **SCORES).to_list()
    assert subtract(pairs, percentile=70, scores=matrix).to_list() == wanted
    assert subtract(pairs, percentile=70, scores=matrix.max(axis=1).tolist()).to_list() == wanted


def test_signed_scores_count_by_their_size(pairs):
    assert subtract(pairs, percentile=89, scores=[0.0] * 9 + [-1.0])["premise"][:] == pairs["premise"][:9]


def test_integer_scores_are_numbers_too():
    corpus = Dataset.from_dict({"text": ["a", "b", "c"], "score": [1, 5, 2]})
    assert subtract(corpus, percentile=90, score_columns="score")["text"][:] == ["a", "c"]


def test_nothing_above_the_threshold_is_said():
    corpus = Dataset.from_dict({"text": ["He ran."] * 4, "score": [0.5] * 4})
    with pytest.warns(FairnessWarning, match="no row lies above the 95th percentile"):
        assert len(subtract(corpus, percentile=95, score_columns="score")) == 4
    with pytest.warns(FairnessWarning, match="no row lies above"):
        added = compensate(corpus, percentile=95, score_columns="score", text_columns="text")
    assert added["counterfactual"][:] == [False] * 4
    assert added.column_names == ["text", "score", *PROVENANCE]


def test_compensate_adds_the_swapped_pair_of_every_row_above_that_has_terms(pairs):
    result = compensate(pairs, percentile=50, **SCORES, **TEXTS)
    assert result.select(range(10)).select_columns(pairs.column_names).to_list() == pairs.to_list()
    added = result.select(range(10, len(result)))
    # Row 6 has no terms. Rows 7 and 8 are each other's counterfactual, which the corpus holds already.
    assert added["source_row"][:] == [5, 9]
    assert added["premise"][:] == ["A nurse smiles.", "The actor sings."]
    assert added["hypothesis"][:] == ["He is happy.", "It is quiet."]
    assert added["label"][:] == [0, 2]
    assert added["premise_bias_absolute"][:] == pairs.select([5, 9])["premise_bias_absolute"][:]


def test_compensate_says_where_every_row_comes_from(pairs):
    result = compensate(pairs, percentile=50, **SCORES, **TEXTS)
    assert result.column_names == [*pairs.column_names, *PROVENANCE]
    assert result.features == Features(
        {
            **pairs.features,
            "counterfactual": Value("bool"),
            "edits": Value("string"),
            "source_row": Value("int64"),
        }
    )
    assert result["counterfactual"][:] == [False] * 10 + [True] * 2
    assert result["source_row"][:10] == list(range(10))
    assert result["edits"][:10] == ["[]"] * 10
    edit = parse_edits(result["edits"][10])[0]
    assert (edit.source, edit.target, edit.direction, edit.column) == ("She", "He", "female->male", "hypothesis")


def test_equal_rows_are_added_once():
    corpus = Dataset.from_dict({"text": ["Rain.", "She ran.", "She ran.", "Sun."], "score": [0.0, 0.9, 0.8, 0.1]})
    result = compensate(corpus, percentile=50, score_columns="score", text_columns="text")
    assert result["text"][4:] == ["He ran."]


def test_compensate_twice_is_refused(pairs):
    once = compensate(pairs, percentile=50, **SCORES, **TEXTS)
    with pytest.raises(ValueError, match="already has the column 'counterfactual', as after an earlier refinement"):
        compensate(once, percentile=50, **SCORES, **TEXTS)
    with pytest.raises(ValueError, match="already has the column"):
        replace(once, percentile=50, **SCORES, **TEXTS)


def test_compensate_again_would_add_nothing(pairs):
    once = compensate(pairs, percentile=50, **SCORES, **TEXTS).remove_columns(PROVENANCE)
    scores = [1.0 if row >= 5 else 0.0 for row in range(len(once))]  # what was above, and what was added
    again = compensate(once, percentile=40, scores=scores, **TEXTS)
    assert not any(again["counterfactual"])
    assert len(again) == len(once)


def test_replace_is_what_subtract_keeps_and_compensate_adds(pairs):
    result = replace(pairs, percentile=50, **SCORES, **TEXTS)
    added = compensate(pairs, percentile=50, **SCORES, **TEXTS)
    assert result.to_list() == added.select([*range(5), 10, 11]).to_list()
    assert result.features == added.features


def test_the_percentile_decides_how_much_is_added(pairs):
    """Above .75 lie rows 8 and 9; the counterfactual of 8 is row 7."""
    assert compensate(pairs, percentile=80, **SCORES, **TEXTS)["source_row"][10:] == [9]


def test_options_of_the_swap_are_passed_on():
    corpus = Dataset.from_dict({"text": ["Rain.", "She met James."], "score": [0.0, 1.0]})
    options = {"percentile": 50, "score_columns": "score", "text_columns": "text"}
    assert compensate(corpus, **options)["text"][2] == "He met James."
    assert compensate(corpus, **options, names=True)["text"][2] not in ("He met James.", "She met James.")
    assert len(compensate(corpus, **options, target="female")) == 2  # nobody else to write


def test_a_label_that_says_the_group_is_guarded():
    corpus = Dataset.from_dict(
        {"text": ["Rain.", "She ran."], "who": [2, 1], "score": [0.0, 1.0]},
        features=Features(
            {
                "text": Value("string"),
                "who": ClassLabel(names=["male", "female", "nobody"]),
                "score": Value("float64"),
            }
        ),
    )
    options = {"percentile": 50, "score_columns": "score", "text_columns": "text", "label_column": "who"}
    names = corpus.features["who"].names
    with pytest.raises(ValueError, match="says a group of attribute 'gender'"):
        compensate(corpus, **options, label_names=names)
    swapped = compensate(corpus, **options, label_names=names, on_label="swap")
    assert (swapped["text"][2], swapped["who"][2]) == ("He ran.", 0)
    assert swapped.features["who"] == corpus.features["who"]
    marked = compensate(corpus, **options, label_names=names, on_label="mark")
    assert marked["label_preserved"][:] == [True, True, False]


def test_other_columns_are_copied_as_they_are(tmp_path):
    """Images are not decoded, lists stay lists, None stays None."""
    (tmp_path / "no.png").write_bytes(b"not a picture")
    corpus = Dataset.from_dict(
        {
            "text": ["Rain.", "She ran."],
            "score": [0.0, 1.0],
            "tags": [[], ["a", "b"]],
            "note": ["x", None],
            "image": [str(tmp_path / "no.png")] * 2,
        },
        features=Features(
            {
                "text": Value("string"),
                "score": Value("float64"),
                "tags": List(Value("string")),
                "note": Value("string"),
                "image": Image(),
            }
        ),
    )
    result = compensate(corpus, percentile=50, score_columns="score", text_columns="text")
    assert result.features["image"] == Image()
    row = result.remove_columns("image")[2]
    assert (row["text"], row["tags"], row["note"], row["source_row"]) == ("He ran.", ["a", "b"], None, 1)


def test_the_format_is_kept(pairs):
    for result in (
        compensate(pairs.with_format("numpy"), percentile=50, **SCORES, **TEXTS),
        replace(pairs.with_format("numpy"), percentile=50, **SCORES, **TEXTS),
    ):
        assert isinstance(result[0]["label"], np.int64)
        assert result.format["columns"] == result.column_names
    some = compensate(pairs.with_format("numpy", columns=["label"]), percentile=50, **SCORES, **TEXTS)
    assert list(some[0]) == ["label"]
    assert len(subtract(pairs.with_format("numpy"), percentile=50, **SCORES)) == 5


def test_shuffled_and_selected_data_sets_are_read_by_their_rows(pairs):
    shuffled = pairs.shuffle(seed=3)
    result = compensate(shuffled, percentile=50, **SCORES, **TEXTS)
    assert sorted(result["premise"]) == sorted(compensate(pairs, percentile=50, **SCORES, **TEXTS)["premise"])
    for row in result.select(range(10, len(result))):
        assert shuffled[row["source_row"]]["label"] == row["label"]


def test_random_subtract_is_seeded_and_as_large_as_asked(pairs):
    sub = subtract(pairs, percentile=70, **SCORES)
    control = random_subtract(pairs, like=sub, seed=1)
    assert len(control) == len(sub) == 7
    assert control.to_list() == random_subtract(pairs, n=3, seed=1).to_list()
    rows = [pairs.to_list().index(row) for row in control]
    assert rows == sorted(rows)
    assert len({tuple(random_subtract(pairs, n=3, seed=seed)["premise"]) for seed in range(8)}) > 1
    assert random_subtract(pairs, n=0).to_list() == pairs.to_list()


@pytest.mark.parametrize("percentile", [0, 100, -5, 101, 0.95, float("nan"), float("inf")])
def test_a_percentile_out_of_range_is_an_error(pairs, percentile):
    for call in (lambda **k: subtract(pairs, **k), lambda **k: compensate(pairs, **k, **TEXTS)):
        with pytest.raises(ValueError, match=r"percentile must lie in \[1, 100\), in per cent"):
            call(percentile=percentile, **SCORES)


@pytest.mark.parametrize("percentile", ["95", None, True, [95]])
def test_a_percentile_that_is_no_number_is_an_error(pairs, percentile):
    with pytest.raises(TypeError, match="percentile must be a number"):
        subtract(pairs, percentile=percentile, **SCORES)


def test_wrong_scores_are_errors(pairs):
    with pytest.raises(TypeError, match="give score_columns or scores, and not both"):
        subtract(pairs, percentile=95)
    with pytest.raises(TypeError, match="give score_columns or scores, and not both"):
        subtract(pairs, percentile=95, scores=[0.0] * 10, **SCORES)
    with pytest.raises(ValueError, match=r"no column 'bias' for score_columns. Columns: premise, hypothesis, label"):
        subtract(pairs, percentile=95, score_columns="bias")
    with pytest.raises(TypeError, match="'premise' holds string, wanted numbers"):
        subtract(pairs, percentile=95, score_columns="premise")
    with pytest.raises(TypeError, match="name of a column, or a list of names; got 3"):
        subtract(pairs, percentile=95, score_columns=3)
    with pytest.raises(ValueError, match="one entry per row; got 2 for 10 rows"):
        subtract(pairs, percentile=95, scores=[0.1, 0.2])
    with pytest.raises(ValueError, match="scores must be numbers"):
        subtract(pairs, percentile=95, scores=["a"] * 10)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
def test_a_score_that_is_no_number_is_an_error(bad):
    corpus = Dataset.from_dict({"text": ["a", "b", "c"], "score": [0.1, bad, 0.2]})
    with pytest.raises(ValueError, match=r"'score' holds 1 value.* NaN or infinite, the first in row 1"):
        subtract(corpus, percentile=95, score_columns="score")


def test_wrong_texts_are_errors(pairs):
    with pytest.raises(ValueError, match="no column 'text' for text_columns"):
        compensate(pairs, percentile=50, text_columns="text", **SCORES)
    with pytest.raises(ValueError, match="names a column twice"):
        compensate(pairs, percentile=50, text_columns=["premise", "premise"], **SCORES)
    with pytest.raises(TypeError, match="Expected a text"):
        compensate(pairs, percentile=50, text_columns="label", **SCORES)


@pytest.mark.parametrize(
    "call",
    [
        lambda data: subtract(data, percentile=95, score_columns="score"),
        lambda data: compensate(data, percentile=95, score_columns="score", text_columns="text"),
        lambda data: replace(data, percentile=95, score_columns="score", text_columns="text"),
        lambda data: random_subtract(data, n=1),
    ],
)
def test_what_is_no_corpus_is_an_error(call):
    rows = Dataset.from_dict({"text": ["a", "b"], "score": [0.0, 1.0]})
    with pytest.raises(TypeError, match=r"got a DatasetDict with splits train, test. Select one, .* dataset\['train"):
        call(DatasetDict({"train": rows, "test": rows}))
    with pytest.raises(TypeError, match="needs the whole corpus, and a stream shows one row at a time"):
        call(rows.to_iterable_dataset())
    with pytest.raises(TypeError, match=r"takes a datasets.Dataset, got dict"):
        call({"text": ["a"], "score": [0.0]})
    with pytest.raises(ValueError, match="the data set has no rows"):
        call(rows.select([]))


def test_random_subtract_says_what_it_wants(pairs):
    with pytest.raises(TypeError, match="give n or like, and not both"):
        random_subtract(pairs)
    with pytest.raises(TypeError, match="n must be a whole number"):
        random_subtract(pairs, n=0.5)
    with pytest.raises(ValueError, match=r"wanted n in \[0, 10\) for a corpus of 10 rows, got 10"):
        random_subtract(pairs, n=10)
    with pytest.raises(ValueError, match="wanted like with 1 to 10 rows for a corpus of 10 rows, got 20"):
        random_subtract(pairs, like=Dataset.from_dict({"a": range(20)}))


@pytest.mark.parametrize("make", [subtract, compensate, replace])
def test_a_random_refinement_is_of_equal_size_and_of_other_rows(make):
    draws = np.random.default_rng(0)
    texts = [f"{draws.choice(['He', 'She', 'Rain'])} {word} {place}" for place, word in enumerate(["ran", "sat"] * 100)]
    corpus, scores = Dataset.from_dict({"text": texts}), draws.random(200)
    options = {} if make is subtract else {"text_columns": "text"}
    like = make(corpus, percentile=90, scores=scores, **options)
    found = random_refine(corpus, like=like, text_columns="text", seed=1)

    def parts(rows):
        added = rows["counterfactual"][:] if make is not subtract else [False] * len(rows)
        return [[text for text, new in zip(rows["text"], added, strict=True) if new is side] for side in (False, True)]

    assert [len(part) for part in parts(found)] == [len(part) for part in parts(like)]
    assert parts(found)[0] != parts(like)[0] or parts(found)[1] != parts(like)[1]
    assert found.column_names == like.column_names
    assert found["text"][:] == random_refine(corpus, like=like, text_columns="text", seed=1)["text"][:]
    assert found["text"][:] != random_refine(corpus, like=like, text_columns="text", seed=2)["text"][:]
    if make is replace:  # the sources of what is added have gone
        assert not {texts[row] for row in found["source_row"][len(parts(found)[0]) :]} & set(parts(found)[0])


def test_a_random_refinement_says_where_too_few_rows_can_be_swapped():
    corpus = Dataset.from_dict({"text": ["He ran.", "She sat.", "Rain."]})
    like = Dataset.from_dict({"text": [""] * 6, "counterfactual": [False] * 3 + [True] * 3})
    with pytest.warns(FairnessWarning, match="2 rows of the corpus can be swapped, and 3 are wanted"):
        found = random_refine(corpus, like=like, text_columns="text")
    assert found["counterfactual"][:] == [False] * 3 + [True] * 2


def test_a_random_refinement_of_another_corpus_is_refused():
    corpus = Dataset.from_dict({"text": ["He ran.", "Rain."]})
    with pytest.raises(ValueError, match="like holds 3 rows of a corpus of 2"):
        random_refine(corpus, like=Dataset.from_dict({"text": ["a", "b", "c"]}), text_columns="text")
