"""Training on a pool that was made before: of another run, or of a file; nothing is generated."""

from __future__ import annotations

import json

import pytest
from datasets import Dataset

from hf_fairness.record import Record
from hf_fairness.trainers import IBADRArguments, IBADRConfig
from hf_fairness.trainers.ibadr.arms import chosen
from hf_fairness.trainers.ibadr.command import open_data
from hf_fairness.trainers.ibadr.data import read_pool, read_task

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:hf_fairness.utils.FairnessWarning")
    for text in (r"Round \d", "Every one of the")
]


def rows(n, **more):
    names = ["entailment", "neutral", "contradiction"]
    texts = {name: [f"{name} number {k} ." for k in range(n)] for name in ("premise", "hypothesis")}
    return Dataset.from_dict({**texts, "label": [names[k % 3] for k in range(n)], **more})


@pytest.fixture(scope="module")
def other(case, tmp_path_factory):
    """The output folder of a run of IBADR."""
    folder = tmp_path_factory.mktemp("other")
    return folder, case.run(folder, n_iterations=1, control=False)


@pytest.mark.whole
def test_the_classifier_learns_from_the_pool_what_it_learned_when_it_was_made(case, other, tmp_path):
    """The same rows, the same settings, so the same model: but nothing is generated, and no shallow model trained."""
    folder, made = other
    pools = open_data(*case.settings(tmp_path, pool=[str(folder)], demo=True))["pools"]
    found = case.run(tmp_path, pool=[str(folder)], arms=["reweight"], pools={**pools, "few": rows(9)})
    assert list(found["arms"]) == ["base", "with_pool", "with_pool_few", "control", "reweight"]
    n = len(case.world.train)
    assert [found["arms"][name]["n_rows"] for name in found["arms"]][:3] == [n, n + made["pool"]["n_added"], n + 9]
    for key in ("n_rows", "steps", "history"):
        assert found["arms"]["with_pool"][key] == made["arms"]["ibadr"][key]
    assert found["results"]["planted"]["with_pool"]["accuracy"] == made["results"]["planted"]["ibadr"]["accuracy"]
    assert found["arms"]["control"]["steps"] == found["arms"]["with_pool"]["steps"]
    assert found["pool"] == made["pool"]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(("generator", "samples"))]
    record = Record.from_json(json.loads(found["files"]["json"].read_text()))
    assert record.outcome.endswith("from a pool made before.")
    assert [arm.role for arm in record.arms] == ["original", "method", "variant", "control", "rival"]
    assert (found["model"] / "README.md").read_text().count("a pool of added rows") == 1
    assert found["artefacts"].keys() == {"model"}
    assert str(tmp_path) not in found["files"]["markdown"].read_text()
    assert "generator_model" not in record.asked


def test_of_a_pool_of_ibadr_the_added_rows_are_taken(case):
    task = read_task(IBADRArguments(), case.world.train, validation=case.world.validation)
    found = read_pool(task, rows(6, iteration=[0, 0, 1, 1, 2, 0]), "pool mine")
    assert found["premise"] == [f"premise number {k} ." for k in (2, 3, 4)]
    assert found["label"] == [2, 0, 1]
    assert len(read_pool(task, rows(6), "pool mine")) == 6
    with pytest.raises(ValueError, match="The pool mine has no added row"):
        read_pool(task, rows(2, iteration=[0, 0]), "pool mine")
    with pytest.raises(ValueError, match="The pool mine rows have no column 'premise'"):
        read_pool(task, rows(2).rename_column("premise", "text"), "pool mine")


def test_a_file_is_a_pool_too(tmp_path):
    rows(4).to_json(tmp_path / "pool.jsonl")
    rows(5).to_parquet(tmp_path / "other.parquet")
    arguments = IBADRArguments(pool=[f"a={tmp_path / 'pool.jsonl'}", str(tmp_path / "other.parquet")], demo=True)
    config = IBADRConfig(output_dir=str(tmp_path / "out"), use_cpu=True)
    found = open_data(arguments, config)["pools"]
    assert {title: len(each) for title, each in found.items()} == {"a": 4, "": 5}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pool": ["a=b", "a=c"]}, "--pool has the name 'a', expected letters, digits and _, each name once"),
        ({"pool": ["a b=c"]}, "--pool has the name 'a b'"),
        ({"pool": ["b"], "arms": ["z_filter"]}, "--pool takes the place of the rounds, which z_filter needs"),
        ({"pool": ["b"], "added_sizes": [5]}, "which --added_sizes needs"),
    ],
)
def test_what_does_not_go_with_a_pool(settings, message):
    with pytest.raises(ValueError, match=message):
        IBADRArguments(**settings)


def test_the_control_needs_the_first_pool():
    recipes = chosen(IBADRArguments(pool=["a=b", "c=d"], poe=False, arms=["poe"]), ["pool a", "pool c"])
    assert list(recipes) == ["base", "with_pool_a", "with_pool_c", "control", "poe"]
    assert recipes["control"].plan.needs == ("with_pool_a",)
