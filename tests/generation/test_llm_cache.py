"""The cache on disk: torn lines, several writers, damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from hf_fairness import FairnessWarning
from hf_fairness.generation.cache import RewriteCache


def record(key: str, text: str = "x") -> dict:
    return {"key": key, "text": text}


def test_what_is_added_is_read_by_another(tmp_path):
    one, other = RewriteCache(tmp_path / "a" / "b"), RewriteCache(tmp_path / "a" / "b")
    other.refresh()
    one.add(record("k", "é\n☃"))
    assert other.get("k") is None
    other.refresh()
    assert other.get("k") == record("k", "é\n☃")
    one.add(record("k", "newer"))
    other.refresh()
    assert (other.get("k"), len(other)) == (record("k", "newer"), 1)
    assert len(one.path.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("torn", [b'{"key": "t"', b"{", b'{"key": "t", "text": "' + b"x" * 200_000, b"\xff\xfe"])
def test_a_torn_line_is_not_read_and_is_cut(tmp_path, torn):
    first = RewriteCache(tmp_path)
    first.add(record("a"))
    whole = first.path.read_bytes()
    with first.path.open("ab") as stream:
        stream.write(torn)
    second = RewriteCache(tmp_path)
    second.refresh()
    assert len(second) == 1
    second.add(record("b"))
    assert first.path.read_bytes() == whole + b'{"key":"b","text":"x"}\n'
    first.refresh()
    assert first.get("b") == record("b")


def test_a_file_that_is_one_torn_line(tmp_path):
    cache = RewriteCache(tmp_path)
    cache.path.write_bytes(b'{"key"')
    cache.refresh()
    cache.add(record("a"))
    assert cache.path.read_bytes() == b'{"key":"a","text":"x"}\n'


def test_damage_inside_is_said_and_costs_only_its_lines(tmp_path):
    cache = RewriteCache(tmp_path)
    cache.path.write_bytes(b'{"key":"a"}\nrubbish\n[]\n{"key":"b"}\n')
    with pytest.warns(FairnessWarning, match="2 line"):
        cache.refresh()
    assert len(cache) == 2


def test_without_a_folder_records_stay_in_memory():
    cache = RewriteCache(None)
    cache.add(record("a"))
    cache.refresh()
    assert cache.get("a") == record("a")


def test_processes_and_threads_do_not_mix_their_lines(tmp_path):
    code = textwrap.dedent(
        """
        import sys
        from hf_fairness.generation.cache import RewriteCache
        cache = RewriteCache(sys.argv[1])
        for i in range(60):
            cache.add({"key": f"{sys.argv[2]}-{i}", "text": sys.argv[2] * 5000})
        """
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    children = [subprocess.Popen([*command, name], env={**os.environ}) for name in "abc"]
    cache = RewriteCache(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: cache.add(record(f"t-{i}", "t" * 5000)), range(60)))
    assert [child.wait(60) for child in children] == [0, 0, 0]
    lines = [json.loads(line) for line in cache.path.read_text().splitlines()]
    assert {line["key"] for line in lines} == {f"{name}-{i}" for name in "abct" for i in range(60)}
    assert all(line["text"] == line["key"][0] * 5000 for line in lines)
