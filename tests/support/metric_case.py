"""The inputs of every metric that are worked out on paper: data in `metrics/cases/<id>.py`."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import evaluate

import hf_fairness

FOLDER = Path(__file__).resolve().parents[2] / "metrics"
CASES = Path(__file__).parent.parent / "metrics" / "cases"
METRICS = sorted(path.name for path in FOLDER.iterdir() if (path / f"{path.name}.py").is_file())


@cache
def case_of(name: str) -> Any:
    """The module of a metric's cases."""
    spec = importlib.util.spec_from_file_location(f"cases_{name}", CASES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compute(name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The result of a metric, loaded anew."""
    result: dict[str, Any] = evaluate.load(hf_fairness.metric_path(name)).compute(**inputs)
    return result
