"""What a method of `hf-fairness compare` begins with, without the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from support.ccd_case import make_given


@pytest.fixture
def given(triples: Dataset, tmp_path: Path) -> Callable[..., Any]:
    """Makes a `Given` from a model's folder; see `make_given`."""

    def make(model: str, rows: Dataset | None = None, **settings: Any) -> Any:
        return make_given(model, triples if rows is None else rows, tmp_path / "out", **settings)

    return make
