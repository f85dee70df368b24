"""The generator of samples: a causal language model that learns p(texts | bias indicator, label).

GPT-2, Llama and their like; all weights, or LoRA adapters and the rows of the new tokens.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from transformers.utils import ADAPTER_CONFIG_NAME

from hf_fairness._encoder_adapters import is_a
from hf_fairness._opening import find_tokenizer, trainable
from hf_fairness._processes import rows_shared, shared_work
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.format import SampleFormat
from hf_fairness.trainers.ibadr.sampling import sample_length
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.utils import in_eval

if TYPE_CHECKING:
    from datasets import Dataset


def open_generator(
    source: Any,
    *,
    n_labels: int,
    n_texts: int,
    config: IBADRConfig,
    tokenizer: Any = None,
    trained: str | Path | None = None,
) -> tuple[Any, SampleFormat]:
    """A generator with the special tokens of samples.

    Args:
        source: a Hub id or folder, a live model (it is copied) or a transformers config (random weights).
        n_labels: number of labels.
        n_texts: texts of a row, 1 or 2.
        config: indicators, LoRA, seed.
        tokenizer: needed with a live model or a config that do not say where they came from; it is copied.
        trained: folder that :func:`save_generator` wrote; its weights, or its adapters on ``source``, are taken.

    Returns:
        The model and the format of its samples, which holds its tokenizer.

    Raises:
        ValueError: a source that does not open, or no tokenizer.
    """
    from transformers import set_seed

    whole = trained is not None and not (Path(trained) / ADAPTER_CONFIG_NAME).is_file()
    if whole:
        source, tokenizer = str(trained), None
    set_seed(config.seed)
    model = full_precision(trainable("AutoModelForCausalLM", source))
    tokenizer = find_tokenizer(source, tokenizer)
    layout = SampleFormat(
        copy.deepcopy(tokenizer),
        n_labels=n_labels,
        n_texts=n_texts,
        n_indicators=config.n_bias_indicators if config.use_indicators else 0,
    )
    if len(layout.tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(layout.tokenizer))
    if config.generator_use_peft:
        model = _adapters(model, layout, config, trained)
    return model, layout


def _adapters(model: Any, layout: SampleFormat, config: IBADRConfig, trained: str | Path | None) -> Any:
    """The model with LoRA adapters and trainable rows of the new tokens, in the output layer too where it is apart."""
    from peft import LoraConfig, PeftModel, TaskType, get_peft_model

    if trained is not None:
        return PeftModel.from_pretrained(model, str(trained), is_trainable=True)
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
    wanted = [inputs] if outputs is None or outputs.weight is inputs.weight else [inputs, outputs]
    names = {name.split(".")[-1]: layout.new_ids for name, part in model.named_modules() if part in wanted}
    settings = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=config.generator_lora_r,
        lora_alpha=2 * config.generator_lora_r,
        trainable_token_indices=names,
        fan_in_fan_out=model.config.model_type == "gpt2",
    )
    return get_peft_model(model, settings)


def save_generator(model: Any, layout: SampleFormat, folder: str | Path, *, merged: bool = False) -> None:
    """Write the generator and its tokenizer.

    Args:
        model: live generator.
        layout: of its samples.
        folder: where to.
        merged: put adapters into the weights, so that `AutoModelForCausalLM` opens the folder; else adapters are
            written alone. The live model keeps its adapters.
    """
    adapted = is_a(model, "peft", "PeftModel")
    if adapted and merged:
        copy.deepcopy(model).merge_and_unload().save_pretrained(folder)
    else:
        # The rows of the new tokens are part of the adapters.
        model.save_pretrained(folder, **({"save_embedding_layers": False} if adapted else {}))
    layout.tokenizer.save_pretrained(folder)


def train_generator(
    model: Any,
    layout: SampleFormat,
    pool: Dataset,
    *,
    columns: Sequence[str],
    config: IBADRConfig,
    num_train_epochs: float,
    output_dir: str | Path,
    label_column: str = "label",
    **settings: Any,
) -> dict[str, Any]:
    """Fine-tune the generator on texts given indicator and label.

    Args:
        model: live generator; it is trained in place.
        layout: of its samples.
        pool: texts, labels and a column ``indicator`` where samples carry one.
        columns: text columns.
        config: learning rate, batch size, and how trainings run.
        num_train_epochs: how long.
        output_dir: where checkpoints go; a run that was killed goes on from them (with LoRA it begins again).
        label_column: numbers of labels.
        settings: further `TrainingArguments`.

    Returns:
        ``steps``, ``n`` rows, ``n_too_long`` rows left out, ``loss``: mean over tokens, of the whole training.

    Raises:
        ValueError: all rows are too long.

    Source:
        Wang et al. 2023, equation 1.
    """
    from transformers import PrinterCallback, Trainer, TrainingArguments

    from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
    from hf_fairness.trainers.training.length_groups import length_grouped
    from hf_fairness.trainers.training.pair_training import DEFAULTS

    length = sample_length(model, layout, config.max_new_tokens)
    rows, too_long = layout.rows(pool, columns, label_column=label_column, max_new_tokens=length)
    arguments = TrainingArguments(
        **{
            **DEFAULTS,
            **config.training("generator"),
            "output_dir": str(output_dir),
            "num_train_epochs": num_train_epochs,
            "save_strategy": "epoch" if num_train_epochs > 1 and not config.generator_use_peft else "no",
            "save_total_limit": 1,
            **settings,
        }
    )
    trainer = length_grouped(Trainer)(model=model, args=arguments, train_dataset=rows, data_collator=layout.collate)
    trainer.remove_callback(PrinterCallback)
    result = trainer.train(resume_from_checkpoint=last_whole_checkpoint(output_dir))
    model.eval()
    return {
        "steps": trainer.state.global_step,
        "n": len(rows),
        "n_too_long": too_long,
        "loss": float(result.training_loss),
    }


def generator_confidence(
    model: Any,
    layout: SampleFormat,
    texts: Sequence[Sequence[str]],
    labels: Sequence[int],
    indicators: Sequence[int],
    *,
    config: IBADRConfig,
) -> NDArray[np.float32]:
    """Probability of each row's label given its texts and indicator, by the generator's likelihoods.

    p(y | x, b) is p(x | b, y) p(y) over its sum for all labels, with p(y) the distribution that labels of samples are
    drawn from. A classifier's shortcut has no say in it; what the generator itself learned of an artefact under that
    indicator has. All processes of a launch must call it.

    Args:
        model: live generator.
        layout: of its samples.
        texts: one list of texts per text column.
        labels: from 0, shape (n,).
        indicators: from 1, shape (n,).
        config: distribution of labels, batch size.

    Returns:
        Shape (n,), in [0, 1].
    """
    shares = np.log(np.maximum(config.label_shares(layout.n_labels), 1e-300))
    bodies, told = layout.encode(*texts), list(map(int, indicators))
    order = sorted(range(len(bodies)), key=lambda place: len(bodies[place]))
    size = max(1, config.generator_per_device_train_batch_size // layout.n_labels)
    longest = layout.start + sample_length(model, layout, 10**9)

    def work(places: Sequence[int]) -> Any:
        each = itertools.product(places, range(layout.n_labels))
        rows = [layout.prefix(told[place], label) + bodies[place] for place, label in each]
        batch = layout.collate([{"input_ids": row[:longest]} for row in rows])
        ids, mask = (batch[name].to(model.device) for name in ("input_ids", "attention_mask"))
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=mask).logits[:, layout.start - 1 : -1].float()
        found = torch.log_softmax(logits, dim=-1).gather(-1, ids[:, layout.start :, None])[..., 0]
        return (found.double() * mask[:, layout.start :]).sum(dim=1).view(len(places), -1).tolist()

    batches = [order[start : start + size] for start in range(0, len(order), size)]
    with in_eval(model), rows_shared(cpu=config.use_cpu):
        sums = np.array(shared_work(batches, work, "Scoring")).reshape(-1, layout.n_labels)  # also of no rows
    found = softmax(sums + shares, axis=1)
    return found[np.arange(len(found)), np.asarray(list(labels), dtype=np.int64)].astype(np.float32)
