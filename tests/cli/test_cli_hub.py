"""Whether a command may push is known before it works, and no message says the token."""

from __future__ import annotations

import json
import types

import pytest
from huggingface_hub.errors import HfHubHTTPError

from hf_fairness.cli import audit, augment_methods, build_dataset, main, push_metrics
from hf_fairness.cli.hub import HubOptions, check_login, push_all, repositories
from hf_fairness.publishing import Artefact

CANARY = "hf_CanaryTokenThatNobodyMaySee0123"
PLAIN = "a-token-without-the-usual-beginning"

#: What each command that can push is given; {csv} has texts, {out} is not there yet.
PUSHES = {
    "ccd": "ccd --model_name_or_path nowhere --dataset {csv} --output_dir {out} --push_to_hub --hub_model_id tester/m",
    "demo": "demo --output_dir {out} --push_to_hub --hub_model_id tester/m",
    "gfst": "gfst --demo --output_dir {out} --push_to_hub --hub_model_id tester/m",
    "ibadr": "ibadr nowhere --dataset {csv} --output_dir {out} --push_to_hub --hub_model_id tester/m",
    "data-diet": "data-diet nowhere --dataset {csv} --output_dir {out} --push_to_hub --push_artefacts rows",
    "audit": "audit nowhere --output {out} --push_to_hub --hub_model_id tester/m",
    "augment": "augment {csv} --method cda --output_dir {out} --push_to_hub --hub_dataset_id tester/d",
    "build-dataset": "build-dataset seat --output_dir {out} --push_to_hub",
    "push-metrics": "push-metrics --namespace tester --only seat",
}
RUN = """
import contextlib, io, json, os, sys
environment, out, commands = map(json.loads, sys.argv[1:])
for name, value in environment.items():
    os.environ[name] = value
if not environment.get("HF_TOKEN", "?"):
    del os.environ["HF_TOKEN"]
from hf_fairness.cli import main
results = {}
for name, words in commands.items():
    with contextlib.redirect_stderr(io.StringIO()) as said:
        status = main(words.split())
    results[name] = [status, said.getvalue(), os.path.exists(out)]
print(json.dumps(results))
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HF_TOKEN": "hf_WrongToken12345"}, "The token from HF_TOKEN environment variable is invalid"),
        ({"HF_TOKEN": ""}, "no token found"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be reached"),
        ({"HF_HUB_OFFLINE": "1"}, "offline mode is enabled"),
    ],
)
def test_a_bad_login_is_said_before_any_work(fake_hub, tmp_path, environment, message):
    (tmp_path / "rows.csv").write_text("text\nHe sings.\nShe sings.\n")
    out = tmp_path / "out"
    commands = {name: words.format(csv=tmp_path / "rows.csv", out=out) for name, words in PUSHES.items()}
    arguments = map(json.dumps, (environment, str(out), commands))
    results = json.loads(fake_hub.run(RUN, *arguments).splitlines()[-1])
    assert list(results) == list(PUSHES)
    for name, (status, said, wrote) in results.items():
        assert status == 1, (name, said)
        assert message in said, (name, said)
        assert "hf auth login" in said or "leave out --push_to_hub" in said
        assert "hf_WrongToken12345" not in said
        assert not wrote, name
    assert fake_hub.repos == {}


def _scope(kind: str, name: str, *permissions: str) -> dict:
    entity = {"entity": {"type": kind, "name": name}, "permissions": list(permissions)}
    return {"role": "fineGrained", "fineGrained": {"scoped": [entity]}}


@pytest.mark.parametrize(
    ("token", "organisations", "repo", "message"),
    [
        ({"role": "read"}, {}, "tester/d", "the token may only read"),
        ({"role": "write"}, {}, "other/d", "logged in as tester, who may write to tester"),
        ({"role": "write"}, {"lab": "read"}, "lab/d", "tester may only read in the organisation lab"),
        ({"role": "write"}, {"lab": "write"}, "lab/d", None),
        ({"role": "write"}, {}, "a/b/c", "Cannot push to 'a/b/c'"),
        (_scope("user", "tester", "repo.content.read"), {}, "tester/d", "no permission repo.write"),
        (_scope("model", "tester/d", "repo.write"), {}, "tester/d", "no permission repo.write"),
        (_scope("dataset", "tester/d", "repo.write"), {}, "d", None),
        (_scope("user", "tester", "repo.write"), {}, "d", None),
    ],
)
def test_what_the_token_may_do_is_known(token, organisations, repo, message, monkeypatch):
    orgs = [{"name": name, "roleInOrg": role} for name, role in organisations.items()]
    user = {"name": "tester", "orgs": orgs, "auth": {"accessToken": token}}
    monkeypatch.setattr("huggingface_hub.HfApi.whoami", lambda self, token=None: user)
    if message is None:
        assert check_login(repo, repo_type="dataset") == f"{repo.rpartition('/')[0] or 'tester'}/d"
    else:
        with pytest.raises((OSError, ValueError), match=message):
            check_login(repo, repo_type="dataset")


@pytest.mark.parametrize(
    ("status", "kind", "advice"),
    [(401, PermissionError, "hf auth login"), (429, ConnectionError, "network"), (503, ConnectionError, "network")],
)
def test_a_login_is_asked_for_only_where_the_token_is_refused(status, kind, advice, monkeypatch):
    def answer(self, token=None):
        raise HfHubHTTPError("no", response=types.SimpleNamespace(status_code=status, headers={}, request=None))

    monkeypatch.setattr("huggingface_hub.HfApi.whoami", answer)
    with pytest.raises(kind, match=rf"Cannot push to me/it: no\. .*{advice}"):
        check_login("me/it")


@pytest.mark.parametrize(
    "options",
    [
        lambda: audit.Arguments(model_name_or_path="m", hub_token=PLAIN),
        lambda: augment_methods.AugmentArguments(dataset="d", method="cda", output_dir="o", hub_token=PLAIN),
        lambda: build_dataset.BuildArguments(hub_token=PLAIN),
        lambda: push_metrics.PushArguments(namespace="n", hub_token=PLAIN),
    ],
)
def test_options_that_no_command_parsed_do_not_show_the_token_either(options):
    assert PLAIN not in repr(options())


def test_no_file_of_a_run_holds_a_given_token(tmp_path):
    (tmp_path / "config.yaml").write_text(f"hub_token: {CANARY}\n")
    words = ["gfst", "--demo", "--until", "filter-source", "--output_dir", str(tmp_path / "out"), "--use_cpu"]
    assert main([*words, "--config", str(tmp_path / "config.yaml")]) == 0
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {"config.json", "manifest.json"} <= {path.name for path in files}
    assert [str(path) for path in files if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("command", "flag"), [("audit", "model"), ("augment", "dataset"), ("build-dataset", "dataset"), ("ccd", "model")]
)
def test_a_repository_behind_the_flag_that_pushes_is_told_where_it_belongs(command, flag, capsys):
    with pytest.raises(SystemExit):
        main([command, "--push_to_hub", "me/it"])
    assert f"error: --push_to_hub takes no name; --hub_{flag}_id names the repository\n" in capsys.readouterr().err


@pytest.mark.parametrize("token", [CANARY, PLAIN])
@pytest.mark.parametrize(
    "words",
    [
        ["ccd", "--hub_tokn", "{token}"],
        ["ccd", "--hub_tokn={token}"],
        ["ccd", "--hub_token={token}", "--betta", "1"],
        ["ccd", "--model_name_or_path", "m", "--hub_token", "{token}", "--seed", "{token}"],
        ["ccd", "--model_name_or_path", "m", "--hub_token", "{token}", "{token}"],
        ["gfst", "--hub_token", "{token}", "--until", "{token}"],
        ["ccd", "--hub_token", "{token}", "--help-all"],
        ["ccd", "--config", "{yaml}", "--help-all"],
        ["ccd", "--config", "{yaml}", "--sweep", "{token}", "--model_name_or_path", "m"],
        ["ccd", "--config", "{typo}"],
        ["ccd", "--config", "{list}"],
        ["audit", "nowhere", "--dataset", "{token}.csv"],
    ],
)
def test_no_message_says_the_token(words, token, tmp_path, capsys, caplog, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("hf_fairness._secrets._known", set())
    if words[0] == "audit":  # where nothing but the token itself says what it is
        monkeypatch.setenv("HF_TOKEN", token)
    places = {}
    for name, text in {"yaml": "hub_token: {}", "typo": "hub_tokn: {}", "list": "hub_token: [{}]"}.items():
        places[name] = tmp_path / name
        places[name].write_text(text.format(token))
    words = [word.format(token=token, **places) for word in words]
    for more in ([], ["--traceback"]):
        try:
            status = main([*words, *more])
        except SystemExit as stop:
            status = stop.code
        assert status == (0 if "--help-all" in words else status or 1)
        printed = capsys.readouterr()
        assert printed.err or printed.out
        assert token not in printed.err + printed.out + caplog.text


def test_a_token_in_the_environment_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", PLAIN)
    (tmp_path / "rows.csv").write_text("text\nHe sings.\nShe sings.\n")
    assert main(["augment", f"{tmp_path}/rows.csv", "--method", "cda", "--output_dir", f"{tmp_path}/out"]) == 0
    assert json.loads((tmp_path / "out" / "augment.json").read_text())["counts"]
    assert not any(PLAIN.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("command", "public"),
    [
        ("ccd", ["variants (REPOSITORY-variants)", "the texts of your data"]),
        ("demo", ["variants (REPOSITORY-variants)"]),
        ("gfst", ["pairs (REPOSITORY-pairs)", "your monolingual text"]),
        ("ibadr", ["generator (REPOSITORY-generator)", "can repeat them", "pool (REPOSITORY-pool)"]),
        ("data-diet", ["rows (REPOSITORY-rows)", "the texts that the model was trained on"]),
    ],
)
def test_the_help_says_what_becomes_public(command, public, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    printed = capsys.readouterr().out
    assert all(text in printed for text in ["--push_to_hub", "--hub_model_id", "--push_artefacts", *public])


def test_of_several_processes_the_first_pushes_alone(tmp_path, monkeypatch):
    """The others neither ask for a login, which this endpoint would refuse, nor push."""
    (tmp_path / "model").mkdir()
    artefacts = {"model": Artefact("model", tmp_path / "model")}
    monkeypatch.setattr("huggingface_hub.HfApi.whoami", lambda self, token=None: {"name": "tester"})
    asked, foreign = HubOptions(push_to_hub=True), HubOptions(push_to_hub=True, hub_model_id="other/it")
    monkeypatch.setenv("RANK", "1")
    assert repositories(foreign, "out") == {"model": "other/it"}
    assert push_all(artefacts, {"model": "it"}, asked) == {}
    monkeypatch.setenv("RANK", "0")
    wanted = repositories(asked, str(tmp_path / "it"), ["pool", "pool"])
    assert wanted == {"model": "it", "pool": "it-pool"}
    with pytest.raises(PermissionError, match="other/it"):
        repositories(foreign, "out")
    with pytest.raises(ValueError, match="nothing to push to it"):
        push_all(artefacts, wanted, asked)
