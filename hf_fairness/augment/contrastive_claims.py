"""Contrastive rows for fact verification: a false claim, and evidence under which it is the true one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hf_fairness._tables import names_of, plain_column
from hf_fairness.augment.capitals import match_case
from hf_fairness.augment.scan import TOKEN
from hf_fairness.maps import Row, RowsFunction, Texts, row_seed
from hf_fairness.utils import is_missing

#: Values of the column that says what a row is.
ORIGINAL, NEGATIVE_CLAIM, MODIFIED_EVIDENCE, BOTH = "original", "negative_claim", "modified_evidence", "both"
#: Longest differing span, in words, that is substituted in the evidence.
MAX_SPAN = 3

#: Words that `SubstitutionNegator` exchanges, in both directions; written for this project.
OPPOSITES = (
    "first last|before after|above below|inside outside|north south|east west|northern southern|eastern western|"
    "winter summer|spring autumn|early late|earlier later|largest smallest|larger smaller|highest lowest|higher lower|"
    "longest shortest|longer shorter|oldest youngest|older younger|best worst|better worse|most least|born died|"
    "won lost|alive dead|started ended|opened closed|rose fell|increased decreased|public private|major minor|"
    "positive negative|always never|true false|success failure|rural urban"
)
_PAIRS = [(pair.split()[0], pair.split()[1]) for pair in OPPOSITES.split("|")]
_OPPOSITE: dict[str, str] = dict(_PAIRS) | {other: one for one, other in _PAIRS}
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,9}(?![\w-])(?![.,]\d)")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class SubstitutionNegator:
    """Makes a claim false by another number, or where it has none by an opposite: one word, in English.

    The first number changes by 1 to 9, which one depends on ``seed`` and claim; else the first word of a list of
    opposites (``OPPOSITES``) is exchanged. Whether the new claim is false is not checked. No *not* is written: in
    refuted claims alone it would be an artefact itself.

    Attributes:
        seed: part of the draw.

    Example:
        >>> SubstitutionNegator()("The film opened before the war.")
        'The film closed before the war.'
    """

    seed: int = 0

    def __call__(self, claim: str) -> str:
        """The false claim; ``""`` where the rules know none."""
        number = _NUMBER.search(claim)
        if number is not None:
            step = 1 + row_seed(self.seed, claim) % 9
            # A year in the future is no fact: years go back.
            value = int(number[0]) - step if 1000 <= int(number[0]) <= 2100 else int(number[0]) + step
            return claim[: number.start()] + str(value) + claim[number.end() :]
        for word in _WORD.finditer(claim):
            other = _OPPOSITE.get(word[0].lower())
            if other is not None:
                return claim[: word.start()] + match_case(word[0], word[0].lower(), other) + claim[word.end() :]
        return ""


class ContrastiveClaims(RowsFunction):
    """After every supported claim: its negation, refuted; and with changed evidence both the other way round.

    A claim c with evidence e that supports it gets up to three rows: (c', e) refuted, (c, e') refuted, (c', e')
    supported. c' comes from ``negate``. e' is e with the words in which c differs from c' replaced by those of c'; the
    last two rows are left out where that span is longer than ``max_span`` words on a side, is empty on one, or does
    not stand in e exactly once. So a word of the claim no longer tells the label.

    Use it with ``batched=True``, since it adds rows; the copies keep the values of other columns.

    Args:
        claim: column of claims.
        evidence: column of their evidence.
        label_column: column of labels.
        supports: the label of a supported claim, as it stands in the column (numbers for a ClassLabel).
        refutes: the label of a refuted claim.
        negate: from a claim to a false one, ``""`` where there is none. The published method uses a trained sequence
            model; None: ``SubstitutionNegator()``, a few rules for English.
        max_span: words on each side.
        on_missing: what to do about a row that lacks a text: ``"skip"`` keeps it and adds none, ``"error"`` refuses it.

    Adds:
        ``contrast``: ``"original"``, ``"negative_claim"``, ``"modified_evidence"`` or ``"both"``.

    Raises:
        TypeError: a label of another type than ``supports``, a ``negate`` that gives no text.
        ValueError: equal labels, a missing column.

    Source:
        Lee et al. 2021, *CrossAug: A Contrastive Data Augmentation Method for Debiasing Fact Verification Models*. The
        rule for spans and rows is theirs, the default negator is not.

    Example:
        >>> rows = {"claim": ["It has 3 towers."], "evidence": ["The gate and its 3 towers."], "label": ["SUPPORTS"]}
        >>> made = ContrastiveClaims("claim", "evidence", supports="SUPPORTS", refutes="REFUTES")(rows)
        >>> made["claim"][3] != rows["claim"][0], made["label"]
        (True, ['SUPPORTS', 'REFUTES', 'REFUTES', 'SUPPORTS'])
    """

    def __init__(
        self,
        claim: str = "claim",
        evidence: str = "evidence",
        *,
        supports: Any,
        refutes: Any,
        label_column: str = "label",
        negate: Callable[[str], str] | None = None,
        max_span: int = MAX_SPAN,
        on_missing: str = "skip",
    ) -> None:
        super().__init__([claim, evidence], id_column=label_column, on_missing=on_missing)
        if supports == refutes or type(supports) is not type(refutes):
            raise ValueError(f"supports and refutes must be two labels of one type; got {supports!r} and {refutes!r}.")
        if max_span < 1:
            raise ValueError(f"max_span must be at least 1 word; got {max_span}.")
        self.label_column = label_column
        self.supports, self.refutes = supports, refutes
        self.negate = SubstitutionNegator() if negate is None else negate
        self.max_span = max_span

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"contrast": "string"}

    def unchanged(self) -> Row:
        """Values of the added columns for a row of the source."""
        return {"contrast": ORIGINAL}

    def additions(self, texts: Texts, key: str) -> list[Row]:
        """Rows to add after one row; its key is its label."""
        if key != str(self.supports):
            return []
        claim, evidence = texts
        negative = self.negate(claim)
        if not isinstance(negative, str):
            raise TypeError(
                f'negate must give a text, "" where there is no false claim; got {negative!r} for {claim!r}.'
            )
        if not negative or negative == claim:
            return []
        added = [self._row(negative, evidence, self.refutes, NEGATIVE_CLAIM)]
        changed = substitute(claim, negative, evidence, self.max_span)
        if changed:
            added.append(self._row(claim, changed, self.refutes, MODIFIED_EVIDENCE))
            added.append(self._row(negative, changed, self.supports, BOTH))
        return added

    def _row(self, claim: str, evidence: str, label: Any, kind: str) -> Row:
        return {self.columns[0]: claim, self.columns[1]: evidence, self.label_column: label, "contrast": kind}

    def __call__(self, batch: Any) -> Any:
        """Add the rows to a batch."""
        labels = plain_column(batch, self.label_column) if self.label_column in names_of(batch) else ()
        labels = [label for label in labels if not is_missing(label)] if isinstance(labels, list) else []
        other = next((label for label in labels if type(label) is not type(self.supports)), None)
        if other is not None:
            raise TypeError(
                f"Column {self.label_column!r} holds {other!r}, and supports is {self.supports!r}: give the labels as "
                "they stand in the column; a ClassLabel holds numbers, see features[column].str2int(name)."
            )
        return super().__call__(batch)


def substitute(claim: str, negative: str, evidence: str, max_span: int = MAX_SPAN) -> str:
    """The evidence with the words that only the claim has replaced by those that only its negation has.

    Args:
        claim: the claim.
        negative: its negation.
        evidence: where the claim's words are looked for, as written.
        max_span: words on each side at most.

    Returns:
        The new evidence, or ``""``: the texts differ in a longer span, in none, one has only words added, or the span
        does not stand in the evidence exactly once.

    Example:
        >>> substitute("He was born in May 1950.", "He was born in June 1950.", "Born in May, he moved.")
        'Born in June, he moved.'
    """
    one, other = ([token.span() for token in TOKEN.finditer(text)] for text in (claim, negative))
    words, others = ([text[a:b] for a, b in spans] for text, spans in ((claim, one), (negative, other)))
    start = 0
    while start < min(len(words), len(others)) and words[start] == others[start]:
        start += 1
    end = 0
    while end < min(len(words), len(others)) - start and words[-1 - end] == others[-1 - end]:
        end += 1
    mine, theirs = words[start : len(words) - end], others[start : len(others) - end]
    if not 0 < len(mine) <= max_span or not 0 < len(theirs) <= max_span:
        return ""
    spans = [token.span() for token in TOKEN.finditer(evidence)]
    given = [evidence[a:b] for a, b in spans]
    places = [k for k in range(len(given) - len(mine) + 1) if given[k : k + len(mine)] == mine]
    if len(places) != 1:
        return ""
    first, last = spans[places[0]][0], spans[places[0] + len(mine) - 1][1]
    replacement = negative[other[start][0] : other[start + len(theirs) - 1][1]]
    return evidence[:first] + replacement + evidence[last:]
