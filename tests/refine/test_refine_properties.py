"""What holds for any corpus: the choice of rows depends on scores alone, and nothing is lost or doubled."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from datasets import Dataset, disable_progress_bars, enable_progress_bars
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.refine import balance, compensate, random_subtract, replace, split, subtract

TEXTS = ("He ran.", "She ran.", "Rain.", "A man saw his aunt.", "The actress left.", "")
ROWS = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from((0.0, 0.1, 0.2, 0.5, 0.9))), min_size=1, max_size=25)
LEVELS = st.sampled_from((1, 50, 90, 95, 99.9))
SETTINGS = settings(max_examples=40)


def setup_module():
    disable_progress_bars()


def teardown_module():
    enable_progress_bars()


def corpus(rows) -> Dataset:
    texts, scores = zip(*rows, strict=True)
    return Dataset.from_dict({"text": texts, "score": scores, "row": range(len(rows))})


def quiet(function, *arguments, **options):
    """Ties may leave nothing above: said, and no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


@SETTINGS
@given(ROWS, LEVELS, st.randoms(use_true_random=False))
def test_the_kept_rows_do_not_depend_on_the_order(rows, level, random):
    data = corpus(rows)
    order = list(range(len(rows)))
    random.shuffle(order)
    kept = quiet(subtract, data, percentile=level, score_columns="score")
    shuffled = quiet(subtract, data.select(order), percentile=level, score_columns="score")
    assert set(kept["row"]) == set(shuffled["row"])
    assert kept["row"][:] == sorted(kept["row"])
    scores = np.array([score for _, score in rows])
    assert len(kept) == (scores <= np.percentile(scores, level)).sum()


@SETTINGS
@given(ROWS, LEVELS, st.randoms(use_true_random=False))
def test_the_added_texts_do_not_depend_on_the_order(rows, level, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    options = {"percentile": level, "score_columns": "score", "text_columns": "text"}
    results = [quiet(compensate, data, **options) for data in (corpus(rows), corpus(rows).select(order))]
    added = [{text for text, flag in zip(r["text"], r["counterfactual"], strict=True) if flag} for r in results]
    assert added[0] == added[1]


@SETTINGS
@given(ROWS, LEVELS)
def test_compensate_keeps_all_and_adds_no_text_twice(rows, level):
    data = corpus(rows)
    options = {"percentile": level, "score_columns": "score", "text_columns": "text"}
    result = quiet(compensate, data, **options)
    n = len(data)
    assert result.select(range(n)).select_columns(data.column_names).to_list() == data.to_list()
    added = result["text"][n:]
    assert len(set(added)) == len(added)
    assert not set(added) & set(data["text"])
    kept = quiet(subtract, data, percentile=level, score_columns="score")
    replaced = quiet(replace, data, **options)
    assert replaced["row"][: len(kept)] == kept["row"][:]
    assert replaced["text"][len(kept) :] == added


@SETTINGS
@given(st.integers(3, 40), st.integers(0, 10), st.integers(0, 10), st.integers(0, 5), st.integers(1, 8))
def test_a_split_is_a_partition_that_keeps_groups_whole(n, validation, test, seed, groups):
    data = Dataset.from_dict({"row": range(n), "group": [row % groups for row in range(n)]})
    validation, test = min(validation, n // 3), min(test, n // 3)
    parts = split(data, validation=validation, test=test, seed=seed)
    assert sorted(row for part in parts.values() for row in part["row"]) == list(range(n))
    assert len(parts.get("validation", ())) == validation
    assert len(parts.get("test", ())) == test
    try:
        held = quiet(split, data, validation=validation, test=test, seed=seed, together="group")
    except ValueError:
        assert min(Counter(data["group"]).values()) > min(x for x in (validation, test) if x) or test
        return
    found = [set(part["group"]) for part in held.values()]
    assert sum(map(len, found)) == len(set().union(*found))
    assert sorted(row for part in held.values() for row in part["row"]) == list(range(n))


@SETTINGS
@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=30), st.integers(0, 5), st.sampled_from(("up", "down")))
def test_balance_makes_all_groups_alike(groups, seed, method):
    if len(set(groups)) < 2:
        groups = [*groups, *"ab"]
    data = Dataset.from_dict({"group": groups})
    counts = Counter(balance(data, group_column="group", method=method, seed=seed)["group"])
    assert set(counts.values()) == {(max if method == "up" else min)(Counter(groups).values())}


@SETTINGS
@given(st.integers(1, 50), st.data(), st.integers(0, 9))
def test_a_random_subtraction_is_a_subset_of_the_size_asked_for(n, data, seed):
    number = data.draw(st.integers(0, n - 1))
    kept = random_subtract(Dataset.from_dict({"row": range(n)}), n=number, seed=seed)["row"][:]
    assert len(kept) == n - number
    assert kept == sorted(set(kept))
