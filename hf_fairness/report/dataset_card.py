"""The card of a data set that was made from another one: what was done, how many rows it touched, what is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import hf_fairness
from hf_fairness.attributes import Attribute
from hf_fairness.report.render import render
from hf_fairness.results import leaves

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard

#: Upper ends of the Hub's size categories.
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))


@dataclass(frozen=True)
class Derivation:
    """How a data set was made.

    Attributes:
        name: name of the new data set.
        method: name of the method.
        summary: what the method does.
        source: data set it was made from: Hub id, or a file or folder, of which only the last part is shown.
        split: split of the source, and of the result.
        columns: text columns that were read.
        options: name -> value of what was set.
        counts: name -> number, or name -> mapping of numbers, in the order to show.
        n_rows: rows of the result.
        attribute: whose terms were used; None where no attribute matters.
        names: whether given names counted as terms.
        reference: the papers.
        example: label -> text of one row before and after.
        limits: what to know of this method.
        licence: of the result, as the Hub spells it; None says that the source's terms hold.
        versions: package -> version.
        repo_id: where it is published, for the code that loads it; "" means the folder that the card is in.
        saved: whether that folder is one of ``Dataset.save_to_disk``.
        bias: what is known of models trained on it, as Markdown; "" where nothing is.
        meanings: column -> what it holds, for columns whose names do not say it.
    """

    name: str
    method: str
    summary: str
    source: str
    split: str
    columns: Sequence[str]
    options: Mapping[str, Any]
    counts: Mapping[str, Any]
    n_rows: int
    attribute: Attribute | None = None
    names: bool = False
    reference: str = ""
    example: Mapping[str, str] = field(default_factory=dict)
    limits: Sequence[str] = ()
    licence: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    repo_id: str = ""
    saved: bool = False
    bias: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)


def size_category(n_rows: int) -> str:
    """The Hub's name for a number of rows."""
    return next((name for end, name in _SIZES if n_rows < end), "n>10M")


def data_file(split: str, index: int = 0, number: int = 1) -> str:
    """Path inside the data set, as the Hub names it, of a split's file: the only one, or one of several."""
    return f"data/{split}-{index:05d}-of-{number:05d}.parquet"


def dataset_card(made: Derivation) -> DatasetCard:
    """Write the card.

    Names and texts from the data are escaped; of a local path only the last part is shown. The front matter lists
    no data files: ``load_dataset`` finds :func:`data_file` by its name, and with a list it would take the rows of an
    earlier version of the folder from its cache.

    Args:
        made: how the data set was made.

    Returns:
        A ``huggingface_hub.DatasetCard``; ``card.save("README.md")`` or ``card.push_to_hub(repo_id)``.

    Example:
        >>> made = Derivation("d", "swap", "swaps", "corpus.csv", "train", ["text"], {}, {"rows in": 2}, 2)
        >>> card = dataset_card(made)
        >>> card.data.tags, "rows in" in card.text
        (['hf-fairness'], True)
    """
    from huggingface_hub import DatasetCard, DatasetCardData

    data = DatasetCardData(
        pretty_name=made.name,
        language=[made.attribute.language] if made.attribute else None,
        license=made.licence,
        tags=["hf-fairness"],
        size_categories=[size_category(made.n_rows)],
    )
    function, folder = ("load_from_disk", ".") if made.saved else ("load_dataset", "./data")
    body = render(
        "dataset.md",
        made=made,
        repo_id=made.repo_id,
        load=f'from datasets import {function}\n\nrows = {function}("{made.repo_id or folder}")',
        counts=flat_counts(made.counts),
        version=hf_fairness.__version__,
    )
    return DatasetCard(f"---\n{data.to_yaml()}\n---\n\n{body}")


def flat_counts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Counts as lines of label and number, nested ones with the label of their group before them."""
    return [
        (name, f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in leaves(values, ": ", lambda key, value: False)
    ]
