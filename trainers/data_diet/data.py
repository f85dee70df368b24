"""The texts of a data-diet search: training, validation and test texts with counterfactuals, and texts of groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from pandas import DataFrame, Series

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.attributes.names import names_option, with_names
from hf_fairness.augment import CounterfactualSwap, RemoveTerms, SwapQuality
from hf_fairness.maps import row_draw
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.refine import balance
from hf_fairness.rows import column_names, column_values
from hf_fairness.runs import content_key
from hf_fairness.scores.class_labels import Label, class_names, places, read_labels, refuse_numbers
from hf_fairness.scores.labels import Bools
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.data_diet.arguments import DataDietArguments

Rows = NDArray[np.intp]
_WORDS = re.compile(r"[^\W\d_]+")
#: Part of the training texts that is held out where no validation or test set is given: in it, every label and group
#: has its share.
HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class DietData:
    """Everything that a search reads.

    A set is a table with a row for each text: ``text``; ``label``: number of its class; ``truth``: whether that is the
    positive one; ``about``: the group that most of its group words belong to, "neutral" where none is, of texts of
    groups their own. But for these a text has a ``counterfactual`` (itself where there is none to use), ``changed``
    says whether it is another text, and ``place`` which of the two groups that swaps lead between the text is about:
    0, or 1 where it is its counterfactual that is about the first; -1 where the swap changes no majority of group
    words, or nothing.

    Training rows are numbered in one pool: the n texts, their n counterfactuals, and the n texts without terms.

    Attributes:
        train: what is trained on.
        validation: what fractions are chosen on.
        test: what is reported on.
        groups: different texts about different groups, for the group metrics; None where there are none.
        counts: for the report: by set sizes, where the counterfactuals come from ("given" or "swapped"), how many swaps
            the quality filter left out, and what the two texts of a pair are called.
        classes: names of the labels.
        positive: place of the positive class.
        attribute: whose terms are swapped.
        names: whether given names are swapped too.
    """

    train: DataFrame
    validation: DataFrame
    test: DataFrame
    groups: DataFrame | None
    counts: dict[str, Any]
    classes: list[str]
    positive: int
    attribute: Attribute
    names: bool

    @property
    def n(self) -> int:
        """Number of factual training examples."""
        return len(self.train)

    @cached_property
    def pool(self) -> list[str]:
        """Texts of all training rows."""
        return [*self.train.text, *self.train.counterfactual, *self.blind(self.train.text)]

    @cached_property
    def pool_labels(self) -> NDArray[np.int64]:
        """Class of every row of the pool."""
        return np.tile(self.train.label, 3)

    def measured(self, *, blind: bool = False) -> dict[str, list[str]]:
        """Texts that models are measured on, by name; for a blind model without the attribute's terms."""
        found = {
            "validation": self.validation.text,
            "validation_counterfactual": self.validation.counterfactual,
            "test": self.test.text,
            "test_counterfactual": self.test.counterfactual,
            **({} if self.groups is None else {"groups": self.groups.text}),
        }
        return {name: self.blind(texts) if blind else list(texts) for name, texts in found.items()}

    def blind(self, texts: Iterable[str]) -> list[str]:
        """The texts without terms of the attribute."""
        remove = RemoveTerms("text", attribute=self.attribute, names=self.names)
        return list(remove({"text": list(texts)})["text_blind"])

    def distinct_texts(self) -> list[str]:
        """Every text that a search on frozen features reads, once, in an order that depends on the texts only."""
        return sorted(set(self.pool).union(*self.measured().values(), *self.measured(blind=True).values()))

    def measured_key(self) -> str:
        """Content key of what models are measured on, and by what."""
        tables = [table for table in (self.validation, self.test, self.groups) if table is not None]
        by = [self.attribute.digest, self.names, self.positive]
        return content_key([table.to_dict("list") for table in tables], by)

    def substituted(self, seed: int) -> Rows:
        """Rows of counterfactual data substitution: every second text with a counterfactual gives way to it."""
        drawn = [row_draw(seed, text) < 0.5 for text in self.train.text]
        return np.arange(self.n) + self.n * (self.train.changed.to_numpy() & drawn)

    def balanced(self, seed: int) -> Rows:
        """Rows with as many texts of every group within each label: those of smaller groups are repeated."""
        chosen = balance(
            Dataset.from_dict({**self.train[["text", "label"]], "row": np.arange(self.n)}),
            text_columns="text",
            within="label",
            method="up",
            attribute=self.attribute,
            seed=seed,
        )
        return np.array(chosen["row"][:], dtype=np.intp)


def prepare(
    arguments: DataDietArguments,
    train: Dataset,
    *,
    text_column: str = "text",
    validation: Dataset | None = None,
    test: Dataset | None = None,
    group_dataset: Dataset | None = None,
) -> DietData:
    """Make the counterfactuals and number the labels.

    Args:
        arguments: columns, attribute, names, ``max_rows``, and the seed of the split.
        train: training texts; without the other sets, a tenth of every label and group is held out for each.
        text_column: column of the texts, in all sets.
        validation: texts to choose fractions on.
        test: texts to report on.
        group_dataset: texts of different groups with the columns of texts, labels and groups.

    Returns:
        The data.

    Raises:
        ValueError: a missing column, labels that are missing or unknown, one class only, no text with terms.
    """
    a = arguments
    attribute, names = with_names(load_attribute(a.attribute, language=a.language), names_option(a.names))
    if a.max_rows is not None:
        train = train.select(range(min(len(train), a.max_rows)))
    given = {"train": train, "validation": validation, "test": test, "group": group_dataset}
    sets = {name: rows for name, rows in given.items() if rows is not None}
    classes, positive, numbers = _number_labels(sets, a)
    tables = {}
    for name, rows in sets.items():
        texts = [str(text) for text in _column(rows, text_column, name, "--text_column")]
        tables[name] = DataFrame({"text": texts, "label": numbers[name], "truth": numbers[name] == positive})
        if name == "group":
            about = map(str, _labels(rows, a.group_column, name, "--group_column"))
        else:
            about = map(attribute.polarity, texts)
        tables[name]["about"] = list(about)
    groups = tables.pop("group", None)
    parts = {name: (name, np.arange(len(table))) for name, table in tables.items()}
    if missing := [name for name in ("validation", "test") if name not in sets]:
        strata = tables["train"].label.astype(str) + " " + tables["train"].about
        parts |= {name: ("train", rows) for name, rows in _hold_out(strata, missing, a.seed).items()}
    splits: dict[str, DataFrame] = {}
    counts: dict[str, Any] = {}
    for name, (source, rows) in parts.items():
        splits[name], counts[name] = _with_counterfactuals(
            tables[source].iloc[rows].reset_index(drop=True),
            sets[source].select(rows),
            a.counterfactual_column,
            text_column=text_column,
            attribute=attribute,
            names=names,
        )
    counts["groups"] = None if groups is None else {"n": len(groups)}
    counts |= {"classes": classes, "positive_label": classes[positive]}
    return DietData(
        **splits, groups=groups, counts=counts, classes=classes, positive=positive, attribute=attribute, names=names
    )


def _hold_out(strata: Sequence[str], missing: Sequence[str], seed: int) -> dict[str, Rows]:
    """Rows of the parts that are held out, and of the rest as ``train``: each with its share of every stratum.

    Rows of a stratum, in random order, are spread evenly over an order of all; a run of this order holds as many of a
    stratum as its share, to within one row.
    """
    _, kind, counts = np.unique(strata, return_inverse=True, return_counts=True)
    draws = generator(seed, "held out").permutation(len(strata))
    together = np.argsort(kind[draws], kind="stable")
    spread = np.concatenate([(np.arange(n) + 0.5) / n for n in counts])
    order, size = draws[together[np.lexsort((together, spread))]], max(1, round(HELD_OUT * len(strata)))
    ends = size * np.arange(1, len(missing) + 1)
    return dict(zip((*missing, "train"), map(np.sort, np.split(order, ends)), strict=True))


def _column(rows: Dataset, column: str, name: str, flag: str) -> list[Any]:
    """Values of a column; an error names the flag that names another."""
    return column_values(rows, column_names(rows, column, f"The {name} set", flag)[0])


def _labels(rows: Dataset, column: str, name: str, flag: str = "--label_column") -> list[Label]:
    values, names = _column(rows, column, name, flag), getattr(rows.features[column], "names", None)
    return read_labels(values, f"Column {column!r} of the {name} set", names=names)


def _number_labels(
    sets: Mapping[str, Dataset], arguments: DataDietArguments
) -> tuple[list[str], int, dict[str, NDArray[np.int64]]]:
    """Names of the classes of the training texts, place of the positive one, and the labels of each set as numbers."""
    column = arguments.label_column
    labels = {name: _labels(rows, column, name) for name, rows in sets.items()}
    stated = getattr(sets["train"].features[column], "names", None)
    occurring = class_names(labels["train"])
    classes = [name for name in stated or occurring if name in occurring]
    if len(classes) < 2:
        raise ValueError(f"Column {column!r} holds {len(classes)} kinds of labels; a classifier needs two or more.")
    positive = _positive(classes, stated, arguments.positive_label)
    numbers = {}
    for name, found in labels.items():
        what = f"Column {column!r} of the {name} set"
        if stated is None:
            refuse_numbers(found, classes, what)
        numbers[name] = places(found, classes, what)
    return classes, positive, numbers


def _positive(classes: list[str], stated: Sequence[str] | None, wanted: str | None) -> int:
    """Place of the positive class; of a ClassLabel its number names it too."""
    if wanted is None and len(classes) > 2:
        raise ValueError(f"With the labels {', '.join(classes)}, say which is positive: --positive_label.")
    known = {str(number): name for number, name in enumerate(stated or ())} | {name: name for name in classes}
    name = classes[-1] if wanted is None else known.get(wanted)
    if name not in classes:
        raise ValueError(f"--positive_label is {wanted!r}; the labels are {', '.join(classes)}.")
    return classes.index(name)


def _with_counterfactuals(
    table: DataFrame, rows: Dataset, column: str | None, *, text_column: str, attribute: Attribute, names: bool
) -> tuple[DataFrame, dict[str, Any]]:
    """A set with its counterfactuals, those that its rows have or swaps that the quality filter accepts; and counts."""
    origin = "given"
    if column is None or column not in rows.column_names:
        origin, column = "swapped", f"{text_column}{CounterfactualSwap.suffix}"
        rows = rows.select_columns([text_column])
        for rule, what in ((CounterfactualSwap, "Swapping group words"), (SwapQuality, "Judging swaps")):
            rows = rows.map(rule(text_column, attribute=attribute, names=names), batched=True, desc=what)
    pairs = read_pairs(rows, text_column=text_column, counterfactual_column=column, label_column=None)
    others = table.text.where(~pairs.changed, column_values(rows, column))
    versions, place = _versions(table.about, others.map(attribute.polarity), pairs.changed, attribute.group_names)
    rejected = column_values(rows, "rejected_reason") if "rejected_reason" in rows.column_names else []
    counts = {
        "n": pairs.n,
        "n_changed": int(pairs.changed.sum()),
        "changed_share": float(pairs.changed.mean()),
        "counterfactuals": origin,
        "n_rejected_swaps": sum(map(bool, rejected)),
        "versions": versions,
        "n_versions": int((place >= 0).sum()),
        "labels": np.bincount(table.label).tolist(),
    }
    return table.assign(counterfactual=others, changed=pairs.changed, place=place), counts


def _versions(about: Series, other: Series, changed: Bools, groups: Sequence[str]) -> tuple[list[str], NDArray[Any]]:
    """Names of the versions, and which of them each text is, by the group that most of its terms belong to.

    The names are those of the two groups that swaps lead between, or else "original" and "counterfactual".
    """
    leads = changed & (about != other) & about.isin(groups) & other.isin(groups)
    two = sorted({*about[leads], *other[leads]})
    if len(two) != 2:
        return ["original", "counterfactual"], np.where(changed, 0, -1)
    return two, np.where(leads, about == two[1], -1)


def statistics(diet: DietData) -> dict[str, dict[str, Any]]:
    """What the sets are made of.

    Args:
        diet: the texts.

    Returns:
        By set ``n`` texts, ``positive_share``, ``pronouns`` (how many words of the texts are a pronoun of each group),
        ``about`` (texts whose group words are mostly of a group) and ``positive_about`` (share of positives among
        these, None of none); of the texts of groups their own groups instead.

    Source: Zayed et al. 2023, table 1.
    """
    sets = {"train": diet.train, "validation": diet.validation, "test": diet.test, "groups": diet.groups}
    return {name: _describe(table, diet.attribute) for name, table in sets.items() if table is not None}


def _describe(table: DataFrame, attribute: Attribute) -> dict[str, Any]:
    counts = Counter(word for text in table.text for word in _WORDS.findall(text.lower()))
    pronouns = Counter[str]()
    for group, form in {(each.group, form.lower()) for each in attribute.paradigms for form in each.forms.values()}:
        pronouns[group] += counts[form]
    groups = [name for name in dict.fromkeys([*attribute.group_names, *table.about]) if name != NEUTRAL]
    truth = {name: table.truth[table.about == name] for name in groups}
    return {
        "n": len(table),
        "positive_share": float(table.truth.mean()),
        "pronouns": {name: pronouns[name] for name in attribute.group_names if name in pronouns},
        "about": {name: len(rows) for name, rows in truth.items()},
        "positive_about": {name: float(rows.mean()) if len(rows) else None for name, rows in truth.items()},
    }
