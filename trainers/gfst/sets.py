"""What a GFST run is measured by: WinoMT, MuST-SHE and a generic test set, from translations made once by every arm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hf_fairness.filters import LANGUAGES, GenderTagger
from hf_fairness.measure.translator.must_she import must_she
from hf_fairness.measure.translator.winomt import WinoMTConfig, winomt
from hf_fairness.measure.translator.winomt_data import as_rows
from hf_fairness.record import Measure
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
        sources: texts to translate.
        references: what their translations are scored by.
        options: further arguments of the score.
        measure: called with translations, references and ``options``; with ``compare_to`` for a paired comparison.
    """

    sources: Sequence[str] = ()
    references: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    measure: Callable[..., dict[str, Any]] = translation_quality.translation_quality

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Numbers of the translations in the folder."""
        return self.measure(read(folder, TRANSLATIONS)[self.name], self.references, **self.options)

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Differences of two models on the same rows."""
        ours, theirs = (read(each.folder, TRANSLATIONS)[self.name] for each in (one, other))
        found: dict[str, Any] = self.measure(ours, self.references, compare_to=theirs, **self.options)["comparison"]
        return found

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """The F1 of a group is a part of the gap between the groups."""
        for found in super().measures(results):
            title, detail = self.declared[found.metric].title, found.metric.startswith("f1_")
            yield replace(found, set=self.title, title=title, detail=detail)


@dataclass
class WinoMTSet(TranslationSet):
    """WinoMT: the genders of its translations are read once, and compared as often as there are models.

    Attributes:
        lang: the target language.
        how: how the genders are read.
    """

    lang: str | None = None
    how: WinoMTConfig = field(default_factory=WinoMTConfig)

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Numbers of the translations in the folder."""
        translations = read(folder, TRANSLATIONS)[self.name]
        result = winomt(translations, self.references, lang=self.lang, config=self.how, items=True, **self.options)
        atomic_write_json(folder / GENDERS, [item["predicted"] for item in result.pop("items")])
        return result

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Differences of two models on the same rows."""
        ours, theirs = (read(each.folder, GENDERS) for each in (one, other))
        ready = {"predictions_are": "genders", "compare_to": theirs, **self.options}
        found: dict[str, Any] = winomt(ours, self.references, **ready)["comparison"]
        return found


def translation_sets(
    a: GFSTArguments, data: Mapping[str, Any], *, groups: Sequence[str], tagger: GenderTagger | None, seed: int
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
    found: list[TranslationSet] = []
    own: dict[str, Any]
    if data["winomt_rows"] is not None:
        rows = [dict(row) for row in as_rows(data["winomt_rows"])]
        sources = read_columns(rows, ["sentence"], WINOMT)["sentence"]
        title = "people of the group {} translated with the right gender (F1)"
        f1 = {f"f1_{group}": replace(winomt_scores.F1, title=title.format(group)) for group in groups}
        rules = "original" if a.target_lang in LANGUAGES and tagger is None else "agreement"
        how = WinoMTConfig(aligner=a.aligner, tagger=tagger, rules=rules)
        own = {"lang": a.target_lang, "how": how, "key": [a.aligner, tagger_key(a, tagger)]}
        declared = {**winomt_scores.MEASURES, **f1}
        found.append(WinoMTSet(WINOMT, declared, "WinoMT", sources=sources, references=rows, **own))
    if data["must_she_rows"] is not None:
        rows = [dict(row) for row in as_rows(data["must_she_rows"])]
        own = {"sources": read_columns(rows, ["source"], MUST_SHE)["source"], "references": rows, "measure": must_she}
        found.append(TranslationSet(MUST_SHE, must_she_scores.MEASURES, "MuST-SHE", **own))
    if data["test"] is not None:
        own = {"sources": data["test"]["source"][:], "references": data["test"]["target"][:]}
        found.append(TranslationSet(TEST, translation_quality.MEASURES, "test set", **own))
    for each in found:
        each.options = {"n_bootstrap": a.n_bootstrap, "seed": seed}
        each.key = [each.key, each.sources, each.references, each.options]
    return found
