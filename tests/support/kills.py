"""Disturb a command, run it again, and compare what it leaves with what an undisturbed run leaves.

    PYTHONPATH=tests python -m support.kills --kills 256 --faults 100 --only ccd gfst --jobs 2

One process loads the libraries and is forked for every run, so that a run costs what the command does and no import.
A kill is SIGKILL of the whole process group, at moments that are drawn evenly over the time of an undisturbed run.
A fault comes at a write point: right before a file of the output, or beside it, is opened for writing, moved or
removed, or a folder is made or removed. Every other one is a SIGKILL too, the others are errors: the disk is full,
or, where something goes, it cannot be read. They are spread evenly over the write points of an undisturbed run.
After each the same command runs to its end. Its files must then be those of the undisturbed run, byte by byte
but for what a clock says (`TIMES`, `CLOCK`), under the same names: nothing is left in the output or beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from support.kill_world import NAMES, Command, make_command

#: Entries of JSON files that a clock decides.
TIMES = re.compile(r"(date|started|seconds|.*_seconds|.*runtime|.*_per_second|.*_time|training_hours|peak_memory_mib)$")
#: Entries of the manifest that are made from such entries.
OVER_TIMES = ("key", "files_key", "bytes")
#: What a clock decides in text files.
CLOCK = re.compile(
    rb"seconds(: |</dt><dd>)[\d.]+|\d{4}-\d\d-\d\d(T[\d:+.]+)?"
    rb"|\d+(\.\d+)?(e-\d+)? ?(ms|s|seconds?|minutes?|min|h|hours?|MiB)\b"
)


#: What Python tells audit hooks before it writes, and the error that may come of it.
POINTS = {
    "open": errno.ENOSPC, "os.mkdir": errno.ENOSPC, "os.rename": errno.ENOSPC, "os.remove": errno.EIO,
    "os.rmdir": errno.EIO,
}  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Fault:
    """An audit hook that counts the write points of a process below a folder, and disturbs it at one of them.

    Args:
        folder: where writing counts.
        at: number of the point, from 1 on; 0 means none.
        kills: whether the process group is killed there; otherwise the write fails.
    """

    def __init__(self, folder: Path, at: int = 0, *, kills: bool = False) -> None:
        self.folder, self.at, self.kills, self.seen = f"{folder}{os.sep}", at, kills, 0

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Told of an event."""
        if event not in POINTS or (event == "open" and not args[2] & _WRITES):
            return
        if isinstance(args[0], int) or not str(Path(os.fsdecode(args[0])).absolute()).startswith(self.folder):
            return
        self.seen += 1
        if self.seen == self.at and self.kills:
            os.killpg(0, signal.SIGKILL)
        elif self.seen == self.at:
            raise OSError(POINTS[event], os.strerror(POINTS[event]), os.fsdecode(args[0]))


def load() -> None:
    """Import what commands import; threads of a pool would not live on in a fork."""
    import torch

    torch.set_num_threads(1)
    import matplotlib.pyplot  # noqa: F401
    import sacrebleu  # noqa: F401
    import sentence_transformers  # noqa: F401
    import sklearn.linear_model  # noqa: F401
    import transformers.models.bert
    import transformers.models.gpt2
    import transformers.models.marian  # noqa: F401

    from hf_fairness import trainers
    from hf_fairness.cli import COMMANDS, command

    for name in trainers.__all__:
        getattr(trainers, name)
    for name in COMMANDS:
        command(name)


def fork(words: list[str], log: Path, fault: Fault | None = None) -> int:
    """Start a command in a process group of its own; returns its id. With a fault, the log ends with what it saw."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.setsid()
        stream = log.open("w")
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        sys.stdout = sys.stderr = stream
        warnings.simplefilter("ignore")
        from hf_fairness.cli import main

        if fault:
            sys.addaudithook(fault)
        status = main(words)
        if fault:
            print(f"\nwrite points: {fault.seen}")
        stream.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def finish(child: int) -> int:
    """Wait for a process; returns its status, -9 if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_after(child: int, seconds: float) -> bool:
    """Kill a process group after a time; False if it had ended before."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.005))
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            finish(child)
            return False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # before it had a group of its own
        os.kill(child, signal.SIGKILL)
    return finish(child) == -signal.SIGKILL


def tree(folder: Path) -> dict[str, str]:
    """Key of the content of each file below a folder, without what a clock says; folders have the key of nothing."""
    return {
        str(path.relative_to(folder)): "" if path.is_dir() else hashlib.sha256(content(path)).hexdigest()
        for path in sorted(folder.rglob("*"))
    }


def content(path: Path) -> bytes:
    """Bytes of a file that do not depend on a clock."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return json.dumps(timeless(json.loads(data)), sort_keys=False).encode()
    if path.suffix in (".md", ".html"):
        return CLOCK.sub(b"TIME", data)
    return data


def timeless(value: Any) -> Any:
    """JSON without the entries that a clock decides; keys over files and results with such entries go with them."""
    if isinstance(value, dict):
        kept = {k: item for k, item in value.items() if not TIMES.fullmatch(k) and k not in OVER_TIMES}
        return {k: timeless(item) for k, item in kept.items()}
    if isinstance(value, str):
        return CLOCK.sub(b"TIME", value.encode()).decode()
    return [timeless(item) for item in value] if isinstance(value, list) else value


def differences(found: dict[str, str], wanted: dict[str, str]) -> tuple[list[str], list[str]]:
    """Files that differ or are missing; names that should not be there."""
    differ = [name for name, key in wanted.items() if found.get(name, "missing") != key]
    return differ, [name for name in found if name not in wanted]


class Trial:
    """One command in a folder of its own.

    Args:
        name: of the command.
        folder: for its data and outputs.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.place = folder / "place"
        self.command = self._make()
        self.seconds = 0.0

    def _make(self) -> Command:
        """Make data and models in a fork, so that this process computes nothing."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    made = make_command(self.name, self.folder / "data")
                os.write(write, json.dumps(vars(made)).encode())
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(write)
        with os.fdopen(read) as stream:
            text = stream.read()
        if finish(child):
            raise RuntimeError(f"the data of {self.name} could not be made")
        return Command(**json.loads(text))

    def run(self, words: list[str] | None = None) -> None:
        """Run the command to its end.

        Raises:
            RuntimeError: it failed.
        """
        log = self.folder / "log.txt"
        line = self.command.line(self.command.words if words is None else words, self.place / "out")
        status = finish(fork(line, log))
        said = log.read_text(errors="replace")
        if status and not (self.command.again and self.command.again in said):
            raise RuntimeError(f"{' '.join(line)} ended with {status}:\n{said[-3000:]}")

    def begin(self) -> None:
        """An empty place, or one with an older output."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        if self.command.before:
            self.run(self.command.before)

    def wanted(self) -> dict[str, str]:
        """What an undisturbed run leaves; the first of two warms the caches of `datasets`, the second is timed."""
        trees = []
        for _ in range(2):
            self.begin()
            start = time.monotonic()
            self.run()
            self.seconds = time.monotonic() - start
            trees.append(tree(self.place))
            shutil.copytree(self.place, self.folder / f"undisturbed-{len(trees)}", symlinks=True)
        differ, more = differences(*trees)
        if differ or more:
            raise RuntimeError(f"two undisturbed runs of {self.name} differ: {differ + more}")
        return trees[1]

    def kill(self, moment: float) -> bool:
        """Run and kill at a moment; False if the command had ended."""
        self.begin()
        line = self.command.line(self.command.words, self.place / "out")
        return kill_after(fork(line, self.folder / "killed.txt"), moment)

    def fault(self, at: int, *, kills: bool = False) -> tuple[int, str]:
        """Run with a fault at a write point; status and what was said."""
        self.begin()
        line, log = self.command.line(self.command.words, self.place / "out"), self.folder / "fault.txt"
        status = finish(fork(line, log, Fault(self.place, at, kills=kills)))
        return status, log.read_text(errors="replace")

    def disturbances(self, n_kills: int, n_faults: int, seed: int) -> Iterator[tuple[str, list[str]]]:
        """Disturb the command again and again; gives what was done, and what was wrong with how the command ended."""
        moments, seconds = random.Random(f"{seed} {self.name}"), self.seconds
        for _ in range(n_kills):
            while not self.kill(moment := moments.random() * seconds):
                seconds *= 0.9  # it was quicker than the run that was timed
            yield f"killed after {moment:.3f} s", []
        points = int(self.fault(0)[1].rpartition("write points: ")[2]) if n_faults else 0
        for number in range(n_faults):
            at, kills = 1 + number * points // n_faults, number % 2 == 0
            status, said = self.fault(at, kills=kills)
            wrong = [] if status == -signal.SIGKILL or not kills else [f"ended with {status}, not killed"]
            if not kills and (status not in (0, 1) or "Traceback" in said or (status and "error:" not in said)):
                wrong = [f"ended with {status}: {said[-1500:]}"]
            yield f"{'killed' if kills else 'an error'} at write point {at} of {points}", wrong


def try_command(name: str, folder: Path, n_kills: int, n_faults: int, seed: int) -> dict[str, Any]:
    """Disturb one command again and again; returns what was found."""
    start = time.monotonic()
    trial = Trial(name, folder)
    wanted = trial.wanted()
    found: dict[str, Any] = {"command": name, "n": 0, "equal": 0, "left_over": 0, "failures": []}
    for what, wrong in trial.disturbances(n_kills, n_faults, seed):
        found["n"] += 1
        try:
            trial.run()
            differ, more = differences(tree(trial.place), wanted)
        except RuntimeError as error:
            differ, more = [str(error)], []
        differ += wrong
        found["equal"] += not differ
        found["left_over"] += bool(more)
        if differ or more:
            kept = folder / f"failure-{found['n']}"
            shutil.copytree(trial.place, kept)
            found["failures"].append({"what": what, "differ": differ, "left_over": more, "kept": str(kept)})
    return {**found, "run_seconds": trial.seconds, "seconds": time.monotonic() - start}


def main() -> int:
    """Run the trials; prints a line for each command, and writes what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="kills of each command")
    parser.add_argument("--faults", type=int, default=0, help="faults at write points of each command")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="commands to try")
    parser.add_argument("--jobs", type=int, default=1, help="commands at a time")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--folder", type=Path, required=True, help="for data and outputs")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    load()

    def one(name: str) -> dict[str, Any]:
        """In a process of its own: forks and waits of several commands do not mix."""
        folder = options.folder / re.sub(r"\W+", "-", name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        child = os.fork()
        if child == 0:
            try:
                found = try_command(name, folder, options.kills, options.faults, options.seed)
            except BaseException as error:
                found = {"command": name, "error": f"{type(error).__name__}: {error}"}
            (folder / "found.json").write_text(json.dumps(found, indent=2))
            os._exit(0)
        finish(child)
        return json.loads((folder / "found.json").read_text())

    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(one, options.only):
            results.append(found)
            print(json.dumps({key: value for key, value in found.items() if key != "failures"}), flush=True)
            for failure in found.get("failures", []):
                print("   ", json.dumps(failure)[:1500], flush=True)
    (options.folder / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    return int(any("error" in found or found["failures"] for found in results))


if __name__ == "__main__":
    sys.exit(main())
