"""The small things that every layer shares."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from hf_fairness.utils import as_flag
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
