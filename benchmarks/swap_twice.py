"""Is a text that is swapped twice the text again? The share of news sentences, and why the others are not.

    python -m benchmarks.swap_twice         prints the share and the others by kind

Sentences are drawn by seed from the English lines of the third-party data in ../shared beside the project; all have a
word of a gender. No sentence stands in this project, and none is printed.
"""

from __future__ import annotations

import collections
import difflib
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.exams.texts import DATA
from benchmarks.swap_quality import GENDER
from benchmarks.token_errors import tokens
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment import swap

#: What the share must be, in [0, 1].
BAR = 0.99
KINDS = {
    "pronoun": "her or his has another case than before",
    "counterpart": "two words have one counterpart: mum and mom, Ms and Mrs",
    "generic": "the counterpart is said of everyone and is left alone: priest, gods",
    "left alone": "a word is swapped once and is left alone the other time: a name, a headline, an idiom",
    "article": "a or an",
    "capitals": "only capitals differ",
    "other": "all else",
}
_PRONOUNS = frozenset({"her", "his", "him", "hers"})
_ARTICLES = frozenset({"a", "an"})


def sentences(n: int = 10_000, seed: int = 1, data: Path = DATA) -> list[str]:
    """Different news sentences with a word of a gender, drawn by seed."""
    lines = {line for path in (data / "gfst").glob("*.en") for line in path.read_text(encoding="utf-8").splitlines()}
    return random.Random(seed).sample(sorted(line for line in lines if line.strip()), n)


def measure(texts: Iterable[str], rewrite: Callable[[str], str] = swap) -> dict[str, Any]:
    """How many texts come back, and why the others do not.

    Returns:
        ``n``; ``changed``: how many the first swap changes; ``identity``: share of all that come back, 1 is ideal;
        ``kinds``: kind of :data:`KINDS` -> texts that it holds for (one may have several); ``commonest``: what came
        back in place of what, words only.
    """
    n, changed, lost = 0, 0, 0
    kinds: collections.Counter[str] = collections.Counter()
    commonest: collections.Counter[str] = collections.Counter()
    for text in texts:
        once = rewrite(text)
        twice = rewrite(once)
        n, changed = n + 1, changed + (once != text)
        if twice == text:
            continue
        lost += 1
        differences = list(_differences(tokens(text), tokens(twice)))
        kinds.update({kind_of(*difference) for difference in differences} or {"other"})
        commonest.update(" -> ".join(difference).lower() for difference in differences)
    return {
        "n": n,
        "changed": changed,
        "identity": 1 - lost / n,
        "kinds": {kind: kinds[kind] for kind in KINDS},
        "commonest": [f"{count} x {what}" for what, count in commonest.most_common(10)],
    }


def _differences(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Words that came back as other words, in pairs where there are as many."""
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal" and b - a == d - c:
            yield from zip(before[a:b], after[c:d], strict=True)
        elif kind != "equal":
            yield " ".join(before[a:b]), " ".join(after[c:d])


def kind_of(before: str, after: str) -> str:
    """Why one word came back as another, a key of :data:`KINDS`."""
    words = {before.lower(), after.lower()}
    if len(words) == 1:
        return "capitals"
    if words <= _PRONOUNS:
        return "pronoun"
    if words <= _ARTICLES:
        return "article"
    groups = [GENDER.polarity(word) for word in (before, after)]
    if NEUTRAL in groups:
        return "generic" if groups[0] != NEUTRAL else "other"
    return "counterpart" if groups[0] == groups[1] else "left alone"


def main() -> int:
    """Print the share and the kinds; the status says whether the bar is met."""
    found = measure(sentences())
    print(f"{found['n']} sentences, {found['changed']} changed, {found['identity']:.4f} come back (bar {BAR})")
    for kind, count in sorted(found["kinds"].items(), key=lambda item: -item[1]):
        print(f"  {count:4} {kind:<12} {KINDS[kind]}")
    print("  commonest: " + "; ".join(itertools.islice(found["commonest"], 10)))
    return 0 if found["identity"] >= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
