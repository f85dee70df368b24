"""What a GFST run is measured by: WinoMT, MuST-SHE and a generic test set, from translations made once by every arm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hf_fairness.filters import LANGUAGES, GenderTagger
from hf_fairness.measure.translator.must_she import must_she
from hf_fairness.measure.translator.winomt import WinoMTConfig, winomt
from hf_fairness.measure.translator.winomt_data import as_rows
from hf_fairness.record import Measure, mapping
from hf_fairness.rows import read_columns
from hf_fairness.runs import atomic_write_json
from hf_fairness.scores import must_she as must_she_scores
from hf_fairness.scores import translation_quality
from hf_fairness.scores import winomt as winomt_scores
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored
from hf_fairness.trainers.gfst.arguments import GFSTArguments
from hf_fairness.trainers.gfst.checks import tagger_key

#: Translations of all sets by one arm, by set; genders that were read from those of WinoMT.
TRANSLATIONS, GENDERS = "translations.json", "genders.json"
WINOMT, MUST_SHE, TEST = "winomt", "must_she", "test"


def read(folder: Path, name: str) -> Any:
    """What an arm left in a folder."""
    return json.loads((folder / name).read_text(encoding="utf-8"))


@dataclass
class TranslationSet(EvalSet):
    """A set that every model translates.

    Attributes:
        measure: called with translations and references; with ``compare_to`` for a paired comparison.
        column: of the texts to translate.
        sources: these texts.
        references: what their translations are scored by.
    """

    measure: Callable[..., dict[str, Any]] = translation_quality.translation_quality
    column: str = "source"
    sources: Sequence[str] = ()
    references: Any = None

    def score(self, fitted: Fitted, folder: Path) -> dict[str, Any]:
        """Numbers of the translations in the folder."""
        return self.measure(read(folder, TRANSLATIONS)[self.name], self.references)

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Differences of two models on the same rows."""
        ours, theirs = (read(each.folder, TRANSLATIONS)[self.name] for each in (one, other))
        return mapping(self.measure(ours, self.references, compare_to=theirs), "comparison")

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """The F1 of a group is a part of the gap between the groups."""
        for found in super().measures(results):
            title, detail = self.declared[found.metric].title, found.metric.startswith("f1_")
            yield replace(found, set=self.title, title=title, detail=detail)


class WinoMTSet(TranslationSet):
    """WinoMT: the genders of its translations are read once, and compared as often as there are models."""

    def score(self, fitted: Fitted, folder: Path) -> dict[str, Any]:
        """Numbers of the translations in the folder."""
        result = super().score(fitted, folder)
        atomic_write_json(folder / GENDERS, [item["predicted"] for item in result.pop("items")])
        return result

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Differences of two models on the same rows."""
        ours, theirs = (read(each.folder, GENDERS) for each in (one, other))
        return mapping(self.measure(ours, self.references, predictions_are="genders", compare_to=theirs), "comparison")


def translation_sets(
    a: GFSTArguments, data: Mapping[str, Any], groups: Sequence[str], tagger: GenderTagger | None, seed: int
) -> list[TranslationSet]:
    """The sets that were given.

    Args:
        a: settings.
        data: ``winomt_rows`` and ``must_she_rows`` as the measures take them, ``test`` pairs; None: not measured.
        groups: names of the groups, whose F1 WinoMT has.
        tagger: reads the genders of WinoMT's translations; None: that of the language's rules.
        seed: of the resamples.

    Raises:
        ValueError: a row without a text to translate.
    """
    f1 = {
        f"f1_{group}": replace(
            winomt_scores.F1, title=f"people of the group {group} translated with the right gender (F1)"
        )
        for group in groups
    }
    rules = "original" if a.target_lang in LANGUAGES and tagger is None else "agreement"
    how = WinoMTConfig(aligner=a.aligner, tagger=tagger, rules=rules, items=True)
    reading: dict[str, Any] = {
        "measure": partial(winomt, lang=a.target_lang, config=how),
        "key": [a.aligner, tagger_key(a, tagger)],
    }
    kinds: dict[str, TranslationSet] = {
        "winomt_rows": WinoMTSet(WINOMT, winomt_scores.MEASURES | f1, "WinoMT", column="sentence", **reading),
        "must_she_rows": TranslationSet(MUST_SHE, must_she_scores.MEASURES, "MuST-SHE", measure=must_she),
        "test": TranslationSet(TEST, translation_quality.MEASURES, "test set"),
    }
    options: dict[str, Any] = {"n_bootstrap": a.n_bootstrap, "seed": seed}
    found = {name: each for name, each in kinds.items() if data[name] is not None}
    for name, each in found.items():
        rows = [dict(row) for row in as_rows(data[name])]
        each.sources = read_columns(rows, [each.column], each.name)[each.column]
        each.references = [row["target"] for row in rows] if name == "test" else rows
        each.measure = partial(each.measure, **options)
        each.key = [each.key, each.sources, each.references, options]
    return list(found.values())
