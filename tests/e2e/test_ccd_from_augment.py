"""From `hf-fairness augment` into `hf-fairness ccd`, with other columns and addresses of customers in the data."""

from __future__ import annotations

import csv
import json

import pytest

from hf_fairness.cli import main
from support.ccd_case import QUICK, make_encoder
from support.chat_server import chat_server  # noqa: F401 - a fixture
from support.manifest import stages

pytestmark = pytest.mark.whole

CANARY = "jane.doe@customer.example"
PEOPLE = ("her brother", "his mother", "the king", "a waitress", "her uncle", "his aunt", "the queen", "my father")
FRAMES = (
    "Yesterday {who} repaired an old radio, wrote {mail}.",
    "Nobody at the harbour believed {who} about those lost crates; ask {mail}.",
    "After lunch {who} read three letters aloud to everybody from {mail}.",
    "Long ago {who} planted every tree along this street, says {mail}.",
    "Our train left before {who} could find a ticket, {mail} complains.",
    "Because of rain {who} painted only half that fence, and {mail} paid.",
)


def customers(folder) -> str:
    """A CSV of 48 texts that hold an address, beside columns that do too."""
    path = folder / "customers.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "headline", "source", "id", "frame_name", "label"])
        for number, (frame, who) in enumerate((frame, who) for frame in FRAMES for who in PEOPLE):
            text = frame.format(who=who, mail=CANARY)
            writer.writerow([text, f"Mail of {CANARY}", "help desk", f"{CANARY}-{number}", f"f{CANARY}", "angry"])
    return str(path)


def holding(folder, word: str) -> list[str]:
    """Files under a folder that hold a word."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    )


@pytest.mark.parametrize("method", ["variants", "llm"])
def test_variants_made_in_the_shell_are_trained_on_and_stay_private(method, server, tmp_path, capfd):
    words = ["--text_column", "text", "--output_dir", str(tmp_path / "made")]
    if method == "llm":
        words += ["--model_name_or_path", "rules", "--base_url", server.url, "--cache_dir", str(tmp_path / "cache")]
    assert main(["augment", customers(tmp_path), "--method", method, *words]) == 0
    assert holding(tmp_path / "made", CANARY) == sorted(
        str(path.relative_to(tmp_path / "made")) for path in (tmp_path / "made" / "data").iterdir()
    )
    base = make_encoder(tmp_path / "mlm", "BertForMaskedLM")
    out = tmp_path / "out"
    capfd.readouterr()
    options = ["--max_steps", "2", "--no_control", *QUICK]
    source = str(next((tmp_path / "made" / "data").iterdir()))
    code = main(["ccd", "--model_name_or_path", base, "--dataset", source, "--output_dir", str(out), *options])
    said = capfd.readouterr()
    assert code == 0, said.err
    assert stages(out)["train_after"]["result"]["group_columns"] == ["male", "female"]
    assert stages(out)["train_after"]["result"]["mlm_head"] is True
    report = json.loads((out / "report" / "results.json").read_text())
    assert set(report["results"]["audit"]["after"]["cced"]["held-out rows"]["distance"]) == {"male", "female"}
    assert "Error while computing usage snippet output" not in said.err + said.out
    assert all(name.startswith("variants/") for name in holding(out, CANARY)), "more than the rows themselves"
    card = (out / "model" / "README.md").read_text()
    assert "tensor(" not in card
    assert not [line for line in card.splitlines() if line.startswith("|") and "audio" in line]  # no kind of a column
