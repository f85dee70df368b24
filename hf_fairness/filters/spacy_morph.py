"""Any language with a spaCy pipeline that fills the morphological feature Gender."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, Genders, spread
from hf_fairness.utils import require

#: Values of Universal Dependencies; common gender is a form for both.
_GENDERS = {"Masc": {MALE}, "Fem": {FEMALE}, "Neut": {NEUTRAL}, "Com": {FEMALE, MALE}}
#: Sizes of the published pipelines, the best first.
_SIZES = ("trf", "lg", "md", "sm")
#: Components that say nothing about gender.
_UNUSED = ("parser", "ner", "lemmatizer", "senter")


@dataclass(frozen=True)
class SpacyMorphTagger:
    """Gender in ``token.morph`` of a spaCy pipeline, which you install: models are not part of any extra.

    Args:
        lang: two-letter code, for the name of the published pipelines and in messages.
        model: name of an installed pipeline, or its folder; None means the largest installed
            ``<lang>_core_news_*``.
        batch_size: sentences that spaCy takes at a time.

    Raises:
        ImportError: spaCy is not installed (at the first call).
        FileNotFoundError: there is no such pipeline; the message says how to get one.
        ValueError: the pipeline has no component that writes morphological features.
    """

    lang: str
    model: str | None = None
    batch_size: int = 256

    @property
    def name(self) -> str:
        """Pipeline and version."""
        meta = _pipeline(self.lang, self.model).meta
        return f"spaCy {meta['lang']}_{meta['name']} {meta['version']} ({self.lang})"

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        texts = [" ".join(sentence) for sentence in sentences]
        documents = _pipeline(self.lang, self.model).pipe(texts, batch_size=self.batch_size)
        return [
            spread(sentence, [(unit.idx, unit.idx + len(unit), _genders(unit)) for unit in document])
            for sentence, document in zip(sentences, documents, strict=True)
        ]


def _genders(unit: Any) -> Genders:
    return frozenset().union(*(_GENDERS.get(value, set()) for value in unit.morph.get("Gender")))


@functools.lru_cache(maxsize=4)
def _pipeline(lang: str, model: str | None) -> Any:
    spacy = require("spacy")
    names = [f"{lang}_core_news_{size}" for size in _SIZES]
    if model is None:
        model = next((name for name in names if spacy.util.is_package(name)), names[-1])
    try:
        pipeline = spacy.load(model, exclude=_UNUSED)
    except OSError as error:
        raise FileNotFoundError(
            f"No spaCy pipeline {model!r} for {lang!r}. Install one: python -m spacy download {names[-1]}, "
            "or give the folder of yours as model=."
        ) from error
    if not {"morphologizer", "attribute_ruler", "tagger"} & set(pipeline.pipe_names):
        raise ValueError(
            f"The pipeline {model!r} has {', '.join(pipeline.pipe_names) or 'no components'}: none writes "
            "morphological features. Use one with a morphologizer."
        )
    return pipeline
