"""CCD on the real MiniLM: the harm first, then its reduction, then save and reload."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from hf_fairness import FairnessWarning
from hf_fairness.augment import GroupVariants
from hf_fairness.trainers import CCDConfig, CCDTrainer

pytestmark = pytest.mark.whole

SUBJECTS = ["My boss", "The pilot", "Our nurse", "The new mayor", "A retired teacher", "The chef", "That actor", "Sam"]
TEXTS = [
    "{} said that she would be late because her train was cancelled.",
    "{} told us that he had lost his keys on the way home.",
    "{} is known for her patience, and she rarely raises her voice.",
    "{} wants to visit his mother before he starts his next job.",
    "{} asked whether her daughter could join the meeting.",
    "{} believes that he can repair the roof himself.",
    "{} was proud when she won the race against her own brother.",
    "{} has sold his car, so he takes the bus to the office.",
    "{} grows vegetables with her husband behind the house.",
    "{} wrote a letter to his uncle, a man of few words.",
    "{} did not know that she had been chosen as spokeswoman.",
    "{} thanked the policeman who had helped him with his bags.",
]


@pytest.fixture(scope="module")
def variants() -> Dataset:
    """96 triples in mixed order; the last 24 are kept for measuring."""
    texts = [text.format(subject) for text in TEXTS for subject in SUBJECTS]
    rows = Dataset.from_dict({"text": texts})
    rows = rows.map(GroupVariants("text"), batched=True, remove_columns=rows.column_names)
    return rows.shuffle(seed=0).flatten_indices()


def config(folder, **settings) -> CCDConfig:
    defaults = {"per_device_train_batch_size": 8, "use_cpu": True, "report_to": "none", "disable_tqdm": True}
    return CCDConfig(output_dir=str(folder), logging_steps=1, **{**defaults, **settings})


def cced(model, rows) -> float:
    male, female, neutral = (model.encode(rows[name][:]) for name in ("male", "female", "neutral"))
    far = [np.linalg.norm(group - neutral, axis=1) for group in (male, female)]
    return float(np.abs(far[0] - far[1]).mean())


def test_the_gap_is_there_and_then_smaller(variants, minilm, minilm_path, tmp_path):
    train, held_out = variants.select(range(72)), variants.select(range(72, 96))
    before = cced(minilm, held_out)
    assert before > 0.02

    trainer = CCDTrainer(model=minilm_path, args=config(tmp_path, num_train_epochs=2), train_dataset=train)
    assert trainer.n_skipped == 0
    trainer.train()
    after = cced(trainer.model, held_out)
    assert after < 0.75 * before
    start = dict(minilm.named_parameters())
    assert any(not torch.equal(value, start[name]) for name, value in trainer.model.named_parameters())
    kept = (trainer.model.encode(held_out["neutral"][:]) * minilm.encode(held_out["neutral"][:])).sum(1)
    assert kept.min() > 0.95  # neutral texts stay where they were

    trainer.save_model()
    texts = held_out["female"][:]
    opened = SentenceTransformer(str(tmp_path), device="cpu")
    assert np.array_equal(opened.encode(texts), trainer.model.encode(texts))
    assert cced(opened, held_out) == after
    tokens = AutoTokenizer.from_pretrained(tmp_path)(texts[:1], return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(tmp_path).eval()(**tokens).last_hidden_state
    pooled = torch.nn.functional.normalize(states.mean(1), dim=1)
    assert np.allclose(pooled.numpy()[0], opened.encode(texts[0]), atol=1e-5)


def test_lora_reduces_the_gap_and_saves_a_plain_model(variants, minilm, minilm_path, tmp_path):
    train, held_out = variants.select(range(72)), variants.select(range(72, 96))
    settings = {"use_peft": True, "learning_rate": 2e-3, "num_train_epochs": 2}
    trainer = CCDTrainer(model=minilm_path, args=config(tmp_path, **settings), train_dataset=train)
    trainer.train()
    trainer.save_model()
    opened = SentenceTransformer(str(tmp_path), device="cpu")
    assert cced(opened, held_out) < 0.8 * cced(minilm, held_out)
    assert np.allclose(opened.encode(held_out["male"][:]), trainer.model.encode(held_out["male"][:]), atol=1e-5)
    assert not any("lora" in name for name, _ in opened.named_parameters())


def test_variance_of_unit_vectors_warns_with_shares_and_would_train_nothing(variants, minilm_path, tmp_path):
    with pytest.warns(FairnessWarning, match=r"\d+\.\d% of the kernel values are under 1e-06"):
        trainer = CCDTrainer(minilm_path, config(tmp_path, rho="variance"), variants.select(range(32)))
    assert trainer.kernel.share_low > 0.9
    batch = trainer.data_collator([trainer.train_dataset[index] for index in range(8)])
    trainer.model.eval()
    features, labels = trainer.collect_features(batch)
    sum(trainer.loss(features, labels).values()).backward()
    steepest = max(float(value.grad.abs().max()) for value in trainer.model.parameters() if value.grad is not None)
    assert steepest < 1e-6
