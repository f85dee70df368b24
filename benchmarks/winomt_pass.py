"""A whole pass over WinoMT's 3,888 rows, against its two costly parts alone: alignment and tagging of all tokens."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

from benchmarks.runner import FOLDER, Benchmark, SkipSubject
from hf_fairness.alignment import align
from hf_fairness.filters.genders import rule_tagger
from hf_fairness.measure.translator.winomt import winomt
from hf_fairness.measure.translator.winomt_data import read_translations, read_winomt

DATA = FOLDER.parent.parent / "shared" / "data" / "winomt"
LANG = "ru"


class State(NamedTuple):
    """Rows, translations, and the words of both."""

    rows: list[dict[str, Any]]
    translations: list[str]
    sources: list[list[str]]
    targets: list[list[str]]
    tagger: Any


def setup(quick: bool) -> State:
    """Read the published rows and translations; the tagger's dictionary is loaded in the untimed round."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    if find_spec("pymorphy3") is None:
        raise SkipSubject('needs pymorphy3: pip install "hf-fairness[translation]"')
    rows = read_winomt(DATA / "en.txt")
    translations = read_translations(DATA / "translations" / f"google.en-{LANG}.txt")
    step = 4 if quick else 1
    rows, translations = rows[::step], translations[::step]
    sources, targets = [row["sentence"].split() for row in rows], [text.split() for text in translations]
    return State(rows, translations, sources, targets, rule_tagger(LANG, "original"))


def subject(state: State) -> None:
    """Alignment, genders, every number with its interval, the table by profession."""
    winomt(state.translations, state.rows, lang=LANG)


def peer(state: State) -> None:
    """The aligner and the tagger, and nothing made of their answers."""
    align(state.sources, state.targets)
    state.tagger.genders(state.targets)


BENCHMARK = Benchmark(
    name="winomt_pass",
    compares="whole WinoMT pass (3,888 rows, ru) against bare alignment and tagging of its target tokens",
    bar=0.4,  # at most 2.5 times as long
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
