"""A cheap check of whether a text is English, so that German *man* and French *son* stay as they are."""

from __future__ import annotations

import re
from collections.abc import Collection

from hf_fairness.augment.english import words as _words

_WORDS = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
#: Latin letters with their extensions end at U+024F; U+1E00 to U+1EFF are more of them.
_NOT_LATIN = re.compile("[^\x00-\u024f\u1e00-\u1eff]")
_ELISION = re.compile(r"(?:[ljnst]|qu|dell|nell|all|dall|sull|un)'\w{3,}")
#: What every elision has, and few English words.
ELISION = re.compile(r"'\w{3}")
#: Two of these in a text without accents settle it at once; nearly all English sentences end here.
_SIGNS_OF_ENGLISH = _words(
    "the to and of her was his that she he with is from this have been are it they their them him would which when "
    "about after were you your who what said not being its has"
)
#: Terms that are frequent words of other languages: beside them, English must show itself.
_FALSE_FRIENDS = frozenset({"ma", "pa", "son", "mamma"})


ENGLISH_MARKERS = _words(
    "the of and to is that for with it was her his are were this have has not be been by from they you "
    "she he who what when would could said about my your their at i we but if will can there which him "
    "had did does do get got out up how just people than them then after one all more only into our "
    "other some where why because before a an as on or very should must may might these those i'm it's "
    "don't isn't me us own under over between during think know work good new first mother father "
    "sister brother woman man women men boy girl wife husband daughter"
)
#: Frequent words of other languages in Latin script that English does not use.
FOREIGN_MARKERS = (
    _words(
        # German, Dutch
        "der und ist nicht ein eine einen einem einer mit auf für von zu sich dem den das auch wird wurde "
        "sind sie er wir ihr ihre ihren seine seinen seiner mein meine hat haben aber oder wenn dass daß "
        "bei nach über aus zum zur beim noch nur kann muss als um ich dir mich dich uns het een van niet "
        "zijn voor maar dat deze wij jij hij naar ook geen werd "
        # French
        "le la les des du un une est sont dans pour qui que sur avec il elle nous vous ils elles ses leur "
        "leurs mais où cette ces aux au ce ne pas plus sa mon ton notre votre père mère fils fille soeur "
        "sœur frère été était très c'est d'une d'un qu'il qu'elle l'homme n'est j'ai s'est et ou chez sans "
        # Italian
        "lo gli di che è per non una sono del della dei delle nel nella con anche come più questo questa "
        "suo sua suoi mio mia padre madre figlio figlia fratello sorella ha ho sei siamo hanno alla dal "
        "dalla sul sulla perché ma molto dell'anno l'ha era "
        # Spanish, Portuguese, Catalan
        "el los las y en por su sus para es como pero más este esta muy hijo hija hermano hermana qué "
        "cuando porque también ella ellos fue o os uma não com seu dele dela são pai mãe filho filha irmão "
        "irmã isso muito foi "
        # Swedish, Danish, Norwegian, Polish
        "och att det som är på för av till inte jag han hon men ett og med til ikke jeg nie się jest na że"
    )
    - ENGLISH_MARKERS
    - _words("o y e es os las con dir um en ha ho han men per come era plus for sue tot ma mon pa son")
)


#: Where none of these is, and no `ELISION`, a text without accents is English.
DOUBTS = FOREIGN_MARKERS | _FALSE_FRIENDS


def looks_english(text: str, words: Collection[str] | None = None) -> bool:
    """Whether a text may be read with the English rules; True where nothing speaks against it.

    A text fails when most of its letters are outside the Latin script, or when frequent words of other
    European languages outnumber those of English (the first need no company in a text of up to three words).
    Language identification proper is left to other tools: this check needs a microsecond and no model.

    Args:
        text: one text.
        words: the words of the text in lower case, where the caller has them.

    Returns:
        False only when there is evidence of another language.

    Example:
        >>> from hf_fairness.augment import looks_english
        >>> looks_english("Her son met the queen."), looks_english("Son père est avec ma mère.")
        (True, False)
    """
    if text.isascii():
        words = _WORDS.findall(text.lower()) if words is None else words
        if len(_SIGNS_OF_ENGLISH.intersection(words)) > 1 or ("'" not in text and DOUBTS.isdisjoint(words)):
            return True
    else:
        others = sum(map(str.isalpha, _NOT_LATIN.findall(text)))
        if others and others * 2 > sum(map(str.isalpha, text)):
            return False
    found = set(_WORDS.findall(text.lower().replace("’", "'")))
    foreign = len(found & FOREIGN_MARKERS)
    if "'" in text or "’" in text:
        foreign += sum(bool(_ELISION.match(word)) for word in found if "'" in word)
    if not foreign:
        if len(found) >= 3 and not _FALSE_FRIENDS.isdisjoint(found):
            return not ENGLISH_MARKERS.isdisjoint(found)
        if text.isascii() or len(found) > 12:
            return True
        accented = sum(not word.isascii() for word in found)
        return accented * 3 < len(found) or any(word in ENGLISH_MARKERS for word in found)
    english = len(found & ENGLISH_MARKERS)
    if foreign == 1 and len(found) > 3:
        return english > 0
    return english > foreign
