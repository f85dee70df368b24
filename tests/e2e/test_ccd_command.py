"""`hf-fairness ccd` as a user runs it, on a tiny random model: stages, resume, push, pull, and two processes."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hf_fairness.cli import main
from hf_fairness.record import Record
from hf_fairness.report import summarize
from hf_fairness.report.text import format_interval, format_number
from support.ccd_case import QUICK, make_encoder
from support.fake_hub import FakeHub
from support.manifest import stages

pytestmark = pytest.mark.whole

ROWS = 96
COMMON = ["--max_rows", str(ROWS), "--learning_rate", "1e-3", *QUICK]


def command(*words: object, env: dict[str, str] | None = None, check: bool = True, processes: int = 1):
    """Run hf-fairness in a process of its own, or under torchrun in several."""
    start = ["-m", "hf_fairness"]
    if processes > 1:
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes), "-m", "hf_fairness"]
    done = subprocess.run(
        [sys.executable, *start, *map(str, words)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **(env or {})},
        capture_output=True,
        text=True,
    )
    if check and done.returncode:
        pytest.fail(f"{done.args} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def here(*words: object) -> str:
    """The same in this process, which has imported everything; returns what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main([*map(str, words)]) == 0
    return printed.getvalue()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return make_encoder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory, encoder) -> tuple[Path, str]:
    """Output of one whole run, and what it printed."""
    out = tmp_path_factory.mktemp("ccd") / "out"
    done = command("ccd", "--model_name_or_path", encoder, "--output_dir", out, "--logging_steps", 1, *COMMON)
    return out, done.stdout


def audited(out: Path) -> dict:
    """The audit of the model that came out."""
    return json.loads((out / "report" / "results.json").read_text())["results"]["audit"]["after"]


def losses(out: Path, stage: str = "train_after") -> list[float]:
    return [entry["loss"] for entry in stages(out)[stage]["result"]["history"] if "loss" in entry]


def test_a_run_leaves_all_that_was_promised(finished, encoder):
    out, printed = finished
    names = [
        "variants",
        "scores_before",
        "train_after",
        "scores_after",
        "train_control",
        "scores_control",
        "comparisons",
        "report",
    ]
    assert list(stages(out)) == [*names, "model"]
    assert all(stage["status"] == "done" for stage in stages(out).values())
    assert json.loads((out / "config.json").read_text())["training"]["beta"] == 1.0
    assert "(CCED): built-in" in printed
    assert str(out / "model") in printed
    report = out / "report"
    results = json.loads((report / "results.json").read_text())
    assert {"arms", "results", "comparisons", "data", "meta"} <= set(results)
    assert set(results["results"]["audit"]) == {"before", "control", "after"}
    written = json.loads((report / "record.json").read_text())
    record = Record.from_json(written)
    assert (record.command, record.to_json()) == ("ccd", written)
    assert [arm.name for arm in record.arms] == ["before", "control", "after"]
    assert " ".join(summarize(record).headline.split()) in " ".join(printed.split())
    pictures = {"loss.svg", *(f"map-{k}-{side}.svg" for k in (0, 1) for side in ("before", "after"))}
    names = {"record.json", "results.json", "report.md", "report.html"} | pictures
    assert {path.name for path in report.iterdir()} == names
    assert all(str(report / name) in printed for name in names)
    (gap,) = [each for each in record.measures if each.id == "cced/built-in/cced"]
    assert f"{format_number(gap.values['after'].value)} {format_interval(gap.values['after'].ci95)}" in printed
    assert (out / "report" / "report.html").read_text().startswith("<!")
    card = (out / "model" / "README.md").read_text()
    assert "Bias, Risks, and Limitations" in card or "Bias, risks and limitations" in card
    assert "model-index:" in card
    published = [path for folder in ("model", "report") for path in (out / folder).rglob("*") if path.is_file()]
    private = [
        path.name
        for path in published
        if encoder.encode() in path.read_bytes() or str(out).encode() in path.read_bytes()
    ]
    assert private == []
    assert not any(path.suffix in (".bin", ".pkl", ".pt") for path in published)


def test_the_model_opens_without_our_code(finished):
    out, _ = finished
    code = (
        "import sys, numpy as np\n"
        "from sentence_transformers import SentenceTransformer\n"
        "from transformers import AutoModel, AutoTokenizer\n"
        "vector = SentenceTransformer(sys.argv[1], device='cpu').encode('She sings.')\n"
        "tokens = AutoTokenizer.from_pretrained(sys.argv[1])('She sings.', return_tensors='pt')\n"
        "states = AutoModel.from_pretrained(sys.argv[1]).eval()(**tokens).last_hidden_state\n"
        "plain = states.mean(1)[0].detach().numpy()\n"
        "assert np.allclose(vector, plain / np.linalg.norm(plain), atol=1e-5)\n"
        "assert not any(name.startswith('hf_fairness') for name in sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(out / "model")], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )


def test_the_control_is_the_same_training_towards_other_gaps(finished):
    out, _ = finished
    trained, control = stages(out)["train_after"]["result"], stages(out)["train_control"]["result"]
    assert len(losses(out, "train_control")) == control["kept_step"] == trained["kept_step"] <= len(losses(out))
    assert {key for key in control if trained[key] != control[key]} == {"random_gaps", "history", "seconds"}
    counts = stages(out)["variants"]["result"]
    assert trained["n_train"] == ROWS - counts["n_validation"] - counts["n_audit"] < ROWS
    assert min(counts["n_validation"], counts["n_audit"]) >= ROWS // 10
    bias = [entry["eval_loss_bias"] for entry in trained["history"] if "eval_loss_bias" in entry]
    assert bias[0] > bias[-1] > 0


def test_audit_compares_with_a_reference(finished, encoder, tmp_path):
    """The mitigated model against the original one, on given variants and labelled pairs as well."""
    out, _ = finished
    rows, pairs = tmp_path / "human.jsonl", tmp_path / "pairs.tsv"
    triple = {"male": "He is late for his tea.", "female": "She is late for her tea."}
    rows.write_text((json.dumps({**triple, "neutral": "They are late for their tea."}) + "\n") * 5)
    scored = [("A dog runs.", "A dog ran.", 4.5), ("It rains.", "We eat soup.", 0.2), ("A red door.", "A door.", 3.0)]
    pairs.write_text("sentence1\tsentence2\tscore\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in scored))
    words = ["--reference_model", encoder, "--variants", rows, "--sts_pairs", pairs, *QUICK[:4]]
    printed = here("audit", out / "model", "--output_dir", tmp_path / "report", *words)
    assert "(CCED): human" in printed
    report = json.loads((tmp_path / "report" / "results.json").read_text())
    written = json.loads((tmp_path / "report" / "record.json").read_text())
    record = Record.from_json(written)
    assert (record.command, record.to_json()) == ("audit", written)
    assert [arm.role for arm in record.arms] == ["original", "method"]
    assert report["after"]["utility"]["sts_spearman_change_ci95"]
    assert report["before"]["cced"]["human"]["n"] == 5
    trained = audited(out)["cced"]["built-in"]
    assert report["after"]["cced"]["built-in"]["cced"] == pytest.approx(trained["cced"], rel=1e-5)


def test_a_second_call_does_no_work_twice(finished, encoder):
    out, _ = finished
    before = {name: stage["started"] for name, stage in stages(out).items()}
    words = ["ccd", "--model_name_or_path", encoder, "--output_dir", out, "--logging_steps", 1, *COMMON]
    printed = here(*words)
    assert {name: stage["started"] for name, stage in stages(out).items()} == before
    assert "(CCED): built-in" in printed


def test_a_killed_run_goes_on_from_its_checkpoint(encoder, tmp_path):
    """Kill the command while it trains and run it again."""
    copy = tmp_path / "out"
    words = [
        "ccd",
        "--model_name_or_path",
        encoder,
        "--output_dir",
        copy,
        "--logging_steps",
        1,
        *COMMON,
        "--no_control",
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "hf_fairness", *map(str, words), "--num_train_epochs", "40"],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while running.poll() is None and not list(
        copy.glob(".partial/train_after.*/train_after/checkpoints/checkpoint-*/trainer_state.json")
    ):
        pass
    assert running.poll() is None, "the run ended before it could be killed"
    running.kill()
    running.wait()
    seen = stages(copy)
    assert seen["train_after"]["status"] == "running"
    done = command(*words, "--num_train_epochs", "40", "--traceback")
    after = stages(copy)
    assert after["variants"]["started"] == seen["variants"]["started"]
    assert after["train_after"]["status"] == "done"
    assert (copy / "model" / "model.safetensors").is_file()
    steps = [entry["step"] for entry in after["train_after"]["result"]["history"] if "loss" in entry]
    assert steps == sorted(set(steps))
    assert "(CCED): built-in" in done.stdout


def _own_frames(n: int) -> str:
    """A CSV of texts that have hardly a word in common: each is a frame of its own."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"{a}{b}{c}" for a in letters[:10] for b in letters[5:15] for c in letters[10:20]]
    texts = [f"she {' '.join(words[8 * place : 8 * place + 8])}" for place in range(n)]
    return "text\n" + "\n".join(texts) + "\n"


def test_two_processes_give_the_same_losses(encoder, tmp_path):
    processes = 2
    words = ["ccd", "--model_name_or_path", encoder, "--logging_steps", 1, *COMMON, "--no_control"]
    # 96 rows for training divide the global batch, 11 for validation do not
    rows = tmp_path / "rows.csv"
    rows.write_text(_own_frames(118))
    words += ["--dataset", rows, "--max_rows", 118, "--validation_rows", 11, "--num_train_epochs", 7]
    size = 32 // processes
    sizes = ["--per_device_train_batch_size", size, "--per_device_eval_batch_size", size]
    one, both = tmp_path / "one", tmp_path / "both"
    command(*words, "--output_dir", one)
    command(*words, *sizes, "--output_dir", both, processes=processes)
    counts = stages(one)["variants"]["result"]
    assert (counts["n_train"], counts["n_validation"], counts["n_audit"]) == (96, 11, 11)
    assert stages(both)["train_after"]["result"]["processes"] == processes
    assert stages(one)["train_after"]["result"]["processes"] == 1
    first, second = losses(one), losses(both)
    assert len(first) == len(second) == 21
    assert second[:20] == pytest.approx(first[:20], rel=1e-5)


def test_a_pushed_model_audits_to_the_same_numbers(finished, encoder, fake_hub: FakeHub, tmp_path):
    out, _ = finished
    copy = tmp_path / "out"
    shutil.copytree(out, copy)
    token = "hf_CanaryTokenThatNoFileMayHold0123"
    fake_hub.tokens = {token: {"role": "write"}}
    words = ["ccd", "--model_name_or_path", encoder, "--output_dir", copy, "--logging_steps", 1, *COMMON]
    words += ["--hub_token", token]
    pushed = fake_hub.run(
        [sys.executable, "-m", "hf_fairness", *map(str, words), "--push_to_hub", "--hub_model_id", "tester/fairer"]
    )
    assert "Pushed to" in pushed
    assert not any(token.encode() in path.read_bytes() for path in copy.rglob("*") if path.is_file())
    for stage in (
        "variants",
        "train_after",
        "train_control",
        "scores_after",
    ):  # where it is pushed to changes no training
        assert stages(copy)[stage]["started"] == stages(out)[stage]["started"]
    assert "tester/fairer" in (copy / "model" / "README.md").read_text()
    files = fake_hub.files("tester/fairer")
    assert {"README.md", "model.safetensors", "modules.json", "config.json", "tokenizer.json"} <= set(files)
    assert not any(name.startswith(("checkpoint", "audit", "report")) for name in files)
    report = tmp_path / "report"
    fake_hub.run(
        [
            sys.executable,
            "-m",
            "hf_fairness",
            "audit",
            "tester/fairer",
            "--output_dir",
            str(report),
            "--use_cpu",
            *QUICK[:4],
        ]
    )
    here = json.loads((copy / "report" / "results.json").read_text())["results"]["audit"]["after"]
    there = json.loads((report / "results.json").read_text())["after"]
    assert there["model"] == "tester/fairer"
    for test, found in here["seat"]["tests"].items():
        for key in ("effect_size", "p_value", "p_value_clustered"):
            assert there["seat"]["tests"][test][key] == pytest.approx(found[key], rel=1e-5)
    for key in ("cced", "cced_relative", "mean_distance", "n"):
        assert there["cced"]["built-in"][key] == pytest.approx(here["cced"]["built-in"][key], rel=1e-5)


def test_sweep_and_mlm_head(tmp_path):
    """`--sweep beta=...` compares four weights; the head of a masked-language model survives training."""
    import torch
    from transformers import AutoModelForMaskedLM

    base = make_encoder(tmp_path / "mlm", "BertForMaskedLM")
    out = tmp_path / "out"
    here(
        "ccd", "--model_name_or_path", base, "--output_dir", out, "--sweep", "beta=0,0.5,1,1.5", "--no_control", *COMMON
    )
    trials = json.loads((out / "report" / "results.json").read_text())["trials"]
    assert [trial["arms"]["after"]["beta"] for trial in trials.values()] == [0.0, 0.5, 1.0, 1.5]
    assert all({"loss_bias", "loss_rep"} <= set(trial["arms"]["after"]) for trial in trials.values())
    assert all("similarity_structure" in trial["results"]["audit"]["after"]["utility"] for trial in trials.values())
    assert "beta=0.5" in (out / "report" / "report.html").read_text()
    assert "**Sweep**" in (out / "model" / "README.md").read_text()
    before = AutoModelForMaskedLM.from_pretrained(base)
    after = AutoModelForMaskedLM.from_pretrained(out / "model")
    assert torch.equal(before.cls.predictions.transform.dense.weight, after.cls.predictions.transform.dense.weight)
    moved = [not torch.equal(a, b) for a, b in zip(before.bert.parameters(), after.bert.parameters(), strict=True)]
    assert any(moved)


def test_another_attribute_needs_no_code(tmp_path, encoder):
    """Rule 1: religion, with three groups, runs through the same command."""
    rows = tmp_path / "rows.csv"
    who = ["Christian", "Jewish", "Muslim"]
    shops, months = ("bakery", "garage", "school"), ("May", "June", "July", "March")
    frames = (
        "The {} family opened a {} in {}.",
        "Nobody asked any {} pupils at this {} before {}.",
        "My {} neighbour painted our old {} every {}.",
        "Thieves robbed two {} drivers behind that {} late during {}.",
        "Her {} cousin sold one {} for little money last {}.",
        "Without {} volunteers no {} could have survived until {}.",
    )
    texts = [frame.format(*filled) for frame in frames for filled in itertools.product(who, shops, months)]
    rows.write_text("text\n" + "\n".join(texts) + "\n")
    out = tmp_path / "out"
    words = ["--dataset", rows, "--attribute", "religion", "--no_control", *QUICK]
    here("ccd", "--model_name_or_path", encoder, "--output_dir", out, *words)
    report = audited(out)
    assert report["attribute"] == "religion"
    assert len(report["cced"]["held-out rows"]["pairs"]) == 3
    assert {"religion1", "religion2b"} <= set(report["seat"]["tests"])
