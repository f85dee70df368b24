"""What every command prints at its end, and bars on the way there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def quiet_unless_watched() -> bool:
    """No bars of the libraries where nobody watches them; returns whether that is so."""
    if sys.stderr.isatty():
        return False
    import datasets
    from transformers.utils import logging

    datasets.disable_progress_bars()
    logging.disable_progress_bar()
    return True


def print_report(result: Mapping[str, Any]) -> None:
    """Print what a record says, or what the stages of a run without one counted, and where the files are."""
    if "record" not in result:
        print(f"{result['text']}\n")
        for name, path in result["stages"].items():
            print(f"{name:>20}  {path}")
        return
    from hf_fairness.report import text_report

    print(f"\n{text_report(result['record'])}\n")
    places = {path.name: path for path in result["files"].values()}
    places |= {name: path for name in ("model", "generator", "pool_folder") if (path := result.get(name)) is not None}
    size = max(map(len, places), default=0)
    for name, path in places.items():
        print(f"  {name.ljust(size)}  {path}")
