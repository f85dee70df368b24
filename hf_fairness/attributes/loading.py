"""Find and read the attribute files."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from hf_fairness.attributes.model import Attribute
from hf_fairness.attributes.schema import AttributeFileError, parse_attribute

#: Folder of the files that come with the package, one per attribute and language.
DATA = Path(__file__).parent / "data"


def available_attributes() -> list[tuple[str, str]]:
    """Name and language of every attribute that comes with the package, sorted.

    Example:
        >>> from hf_fairness.attributes import available_attributes
        >>> ("gender", "en") in available_attributes()
        True
    """
    found = []
    for path in DATA.glob("*.json"):
        name, _, language = path.stem.partition(".")
        found.append((name, language))
    return sorted(found)


def load_attribute(attribute: str | Path | Attribute = "gender", *, language: str = "en") -> Attribute:
    """Read an attribute by name or from a file of your own.

    Args:
        attribute: name of an attribute of the package (``"gender"``), path of a JSON file, or an
            :class:`Attribute`, which is returned as it is.
        language: two-letter code; used with a name only.

    Returns:
        The attribute. The same file gives an equal one.

    Raises:
        ValueError: no such attribute or language; the message lists those that exist.
        FileNotFoundError: the path does not exist.
        AttributeFileError: the file breaks the schema; the message names file and field.

    Example:
        >>> from hf_fairness.attributes import load_attribute
        >>> load_attribute("religion").group_names
        ('christian', 'jewish', 'muslim')

        A whole file of one's own: each concept has a form for every group and a neutral one, singular and plural (or
        one form alone). :mod:`hf_fairness.attributes.schema` says what else a file may hold: pronouns, given names,
        variants, words that are left alone. Write it to ``age.json`` and give ``--attribute age.json`` to a command.

        >>> text = '''{
        ...   "schema_version": 1, "name": "age", "language": "en",
        ...   "description": "Old and young people.", "licence": "CC0-1.0",
        ...   "sources": [{"what": "words", "citation": "a list of our own", "licence": "CC0-1.0"}],
        ...   "groups": ["old", "young"],
        ...   "concepts": [
        ...     {"id": "person", "category": "people",
        ...      "forms": {"old": ["elder", "elders"], "young": ["youth", "youths"], "neutral": ["person", "people"]}},
        ...     {"id": "aged", "category": "adjective",
        ...      "forms": {"old": ["elderly"], "young": ["youthful"], "neutral": [""]}}
        ...   ]
        ... }'''
        >>> import tempfile
        >>> from hf_fairness.augment import swap
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "age.json")
        ...     _ = path.write_text(text, encoding="utf-8")
        ...     swap("The elder met two youthful people.", attribute=load_attribute(path))
        'The youth met two elderly people.'
    """
    if isinstance(attribute, Attribute):
        return attribute
    if isinstance(attribute, Path) or (isinstance(attribute, str) and attribute.endswith(".json")):
        path = Path(attribute)
        if not path.is_file():
            raise FileNotFoundError(f"Attribute file {path} does not exist (looked from {Path.cwd()}).")
        return _read(path.resolve(), path.stat().st_mtime_ns)
    if not isinstance(attribute, str):
        raise TypeError(
            f"attribute must be a name, a path or an Attribute, got {type(attribute).__name__} {attribute!r}."
        )
    known = available_attributes()
    if (attribute, language) not in known:
        listed = ", ".join(f"{name} ({code})" for name, code in known)
        raise ValueError(
            f"Unknown attribute {attribute!r} for language {language!r}. Known: {listed}. "
            "For an attribute of your own pass the path of its JSON file; the help of "
            "hf_fairness.attributes.load_attribute shows one."
        )
    path = DATA / f"{attribute}.{language}.json"
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=32)
def _read(path: Path, modified: int) -> Attribute:
    del modified  # part of the cache key only: an edited file is read anew
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise AttributeFileError(f"{path.name}: not valid JSON in UTF-8 ({error}).") from error
    return parse_attribute(content, file=path.name)
