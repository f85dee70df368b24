"""One CCD run per weight of the representation part, for choosing between fairness and fidelity.

Source: Deng et al. 2024, table 7 (ablation over beta).
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers.trainer_utils import IntervalStrategy

from hf_fairness.runs import atomic_write_json, content_key
from hf_fairness.trainers.ccd.config import CCDConfig
from hf_fairness.trainers.ccd.data import CCDReferences
from hf_fairness.trainers.ccd.model import CCDEncoder
from hf_fairness.trainers.ccd.trainer import CCDTrainer
from hf_fairness.trainers.training.settings import training_settings
from hf_fairness.utils import is_main_process

logger = logging.getLogger(__name__)

BETAS = (0.0, 0.5, 1.0, 1.5)
RESULT_FILE = "sweep_result.json"


def sweep_beta(
    model: Any,
    args: CCDConfig,
    train_dataset: Dataset,
    eval_dataset: Dataset | None = None,
    *,
    betas: Sequence[float] = BETAS,
    resume: bool = True,
    references: Mapping[str, CCDReferences] | None = None,
    **kwargs: Any,
) -> list[dict[str, Any]]:
    """Train a fresh copy of the model for each beta, in a folder ``beta-<value>`` of ``args.output_dir``.

    Reference embeddings and the kernel's width are computed once and shared. A folder whose result was
    written by the same model, data and settings is not trained again.

    Args:
        model: what `CCDTrainer` takes; objects are copied and stay untouched.
        args: settings of every run; ``beta`` is replaced.
        train_dataset: as for `CCDTrainer`.
        eval_dataset: as for `CCDTrainer`.
        betas: weights to try, each at least 0, all different.
        resume: False trains every run again.
        references: those of another trainer on the same model, data and settings; None computes them once.
        kwargs: further arguments of `CCDTrainer`.

    Returns:
        One dictionary per beta, in their order: ``beta``, ``output_dir``, ``rho``, and on the validation set,
        for the checkpoint kept, ``loss_bias`` and ``loss_rep``. Neither part is weighted by beta, so that
        runs can be compared; both are at least 0, 0 is ideal, higher is worse. ``eval_loss`` is what the run
        minimised, loss_bias + beta · loss_rep. ``best_step`` is the checkpoint's step, ``resumed`` whether
        the result was read from disk.

    Raises:
        ValueError: no validation (``eval_strategy="no"``), or betas that are negative or repeated.

    Source:
        Deng et al. 2024, table 7.
    """
    if not betas or len(set(betas)) < len(betas) or min(betas) < 0:
        raise ValueError(f"betas is {list(betas)}, expected different numbers of 0 or more.")
    if IntervalStrategy(args.eval_strategy) == IntervalStrategy.NO:
        raise ValueError("A sweep compares validation losses, but eval_strategy is 'no'. Set it to 'steps'.")
    base = _key(model, args, train_dataset, eval_dataset)
    references = dict(references or {})
    results = []
    for beta in betas:
        folder = Path(str(args.output_dir)) / f"beta-{beta:g}"
        key = content_key(base, float(beta))
        found = _read(folder, key) if resume else None
        if found is None:
            own = copy.deepcopy(args)
            own.beta, own.output_dir = float(beta), str(folder)
            copied: Any = copy.deepcopy(model) if isinstance(model, (nn.Module, CCDEncoder)) else model
            logger.info("Sweep: beta = %g in %s", beta, folder)
            trainer = CCDTrainer(
                copied,
                own,
                train_dataset,
                eval_dataset,
                references=references,
                **kwargs,
            )
            references = trainer.references
            trainer.train()
            trainer.save_model()
            found = {"beta": float(beta), **_measure(trainer), "key": key}
            if is_main_process():
                atomic_write_json(folder / RESULT_FILE, found)
            found = {**found, "resumed": False}
        results.append({**{name: value for name, value in found.items() if name != "key"}, "output_dir": str(folder)})
    return results


def _measure(trainer: CCDTrainer) -> dict[str, Any]:
    """Validation losses of the model that is loaded now, by part and unweighted."""
    beta, trainer.loss.beta = trainer.loss.beta, 1.0
    found = trainer.evaluate()
    trainer.loss.beta = beta
    bias, rep = found["eval_loss_bias"], found["eval_loss_rep"]
    best = trainer.state.best_model_checkpoint
    return {
        "rho": trainer.kernel.rho,
        "loss_bias": bias,
        "loss_rep": rep,
        "eval_loss": bias + beta * rep,
        "best_step": int(best.rsplit("-", 1)[-1]) if best else trainer.state.global_step,
    }


def _read(folder: Path, key: str) -> dict[str, Any] | None:
    path = folder / RESULT_FILE
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if found.get("key") != key:
        logger.info("%s holds the result of another model, data set or config; training again.", folder)
        return None
    return {**found, "resumed": True}


def _key(model: Any, args: CCDConfig, *data: Dataset | None) -> str:
    """What decides the results of the sweep, as one text."""
    settings = {name: value for name, value in training_settings(args).items() if name != "beta"}
    if isinstance(model, CCDEncoder):
        model = model.source or model.model
    if isinstance(model, nn.Module):
        named = model.state_dict().items()
        weights: Any = {name: tensor.detach().cpu().float().numpy() for name, tensor in named}
        weights = {"class": type(model).__name__, **weights}
        if isinstance(model, SentenceTransformer):
            weights["modules"] = repr(model)
    else:
        weights = Path(model) if Path(str(model)).is_dir() else str(model)
    return content_key(weights, json.dumps(settings, sort_keys=True, default=str), *data)
