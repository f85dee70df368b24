"""Tasks of MTEB: asked of encoders of this package by mteb itself."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hf_fairness.arguments import UtilityArguments
from hf_fairness.cli import command
from hf_fairness.encoders import as_encoder
from hf_fairness.measure import sts
from hf_fairness.measure.encoder.mteb_tasks import mteb_key, mteb_score, open_mteb_tasks
from hf_fairness.trainers.experiment import Fitted, Scored
from hf_fairness.trainers.training.utility import Mteb, open_utility, read_utility
from support.ccd_case import make_encoder


@pytest.fixture(scope="module")
def home():
    """A task whose data are here."""
    pytest.importorskip("mteb", reason="mteb needs Python 3.11")
    from support.mteb_case import HomeSTS

    return HomeSTS


def letters(texts):
    """An encoder that knows how often some letters stand in a text."""
    return np.array([[1.0 + text.count(letter) for letter in "aeiouhmnst"] for text in texts])


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_the_score_is_that_of_the_task(home):
    (task,) = open_mteb_tasks([home()])
    encoder = as_encoder(letters)
    found = mteb_score(task, encoder)
    rows = task.dataset["test"]
    ours = sts(encoder, {name: rows[name][:] for name in rows.column_names}, n_bootstrap=10)
    assert found == {"main_score": pytest.approx(ours["sts_spearman"], abs=1e-6), "splits": ["test"]}
    assert abs(found["main_score"]) > 0.01
    constant = as_encoder(lambda texts: np.ones((len(texts), 3)))
    with pytest.raises(ValueError, match="--mteb_tasks HomeSTS: cosine_spearman is nan"):
        mteb_score(task, constant)


@pytest.mark.whole
def test_arms_are_measured_as_on_any_set(home, tmp_path):
    encoders = {"before": as_encoder(letters), "after": as_encoder(lambda texts: letters(texts)[:, :3])}
    method = SimpleNamespace(base_key="key", opened_as=[], encoder=lambda fitted: encoders[fitted.name])
    (task,) = read_utility(UtilityArguments(), {"mteb": [home()]}).mteb
    each = Mteb(method, task)
    results = {arm: each.score(Fitted(arm, arm), tmp_path) for arm in encoders}
    (measure,) = each.measures(results)
    assert (measure.id, measure.kind, measure.direction) == ("utility/MTEB-HomeSTS/main_score", "utility", "higher")
    assert measure.values["before"].value == results["before"]["main_score"] != measure.values["after"].value
    assert each.compare(*(Scored(arm, results[arm], tmp_path) for arm in results)) == {}
    assert each.key[-1] == mteb_key(task) == ["HomeSTS", "1", ["test"], ["default"], sys.modules["mteb"].__version__]


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_a_command_asks_every_arm(home, tmp_path, monkeypatch):
    monkeypatch.setattr("mteb.get_task", {"HomeSTS": home()}.__getitem__)
    monkeypatch.setattr(importlib.import_module("hf_fairness.measure.audit"), "built_in_tests", lambda attribute: [])
    words = [make_encoder(tmp_path / "base"), "--dataset", "demo", "--max_rows", "96", "--mteb_tasks", "HomeSTS"]
    words += ["--n_samples", "50", "--n_bootstrap", "20", "--use_cpu", "--no_control"]
    record = command("sentence-debias")([*words, "--output_dir", str(tmp_path / "out")])["record"]
    (measure,) = (each for each in record.measures if each.set == "MTEB-HomeSTS")
    (gap,) = (each for each in record.gaps if each.measure == measure.id)
    assert gap.difference == measure.values["after"].value - measure.values["before"].value
    assert gap.ci95 is None
    assert record.asked["mteb_tasks"] == ["HomeSTS"]


@pytest.mark.whole
def test_what_cannot_be_asked_is_refused(home):
    with pytest.raises(
        ValueError, match=r"--mteb_tasks: 'Banking77Clasification' not found. Did you mean: 'Banking77C"
    ):
        open_utility(UtilityArguments(mteb_tasks=["Banking77Clasification"]))
    with pytest.raises(ValueError, match="--mteb_tasks names HomeSTS twice"):
        open_mteb_tasks([home(), home()])
    picture, away = home(), home()
    picture.metadata = picture.metadata.model_copy(update={"modalities": ["image", "text"]})
    with pytest.raises(ValueError, match="--mteb_tasks HomeSTS is about image, text, expected text alone"):
        open_mteb_tasks([picture])

    def lost(*given, **more):
        raise ConnectionError("the Hub is out of reach\nmore of it")

    away.load_data = lost
    with pytest.raises(ValueError, match=r"HomeSTS: its data are not there: the Hub is out of reach\. mteb reads"):
        open_mteb_tasks([away])


def test_without_the_package_its_extra_is_named(monkeypatch):
    assert open_mteb_tasks([]) == []
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ImportError, match=r'mteb is not installed. Install it with: pip install "hf-fairness\[mteb\]"'):
        open_utility(UtilityArguments(mteb_tasks=["Banking77Classification"]))
