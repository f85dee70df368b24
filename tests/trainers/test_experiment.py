"""The spine on a toy method whose numbers can be worked out on paper."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from transformers import TrainingArguments

from hf_fairness.arguments import ExperimentArguments
from hf_fairness.record import Arm, Declared, Gap, Measure, Record, Value, compare
from hf_fairness.report.artefact_card import About, from_record
from hf_fairness.scores.statistics import mean_interval
from hf_fairness.trainers import experiment
from hf_fairness.trainers.experiment import EvalSet, Fitted, Method, Plan, over_seeds, run_experiment

CALLS: list[str] = []
GAP = Declared("gap", "bias", 0.0, "lower")


@dataclass
class ToyArguments(ExperimentArguments):
    """Of the toy."""

    model_name_or_path: str = "toy"
    strength: float = 0.5
    rows: int = 4

    def __post_init__(self) -> None:
        self.check_experiment()
        if self.strength < 0:
            raise ValueError(f"--strength is {self.strength}, expected 0 or more.")


class ToySet(EvalSet):
    """The number in the file of a model."""

    def score(self, fitted, folder):
        CALLS.append(f"score {fitted.name}")
        value = json.loads((Path(fitted.model) / "toy.json").read_text())
        (folder / "items.json").write_text(json.dumps(value))
        return {"gap": value, "gap_ci95": [value - 0.1, value + 0.1], "n": 10}

    def compare(self, one, other):
        a, b = (json.loads((each.folder / "items.json").read_text()) for each in (one, other))
        return {"gap": {"difference": a - b, "difference_ci95": [a - b - 0.01, a - b + 0.01], "p_value_holm": 0.02}}


class Toy(Method):
    """Halves a gap; the control needs to know how long the method took."""

    command = "toy"
    source = "a toy"
    quoted = ("learning_rate",)

    def prepare(self):
        CALLS.append("prepare")
        self.run.stage("rows", lambda folder: self._call("rows", 3), inputs=[self.arguments.rows])

    def _call(self, name, value):
        CALLS.append(name)
        return value

    def arms(self):
        return [
            Plan(Arm("base", "base", "original")),
            Plan(Arm("control", "control", "control"), needs=("toy",), against=("base",)),
            Plan(Arm("toy", "TOY", "method"), against=("base", "control", "absent")),
        ][:: 1 if self.arguments.control else 2]

    def fit(self, name, fitted):
        strength = {"base": 0.0, "control": 0.1, "toy": self.arguments.strength}[name]
        known = fitted["toy"].training["steps"] if name == "control" else None
        draws = [self.seed] if name == "toy" else []

        def work(folder):
            CALLS.append(f"fit {name}")
            (folder / "toy.json").write_text(json.dumps(round(1.0 - strength + 0.01 * len(draws) * self.seed, 6)))
            return {"steps": 7, "history": [1, 2]}

        found = self.run.stage(name, work, inputs=[strength, known, draws, self.run.key("rows")])
        return Fitted(name, self.run.key(name), self.run.folder(name), found)

    def sets(self):
        return [ToySet("test", {"gap": GAP}, title="the test")]

    def tell(self, found):
        assert found.gaps
        return {"cautions": (f"seed {self.seed}",), "outcome": "It ran."}

    def draw(self, found):
        return {"texts": {"Rows": ("private",)}}

    def about(self, record):
        return About(title="toy-toy", summary="A toy.", **from_record(record), load="open('toy.json')")


@pytest.fixture
def run(tmp_path):
    def go(**arguments):
        CALLS.clear()
        config = TrainingArguments(output_dir=str(tmp_path / "out"), use_cpu=True, report_to="none", seed=0)
        return run_experiment(Toy, ToyArguments(**arguments), config)

    return go


def measured(result):
    (measure,) = result["record"].measures
    return {arm: value.value for arm, value in measure.values.items()}


def test_an_arm_is_fitted_after_what_it_needs_and_measured_at_once(run, tmp_path):
    result = run()
    parts = ["fit base", "score base", "fit toy", "score toy", "fit control", "score control"]
    assert ["prepare", "rows", *parts] == CALLS
    assert measured(result) == {"base": 1.0, "control": 0.9, "toy": 0.5}
    assert list(result["arms"]) == ["base", "control", "toy"]
    gaps = {(gap.arm, gap.against): gap for gap in result["record"].gaps}
    assert set(gaps) == {("control", "base"), ("toy", "base"), ("toy", "control")}
    assert (gaps["toy", "control"].ci95, gaps["toy", "control"].p_adjusted) == (pytest.approx((-0.41, -0.39)), "Holm")
    assert gaps["toy", "base"].verdict == "improved"
    assert result["comparisons"]["test"]["toy - base"]["gap"]["difference"] == -0.5
    assert result["record"].arm("method").training == {"steps": 7}
    assert {path.name for path in result["model"].iterdir()} == {"toy.json", "README.md"}
    card = (result["model"] / "README.md").read_text()
    page = (tmp_path / "out" / "report" / "report.md").read_text()
    assert "private" in page
    assert "private" not in card


def test_a_second_run_does_nothing_and_a_changed_one_only_what_changed(run):
    run()
    run()
    assert CALLS == ["prepare"]
    run(strength=0.7)
    assert CALLS == ["prepare", "fit toy", "score toy"]


def test_trials_share_what_their_inputs_say_is_the_same(run, tmp_path):
    result = run(n_seeds=2, sweep=["strength=0.5,0.6", "rows=5"])
    assert CALLS.count("fit base") == 2  # one more where the rows are others
    assert CALLS.count("fit toy") == 1 + 1 + 1 + 1  # as asked, other seed, 0.6, other rows; 0.5 is what was asked
    assert list(result["trials"]) == ["seed=1", "strength=0.5", "strength=0.6", "rows=5"]
    assert measured(result) == {"base": 1.0, "control": 0.9, "toy": pytest.approx((0.5 + 0.51) / 2)}
    (table,) = result["record"].tables
    shown = [row[:2] for row in table.rows]
    assert shown.count(("as asked", "TOY")) == 1
    assert ("strength=0.5", "base") not in shown  # equal to the row above
    assert {("strength=0.5", "TOY"), ("strength=0.6", "TOY"), ("strength=0.6", "control")} <= set(shown)
    assert result["record"].provenance["n_seeds"] == 2
    assert result["record"].cautions == ("seed 0", "seed 1")
    folders = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"toy", "toy-seed_1", "toy-strength_0_6", "rows", "rows-rows_5"} <= folders
    assert "base-seed_1" not in folders
    assert (result["model"] / "toy.json").read_text() == "0.5"  # the first seed's


def test_means_over_seeds_have_intervals_over_seeds_and_items(run):
    record = run(n_seeds=2)["record"]
    (measure,) = record.measures
    assert measure.interval_over == "both"
    seeds = mean_interval([0.5, 0.51])
    half = math.hypot(0.505 - seeds[0], 0.1)
    assert measure.values["toy"].ci95 == pytest.approx((0.505 - half, 0.505 + half))
    assert measure.values["base"].ci95 == pytest.approx((0.9, 1.1))
    (gap,) = [gap for gap in record.gaps if (gap.arm, gap.against) == ("toy", "base")]
    assert gap.difference == pytest.approx(-0.495)
    assert gap.ci95[1] > -0.495 + 0.01


def test_seeds_without_intervals_over_items_have_those_over_seeds(run):
    record = run()["record"]
    (measure,) = record.measures
    bare = [
        replace(record, measures=(replace(measure, values={"toy": Value(value)}),), gaps=()) for value in (0.5, 0.7)
    ]
    (joined,) = over_seeds(bare).measures
    assert joined.interval_over == "seeds"
    assert joined.values["toy"].ci95 == pytest.approx(mean_interval([0.5, 0.7]))


def test_no_interval_of_a_measure_that_is_no_share_ends_at_1_nor_one_of_a_difference_at_0():
    arms = (Arm("control", "control", "control"), Arm("m", "M", "method"))

    def seed(value: float, difference: float) -> Record:
        values = {"control": Value(1.1, (1.02, 1.2)), "m": Value(value, (value - 0.3, value + 0.3))}
        effect = Measure("d", "6", "effect_size", "SEAT", "bias", 0.0, "zero", values, noise=0.15)
        parity = {"control": Value(0.5, (0.4, 0.6)), "m": Value(0.5 + difference, (0.4, 0.9))}
        rate = Measure("r", "s", "accuracy", "a rate", "utility", 1.0, "higher", parity)
        gap = Gap("r", "m", "control", difference, "worse", "", (difference - 0.005, difference + 0.005))
        return Record("toy", "r", "", arms, (effect, rate), (*compare([effect], [("m", "control")]), gap))

    joined = over_seeds([seed(0.45, 0.01), seed(0.55, 0.1)])
    effect, rate = joined.measures
    assert effect.values["m"].ci95[1] > 1.1
    assert joined.gaps[0].verdict == "no clear change"
    assert rate.values["m"].ci95 == (0.0, 1.0)  # a share ends there
    assert joined.gaps[1].ci95[0] < 0.0


def test_without_a_control(run):
    assert list(run(control=False)["arms"]) == ["base", "toy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sweep": ["strength=1,high"]}, "--sweep of strength has the value 'high', expected float"),
        ({"sweep": ["strength=1,-1"]}, "--strength is -1"),
        ({"sweep": ["colour=red"]}, r"--sweep is 'colour=red', expected NAME=VALUE,VALUE... with a setting such as"),
        ({"sweep": ["seed=1,2"]}, "--n_seeds"),
        ({"n_seeds": 0}, "--n_seeds is 0, expected 1 or more"),
    ],
)
def test_bad_values_are_known_before_any_work(run, arguments, message):
    with pytest.raises(ValueError, match=message):
        run(**arguments)
    assert CALLS == []


def test_a_circle_of_needs_is_an_error(run, monkeypatch):
    plans = [Plan(Arm("base", "", "original"), needs=("toy",)), Plan(Arm("toy", "", "method"), needs=("base",))]
    monkeypatch.setattr(Toy, "arms", lambda self: plans)
    with pytest.raises(ValueError, match="cycle"):
        run()


def test_values_of_a_sweep_have_the_type_of_their_field():
    arguments = ToyArguments()
    assert experiment._typed(arguments, "rows", "7") == 7
    assert experiment._typed(arguments, "control", "false") is False
    assert experiment._typed(arguments, "model_name_or_path", "8") == "8"
