"""SEAT stimuli: word lists and templates, both data, become the sentences of May et al. 2019."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

#: Kind of word to the templates that it takes.
Templates = Mapping[str, Sequence[str]]

ROLES = ("targ1", "targ2", "attr1", "attr2")
PURPOSES = ("bias", "retention")
#: The six gender tests that the papers average, then the two in which an association is wanted.
DEFAULT_TESTS = ("6", "6b", "7", "7b", "8", "8b", "1", "2")
#: Name of the templates of May et al. 2019.
PUBLISHED = "published"


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


@cache
def template_sets() -> dict[str, Templates]:
    """The template sets of this package: "published" (May et al. 2019) first, then our own.

    Returns:
        Name to templates by kind of word.

    Example:
        >>> template_sets()["question"]["name"][-1]
        'Who is {word}?'
    """
    published = {kind: entry["templates"] for kind, entry in _data("seat_templates.json")["kinds"].items()}
    return {PUBLISHED: published, **_data("seat_template_sets.json")["sets"]}


def template_set(templates: str | Templates = PUBLISHED) -> Templates:
    """Templates by name, or a user's own, checked.

    Args:
        templates: a key of ``template_sets()``, or kind of word to a list of texts with the places ``{word}``,
            or ``{singular}``, ``{plural}`` and ``{a}`` (the article).

    Returns:
        Templates by kind of word.

    Raises:
        ValueError: unknown name, a kind without templates, a template without or with an unknown place.
    """
    if isinstance(templates, str):
        if templates not in template_sets():
            raise ValueError(f"Unknown template set {templates!r}. Known: {', '.join(template_sets())}.")
        return template_sets()[templates]
    if not isinstance(templates, Mapping) or not templates:
        raise ValueError(f"templates must map kinds of words to lists of texts; got {templates!r:.80}.")
    for kind, texts in templates.items():
        for text in strings(texts, f"templates[{kind!r}]"):
            try:
                places = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
            except ValueError as error:
                raise ValueError(f"templates[{kind!r}]: {text!r} is no template: {error}.") from error
            if not places & {"word", "singular", "plural"} or not places <= {"word", "singular", "plural", "a"}:
                raise ValueError(
                    f"templates[{kind!r}]: {text!r} must hold {{word}}, {{singular}} or {{plural}}, and {{a}} at "
                    f"most beside them; it holds {', '.join(sorted(places)) or 'no place to fill'}."
                )
    return templates


def sentences(
    word: str,
    kind: str,
    *,
    forms: Sequence[str] | None = None,
    article: str | None = None,
    templates: str | Templates = PUBLISHED,
) -> list[str]:
    """Sentences around one word that say as little as possible.

    Args:
        word: the word.
        kind: kind of word, a key of the templates; "word" gives the word alone.
        forms: singular and plural; None means the word and its regular plural.
        article: "a" or "an"; None goes by the first letter.
        templates: name of a template set, or templates by kind of word; see ``template_set``.

    Returns:
        One sentence per template, in the order of the data.

    Raises:
        ValueError: unknown kind, or not two forms.

    Example:
        >>> sentences("office", "thing")[6:9]
        ['An office is a thing.', 'It is an office.', 'These are offices.']
    """
    kinds = template_set(templates)
    if kind == "word":
        return [word]
    if kind not in kinds:
        raise ValueError(
            f"Unknown kind of word {kind!r} for {word!r}: there are no templates for it. Known kinds: word, "
            f"{', '.join(kinds)}."
        )
    pair = [word, plural(word)] if forms is None else list(forms)
    if len(pair) != 2:
        raise ValueError(f"forms of {word!r} must be [singular, plural]; got {pair}.")
    a = article or ("an" if pair[0][:1].lower() in "aeiou" else "a")
    filled = [text.format(word=word, singular=pair[0], plural=pair[1], a=a) for text in kinds[kind]]
    return [text[:1].upper() + text[1:] for text in filled]


def from_words(
    name: str,
    spec: Mapping[str, Any],
    *,
    templates: str | Templates = PUBLISHED,
    kind: str | None = None,
    left_out: Mapping[str, Sequence[int]] | None = None,
) -> Stimuli:
    """Fill templates with the words of a list.

    Args:
        name: of the set.
        spec: ``words``, and optionally ``kind`` (default "word"), ``kinds`` (kind to words that differ), ``forms``
            (word to singular and plural) and ``articles``.
        templates: name of a template set, or templates by kind of word.
        kind: for all words, whatever ``spec`` says.
        left_out: places of sentences, by word, that are not used; None means none.

    Returns:
        The texts, each with its word.

    Raises:
        ValueError: no words, a word twice, an unknown kind.
    """
    words = strings(spec["words"], f"{name}.words")
    kind_of = {word: given for given, group in spec.get("kinds", {}).items() for word in group}
    articles = {**_data("seat_words.json")["articles"], **spec.get("articles", {})}
    known = template_set(templates)
    texts, owners = [], []
    for word in words:
        forms = spec.get("forms", {}).get(word)
        article = articles.get(forms[0] if forms else word)
        chosen = kind or kind_of.get(word, spec.get("kind", "word"))
        made = sentences(word, chosen, forms=forms, article=article, templates=known)
        skipped = (left_out or {}).get(word, ())
        kept = [text for place, text in enumerate(made) if place not in skipped]
        texts += kept
        owners += [word] * len(kept)
    return Stimuli(name, tuple(texts), tuple(owners))


def strings(values: Any, name: str) -> list[str]:
    """A list of different, non-empty strings, or an error that names it."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{name} must be a list of texts; got {type(values).__name__}.")
    for place, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name}[{place}] must be a text; got {value!r}.")
    if not values:
        raise ValueError(f"{name} is empty: an association test needs at least one text in each set.")
    twice = sorted(value for value, count in Counter(values).items() if count > 1)
    if twice:
        raise ValueError(f"{name} holds {twice[0]!r} more than once; give every text once.")
    return list(values)


def load_test(name: str, *, templates: str | Templates = PUBLISHED) -> AssociationTest:
    """A built-in test by name: sentences for "6", words for "weat6".

    Args:
        name: a key of ``available_tests()``, optionally after "weat", "sent-weat" or "seat".
        templates: name of a template set, or templates by kind of word; see ``template_set``.

    Returns:
        The test; with the published templates its sentences equal the published sets in content and order.

    Raises:
        ValueError: no such test; the message lists those that exist. No templates for a kind of its words.

    Source:
        Caliskan et al. 2017 (word lists), May et al. 2019 (templates, further lists), Meade et al. 2022
        (religion). The two vignette tests are ours, after the experiment that the double bind tests follow.

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
    spec, words_only = data["tests"][base], prefix.startswith("weat")
    left_out = spec.get("left_out", {}) if templates == PUBLISHED and not words_only else {}
    kinds = dict.fromkeys(ROLES, "word") if words_only else spec.get("kinds", {})
    sets = [
        from_words(
            spec[role],
            data["lists"][spec[role]],
            templates=templates,
            kind=kinds.get(role),
            left_out=left_out.get(role),
        )
        for role in ROLES
    ]
    return AssociationTest(name, spec["purpose"], spec["about"], *sets)
