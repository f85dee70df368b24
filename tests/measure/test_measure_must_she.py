"""MuST-SHE from translations: the file, the terms, the labels."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from hf_fairness.measure.translator.must_she import must_she, read_must_she, term_counts

HEADER = "ID\tLANG\tTALK\tSRC\tREF\tWRONG-REF\tSPEAKER\tGENDER\tCATEGORY\tCOMMENT\tFREE-REF\tGENDERTERMS"
LINES = [
    "it-1\tit\tted_1\tI was alone.\tEro sola.\tEro solo.\tA\tShe\t1F\t\t\tsola solo",
    'it-2\tit\tted_1\tHe said "a friend".\tDisse "un amico".\tDisse "una amica".\tA\tShe\t2M\t\t\tun una;amico amica',
]


def test_the_published_format(tmp_path):
    path = tmp_path / "must_she.tsv"
    path.write_text("\n".join([HEADER, *LINES]) + "\n", encoding="utf-8")
    rows = read_must_she(path)
    assert rows[1]["category"] == "2M"
    assert rows[1]["reference"] == 'Disse "un amico".'  # a quotation mark is a character as any other
    assert rows[1]["gender_terms"] == "un una;amico amica"
    right = must_she([row["reference"] for row in rows], rows)
    assert (right["accuracy"], right["delta_accuracy"], right["term_coverage"]) == (1.0, 1.0, 1.0)
    wrong = must_she([row["wrong_reference"] for row in rows], rows)
    assert (wrong["accuracy"], wrong["delta_accuracy"], wrong["term_coverage"]) == (0.0, -1.0, 1.0)
    path.write_text(HEADER.replace("GENDERTERMS", "TERMS") + "\n")
    with pytest.raises(ValueError, match="no column GENDERTERMS"):
        read_must_she(path)


def test_quality_against_both_references(tmp_path):
    pytest.importorskip("sacrebleu")
    path = tmp_path / "must_she.tsv"
    path.write_text("\n".join([HEADER, *LINES]) + "\n", encoding="utf-8")
    rows = read_must_she(path)
    found = must_she([row["reference"] for row in rows], rows, quality=True, n_bootstrap=20)["translation_quality"]
    assert found["correct"]["chrf"] == pytest.approx(1.0)
    assert found["wrong"]["chrf"] < 0.9
    with pytest.raises(ValueError, match=r"'reference' in every row; references\[0\]"):
        must_she(["a"], [{"category": "1F", "gender_terms": "a b"}], quality=True)


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("Era SOLA, credo.", [("sola", "solo")], [1, 1, 1, 0]),
        ("Un'amica.", [("un'", "un"), ("amica", "amico")], [2, 2, 2, 0]),
        ("L’étudiante", [("étudiante", "étudiant")], [1, 1, 1, 0]),
        ("la la", [("la", "il"), ("la", "lo"), ("la", "un")], [3, 2, 2, 0]),  # a word is used once
        ("una un", [("una", "un")], [1, 1, 1, 1]),  # both forms: found once
        ("consolato", [("sola", "solo")], [1, 0, 0, 0]),  # whole words only
        ("", [("a", "b")], [1, 0, 0, 0]),
    ],
)
def test_terms_in_a_text(text, terms, expected):
    assert term_counts(text, terms) == expected


def test_tokenized_text_is_split_at_spaces_only():
    assert term_counts("un' amica .", [("un'", "un"), ("amica", "amico")], tokenized=True) == [2, 2, 2, 0]
    assert term_counts("amica.", [("amica", "amico")], tokenized=True) == [1, 0, 0, 0]


def test_rows_of_your_own_and_items():
    rows = [{"category": "speaker", "gender": "x", "gender_terms": [["a", "b"], ("c", "d")]}]
    result = must_she(["a d"], rows, items=True)
    assert result["genders"]["x"]["delta_accuracy"] == 0.0
    assert result["category_genders"]["speakerx"]["n_terms"] == 2
    assert result["items"] == [{"n_terms": 2, "n_found": 2, "n_correct": 1, "n_wrong": 1}]


def test_comparison():
    rows = [{"category": "1F", "gender_terms": "a b"}] * 4
    found = must_she(["a"] * 4, rows, compare_to=["b"] * 4)["comparison"]
    assert found["delta_accuracy"]["difference"] == 2.0
    assert found["accuracy"]["p_value"] == 1 / 8


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"category": "1F"}, "no gender_terms"),
        ({"category": "1F", "gender_terms": "one"}, "one word each"),
        ({"category": "1F", "gender_terms": "one two three"}, "one word each"),
        ({"gender_terms": "a b"}, "needs a category"),
        ({"category": "1", "gender_terms": "a b"}, "needs a category"),
    ],
)
def test_errors_name_the_row(row, message):
    with pytest.raises(ValueError, match=rf"references\[0\].*{message}"):
        must_she(["a"], [row])


def test_a_byte_order_mark_and_decomposed_letters(tmp_path):
    path = tmp_path / "must_she.tsv"
    path.write_text("\n".join([HEADER, *LINES]) + "\n", encoding="utf-8-sig")
    assert read_must_she(path)[0]["id"] == "it-1"
    assert term_counts(normalize("NFD", "Fatiguée, enchantée."), [("fatiguée", "fatigué"), ("ravie", "ravi")])[1] == 1
