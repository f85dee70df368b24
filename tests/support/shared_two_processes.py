"""Run under torchrun, or alone: what scores and generates on any number of processes, and a model that FSDP splits."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.launch import run_script

WORDS = [
    "she",
    "he",
    "her",
    "his",
    "was",
    "is",
    "a",
    "nurse",
    "the",
    "boss",
    "said",
    "that",
    "doctor",
    "kind",
    "calm",
    "and",
    "to",
    "day",
    "in",
]
TEXTS = [f"{who} said that the {job} was {state}" for who in ("she", "he") for job in WORDS[7:13] for state in WORDS]


def scored(folder: Path) -> dict[str, Any]:
    """What stages that share rows give, on every process the same."""
    from hf_fairness._processes import rows_shared, turn
    from hf_fairness.encoders import RememberingEncoder, as_encoder
    from hf_fairness.measure import audit, bias_score
    from hf_fairness.measure.models import open_language_model
    from hf_fairness.measure.translator.translation import translate
    from support.tiny_bert import tiny_bert
    from support.toy_translator import toy_model, toy_rows, toy_tokenizer

    found: dict[str, Any] = {}
    tokenizer = toy_tokenizer()
    translator, sources = toy_model(tokenizer), [*toy_rows(60)["source"], "", "the cat sees the dog."]
    for weight in translator.parameters():  # or it says the same of every text
        weight.data.mul_(3)
    pair = tiny_bert(WORDS, seed=1)
    with rows_shared(cpu=True):
        found["processes"] = turn()[1]
        encoder = RememberingEncoder(as_encoder(pair, batch_size=8))
        if turn()[0] == 0:  # what one process knows already is no reason to wait for the others for ever
            encoder._vectors.update(zip(TEXTS[:5], as_encoder(pair)._encode(TEXTS[:5]), strict=True))
        found["vectors"] = encoder.encode(TEXTS).tolist()
        found["one"] = encoder.encode(["she was kind"]).tolist()  # the second process has none of its own
        scores = bias_score(TEXTS, as_encoder(pair), pairs=[("she", "he"), ("her", "his")], n_bootstrap=10, words=True)
        found["bias"] = {key: scores[key] for key in ("female", "male", "n_words", "n_excluded", "n_unknown")}
        found["words"] = [[row["weighted"] for row in table["rows"]] for table in scores["words"]]
        masked = open_language_model(tiny_bert(WORDS, "BertForMaskedLM"), batch_tokens=64)
        found["masked"] = [part.tolist() for part in masked.pseudo_log_likelihoods(*masked.tokens(TEXTS[:9]))]
        report = audit(pair, n_samples=50, n_bootstrap=20, seat_tests=["6"], probes=False).report
        found["audit"] = {
            "seat": report["seat"]["tests"]["6"]["effect_size"],
            "cced": report["cced"]["built-in"]["cced"],
        }
        options = {"batch_size": 7, "num_beams": 2, "max_new_tokens": 8, "cache": folder / "cache"}
        found["translations"] = translate(translator, tokenizer, sources, **options)
        found["again"] = translate(translator, tokenizer, sources, **options)
        found["half"] = translate(translator, tokenizer, sources[:9], num_beams=1, max_new_tokens=8, dtype="bfloat16")
    found["alone"] = turn()[1]
    return found


@contextmanager
def gpus_for_accelerate() -> Iterator[None]:
    """Within the block accelerate takes processes on the CPU for processes on GPUs, which alone it gives to FSDP."""
    from accelerate import PartialState
    from accelerate.state import AcceleratorState
    from accelerate.utils import DistributedType

    before = AcceleratorState.__init__

    def on_gpus(self: Any, *args: Any, **kwargs: Any) -> None:
        PartialState(cpu=True)
        PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
        before(self, *args, **kwargs)

    AcceleratorState.__init__ = on_gpus
    try:
        yield
    finally:
        AcceleratorState.__init__ = before


def trained(folder: Path, **engine: Any) -> dict[str, Any]:
    """A training of PoE, and its weights as they were saved."""
    import torch
    from safetensors.torch import load_file
    from torch.distributed.tensor import DTensor

    from hf_fairness.trainers import PoETrainer
    from support.bias_case import known_bias, make_pairs, make_trainer, with_columns

    rows = make_pairs(96)
    rows = with_columns(rows, bias_log_probs=known_bias(rows))
    options = {"per_device_train_batch_size": 6, "gradient_accumulation_steps": 2, "save_strategy": "steps"}
    trainer = make_trainer(PoETrainer, rows, folder, num_train_epochs=2, save_steps=4, **options, **engine)
    trainer.train()
    trainer.save_model(str(folder / "final"))
    trainer.accelerator.wait_for_everyone()
    refused = ""
    if engine:
        try:
            trainer.train(resume_from_checkpoint=str(folder / "checkpoint-4"))
        except ValueError as error:
            refused = str(error)
    weights = load_file(folder / "final" / "model.safetensors")
    return {
        "refused": refused,
        "split": sum(isinstance(weight, DTensor) for weight in trainer.model.parameters()),
        "losses": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
        "weights": torch.cat([weights[name].flatten().double() for name in sorted(weights)]).tolist(),
    }


def main(folder: Path) -> None:
    found = scored(folder)
    if found["processes"] > 1:
        found["ddp"] = trained(folder / "ddp")
        layers = {"version": 2, "transformer_layer_cls_to_wrap": ["BertLayer"]}
        with gpus_for_accelerate():
            found["fsdp"] = trained(folder / "fsdp", fsdp=True, fsdp_config=layers)
    rank = os.environ.get("RANK", "0")
    (folder / f"found-{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    run_script(main, Path(sys.argv[1]))
