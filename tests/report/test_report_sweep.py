"""The sweep's table: every weight in its row, intervals beside values, nothing invented."""

from __future__ import annotations

from hf_fairness.report import audit_record, card_section, render_html
from hf_fairness.report.sweep import sweep_table

SWEEP = [
    {"beta": 0.0, "cced": 0.01, "cced_ci95": [0.005, 0.02], "similarity_structure": 0.93, "loss_bias": 0.01},
    {"beta": 1.0, "cced": 0.02, "cced_ci95": [0.01, 0.03], "similarity_structure": 0.99, "loss_bias": 0.02},
]


def test_rows_and_columns():
    assert sweep_table({"sweep": SWEEP}) == [
        ["beta", "CCED", "similarity structure", "validation L_bias"],
        ["0", "0.010 [0.005, 0.020]", "0.930", "0.010"],
        ["1", "0.020 [0.010, 0.030]", "0.990", "0.020"],
    ]


def test_no_sweep_no_table():
    assert sweep_table(None) == sweep_table({}) == sweep_table({"sweep": []}) == []


def test_it_stands_in_page_and_card():
    audit = {"model": "m", "cced": {"built-in": {"cced": 0.1, "cced_ci95": [0.05, 0.2], "n": 10}}}
    swept = audit_record(audit, training={"sweep": SWEEP})
    for text in (render_html(swept), card_section(swept)):
        assert "Sweep over beta" in text
        assert "0.010 [0.005, 0.020]" in text
        assert "One seed each" in text
        assert "similarity structure far from 1" in text
    assert "Sweep over beta" not in card_section(audit_record(audit))
    assert "sweep" not in swept.arm("method").training
