"""Synonyms from WordNet, which nltk reads, and the regular inflections of English that they need."""

from __future__ import annotations

import functools
import io
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from hf_fairness.augment.nlu.words import FUNCTION_WORDS
from hf_fairness.utils import require

#: Part of speech -> endings of the inflections that are made.
_ENDINGS = {"n": ("s",), "v": ("s", "ed", "ing"), "a": (), "r": ()}
_PLAIN = re.compile(r"[a-z]{3,}")
#: Share of a word's tagged uses that one part of speech must have.
CLEAR_PART = 0.8
#: Share of the tagged uses of a word in one part of speech that the first sense must have.
CLEAR_SENSE = 0.5


class Reading(NamedTuple):
    """A base form, its part of speech (n, v, a, r), and the form: base, s (plural, third person), ed, ing, other."""

    base: str
    pos: str
    form: str


class WordNet:
    """The words of a WordNet, read by nltk: readings, and synonyms that fit in place of a word."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.release: str = reader.get_version()
        self._irregular: dict[tuple[str, str], list[str]] = {}
        for pos in _ENDINGS:
            for word, bases in reader._exception_map[pos].items():
                for base in bases:
                    self._irregular.setdefault((base, pos), []).append(word)

    def readings(self, word: str) -> list[Reading]:
        """Every reading of a word in small letters."""
        found = [(base, pos) for pos in _ENDINGS for base in self._reader._morphy(word, pos)]
        return [Reading(base, pos, "base" if base == word else _form(word, pos)) for base, pos in found]

    def reading(self, word: str) -> Reading | None:
        """The one reading of a word that counts: at least 80 % of its tagged uses; None if it has no such one.

        A word that is listed and an inflection as well (*striped*, *painting*) has none.
        """
        readings = self.readings(word)
        if len({reading.form == "base" for reading in readings}) != 1:
            return None
        weights = [(sum(self._uses(reading.base, reading.pos)) + 0.5, reading) for reading in readings]
        weight, best = max(weights)
        return best if weight >= CLEAR_PART * sum(weight for weight, _ in weights) else None

    def synonyms(self, word: str) -> list[str]:
        """Words that can stand in place of a word in small letters, in its inflection and WordNet's order; often none.

        The word must be clear, and so must its synonym: one part of speech has at least 80 % of the tagged uses,
        and in it one sense (WordNet's first) at least half; this sense is the first one of both; and the synonym
        is a single word of small letters that the tagged texts use.
        """
        reading = self.reading(word)
        sense = reading and self._clear_sense(reading.base, reading.pos)
        if reading is None or sense is None:
            return []
        result = []
        for lemma in sense.lemmas():
            name = lemma.name()
            if name == reading.base or name in FUNCTION_WORDS or not _PLAIN.fullmatch(name):
                continue
            if lemma.syntactic_marker() or self.reading(name) != (name, reading.pos, "base"):
                continue
            first = self._clear_sense(name, reading.pos)
            if first is None or first != sense or not any(self._uses(name, reading.pos)):
                continue
            result.append(self.inflect(name, reading.pos, reading.form))
        return [new for new in result if new is not None and new != word]

    def inflect(self, base: str, pos: str, form: str) -> str | None:
        """A base form in a regular inflection; None where the word is irregular there, or the form unknown."""
        if form == "base":
            return base
        listed = self._irregular.get((base, pos), [])
        if form not in _ENDINGS[pos] or (pos == "n" and (listed or base.endswith("s"))):
            return None
        forms = [_form(word, pos) for word in listed]
        if forms.count(form) > 1 or (form == "ed" and "other" in forms):  # went, gone: the sentence decides
            return None
        return listed[forms.index(form)] if form in forms else _regular(base, form)

    def _uses(self, base: str, pos: str) -> list[int]:
        """How often the tagged texts use every sense of a base form, WordNet's first one first."""
        return [lemma.count() for lemma in self._reader.lemmas(base, pos)]

    def _clear_sense(self, base: str, pos: str) -> Any | None:
        """The first sense, if it is the one that is meant nearly always."""
        uses = self._uses(base, pos)
        clear = len(uses) == 1 or uses[0] >= CLEAR_SENSE * max(1, sum(uses))
        return self._reader.lemmas(base, pos)[0].synset() if clear else None


def _form(word: str, pos: str) -> str:
    """The form of a word that is no base form; every one of a noun is the plural."""
    return "s" if pos == "n" else next((ending for ending in _ENDINGS[pos] if word.endswith(ending)), "other")


def _regular(base: str, form: str) -> str:
    if form != "ing" and base.endswith("y") and base[-2] not in "aeiou":
        base = base[:-1] + "ie"
    if form == "s":
        return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s")
    return (base[:-1] if base.endswith("e") and (form == "ed" or base[-2] not in "eoy") else base) + form


def find_wordnet(folder: str | Path | None = None) -> tuple[str, WordNet]:
    """Open a WordNet with nltk; one that was opened before is taken from memory.

    Args:
        folder: the folder with ``data.noun`` and so on; None means the corpus that nltk finds in its data folders.

    Returns:
        Where it is, and the WordNet.

    Raises:
        ImportError: nltk is not installed.
        FileNotFoundError: there is no WordNet; the message says how to get one.
        ValueError: the files are no WordNet, or nltk refuses to read them.
    """
    data = require("nltk.data")
    if folder is None:
        for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):  # the downloader leaves the archive packed
            try:
                root = data.find(name)
            except LookupError:
                continue
            return "nltk", _open(root)
        raise FileNotFoundError(
            "nltk has no WordNet. Get it once with: python -m nltk.downloader wordnet. Or pass wordnet= with a folder "
            "of WordNet files, such as /usr/share/wordnet of Debian's package wordnet-base."
        )
    place = Path(folder).expanduser().absolute()
    place = place / "dict" if (place / "dict" / "data.noun").is_file() else place
    if not (place / "data.noun").is_file():
        raise FileNotFoundError(
            f"{folder} holds no WordNet: there is no data.noun in it. Expected a folder such as /usr/share/wordnet "
            "(Debian's package wordnet-base), or the folder `dict` of the archive from wordnet.princeton.edu."
        )
    data.path.append(str(place))  # nltk reads nothing outside the folders that it was told of
    try:
        return str(place), _open(data.FileSystemPathPointer(str(place)))
    finally:
        data.path.pop()


_opened: dict[str, WordNet] = {}


def _open(root: Any) -> WordNet:
    if str(root) not in _opened:
        _opened[str(root)] = WordNet(_read(root))
    return _opened[str(root)]


def _read(root: Any) -> Any:
    """A reader of nltk that needs neither index.sense nor lexnames, which Debian's package leaves out.

    The names in lexnames are not used here. The files are kept in memory: forked processes would share the position
    in open ones.
    """
    data = require("nltk.data")
    library: Any = require("nltk.corpus.reader.wordnet")
    contents = {"lexnames": b"".join(b"%02d unnamed 0\n" % number for number in range(45))}

    class Reader(library.WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            return data.SeekableUnicodeStreamReader(io.BytesIO(contents[file]), self._ENCODING)

        def map_wn(self, version: str = "wordnet") -> None:
            """Nothing: for languages other than English, and the one that wants index.sense."""

    try:
        for name in set(library.WordNetCorpusReader._FILES) - {"lexnames", "index.sense"}:
            with root.join(name).open() as stream:
                contents[name] = stream.read()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The multilingual functions")
            reader = Reader(root, None)
    except (OSError, StopIteration, library.WordNetError) as error:
        raise ValueError(f"{root} holds no WordNet files that nltk can read: {error!r}.") from error
    if reader.get_version() is None:
        raise ValueError(f"{root} holds no WordNet files: data.adj does not say which version of WordNet it is.")
    return reader


@functools.lru_cache(maxsize=100_000)
def synonyms_of(word: str, folder: str | None) -> tuple[str, ...]:
    """:meth:`WordNet.synonyms`, remembered."""
    return tuple(find_wordnet(folder)[1].synonyms(word))
