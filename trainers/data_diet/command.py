"""`hf-fairness data-diet`: find the part of a training set that makes a classifier fairer at a bounded loss of AUC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_fairness.arguments import Command
from hf_fairness.sources import one_text_column, open_held_out, open_named, open_rows

if TYPE_CHECKING:
    from hf_fairness.trainers import DataDietArguments

DESCRIPTION = """Find which part of a training set, and of its counterfactuals, makes a text classifier fairer at a
bounded loss of AUC (Zayed et al. 2023, Deep Learning on a Healthy Data Diet). Swaps the group words of every text,
scores the examples over short runs, trains every cell of a grid of shares and rankings for several seeds, chooses on
validation texts and reports on test texts, beside CDA, CDS, blindness, balancing and the vanilla model. Writes
OUTPUT_DIR/report (HTML, JSON, Markdown, figures) and OUTPUT_DIR/model. A killed run goes on at the first cell that is
not finished."""

EPILOG = """examples:
  a grid on frozen features, on a laptop:
    hf-fairness data-diet sentence-transformers/all-MiniLM-L6-v2 --dataset tweets.csv --output_dir out
  with sets of your own and group metrics on templates:
    hf-fairness data-diet MODEL --dataset train.csv --validation_dataset dev.csv --test_dataset test.csv \\
        --group_dataset templates.csv --group_column gender
  comments and IPTTS as `hf-fairness build-dataset` writes them:
    hf-fairness data-diet MODEL --dataset jigsaw_unintended_bias --text_column text --test_split test_public \\
        --positive_label toxic --group_dataset iptts --group_split test --group_column group
  fine-tuning LoRA adapters in every cell, on a GPU, experiment 2 only:
    hf-fairness data-diet roberta-base --dataset train.csv --mode full --use_peft --experiments 2 --n_seeds 5

No number of the report shows that a model is fair; read flip rate, positive rate and AUC beside each parity.
"""


def run(arguments: DataDietArguments, hub: Any, **data: Any) -> dict[str, Any]:
    """Carry it out; the method is loaded when it runs."""
    from hf_fairness.trainers import run_data_diet

    return run_data_diet(arguments, **data)


def open_data(arguments: DataDietArguments, hub: Any) -> dict[str, Any]:
    """Rows to train on, to choose on and to report on, and texts about different groups."""
    train = open_rows(arguments)
    return {
        "train": train,
        "text_column": one_text_column(train, arguments),
        "validation": open_held_out(arguments, arguments, "validation"),
        "test": open_held_out(arguments, arguments, "test"),
        "group_dataset": open_named("group", arguments.group_dataset, arguments.group_config, arguments.group_split),
    }


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:DataDietArguments",
    run=run,
    open_data=open_data,
    artefacts={"rows": "the texts that the model was trained on, with their labels and their counterfactuals"},
    epilog=EPILOG,
)
