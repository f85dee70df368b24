"""What commands that change an encoder open; a command is declared without the libraries that its run needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_fairness.sources import has_variants, one_text_column, open_dataset, open_rows, open_variants

if TYPE_CHECKING:
    from hf_fairness.trainers.training.encoder import EncoderConfig
    from hf_fairness.trainers.training.encoder_method import EncoderArguments

#: What can be pushed beside a changed encoder, and what becomes public with it.
VARIANTS = {"variants": "the texts of your data that hold terms, in the versions of each group, with all that they say"}


def open_data(arguments: EncoderArguments, config: EncoderConfig) -> dict[str, Any]:
    """Texts to train on, or variants of them, and what is measured on beside the built-in sets."""
    from hf_fairness.attributes import load_attribute
    from hf_fairness.trainers.training.benchmarks import open_benchmarks, read_benchmarks
    from hf_fairness.trainers.training.utility import open_utility, read_utility

    attribute = load_attribute(arguments.attribute, language=arguments.language)
    groups, benchmarks = attribute.group_names, open_benchmarks(arguments)
    read_benchmarks(arguments, attribute, benchmarks)  # what is wrong with them is said at once
    utility = open_utility(arguments)
    read_utility(arguments, utility)
    rows = open_rows(arguments)
    ready = has_variants(rows, config.group_columns or groups, config.neutral_column) and not arguments.text_column
    return {
        "rows": rows,
        "text_column": None if ready else one_text_column(rows, arguments),
        "variants": open_variants(arguments.variants, groups),
        "sts_pairs": None if arguments.sts_pairs is None else open_dataset(arguments.sts_pairs),
        **benchmarks,
        **utility,
    }
