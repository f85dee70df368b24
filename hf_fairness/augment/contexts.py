"""The contexts that attribute files name in ``when`` and ``keep``; `schema.CONTEXTS` describes them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from hf_fairness.augment import english as en
from hf_fairness.augment.agreement import base_form, third_person
from hf_fairness.augment.headlines import verb_like
from hf_fairness.augment.scan import Scan

#: Words that stand in every text.
FUNCTION_WORDS = en.DETERMINERS | en.PREPOSITIONS | en.PRONOUNS | en.CONJUNCTIONS | en.AUXILIARIES | en.FREE_ADVERBS
#: Words that no name goes on with, whatever their capital.
_NO_SURNAMES = FUNCTION_WORDS | en.PARTICLES
#: Nouns that are the subject where a verb with a capital follows: *smart Women Lie*.
_SUBJECTS = frozenset({"men", "women", "boys", "girls", "ladies", "gentlemen", "guys", "gals"})
_QUOTES = frozenset('"“”')
_BETWEEN_CONNECTORS = frozenset({"to", "and", "or", "is", "are", "has", "a", "an", "the", "on", "one", "with", "from"})
_NEAR = 20  # words beside a word that may be of a game
_BEFORE_OF = frozenset({"of", "for", "to"})
_OBJECTS = en.DETERMINERS - {"own", "most", "more", "all", "other"} | {"him", "her", "them", "me", "us", "it"}


def _name_like(scan: Scan, index: int) -> bool:
    """Whether the token is a capitalised word that is not just the first word of a sentence."""
    return (
        scan.capital(index)
        and scan.lower[index].split("'")[0] not in FUNCTION_WORDS
        and not (scan.initial(index) and scan.lower[index] not in en.VERBS and _common(scan, index))
    )


def _common(scan: Scan, index: int) -> bool:
    """Whether a sentence-initial capital is no evidence of a name."""
    word = scan.lower[index]
    return word in en.INITIAL_WORDS or (word.endswith(("ly", "ing", "ed")) and word not in en.GIVEN_NAMES)


def _after_name(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    if not scan.text[start].isupper() or start > scan.starts[index]:  # small, or inside a hyphenated word
        return False
    if scan.in_headline(index):
        return scan.adjacent(index - 1) and scan.low(index - 1) in en.GIVEN_NAMES
    if _quoted_title(scan, index):
        return True
    if scan.low(index - 2) in ("a", "an", "my", "your", "his", "her"):  # "a Good Dad"
        return False
    if scan.low(index - 1) in en.BEFORE_TITLES:  # "Crown Prince"
        return False
    return scan.adjacent(index - 1) and _name_like(scan, index - 1)


def _quoted_title(scan: Scan, index: int) -> bool:
    """Whether the token is part of a short quotation in title case: the film "Man in a Hurry"."""
    first = next((k for k in range(index - 1, index - 7, -1) if scan.low(k) in _QUOTES), -1)
    last = next((k for k in range(index + 1, index + 7) if scan.low(k) in _QUOTES), -1)
    if not scan.opens(first) or last < 0:
        return False
    inside = range(first + 1, last - (scan.low(last - 1) in (",", ".")))  # the sign of the sentence is inside too
    content = [k for k in inside if scan.low(k) not in FUNCTION_WORDS]
    return len(content) > 1 and all(scan.capital(k) for k in content)


def _before_name(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    if not _before_capital(scan, start, _NO_SURNAMES) or scan.in_headline(index):
        return False
    return not (scan.lower[index] in _SUBJECTS and verb_like(scan, index + 1))


def _given_name(scan: Scan, start: int, end: int) -> bool:
    return scan.text[start:end].lower() in en.TITLES_AS_NAMES and _before_name(scan, start, end)


def _title_before(scan: Scan, start: int, end: int) -> bool:
    """Like `_before_name`, for titles: one in a headline counts too, and both of *Lord and Lady Smith*."""
    index = scan.at(start)
    joined = scan.text[start].isupper() and _joined_titles(scan, index) and scan.capital(index + 3)
    return joined or _before_capital(scan, start, FUNCTION_WORDS)


def _joined_titles(scan: Scan, index: int) -> bool:
    """Whether the next words are *and* and a title with a capital: *King and Queen*."""
    return (
        scan.low(index + 1) in ("and", "&", "or", "/") and scan.low(index + 2) in en.TITLES and scan.capital(index + 2)
    )


def _before_capital(scan: Scan, start: int, common: Collection[str]) -> bool:
    """Whether a capitalised word, with or without a full stop, stands before one that is not common."""
    index = scan.at(start)
    if not scan.text[start].isupper():
        return False
    follower = index + 1
    if scan.low(follower) == "." and scan.ends[index] == scan.starts[follower]:
        follower += 1
    elif not scan.adjacent(index):
        return False
    return scan.capital(follower) and scan.lower[follower] not in common


def _bare_name(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    word = scan.text[start:end]
    if not word[0].isupper() or word.isupper() or scan.in_headline(index) or word.endswith("s") or len(scan) == 1:
        return False
    if _before_capital(scan, start, _NO_SURNAMES) or _joined_titles(scan, index) or _heads_line(scan, index):
        return False  # a title
    before = scan.low(index - 1)
    return not (
        before in en.DETERMINERS or before.endswith("'s") or before in ("former", "late", "new", "young", "old")
    )


def _heads_line(scan: Scan, index: int) -> bool:
    """Whether the word begins a headline in small letters: *Queen visits school*, without a full stop."""
    if index > 0 or scan.lower[0] == "duke" or scan.sentence_ends[0] < len(scan) or not scan.adjacent(0):
        return False  # Duke beats Kentucky: a team
    return third_person(scan.lower[1]) and scan.lower[1] != "says" and verb_like(scan, 1)


def _bare_inside(scan: Scan, start: int, end: int) -> bool:
    return not scan.initial(scan.at(start)) and _bare_name(scan, start, end)


def _capitalised(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    return scan.text[start].isupper() and not scan.in_headline(index) and not scan.initial(index)


def _upper(scan: Scan, start: int, end: int) -> bool:
    return scan.text[start:end].isupper() and not scan.in_capitals(scan.at(start))


def _digit_before(scan: Scan, start: int, end: int) -> bool:
    before = scan.low(scan.at(start) - 1)
    return before[:1].isdigit()


def _before_noun(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    if end != scan.ends[index]:  # "male-dominated": a compound adjective
        return scan.text[end : end + 1] == "-"
    follower = index + 1
    if scan.low(follower) in ("and", "or", "/", "&") and scan.is_word(follower + 1):
        if scan.low(follower) != "/" and scan.low(follower + 1) in FUNCTION_WORDS:
            return False
        follower += 2
    elif not scan.adjacent(index):
        return False
    word = scan.low(follower)
    if not scan.is_word(follower) or word[0].isdigit():
        return False
    if word.endswith("ed") and _phrase_ends(scan, follower + 1):
        return False  # "the female escaped."
    if word in en.VERBS and scan.low(index - 1) in ("a", "an", "the") and scan.low(index - 2) == "and":
        return not _phrase_ends(scan, follower + 1)  # "a Jew and a Muslim walk into a bar"
    if scan.low(index - 1) in ("a", "an", "each", "every", "this", "that") and third_person(word):
        return base_form(word) not in en.VERBS  # "a female leads the pack"
    return word not in FUNCTION_WORDS and word not in en.FINITE_VERBS and word not in en.MAYBE_ADVERBS


def _phrase_ends(scan: Scan, index: int) -> bool:
    return not scan.is_word(index) or scan.low(index) in FUNCTION_WORDS


def _predicate(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start) - 1
    while scan.low(index) in en.MID_ADVERBS or (scan.low(index).endswith("ly") and scan.low(index) not in en.LY_WORDS):
        index -= 1
    word = scan.low(index)
    if word in ("and", "or", "nor"):
        index -= 2
        word = scan.low(index)
        if scan.low(index + 1).endswith(("ish", "ic")):  # "neither Jewish nor Muslim"
            return True
    if word in en.SUBJECT_PRONOUNS and scan.low(index - 1) in en.BE_FORMS:  # "is she female?"
        return True
    return word in en.BE_FORMS or ("'" in word and "'" + word.rpartition("'")[2] in en.BE_FORMS)


def _after_determiner(scan: Scan, start: int, end: int) -> bool:
    return scan.low(scan.at(start) - 1) in en.DETERMINERS


def _verb(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    follower = scan.low(index + 1)
    before = scan.low(index - 1)
    plural_subject = before in ("they", "we", "you", "i", "who", "not")
    if follower == "up":
        return (
            before in en.MODALS or plural_subject or scan.initial(index) or before in ("and", "just", "gotta", "better")
        )
    ordered = scan.initial(index) and follower in ("the", "your", "our", "their", "those") and scan.is_word(index + 2)
    return ordered or ((before in en.MODALS or plural_subject) and follower in _OBJECTS)


def _exclaimed(scan: Scan, start: int, end: int) -> bool:
    """Whether the word is called out: at the start of a sentence, after an interjection, or set off at the end."""
    index = scan.at(start)
    if scan.low(index) not in en.EXCLAIMED:
        return False
    before, follower = scan.low(index - 1), scan.low(index + 1)
    if scan.initial(index):
        if follower in (",", "?") and scan.low(index) in en.VOCATIVES:
            return True
        if follower == ",":
            word = scan.low(index + 2)
            return word in en.AFTER_EXCLAMATION or word in en.INTERJECTIONS
        if follower in en.AFTER_BARE_EXCLAMATION:
            return not scan.in_headline(index)
        if follower in en.INVERTED_AUXILIARIES and scan.low(index + 2) in en.SUBJECT_PRONOUNS:
            return True
        return follower in ("!", "…") or scan.text.startswith("..", end)
    closed = not scan.is_word(index + 1) and follower not in ("'", "’", "-", "/", "&", "(", "#")
    if before == ",":
        listed = follower == "," and scan.low(index + 2) in ("and", "or")
        return closed and not listed and scan.low(index - 2) not in en.DETERMINERS and not _listed(scan, index)
    return before in en.INTERJECTIONS and (closed or follower in en.AFTER_EXCLAMATION)


def _counted(scan: Scan, start: int, end: int) -> bool:
    """Whether the word is the end of a compound with a number: *a 3-man crew*."""
    index = scan.at(start)
    number = scan.lower[index][: start - scan.starts[index]].rstrip("-‑")
    return start > scan.starts[index] and (number.isdigit() or number in en.NUMBERS)


def _bare_start(scan: Scan, start: int, end: int) -> bool:
    """Whether the first word of a sentence, without a determiner, is the subject of a verb: *Christian said*."""
    index = scan.at(start)
    follower = scan.low(index + 1)
    verb = follower in en.FINITE_VERBS or follower in en.AUXILIARIES
    return scan.initial(index) and verb and _bare_name(scan, start, end)


def _called_out(scan: Scan, start: int, end: int) -> bool:
    return scan.text[start].isupper() and _exclaimed(scan, start, end)


def _listed(scan: Scan, index: int) -> bool:
    """Whether a comma stands two or three words before the one before this token: *a husband, father, man*."""
    return scan.low(index - 3) == "," or scan.low(index - 4) == ","


def _connector(scan: Scan, start: int, end: int) -> bool:
    """Whether the phrase around the word names a plug or the like, or what is said to be male is one."""
    index = scan.at(start)
    if not en.CONNECTORS.isdisjoint(scan.lower[index].split("-")):
        return True
    return any(_reaches(scan, index, step) for step in (1, -1))


def _reaches(scan: Scan, index: int, step: int) -> bool:
    """Whether a connector is named within a few words, with no other noun phrase between."""
    for k in range(index + step, index + 6 * step, step):
        word = scan.low(k)
        if word in en.CONNECTORS or word.rpartition("-")[2] in en.CONNECTORS:
            return True
        if scan.is_end(k) or (word in FUNCTION_WORDS and word not in _BETWEEN_CONNECTORS):
            return False
    return False


def _party(scan: Scan, start: int, end: int) -> bool:
    before = scan.low(scan.at(start) - 1)
    return before in en.PARTIES or before.rpartition("-")[2] in ("state", "sector", "faith")


def _game(scan: Scan, start: int, end: int) -> bool:
    index = scan.at(start)
    if scan.low(index + 1) == "of" and scan.low(index + 2) in en.SUITS:
        return True
    return not en.GAMES.isdisjoint(scan.lower[max(0, index - _NEAR) : index + _NEAR])


def _named_after(scan: Scan, start: int, end: int) -> bool:
    """Whether a capitalised phrase that begins here goes on to a word for a place or a thing."""
    index = scan.at(start)
    if not scan.text[start].isupper():
        return False
    for k in range(index + 1, index + 6):
        word = scan.low(k)
        if not (scan.capital(k) or word in ("of", "'s")):
            return False
        if scan.in_headline(index) and verb_like(scan, k):
            return False  # "Queen Visits School"
        if word in en.NAMESAKES:
            return True
    return False


def _before_of(scan: Scan, start: int, end: int) -> bool:
    return scan.low(scan.at(start) + 1) in _BEFORE_OF


def _common_word(scan: Scan, start: int, end: int) -> bool:
    """Whether a capital may as well begin a sentence with a common word: Will you come, Mark her words."""
    index = scan.at(start)
    if scan.lower[index] not in en.NAME_WORDS or not scan.initial(index) or scan.low(index + 1) in en.AUXILIARIES:
        return False
    return scan.low(index + 1) in en.DETERMINERS | en.PRONOUNS | en.PREPOSITIONS | {"not"}


#: Context -> (scan, start, end) -> whether it holds for the word at that place.
CHECKS: dict[str, Callable[[Scan, int, int], bool]] = {
    "after_name": _after_name,
    "before_name": _before_name,
    "bare_name": _bare_name,
    "bare_inside": _bare_inside,
    "capitalised": _capitalised,
    "upper": _upper,
    "digit_before": _digit_before,
    "before_noun": _before_noun,
    "predicate": _predicate,
    "after_determiner": _after_determiner,
    "verb": _verb,
    "exclaimed": _exclaimed,
    "called_out": _called_out,
    "given_name": _given_name,
    "counted": _counted,
    "bare_start": _bare_start,
    "connector": _connector,
    "party": _party,
    "game": _game,
    "named_after": _named_after,
    "before_of": _before_of,
    "common_word": _common_word,
}

#: Contexts that hold for words with a capital letter only.
CAPITAL = frozenset(
    {
        "after_name",
        "before_name",
        "bare_name",
        "bare_inside",
        "capitalised",
        "upper",
        "named_after",
        "called_out",
        "bare_start",
    }
)

#: Contexts that hold for these words only.
ONLY = {
    "exclaimed": en.EXCLAIMED,
    "called_out": en.EXCLAIMED,
    "given_name": en.TITLES_AS_NAMES,
    "counted": frozenset({"man"}),
    "party": en.ACTORS,
    "verb": en.VERBS_OF_PERSONS,
}

#: The same for ``when``: a title is a title in a headline too.
WHEN: dict[str, Callable[[Scan, int, int], bool]] = {**CHECKS, "before_name": _title_before}
