"""The texts of a data-diet search: training, validation and test texts with counterfactuals, and texts of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.names import names_option, with_names
from hf_fairness.augment import CounterfactualSwap, RemoveTerms, SwapQuality
from hf_fairness.maps import row_draw
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.refine import balance
from hf_fairness.rows import column_values
from hf_fairness.runs import content_key
from hf_fairness.scores.class_labels import Label, class_names, places, read_labels
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.data_diet.arguments import DataDietArguments

Rows = NDArray[np.intp]
#: Part of the training texts that is held out where no validation or test set is given: in it, every label and group
#: has its share.
HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class Split:
    """Texts of one split.

    Attributes:
        texts: shape (n,).
        counterfactuals: of each text; the text itself where there is none to use.
        changed: whether there is one.
        labels: class numbers.
        source: where the counterfactuals come from: "given" or "swapped".
        n_rejected: swaps that the quality filter left out.
        versions: what the two texts of a pair are called: the two groups that swaps lead between, or else "original"
            and "counterfactual".
        place: per example 0 where the text is the first of these versions, 1 where its counterfactual is; -1 where the
            swap changes no majority of group words, or nothing.
    """

    texts: list[str]
    counterfactuals: list[str]
    changed: NDArray[np.bool_]
    labels: NDArray[np.int64]
    source: str
    n_rejected: int
    versions: tuple[str, str]
    place: NDArray[np.int64]

    def counts(self) -> dict[str, Any]:
        """Numbers for the report."""
        return {
            "n": len(self.texts),
            "n_changed": int(self.changed.sum()),
            "changed_share": float(self.changed.mean()),
            "counterfactuals": self.source,
            "n_rejected_swaps": self.n_rejected,
            "versions": list(self.versions),
            "n_versions": int((self.place >= 0).sum()),
            "labels": np.bincount(self.labels).tolist(),
        }


@dataclass(frozen=True, eq=False)
class GroupTexts:
    """Different texts about different groups, for the group metrics."""

    texts: list[str]
    groups: NDArray[Any]
    labels: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DietData:
    """Everything that a search reads.

    Training rows are numbered in one pool: the n texts, their n counterfactuals, and the n texts without terms.
    """

    train: Split
    validation: Split
    test: Split
    groups: GroupTexts | None
    classes: list[str]
    positive: int
    attribute: Attribute
    names: bool

    @property
    def n(self) -> int:
        """Number of factual training examples."""
        return len(self.train.texts)

    def counts(self) -> dict[str, Any]:
        """Sizes of the sets, and labels."""
        return {
            **{name: getattr(self, name).counts() for name in ("train", "validation", "test")},
            "groups": None if self.groups is None else {"n": len(self.groups.texts)},
            "classes": self.classes,
            "positive_label": self.classes[self.positive],
        }

    @cached_property
    def pool(self) -> list[str]:
        """Texts of all training rows."""
        return [*self.train.texts, *self.train.counterfactuals, *self.blind(self.train.texts)]

    @cached_property
    def pool_labels(self) -> NDArray[np.int64]:
        """Class of every row of the pool."""
        return np.tile(self.train.labels, 3)

    def measured(self, *, blind: bool = False) -> dict[str, list[str]]:
        """Texts that models are measured on, by name; for a blind model without the attribute's terms."""
        found = {
            "validation": self.validation.texts,
            "validation_counterfactual": self.validation.counterfactuals,
            "test": self.test.texts,
            "test_counterfactual": self.test.counterfactuals,
            **({} if self.groups is None else {"groups": self.groups.texts}),
        }
        return {name: self.blind(texts) for name, texts in found.items()} if blind else found

    def blind(self, texts: Sequence[str]) -> list[str]:
        """The texts without terms of the attribute."""
        removal = RemoveTerms("text", attribute=self.attribute, names=self.names)
        return list(removal({"text": list(texts)})["text_blind"])

    def distinct_texts(self) -> list[str]:
        """Every text that a search on frozen features reads, once, in an order that depends on the texts only."""
        columns = [self.pool, *self.measured().values(), *self.measured(blind=True).values()]
        return sorted(set().union(*columns))

    def measured_key(self) -> str:
        """Content key of what models are measured on, and by what."""
        splits = [[each.texts, each.counterfactuals, each.labels] for each in (self.validation, self.test)]
        groups = [] if self.groups is None else [self.groups.texts, self.groups.groups.tolist(), self.groups.labels]
        return content_key(*splits, groups, [self.attribute.digest, self.names, self.positive])

    def rows(self, factual: NDArray[np.bool_], counterfactual: NDArray[np.bool_]) -> Rows:
        """Rows of the pool for the examples and the counterfactuals that are kept."""
        return np.concatenate([np.flatnonzero(factual), self.n + np.flatnonzero(counterfactual & self.train.changed)])

    def substituted(self, seed: int) -> Rows:
        """Rows of counterfactual data substitution: every second text with a counterfactual gives way to it."""
        drawn = np.array([row_draw(seed, text) < 0.5 for text in self.train.texts])
        return np.arange(self.n) + self.n * (drawn & self.train.changed)

    def balanced(self, seed: int) -> Rows:
        """Rows with as many texts of every group within each label: those of smaller groups are repeated."""
        table = {"text": self.train.texts, "label": self.train.labels, "row": np.arange(self.n)}
        chosen = balance(
            Dataset.from_dict(table),
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
    attribute, names = with_names(
        load_attribute(arguments.attribute, language=arguments.language), names_option(arguments.names)
    )
    if arguments.max_rows is not None:
        train = train.select(range(min(len(train), arguments.max_rows)))
    sets = {"train": train, "validation": validation, "test": test}
    sets = {name: rows for name, rows in sets.items() if rows is not None}
    column = arguments.label_column
    labels = {name: _labels(rows, column, name) for name, rows in sets.items()}
    texts = {name: _column(rows, text_column, name, "--text_column") for name, rows in sets.items()}
    known = getattr(train.features[column], "names", None)
    occurring = class_names(labels["train"])
    classes = occurring if known is None else [name for name in known if name in occurring]
    if len(classes) < 2:
        raise ValueError(f"Column {column!r} holds {len(classes)} kinds of labels; a classifier needs two or more.")
    positive = _positive(classes, arguments.positive_label, known)
    numbers = {name: places(found, classes, f"Column {column!r} of the {name} set") for name, found in labels.items()}
    parts = {name: (name, np.arange(len(rows))) for name, rows in sets.items()}
    if missing := [name for name in ("validation", "test") if name not in sets]:
        about = [str(attribute.polarity(str(text))) for text in texts["train"]]
        strata = list(zip(numbers["train"].tolist(), about, strict=True))
        held_out = _hold_out(strata, missing, seed=arguments.seed)
        parts |= {name: ("train", chosen) for name, chosen in held_out.items()}
    splits = {
        name: _split(sets[source].select(rows), numbers[source][rows], text_column, attribute, names, arguments)
        for name, (source, rows) in parts.items()
    }
    groups = None
    if group_dataset is not None:
        members = _labels(group_dataset, arguments.group_column, "group", "--group_column")
        groups = GroupTexts(
            [str(text) for text in _column(group_dataset, text_column, "group", "--text_column")],
            np.array([str(group) for group in members]),
            places(_labels(group_dataset, column, "group"), classes, f"Column {column!r} of the group set"),
        )
    return DietData(**splits, groups=groups, classes=classes, positive=positive, attribute=attribute, names=names)


def _hold_out(strata: Sequence[Hashable], missing: Sequence[str], *, seed: int) -> dict[str, Rows]:
    """Rows of the parts that are held out, and of the rest as ``train``: each with its share of every stratum.

    Rows of a stratum, in random order, are spread evenly over an order of all; a run of this order holds as many of a
    stratum as its share, to within one row.
    """
    n = len(strata)
    draws, key, ranks = generator(seed, "held out").permutation(n), np.zeros(n), Counter[Hashable]()
    counts = Counter(strata)
    for row in draws.tolist():
        key[row] = (ranks[strata[row]] + 0.5) / counts[strata[row]]
        ranks[strata[row]] += 1
    order, size = draws[np.argsort(key[draws], kind="stable")], max(1, round(HELD_OUT * n))
    found = {name: np.sort(order[place * size : (place + 1) * size]) for place, name in enumerate(missing)}
    return {"train": np.sort(order[len(missing) * size :]), **found}


def _column(rows: Dataset, column: str, name: str, flag: str) -> list[Any]:
    """Values of a column; an error names the flag that names another."""
    if column not in rows.column_names:
        raise ValueError(
            f"The {name} set has no column {column!r}. Name one of its columns with {flag}: "
            f"{', '.join(rows.column_names)}."
        )
    return column_values(rows, column)


def _labels(rows: Dataset, column: str, name: str, flag: str = "--label_column") -> list[Label]:
    values = _column(rows, column, name, flag)
    return read_labels(
        values, f"Column {column!r} of the {name} set", names=getattr(rows.features[column], "names", None)
    )


def _positive(classes: Sequence[str], wanted: str | None, names: Sequence[str] | None) -> int:
    """Place of the positive class; of a ClassLabel its number names it too."""
    if wanted is None and len(classes) > 2:
        raise ValueError(f"With the labels {', '.join(classes)}, say which is positive: --positive_label.")
    wanted = classes[-1] if wanted is None else wanted
    if names is not None and wanted not in classes and wanted.isdecimal() and int(wanted) < len(names):
        wanted = names[int(wanted)]
    if wanted not in classes:
        raise ValueError(f"--positive_label is {wanted!r}; the labels are {', '.join(classes)}.")
    return list(classes).index(wanted)


def _split(
    rows: Dataset,
    labels: NDArray[np.int64],
    text_column: str,
    attribute: Attribute,
    names: bool,
    arguments: DataDietArguments,
) -> Split:
    """One set with its counterfactuals: those it has, or swaps that the quality filter accepts."""
    column = arguments.counterfactual_column
    given = column is not None and column in rows.column_names
    if not given:
        column = f"{text_column}_counterfactual"
        options: dict[str, Any] = {"attribute": attribute, "names": names}
        rows = rows.select_columns([text_column]).map(
            CounterfactualSwap(text_column, **options), batched=True, desc="Swapping group words"
        )
        rows = rows.map(SwapQuality(text_column, **options), batched=True, desc="Judging swaps")
    pairs = read_pairs(rows, text_column=text_column, counterfactual_column=column, label_column=None)
    texts = pairs.texts(rows)
    counterfactuals = list(texts)
    for place, text in zip(np.flatnonzero(pairs.changed), pairs.counterfactual_texts(rows), strict=True):
        counterfactuals[place] = text
    rejected = column_values(rows, "rejected_reason") if "rejected_reason" in rows.column_names else []
    return Split(
        texts,
        counterfactuals,
        pairs.changed,
        labels,
        "given" if given else "swapped",
        sum(map(bool, rejected)),
        *_versions(texts, counterfactuals, pairs.changed, attribute),
    )


def _versions(
    texts: Sequence[str], counterfactuals: Sequence[str], changed: NDArray[np.bool_], attribute: Attribute
) -> tuple[tuple[str, str], NDArray[np.int64]]:
    """Names of the versions, and which of them each text is, by the group that most of its terms belong to."""
    place = np.full(len(texts), -1, dtype=np.int64)
    rows = np.flatnonzero(changed).tolist()
    pairs = [(attribute.polarity(texts[row]), attribute.polarity(counterfactuals[row])) for row in rows]
    names = attribute.group_names
    clear = [first != second and first in names and second in names for first, second in pairs]
    groups = sorted({group for pair, is_clear in zip(pairs, clear, strict=True) if is_clear for group in pair})
    if len(groups) != 2:
        place[rows] = 0
        return ("original", "counterfactual"), place
    for row, pair, is_clear in zip(rows, pairs, clear, strict=True):
        if is_clear:
            place[row] = groups.index(pair[0])
    return (groups[0], groups[1]), place
