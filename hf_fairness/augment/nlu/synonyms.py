"""Synonym substitution with WordNet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.attributes import Attribute
from hf_fairness.augment.nlu.base import GenericAugmentation, check_rate, protected
from hf_fairness.augment.nlu.wordnet import find_wordnet, synonyms_of
from hf_fairness.augment.nlu.words import Word, draw, is_term, replace, replaceable, words_of
from hf_fairness.maps import row_seed


class SynonymSubstitution(GenericAugmentation):
    """After a row a copy of it in which some words are replaced by synonyms of WordNet.

    Only words whose part of speech and sense are clear from how often WordNet's tagged texts use them are
    replaced, in the same inflection (regular ones of nouns and verbs), and *a* or *an* follows: fewer words
    change than with a plain look-up, and what changes stays English (a fifth of SNLI's hypotheses get a copy).
    Capitalised words and function words stay.
    English only. Rows without such a word are not copied. Use it with ``batched=True``.

    Args:
        column: column that holds the texts, for example the hypotheses.
        rate: share of the words of a text that are replaced where they can be, at least one; in (0, 1].
        seed: of the draws, which depend on the row alone.
        wordnet: folder of WordNet's files (``/usr/share/wordnet`` of Debian's package wordnet-base); None means
            the corpus that nltk finds. Nothing is downloaded.
        protect: attribute (name, file or object) whose terms are neither replaced nor put in; None for none.
        id_column: column whose value is hashed in place of the text, where equal texts should be drawn differently.
        on_missing: what to do about a row that lacks a text: ``"skip"`` keeps it and adds none, ``"error"`` refuses it.

    Adds:
        ``augmented``: True for the added rows.
        ``augmentation``: ``"synonyms"`` in the added rows, ``""`` in the others.

    Raises:
        ImportError: nltk is not installed.
        FileNotFoundError: there is no WordNet; the message says how to get one.
        ValueError: ``rate`` out of range, or the files of ``wordnet`` are none of a WordNet.

    Source: Liu et al. 2020, Sub(synonym), as described in Wang et al. 2023, section 3.6. The choice of words is ours.
    """

    method = "synonyms"

    def __init__(
        self,
        column: str,
        *,
        rate: float = 0.15,
        seed: int = 0,
        wordnet: str | Path | None = None,
        protect: str | Path | Attribute | None = None,
        id_column: str | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(column, id_column=id_column, on_missing=on_missing)
        if len(self.columns) != 1:
            raise TypeError(f"SynonymSubstitution rewrites one column; got {', '.join(self.columns)}.")
        self.rate = check_rate(rate)
        self.seed = seed
        self.wordnet = None if wordnet is None else str(wordnet)
        self.protect = protected(protect)
        self.release = find_wordnet(wordnet)[1].release  # fail now, and renew the cache with another WordNet

    def rewrite_texts(self, texts: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Every text with synonyms, or as it is."""
        return [self._rewrite(text, key) for text, key in zip(texts, keys, strict=True)]

    def _rewrite(self, text: str, key: str) -> str:
        words = words_of(text)
        options = {word: self._options(word) for word in replaceable(text, words, self.protect)}
        drawn = draw([word for word, found in options.items() if found], len(words), self.rate, self.seed, key)
        changes = []
        for word in drawn:
            found = options[word]
            changes.append((word, found[row_seed(self.seed, f"{key}\x1f{word.start}\x1fsynonym") % len(found)]))
        return replace(text, changes)

    def _options(self, word: Word) -> list[str]:
        found = synonyms_of(word.text, self.wordnet)
        return [new for new in found if not is_term(new, self.protect)]
