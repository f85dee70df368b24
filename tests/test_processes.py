"""Rows that processes share, and engines that split models; on several processes: tests/trainers/test_processes.py."""

from __future__ import annotations

import pytest

from hf_fairness._processes import ENGINES, of_all, own_device, refuse_engines, rows_shared, shared_work, turn


def test_alone_nothing_is_shared():
    with rows_shared():
        assert turn() == (0, 1)
        assert own_device() is None
        assert shared_work([[2, 0], [1]], lambda rows: [10 * row for row in rows], "Working") == [0, 10, 20]
    assert of_all([(1, "b"), (0, "a")]) == ["a", "b"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_is_refused_by_what_the_launcher_sets(monkeypatch, engine):
    refuse_engines("it")
    monkeypatch.setenv(ENGINES[engine][1], "true")
    with pytest.raises(
        ValueError, match=rf"{engine} splits a model over the processes, and it needs .* use `torchrun`"
    ):
        refuse_engines("it")
    monkeypatch.setenv(ENGINES[engine][1], "false")
    refuse_engines("it")
