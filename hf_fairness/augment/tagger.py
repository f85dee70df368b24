"""A part-of-speech tagger for the pronouns that word order leaves open; optional, the rules do without."""

from __future__ import annotations

from typing import Any

from hf_fairness.utils import require

#: Components of a pipeline that say nothing about tags.
_UNUSED = ("parser", "ner", "lemmatizer", "entity_linker", "textcat", "textcat_multilabel")


class SpacyTagger:
    """Penn tags of a spaCy pipeline, for ``CounterfactualSwap(..., tagger=SpacyTagger("en_core_web_sm"))``.

    A name or a path is loaded when it is first needed, in every process anew, and the path must stay as it is for
    the cache of ``datasets`` to be right. A pipeline object travels as its config and bytes, taken at construction:
    components of your own must be registered where it is unpickled. Its hash is that of name, or config and bytes.

    Args:
        model: name or path for ``spacy.load``, or a loaded pipeline.

    Raises:
        TypeError: ``model`` is neither.
        ImportError: spaCy is not installed.
        ValueError: the pipeline has written no tags (at the first call).

    Example:
        >>> import spacy
        >>> from hf_fairness.augment.tagger import SpacyTagger
        >>> nlp = spacy.blank("en")
        >>> _ = nlp.add_pipe("attribute_ruler").add([[{"LOWER": "her"}]], {"TAG": "PRP$"})
        >>> SpacyTagger(nlp)("Her dog")[0]
        (0, 3, 'PRP$')
    """

    def __init__(self, model: Any) -> None:
        self._pipeline: Any = None
        self.name = ""
        self.config, self.data = "", b""
        if isinstance(model, str) or hasattr(model, "__fspath__"):
            if not str(model):
                raise TypeError("model is an empty string, expected the name or path of a spaCy pipeline.")
            require("spacy")
            self.name = str(model)
        elif callable(getattr(model, "to_bytes", None)) and hasattr(model, "config"):
            self.config, self.data = model.config.to_str(), model.to_bytes()
        else:
            raise TypeError(f"model must be a name, a path or a spaCy pipeline, got {type(model).__name__}: {model!r}.")

    def __call__(self, text: str) -> list[tuple[int, int, str]]:
        """Start, end and Penn tag of the words of a text, ``""`` where a word got none."""
        if self._pipeline is None:
            self._pipeline = self._load()
        words = [(word.idx, word.idx + len(word), word.tag_) for word in self._pipeline(text)]
        if words and not any(tag for _, _, tag in words) and not self._tags():
            raise ValueError(
                f"{self!r} writes no tags: its components are {', '.join(self._pipeline.pipe_names) or 'none'}. "
                "Take a pipeline with a tagger, for example en_core_web_sm."
            )
        return words

    def _load(self) -> Any:
        spacy = require("spacy")
        if self.name:
            return spacy.load(self.name, exclude=list(_UNUSED))
        config = require("thinc.api").Config().from_str(self.config, interpolate=False)
        language = spacy.util.get_lang_class(config["nlp"]["lang"])
        return language.from_config(config, auto_fill=False).from_bytes(self.data)

    def _tags(self) -> bool:
        """Whether a component of the pipeline says that it writes tags."""
        return any("token.tag" in self._pipeline.get_pipe_meta(name).assigns for name in self._pipeline.pipe_names)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pipeline": None}

    def __repr__(self) -> str:
        return f"SpacyTagger({self.name!r})" if self.name else "SpacyTagger(pipeline)"
