"""What a GFST run is measured by: WinoMT, MuST-SHE and a generic test set, of every model, paired with GFST's."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.filters import LANGUAGES, GenderTagger
from hf_fairness.measure.translator.must_she import must_she
from hf_fairness.measure.translator.winomt import WinoMTConfig, winomt
from hf_fairness.measure.translator.winomt_data import as_rows
from hf_fairness.runs import atomic_write_json, atomic_write_text, content_key
from hf_fairness.scores.translation_quality import translation_quality
from hf_fairness.trainers.gfst.arguments import CONTROL, GFST
from hf_fairness.trainers.gfst.checks import tagger_key
from hf_fairness.trainers.gfst.data import SOURCE, TARGET
from hf_fairness.trainers.gfst.job import Job
from hf_fairness.utils import FairnessWarning

logger = logging.getLogger(__name__)

#: How the initial model is called among those that are measured.
BASELINE = "baseline"
WINOMT, MUST_SHE, TEST = "winomt", "must_she", "test"
TRANSLATIONS, SCORES = "translations.json", "scores.json"
#: Numbers of WinoMT of which it is told how much the control explains, with their ideal values.
EXPLAINED = {"accuracy": 1.0, "delta_g": 0.0, "delta_r": 0.0}


class Measures:
    """The sets to translate and score.

    Args:
        job: settings.
        winomt_rows: as ``measure.winomt`` takes them; None: not measured.
        must_she_rows: as ``measure.must_she`` takes them, with ``source``.
        test: pairs of a generic test set.
        tagger: what reads the genders of WinoMT's translations; None: that of the language's rules.
    """

    def __init__(
        self,
        job: Job,
        *,
        winomt_rows: Any = None,
        must_she_rows: Any = None,
        test: Dataset | None = None,
        tagger: GenderTagger | None = None,
    ) -> None:
        self.job, self.run, self.test, self.tagger = job, job.run, test, tagger
        self.references: dict[str, Any] = {
            name: [dict(row) for row in as_rows(rows)]
            for name, rows in ((WINOMT, winomt_rows), (MUST_SHE, must_she_rows))
            if rows is not None
        }
        self.sources: dict[str, list[str]] = {
            name: _column(self.references[name], key, name)
            for name, key in ((WINOMT, "sentence"), (MUST_SHE, "source"))
            if name in self.references
        }
        if test is not None:
            self.sources[TEST] = test[SOURCE][:]
            self.references[TEST] = test[TARGET][:]
        if WINOMT not in self.sources:
            warnings.warn(
                "No WinoMT rows were given: the run trains its models, but does not measure their gender accuracy. "
                "Name the published en.txt, or a data set of your own, with --winomt.",
                FairnessWarning,
                stacklevel=3,
            )

    def predict(self, name: str, place: Any, key: Any) -> dict[str, list[str]]:
        """Translations of all sets by one model."""

        def work(folder: Path) -> dict[str, Any]:
            texts = [text for sources in self.sources.values() for text in sources]
            found = iter(self.job.translate(place, texts, folder, what=name))
            table = {set_name: [next(found) for _ in sources] for set_name, sources in self.sources.items()}
            atomic_write_json(folder / TRANSLATIONS, table)
            sets = ", ".join(f"{set_name} ({len(rows)})" for set_name, rows in table.items())
            atomic_write_text(
                folder / "README.md",
                f"# GFST: translations by {name}\n\nMachine translations of {sets or 'nothing'}, in the order of the "
                f"rows, in `{TRANSLATIONS}`.\n",
            )
            return {set_name: len(rows) for set_name, rows in table.items()}

        inputs = [key, self.sources, self.job.translation_settings()]
        self.run.stage(f"predict_{name}", work, inputs=inputs, keep_partial=True)
        path = self.run.folder(f"predict_{name}") / TRANSLATIONS
        found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def scores(self, predictions: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
        """Every set for every model, and GFST against each other model on the same rows.

        Returns:
            ``winomt``, ``must_she``, ``test``: model -> scores, for the sets that were given; ``comparisons``: set ->
            other model -> key -> ``a`` (GFST), ``b``, ``difference`` with interval; ``explained``: what part of the
            gain on WinoMT the control has too.
        """

        def work(folder: Path) -> dict[str, Any]:
            found: dict[str, Any] = {"comparisons": {}}
            sets = ", ".join(self.sources)
            logger.info("Scoring the translations of %d models: %s.", len(predictions), sets or "no test sets")
            for name, measure in ((WINOMT, self._winomt), (MUST_SHE, self._must_she), (TEST, self._test)):
                if name in self.sources:
                    texts = {model: list(sets[name]) for model, sets in predictions.items()}
                    found[name], found["comparisons"][name] = measure(texts)
            found["explained"] = explained(found[WINOMT]) if WINOMT in found else {}
            atomic_write_json(folder / SCORES, found)
            return {"sets": [name for name in found if name in self.sources]}

        a = self.job.arguments
        tagger = tagger_key(a, self.tagger)
        inputs = [content_key(predictions), self.references, a.aligner, tagger, a.n_bootstrap, self.job.seed]
        self.run.stage("scores", work, inputs=inputs)
        found: dict[str, Any] = json.loads((self.run.folder("scores") / SCORES).read_text(encoding="utf-8"))
        return found

    def _options(self) -> dict[str, Any]:
        return {"n_bootstrap": self.job.arguments.n_bootstrap, "seed": self.job.seed}

    def _winomt(self, texts: Mapping[str, list[str]]) -> tuple[dict[str, Any], dict[str, Any]]:
        a, rows = self.job.arguments, self.references[WINOMT]
        rules = "original" if a.target_lang in LANGUAGES and self.tagger is None else "agreement"
        config = WinoMTConfig(aligner=a.aligner, tagger=self.tagger, rules=rules, items=True, **self._options())
        results = {model: winomt(found, rows, lang=a.target_lang, config=config) for model, found in texts.items()}
        genders = {
            model: [item["predicted"] for item in result.pop("items")] for model, result in results.items()
        }  # read once, compared as often as there are models
        ready = WinoMTConfig(predictions_are="genders", **self._options())
        compared = {
            model: winomt(genders[GFST], rows, compare_to=genders[model], config=ready)["comparison"]
            for model in texts
            if model != GFST
        }
        return results, compared

    def _must_she(self, texts: Mapping[str, list[str]]) -> tuple[dict[str, Any], dict[str, Any]]:
        rows, options = self.references[MUST_SHE], self._options()
        results = {model: must_she(found, rows, **options) for model, found in texts.items()}
        compared = {
            model: must_she(texts[GFST], rows, compare_to=found, **options)["comparison"]
            for model, found in texts.items()
            if model != GFST
        }
        return results, compared

    def _test(self, texts: Mapping[str, list[str]]) -> tuple[dict[str, Any], dict[str, Any]]:
        references, options = self.references[TEST], self._options()
        results = {model: translation_quality(found, references, **options) for model, found in texts.items()}
        compared = {
            model: translation_quality(texts[GFST], references, compare_to=found, **options)["comparison"]
            for model, found in texts.items()
            if model != GFST
        }
        return results, compared


def explained(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """How much nearer to the ideal GFST and its control come, and the control's part of it.

    Args:
        results: WinoMT of ``baseline``, ``control`` and ``gfst``.

    Returns:
        Per key ``gain`` of GFST and ``control_gain`` over the baseline, and ``control_share``, None where GFST gains
        nothing. A share of 1 says that longer training on the same data does as well.

    Example:
        >>> found = explained({"baseline": {"accuracy": 0.5}, "control": {"accuracy": 0.7}, "gfst": {"accuracy": 0.75}})
        >>> round(found["accuracy"]["control_share"], 6)
        0.8
    """
    found: dict[str, dict[str, float | None]] = {}
    for key, ideal in EXPLAINED.items():
        values = [results[name].get(key) for name in (BASELINE, CONTROL, GFST)]
        if any(value is None for value in values):
            continue
        before, control, after = (abs(float(value) - ideal) for value in values if value is not None)
        gain, control_gain = before - after, before - control
        share = control_gain / gain if gain > 0 else None
        found[key] = {"gain": gain, "control_gain": control_gain, "control_share": share}
    return found


def _column(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> list[str]:
    missing = next((place for place, row in enumerate(rows) if not isinstance(row.get(key), str)), None)
    if missing is not None:
        raise ValueError(f"Row {missing} of {name} has no text under {key!r}; its keys: {', '.join(rows[missing])}.")
    return [str(row[key]) for row in rows]
