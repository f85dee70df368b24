"""A chat server per test, reached through the real InferenceClient."""

from __future__ import annotations

import sys
from pathlib import Path

import huggingface_hub
import pytest

sys.path.append(str(Path(__file__).parent))
from chat_server import chat_server

from hf_fairness.generation import LLMConfig, Rewriter


@pytest.fixture
def server(monkeypatch):
    """A server with a model of rules; offline mode, which shuts out this machine too, is off."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    huggingface_hub.close_session()  # a client that was opened before keeps its proxies
    with chat_server() as running:
        yield running
    huggingface_hub.close_session()


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
