"""The pipeline: what it leaves behind, that it goes on wherever it was killed, its switches and its errors."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from datasets import Dataset, load_dataset
from transformers import AutoConfig

from hf_fairness.cli.methods import print_report
from hf_fairness.record import Record
from hf_fairness.report import summarize
from hf_fairness.runs import Run
from hf_fairness.trainers.ibadr.guards import LabelsAtChanceError
from hf_fairness.trainers.ibadr.pool import ACCEPTED, REJECTED, read_rows
from hf_fairness.utils import FairnessWarning
from support.record_case import through_json, verdicts

#: What models that learn little are warned of.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:hf_fairness.utils.FairnessWarning")
    for text in (r"Round \d", "Every one of the")
]
STAGES = ["base", "scores_base", "shallow-0", "generator-1", "samples-1", "shallow-1"]
STAGES += ["generator-2", "samples-2", "pool", "probes", "ibadr", "scores_ibadr", "control", "scores_control"]
STAGES += ["comparisons", "report", "model"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ibadr")


@pytest.fixture(scope="module")
def report(case, folder):
    return case.run(folder, anti_artefact=case.world.anti_artefact, probe=True)


@pytest.fixture(scope="module")
def judge(case, tmp_path_factory):
    """Folder of a classifier that knows the labels of the world."""
    from hf_fairness.trainers.training.pair_training import open_pair_classifier, train_pair_classifier

    folder = tmp_path_factory.mktemp("judge")
    config, tokenizer = case.classifier
    model, _ = open_pair_classifier(config, label_names=case.world.train.features["label"].names, tokenizer=tokenizer)
    settings = {"num_train_epochs": 12, "learning_rate": 1e-2, "per_device_train_batch_size": 16, "use_cpu": True}
    train_pair_classifier(model, tokenizer, case.world.train, training_arguments=settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def started(report, folder, tmp_path):
    """A copy of the finished run: what a changed setting does not touch is there already."""
    shutil.copytree(folder, tmp_path / "run")
    return tmp_path / "run"


def manifest(folder):
    return {stage["stage"]: stage for stage in json.loads((folder / "manifest.json").read_text())["stages"]}


def test_stages_in_order(report, folder):
    found = manifest(folder)
    assert list(found) == STAGES
    assert {stage["status"] for stage in found.values()} == {"done"}


def test_added_rows_are_shown_when_asked_for(case, started):
    shown = case.run(started, anti_artefact=case.world.anti_artefact, probe=True, show_texts=3)
    assert all(0 < len(each["examples"]) <= 3 for each in shown["rounds"])
    written = Record.from_json(json.loads(shown["files"]["json"].read_text()))
    assert len(written.texts) == len(shown["rounds"])
    text = next(iter(shown["rounds"][0]["examples"][0].values()))
    assert all(text in shown["files"][kind].read_text() for kind in ("json", "html", "markdown", "results"))
    card = (shown["model"] / "README.md").read_text()
    assert text not in card
    assert "Rows added in round" not in card


def test_every_sample_is_accounted_for(report, folder):
    for each in report["rounds"]:
        counts = dict(each["counts"])
        assert counts.pop("drawn") == 60 == sum(counts.values())
        kept, left = (read_rows(folder / f"samples-{each['round']}" / name) for name in (ACCEPTED, REJECTED))
        assert len(kept) == counts["accepted"]
        assert len(left) == 60 - counts["accepted"]
        assert set(left["reason"]) == set(counts) - {"accepted"}
        numbers = [int(text.rpartition(":")[2]) for text in [*kept["source_id"], *left["source_id"]]]
        assert sorted(numbers) == list(range(60))
        assert each["degrees"]["after"]["n"] == counts["accepted"]
        assert 0.0 <= each["anti_artefact"]["before"]["anti_artefact_share"] <= 1.0
        assert each["agreement"]["before"]["agreement_ci95"] is not None
        assert each["examples"] == []  # a generator repeats texts of the data: they are shown when asked for
        assert each["pool"]["n"] == each["generator"]["n"]
        assert each["pool"]["group_means"] == sorted(each["pool"]["group_means"])


def test_the_pool_is_a_data_set_with_a_card(case, report):
    rows = load_dataset(str(report["artefacts"]["pool"].folder), split="train")
    counts = report["pool"]
    assert (len(rows), counts["n_original"]) == (counts["n"], len(case.world.train))
    assert rows.features["label"].names == ["entailment", "neutral", "contradiction"]
    assert [set(rows["iteration"][:]), rows[0]["source_id"]] == [{0, 1, 2}, "original:0"]
    added = rows.filter(lambda row: row["iteration"] > 0)
    assert set(added["indicator"]) <= {1, 2}
    texts = {(a.casefold(), b.casefold()) for a, b in zip(rows["premise"], rows["hypothesis"], strict=True)}
    assert len(texts) == len(rows)
    card = (report["artefacts"]["pool"].folder / "README.md").read_text()
    assert "written by a language model" in card
    assert "round 1" in card


def test_arms_and_comparisons(report):
    arms = report["arms"]
    assert list(arms) == ["base", "ibadr", "control"]
    assert arms["control"]["steps"] == arms["ibadr"]["steps"]
    assert arms["control"]["max_steps"] == arms["ibadr"]["max_steps"]
    assert arms["control"]["n_rows"] == arms["base"]["n_rows"] < arms["ibadr"]["n_rows"]
    assert set(report["results"]) == {"validation", "planted"}
    found = report["comparisons"]["planted"]["ibadr - control"]["accuracy"]
    accuracies = report["results"]["planted"]
    gap = accuracies["ibadr"]["accuracy"] - accuracies["control"]["accuracy"]
    assert found["difference"] == pytest.approx(gap)
    assert set(report["partial_input"]) == {"original", "pool"}
    assert 0.0 <= report["leakage"]["by_set"]["planted"]["leak_share"] <= 1.0


def test_the_record_has_the_numbers_of_the_result_and_judges_them(report):
    """Of whole sets the paired interval decides, of gold labels and other parts whether the intervals lie apart."""
    record = through_json(report["record"])
    whole = {measure.id: measure for measure in record.measures if not measure.detail}
    assert list(whole) == ["validation/accuracy", "challenge/planted/accuracy"]
    for measure in record.measures:
        title, _, part = measure.set.partition("/")
        found = report["results"][title]
        if part:
            kind, value = part.split("/")
            found = {
                arm: (each["labels"] if kind == "label" else each["by"][kind])[value] for arm, each in found.items()
            }
        assert measure.detail == bool(part)
        assert {arm: (value.value, value.ci95 and list(value.ci95)) for arm, value in measure.values.items()} == {
            arm: (each["accuracy"], each["accuracy_ci95"]) for arm, each in found.items()
        }
    labels = {measure.set for measure in record.measures if measure.detail}
    assert labels >= {f"validation/label/{name}" for name in report["results"]["validation"]["base"]["labels"]}
    found = verdicts(record)
    for title, pairs in report["comparisons"].items():
        for names, gap in pairs.items():
            low, high = gap["accuracy"]["difference_ci95"]
            wanted = "improved" if low > 0 else "worse" if high < 0 else "unclear"
            path = "" if title == "validation" else "challenge/"
            assert found[(f"{path}{title}/accuracy", *names.split(" - "))] == wanted
    for measure in record.measures:
        ours, theirs = measure.values["ibadr"].ci95, measure.values["base"].ci95
        if measure.detail and ours and theirs:
            wanted = "worse" if ours[1] < theirs[0] else "improved" if ours[0] > theirs[1] else "unclear"
            assert found[measure.id, "ibadr", "base"] == wanted
    lost = {measure for (measure, *pair), kind in found.items() if pair == ["ibadr", "base"] and kind == "worse"}
    assert len(summarize(record).worse) == len(lost)


def test_report_files(report, folder):
    assert set(report["files"]) == {"json", "markdown", "html", "results", "bias_degrees", "samples"}
    assert set(report["files"].values()) == set((folder / "report").iterdir())
    page, text = (report["files"][kind].read_text() for kind in ("html", "markdown"))
    for shown in (page, text):
        places = [shown.index(part) for part in ("Got worse", "Improved", "Models", "Not measured")]
        assert places == sorted(places)
        assert "anti-artefact share" in shown
        assert "/tmp" not in shown
    low, high = report["comparisons"]["planted"]["ibadr - control"]["accuracy"]["difference_ci95"]
    assert f"[{low:.3f}, {high:.3f}], p = ".replace("-", "\N{MINUS SIGN}") in text  # beside "Against control"
    assert page.count("<figure>") == 2
    written = json.loads(report["files"]["json"].read_text())
    assert Record.from_json(written).to_json() == written
    assert {**written, "figures": {}} == report["record"].to_json()
    saved = json.loads(report["files"]["results"].read_text())
    assert saved["rounds"] == report["rounds"]
    assert not any("/tmp" in path.read_text() for path in report["files"].values())


def test_a_second_run_does_nothing(case, report, folder, monkeypatch):
    monkeypatch.setattr(Run, "_work", lambda *args, **kwargs: pytest.fail("a stage ran again"))
    written = {kind: path.read_bytes() for kind, path in report["files"].items()}
    again = case.run(folder, anti_artefact=case.world.anti_artefact, probe=True)
    assert again["results"] == report["results"]
    assert again["record"].to_json() == report["record"].to_json()
    assert {kind: path.read_bytes() for kind, path in again["files"].items()} == written


def test_a_new_name_is_that_of_report_and_card_and_nothing_else(case, started, report):
    before = manifest(started)
    found = case.run(started, anti_artefact=case.world.anti_artefact, probe=True, name="Ours | <b>now</b>")
    after = manifest(started)
    assert {stage for stage in STAGES if before[stage]["key"] != after[stage]["key"]} == {"report", "model"}
    assert found["record"].name == json.loads(found["files"]["json"].read_text())["name"] == "Ours | <b>now</b>"
    assert "<h1>Ours | &lt;b&gt;now&lt;/b&gt;</h1>" in found["files"]["html"].read_text()
    for place in (found["files"]["markdown"], found["model"] / "README.md"):
        assert "Ours \\| &lt;b&gt;now&lt;/b&gt;: iterative" in place.read_text()
    assert found["results"] == report["results"]


def test_a_report_that_was_lost_is_written_again_byte_for_byte(case, report, started):
    written = {kind: path.read_bytes() for kind, path in report["files"].items()}
    shutil.rmtree(started / "report")
    again = case.run(started, anti_artefact=case.world.anti_artefact, probe=True)
    assert {kind: path.read_bytes() for kind, path in again["files"].items()} == written


@pytest.mark.whole
def test_killed_at_every_stage(case, report, tmp_path, monkeypatch):
    """Killed at the end of every stage, one after the other; every run goes on from what the one before left."""
    original = Run._work
    killed = []

    def work(self, entry, key, version, function, keep_partial):
        def once(folder):
            result = function(folder)
            if entry["stage"] not in killed:
                killed.append(entry["stage"])
                raise KeyboardInterrupt
            return result

        return original(self, entry, key, version, once, keep_partial)

    monkeypatch.setattr(Run, "_work", work)
    options = {"anti_artefact": case.world.anti_artefact, "probe": True}
    for _ in STAGES:
        with pytest.raises(KeyboardInterrupt):
            case.run(tmp_path, **options)
    found = case.run(tmp_path, **options)
    assert killed == STAGES
    for key in ("rounds", "pool", "arms", "results", "comparisons", "partial_input", "leakage"):
        assert found[key] == report[key], key


@pytest.mark.whole
@pytest.mark.parametrize(
    "settings",
    [
        {"use_indicators": False, "random_indicator": False},
        {"update_shallow": False, "poe": True, "added_sizes": [5]},
        {"iterative": False, "confidence_from": "main"},
        {"confidence_from": "shallow", "generator_use_peft": True, "n_iterations": 1, "generator_num_train_epochs": 25},
    ],
    ids=lambda settings: ",".join(settings),
)
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
def test_switches(case, started, settings):
    found = case.run(started, **settings)
    stages = manifest(started)
    asked = {row for each in found["rounds"] for row in _indicators(started, each["round"])}
    if not settings.get("use_indicators", True):
        assert asked == {0}
    if not settings.get("update_shallow", True):
        assert stages["generator-2"]["result"]["pool"]["n_scored"] == found["rounds"][0]["counts"]["accepted"]
        assert {"poe", "ibadr_poe", "ibadr_5"} <= set(found["arms"])
        assert found["arms"]["ibadr_5"]["n_rows"] == len(case.world.train) + 5
        assert "ibadr_poe - ibadr" in found["comparisons"]["planted"]
    if not settings.get("iterative", True):
        assert [each["counts"]["drawn"] for each in found["rounds"]] == [120]
    if settings.get("generator_use_peft"):
        from transformers import AutoModelForCausalLM

        AutoModelForCausalLM.from_pretrained(found["artefacts"]["generator"].folder)
        each = found["rounds"][0]
        assert each["confidence"] == each["degrees"]


def _indicators(folder, number):
    rows = read_rows(folder / f"samples-{number}" / ACCEPTED)
    return rows["indicator"][:]


def test_samples_that_never_end(case, started):
    settings = {"generator_num_train_epochs": 0.1, "generator_learning_rate": 1e-6, "temperature": 1e-3}
    with pytest.raises(
        ValueError, match=r"none of 60 samples is of use .*does not end its samples within --max_new_tok"
    ):
        case.run(started, **settings)
    assert manifest(started)["samples-1"]["status"] == "failed"


def test_a_filter_that_lets_nothing_through(case, started):
    """A lower threshold then goes on from what it does not touch."""
    settings = {"confidence_from": "shallow", "n_iterations": 1}
    with pytest.raises(ValueError, match=r"Round 1: none of \d+ new samples reaches the confidence 1 of shallow"):
        case.run(started, **settings, confidence_threshold=1.0)
    before = manifest(started)
    found = case.run(started, **settings, confidence_threshold=0.01)
    assert found["pool"]["n_added"] > 0
    after = manifest(started)
    assert [after[name]["key"] == before[name]["key"] for name in ("base", "samples-1")] == [True, False]
    assert after["base"]["started"] == before["base"]["started"]


@pytest.mark.whole
def test_an_error_in_a_later_round_leaves_the_pool(case, report, folder, started, monkeypatch):
    from hf_fairness.trainers.ibadr.rounds import Rounds

    original = Rounds.sampled

    def sampled(rounds, *args, number, **kwargs):
        if number == 2:
            raise ValueError("Round 2: none of 60 samples is of use.")
        return original(rounds, *args, number=number, **kwargs)

    monkeypatch.setattr(Rounds, "sampled", sampled)
    with pytest.raises(ValueError, match="Round 2"):
        case.run(started, anti_artefact=case.world.anti_artefact, resume=False)
    kept = read_rows(started / "samples-1" / ACCEPTED)
    assert kept[:] == read_rows(folder / "samples-1" / ACCEPTED)[:]


@pytest.mark.whole
def test_labels_that_mean_nothing(case, judge, tmp_path):
    """A generator that does not read its label, and a judge that can tell: the base model knows the markers."""
    shuffled = case.world.train.shuffle(seed=1)["label"][:]
    rows = case.world.train.remove_columns("label").add_column("label", shuffled)
    names = {"class_names": ["entailment", "neutral", "contradiction"], "judge_model": str(judge)}
    settings = {
        **names,
        "check_agreement": True,
        "n_iterations": 1,
        "n_generated": 200,
        "generator_num_train_epochs": 14,
    }
    with pytest.raises(LabelsAtChanceError, match=r"agree with the judge's .* has not learned what the labels mean"):
        case.run(tmp_path / "out", train=rows, **settings)
    with pytest.warns(FairnessWarning, match="has not learned what the labels mean"):
        case.run(tmp_path / "out", train=rows, **{**settings, "check_agreement": False, "confidence_from": str(judge)})


@pytest.mark.whole
def test_labels_that_mean_little(case, judge, tmp_path):
    """A third of the labels that the generator reads are right; a judge agrees far less than on validation rows."""
    labels = list(case.world.train["label"])
    places = [place for place in range(len(labels)) if place % 4]
    for place, other in zip(places, [*places[1:], places[0]], strict=True):
        labels[place] = case.world.train[other]["label"]
    rows = case.world.train.remove_columns("label").add_column("label", labels)
    settings = {"judge_model": str(judge), "check_agreement": True, "n_iterations": 1, "n_generated": 300}
    settings |= {"class_names": ["entailment", "neutral", "contradiction"], "generator_num_train_epochs": 14}
    with pytest.warns(FairnessWarning, match="most say little, and a model that learns from them can get worse"):
        found = case.run(tmp_path / "out", train=rows, **settings)
    judged, agreement = found["rounds"][0]["judge"], found["rounds"][0]["agreement"]["before"]
    assert judged["below_expected"]
    assert not agreement["at_chance"]
    assert agreement["agreement"] < judged["expected_agreement"] - 0.2
    said = [line for line in found["record"].cautions if line.startswith("Round 1: the labels of")]
    assert len(said) == 1
    assert all(said[0][:40] in found["files"][kind].read_text() for kind in ("html", "markdown"))


@pytest.mark.whole
def test_seeds_and_values_of_a_setting_share_what_they_can(case, started, capsys):
    """The trial as asked is there; another seed draws all anew, a smaller control of the filter only what follows."""
    settings = {"anti_artefact": case.world.anti_artefact, "probe": True, "n_seeds": 2}
    found = case.run(started, **settings, sweep=["confidence_threshold=0.01"])
    assert list(found["trials"]) == ["seed=1", "confidence_threshold=0.01"]
    seeds = [found, found["trials"]["seed=1"]]
    assert seeds[0]["data"] == seeds[1]["data"]  # one split for all, so that seeds are compared on the same rows
    record = through_json(found["record"])
    written = json.loads(found["files"]["json"].read_text())
    assert {**written, "figures": {}, "texts": {}} == found["record"].to_json()
    for measure in record.measures:
        if not measure.detail:
            for arm, value in measure.values.items():
                each = [seed["results"][measure.set][arm]["accuracy"] for seed in seeds]
                assert value.value == pytest.approx(np.mean(each))
                assert measure.interval_over == "both"
    stages = manifest(started)
    again = {stage for stage in stages if stage.endswith("-seed_1")}
    assert again == {f"{stage}-seed_1" for stage in STAGES if stage not in ("report", "model")}
    swept = {stage.removesuffix("-confidence_threshold_0_01") for stage in stages if stage.endswith("_0_01")}
    assert not swept & {"base", "scores_base", "shallow-0", "generator-1"}
    assert {"samples-1", "samples-2", "pool"} <= swept
    print_report(found)
    printed = capsys.readouterr().out
    assert "accuracy: validation rows" in printed
    assert str(started / "report" / "report.md") in printed
    assert [table.title for table in record.tables][-1] == "Sweep"


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("seed=0,1", "--sweep of seed: say with --n_seeds how many"),
        ("max_rows=64,a", "--sweep of max_rows has the value 'a'"),
        ("n_bias_indicators=3,1", "--n_bias_indicators is 1, expected 2 or more"),
        ("dataset=a,b", "--sweep is 'dataset=a,b', expected NAME=VALUE"),
        ("max_steps=5", "--max_steps cannot be set here"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_before_any_work(case, tmp_path, sweep, message):
    with pytest.raises(ValueError, match=message):
        case.run(tmp_path / "out", sweep=[sweep])
    assert not (tmp_path / "out").exists()


def test_without_a_control(case, started):
    found = case.run(started, anti_artefact=case.world.anti_artefact, probe=True, control=False)
    assert list(found["arms"]) == ["base", "ibadr"]
    assert set(found["comparisons"]["planted"]) == {"ibadr - base"}


def pairs(labels, **more):
    columns = {name: [f"{name} {place}" for place in range(len(labels))] for name in ("premise", "hypothesis")}
    return [{**{name: column[k] for name, column in columns.items()}, "label": y, **more} for k, y in enumerate(labels)]


HANS = {"heuristic": "lexical_overlap", "subcase": "ln_subject"}


@pytest.mark.parametrize(
    ("challenge", "settings", "message"),
    [
        ({"hans": pairs(["entailment"], **HANS)}, {"unnamed": True}, "Unknown label '0'.* labels 0, 1, 2; see"),
        ({"hans": pairs(["yes"], **HANS)}, {}, "hans: Unknown label 'yes'"),
        ({"hans": pairs([None], **HANS)}, {}, "hans: Row 0 needs 'label'"),
        ({"hans": pairs(["entailment"])}, {}, "hans: Row 0 needs 'heuristic'"),
        ({"hans": []}, {}, "hans: references is empty"),
        ({"mine": Dataset.from_list(pairs(["entailment", "odd"]))}, {}, "mine rows .*row 1 has the label 'odd'"),
    ],
)  # fmt: skip
def test_all_sets_are_checked_before_anything_is_trained(case, tmp_path, challenge, settings, message):
    if settings.pop("unnamed", False):  # numbers, as a file holds them
        sets = {"train": case.world.train, "validation": case.world.validation}
        settings = {name: Dataset.from_dict(rows.to_dict()) for name, rows in sets.items()}
    with pytest.raises(ValueError, match=message):
        case.run(tmp_path / "out", challenge=challenge, **settings)
    assert not (tmp_path / "out").exists()


SCORED = {"scores_base", "scores_ibadr", "scores_control", "comparisons"}
SHOWN = {"report", "model"}
TRAINED = set(STAGES) - {"pool", "probes", *SCORED, *SHOWN}
#: What comes after the training: what may run again when the change is to names, or to what is measured.
CHANGES = {
    "class names": ({"class_names": ["yes", "maybe", "no"]}, {"pool", *SCORED, *SHOWN}),
    "challenge": ({"challenge": None}, {"probes", *SCORED, *SHOWN}),
    "test": ({"test": True}, {"probes", *SCORED, *SHOWN}),
    "order of columns": ({"hypothesis_first": True}, {"probes", *SHOWN}),
    "probe": ({"probe": False}, {"probes", *SHOWN}),
    "name of the data": ({"dataset": "corpus"}, {"pool", "report", "model"}),
    "where it is told": ({"run_name": "mine", "logging_strategy": "epoch"}, set()),
    "name on the Hub": ({"hub_model_id": "me/it"}, SHOWN),
    "how fast it runs": ({"per_device_eval_batch_size": 7, "dataloader_persistent_workers": False}, set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_learned_from_trains_nothing_anew(case, started, change):
    settings, expected = CHANGES[change]
    before = manifest(started)
    given = {"probe": True, "anti_artefact": case.world.anti_artefact, **settings}
    plain = {name: case.world.validation for name in ("test",) if given.get(name) is True}
    if "class_names" in settings:  # numbers without names, as a file holds them
        sets = {"train": case.world.train, "validation": case.world.validation}
        plain |= {name: Dataset.from_dict(rows.to_dict()) for name, rows in sets.items()}
        plain |= {"challenge": {"planted": Dataset.from_dict(case.world.challenge.to_dict())}}
    found = case.run(started, **{**given, **plain})
    after = manifest(started)
    changed = {stage for stage in STAGES if before[stage]["key"] != after[stage]["key"]}
    assert changed == expected
    assert not changed & TRAINED
    if "class_names" in settings:
        config = AutoConfig.from_pretrained(found["model"])
        assert list(config.id2label.values()) == settings["class_names"]
        assert set(found["rounds"][0]["labels"]["before"]) == set(settings["class_names"])
