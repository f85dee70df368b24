"""`hf-fairness ibadr` as a user runs it: files, YAML, challenge sets, demo, errors."""

from __future__ import annotations

import json

import pytest
from ibadr_case import write_files

from hf_fairness.cli import ibadr

#: What models that learn little are warned of.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:hf_fairness.utils.FairnessWarning")
    for text in (r"Round \d", "Every one of the")
]
HANS = "gold_label\tsentence1\tsentence2\theuristic\tsubcase\ttemplate\n" + "".join(
    f"{label}\tAnna is sitting .\tBen is {verb} .\tlexical_overlap\t{label[:2]}\tt{k}\n"
    for k, (label, verb) in enumerate([("entailment", "sitting"), ("non-entailment", "walking")] * 4)
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data, models and settings in a folder."""
    folder = write_files(tmp_path_factory.mktemp("data"))
    (folder / "hans.txt").write_text(HANS)
    return folder


def test_files_and_yaml(files, tmp_path, capsys):
    words = [str(files / "classifier"), "--config", str(files / "ibadr.yaml"), "--dataset", str(files / "train.jsonl")]
    words += ["--dev", str(files / "dev.jsonl"), "--output_dir", str(tmp_path / "out"), "--n_generated", "80"]
    words += ["--challenge", f"own={files / 'challenge.jsonl'}", f"hans={files / 'hans.txt'}"]
    result = ibadr.main(words)
    assert result["rounds"][0]["counts"]["drawn"] == 80  # a flag wins over the file
    assert set(result["results"]) == {"dev", "own", "hans"}
    assert result["results"]["hans"]["ibadr"]["n"] == 8
    assert "heuristic" in result["results"]["hans"]["ibadr"]["by"]
    printed = capsys.readouterr().out
    assert "IBADR − control" in printed
    assert "added to the pool" in printed
    assert "report.html" in printed
    assert "clearly worse" in printed
    written = (tmp_path / "out" / "report" / "ibadr.json").read_text()
    assert str(tmp_path) not in written
    assert str(files) not in written
    assert json.loads(written)["arguments"]["generator"] == "generator"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--dataset is missing"),
        (["--dataset", "{train}"], "The classifier .* is missing"),
        (["--dataset", "{train}", "--challenge", "snli=x"], "expected NAME=FILE"),
        (
            ["--dataset", "{train}", "--challenge", "hans=nowhere"],
            "--challenge hans: there is no such file or folder: nowhere",
        ),
        (["--dataset", "{train}", "--dev", "nowhere"], "There is no file nowhere"),
        (["--dataset", "{train}", "--n_bias_indicators", "1"], "n_bias_indicators is 1"),
        (
            ["m", "--dataset", "{train}", "--label_names", "entailment", "neutral"],
            "39 of 128 rows .* row 0 has the label 'contradiction'",
        ),
    ],
)
def test_errors(files, tmp_path, words, message):
    words = [word.replace("{train}", str(files / "train.jsonl")) for word in words]
    with pytest.raises(ValueError, match=message):
        ibadr.main([*words, "--n_shallow", "20", "--output_dir", str(tmp_path / "out")])


def test_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        ibadr.main(["--help"])
    printed = capsys.readouterr().out
    for text in ("--challenge", "--sweep", "--n_bias_indicators", "ablations of table 5", "--demo"):
        assert text in printed
    assert "%%" not in printed


def test_the_demo_is_ready(monkeypatch):
    """Its settings are known, its data are there; the run itself is that of the benchmark."""
    seen = {}
    monkeypatch.setattr("hf_fairness.trainers.recipes.run_ibadr", lambda arguments, **given: seen.update(given) or {})
    monkeypatch.setattr(ibadr, "print_tables", lambda result: None)
    ibadr.main(["--demo", "--n_iterations", "1"])
    assert set(seen) == {"train", "dev", "challenge", "model", "generator", "anti_artefact"}
    assert len(seen["anti_artefact"](seen["dev"])) == len(seen["dev"])
