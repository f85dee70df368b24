"""`hf-fairness ibadr` as a user runs it: files, YAML, challenge sets, demo, errors."""

from __future__ import annotations

import json

import pytest

from hf_fairness.cli import command, methods
from hf_fairness.record import Record
from hf_fairness.report import summarize
from support.ibadr_case import write_files
from support.record_case import one_line

ibadr = command("ibadr")

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


@pytest.mark.whole
def test_files_and_yaml(files, tmp_path, capsys):
    words = [str(files / "classifier"), "--config", str(files / "ibadr.yaml"), "--dataset", str(files / "train.jsonl")]
    words += [
        "--validation_dataset",
        str(files / "validation.jsonl"),
        "--output_dir",
        str(tmp_path / "out"),
        "--n_generated",
        "80",
    ]
    words += ["--challenge", f"own={files / 'challenge.jsonl'}", f"hans={files / 'hans.txt'}"]
    result = ibadr(words)
    assert result["rounds"][0]["counts"]["drawn"] == 80  # a flag wins over the file
    assert set(result["results"]) == {"validation", "own", "hans"}
    assert result["results"]["hans"]["ibadr"]["n"] == 8
    assert "heuristic" in result["results"]["hans"]["ibadr"]["by"]
    printed = capsys.readouterr().out
    folder = tmp_path / "out" / "report"
    written = json.loads((folder / "record.json").read_text())
    record = Record.from_json(written)
    assert record.to_json() == written
    assert (record.command, record.name) == ("ibadr", "classifier-ibadr")
    assert one_line(printed).startswith(one_line(summarize(record).headline))
    assert "accuracy: challenge set hans" in printed
    assert "No measure got clearly worse." in printed or "Got clearly worse:" in printed
    names = {"record.json", "report.md", "report.html", "results.json", "bias_degrees.svg", "samples.svg"}
    assert {path.name for path in folder.iterdir()} == names
    assert all(str(folder / name) in printed for name in names)
    for name in ("model", "generator-1", "pool"):
        assert f"{tmp_path / 'out' / name}\n" in printed
    text = (folder / "report.md").read_text()
    assert "| added to the pool |" in text
    assert all(f"- {arm.title}: {arm.about}" in text for arm in record.arms)
    premise = json.loads((files / "train.jsonl").read_text().splitlines()[0])["premise"]
    for path in (*folder.iterdir(), tmp_path / "out" / "model" / "README.md"):
        assert str(tmp_path) not in path.read_text()
        assert str(files) not in path.read_text()
        assert premise not in path.read_text()
    assert json.loads((folder / "results.json").read_text())["arguments"]["generator_model"] == "generator"


@pytest.mark.whole
def test_a_sweep_is_a_table_of_its_trials(files, tmp_path, capsys):
    words = [str(files / "classifier"), "--config", str(files / "ibadr.yaml"), "--dataset", str(files / "train.jsonl")]
    words += [
        "--validation_dataset",
        str(files / "validation.jsonl"),
        "--output_dir",
        str(tmp_path),
        "--n_generated",
        "80",
    ]
    result = ibadr([*words, "--sweep", "n_bias_indicators=2,3", "--name", "Two <b>sizes</b>", "--no_control"])
    written = json.loads((tmp_path / "report" / "record.json").read_text())
    assert (written["command"], written["name"]) == ("ibadr", "Two <b>sizes</b>")
    assert list(result["trials"]) == ["n_bias_indicators=2", "n_bias_indicators=3"]
    assert str(tmp_path / "report" / "report.html") in capsys.readouterr().out
    page, text = ((tmp_path / "report" / f"report.{kind}").read_text() for kind in ("html", "md"))
    for shown in (page, text):
        assert "<b>" not in shown
        assert str(tmp_path) not in shown
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith(r"| n\_bias\_indicators=")]
    for label, arm, value, *_ in rows:  # only what differs from the rows above has one of its own: the base does not
        assert arm == "IBADR"
        found = result["trials"][label.removeprefix("| ").replace("\\", "")]["results"]["validation"]["ibadr"]
        assert value.startswith(f"{found['accuracy']:.3f} [")
    assert "**Sweep**" in text
    assert not (tmp_path / "base-n_bias_indicators_2").exists()  # the base model is that of all


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--dataset is missing"),
        (["--dataset", "{train}"], "The classifier .* is missing"),
        (["--dataset", "{train}", "--challenge", "snli=x"], "expected NAME=PLACE"),
        (
            ["--dataset", "{train}", "--challenge", "hans=nowhere"],
            "--challenge hans: there is no such file or folder: nowhere",
        ),
        (["--dataset", "{train}", "--validation_dataset", "nowhere.csv"], "no such file or folder: nowhere.csv"),
        (["--dataset", "{train}", "--n_bias_indicators", "1"], "--n_bias_indicators is 1"),
        (
            ["m", "--dataset", "{train}", "--class_names", "entailment", "neutral"],
            "39 of 128 rows .* row 0 has the label 'contradiction'",
        ),
    ],
)
def test_errors(files, tmp_path, words, message):
    words = [word.replace("{train}", str(files / "train.jsonl")) for word in words]
    with pytest.raises(ValueError, match=message):
        ibadr([*words, "--n_shallow", "20", "--output_dir", str(tmp_path / "out")])


def test_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        ibadr(["--help"])
    printed = capsys.readouterr().out
    for text in ("--challenge", "--sweep", "--n_seeds", "--n_bias_indicators", "(table 5)", "--demo"):
        assert text in printed
    assert "%%" not in printed


def test_the_demo_is_ready(monkeypatch):
    """Its settings are known, its data are there; the run itself is that of the benchmark."""
    seen = {}
    monkeypatch.setattr("hf_fairness.trainers.run_ibadr", lambda arguments, config, **given: seen.update(given) or {})
    monkeypatch.setattr(methods, "print_report", lambda result: None)
    ibadr(["--demo", "--n_iterations", "1"])
    assert set(seen) == {"train", "validation", "challenge", "model", "generator", "anti_artefact", "pools"}
    assert len(seen["anti_artefact"](seen["validation"])) == len(seen["validation"])


@pytest.mark.whole
def test_a_configuration_and_splits_of_a_folder(files, tmp_path):
    """As GLUE lies on the Hub: several configurations, splits that are called in their own way."""
    from datasets import ClassLabel, Dataset

    folder, names = tmp_path / "glue", ["entailment", "neutral", "contradiction"]
    lines = ["---", "configs:"]
    for config, turned in (("mnli", names), ("other", names[::-1])):
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, file in (("train", "train"), ("validation_matched", "validation")):
            rows = [json.loads(line) for line in (files / f"{file}.jsonl").read_text().splitlines()]
            table = {name: [row[name] for row in rows] for name in ("premise", "hypothesis", "label")}
            table["premise"] = [f"{text} ." if config == "other" else text for text in table["premise"]]
            made = Dataset.from_dict({**table, "idx": list(range(len(rows)))})
            place = folder / config / f"{split}.parquet"
            place.parent.mkdir(parents=True, exist_ok=True)
            made.cast_column("label", ClassLabel(names=turned)).to_parquet(place)
            lines += [f"  - split: {split}", f"    path: {config}/{split}.parquet"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    words = [str(files / "classifier"), "--config", str(files / "ibadr.yaml"), "--dataset", str(folder)]
    words += ["--text_column", "premise", "hypothesis", "--validation_split", "validation_matched"]
    words += ["--output_dir", str(tmp_path / "out"), "--n_generated", "80"]
    with pytest.raises(ValueError, match="--dataset_config names one of its configurations"):
        ibadr(words)
    result = ibadr([*words, "--dataset_config", "mnli", "--max_rows", "100"])
    assert (result["data"]["train"]["n"], result["data"]["validation"]["n"]) == (100, 40)
    assert not result["data"]["validation_held_out"]
    assert result["data"]["label_names"] == names
    told = result["arguments"]
    assert (told["dataset"], told["dataset_config"], told["max_rows"]) == ("glue", "mnli", 100)
    assert (told["num_train_epochs"], told["per_device_train_batch_size"], told["seed"]) == (1, 16, 0)


def test_a_challenge_set_as_build_dataset_writes_it(files, tmp_path, monkeypatch):
    """The rows of the authors' file, whichever way they come."""
    from hf_fairness.dataset_scripts._build import build

    (tmp_path / "raw").mkdir()
    rows = HANS.replace("\ttemplate\n", "\ttemplate\tpairID\n").splitlines()
    lines = [rows[0], *(f"{line}\tex{k}" for k, line in enumerate(rows[1:]))]
    for name in ("heuristics_train_set.txt", "heuristics_evaluation_set.txt"):
        (tmp_path / "raw" / name).write_text("\n".join(lines[: 5 if "train" in name else None]) + "\n")
    build("hans", tmp_path / "hans", data_dir=tmp_path / "raw")
    seen = {}
    monkeypatch.setattr("hf_fairness.trainers.run_ibadr", lambda arguments, config, **given: seen.update(given) or {})
    monkeypatch.setattr(methods, "print_report", lambda result: None)
    words = ["m", "--dataset", str(files / "train.jsonl"), "--challenge", f"hans={tmp_path / 'hans'}"]
    ibadr([*words, "own=" + str(files / "challenge.jsonl")])
    assert set(seen["challenge"]) == {"hans", "own"}
    found = seen["challenge"]["hans"]
    assert (len(found), set(found["heuristic"])) == (8, {"lexical_overlap"})
    assert found.features["label"].names == ["entailment", "non-entailment"]


@pytest.mark.parametrize("word", ["--max_steps=5", "--load_best_model_at_end", "--label_names=a"])
def test_settings_that_the_recipe_owns_are_refused(files, tmp_path, word):
    with pytest.raises(ValueError, match=f"^{word.split('=')[0]} cannot be set here"):
        ibadr(["m", "--dataset", str(files / "train.jsonl"), "--output_dir", str(tmp_path / "out"), word])


def test_a_bad_setting_of_the_file_is_said_to_be_of_the_file(files, tmp_path):
    (tmp_path / "c.yaml").write_text("confidence_from: shallow\nlabel_distribution: [0.5, 0.1]\n")
    with pytest.raises(ValueError, match=r"--config .*c.yaml: --label_distribution is \[0.5, 0.1\]"):
        ibadr(["m", "--config", str(tmp_path / "c.yaml")])
