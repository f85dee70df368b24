"""fast_align in numpy against systran-align, which is fast_align in C++, per direction that is trained.

systran-align trains both directions and joins their links; ours trains the forward one, as the published WinoMT numbers
have it. Joined links are not those of one direction: how many are shared is shown.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.runner import FOLDER, Benchmark, SkipSubject
from hf_fairness.alignment import align
from hf_fairness.measure.translator.winomt_data import read_translations, read_winomt

DATA = FOLDER.parent.parent / "shared" / "data"
WINOMT, NEWS = "WinoMT in German, 3,888 pairs", "German news, 6,000 pairs"


class State(NamedTuple):
    """Words of both sides."""

    sources: list[list[str]]
    targets: list[list[str]]


def setup(quick: bool, size: str) -> State:
    """Split the sentences at blanks."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    if size == NEWS:
        files = (DATA / "gfst" / f"news.2016.MALE.BT.en-de.{lang}" for lang in ("en", "de"))
        sides = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in files]
    else:
        translations = read_translations(DATA / "winomt" / "translations" / "google.en-de.txt")
        sides = [[row["sentence"] for row in read_winomt(DATA / "winomt" / "en.txt")], translations]
    step = 8 if quick else 1
    sources, targets = ([text.split() for text in side[::step]] for side in sides)
    return State(sources, targets)


def subject(state: State) -> float:
    """One direction."""
    align(state.sources, state.targets)
    return 1.0


def peer(state: State) -> float:
    """Both directions, and their join."""
    align(state.sources, state.targets, aligner="systran")
    return 2.0


def check(state: State) -> dict[str, float]:
    """How many links of each side the other has, too."""
    ours, theirs = (
        {(row, *link) for row, links in enumerate(align(*state, aligner=name)) for link in links}
        for name in ("fast_align", "systran")
    )
    both = len(ours & theirs)
    return {"of our links shared": both / len(ours), "of systran's": both / len(theirs)}


BENCHMARK = Benchmark(
    name="alignment_systran",
    compares="fast_align in numpy against systran-align (C++, both directions), per direction",
    bar=dict.fromkeys((WINOMT, NEWS), 1.0),
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
    rival="systran-align",
    check=check,
)
