"""Each command x each general ability: it works, or one sentence says why not.

What an ability does in depth is tested with the method; here every cell of the table is run, or refused, once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hf_fairness.cli import command, main
from hf_fairness.record import Record
from support import kill_world
from support.launch import launch

pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning"),  # the worlds are tiny
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),  # peft 0.21
    # sentence-transformers 6.0 has not followed the new name yet.
    pytest.mark.filterwarnings("ignore:`SentenceTransformer` only defines `gradient_check:FutureWarning"),
    pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable` is deprecated:FutureWarning"),
]


@dataclass(frozen=True)
class World:
    """A command in a small world: its words without the output folder, and a sweep of one of its settings."""

    words: list[str]
    sweep: str = ""

    def line(self, out: Path, *more: str) -> list[str]:
        return [*self.words, *more, "--output_dir", str(out)]


SWEEPS = {"ccd": "beta=0.5", "sentence-debias": "n_directions=2", "gfst": "upsample=2", "ibadr": "learning_rate=0.002"}
SWEEPS |= {"refine": "learning_rate=0.002", "compare": "beta=0.5"}
COMMANDS = ("audit", "ccd", "compare", "data-diet", "gfst", "ibadr", "refine", "sentence-debias")
#: Of the data diet whole models: heads on frozen features refuse what only a training of weights has (test_heads...).
MAKER = {"data-diet": "data-diet full", "sentence-debias": "ccd"}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory) -> Callable[[str], World]:
    """Worlds by command, each made when it is first asked for."""
    made: dict[str, World] = {}

    def get(name: str) -> World:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            words = kill_world.make_command(MAKER.get(name, name), folder).words
            if name == "sentence-debias":
                keep = words[: words.index("--max_steps")]
                words = ["sentence-debias", *keep[1:], "--use_cpu", "--disable_tqdm", "True"]
            made[name] = World(words, SWEEPS.get(name, ""))
        return made[name]

    return get


@pytest.fixture(scope="module")
def plain(worlds, tmp_path_factory) -> Callable[[str], Path]:
    """The output folder of each command as it is, run once."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("plain") / name
            assert main(worlds(name).line(made[name])) == 0
        return made[name]

    return get


def record(out: Path) -> Record:
    """What a run found."""
    folder = out / "report" if (out / "report").is_dir() else out  # an audit is a report
    return Record.from_json(json.loads((folder / "record.json").read_text()))


def started(out: Path) -> dict[str, str]:
    """When each stage of a run began."""
    return {each["stage"]: each["started"] for each in json.loads((out / "manifest.json").read_text())["stages"]}


def refused(worlds, name: str, sentence: str, *words: str, capfd: Any, out: Path) -> None:
    """The command says so in one sentence, and does nothing."""
    capfd.readouterr()
    try:
        code = main(worlds(name).line(out, *words))
    except SystemExit as ended:
        code = ended.code
    said = capfd.readouterr().err
    assert code not in (0, None)
    assert sentence in " ".join(said.split())
    assert not (out / "report").exists()


#: Ability -> command -> the sentence by which it is refused; where there is none, it works.
REFUSED: dict[str, dict[str, str]] = {
    "n_seeds": {"audit": "--n_seeds cannot be set here: nothing is trained"},
    "control": {"audit": "--no_control cannot be set here: an audit trains nothing"},
    "sweep": {
        "audit": "--sweep cannot be set here: an audit has one setting",
        "data-diet": "--sweep: the grid is the sweep of data-diet",
    },
    "resume": {"audit": "--no_resume cannot be set here: an audit is done in one go"},
    "half precision": {
        "audit": "--bf16 cannot be set here: an audit trains nothing",
        "sentence-debias": "--bf16 cannot be set here: the directions are fitted in one pass",
    },
    "accumulation": {
        "audit": "--gradient_accumulation_steps cannot be set here: an audit trains nothing",
        "sentence-debias": "--gradient_accumulation_steps cannot be set here: the directions are fitted in one pass",
    },
    "gradient checkpointing": {
        "audit": "--activation_checkpointing cannot be set here: an audit trains nothing",
        "sentence-debias": "--activation_checkpointing cannot be set here: the directions are fitted in one pass",
    },
    "LoRA": {
        "audit": "--use_peft cannot be set here: an audit trains nothing",
        "gfst": "--use_peft cannot be set here: every arm is a whole translator",
        "ibadr": "--use_peft cannot be set here: classifiers are trained whole; the generator has --generator_use_peft",
        "sentence-debias": "--use_peft cannot be set here: the directions are fitted in one pass",
    },
    "report_to": {
        "audit": "--report_to cannot be set here: an audit trains nothing",
        "sentence-debias": "--report_to cannot be set here: the directions are fitted in one pass",
    },
}
FLAGS = {
    "n_seeds": ("--n_seeds", "2"),
    "control": ("--no_control",),
    "sweep": ("--sweep", "seed_of_nothing=1"),
    "resume": ("--no_resume",),
    "half precision": ("--bf16",),
    "accumulation": ("--gradient_accumulation_steps", "2"),
    "gradient checkpointing": ("--activation_checkpointing",),
    "LoRA": ("--use_peft",),
    "report_to": ("--report_to", "tensorboard"),
}


def cells(ability: str, *, works: bool) -> list[str]:
    """Commands that have an ability, or refuse it."""
    return [name for name in COMMANDS if (name in REFUSED.get(ability, {})) is not works]


@pytest.mark.parametrize(("ability", "name"), [(a, n) for a in REFUSED for n in cells(a, works=False)])
def test_what_makes_no_sense_is_refused_in_one_sentence(worlds, tmp_path, capfd, ability, name):
    refused(worlds, name, REFUSED[ability][name], *FLAGS[ability], capfd=capfd, out=tmp_path / "out")


@pytest.mark.parametrize("name", cells("half precision", works=True))
def test_float16_is_refused_without_a_gpu(worlds, tmp_path, capfd, name):
    """The Trainer would train in float32, and the report would say otherwise."""
    refused(worlds, name, "--fp16 wants a GPU: on a CPU", "--fp16", capfd=capfd, out=tmp_path / "out")


@pytest.mark.parametrize("name", cells("n_seeds", works=True))
def test_seeds(worlds, plain, tmp_path, name):
    out = tmp_path / "out"
    assert main(worlds(name).line(out, "--n_seeds", "2")) == 0
    found = record(out)
    assert found.provenance["n_seeds"] == 2
    assert {measure.interval_over for measure in found.measures} <= {"both", "seeds"}
    assert [arm.name for arm in found.arms] == [arm.name for arm in record(plain(name)).arms]


@pytest.mark.parametrize("name", cells("control", works=True))
def test_without_the_control(worlds, plain, tmp_path, name):
    more = ("--rankings", "healthy_random", "random") if name == "data-diet" else ()
    with_it = plain(name)
    if more:
        with_it = tmp_path / "with"
        assert main(worlds(name).line(with_it, *more)) == 0
    out = tmp_path / "out"
    assert main(worlds(name).line(out, *more, "--no_control")) == 0
    assert record(with_it).arm("control") is not None
    assert record(out).arm("control") is None


@pytest.mark.parametrize("name", cells("sweep", works=True))
def test_sweep(worlds, plain, tmp_path, name):
    out = tmp_path / "out"
    assert main(worlds(name).line(out, "--sweep", worlds(name).sweep)) == 0
    (table,) = [table for table in record(out).tables if table.title == "Sweep"]
    assert worlds(name).sweep in {row[0] for row in table.rows}
    plain_values = {measure.id: measure.values for measure in record(plain(name)).measures}
    assert {measure.id: measure.values for measure in record(out).measures} == plain_values


@pytest.mark.parametrize("name", cells("resume", works=True))
def test_resume(worlds, plain, name):
    out = plain(name)
    first = started(out)
    assert main(worlds(name).line(out)) == 0
    assert started(out) == first
    assert main(worlds(name).line(out, "--no_resume")) == 0
    assert set(started(out)) == set(first)


@pytest.mark.parametrize(
    ("ability", "name"),
    [
        (ability, name)
        for ability in ("half precision", "accumulation", "gradient checkpointing", "LoRA")
        for name in cells(ability, works=True)
    ],
)
def test_settings_of_trainings(worlds, tmp_path, ability, name):
    """They reach the trainings, and the report says what was asked for."""
    flag, *value = FLAGS[ability]
    result = command(name)(worlds(name).line(tmp_path / "out", flag, *value)[1:])
    asked = json.loads((tmp_path / "out" / "config.json").read_text())
    setting = {**asked, **asked.get("training", {})}[flag.removeprefix("--")]
    assert setting == (int(value[0]) if value else True)
    assert result["model"] is not None


def test_lora_of_the_generator(worlds, tmp_path):
    result = command("ibadr")(worlds("ibadr").line(tmp_path / "out", "--generator_use_peft")[1:])
    folder = Path(result["artefacts"]["generator"].folder)
    assert folder.name == "merged"
    assert list(folder.parent.glob("adapter_*"))


@pytest.mark.parametrize("name", cells("report_to", works=True))
def test_report_to(worlds, tmp_path, monkeypatch, name):
    """What transformers calls an integration is told the losses of the trainings."""
    from transformers import TrainerCallback, integrations

    told = []

    class Board(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            told.append(logs)

    known = {**integrations.integration_utils.INTEGRATION_TO_CALLBACK, "tensorboard": Board}
    monkeypatch.setattr(integrations.integration_utils, "INTEGRATION_TO_CALLBACK", known)
    words = worlds(name).words
    if "--report_to" in words:
        place = words.index("--report_to")
        words = [*words[:place], *words[place + 2 :]]
    steps = () if name == "data-diet" else ("--logging_steps", "1")  # it logs the ends of its many trainings alone
    assert main([*words, "--report_to", "tensorboard", *steps, "--output_dir", str(tmp_path)]) == 0
    assert any({"loss", "train_loss"} & set(logs) for logs in told)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_configuration_of_a_data_set(worlds, tmp_path, name):
    """A folder whose card names two configurations, as data sets on the Hub have them."""
    words = list(worlds(name).words)
    place = words.index("--dataset") + 1
    source = Path(words[place])
    folder = tmp_path / "set"
    folder.mkdir()
    for config in ("first", "second"):
        (folder / config).mkdir()
        (folder / config / f"train{source.suffix}").write_bytes(source.read_bytes())
    front = "".join(f"- config_name: {c}\n  data_files: {c}/train{source.suffix}\n" for c in ("first", "second"))
    (folder / "README.md").write_text(f"---\nconfigs:\n{front}---\n")
    words[place] = str(folder)
    assert main([*words, "--dataset_config", "second", "--output_dir", str(tmp_path / "out")]) == 0
    assert any((tmp_path / "out").rglob("record.json"))


@pytest.fixture(scope="module")
def shared(worlds, tmp_path_factory) -> tuple[Path, list[dict[str, Any]]]:
    """The output folders of all commands on two processes, run in one launch, and what each process was told."""
    folder = tmp_path_factory.mktemp("processes")
    (folder / "lines.json").write_text(json.dumps({name: worlds(name).line(folder / name) for name in COMMANDS}))
    launch("support.commands_two_processes", folder / "lines.json", processes=2, timeout=500)
    return folder, [json.loads((folder / f"told-{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("name", COMMANDS)
def test_several_processes(plain, shared, name):
    folder, told = shared
    for status, said in (each[name] for each in told):
        assert status == (1 if name == "data-diet" else 0), said
        assert name != "data-diet" or "--mode full trains each model in one process" in said
    if name == "data-diet":
        return
    found, alone = record(folder / name), record(plain(name))
    assert [measure.id for measure in found.measures] == [measure.id for measure in alone.measures]
    if name in ("audit", "sentence-debias"):  # nothing is trained: the same numbers
        for one, other in zip(found.measures, alone.measures, strict=True):
            for arm, value in other.values.items():
                assert one.values[arm].value == pytest.approx(value.value, rel=1e-3, abs=1e-4), (one.id, arm)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "audit"])
def test_push_with_a_card(worlds, fake_hub, tmp_path, name):
    words = worlds(name).line(tmp_path / "out", "--push_to_hub", "--hub_model_id", "tester/it")
    fake_hub.run(f"from hf_fairness.cli import main; import sys; sys.exit(main({words!r}))")
    files = fake_hub.files("tester/it")
    assert "Made with hf-fairness" in files["README.md"].decode()
    assert len(files) > 2


def test_an_audit_is_pushed_into_the_card_that_is_there(worlds, capfd, tmp_path):
    """It has no model of its own: the repository must be named and be there (tests/e2e/test_push_artefacts.py)."""
    refused(worlds, "audit", "--hub_model_id", "--push_to_hub", capfd=capfd, out=tmp_path / "out")
