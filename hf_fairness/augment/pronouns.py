"""Which case an ambiguous pronoun has: *her* is *him* or *his*, *his* is *her* or *hers*.

No parser: the word after the pronoun decides in most sentences, the verb before it in the rest. The rules
read word lists of :mod:`hf_fairness.augment.english`; each is stated once, in the order in which it applies.
"""

from __future__ import annotations

from collections.abc import Callable

from hf_fairness.augment import english as en
from hf_fairness.augment.scan import Scan

OBJECT = "object"
DETERMINER = "possessive_determiner"
PRONOUN = "possessive_pronoun"

#: Words that no noun phrase begins with, so that a pronoun before them is an object.
AFTER_OBJECT = (
    (en.PREPOSITIONS - {"following"})
    | en.PARTICLES
    | (en.DETERMINERS - en.AMOUNTS - {"own", "most", "more", "all", "other"})
    | en.PRONOUNS
    | (en.CONJUNCTIONS - {"once"})
    | (en.AUXILIARIES - {"will", "might", "can"})
    | en.FREE_ADVERBS
    | en.FINITE_VERBS
)
OBJECT_OR_DETERMINER = frozenset({OBJECT, DETERMINER})
DETERMINER_OR_PRONOUN = frozenset({DETERMINER, PRONOUN})
_TAGS = {
    OBJECT_OR_DETERMINER: {"PRP": OBJECT, "PRP$": DETERMINER},
    DETERMINER_OR_PRONOUN: {"PRP": PRONOUN},
}
_BEFORE_PARTICIPLE = en.CAUSATIVE_VERBS | en.SENSE_VERBS
_PLAIN_GIFTS = en.GIFTS - en.GIFT_MODIFIERS
CLAUSE_SUBJECTS = en.PRONOUNS | en.DETERMINERS
_ADJECTIVE_LIKE = ("ing", "al", "ed", "ous", "ful", "ive", "ic", "y", "est", "er", "s")
_NO_BOUNDARY = frozenset("$£€#@<&")
_SIGNS_BETWEEN = frozenset({"/", "&"})
_LINKS = frozenset({"/", "&", "and", "or"})
_ALONE = frozenset({"hers", "mine", "yours", "theirs", "ours"})
#: Words of a name that are looked at.
_LONGEST_NAME = 12


def resolve(scan: Scan, index: int, end: int, cells: frozenset[str]) -> str:
    """Case of the pronoun at a token.

    Args:
        scan: the text.
        index: token that holds the pronoun.
        end: offset after the pronoun (before the end of the token in *her-self* or *his'*).
        cells: the cases that this form may have.

    Returns:
        One of ``cells``.
    """
    rule = _RULES.get(cells)
    return rule(scan, index, end) if rule else sorted(cells)[0]


def tagged(tag: str, cells: frozenset[str]) -> str:
    """Case that a Penn tag says; ``""`` where it leaves the case open: *his* is PRP$ before a noun and alone."""
    return _TAGS.get(cells, {}).get(tag, "")


def _boundary(scan: Scan, index: int) -> bool:
    """Whether the phrase ends before this token."""
    if scan.is_word(index):
        return False
    if scan.low(index) == "." and scan.low(index + 1)[:1].isdigit() and scan.ends[index] == scan.starts[index + 1]:
        return False  # .45
    return scan.low(index) not in _NO_BOUNDARY and not scan.opens(index)


def _bracketed(scan: Scan, index: int) -> bool:
    """Whether the pronoun stands alone in brackets: *has offered (his) best counsel*."""
    return scan.low(index - 1) in ("(", "[") and scan.low(index + 1) in (")", "]")


def _ellipsis(scan: Scan, index: int) -> bool:
    """Whether the text breaks off here: *a photo of his...*."""
    return scan.low(index) == "…" or scan.text.startswith("..", scan.starts[index])


def _closed(scan: Scan, index: int) -> bool:
    """Whether no noun can follow at this token: a sign, a function word, an adverb, or the end."""
    if _boundary(scan, index):
        return True
    word = scan.low(index)
    if "'" in word and word.partition("'")[0] in CLAUSE_SUBJECTS:  # that's, I'll
        return True
    return word in AFTER_OBJECT or (word.endswith("ly") and word not in en.LY_WORDS)


def _slash_partner(scan: Scan, index: int) -> int | None:
    """Token after the partner in *her/his work* or *her or his work*; None when there is no partner."""
    if scan.low(index + 1) not in ("/", "or", "and", "&"):
        return None
    partner = scan.low(index + 2)
    if partner == scan.low(index):  # her and her friends: two persons, or one and what is hers
        return None
    return index + 3 if partner in ("his", "her", "their", "your", "my", "our") else None


def object_or_determiner(scan: Scan, index: int, end: int) -> str:
    """*her*: *him* (object) or *his* (determiner)."""
    if end != scan.ends[index]:
        return DETERMINER if scan.lower[index].endswith("'s") else OBJECT
    partner = _slash_partner(scan, index)
    if partner is not None:
        return OBJECT if _closed(scan, partner) and scan.low(index + 2) != "his" else DETERMINER
    if scan.low(index + 1) in ("/", "or") and scan.low(index + 2) in ("him", "them"):
        return OBJECT
    follower = index + 1 + _bracketed(scan, index)
    if _boundary(scan, follower):
        if follower < len(scan) and _ellipsis(scan, follower):
            return DETERMINER if scan.low(index - 1) in en.PREPOSITIONS else OBJECT
        return DETERMINER if scan.low(follower) in ("-", "*") and scan.is_word(follower + 1) else OBJECT
    if scan.opens(follower):
        return OBJECT if scan.low(follower) == "(" else DETERMINER
    word, before = scan.low(follower), scan.low(index - 1)
    if word == "own":
        return DETERMINER
    if word in ("will", "might", "can"):
        return DETERMINER if before in en.PREPOSITIONS and _closed(scan, follower + 1) else OBJECT
    if word in en.MAYBE_ADVERBS:
        return _after_maybe(scan, follower, before)
    if word in AFTER_OBJECT or ("'" in word and word.partition("'")[0] in CLAUSE_SUBJECTS):
        return OBJECT
    if word.endswith("ly") and word not in en.LY_WORDS:
        return OBJECT if _closed(scan, follower + 1) or scan.low(follower + 1) in en.MAYBE_ADVERBS else DETERMINER
    return OBJECT if _object_before_content(scan, index, word, before) else DETERMINER


def _after_maybe(scan: Scan, follower: int, before: str) -> str:
    """Words of the verb or of a noun phrase: *saw her last week*, *her last book*."""
    word, after = scan.low(follower), scan.low(follower + 1)
    if word in ("last", "next"):
        timed = after in en.TIME_UNITS and before not in en.PREPOSITIONS and not _boundary(scan, follower - 2)
        return OBJECT if timed else DETERMINER
    if word == "right" and before in en.COMPLEMENT_VERBS and _closed(scan, follower + 1):
        return OBJECT
    if word in ("best", "right", "very", "all", "first"):
        return (
            OBJECT if word == "all" or (word == "right" and after in ("now", "away", "after", "before")) else DETERMINER
        )
    if word in ("more", "most", "less", "much", "half") and before in en.GIVE_VERBS:
        return OBJECT
    if word in ("long", "early", "late") and after in ("and", ","):
        return DETERMINER
    if _closed(scan, follower + 1) or after in en.BASE_VERBS:
        return DETERMINER if word in ("half", "most", "late") else OBJECT
    return DETERMINER


def _object_before_content(scan: Scan, index: int, word: str, before: str) -> bool:
    """Whether *her* before a content word is an object: the verb before it and the word after it decide."""
    after = index + 2
    if word in en.AMOUNTS or word[0].isdigit():
        if scan.low(after) == "times" and _closed(scan, after + 1):
            return True  # broke her four times
        return before in en.GIVE_VERBS and before not in (
            "get",
            "win",
            "won",
            "make",
            "made",
            "keep",
            "kept",
            "find",
        )
    if word in ("home", "back") and before in en.MOTION_VERBS and _closed(scan, after):
        return word == "back" or before not in (
            "have",
            "had",
            "need",
            "love",
            "miss",
            "want",
            "left",
            "leave",
        )
    if before in en.CALL_VERBS and scan.capital(index + 1) and not scan.in_headline(index):
        return True
    if before in en.TELL_VERBS and scan.capital(index + 1) and _names_subject(scan, index + 1):
        return True
    participle = (word.endswith("ed") and word not in en.ED_NOUNS) or word in en.PARTICIPLES
    if before in _BEFORE_PARTICIPLE and participle and _closed(scan, after):
        return True
    if before in en.MAKE_VERBS and word.endswith(en.ADJECTIVE_ENDINGS) and _closed(scan, after):
        return True
    if before in en.BARE_INFINITIVE_VERBS and word in en.BASE_VERBS:
        return before in ("let", "lets", "letting") or _closed(scan, after) or word in en.PLAIN_BASE_VERBS
    if before in ("let", "lets", "letting") and word in en.VERBS:
        return True
    if before in en.BARE_INFINITIVE_VERBS and not word.endswith("s") and scan.low(after) in en.POSSESSIVES:
        return True  # saw her trash her brand: a noun takes no possessive
    if before in en.COMPLEMENT_VERBS and (word in en.COMPLEMENTS or word.endswith(("less", "able"))):
        return _closed(scan, after)
    if before in en.GIVE_VERBS and _gift(scan, index + 1, before):
        return True
    if word.endswith("ing") and word not in en.ING_NOUNS:
        return _participle(scan, index, before)
    return False


def _names_subject(scan: Scan, index: int) -> bool:
    """Whether a name at this token is the subject of a clause: *told her Ms. Spence was ill*."""
    if scan.low(index) in en.COURTESY_TITLES:
        return True
    last = index + _LONGEST_NAME
    while index < last and scan.capital(index):
        index += 1
    return scan.low(index) in en.AUXILIARIES or scan.low(index) in en.FINITE_VERBS


def _gift(scan: Scan, index: int, before: str) -> bool:
    """Whether the words after a verb of giving are what is given: *gave her advice*."""
    word, after = scan.low(index), scan.low(index + 1)
    if before in ("get", "got", "gets", "getting") and word == "money":
        return False
    if word in en.GIFTS:
        return word not in en.GIFT_MODIFIERS or not _closed(scan, index + 1)
    if after in _PLAIN_GIFTS and after != "time" and before in en.GIVE_STRICTLY:
        return True
    if before in en.HAND_OVER_VERBS and not word.endswith(_ADJECTIVE_LIKE) and _given(scan, index + 1):
        return True  # gives her night terrors
    return before in en.GIVE_STRICTLY and _given(scan, index)


def _given(scan: Scan, index: int) -> bool:
    """Whether this token is a bare plural that ends its phrase and is not mostly owned."""
    word, after = scan.low(index), scan.low(index + 1)
    if after in en.GIVE_PARTICLES or after in en.ARTICLES:  # gives her regulars a smile
        return False
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")) and word not in en.OWNED
    return plural and _closed(scan, index + 1)


def _participle(scan: Scan, index: int, before: str) -> bool:
    """*saw her walking home* and *a photo of her wearing a hat* against *her winning goal*."""
    after = scan.low(index + 2)
    if before in en.SENSE_VERBS:
        return True
    if _boundary(scan, index + 2):
        return before in en.PREPOSITIONS and before not in ("by", "for", "about", "after", "before", "during")
    return after in en.DETERMINERS or after in en.PREPOSITIONS or after in en.PRONOUNS or after in en.FREE_ADVERBS


def determiner_or_pronoun(scan: Scan, index: int, end: int) -> str:
    """*his*: *her* (determiner) or *hers* (pronoun)."""
    if end != scan.ends[index]:
        return DETERMINER
    partner = _slash_partner(scan, index)
    if partner is not None:
        return DETERMINER
    if scan.low(index + 1) in _LINKS and scan.low(index + 2) in _ALONE:  # his/hers, His & Hers
        return PRONOUN
    follower = index + 1 + _bracketed(scan, index)
    if scan.low(follower) in _SIGNS_BETWEEN or scan.low(follower) in ("(", "[") or scan.opens(follower):
        return DETERMINER
    if follower < len(scan) and _ellipsis(scan, follower):
        return DETERMINER
    if _boundary(scan, follower):
        return DETERMINER if scan.low(follower) in ("-", "*", "#", "@") and scan.is_word(follower + 1) else PRONOUN
    word = scan.low(follower)
    if word in ("and", "or"):
        owner = scan.low(follower + 1)
        named = any("'" in scan.low(follower + k) for k in (1, 2, 3)) and owner not in en.SUBJECT_PRONOUNS
        return DETERMINER if named else PRONOUN
    if word == "not":
        return PRONOUN if scan.low(follower + 1) in ("hers", "mine", "yours", "theirs", "ours") else DETERMINER
    return PRONOUN if word in en.AFTER_POSSESSIVE_PRONOUN or word in en.FINITE_VERBS else DETERMINER


_RULES: dict[frozenset[str], Callable[[Scan, int, int], str]] = {
    OBJECT_OR_DETERMINER: object_or_determiner,
    DETERMINER_OR_PRONOUN: determiner_or_pronoun,
}
