"""The search in a planted world: which swaps help is known, a killed grid goes on, choices keep the limit."""

from __future__ import annotations

import html
import json
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness.record import Record, compare
from hf_fairness.report import summarize, text_report
from hf_fairness.report.plots import figures
from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.rankings import keep
from hf_fairness.scores.statistics import over_seeds
from hf_fairness.trainers import DataDietArguments, DataDietConfig, HeadClassifier, run_data_diet
from hf_fairness.trainers.data_diet import grid
from hf_fairness.trainers.data_diet import summary as words
from hf_fairness.trainers.data_diet.choice import choose, spearman
from hf_fairness.trainers.data_diet.data import prepare
from hf_fairness.utils import FairnessWarning
from support.diet_world import rows, vectors
from support.record_case import through_json, verdicts

#: Of most of these small searches.
pytestmark = pytest.mark.filterwarnings("ignore:.*the choice fell on b = 0:hf_fairness.utils.FairnessWarning")

SMALL = {
    "n_seeds": 6,
    "n_init": 3,
    "num_train_epochs": 8,
    "hidden": 16,
    "learning_rate": 5e-3,
    "factual_fractions": [0.5],
    "counterfactual_fractions": [0.0, 0.3],
    "first_fractions": [0.0, 0.5, 1.0],
    "max_auc_drop": 0.1,
}


QUICK = {"experiments": [2], "n_seeds": 2, "n_init": 1, "num_train_epochs": 2, "max_auc_drop": 1.0}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return vectors(tmp_path_factory.mktemp("vectors") / "words.txt")


def arguments(encoder: str, folder: Path, **changes) -> DataDietArguments:
    return DataDietArguments(model_name_or_path=encoder, output_dir=str(folder), **{**SMALL, **changes})


@pytest.fixture(scope="module")
def found(encoder, tmp_path_factory):
    """One whole search."""
    folder = tmp_path_factory.mktemp("search") / "out"
    return run_data_diet(arguments(encoder, folder), rows(1200, 0), validation=rows(400, 1), test=rows(600, 2))


def parity(found, ranking: str, experiment: str = "trade_off") -> list[float]:
    point = next(p for p in found[experiment][ranking] if p["counterfactual_fraction"] in (0.3, 0.5))
    return point["test"]["counterfactual_parity"]["by_seed"]


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


def test_the_report_is_whole(found):
    pictures = {"parity_curve", "auc_curve", "choices", "trade_off", "stability"}
    assert set(found["files"]) == {"json", "markdown", "html", "results"} | pictures
    assert set(found["files"].values()) == set(found["files"]["json"].parent.iterdir())
    page = found["files"]["html"].read_text()
    assert "paired DP" in page
    assert "<script" not in page
    for name in pictures:
        assert found["files"][name].read_text().startswith("<?xml")
    written = json.loads(found["files"]["results"].read_text())
    assert written["meta"]["n"] == written["data"]["test"]["n_changed"] > 200
    assert {"ideal", "direction", "convention", "versions"} <= set(written["meta"])
    line = written["table"]["cda"]["measures"]["test"]["counterfactual_parity"]
    assert line["ci95"][0] <= line["mean"] <= line["ci95"][1]
    scores = written["stability"]
    assert scores["by_epoch"][0] == 1.0
    assert -1 <= scores["by_seed"]["ge"]["least"] <= scores["by_seed"]["ge"]["mean"] <= 1
    record = json.loads(found["files"]["json"].read_text())
    assert Record.from_json(record).to_json() == record
    assert {**record, "figures": {}} == found["record"].to_json()  # pictures are of the report alone


def test_the_record_has_the_numbers_of_the_result_and_judges_them(found):
    """Against vanilla and CDA the interval over seeds of the paired difference decides; fairer is nearer to 1 or 0."""
    record = through_json(found["record"])
    roles = {arm.name: arm.role for arm in record.arms}
    best = found["best"]["ranking"]
    assert roles[best] == "method"
    assert (roles["vanilla"], roles["cda"]) == ("original", "rival")
    assert roles["random"] == ("method" if best == "random" else "control")
    for measure in record.measures:
        part, key = measure.id.split("/")
        assert measure.interval_over == "seeds"
        assert (measure.part == "validation") == (part == "validation") == measure.detail
        for arm, value in measure.values.items():
            line = found["table"][arm]["measures"][part][key]
            assert (value.value, value.ci95) == (line["mean"], tuple(line["ci95"]))
    said, checked = verdicts(record), []
    for other, parts in found["table"][best]["against"].items():
        for key, gap in parts["test"].items():
            if (f"test/{key}", best, other) in said:
                low, high = gap["ci95"]
                sign = -1 if key in ("flip_rate", "mean_abs_probability_change") else 1
                wanted = (
                    "improved" if min(sign * low, sign * high) > 0 else "worse" if sign * low < 0 > sign * high else ""
                )
                assert said[f"test/{key}", best, other] == (wanted or "unclear"), key
                checked.append((wanted, other))
    assert {other for _, other in checked} == {"vanilla", "cda"}
    assert len(checked) >= 10
    assert ("improved", "vanilla") in checked
    assert not any(measure.startswith("validation/") for measure, _, _ in said)
    drawn = Record.from_json(json.loads(found["files"]["json"].read_text()))
    assert list(figures(drawn)) == ["parity_curve", "auc_curve", "choices", "trade_off", "stability"]
    assert any("group metrics" in line for line in record.not_measured)


def test_what_was_chosen_and_every_model_stand_in_the_report(found):
    record, written = found["record"], found["files"]["markdown"].read_text()
    summary, line = summarize(record), found["table"][found["best"]["ranking"]]
    assert summary.headline.startswith(record.outcome.rstrip("."))
    assert f"{line['factual_fraction']:.0%} of the factual" in record.outcome
    assert f"{line['share_of_cda']:.0%} of CDA's rows" in record.outcome
    places = [written.index(head) for head in ("**Got worse**", "**Improved**", "### Models", "### Measurements")]
    assert places == sorted(places)
    assert all(f"- {arm.title}: {arm.about}" in written for arm in record.arms)
    made = {title.title: title for title in record.tables}["What was trained on"]
    rows = {row[0]: row for row in made.rows[1:]}
    assert list(rows) == [arm.title for arm in record.arms]
    assert rows["CDA"][4] == "100%"
    change = line["auc_change"]["test"]["mean"]
    (chosen,) = (rows[arm.title] for arm in record.arms if arm.role == "method")
    assert chosen[1:3] == (f"{line['factual_fraction']:g}", f"{line['counterfactual_fraction']:g}")
    assert float(chosen[-1].replace("\N{MINUS SIGN}", "-").rstrip("%").strip()) == pytest.approx(100 * change, abs=0.1)
    for cells in words.stability_table(found["stability"]):
        assert f"| {cells[0]} | {cells[1]} |" in written


def record_of(found, settings, **changes) -> Record:
    """The record of a search that has found something else, compared by the intervals."""
    report = {**found, **changes}
    plans = words.plans(report["table"], report["best"] and report["best"]["ranking"])
    names = {plan.arm.name for plan in plans}
    measures = tuple(
        replace(each, values={arm: value for arm, value in each.values.items() if arm in names})
        for each in found["record"].measures
    )
    pairs = [(plan.arm.name, other) for plan in plans for other in plan.against]
    gaps = compare((each for each in measures if not each.detail), pairs)
    arms = tuple(plan.arm for plan in plans)
    told = words.told(report, settings)
    return through_json(replace(found["record"], arms=arms, measures=measures, gaps=gaps, **told))


def test_the_record_says_where_nothing_was_chosen(found, encoder, tmp_path):
    table = {name: line for name, line in found["table"].items() if name in grid.BASELINES}
    changes = {"best": None, "table": table, "skipped": {"cds": "too few"}}
    record = record_of(found, arguments(encoder, tmp_path), **changes)
    assert record.arm("method") is None
    assert "nothing was chosen" in record.outcome
    assert record.not_measured[0] == "The baseline CDS: too few"


def test_a_search_in_which_nothing_is_within_the_limit_ends_without_a_model(encoder, tmp_path):
    changes = {**QUICK, "max_auc_drop": 0.0, "factual_fractions": [0.01], "counterfactual_fractions": [0.01]}
    made = run_data_diet(arguments(encoder, tmp_path, **changes), rows(300, 0), validation=rows(200, 1))
    assert (made["best"], made["model"], made["artefacts"]) == (None, None, {})
    assert set(made["arms"]) == set(made["table"]) == set(grid.BASELINES)
    assert "nothing was chosen" in made["files"]["markdown"].read_text()


def test_the_random_ranking_is_the_control_unless_it_is_the_best(found, encoder, tmp_path):
    settings, healthy = arguments(encoder, tmp_path), {**found["best"], "ranking": "healthy_random"}
    record = record_of(found, settings, best={**found["best"], "ranking": "random"})
    assert record.arm("method").name == "random"
    assert record.arm("control") is None
    assert words.RANDOM_IS_BEST in summarize(record).cautions
    assert words.RANDOM_IS_BEST in summarize(record).headline
    assert "no control" not in text_report(record).lower()
    alone = {name: line for name, line in found["table"].items() if name != "random"}
    record = record_of(found, settings, best=healthy, table=alone)
    assert any(
        "No control was measured" in line for line in summarize(record).cautions
    )  # it was not among the rankings
    assert words.RANDOM_IS_BEST not in text_report(record, width=500)
    assert record_of(found, settings, best=healthy).arm("control").name == "random"


def test_every_arm_is_compared_with_vanilla_and_cda_in_pairs_of_the_same_seed(found):
    record = found["record"]
    measure = next(measure for measure in record.measures if measure.id == "test/counterfactual_parity")
    arms = {arm.name: arm for arm in record.arms}
    for name in set(arms) - {"vanilla"}:
        gap = record.gap(measure, arms[name], arms["vanilla"])
        wanted = found["table"][name]["against"]["vanilla"]["test"]["counterfactual_parity"]
        assert (gap.difference, gap.ci95, gap.p_value) == (
            pytest.approx(wanted["difference"]), tuple(wanted["ci95"]), wanted["p_value"]
        )  # fmt: skip
        assert found["comparisons"]["test"][f"{name} - vanilla"]["counterfactual_parity"] == wanted
    method = record.arm("method").name
    assert {gap.against for gap in record.gaps if gap.arm == method} == set(arms) - {method}
    assert "validation" not in found["comparisons"]


def test_without_the_control_no_examples_are_kept_at_random_alone(encoder, tmp_path):
    settings = arguments(encoder, tmp_path, **QUICK, control=False)
    made = run_data_diet(settings, rows(300, 0), validation=rows(100, 1), test=rows(100, 2))
    assert set(made["choices"]) == {"healthy_random", "unhealthy_random", "vanilla_ge"}
    assert made["record"].arm("control") is None
    assert "No control was measured" in made["files"]["markdown"].read_text()


def test_texts_that_chose_are_no_test(encoder, tmp_path):
    settings = arguments(
        encoder, tmp_path, **{**QUICK, "num_train_epochs": 8}, select_by="demographic_parity", group_dataset="x"
    )
    table = rows(200, 3)[:]
    table["group"] = ["female" if text.startswith(("she", "queen")) else "male" for text in table["text"]]
    sets = {"validation": rows(100, 1), "test": rows(100, 2), "group_dataset": Dataset.from_dict(table)}
    record = run_data_diet(settings, rows(300, 0), **sets)["record"]
    assert {measure.part for measure in record.measures if measure.id.startswith("groups/")} == {"validation"}
    assert "too favourable" in record.cautions[-1]
    assert record.outcome.startswith("Chosen on the texts of different groups")


def test_the_saved_head_predicts_as_the_chosen_cell_did(found, encoder):
    classifier = HeadClassifier(found["model"])
    texts, labels = (rows(600, 2)[name][:] for name in ("text", "label"))
    right = np.mean([int(label) == truth for label, truth in zip(classifier.predict(texts), labels, strict=True)])
    cell = found["table"][found["best"]["ranking"]]
    assert right == pytest.approx(cell["measures"]["test"]["accuracy"]["by_seed"][0], abs=0.01)


def test_a_killed_grid_goes_on(encoder, tmp_path, monkeypatch):
    """The third cell dies; the second run trains the missing cells only and ends where an undisturbed one does."""
    sets = {"validation": rows(200, 1), "test": rows(200, 2)}
    quick = {"n_seeds": 2, "n_init": 1, "num_train_epochs": 2, "experiments": [2]}
    train, whole, trained = rows(300, 0), grid.run_cell, []

    def dies(learner, data, scores, arguments, cell):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(cell.name)
        return whole(learner, data, scores, arguments, cell)

    monkeypatch.setattr(grid, "run_cell", dies)
    with pytest.raises(KeyboardInterrupt):
        run_data_diet(arguments(encoder, tmp_path / "killed", **quick), train, **sets)
    first = list(trained)

    def goes_on(learner, data, scores, arguments, cell):
        trained.append(cell.name)
        return whole(learner, data, scores, arguments, cell)

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
    share = (substituted >= data.n)[data.train.changed].mean()
    assert 0.35 < share < 0.65
    assert (substituted[~data.train.changed] < data.n).all()


def results(**cells):
    """A grid of two seeds: AUC and paired parity of each cell on the validation texts."""
    return {
        name: {"n_rows": [rows, rows], "measures": {"validation": {"auc": auc, "counterfactual_parity": values}}}
        for name, (rows, auc, values) in cells.items()
    }


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
    assert np.isnan(spearman(np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]]))[0, 1])  # a constant has no ranks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "slow"}, "mode is 'slow'"),
        ({"counterfactual_fractions": [0.1, 30]}, "numbers from 0 to 1"),
        ({"max_auc_drop": 3.0}, "3 % is 0.03"),
        ({"rankings": ["healthy"]}, "Unknown ranking 'healthy'"),
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
        assert (found.n, len(found.test.texts)) == (4, 5)
        changed[names] = found.train.counterfactuals[2:]
    assert changed["built-in"][0].split()[0] != "Mary"
    assert changed["built-in"][1] == "Blorf was mean"
    assert changed["none"] == ["Mary was kind", "Blorf was mean"]
    assert changed[str(file)] == ["Mary was kind", "Quux was mean"]
    with pytest.raises(ValueError, match="--names nothing: there is no such file"):
        prepare(arguments(encoder, tmp_path, names="nothing"), Dataset.from_dict(table), **sets)


def test_texts_stand_in_the_report_alone_and_only_where_asked_for(found, encoder, tmp_path):
    shutil.copytree(found["files"]["json"].parent.parent, tmp_path / "out")
    assert not json.loads(found["files"]["json"].read_text())["texts"]
    card = (found["model"] / "README.md").read_bytes()
    shown = run_data_diet(
        arguments(encoder, tmp_path / "out", show_texts=3), rows(1200, 0), validation=rows(400, 1), test=rows(600, 2)
    )
    ((title, items),) = json.loads(shown["files"]["json"].read_text())["texts"].items()
    assert "largest GE scores" in title
    scores = [float(item.rpartition("(")[2].rstrip(")")) for item in items]
    assert len(items) == 3
    assert scores == sorted(scores, reverse=True)
    texts = set(rows(1200, 0)["text"][:])
    assert all(item.partition(" / ")[0] in texts for item in items)
    page = html.unescape(shown["files"]["html"].read_text())
    assert all(item in page for item in items)
    assert (shown["model"] / "README.md").read_bytes() == card


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
    scores = {"ge": np.where(data.train.changed, 1.0 + np.arange(data.n), 0.0)[None]}
    sizes = {
        name: len(grid.rows_of(grid.Cell(name, 0.5, 0.3), data, scores, 0, 0, settings.counterfactual_base))
        for name in settings.rankings
    }
    assert len(set(sizes.values())) == 1, sizes
    with pytest.warns(FairnessWarning, match=r"'unhealthy_random' spends 90 of its 90 places .* keeps 0 of \d+"):
        kept = keep(
            "unhealthy_random",
            {"ge": scores["ge"][0]},
            data.train.changed,
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
    assert changed == {"grid", "comparisons", "model", "report"} | ({"features"} if change == "test" else set())


def test_a_second_search_writes_the_same_bytes_and_a_name_changes_report_and_card_alone(found, encoder, tmp_path):
    shutil.copytree(found["files"]["json"].parent.parent, tmp_path / "out")
    written = {kind: path.read_bytes() for kind, path in found["files"].items()}
    sets = {"validation": rows(400, 1), "test": rows(600, 2)}
    shutil.rmtree(tmp_path / "out" / "report")
    again = run_data_diet(arguments(encoder, tmp_path / "out"), rows(1200, 0), **sets)
    assert {kind: path.read_bytes() for kind, path in again["files"].items()} == written
    before = (tmp_path / "out" / "manifest.json").read_text()
    named = run_data_diet(arguments(encoder, tmp_path / "out", name="Ours | <b>"), rows(1200, 0), **sets)
    keys = [
        {each["stage"]: each["key"] for each in json.loads(text)["stages"]}
        for text in (before, (tmp_path / "out" / "manifest.json").read_text())
    ]
    assert {stage for stage, key in keys[1].items() if keys[0][stage] != key} == {"model", "report"}
    assert named["record"].name == json.loads(named["files"]["json"].read_text())["name"] == "Ours | <b>"
    assert "<h1>Ours | &lt;b&gt;</h1>" in named["files"]["html"].read_text()
    for place in (named["files"]["markdown"], named["model"] / "README.md"):
        assert "Ours \\| &lt;b&gt;: a healthy data diet" in place.read_text()
    assert named["table"] == found["table"]
