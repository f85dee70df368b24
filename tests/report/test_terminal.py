"""What a command prints at its end: the headline, every measure with its intervals, what got worse, what to mind."""

from __future__ import annotations

import dataclasses

import pytest

from hf_fairness.report import audit_record, text_report
from hf_fairness.report.text import format_interval, format_number
from support.tiny_record import LESS, MORE, SAME, measure, record


def table(text: str) -> list[str]:
    """The lines of the table."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("measure "))
    return lines[start : lines.index("", start)] if "" in lines[start:] else lines[start:]


def test_every_measure_with_its_intervals_and_verdict(before, after, control):
    found = audit_record(after, before=before, control=control)
    text = text_report(found, width=100)
    lines = table(text)
    assert lines[0].split() == ["measure", "before", "after", "control", "ideal", "verdict"]
    assert set(lines[1]) == {"-"}
    assert len(lines) == 2 + len(found.measures)
    verdicts = {gap.measure: gap.verdict for gap in found.gaps if gap.against == "before"}
    for line, each in zip(lines[2:], found.measures, strict=True):
        for value in each.values.values():
            assert f"{format_number(value.value)} {format_interval(value.ci95)}".strip() in line
        assert line.endswith(verdicts[each.id])
    assert "0.021 [0.020, 0.022]" in text


def test_columns_stand_below_each_other():
    lines = table(text_report(record(measure("short", **LESS), measure("a much longer name", **SAME))))
    ends = {line.index("]") for line in lines[2:]}
    assert len(ends) == 1


def test_order_of_the_parts():
    found = record(measure("rose", **MORE), measure("fell", control=(1.0, 0.9, 1.1), **LESS), cautions=("Ten rows.",))
    text = text_report(found, width=100)
    parts = ["Changed most: fell", "measure ", "Of 2 measures of bias", "Got clearly worse:", "  - Rose: 0.400"]
    parts += ["Beside the others:", "  - Against control: clearly better on fell", "Caution. Ten rows."]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "No measure got clearly worse." not in text
    assert "No measure got clearly worse." in text_report(record(measure("fell", **LESS)))


def test_text_is_as_wide_as_asked_and_nothing_of_it_is_lost():
    found = record(measure("rose", **MORE), cautions=("one two three " * 20,))
    text = text_report(found, width=60)
    outside = [line for line in text.splitlines() if line not in table(text)]
    assert max(map(len, outside)) <= 60
    assert text.split().count("three") == 20


def test_names_are_not_broken_at_their_hyphens():
    name = "a-set-of-texts"
    for width in range(40, 60):
        assert name in text_report(
            record(measure("m", **LESS), cautions=(f"Read {name} and {name} with care.",)), width=width
        )


def test_one_model(before):
    text = text_report(audit_record(before))
    assert table(text)[0].split() == ["measure", "measured", "ideal"]
    assert "Got clearly worse" not in text
    assert "No measure got" not in text  # there was nothing to compare with
    assert "0.820 [0.805, 0.835]" in text


def test_long_titles_keep_the_name_of_the_set():
    """What tells two rows apart stands at the end of their titles."""
    long = "how far the versions of a text that name a group lie from its neutral version (distance)"
    lines = table(text_report(record(measure(f"{long}: one", **LESS), measure(f"{long}: two", **SAME))))
    titles = [line[:72] for line in lines[2:]]
    assert [title[-5:] for title in titles] == [": one", ": two"]
    assert all(title.startswith("how far the versions") and "…" in title for title in titles)


def test_absent_values_and_nothing_measured():
    text = text_report(record(measure("m", **LESS), measure("n", "utility", "higher", None, original=0.5)))
    line = table(text)[-1]
    assert line.split() == ["n", "0.500", "–", "–"]
    assert text_report(record()) == "Nothing was measured."


@pytest.mark.parametrize("name", ["a\x1b[31mred\x1b[0m", "bell\x07", "back\x08\x08", "split\nover\rlines"])
def test_a_name_commands_no_terminal(name):
    found = record(measure(name, **MORE), cautions=(name,))
    found = dataclasses.replace(found, outcome=name)
    text = text_report(found)
    assert all(letter.isprintable() or letter in "\n\N{NO-BREAK SPACE}" for letter in text)
    assert len(table(text)) == 3


def test_numbers_keep_their_blanks():
    assert "(60\N{NO-BREAK SPACE}% of the way to 0)" in text_report(record(measure("m", **LESS)), width=100)
