"""`hf-fairness gfst-sheets`: answers of people, from the files that annotators send back."""

from __future__ import annotations

import json

import pytest

from hf_fairness.cli import command, main
from hf_fairness.measure.translator.human import filter_sheet, gender_sheet, quality_sheet

ROWS = [
    {"gender": gender, "sentence": f"The guard said {i}.", "profession": "guard", "stereotype": ""}
    for i in range(4)
    for gender in ("male", "female")
]
TEXTS = [row["sentence"] for row in ROWS]
SYSTEMS = {"baseline": ["b"] * 8, "gfst": ["g"] * 8}


def fill(sheet, folder, answer):
    """The files of a sheet that was filled in by a function of the row of its key."""
    paths = sheet.save(folder, folder / "keys")
    keys = sheet.key.to_dict("records")
    sheet.rows.assign(**{sheet.question: [answer(key) for key in keys]}).to_csv(paths[0], index=False)
    return [str(path) for path in paths]


def test_gender_is_scored_and_written(tmp_path, capsys):
    answers = {"gfst": {"male": "masculine", "female": "Feminine"}, "baseline": {"male": "ambiguous", "female": "n/a"}}
    path, key = fill(gender_sheet(ROWS, SYSTEMS), tmp_path, lambda row: answers[row["system"]][row["gender"]])
    scores = command("gfst-sheets")([path, path, "--key", key, "--output_dir", str(tmp_path / "scores")])
    printed = capsys.readouterr().out
    assert scores["systems"]["gfst"]["accuracy"] == 1.0
    assert scores["systems"]["baseline"]["accuracy"] == 0.5
    lines = [line.split() for line in printed.splitlines()]
    assert "2 annotators, 16 rows, 0 without answer; annotators agree on 100% of the rows" in printed
    for line in ("baseline 8", "inconsistent 0", "ambiguous 8", "n/a 8"):
        assert line.split() in lines, line
    assert "accuracy: the gender of the source, or ambiguous" in printed
    assert ["baseline", "-", "gfst", "8"] in lines
    assert ["mean", "−0.500", "[−0.875,", "−0.125]"] in lines
    assert json.loads((tmp_path / "scores" / "gender_scores.json").read_text()) == scores


def test_quality_and_the_filter_are_scored(tmp_path, capsys):
    sheet = quality_sheet(TEXTS, SYSTEMS, n=5)
    path, key = fill(sheet, tmp_path, lambda row: 3 + row["item"] % 2 if row["system"] == "gfst" else "")
    assert main(["gfst-sheets", path, "--key", key]) == 0
    printed = capsys.readouterr().out
    assert "1 annotators, 10 rows, 5 without answer" in printed
    assert "3.600  [3.200, 4.000]" in printed
    groups = [row["gender"] for row in ROWS]
    sheet = filter_sheet(TEXTS, ["t"] * 8, groups, [True] * 6 + [False] * 2)
    path, key = fill(sheet, tmp_path, lambda row: "yes" if row["group"] == "male" else "no")
    assert main(["gfst-sheets", path, "--key", key]) == 0
    cells = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    after = {group: dict(cells[cells.index([group, "4"]) + 1 :][:4]) for group in ("male", "female")}
    assert after["male"] == {"TP": "0.750", "TN": "0.000", "FP": "0.000", "FN": "0.250"}
    assert after["female"] == {"TP": "0.000", "TN": "0.250", "FP": "0.750", "FN": "0.000"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{sheet}"], "--key"),
        (["nowhere.csv", "--key", "{key}"], "--sheets: there is no such file or folder: nowhere.csv"),
        (["{sheet}", "--key", "{folder}"], "is a folder. Expected a CSV file that"),
        (["{key}", "--key", "{key}"], "Sheet 1 has the columns id, item, system"),
        (["{sheet}", "--key", "{sheet}"], "The key has the columns id, source, person"),
        (["{sheet}", "--key", "{key}"], "has an answer in its column 'gender': there is nothing to score yet"),
        (["{wrong}", "--key", "{key}"], "'perhaps' is no answer to 'gender'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, capsys, words, message):
    sheet, key = map(str, gender_sheet(ROWS, SYSTEMS).save(tmp_path))
    wrong, _ = fill(gender_sheet(ROWS, SYSTEMS), tmp_path / "wrong", lambda row: "perhaps")
    places = {"sheet": sheet, "key": key, "wrong": wrong, "folder": tmp_path}
    try:
        status = main(["gfst-sheets", *(word.format(**places) for word in words)])
    except SystemExit as stop:
        status = stop.code
    assert status in (1, 2)
    assert message in capsys.readouterr().err
