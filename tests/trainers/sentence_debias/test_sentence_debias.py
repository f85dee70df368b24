"""`hf-fairness sentence-debias`: a method that came with its own folder alone, with all that the spine brings."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from datasets import load_from_disk
from sentence_transformers import SentenceTransformer

from hf_fairness.cli import command
from hf_fairness.record import Record
from hf_fairness.trainers import SentenceDebiasConfig
from support.ccd_case import fewer_texts, make_encoder

WORDS = ["--dataset", "demo", "--max_rows", "120", "--n_samples", "50", "--n_bootstrap", "20", "--use_cpu"]
GENERAL = ["--n_seeds", "2", "--sweep", "n_directions=2", "--disable_tqdm", "True"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return make_encoder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def run(encoder, tmp_path_factory):
    """One run with two seeds and a sweep; its audits measure little."""
    out = tmp_path_factory.mktemp("run") / "out"
    with pytest.MonkeyPatch.context() as patch:
        fewer_texts(patch)
        words = [encoder, *WORDS, *GENERAL, "--output_dir", str(out)]
        result = command("sentence-debias")(words)
        started = stages(out)
        again = command("sentence-debias")(words)
    return out, result, started, again


def stages(out):
    return {each["stage"]: each["started"] for each in json.loads((out / "manifest.json").read_text())["stages"]}


def gaps(model: SentenceTransformer, rows) -> float:
    """Mean distance of the versions of a text about each group."""
    male, female = (model.encode(rows[name][:], normalize_embeddings=True) for name in ("male", "female"))
    return float(np.linalg.norm(male - female, axis=1).mean())


@pytest.mark.whole
def test_groups_come_closer_than_by_removing_as_much_at_random(run, encoder):
    out, _, _, _ = run
    rows = load_from_disk(out / "variants" / "audit")
    folders = {"before": encoder, "after": out / "model", "control": out / "train_control" / "model"}
    found = {name: gaps(SentenceTransformer(str(folder), device="cpu"), rows) for name, folder in folders.items()}
    assert found["before"] > 0.05  # there is something to remove
    assert found["after"] < 0.9 * found["control"]
    assert found["control"] == pytest.approx(found["before"], rel=0.05)


@pytest.mark.whole
def test_the_layer_removes_the_share_that_was_fitted(run, encoder):
    """On the rows that it was fitted on, the squared distances between groups fall by just that share."""
    out, result, _, _ = run
    rows = load_from_disk(out / "variants" / "train")
    model, layer = (SentenceTransformer(str(folder), device="cpu") for folder in (encoder, out / "model"))
    weight = layer[3].linear.weight.detach().numpy()
    male, female = (model.encode(rows[name][:], normalize_embeddings=True) for name in ("male", "female"))
    before, after = (np.square(gap).sum() for gap in (male - female, (male - female) @ weight))
    assert 1 - after / before == pytest.approx(result["arms"]["after"]["explained"], rel=1e-3)


@pytest.mark.whole
def test_the_report_has_arms_seeds_sweep_and_a_card(run):
    out, result, _, _ = run
    record = Record.from_json(json.loads((out / "report" / "record.json").read_text()))
    assert [(arm.name, arm.role) for arm in record.arms] == [
        ("before", "original"),
        ("control", "control"),
        ("after", "method"),
    ]
    assert (record.command, record.provenance["n_seeds"]) == ("sentence-debias", 2)
    assert {row[0] for row in record.tables[0].rows[1:]} == {"as asked", "n_directions=2"}
    assert list(result["trials"]) == ["seed=43", "n_directions=2"]
    assert result["arms"]["after"]["n_directions"] == 1
    assert 0.0 < result["arms"]["after"]["explained"] <= 1.0
    card = (out / "model" / "README.md").read_text()
    assert "SentenceDebias, Liang et al. 2020" in card
    assert "model-index:" in card
    assert str(out) not in card


@pytest.mark.whole
def test_a_second_run_and_other_seeds_make_nothing_twice(run):
    out, result, started, again = run
    assert stages(out) == started
    assert again["results"] == result["results"]
    assert "project-seed_43" not in started  # the seed draws nothing of the method's
    assert {"train_after", "train_after-n_directions_2", "train_control", "train_control-seed_43"} <= set(started)


@pytest.mark.whole
def test_the_model_opens_without_our_code(run):
    out, _, _, _ = run
    code = (
        "import sys, numpy as np\n"
        "from sentence_transformers import SentenceTransformer\n"
        "model = SentenceTransformer(sys.argv[1], device='cpu')\n"
        "assert abs(np.linalg.norm(model.encode('She sings.')) - 1) < 1e-5\n"
        "assert not any(name.startswith('hf_fairness') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(out / "model")], check=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bf16"], "--bf16 cannot be set here: .* nothing is trained"),
        (["--gradient_accumulation_steps", "2"], "--gradient_accumulation_steps cannot be set here"),
        (["--use_peft"], "--use_peft cannot be set here"),
        (["--n_directions", "0"], "--n_directions is 0, expected 1 or more"),
        (["--n_directions", "99"], r"--n_directions is 99, expected 1 to \d+: "),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(encoder, tmp_path, words, message):
    with pytest.raises(ValueError, match=message):
        command("sentence-debias")([encoder, *WORDS, "--output_dir", str(tmp_path / "out"), *words])


def test_settings_that_are_as_they_were_are_not_refused_in_a_copy():
    first = SentenceDebiasConfig(output_dir="out", use_cpu=True)
    assert replace(first, seed=1).seed == 1
