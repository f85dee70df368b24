"""How sure the choice of a search is: drawn again from the texts and seeds that chose."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame

from benchmarks import data_diet_quality
from hf_fairness.attributes import load_attribute
from hf_fairness.scores.auc import area_under_curve
from hf_fairness.scores.groups import equalized_odds
from hf_fairness.trainers import DataDietArguments
from hf_fairness.trainers.data_diet.certainty import areas, certainty, fairness, read_said
from hf_fairness.trainers.data_diet.choice import choose, lines
from hf_fairness.trainers.data_diet.data import statistics
from hf_fairness.trainers.data_diet.grid import experiments, measure, said

SEEDS = 2


def test_areas_with_weights_are_those_of_texts_that_stand_several_times():
    rng = np.random.default_rng(0)
    chances, truth = rng.integers(0, 6, (3, 40)) / 5, rng.random(40) < 0.4
    weights = rng.multinomial(40, np.ones(40) / 40, size=5).astype(float)
    found = areas(chances, truth, weights)
    for model in range(3):
        for draw in range(5):
            rows = np.repeat(np.arange(40), weights[draw].astype(int))
            assert found[model, draw] == pytest.approx(area_under_curve(chances[model, rows], truth[rows])["auc"])
    assert np.isnan(areas(chances, np.ones(40, dtype=bool), weights)).all()


def world(n: int, parities: dict[float, float], *, seed: int = 0, **settings: Any):
    """A search of one ranking whose cells differ by the share of pairs that they treat alike; all see the same texts.

    Args:
        n: validation texts, all of them in two versions.
        parities: by b how often a model of the cell says the same of both versions.
    """
    arguments = DataDietArguments(
        model_name_or_path="none",
        rankings=["healthy_random"],
        factual_fractions=[0.5],
        counterfactual_fractions=list(parities),
        experiments=[2],
        n_seeds=SEEDS,
        max_auc_drop=0.1,
        select_by="flip_rate",
        **settings,
    )
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 3 == 0).astype(np.int64)
    split = DataFrame({"label": labels, "truth": labels == 1, "changed": True, "place": np.arange(n) % 2})
    diet: Any = SimpleNamespace(validation=split, test=split, groups=None, positive=1)

    def model(alike: float) -> np.ndarray:
        hits = labels.astype(bool) ^ (rng.random((SEEDS, n)) < 0.1)
        both = np.stack([hits, hits ^ (rng.random((SEEDS, n)) > alike)], axis=1)
        one = np.where(both, 0.7, 0.3) + rng.random(both.shape) / 10
        return np.stack([1 - one, one], axis=-1)

    names = {
        "vanilla": 0.6,
        **{cell.name: parities[cell.counterfactual] for cell in experiments(arguments)["2"]["healthy_random"]},
    }
    results, heard = {}, {}
    for place, (name, alike) in enumerate(names.items()):
        pair = model(alike)
        probabilities = {"validation": pair[:, 0], "validation_counterfactual": pair[:, 1]}
        probabilities |= {"test": pair[:, 0], "test_counterfactual": pair[:, 1]}
        sizes = {"n_rows": [100 + place] * SEEDS, "n_counterfactuals": [0] * SEEDS}
        cell = {"ranking": "healthy_random", "factual": 0.5, "counterfactual": 0.3}
        results[name] = {**sizes, **cell, "measures": measure(diet, probabilities)}
        heard[name] = said(diet, probabilities)
    return heard, lines({**results, "cda": results["vanilla"]}, n), diet, arguments


def test_the_measures_of_all_texts_are_those_that_chose():
    """Without drawing anew: every measure that can choose, against the function that the grid is measured with."""
    heard, found, diet, _ = world(300, {0.1: 0.7, 0.2: 0.9})
    once, truth = np.ones((1, 300)), diet.validation.truth.to_numpy()
    for name in heard:
        of = {key: value["by_seed"] for key, value in found[name]["measures"]["validation"].items()}
        for key in ("flip_rate", "counterfactual_parity"):
            assert fairness(heard[name], diet, key, once)[:, 0] == pytest.approx(of[key])
        assert areas(heard[name]["chances"], truth, once)[:, 0] == pytest.approx(of["auc"])
    rng = np.random.default_rng(1)
    groups = {"about": rng.choice(["a", "b", "c"], 90).tolist(), "truth": rng.random(90) < 0.5}
    hits = rng.random((SEEDS, 90)) < 0.5
    diet.groups = DataFrame(groups)
    found = fairness({"group_hits": hits}, diet, "equalized_odds", np.ones((1, 90)))
    wanted = [equalized_odds(each.astype(int), groups["truth"].astype(int), groups["about"]) for each in hits]
    assert found[:, 0] == pytest.approx([each["equalized_odds"] for each in wanted])
    gaps = [np.ptp([rates["positive_rate"] for rates in each["rates"].values()]) for each in wanted]
    assert fairness({"group_hits": hits}, diet, "demographic_parity", np.ones((1, 90)))[:, 0] == pytest.approx(
        1 - np.array(gaps)
    )


def test_a_clear_choice_is_sure_and_a_choice_between_equals_is_not():
    heard, results, diet, arguments = world(400, {0.1: 0.6, 0.2: 0.95})
    found = certainty(heard, results, diet, arguments)
    chosen = choose(results, experiments(arguments)["2"]["healthy_random"], arguments)
    assert found["best"]["chosen"] == {chosen["name"]: 1.0}
    assert found["best"]["ranking"] == {"healthy_random": 1.0}
    heard, results, diet, arguments = world(400, dict.fromkeys((0.1, 0.2, 0.3, 0.4), 0.8))
    shares = certainty(heard, results, diet, arguments)["best"]["chosen"]
    assert max(shares.values()) < 0.9
    assert sum(shares.values()) == pytest.approx(1.0)
    assert certainty(heard, results, diet, arguments)["best"]["chosen"] == shares


def test_where_no_cell_is_within_the_limit_none_is_chosen():
    heard, results, diet, arguments = world(200, {0.1: 0.7, 0.2: 0.9})
    for name in heard:
        if name != "vanilla":
            heard[name]["chances"] = 1.0 - heard[name]["chances"]
    found = certainty(heard, results, diet, arguments)
    assert found["best"] == {"chosen": {}, "none": 1.0, "ranking": {}}
    assert found["rankings"]["healthy_random"]["none"] == 1.0


@pytest.mark.whole
def test_few_texts_choose_worse_and_the_share_says_so():
    """Worlds in which the best of five cells is known: how often it is chosen, beside the share that is stated."""
    parities = {0.1: 0.86, 0.2: 0.88, 0.3: 0.90, 0.4: 0.92, 0.5: 0.94}
    right, stated = {}, {}
    for n in (40, 1000):
        found = []
        for seed in range(25):
            heard, results, diet, arguments = world(n, parities, seed=seed)
            chosen = choose(results, experiments(arguments)["2"]["healthy_random"], arguments)["name"]
            share = certainty(heard, results, diet, arguments, n_draws=60)["best"]["chosen"].get(chosen, 0.0)
            found.append((chosen.endswith("b0.5"), share))
        right[n], stated[n] = np.mean(found, axis=0)
    assert right[40] < 0.75 < 0.8 < right[1000]
    assert stated[40] < 0.75 < stated[1000]
    assert abs(stated[1000] - right[1000]) < 0.2


def test_a_report_says_how_sure_it_is_and_what_the_texts_are(found):
    """Of a whole search: the numbers are those of its own choice, and no text stands in a table."""
    known, tables = found["certainty"], {table.title: table for table in found["record"].tables}
    assert 0.0 < known["best"]["chosen"][found["best"]["name"]] <= 1.0
    rows = {row[0]: row for row in tables["How sure the choice is"].rows}
    assert rows["fairest of all"][1] == found["best"]["name"]
    assert f"{known['best']['chosen'][found['best']['name']]:.0%}" == rows["fairest of all"][2]
    assert rows["fairest of all"][2] in found["record"].outcome
    for row in tables["How sure the choice is"].rows[1:]:
        shares = [int(share) for share in re.findall(r"\((\d+)%\)", row[3])]
        assert len(shares) <= 3
        assert shares == sorted(shares, reverse=True)
    table = found["statistics"]
    assert table["train"]["n"] == 1200
    assert table["train"]["positive_share"] == pytest.approx(found["data"]["train"]["labels"][1] / 1200)
    assert set(table["train"]["pronouns"]) == {"male", "female"}
    assert table["train"]["pronouns"]["female"] > 0
    shown = " ".join(cell for each in tables.values() for row in each.rows for cell in row)
    assert " was " not in shown
    ge = found["ge"]
    assert ge["n"] + ge["n_zero"] == 1200
    assert ge["quantiles"] == sorted(ge["quantiles"])
    folder = found["files"]["json"].parent.parent / "grid"
    assert read_said(folder, ["vanilla"])["vanilla"]["hits"].shape == (6, 2, 400)


def test_what_the_texts_are_is_counted_by_hand():
    texts = [
        "He said his name.",
        "SHE, herself!",
        "The shed is here.",
        "The queen met her king and her aunt.",
        "It rains.",
    ]
    gender = load_attribute("gender")
    about = [gender.polarity(text) for text in texts]
    part = DataFrame({"text": texts, "truth": [True, False, True, True, False], "about": about})
    groups = DataFrame({"text": ["a he", "b"], "about": ["x", "y"], "truth": [True, False]})
    diet: Any = SimpleNamespace(train=part, validation=part, test=part, groups=groups, attribute=gender)
    found = statistics(diet)
    assert found["train"] == {
        "n": 5,
        "positive_share": 0.6,
        "pronouns": {"male": 2, "female": 4},
        "about": {"male": 1, "female": 2},
        "positive_about": {"male": 1.0, "female": 0.5},
    }
    assert found["groups"]["about"] == {"male": 0, "female": 0, "x": 1, "y": 1}
    assert found["groups"]["positive_about"] == {"male": None, "female": None, "x": 1.0, "y": 0.0}


def test_the_published_table_of_sizes(shared):
    """Table 1 of Zayed et al. 2023: 16,907 tweets of which 20.29 % are sexist."""
    texts = data_diet_quality.sets()
    labels = [label for part in ("train", "validation", "test") for label in texts[part]["label"][:]]
    assert (len(labels), round(labels.count("1") / len(labels), 4)) == (16_907, 0.2029)
