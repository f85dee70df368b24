"""Sheets that a run of GFST writes for people: what they ask, what they hide, and what is never lost."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from datasets import load_from_disk

from hf_fairness.trainers import GFSTArguments
from hf_fairness.utils import FairnessWarning
from support import gfst_world

pytestmark = pytest.mark.filterwarnings("ignore:fast_align learned to align")


def test_a_run_that_ends_before_its_translations_is_refused():
    with pytest.raises(ValueError, match="--human_sheets needs the translations of the arms"):
        GFSTArguments(human_sheets=10, until="balance")
    with pytest.raises(ValueError, match="human_sheets is -1"):
        GFSTArguments(human_sheets=-1)


@pytest.mark.whole
def test_sheets_ask_of_the_translations_of_the_run_and_keep_answers(gfst, tmp_path):
    given = {"arms": ["none"], "max_pairs": 30, "human_sheets": 8, "until": "scores"}
    report = gfst(**given)
    out = tmp_path / "out"
    assert set(report["sheets"]) == {
        f"{name}{end}" for name in ("gender", "quality", "preserved") for end in ("", "_key")
    }
    assert {path.name for path in (out / "human").iterdir()} == {"gender.csv", "quality.csv", "preserved.csv"}
    key, sheet = (pd.read_csv(out / place) for place in ("human_keys/gender_key.csv", "human/gender.csv"))
    assert sheet["gender"].isna().all()
    assert set(key["system"]) == {"baseline", "gfst", "control"}
    assert key.drop_duplicates("item")["gender"].value_counts().to_dict() == {"male": 4, "female": 4}
    rows = gfst_world.winomt_rows()
    made = {
        name: json.loads((out / f"predict_{name}" / "translations.json").read_text())["winomt"]
        for name in set(key["system"])
    }
    for row, hidden in zip(sheet.itertuples(), key.itertuples(), strict=True):
        assert row.source == rows[hidden.item]["sentence"]
        assert row.translation == made[hidden.system][hidden.item]
    pairs = load_from_disk(str(out / "filter_target"))
    hidden = pd.read_csv(out / "human_keys" / "preserved_key.csv")
    assert hidden["group"].value_counts().to_dict() == {"male": 8, "female": 8}
    assert all(
        kept == (not pairs[item]["target_reason"]) for item, kept in zip(hidden["item"], hidden["kept"], strict=True)
    )
    assert set(hidden["kept"]) == {True, False}

    answered = sheet.assign(gender="feminine").to_csv(index=False)
    (out / "human" / "gender.csv").write_text(answered)
    assert "gender" in gfst(**given)["sheets"]
    with pytest.warns(FairnessWarning, match=r"--human_sheets: .*gender\.csv has answers"):
        again = gfst(**{**given, "human_sheets": 6})
    assert "gender" not in again["sheets"]
    assert "quality" in again["sheets"]
    assert (out / "human" / "gender.csv").read_text() == answered
