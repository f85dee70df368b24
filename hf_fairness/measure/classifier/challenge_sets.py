"""The challenge sets as data: their labels, what counts as right, how rows are divided; and readers of their files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_fairness.utils import lines_of

#: Spellings of labels, after lower case and with single spaces for ``_`` and ``-``.
NLI_SPELLINGS = {
    "entail": "entailment",
    "contradict": "contradiction",
    "non entailment": "non-entailment",
    "not entailment": "non-entailment",
    "non contradiction": "non-contradiction",
    "not contradiction": "non-contradiction",
}
FEVER_SPELLINGS = {
    "support": "supports",
    "supported": "supports",
    "entailment": "supports",
    "refute": "refutes",
    "refuted": "refutes",
    "contradiction": "refutes",
    "nei": "not enough info",
    "not enough information": "not enough info",
    "neutral": "not enough info",
}


@dataclass(frozen=True)
class ChallengeSet:
    """What a challenge set asks.

    Attributes:
        labels: the gold labels.
        accepts: per gold label the predictions that are right beside it.
        others: labels that a model may predict and that are right for no row.
        spellings: other ways to write labels, see ``read_label``.
        by: columns that divide the rows, in the order of nesting.
        source: who made it.
    """

    labels: tuple[str, ...]
    source: str = ""
    accepts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()

    def read_label(self, label: str) -> str:
        """The label under its name in this set: case, ``_``, ``-`` and known spellings do not matter.

        Args:
            label: as written by a model or a file.

        Returns:
            One of ``labels``, ``others`` or the labels in ``accepts``.

        Raises:
            ValueError: no such label; the message lists those that are known.

        Example:
            >>> CHALLENGE_SETS["hans"].read_label("not_entailment")
            'non-entailment'
        """
        known = dict.fromkeys([*self.labels, *(name for more in self.accepts.values() for name in more), *self.others])
        plain = _plain(label)
        found = next((name for name in known if _plain(name) == plain), self.spellings.get(plain, ""))
        if found not in known:
            raise ValueError(
                f"Unknown label {label!r}. Known labels: {', '.join(known)}. If the model has ids or names such as "
                "LABEL_0, say what they mean with label_names={0: ..., 1: ...}."
            )
        return found


def _plain(label: str) -> str:
    """Lower case, single spaces."""
    return re.sub(r"[\s_-]+", " ", label).strip().casefold()


#: Columns of the rows that the readers make.
COLUMNS = ("premise", "hypothesis", "label", "heuristic", "subcase", "pair", "cluster")

CHALLENGE_SETS: dict[str, ChallengeSet] = {
    "hans": ChallengeSet(
        labels=("entailment", "non-entailment"),
        accepts={"non-entailment": ("neutral", "contradiction")},
        spellings=NLI_SPELLINGS,
        by=("heuristic", "subcase"),
        source="McCoy et al. 2019",
    ),
    "fever_symmetric": ChallengeSet(
        labels=("supports", "refutes"),
        others=("not enough info",),
        spellings=FEVER_SPELLINGS,
        source="Schuster et al. 2019",
    ),
    "scramble": ChallengeSet(
        labels=("entailment", "contradiction", "neutral"),
        spellings=NLI_SPELLINGS,
        by=("heuristic", "subcase"),
        source="Dasgupta et al. 2018",
    ),
    "nli_adversarial": ChallengeSet(
        labels=("entailment", "neutral", "contradiction", "non-entailment", "non-contradiction"),
        accepts={"non-entailment": ("neutral", "contradiction"), "non-contradiction": ("entailment", "neutral")},
        spellings=NLI_SPELLINGS,
        by=("heuristic", "subcase"),
        source="Liu et al. 2020",
    ),
}


def challenge_set(dataset: str | ChallengeSet) -> ChallengeSet:
    """A challenge set by name; one of your own stays as it is.

    Args:
        dataset: one of ``CHALLENGE_SETS`` or a ``ChallengeSet``.

    Raises:
        ValueError: an unknown name.
    """
    if isinstance(dataset, ChallengeSet):
        return dataset
    if dataset not in CHALLENGE_SETS:
        raise ValueError(
            f"Unknown challenge set {dataset!r}. Known: {', '.join(CHALLENGE_SETS)}; or a ChallengeSet of your own."
        )
    return CHALLENGE_SETS[dataset]


def read_challenge_set(dataset: str, path: str | Path) -> list[dict[str, str]]:
    """Rows of the published files of a challenge set.

    Args:
        dataset: "hans" (TSV with a header), "fever_symmetric" (JSON lines, v0.1 or v0.2), "scramble" (the folder of
            ``s1.<task>``, ``s2.<task>``, ``labels.<task>``) or "nli_adversarial" (JSON lines).
        path: the file, or the folder for "scramble".

    Returns:
        Rows with the columns ``COLUMNS``, all strings, empty where a set has no such thing. ``pair``: rows that differ
        in little and need different answers; ``cluster``: rows that resemble each other (HANS: of one template,
        FEVER-Symmetric: made from one claim of FEVER), which intervals resample together. In FEVER-Symmetric the
        evidence is the premise and the claim the hypothesis; in Scramble the heuristic is the kind of comparison, and
        pairs have one premise and hypotheses of the same words.

    Raises:
        ValueError: an unknown set, no such file, or a file of another kind.
    """
    if dataset not in _READERS:
        raise ValueError(f"No reader for {dataset!r}. Known sets: {', '.join(_READERS)}.")
    place = Path(path)
    if not (place.is_dir() if dataset == "scramble" else place.is_file()):
        raise ValueError(f"{dataset} is read from a {'folder' if dataset == 'scramble' else 'file'}; got {place}.")
    try:
        rows = _READERS[dataset](place)
    except (KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{place.name} is no file of {dataset}: {error!r}.") from error
    if not rows:
        raise ValueError(f"{place.name} holds no rows of {dataset}.")
    return rows


def _row(premise: str, hypothesis: str, label: str, **more: str) -> dict[str, str]:
    """A row with all columns."""
    return dict.fromkeys(COLUMNS, "") | {"premise": premise, "hypothesis": hypothesis, "label": label} | more


def _read_hans(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        table = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        _row(
            row["sentence1"],
            row["sentence2"],
            row["gold_label"],
            heuristic=row["heuristic"],
            subcase=row["subcase"],
            cluster=row["template"],
        )
        for row in table
    ]


#: Rows made from one row of FEVER carry its id and one of these.
_MADE_FROM = re.compile(r"000000[234]$")


def _read_fever_symmetric(file: Path) -> list[dict[str, str]]:
    result = []
    for row in _json_lines(file):
        evidence, claim = row["evidence_sentence"] if "evidence_sentence" in row else row["evidence"], row["claim"]
        original = _MADE_FROM.sub("", str(row["id"]))
        result.append(_row(evidence, claim, row["label"], pair=f"{original} {claim}", cluster=original))
    return result


#: Tasks of the comparisons, and the answer that the number in a file of labels stands for.
SCRAMBLE_TASKS = {"same": "same", "ml": "more-less", "not": "not"}
SCRAMBLE_LABELS = {"0": "contradiction", "1": "neutral", "2": "entailment"}


def _read_scramble(folder: Path) -> list[dict[str, str]]:
    result = []
    for file in sorted(folder.glob("labels.comp_*")):
        name = file.name.removeprefix("labels.")
        _, task, length = name.split("_")
        kind, parts = SCRAMBLE_TASKS[task], [_lines(folder / f"{part}.{name}") for part in ("s1", "s2", "labels")]
        if len({len(part) for part in parts}) > 1:
            raise ValueError(f"Files of {name} have different numbers of lines: {[len(part) for part in parts]}.")
        for premise, hypothesis, label in zip(*parts, strict=True):
            pair = f"{kind} {length} {premise} {' '.join(sorted(hypothesis.split()))}"
            where = {"heuristic": kind, "subcase": f"{kind} {length}", "pair": pair}
            result.append(_row(premise, hypothesis, SCRAMBLE_LABELS[label], **where))
    return result


def _read_nli_adversarial(file: Path) -> list[dict[str, str]]:
    result = []
    for row in _json_lines(file):
        kind, name = row["split"].split("_")
        heuristic = kind if kind == "ST" else f"{kind}-{name}"  # the four stress tests count as one
        result.append(_row(row["prem"], row["hypo"], row["label"], heuristic=heuristic, subcase=row["split"]))
    return result


def _lines(file: Path) -> list[str]:
    return [line.strip() for line in lines_of(file) if line.strip()]


def _json_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(file)]


_READERS: dict[str, Callable[[Path], list[dict[str, str]]]] = {
    "hans": _read_hans,
    "fever_symmetric": _read_fever_symmetric,
    "scramble": _read_scramble,
    "nli_adversarial": _read_nli_adversarial,
}
