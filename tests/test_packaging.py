"""What `pip install .` brings: the right folders under one name, every data file, and a cheap import."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import inspect
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hf_fairness.utils import REPORT, check_packages

MAPPED = ("hf_fairness", "metrics", "trainers", "dataset_scripts")
ROOT = Path(__file__).resolve().parent.parent

# Names of the contract in the design, by module.
CONTRACT = {
    "hf_fairness": ["FairnessWarning", "flatten", "metric_path", "show"],
    "hf_fairness.augment": ["CounterfactualSwap", "GroupVariants", "Neutralize", "parse_edits"],
    "hf_fairness.attributes": ["Attribute", "available_attributes", "load_attribute"],
    "hf_fairness.dataset_scripts": ["available", "builder_class", "load"],
    "hf_fairness.encoders": ["Encoder", "as_encoder"],
    "hf_fairness.filters": ["PairLength", "SourceGender", "TargetGender", "drops"],
    "hf_fairness.losses": ["CCDLoss", "ccd_loss"],
    "hf_fairness.measure": ["cced", "probe", "seat", "similarity_structure", "sts"],
    "hf_fairness.modules": ["Measurement", "Metric"],
    "hf_fairness.runs": ["Run", "atomic_write_json", "atomic_write_text", "content_key"],
    "hf_fairness.scores.cced": ["cced"],
    "hf_fairness.scores.seat": ["seat_test"],
    "hf_fairness.scores.structure": ["similarity_structure"],
    "hf_fairness.trainers": [
        *("CCDConfig", "CCDLoss", "CCDTrainer", "CCEDEvaluator", "DataDietConfig", "DataDietTrainer"),
        *("GEPruningCallback", "GFSTConfig", "IBADRConfig", "PoETrainer", "SEATEvaluator", "train_translator"),
    ],
}
HEAVY = ["datasets", "evaluate", "matplotlib", "sentence_transformers", "sklearn", "torch", "transformers"]


def setup_cfg() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def folder_of(package: str) -> Path:
    parts = package.split(".")
    if len(parts) > 1 and parts[1] in MAPPED:
        parts = parts[1:]
    return ROOT.joinpath(*parts)


def modules() -> dict[str, Path]:
    """Path inside the wheel -> source file, for every Python file of the project's packages."""
    found = {}
    for top in MAPPED:
        prefix = Path() if top == "hf_fairness" else Path("hf_fairness")
        for path in (ROOT / top).rglob("*.py"):
            found[str(prefix / path.relative_to(ROOT))] = path
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names inside a wheel that is built from a copy of the project, so that no build folder is left here."""
    copy, out = tmp_path_factory.mktemp("copy") / "project", tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    for top in MAPPED:
        shutil.copytree(ROOT / top, copy / top, ignore=ignore)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(copy)]
    if importlib.util.find_spec("setuptools"):
        command.append("--no-build-isolation")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_the_wheel_puts_everything_under_one_name(wheel: list[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    (info,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {"hf_fairness", info}
    assert f"{info}/licenses/LICENSE" in wheel
    assert f"{info}/entry_points.txt" in wheel


def test_the_wheel_holds_every_module(wheel: list[str]) -> None:
    missing = set(modules()) - set(wheel)
    if missing:
        pytest.fail(f"not in the wheel; list their packages in setup.cfg: {sorted(missing)}")
    assert "hf_fairness/trainers/__init__.py" in wheel


def test_the_wheel_holds_every_data_file(wheel: list[str]) -> None:
    known = {"hf_fairness/py.typed"}
    for top in MAPPED:
        prefix = Path() if top == "hf_fairness" else Path("hf_fairness")
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts:
                known.add(str(prefix / path.relative_to(ROOT)))
    known = {name for name in known if ".egg-info" not in name}
    missing = known - set(wheel)
    assert not missing, f"add to [options.package_data] in setup.cfg: {sorted(missing)}"
    assert any(name.startswith("hf_fairness/attributes/data/") for name in known)


def test_every_metric_is_whole(wheel: list[str]) -> None:
    folders = [path for path in (ROOT / "metrics").iterdir() if (path / "__init__.py").is_file()]
    assert {path.name for path in folders} >= {"seat", "cced"}
    parts = ("app.py", "README.md", "requirements.txt")
    wanted = {f"hf_fairness/metrics/{path.name}/{name}" for path in folders for name in (f"{path.name}.py", *parts)}
    assert sorted(wanted - set(wheel)) == []


def test_setup_cfg_lists_exactly_the_packages_there_are() -> None:
    listed = setup_cfg()["options"]["packages"].split()
    assert len(set(listed)) == len(listed)
    there = {Path(name).parent.as_posix().replace("/", ".") for name in modules() if name.endswith("/__init__.py")}
    assert set(listed) == there
    for package in listed:
        assert (folder_of(package) / "__init__.py").is_file(), package


def test_every_folder_with_modules_is_a_package() -> None:
    bare = {path.parent for path in modules().values() if not (path.parent / "__init__.py").is_file()}
    assert bare == set()


def test_pyproject_holds_the_build_system_only() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("[")] == ["[build-system]"]
    assert len(text.splitlines()) == 3


def test_no_module_imports_a_mapped_folder_by_its_bare_name() -> None:
    bad = []
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            bad += [(name, found) for found in names if found.split(".")[0] in MAPPED[1:]]
    assert bad == []


IMPORT = """
import json, sys, threading
import {module}
print(json.dumps([[name for name in {heavy} if name in sys.modules], threading.active_count()]))
"""


@pytest.mark.parametrize("module", ["hf_fairness", "hf_fairness.attributes", "hf_fairness.runs", "hf_fairness.cli"])
def test_importing_is_cheap(module: str) -> None:
    code = IMPORT.format(module=module, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[], 1]
    assert done.stderr == ""


@pytest.mark.parametrize("module", CONTRACT)
def test_the_names_of_the_contract_import(module: str) -> None:
    imported = importlib.import_module(module)
    missing = [name for name in CONTRACT[module] if not hasattr(imported, name)]
    assert missing == []
    public = getattr(imported, "__all__", None)
    if public is not None:
        assert [name for name in CONTRACT[module] if name not in public] == []
        assert [name for name in public if not hasattr(imported, name)] == []


def test_what_work_needs_is_named_at_once(monkeypatch):
    check_packages("numpy", "matplotlib", "sacrebleu")
    for module in ("matplotlib", "sentencepiece"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"matplotlib is not .*fairness\[report\].*sentencepiece .*\[translation\]"):
        check_packages("matplotlib", "numpy", "sentencepiece")
    with pytest.raises(ImportError, match="matplotlib is not installed"):
        check_packages(*REPORT)


@pytest.mark.parametrize("recipe", ["run_ibadr", "run_data_diet"])
def test_recipes_look_for_what_their_report_needs_first(monkeypatch, recipe):
    from hf_fairness import trainers

    parameters = inspect.signature(getattr(trainers, recipe)).parameters.values()
    arguments = [None for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"matplotlib is not installed.*hf-fairness\[report\]"):
        getattr(trainers, recipe)(*arguments)
