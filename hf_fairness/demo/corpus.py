"""The training corpus of ``hf-fairness demo``: English sentences with gendered terms, made for this project.

Six topics, about forty frames each, eight fillings per frame: four about men, four about women. Nothing is
taken from an existing data set; in particular no five words in a row also stand in Winogender or GrepBiasIR,
and no frame has Winogender's shape (occupation, second participant, pronoun), so that those sets stay fit for
evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hf_fairness.demo._filling import Frame, fillings, load_frames, rank, realize

#: Groups in the order of the ``[..|..]`` slots of ``frames.json``.
GROUPS = ("male", "female")
FILLINGS_PER_FRAME = 8


@dataclass(frozen=True)
class Sentence:
    """One sentence of the corpus.

    Attributes:
        text: the sentence, or two short ones.
        frame: id of the frame that it comes from.
        topic: topic of the frame.
        group: ``"male"`` or ``"female"``: whom the sentence speaks of as written.
    """

    text: str
    frame: str
    topic: str
    group: str


def frames() -> tuple[Frame, ...]:
    """The sentence frames of the corpus, topic by topic.

    Returns:
        At least 200 frames over the topics work, home, sport, study, health and news.

    Example:
        >>> from hf_fairness.demo import frames
        >>> sorted({frame.topic for frame in frames()})
        ['health', 'home', 'news', 'sport', 'study', 'work']
    """
    return load_frames("frames.json")[0]


def _mixed_frames() -> list[Frame]:
    """The frames with the topics taking turns; within a topic in a fixed shuffled order."""
    topics: dict[str, list[Frame]] = {}
    for frame in sorted(frames(), key=lambda frame: rank("order", frame.id)):
        topics.setdefault(frame.topic, []).append(frame)
    turns = [(turn, frame) for own in topics.values() for turn, frame in enumerate(own)]
    return [frame for _, frame in sorted(turns, key=lambda item: item[0])]


@cache
def corpus_sentences() -> tuple[Sentence, ...]:
    """The corpus with the origin of each sentence; same order as `corpus`.

    The eight sentences of a frame stand together, and frames of the six topics take turns: cutting off the
    last tenth for validation takes whole frames of all topics, so validation sentences have no near twin in
    training (but for the frame that the cut goes through).

    Returns:
        The sentences, half of them about men and half about women in every frame.

    Example:
        >>> from hf_fairness.demo import corpus_sentences
        >>> groups = [sentence.group for sentence in corpus_sentences()]
        >>> groups.count("male") == groups.count("female")
        True
    """
    lists = load_frames("frames.json")[1]
    sentences = []
    for frame in _mixed_frames():
        order = sorted(range(FILLINGS_PER_FRAME), key=lambda index: rank("group", frame.id, index))
        for index, text in enumerate(fillings(frame, lists, FILLINGS_PER_FRAME)):
            group = order.index(index) % len(GROUPS)
            sentences.append(Sentence(realize(text, group), frame.id, frame.topic, GROUPS[group]))
    return tuple(sentences)


def corpus() -> list[str]:
    """The training corpus of the demo: English sentences with gendered terms.

    The same sentences in the same order on every machine. Half of them speak of men and half of women, in
    every frame, and what is said is chosen before and independently of the gender.

    Returns:
        More than 1,500 different sentences of 6 to 40 words.

    Source:
        Written for this project; see ``frames.json``.

    Example:
        >>> from hf_fairness.demo import corpus
        >>> sentences = corpus()
        >>> len(sentences) >= 1500, len(set(sentences)) == len(sentences)
        (True, True)
    """
    return [sentence.text for sentence in corpus_sentences()]
