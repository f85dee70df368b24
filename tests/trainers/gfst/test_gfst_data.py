"""Rows of a GFST run: drawn with a seed, repeated where there are too few, labelled alike in any batch."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from datasets import Dataset

from hf_fairness.filters import PairLength, SourceGender, drops
from hf_fairness.report.text import shown_name
from hf_fairness.trainers.gfst.pairs import as_rows, drawn, group_reasons, kept, per_group, reasons_of

GROUPS = ("male", "female")


def rows(n: int) -> Dataset:
    """Numbered rows, every third of them male."""
    return Dataset.from_dict(
        {"source": [str(k) for k in range(n)], "source_gender": ["female" if k % 3 else "male" for k in range(n)]}
    )


def test_a_smaller_draw_is_part_of_a_larger_one():
    small, large = (set(per_group(rows(60), {"male": n, "female": n}, seed=3)["source"][:]) for n in (5, 15))
    assert len(small) == 10
    assert small < large
    assert small != set(per_group(rows(60), {"male": 5, "female": 5}, seed=4)["source"][:])


def test_rows_are_used_equally_often_where_there_are_too_few():
    counts = Counter(drawn(rows(7), 17, seed=0)["source"][:])
    assert len(counts) == 7
    assert set(counts.values()) == {2, 3}
    assert len(set(drawn(rows(7), 5, seed=0)["source"][:])) == 5


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_reasons_do_not_depend_on_the_batch(texts, batch_size):
    found = texts
    for each in (PairLength("text", None), SourceGender(), partial(group_reasons, "source_gender", GROUPS)):
        found = found.map(each, batched=True, batch_size=batch_size)
    counts = drops(found, reasons_of(found), minimum=0)
    assert (counts["kept"], counts["reasons"]) == (
        300,
        {"empty": 2, "mixed": 1, "none": 1, "encoding": 1, "too_long": 1},
    )
    assert kept(found).column_names == ["text", "source_gender"]


def test_another_group_than_the_wanted_one_is_a_reason():
    batch = {"found": ["female", "male", "none"], "source_gender": ["female"] * 3}
    assert group_reasons("found", GROUPS, batch) == {"group_reason": ["", "other_group", "none"]}


def test_other_columns_are_left_out():
    given = Dataset.from_dict({"id": [1, 2], "source": ["a", None], "target": ["b", "c"]})
    assert as_rows(given, ("source", "target"), "pairs")[:] == {"source": ["a", ""], "target": ["b", "c"]}
    with pytest.raises(TypeError, match="takes one Dataset, got a dict with splits train"):
        as_rows({"train": given}, ("source",), "pairs")


def test_names_hide_folders(tmp_path):
    for name in ("a.en", "a.it"):
        (tmp_path / name).write_text("x")
    assert shown_name(f"{tmp_path / 'a.en'},{tmp_path / 'a.it'}") == "a.en,a.it"
    assert shown_name("org/data") == "org/data"
