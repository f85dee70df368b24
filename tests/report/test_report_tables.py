"""The tables of a record: each kind of measure in its own, every judged measure in one, and nothing made up."""

from __future__ import annotations

import dataclasses

import pytest

from hf_fairness.record import Gap, Table
from hf_fairness.report import audit_record, render_html
from hf_fairness.report.tables import shown_arms, tables
from support.tiny_record import LESS, MORE, SAME, measure, record


def by_title(found) -> dict[str, Table]:
    return {table.title: table for table in tables(found)}


def first_line(cell: str) -> str:
    return cell.split("\n")[0]


def row_of(table: Table, title: str) -> dict[str, str]:
    """Text of the cells of a row by heading."""
    (row,) = [row for row in table.rows[1:] if first_line(row[0]) == title]
    return dict(zip(table.rows[0], (cell.replace("\n", " ") for cell in row), strict=True))


def text_rows(table: Table) -> list[list[str]]:
    return [[cell.replace("\n", " ") for cell in row] for row in table.rows]


def test_each_measure_stands_in_one_table(before, after, control):
    found = audit_record(after, before=before, control=control)
    shown = by_title(found)
    assert list(shown) == [
        "Bias",
        "Retained utility",
        "What can be read from the model or the data",
        "To read beside the others (no better direction)",
    ]
    titles = [first_line(row[0]) for table in shown.values() for row in table.rows[1:]]
    assert sorted(titles) == sorted(each.title for each in found.measures)
    head = ("Measure", "before", "after", "control", "Change", "Ideal", "Verdict", "Against control")
    for table in shown.values():
        assert table.rows[0] == head
        assert {len(row) for row in table.rows} == {8}


def test_a_row(before, after, control):
    found = audit_record(after, before=before, control=control)
    (title,) = [each.title for each in found.measures if each.id == "cced/built-in/cced"]
    row = row_of(by_title(found)["Bias"], title)
    assert row == {
        "Measure": f"{title} 240 texts, 12 skipped",
        "before": "0.093 [0.086, 0.100]",
        "after": "0.021 [0.020, 0.022]",
        "control": "0.091 [0.085, 0.097]",
        "Change": "−0.072 (−77\N{NO-BREAK SPACE}%)",
        "Ideal": "0 ↓ lower is better",
        "Verdict": "✓ improved the 95 % intervals do not overlap",
        "Against control": "better",
    }
    test = row_of(by_title(found)["Bias"], "association test (SEAT 6)")
    assert "16 words, 128 sentences" in test["Measure"]
    assert "p (word-clustered) 0.169 → 0.233" in test["Measure"]  # 0.6 - d / 3
    assert row_of(by_title(found)["Retained utility"], "association test (SEAT 1)")["Ideal"] == "– ↑ higher is better"
    (probe,) = [each.title for each in found.measures if each.id == "probe/linear/accuracy"]
    read = row_of(by_title(found)["What can be read from the model or the data"], probe)
    assert read["Ideal"] == "chance (0.500) ↓ nearer to chance tells less"


def test_verdicts_and_their_marks():
    found = record(
        measure("less", **LESS),
        measure("more", **MORE),
        measure("same", **SAME),
        measure("bare", original=1.0, ours=0.4),
        measure("one side", ours=0.4),
        measure("none", direction="none", **LESS),
    )
    table = by_title(found)["Bias"]
    place = table.rows[0].index("Verdict")
    assert {row[0]: first_line(row[place]) for row in table.rows[1:]} == {
        "less": "✓ improved",
        "more": "✗ worse",
        "same": "≈ no clear change",
        "bare": "? no interval",
        "one side": "no comparison",
        "none": "not judged",
    }
    assert row_of(table, "one side")["original"] == row_of(table, "one side")["Change"] == "–"
    page = render_html(found)
    for mark, verdict in (("improved", "✓ improved"), ("worse", "✗ worse"), ("unclear", "≈ no clear change")):
        assert page.count(f'<span class="verdict {mark}">{verdict}</span>') == 1
    assert "<span>not judged</span>" in page


def test_one_model_has_no_columns_of_a_comparison(before):
    for table in tables(audit_record(before)):
        assert table.rows[0] == ("Measure", "measured", "Ideal")


def test_numbers_that_chose_the_model_say_so():
    table = by_title(record(measure("m", more={"part": "validation", "sample": "9 rows"}, **SAME)))["Bias"]
    assert table.rows[1][0].split("\n") == ["m", "9 rows", "validation data, which chose the model"]


def test_many_models_stand_in_a_table_of_their_own():
    found = record(
        measure("m", control=0.9, rival=(0.8, 0.7, 0.9), **LESS), measure("part", more={"detail": True}, **SAME)
    )
    arms = tuple(
        dataclasses.replace(arm, training={"steps": 1000, "rate": 0.00123, "curve": [1]}) if arm.name == "ours" else arm
        for arm in found.arms
    )
    found = dataclasses.replace(found, arms=arms)
    assert [arm.name for arm in shown_arms(found)] == ["original", "ours", "control"]
    assert by_title(found)["Bias"].rows[0][1:4] == ("original", "ours", "control")
    assert text_rows(by_title(found)["All models"]) == [
        ["Measure", "original", "ours", "control", "rival"],
        ["steps", "–", "1,000", "–", "–"],
        ["rate", "–", "0.00123", "–", "–"],
        ["m", "1.000 [0.900, 1.100]", "0.400 [0.300, 0.500]", "0.900", "0.800 [0.700, 0.900]"],
    ]
    assert "All models" not in by_title(record(measure("m", control=0.9, **LESS)))


def test_comparisons_that_the_main_tables_lack():
    found = record(measure("m", control=0.9, rival=(0.8, 0.7, 0.9), **LESS))
    gap = next(gap for gap in found.gaps if gap.against == "rival")
    against = [each for each in found.gaps if each is not gap]
    gap = dataclasses.replace(gap, ci95=(-0.5, -0.3), p_value=0.01, p_adjusted="Holm")
    found = dataclasses.replace(found, gaps=(*against, gap, Gap("m", "rival", "original", -0.2, "no interval", "")))
    assert text_rows(by_title(found)["Other comparisons"]) == [
        ["Measure", "Models", "Difference", "p", "The first is"],
        ["m", "ours against rival", "−0.400 [−0.500, −0.300]", "0.01 (Holm)", "better"],
        ["m", "rival against original", "−0.200", "", "no interval"],
    ]


def test_tables_of_the_method_come_last():
    special = Table("Choices", (("a", "b"), ("1", "2")), "How to read it.")
    assert tables(record(measure("m", **LESS), tables=(special,)))[-1] == special


@pytest.mark.parametrize("found", [record(), record(tables=(Table("empty", (("a", "b"),)),))])
def test_tables_without_rows_are_left_out(found):
    assert tables(found) == []
