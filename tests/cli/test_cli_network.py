"""Commands where nobody answers: they find out once, take what is in the cache, and say what is missing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

import pytest
from huggingface_hub import constants, get_session, hf_hub_download
from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

from hf_fairness import cli
from hf_fairness.cli.hub import check_login
from hf_fairness.utils import hub_problem, opening_explained, opening_problem

COMMIT = "0" * 40


@pytest.fixture(scope="module")
def closed():
    """An address where nobody answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def silent(closed, monkeypatch):
    """A Hub that is asked there, and that does not answer."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", closed)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", closed + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(cli, "WAITS", (0.0, 0.0))
    return closed


@pytest.fixture
def tries(monkeypatch):
    """How often it was tried to reach the Hub."""
    found, whole = [], cli._why_silent
    monkeypatch.setattr(cli, "_why_silent", lambda *given: found.append(given) or whole(*given))
    return found


def cached(folder):
    """A model's file in a cache."""
    model = folder / "models--a--b"
    (model / "snapshots" / COMMIT).mkdir(parents=True)
    (model / "snapshots" / COMMIT / "config.json").write_text("{}")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)


def test_a_silent_hub_is_tried_once_and_the_cache_is_taken(silent, tries, tmp_path, caplog):
    cached(tmp_path)
    with cli.hub_tried_first():
        for name in ("config.json", "modules.json"):
            with pytest.raises(LocalEntryNotFoundError) as lost:
                hf_hub_download("nobody/nothing", name, cache_dir=tmp_path)
        path = hf_hub_download("a/b", "config.json", cache_dir=tmp_path)
        with pytest.raises(
            ConnectionError, match=f"Cannot push to a/b: the Hub cannot be reached .*{silent}.*leave out --push_to_hub"
        ):
            check_login("a/b", token="hf_x")
    assert len(tries) == 1
    assert path.endswith("config.json")
    assert "Retry" not in caplog.text
    said = hub_problem(lost.value)
    assert f"the Hub cannot be reached at {silent} (" in said
    assert "HF_HUB_OFFLINE=1" in said
    assert opening_problem(lost.value) == said
    with pytest.raises(ValueError, match=r"^x does not open: it is neither a local folder"), opening_explained("x"):
        raise lost.value
    assert hub_problem(ValueError("of another kind")) is None


def test_a_hub_that_answers_anything_is_asked_as_ever(silent, monkeypatch, tmp_path):
    monkeypatch.setattr(cli, "_why_silent", lambda *given: "")
    before = get_session().event_hooks["request"]
    with cli.hub_tried_first():
        assert len(get_session().event_hooks["request"]) == len(before) + 1
        with pytest.raises(Exception, match="Connection refused") as failed:  # of the HTTP library
            get_session().head(silent)
    assert not isinstance(failed.value, OfflineModeIsEnabled)
    assert get_session().event_hooks["request"] == before


def test_offline_mode_asks_nobody(silent, tries, monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with cli.hub_tried_first(), pytest.raises(LocalEntryNotFoundError) as lost:
        hf_hub_download("nobody/nothing", "config.json", cache_dir=tmp_path)
    assert not tries
    assert "HF_HUB_OFFLINE is set. Unset it" in hub_problem(lost.value)


def test_all_tries_together_take_as_long_as_one_request_may(silent):
    made, client = [], type(get_session())
    said = cli._why_silent(lambda **given: made.append(given) or client(**given), silent, 1.0)
    assert "refused" in said
    assert made == [{"timeout": 0.5}] * 2


ASKS = {
    "audit": ["nobody/no-such-model"],
    "ccd": ["nobody/no-such-model", "--dataset", "demo"],
    "ccd data": ["nobody/no-such-model", "--dataset", "nobody/no-such-data"],
    "augment": ["nobody/no-such-data", "--method", "cda"],
    "data-diet": ["nobody/no-such-model", "--dataset", "labels.csv"],
    "data-diet full": ["nobody/no-such-model", "--dataset", "labels.csv", "--mode", "full"],
    "refine": ["nobody/no-such-model", "--dataset", "pairs.csv"],
    "ibadr": ["nobody/no-such-model", "--dataset", "pairs.csv", "--n_shallow", "10"],
    "gfst": ["nobody/no-such-model", "--dataset", "nobody/no-such-data", "--source_lang", "en", "--target_lang", "it"],
    "sentence-debias": ["nobody/no-such-model", "--dataset", "demo"],
}
CODE = """
import json, sys, time
from hf_fairness.cli import main

found = {}
for name, words in json.load(open("lines.json")).items():
    start = time.monotonic()
    print(f"@@{name}", file=sys.stderr, flush=True)
    found[name] = [main([name.split()[0], *words, "--output_dir", f"out {name}"]), time.monotonic() - start]
print(json.dumps(found))
"""


@pytest.mark.whole
def test_every_command_ends_soon_in_one_message(closed, tmp_path):
    rows = [f"a{i} b,c d{i},{i % 2}" for i in range(60)]
    (tmp_path / "labels.csv").write_text("\n".join(["text,label", *(f"she was here {i},{i % 2}" for i in range(60))]))
    (tmp_path / "pairs.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    (tmp_path / "lines.json").write_text(json.dumps(ASKS))
    away = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
    env = {name: value for name, value in os.environ.items() if name not in away}
    env |= {"HF_ENDPOINT": closed, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    said = dict(part.split("\n", 1) for part in done.stderr.split("@@")[1:])
    assert said.keys() == ASKS.keys()
    for name, (status, seconds) in found.items():
        assert status == 1, said[name]
        assert seconds < 30
        (message,) = (line for line in said[name].splitlines() if "error: " in line)
        assert f"the Hub cannot be reached at {closed}" in message
        assert "HF_HUB_OFFLINE=1" in message
        assert "nobody/no-such" in message
        assert "Retry" not in said[name]
    assert time.monotonic() - start < 120
