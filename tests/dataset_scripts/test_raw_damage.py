"""Damaged raw files: every builder says which file, which place, and what it expected."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from hf_fairness.dataset_scripts import load
from hf_fairness.dataset_scripts._raw import RawDataError
from support.dataset_cases import CASES, RAW, Case

TABLES = ("csv", "tsv", "bare")


def _delimiter(case: Case) -> str:
    return "," if case.kind == "csv" else "\t"


def _cells(case: Case, text: str) -> list[list[str]]:
    quoting = csv.QUOTE_MINIMAL if case.kind == "csv" else csv.QUOTE_NONE
    return list(csv.reader(text.splitlines(), delimiter=_delimiter(case), quoting=quoting))


def _joined(rows: list[list[str]], by: str) -> str:
    return "".join(by.join(cell.replace(",", ";") for cell in row) + "\n" for row in rows)


def missing_column(case: Case, text: str) -> tuple[str, str]:
    if case.kind == "jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
        del rows[1][case.column]
        return "".join(json.dumps(row) + "\n" for row in rows), f"line 2: .*no '{case.column}'"
    if case.kind == "json" and case.column:
        return text.replace(f'"{case.column}":', '"other":', 1), f"item 1: .*no '{case.column}'"
    if case.kind == "json":
        items = json.loads(text)
        return json.dumps([items[0], items[1][:2]]), "item 2: "
    if case.kind == "lines":  # three files are one table: one of them has no row for the others
        return "".join(text.splitlines(keepends=True)[:-1]), "line 2: .*as many rows as"
    rows = _cells(case, text)
    if case.kind == "bare":
        rows[-1].pop()
        return _joined(rows, "\t"), f"line {len(rows)}: .*separated by tabs; got it has "
    place = rows[0].index(case.column)
    return _joined([row[:place] + row[place + 1 :] for row in rows], _delimiter(case)), f"line 1: .*no '{case.column}'"


def wrong_delimiter(case: Case, text: str) -> tuple[str, str] | None:
    if case.kind not in TABLES:
        return None
    text = _joined(_cells(case, text), ";")
    said = "tabs" if case.kind != "csv" else "commas"
    return text, f"line 1: .*separated by {said}; got it (is separated by semicolons|has 1)"


def truncated(case: Case, text: str) -> tuple[str, str]:
    n_lines = len(text.splitlines())
    if case.kind == "json":
        return text[: len(text) // 2], r"line \d+, column \d+: expected JSON \(is the file cut off"
    if case.kind == "jsonl":
        return text[:-9], rf"line {n_lines}: expected one JSON object .*cut off"
    if case.kind == "csv":  # within quotation marks, so that all that follows would be one value
        head, _, _ = text.partition("\n")
        return f'{head}\n"cut off', "lines 2 to 2: .*every quotation mark closed"
    if case.kind == "lines":
        return text[:2], "line 2: .*as many rows as"
    return text[: text.rstrip("\n").rindex("\t")], rf"line {n_lines}: expected \d+ values"


def bad_label(case: Case, text: str) -> tuple[str, str] | None:
    if case.label is None:
        return None
    good, bad, place = case.label
    assert good in text
    return text.replace(good, bad, 1), f"{place}: expected .*; got "


def duplicate_id(case: Case, text: str) -> tuple[str, str] | None:
    if not case.ids:
        return None
    if case.kind == "json":
        data = json.loads(text)
        items = data if isinstance(data, list) else data["data"][case.config]
        items.append(items[0])
        return json.dumps(data), f"item {len(items)}: expected every .* once; got it has .* first in item 1"
    lines = text.splitlines(keepends=True)
    return text + lines[-1], rf"line {len(lines) + 1}: expected every .* once; got it has .* in line {len(lines)}"


def not_utf8(case: Case, text: str) -> tuple[bytes, str]:
    head, _, tail = text.encode().partition(b"\n")
    return head + b"\n\xff" + tail, "line 2: expected UTF-8 text; got it has the byte 0xff at place 1"


def empty(case: Case, text: str) -> tuple[str, str]:
    return "", r"line 1(, column 1)?: expected (a header|rows of the split|JSON|as many rows)"


DAMAGES = (missing_column, wrong_delimiter, truncated, bad_label, duplicate_id, not_utf8, empty)


def read_all(name: str, folder: Path, tmp_path: Path) -> None:
    """Reads every row of every split."""
    for rows in load(name, folder, config=CASES[name].config, streaming=True, cache_dir=tmp_path / "cache").values():
        list(rows)


TABLE = [
    (name, damage)
    for name, case in CASES.items()
    for damage in DAMAGES
    if damage(case, (RAW / name / case.victim).read_text()) is not None
]


@pytest.mark.parametrize(("name", "damage"), TABLE, ids=[f"{name}-{damage.__name__}" for name, damage in TABLE])
def test_damage_is_located(name, damage, raw_copy, tmp_path):
    case, folder = CASES[name], raw_copy(name)
    file = folder / case.victim
    content, wanted = damage(case, file.read_text())
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RawDataError) as caught:
        read_all(name, folder, tmp_path)
    message = str(caught.value)
    assert re.search(rf"{re.escape(str(file))}, {wanted}", message), message
    assert "expected" in message
    assert "got" in message


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_damage_is_tried_on_many_builders(damage):
    assert sum(other is damage for _, other in TABLE) >= 11


@pytest.mark.parametrize("name", ["winomt", "stereoset", "hans", "sick"])
def test_building_says_the_same_and_leaves_no_rows(name, raw_copy, tmp_path):
    case, folder = CASES[name], raw_copy(name)
    file = folder / case.victim
    good, bad, place = case.label
    file.write_text(file.read_text().replace(good, bad, 1))
    for _ in range(2):  # nothing half built is taken from the cache
        with pytest.raises(RawDataError, match=f"{case.victim}, {place}: expected"):
            load(name, folder, config=case.config, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("name", "file", "before", "after", "message"),
    [
        ("winomt", "en_pro.txt", "male\t1", "male\tone", "en_pro.txt, line 1: expected a number in"),
        ("winomt", "en.txt", "female\t1", "female\t99", "line 1: expected 'target_index' to count the words"),
        ("winogender", "occupations-stats.tsv", "55.2", "155.2", "line 2: expected 'bls_pct_female' from 0 to 100"),
        ("winogender", "occupations-stats.tsv", "baker", "clerk", "line 2: expected occupation.participant"),
        ("must_she", "MONOLINGUAL.it_v1.2.tsv", "sola solo", "sola", "line 2: expected 'GENDERTERMS'"),
        ("twitter_sexism", "Twitter_train_gender_swap.csv", 'last",0', 'last",1', "line 2: expected the label of"),
        ("wikipedia_toxicity", "toxicity_annotated_comments.tsv", "2251.0", "2259.0", "'rev_id' to have rows in"),
        ("professions", "professions.json", "-0.9", "-1.9", "item 2: expected 'stereotypical' from -1 to 1"),
        ("sick", "SICK.txt", "4.7", "NaN", "line 2: expected 'relatedness_score' from 1 to 5"),
        ("stereoset", "dev.json", "BLANK", "blank", "item 1: expected a context with the word BLANK"),
        ("stereoset", "dev.json", 'label": "unrelated"', 'label": "stereotype"', "item 1: expected one sent"),
        ("snli", "snli_1.0/snli_1.0_dev.jsonl", '"Rain falls."', "7", "line 3: expected texts in 'sentence1'"),
        (
            "fever_symmetric",
            "symmetric_v0.1/fever_symmetric_full.jsonl",
            "evidence_s",
            "p",
            "line 1: expected a text in 'ev",
        ),
        (
            "scramble",
            "test/s2.comp_not_long",
            "\n",
            " \n\n extra\n",
            "line 3: expected as many rows as s2.comp_not_long, 3; got it has 2",
        ),
        ("crows_pairs", "crows_pairs_anonymized.csv", "He can not drive.", " ", "line 3: expected a text in"),
        ("jigsaw_unintended_bias", "train.csv", ",1.0,", ",,", "line 3: expected a number in 'male'"),
    ],
)
def test_what_only_one_source_can_get_wrong(name, file, before, after, message, raw_copy, tmp_path):
    folder = raw_copy(name)
    text = (folder / file).read_text()
    assert before in text
    (folder / file).write_text(text.replace(before, after, 1))
    with pytest.raises(RawDataError, match=message):
        read_all(name, folder, tmp_path)


def test_a_cut_off_archive(raw_copy, tmp_path):
    import gzip

    folder = raw_copy("news_commentary")
    (file,) = folder.iterdir()
    packed = gzip.compress(file.read_bytes() * 50)
    file.with_name(f"{file.name}.gz").write_bytes(packed[: len(packed) // 2])
    file.unlink()
    with pytest.raises(RawDataError, match="expected a whole gzip file"):
        list(load("news_commentary", folder, "en-de", "train", streaming=True, cache_dir=tmp_path))
