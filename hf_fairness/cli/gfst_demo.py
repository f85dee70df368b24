"""What `hf-fairness gfst --demo` runs on: sentences of a small grammar and a model trained on them here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.demo.grammar import DEMO_ARGUMENTS, DEMO_TRAINING, demo_world
from hf_fairness.runs import atomic_write_text

if TYPE_CHECKING:
    from hf_fairness.trainers import GFSTArguments, GFSTConfig

#: Settings of the demo; what the user gives wins over them.
DEMO = {**DEMO_ARGUMENTS, **DEMO_TRAINING}
#: Where the lexicons of the world are kept in the output folder.
FOLDER = "demo"
#: What the demo has of its own.
_OWN = (
    *("model_name_or_path", "dataset", "monolingual_dataset", "validation_dataset", "validation_split"),
    *("test_dataset", "test_split", "winomt", "must_she", "lexicon"),
)


def demo_data(arguments: GFSTArguments, config: GFSTConfig) -> tuple[GFSTArguments, dict[str, Any]]:
    """The world of the demo, as `run_gfst` takes it.

    Args:
        arguments: those of the command.
        config: its ``output_dir`` gets the lexicons, its seed makes the world.

    Returns:
        The arguments with the lexicon in them, and the data.

    Raises:
        ValueError: data or a model were named as well.
    """
    from hf_fairness.filters import LexiconTagger

    given = [name for name in _OWN if getattr(arguments, name)]
    if given:
        raise ValueError(f"--demo brings its own data and model: leave out --{given[0]}, or --demo.")
    world = demo_world(config.seed)
    folder = Path(config.output_dir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    lexicon, nouns = folder / f"lexicon.{world.lang}.tsv", folder / f"nouns.{world.lang}.tsv"
    atomic_write_text(lexicon, world.lexicon)
    atomic_write_text(nouns, world.nouns)
    data = {
        "train": world.parallel,
        "monolingual": world.monolingual,
        "validation": world.validation,
        "test": world.generic_test,
        "winomt_rows": world.winomt_rows,
        "winomt_tagger": LexiconTagger(str(nouns), world.lang),
    }
    return replace(arguments, lexicon=str(lexicon)), data
