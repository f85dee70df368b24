"""The models beside the usual ones: what each is trained on, what is shared, and what is refused before any work."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness.record import Record
from hf_fairness.trainers import IBADRArguments
from hf_fairness.trainers.ibadr.arguments import CHOICES, TABLES
from hf_fairness.trainers.ibadr.arms import FILTERED, RECIPES, augmentation, chosen
from hf_fairness.trainers.ibadr.data import read_task
from hf_fairness.trainers.ibadr.pool import ACCEPTED, read_rows

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:hf_fairness.utils.FairnessWarning")
    for text in (r"Round \d", "Every one of the")
]
#: What needs no model and no list from elsewhere.
ARMS = [name for names in list(TABLES.values())[:4] for name in names if name != "crossaug"] + ["text_swap"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arms")


@pytest.fixture(scope="module")
def report(case, folder):
    return case.run(folder, arms=ARMS)


def stages(folder):
    return {stage["stage"]: stage for stage in json.loads((folder / "manifest.json").read_text())["stages"]}


@pytest.mark.whole
def test_every_arm_is_trained_and_compared(report):
    assert list(report["arms"]) == ["base", "ibadr", "control", *(name for name in RECIPES if name in ARMS)]
    for name in ARMS:
        for other in RECIPES[name].plan.against:
            assert f"{name} - {other}" in report["comparisons"]["planted"]
    assert report["arms"]["control"]["steps"] == report["arms"]["ibadr"]["steps"]
    record = Record.from_json(json.loads(report["files"]["json"].read_text()))
    assert [arm.name for arm in record.arms] == list(report["arms"])
    titles = [table.title for table in record.tables]
    assert "Rows that other methods added" in titles
    assert "Samples, round by round: without_indicators" in titles


@pytest.mark.whole
def test_models_are_trained_on_the_rows_of_their_recipe(case, report, folder):
    n, rows = len(case.world.train), {name: found["n_rows"] for name, found in report["arms"].items()}
    for name in ("poe", "reweight", "confreg"):
        assert rows[name] == n
    assert n < rows["dct"] <= 2 * n  # the hard rows once more
    assert rows["ibadr_poe"] == rows["ibadr"] == n + report["pool"]["n_added"]
    kept = read_rows(folder / "z-filter" / ACCEPTED)
    assert rows["z_filter"] == rows["z_filter_poe"] == n + len(kept)
    added = report["added"]["z-filter"]
    assert 0 < added["n_kept"] < added["n"]
    assert added["n"] == report["ablations"]["z_filter"][0]["counts"]["accepted"]
    assert rows["text_swap"] == 2 * n
    for name, rounds in report["ablations"].items():
        if name != FILTERED:
            assert rows[name] == n + sum(each["counts"]["accepted"] for each in rounds)
    assert report["ablations"]["without_filter"][0]["counts"].get("low_confidence", 0) == 0


@pytest.mark.whole
def test_what_is_the_same_is_made_once(report, folder):
    found = set(stages(folder))
    assert {"shallow-0", "generator-1", "samples-1"} <= found
    for name in report["ablations"]:
        assert not {f"base-{name}", f"shallow-0-{name}"} & found
    for name in ("without_update", "lowest_indicator", "without_filter", "biased_filter", "without_rounds"):
        assert f"generator-1-{name}" not in found
    assert "samples-1-without_update" not in found
    assert "samples-1-lowest_indicator" in found
    generators = {f"generator-1-{name}" for name in ("without_indicators", "z_filter")}
    assert len(generators & found) == 1


@pytest.mark.whole
def test_a_second_run_does_nothing_and_another_arm_only_its_own(case, report, folder):
    before = {name: stage["started"] for name, stage in stages(folder).items()}
    again = case.run(folder, arms=[*ARMS[1:], "none"])
    for key in ("rounds", "pool"):
        assert again[key] == report[key]
    for name in again["arms"]:
        assert again["arms"][name] == report["arms"][name]
    after = {name: stage["started"] for name, stage in stages(folder).items()}
    assert {name for name in after if after[name] != before.get(name)} <= {"comparisons", "report", "model"}


@pytest.mark.whole
def test_the_old_flag_is_two_of_the_arms(case, report, folder):
    found = case.run(folder, poe=True)
    assert list(found["arms"]) == ["base", "ibadr", "control", "poe", "ibadr_poe"]
    assert found["arms"]["poe"] == report["arms"]["poe"]


@pytest.mark.whole
def test_losses_decide_what_is_learned(case, report, folder):
    """The same rows, the same steps: every loss of its own leads to weights of its own."""
    from safetensors.numpy import load_file

    weights = {}
    for name in ("base", "poe", "reweight", "confreg"):
        tensors = load_file(folder / name / "model.safetensors")
        weights[name] = np.concatenate([tensors[key].ravel() for key in sorted(tensors)])
    names = list(weights)
    for place, name in enumerate(names):
        assert all(np.abs(weights[name] - weights[other]).max() > 1e-6 for other in names[:place])


@pytest.mark.whole
def test_every_seed_has_ablations_of_its_own(case, tmp_path):
    found = case.run(tmp_path, arms=["lowest_indicator"], n_seeds=2, n_iterations=1, control=False)
    names = set(stages(tmp_path))
    assert {"samples-1-lowest_indicator", "samples-1-seed_1-lowest_indicator", "generator-1-seed_1"} <= names
    assert not {"generator-1-lowest_indicator", "generator-1-seed_1-lowest_indicator"} & names
    seeds = [each["results"]["planted"]["lowest_indicator"]["accuracy"] for each in (found, found["trials"]["seed=1"])]
    measure = next(each for each in found["record"].measures if each.id == "challenge/planted/accuracy")
    assert measure.values["lowest_indicator"].value == pytest.approx(np.mean(seeds))


@pytest.mark.whole
def test_a_shallow_model_that_reads_from_left_to_right(case, tmp_path):
    """As GPT-2 large is that of the paper: it classifies by the last token, and what DCT contrasts is read there."""
    from transformers import GPT2Config

    _, tokenizer = case.classifier
    shape = {"n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": len(tokenizer)}
    shallow = GPT2Config(**shape, pad_token_id=tokenizer.pad_token_id)
    found = case.run(tmp_path, shallow=(shallow, tokenizer), arms=["dct", "poe"], n_iterations=1, control=False)
    assert list(found["arms"]) == ["base", "ibadr", "poe", "dct"]
    steps = [name for name in stages(tmp_path) if name.startswith("shallow-0")]
    assert steps == ["shallow-0"]  # one epoch: there is nothing between
    two = case.run(
        tmp_path, shallow=(shallow, tokenizer), arms=["dct"], n_iterations=1, control=False, shallow_num_train_epochs=2
    )
    assert "shallow-0-step-2" in stages(tmp_path)
    assert two["arms"]["dct"]["n_rows"] > len(case.world.train)


def test_the_order_is_that_of_the_table_whatever_was_asked():
    arguments = IBADRArguments(arms=["z-filter", "reweight", "z_filter"], poe=True, added_sizes=[7], control=False)
    assert list(chosen(arguments)) == ["base", "ibadr", "ibadr_7", "poe", "ibadr_poe", "reweight", "z_filter"]
    assert IBADRArguments(arms=["none"]).chosen_arms == IBADRArguments().chosen_arms == ()
    with pytest.raises(ValueError, match="--arms has 'zfilter', expected some of reweight, confreg"):
        IBADRArguments(arms=["zfilter"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arms": ["crossaug"]}, "--arms crossaug: it makes no row of any of the 128 training rows"),
        ({"arms": ["mlm"]}, "--arms mlm needs --masked_model"),
        ({"arms": ["paraphrase"], "forward_model": "there"}, "--arms paraphrase needs --backward_model"),
        ({"arms": ["reweight"], "label_smoothing_factor": 0.1}, "--arms reweight has a loss of its own"),
        ({"arms": ["synonyms"], "wordnet": "nowhere"}, "nowhere holds no WordNet"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(case, tmp_path, settings, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        case.run(tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def task_of(labels, names, **columns):
    rows = Dataset.from_dict({**columns, "label": labels})
    return read_task(IBADRArguments(class_names=names, text_column=list(columns)), rows, validation=rows)


def test_crossaug_is_for_claims_and_their_evidence():
    claims = {"claim": ["It has 3 towers."] * 2, "evidence": ["The gate has 3 towers."] * 2}
    for names in (["SUPPORTS", "REFUTES"], ["entailment", "contradiction"]):
        task = task_of([0, 1], names, **claims)
        made = augmentation("crossaug", IBADRArguments(hypothesis_first=True), task, 0, None)(task.train[:])
        assert made["label"] == [0, 1, 1, 0, 1]
        assert made["evidence"][1] == claims["evidence"][0]  # the claim alone was changed
        assert made["claim"][1] != claims["claim"][0]
    with pytest.raises(ValueError, match=r"made for fact verification: .* the data have toxic, fine"):
        augmentation("crossaug", IBADRArguments(), task_of([0, 1], ["toxic", "fine"], **claims), 0, None)
    single = task_of([0, 1], ["SUPPORTS", "REFUTES"], text=["a", "b"])
    for name in ("crossaug", "text_swap"):
        with pytest.raises(ValueError, match=rf"--arms {name} takes pairs of texts; the data have the one text column"):
            augmentation(name, IBADRArguments(), single, 0, None)


def test_synonyms_are_of_the_hypothesis():
    folder = Path("/usr/share/wordnet")
    if not folder.is_dir():
        pytest.skip("needs WordNet in /usr/share/wordnet (package wordnet-base)")
    texts = {"premise": ["The car is large."], "hypothesis": ["The car is large."]}
    task = task_of([0], ["yes"], **texts)
    made = augmentation("synonyms", IBADRArguments(wordnet=str(folder)), task, 0, None)(task.train[:])
    assert made["premise"][1] == texts["premise"][0] != made["hypothesis"][1]


def test_every_choice_is_named_in_the_help():
    text = IBADRArguments.__dataclass_fields__["arms"].metadata["help"]
    assert all(name in text for name in CHOICES)
