"""`save_model` and `push_to_hub` from Python: a card of ours, one commit, and what opens is what was trained."""

from __future__ import annotations

import json

import pytest

from support.data_diet_case import WORDS
from support.tiny_bert import save_tiny_bert

pytestmark = pytest.mark.whole

START = """
import json, sys, warnings
from pathlib import Path
import numpy as np
import torch
from support.pulled import check_private, pull, run_card

work, name = Path(sys.argv[1]), sys.argv[2]
common = {"use_cpu": True, "disable_tqdm": True, "report_to": "none", "max_steps": 4, "per_device_train_batch_size": 8}
common |= {"hub_model_id": name, "save_strategy": "no", "learning_rate": 1e-2}
"""
MAKE = {
    "bias": """
from support import bias_case
from hf_fairness.trainers import ConfRegTrainer, PoETrainer, ReweightTrainer
kind = {"poe": PoETrainer, "reweight": ReweightTrainer, "conf-reg": ConfRegTrainer}[name]
rows = bias_case.make_pairs(24)
values = bias_case.known_bias(rows)
rows = bias_case.with_columns(rows, bias_log_probs=values, teacher_log_probs=values)
trainer = bias_case.make_trainer(kind, rows, work / "out", **common)
""",
    "data_diet": """
from support import data_diet_case
from hf_fairness.trainers import DataDietConfig, DataDietTrainer
args = DataDietConfig(output_dir=str(work / "out"), dataloader_pin_memory=False, **{**common, "max_steps": 20})
_, tokenizer = data_diet_case.make_classifier()
from transformers import AutoModelForSequenceClassification
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[3])
if name == "lora":
    from peft import LoraConfig, TaskType, get_peft_model
    model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS))
trainer = DataDietTrainer(model, args, train_dataset=data_diet_case.long_rows(), processing_class=tokenizer)
""",
    "translation": """
from support.toy_translator import toy_model, toy_rows, toy_tokenizer
from hf_fairness.trainers import GFSTConfig
from hf_fairness.trainers.gfst.training import PairCollator, TranslationLoss, TranslationTrainer, encode_pairs
args = GFSTConfig(str(work / "out"), **common, average_checkpoints=0, eval_strategy="no")
tokenizer = toy_tokenizer()
model = toy_model(tokenizer)
rows, _ = encode_pairs(toy_rows(40), model, tokenizer, args)
trainer = TranslationTrainer(model=model, args=args, train_dataset=rows, processing_class=tokenizer,
    data_collator=PairCollator(tokenizer, model=model), compute_loss_func=TranslationLoss(0.1))
""",
}
#: Beside it in ``output_dir`` there is what must stay here; a second push finds nothing new.
COMPARE = """
trainer.train()
trainer.save_model(str(work / "saved"))
(work / "out").mkdir(exist_ok=True)
(work / "out" / "private.txt").write_text("mine")
first = trainer.push_to_hub(license="mit", language="en")
again = trainer.push_to_hub(license="mit", language="en")
assert again.oid == first.oid, (first, again)
place = pull(f"tester/{name}")
check_private(place, str(work))
live = trainer.accelerator.unwrap_model(trainer.model).eval()
for folder in (work / "saved", place):
    found = run_card(folder)
    batch = dict(found["tokenizer"](["She sings."], return_tensors="pt"))
    if name == "translation":
        batch["decoder_input_ids"] = torch.tensor([[1, 2]])
    with torch.no_grad():
        difference = (found["model"].eval()(**batch).logits - live(**batch).logits).abs().max().item()
    assert difference <= (1e-5 if name == "lora" else 1e-6), (folder, difference)
"""
#: Importing takes longer than training: all in one process.
ALL = """
import sys
codes, (work, base) = json.loads(sys.argv[1]), sys.argv[2:]
for name, code in codes.items():
    sys.argv[1:] = [f"{work}/{name}", name, base]
    exec(code, {})
"""


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
def test_what_a_trainer_saves_and_pushes_opens_without_us(fake_hub, tmp_path):
    base = save_tiny_bert(tmp_path / "base", WORDS, "BertForSequenceClassification", num_labels=2)
    kinds = {"poe": "bias", "reweight": "bias", "conf-reg": "bias", "data-diet": "data_diet", "lora": "data_diet"}
    codes = {name: START + MAKE[kind] + COMPARE for name, kind in {**kinds, "translation": "translation"}.items()}
    fake_hub.run("import json\n" + ALL, json.dumps(codes), tmp_path, base)
    for name in codes:
        files = fake_hub.files(f"tester/{name}")
        assert {"README.md", "config.json", "model.safetensors", "tokenizer.json"} <= set(files)
        assert ("adapter/adapter_model.safetensors" in files) == (name == "lora")
        assert not {"private.txt", "training_args.bin"} & set(files)
        assert len(fake_hub.repo("models", f"tester/{name}").commits) == 2  # the one that makes it, and ours
        card = files["README.md"].decode()
        assert card.index(f"# tester/{name}") < card.index("Nothing was measured") < card.index("## How to load it")
        assert "license: mit" in card
        assert "- hf-fairness" in card
        assert "base_model: " not in card  # a folder of this machine


CHECKPOINTS = (
    START
    + MAKE["bias"].replace("**common", '**{**common, **json.loads(sys.argv[3]), "push_to_hub": True}')
    + """
trainer.args.hub_token = "fake"  # as `set_push_to_hub` does
trainer.train()
trainer.save_model()
check_private(pull(f"tester/{name}"), str(work))
"""
)


@pytest.mark.parametrize(("strategy", "pushes"), [("every_save", 3), ("end", 1)])
def test_pushes_while_training_are_one_commit_each(fake_hub, tmp_path, strategy, pushes):
    settings = {"hub_strategy": strategy, "save_strategy": "steps", "save_steps": 2}
    fake_hub.run(CHECKPOINTS, tmp_path / "work", "poe", json.dumps(settings))
    repo = fake_hub.repo("models", "tester/poe")
    written = [set(files) for files in repo.commits.values()][1:]
    # The last checkpoint is what is saved at the end: there is nothing new to push then.
    assert len(written) == min(pushes, 2)
    for files in written:
        assert {"README.md", "config.json", "model.safetensors"} <= files
        assert not [name for name in files if name.endswith((".bin", ".pt", ".pth")) or "checkpoint" in name]
