"""WinoMT of a translation system: align, read the genders of the words for the person, score."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from hf_fairness.alignment import Aligner, Links, align, parse_pharaoh
from hf_fairness.filters.genders import gender_tagger, predict_genders, rule_tagger
from hf_fairness.filters.protocol import GenderTagger, spaced
from hf_fairness.measure.translator.winomt_data import as_rows, clusters_of, person_indices, texts_of
from hf_fairness.scores.statistics import N_BOOTSTRAP
from hf_fairness.scores.translation_quality import translation_quality
from hf_fairness.scores.winomt import compare_winomt
from hf_fairness.scores.winomt import winomt as score
from hf_fairness.scores.winomt_rates import GROUPS, WinoMTRows
from hf_fairness.utils import FairnessWarning

#: Fewer rows than this teach an aligner too little: at 300 rows 14 % of the links of fast_align differ from those that
#: it finds with all 3,888.
ENOUGH_ROWS = 300
#: What ``predictions`` may hold.
KINDS = ("translations", "genders")


@dataclass(frozen=True)
class WinoMTConfig:
    """How translations are read and scored.

    Attributes:
        predictions_are: ``"translations"``, or ``"genders"`` where the genders were read already.
        aligner: ``"fast_align"``, ``"systran"``, ``"eflomal"``, or a function of the words of all sources and targets.
            It changes the result more than many systems differ.
        alignments: ready links instead, per row a text ``"0-0 1-2"`` (source-target) or a list of pairs.
        compare_alignments: the same for the system compared to; both systems have ready links, or neither.
        tagger: a ``GenderTagger``, the name of a kind (``"spacy"``, ``"apertium"`` ...), or None: the one that the
            rules of the language ask for.
        rules: ``"original"``: those of the published code, so that numbers compare with those published in 2019;
            ``"original_2020"``: the same as changed in August 2020, when Hebrew and Arabic rows without aligned words
            became unknown; ``"agreement"``: ours, in which the words for the person narrow each other's genders.
        rounding: ``"exact"``, or ``"original"``: to a tenth of a percent before gaps are taken, as published.
        clusters: what intervals count together: ``"sentence"`` (versions of one sentence), ``"profession"`` (for
            other professions than these), or ``"row"``.
        groups: the two genders whose gap is taken.
        items: whether the result lists every row.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of all draws.
    """

    predictions_are: str = "translations"
    aligner: str | Aligner = "fast_align"
    alignments: Sequence[Any] | None = None
    compare_alignments: Sequence[Any] | None = None
    tagger: GenderTagger | str | None = None
    rules: str = "original"
    rounding: str = "exact"
    clusters: str = "sentence"
    groups: Sequence[str] = GROUPS
    items: bool = False
    n_bootstrap: int = N_BOOTSTRAP
    seed: int = 0


class _Reading(NamedTuple):
    """One system: the gender read in each row, the words it was read from, and what read it."""

    genders: list[str]
    words: list[str] | None = None
    aligned: list[bool] | None = None
    aligner: str | None = None
    tagger: str | None = None


def winomt(
    predictions: Sequence[str],
    references: Any,
    *,
    lang: str | None = None,
    compare_to: Sequence[str] | None = None,
    reference_translations: Sequence[str] | None = None,
    config: WinoMTConfig | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Gender accuracy and gaps of translations of WinoMT.

    The words of each translation (split at spaces) are aligned with those of its source. From the words aligned with
    the person's noun and its article the gender is read by the rules of the language. A row without such words is an
    alignment failure; what it counts as is up to the rules: unknown in most; in the original ones male in German and
    Arabic, female in Hebrew.

    Args:
        predictions: translations, one per row, or ready genders with ``predictions_are="genders"``.
        references: WinoMT rows: dicts (a Dataset, a dict of columns) of ``gender``, ``target_index`` (of the noun, in
            words split at spaces), ``sentence``, ``profession`` and, where known, ``stereotype``: ``"pro"``,
            ``"anti"``, ``"both"`` or ``""``. Other keys are ignored. ``read_winomt`` makes them of the published files.
            Ready genders need ``gender`` only.
        lang: code of the target language; not needed with ready genders.
        compare_to: the same from another system, for a paired comparison.
        reference_translations: one per row: BLEU and chrF beside the gender scores (extra ``translation``).
        config: how to read and score; None: the defaults.
        **options: fields of ``WinoMTConfig``, in place of those of ``config``.

    Returns:
        The keys of ``hf_fairness.scores.winomt.winomt``; ``aligner`` (``"given"`` for ready links), ``tagger`` (None
        for rules that read the words themselves), ``rules``, ``lang``; None for ready genders. With ``compare_to``
        ``comparison``, see ``compare_winomt``, a is ``predictions``. With ``reference_translations``
        ``translation_quality``. With ``items=True`` ``items``, per row ``gold``, ``predicted``, ``correct``, ``words``.

    Raises:
        ValueError: not one prediction per row, a missing field, an unknown language, gender or option, ready links of
            one of two systems only.
        ImportError: an aligner, tagger or sacrebleu that is not installed.

    Warns:
        FairnessWarning: fewer than 300 rows for an aligner to learn from, or a gender without gold rows.

    Source:
        Stanovsky, Smith, Zettlemoyer 2019; delta_r: Choubey et al. 2021.

    Example:
        >>> rows = [{"gender": "female"}, {"gender": "male"}]
        >>> winomt(["female", "female"], rows, predictions_are="genders")["accuracy"]
        0.5
    """
    how = _configured(config, options)
    rows = as_rows(references)
    known = _known(rows, how)
    ready = how.predictions_are == "genders"
    _check_texts("predictions", predictions, len(rows))
    if compare_to is not None:
        _check_texts("compare_to", compare_to, len(rows))
        if not ready and (how.alignments is None) != (how.compare_alignments is None):
            given, lacking = ("alignments", "compare_alignments")[:: 1 if how.compare_alignments is None else -1]
            raise ValueError(
                f"Two systems are compared under one aligner, for it changes more than many systems differ: got "
                f"{given}=, expected {lacking}= too, or neither."
            )
    reading = _read(predictions, rows, lang, how, how.alignments)
    scored = replace(known, predicted=reading.genders, aligned=reading.aligned)
    result = score(scored, groups=how.groups, rounding=how.rounding, n_bootstrap=how.n_bootstrap, seed=how.seed)
    result |= {
        "aligner": reading.aligner,
        "tagger": reading.tagger,
        "rules": None if ready else how.rules,
        "lang": lang,
    }
    result["meta"] |= {"clusters": "row" if known.clusters is None else how.clusters}
    if compare_to is not None:
        other = _read(compare_to, rows, lang, how, how.compare_alignments)
        result["comparison"] = compare_winomt(
            scored,
            replace(known, predicted=other.genders, aligned=other.aligned),
            groups=how.groups,
            rounding=how.rounding,
            n_bootstrap=how.n_bootstrap,
            seed=how.seed,
        )
    if reference_translations is not None:
        if ready:
            raise ValueError("reference_translations need translations as predictions; these are ready genders.")
        result["translation_quality"] = translation_quality(
            predictions,
            reference_translations,
            compare_to=compare_to,
            clusters=known.clusters,
            n_bootstrap=how.n_bootstrap,
            seed=how.seed,
        )
    if how.items:
        result["items"] = _items(scored, reading)
    return result


def _configured(config: WinoMTConfig | None, options: Mapping[str, Any]) -> WinoMTConfig:
    """The configuration with the options in it, or an error that lists those there are."""
    names = [field.name for field in fields(WinoMTConfig)]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise ValueError(f"winomt has no option {unknown[0]!r}. Options: {', '.join(names)}.")
    how = replace(config or WinoMTConfig(), **options)
    if how.predictions_are not in KINDS:
        raise ValueError(f"predictions_are is {how.predictions_are!r}; expected {' or '.join(map(repr, KINDS))}.")
    return how


def _known(rows: Sequence[Mapping[str, Any]], how: WinoMTConfig) -> WinoMTRows:
    """What the references say of each row."""
    stereotypes = texts_of(rows, "stereotype", "")
    professions = texts_of(rows, "profession", "")
    return WinoMTRows(
        gold=texts_of(rows, "gender"),
        predicted=(),
        stereotypes=stereotypes if any(stereotypes) else None,
        professions=[name.lower() for name in professions] if all(professions) else None,
        clusters=clusters_of(rows, how.clusters),
    )


def _check_texts(name: str, texts: Sequence[str], n: int) -> None:
    """Refuse a system without one text per row."""
    if len(texts) != n:
        raise ValueError(f"{name} needs one entry per row; got {len(texts)} for {n} rows.")
    wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ValueError(f"{name}[{wrong}] is {texts[wrong]!r}; expected a text.")


def _read(
    predictions: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    lang: str | None,
    how: WinoMTConfig,
    ready_links: Sequence[Any] | None,
) -> _Reading:
    """The genders of one system's translations."""
    if how.predictions_are == "genders" or not rows:
        return _Reading(list(predictions))
    if lang is None:
        raise ValueError(
            "WinoMT reads genders by the rules of a language: give lang='de' (the target language), or ready genders "
            "with predictions_are='genders'."
        )
    tagger = gender_tagger(lang, how.tagger) if isinstance(how.tagger, str) else how.tagger
    tagger = rule_tagger(lang, how.rules) if tagger is None else tagger
    sources = [sentence.split() for sentence in texts_of(rows, "sentence")]
    targets = [*map(spaced, predictions)]
    people = person_indices(rows)
    if ready_links is None:
        aligner = how.aligner if isinstance(how.aligner, str) else getattr(how.aligner, "__name__", "a function")
        if aligner == how.aligner and len(rows) < ENOUGH_ROWS:
            warnings.warn(
                f"{aligner} learned to align from {len(rows)} rows only; many links will be wrong. Align these rows "
                "together with others of the same language pair and give alignments=.",
                FairnessWarning,
                stacklevel=4,
            )
        links = align(sources, targets, aligner=how.aligner)
    else:
        links, aligner = _given(ready_links, sources, targets), "given"
    aligned = [
        [target for index in indices for source, target in pairs if source == index]
        for indices, pairs in zip(people, links, strict=True)
    ]
    genders = predict_genders(
        targets, aligned, lang, tagger=tagger, rules=how.rules, source_words=texts_of(rows, "profession", "")
    )
    words = [" ".join(target[index] for index in indices) for target, indices in zip(targets, aligned, strict=True)]
    return _Reading(
        genders, words, [bool(indices) for indices in aligned], aligner, None if tagger is None else tagger.name
    )


def _given(given: Sequence[Any], sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> Links:
    """Ready links, as text or as pairs, checked against the sentences."""
    if len(given) != len(sources):
        raise ValueError(f"alignments needs one entry per row; got {len(given)} for {len(sources)} rows.")
    links: Links = [
        parse_pharaoh([entry])[0] if isinstance(entry, str) else [(int(a), int(b)) for a, b in entry] for entry in given
    ]
    for row, (pairs, source, target) in enumerate(zip(links, sources, targets, strict=True)):
        for a, b in pairs:
            if not (0 <= a < len(source) and 0 <= b < len(target)):
                raise ValueError(
                    f"alignments[{row}] links word {a} of {len(source)} with word {b} of {len(target)}; indices count "
                    "words from 0, split at spaces."
                )
    return links


def _items(rows: WinoMTRows, reading: _Reading) -> list[dict[str, Any]]:
    """Every row: gold and predicted gender, and the words that it was read from."""
    words = reading.words or [""] * len(reading.genders)
    return [
        {"gold": gold, "predicted": predicted, "correct": gold == predicted, "words": text}
        for gold, predicted, text in zip(rows.gold, reading.genders, words, strict=True)
    ]
