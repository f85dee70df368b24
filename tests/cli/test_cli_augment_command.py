"""`hf-fairness augment` as a command: settings, folders, errors in one line, help, pushes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from datasets import Dataset, load_dataset

from hf_fairness.cli import main
from hf_fairness.cli.augment_methods import METHODS
from hf_fairness.publishing import MANIFEST
from hf_fairness.runs import claim
from support.augment_rows import ROWS, number


def test_a_subprocess_runs_the_same_command(write, tmp_path):
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "hf_fairness",
        "augment",
        write(".csv"),
        "--method",
        "swap",
        "--output_dir",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "augment.json", "data"]
    assert [path.name for path in (out / "data").iterdir()] == ["train-00000-of-00001.parquet"]
    record = json.loads((out / "augment.json").read_text())
    assert record["counts"]["rows changed"] == 3
    assert record["counts"]["rejected because"] == {"inherent": 1}  # "He is pregnant." is not used
    assert record["options"]["attribute"] == "gender"


@pytest.mark.whole
@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_two_runs_into_one_folder_lose_nothing(write, augment, tmp_path, overwrite):
    """The second is refused while the first works, whatever it is told; then as if it came after it."""
    source, words = write(".csv"), ["--method", "swap", "--output_dir", str(tmp_path / "out"), *overwrite]
    command = [sys.executable, "-m", "hf_fairness", "augment", source, *words]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [run.communicate(timeout=300)[1] for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes, said
    for code, text in zip(codes, said, strict=True):
        assert code == 0 or "is being written by another job" in text or "is not empty" in text
    assert sum(codes) == 1 or overwrite
    with claim(tmp_path / "out"):
        assert "is being written by another job" in augment(source, "cda", *overwrite, code=1)
    assert len(load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))) == len(ROWS)
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_config_file_replaces_flags(write, augment, tmp_path):
    (tmp_path / "c.yaml").write_text("probability: 1.0\nseed: 4\n")
    rows, card, _ = augment(write(".csv"), "cds", "--config", tmp_path / "c.yaml")
    assert sum(rows["substituted"][:]) == 3
    assert [text for text, reason in zip(rows["text"], rows["rejected_reason"], strict=True) if reason] == [
        "She is pregnant."
    ]
    assert number(card, "seed") == "4"


def test_a_split_of_a_saved_folder(augment, tmp_path, capsys):
    from datasets import DatasetDict

    rows = Dataset.from_list(ROWS)
    DatasetDict({"train": rows, "dev": rows.select([0, 1])}).save_to_disk(tmp_path / "saved")
    words = ["augment", str(tmp_path / "saved"), "--method", "swap", "--output_dir", str(tmp_path / "o")]
    assert main([*words, "--dataset_split", "dev"]) == 0
    found = load_dataset(str(tmp_path / "o"), cache_dir=str(tmp_path / "cache"))
    assert list(found) == ["dev"]
    assert len(found["dev"]) == 2


def test_the_first_rows_of_a_configuration(augment, tmp_path):
    for config in ("a", "b"):
        (tmp_path / "source" / config).mkdir(parents=True)
        rows = Dataset.from_list([{"text": f"She likes {config}.", "n": n} for n in range(5)])
        rows.to_parquet(tmp_path / "source" / config / "train.parquet")
    head = "".join(f"- config_name: {c}\n  data_files: {c}/train.parquet\n" for c in ("a", "b"))
    (tmp_path / "source" / "README.md").write_text(f"---\nconfigs:\n{head}---\n")
    words = ("--dataset_config", "b", "--max_rows", 2)
    rows, card, _ = augment(str(tmp_path / "source"), "swap", *words)
    assert rows["text_counterfactual"][:] == ["He likes b."] * 2
    assert rows["n"][:] == [0, 1]
    assert (number(card, r"dataset\_config"), number(card, r"max\_rows"), number(card, "rows in")) == ("b", "2", "2")
    error = augment(str(tmp_path / "source"), "swap", out="none", code=1)
    assert "--dataset_config names one of its configurations" in error


def test_markup_in_the_texts_stays_text(write, augment):
    rows = [{"text": "She | <b>saw</b>\n\n# https://x.org *him*"}]
    assert "## Example" not in augment(write(".jsonl", rows), "swap", out="quiet")[1]  # texts are private by default
    _, card, _ = augment(write(".jsonl", rows), "swap", "--card_examples")
    example = card.split("## Example")[1].split("##")[0]
    assert "<b>" not in example
    assert "https://" not in example
    assert len(example.strip().splitlines()) == 2


def test_the_folder_is_replaced_only_when_asked_and_only_if_ours(write, augment, tmp_path):
    source = write(".csv")
    augment(source, "swap")
    assert "is not empty" in augment(source, "cda", code=1)
    rows, _, _ = augment(source, "cda", "--overwrite")
    assert "counterfactual" in rows.column_names
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    assert "holds 'thesis.txt', which is not of this command" in augment(source, "swap", "--overwrite", code=1)
    assert (tmp_path / "out" / "thesis.txt").exists()
    inside = tmp_path / "out" / "data" / "train-00000-of-00001.parquet"
    (tmp_path / "out" / "thesis.txt").unlink()
    assert "would be replaced" in augment(str(inside), "swap", "--overwrite", code=1)
    assert inside.exists()


def test_a_run_that_fails_leaves_nothing(augment, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "She left."}\n{"text": null}\n')
    assert "Expected a text" in augment(str(tmp_path / "bad.jsonl"), "swap", "--on_missing", "error", code=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("method", "words", "message"),
    [
        ("swpa", (), "Unknown method 'swpa'. Did you mean 'swap'? Methods: swap, cda,"),
        ("swap", ("--text_column", "body"), "no column 'body'; its text columns are text"),
        ("swap", ("--text_column", "label"), "Column 'label' of"),
        ("variants", ("--text_column", "text", "other"), "reads one column; got text, other"),
        ("text-swap", (), "needs two columns: --text_column premise hypothesis"),
        ("subtract", ("--model_name_or_path", "m"), "Method subtract needs --percentile"),
        ("subtract", ("--percentile", 95), "Method subtract needs --model_name_or_path"),
        ("mlm", (), "Method mlm needs --model_name_or_path"),
        ("paraphrase", (), "Method paraphrase needs --forward_model and --backward_model"),
        ("llm", (), "Method llm needs --model_name_or_path (a chat model) or --base_url (a server)"),
        ("compensate", ("--model_name_or_path", "m", "--percentile", 100), "percentile must lie in [1, 100)"),
        ("subtract", ("--model_name_or_path", "m", "--percentile", 0), "percentile must lie in [1, 100)"),
        ("swap", ("--percentile", 95), "has no option --percentile; it belongs to subtract, compensate, replace"),
        ("cda", ("--seed", 3), "has no option --seed; it belongs to cds,"),
        ("cda", ("--temperature", 1), "has no option --temperature; it belongs to llm"),
        ("cds", ("--probability", 1.5), "--probability is 1.5, expected 1 or less"),
        ("mlm", ("--model_name_or_path", "m", "--num_proc", 2), "runs in one process"),
        ("llm", ("--model_name_or_path", "m", "--attempts", 0), "--attempts is 0, expected 1 or more"),
        ("swap", ("--attribute", "shoes"), "Unknown attribute 'shoes'"),
        ("swap", ("--attribute", "religion"), "A swap needs two groups"),
        ("swap", ("--label_column", "gold"), "no column 'gold'. Columns: text, other, label"),
        ("balance", ("--sampling", "sideways"), "unknown method 'sideways'"),
        ("synonyms", ("--wordnet", "nowhere"), "no such file or folder: nowhere. Expected a folder of WordNet"),
    ],
)
def test_bad_requests_end_in_one_line(write, augment, method, words, message):
    rows = [{"text": "She left.", "other": "x", "label": 1}]
    source = write(".csv", rows)
    if "--text_column" not in words:
        words = ("--text_column", "text", *words) if method != "text-swap" else words
    error = augment(source, method, *words, code=1)
    assert message in error
    assert "Traceback" not in error


def test_empty_and_unknown_sources(augment, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in augment(str(tmp_path / "empty.csv"), "swap", code=1)
    (tmp_path / "x.doc").write_text("x")
    assert "unknown file type" in augment(str(tmp_path / "x.doc"), "swap", code=1)


def test_help_lists_every_method_with_its_line(capsys):
    with pytest.raises(SystemExit):
        main(["augment", "--help"])
    text = capsys.readouterr().out
    for name, method in METHODS.items():
        assert re.search(rf"^  {name} +{re.escape(method.summary)}$", text, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_loads_and_names_its_source(name):
    assert callable(METHODS[name].load())
    if name not in ("swap", "neutralize"):
        assert re.search(r"\d{4}", METHODS[name].source())


def test_push(fake_hub, write, tmp_path):
    code = """
        import sys
        from pathlib import Path
        from datasets import Dataset, load_dataset
        from hf_fairness.cli import main
        source, out = sys.argv[1:]
        from support.pulled import check_private, pull, run_card
        words = ["augment", source, "--method", "cda", "--output_dir", out, "--push_to_hub"]
        words += ["--hub_dataset_id", "tester/fairer"]
        assert main(words) == 0
        assert main([*words, "--overwrite"]) == 0  # a repository that exists is updated
        place = pull("tester/fairer", "dataset")
        check_private(place, str(Path(out).parent))
        rows = run_card(place)["rows"]["train"]
        local = Dataset.from_parquet(f"{out}/data/train-00000-of-00001.parquet")
        assert rows.features == local.features and rows.to_list() == local.to_list()
        print(rows.to_list())
    """
    printed = fake_hub.run(code, write(".csv"), tmp_path / "out")
    assert printed.count("Pushed to") == printed.count("Nothing to push") == 1
    assert len(fake_hub.repo("datasets", "tester/fairer").commits) == 2  # the one that makes it, and ours
    files = fake_hub.files("tester/fairer", "dataset")
    assert {path for path in files if path not in (".gitattributes", MANIFEST)} == {
        "README.md",
        "data/train-00000-of-00001.parquet",
    }
    assert files["README.md"] == (tmp_path / "out" / "README.md").read_bytes()
    assert "He met his sister." in printed.splitlines()[-1]
    assert str(tmp_path) not in files["README.md"].decode()
