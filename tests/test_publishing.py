"""One commit per push, with what belongs to it and nothing else; what a person put there stays."""

from __future__ import annotations

import json

import pytest

from hf_fairness.publishing import CARD, MANIFEST, Artefact, folder_files, is_hub_id, publish
from hf_fairness.report import card_section
from hf_fairness.report.artefact_card import About, artefact_card, bias_section, from_record
from hf_fairness.report.merge import own_section, update_card
from support.tiny_record import LESS, measure, record

PUSH = """
import json, sys
from hf_fairness.publishing import publish
found = publish(sys.argv[1], "thing", repo_type=sys.argv[2], message="A push")
print(json.dumps([found.url, found.changed]))
"""
#: What lies in the folders of trainings and must not leave them.
PRIVATE = (
    *("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state_0.pth", "trainer_state.json", ".run.lock"),
    *("checkpoint-3/model.safetensors", "runs/log", "notes.lock", ".partial/x", "_temporary", "a.tmp"),
)


@pytest.fixture
def folder(tmp_path):
    """A folder as a training leaves it."""
    for name in ("config.json", "1_Pooling/config.json", "model.safetensors", *PRIVATE):
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    return tmp_path / "made"


def section_of(text: str) -> str:
    """A section on bias."""
    return f"## Bias, risks and limitations\n\n{text}\n"


def commits(hub, kind="models", repo_id="tester/thing") -> int:
    """Number of commits, without the one that makes the repository."""
    return len(hub.repo(kind, repo_id).commits) - 1


@pytest.mark.parametrize("kind", ["model", "dataset"])
def test_a_push_is_one_commit_and_a_second_is_none(fake_hub, folder, kind):
    url, changed = json.loads(fake_hub.run(PUSH, folder, kind))
    assert changed
    assert url.endswith("tester/thing")
    files = fake_hub.files("tester/thing", kind)
    assert set(files) == {".gitattributes", MANIFEST, "config.json", "1_Pooling/config.json", "model.safetensors"}
    assert files["1_Pooling/config.json"] == b"content of 1_Pooling/config.json"
    assert commits(fake_hub, f"{kind}s") == 1
    assert json.loads(fake_hub.run(PUSH, folder, kind)) == [url, False]
    assert commits(fake_hub, f"{kind}s") == 1
    assert fake_hub.unknown == []


def test_what_is_no_longer_made_goes_and_what_a_person_added_stays(fake_hub, folder):
    fake_hub.run(PUSH, folder, "model")
    repo = fake_hub.repo("models", "tester/thing")
    _, files = repo.at("main")
    repo.commit({**files, "notes.txt": b"mine", "1_Pooling/mine.txt": b"mine too"})
    (folder / "1_Pooling" / "config.json").unlink()
    (folder / "new.json").write_text("{}")
    fake_hub.run(PUSH, folder, "model")
    assert commits(fake_hub) == 3
    after = fake_hub.files("tester/thing")
    assert set(after) - set(files) == {"notes.txt", "1_Pooling/mine.txt", "new.json"}
    assert set(files) - set(after) == {"1_Pooling/config.json"}
    assert after["notes.txt"] == b"mine"


def test_a_card_that_a_person_changed_keeps_their_words(fake_hub, folder):
    about = About("t", "What it is.", section_of("Old numbers."), "load()", metadata={"tags": ["ours"]})
    (folder / CARD).write_text(artefact_card(about))
    fake_hub.run(PUSH, folder, "model")
    repo = fake_hub.repo("models", "tester/thing")
    _, files = repo.at("main")
    assert files[CARD].decode() == artefact_card(about)
    changed = files[CARD].replace(b"What it is.", b"My own words.").replace(b"tags:", b"license: mit\ntags:\n- mine")
    for headline in ("New numbers.", "Newer numbers."):
        if headline == "New numbers.":
            repo.commit({**files, CARD: changed})
        section = section_of(headline)
        (folder / CARD).write_text(artefact_card(About("t", "What it is.", section, "load()")))
        fake_hub.run(PUSH, folder, "model")
        text = fake_hub.files("tester/thing")[CARD].decode()
        assert "My own words." in text
        assert "license: mit" in text
        assert "- mine" in text
        assert headline in text
        assert "Old numbers." not in text
        assert own_section(text) == section.strip()


REFUSED = """
import json, os, sys
from hf_fairness.publishing import publish
token = "plain-SecretSecretSecret1"
said = {}
for name, how in {"private": {"private": True}, "token": {"token": token}}.items():
    try:
        publish(sys.argv[1], "tester/thing", **how)
    except OSError as error:
        said[name] = [type(error).__name__, str(error), repr(error.__cause__)]
print(json.dumps(said))
"""


def test_refusals_name_the_repository_and_no_token(fake_hub, folder):
    fake_hub.run(PUSH, folder, "model")
    said = json.loads(fake_hub.run(REFUSED, folder))
    assert said["private"][0] == "PermissionError"
    assert "tester/thing is public" in said["private"][1]
    assert said["token"][1].startswith("Cannot push to tester/thing: ")
    assert "401" in said["token"][1]
    assert "SecretSecret" not in json.dumps(said)
    assert commits(fake_hub) == 1


def test_nothing_to_push_is_said_before_a_repository_is_made(tmp_path):
    (tmp_path / "training_args.bin").write_text("x")
    for what in (tmp_path, {}, {CARD: b"# alone"}, Artefact("model", tmp_path)):
        with pytest.raises(ValueError, match="nothing to push to tester/thing"):
            publish(what, "tester/thing")
    with pytest.raises(FileNotFoundError, match="no folder"):
        publish(tmp_path / "nowhere", "tester/thing")


def test_what_an_artefact_writes_takes_the_place_of_its_folder(tmp_path):
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / CARD).write_text("local")
    (folder / "a.json").write_text("{}")
    with Artefact("model", folder, lambda place, repo: (place / CARD).write_text(f"# {repo}")).files("me/it") as files:
        assert {name: path.read_text() for name, path in files.items()} == {CARD: "# me/it", "a.json": "{}"}
    assert set(folder_files(folder)) == {CARD, "a.json"}


def test_a_folder_of_this_machine_is_no_id(tmp_path, monkeypatch):
    (tmp_path / "org" / "model").mkdir(parents=True)
    assert is_hub_id("org/model")
    monkeypatch.chdir(tmp_path)
    assert not is_hub_id("org/model")
    assert not any(map(is_hub_id, (str(tmp_path), "", None, "a/b/c", "C:\\m")))


def test_a_card_says_what_it_is_then_bias_then_how_to_load_it():
    section = section_of("**Got worse**\n\n- Accuracy.\n\n**Improved**\n\n- The gap.")
    made = About("t", "It *is* this.", section, 'load("{repository}")', ["A limit."], metadata={"tags": ["x"]})
    library = "---\nlicense: mit\n---\n\n# Title\n\nWords of a library.\n"
    card = artefact_card(made, "me/it", base=library)
    order = ["license: mit", "# me/it", r"It \*is\* this.", "Got worse", "Improved", 'load("me/it")', "A limit."]
    order += ["## Licence", "## Title", "Words of a library."]
    places = [card.index(text) for text in order]
    assert places == sorted(places)
    again = artefact_card(made, "", base=card)
    assert again.count("Words of a library.") == again.count("## How to load it") == 1
    assert 'load(".")' in again
    unmeasured = artefact_card(About("t", "It.", bias_section(), "load()"))
    assert unmeasured.index("Nothing was measured") < unmeasured.index("## How to load it")


def test_the_card_of_a_record_has_the_findings_first_and_the_numbers_last():
    limits = {"limits": ("A limit.",), "not_measured": ("Other groups.",), "asked": {"seed": 1}}
    found = record(measure("gap", **LESS), measure("accuracy", "utility", "higher", 1.0, **LESS), **limits)
    card = artefact_card(About("t", "What it is.", load='load("{repository}")', **from_record(found)), "me/it")
    order = ["What it is.", "**Got worse**", "- Accuracy: 1.000", "**Improved**", "- Gap: 1.000", 'load("me/it")']
    order += ["## Limits", "- A limit.", "## Licence", "### Measurements", "| gap |", "- seed: 1", "- Other groups."]
    places = [card.index(text) for text in order]
    assert places == sorted(places)
    lines = {line for line in card_section(found).splitlines() if line and not line.startswith("#")}
    assert lines <= set(card.splitlines())  # nothing is lost, and nothing said twice
    assert card.count("A limit.") == 1
    new = update_card(card, section_of("A new audit."))  # takes the place of the numbers, too
    assert "### Measurements" not in new
    assert all(text in new for text in ("What it is.", "A new audit.", 'load("me/it")', "- A limit.", "## Licence"))
