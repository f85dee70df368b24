"""`hf-fairness ccd`: mitigate a text encoder with content-conditional debiasing, audit it before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_fairness.arguments import Command
from hf_fairness.sources import has_variants, one_text_column, open_dataset, open_rows, open_variants

if TYPE_CHECKING:
    from hf_fairness.trainers import CCDArguments, CCDConfig

DESCRIPTION = """Make an encoder keep equal distances between the versions of a text about each group and its neutral
version (content-conditional debiasing, Deng et al. 2024). Measures bias and utility before and after, beside a control,
and writes OUTPUT_DIR/report (HTML, JSON, Markdown) and OUTPUT_DIR/model (opens with SentenceTransformer or AutoModel).
A killed run goes on where it stopped. On several processes: torchrun --nproc_per_node 2 $(which hf-fairness) ccd ..."""


def run(arguments: CCDArguments, config: CCDConfig, **data: Any) -> dict[str, Any]:
    """Carry it out; the recipe is loaded when it runs."""
    from hf_fairness.trainers import run_ccd

    return run_ccd(arguments, config, **data)


def open_data(arguments: CCDArguments, config: CCDConfig) -> dict[str, Any]:
    """Texts to train on, or variants of them, and what is measured on beside the built-in sets."""
    from hf_fairness.attributes import load_attribute

    groups = load_attribute(arguments.attribute, language=arguments.language).group_names
    rows = open_rows(arguments)
    ready = has_variants(rows, config.group_columns or groups, config.neutral_column) and not arguments.text_column
    return {
        "rows": rows,
        "text_column": None if ready else one_text_column(rows, arguments),
        "variants": open_variants(arguments.variants, groups),
        "sts_pairs": None if arguments.sts_pairs is None else open_dataset(arguments.sts_pairs),
    }


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:CCDArguments",
    config="hf_fairness.trainers:CCDConfig",
    run=run,
    open_data=open_data,
    artefacts={
        "variants": "the texts of your data that hold terms, in the versions of each group, with all that they say"
    },
    common=("max_steps", "per_device_eval_batch_size"),
)
