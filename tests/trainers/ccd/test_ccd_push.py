"""`push_to_hub=True` goes the Trainer's usual way, and what is pulled is what was trained."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.whole

SCRIPT = """
import json, sys
import numpy as np
from datasets import load_from_disk
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM
from hf_fairness.trainers import CCDConfig, CCDTrainer

model, data, output = sys.argv[1:]
args = CCDConfig(
    output_dir=output, use_cpu=True, max_steps=4, learning_rate=1e-3, report_to="none", disable_tqdm=True,
    per_device_train_batch_size=16, push_to_hub=True, hub_model_id="tester/mitigated",
)
trainer = CCDTrainer(model, args, load_from_disk(data))
trainer.train()
trainer.save_model(output + "/../saved")  # which pushes, too
trainer.push_to_hub()
texts = ["the nurse said that she was tired"]
pulled = SentenceTransformer("tester/mitigated", device="cpu")
head = AutoModelForMaskedLM.from_pretrained("tester/mitigated")
print(json.dumps({
    "same": bool(np.array_equal(pulled.encode(texts), trainer.model.encode(texts))),
    "saved": bool(np.array_equal(SentenceTransformer(output + "/../saved", device="cpu").encode(texts),
        trainer.model.encode(texts))),
    "tied": head.cls.predictions.decoder.weight is head.bert.embeddings.word_embeddings.weight,
}))
"""


def test_pushed_model_is_the_trained_one(fake_hub, tiny_mlm, triples, tmp_path):
    triples.save_to_disk(str(tmp_path / "data"))
    printed = fake_hub.run(SCRIPT, tiny_mlm, tmp_path / "data", tmp_path / "out")
    assert json.loads(printed.splitlines()[-1]) == {"same": True, "saved": True, "tied": True}
    files = fake_hub.files("tester/mitigated")
    assert {"model.safetensors", "modules.json", "README.md", "ccd_config.json", "tokenizer.json"} <= set(files)
    assert not any(name.startswith("checkpoint-") or name.endswith(".bin") for name in files)
    record = json.loads(files["ccd_config.json"])
    assert record["mlm_head"] is True
    assert "/" not in record["base_model"]  # a folder of this machine means nothing elsewhere
    card = files["README.md"].decode()
    assert "content conditional debiasing" in card.lower()
    order = ["# tester/mitigated", "Nothing was measured", 'SentenceTransformer("tester/mitigated")', "## Licence"]
    order += ["## SentenceTransformer", "## Training Details"]  # what sentence-transformers says stands below
    assert [card.index(text) for text in order] == sorted(card.index(text) for text in order)
    assert str(tmp_path) not in card
