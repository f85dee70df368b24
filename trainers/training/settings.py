"""Which settings of a training decide what it learns."""

from __future__ import annotations

from typing import Any

from transformers import TrainingArguments

#: Settings that do not change what is learned.
_IRRELEVANT = ("output_dir", "run_name", "disable_tqdm", "report_to", "push_to_hub")


def training_settings(args: TrainingArguments) -> dict[str, Any]:
    """Settings that decide what is learned: not where it is written, shown or pushed to."""
    return {
        name: value for name, value in args.to_dict().items() if name not in _IRRELEVANT and not name.startswith("hub_")
    }
