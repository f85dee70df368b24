"""What a test does with a pushed repository, in the process that knows the fake Hub: pull, run its card's code."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARK = r"```python\n(.*?)```"


def pull(repo_id: str, repo_type: str = "model") -> Path:
    """All files of a repository, downloaded."""
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(repo_id, repo_type=repo_type))


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder for a while; Python 3.10 has no `contextlib.chdir`."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_card(folder: Path) -> dict[str, Any]:
    """Run the code of a card with the folder as working directory; returns its variables."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.index("## ") < card.index("```python") < card.index("## Licence")
    found = re.search(MARK, card, re.DOTALL)
    assert found, card
    names: dict[str, Any] = {}
    with inside(folder):
        exec(found[1], names)
    return names


def check_private(folder: Path, *private: str) -> None:
    """No file holds one of the texts, and none is a pickle."""
    for path in (path for path in folder.rglob("*") if path.is_file()):
        held = [text for text in private if text.encode() in path.read_bytes()]
        assert not held, (path.name, held)
        assert path.suffix not in (".bin", ".pkl", ".pt", ".pth", ".lock"), path.name
