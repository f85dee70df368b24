"""The texts of a data-diet search: training, validation and test texts with counterfactuals, and texts of groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

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
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.data_diet.arguments import DataDietArguments

Rows = NDArray[np.intp]
_WORDS = re.compile(r"[^\W\d_]+")
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
        counts: for the report: sizes, where the counterfactuals come from ("given" or "swapped"), how many swaps the
            quality filter left out, and what the two texts of a pair are called.
        place: per example 0 where the text is about the first of the two groups that swaps lead between, 1 where its
            counterfactual is; -1 where the swap changes no majority of group words, or nothing.
    """

    texts: list[str]
    counterfactuals: list[str]
    changed: NDArray[np.bool_]
    labels: NDArray[np.int64]
    counts: dict[str, Any]
    place: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DietData:
    """Everything that a search reads.

    Training rows are numbered in one pool: the n texts, their n counterfactuals, and the n texts without terms.

    Attributes:
        train: what is trained on.
        validation: what fractions are chosen on.
        test: what is reported on.
        groups: ``text``, ``group`` and ``label`` of different texts about different groups, for the group metrics.
        classes: names of the labels.
        positive: place of the positive class.
        attribute: whose terms are swapped.
        names: whether given names are swapped too.
    """

    train: Split
    validation: Split
    test: Split
    groups: Dataset | None
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
            **{name: getattr(self, name).counts for name in ("train", "validation", "test")},
            "groups": None if self.groups is None else {"n": len(self.groups)},
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
            **({} if self.groups is None else {"groups": self.groups["text"][:]}),
        }
        return {name: self.blind(texts) for name, texts in found.items()} if blind else found

    def blind(self, texts: Sequence[str]) -> list[str]:
        """The texts without terms of the attribute."""
        remove = RemoveTerms("text", attribute=self.attribute, names=self.names)
        return list(remove({"text": list(texts)})["text_blind"])

    def distinct_texts(self) -> list[str]:
        """Every text that a search on frozen features reads, once, in an order that depends on the texts only."""
        return sorted(set(self.pool).union(*self.measured().values(), *self.measured(blind=True).values()))

    def measured_key(self) -> str:
        """Content key of what models are measured on, and by what."""
        return content_key(
            *([each.texts, each.counterfactuals, each.labels] for each in (self.validation, self.test)),
            [] if self.groups is None else self.groups,
            [self.attribute.digest, self.names, self.positive],
        )

    def rows(self, factual: NDArray[np.bool_], counterfactual: NDArray[np.bool_]) -> Rows:
        """Rows of the pool for the examples and the counterfactuals that are kept."""
        return np.concatenate([np.flatnonzero(factual), self.n + np.flatnonzero(counterfactual & self.train.changed)])

    def substituted(self, seed: int) -> Rows:
        """Rows of counterfactual data substitution: every second text with a counterfactual gives way to it."""
        drawn = [row_draw(seed, text) < 0.5 for text in self.train.texts]
        return np.arange(self.n) + self.n * (self.train.changed & drawn)

    def balanced(self, seed: int) -> Rows:
        """Rows with as many texts of every group within each label: those of smaller groups are repeated."""
        chosen = balance(
            Dataset.from_dict({"text": self.train.texts, "label": self.train.labels, "row": np.arange(self.n)}),
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
    given = {"train": train, "validation": validation, "test": test, "group": group_dataset}
    sets = {name: rows for name, rows in given.items() if rows is not None}
    column = arguments.label_column
    labels = {name: _labels(rows, column, name) for name, rows in sets.items()}
    texts = {name: _column(rows, text_column, name, "--text_column") for name, rows in sets.items()}
    known, occurring = getattr(train.features[column], "names", None), class_names(labels["train"])
    classes = [name for name in known or occurring if name in occurring]
    if len(classes) < 2:
        raise ValueError(f"Column {column!r} holds {len(classes)} kinds of labels; a classifier needs two or more.")
    for name, found in labels.items():
        if known is None and name != "train":
            refuse_numbers(found, classes, f"Column {column!r} of the {name} set")
    positive = _positive(classes, arguments.positive_label, known)
    numbers = {name: places(found, classes, f"Column {column!r} of the {name} set") for name, found in labels.items()}
    groups = None
    if group_dataset is not None:
        members = _labels(group_dataset, arguments.group_column, "group", "--group_column")
        columns = {"text": map(str, texts["group"]), "group": map(str, members)}
        groups = Dataset.from_dict({**{key: list(each) for key, each in columns.items()}, "label": numbers["group"]})
    parts = {name: (name, np.arange(len(rows))) for name, rows in sets.items() if name != "group"}
    if missing := [name for name in ("validation", "test") if name not in sets]:
        about = (attribute.polarity(str(text)) for text in texts["train"])
        strata = [f"{label} {group}" for label, group in zip(numbers["train"], about, strict=True)]
        parts |= {name: ("train", rows) for name, rows in _hold_out(strata, missing, arguments.seed).items()}
    splits = {
        name: _split(sets[source].select(rows), numbers[source][rows], text_column, attribute, names, arguments)
        for name, (source, rows) in parts.items()
    }
    return DietData(**splits, groups=groups, classes=classes, positive=positive, attribute=attribute, names=names)


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


def _positive(classes: list[str], wanted: str | None, names: Sequence[str] | None) -> int:
    """Place of the positive class; of a ClassLabel its number names it too."""
    if wanted is None and len(classes) > 2:
        raise ValueError(f"With the labels {', '.join(classes)}, say which is positive: --positive_label.")
    wanted = classes[-1] if wanted is None else wanted
    numbered = {str(number): name for number, name in enumerate(names or ())}
    name = wanted if wanted in classes else numbered.get(wanted)
    if name not in classes:
        raise ValueError(f"--positive_label is {wanted!r}; the labels are {', '.join(classes)}.")
    return classes.index(name)


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
        column, options = f"{text_column}_counterfactual", dict[str, Any](attribute=attribute, names=names)
        rows = rows.select_columns([text_column])
        for rule, what in ((CounterfactualSwap, "Swapping group words"), (SwapQuality, "Judging swaps")):
            rows = rows.map(rule(text_column, **options), batched=True, desc=what)
    pairs = read_pairs(rows, text_column=text_column, counterfactual_column=column, label_column=None)
    texts, swapped = pairs.texts(rows), iter(pairs.counterfactual_texts(rows))
    others = [next(swapped) if changed else text for text, changed in zip(texts, pairs.changed, strict=True)]
    versions, place = _versions(texts, others, pairs.changed, attribute)
    rejected = column_values(rows, "rejected_reason") if "rejected_reason" in rows.column_names else []
    counts = {
        "n": len(texts),
        "n_changed": int(pairs.changed.sum()),
        "changed_share": float(pairs.changed.mean()),
        "counterfactuals": "given" if given else "swapped",
        "n_rejected_swaps": sum(map(bool, rejected)),
        "versions": versions,
        "n_versions": int((place >= 0).sum()),
        "labels": np.bincount(labels).tolist(),
    }
    return Split(texts, others, pairs.changed, labels, counts, place)


def _versions(
    texts: Sequence[str], counterfactuals: Sequence[str], changed: NDArray[np.bool_], attribute: Attribute
) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the versions, and which of them each text is, by the group that most of its terms belong to.

    The names are those of the two groups that swaps lead between, or else "original" and "counterfactual".
    """
    pairs = {}
    for row in np.flatnonzero(changed).tolist():
        pair = attribute.polarity(texts[row]), attribute.polarity(counterfactuals[row])
        if pair[0] != pair[1] and set(pair) <= set(attribute.group_names):
            pairs[row] = pair
    groups = sorted({group for pair in pairs.values() for group in pair})
    if len(groups) != 2:
        return ["original", "counterfactual"], np.where(changed, 0, -1)
    place = [groups.index(pairs[row][0]) if row in pairs else -1 for row in range(len(texts))]
    return groups, np.array(place)


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
    attribute = diet.attribute
    words = {
        name: {form.lower() for each in attribute.paradigms if each.group == name for form in each.forms.values()}
        for name in attribute.group_names
    }
    texts = {name: getattr(diet, name) for name in ("train", "validation", "test")}
    sets = {
        name: (split.texts, split.labels, [attribute.polarity(text) for text in split.texts])
        for name, split in texts.items()
    }
    if diet.groups is not None:
        sets["groups"] = (diet.groups["text"][:], np.array(diet.groups["label"][:]), diet.groups["group"][:])
    return {name: _describe(*each, words, diet.positive) for name, each in sets.items()}


def _describe(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    about: Sequence[str],
    words: Mapping[str, set[str]],
    positive: int,
) -> dict[str, Any]:
    counts = Counter(word for text in texts for word in _WORDS.findall(text.lower()))
    hits, of = labels == positive, np.array(about)
    groups = [name for name in dict.fromkeys([*words, *about]) if name != NEUTRAL]
    where = {name: of == name for name in groups}
    return {
        "n": len(texts),
        "positive_share": float(hits.mean()),
        "pronouns": {name: sum(counts[word] for word in known) for name, known in words.items() if known},
        "about": {name: int(rows.sum()) for name, rows in where.items()},
        "positive_about": {name: float(hits[rows].mean()) if rows.any() else None for name, rows in where.items()},
    }
