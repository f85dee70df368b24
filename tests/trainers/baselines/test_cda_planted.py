"""CDA against a planted stereotype: the harm is shown first, and more training alone does not take it away."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer

from hf_fairness.trainers.baselines import baseline
from support.ccd_case import make_given
from support.tiny_bert import save_tiny_bert

pytestmark = pytest.mark.whole
JOBS = {"female": ["nurse", "teacher", "clerk"], "male": ["pilot", "judge", "baker"]}
FRAMES = ["the {job} said {they} left", "{they} is a {job}", "a {job} when {they} works"]
PRONOUNS = {"male": "he", "female": "she", "neutral": "they"}


def stereotype(folder: str | Path) -> float:
    """Mean log odds of the pronoun that the training data had with a job, at its masked place."""
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    he, she = tokenizer.convert_tokens_to_ids(["he", "she"])
    odds = []
    for group, jobs in JOBS.items():
        texts = [frame.format(job=job, they="[MASK]") for job in jobs for frame in FRAMES]
        inputs = tokenizer(texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            scores = model(**inputs).logits[inputs["input_ids"] == tokenizer.mask_token_id]
        odds.append((scores[:, he] - scores[:, she]) * (1 if group == "male" else -1))
    return torch.cat(odds).mean().item()


def teach(folder: str, texts: list[str], taught: Path) -> Path:
    """Train a model to write what is masked in texts; returns the folder of the new one."""
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(texts, return_tensors="pt", padding=True)
    words, random = inputs["input_ids"].clone(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(300):
        chosen = (torch.rand(words.shape, generator=random) < 0.3) & (words > tokenizer.mask_token_id)
        inputs["input_ids"] = words.masked_fill(chosen, tokenizer.mask_token_id)
        model(**inputs, labels=words.masked_fill(~chosen, -100)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for part in (model, tokenizer):
        part.save_pretrained(taught)
    return taught


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, float]:
    """The stereotype of a model that was taught it, and after each method has trained it on, on the same texts."""
    folder = tmp_path_factory.mktemp("planted")
    rows = []
    for group, jobs in JOBS.items():
        for job in jobs:
            for frame in FRAMES:
                row = {name: frame.format(job=job, they=word) for name, word in PRONOUNS.items()}
                rows.append(row | {"source_text": row[group]})
    words = sorted({word for row in rows for text in row.values() for word in text.split()})
    settled = {"initializer_range": 0.1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    random = save_tiny_bert(folder / "random", words, "BertForMaskedLM", **settled)
    taught = teach(random, [row["source_text"] for row in rows], folder / "taught")
    measured = {"random": stereotype(random), "taught": stereotype(taught)}
    triples = Dataset.from_list(rows * 4)
    for name in ("continued", "cda"):
        made = make_given(str(taught), triples, folder / "out", learning_rate=1e-3, num_train_epochs=12)
        baseline(name).fit(made, folder / name)
        measured[name] = stereotype(folder / name / "model")
    print({name: round(value, 2) for name, value in measured.items()})  # pytest -rP
    return measured


def test_what_was_planted_falls_by_cda_and_not_by_training_on(found):
    assert abs(found["random"]) < 0.5
    assert found["taught"] > 1.5  # the pronoun of the data is more than four times as likely
    assert found["continued"] > found["taught"]
    assert abs(found["cda"]) < 0.25 * found["taught"]
