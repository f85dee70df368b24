"""The search in a planted world: which swaps help is known, a killed grid goes on, choices keep the limit."""

from __future__ import annotations

import html
import json
import re
import shutil
import warnings

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.rankings import keep
from hf_fairness.scores.statistics import over_seeds
from hf_fairness.trainers import DataDietArguments, DataDietConfig, HeadClassifier, run_data_diet
from hf_fairness.trainers.data_diet import grid
from hf_fairness.trainers.data_diet.choice import agreement, choose, lines
from hf_fairness.trainers.data_diet.data import prepare
from hf_fairness.utils import FairnessWarning
from support.diet_world import QUICK, arguments, rows

#: Of most of these small searches.
pytestmark = pytest.mark.filterwarnings("ignore:.*the choice fell on b = 0:hf_fairness.utils.FairnessWarning")


def parity(found, ranking: str, experiment: str = "trade_off") -> list[float]:
    point = next(p for p in found[experiment][ranking] if p["counterfactual_fraction"] in (0.3, 0.5))
    return point["test"]["counterfactual_parity"]["by_seed"]


@pytest.mark.whole
def test_the_harm_is_there_and_cda_undoes_it(found):
    table = found["table"]
    vanilla, cda = (table[name]["measures"]["test"] for name in ("vanilla", "cda"))
    assert vanilla["counterfactual_parity"]["ci95"][1] < 0.92
    assert vanilla["flip_rate"]["mean"] > 0.3
    assert cda["counterfactual_parity"]["mean"] > 0.97
    assert table["blindness"]["measures"]["test"]["flip_rate"]["mean"] == 0.0  # nothing is left to flip


def test_healthy_beats_random_beats_unhealthy(found):
    healthy, random, unhealthy = (parity(found, name) for name in ("healthy_random", "random", "unhealthy_random"))
    assert gap_over_seeds(healthy, random)["ci95"][0] > 0
    assert gap_over_seeds(random, unhealthy)["ci95"][0] > 0
    sizes = {p["n_rows"] for ranking in found["trade_off"].values() for p in ranking if p["counterfactual_fraction"]}
    assert len(sizes) == 1  # the same number of examples for every ranking


def test_ge_finds_the_loaded_pair(found):
    """Experiment 1: half of the counterfactuals, those of the loaded pair, do what all of them do; EL2N's do not."""
    curve = {name: parity(found, name, "curves") for name in ("ge", "el2n", "random")}
    assert np.mean(curve["ge"]) > found["table"]["cda"]["measures"]["test"]["counterfactual_parity"]["mean"] - 0.02
    assert gap_over_seeds(curve["ge"], curve["random"])["ci95"][0] > 0


def test_a_search_in_which_nothing_is_within_the_limit_ends_without_a_model(encoder, tmp_path):
    changes = {**QUICK, "max_auc_drop": 0.0, "factual_fractions": [0.01], "counterfactual_fractions": [0.01]}
    made = run_data_diet(arguments(encoder, tmp_path, **changes), rows(300, 0), validation=rows(200, 1))
    assert (made["best"], made["model"], made["artefacts"]) == (None, None, {})
    assert set(made["arms"]) == set(made["table"]) == set(grid.BASELINES)
    assert "nothing was chosen" in made["files"]["markdown"].read_text()


def test_scores_are_compared_with_those_of_other_encoders(encoder, tmp_path):
    settings = arguments(encoder, tmp_path / "out", **QUICK, stability_models=[encoder])
    found = run_data_diet(settings, rows(200, 0), validation=rows(100, 1), test=rows(100, 2))
    assert list(found["stability"]["by_model"].values()) == [1.0]  # it is the same one


def test_without_the_control_no_examples_are_kept_at_random_alone(encoder, tmp_path):
    settings = arguments(encoder, tmp_path, **QUICK, control=False)
    made = run_data_diet(settings, rows(300, 0), validation=rows(100, 1), test=rows(100, 2))
    assert set(made["choices"]) == {"healthy_random", "unhealthy_random", "vanilla_ge"}
    assert made["record"].arm("control") is None
    assert "No control was measured" in made["files"]["markdown"].read_text()


def test_the_saved_head_predicts_as_the_chosen_cell_did(found, encoder):
    classifier = HeadClassifier(found["model"])
    texts, labels = (rows(600, 2)[name][:] for name in ("text", "label"))
    right = np.mean([int(label) == truth for label, truth in zip(classifier.predict(texts), labels, strict=True)])
    cell = found["table"][found["best"]["ranking"]]
    assert right == pytest.approx(cell["measures"]["test"]["accuracy"]["by_seed"][0], abs=0.01)


@pytest.mark.whole
def test_a_killed_grid_goes_on(encoder, tmp_path, monkeypatch):
    """The third cell dies; the second run trains the missing cells only and ends where an undisturbed one does."""
    sets = {"validation": rows(200, 1), "test": rows(200, 2)}
    quick = {"n_seeds": 2, "n_init": 1, "num_train_epochs": 2, "experiments": [2]}
    train, whole, trained = rows(300, 0), grid.run_cell, []

    def dies(learner, scores, cell):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(cell.name)
        return whole(learner, scores, cell)

    monkeypatch.setattr(grid, "run_cell", dies)
    with pytest.raises(KeyboardInterrupt):
        run_data_diet(arguments(encoder, tmp_path / "killed", **quick), train, **sets)
    first = list(trained)

    def goes_on(learner, scores, cell):
        trained.append(cell.name)
        return whole(learner, scores, cell)

    monkeypatch.setattr(grid, "run_cell", goes_on)
    resumed = run_data_diet(arguments(encoder, tmp_path / "killed", **quick), train, **sets)
    assert trained[: len(first)] == first
    assert len(trained) == len(set(trained)) == len(grid.all_cells(arguments(encoder, tmp_path, **quick)))
    undisturbed = run_data_diet(arguments(encoder, tmp_path / "whole", **quick), train, **sets)
    assert resumed["table"] == undisturbed["table"]
    before = len(trained)
    run_data_diet(arguments(encoder, tmp_path / "killed", **quick), train, **sets)
    assert len(trained) == before  # everything is there


def test_cells_that_keep_the_same_rows_are_one_cell(encoder, tmp_path):
    names = [cell.name for cell in grid.all_cells(arguments(encoder, tmp_path))]
    assert len(names) == len(set(names))
    assert "random-a0.5-b0" in names
    assert "healthy_random-a0.5-b0" not in names
    plan = grid.experiments(arguments(encoder, tmp_path))
    assert {cells[0].name for cells in plan["1"].values()} == {"vanilla"}
    assert {cells[-1].name for cells in plan["1"].values()} == {"cda"}


def test_rows_of_a_cell_hold_no_copy_of_an_unchanged_text(encoder, tmp_path):
    settings = arguments(encoder, tmp_path, counterfactual_base="all")
    data = prepare(settings, rows(300, 0), validation=rows(100, 1), test=rows(100, 2))
    scores = {"ge": np.where(data.train.changed, 1.0, 0.0)[None]}
    for cell in (grid.Cell("healthy_random", 0.5, 0.3), grid.Cell("random", 0.5, 0.3), grid.Cell("cda", 1.0, 1.0)):
        chosen = grid.rows_of(cell, data, scores, 0, 0, "all")
        texts = [data.pool[row] for row in chosen[chosen >= data.n]]
        sources = [data.pool[row - data.n] for row in chosen[chosen >= data.n]]
        assert texts
        assert all(text != source for text, source in zip(texts, sources, strict=True))
    assert data.pool_labels[: data.n].tolist() == data.pool_labels[data.n : 2 * data.n].tolist()
    substituted = grid.rows_of(grid.Cell("cds"), data, scores, 0, 0, "all")
    changed = data.train.changed.to_numpy()
    share = (substituted >= data.n)[changed].mean()
    assert 0.35 < share < 0.65
    assert (substituted[~changed] < data.n).all()


def results(**cells):
    """Lines of a grid of two seeds: AUC and paired parity of each cell on the validation texts."""
    found = {}
    for name, (n_rows, auc, values) in cells.items():
        sizes = {"n_rows": [n_rows] * 2, "n_counterfactuals": [0, 0], "factual": 0.5, "counterfactual": 0.3}
        measured = {"auc": auc, "counterfactual_parity": values}
        found[name] = {**sizes, "ranking": "random", "measures": {"validation": measured, "test": measured}}
    return lines({**found, "cda": found["vanilla"]}, 10)


def test_the_choice_keeps_the_limit_in_the_mean(encoder, tmp_path):
    found = results(
        **{
            "vanilla": (10, [0.8, 0.8], [0.5, 0.5]),
            "random-a0.5-b0.3": (8, [0.79, 0.77], [0.9, 0.9]),  # loses 2.5 %
            "random-a0.4-b0.3": (6, [0.79, 0.77], [0.9, 0.9]),  # as fair with fewer rows
            "random-a0.3-b0.3": (5, [0.79, 0.76], [1.0, 1.0]),  # loses 3.1 %
        }
    )
    cells = [grid.Cell("random", a, 0.3) for a in (0.5, 0.4, 0.3)]
    settings = DataDietArguments(model_name_or_path=encoder, output_dir=str(tmp_path))
    assert choose(found, cells, settings)["name"] == "random-a0.4-b0.3"
    assert choose(found, cells[2:], settings) is None
    assert choose(found, [], settings) is None  # all shares are 0
    assert (
        choose(found, cells, DataDietArguments(model_name_or_path=encoder, max_auc_drop=0.05))["name"]
        == "random-a0.3-b0.3"
    )


def test_numbers_over_seeds():
    found = over_seeds([1.0, 2.0, 3.0])
    assert found["ci95"] == pytest.approx([2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5], abs=1e-6)
    assert over_seeds([1.0, None])["mean"] is None
    assert over_seeds([1.0])["ci95"] is None
    assert gap_over_seeds([1.0, 1.0], [None, 0.0]) is None
    rows = np.array([[1.0, 2.0, 3.0], [1.0, 4.0, 9.0], [3.0, 2.0, 1.0]])
    assert agreement(rows) == {"mean": pytest.approx(-1 / 3), "least": -1.0, "greatest": 1.0}
    assert agreement(np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]])) is None  # a constant has no ranks
    assert agreement(rows[:1]) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "slow"}, "mode is 'slow'"),
        ({"counterfactual_fractions": [0.1, 30]}, "fractions from 0 to 1"),
        ({"max_auc_drop": 3.0}, "3 % is 0.03"),
        ({"factual_fractions": []}, "fractions from 0 to 1"),
        ({"rankings": ["random", "healthy"]}, "rankings is .*'healthy'.*, expected some of vanilla_ge, random"),
        ({"hidden": 0}, "hidden is 0, expected 1 or more"),
        (
            {"num_train_epochs": 3, "score_after_epochs": 4},
            "score_after_epochs is 4, expected at most num_train_epochs",
        ),
        ({"experiments": [3]}, "experiments is"),
        ({"use_peft": True}, "--use_peft needs --mode full"),
        ({"bf16": True}, "--bf16 needs --mode full"),
        ({"gradient_accumulation_steps": 2}, "--gradient_accumulation_steps needs --mode full"),
        ({"report_to": "tensorboard"}, "--report_to needs --mode full"),
        ({"sweep": ["hidden=8,16"]}, "--sweep: the grid is the sweep of data-diet"),
        ({"control": False, "rankings": ["random"]}, "--no_control leaves out the ranking random"),
        ({"select_by": "demographic_parity"}, "needs --group_dataset"),
        ({"num_train_epochs": 1}, "num_train_epochs is 1"),
        ({"n_seeds": 0}, "--n_seeds is 0"),
        ({"lora_dropout": 1.0}, "lora_dropout is 1.0"),
        ({"max_rows": 0}, "max_rows is 0"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        DataDietArguments(model_name_or_path="model", **changes)


def test_bad_data_is_refused(encoder, tmp_path):
    settings, good = arguments(encoder, tmp_path), rows(60, 0)
    with pytest.raises(ValueError, match="no column 'label'"):
        prepare(settings, good.remove_columns("label"))
    with pytest.raises(ValueError, match="not in the map: row 0 has the label 2, and the classes are 0, 1"):
        prepare(settings, good, test=good.map(lambda row: {"label": row["label"] + 2}))
    with pytest.raises(ValueError, match="holds 1 kinds of labels"):
        prepare(settings, good.map(lambda row: {"label": 1}))
    with pytest.raises(ValueError, match="no attribute terms"):
        prepare(settings, good.map(lambda row: {"text": "it rained"}))
    with pytest.raises(ValueError, match="say which is positive"):
        prepare(settings, good.map(lambda row, number: {"label": number % 3}, with_indices=True))


def test_rows_and_names_are_those_that_were_asked_for(encoder, tmp_path):
    table = {
        "text": ["she was kind", "he was mean", "Mary was kind", "Blorf was mean", "it rained"],
        "label": [0, 1] * 2 + [1],
    }
    file = tmp_path / "names.csv"
    file.write_text("# source: a test\n# date: 2020\nname,group,count\nQuux,female,10\nBlorf,male,10\n")
    sets = {name: Dataset.from_dict(table) for name in ("validation", "test")}
    changed = {}
    for names in ("built-in", "none", str(file)):
        settings = arguments(encoder, tmp_path, names=names, max_rows=4)
        found = prepare(settings, Dataset.from_dict(table), **sets)
        assert (found.n, len(found.test)) == (4, 5)
        changed[names] = found.train.counterfactual[2:].tolist()
    assert changed["built-in"][0].split()[0] != "Mary"
    assert changed["built-in"][1] == "Blorf was mean"
    assert changed["none"] == ["Mary was kind", "Blorf was mean"]
    assert changed[str(file)] == ["Mary was kind", "Quux was mean"]
    with pytest.raises(ValueError, match="--names nothing: there is no such file"):
        prepare(arguments(encoder, tmp_path, names="nothing"), Dataset.from_dict(table), **sets)


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        (
            {"counterfactual_base": "all"},
            ["vanilla_ge spends .*keeps 0 at b = 0.3", "unhealthy_random spends its share on texts without"],
        ),
        ({"counterfactual_fractions": [0.0]}, ["healthy_random: the choice fell on b = 0.*no score plays a part"]),
    ],
)
def test_what_a_choice_does_not_show_is_said(encoder, tmp_path, changes, messages):
    settings = arguments(encoder, tmp_path, **{**QUICK, **changes})
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = run_data_diet(settings, rows(300, 0), validation=rows(100, 1), test=rows(100, 2))
    said = "\n".join(found["cautions"])
    for message in messages:
        assert re.search(message, said)
        assert re.search(message, "\n".join(str(each.message) for each in heard))
    assert set(found["cautions"]) <= set(found["record"].cautions)
    for name in ("markdown", "html"):
        text = html.unescape(found["files"][name].read_text()).replace("\\", "")  # as Markdown escapes it
        assert all(caution in text for caution in found["cautions"])
    assert "equation 3" in found["files"]["markdown"].read_text()
    assert "texts as they are and flipped ones get the positive label equally often" in text


def test_by_default_every_ranking_keeps_equally_many(encoder, tmp_path):
    settings = arguments(encoder, tmp_path, **QUICK)
    assert settings.counterfactual_base == DataDietConfig(output_dir="unused").counterfactual_base == "changed"
    data = prepare(settings, rows(300, 0), validation=rows(100, 1), test=rows(100, 2))
    changed = data.train.changed.to_numpy()
    scores = {"ge": np.where(changed, 1.0 + np.arange(data.n), 0.0)[None]}
    sizes = {
        name: len(grid.rows_of(grid.Cell(name, 0.5, 0.3), data, scores, 0, 0, settings.counterfactual_base))
        for name in settings.rankings
    }
    assert len(set(sizes.values())) == 1, sizes
    with pytest.warns(FairnessWarning, match=r"'unhealthy_random' spends 90 of its 90 places .* keeps 0 of \d+"):
        kept = keep(
            "unhealthy_random",
            {"ge": scores["ge"][0]},
            changed,
            factual_fraction=0.5,
            counterfactual_fraction=0.3,
            counterfactual_base="all",
        )
    assert not kept.counterfactual.any()


@pytest.mark.parametrize("change", ["test", "positive"])
def test_what_is_measured_on_scores_nothing_anew(found, encoder, tmp_path, change):
    """Scores depend on the training texts and the model; a cell is trained and measured in one stage."""
    shutil.copytree(found["files"]["json"].parent.parent, tmp_path / "out")

    def keys():
        stages = json.loads((tmp_path / "out" / "manifest.json").read_text())["stages"]
        return {stage["stage"]: stage["key"] for stage in stages}

    before = keys()
    settings = arguments(encoder, tmp_path / "out", **({"positive_label": "0"} if change == "positive" else {}))
    given = {"validation": rows(400, 1), "test": rows(60, 9) if change == "test" else rows(600, 2)}
    run_data_diet(settings, rows(1200, 0), **given)
    changed = {stage for stage, key in keys().items() if before[stage] != key and not stage.startswith("scores_")}
    assert changed == {"grid", "certainty", "comparisons", "model", "report"} | (
        {"features"} if change == "test" else set()
    )
