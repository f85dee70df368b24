"""Stages, manifest, locks and atomic writes; every kill is a real SIGKILL of a real process."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hf_fairness import FairnessWarning, _atomic
from hf_fairness.runs import (
    Run,
    RunLockedError,
    atomic_folder,
    atomic_write_bytes,
    atomic_write_json,
    atomic_write_text,
    claim,
    discard,
    remove_left_overs,
)


def start(code: str, *arguments: object, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env}
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.01)


def manifest(folder: Path) -> dict[str, dict]:
    stages = json.loads((folder / "manifest.json").read_text())["stages"]
    return {entry["stage"]: entry for entry in stages}


class Counter:
    """A stage function that counts its calls and writes one file."""

    def __init__(self, result: object, text: str = "content") -> None:
        self.result, self.text, self.calls = result, text, 0

    def __call__(self, folder: Path) -> object:
        self.calls += 1
        assert list(folder.iterdir()) == []
        (folder / "data.txt").write_text(self.text)
        return self.result


# --- atomic writes


def test_a_write_replaces_the_whole_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    assert atomic_write_text(path, "a longer text\n") == path
    atomic_write_text(path, "short é\r\n")
    assert path.read_bytes() == "short é\r\n".encode()
    assert atomic_write_bytes(path, b"\x00").read_bytes() == b"\x00"
    assert [item.name for item in path.parent.iterdir()] == ["file.txt"]


def test_a_write_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    atomic_write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_new_files_get_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    atomic_write_text(tmp_path / "atomic", "")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_json_is_sorted_and_exact(tmp_path: Path) -> None:
    path = atomic_write_json(tmp_path / "x.json", {"b": 0.1 + 0.2, "a": ("é", None, True)})
    assert path.read_text(encoding="utf-8").startswith('{\n  "a": [\n    "é"')
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": ["é", None, True], "b": 0.1 + 0.2}


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"a": [1.0, float("nan")]}, ValueError, r"no nan, found at the value\['a'\]\[1\]"),
        ({"a": float("inf")}, ValueError, r"no inf, found at the value\['a'\]"),
        ({"a": {1: 2}}, TypeError, r"the value\['a'\] has the key 1"),
        ([Path("x")], TypeError, r"Path, found at the value\[0\]"),
    ],
)
def test_json_refuses_what_it_cannot_give_back(tmp_path: Path, value: object, error, message: str) -> None:
    atomic_write_json(tmp_path / "x.json", "old")
    with pytest.raises(error, match=message):
        atomic_write_json(tmp_path / "x.json", value)
    assert json.loads((tmp_path / "x.json").read_text()) == "old"


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "folder"

    def fail() -> None:
        with atomic_folder(target, replace=True) as folder:
            (folder / "part").write_text("1")
            assert folder.parent == tmp_path
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []
    for text in ("1", "2"):
        with atomic_folder(target, replace=True) as folder:
            (folder / "part").write_text(text)
    with pytest.raises(KeyError):
        fail()
    assert (target / "part").read_text() == "2"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileExistsError, match="replace=True"), atomic_folder(target):
        pytest.fail("the block must not run")


def test_a_killed_write_leaves_the_old_content(tmp_path: Path) -> None:
    code = """
        import sys
        from hf_fairness.runs import atomic_write_bytes
        print("go", flush=True)
        while True:
            for letter in b"ab":
                atomic_write_bytes(sys.argv[1], bytes([letter]) * 300_000)
    """
    path = tmp_path / "file"
    for _ in range(3):
        process = start(code, path)
        wait_for(path)
        time.sleep(0.1)
        process.kill()
        process.communicate()
        content = path.read_bytes()
        assert len(content) == 300_000
        assert len(set(content)) == 1


# --- stages


def test_a_second_run_takes_the_results_and_gives_the_same(tmp_path: Path) -> None:
    first, second = Counter({"rows": (1, 2), "x": 0.1 + 0.2}), Counter(None)
    results = []
    for _ in range(2):
        with Run(tmp_path / "out", {"rows": 2}) as run:
            results.append([run.stage("first", first), run.stage("second", second)])
            assert (run.folder("first") / "data.txt").read_text() == "content"
    assert results[0] == results[1] == [{"rows": [1, 2], "x": 0.1 + 0.2}, None]
    assert (first.calls, second.calls) == (1, 1)
    entry = manifest(tmp_path / "out")["first"]
    assert entry["status"] == "done"
    assert entry["files"] == 1
    assert entry["bytes"] == 7
    assert entry["seconds"] >= 0
    assert entry["started"].endswith("+00:00")
    assert "python" in entry["versions"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.name[0] != ".") == [
        "config.json", "first", "manifest.json", "second",
    ]  # fmt: skip


def test_resume_false_runs_all_again(tmp_path: Path) -> None:
    counter = Counter(1)
    for resume in (True, False, True):
        with Run(tmp_path, {}, resume=resume) as run:
            run.stage("a", counter)
    assert counter.calls == 2


def test_a_change_reruns_the_stage_and_those_that_depend_on_it(tmp_path: Path) -> None:
    calls = []
    source = tmp_path / "source.txt"
    source.write_text("one")

    def job(beta: float, rows: int, version: int = 1) -> list[str]:
        calls.clear()

        def stage(name: str):
            return lambda folder: calls.append(name)

        with Run(tmp_path / "out", {"beta": beta, "rows": rows}) as run:
            run.stage("data", stage("data"), inputs=[source, rows])
            run.stage("train", stage("train"), inputs=[run.key("data"), beta], version=version)
            run.stage("other", stage("other"), inputs=["nothing of the config"])
            run.stage("report", stage("report"))
        return list(calls)

    assert job(1.0, 3) == ["data", "train", "other", "report"]
    assert job(1.0, 3) == []
    assert job(2.0, 3) == ["train", "report"]
    assert job(2.0, 4) == ["data", "train", "report"]
    assert job(2.0, 4, version=2) == ["train", "report"]
    source.write_text("two")
    assert job(2.0, 4, version=2) == ["data", "train", "report"]


def test_damaged_files_rerun_the_stage_and_are_kept_aside(tmp_path: Path) -> None:
    counter = Counter(1)
    with Run(tmp_path, {}) as run:
        run.stage("a", counter)
    (tmp_path / "a" / "data.txt").write_text("changed by hand")
    with Run(tmp_path, {}) as run, pytest.warns(FairnessWarning, match=r"moved to .*a\.old-1"):
        run.stage("a", counter)
    assert counter.calls == 2
    assert (tmp_path / "a" / "data.txt").read_text() == "content"
    assert (tmp_path / "a.old-1" / "data.txt").read_text() == "changed by hand"


def test_a_folder_of_someone_else_is_never_deleted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.txt").write_text("years of work")
    with Run(tmp_path, {}) as run, pytest.warns(FairnessWarning, match="another program|of another"):
        run.stage("a", Counter(1))
    assert (tmp_path / "a.old-1" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("content", ["{ not json", "[]", '{"stages": [{"key": 1}]}', '{"stages": 3}', ""])
def test_a_corrupt_manifest_is_set_aside(tmp_path: Path, content: str) -> None:
    counter = Counter(1)
    with Run(tmp_path, {}) as run:
        run.stage("a", counter)
    (tmp_path / "manifest.json").write_text(content)
    with pytest.warns(FairnessWarning, match="every stage runs again"):
        run = Run(tmp_path, {})
    with run, pytest.warns(FairnessWarning, match="moved to"):
        assert run.stage("a", counter) == 1
    assert counter.calls == 2
    assert [path.read_text() for path in tmp_path.glob("manifest.corrupt-*.json")] == [content]
    assert manifest(tmp_path)["a"]["status"] == "done"


def test_a_failed_stage_says_so_and_runs_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "part").write_text("half")
        raise ZeroDivisionError("no rows")

    with Run(tmp_path, {}) as run, pytest.raises(ZeroDivisionError):
        run.stage("a", fail)
    entry = manifest(tmp_path)["a"]
    assert entry["status"] == "failed"
    assert entry["error"] == "ZeroDivisionError: no rows"
    assert not (tmp_path / "a").exists()
    counter = Counter(1)
    with Run(tmp_path, {}) as run:
        assert run.stage("a", counter) == 1
    assert "error" not in manifest(tmp_path)["a"]


def test_a_failed_change_keeps_the_old_files(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.stage("a", Counter(1), inputs=1)

    def fail(folder: Path) -> float:
        return float("nan")

    with (
        Run(tmp_path, {}) as run,
        pytest.raises(ValueError, match="no nan, found at the result of stage 'a'"),
    ):
        run.stage("a", fail, inputs=2)
    assert (tmp_path / "a" / "data.txt").read_text() == "content"
    counter = Counter(1)
    with Run(tmp_path, {}) as run:
        run.stage("a", counter, inputs=1)
    assert counter.calls == 1, "a failed stage is not done, though older files are there"


def test_misuse_is_named(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.stage("a", Counter(1))
        with pytest.raises(ValueError, match="called twice"):
            run.stage("a", Counter(1))
        for name in ("", "../x", "a/b", ".hidden", "manifest.json"):
            with pytest.raises(ValueError, match="letters, digits"):
                run.stage(name, Counter(1))
        with pytest.raises(ValueError, match=r"use run.folder\('b'\)"):
            run.stage("b", lambda folder: str(folder / "model"))
        with pytest.raises(TypeError, match="Code has no stable content"):
            run.stage("c", Counter(1), inputs=[len])
        with pytest.raises(TypeError, match="result of stage 'd'"):
            run.stage("d", lambda folder: object())
        with pytest.raises(KeyError, match="has not been called; called: a"):
            run.folder("z")
    with pytest.raises(RuntimeError, match="is closed"):
        run.stage("e", Counter(1))
    with pytest.raises(TypeError, match="mapping or a dataclass"):
        Run(tmp_path, 3)
    with pytest.raises(ValueError, match=r"config\['rho'\]"):
        Run(tmp_path, {"rho": float("nan")})


def test_the_config_is_written_without_secrets(tmp_path: Path) -> None:
    @dataclass
    class Config:
        data: Path
        beta: float = 1.0
        hub_token: str | None = None
        max_token: int = 7

    keys = []
    for token in ("hf_one", "hf_two"):
        with Run(tmp_path, Config(Path("x"), hub_token=token)) as run:
            run.stage("a", Counter(1))
            keys.append(run.key("a"))
        text = (tmp_path / "config.json").read_text() + (tmp_path / "manifest.json").read_text()
        assert "hf_" + "one" not in text
        assert token not in text
    assert json.loads((tmp_path / "config.json").read_text()) == {
        "data": "x", "beta": 1.0, "hub_token": "<hidden>", "max_token": 7,
    }  # fmt: skip
    assert keys[0] == keys[1]


# --- killed before each of its steps


def kill_before_each_step(job: Callable[[], object], after: Callable[[], None]) -> int:
    """Kill a forked process before its first, second, ... step on the file system; returns how many there are.

    Args:
        job: what the process does.
        after: called after each kill, and in the end after the job that nobody killed.
    """
    for step in itertools.count(1):
        child = os.fork()
        if child == 0:
            steps = itertools.count(1)

            def hook(event: str, _: object, steps: Iterator[int] = steps, last: int = step) -> None:
                if event.startswith(("os.", "shutil.", "open", "ctypes.")) and next(steps) == last:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hook)
            try:
                job()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        after()
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return step - 1
    raise AssertionError


@pytest.mark.whole
@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("old", [None, "old"])
def test_an_output_is_the_old_one_or_the_new_one_whenever_it_is_killed(tmp_path, monkeypatch, old, swaps) -> None:
    target = tmp_path / "out"
    if not swaps:  # as on systems that cannot swap two folders in one step
        monkeypatch.setattr(_atomic, "_exchange", lambda one, other: False)

    def write(text: str) -> None:
        with atomic_folder(target, replace=True) as folder:
            (folder / "a").write_text(text)
            (folder / "b").write_text(text)

    def found() -> list[str]:
        return [path.read_text() for path in sorted(target.iterdir())] if target.exists() else []

    def after() -> None:
        if swaps:
            assert found() in ([old, old] if old else [], ["new", "new"])
        with claim(target):  # the next job of this output, before it does anything
            assert found() in ([old, old] if old else [], ["new", "new"])
        assert [path.name for path in tmp_path.iterdir()] in (["out"], [])
        shutil.rmtree(target, ignore_errors=True)
        if old:
            write(old)

    if old:
        write(old)
    assert kill_before_each_step(lambda: write("new"), after) > 10


@pytest.mark.whole
@pytest.mark.parametrize(("keep", "before"), [(False, False), (True, True)])
def test_a_stage_is_made_once_whenever_it_is_killed_after_its_work(tmp_path, keep, before) -> None:
    """Also where the files of other inputs stand in its place; the function of a stage counts its calls outside."""
    out, calls = tmp_path / "out", tmp_path / "calls"

    def stage(value: int) -> object:
        def work(folder: Path) -> dict[str, int]:
            (folder / "data.txt").write_text(str(value))
            with calls.open("a") as stream:
                stream.write("x")
            return {"value": value}

        with Run(out, {}) as run:
            return run.stage("a", work, inputs=value, keep_partial=keep)

    def fresh() -> None:
        shutil.rmtree(out, ignore_errors=True)
        if before:
            stage(1)
        calls.write_text("")

    def after() -> None:
        worked = len(calls.read_text())
        assert stage(2) == {"value": 2}
        # A kill between the end of the work and the note of it may cost the work once more, never twice.
        repeated.append(len(calls.read_text()) - worked if worked else 0)
        assert (out / "a" / "data.txt").read_text() == "2"
        names = {path.name for path in out.iterdir()}
        assert names == {"a", "config.json", "manifest.json"}
        fresh()

    repeated: list[int] = []
    fresh()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody is blamed for what the run itself left
        assert kill_before_each_step(lambda: stage(2), after) > 20
    again = [step for step, times in enumerate(repeated) if times]
    done = [step for step, times in enumerate(repeated) if not times]
    assert len(again) < 12
    assert max(again) < max(done) - 5


def test_a_folder_that_appears_meanwhile_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def write(replace: bool) -> None:
        with atomic_folder(target, replace=replace) as folder:
            (folder / "mine").write_text("days of work")
            target.mkdir(exist_ok=True)
            (target / "thesis.txt").write_text(f"years of work {replace}")

    for replace in (False, True):
        with pytest.raises(FileExistsError, match=r"appeared or changed .* the result is in .*out\.new-\d"):
            write(replace)
        assert [path.name for path in target.iterdir()] == ["thesis.txt"]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["out", "out.new-1", "out.new-2"]
    assert (tmp_path / "out.new-1" / "mine").read_text() == "days of work"


def test_one_job_at_a_time_writes_an_output(tmp_path: Path) -> None:
    code = """
        import sys, time
        from hf_fairness.runs import atomic_folder
        with atomic_folder(sys.argv[1]) as folder:
            (folder / "part").write_text("first")
            time.sleep(60)
    """
    target = tmp_path / "deep" / "out"
    process = start(code, target)
    wait_for(target.parent / ".out.lock")
    wait_for(target.parent / ".out.lock")
    time.sleep(0.2)
    with (
        pytest.raises(RunLockedError, match=rf"out is being written by another job \(process {process.pid} on"),
        atomic_folder(target),
    ):
        pytest.fail("the block must not run")
    process.kill()
    process.communicate()
    with atomic_folder(target) as folder:
        (folder / "part").write_text("second")
    assert sorted(path.name for path in target.parent.iterdir()) == ["out"]


def test_a_failed_job_leaves_no_folders_that_it_made(tmp_path: Path) -> None:
    with pytest.raises(KeyError), atomic_folder(tmp_path / "a" / "b" / "out"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_only_what_dead_processes_left_is_removed_where_others_write(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    for pid in (child, os.getpid()):
        (tmp_path / f".x.json.{_atomic._host()}-{pid}-01234567.tmp").write_text("")
    (tmp_path / f".x.json.000000-{child}-01234567.tmp").write_text("of another machine")
    remove_left_overs(tmp_path, shared=True)
    assert len(list(tmp_path.iterdir())) == 2
    remove_left_overs(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_an_interrupted_stage_do_not_ship(tmp_path: Path) -> None:
    def stage(folder: Path) -> None:
        if not (folder / "cell.json").exists():
            (folder / "cell.json").write_text("{}")
            (folder / "deep").mkdir()
            for place in (folder, folder / "deep"):
                (place / f".vanilla.json.{_atomic._host()}-1-01234567.tmp").write_text("half")
                (place / ".data.lock").write_text("a process that was killed before it could remove its lock")
            raise KeyboardInterrupt
        (folder / "other.json").write_text("{}")

    with Run(tmp_path, {}) as run, pytest.raises(KeyboardInterrupt):
        run.stage("grid", stage, keep_partial=True)
    with Run(tmp_path, {}) as run:
        run.stage("grid", stage, keep_partial=True)
    assert sorted(path.name for path in (tmp_path / "grid").rglob("*")) == ["cell.json", "deep", "other.json"]


def test_what_could_not_be_removed_at_work_does_not_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails once at a removal, which `shutil.rmtree` hides."""

    def stage(folder: Path) -> None:
        (folder / "data").mkdir()
        (folder / "data" / "rows").write_text("rows")
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "rmtree", lambda place, **options: None)
            discard(folder / "data")
        assert len(list(folder.iterdir())) == 1

    with Run(tmp_path, {}) as run:
        run.stage("train", stage)
    assert not list((tmp_path / "train").iterdir())


# --- killed and parallel processes

JOB = """
    import sys, time
    from pathlib import Path
    from hf_fairness.runs import Run

    out, log, hang = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "hang"

    def stage(name):
        def work(folder):
            with log.open("a") as stream:
                stream.write(name + "\\n")
            (folder / "data").write_text(name)
            if name == "two" and (folder / "checkpoint").exists():
                (folder / "resumed").write_text("")
            (folder / "checkpoint").write_text("")
            if hang and name == "two":
                time.sleep(60)
            return {"name": name, "value": 1 / 3}
        return work

    with Run(out, {"n": 3}) as run:
        keep = sys.argv[4:]
        print([run.stage(name, stage(name), keep_partial=name in keep) for name in ("one", "two", "three")])
"""


@pytest.mark.parametrize("keep", [False, True])
def test_a_killed_run_goes_on_at_its_first_unfinished_stage(tmp_path: Path, keep: bool) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    extra = ["two"] if keep else []
    process = start(JOB, out, log, "hang", *extra)
    wait_for(out / "one")
    while "two" not in log.read_text():
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert {name: entry["status"] for name, entry in manifest(out).items()} == {
        "one": "done",
        "two": "running",
    }
    assert not (out / "two").exists()
    printed = finish(start(JOB, out, log, "go", *extra))
    assert log.read_text().split() == ["one", "two", "two", "three"]
    assert printed == finish(start(JOB, tmp_path / "whole", log, "go"))
    assert (out / "two" / "resumed").exists() == keep
    assert list(out.glob(".*")) == []


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    with Run(out, {}), pytest.raises(RunLockedError, match=r"close\(\) it first"):
        Run(out, {})
    process = start(JOB, out, log, "hang")
    wait_for(out / "one")
    with pytest.raises(RunLockedError, match=f"process {process.pid} on .*another output_dir"):
        Run(out, {})
    process.kill()
    process.communicate()
    Run(out, {}).close()  # the lock of a dead process is free


def test_a_run_that_is_forgotten_gives_its_folder_back(tmp_path: Path) -> None:
    run = Run(tmp_path, {})
    del run
    Run(tmp_path, {}).close()


def test_forked_workers_do_not_hold_the_lock(tmp_path: Path) -> None:
    code = """
        import os, sys, time
        from hf_fairness.runs import Run
        run = Run(sys.argv[1], {})
        child = os.fork()
        if child == 0:
            os.close(1); os.close(2)
            time.sleep(20)
            os._exit(0)
        print(child, flush=True)
        os.kill(os.getpid(), 9)
    """
    out, _ = start(code, tmp_path).communicate(timeout=60)
    try:
        os.kill(int(out), 0)
        Run(tmp_path, {}).close()
    finally:
        os.kill(int(out), signal.SIGKILL)


# --- a full disk


@pytest.mark.parametrize("keep", [False, True])
def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path, keep: bool) -> None:
    """The system refuses to let a file grow, as a full disk does; safetensors wraps that in an error of its own."""
    code = """
        import resource, sys
        import numpy as np
        from safetensors.numpy import save_file
        from hf_fairness.runs import Run

        def work(folder):
            if not (folder / "checkpoint").exists():
                (folder / "checkpoint").write_text("kept")
            if sys.argv[2] == "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
            save_file({"weight": np.zeros(int(sys.argv[3]))}, folder / "model.safetensors")

        with Run(sys.argv[1], {}) as run:
            run.stage("train", work, inputs=sys.argv[3], keep_partial=sys.argv[4] == "True")
    """
    finish(start(code, tmp_path, "roomy", 5000, keep))
    old = (tmp_path / "train" / "model.safetensors").read_bytes()
    process = start(code, tmp_path, "full", 6000, keep)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "SafetensorError" in said
    assert re.search(
        r"OSError: .*Stage 'train' could not be written: the disk of .* is full.*run the same command", said
    )
    assert (tmp_path / "train" / "model.safetensors").read_bytes() == old
    assert len(list(tmp_path.glob(".partial/*/train/checkpoint"))) == keep
    finish(start(code, tmp_path, "roomy", 6000, keep))
    assert (tmp_path / "train" / "model.safetensors").stat().st_size > len(old)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "manifest.json", "train"]


# --- several ranks

RANKS = """
    import json, os, sys, time
    from pathlib import Path
    from hf_fairness.runs import Run

    out, slow = Path(sys.argv[1]), sys.argv[2]
    rank = int(os.environ["RANK"])
    if slow == str(rank):
        time.sleep(0.5)
    calls = []

    def work(folder):
        calls.append(folder.name)
        (folder / f"rank{rank}").write_text("")
        if "fail" in sys.argv:
            raise ValueError("no rows")
        while folder.name == "train" and not (folder / f"rank{1 - rank}").exists():
            time.sleep(0.01)  # as any collective operation: nobody goes on alone
        time.sleep(0.2 if rank == 0 else 0)
        return {"rank": rank}

    with Run(out, {}) as run:
        results = [run.stage("data", work), run.stage("train", work, collective=True)]
        print(json.dumps([calls, results, run.key("train")]))
"""


def launch(*arguments: object) -> list[subprocess.Popen[str]]:
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    return [start(RANKS, *arguments, RANK=str(rank), **env) for rank in range(2)]


@pytest.mark.parametrize("slow", ["0", "1"])
def test_rank_0_decides_and_writes(tmp_path: Path, slow: str) -> None:
    first, second = (json.loads(finish(process)) for process in launch(tmp_path, slow))
    assert first == [["data", "train"], [{"rank": 0}, {"rank": 0}], first[2]]
    assert second == [["train"], [{"rank": 0}, {"rank": 0}], first[2]]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["rank0"]
    assert sorted(path.name for path in (tmp_path / "train").iterdir()) == ["rank0", "rank1"]


def test_all_ranks_resume_and_do_not_read_an_older_launch(tmp_path: Path, monkeypatch) -> None:
    for process in launch(tmp_path, ""):
        finish(process)
    state = json.loads((tmp_path / ".run_state.json").read_text())
    state["time"] -= 60  # an older launch of the same parent with the same port: its rank 0 is dead
    state["stages"]["data"]["result"] = "stale"
    (tmp_path / ".run_state.json").write_text(json.dumps(state))
    for slow in ("0", "1"):
        outputs = [json.loads(finish(process)) for process in launch(tmp_path, slow)]
        assert [output[:2] for output in outputs] == [[[], [{"rank": 0}, {"rank": 0}]]] * 2


def test_other_ranks_stop_when_rank_0_fails_or_dies(tmp_path: Path) -> None:
    processes = launch(tmp_path, "", "fail")
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, 1]
    assert "Stage 'data' failed on rank 0: ValueError: no rows" in errors[1]

    code = RANKS.replace("calls.append(folder.name)", "rank == 0 and os.kill(os.getpid(), 9)")
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29501"}
    processes = [start(code, tmp_path / "b", "", RANK=str(rank), **env) for rank in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert "Rank 0 ended before stage 'data' was done" in errors[1]


@pytest.mark.whole
def test_torchrun_gives_every_rank_the_same_results(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    to_file = f"(Path({str(tmp_path)!r}) / f'seen{{rank}}').write_text("
    script.write_text(textwrap.dedent(RANKS).replace("print(", to_file))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    for calls in ([["data", "train"], ["train"]], [[], []]):
        done = subprocess.run(
            [*command, str(script), str(tmp_path / "out"), ""], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        seen = [json.loads((tmp_path / f"seen{rank}").read_text()) for rank in range(2)]
        assert [entry[0] for entry in seen] == calls
        assert seen[0][1:] == seen[1][1:]
        assert seen[0][1] == [{"rank": 0}, {"rank": 0}]


def test_a_folder_is_discarded_at_once(tmp_path, monkeypatch):
    """A process that is killed while it removes checkpoints leaves no half of them to go on from."""
    folder = tmp_path / "checkpoints"
    for step in (2, 5):
        (folder / f"checkpoint-{step}").mkdir(parents=True)
        (folder / f"checkpoint-{step}" / "weights").write_text(str(step))

    def killed(place, **options):
        next(path for path in sorted(Path(place).rglob("weights"))).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            discard(folder)
    assert not folder.exists()
    assert len(list(tmp_path.iterdir())) == 1
    remove_left_overs(tmp_path)
    assert not list(tmp_path.iterdir())
    discard(folder)  # nothing is there
