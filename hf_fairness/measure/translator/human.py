"""Sheets for people who judge translations, and what their answers say: gender, quality, and the target filter.

A sheet is a CSV file with texts and a blank column. It does not say which system wrote what, nor what the source's
gender counts as: its key does, which stays with whoever evaluates.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hf_fairness._atomic import atomic_write_text
from hf_fairness.scores.intervals import rates_of
from hf_fairness.scores.statistics import bootstrap_means, generator, percentile_interval, share_entry

#: What is asked, by name of the blank column: question -> answers that count.
ANSWERS: dict[str, tuple[str, ...]] = {
    "gender": ("masculine", "feminine", "inconsistent", "ambiguous", "n/a"),
    "quality": ("1", "2", "3", "4", "5", "6"),
    "preserved": ("yes", "no"),
}
#: Gender in WinoMT -> the answer that says the same.
_SAME = {"male": "masculine", "female": "feminine"}
#: A cell that begins with one of these is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Sheet:
    """What annotators get, and what they must not see.

    Attributes:
        question: name of the blank column, one of :data:`ANSWERS`.
        rows: ``id``, the texts, and the blank column, in mixed order.
        key: per ``id`` what the row is of: ``item`` and ``system`` or ``kept``, ``gender`` or ``group``.
    """

    question: str
    rows: pd.DataFrame
    key: pd.DataFrame

    def save(self, folder: str | Path, key_folder: str | Path | None = None) -> tuple[Path, Path]:
        """Write ``QUESTION.csv`` for annotators and ``QUESTION_key.csv``.

        Cells that a spreadsheet would run as a formula get an apostrophe before them. A sheet that is there and has
        answers is never written over: with the same rows it is left as it is.

        Args:
            folder: of the sheet.
            key_folder: of the key, so that the folder of the sheet can be handed on; None: the same.

        Returns:
            Both paths.

        Raises:
            FileExistsError: a sheet there has answers to other rows.
        """
        sheet = Path(folder, f"{self.question}.csv")
        key = Path(folder if key_folder is None else key_folder, f"{self.question}_key.csv")
        shown = self.rows.map(lambda cell: f"'{cell}" if str(cell).startswith(_FORMULA) else cell)
        if _answered(sheet, self.question):
            if key.is_file() and key.read_text(encoding="utf-8") == self.key.to_csv(index=False):
                return sheet, key
            raise FileExistsError(
                f"{sheet} has answers, and they are to other rows than those of this sheet. Move it away with its key, "
                f"{key}, and write the sheet again."
            )
        for path, table in ((key, self.key), (sheet, shown)):
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write_text(path, table.to_csv(index=False))
        return sheet, key


def gender_sheet(
    rows: Sequence[Mapping[str, Any]], systems: Mapping[str, Sequence[str]], *, n: int = 100, seed: int = 0
) -> Sheet:
    """Sheet that asks which gender translations of WinoMT give the person.

    Args:
        rows: of :func:`.winomt_data.read_winomt`; neutral ones are left out.
        systems: name -> one translation per row.
        n: sentences to judge, as many of each gender, and pro and anti stereotype, as there are.
        seed: of the draw and the order.

    Returns:
        The sheet, with every system's translation of every sentence.

    Raises:
        ValueError: no system, not one translation per row, or no row with a gender.

    Source:
        Choubey et al. 2021, section 4 (human evaluations) and table 5.
    """
    _check(systems, len(rows))
    strata: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(rows):
        if row["gender"] in _SAME:
            strata.setdefault((row["gender"], row.get("stereotype") or ""), []).append(i)
    if not strata:
        raise ValueError("No row has the gender male or female: there is no gender to judge.")
    found = [
        {
            "source": rows[i]["sentence"],
            "person": rows[i]["profession"],
            "translation": translations[i],
            **{"item": i, "system": name, "gender": rows[i]["gender"], "stereotype": rows[i].get("stereotype") or ""},
        }
        for i in _balanced(list(strata.values()), n, seed)
        for name, translations in systems.items()
    ]
    return _sheet("gender", found, ("source", "person", "translation"), seed)


def quality_sheet(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    *,
    n: int = 300,
    seed: int = 0,
    kinds: Sequence[Any] | None = None,
) -> Sheet:
    """Sheet that asks how good translations are, from 1 to 6.

    Args:
        sources: the source texts.
        systems: name -> one translation per source.
        n: texts to judge.
        kinds: kind of each source, of which as many are drawn as there are, such as its gender; None: all are of one.
        seed: of the draw and the order.

    Returns:
        The sheet, with every system's translation of every text.

    Raises:
        ValueError: no system, no text, or not one translation per text.

    Source:
        Choubey et al. 2021, section 5.2 and table 9.
    """
    _check({**systems, **({} if kinds is None else {"kinds": kinds})}, len(sources))
    strata: dict[Any, list[int]] = {}
    for i in range(len(sources)):
        strata.setdefault(None if kinds is None else kinds[i], []).append(i)
    found = [
        {"source": sources[i], "translation": translations[i], "item": i, "system": name}
        for i in _balanced(list(strata.values()), n, seed)
        for name, translations in systems.items()
    ]
    return _sheet("quality", found, ("source", "translation"), seed)


def filter_sheet(
    sources: Sequence[str],
    translations: Sequence[str],
    groups: Sequence[str],
    kept: Sequence[bool],
    *,
    n: int = 100,
    seed: int = 0,
) -> Sheet:
    """Sheet that asks whether a translation kept the gender of its source, to judge the target filter by.

    Args:
        sources: texts that passed the source filter.
        translations: theirs.
        groups: gender of each source.
        kept: whether the target filter kept each pair.
        n: pairs of each gender to judge.
        seed: of the draw and the order.

    Returns:
        The sheet.

    Raises:
        ValueError: no pair, or not as many of all four.

    Source:
        Choubey et al. 2021, appendix and table 17.
    """
    _check({"translations": translations, "groups": groups, "kept": kept}, len(sources))
    found = []
    for group in sorted(set(groups)):
        members = [i for i, each in enumerate(groups) if each == group]
        found += [
            {"source": sources[i], "translation": translations[i], "item": i, "group": group, "kept": bool(kept[i])}
            for i in _balanced([members], n, seed)
        ]
    return _sheet("preserved", found, ("source", "translation"), seed)


def _check(columns: Mapping[str, Sequence[Any]], n: int) -> None:
    if not columns or not n:
        raise ValueError(f"There is nothing to judge: {len(columns)} systems, {n} texts.")
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"{name} has {len(column)} rows, expected {n}: one for each text.")


def _balanced(strata: Sequence[Sequence[int]], n: int, seed: int) -> list[int]:
    """At most n members, drawn in turn from each stratum until it has no more."""
    random = generator(seed, "human")
    mixed = [random.permutation(np.asarray(members)).tolist() for members in strata]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*mixed))
    return sorted(itertools.islice((member for member in turns if member is not None), n))


def _sheet(question: str, found: list[dict[str, Any]], shown: Sequence[str], seed: int) -> Sheet:
    table = pd.DataFrame(found)
    table = table.iloc[generator(seed, "order").permutation(len(table))].reset_index(drop=True)
    table.insert(0, "id", np.arange(1, len(table) + 1))
    rows = table[["id", *shown]].assign(**{question: ""})
    return Sheet(question, rows, table.drop(columns=[*shown]))


def score_sheets(sheets: Sequence[pd.DataFrame | str | Path], key: pd.DataFrame | str | Path) -> dict[str, Any]:
    """What annotators answered.

    Args:
        sheets: filled sheets of the same rows, one per annotator: tables, or CSV files.
        key: of the sheet.

    Returns:
        ``question``, ``n_rows``, ``n_annotators``, ``n_blank`` (answers left out), ``agreement`` (share of pairs of
        answers to the same row that are equal; None for one annotator) and

        - gender: ``systems``, per name ``accuracy`` with ``accuracy_ci95`` and ``answers`` (counts). An answer is
          right where it is the source's gender, or ``ambiguous``;
        - quality: ``systems``, per name ``quality`` (mean over annotators and rows, 1 to 6) with ``quality_ci95``;
        - preserved: ``groups``, per name shares of the pairs: ``TP`` kept and right, ``TN`` dropped and wrong, ``FP``
          kept and wrong, ``FN`` dropped and right, each with ``_ci95``, and ``n``. A pair is right where more than half
          of its annotators say so.

        With two systems or more ``differences``, per pair ``"a - b"`` the mean over the items that both have, with
        ``ci95``. Intervals are over items; a mean of items that are all alike has none.

    Raises:
        ValueError: no sheet, a sheet of other rows or of two questions, a key in its place or a sheet in that of the
            key, or an answer that is none; the message lists the row and the answers.

    Source:
        Choubey et al. 2021, tables 5, 9 and 17; intervals and agreement are ours.
    """
    truth = _read(key)
    tables = [_read(sheet) for sheet in sheets]
    if not tables:
        raise ValueError("No sheet is given, expected one for each annotator.")
    _tell_apart(tables, truth)
    question = next((name for name in ANSWERS if all(name in table for table in tables)), None)
    if question is None:
        raise ValueError(f"The sheets do not share a column of answers: one of {', '.join(ANSWERS)}.")
    answers = pd.concat([_answers(table, question, i, truth) for i, table in enumerate(tables)], ignore_index=True)
    blank = answers["answer"] == ""
    given = answers[~blank].merge(truth, on="id")
    found: dict[str, Any] = {
        "question": question,
        "n_rows": len(truth),
        "n_annotators": len(tables),
        "n_blank": int(blank.sum()),
        "agreement": _agreement(given),
    }
    if question == "preserved":
        return {**found, "groups": {str(name): _filter_shares(part) for name, part in given.groupby("group")}}
    name = "accuracy" if question == "gender" else "quality"
    if question == "gender":
        same = given["gender"].map(_SAME)
        given["value"] = ((given["answer"] == same) | (given["answer"] == "ambiguous")).astype(float)
    else:
        given["value"] = given["answer"].astype(float)
    means = given.groupby(["system", "item"])["value"].mean().unstack("system")
    systems: dict[str, dict[str, Any]] = {}
    for system in means:
        values = means[system].dropna().to_numpy()
        interval = _interval(values, rate=question == "gender")
        systems[str(system)] = {name: float(values.mean()), f"{name}_ci95": interval, "n": len(values)}
        if question == "gender":
            counts = given.loc[given["system"] == system, "answer"].value_counts()
            systems[str(system)]["answers"] = {answer: int(counts.get(answer, 0)) for answer in ANSWERS["gender"]}
    differences = {}
    for a, b in itertools.combinations(means.columns, 2):
        values = (means[a] - means[b]).dropna().to_numpy()
        if len(values):
            differences[f"{a} - {b}"] = {"mean": float(values.mean()), "ci95": _interval(values), "n": len(values)}
    return {**found, "systems": systems, "differences": differences}


def _tell_apart(sheets: Sequence[pd.DataFrame], key: pd.DataFrame) -> None:
    """Refuse a key in the place of a sheet, a sheet in the place of the key, and tables that are neither."""
    if not {"id", "item"} <= set(key):
        raise ValueError(
            f"The key has the columns {', '.join(map(str, key))}, expected id and item: give the file whose name ends "
            "in _key.csv, which was written with the sheets."
        )
    for number, table in enumerate(sheets, start=1):
        if "id" not in table or "item" in table:
            raise ValueError(
                f"Sheet {number} has the columns {', '.join(map(str, table))}, expected those of a sheet that people "
                "filled in: id, the texts, and a column of answers."
            )


def _read(table: pd.DataFrame | str | Path) -> pd.DataFrame:
    """A table, or one of a CSV file in the encodings and with the separators that spreadsheets write."""
    if isinstance(table, pd.DataFrame):
        return table
    read = pd.read_csv(table, sep=None, engine="python", dtype=str, keep_default_na=False, encoding="utf-8-sig")
    read.columns = [name.strip() for name in read.columns]
    for column in {"id", "item"} & set(read.columns):
        read[column] = pd.to_numeric(read[column])
    if "kept" in read:
        read["kept"] = read["kept"].str.lower() == "true"
    return read


def _answered(path: Path, question: str) -> bool:
    """Whether a sheet is there that somebody has written in, or that cannot be read."""
    if not path.is_file():
        return False
    try:
        answers = _read(path)[question]
    except (ValueError, KeyError):
        return True
    return bool((answers.astype(str).str.strip() != "").any())


def _answers(table: pd.DataFrame, question: str, annotator: int, key: pd.DataFrame) -> pd.DataFrame:
    """The answers of one annotator, in small letters."""
    if sorted(table["id"]) != sorted(key["id"]):
        raise ValueError(f"Sheet {annotator + 1} has other rows than the key: give sheets and key of one draw.")
    answer = table[question].fillna("").astype(str).str.strip().str.lower().str.removesuffix(".0")
    wrong = ~answer.isin(["", *ANSWERS[question]])
    if wrong.any():
        first = table[wrong].iloc[0]
        raise ValueError(
            f"Sheet {annotator + 1}, row {first['id']}: {first[question]!r} is no answer to {question!r}, expected "
            f"{', '.join(ANSWERS[question])}, or nothing."
        )
    return pd.DataFrame({"id": table["id"], "annotator": annotator, "answer": answer})


def _agreement(given: pd.DataFrame) -> float | None:
    """Share of pairs of annotators' answers to one row that are equal."""
    by_row = given.pivot(index="id", columns="annotator", values="answer")
    equal, pairs = 0, 0
    for a, b in itertools.combinations(by_row.columns, 2):
        both = by_row[[a, b]].dropna()
        equal, pairs = equal + int((both[a] == both[b]).sum()), pairs + len(both)
    return equal / pairs if pairs else None


def _filter_shares(part: pd.DataFrame) -> dict[str, Any]:
    pairs = part.assign(right=part["answer"] == "yes").groupby("item").agg({"right": "mean", "kept": "first"})
    right, kept, n = pairs["right"] > 0.5, pairs["kept"].astype(bool), len(pairs)
    cells = {"TP": kept & right, "TN": ~kept & ~right, "FP": kept & ~right, "FN": ~kept & right}
    shares = [share_entry(name, int(cell.sum()), n) for name, cell in cells.items()]
    return {"n": n, **{key: value for share in shares for key, value in share.items()}}


def _interval(values: Any, *, rate: bool = False) -> list[float] | None:
    """95 % interval of a mean over items, of a rate by mid-P limits, else by bootstrap; None for items all alike."""
    if rate and len(values) > 1:
        return rates_of(values[:, None], np.ones((len(values), 1))).interval(0)
    return percentile_interval(bootstrap_means(values)) if np.ptp(values) > 0 else None
