"""What only the tests of the filters need."""

from __future__ import annotations

import os

import pytest

from hf_fairness.filters.apertium import LANGUAGES, missing


@pytest.fixture(scope="session")
def apertium() -> None:
    """The analysers of Apertium for all its languages; in CI these tests must run."""
    lacking = [part for lang in LANGUAGES for part in missing(lang)]
    if lacking:
        reason = f"needs the Debian packages of Apertium; missing: {', '.join(sorted(set(lacking)))}"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; in CI these tests must run")
        pytest.skip(reason)
