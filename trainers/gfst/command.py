"""`hf-fairness gfst`: gender-filtered self-training of a translator, measured beside its control; `--demo` needs no
data.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.arguments import Command
from hf_fairness.demo.grammar import DEMO_ARGUMENTS, DEMO_TRAINING, demo_world
from hf_fairness.trainers.gfst.sources import open_pairs, open_test_set, open_texts
from hf_fairness.utils import refuse_any

if TYPE_CHECKING:
    from hf_fairness.trainers import GFSTArguments, GFSTConfig

DESCRIPTION = """Make a translator keep people's gender more often (gender-filtered self-training, Choubey et al. 2021).
Takes the sentences of a monolingual text that speak of people of one gender, translates them with the model at hand,
keeps the translations whose words show the same gender, balances them and trains on them and on the parallel data.
Trains the control (as many steps on the parallel data alone) and as many random pairs as well, and measures all on
WinoMT, MuST-SHE and a generic test set, those that are given. Writes OUTPUT_DIR/report (HTML, JSON, Markdown, figures)
and OUTPUT_DIR/model; every stage is a data set or a model in a folder of OUTPUT_DIR. A killed run goes on where it
stopped. On several processes: torchrun --nproc_per_node 2 $(which hf-fairness) gfst ..."""

EPILOG = """examples:
  a model of the Hub, fine-tuned on filtered and original pairs:
    hf-fairness gfst Helsinki-NLP/opus-mt-en-it --target_lang it --monolingual_dataset news.txt \\
        --dataset pairs.tsv --winomt en.txt --max_pairs 30000 --output_dir out
  a small model trained from scratch, on aligned files:
    hf-fairness gfst --target_lang de --monolingual_dataset news.txt --dataset train.en,train.de \\
        --validation_dataset dev.en,dev.de --output_dir out
  on data sets as `hf-fairness build-dataset` writes them:
    hf-fairness gfst MODEL --target_lang it --dataset news_commentary --dataset_config en-it \\
        --monolingual_dataset news.txt --winomt winomt --must_she must_she --output_dir out
  with sheets of 100 sentences for people to judge, and their answers scored:
    hf-fairness gfst MODEL ... --winomt en.txt --human_sheets 100 --output_dir out
    hf-fairness gfst-sheets gender_of_anna.csv gender_of_ben.csv --key out/human_keys/gender_key.csv
  the first stage alone (no model needed), then on to the filtered pairs:
    hf-fairness gfst --monolingual_dataset news.txt --until filter-source --output_dir out
  without any data or download:
    hf-fairness gfst --demo --output_dir out

No number of the report shows that a model is fair; read the control beside every gain.
"""

#: What the demo has of its own.
_OWN = (
    *("model_name_or_path", "dataset", "monolingual_dataset", "validation_dataset", "validation_split"),
    *("test_dataset", "test_split", "winomt", "must_she", "lexicon"),
)


def run(arguments: GFSTArguments, config: GFSTConfig, **data: Any) -> dict[str, Any]:
    """Carry it out; the method is loaded when it runs. What the stages of a run that ends early counted is ``text``."""
    from hf_fairness.results import columns
    from hf_fairness.trainers import run_gfst
    from hf_fairness.trainers.gfst.summary import kept_table

    result = run_gfst(arguments, config=config, **data)
    return result | ({"text": "\n".join(columns(kept_table(result["data"]).rows))} if "stages" in result else {})


def check_push(arguments: GFSTArguments) -> None:
    """Refuse a run that ends before there is a model."""
    if not arguments.wants("model"):
        raise ValueError(
            f"--until {arguments.until} ends the run before there is a model to push: leave out one of them."
        )


def open_data(arguments: GFSTArguments, config: GFSTConfig) -> dict[str, Any]:
    """Everything that the arguments name, as `run_gfst` takes it; what the run does not come to is not opened."""
    a, late = arguments, arguments.wants("predict")
    if a.demo:
        return demo_data(a, config)
    return {  # first, as they cost little
        "winomt_rows": open_test_set("winomt", a) if late else None,
        "must_she_rows": open_test_set("must_she", a) if late else None,
        "monolingual": None if a.monolingual_dataset is None else open_texts(a),
        "train": open_pairs(a, config) if a.dataset else None,
        "validation": open_pairs(a, config, "validation") if a.wants("initial") else None,
        "test": open_pairs(a, config, "test") if late else None,
    }


def demo_data(arguments: GFSTArguments, config: GFSTConfig) -> dict[str, Any]:
    """The world of the demo, as `run_gfst` takes it: sentences of a small grammar and a model trained on them here.

    Args:
        arguments: those of the command; their ``lexicon`` becomes that of the world.
        config: its ``output_dir`` gets the lexicons, its seed makes the world.

    Raises:
        ValueError: data or a model were named as well.
    """
    from hf_fairness.filters import LexiconTagger

    refuse_any(
        {
            f"--demo brings its own data and model: leave out --{name}, or --demo.": getattr(arguments, name)
            for name in _OWN
        }
    )
    world, folder = demo_world(config.seed), Path(str(config.output_dir)) / "demo"
    arguments.lexicon = world.write_lexicon(folder)
    return {
        "train": world.parallel,
        "monolingual": world.monolingual,
        "validation": world.validation,
        "test": world.generic_test,
        "winomt_rows": world.winomt_rows,
        "winomt_tagger": LexiconTagger(world.write_lexicon(folder, nouns_only=True), world.lang),
    }


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:GFSTArguments",
    config="hf_fairness.trainers:GFSTConfig",
    run=run,
    open_data=open_data,
    check_push=check_push,
    artefacts={
        "pairs": "the sentences of your monolingual text that were kept, and their translations, with all that they say"
    },
    epilog=EPILOG,
    refused={
        "use_peft": "every arm is a whole translator, and the mean of its last checkpoints is kept, which adapters lack"
    },
    common=("warmup_steps", "max_steps"),
    defaults=lambda: {"output_dir": "gfst"},
    demo={**DEMO_ARGUMENTS, **DEMO_TRAINING},
)
