"""What a GFST run is measured by: WinoMT, MuST-SHE and a generic test set, from translations made once by every arm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hf_fairness.filters import LANGUAGES, GenderTagger
from hf_fairness.measure.translator.must_she import must_she
from hf_fairness.measure.translator.winomt import WinoMTConfig, winomt
from hf_fairness.measure.translator.winomt_data import as_rows
from hf_fairness.record import Measure, mapping
from hf_fairness.rows import read_columns
from hf_fairness.runs import Run, atomic_write_json
from hf_fairness.scores import must_she as must_she_scores
from hf_fairness.scores import translation_quality
from hf_fairness.scores import winomt as winomt_scores
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored
from hf_fairness.trainers.gfst.pairs import PairStages, tagger_key

#: Translations of all sets by one arm, by set.
TRANSLATIONS = "translations.json"
WINOMT, MUST_SHE, TEST = "winomt", "must_she", "test"


def read(folder: Path, name: str) -> Any:
    """What an arm left in a folder."""
    return json.loads((folder / name).read_text(encoding="utf-8"))


def quality(translations: Sequence[str], rows: Sequence[Mapping[str, Any]], **how: Any) -> dict[str, Any]:
    """BLEU and chrF of translations of pairs."""
    return translation_quality.translation_quality(translations, [row["target"] for row in rows], **how)


@dataclass(kw_only=True)
class TranslationSet(EvalSet):
    """A set that every model translates.

    Attributes:
        measure: called with translations and rows; with ``compare_to`` for a paired comparison.
        rows: of the set; None where it was not given.
        column: of the texts to translate.
        run: has the translations of each arm, in its stage ``predict_<arm>``.
        again: options of `measure` for what it reads from the translations, where a comparison need not read it again.
    """

    measure: Callable[..., dict[str, Any]]
    rows: Any
    column: str = "source"
    run: Run
    again: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sources(self) -> Sequence[str]:
        """The texts to translate."""
        return read_columns(self.rows, [self.column], self.name)[self.column]

    def key_for(self, arm: str) -> Any:
        """The rows, how they are measured, and the translations."""
        return [self.key, self.rows, self.run.key(f"predict_{arm}")]

    def score(self, fitted: Fitted, folder: Path) -> dict[str, Any]:
        """Numbers of the translations of an arm; what they are compared by stays in the folder, a text for each row."""
        texts = read(self.run.folder(f"predict_{fitted.name}"), TRANSLATIONS)[self.name]
        result = self.measure(texts, self.rows)
        items = [item["predicted"] for item in result.pop("items")] if self.again else texts
        atomic_write_json(folder / f"{self.name}.json", items)
        return result

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Differences of two models on the same rows."""
        ours, theirs = (read(each.folder, f"{self.name}.json") for each in (one, other))
        return mapping(self.measure(ours, self.rows, compare_to=theirs, **self.again), "comparison")

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """The F1 of a group is a part of the gap between the groups."""
        for found in super().measures(results):
            title, detail = self.declared[found.metric].title, found.metric.startswith("f1_")
            yield replace(found, set=self.title, title=title, detail=detail)


def translation_sets(method: PairStages, tagger: GenderTagger | None) -> list[TranslationSet]:
    """The sets that were given: ``winomt_rows`` and ``must_she_rows`` as the measures take them, ``test`` pairs.

    Args:
        method: has settings, data, groups, whose F1 WinoMT has, and the run that keeps the translations.
        tagger: reads the genders of WinoMT's translations; None: that of the language's rules.
    """
    a, data, run = method.arguments, method.data, method.run
    f1 = {
        f"f1_{group}": replace(
            winomt_scores.F1, title=f"people of the group {group} translated with the right gender (F1)"
        )
        for group in method.groups
    }
    rules = "original" if a.target_lang in LANGUAGES and tagger is None else "agreement"
    how: dict[str, Any] = {"n_bootstrap": a.n_bootstrap, "seed": method.data_seed}
    reading = WinoMTConfig(aligner=a.aligner, tagger=tagger, rules=rules, items=True, **how)
    found = [
        TranslationSet(
            WINOMT,
            winomt_scores.MEASURES | f1,
            "WinoMT",
            measure=partial(winomt, lang=a.target_lang, config=reading),
            rows=data["winomt_rows"],
            column="sentence",
            again={"predictions_are": "genders"},
            key=[how, a.aligner, tagger_key(a, tagger)],
            run=run,
        ),
        TranslationSet(
            MUST_SHE,
            must_she_scores.MEASURES,
            "MuST-SHE",
            measure=partial(must_she, **how),
            rows=data["must_she_rows"],
            key=how,
            run=run,
        ),
        TranslationSet(
            TEST,
            translation_quality.MEASURES,
            "test set",
            measure=partial(quality, **how),
            rows=data["test"],
            key=how,
            run=run,
        ),
    ]
    return [replace(each, rows=[dict(row) for row in as_rows(each.rows)]) for each in found if each.rows is not None]
