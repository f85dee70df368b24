"""A checkpoint that a kill left half written is passed over."""

from __future__ import annotations

import pytest

from hf_fairness.trainers.checkpoints import last_whole_checkpoint


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({}, None),
        ({"checkpoint-9": "{}", "checkpoint-10": "{}"}, "checkpoint-10"),
        ({"checkpoint-9": "{}", "checkpoint-10": '{"log_history": [{"lo'}, "checkpoint-9"),
        ({"checkpoint-9": "{}", "checkpoint-10": None}, "checkpoint-9"),
        ({"checkpoint-10": ""}, None),
        ({"checkpoint-best": "{}"}, None),
    ],
)
def test_last_whole_checkpoint(tmp_path, states, expected):
    for name, text in states.items():
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "trainer_state.json").write_text(text)
    found = last_whole_checkpoint(tmp_path)
    assert found == (None if expected is None else str(tmp_path / expected))


def test_no_folder(tmp_path):
    assert last_whole_checkpoint(tmp_path / "nowhere") is None
