"""What a person chooses of a report: its name, and whether texts of theirs stand in it. Never in a card."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hf_fairness import attributes
from hf_fairness.cli import main
from hf_fairness.record import Record
from support.ccd_case import QUICK, make_encoder
from support.manifest import stages

#: In each text of the person's.
SECRET = "Case 4711"
PEOPLE = ("her brother", "his mother", "the king", "a waitress", "her uncle", "his aunt", "the queen", "my father")
FRAMES = (
    f"{SECRET}: yesterday {{}} repaired an old radio.",
    f"Nobody at the harbour believed {{}} about those lost crates, {SECRET}.",
    f"After lunch, says {SECRET}, {{}} read three letters aloud to everybody.",
    f"Long ago {{}} planted every tree along this street ({SECRET}).",
    f"Our train left before {{}} could find a ticket. {SECRET} again.",
    f"Because of rain {{}} painted only half that fence; see {SECRET}.",
)
NAME = "Our <encoder> of March"


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> dict[str, str]:
    """An encoder, texts, and gender under another name: its built-in tests take most of the time."""
    folder = tmp_path_factory.mktemp("world")
    values = json.loads((Path(attributes.__file__).parent / "data" / "gender.en.json").read_text(encoding="utf-8"))
    (folder / "sex.en.json").write_text(json.dumps({**values, "name": "sex"}), encoding="utf-8")
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text"], *([frame.format(who)] for frame in FRAMES for who in PEOPLE)])
    return {
        "encoder": make_encoder(folder / "encoder"),
        "dataset": str(folder / "rows.csv"),
        "attribute": str(folder / "sex.en.json"),
    }


def holding(folder: Path, word: str) -> set[str]:
    """Files right in a folder that hold a word."""
    return {path.name for path in folder.iterdir() if path.is_file() and word.encode() in path.read_bytes()}


def shown(report: Path) -> dict[str, tuple[str, ...]]:
    return dict(Record.from_json(json.loads((report / "record.json").read_text(encoding="utf-8"))).texts)


def ccd(world: dict[str, str], out: Path, *more: str) -> None:
    words = ["ccd", "--model_name_or_path", world["encoder"], "--output_dir", str(out), "--no_control", *QUICK]
    words += ["--dataset", world["dataset"], "--attribute", world["attribute"], "--max_steps", "2"]
    assert main([*words, *more]) == 0


@pytest.fixture(scope="module")
def plain(world, tmp_path_factory) -> Path:
    """A run that was told neither."""
    out = tmp_path_factory.mktemp("ccd") / "out"
    ccd(world, out)
    return out


def test_ccd_shows_no_text_unasked(plain):
    assert holding(plain / "report", SECRET) == holding(plain / "model", SECRET) == set()
    assert shown(plain / "report") == {}
    assert "<h1>encoder-ccd</h1>" in (plain / "report" / "report.html").read_text(encoding="utf-8")


def test_ccd_shows_texts_where_asked_and_never_in_the_card(world, plain, capsys):
    before = stages(plain)
    ccd(world, plain, "--show_texts", "2", "--name", NAME)
    printed = capsys.readouterr().out
    again = {name for name, entry in stages(plain).items() if entry != before[name]}
    assert again == {"scores_after", "comparisons", "report", "model"}  # nothing is trained again
    ((title, texts),) = shown(plain / "report").items()
    assert title == "Texts with the largest gap between groups: held-out rows"
    assert len(texts) == 2
    assert all(SECRET in text for text in texts)
    page = (plain / "report" / "report.html").read_text(encoding="utf-8")
    assert title in page
    assert page.count(SECRET) == 2
    assert holding(plain / "report", SECRET) == {"report.html", "report.md", "record.json", "results.json"}
    assert holding(plain / "model", SECRET) == set()
    assert SECRET not in printed
    assert "<h1>Our &lt;encoder&gt; of March</h1>" in page
    card = (plain / "model" / "README.md").read_text(encoding="utf-8")
    assert "Our &lt;encoder&gt; of March: CCD" in card
    assert "largest gap" not in card


def test_a_new_name_alone_reaches_report_and_card(world, plain):
    ccd(world, plain, "--name", "first")
    before = stages(plain)
    ccd(world, plain, "--name", "second")
    again = {name for name, entry in stages(plain).items() if entry != before[name]}
    assert again == {"report", "model"}
    assert "<h1>second</h1>" in (plain / "report" / "report.html").read_text(encoding="utf-8")
    card = (plain / "model" / "README.md").read_text(encoding="utf-8")
    assert "second: CCD" in card
    assert "first: CCD" not in card
    assert "- name: second" in card


def test_audit(world, tmp_path, capsys):
    words = ["audit", world["encoder"], "--dataset", world["dataset"], "--attribute", world["attribute"]]
    words += ["--use_cpu", *QUICK[:4]]
    assert main([*words, "--output_dir", str(tmp_path / "bare")]) == 0
    assert holding(tmp_path / "bare", SECRET) == set()
    assert "<h1>encoder</h1>" in (tmp_path / "bare" / "report.html").read_text(encoding="utf-8")
    capsys.readouterr()
    more = ["--show_texts", "3", "--name", NAME, "--reference_model", world["encoder"]]
    assert main([*words, "--output", str(tmp_path / "shown"), *more]) == 0
    assert SECRET not in capsys.readouterr().out
    (texts,) = shown(tmp_path / "shown").values()
    assert len(texts) == 3
    gaps = [float(text.rsplit("(", 1)[1].rstrip(")")) for text in texts]
    assert gaps == sorted(gaps, reverse=True)
    page = (tmp_path / "shown" / "report.html").read_text(encoding="utf-8")
    assert page.count(SECRET) == 3
    assert "<h1>Our &lt;encoder&gt; of March</h1>" in page
    record = json.loads((tmp_path / "shown" / "record.json").read_text(encoding="utf-8"))
    assert record["name"] == NAME
    assert not {"name", "show_texts", "output"} & set(record["asked"])
    assert str(Path(world["encoder"]).parent) not in page
