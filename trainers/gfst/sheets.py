"""Sheets for people who judge what a run of GFST made: gender, quality, and what the filter dropped.

Source: Choubey et al. 2021, tables 5, 9 and 17.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from datasets import load_from_disk

from hf_fairness.measure.translator.human import filter_sheet, gender_sheet, quality_sheet
from hf_fairness.measure.translator.winomt_data import as_rows
from hf_fairness.trainers.gfst.arguments import BASELINE, CONTROL, GFST, GFSTArguments
from hf_fairness.trainers.gfst.pairs import GENDER, SOURCE, TARGET, reasons_of
from hf_fairness.trainers.gfst.sets import TEST, TRANSLATIONS, WINOMT, read
from hf_fairness.utils import FairnessWarning

#: Folders of the sheets and of their keys, which annotators must not see.
SHEETS, KEYS = "human", "human_keys"
#: Whose translations are judged.
JUDGED = (BASELINE, GFST, CONTROL)


def write_sheets(
    folder: Path,
    arguments: GFSTArguments,
    seed: int,
    arms: Collection[str],
    *,
    winomt_rows: Any = None,
    test: Any = None,
) -> dict[str, Path]:
    """Write the sheets that a run has what is needed for to one folder and their keys to another.

    What people have written in is left alone.

    Args:
        folder: of the run.
        arguments: of the run; ``human_sheets``: sentences of the sheets of gender and of quality, and pairs of each
            group in that of the filter.
        seed: of the draws.
        arms: models of the run, with their translations there.
        winomt_rows: as given to the run: gender and quality are judged on those about men and women, balanced.
        test: pairs of the generic test set, for quality where there are no such rows.

    Returns:
        By name of the file the paths that were written: a sheet and its key for each question, ``gender``, ``quality``
        and ``preserved``.

    Warns:
        FairnessWarning: a sheet of an earlier draw has answers, and was not written over.
    """
    draw: dict[str, Any] = {"n": arguments.human_sheets, "seed": seed}
    systems = {name: read(folder / f"predict_{name}", TRANSLATIONS) for name in JUDGED if name in arms}
    pairs = load_from_disk(str(folder / ("filter_source" if arguments.backwards else "filter_target")))
    kept = [not any(reasons) for reasons in zip(*(pairs[name][:] for name in reasons_of(pairs)), strict=True)]
    sheets = [filter_sheet(pairs[SOURCE][:], pairs[TARGET][:], pairs[GENDER][:], kept, **draw)]
    rows = [] if winomt_rows is None else as_rows(winomt_rows)
    told = [i for i, row in enumerate(rows) if row["gender"] in ("male", "female")]
    if told:
        by_system = {name: sets[WINOMT] for name, sets in systems.items()}
        sheets.append(gender_sheet(rows, by_system, **draw))
        chosen = {name: [texts[i] for i in told] for name, texts in by_system.items()}
        kinds = [(rows[i]["gender"], rows[i].get("stereotype") or "") for i in told]
        sheets.append(quality_sheet([rows[i]["sentence"] for i in told], chosen, kinds=kinds, **draw))
    elif test is not None:
        by_system = {name: sets[TEST] for name, sets in systems.items()}
        sheets.append(quality_sheet(test[SOURCE][:], by_system, **draw))
    written: dict[str, Path] = {}
    for sheet in sheets:
        try:
            paths = sheet.save(folder / SHEETS, folder / KEYS)
        except FileExistsError as error:
            warnings.warn(f"--human_sheets: {error}", FairnessWarning, stacklevel=2)
            continue
        written |= {path.stem: path for path in paths}
    return written
