"""Trainers that leave a card of ours beside every model, and push it as all else of this package is pushed."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from transformers.trainer_utils import HubStrategy
from transformers.utils import ADAPTER_CONFIG_NAME

from hf_fairness._encoder_adapters import is_a
from hf_fairness._secrets import hide_token
from hf_fairness.publishing import CARD, Artefact, hide_local_base, is_hub_id, publish
from hf_fairness.report.artefact_card import About, artefact_card, bias_section, load_classifier
from hf_fairness.report.card import card_metadata
from hf_fairness.runs import atomic_write_text
from hf_fairness.trainers.training.guarded import Guarded

#: Folder of LoRA adapters beside a model that has them merged.
ADAPTERS = "adapter"
#: Argument of ``push_to_hub`` -> key of the front matter.
_FRONT = {"language": "language", "license": "license", "dataset": "datasets", "finetuned_from": "base_model"}


class Published(Guarded):
    """What stands before a `Trainer`: it writes our card with every model, and a push is one commit without left-overs.

    `push_to_hub` saves the model into a folder of its own and publishes that: what else lies in ``output_dir`` stays on
    this machine. Models with LoRA adapters are pushed whole, with the adapters in a folder beside. While a model trains
    it is pushed as often as it is saved (``hub_strategy="every_save"``, the default of transformers), and training
    waits for it; with ``"end"`` it is pushed when you call `push_to_hub` or `save_model` only.
    """

    #: What the model is, with ``{base}`` for the one that it was made from.
    what: ClassVar[str] = "A model that was trained from {base}."
    #: What else the card must say.
    limits: ClassVar[tuple[str, ...]] = ()
    #: Words and task of the front matter.
    task: ClassVar[dict[str, str]] = {"library_name": "transformers", "pipeline_tag": "text-classification"}

    def base(self) -> str:
        """The model that training began with: its id or folder; empty where it was made in memory."""
        config = getattr(self.accelerator.unwrap_model(self.model), "config", None)
        return str(getattr(config, "_name_or_path", "") or "")

    def load_code(self) -> str:
        """Code that opens what `push_to_hub` pushes."""
        return load_classifier("She was kind.")

    def library_card(self, folder: Path) -> str:
        """The card that a library wrote into the folder, where it says something; it stays below ours."""
        return ""

    def card(self, folder: Path, repo_id: str = "", *, adapted: bool = False, **front: Any) -> str:
        """The card of a saved model.

        Args:
            folder: where it was saved.
            repo_id: where it is published; "" means the folder.
            adapted: whether the folder holds LoRA adapters alone.
            front: as `Trainer.create_model_card` takes them; those that this card does not state are ignored.

        Returns:
            Markdown with front matter.
        """
        source, tags = self.base(), front.get("tags") or []
        base = source if is_hub_id(source) else Path(source).name or "a model made in memory"
        metadata = card_metadata(None, base_model=source if is_hub_id(source) else None)
        metadata["tags"] += [tags] if isinstance(tags, str) else tags
        metadata |= self.task | {key: front[name] for name, key in _FRONT.items() if front.get(name)}
        about = About(
            title=front.get("model_name") or Path(str(self.args.output_dir)).resolve().name,
            summary=self.what.format(base=base),
            section=bias_section(),
            load=_LOAD_ADAPTERS if adapted else self.load_code(),
            limits=self.limits,
            metadata=metadata,
            **({"terms": f"Published under {front['license']}."} if front.get("license") else {}),
        )
        return artefact_card(about, repo_id, base=self.library_card(folder))

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Save as the parent does, and write the card."""
        super()._save(output_dir, state_dict)
        if self.args.should_save:
            self._write_card(Path(output_dir if output_dir is not None else self.args.output_dir))

    def _write_card(self, folder: Path, **front: Any) -> None:
        atomic_write_text(folder / CARD, self.card(folder, adapted=(folder / ADAPTER_CONFIG_NAME).is_file(), **front))

    def create_model_card(self, language: Any = None, license: Any = None, tags: Any = None, **front: Any) -> None:
        """Write our card into ``output_dir``; arguments as of `Trainer.create_model_card`."""
        if self.is_world_process_zero():
            place = Path(str(self.args.output_dir))
            self._write_card(place, language=language, license=license, tags=tags, **front)

    def push_to_hub(
        self,
        commit_message: str | None = "End of training",
        blocking: bool = True,
        token: str | None = None,
        revision: str | None = None,
        private: bool | None = None,
        **front: Any,
    ) -> Any:
        """Publish the model with its card in one commit; call it on every process.

        Args:
            commit_message: of the commit.
            blocking: of no effect: the upload is waited for.
            token: of the Hub; None: ``args.hub_token``.
            revision: branch; None: ``args.hub_revision``, or the main one.
            private: whether a new repository is private; None: ``args.hub_private_repo``.
            front: as of `Trainer.create_model_card`.

        Returns:
            What huggingface_hub says of the commit; None on other processes than the first.

        Raises:
            OSError: the Hub refuses, or is out of reach.
        """
        self.callback_handler.on_push_begin(self.args, self.state, self.control)
        with tempfile.TemporaryDirectory() as temporary:
            self.save_model(temporary, _internal_call=True)
            if not self.is_world_process_zero():
                return None
            folder, model = Path(temporary), self.accelerator.unwrap_model(self.model)
            if is_a(model, "peft", "PeftModel"):
                merge_adapters(copy.deepcopy(model), folder)
            return self._publish(folder, commit_message, token, revision, private, front)

    def _publish(
        self, folder: Path, message: str | None, token: Any, revision: str | None, private: Any, front: dict[str, Any]
    ) -> Any:
        def card(place: Path, repo_id: str) -> None:
            adapted = (folder / ADAPTER_CONFIG_NAME).is_file()
            atomic_write_text(place / CARD, self.card(folder, repo_id, adapted=adapted, **front))
            if adapted:
                shutil.copy(folder / ADAPTER_CONFIG_NAME, place)
                hide_local_base(place)

        return publish(
            Artefact("model", folder, card),
            self.args.hub_model_id or Path(str(self.args.output_dir)).resolve().name,
            token=token if token is not None else self.args.hub_token,
            private=private if private is not None else self.args.hub_private_repo,
            revision=revision or self.args.hub_revision,
            message=message or "End of training",
        ).commit

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        """Publish the model of a checkpoint; with the strategies for checkpoints, as the parent does."""
        hide_token(self.args)  # the parent writes it down beside the model
        if self.args.hub_strategy in (HubStrategy.CHECKPOINT, HubStrategy.ALL_CHECKPOINTS):
            super()._push_from_checkpoint(checkpoint_folder)
        elif self.args.hub_strategy != HubStrategy.END and self.is_world_process_zero():
            self._publish(Path(checkpoint_folder), f"Training, step {self.state.global_step}", None, None, None, {})


def merge_adapters(model: Any, folder: Path) -> None:
    """Put a whole model where LoRA adapters were saved, and these into a folder beside it.

    Args:
        model: a `PeftModel`; it is changed.
        folder: of the adapters.
    """
    (folder / ADAPTERS).mkdir()
    for path in folder.glob("adapter_*"):
        path.rename(folder / ADAPTERS / path.name)
    hide_local_base(folder / ADAPTERS)
    model.merge_and_unload().save_pretrained(folder)


_LOAD_ADAPTERS = """from peft import AutoPeftModelForSequenceClassification
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{repository}")
model = AutoPeftModelForSequenceClassification.from_pretrained("{repository}")  # three labels or more: num_labels=3
logits = model(**tokenizer("She was kind.", return_tensors="pt")).logits
"""
