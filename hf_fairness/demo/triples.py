"""Held-out audit triples: the same sentence about a man, about a woman, and in gender-neutral words.

Every frame states the form of each group in its own slots, verbs included, so these triples do not depend on
`hf_fairness.augment` and can judge what it feeds. They share no five words in a row with the training corpus,
whatever the gendered words are.
"""

from __future__ import annotations

from hf_fairness.demo._filling import Frame, fillings, load_frames, realize

#: Columns in the order of the ``[..|..|..]`` slots of ``triples.json``.
VARIANTS = ("male", "female", "neutral")
FILLINGS_PER_FRAME = 6


def triple_frames() -> tuple[Frame, ...]:
    """The frames of the audit triples, topic by topic.

    Returns:
        At least 60 frames over the six topics of the corpus; no text of them is a frame of the corpus.

    Example:
        >>> from hf_fairness.demo import triple_frames
        >>> len(triple_frames()) >= 60
        True
    """
    return load_frames("triples.json")[0]


def variants(*, with_frame: bool = False) -> dict[str, list[str]]:
    """The built-in audit set: aligned sentences, one list per group and one neutral.

    Args:
        with_frame: add the column ``"frame"``, the id of the frame of each row. Rows of one frame resemble
            each other, so an interval should resample frames, not rows.

    Returns:
        ``"male"``, ``"female"``, ``"neutral"``: lists of equal length, at least 400 rows; row i of each says
        the same.

    Source:
        Written by hand for this project; see ``triples.json``.

    Example:
        >>> from hf_fairness.demo import variants
        >>> rows = variants(with_frame=True)
        >>> {len(column) for column in rows.values()} == {len(rows["neutral"])}
        True
    """
    patterns, lists = load_frames("triples.json")
    columns: dict[str, list[str]] = {name: [] for name in VARIANTS}
    ids: list[str] = []
    for frame in patterns:
        for text in fillings(frame, lists, FILLINGS_PER_FRAME):
            for group, name in enumerate(VARIANTS):
                columns[name].append(realize(text, group))
            ids.append(frame.id)
    if with_frame:
        columns["frame"] = ids
    return columns
