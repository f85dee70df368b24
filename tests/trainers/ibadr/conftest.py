"""A planted world and tiny models for the IBADR tests; no downloads."""

from __future__ import annotations

import pytest

from support.ibadr_case import make_case


@pytest.fixture(scope="session")
def case():
    """World, models and settings; see ``support.ibadr_case``."""
    return make_case()
