"""Copies of the raw files in `raw/`, and a cache."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.dataset_cases import RAW


@pytest.fixture
def raw_copy(tmp_path: Path) -> Callable[[str], Path]:
    """A folder with raw files of a data set, for a test that changes them."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(RAW / name, tmp_path / "raw" / name))

    return copy


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One cache of built data sets for all tests."""
    return str(tmp_path_factory.mktemp("built"))
