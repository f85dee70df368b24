"""The small things that every layer shares."""

from __future__ import annotations

import platform
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from datasets.arrow_dataset import Column

from hf_fairness._encoder_adapters import check_texts
from hf_fairness.augment import summarize
from hf_fairness.rows import read_columns
from hf_fairness.scores.labels import as_labels
from hf_fairness.utils import FairnessWarning, as_flag, in_eval, in_mode, warned_elsewhere, whole, world_size
from support.launch import environment


@pytest.mark.parametrize("value", [True, 1, 1.0, np.bool_(True), np.int8(1), "True", " yes ", "1", "TRUE", "t", "1.0"])
def test_flag_is_true(value):
    assert as_flag(value, "has_terms") is True


@pytest.mark.parametrize("value", [False, 0, 0.0, np.bool_(False), np.int8(0), "False", "no", "0", "FALSE", "f", "0.0"])
def test_flag_is_false(value):
    assert as_flag(value, "has_terms") is False


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA, "", "maybe", 2, -1, "2", [], [1], {}, np.array([0, 1])])
def test_what_is_no_flag_is_refused(value):
    with pytest.raises(ValueError, match=r"rows\[3\]\['has_terms'\] must be true or false"):
        as_flag(value, "rows[3]['has_terms']")


_ENDS = """
import atexit, sys
import torch
from torch import distributed
from hf_fairness.utils import end_distributed_process

class Held:
    def __del__(self):
        print("the interpreter took itself apart")

held = Held()
atexit.register(print, "exit handlers ran")
if sys.argv[1] == "joined":
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
end_distributed_process(3)
print("went on")
"""


@pytest.mark.parametrize(
    ("kind", "status", "printed"),
    [
        ("joined", 3, ["exit handlers ran"]),
        ("alone", 0, ["went on", "exit handlers ran", "the interpreter took itself apart"]),
    ],
)
def test_a_process_of_a_group_ends_before_the_interpreter_takes_itself_apart(kind, status, printed):
    done = subprocess.run([sys.executable, "-c", _ENDS, kind], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()) == (status, printed), done.stderr


def test_columns_are_read_in_one_piece(monkeypatch):
    rows = Dataset.from_dict({"text": ["She left.", "Rain."], "label": [1, 0]})
    monkeypatch.setattr(Column, "__iter__", lambda column: pytest.fail("read row by row"))
    assert whole(rows["text"]) == ["She left.", "Rain."]
    assert whole(texts := ("a", "b")) is texts
    assert check_texts(rows["text"]) == ["She left.", "Rain."]
    assert as_labels(rows["label"], "labels").tolist() == [1, 0]
    assert as_labels(rows.with_format("torch")["label"], "labels").tolist() == [1, 0]
    assert summarize(rows["text"])["with_terms"] == summarize(rows)["with_terms"] == 1
    assert read_columns(rows, ["text"], "rows") == {"text": ["She left.", "Rain."]}


@pytest.mark.parametrize("enter", [in_eval, lambda model: in_mode(model, training=True)])
def test_each_module_is_put_back_in_its_mode(enter):
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Sequential(torch.nn.Dropout()))
    model[1].eval()
    before = [module.training for module in model.modules()]
    with enter(model):
        assert {module.training for module in model.modules()} == {enter is not in_eval}
    assert [module.training for module in model.modules()] == before
    with pytest.raises(ValueError, match="invalid literal"), enter(model):
        int("x")
    assert [module.training for module in model.modules()] == before == [True, True, False, False]


def test_what_is_warned_of_elsewhere_is_not_repeated():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with warned_elsewhere():
            warnings.warn("known", FairnessWarning, stacklevel=1)
            warnings.warn("another", UserWarning, stacklevel=1)
        warnings.warn("after", FairnessWarning, stacklevel=1)
    assert [str(each.message) for each in seen] == ["another", "after"]


def test_processes_of_a_launch(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert world_size() == 1
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert world_size() == 3


_FAULTS = """
import ctypes, resource, sys
from hf_fairness.utils import keep_freed_memory

library = ctypes.CDLL(None)
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    place = library.malloc(64 << 20)
    ctypes.memset(place, 1, 64 << 20)
    library.free(place)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.whole
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="keeps memory with glibc alone")
def test_memory_that_was_freed_is_there_again():
    """64 MiB are cleared page by page each time, or the first time alone."""
    faults = {
        how: int(subprocess.run([sys.executable, "-c", _FAULTS, how], env=environment(), capture_output=True).stdout)
        for how in ("given back", "kept")
    }
    assert faults["kept"] < 100 < faults["given back"]
