"""Sheets for annotators, and what their answers come to: counted by hand, and as spreadsheets give them back."""

from __future__ import annotations

import collections

import pandas as pd
import pytest

from hf_fairness.measure.translator.human import filter_sheet, gender_sheet, quality_sheet, score_sheets

ROWS = [
    {"gender": gender, "sentence": f"The {job} said that {i}.", "profession": job, "stereotype": stereotype}
    for i in range(10)
    for gender, job, stereotype in (
        ("male", "guard", "pro"),
        ("male", "nurse", "anti"),
        ("female", "nurse", "pro"),
        ("female", "guard", "anti"),
        ("neutral", "clerk", ""),
    )
]
SYSTEMS = {name: [f"{name} {i}" for i in range(len(ROWS))] for name in ("baseline", "gfst")}


def filled(sheet, answer):
    """The sheet of an annotator who answers by a function of the key's row."""
    by_id = sheet.key.set_index("id")
    answers = [answer(by_id.loc[row_id]) for row_id in sheet.rows["id"]]
    return sheet.rows.assign(**{sheet.question: answers})


def test_a_gender_sheet_is_balanced_blind_and_has_every_system():
    sheet = gender_sheet(ROWS, SYSTEMS, n=12)
    assert list(sheet.rows) == ["id", "source", "person", "translation", "gender"]
    assert len(sheet.rows) == 24
    assert set(sheet.rows["gender"]) == {""}
    kinds = sheet.key.drop_duplicates("item")[["gender", "stereotype"]].apply(tuple, axis=1)
    assert set(collections.Counter(kinds).values()) == {3}
    assert sorted(sheet.key["system"].unique()) == ["baseline", "gfst"]
    assert list(sheet.key["system"]) != sorted(sheet.key["system"])  # mixed
    for row, key in zip(sheet.rows.itertuples(), sheet.key.itertuples(), strict=True):
        assert row.source == ROWS[key.item]["sentence"]
        assert row.translation == SYSTEMS[key.system][key.item]
    assert sheet.rows.equals(gender_sheet(ROWS, SYSTEMS, n=12).rows)
    assert not sheet.rows.equals(gender_sheet(ROWS, SYSTEMS, n=12, seed=1).rows)


def test_small_strata_do_not_make_a_sheet_smaller_than_it_can_be():
    rows = ROWS[:10] + [row for row in ROWS if row["gender"] == "male"]
    assert len(gender_sheet(rows, {"a": [""] * len(rows)}, n=100).rows) == 8 + 20


def test_gender_answers_are_scored_as_in_the_paper():
    sheet = gender_sheet(ROWS, SYSTEMS, n=8)

    def answer(row):
        if row["system"] == "gfst":
            return "Ambiguous " if row["gender"] == "male" else "feminine"
        return {"pro": "masculine", "anti": "inconsistent"}[row["stereotype"]]

    found = score_sheets([filled(sheet, answer)], sheet.key)
    assert found["systems"]["gfst"]["accuracy"] == 1.0
    low, high = found["systems"]["gfst"]["accuracy_ci95"]
    assert low < 0.8 < high == 1.0  # 8 of 8 is not certainty
    assert found["systems"]["baseline"]["accuracy"] == 0.25  # men in pro-stereotypical jobs
    assert found["systems"]["baseline"]["answers"]["inconsistent"] == 4
    assert found["systems"]["gfst"]["answers"]["ambiguous"] == 4
    assert found["differences"]["baseline - gfst"]["mean"] == -0.75
    low, high = found["differences"]["baseline - gfst"]["ci95"]
    assert -1 <= low <= -0.75 <= high < 0
    assert found["agreement"] is None


def test_quality_is_the_mean_over_annotators():
    sheet = quality_sheet([f"s{i}" for i in range(50)], {"a": ["x"] * 50, "b": ["y"] * 50}, n=20)
    assert len(sheet.rows) == 40
    first = filled(sheet, lambda row: 5 if row["system"] == "a" else 3)
    second = filled(sheet, lambda row: 4 if row["system"] == "a" else 3)
    found = score_sheets([first, second], sheet.key)
    assert found["systems"]["a"]["quality"] == 4.5
    assert found["systems"]["b"]["quality"] == 3.0
    assert found["differences"]["a - b"] == {"mean": 1.5, "ci95": None, "n": 20}  # no item differs: certain of none
    assert found["agreement"] == 0.5


def test_the_filter_table_is_that_of_the_paper():
    groups = ["female"] * 100 + ["male"] * 100
    kept = [i % 100 < 6 for i in range(200)]
    sheet = filter_sheet(["s"] * 200, ["t"] * 200, groups, kept, n=100)
    wrong = set(range(6, 14)) | set(range(106, 110))
    found = score_sheets([filled(sheet, lambda row: "no" if row["item"] in wrong else "yes")], sheet.key)["groups"]
    shares = {name: [part[cell] for cell in ("TP", "TN", "FP", "FN")] for name, part in found.items()}
    assert shares == {"female": [0.06, 0.08, 0.0, 0.86], "male": [0.06, 0.04, 0.0, 0.90]}
    assert found["female"]["FP_ci95"][1] > 0.01  # nothing seen is not nothing there


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_spreadsheet_gives_a_sheet_back(tmp_path, separator):
    systems = {"a": ['=HYPERLINK("x")', "- né", "+1", "@me", "t, u; v"], "b": ["1", "2", "3", "4", "5"]}
    sheet = quality_sheet(["s"] * 5, systems, n=5)
    path, key = sheet.save(tmp_path)
    assert [path.name, key.name] == ["quality.csv", "quality_key.csv"]
    text = path.read_text(encoding="utf-8")
    assert '"\'=HYPERLINK(""x"")"' in text
    assert not any(line.split(",")[2].startswith(("=", "+", "@", "-")) for line in text.splitlines())
    assert "system" not in text
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["quality"] = ["4.0" if i else " 6 " for i in range(10)]
    table.to_csv(path, sep=separator, index=False, encoding="utf-8-sig")
    found = score_sheets([path], key)
    assert found["n_blank"] == 0
    assert sum(each["quality"] for each in found["systems"].values()) == pytest.approx((9 * 4 + 6) / 5)


def test_items_that_are_all_alike_have_no_interval():
    sheet = quality_sheet(["s"] * 4, {"a": list("wxyz")}, n=4)
    found = score_sheets([filled(sheet, lambda row: 3)], sheet.key)
    assert found["systems"]["a"] == {"quality": 3.0, "quality_ci95": None, "n": 4}


def test_answers_left_out_are_counted():
    sheet = quality_sheet(["s", "t"], {"a": ["x", "y"]})
    found = score_sheets([filled(sheet, lambda row: "" if row["item"] else 2)], sheet.key)
    assert found["n_blank"] == 1
    assert found["systems"]["a"] == {"quality": 2.0, "quality_ci95": None, "n": 1}


SHEET = quality_sheet(["s", "t"], {"a": ["x", "y"]})


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ([], "No sheet is given"),
        ([SHEET.rows.assign(quality="7")], r"Sheet 1, row 1: '7' is no answer to 'quality', expected 1, 2, 3"),
        ([SHEET.rows.iloc[:1]], "other rows than the key"),
        ([SHEET.rows.drop(columns="quality")], "do not share a column of answers: one of gender"),
    ],
)
def test_a_sheet_that_cannot_be_scored_is_an_error(sheets, message):
    with pytest.raises(ValueError, match=message):
        score_sheets(sheets, SHEET.key)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quality_sheet([], {}), "nothing to judge: 0 systems, 0 texts"),
        (lambda: quality_sheet(["s"], {"a": []}), "a has 0 rows, expected 1"),
        (lambda: gender_sheet([ROWS[4]], {"a": ["x"]}), "there is no gender to judge"),
        (lambda: filter_sheet(["s"], ["t"], [], [True]), "groups has 0 rows, expected 1"),
    ],
)
def test_a_sheet_of_nothing_is_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_quality_is_asked_of_as_many_of_each_kind():
    kinds = ["a"] * 30 + ["b"] * 10
    sheet = quality_sheet([f"s{i}" for i in range(40)], {"one": ["x"] * 40}, n=12, kinds=kinds)
    assert collections.Counter(kinds[item] for item in sheet.key["item"]) == {"a": 6, "b": 6}
    with pytest.raises(ValueError, match="kinds has 1 rows, expected 40"):
        quality_sheet(["s"] * 40, {"one": ["x"] * 40}, kinds=["a"])


def test_the_key_goes_to_a_folder_of_its_own(tmp_path):
    sheet = gender_sheet(ROWS, SYSTEMS, n=4)
    paths = sheet.save(tmp_path / "sheets", tmp_path / "keys" / "of")
    assert paths == (tmp_path / "sheets" / "gender.csv", tmp_path / "keys" / "of" / "gender_key.csv")
    assert [path.name for path in (tmp_path / "sheets").iterdir()] == ["gender.csv"]
    assert "system" not in paths[0].read_text()


def test_answers_are_never_written_over(tmp_path):
    sheet, other = (gender_sheet(ROWS, SYSTEMS, n=n) for n in (4, 6))
    path, _ = sheet.save(tmp_path)
    other.save(tmp_path)  # nobody has written in the first one
    assert len(pd.read_csv(path)) == 12
    written = filled(other, lambda row: "feminine").to_csv(index=False)
    path.write_text(written)
    other.save(tmp_path)
    assert path.read_text() == written
    with pytest.raises(FileExistsError, match=r"gender\.csv has answers, and they are to other rows"):
        sheet.save(tmp_path)
    assert path.read_text() == written
    path.write_text("no sheet any more")
    with pytest.raises(FileExistsError, match="has answers"):
        sheet.save(tmp_path)
