"""An audit asks each model for each text once, says what it is at, and opens each model once."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hf_fairness.encoders import FunctionEncoder, RememberingEncoder
from hf_fairness.measure import audit
from support.tiny_bert import save_tiny_bert

QUICK = {"n_samples": 50, "n_bootstrap": 20, "seat_tests": ["6"]}
#: The texts of the pairs are those of the variants and of a SEAT test.
VARIANTS = {
    "male": [f"He has {n} books." for n in range(30)],
    "female": [f"She has {n} books." for n in range(30)],
    "neutral": [f"They have {n} books." for n in range(30)],
}
PAIRS = [("He has 1 books.", "She has 1 books.", 4.0), ("This is John.", "They have 2 books.", 1.0), ("A.", "B.", 0.0)]


class Counting:
    """Vectors that depend on the text alone, and how often each was asked for."""

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.asked = seed, Counter()

    def encode(self, texts):
        self.asked.update(texts)
        rows = [np.random.default_rng([self.seed, *text.encode()]).normal(size=16) for text in texts]
        return np.array(rows, dtype=np.float32)


def test_each_text_is_encoded_once_by_each_model():
    model, reference = Counting(), Counting(1)
    found = audit(model, reference=reference, variants={"mine": VARIANTS}, sts_pairs=PAIRS, **QUICK).report
    assert {"seat", "cced", "probe", "utility"} <= set(found)
    assert {"sts_spearman", "similarity_structure"} <= set(found["utility"])
    assert model.asked.keys() == reference.asked.keys() > {*VARIANTS["male"], "This is John.", "A."}
    assert {*model.asked.values(), *reference.asked.values()} == {1}


def test_a_remembering_encoder_serves_several_audits():
    model, reference = Counting(), Counting(1)
    before = RememberingEncoder(FunctionEncoder(reference.encode, name="before"))
    alone = audit(before, variants={"mine": VARIANTS}, **QUICK).report
    both = audit(model, reference=before, variants={"mine": VARIANTS}, **QUICK).report
    assert set(reference.asked.values()) == {1}
    assert alone["cced"]["mine"] == audit(reference, variants={"mine": VARIANTS}, **QUICK).report["cced"]["mine"]
    changes = both["cced"]["mine"]["cced"] - alone["cced"]["mine"]["cced"]
    assert both["cced"]["mine"]["cced_change"] == pytest.approx(changes)


def test_remembered_vectors_come_in_the_order_of_the_texts():
    model = Counting()
    encoder = RememberingEncoder(FunctionEncoder(model.encode, name="counting"))
    assert encoder.unseen(["b", "a", "b"]) == ["b", "a"]
    encoder.encode(["b"])
    texts = ["a", "b", "a", "c"]
    assert np.array_equal(encoder.encode(texts), Counting().encode(texts))
    assert encoder.unseen(["d", "b", "a"]) == ["d"]
    assert set(model.asked.values()) == {1}


def test_the_log_counts_what_is_done(caplog):
    with caplog.at_level(logging.INFO, logger="hf_fairness.measure.audit"):
        audit(Counting(), reference=Counting(1), variants={"mine": VARIANTS}, **QUICK)
    lines = [record.getMessage() for record in caplog.records if "Audit of" in record.getMessage()]
    assert any("encoding texts, 1,024 of" in line for line in lines)
    assert any("with the reference Counting" in line for line in lines)
    assert any("SEAT: 1 tests, up to 50 partitions in each, 20 resamples" in line for line in lines)
    assert any("CCED on mine: 30 texts" in line for line in lines)


@pytest.fixture
def opened(monkeypatch) -> Counter:
    """How often weights were loaded, by folder."""
    from transformers import PreTrainedModel

    counts: Counter = Counter()
    load = PreTrainedModel.from_pretrained.__func__

    def counted(cls, name, *args, **kwargs):
        counts[str(name)] += 1
        return load(cls, name, *args, **kwargs)

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(counted))
    return counts


def test_the_command_opens_each_model_once_and_asks_it_for_each_text_once(tmp_path, monkeypatch, opened):
    from hf_fairness.cli import main
    from hf_fairness.encoders import TransformersEncoder

    asked: Counter = Counter()
    encode = TransformersEncoder._encode

    def counted(self, texts):
        asked.update((self.name, text) for text in texts)
        return encode(self, texts)

    monkeypatch.setattr(TransformersEncoder, "_encode", counted)
    letters = [*"abcdefghijklmnopqrstuvwxyz.", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    folders = [save_tiny_bert(tmp_path / f"model-{seed}", letters, seed=seed, max_length=128) for seed in range(2)]
    rows = tmp_path / "rows.csv"
    rows.write_text("body,other\n" + "".join(f"The {who} pupils left early.,x\n" for who in ("Muslim", "Jewish") * 9))
    words = ["audit", folders[0], "--reference_model", folders[1], "--dataset", str(rows), "--text_column", "body"]
    words += ["--output", str(tmp_path / "out"), "--use_cpu", "--n_samples", "50", "--n_bootstrap", "20"]
    assert main([*words, "--attribute", "religion", "--seat_tests", "6"]) == 0
    assert opened == dict.fromkeys(folders, 1)
    assert set(asked.values()) == {1}
    assert {name for name, _ in asked} == set(folders)
    assert (Path(tmp_path) / "out" / "record.json").is_file()
