"""Tasks that a changed encoder must still be good for, beside the audits of a command that changes one."""

from __future__ import annotations

import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from hf_fairness.arguments import UtilityArguments
from hf_fairness.encoders import as_encoder
from hf_fairness.scores.transfer import class_changes
from hf_fairness.trainers import RefineArguments
from hf_fairness.trainers.experiment import Fitted, Scored, sweepable
from hf_fairness.trainers.sentence_debias.method import SentenceDebiasArguments, SentenceDebiasMethod
from hf_fairness.trainers.training.utility import Transfer, UtilityTasks, open_utility, read_utility
from support.utility_case import write_tasks


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    return write_tasks(tmp_path_factory.mktemp("tasks"))


def test_tasks_are_opened_and_read(files):
    arguments = UtilityArguments(senteval=[f"{name}={file}" for name, file in files.items()], senteval_folds=3)
    tasks = read_utility(arguments, open_utility(arguments)).frozen
    assert [task.name for task in tasks] == ["MRPC", "SICK-R"]
    assert [(len(task.train), len(task.measured)) for task in tasks] == [(60, 20), (60, 60)]
    assert tasks[1].told == "nested 3-fold cross-validation of 60 rows"
    assert read_utility(UtilityArguments(), open_utility(UtilityArguments())) == UtilityTasks()


def test_what_is_named_wrongly_is_refused(files, tmp_path):
    with pytest.raises(ValueError, match="--senteval is 'mr', expected NAME=SOURCE"):
        UtilityArguments(senteval=["mr"])
    with pytest.raises(ValueError, match="--senteval_folds is 1, expected 2 or more"):
        UtilityArguments(senteval_folds=1)
    twice = UtilityArguments(senteval=[f"mrpc={files['mrpc']}", f"MRPC={files['mrpc']}"])
    with pytest.raises(ValueError, match="--senteval names MRPC twice"):
        open_utility(twice)
    with pytest.raises(ValueError, match=r"--senteval mr: .*no such file"):
        open_utility(UtilityArguments(senteval=[f"mr={tmp_path}/none.csv"]))
    few = UtilityArguments(senteval=[f"sick-r={files['sick-r']}"], senteval_folds=60)
    with pytest.raises(ValueError, match="--senteval SICK-R: there are 60 rows to train on, and 60-fold"):
        read_utility(few, open_utility(few))


def test_how_a_model_is_measured_is_no_setting_to_sweep():
    names = sweepable(SentenceDebiasArguments(model_name_or_path="m"), None)
    assert not {name for name in names if name.startswith(("senteval", "glue"))}
    names = sweepable(RefineArguments(model_name_or_path="m", bilstm=True), None)  # it fills in what is trained with
    assert "bilstm_settings" not in names
    assert "hidden_size" in names


def test_settings_of_what_is_not_done_are_not_shown(tmp_path):
    config = SimpleNamespace(seed=0)
    for given, shown in (({}, set()), ({"senteval": ["mr=x.csv"]}, {"senteval", "senteval_folds"})):
        arguments = SentenceDebiasArguments(model_name_or_path="m", **given)
        method = SentenceDebiasMethod(None, arguments, SimpleNamespace(**vars(config), n_directions=1), {}, {}, 0)
        asked = method.asked()
        assert {name for name in asked if name.startswith(("senteval", "glue"))} == shown
        assert asked["attribute"] == "gender"


def bag_of_letters(texts):
    """An encoder that knows how often each of some letters stands in a text, and nothing of their order."""
    return np.array([[1.0 + text.count(letter) for letter in "aeiouhmnst"] for text in texts])


def hash_of_words(texts):
    """An encoder of which nothing can be read."""
    seeds = [zlib.crc32(text.encode()) for text in texts]
    return np.stack([np.random.default_rng(seed).normal(size=4) for seed in seeds])


def test_arms_are_compared_item_by_item(files, tmp_path):
    arguments = UtilityArguments(senteval=[f"{name}={file}" for name, file in files.items()], senteval_folds=3)
    encoders = {"before": as_encoder(bag_of_letters), "after": as_encoder(hash_of_words)}
    method = SimpleNamespace(
        arguments=SimpleNamespace(senteval_folds=3, n_bootstrap=50),
        base_key="key",
        opened_as=[],
        encoder=lambda fitted: encoders[fitted.name],
    )
    for task in read_utility(arguments, open_utility(arguments)).frozen:
        each = Transfer(method, task)
        found = {}
        for arm in encoders:
            (tmp_path / arm).mkdir(exist_ok=True)
            found[arm] = Scored(arm, each.score(Fitted(arm, arm), tmp_path / arm), tmp_path / arm)
        measures = {m.metric: m for m in each.measures({arm: one.result for arm, one in found.items()})}
        gaps = each.compare(found["after"], found["before"])
        assert measures.keys() == gaps.keys()
        for key, measure in measures.items():
            assert measure.kind == "utility"
            assert each.id(key) == measure.id
            low, high = gaps[key]["difference_ci95"]
            difference = measure.values["after"].value - measure.values["before"].value
            assert low <= difference <= high
        if task.name == "MRPC":
            assert measures["accuracy"].values["before"].value > 0.9  # the labels can be read
            told = [each.kept(found[arm])["predicted"] for arm in ("after", "before")]
            change = class_changes(*told, np.arange(20) % 2, positive=1)
            assert gaps["accuracy"]["p_value"] == change["accuracy_change_p_value"]
            assert measures["accuracy"].values["after"].extras == {"most frequent class": 0.5}
        else:
            assert [key for key, measure in measures.items() if measure.detail] == ["spearman", "mse"]
