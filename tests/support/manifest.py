"""A reader of the stages that a run has left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def stages(folder: Path) -> dict[str, dict[str, Any]]:
    """The stages of a run by name, in their order, as its manifest has them."""
    return {entry["stage"]: entry for entry in json.loads((folder / "manifest.json").read_text())["stages"]}
