"""A translator of a tiny world, trained once, and a function that runs the recipe with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from hf_fairness.trainers import run_gfst
from support import gfst_world
from support.gfst_case import arguments, config


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def lexicon(tmp_path_factory) -> str:
    return gfst_world.lexicon(tmp_path_factory.mktemp("lexicon") / "forms.tsv")


@pytest.fixture(scope="session")
def parallel():
    return gfst_world.pairs(800, 0)


@pytest.fixture(scope="session")
def texts():
    return gfst_world.monolingual(300, 1)


@pytest.fixture(scope="session")
def initial(tmp_path_factory, lexicon, parallel, texts) -> str:
    """Folder of a translator that has learned the world, and writes feminine forms less often than it should."""
    out = tmp_path_factory.mktemp("initial")
    run_gfst(arguments(lexicon, until="initial"), parallel, texts, config=config(out))
    return str(out / "initial" / "model")


@pytest.fixture(scope="session")
def run_in(lexicon, parallel, texts, initial):
    """Runs the recipe on the trained translator, a few steps per arm, in a folder; returns what it returns."""

    def run(folder: Path, *, settings: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        data = {"train": parallel, "monolingual": texts, "winomt_rows": gfst_world.winomt_rows()}
        given = {name: more.pop(name, default) for name, default in data.items()}
        given |= {name: more.pop(name) for name in ("test", "must_she_rows", "reverse", "validation") if name in more}
        own = arguments(more.pop("lexicon", lexicon), **{"model_name_or_path": initial, **more})
        made = config(folder, **{"max_steps": 6, "warmup_steps": 0, **(settings or {})})
        return run_gfst(own, given.pop("train"), given.pop("monolingual"), config=made, **given)

    return run


@pytest.fixture
def gfst(tmp_path, run_in):
    """The same in a folder of the test, ``out``."""
    return lambda out="out", **more: run_in(tmp_path / out, **more)
