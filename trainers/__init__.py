"""Trainer subclasses, configs, callbacks and evaluators that measure and mitigate bias, and the methods built on them.

A folder holds one method: its settings, its trainer or callback, its data, and what it adds to an experiment;
``training`` holds what several use, ``experiment`` what all do.
``command.py`` in it makes it a command of `hf-fairness` (see :class:`hf_fairness.arguments.Command`).
Every name here is loaded when it is first used.

Trainers of models, in the place of their parents: `CCDTrainer` (SentenceTransformerTrainer), `DataDietTrainer`,
`PoETrainer`, `ReweightTrainer`, `ConfRegTrainer`, `DCTTrainer` (Trainer), `TranslationTrainer` (Seq2SeqTrainer). Into a
plain Trainer goes `GEPruningCallback`, into a SentenceTransformerTrainer `SEATEvaluator` and `CCEDEvaluator`. Each
trainer trains and saves in float32 what a checkpoint holds in half precision (``bf16=True`` computes in mixed
precision), resumes exactly, and stops with an error, on all processes, when weights or losses are no numbers any more.

A classifier on the healthy part of its data, with the steps and the schedule of all of it:

    rows = texts.map(CounterfactualAugmentation("text", quality=True), batched=True)
    diet = GEPruningCallback(rows, factual_fraction=0.5, counterfactual_fraction=0.3)
    Trainer(model=model, args=args, train_dataset=rows.map(tokenize), processing_class=tokenizer, callbacks=[diet])

A classifier that leaves to a bias model what the hypothesis alone gives away:

    bias = ClassifierLearner("bert-base-uncased", {"num_train_epochs": 1})
    train = add_bias_log_probs(train, learner=bias, columns=["hypothesis"])  # on folds that the bias model has not seen
    PoETrainer(model=model, args=args, train_dataset=train.map(tokenize), processing_class=tokenizer).train()

A sentence encoder as InferSent was made, of word vectors and pairs of texts with labels:

    encoder = bilstm_max("glove.840B.300d.txt", texts=texts)
    train_on_nli(encoder, train, dev_rows=validation).model.save("encoder")

Whole methods with control, report and card: `run_ccd`, `run_gfst`, `run_ibadr`, `run_data_diet`; any number of them
side by side: `run_compare`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hf_fairness.losses import CCDLoss, confidence_regularization, product_of_experts, reweighted_cross_entropy
    from hf_fairness.trainers.ccd.config import CCDConfig
    from hf_fairness.trainers.ccd.data import add_reference_embeddings
    from hf_fairness.trainers.ccd.method import CCDArguments, run_ccd
    from hf_fairness.trainers.ccd.trainer import CCDTrainer
    from hf_fairness.trainers.compare.arguments import CompareArguments, CompareConfig
    from hf_fairness.trainers.compare.method import run_compare
    from hf_fairness.trainers.data_diet.arguments import DataDietArguments
    from hf_fairness.trainers.data_diet.callback import GEPruningCallback
    from hf_fairness.trainers.data_diet.config import DataDietConfig, PruningSettings
    from hf_fairness.trainers.data_diet.learners import HeadClassifier
    from hf_fairness.trainers.data_diet.method import run_data_diet
    from hf_fairness.trainers.data_diet.trainer import DataDietTrainer
    from hf_fairness.trainers.gfst.arguments import GFSTArguments
    from hf_fairness.trainers.gfst.config import GFSTConfig
    from hf_fairness.trainers.gfst.method import run_gfst
    from hf_fairness.trainers.gfst.training import TranslationLoss, TranslationTrainer, train_translator
    from hf_fairness.trainers.ibadr.arguments import IBADRArguments
    from hf_fairness.trainers.ibadr.config import IBADRConfig
    from hf_fairness.trainers.ibadr.method import run_ibadr
    from hf_fairness.trainers.refine.arguments import RefineArguments, RefineConfig
    from hf_fairness.trainers.refine.bilstm import bilstm_max
    from hf_fairness.trainers.refine.method import run_refine
    from hf_fairness.trainers.refine.nli import NLIConfig, NLITraining, train_on_nli
    from hf_fairness.trainers.sentence_debias.method import (
        SentenceDebiasArguments,
        SentenceDebiasConfig,
        run_sentence_debias,
    )
    from hf_fairness.trainers.training.bias_columns import ClassifierLearner, add_bias_log_probs
    from hf_fairness.trainers.training.bias_trainers import ConfRegTrainer, PoETrainer, ReweightTrainer
    from hf_fairness.trainers.training.dct import DCTTrainer, add_dct_columns, bias_features
    from hf_fairness.trainers.training.evaluators import CCEDEvaluator, SEATEvaluator
    from hf_fairness.trainers.training.pair_training import gold_confidence, train_pair_classifier

#: Module of each name.
_LAZY = {
    "hf_fairness.losses": (
        "CCDLoss",
        "confidence_regularization",
        "product_of_experts",
        "reweighted_cross_entropy",
    ),
    "hf_fairness.trainers.ccd.config": ("CCDConfig",),
    "hf_fairness.trainers.ccd.data": ("add_reference_embeddings",),
    "hf_fairness.trainers.ccd.method": ("CCDArguments", "run_ccd"),
    "hf_fairness.trainers.ccd.trainer": ("CCDTrainer",),
    "hf_fairness.trainers.compare.arguments": ("CompareArguments", "CompareConfig"),
    "hf_fairness.trainers.compare.method": ("run_compare",),
    "hf_fairness.trainers.data_diet.arguments": ("DataDietArguments",),
    "hf_fairness.trainers.data_diet.callback": ("GEPruningCallback",),
    "hf_fairness.trainers.data_diet.config": ("DataDietConfig", "PruningSettings"),
    "hf_fairness.trainers.data_diet.learners": ("HeadClassifier",),
    "hf_fairness.trainers.data_diet.method": ("run_data_diet",),
    "hf_fairness.trainers.data_diet.trainer": ("DataDietTrainer",),
    "hf_fairness.trainers.gfst.arguments": ("GFSTArguments",),
    "hf_fairness.trainers.gfst.config": ("GFSTConfig",),
    "hf_fairness.trainers.gfst.method": ("run_gfst",),
    "hf_fairness.trainers.gfst.training": ("TranslationLoss", "TranslationTrainer", "train_translator"),
    "hf_fairness.trainers.ibadr.arguments": ("IBADRArguments",),
    "hf_fairness.trainers.ibadr.config": ("IBADRConfig",),
    "hf_fairness.trainers.ibadr.method": ("run_ibadr",),
    "hf_fairness.trainers.refine.bilstm": ("bilstm_max",),
    "hf_fairness.trainers.refine.nli": ("NLIConfig", "NLITraining", "train_on_nli"),
    "hf_fairness.trainers.refine.arguments": ("RefineArguments", "RefineConfig"),
    "hf_fairness.trainers.refine.method": ("run_refine",),
    "hf_fairness.trainers.sentence_debias.method": (
        "SentenceDebiasArguments",
        "SentenceDebiasConfig",
        "run_sentence_debias",
    ),
    "hf_fairness.trainers.training.bias_columns": ("ClassifierLearner", "add_bias_log_probs"),
    "hf_fairness.trainers.training.bias_trainers": ("ConfRegTrainer", "PoETrainer", "ReweightTrainer"),
    "hf_fairness.trainers.training.dct": ("DCTTrainer", "add_dct_columns", "bias_features"),
    "hf_fairness.trainers.training.evaluators": ("CCEDEvaluator", "SEATEvaluator"),
    "hf_fairness.trainers.training.pair_training": ("gold_confidence", "train_pair_classifier"),
}

__all__ = [
    "CCDArguments",
    "CCDConfig",
    "CCDLoss",
    "CCDTrainer",
    "CCEDEvaluator",
    "ClassifierLearner",
    "CompareArguments",
    "CompareConfig",
    "ConfRegTrainer",
    "DCTTrainer",
    "DataDietArguments",
    "DataDietConfig",
    "DataDietTrainer",
    "GEPruningCallback",
    "GFSTArguments",
    "GFSTConfig",
    "HeadClassifier",
    "IBADRArguments",
    "IBADRConfig",
    "NLIConfig",
    "NLITraining",
    "PoETrainer",
    "PruningSettings",
    "RefineArguments",
    "RefineConfig",
    "ReweightTrainer",
    "SEATEvaluator",
    "SentenceDebiasArguments",
    "SentenceDebiasConfig",
    "TranslationLoss",
    "TranslationTrainer",
    "add_bias_log_probs",
    "add_dct_columns",
    "add_reference_embeddings",
    "bias_features",
    "bilstm_max",
    "confidence_regularization",
    "gold_confidence",
    "product_of_experts",
    "reweighted_cross_entropy",
    "run_ccd",
    "run_compare",
    "run_data_diet",
    "run_gfst",
    "run_ibadr",
    "run_refine",
    "run_sentence_debias",
    "train_on_nli",
    "train_pair_classifier",
    "train_translator",
]


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
