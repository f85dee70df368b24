"""One vocabulary: one name for one thing, in every command, configuration and public function."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
from collections import defaultdict
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from transformers import TrainingArguments

import hf_fairness
from hf_fairness import cli, trainers
from hf_fairness.cli import COMMANDS, parsing

ROOT = Path(hf_fairness.__file__).parent.parent
#: Where the spelling was, old name, the name of today. Nothing was released with the old ones: none of them is left.
RENAMED: dict[str, dict[str, str]] = {
    "audit": {
        "evaluation": "variants",
        "device": "use_cpu",
        "output": "output_dir",
        "private": "hub_private_repo",
    },
    "augment": {
        "card_example": "card_examples",
        "device": "use_cpu",
        "model": "model_name_or_path",
        "output": "output_dir",
        "private": "hub_private_repo",
        "text_columns": "text_column",
    },
    "build-dataset": {
        "config_name": "dataset_config",
        "name": "dataset",
        "output": "output_dir",
        "private": "hub_private_repo",
    },
    "ccd": {"evaluation": "variants"},
    "data-diet": {
        "batch_size": "per_device_train_batch_size",
        "device": "use_cpu",
        "epochs": "num_train_epochs",
        "group_set": "group_dataset",
        "lora": "use_peft",
        "test": "test_dataset",
        "validation": "validation_dataset",
    },
    "gfst": {
        "dev": "validation_dataset",
        "finetune_epochs": "finetune_num_train_epochs",
        "lang": "target_lang",
        "model": "model_name_or_path",
        "monolingual": "monolingual_dataset",
        "monolingual_column": "monolingual_text_column",
        "parallel": "dataset",
        "parallel_split": "dataset_split",
        "test": "test_dataset",
        "variants": "arms",
    },
    "ibadr": {
        "batch_size": "per_device_train_batch_size",
        "dev": "validation_dataset",
        "device": "use_cpu",
        "epochs": "num_train_epochs",
        "generator": "generator_model",
        "generator_batch_size": "generator_per_device_train_batch_size",
        "generator_epochs": "generator_num_train_epochs",
        "generator_later_epochs": "generator_later_num_train_epochs",
        "group_by_length": "train_sampling_strategy",
        "judge": "judge_model",
        "lora": "generator_use_peft",
        "lora_rank": "generator_lora_r",
        "max_train_rows": "max_rows",
        "patience": "early_stopping_patience",
        "shallow_epochs": "shallow_num_train_epochs",
        "show_examples": "show_texts",
        "test": "test_dataset",
        "text_columns": "text_column",
        "threshold": "confidence_threshold",
    },
    "push-metrics": {"private": "hub_private_repo"},
}
#: Names of which the field knows several for one thing: the first is ours, the rest are nowhere.
SYNONYMS = (
    ("num_train_epochs", "epochs", "n_epochs", "num_epochs"),
    ("per_device_train_batch_size", "train_batch_size"),
    ("early_stopping_patience", "patience"),
    ("learning_rate", "lr"),
    ("use_peft", "lora", "use_lora", "peft"),
    ("lora_r", "lora_rank", "rank"),
    ("validation_dataset", "dev", "dev_dataset", "eval_file", "validation_file", "validation", "valid"),
    ("test_dataset", "test", "test_file"),
    ("dataset", "dataset_name", "data", "train_file", "parallel"),
    ("dataset_config", "dataset_config_name", "config_name"),
    ("dataset_split", "split"),
    ("text_column", "text_columns", "column", "columns"),
    ("label_column", "label_field"),
    ("model_name_or_path", "model", "model_id", "model_path", "base_model"),
    ("output_dir", "output", "out", "output_folder"),
    ("use_cpu", "device", "no_cuda", "cpu"),
    ("seed", "random_state", "random_seed"),
    ("n_seeds", "num_seeds"),
    ("n_bootstrap", "num_bootstrap", "bootstrap"),
    ("max_rows", "max_train_rows", "max_train_samples", "limit"),
    ("hub_private_repo", "private"),
    ("hub_token", "token", "use_auth_token"),
    ("target_lang", "lang", "target_language", "tgt_lang"),
    ("source_lang", "source_language", "src_lang"),
    ("name", "title", "run_title"),
    ("show_texts", "show_examples", "n_texts"),
    ("resume", "resume_run", "continue"),
)


def _dataclasses_of(command: str) -> tuple[type[Any], ...]:
    """What a command parses its words into; nothing is run."""
    found: list[tuple[type[Any], ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_Parser", lambda classes, **_: found.append(tuple(classes)) or _catch())
        with pytest.raises(_Caught):
            cli.command(command)([])
    return found[0]


class _Caught(Exception):  # nothing is wrong
    pass


def _catch() -> None:
    raise _Caught


#: Options that are not ours to name or to type.
TRANSFORMERS = {item.name for item in dataclasses.fields(TrainingArguments)}


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    """Options of every command with their types; those of `TrainingArguments` belong to transformers."""
    found: dict[str, dict[str, Any]] = {}
    for command in COMMANDS:
        found[command] = {}
        for cls in _dataclasses_of(command):
            hints = get_type_hints(cls)
            theirs = TRANSFORMERS if issubclass(cls, TrainingArguments) else set[str]()
            names = [item.name for item in dataclasses.fields(cls) if item.init]
            found[command] |= {name: None if name in theirs else hints[name] for name in names}
    return found


def test_no_command_has_an_old_name(options: dict[str, dict[str, Any]]) -> None:
    assert set(RENAMED) <= set(COMMANDS)
    for command, table in RENAMED.items():
        left = sorted(set(table) & set(options[command]))
        assert left == [], f"{command}: {left}"
        lacking = sorted(set(table.values()) - set(options[command]))
        assert lacking == [], f"{command}: the new names {lacking} are not there"


def test_no_option_has_a_second_name(options: dict[str, dict[str, Any]]) -> None:
    every = {name for names in options.values() for name in names}
    for ours, *others in SYNONYMS:
        assert sorted(set(others) & every) == [], f"{ours} has other names"


def test_one_name_is_one_type(options: dict[str, dict[str, Any]]) -> None:
    kinds: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, names in options.items():
        for name, kind in ((name, kind) for name, kind in names.items() if kind is not None):
            plain = str(kind).replace(" | None", "").replace("typing.", "")
            kinds[name][plain if plain.startswith(("<", "list")) else str(kind)].append(command)
    several = {name: dict(found) for name, found in kinds.items() if len({_base(kind) for kind in found}) > 1}
    assert several == {}


def _base(kind: str) -> str:
    """A type without "or nothing"."""
    return kind.replace("typing.Optional[", "").rstrip("]").replace(" | None", "").replace("<class '", "").rstrip("'>")


def _public() -> dict[str, Any]:
    """Everything that a public package exports, by its full name."""
    found = {}
    for module in pkgutil.walk_packages(hf_fairness.__path__, "hf_fairness."):
        if module.ispkg and "._" not in module.name and not module.name.startswith("hf_fairness.metrics"):
            package = importlib.import_module(module.name)
            for name in getattr(package, "__all__", ()):
                found[f"{module.name}.{name}"] = getattr(package, name)
    return found


def test_nothing_is_exported_under_two_names() -> None:
    names: dict[int, set[str]] = defaultdict(set)
    found = _public()
    for path, value in found.items():
        if callable(value):
            names[id(value)].add(path.rpartition(".")[2])
    assert len(names) > 100
    assert [sorted(several) for several in names.values() if len(several) > 1] == []


#: Parameters of public functions that had a second name.
PARAMETERS = {
    "dev": "validation",
    "epochs": "num_train_epochs",
    "lora_rank": "lora_r",
    "patience": "early_stopping_patience",
    "no_cuda": "use_cpu",
}


def test_public_functions_use_the_same_names() -> None:
    wrong = []
    for path, value in _public().items():
        if not callable(value) or not str(getattr(value, "__module__", "")).startswith("hf_fairness"):
            continue
        try:
            taken = inspect.signature(value).parameters
        except ValueError:
            continue
        wrong += [f"{path}({name}=): {PARAMETERS[name]}" for name in taken if name in PARAMETERS]
    assert wrong == []


#: Bases that only their subclasses use.
BASES = {"BiasTrainer", "DataDietSettings"}


def test_what_a_user_of_trainers_needs_is_exported() -> None:
    kinds = ("Trainer", "Config", "Callback", "Loss", "Evaluator", "Settings")
    lacking = []
    for file in (ROOT / "trainers").glob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith(kinds) and not node.name.startswith("_"):
                lacking += [node.name] if node.name not in {*trainers.__all__, *BASES} else []
    assert lacking == []
    assert not {"small_marian", "small_tokenizer"} & set(trainers.__all__)


def test_the_names_that_most_people_need_are_at_the_top() -> None:
    for name in hf_fairness.__all__:
        assert getattr(hf_fairness, name) is not None
        assert name in dir(hf_fairness)
    assert hf_fairness.CCDTrainer is trainers.CCDTrainer
    with pytest.raises(AttributeError, match="has no attribute 'CCDTrainr'"):
        _ = hf_fairness.CCDTrainr  # type: ignore[attr-defined]
