"""Lengths and encodings of pairs, and the counts of what was kept and dropped."""

from __future__ import annotations

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.filters import Kept, OneGroup, PairLength, TooFewPairsError, drops
from hf_fairness.filters.pair_length import readable
from hf_fairness.scores.statistics import share_interval


def reason(source: str, target: str, **options: float) -> str:
    return PairLength(**options)({"source": source, "target": target})["length_reason"]


# --- lengths


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a b", "a b c", ""),  # 1.5
        ("a b", "a b c d", "length_ratio"),
        ("a b c d", "a b", "length_ratio"),
        ("", "a", "empty"),
        ("a", " \t\u00a0", "empty"),
        ("a " * 250, "b " * 250, ""),
        ("a " * 251, "b " * 250, "too_long"),
        ("a " * 250, "b " * 251, "too_long"),
        ("word " * 10_000, "mot " * 10_000, "too_long"),
        ("a" * 10_000, "b", ""),
        ("l'amica è qui.", "the friend is here.", ""),  # 5 tokens each
        ("e\u0301te\u0301", "summer", ""),  # accents apart
        ("she is here", "वह यहाँ है", ""),  # vowel signs
        ("I want it", "می\u200cخواهم آن را", ""),  # a joiner inside a word
        ("\ufffd", "", "encoding"),  # the first reason
    ],
)
def test_reasons(source: str, target: str, expected: str) -> None:
    assert reason(source, target) == expected


def test_limits() -> None:
    assert reason("a b c", "d e f g", max_tokens=3) == "too_long"
    assert reason("a", "b c", max_ratio=2.0) == ""
    for options in ({"max_tokens": 0}, {"max_ratio": 0.5}, {"max_ratio": float("nan")}):
        with pytest.raises(ValueError, match="must be at least 1"):
            PairLength(**options)
    with pytest.raises(ValueError, match="names a column twice"):
        PairLength("text", "text")


@given(source=st.text(alphabet="ab '.", max_size=30), target=st.text(alphabet="ab '.", max_size=30))
def test_sides_are_alike(source: str, target: str) -> None:
    assert reason(source, target) == reason(target, source)
    assert (reason(source, source) == "") == bool(source.strip())


# --- encodings


@pytest.mark.parametrize(
    "text",
    [
        "Très bien, dit-elle : « ÇA VA »",
        "CAFÉ» “IRMÃO” São Paulo ÄÖÜß Åse × 3 ÐÞ 10 °C",
        "Врач сказала… הרופאה אמרה 医生 😀 e\u0301",
        "tab\tline\r\nnext\x85",
        "",
    ],
)
def test_readable_texts(text: str) -> None:
    assert readable(text)


@pytest.mark.parametrize("text", ["Très bien", "È vero", "don’t", "“yes”", "Врач сказала", "הרופאה", "10 °C", "a – b"])
@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
def test_mojibake_is_found(text: str, wrong: str) -> None:
    assert readable(text)
    assert not readable(text.encode("utf-8").decode(wrong, "replace" if wrong == "cp1252" else "strict"))


@pytest.mark.parametrize("code", [0, 7, 0x1B, 0x7F, 0x80, 0x9F, 0xD800, 0xDFFF, 0xFFFD, 0xFFFE, 0xFFFF])
def test_characters_that_no_text_has(code: int) -> None:
    assert not readable(f"She left{chr(code)}.")
    assert reason(f"She left{chr(code)}.", "Elle part.") == reason("She left.", f"Elle{chr(code)} part.") == "encoding"


# --- what is kept

ROWS = {
    "id": list(range(8)),
    "source_gender": ["female", "female", "female", "male", "male", "male", "mixed", "none"],
    "length_reason": ["", "", "empty", "", "", "", "", ""],
    "target_reason": [
        "",
        "opposite_gender",
        "opposite_gender",
        "",
        "",
        "no_word_of_gender",
        "source_mixed",
        "source_none",
    ],
}
COLUMNS = ["length_reason", "target_reason"]


@pytest.mark.parametrize("kind", ["dataset", "stream", "rows"])
def test_counts(kind: str) -> None:
    data = Dataset.from_dict(ROWS)
    found = drops({"dataset": data, "stream": data.to_iterable_dataset(), "rows": list(data)}[kind], COLUMNS)
    assert (found["n"], found["kept"], found["kept_share"]) == (8, 3, 3 / 8)
    assert found["reasons"] == {
        "empty": 1,
        "no_word_of_gender": 1,
        "opposite_gender": 1,
        "source_mixed": 1,
        "source_none": 1,
    }
    assert found["by_gender"]["female"] == {
        "n": 3,
        "kept": 1,
        "kept_share": 1 / 3,
        "kept_share_ci95": pytest.approx(share_interval(1, 3)),
        "reasons": {"empty": 1, "opposite_gender": 1},
    }
    assert found["by_gender"]["mixed"]["kept"] == 0
    assert list(found["by_gender"]) == ["female", "male", "mixed", "none"]
    assert "by_gender" not in drops(data, COLUMNS, gender_column=None)


@pytest.mark.parametrize(("kept", "n"), [(0, 1), (1, 1), (0, 500), (500, 500), (7, 30)])
def test_the_interval_is_that_of_the_scores(kept: int, n: int) -> None:
    rows = [{"r": "" if place < kept else "x"} for place in range(n)]
    found = drops(rows, "r", gender_column=None, minimum=0)
    assert found["kept_share_ci95"] == pytest.approx(share_interval(kept, n), abs=1e-12)


def test_rows_are_kept() -> None:
    data = Dataset.from_dict(ROWS)
    for batched in (True, False):
        for rows in (data, data.to_iterable_dataset()):
            assert [row["id"] for row in rows.filter(Kept(*COLUMNS), batched=batched)] == [0, 3, 4]
            assert [row["id"] for row in rows.filter(OneGroup(), batched=batched)] == list(range(6))
            chosen = rows.filter(OneGroup(groups=["female", "mixed"]), batched=batched)
            assert [row["id"] for row in chosen] == [0, 1, 2, 6]


def test_too_few_pairs_are_an_error() -> None:
    data = Dataset.from_dict(ROWS)
    with pytest.raises(
        TooFewPairsError, match=r"kept 1 of 3 pairs \(female\), fewer than minimum=2: empty 1, opp"
    ) as told:
        drops(data, COLUMNS, minimum=2)
    assert told.value.summary["by_gender"]["male"]["kept"] == 2
    assert isinstance(told.value, ValueError)
    assert drops(data, COLUMNS, groups=["male"], minimum=2)["kept"] == 3
    with pytest.raises(TooFewPairsError, match=r"kept 0 of 0 pairs \(other\).*there were no rows"):
        drops(data, COLUMNS, groups=["male", "other"])
    empty = data.filter(OneGroup(groups=["nobody"]))
    with pytest.raises(TooFewPairsError, match=r"0 of 0 pairs \(all genders\)"):
        drops(empty, COLUMNS)
    assert drops(empty, COLUMNS, minimum=0) == {
        "n": 0,
        "kept": 0,
        "kept_share": None,
        "reasons": {},
        "by_gender": {},
        "meta": drops(data, COLUMNS)["meta"] | {"n": 0},
    }


def test_what_is_wrong_is_said() -> None:
    data = Dataset.from_dict(ROWS)
    with pytest.raises(ValueError, match=r"drops: no column 'reason'. Columns: id, source_gender"):
        drops(data, "reason")
    with pytest.raises(ValueError, match="drops: no column 'reason'"):
        drops(list(data), "reason")
    with pytest.raises(ValueError, match="Kept: no column 'reason'"):
        data.filter(Kept("reason"), batched=True)
    with pytest.raises(ValueError, match="needs the columns of reasons"):
        drops(data, [])
    with pytest.raises(ValueError, match="needs the columns of reasons"):
        Kept()


def test_filters_read_rows_that_a_file_gave_back():
    """An empty text in a csv file is None when it is read; a row without a label is of no group."""
    for function, column, values, wanted in (
        (Kept("reason"), "reason", [None, "", "empty"], [True, True, False]),
        (OneGroup("label"), "label", [None, "none", "male"], [False, False, True]),
    ):
        assert function({column: values}) == wanted
        assert [function({column: value}) for value in values] == wanted
