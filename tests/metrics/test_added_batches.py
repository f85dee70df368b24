"""Batches of rows: what is optional may be missing, what is more is not read, what is needed is named."""

from __future__ import annotations

import evaluate
import pytest

import hf_fairness

WINOMT = {"gender": "male", "target_index": 1, "sentence": "The nurse sleeps.", "profession": "nurse"}
DOCUMENTS = [{"query_id": f"q{i}", "group": group} for i in range(4) for group in ("male", "female")]


def _load(name):
    return evaluate.load(hf_fairness.metric_path(name))


@pytest.mark.parametrize("more", [{}, {"note": "a column of ours"}, {"stereotype": "pro"}])
def test_rows_without_what_is_optional(more):
    module = _load("winomt")
    rows = [WINOMT | more, {**WINOMT, "gender": "female"} | more] * 2
    options = {"predictions_are": "genders", "n_bootstrap": 20}
    expected = module.compute(predictions=["male"] * 4, references=rows, **options)
    module.add_batch(predictions=["male"] * 2, references=rows[:2])
    module.add(prediction="male", reference=rows[2])
    module.add_batch(predictions=["male"], references={key: [value] for key, value in rows[3].items()})
    assert module.compute(**options)["accuracy"] == expected["accuracy"] == 0.5
    module.add_batch(predictions=["male"] * 2, references=rows[:2])
    assert module.compute(predictions=["male"] * 2, references=rows[2:], **options)["accuracy"] == 0.5


def test_a_row_that_lacks_what_is_needed_is_named():
    module = _load("winomt")
    short = {key: value for key, value in WINOMT.items() if key != "target_index"}
    with pytest.raises(ValueError, match=r"references\[1\] lacks target_index\. Rows.*need gender.*stereotype may be"):
        module.add_batch(predictions=["male"] * 2, references=[WINOMT, short])
    with pytest.raises(ValueError, match=r"references\[0\] lacks gender"):
        module.add(prediction="male", reference="male")
    with pytest.raises(ValueError, match=r"references\[0\] lacks bias_type"):
        _load("crows_pairs").add_batch(predictions=[[0.1, 0.2]], references=[{"stereo_antistereo": "stereo"}])


def test_what_is_missing_is_no_label_in_a_batch_either():
    module, groups = _load("demographic_parity"), ["a", "b", "a", "b", float("nan"), float("nan")]
    module.add_batch(predictions=[1, 0, 1, 0, 1, 1], groups=groups)
    with pytest.raises(ValueError, match=r"groups holds 2 row\(s\) without a label, the first in row 4"):
        module.compute()
    module = _load("bias_ir")
    rows = [*DOCUMENTS, {"query_id": "q0", "group": float("nan")}]
    module.add_batch(predictions=[0.1 * i for i in range(9)], references=rows)
    assert module.compute(n_bootstrap=20)["meta"]["groups"] == ["male", "female"]


def test_texts_for_yes_and_no_in_a_batch():
    module = _load("bias_ir")
    scores = [0.1 * i for i in range(8)]
    module.add_batch(predictions=scores, references=[row | {"relevant": "True"} for row in DOCUMENTS])
    more = [row | {"relevant": "False"} for row in DOCUMENTS]
    module.add_batch(predictions=[-score for score in scores], references=more)
    assert module.compute(n_bootstrap=20)["n"] == 4
