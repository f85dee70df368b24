"""A chat server per test, reached through the real InferenceClient."""

from __future__ import annotations

import pytest

from hf_fairness.generation import LLMConfig, Rewriter
from support.chat_server import chat_server  # noqa: F401 - a fixture


@pytest.fixture
def fast():
    """Settings that do not wait."""

    def make(**options) -> LLMConfig:
        return LLMConfig(**{"backoff": 0.0, "timeout": 60.0, "concurrency": 1, **options})

    return make


@pytest.fixture
def rewriter(server, fast, tmp_path):
    """A rewriter that asks the server; options go to LLMConfig."""

    def make(prompt=None, **options) -> Rewriter:
        config = fast(**options)
        return Rewriter(model="rules", base_url=server.url, prompt=prompt, cache_dir=tmp_path / "cache", config=config)

    return make
