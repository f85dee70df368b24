"""Verbs that follow a pronoun into the plural (*she often says*, *they often say*), and articles."""

from __future__ import annotations

from hf_fairness.augment import english as en
from hf_fairness.augment.context_model import context_model, surroundings
from hf_fairness.augment.scan import Scan

#: (start, end, new text) of one change in the source text.
Change = tuple[int, int, str]

_JOINERS = frozenset({"and", "or", "but", "then", "nor", "yet"})
_COMMAS = frozenset({",", "(", "—", "–", "-"})
_BEFORE_LAST_VERB = en.PARTICLES | en.FREE_ADVERBS | en.PARTICIPLES | {"up", "in", "on"}
_CLOSERS = {"(": ")"}


def plural_verbs(scan: Scan, index: int, end: int) -> list[Change]:
    """Changes that make the verbs of a subject pronoun plural.

    Covers the verb itself with adverbs or a parenthesis before it, contractions (*she's*), inverted order
    (*is she*, *does he want*), and verbs joined to it by *and*, *or*, *but*.

    Args:
        scan: the text.
        index: token of the pronoun.
        end: offset after the pronoun, which is inside the token in *she's*.

    Returns:
        Changes in the source text, in order; none when nothing depends on number.
    """
    rest = scan.lower[index][end - scan.starts[index] :]
    if rest == "'s":
        ending = scan.text[end] + _contracted(scan.text, scan.starts[index], scan.ends[index])
        return [
            (end, scan.ends[index], _cased(ending, scan.text[end : scan.ends[index]])),
            *_joined(scan, index + 1, present=True),
        ]
    if rest:
        return []  # he'd, he'll, he-said
    asked = scan.low(index - 1)
    if asked.endswith("'s") and asked[:-2] in en.QUESTION_WORDS:  # where's she
        ending = {"re": " are", "ve": " have"}[_contracted(scan.text, scan.ends[index - 1] - 2, end)]
        return [(scan.ends[index - 1] - 2, scan.ends[index - 1], ending)]
    if _inverted(scan, index):
        return [_replace(scan, index - 1, _plural(scan.lower[index - 1]) or "")]
    verb = _find_verb(scan, index + 1)
    if verb is None:
        return []
    form = _plural(scan.lower[verb])
    changes = [_replace(scan, verb, form)] if form and form != scan.lower[verb] else []
    present = bool(form) and scan.lower[verb] != "was"
    return changes + _joined(scan, verb + 1, present=present)


def _cased(new: str, like: str) -> str:
    letters = [letter for letter in like if letter.isalpha()]
    if letters and all(letter.isupper() for letter in letters) and (len(letters) > 1 or "'" in like or "’" in like):
        return new.upper()
    return new[:1].upper() + new[1:] if like[:1].isupper() else new


def _replace(scan: Scan, index: int, new: str) -> Change:
    source = scan.words[index]
    new = _cased(new, source)
    return scan.starts[index], scan.ends[index], new.replace("'", "’") if "’" in source else new


def _contracted(text: str, start: int, end: int) -> str:
    """``"re"`` or ``"ve"`` for the *'s* between two offsets: of *she's*, or of *where's she* from the sign on."""
    return "ve" if context_model("has").chance(surroundings(text, start, end)) > 0.5 else "re"


def _inverted(scan: Scan, index: int) -> bool:
    """Whether the verb stands right before the pronoun: *is she*, *nor does he*, *says she*."""
    verb = scan.low(index - 1)
    if index == 0 or not scan.adjacent(index - 1):
        return False
    if verb == "says":
        return not scan.is_word(index - 2) and not _is_finite(scan, index + 1)
    if verb not in en.IRREGULAR_PLURAL:
        return False
    if verb in ("does", "doesn't"):
        return not _is_finite(scan, index + 1)
    if scan.initial(index - 1) or not scan.is_word(index - 2) or scan.low(index - 2) in en.INVERTERS:
        return not _is_finite(scan, index + 1)
    if scan.low(index - 2) in en.QUESTION_WORDS or scan.sentence_has(index, "?"):
        return not _is_finite(scan, index + 1)
    clause = scan.lower[max(0, index - 7) : index - 1]
    if any(word in ("not", "only", "rarely", "never") and scan.initial(index - 1 - k) for k, word in
           enumerate(reversed(clause), 1)):  # fmt: skip
        return not _is_finite(scan, index + 1)  # "Not for nothing was she chosen"
    return any(word in en.QUESTION_WORDS for word in clause) and not _is_finite(scan, index + 1)


def _is_finite(scan: Scan, index: int) -> bool:
    """Whether a token is certainly a finite verb of the third person."""
    while scan.low(index) in en.MID_ADVERBS and scan.low(index) not in ("of", "not"):
        index += 1
    word = scan.low(index)
    return (
        word in en.IRREGULAR_PLURAL
        or word in en.AUXILIARIES - {"being", "been", "be", "do"}
        or (word.endswith("s") and base_form(word) in en.VERBS)
    )


def _find_verb(scan: Scan, index: int) -> int | None:
    """First verb at or after a token, past adverbs and one parenthesis."""
    for _ in range(8):
        if scan.is_end(index):
            return None
        word = scan.low(index)
        if word in _COMMAS:
            closing = _CLOSERS.get(word, word)
            close = next((k for k in range(index + 1, min(index + 14, len(scan))) if scan.low(k) == closing), None)
            if close is None or any(scan.is_end(k) for k in range(index + 1, close)):
                return None
            index = close + 1
        elif not scan.is_word(index):
            return None
        elif word in ("and", "or", "nor", "to"):
            return None  # a joined subject is plural already
        elif word == "who" or word in en.MID_ADVERBS or (word.endswith("ly") and word not in en.LY_WORDS):
            index += 1
        else:
            return index
    return None


def _joined(scan: Scan, index: int, *, present: bool) -> list[Change]:
    """Verbs joined to the first one: *she runs and jumps*, *he was tired and is asleep*."""
    changes: list[Change] = []
    last = index - 1
    while not scan.is_end(index):
        word = scan.low(index)
        if (
            word.partition("'")[0] in en.SUBJECT_PRONOUNS
            or word in en.IRREGULAR_PLURAL
            or word in en.CLAUSE_STARTS
            or word in ('"', "“", "”")
        ):
            return changes  # a new clause with a subject of its own
        if word in _JOINERS or (word == "," and present):
            verb = index + 1
            while scan.low(verb) in en.MID_ADVERBS | {"then"} or (
                scan.low(verb).endswith("ly") and scan.low(verb) not in en.LY_WORDS
            ):
                verb += 1
            form = _joined_form(scan, verb, comma=word == ",", present=present, chained=index - 1 == last)
            if form:
                changes.append(_replace(scan, verb, form))
                index = last = verb
        index += 1
    return changes


def _joined_form(scan: Scan, verb: int, *, comma: bool, present: bool, chained: bool) -> str | None:
    """Plural of a verb right after a joiner; None when it is not a verb of the same subject.

    ``chained`` says that the word before the joiner is such a verb itself: *she sings, dances and writes*.
    """
    word = scan.low(verb)
    if word in en.IRREGULAR_PLURAL:
        follower = scan.low(verb + 1)
        return None if comma or follower in en.SUBJECT_PRONOUNS else en.IRREGULAR_PLURAL[word]
    if not present or not third_person(word):
        return None
    base = base_form(word)
    follower, before = scan.low(verb + 1), scan.low(verb - 2)
    if follower in en.OBJECT_STARTS or (chained and base in en.VERBS):
        return base
    if base not in en.VERBS:
        return None
    opened = follower in en.DETERMINERS | en.PREPOSITIONS | en.PRONOUNS | en.CONJUNCTIONS | en.MID_ADVERBS or (
        follower.endswith("ly") or follower.endswith("ing")
    )
    listed = before.endswith("s") and base_form(before) not in en.VERBS  # "cats and walks": more likely nouns
    if opened and follower not in ("and", "or", "of"):
        return None if listed and follower in ("in", "on", "at", "for", "with", "about", "from") else base
    if scan.is_word(verb + 1) and follower not in en.AUXILIARIES and follower not in ("and", "or", "of"):
        return base  # a bare object: plays tennis
    alone = third_person(before) or before.endswith("ed") or before in _BEFORE_LAST_VERB
    return base if not comma and scan.is_end(verb + 1) and alone and not listed else None


def third_person(word: str) -> bool:
    """Whether a word has the shape of a verb in the third person singular."""
    return (
        len(word) > 2
        and word.endswith("s")
        and not word.endswith(("ss", "'s", "us"))
        and word not in en.NOT_THIRD_PERSON
    )


def base_form(word: str) -> str:
    """Base of a verb in the third person singular, by spelling.

    Example:
        >>> from hf_fairness.augment.agreement import base_form
        >>> [base_form(word) for word in ("wants", "tries", "goes", "watches", "uses", "passes")]
        ['want', 'try', 'go', 'watch', 'use', 'pass']
    """
    if word in en.IRREGULAR_BASE:
        return en.IRREGULAR_BASE[word]
    if "-" in word:
        head, _, tail = word.rpartition("-")
        return f"{head}-{base_form(tail)}"
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "oes", "zzes")):
        return word[:-2]
    return word[:-1]


def _plural(word: str) -> str | None:
    if word in en.IRREGULAR_PLURAL:
        return en.IRREGULAR_PLURAL[word]
    return base_form(word) if third_person(word) else None


_SILENT = ("heir", "hono", "hour", "honest")
_CONSONANT_VOWELS = ("uni", "use", "usu", "eu", "one", "once", "uti", "ubi", "ewe", "ura", "uro")
_EXCEPTIONS = ("unin", "unim", "unid", "unidentified", "unint")
_SPELLED_VOWELS = frozenset("AEFHILMNORSX")


def takes_an(word: str) -> bool:
    """Whether *an* rather than *a* stands before a word.

    Example:
        >>> from hf_fairness.augment.agreement import takes_an
        >>> [takes_an(word) for word in ("aunt", "heiress", "uniform", "MP", "waiter")]
        [True, True, False, True, False]
    """
    if len(word) > 1 and word.isupper():
        return word[0] in _SPELLED_VOWELS if len(word) <= 3 else word[0] in "AEIOU"
    low = word.lower()
    if low.startswith(_EXCEPTIONS) or low.startswith(_SILENT):
        return True
    if low[:1].isdigit():
        return low.startswith("8") or low in ("11", "18")
    return low[:1] in "aeiou" and not low.startswith(_CONSONANT_VOWELS)


def article_differs(old: str, new: str) -> bool:
    """Whether the words ask for different articles: *actor* and *waiter*."""
    return takes_an(old.split()[0]) != takes_an(new.split()[0])


def article_change(scan: Scan, index: int, old: str, new: str) -> Change | None:
    """Change of the article before a token whose first sound changes; None when it stays.

    Args:
        scan: the text.
        index: token whose word changes.
        old: the word (or words) that stood there.
        new: what stands there now.
    """
    article = scan.low(index - 1)
    if article not in ("a", "an") or not scan.adjacent(index - 1) or not old or not new:
        return None
    if not article_differs(old, new):
        return None
    source = scan.words[index - 1]
    wanted = "an" if takes_an(new.split()[0]) else "a"
    if wanted == article:
        return None
    return (
        scan.starts[index - 1],
        scan.ends[index - 1],
        _cased(wanted, source) if len(source) > 1 else (wanted.capitalize() if source.isupper() else wanted),
    )
