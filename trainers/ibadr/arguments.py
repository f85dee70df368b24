"""What the IBADR pipeline is told beside the settings of the method; `hf-fairness ibadr` parses it from flags."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from hf_fairness.arguments import DataArguments, ExperimentArguments, HeldOutArguments, LabelArguments
from hf_fairness.utils import refuse_any

#: What ``--arms`` takes, by the table of Wang et al. 2023 that has it; the filters are ours.
TABLES = {
    "table 3": ("reweight", "confreg", "dct", "crossaug", "z_filter"),
    "table 4": ("poe", "ibadr_poe", "z_filter_poe"),
    "table 5": (
        *("without_update", "lowest_indicator", "without_update_lowest", "without_indicators", "without_rounds"),
    ),
    "the filter": ("without_filter", "biased_filter"),
    "table 6": ("text_swap", "synonyms", "mlm", "paraphrase"),
}
CHOICES = tuple(name for names in TABLES.values() for name in names)
#: Those whose rows are generated in rounds: they need what a run on a given pool does not do.
IN_ROUNDS = ("ibadr_poe", "z_filter", "z_filter_poe", *TABLES["table 5"], *TABLES["the filter"])


@dataclass
class IBADRArguments(DataArguments, HeldOutArguments, LabelArguments, ExperimentArguments):
    """What `hf-fairness ibadr` needs beside the settings of the method: data, models, and what to run."""

    model_name_or_path: str = field(
        default="", metadata={"help": "The classifier to train: an id on the Hub or a local folder."}
    )
    generator_model: str = field(
        default="gpt2",
        metadata={
            "help": "Causal language model that writes samples: an id or a folder. The paper: gpt2-large; our "
            "default is the small one."
        },
    )
    shallow_model: str | None = field(
        default=None,
        metadata={
            "help": "Model of the shallow classifier: id or folder. The paper: gpt2-large; our default: that of the "
            "classifier."
        },
    )
    judge_model: str | None = field(
        default=None,
        metadata={"help": "Classifier that says what label a sample has, for the guard; default: the base model."},
    )
    text_column: list[str] | None = field(
        default=None, metadata={"help": "One or two columns of texts; default: `premise` and `hypothesis`, or `text`."}
    )
    class_names: list[str] | None = field(
        default=None, metadata={"help": "Names of the labels in the order of their numbers, where the data lack them."}
    )
    hypothesis_first: bool = field(
        default=False,
        metadata={"help": "The first text column is the claim or hypothesis (for challenge sets)."},
    )
    challenge: list[str] | None = field(
        default=None,
        metadata={
            "help": "Challenge sets as NAME=PLACE or NAME:TITLE=PLACE: hans, fever_symmetric, scramble, "
            "nli_adversarial, each as its authors' file or as build-dataset wrote it; or `own`: rows with the columns "
            "and labels of the data set."
        },
    )
    pool: list[str] | None = field(
        default=None,
        metadata={
            "help": "Train on pools that were made before, in the place of the rounds, and generate nothing (table 7): "
            "the output folder of another run, or rows as --dataset with the columns and labels of the data. PLACE, or "
            "NAME=PLACE where there are several."
        },
    )
    arms: list[str] | None = field(
        default=None,
        metadata={
            "help": "Further models to train beside base, IBADR and control: "
            + "; ".join(f"{', '.join(names)} ({table})" for table, names in TABLES.items())
            + "; `none` for none, the default."
        },
    )
    poe: bool = field(default=False, metadata={"help": "The same as --arms poe ibadr_poe."})
    wordnet: str | None = field(
        default=None, metadata={"help": "Folder of WordNet for the arm synonyms; default: the one that nltk finds."}
    )
    masked_model: str | None = field(
        default=None,
        metadata={"help": "Masked language model of the arm mlm: id or folder (such as bert-base-uncased)."},
    )
    forward_model: str | None = field(
        default=None,
        metadata={"help": "Translation model of the arm paraphrase, into the other language: id or folder."},
    )
    backward_model: str | None = field(
        default=None, metadata={"help": "Model of the arm paraphrase back: an id or a folder."}
    )
    probe: bool = field(
        default=True, metadata={"help": "Train a model on part of the input, for pairs, before and after."}
    )
    added_sizes: list[int] | None = field(
        default=None,
        metadata={"help": "Train further final models, each on this many random rows of those added (table 9)."},
    )
    demo: bool = field(
        default=False,
        metadata={"help": "Run on a small world written for this package, with tiny models: no download, minutes."},
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: sizes below 1, an unknown arm, pools beside rounds, more than two columns of texts, or as the
                parents.
        """
        super().__post_init__()
        self.check_experiment()
        self.arms = [name.replace("-", "_") for name in self.arms or () if name != "none"] or None
        titles = [title for title, _ in self.pools]
        in_rounds = [name for name in self.chosen_arms if name in IN_ROUNDS]
        in_rounds += ["--added_sizes"] if self.added_sizes else []
        refuse_any(
            {
                f"--added_sizes is {self.added_sizes}, expected numbers of 1 or more.": (
                    any(size < 1 for size in self.added_sizes or [])
                ),
                **{
                    f"--arms has {name!r}, expected some of {', '.join(CHOICES)}.": name not in CHOICES
                    for name in self.arms or ()
                },
                **{
                    f"--pool has the name {title!r}, expected letters, digits and _, each name once: --pool a=PLACE "
                    "b=PLACE.": titles.count(title) > 1 or not re.fullmatch(r"\w*", title)
                    for title in titles
                },
                **{
                    f"--pool takes the place of the rounds, which {name} needs: leave one of them out.": self.pool
                    for name in in_rounds
                },
                f"--text_column is {self.text_column}, expected one or two columns.": (
                    self.text_column is not None and len(self.text_column) not in (1, 2)
                ),
            }
        )

    @property
    def chosen_arms(self) -> tuple[str, ...]:
        """Models beside the usual ones, each once."""
        return tuple(dict.fromkeys([*(("poe", "ibadr_poe") if self.poe else ()), *(self.arms or ())]))

    @property
    def pools(self) -> list[tuple[str, str]]:
        """Name, if any, and place of each pool that was made before."""
        cut = [("", "", text) if Path(text).exists() else text.partition("=") for text in self.pool or ()]
        return [(title, place) if mark else ("", title + place) for title, mark, place in cut]
