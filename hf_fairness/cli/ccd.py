"""`hf-fairness ccd`: from texts and an encoder to a mitigated encoder with a card that says what changed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_fairness.cli.data import has_variants, one_text_column, open_dataset, open_rows, open_variants
from hf_fairness.cli.hub import check_logins, more_artefacts, push_all, repositories
from hf_fairness.cli.parsing import parse
from hf_fairness.cli.show import print_report
from hf_fairness.cli.sources import check_models
from hf_fairness.utils import is_main_process

if TYPE_CHECKING:
    from hf_fairness.trainers import CCDArguments, CCDConfig

logger = logging.getLogger(__name__)

DESCRIPTION = """Make an encoder keep equal distances between the versions of a text about each group and its neutral
version (content-conditional debiasing, Deng et al. 2024). Measures bias and utility before and after, beside a control,
and writes OUTPUT_DIR/report (HTML, JSON, Markdown) and OUTPUT_DIR/model (opens with SentenceTransformer or AutoModel).
A killed run goes on where it stopped. On several processes: torchrun --nproc_per_node 2 $(which hf-fairness) ccd ..."""

#: Settings of the Trainer that `--help` shows beside those of the method.
COMMON = (
    "output_dir",
    "learning_rate",
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
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
    variants="the texts of your data that hold terms, in the versions of each group, with all that they say"
)


def main(argv: Sequence[str]) -> dict[str, Any]:
    """Run the command; returns what the pipeline returns."""
    from hf_fairness.trainers import CCDArguments, CCDConfig

    arguments, config, more = parse(
        [CCDArguments, CCDConfig, Artefacts], argv, prog="hf-fairness ccd", description=DESCRIPTION, common=COMMON
    )
    return run(arguments, config, more.push_artefacts)


def run(arguments: CCDArguments, config: CCDConfig, more: Sequence[str] | None = None) -> dict[str, Any]:
    """Open the data, run the pipeline, print what changed, push if asked to."""
    from hf_fairness.attributes import load_attribute
    from hf_fairness.trainers import run_ccd

    wanted = repositories(config, str(config.output_dir), more)
    check_logins(wanted, config.hub_token)
    groups = load_attribute(arguments.attribute, language=arguments.language).group_names
    rows = open_rows(arguments)
    check_models(model_name_or_path=arguments.model_name_or_path)
    columns = config.group_columns or groups
    ready = not arguments.text_column and has_variants(rows, columns, config.neutral_column)
    result = run_ccd(
        arguments,
        config,
        rows,
        text_column=None if ready else one_text_column(rows, arguments),
        variants=open_variants(arguments.variants, groups),
        sts_pairs=None if arguments.sts_pairs is None else open_dataset(arguments.sts_pairs),
    )
    if is_main_process():
        print_report(result)
        result["urls"] = push_all(result["artefacts"], wanted, config)
    return result
