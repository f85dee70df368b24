"""The runner of `make bench`, and the records of slow studies."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import readme, runner, study
    from benchmarks.runner import Benchmark, SkipSubject, Told
finally:
    sys.path.remove(str(ROOT))


def sleeper(seconds: float, units: float | None = None):
    def work(state: object) -> float | None:
        time.sleep(seconds)
        return units

    return work


def benchmark(**changes) -> Benchmark:
    fields = {
        "name": "nap", "compares": "a nap against a longer nap", "bar": 1.5, "repeats": 3,
        "setup": lambda quick: None, "subject": sleeper(0.02), "peer": sleeper(0.06),
    }  # fmt: skip
    return Benchmark(**{**fields, **changes})


def test_the_ratio_is_peer_time_over_subject_time() -> None:
    row = runner.measure(benchmark(floor=sleeper(0.01)))
    assert row["ratio"]["min"] <= row["ratio"]["median"] <= row["ratio"]["max"]
    assert 1.5 < row["ratio"]["median"] < 6
    assert row["passed"] is True
    assert row["seconds"]["subject"]["min"] >= 0.02
    assert row["seconds"]["peer"]["min"] >= 0.06
    assert 0.2 < row["floor_ratio"]["median"] < 0.9
    assert runner.measure(benchmark(bar=50.0))["passed"] is False


def test_times_are_divided_by_units() -> None:
    row = runner.measure(benchmark(subject=sleeper(0.02, 10), peer=sleeper(0.02, 2)))
    assert 2 < row["ratio"]["median"] < 12
    assert 0.002 <= row["seconds"]["subject"]["median"] < 0.01
    with pytest.raises(ValueError, match=r"nap: peer returned 0\.0 units"):
        runner.measure(benchmark(peer=sleeper(0, 0)))


def test_rounds_are_interleaved_after_one_untimed_round() -> None:
    calls, states = [], []

    def note(role: str):
        return lambda state: calls.append(role)

    def setup(quick: bool) -> object:
        states.append(quick)
        return object()

    tools = {"setup": setup, "subject": note("s"), "peer": note("p"), "floor": note("f"), "repeats": 5}
    runner.measure(benchmark(**tools), quick=True)
    assert states == [True]
    assert "".join(calls) == "spf" + "pfs" + "fsp" + "spf"
    calls.clear()
    assert len(runner.measure(benchmark(**tools))["seconds"]) == 3
    assert len(calls) == 3 * 6


def test_a_missed_bar_is_exit_code_1_with_a_reason(tmp_path: Path, capsys) -> None:
    def skip(quick: bool) -> None:
        raise SkipSubject("needs a model")

    path = tmp_path / "results.json"
    skipped = benchmark(name="other", setup=skip)
    assert runner.run([benchmark(), skipped], results=path) == 0
    shown = capsys.readouterr().out
    assert "nap" in shown
    assert "needs a model" in shown
    assert runner.run([benchmark(bar=50.0)], results=path) == 1
    captured = capsys.readouterr()
    assert "MISSED" in captured.out
    assert "below the bar 50.00" in captured.err
    record = json.loads(path.read_text())
    assert record["benchmarks"][0]["passed"] is False
    assert record["hardware"]["cores"] >= 1
    assert set(record) >= {"versions", "commit", "date", "quick"}


def test_one_subject_measured_again_leaves_the_rows_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    other = benchmark(name="other")
    runner.run([benchmark(), other], results=path, keep=True)
    before = {row["name"]: row for row in json.loads(path.read_text())["benchmarks"]}
    runner.run([benchmark(bar=50.0)], results=path, keep=True)
    after = {row["name"]: row for row in json.loads(path.read_text())["benchmarks"]}
    assert list(after) == list(before) == ["nap", "other"]
    assert after["other"] == before["other"]
    assert (after["nap"]["bar"], set(after["nap"]["measured"])) == (50.0, {"commit", "date", "hardware", "load"})
    runner.run([other], results=path)
    assert [row["name"] for row in json.loads(path.read_text())["benchmarks"]] == ["other"]


def test_one_idea_at_several_sizes_is_a_row_each(tmp_path: Path, capsys) -> None:
    path, states = tmp_path / "results.json", []

    def setup(quick: bool, size: str) -> None:
        states.append(size)

    sized = benchmark(bar={"small": 1.5, "large": 50.0}, setup=setup)
    runner.run([benchmark(), benchmark(name="other")], results=path, keep=True)
    assert runner.run([sized], results=path, keep=True) == 1
    assert states == ["small", "large"]
    assert "nap, large: the ratio" in capsys.readouterr().err
    rows = json.loads(path.read_text())["benchmarks"]
    shown = [(row["name"], row.get("size"), row["bar"], row["passed"]) for row in rows]
    assert shown == [("nap", "small", 1.5, True), ("nap", "large", 50.0, False), ("other", None, 1.5, True)]
    table = readme.speed_table({"benchmarks": rows, "commit": "0", "date": "2026"}).splitlines()
    assert ["| yes |" in line for line in table[2:]] == [True, False, True]
    assert ["| **no** |" in line for line in table[2:]] == [False, True, False]


def test_a_rival_is_named_with_its_version_or_says_how_it_is_installed() -> None:
    row = runner.measure(benchmark(rival="pytest", check=lambda state: {"agreement": 0.5}))
    assert (row["rival"], row["facts"]) == (f"pytest {pytest.__version__}", {"agreement": 0.5})
    table = readme.speed_table({"benchmarks": [row], "commit": "0", "date": "2026"})
    assert f"| pytest {pytest.__version__}; agreement 0.5 |" in table
    missing = runner.measure(benchmark(rival="no-such-rival"))
    assert "needs no-such-rival" in missing["skipped"]
    assert "-r benchmarks/requirements.txt" in missing["skipped"]
    assert missing["skipped"] in readme.speed_table({"benchmarks": [missing], "commit": "0", "date": "2026"})
    assert (ROOT / "benchmarks" / "requirements.txt").is_file()

    def lacks_a_part(quick: bool) -> None:
        raise ImportError("no module of its")

    assert "no module of its" in runner.measure(benchmark(rival="pytest", setup=lacks_a_part))["skipped"]
    with pytest.raises(ImportError, match="no module of its"):  # without a rival it is ours that is broken
        runner.measure(benchmark(setup=lacks_a_part))


def test_numbers_that_are_defined_alike_must_agree() -> None:
    assert runner.agree("rates", [0.5, 1.0], [0.5, 1.25], 0.25) == 0.25
    for theirs in (1.3, float("nan")):
        with pytest.raises(ValueError, match="rates: ours and the rival's differ by"):
            runner.agree("rates", [0.5, 1.0], [0.5, theirs], 0.25)


def test_memory_is_what_the_work_held_in_a_process_of_its_own() -> None:
    works = "lambda: bytearray(300 * 2**20)", "lambda: len(bytearray(100 * 2**20))", "lambda: None"
    code = f"from benchmarks.memory import held; before = {works[0]}(); del before; print(held({{}}))"
    found = []
    for work in works[1:]:
        command = [sys.executable, "-c", code.format(work)]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found.append(told.strip())
    if found[0] == "None":
        pytest.skip("this system does not tell peak memory")
    assert 99 < float(found[0]) < 110
    assert 0 <= float(found[1]) < 5


def test_memory_of_a_subject_and_of_processes_that_tell_their_own() -> None:
    told = benchmark(subject=lambda state: Told(0.1, 30.0), peer=lambda state: Told(0.2, 50.0))
    row = runner.measure(told, memory=True)
    assert (row["ratio"]["median"], row["memory"]) == (2.0, {"subject": 30.0, "peer": 50.0})
    assert "| 30, 50 |" in readme.speed_table({"benchmarks": [row], "commit": "0", "date": "2026"})
    assert "memory" not in runner.measure(told)
    assert "memory" not in runner.measure(benchmark(memory=False), memory=True)
    found = runner.peak("seat_permutation", "subject", quick=True)
    assert found is None or 1 < found < 200


@pytest.mark.whole
@pytest.mark.parametrize("name", ["group_metrics", "alignment_systran"])
def test_a_subject_beside_another_library_does_what_it_does(name: str) -> None:
    subject = next(each for each in runner.discover() if each.name == name)
    row = runner.measure(subject, subject.sizes[0], quick=True)
    if "needs the third-party data" in row.get("skipped", ""):
        pytest.skip(row["skipped"])
    assert row["rival"].startswith(f"{subject.at(subject.sizes[0])[1]} ")
    assert all(0 < value < 1 for value in row["facts"].values())
    assert row["ratio"]["median"] > 0


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("ge_scoring", "GE, BERT-tiny"),
        ("ge_scoring", "EL2N, BERT-tiny"),
        ("grand_scoring", "BERT-tiny, beside torch.func"),
        ("grand_heads", "BERT-tiny"),
    ],
)
def test_scores_of_examples_are_those_of_their_definitions(name: str, size: str) -> None:
    subject = next(each for each in runner.discover() if each.name == name)
    assert size in subject.sizes
    (difference,) = subject.check(subject.state(size, quick=True)).values()
    assert 0 < difference < 1e-4


def test_bad_declarations_are_refused() -> None:
    for bar in (0, {}, {"small": 1.0, "large": 0.0}):
        with pytest.raises(ValueError, match="bar must be a positive ratio"):
            benchmark(bar=bar)
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        benchmark(repeats=0)


def test_subjects_are_found_and_others_are_not_imported(tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "somewhere"
    package.mkdir()
    (package / "study.py").write_text("raise RuntimeError('must not be imported')\n")
    good = "from benchmarks.runner import Benchmark\nBENCHMARK = Benchmark('{}', '', 1.0, bool, bool, bool)\n"
    (package / "b.py").write_text(good.format("b"))
    (package / "a.py").write_text(good.format("a").replace("BENCHMARK =", "BENCHMARK: Benchmark ="))
    monkeypatch.syspath_prepend(tmp_path)
    assert [found.name for found in runner.discover(package, "somewhere")] == ["a", "b"]
    (package / "c.py").write_text(good.format("other"))
    with pytest.raises(ValueError, match=r"c\.py: name='other' must be the file's name 'c'"):
        runner.discover(package, "somewhere")
    (package / "c.py").unlink()
    (package / "d.py").write_text("BENCHMARK = 3\n")
    with pytest.raises(TypeError, match=r"d\.py: BENCHMARK is a int"):
        runner.discover(package, "somewhere")


def test_the_command_lists_and_runs_one(tmp_path: Path) -> None:
    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    names = call("--list").stdout.split()
    assert "seat_permutation" in names
    unknown = call("--only", "nothing")
    assert unknown.returncode == 2
    assert "known: " + ", ".join(names) in unknown.stderr
    path = tmp_path / "results.json"
    done = call("--only", "seat_permutation", "--quick", "--output", path)
    record = json.loads(path.read_text())
    assert [row["name"] for row in record["benchmarks"]] == ["seat_permutation"]
    assert record["quick"] is True
    assert done.returncode == (0 if record["benchmarks"][0]["passed"] else 1), done.stderr


# --- studies


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text('"""Doc."""\n\nRATE = 1  # why\n')
    (tmp_path / "code" / "two.py").write_text("def f():\n    return 2\n")
    (tmp_path / "words.json").write_text("[1]")
    return tmp_path


CONFIG = {"rows": 3, "seeds": (0, 1), "sources": ["code/*.py", "words.json"]}


def test_results_belong_to_their_code_until_it_changes(project: Path) -> None:
    path = study.write_results(project / "results.json", CONFIG, {"gain": 0.5}, root=project)
    record = study.read_record(path)
    assert set(record) >= {"commit", "date", "versions", "hardware", "config"}
    assert sorted(record["source_hashes"]) == ["code/one.py", "code/two.py", "words.json"]
    assert study.changed_since(path, root=project) == []
    (project / "code" / "one.py").write_text("# other words\n'''Another\n\ntext.'''\nRATE = 1\n")
    assert study.changed_since(path, root=project) == []


def edit(name: str, text: str):
    return lambda project: (project / name).write_text(text)


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (edit("code/one.py", "RATE = 2\n"), ["code/one.py"]),
        (edit("code/three.py", ""), ["code/three.py"]),
        (edit("words.json", "[2]"), ["words.json"]),
        (lambda project: (project / "code" / "two.py").unlink(), ["code/two.py"]),
        (lambda project: (project / "words.json").unlink(), ["words.json"]),
    ],
)
def test_what_changed_since_a_study_is_listed_and_its_results_stay(project: Path, change, changed) -> None:
    path = study.write_results(project / "results" / "gain.json", CONFIG, {"gain": 0.5}, root=project)
    change(project)
    assert study.changed_since(path, root=project) == changed
    assert study.read_results(path) == {"gain": 0.5}
    (line,) = study.stale_lines(path.parent, root=project)
    assert line.startswith("gain (commit ")
    assert line.endswith(f": 1 sources changed since: {changed[0]}")


def test_a_study_that_was_not_run_says_how(project: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make slow"):
        study.read_results(project / "results.json")


@pytest.mark.parametrize("sources", [None, [], "code/one.py", ["code/none.py"]])
def test_a_study_names_its_sources(project: Path, sources) -> None:
    with pytest.raises(ValueError, match="sources"):
        study.write_results(project / "r.json", {"sources": sources}, 1, root=project)


def test_only_what_runs_counts() -> None:
    source = '"""Doc."""\nimport x  # why\n\n\ndef f():\n    """Do."""\n    # note\n    return """a\n\n# b\n"""\n'
    assert study.code_only(source) == 'import x\ndef f():\n    return """a\n\n# b\n"""'


def test_stale_lists_every_study_with_its_commit(capsys) -> None:
    assert runner.main(["--stale"]) == 0
    names = [line.split(" (commit ")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == sorted(path.stem for path in study.RESULTS.glob("*.json"))
