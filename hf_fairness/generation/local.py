"""A chat model on this machine, through a ``transformers`` pipeline."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from hf_fairness.generation.chat import Completion, Messages, Schema
from hf_fairness.generation.config import LLMConfig
from hf_fairness.runs import content_key
from hf_fairness.utils import opening_explained


class LocalClient:
    """A chat model on this machine, decoded greedily; nothing of its repository is executed.

    It answers one request at a time. For large corpora serve the model (vLLM, TGI) and give its ``base_url``.

    Args:
        model: folder of a model, or a ``transformers`` text-generation pipeline.
        config: ``max_tokens`` is read; a ``temperature`` is refused.

    Raises:
        ValueError: a temperature above 0; at the call: the tokenizer has no chat template, or prompt and answer do not
            fit the model's context.
    """

    def __init__(self, model: Any, *, config: LLMConfig | None = None) -> None:
        self.model, self.config = model, config or LLMConfig()
        if self.config.temperature:
            raise ValueError(
                f"temperature is {self.config.temperature}, and a local model is decoded greedily. Leave it out, or "
                "serve the model (vLLM, TGI) and give its base_url."
            )
        self.name = _folder_name(Path(model)) if isinstance(model, (str, Path)) else _weights_name(model.model)
        self._pipeline: Any = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_pipeline", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _pipeline=None, _lock=threading.Lock())

    def complete(self, messages: Messages, *, schema: Schema | None = None) -> Completion:
        """Answer a conversation; the schema is not used."""
        with self._lock:
            pipe = self._open()
            chat = [dict(message) for message in messages]
            if not getattr(pipe.tokenizer, "chat_template", None):
                raise ValueError(
                    "The tokenizer of the local model has no chat template: choose a model that was tuned for chat, "
                    "or set tokenizer.chat_template."
                )
            read = len(
                pipe.tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]
            )
            new = self.config.max_tokens or 1024
            room = getattr(pipe.model.config, "max_position_embeddings", None)
            if isinstance(room, int) and read + new > room:
                raise ValueError(
                    f"The prompt has {read} tokens and the answer may have {new}; the model's context holds {room}. "
                    "Lower max_tokens or texts_per_request, use fewer examples, or another model."
                )
            output = pipe(chat, max_new_tokens=new, do_sample=False, return_full_text=False)
        text = str(output[0]["generated_text"])
        written = len(pipe.tokenizer(text, add_special_tokens=False)["input_ids"])
        return Completion(text, read, written, truncated=written >= new)

    def _open(self) -> Any:
        if not isinstance(self.model, (str, Path)):
            return self.model
        if self._pipeline is None:
            from transformers import pipeline

            with opening_explained(self.model):
                self._pipeline = pipeline("text-generation", model=str(self.model), trust_remote_code=False)
        return self._pipeline


def _folder_name(folder: Path) -> str:
    """Path and a key of what stands there: the same path with new weights is another model."""
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder} that could hold a local model.")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return f"{folder.name}@{content_key([(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files])}"


def _weights_name(model: Any) -> str:
    sums = [float(weight.detach().double().sum()) for weight in model.parameters()]
    return f"{type(model).__name__}@{content_key(model.config.to_json_string(), sums)}"
