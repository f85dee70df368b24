"""The one opener: what is shared within a command, what is opened anew, what does not open."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers.utils import logging as transformers_logging

import hf_fairness
from hf_fairness import _opening
from hf_fairness._opening import as_dtype, for_reading, open_pretrained, opened_once, trainable
from hf_fairness.encoders import as_encoder
from hf_fairness.measure.models import open_classifier, open_translator
from support.tiny_bert import tiny_bert

ROOT = Path(hf_fairness.__file__).parent


@pytest.fixture(scope="module")
def tiny_bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved classifier of random weights with its tokenizer."""
    folder = tmp_path_factory.mktemp("bert")
    for part in tiny_bert(["a", "text"], "BertForSequenceClassification"):
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def headless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a head."""
    folder = tmp_path_factory.mktemp("headless")
    for part in tiny_bert(["a", "text"]):
        part.save_pretrained(folder)
    return folder


def _counting(made: list[nn.Module]) -> Callable[[], Any]:
    def open_it() -> nn.Module:
        made.append(nn.Linear(2, 2))
        return made[-1]

    return open_it


def test_a_model_is_opened_once_in_a_command_and_anew_outside(tmp_path: Path) -> None:
    made: list[nn.Module] = []
    for_reading("kind", tmp_path, None, _counting(made))
    for_reading("kind", tmp_path, None, _counting(made))
    assert len(made) == 2
    with opened_once():
        first = for_reading("kind", tmp_path, None, _counting(made))
        with opened_once():  # a command that calls another
            assert for_reading("kind", tmp_path, None, _counting(made)) is first
        assert for_reading("kind", tmp_path, "float16", _counting(made)) is not first
        assert for_reading("other kind", tmp_path, None, _counting(made)) is not first
    assert len(made) == 5
    assert _opening._kept is None


def test_a_folder_that_was_written_anew_is_opened_anew(tmp_path: Path) -> None:
    made: list[nn.Module] = []
    weights = tmp_path / "weights"
    weights.write_text("1")
    with opened_once():
        for_reading("kind", tmp_path, None, _counting(made))
        weights.write_text("2")
        os.utime(weights, ns=(1, 1))
        for_reading("kind", tmp_path, None, _counting(made))
    assert len(made) == 2


def test_what_was_used_last_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[nn.Module] = []
    monkeypatch.setattr(_opening, "KEPT_BYTES", 2 * 6 * 4)  # two of nn.Linear(2, 2) in float32
    with opened_once():
        a, b = (for_reading("kind", name, None, _counting(made)) for name in "ab")
        assert for_reading("kind", "a", None, _counting(made)) is a
        for_reading("kind", "c", None, _counting(made))  # b goes
        assert for_reading("kind", "a", None, _counting(made)) is a
        assert for_reading("kind", "b", None, _counting(made)) is not b
    assert len(made) == 4


def test_classifiers_encoders_and_translators_are_shared_but_not_for_training(
    tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def counting(kind: Any) -> Any:
        plain = kind.from_pretrained

        def from_pretrained(*args: Any, **options: Any) -> Any:
            opened.append(kind.__name__)
            return plain(*args, **options)

        return from_pretrained

    for kind in (transformers.AutoModel, transformers.AutoModelForSequenceClassification):
        monkeypatch.setattr(kind, "from_pretrained", counting(kind))
    with opened_once():
        assert open_classifier(tiny_bert_folder).model is open_classifier(tiny_bert_folder).model
        one, two = as_encoder(tiny_bert_folder), as_encoder(tiny_bert_folder, pooling="cls")
        assert one.model is two.model  # type: ignore[attr-defined]
        own = trainable("AutoModelForSequenceClassification", tiny_bert_folder)
        assert own is not open_classifier(tiny_bert_folder).model
    assert sorted(opened) == ["AutoModel", *["AutoModelForSequenceClassification"] * 2]  # the second to be trained


def test_dtype_of_models_that_are_opened_by_name(tiny_bert_folder: Path) -> None:
    half = as_encoder(tiny_bert_folder, dtype="bfloat16")
    assert half.model.dtype is torch.bfloat16  # type: ignore[attr-defined]
    assert half.encode(["a text"]).dtype.name == "float32"
    assert open_pretrained("AutoModel", tiny_bert_folder, dtype=torch.float16, lacking="take").dtype is torch.float16
    for wrong in ("float17", "nn", 3):
        with pytest.raises(ValueError, match="dtype must be None or one of torch's"):
            as_dtype(wrong)  # type: ignore[arg-type]
    for opener in (as_encoder, open_classifier, open_translator):
        with pytest.raises(ValueError, match=r"convert yours with model\.to\(dtype\)"):
            opener((half.model, half.tokenizer), dtype="float16")  # type: ignore[attr-defined]


def test_weights_that_a_checkpoint_lacks(headless: Path) -> None:
    with pytest.raises(ValueError, match="is not trained as a sequence classifier: 2 weights"):
        open_pretrained("AutoModelForSequenceClassification", headless, lacking="refuse")
    with pytest.warns(hf_fairness.FairnessWarning, match="2 weights are not in the checkpoint"):
        open_pretrained("AutoModelForSequenceClassification", headless)


def test_loading_a_folder_shows_no_bar(headless: Path, capfd: pytest.CaptureFixture[str]) -> None:
    quiet = not transformers_logging.is_progress_bar_enabled()  # as a command may have left it
    transformers_logging.enable_progress_bar()
    try:
        as_encoder(headless)
        assert "Loading weights" not in capfd.readouterr().err
        assert transformers_logging.is_progress_bar_enabled()
    finally:
        if quiet:
            transformers_logging.disable_progress_bar()


#: Where else something may be opened, and why.
ELSEWHERE = {
    "encoders.py": "a SentenceTransformer",
    "trainers/training/encoder.py": "a SentenceTransformer with its parts, to be trained",
    "trainers/ccd/trainer.py": "a checkpoint of it",
    "trainers/ibadr/generator.py": "adapters on an open model",
    "trainers/gfst/checks.py": "a configuration",
    "trainers/ibadr/method.py": "a configuration",
    "measure/models.py": "a configuration",
    "_opening.py": "everything",
}


def test_models_are_opened_in_one_place() -> None:
    found = set()
    for folder in (ROOT, ROOT.parent / "trainers"):
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and node.attr == "from_pretrained":
                    found.add(str(file.relative_to(ROOT if folder == ROOT else ROOT.parent)))
    assert found <= set(ELSEWHERE), found - set(ELSEWHERE)
