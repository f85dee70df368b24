"""French, Italian and Spanish through the analysers of Apertium, which run as programs beside Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, NONE, Genders, spread

#: Debian package, and language pair whose first side is the language.
_PAIRS = {
    "es": ("apertium-spa-cat", "spa-cat"),
    "fr": ("apertium-oci-fra", "fra-oci"),
    "it": ("apertium-cat-ita", "ita-cat"),
}
#: Tags of Apertium; ``mf`` is a form for both.
_GENDERS = {
    "m": frozenset({MALE}),
    "f": frozenset({FEMALE}),
    "mf": frozenset({FEMALE, MALE}),
    "nt": frozenset({NEUTRAL}),
}
#: Article and pronoun of both genders; the analyser has a masculine and a feminine reading of the pronoun.
_ELIDED = ("l'", "l’")
_DATA = Path("/usr/share/apertium")
LANGUAGES: tuple[str, ...] = tuple(_PAIRS)

#: Analyse, drop readings by grammar rules, choose one reading; each prints its answer at every NUL (-z).
_STEPS = (
    ("lt-proc", ("-z", "-w"), "automorf.bin"),
    ("cg-proc", ("-z", "-w"), "rlx.bin"),
    ("apertium-tagger", ("-z", "-g", "-p"), "prob"),
)

_RESERVED = re.compile(r"[\[\]{}^$/\\@<>]")
#: Control characters, soft hyphens and halves of surrogate pairs: the programs drop them or stop at them.
_IGNORED = re.compile(r"[\x00-\x1f\x7f\u00ad\ud800-\udfff]")
#: ``^surface/lemma<tag><tag>+lemma<tag>$``
_UNIT = re.compile(r"\^((?:[^/$\\]|\\.)+)/((?:[^$\\]|\\.)*)\$")
_TAG = re.compile(r"<([^<>]*)>")


@dataclass(frozen=True)
class ApertiumTagger:
    """Gender of the reading that Apertium chooses for each word in its sentence.

    All sentences go through three programs in one call each, as bytes on standard input; no shell is involved.

    Args:
        lang: ``"es"``, ``"fr"`` or ``"it"``.
        data: folder of the language data; None means where the Debian packages put it.

    Raises:
        ValueError: no such language.
        FileNotFoundError: a program or the data of the language is missing (at the first call); the message names
            the Debian packages.

    Source:
        Forcada et al. 2011. The programs and data are GPL and are not part of this package.
    """

    lang: str
    data: str | None = None

    def __post_init__(self) -> None:
        if self.lang not in LANGUAGES:
            raise ValueError(f"The Apertium tagger knows {', '.join(LANGUAGES)}; got lang={self.lang!r}.")

    @property
    def name(self) -> str:
        """Program, language pair, language."""
        return f"Apertium {_PAIRS[self.lang][1]} ({self.lang})"

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        cleaned = [[_IGNORED.sub("", token) for token in sentence] for sentence in sentences]
        texts = [" ".join(tokens) for tokens in cleaned]
        answers = self._analyse(list(dict.fromkeys(texts)))
        return [spread(tokens, _units(answers[text], text)) for tokens, text in zip(cleaned, texts, strict=True)]

    def _analyse(self, texts: list[str]) -> dict[str, str]:
        if not texts:
            return {}
        # Without the line end the analyser keeps back a last word that could open an expression of several words.
        stream = "".join(_RESERVED.sub(r"\\\g<0>", text) + "\n\0" for text in texts).encode()
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        for command in _commands(self.lang, self.data):
            done = subprocess.run(command, input=stream, capture_output=True, env=environment, check=False)
            if done.returncode:
                told = done.stderr.decode(errors="replace").strip()
                raise RuntimeError(f"{command[0]} ended with status {done.returncode}: {told or 'no message'}.")
            stream = done.stdout
        answers = stream.decode().rstrip("\0").split("\0")  # each program adds a NUL at the end of its input
        if len(answers) != len(texts):
            raise RuntimeError(
                f"Apertium answered {len(answers)} of {len(texts)} sentences. Update its packages, or use spaCy."
            )
        return dict(zip(texts, answers, strict=True))


def missing(lang: str, data: str | None = None) -> list[str]:
    """Programs and files that tagging a language lacks on this machine."""
    programs = [program for program, _, _ in _STEPS if shutil.which(program) is None]
    return programs + [str(path) for path in _files(lang, data) if not path.is_file()]


def _commands(lang: str, data: str | None) -> list[list[str]]:
    """The three commands; the first word is a name on the path."""
    if lacking := missing(lang, data):
        raise FileNotFoundError(
            f"Tagging {lang!r} with Apertium needs {', '.join(lacking)}. Install the Debian packages: "
            f"sudo apt-get install apertium {_PAIRS[lang][0]}. Or take a spaCy model: gender_tagger({lang!r}, 'spacy')."
        )
    files = _files(lang, data)
    return [[program, *flags, str(path)] for (program, flags, _), path in zip(_STEPS, files, strict=True)]


def _files(lang: str, data: str | None) -> list[Path]:
    package, pair = _PAIRS[lang]
    folder = Path(data) if data is not None else _DATA / package
    return [folder / f"{pair}.{ending}" for _, _, ending in _STEPS]


def _units(answer: str, text: str) -> Iterator[tuple[int, int, Genders]]:
    """Start, end and genders of every word of an answer, in the text."""
    at = 0
    for match in _UNIT.finditer(answer):
        surface = re.sub(r"\\(.)", r"\1", match[1])
        start = text.find(surface, at)
        if start < 0:
            continue  # a surface that the analyser has rewritten: its token stays without genders
        at = start + len(surface)
        if surface.lower() in _ELIDED:
            yield start, at, _GENDERS["mf"]
        else:
            yield from _readings(match[2], start, at)


def _readings(analysis: str, start: int, end: int) -> Iterator[tuple[int, int, Genders]]:
    """The words of one unit: several where they are written as one ("al" = a + il) or make up an expression.

    In an expression of several tokens ("rendu visite à la"), a noun stands for all of them, another word for the
    first token, and the last word for the last one.
    """
    parts = analysis.split("+")
    for number, part in enumerate(parts):
        tags = _TAG.findall(part)
        genders = next((_GENDERS[tag] for tag in tags if tag in _GENDERS), NONE)
        if number and number == len(parts) - 1:
            yield end - 1, end, genders
        else:
            yield start, end if "n" in tags and len(parts) == 1 else start + 1, genders
