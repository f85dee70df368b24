"""MuST-SHE of a translation system: find the gender-marked terms in its translations, score."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from hf_fairness.measure.translator.winomt_data import as_rows
from hf_fairness.scores.must_she import compare_must_she
from hf_fairness.scores.must_she import must_she as score
from hf_fairness.scores.statistics import N_BOOTSTRAP
from hf_fairness.scores.translation_quality import translation_quality
from hf_fairness.utils import is_missing

#: Published category: a number, and the gender of the form.
_CATEGORY = re.compile(r"(\d+)([A-Za-z]*)")
#: A word with the apostrophe of an elision (l', un'), or one mark.
_TOKEN = re.compile(r"\w+(?:-\w+)*['’]?|[^\w\s]")


def read_must_she(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Rows of a MuST-SHE file: tab-separated, with the columns CATEGORY and GENDERTERMS at least.

    Args:
        path: for example ``MONOLINGUAL.fr_v1.2.tsv``.

    Returns:
        Per row ``category`` (``"1F"``: category 1, feminine forms), ``gender_terms`` (``"correct wrong;..."``) and,
        where the file has them, ``id``, ``source``, ``reference``, ``wrong_reference``, ``speaker_gender``.

    Raises:
        ValueError: a column is missing.
    """
    names = {
        "ID": "id",
        "SRC": "source",
        "REF": "reference",
        "WRONG-REF": "wrong_reference",
        "GENDER": "speaker_gender",
        "CATEGORY": "category",
        "GENDERTERMS": "gender_terms",
    }
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        columns = list(reader.fieldnames or ())
        missing = [name for name in ("CATEGORY", "GENDERTERMS") if name not in columns]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]}; its columns: {', '.join(columns)}.")
        return [{new: row[old] or "" for old, new in names.items() if old in columns} for row in reader]


def term_counts(translation: str, terms: Sequence[tuple[str, str]], *, tokenized: bool = False) -> list[int]:
    """How many terms of a row its translation has, in which form.

    Each term is looked for in its right, then in its wrong form, in lower case; a word found is used up, so that it is
    not counted for two terms.

    Args:
        translation: of one row.
        terms: right and wrong form of each term.
        tokenized: whether words are split at spaces already; else punctuation and elided articles are split off.

    Returns:
        Number of terms, of terms found in either form, of right forms, of wrong forms.

    Source:
        Gaido et al. 2020, released script.

    Example:
        >>> term_counts("Sono stata felice, amico.", [("stata", "stato"), ("amica", "amico"), ("sola", "solo")])
        [3, 2, 1, 1]
    """
    lower = normalize("NFC", translation).lower()
    words = lower.split() if tokenized else _TOKEN.findall(lower)
    found = [0, 0]
    either = 0
    for forms in terms:
        hits = 0
        for place, form in enumerate(forms):
            if (wanted := normalize("NFC", form).lower()) in words:
                words.remove(wanted)
                found[place] += 1
                hits = 1
        either += hits
    return [len(terms), either, *found]


def must_she(
    predictions: Sequence[str],
    references: Any,
    *,
    compare_to: Sequence[str] | None = None,
    tokenized: bool = False,
    quality: bool = False,
    items: bool = False,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Accuracy of gender-marked words in translations of MuST-SHE.

    Args:
        predictions: translations, one per row.
        references: MuST-SHE rows, as ``read_must_she`` makes them: dicts (a Dataset, a dict of columns) of
            ``gender_terms``, ``"correct wrong;correct wrong"`` or a list of pairs, and ``category``, ``"1F"`` as
            published, or any label together with ``gender``. Other keys are ignored.
        compare_to: another system's translations, for a paired comparison.
        tokenized: whether translations are tokenised already (words and punctuation apart).
        quality: BLEU and chrF against ``reference`` and ``wrong_reference`` of the rows (extra ``translation``).
        items: whether the result lists every row.
        n_bootstrap: 0: no intervals; see the score for what is drawn.
        seed: of all draws.

    Returns:
        The keys of ``hf_fairness.scores.must_she.must_she`` with the groupings ``genders``, ``categories`` and
        ``category_genders`` (``"2F"``). With ``compare_to`` ``comparison``, a is ``predictions``; with ``quality``
        ``translation_quality`` of ``correct`` and ``wrong`` references; with ``items`` ``items``, the counts per row.

    Raises:
        ValueError: not one prediction per row, a row without terms or category, a term that is no pair.

    Source:
        Bentivogli et al. 2020 (accuracy and its difference to the wrong references), Gaido et al. 2020 (coverage,
        accuracy among the terms found).

    Example:
        >>> rows = [{"category": "2F", "gender_terms": "amica amico"}]
        >>> must_she(["Una amica."], rows)["accuracy"]
        1.0
    """
    rows = as_rows(references)
    terms = [_terms(row, place) for place, row in enumerate(rows)]
    labels = [_labels(row, place) for place, row in enumerate(rows)]
    counts = _counts(predictions, terms, tokenized, "predictions")
    groupings = {
        "genders": [gender for _, gender in labels],
        "categories": [category for category, _ in labels],
        "category_genders": [f"{category}{gender}" for category, gender in labels],
    }
    result = score(counts, groupings=groupings, n_bootstrap=n_bootstrap, seed=seed)
    if compare_to is not None:
        other = _counts(compare_to, terms, tokenized, "compare_to")
        result["comparison"] = compare_must_she(counts, other, n_bootstrap=n_bootstrap, seed=seed)
    if quality:
        result["translation_quality"] = {
            name: translation_quality(predictions, _column(rows, key), n_bootstrap=n_bootstrap, seed=seed)
            for name, key in (("correct", "reference"), ("wrong", "wrong_reference"))
        }
    if items:
        names = ("n_terms", "n_found", "n_correct", "n_wrong")
        result["items"] = [dict(zip(names, row, strict=True)) for row in counts]
    return result


def _given(row: Mapping[str, Any], key: str) -> Any:
    """A field of a row, None where it is missing."""
    value = row.get(key)
    return None if is_missing(value) else value


def _terms(row: Mapping[str, Any], place: int) -> list[tuple[str, str]]:
    """Pairs of right and wrong form."""
    given = _given(row, "gender_terms")
    if not given:
        raise ValueError(f"references[{place}] has no gender_terms; expected 'correct wrong;correct wrong'.")
    parts = given.strip().split(";") if isinstance(given, str) else given
    pairs = [part.split() if isinstance(part, str) else list(part) for part in parts if part]
    wrong = next((pair for pair in pairs if len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"references[{place}]: a term is a right and a wrong form, one word each; got {wrong!r}.")
    return [(right, other) for right, other in pairs]


def _labels(row: Mapping[str, Any], place: int) -> tuple[str, str]:
    """Category, and gender of the forms."""
    category = str(_given(row, "category") or "").strip()
    published = _CATEGORY.fullmatch(category)
    number, letter = published.groups() if published else (category, "")
    gender = letter.upper() or str(_given(row, "gender") or "")
    if not number or not gender:
        raise ValueError(
            f"references[{place}] needs a category such as '1F' (number and gender of the forms), or a category and a "
            f"gender; got category {category!r}, gender {row.get('gender')!r}."
        )
    return number, gender


def _counts(
    translations: Sequence[str], terms: Sequence[Sequence[tuple[str, str]]], tokenized: bool, name: str
) -> list[list[int]]:
    if len(translations) != len(terms):
        raise ValueError(f"{name} needs one translation per row; got {len(translations)} for {len(terms)} rows.")
    wrong = next((place for place, text in enumerate(translations) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ValueError(f"{name}[{wrong}] is {translations[wrong]!r}; expected a text.")
    return [term_counts(text, pairs, tokenized=tokenized) for text, pairs in zip(translations, terms, strict=True)]


def _column(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    missing = next((place for place, row in enumerate(rows) if not _given(row, key)), None)
    if missing is not None:
        raise ValueError(f"quality=True needs {key!r} in every row; references[{missing}] has none.")
    return [row[key] for row in rows]
