"""Where the label of a data set is the attribute itself, a swap of the text makes the label wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.augment.capitals import match_case
from hf_fairness.utils import is_missing

#: What may be done about a row whose text changes while its label names a group.
ON_LABEL = ("refuse", "mark", "swap")

#: Words of labels that are none themselves: a list for a ``ClassLabel``, a mapping for anything else.
LabelNames = Mapping[Any, str] | Sequence[str]


class LabelGuard:
    """Knows which labels say a group of an attribute: by its name, or by one of its terms.

    Labels travel as strings (:meth:`encode`), beside the texts of their row.

    Args:
        column: column of the labels.
        label_names: words of the labels; None for labels that are words.
        on_label: one of :data:`ON_LABEL`.
        attribute: the attribute that is swapped.
        targets: group -> group that is written for it.

    Raises:
        ValueError: an unknown ``on_label``, or a label that has no counterpart to be swapped for.
    """

    def __init__(
        self,
        column: str,
        label_names: LabelNames | None,
        on_label: str,
        attribute: Attribute,
        targets: Mapping[str, str],
    ) -> None:
        if on_label not in ON_LABEL:
            raise ValueError(f"on_label must be one of {', '.join(map(repr, ON_LABEL))}, got {on_label!r}.")
        labels = {} if label_names is None else dict(_items(label_names))
        if any(type(label) not in (int, str) for label in labels):
            raise TypeError(f"label_names must give words to labels that are whole numbers or strings, got {labels!r}.")
        self.column = column
        self.on_label = on_label
        self.words = None if label_names is None else {str(label): word for label, word in labels.items()}
        self.numbers = bool(labels) and all(type(label) is int for label in labels)
        self.attribute = attribute
        self.targets = dict(targets)
        if on_label == "swap":
            for code in self.words or ():
                self.other(code)

    def encode(self, label: Any) -> str:
        """A label as a string; ``""`` where it is missing.

        Raises:
            TypeError: the label is no word and ``label_names`` was not given.
        """
        if is_missing(label):
            return ""
        if self.words is None and not isinstance(label, str):
            raise TypeError(
                f"Labels in column {self.column!r} are no words, got {type(label).__name__} {label!r}. Pass "
                f"label_names=, for example dataset.features[{self.column!r}].names or {{{label!r}: 'word'}}."
            )
        return label_text(label)

    def decode(self, code: str) -> Any:
        """The label that :meth:`encode` was given; -1 in place of a number that is missing."""
        return int(code or -1) if self.numbers else code

    def word(self, code: str) -> str:
        """The word of an encoded label; ``""`` for one without, such as -1 where there is no label."""
        return code if self.words is None else self.words.get(code, "")

    def group(self, code: str) -> str | None:
        """The group that a label says and that a swap writes another one for; None for other labels."""
        word = self.word(code).strip()
        named = [name for name in self.attribute.group_names if name.lower() == word.lower()]
        group = named[0] if named else self.attribute.group_of(word)
        return group if group in self.targets else None

    def other(self, code: str) -> Any:
        """The label after a swap; the same one where it says no group.

        Raises:
            ValueError: no label says the same of the other group.
        """
        group = self.group(code)
        if group is None:
            return self.decode(code)
        word = self.word(code).strip()
        new = _counterpart(self.attribute, word, group, self.targets[group])
        if self.words is None:
            return new
        for other, name in self.words.items():
            if name.strip().lower() == new.lower():
                return self.decode(other)
        raise ValueError(f"Label {word!r} of column {self.column!r} would become {new!r}, which label_names lacks.")

    def outputs(self, suffix: str) -> dict[str, str]:
        """Columns that the guard adds: the mark, or the new label where texts get a column of their own too."""
        if self.on_label == "mark":
            return {"label_preserved": "bool"}
        if self.on_label == "swap" and suffix:
            return {f"{self.column}{suffix}": "int64" if self.numbers else "string"}
        return {}

    def check(self, code: str, suffix: str, *, changed: bool) -> dict[str, Any]:
        """What becomes of the label of one row.

        Args:
            code: the encoded label.
            suffix: of the column that a new label goes to; ``""`` is the label's own.
            changed: whether the text changed.

        Raises:
            ValueError: ``on_label="refuse"``, and the label would be wrong.
        """
        wrong = changed and self.group(code) is not None
        if wrong and self.on_label == "refuse":
            raise ValueError(
                f"Label {self.word(code)!r} in column {self.column!r} says a group of attribute "
                f"{self.attribute.name!r}: beside the swapped text it would be wrong. Pass on_label='swap' to swap "
                "the label too, on_label='mark' to add the column label_preserved, or leave out label_column."
            )
        if self.on_label == "mark":
            return {"label_preserved": not wrong}
        if self.on_label == "swap" and (suffix or wrong):
            return {f"{self.column}{suffix}": self.other(code) if wrong else self.decode(code)}
        return {}


def label_text(label: Any) -> str:
    """A label as a string: 1.0, which is what 1 becomes in a column that lacks a number, is 1.

    Example:
        >>> label_text(1.0), label_text("1"), label_text(0.5)
        ('1', '1', '0.5')
    """
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def _items(names: LabelNames) -> Any:
    return names.items() if isinstance(names, Mapping) else enumerate(names)


def _counterpart(attribute: Attribute, word: str, group: str, target: str) -> str:
    """The other group's word: its name for a name, the form of the same concept and slot for a term."""
    if word.lower() == group.lower():
        return match_case(word, group, target)
    concepts = [(term.concept, term.slot) for term in attribute.group(group).terms if term.text.lower() == word.lower()]
    for term in attribute.group(target).terms:
        if term.primary and (term.concept, term.slot) in concepts:
            return match_case(word, word.lower(), term.text)
    raise ValueError(f"Label {word!r} has no counterpart of group {target!r}; give the labels words: label_names=.")
