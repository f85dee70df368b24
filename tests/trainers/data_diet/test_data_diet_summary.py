"""What a report says of a search: arms, verdicts, tables, pictures, and what must be read beside them."""

from __future__ import annotations

import html
import json
import shutil
from dataclasses import replace

import pytest
from datasets import Dataset

from hf_fairness.record import Record, compare
from hf_fairness.report import summarize, text_report
from hf_fairness.report.plots import figures
from hf_fairness.report.text import ABSENT, format_number
from hf_fairness.trainers import run_data_diet
from hf_fairness.trainers.data_diet import grid
from hf_fairness.trainers.data_diet import summary as words
from support.diet_world import QUICK, arguments, rows
from support.record_case import through_json, verdicts

#: Of most of these small searches.
pytestmark = pytest.mark.filterwarnings("ignore:.*the choice fell on b = 0:hf_fairness.utils.FairnessWarning")


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
    trained = {arm.title: arm.training for arm in record.arms}
    assert trained["CDA"]["share_of_cda"] == 1.0
    assert "factual_fraction" not in trained["CDA"]
    chosen = record.arm("method").training
    keys = ("factual_fraction", "counterfactual_fraction", "n_rows", "share_of_cda")
    assert {key: chosen[key] for key in keys} == {key: line[key] for key in keys}
    assert chosen["auc_change_test"] == line["auc_change"]["test"]["mean"]
    tables = {table.title: table for table in record.tables}
    head, *rows = tables["What was trained on"].rows
    assert list(head)[1:] == [arm.title for arm in record.arms]
    made = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert made["n rows"]["CDA"] == f"{found['table']['cda']['n_rows']:,.0f}"
    assert made["share of cda"]["CDA"] == "1.000"
    assert made["auc change test"][record.arm("method").title] == format_number(line["auc_change"]["test"]["mean"])
    assert made["factual fraction"]["CDA"] == ABSENT
    scores = tables["Scores of the training texts"]
    shown = dict(scores.rows[1:])
    assert shown["ge, n zero"] == f"{found['ge']['n_zero']:,}"
    assert shown["by seed, ge, mean"] == format_number(found["stability"]["by_seed"]["ge"]["mean"])
    assert shown["by epoch"] == ", ".join(map(format_number, found["stability"]["by_epoch"]))
    assert all(f"| {' | '.join(cells)} |" in written for cells in scores.rows[1:])


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


def test_texts_stand_in_the_report_alone_and_only_where_asked_for(found, encoder, tmp_path):
    shutil.copytree(found["files"]["json"].parent.parent, tmp_path / "out")
    assert not json.loads(found["files"]["json"].read_text())["texts"]
    card = (found["model"] / "README.md").read_bytes()
    shown = run_data_diet(
        arguments(encoder, tmp_path / "out", show_texts=3), rows(1200, 0), validation=rows(400, 1), test=rows(600, 2)
    )
    (title, items), (all_along, spread) = json.loads(shown["files"]["json"].read_text())["texts"].items()
    assert "largest GE scores" in title
    assert "from the largest to the least" in all_along
    assert (len(spread), spread[0], spread[-1][-7:]) == (4, items[0], "(0.000)")  # the last one names no group
    assert spread[-1].partition(" / ")[0] == spread[-1].partition(" / ")[2].rpartition(" (")[0]
    scores = [float(item.rpartition("(")[2].rstrip(")")) for item in items]
    assert len(items) == 3
    assert scores == sorted(scores, reverse=True)
    texts = set(rows(1200, 0)["text"][:])
    assert all(item.partition(" / ")[0] in texts for item in items)
    page = html.unescape(shown["files"]["html"].read_text())
    assert all(item in page for item in items)
    assert (shown["model"] / "README.md").read_bytes() == card


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
