"""A world of sentence pairs whose labels are true and whose hypotheses carry an artefact that gives most labels away.

Every label follows from what the two sentences say. In the training rows a label mostly comes with a value of the
artefact (a marker word that means nothing, or a negation), so that a classifier need not read the premise; in the
challenge rows it does not. A row whose artefact speaks for another label is an *anti-artefact* row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from hf_fairness.demo._filling import rank, stored

if TYPE_CHECKING:
    from datasets import Dataset

#: Names of the labels in the order of their numbers.
LABELS = ("entailment", "neutral", "contradiction")
ARTEFACTS = ("marker", "negation")
SLOT = re.compile(r"{(\w+)}")
#: The list of those that sentences speak of.
SUBJECT = "person"
MAX_ATTEMPTS = 1000

Slots = dict[str, str]


@dataclass(frozen=True)
class PlantedWorld:
    """Pairs of one seed; no pair stands in two of the three sets.

    Attributes:
        train: columns ``premise``, ``hypothesis`` and ``label`` (a ClassLabel of ``LABELS``).
        validation: rows like those of ``train``.
        challenge: rows in which the artefact no longer speaks for the label.
        artefact: ``"marker"`` or ``"negation"``.
    """

    train: Dataset
    validation: Dataset
    challenge: Dataset
    artefact: str

    def anti_artefact(self, rows: Iterable[Mapping[str, Any]]) -> list[bool]:
        """Whether the artefact of each row speaks for another label; see :func:`anti_artefact`."""
        return anti_artefact(rows, self.artefact)


def planted_world(
    n: int,
    *,
    artefact_strength: float,
    seed: int,
    n_validation: int = 1000,
    n_challenge: int = 1000,
    challenge_strength: float = 0.0,
    artefact: str = "marker",
    denied_rate: float = 0.0,
) -> PlantedWorld:
    """Write a world; the same arguments write the same rows, and a larger ``n`` leaves the other sets as they are.

    Labels are drawn uniformly. With the artefact ``"marker"`` each label has a marker of its own; with ``"negation"``
    a contradiction goes with a denied fact, and the other two labels with an affirmed one. Apart from the artefact a
    hypothesis alone says nothing of its label.

    Args:
        n: training rows.
        artefact_strength: probability that the artefact speaks for the row's own label; with three markers 1/3 is
            no correlation, with a negation 1/2.
        seed: changes every draw.
        n_validation: rows drawn as the training rows are.
        n_challenge: rows drawn with ``challenge_strength``.
        challenge_strength: the same probability there; 0 reverses the correlation.
        artefact: ``"marker"`` or ``"negation"``.
        denied_rate: share of hypotheses that deny a fact, where the artefact is a marker; a denied fact that does not
            agree with the premise is entailed, which small models take long to learn.

    Returns:
        The three sets.

    Raises:
        ValueError: a probability outside [0, 1], an unknown artefact, fewer rows than one, or more than there are.

    Source:
        Written for this project; see ``planted.json``.

    Example:
        >>> from hf_fairness.demo import planted_world
        >>> world = planted_world(3, artefact_strength=1.0, seed=0, n_validation=1, n_challenge=1)
        >>> world.train[0]["hypothesis"], world.train.features["label"].int2str(world.train[0]["label"])
        ('Actually , Anna has only black cups .', 'contradiction')
        >>> world.anti_artefact(world.train)
        [False, False, False]
    """
    rates = {
        "artefact_strength": artefact_strength,
        "challenge_strength": challenge_strength,
        "denied_rate": denied_rate,
    }
    for name, rate in rates.items():
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"{name} is a probability in [0, 1]; got {rate}.")
    _check_artefact(artefact)
    sizes = {"validation": n_validation, "challenge": n_challenge, "train": n}
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"The set {name!r} needs at least one row; got {size}.")
    seen: set[tuple[str, str]] = set()
    sets = {}
    for name, size in sizes.items():
        strength = challenge_strength if name == "challenge" else artefact_strength
        drawn = {"validation": "dev"}.get(name, name)  # the word of the draw, which rows hang on
        rows = [_row((seed, drawn, place), strength, artefact, denied_rate, seen) for place in range(size)]
        sets[name] = _dataset(rows)
    return PlantedWorld(sets["train"], sets["validation"], sets["challenge"], artefact)


def anti_artefact(rows: Iterable[Mapping[str, Any]], artefact: str = "marker") -> list[bool]:
    """Whether the artefact of each row speaks for another label than the row's.

    Args:
        rows: with ``hypothesis`` and ``label``, a name or a number of ``LABELS``; a Dataset, or generated rows.
        artefact: ``"marker"`` or ``"negation"``.

    Returns:
        One entry per row; a hypothesis without any marker is no anti-artefact row.

    Raises:
        ValueError: an unknown artefact or label.

    Example:
        >>> anti_artefact([{"hypothesis": "Also , Anna is in the garden .", "label": "entailment"}])
        [True]
    """
    _check_artefact(artefact)
    found = []
    for row in rows:
        label = row["label"] if isinstance(row["label"], str) else LABELS[row["label"]]
        if label not in LABELS:
            raise ValueError(f"Unknown label {label!r}; the world has {', '.join(LABELS)}.")
        value = _artefact_of(row["hypothesis"], artefact)
        found.append(value is not None and value != _aligned(label, artefact))
    return found


def true_label(premise: str, hypothesis: str) -> str | None:
    """The label that follows from what the two sentences say; None where one of them is no sentence of the world.

    A person is in one place, and what a person has is one kind of thing in one colour; of other persons a premise says
    nothing.

    Args:
        premise: with spaces between words and marks; case does not matter.
        hypothesis: the same, with or without a marker.

    Example:
        >>> true_label("Anna is in the garden and has only two red cups .", "Anna is in the garden .")
        'entailment'
    """
    given, said = _parse(premise, _patterns("premises")), _parse(_without_marker(hypothesis), _patterns("facts"))
    if given is None or said is None:
        return None
    (_, known), (kind, slots) = given, said
    fact, _, polarity = kind.partition("/")
    if known[SUBJECT] != slots[SUBJECT]:
        return "neutral"
    agrees = all(known[name] == slots[name] for name in _data()["facts"][fact]["says"])
    return "entailment" if agrees == (polarity == "affirmed") else "contradiction"


def planted_words() -> list[str]:
    """Every word and mark of the world in small letters, in the order in which ``planted.json`` has them."""
    data = _data()
    texts = [*data["premises"], *(fact[side] for fact in data["facts"].values() for side in ("affirmed", "denied"))]
    words = " ".join([*data["markers"].values(), *(SLOT.sub(" ", text) for text in texts)]).lower().split()
    return list(dict.fromkeys([*words, *(word.lower() for words in data["lists"].values() for word in words)]))


def _data() -> dict[str, Any]:
    found: dict[str, Any] = stored("planted.json")
    return found


def _check_artefact(artefact: str) -> None:
    if artefact not in ARTEFACTS:
        raise ValueError(f"Unknown artefact {artefact!r}; expected {' or '.join(ARTEFACTS)}.")


def _values(artefact: str) -> tuple[str, ...]:
    """The values of an artefact: markers, or the two polarities of a fact."""
    return tuple(_data()["markers"].values()) if artefact == "marker" else ("affirmed", "denied")


def _aligned(label: str, artefact: str) -> str:
    """The value that speaks for a label."""
    if artefact == "marker":
        return str(_data()["markers"][label])
    return "denied" if label == "contradiction" else "affirmed"


def _artefact_of(hypothesis: str, artefact: str) -> str | None:
    """The value that a hypothesis has."""
    text = " ".join(hypothesis.lower().split())
    if artefact == "negation":
        return "denied" if "not" in text.split() else "affirmed"
    return next((marker for marker in _values(artefact) if text.startswith(f"{marker.lower()} ")), None)


def _without_marker(hypothesis: str) -> str:
    marker = _artefact_of(hypothesis, "marker")
    return hypothesis if marker is None else " ".join(hypothesis.split())[len(marker) + 1 :]


def _row(
    key: tuple[int, str, int], strength: float, artefact: str, denied_rate: float, seen: set[tuple[str, str]]
) -> tuple[str, str, int]:
    """A pair that was not written yet, marker aside; what is drawn depends on the key alone."""
    data = _data()
    for attempt in range(MAX_ATTEMPTS):

        def draw(options: Sequence[str], name: str, attempt: int = attempt) -> str:
            return options[rank(*key, attempt, name) % len(options)]

        def happens(rate: float, name: str, attempt: int = attempt) -> bool:
            return rank(*key, attempt, name) < rate * 2**64

        label = draw(LABELS, "label")
        own = _aligned(label, artefact)
        value = own if happens(strength, "own") else draw([v for v in _values(artefact) if v != own], "other")
        denied = value == "denied" if artefact == "negation" else happens(denied_rate, "denied")
        known = {name: draw(options, name) for name, options in data["lists"].items()}
        fact = draw(list(data["facts"]), "fact")
        slots = _said(label, fact, denied, known, draw)
        premise = _fill(draw(data["premises"], "premise"), known)
        hypothesis = _fill(data["facts"][fact]["denied" if denied else "affirmed"], slots)
        if (premise, hypothesis) not in seen:
            seen.add((premise, hypothesis))
            return premise, f"{value} {hypothesis}" if artefact == "marker" else hypothesis, LABELS.index(label)
    raise ValueError(f"The set {key[1]!r} has {key[2]} rows and finds no further pair; ask for fewer rows.")


def _said(label: str, fact: str, denied: bool, known: Slots, draw: Any) -> Slots:
    """What the hypothesis says, so that the label is true: of another person if neutral, another value if it must be.

    What is changed is drawn uniformly from what is left, so that all words are as likely under each label.
    """
    if label == "neutral":
        name = SUBJECT
    elif (label == "entailment") == denied:
        name = _data()["facts"][fact]["says"][0]
    else:
        return known
    return known | {name: draw([word for word in _data()["lists"][name] if word != known[name]], "changed")}


def _fill(text: str, slots: Slots) -> str:
    return SLOT.sub(lambda match: slots[match[1]], text)


@cache
def _patterns(part: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Regular expressions of the sentences, each under its name."""
    data = _data()
    texts = {f"premise/{place}": text for place, text in enumerate(data["premises"])}
    if part == "facts":
        texts = {
            f"{fact}/{side}": data["facts"][fact][side] for fact in data["facts"] for side in ("affirmed", "denied")
        }
    compiled = []
    for name, text in texts.items():
        pieces = SLOT.split(text)  # text, slot, text, slot, ...
        pieces[::2] = map(re.escape, pieces[::2])
        pieces[1::2] = [f"(?P<{slot}>{'|'.join(data['lists'][slot])})" for slot in pieces[1::2]]
        compiled.append((name, re.compile("".join(pieces), re.IGNORECASE)))
    return tuple(compiled)


def _parse(text: str, patterns: Sequence[tuple[str, re.Pattern[str]]]) -> tuple[str, Slots] | None:
    """Name and words of the one sentence that fits."""
    plain = " ".join(text.split())
    for name, pattern in patterns:
        match = pattern.fullmatch(plain)
        if match:
            return name, {slot: word.lower() for slot, word in match.groupdict().items()}
    return None


def _dataset(rows: Sequence[tuple[str, str, int]]) -> Dataset:
    from datasets import ClassLabel, Dataset, Features, Value

    premises, hypotheses, labels = zip(*rows, strict=True)
    features = Features(
        {"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=list(LABELS))}
    )
    return Dataset.from_dict({"premise": premises, "hypothesis": hypotheses, "label": labels}, features=features)
