"""What all parts of a GFST run share: its folder, settings, filters, and how it translates."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset, load_from_disk

from hf_fairness.attributes import Attribute
from hf_fairness.filters import GenderTagger
from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation import translate
from hf_fairness.runs import Run
from hf_fairness.trainers.gfst.arguments import GFSTArguments
from hf_fairness.trainers.gfst.config import GFSTConfig

logger = logging.getLogger(__name__)


@dataclass
class Job:
    """What all parts of a run work with.

    Attributes:
        run: the folder with the stages.
        arguments: what to do.
        config: how to train; its limits of length hold for the data too.
        attribute: whose groups are filtered.
        tagger: of the target filter; None: that of the language.
        tagger_key: what stands for the tagger among the inputs of stages.
    """

    run: Run
    arguments: GFSTArguments
    config: GFSTConfig
    attribute: Attribute
    tagger: GenderTagger | None = None
    tagger_key: Any = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return tuple(self.attribute.group_names)

    @property
    def seed(self) -> int:
        """Of everything that is drawn."""
        return int(self.config.seed)

    @property
    def limits(self) -> dict[str, Any]:
        """Arguments of ``PairLength``."""
        return {"max_tokens": self.config.max_length, "max_ratio": self.config.max_length_ratio}

    @property
    def target_filter(self) -> dict[str, Any]:
        """How the target filter reads words; ``nouns`` is the path of a file."""
        a = self.arguments
        return {"human_nouns_only": a.human_nouns_only, "nouns": a.nouns, "ambiguous": a.ambiguous}

    @property
    def target_filter_key(self) -> list[Any]:
        """What stands for it among the inputs of stages."""
        nouns = None if self.arguments.nouns is None else Path(self.arguments.nouns)
        return [self.tagger_key, {**self.target_filter, "nouns": nouns}]

    def rows(self, stage: str) -> Dataset:
        """The data set of a stage, in memory: what is made of it must leave no cache files in the stage's folder."""
        return load_from_disk(self.run.folder(stage), keep_in_memory=True)

    def translation_settings(self, *, backwards: bool = False) -> dict[str, Any]:
        """What changes the translations of a model."""
        a = self.arguments
        codes = (a.target_code, a.source_code) if backwards else (a.source_code, a.target_code)
        return {
            "num_beams": a.num_beams,
            "max_source_length": a.max_source_length,
            "max_new_tokens": a.max_new_tokens,
            "source_code": codes[0],
            "target_code": codes[1],
            "prefix": a.reverse_prefix if backwards else a.prefix,
        }

    def translate(
        self, source: Any, texts: Sequence[str], folder: Path, *, what: str, backwards: bool = False
    ) -> list[str]:
        """Translate; what a killed run finished is found again in the folder, which holds none of it in the end.

        Args:
            source: model and tokenizer, or an id or folder.
            texts: to translate.
            folder: of the stage.
            what: how the log calls the model.
            backwards: whether the texts are in the target language.
        """
        model, tokenizer = source if isinstance(source, tuple) else open_translator(source)
        cache = folder / "cache"
        logger.info("Translating %s sentences with %s.", f"{len(texts):,}", what)
        found = translate(
            model,
            tokenizer,
            texts,
            cache=cache,
            batch_size=self.arguments.translation_batch_size,
            device=str(self.config.device),
            **self.translation_settings(backwards=backwards),
        )
        shutil.rmtree(cache, ignore_errors=True)
        return found
