"""A small planted world with models of one layer, for tests of IBADR and what runs them in other processes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

#: Of runs that only need to come to their end: models that learn little, a filter that lets all through.
SETTINGS: dict[str, Any] = {
    "n_bias_indicators": 4,
    "n_shallow": 30,
    "shallow_num_train_epochs": 1,
    "shallow_learning_rate": 1e-2,
    "n_iterations": 2,
    "n_generated": 60,
    "generator_num_train_epochs": 12,
    "generator_later_num_train_epochs": 1,
    "generator_learning_rate": 1e-2,
    "generator_per_device_train_batch_size": 16,
    "max_new_tokens": 50,
    "confidence_threshold": 0.0,
    "check_agreement": False,
    "num_train_epochs": 2,
    "learning_rate": 1e-3,
    "per_device_train_batch_size": 16,
    "probe": False,
    "use_cpu": True,
}


@dataclass
class Case:
    """World, configurations of tiny models, tokenizers."""

    world: Any
    classifier: tuple[Any, Any]
    generator: tuple[Any, Any]

    def run(self, folder: Path | str, **settings: Any) -> dict[str, Any]:
        """Run the pipeline."""
        from hf_fairness.trainers import run_ibadr

        given = {"train": self.world.train, "validation": self.world.validation}
        given |= {"challenge": {"planted": self.world.challenge}}
        given |= {"model": self.classifier, "generator": self.generator}
        given |= {
            name: settings.pop(name)
            for name in (*given, "test", "anti_artefact", "pools", "shallow")
            if name in settings
        }
        return run_ibadr(*self.settings(folder, **settings), **given)

    def settings(self, folder: Path | str, **settings: Any) -> tuple[Any, Any]:
        """Arguments and configuration of a short run."""
        from hf_fairness.trainers import IBADRArguments, IBADRConfig

        given = {**SETTINGS, "output_dir": str(folder), **settings}
        ours = {entry.name for entry in fields(IBADRArguments)} & set(given)
        arguments = IBADRArguments(**{name: given.pop(name) for name in ours})
        return arguments, IBADRConfig(**given)

    def config(self, folder: Path | str, **settings: Any) -> Any:
        """Configuration of a short run."""
        return self.settings(folder, **settings)[1]


def make_case(n: int = 128) -> Case:
    """A world of some rows with models of one layer."""
    from hf_fairness.demo.planted import planted_world
    from hf_fairness.demo.planted_models import planted_classifier, planted_generator, planted_tokenizer

    world = planted_world(n, artefact_strength=0.9, seed=0, n_validation=40, n_challenge=40)
    pairs, texts = planted_tokenizer(), planted_tokenizer(pairs=False)
    small, writer = planted_classifier(pairs), planted_generator(texts)
    small.num_hidden_layers, small.hidden_size, small.intermediate_size, small.num_attention_heads = 1, 16, 32, 2
    writer.n_layer, writer.n_embd, writer.n_head = 1, 48, 2
    writer.resid_pdrop = writer.embd_pdrop = writer.attn_pdrop = 0.0
    return Case(world, (small, pairs), (writer, texts))


def write_files(folder: Path) -> Path:
    """Data as JSON lines with names for labels, models as folders, settings as YAML."""
    import json

    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    folder.mkdir(parents=True, exist_ok=True)
    case = make_case()
    names = case.world.train.features["label"].names
    for split in ("train", "validation", "challenge"):
        rows = [{**row, "label": names[row["label"]]} for row in getattr(case.world, split)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    openers = {"classifier": AutoModelForSequenceClassification, "generator": AutoModelForCausalLM}
    for name, opener in openers.items():
        config, tokenizer = getattr(case, name)
        for part in (opener.from_config(config), tokenizer):
            part.save_pretrained(folder / name)
    settings = {**SETTINGS, "n_iterations": 1, "num_train_epochs": 1}
    settings["generator_model"] = str(folder / "generator")
    (folder / "ibadr.yaml").write_text(json.dumps(settings))
    return folder
