"""The README is short, its examples print what it says, and its numbers are those of the results files."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from benchmarks import readme
from hf_fairness import cli, metric_path
from hf_fairness.demo import minilm_path
from hf_fairness.trainers.baselines import BASELINES

MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def block(text: str, *words: str, kind: str = "") -> str:
    """The one code block of a kind that holds all words."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (found,) = [code for language, code in blocks if language == kind and all(word in code for word in words)]
    return str(found)


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}")[1].split("\n## ")[0]


def plain(text: str) -> str:
    return " ".join(text.split())


def test_one_can_read_it(text):
    lines = text.splitlines()
    assert len(lines) <= 150
    assert all(len(line) <= 120 for line in lines if not line.startswith("|"))
    titles = re.findall(r"^## (.*)", text, re.MULTILINE)
    order = ["What", "Install", "Two commands", "Change texts", "Measure", "Mitigate", "The Hub", "One result", "Test"]
    assert [title for title in titles if title.startswith(tuple(order))] == titles[:-1]
    assert titles[-1] == "Where to look next"


def test_places_that_it_names_are_there(text, root):
    named = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(
        r"\]\(([^)#]+)\)", (root / "benchmarks/README.md").read_text()
    )
    for place in named:
        assert (root / place).exists() or (root / "benchmarks" / place).exists(), place


def test_metrics_and_commands_are_those_of_the_package(text):
    metrics = {path.name for path in Path(metric_path("seat")).parent.iterdir() if (path / f"{path.name}.py").is_file()}
    told = section(text, "Measure").split("Fourteen metrics load offline:")[1]
    assert set(re.findall(r"`(\w+)`", told)) == metrics
    assert len(metrics) == 14
    commands = section(text, "Two commands") + section(text, "The Hub")
    assert all(name in commands for name in cli.COMMANDS)


def test_targets_of_make_are_there(text, root):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    lines = section(text, "Test").replace("`", "\n").splitlines()
    named = {word for line in lines if line.startswith("make ") for word in line.split("#")[0].split()[1:]}
    assert named <= targets


def test_the_pages_quote_the_results_files(root):
    tables = readme.tables()
    for page in readme.PAGES:
        written = page.read_text(encoding="utf-8")
        assert readme.fill(written, tables) == written
    pages = {page: set(re.findall(r"<!-- (\w+):begin -->", page.read_text(encoding="utf-8"))) for page in readme.PAGES}
    assert list(pages.values()) == [{"methods"}, set(tables) - {"methods"}]


def test_functions_and_omissions_of_the_papers_are_named(root):
    page = (root / "benchmarks/README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[1] for line in section(page, "Papers").splitlines() if line.startswith("| ")][1:]
    names = [name for functions in rows for name in re.findall(r"`([^`]+)`", functions)]
    assert all(is_there(name) for name in names), [name for name in names if not is_there(name)]
    papers = section(page, "The five papers")
    for missing in ("GLUE", "SentEval", "DPCE", "ADEPT", "hard-debias", "DCT", "BiLSTM", "human", "ChatGPT", "LLaMA"):
        assert missing in papers, missing


def is_there(name: str) -> bool:
    """Whether a command, a method of `compare`, a metric or something of the package has this name."""
    if name in BASELINES:
        return True
    if name.startswith("hf-fairness "):
        return name.split()[1] in cli.COMMANDS
    name = name.removeprefix('evaluate.load(metric_path("').removesuffix('"))')
    if (Path(metric_path("seat")).parent / name).is_dir():
        return True
    home, _, name = name.rpartition(".")
    places = [home] if home else ["erasure", "filters", "generation", "refine", "trainers"]
    return any(name in dir(importlib.import_module(f"hf_fairness.{each}")) for each in places)


@pytest.mark.whole
def test_audit_prints_what_the_page_says(text, tmp_path, capsys, monkeypatch):
    """The command of the page, on the same model from this machine; a line that is left out is left out whole."""
    (line,) = [line for line in block(text, "hf-fairness audit").splitlines() if line.startswith("hf-fairness audit")]
    monkeypatch.chdir(tmp_path)
    cli.main(line.replace(MODEL, minilm_path()).split()[1:])
    printed = plain(capsys.readouterr().out)
    headline, table = block(text, "Of 6 tests").split("\n\n")
    assert plain(headline) in printed
    assert all(plain(line) in printed for line in table.splitlines())
    assert Path("report/report.html").is_file()


@pytest.mark.whole
def test_what_is_trained_is_pushed_and_pulled(text, tmp_path, fake_hub):
    """The examples of mitigation and of the Hub, with few texts, two steps and a Hub of the tests."""
    train, push = (block(text, words, kind="python") for words in ("CCDTrainer(", "publish("))
    assert len(train.strip().splitlines()) <= 15
    for words, fewer in (("corpus()}", "corpus()[:300]}"), ('"out/ccd")', '"out/ccd", max_steps=2, use_cpu=True)')):
        assert train.count(words) == 1
        train = train.replace(words, fewer)
    code = f"import os\nos.chdir({str(tmp_path)!r})\n{train}\nprint('--- pushed')\n{push}"
    before, after = fake_hub.run(code.replace('"you/', '"tester/')).split("--- pushed\n")
    assert block(text, "During the break,") in before
    assert after.replace(fake_hub.url, "https://huggingface.co").replace("/tester/", "/you/") == block(
        text, "Pushed to"
    )
    files = set(fake_hub.files("tester/all-MiniLM-L6-v2-ccd"))
    assert {"README.md", "model.safetensors"} <= files
