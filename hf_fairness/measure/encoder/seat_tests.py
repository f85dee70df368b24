"""SEAT tests that users define: as data, in a file, or in the layout of the published sets."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.measure.encoder.stimuli import (
    DEFAULT_TESTS,
    PUBLISHED,
    PURPOSES,
    ROLES,
    AssociationTest,
    Stimuli,
    Templates,
    available_tests,
    from_words,
    load_test,
    strings,
)
from hf_fairness.utils import FairnessWarning

#: Files of definitions, by the end of their name.
FILES = (".json", ".jsonl", ".yaml", ".yml")
_SENTENCE_END = (".", "!", "?")


def _examples(role: str, name: str, value: Mapping[str, Any]) -> Stimuli:
    """A set in the published layout, ``{"category", "examples"}``, with optional ``clusters``."""
    texts = strings(value["examples"], f"{role}.examples")
    if "clusters" in value:
        owners = [str(label) for label in value["clusters"]]
        if len(owners) != len(texts):
            raise ValueError(
                f"{role}.clusters must name the word of each text: got {len(owners)} words for {len(texts)} texts."
            )
        return Stimuli(name, tuple(texts), tuple(owners))
    if sum(text.rstrip().endswith(_SENTENCE_END) for text in texts) > 1:
        warnings.warn(
            f"{role} ({name}) gives {len(texts)} sentences and not the word each was built from: every sentence counts "
            "as a word of its own, so that p_value_clustered protects from nothing. Add clusters=[word of each "
            'sentence], or give {"word": [sentences]}.',
            FairnessWarning,
            stacklevel=5,
        )
    return Stimuli(name, tuple(texts), tuple(texts))


def _user_set(role: str, value: Any, templates: str | Templates) -> Stimuli:
    """One set of a user's test: a list, {"words": ...}, {"examples": ...} or word -> sentences."""
    if not isinstance(value, Mapping):
        texts = strings(value, role)
        return Stimuli(role, tuple(texts), tuple(texts))
    name = str(value.get("category", role)) if isinstance(value.get("category", role), str) else role
    if "words" in value:
        return from_words(name, value, templates=templates)
    if "examples" in value:
        return _examples(role, name, value)
    if not value:
        raise ValueError(f"{role} is empty: an association test needs at least one text in each set.")
    by_word = {str(word): strings(texts, f"{role}[{word!r}]") for word, texts in value.items()}
    pairs = [(text, word) for word, texts in by_word.items() for text in texts]
    return Stimuli(name, tuple(text for text, _ in pairs), tuple(word for _, word in pairs))


def user_test(definition: Mapping[str, Any], name: str, *, templates: str | Templates = PUBLISHED) -> AssociationTest:
    """An association test given as data.

    Args:
        definition: ``targ1``, ``targ2``, ``attr1``, ``attr2`` (X, Y, A, B), and optionally ``name``,
            ``purpose`` ("bias" or "retention") and ``about``. A set is a list of texts (each its own word);
            or ``{"words": [...], "kind": "name"}`` with optional ``kinds``, ``forms`` and ``articles``,
            filled into the templates; or ``{"word": [sentences]}``; or ``{"examples": [...]}`` as in May et
            al.'s files, with optional ``clusters``, the word of each example.
        name: used where the definition has none.
        templates: name of a template set, or templates by kind of word, for sets given as words.

    Returns:
        The test.

    Raises:
        ValueError: a missing, unknown, empty or malformed part.
    """
    known = {*ROLES, "name", "purpose", "about"}
    missing = [role for role in ROLES if role not in definition]
    unknown = sorted(str(key) for key in definition if key not in known)
    if missing or unknown:
        raise ValueError(
            f"Test {definition.get('name', name)!r} needs the sets {', '.join(ROLES)}; "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}."
        )
    purpose = definition.get("purpose", "bias")
    if purpose not in PURPOSES:
        raise ValueError(f"purpose must be one of {', '.join(PURPOSES)}; got {purpose!r}.")
    sets = [_user_set(role, definition[role], templates) for role in ROLES]
    return AssociationTest(str(definition.get("name", name)), purpose, str(definition.get("about", "")), *sets)


def _parse(path: Path) -> Any:
    """The content of a file of definitions: one value, or a list of the values of its lines."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: not valid YAML: {error}") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if path.suffix.lower() == ".jsonl" and len(lines) > 1 and error.msg == "Extra data":
            return [_line(path, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        raise ValueError(
            f"{path}: not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}. A file that was cut "
            "off or that lacks a comma has to be repaired first."
        ) from error


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {number} is not valid JSON: {error.msg}.") from error


def read_tests(path: str | Path, *, templates: str | Templates = PUBLISHED) -> list[AssociationTest]:
    """Tests from a JSON, JSON lines or YAML file.

    Args:
        path: a file with one definition (as the published sets have it; it is called after the file), with
            definitions by name, or with a list (or lines) of definitions and names of built-in tests. YAML reads a
            bare no, yes, on or off as true or false: put such words in quotes.
        templates: for sets given as words; see ``user_test``.

    Returns:
        At least one test.

    Raises:
        ValueError: no such file, not valid JSON or YAML, or a malformed definition; the message names the file.
    """
    file = Path(path).expanduser()
    if file.suffix.lower() not in FILES:
        raise ValueError(f"{file}: tests are read from files that end in {', '.join(FILES)}.")
    if not file.is_file():
        raise ValueError(f"There is no file {file}. tests may be names, definitions, or a path to a file of them.")
    content = _parse(file)
    try:
        if isinstance(content, Mapping) and set(ROLES) & set(content):
            return [user_test(content, file.stem, templates=templates)]
        if isinstance(content, Mapping) and content:
            return [_named(name, value, templates) for name, value in content.items()]
        if isinstance(content, list) and content:
            return [_item(item, f"{file.stem}{place + 1}", place, templates) for place, item in enumerate(content)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from error
    raise ValueError(
        f"{file} holds no tests: expected a mapping with {', '.join(ROLES)}, a mapping of names to such mappings, or "
        f"a list; got {'nothing' if not content else type(content).__name__}."
    )


def _named(name: Any, value: Any, templates: str | Templates) -> AssociationTest:
    if not isinstance(value, Mapping):
        raise TypeError(f"Test {name!r} must be a mapping of sets; got {type(value).__name__}.")
    return user_test(value, str(name), templates=templates)


def _item(item: Any, name: str, place: int, templates: str | Templates) -> AssociationTest:
    if isinstance(item, AssociationTest):
        return item
    if isinstance(item, (str, int)) and not isinstance(item, bool):
        return load_test(str(item), templates=templates)
    if isinstance(item, Mapping):
        return user_test(item, name, templates=templates)
    raise TypeError(f"tests[{place}] must be a name or a mapping of sets; got {type(item).__name__}.")


def resolve_tests(tests: Any = None, *, templates: str | Templates = PUBLISHED) -> list[AssociationTest]:
    """The tests that a user asked for.

    Args:
        tests: None for ``DEFAULT_TESTS``; a name; a path to a file (see ``read_tests``); a list of names, paths and
            definitions (see ``user_test``); or a mapping of names to definitions.
        templates: name of a template set, or templates by kind of word: for built-in tests, and for sets that a
            user gave as words.

    Returns:
        At least one test, names unique.

    Raises:
        ValueError: unknown name, malformed definition or file, no tests, a name twice.
        TypeError: an item that is neither a name nor a definition.
    """
    if tests is None:
        asked: Sequence[Any] = DEFAULT_TESTS
    elif isinstance(tests, (str, Path)):
        asked = [tests]
    elif isinstance(tests, Mapping):
        alone = bool(set(ROLES) & set(tests))
        asked = (
            [user_test(tests, "user", templates=templates)]
            if alone
            else [_named(name, value, templates) for name, value in tests.items()]
        )
    elif isinstance(tests, Sequence):
        asked = tests
    else:
        raise TypeError(f"tests must be names, definitions or None; got {type(tests).__name__}.")
    found: list[AssociationTest] = []
    for place, item in enumerate(asked):
        if isinstance(item, Path) or (isinstance(item, str) and item.endswith(FILES)):
            found += read_tests(item, templates=templates)
        else:
            found.append(_item(item, f"user{place + 1}", place, templates))
    if not found:
        raise ValueError(f"tests is empty. Known tests: {', '.join(available_tests())}; None takes the default.")
    twice = sorted(name for name, count in Counter(test.name for test in found).items() if count > 1)
    if twice:
        raise ValueError(f"Test {twice[0]!r} was asked for more than once.")
    return found
