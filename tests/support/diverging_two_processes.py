"""Run under torchrun: a training that diverges on one process only stops on both; what each saw goes to a file."""

from __future__ import annotations

from pathlib import Path


def main(folder: Path) -> None:

    pass
