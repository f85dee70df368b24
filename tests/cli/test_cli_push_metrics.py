"""`hf-fairness push-metrics`: what lands on the Hub is a metric that `evaluate.load` loads and that computes."""

from __future__ import annotations

import configparser
import json
import re

import pytest
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement

from hf_fairness.cli import command, main
from hf_fairness.cli.push_metrics import _requirements, space_files
from hf_fairness.publishing import MANIFEST
from hf_fairness.utils import metric_names
from support import fake_hub as hub_module

PUSH = """
import json, sys
from hf_fairness.cli import command
print(json.dumps(command("push-metrics")(sys.argv[1:])))
"""
LOAD = """
import json, sys
import evaluate
seat = evaluate.load("tester/seat")
vectors = {"he": [1.0, 0.1], "him": [0.9, 0.0], "she": [0.1, 1.0], "her": [0.0, 0.9]}
vectors |= {"work": [1.0, 0.3], "home": [0.3, 1.0]}
toy = {"targ1": ["he", "him"], "targ2": ["she", "her"], "attr1": ["work"], "attr2": ["home"]}
print(json.dumps([type(seat).__name__, seat.compute(model=vectors, tests={"toy": toy})["tests"]["toy"]["effect_size"]]))
"""
LOAD_ALL = """
import json, sys
import evaluate
print(json.dumps([len(evaluate.load(f"tester/{name}").inputs_description) for name in sys.argv[1:]]))
"""


def _answer(monkeypatch, old, new):
    """Have the fake Hub answer one kind of request otherwise."""
    routes = [(*route[:2], new if route[2] is old else route[2]) for route in hub_module.ROUTES]
    monkeypatch.setattr(hub_module, "ROUTES", routes)


@pytest.fixture
def hub(fake_hub):
    """The fake Hub."""
    return fake_hub


def _push(hub, *words):
    """Whether each metric was pushed, or was up to date."""
    *lines, last = hub.run(PUSH, "--namespace", "tester", *words).splitlines()
    urls = json.loads(last)
    assert all(url in line for line, url in zip(lines, urls.values(), strict=True))
    return {
        name: "pushed" if line.startswith("Pushed") else "unchanged" for name, line in zip(urls, lines, strict=True)
    }


@pytest.mark.whole
def test_pushed_metrics_load_compute_and_stay(hub, root):
    assert _push(hub, "--only", "seat", "cced") == {"seat": "pushed", "cced": "pushed"}
    files = hub.files("tester/seat", "space")
    assert set(files) - {MANIFEST} == {".gitattributes", "README.md", "app.py", "requirements.txt", "seat.py"}
    for name in ("README.md", "app.py", "requirements.txt", "seat.py"):
        assert files[name] == (root / "metrics/seat" / name).read_bytes()
    kind, value = json.loads(hub.run(LOAD).splitlines()[-1])
    assert kind == "SEAT"
    assert value == pytest.approx(1.729, abs=1e-3)

    commits = {name: len(hub.repo("spaces", f"tester/{name}").commits) for name in ("seat", "cced")}
    assert _push(hub, "--only", "seat", "cced") == {"seat": "unchanged", "cced": "unchanged"}
    assert commits == {name: len(hub.repo("spaces", f"tester/{name}").commits) for name in commits}

    # What differs is uploaded, whatever else is up to date.
    assert _push(hub, "--only", "seat", "--install_from", "==0.0.1") == {"seat": "pushed"}
    changed = hub.files("tester/seat", "space")
    assert changed.pop("requirements.txt") == b"hf-fairness[spaces]==0.0.1\n"
    assert changed == {name: data for name, data in files.items() if name != "requirements.txt"}
    assert hub.unknown == []


@pytest.mark.whole
def test_every_metric_is_pushed_and_loads_from_its_space(hub):
    names = metric_names()
    assert _push(hub, "--hub_private_repo") == dict.fromkeys(names, "pushed")
    assert {repo for _, repo in hub.repos} == {f"tester/{name}" for name in names}
    assert all(length > 100 for length in json.loads(hub.run(LOAD_ALL, *names).splitlines()[-1]))


def test_without_a_token_nothing_is_made(fake_hub):
    code = """
    import os, sys
    os.environ.pop("HF_TOKEN")
    from hf_fairness.cli import main
    print("status", main(["push-metrics", "--namespace", "tester", "--only", "seat"]))
    """
    assert fake_hub.run(code).splitlines()[-1] == "status 1"
    assert fake_hub.repos == {}


def test_a_failure_says_what_was_done_and_how_to_go_on(fake_hub, monkeypatch):
    commit = hub_module.Handler.commit

    def refuse_seat(handler, type, id, rev):
        return handler.reply(403, {"error": "not yours"}) if id == "tester/seat" else commit(handler, type, id, rev)

    _answer(monkeypatch, commit, refuse_seat)
    code = """
    import sys
    from hf_fairness.cli import command
    try:
        command("push-metrics")(["--namespace", "tester", "--only", "cced", "seat"])
    except RuntimeError as error:
        print(str(error).replace("\\n", " "))
    """
    printed = fake_hub.run(code).splitlines()
    assert printed[-2].startswith("Pushed to ")
    assert printed[-2].endswith("tester/cced")
    assert "tester/seat: " in printed[-1]
    assert "Pushed before that: cced. Run the same command again" in printed[-1]


def test_every_metric_is_fit_for_a_space(root):
    names = metric_names()
    assert names == sorted(path.parent.name for path in (root / "metrics").glob("*/README.md"))
    assert {"seat", "cced", "bias_score"} <= set(names)
    assert command("push-metrics")(["--namespace", "someone", "--dry_run"]) == {
        name: f"someone/{name}" for name in names
    }
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", encoding="utf-8")
    known = set(setup["options.extras_require"])
    for name in names:
        files = space_files(name)
        assert set(files) == {f"{name}.py", "README.md", "app.py", "requirements.txt"}
        lines = [Requirement(line) for line in files["requirements.txt"].decode().splitlines()]
        (ours,) = [line for line in lines if line.name == "hf-fairness"]
        assert ours.extras <= known
        assert "spaces" in ours.extras


def test_a_dry_run_prints_the_table_and_needs_no_network(capsys, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a dry run went to the network"))
    assert main(["push-metrics", "--namespace", "me", "--only", "seat", "--dry_run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert re.split("  +", printed[0]) == ["metric", "Space (dry run: not pushed)", "files"]
    assert re.split("  +", printed[2]) == ["seat", "me/seat", "README.md, app.py, requirements.txt, seat.py"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--namespace", "me/seat"], "name of a user or an organisation; got 'me/seat'"),
        (["--namespace", "me", "--only", "seats"], "Unknown metric 'seats'. Known metrics: "),
        (["--namespace", "me", "--only", "seat", "--install_from", "0.1"], "--install_from 0.1: "),
    ],
)
def test_mistakes_are_named(capsys, words, message):
    assert main(["push-metrics", "--dry_run", *words]) == 1
    assert message in capsys.readouterr().err


def test_the_namespace_must_be_given(capsys):
    with pytest.raises(SystemExit):
        main(["push-metrics"])
    assert "--namespace" in capsys.readouterr().err


#: What the Hub takes for a colour of a Space's card.
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


@pytest.mark.parametrize("name", metric_names())
def test_the_card_of_a_metric_is_one_that_the_hub_takes(name):
    """The cards are part of the package: that they are right is found here, not by whoever pushes them."""
    files = space_files(name)
    card = SpaceCard(files["README.md"].decode()).data.to_dict()
    assert card["title"]
    assert card["emoji"]
    assert {card["colorFrom"], card["colorTo"]} <= COLOURS
    assert card["sdk"] == "gradio"
    assert re.fullmatch(r"\d+\.\d+\.\d+", card["sdk_version"])
    assert card["app_file"] in files
    assert "evaluate" in card["tags"]


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("hf-fairness[spaces,nlu]\nsacrebleu\n", "==1.0", "hf-fairness[spaces,nlu]==1.0\nsacrebleu\n"),
        ("hf-fairness[spaces]", "git+https://host/me/hf", "hf-fairness[spaces] @ git+https://host/me/hf"),
        ("\nhf-fairness[spaces]>=0.1", "==1.0", "\nhf-fairness[spaces]==1.0"),
    ],
)
def test_where_a_space_installs_this_package_from(text, source, expected):
    assert _requirements(text, source) == expected


def test_nothing_but_the_modules_own_files(tmp_path, monkeypatch):
    folder = tmp_path / "seat"
    (folder / "__pycache__").mkdir(parents=True)
    for name, content in space_files("seat").items():
        (folder / name).write_bytes(content)
    for name in ("__init__.py", "notes.txt", "__pycache__/seat.pyc", "tests.py"):
        (folder / name).write_text("")
    monkeypatch.setattr("hf_fairness.cli.push_metrics.metric_path", lambda name: str(tmp_path / name))
    assert set(space_files("seat")) == {"README.md", "app.py", "requirements.txt", "seat.py", "tests.py"}
