"""SEAT stimuli: word lists and templates, both data, become the sentences of May et al. 2019."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

ROLES = ("targ1", "targ2", "attr1", "attr2")
PURPOSES = ("bias", "retention")
#: The six gender tests that the papers average, then the two in which an association is wanted.
DEFAULT_TESTS = ("6", "6b", "7", "7b", "8", "8b", "1", "2")


@dataclass(frozen=True)
class Stimuli:
    """Texts of one set, each with the word that it was built from.

    Attributes:
        name: what the set stands for.
        texts: the texts.
        words: word of each text; texts of one word are resampled and permuted together.
    """

    name: str
    texts: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class AssociationTest:
    """Two target sets and two attribute sets.

    Attributes:
        name: how results call the test.
        purpose: "bias" (0 is ideal) or "retention" (a high positive d is good).
        about: one line on what is compared with what.
        targ1: first target set, X.
        targ2: second target set, Y.
        attr1: first attribute set, A.
        attr2: second attribute set, B.
    """

    name: str
    purpose: str
    about: str
    targ1: Stimuli
    targ2: Stimuli
    attr1: Stimuli
    attr2: Stimuli

    @property
    def sets(self) -> tuple[Stimuli, Stimuli, Stimuli, Stimuli]:
        """The four sets in the order X, Y, A, B."""
        return self.targ1, self.targ2, self.attr1, self.attr2


@cache
def _data(name: str) -> dict[str, Any]:
    text = resources.files("hf_fairness.measure").joinpath("data").joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def available_tests() -> dict[str, str]:
    """Names of the built-in tests and what each compares; "weat" before a name gives words without sentences.

    Returns:
        Name to description.

    Example:
        >>> available_tests()["6"]
        'male / female names, career / family'
    """
    return {name: test["about"] for name, test in _data("seat_words.json")["tests"].items()}


def plural(word: str) -> str:
    """Regular English plural of a noun.

    Example:
        >>> [plural(word) for word in ("rose", "lily", "cockroach", "iris")]
        ['roses', 'lilies', 'cockroaches', 'irises']
    """
    if re.search(r"(?:s|x|z|ch|sh)$", word):
        return word + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + "s"


def sentences(word: str, kind: str, *, forms: Sequence[str] | None = None, article: str | None = None) -> list[str]:
    """Sentences around one word that say as little as possible.

    Args:
        word: the word.
        kind: kind of word, a key of ``kinds`` in ``data/seat_templates.json``; "word" gives the word alone.
        forms: singular and plural; None means the word and its regular plural.
        article: "a" or "an"; None goes by the first letter.

    Returns:
        One sentence per template, in the order of the data.

    Raises:
        ValueError: unknown kind, or not two forms.

    Example:
        >>> sentences("office", "thing")[6:9]
        ['An office is a thing.', 'It is an office.', 'These are offices.']
    """
    kinds = _data("seat_templates.json")["kinds"]
    if kind == "word":
        return [word]
    if kind not in kinds:
        raise ValueError(f"Unknown kind of word {kind!r} for {word!r}. Known kinds: word, {', '.join(kinds)}.")
    pair = [word, plural(word)] if forms is None else list(forms)
    if len(pair) != 2:
        raise ValueError(f"forms of {word!r} must be [singular, plural]; got {pair}.")
    a = article or ("an" if pair[0][:1].lower() in "aeiou" else "a")
    filled = [text.format(word=word, singular=pair[0], plural=pair[1], a=a) for text in kinds[kind]["templates"]]
    return [text[:1].upper() + text[1:] for text in filled]


def _from_words(name: str, spec: Mapping[str, Any], left_out: Mapping[str, Sequence[int]], level: str) -> Stimuli:
    """Fill templates with the words of a list; ``left_out`` holds places of sentences per word."""
    words = _strings(spec["words"], f"{name}.words")
    kind_of = {word: kind for kind, group in spec.get("kinds", {}).items() for word in group}
    articles = {**_data("seat_words.json")["articles"], **spec.get("articles", {})}
    texts, owners = [], []
    for word in words:
        kind = "word" if level == "word" else kind_of.get(word, spec.get("kind", "word"))
        forms = spec.get("forms", {}).get(word)
        made = sentences(word, kind, forms=forms, article=articles.get(forms[0] if forms else word))
        skipped = left_out.get(word, ()) if level == "sentence" else ()
        kept = [text for place, text in enumerate(made) if place not in skipped]
        texts += kept
        owners += [word] * len(kept)
    return Stimuli(name, tuple(texts), tuple(owners))


def _strings(values: Any, name: str) -> list[str]:
    """A list of different, non-empty strings, or an error that names it."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{name} must be a list of texts; got {type(values).__name__}.")
    for place, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name}[{place}] must be a text; got {value!r}.")
    if not values:
        raise ValueError(f"{name} is empty: an association test needs at least one text in each set.")
    twice = sorted({value for value in values if list(values).count(value) > 1})
    if twice:
        raise ValueError(f"{name} holds {twice[0]!r} more than once; give every text once.")
    return list(values)


def _user_set(role: str, value: Any) -> Stimuli:
    """One set of a user's test: a list, {"words": ...}, {"examples": ...} or word -> sentences."""
    if not isinstance(value, Mapping):
        texts = _strings(value, role)
        return Stimuli(role, tuple(texts), tuple(texts))
    name = str(value.get("category", role)) if isinstance(value.get("category", role), str) else role
    if "words" in value:
        return _from_words(name, value, {}, "sentence")
    if "examples" in value:
        texts = _strings(value["examples"], f"{role}.examples")
        return Stimuli(name, tuple(texts), tuple(texts))
    if not value:
        raise ValueError(f"{role} is empty: an association test needs at least one text in each set.")
    by_word = {str(word): _strings(texts, f"{role}[{word!r}]") for word, texts in value.items()}
    pairs = [(text, word) for word, texts in by_word.items() for text in texts]
    return Stimuli(name, tuple(text for text, _ in pairs), tuple(word for _, word in pairs))


def user_test(definition: Mapping[str, Any], name: str) -> AssociationTest:
    """An association test given as data.

    Args:
        definition: ``targ1``, ``targ2``, ``attr1``, ``attr2`` (X, Y, A, B), and optionally ``name``,
            ``purpose`` ("bias" or "retention") and ``about``. A set is a list of texts (each its own word);
            or ``{"words": [...], "kind": "name"}`` with optional ``kinds``, ``forms`` and ``articles``,
            filled into the templates; or ``{"word": [sentences]}``; or ``{"examples": [...]}`` as in May et
            al.'s files.
        name: used where the definition has none.

    Returns:
        The test.

    Raises:
        ValueError: a missing, unknown, empty or malformed part.
    """
    known = {*ROLES, "name", "purpose", "about"}
    missing, unknown = [role for role in ROLES if role not in definition], sorted(set(definition) - known)
    if missing or unknown:
        raise ValueError(
            f"Test {definition.get('name', name)!r} needs the sets {', '.join(ROLES)}; "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(map(str, unknown)) or 'none'}."
        )
    purpose = definition.get("purpose", "bias")
    if purpose not in PURPOSES:
        raise ValueError(f"purpose must be one of {', '.join(PURPOSES)}; got {purpose!r}.")
    sets = [_user_set(role, definition[role]) for role in ROLES]
    return AssociationTest(str(definition.get("name", name)), purpose, str(definition.get("about", "")), *sets)


@cache
def load_test(name: str) -> AssociationTest:
    """A built-in test by name: sentences for "6", words for "weat6".

    Args:
        name: a key of ``available_tests()``, optionally after "weat", "sent-weat" or "seat".

    Returns:
        The test; its sentences equal the published sets in content and order.

    Raises:
        ValueError: no such test; the message lists those that exist.

    Source:
        Caliskan et al. 2017 (word lists), May et al. 2019 (templates, further lists), Meade et al. 2022
        (religion).

    Example:
        >>> load_test("6").targ1.texts[0], load_test("weat6").targ1.texts[0]
        ('This is John.', 'John')
    """
    data = _data("seat_words.json")
    match = re.fullmatch(r"(sent-weat|sent-|seat-?|weat-?)?(.+)", name)
    prefix, base = (match.group(1) or "", match.group(2)) if match else ("", name)
    if base not in data["tests"]:
        known = ", ".join(data["tests"])
        raise ValueError(f"Unknown SEAT test {name!r}. Known: {known}; with words alone: weat1, weat6, ...")
    spec, level = data["tests"][base], "word" if prefix.startswith("weat") else "sentence"
    left_out = spec.get("left_out", {})
    sets = [_from_words(spec[role], data["lists"][spec[role]], left_out.get(role, {}), level) for role in ROLES]
    return AssociationTest(name, spec["purpose"], spec["about"], *sets)


def resolve_tests(tests: Any = None) -> list[AssociationTest]:
    """The tests that a user asked for.

    Args:
        tests: None for ``DEFAULT_TESTS``; a name; a list of names and definitions (see ``user_test``); or a
            mapping of names to definitions.

    Returns:
        At least one test, names unique.

    Raises:
        ValueError: unknown name, malformed definition, no tests, a name twice.
        TypeError: an item that is neither a name nor a definition.
    """
    if tests is None:
        asked: list[Any] = list(DEFAULT_TESTS)
    elif isinstance(tests, str):
        asked = [tests]
    elif isinstance(tests, Mapping):
        asked = [user_test(tests, "user")] if set(ROLES) & set(tests) else [user_test(v, k) for k, v in tests.items()]
    elif isinstance(tests, Sequence):
        asked = list(tests)
    else:
        raise TypeError(f"tests must be names, definitions or None; got {type(tests).__name__}.")
    found = []
    for place, item in enumerate(asked):
        if isinstance(item, AssociationTest):
            found.append(item)
        elif isinstance(item, (str, int)) and not isinstance(item, bool):
            found.append(load_test(str(item)))
        elif isinstance(item, Mapping):
            found.append(user_test(item, f"user{place + 1}"))
        else:
            raise TypeError(f"tests[{place}] must be a name or a mapping of sets; got {type(item).__name__}.")
    if not found:
        raise ValueError(f"tests is empty. Known tests: {', '.join(available_tests())}; None takes the default.")
    names = [test.name for test in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Test {twice[0]!r} was asked for more than once.")
    return found
