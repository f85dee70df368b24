"""Sentence encoders that are changed: their settings, opening, adapting, and saving so that they open anywhere."""

from __future__ import annotations

import copy
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from torch import nn
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel
from transformers.utils import is_peft_available

from hf_fairness._opening import WANTED, find_tokenizer, opening
from hf_fairness.arguments import LoraArguments
from hf_fairness.publishing import hide_local_base
from hf_fairness.runs import atomic_folder
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.trainers.training.settings import NO_LABELS, MethodArguments, refuse
from hf_fairness.utils import opening_explained

logger = logging.getLogger(__name__)

ADAPTER = "default"
ADAPTER_FOLDER = "adapter"
ADAPTER_FILE = "adapter_model.safetensors"


@dataclass
class EncoderSettings(LoraArguments, MethodArguments, SentenceTransformerTrainingArguments):
    """How a sentence encoder is opened and trained, whatever its data are."""

    # The model.
    max_length: int | None = field(
        default=None, metadata={"help": "Cut texts to this many tokens; default: the model's own limit."}
    )
    pooling: str = field(
        default="mean",
        metadata={"help": "Pooling for a model that is no SentenceTransformer: mean, cls, max ..."},
    )
    normalize: bool = field(
        default=True,
        metadata={"help": "Scale embeddings to length 1 for a model that is no SentenceTransformer."},
    )
    keep_mlm_head: bool | None = field(
        default=None,
        metadata={
            "help": "Save the masked-language-model head with the trained encoder, for "
            "CrowS-Pairs and StereoSet; "
            "default: when the checkpoint has one."
        },
    )
    lora_target_modules: list[str] | None = field(
        default=None,
        metadata={"help": "Names of the layers to adapt, or all-linear; default: PEFT's choice for the model."},
    )

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same.

        Raises:
            ValueError: a value that cannot be used; says which.
        """
        self._check_model()
        super().__post_init__()

    def _check_model(self) -> None:
        refuse(self, NO_LABELS)
        if self.pooling not in Pooling.POOLING_MODES:
            raise ValueError(f"pooling is {self.pooling!r}, expected one of {', '.join(Pooling.POOLING_MODES)}.")
        if self.max_length is not None and self.max_length < 3:
            raise ValueError(f"max_length is {self.max_length} tokens, expected 3 or more.")
        self.check_lora()


@dataclass
class EncoderConfig(EncoderSettings):
    """Settings that all methods share which change a sentence encoder with rows of variants."""

    validation_rows: int | None = field(
        default=None,
        metadata={
            "help": "Rows held out from the end of the training set when there is no validation set; default 1,000 "
            "(paper, appendix A.3), at most a tenth of the rows."
        },
    )
    neutral_column: str = field(default="neutral", metadata={"help": "Column of the neutral texts."})
    group_columns: list[str] | None = field(
        default=None,
        metadata={
            "help": "One text column per group, e.g. male female; default: those that GroupVariants recorded, else "
            "those of the attribute whose groups all have a column."
        },
    )

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same.

        Raises:
            ValueError: a value that cannot be used; says which.
        """
        self._check_data()
        super().__post_init__()

    def _check_data(self) -> None:
        if self.validation_rows is not None and self.validation_rows < 1:
            raise ValueError(
                f"validation_rows is {self.validation_rows}, expected 1 or more. "
                "To train without validation set eval_strategy='no'."
            )
        if self.group_columns is not None:
            if len(set(self.group_columns)) < 2:
                raise ValueError(f"group_columns is {self.group_columns}, expected at least two different columns.")
            if self.neutral_column in self.group_columns:
                raise ValueError(
                    f"group_columns holds {self.neutral_column!r}, which is neutral_column: "
                    "the neutral text is what groups are compared with, not one of them."
                )


class TrainableEncoder:
    """A SentenceTransformer to train, with what must be put back when it is saved.

    Attributes:
        model: the SentenceTransformer.
        head: the masked-language model whose encoder is the one inside ``model``; None if there is no head.
        adapter: name of the adapter (LoRA layers) that is trained; None where all weights are.
        pooler_may_lack: whether the encoder may lack the pooler that opening its checkpoint adds.
        source: id or folder that it was opened from; empty where it was made of an object.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        head: PreTrainedModel | None = None,
        *,
        pooler_may_lack: bool = False,
    ) -> None:
        self.model = model
        self.head = head
        self.adapter: str | None = None
        self.pooler_may_lack = pooler_may_lack
        self.source = ""
        if head is not None:
            set_encoder(head, self.transformer.model)

    @property
    def adapted(self) -> bool:
        """Whether an adapter is trained."""
        return self.adapter is not None

    @property
    def transformer(self) -> Transformer:
        """The first module, which holds the transformers model."""
        return cast(Transformer, self.model[0])

    def add_lora(self, args: EncoderSettings) -> None:
        """Freeze all weights and add LoRA layers to the transformers model."""
        from peft import LoraConfig, TaskType

        targets: Any = args.lora_target_modules
        if targets == ["all-linear"]:
            targets = "all-linear"
        config = LoraConfig(
            task_type=TaskType.FEATURE_EXTRACTION,
            r=args.lora_r,
            lora_alpha=args.lora_alpha,
            lora_dropout=args.lora_dropout,
            target_modules=targets,
        )
        self.model.requires_grad_(False)
        try:
            self.transformer.model.add_adapter(config, adapter_name=ADAPTER)
        except ValueError as error:
            names = {
                name.rsplit(".", 1)[-1] for name, part in self.model.named_modules() if isinstance(part, nn.Linear)
            }
            raise ValueError(
                f"PEFT cannot adapt {type(self.transformer.model).__name__} with "
                f"lora_target_modules={targets}: {error} "
                f"Its linear layers are called {', '.join(sorted(names))}."
            ) from error
        self.adapter = ADAPTER

    def take_adapter(self, *, add_new: bool) -> None:
        """Settle what becomes of adapters that the model came with.

        The one active adapter is trained on if nothing but it can be trained: that is what its maker asked for.
        Else (``add_new``, several adapters, an adapter loaded for use alone) they are merged into the weights, which
        changes no embedding, and the weights are trained. What is saved has no adapter in either case.
        """
        if not isinstance(self.model[0], Transformer) or not is_peft_available():
            return
        from peft import PeftModel
        from peft.tuners.tuners_utils import BaseTunerLayer

        model: Any = self.transformer.model
        if isinstance(model, PeftModel):
            inner = model.get_base_model()
            inner.peft_config, inner._hf_peft_config_loaded = dict(model.peft_config), True
            self.transformer.model = model = inner
        layers = [module for module in model.modules() if isinstance(module, BaseTunerLayer)]
        if not layers:
            return
        active = {name for layer in layers for name in layer.active_adapters}
        trainable = [name for name, value in model.named_parameters() if value.requires_grad]
        if len(active) == 1 and trainable and all(".lora_" in name for name in trainable) and not add_new:
            self.adapter = active.pop()
            logger.info("The model's adapter %r is trained on; what is saved has it merged.", self.adapter)
            return
        self.transformer.model = merge_lora(model).requires_grad_(True)
        logger.info("The model's adapters (%s) are merged into its weights before training.", ", ".join(sorted(active)))

    @contextmanager
    def as_saved(self) -> Iterator[None]:
        """Within the block the first module holds what belongs on disk: LoRA merged, the head on top."""
        if self.head is None and not self.adapted:
            yield
            return
        trained = self.transformer.model
        plain = merge_lora(trained) if self.adapted else trained
        try:
            if self.head is None:
                self.transformer.model = plain
            else:
                set_encoder(self.head, plain)
                self.transformer.model = self.head
            yield
        finally:
            self.transformer.model = trained
            if self.head is not None:
                set_encoder(self.head, trained)

    def save_adapter(self, folder: Path) -> None:
        """Save the LoRA weights alone, for training on and for PEFT users; no path of this machine goes with them."""
        self.transformer.model.save_pretrained(folder / ADAPTER_FOLDER)
        hide_local_base(folder / ADAPTER_FOLDER)

    def load_adapter(self, folder: Path) -> None:
        """Load LoRA weights that `save_adapter` wrote."""
        from peft import set_peft_model_state_dict

        path = folder / ADAPTER_FOLDER / ADAPTER_FILE
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} does not exist, so {folder} is no checkpoint of a LoRA run. "
                "Resume with the same use_peft as the run that wrote it."
            )
        set_peft_model_state_dict(self.transformer.model, load_file(path), adapter_name=str(self.adapter))


def save_encoder(encoder: TrainableEncoder, folder: Path) -> None:
    """Write an encoder without the card of the library, which shows texts that it was trained on."""
    with encoder.as_saved(), atomic_folder(folder) as place:
        encoder.model.save(str(place), create_model_card=False)


def set_encoder(head: PreTrainedModel, encoder: PreTrainedModel) -> None:
    """Put an encoder under a masked-language-model head and tie their embeddings again."""
    setattr(head, head.base_model_prefix, encoder)
    head.tie_weights()


def merge_lora(model: PreTrainedModel) -> PreTrainedModel:
    """A copy of the model with its LoRA layers merged into plain ones."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    merged = copy.deepcopy(model)
    for name, module in list(merged.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(merged.get_submodule(parent), child, module.get_base_layer())
    merged._hf_peft_config_loaded = False
    if hasattr(merged, "_weight_conversions"):
        del merged._weight_conversions  # of the adapter: saving would rename the weights by it
    if hasattr(merged, "peft_config"):
        del merged.peft_config
    return merged


def open_encoder(model: Any, args: EncoderSettings, tokenizer: Any = None) -> TrainableEncoder:
    """Turn what a user has into a SentenceTransformer to train.

    A SentenceTransformer (object, or folder with ``modules.json``) keeps its modules. A bare transformers
    model gets the pooling and normalisation of the config, which is said in the log. The head of a
    masked-language model is kept where the checkpoint has one and ``keep_mlm_head`` is not False.

    Args:
        model: id, folder, SentenceTransformer, or transformers model; a TrainableEncoder is taken as it is.
        args: ``pooling``, ``normalize``, ``keep_mlm_head`` and ``max_length`` are read.
        tokenizer: for a transformers model; None opens the one of the folder or id the model came from.

    Returns:
        The encoder, on the training device.

    Raises:
        TypeError: not one of these objects.
        ValueError: a model that is no text encoder, or a head that was asked for and is not there.
    """
    if isinstance(model, TrainableEncoder):
        model.model.to(args.device)
        return model
    if isinstance(model, SentenceTransformer):
        encoder = TrainableEncoder(model)
    elif any(parent.__name__ == "PeftModel" for parent in type(model).__mro__):
        raise TypeError(
            f"model is a {type(model).__name__}. Pass model.merge_and_unload(), with use_peft=True in the config to "
            "train new LoRA layers on it; or a SentenceTransformer that has the adapter."
        )
    elif isinstance(model, PreTrainedModel):
        with opening_explained(type(model).__name__):
            encoder = _from_transformers(model, args, tokenizer)
    elif isinstance(model, (str, Path)):
        with opening_explained(model):
            encoder = _from_path(str(model), args)
        encoder.source = str(model)
    else:
        raise TypeError(
            f"model is a {type(model).__name__}, expected a model id, a folder, a SentenceTransformer or a "
            "transformers model."
        )
    encoder.take_adapter(add_new=args.use_peft)
    _check_encoder(encoder, args)
    full_precision(encoder.model)
    full_precision(encoder.head)
    encoder.model.to(args.device)
    if args.max_length is not None:
        encoder.model.max_seq_length = args.max_length
    return encoder


def _check_encoder(encoder: TrainableEncoder, args: EncoderSettings) -> None:
    first = encoder.model[0]
    if (args.keep_mlm_head or args.use_peft) and not isinstance(first, Transformer):
        raise ValueError(
            f"The first module is {type(first).__name__}, which is no transformers model: it has "
            "no head to keep and "
            "no layers for LoRA. Unset keep_mlm_head and use_peft."
        )
    if args.keep_mlm_head and encoder.head is None:
        raise ValueError(
            "keep_mlm_head=True, but the model has no masked-language-model head. Pass the "
            "checkpoint's id or folder, "
            "or an AutoModelForMaskedLM; a SentenceTransformer object does not hold the head."
        )
    if not any(parameter.requires_grad for parameter in encoder.model.parameters()):
        raise ValueError(
            f"{type(first).__name__} has no weights to train. Unfreeze it with model.requires_grad_(True)."
        )


def _from_path(path: str, args: EncoderSettings) -> TrainableEncoder:
    folder = Path(path)
    if folder.is_dir() and not any((folder / name).is_file() for name in ("config.json", "modules.json")):
        raise ValueError(f"{path} is no model: it holds neither config.json nor modules.json.")
    if folder.is_file():
        raise ValueError(f"{path} is a file, expected a model's folder or its id on the Hub.")
    config = None
    if not folder.is_dir() or (folder / "config.json").is_file():
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        _refuse_decoder(config, path)
    head = _open_head(path, config, args) if config is not None else None
    device = str(args.device)
    from sentence_transformers.util import is_sentence_transformer_model

    if is_sentence_transformer_model(path):
        return TrainableEncoder(SentenceTransformer(path, device=device, trust_remote_code=False), head)
    return TrainableEncoder(_with_pooling(_transformer(path), args, path), head)


def _from_transformers(model: PreTrainedModel, args: EncoderSettings, tokenizer: Any) -> TrainableEncoder:
    _refuse_decoder(model.config, type(model).__name__, generates=_generates(type(model).__name__))
    has_head = type(model).__name__.endswith("ForMaskedLM")
    base = cast(PreTrainedModel, model.base_model)
    if tokenizer is None and not model.name_or_path:
        raise ValueError(
            f"{type(model).__name__} was built in memory, so its tokenizer is unknown: pass processing_class=tokenizer."
        )
    tokenizer = find_tokenizer(model, tokenizer)
    with tempfile.TemporaryDirectory() as folder:  # the module can only be opened from a folder
        base.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        transformer = _transformer(folder)
    transformer.model = base  # train the caller's own weights
    opened = _with_pooling(transformer, args, type(model).__name__)
    head = model if has_head and args.keep_mlm_head is not False else None
    return TrainableEncoder(opened, head, pooler_may_lack=True)


def _transformer(folder: str) -> Transformer:
    """The module of a folder or id; it hands the three groups of options to what opens config, model and tokenizer."""
    kinds = ("config_kwargs", "model_kwargs", "processor_kwargs")
    return Transformer(folder, **{kind: {"trust_remote_code": False} for kind in kinds})


def _with_pooling(transformer: Transformer, args: EncoderSettings, name: str) -> SentenceTransformer:
    if "text" not in transformer.modalities or transformer.module_output_name != "token_embeddings":
        raise ValueError(
            f"{name} is no text encoder: it gives {transformer.module_output_name} for "
            f"{', '.join(map(str, transformer.modalities))}, expected token embeddings for text."
        )
    modules: list[nn.Module] = [transformer, Pooling(transformer.get_embedding_dimension(), args.pooling)]
    if args.normalize:
        modules.append(Normalize())
    logger.info(
        "%s is no SentenceTransformer: it is trained and saved with %s pooling, %s normalisation.",
        name,
        args.pooling,
        "with" if args.normalize else "without",
    )
    return SentenceTransformer(modules=modules, device=str(args.device))


def _generates(architecture: str) -> bool:
    return architecture.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"))


def _refuse_decoder(config: Any, name: str, *, generates: bool = False) -> None:
    """An error for models that write text; their users may still pass a SentenceTransformer of their own."""
    known = config.architectures or []
    if (generates or any(map(_generates, known)) or getattr(config, "is_decoder", False)) and not (
        Path(name) / "modules.json"
    ).is_file():
        raise ValueError(
            f"{name} ({', '.join(known) or type(config).__name__}) generates text and is no "
            "encoder. To train its "
            "hidden states all the same, build a SentenceTransformer(modules=[Transformer(...), "
            "Pooling(..., 'lasttoken')]) and pass that."
        )


def _open_head(path: str, config: Any, args: EncoderSettings) -> PreTrainedModel | None:
    """The checkpoint's masked-language model; None if it has none or it is not wanted.

    The config's word is not enough: many encoders saved without their head still name it there.
    """
    named = any(name.endswith("ForMaskedLM") for name in config.architectures or [])
    if args.keep_mlm_head is False or not (named or args.keep_mlm_head):
        return None
    with opening(path, WANTED["AutoModelForMaskedLM"]):
        model, report = AutoModelForMaskedLM.from_pretrained(path, output_loading_info=True, trust_remote_code=False)
    prefix = f"{model.base_model_prefix}."
    missing = sorted(key for key in report["missing_keys"] if not key.startswith(prefix))
    if not missing:
        return cast(PreTrainedModel, model)
    if args.keep_mlm_head:
        raise ValueError(
            f"keep_mlm_head=True, but {path} holds no masked-language-model head: "
            f"{', '.join(missing)} not found. "
            "Start from the pretrained checkpoint, or set keep_mlm_head=False."
        )
    logger.info("%s names a masked-language-model head but does not hold its weights; none is kept.", path)
    return None
