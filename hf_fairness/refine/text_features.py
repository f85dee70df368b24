"""Surface features of a text or a pair of texts: n-grams, overlap, length. What an artefact can hide in."""

from __future__ import annotations

from dataclasses import dataclass

from hf_fairness.encoders import WORD

#: Least lengths, in words, of the classes of length.
LENGTHS = (0, 1, 4, 6, 8, 11, 16, 26)


def words_of(text: str) -> list[str]:
    """Words of a text in small letters, without marks.

    Example:
        >>> words_of("The well-known man isn't here.")
        ['the', 'well-known', 'man', "isn't", 'here']
    """
    return WORD.findall(text.casefold().replace("’", "'"))


def ngrams_of(words: list[str], n: int) -> list[str]:
    """Runs of n words, joined by spaces, in order."""
    return [" ".join(words[start : start + n]) for start in range(len(words) - n + 1)]


@dataclass(frozen=True)
class TextFeatures:
    """Names the surface features of a text, or of the second text of a pair.

    A feature is there or not; how often does not count. Names in angle brackets are no words.

    Attributes:
        ngrams: longest runs of words, 0 for none; 2 takes words and pairs of neighbours.
        overlap: for pairs, how much of the second text's words stand in the first: ``<overlap none>``, ``some``,
            ``most`` (half or more), ``all``.
        length: the class of length of the text, in words: ``<length 4-5>``.
        both: also n-grams of the first text (``1:`` before them) and words that only the second one has (``+``). A
            feature of the first text is no artefact; this is for classifiers that read both.

    Source:
        The features of Wu et al. 2022, without the predictions of a model that sees one text, for which
        `hf_fairness.measure.partial_input` is there.

    Example:
        >>> TextFeatures()("A man is out.", "No man is")
        ['no', 'man', 'is', 'no man', 'man is', '<overlap most>', '<length 1-3>']
    """

    ngrams: int = 2
    overlap: bool = True
    length: bool = True
    both: bool = False

    def __call__(self, *texts: str) -> list[str]:
        """Features of a row, each once.

        Args:
            texts: one text, or two.

        Raises:
            ValueError: none, or more than two.
        """
        if not 1 <= len(texts) <= 2:
            raise ValueError(f"Features are of one text or two; got {len(texts)}.")
        words = words_of(texts[-1])
        found = self._ngrams(words)
        if len(texts) == 2:
            first = words_of(texts[0])
            if self.overlap:
                found.append(f"<overlap {overlap(first, words)}>")
            if self.both:
                known = set(first)
                found += [f"1:{name}" for name in self._ngrams(first)]
                found += [f"+{word}" for word in words if word not in known]
        if self.length:
            found.append(f"<length {length_class(len(words))}>")
        return list(dict.fromkeys(found))

    def _ngrams(self, words: list[str]) -> list[str]:
        return [name for n in range(1, self.ngrams + 1) for name in ngrams_of(words, n)]


def overlap(first: list[str], second: list[str]) -> str:
    """How much of the second list's different words stand in the first: none, some, most (half or more) or all."""
    words = set(second)
    shared = len(words & set(first))
    if not shared:
        return "none"
    return "all" if shared == len(words) else "most" if 2 * shared >= len(words) else "some"


def length_class(n: int) -> str:
    """Name of the class of length.

    Example:
        >>> length_class(0), length_class(5), length_class(30)
        ('0', '4-5', '26+')
    """
    place = max(i for i, least in enumerate(LENGTHS) if n >= least)
    if place + 1 == len(LENGTHS):
        return f"{LENGTHS[place]}+"
    low, high = LENGTHS[place], LENGTHS[place + 1] - 1
    return f"{low}" if low == high else f"{low}-{high}"
