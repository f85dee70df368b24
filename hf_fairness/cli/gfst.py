"""`hf-fairness gfst`: gender-filtered self-training of a translator, measured beside its control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_fairness.cli.gfst_data import open_held_out_pairs, open_test_set, open_texts, open_train
from hf_fairness.cli.hub import check_logins, more_artefacts, push_all, repositories
from hf_fairness.cli.parsing import parse
from hf_fairness.cli.show import print_report, quiet_unless_watched
from hf_fairness.cli.sources import check_models
from hf_fairness.utils import is_main_process

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
  the first stage alone (no model needed), then on to the filtered pairs:
    hf-fairness gfst --monolingual_dataset news.txt --until filter-source --output_dir out
  without any data or download:
    hf-fairness gfst --demo --output_dir out

No number of the report shows that a model is fair; read the control beside every gain.
"""

#: Settings of the training that `--help` shows beside those of the method.
COMMON = (
    "output_dir",
    "learning_rate",
    "warmup_steps",
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "seed",
    "use_cpu",
    "bf16",
    "push_to_hub",
    "hub_model_id",
    "hub_private_repo",
)

#: What can be pushed beside the model.
Artefacts = more_artefacts(
    pairs="the sentences of your monolingual text that were kept, and their translations, with all that they say"
)


def main(argv: Sequence[str]) -> dict[str, Any]:
    """Run the command; returns what the recipe returns."""
    from hf_fairness.cli.gfst_demo import DEMO
    from hf_fairness.trainers import GFSTArguments, GFSTConfig

    arguments, config, more = parse(
        [GFSTArguments, GFSTConfig, Artefacts],
        argv,
        prog="hf-fairness gfst",
        description=DESCRIPTION,
        positional="model_name_or_path",
        common=COMMON,
        epilog=EPILOG,
        defaults={"output_dir": "gfst"},
        demo=DEMO,
    )
    return run(arguments, config, more.push_artefacts)


def run(arguments: GFSTArguments, config: GFSTConfig, more: Sequence[str] | None = None) -> dict[str, Any]:
    """Open the data, run the recipe, print its table and where the files are, push if asked to."""
    from hf_fairness.trainers import run_gfst

    wanted = repositories(config, str(config.output_dir), more)
    if wanted and not arguments.wants("model"):
        raise ValueError(
            f"--until {arguments.until} ends the run before there is a model to push: leave out one of them."
        )
    check_logins(wanted, config.hub_token)
    if quiet_unless_watched():
        config.disable_tqdm = True
    if arguments.demo:
        from hf_fairness.cli.gfst_demo import demo_data

        arguments, data = demo_data(arguments, config)
    else:
        data = open_data(arguments, config)
    result = run_gfst(arguments, config=config, **data)
    if is_main_process():
        if "stages" in result:
            print_stages(result)
            return result
        print_report(result)
        result["urls"] = push_all(result["artefacts"], wanted, config)
    return result


def open_data(arguments: GFSTArguments, config: GFSTConfig) -> dict[str, Any]:
    """Everything that the arguments name, as `run_gfst` takes it; what the run does not come to is not opened."""
    a, late = arguments, arguments.wants("predict")
    if a.monolingual_dataset is None and a.until not in ("parallel", "start", "initial"):
        raise ValueError(
            "--monolingual_dataset is missing: a text file, table, saved data set or id to translate from."
        )
    check_models(model_name_or_path=a.model_name_or_path, reverse_model=a.reverse_model)
    languages = (a.source_lang, a.target_lang)
    sets = {  # first, as they cost little
        f"{name}_rows": open_test_set(name, source, languages) if source is not None and late else None
        for name, source in (("winomt", a.winomt), ("must_she", a.must_she))
    }
    texts = None
    if a.monolingual_dataset is not None:
        texts = open_texts(
            a.monolingual_dataset,
            column=a.monolingual_text_column,
            config=a.monolingual_config,
            split=a.monolingual_split,
        )
    return {
        "train": open_train(a, config) if a.dataset else None,
        "monolingual": texts,
        "validation": open_held_out_pairs(a, config, "validation") if a.wants("initial") else None,
        "test": open_held_out_pairs(a, config, "test") if late else None,
        **sets,
    }


def print_stages(result: dict[str, Any]) -> None:
    """Print what the stages counted, for a run that ended early."""
    from hf_fairness.report.gfst_record import kept_table
    from hf_fairness.results import columns

    print(*columns(kept_table(result)), sep="\n")
    print()
    for name, path in result["stages"].items():
        print(f"{name:>20}  {path}")
