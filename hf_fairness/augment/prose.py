"""What stands in a text and is no prose: markup, addresses, handles, code. No rewrite touches it.

One regular expression finds it from left to right; what a fence, a comment or an element such as ``<script>`` opens
lasts until it is closed. Most texts have none of its signs and never meet the expression.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence, Set

from hf_fairness.augment.english import words

#: Offsets of the first letter and after the last.
Span = tuple[int, int]

#: Endings of file names, without those that are common words (*so*, *go*, *log*).
_FILES = words(
    "txt md rst pdf docx? xlsx? pptx? rtf odt epub csv tsv json jsonl ya?ml xml x?html? css scss jsp? aspx? php py "
    "ipynb tsx? jsx mjs vue java kt rb rs cpp hpp swift sql ini cfg conf toml tex bib sh ps1 exe dll png jpe?g gif svg "
    "webp bmp tiff? ico heic psd mp3 mp4 m4a avi mov mkv wav flac ogg webm srt zip tar gz tgz bz2 rar 7z jar apk iso "
    "dmg parquet sqlite db pkl npy npz pth onnx safetensors bak tmp"
)
#: Ends of host names that are no common words; the others count before a path only.
_HOSTS = words("com org net edu gov mil info biz io ai app dev xyz tv wiki co uk eu de fr nl ca au ch jp cn ru br nz")
_HOSTS_WITH_PATH = words("be ly gl gd me it to is in at us st im am la li ws sh cc do id my no se fi dk es pl ie")
#: Folders with which relative paths begin.
_FOLDERS = words("src usr lib bin opt tmp var node_modules assets img docs tests static templates")
#: Attributes of tags that have no value.
_FLAGS = words(
    "async autoplay checked controls defer disabled hidden loop multiple muted nowrap open readonly required selected"
)
#: Elements that end a line.
_BLOCKS = words(
    "address article aside blockquote body br dd div dl dt figcaption footer h1 h2 h3 h4 h5 h6 head header hr html li "
    "main nav ol option p section table td th title tr ul"
)
_PRONOUNS = "s?he|hers?|his|him|they|them|theirs?|or|and"

_STOP = r"\s\"'<>|`“”‘’«»…—"  # where an address ends at the latest
_KEY = r"""(?:"[\w$.-]++"|'[\w$.-]++')\s*+:"""  # of JSON, where a value follows
_VALUE = r"""(?=\s*+(?:["'\[{\d-]|(?:[Tt]rue|[Ff]alse|null|None)\b))"""


def _any(endings: Set[str]) -> str:
    """The endings as alternatives, in small letters or in capitals."""
    return "|".join(sorted(endings | {word.upper() for word in endings}))


#: A text without any of these, without ``()`` and not :func:`is_dotted` is prose from end to end.
NO_PROSE_SIGNS = frozenset("@#\\<`{$~&/[]%:=")
_SIGNS = bytes(chr(i) in NO_PROSE_SIGNS for i in range(256))
_DOTTED = re.compile(r"\.[^\W\d]\w")
_SURE_SIGNS = (
    r"""@\w|\#[^\W\d]|[\\<`{~]|\$[A-Za-z_]|&[\w-]+=|[/:][^\W\d]|\.[^\W\d]\w|\?[\w-]+=|\]\(|\]\[|\[\[|\[/?\w+=|\[\^"""
    r"""|":|]:|%\(|\b10\.\d"""
)
_BUT_ENTITIES = re.compile(_SURE_SIGNS)
_ANY_SIGN = re.compile(rf"{_SURE_SIGNS}|&\#?\w+;")

# Each alternative begins with a sign, with a line or with a word that a sign goes on from: all else is passed quickly.
_NO_PROSE = re.compile(
    rf"""
    (?P<fence>^[ \t>]*+(?:`{{3,}}+|~{{3,}}+)[^`\n]*$)
    | (?P<ticks>`{{3,}}+)
    | (?P<comment><!--)
    | (?P<tag></?(?P<name>[A-Za-z][\w:.-]*+)
        (?:\s++(?:[\w:@.-]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>`]++)|(?:{"|".join(sorted(_FLAGS))})\b(?!\s*=)))*+
        \s*+/?>)
    | <(?:!DOCTYPE|\?|%)[^<>]*+>
    | `(?<![\w`]`)(?![\s`])[^`\n]*+(?:\n[^`\n]++)?(?<!\s)`(?![\w`])
    | ``(?<![\w`]``)(?!`)(?:[^`\n']|'(?!')|`(?!`))++``(?!`)
    | \{{\{{[^{{}}\n]*+\}}\}} | \{{%[^{{}}%\n]*+%\}} | \$\{{[^{{}}\n]*+\}} | \{{(?<![\w\]]\{{)[\w.:!-]*+\}}
    | %\(\w++\)[a-z] | \$[A-Za-z_]\w*+
    | \{{\s*+(?:"[^"\n]*+"|'[\w\ $.-]++')\s*+:{_VALUE} | ,\s*+{_KEY}{_VALUE} | ^[ \t]*+{_KEY}{_VALUE}
    | &\#?\w++; | [?&][\w-]++=[^\s&"'<>)]*+
    | \]\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?=\)|\s+["']) | \]\[[^\[\]\n]++\] | \[\^[^\[\]\s]++\]
    | ^[ ]{{0,3}}\[[^\[\]\n]++\]:(?=\s) | \[\[[^\[\]|\n]++\| | \[/?(?:quote|url|img|user|color|size|font)=[^\[\]\n]*+\]
    | @(?<!\w@)\w++(?:[.-]\w++)*+(?:@\w++(?:[.-]\w++)*+)?
    | \#(?<![\w&/\#]\#)[^\W\d]\w*+(?:-\w++)*+
    | :(?<!\w:)[a-z0-9_+-]++:
    | \\\\[\w.-]++\\[^\s"'<>|]++
    | \\(?:begin|end|ref|eqref|label|cite\w*+|include\w*+|input|usepackage)(?:\[[^\[\]\n]*+\])?\{{[^{{}}\n]*+\}}
    | \\(?<!\w\\)(?![nrt][A-Z])[A-Za-z@]++(?:\\(?![nrt][A-Z])[A-Za-z@]++)*+
    | ~(?<![\w/.)\]~]~)/[\w.+-]++(?:/[\w.+-]++)*+/?
    | /(?<![\w/.)\]<]/)(?!(?:{_PRONOUNS})\b)(?:[\w.+-]++(?:/[\w.+-]++)++/?|[\w-]++/(?!\w))
    | (?<![\w@.~%+/\\-])(?=[\w~%+-]*+(?:[.@/\\:][\w/\\:.]|\(\)))(?:
        [A-Za-z][\w+.-]*+:\\?/\\?/[^{_STOP}]++
        | [Ww]{{3}}\.[^{_STOP}]++
        | [\w.%+-]++@\w[\w-]*+(?:\.\w[\w-]*+)*+(?::\w[\w.-]*+/[^{_STOP}]++)?
        | [A-Za-z]:(?:\\[^\s"'<>|*?]++|/(?!/)[^\s"'<>|*?]++)
        | (?:[\w.-]++\\)++[\w.-]*\.(?:{_any(_FILES)})\b
        | 10\.\d{{4,}}+/[^{_STOP}]++
        | (?:{"|".join(sorted(_FOLDERS))})/[\w./+-]++
        | (?:[\w~%+.-]*+/)*+[\w~%+.-]*\.(?:{_any(_FILES)})(?!\w)
        | (?:[\w-]++\.)+(?:(?:{_any(_HOSTS)})(?!\w)(?!\.\w)|(?:{_any(_HOSTS_WITH_PATH)})(?=(?::\d+)?/\w))
            (?::\d++)?(?:(?:/|\?\w+=|\#\w)[^{_STOP}]*+)?
        | \.\.?/[\w.+-]++(?:/[\w.+-]++)*+/?
        | [ru]/\w[\w-]*+
        | \w++:\d{{2,5}}/[^{_STOP}]++
        | (?:self|this|cls)(?:\.\w++)++
        | [a-z]\w++(?:\.[a-z_]\w*+){{2,}}+
        | \w++(?:\.\w++)*\.(?:[a-z]+[A-Z]|\w*_)\w*
        | \w++(?:(?:\.\w++)*+\(\)|(?:::\w++)++)
    )
    """,
    re.VERBOSE | re.MULTILINE,
)
#: Elements whose text is no prose either.
_RAW = "script", "style", "code", "pre", "kbd", "textarea"
#: What opens a stretch that is no prose -> its end.
_ENDS = {
    **{name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _RAW},
    "comment": re.compile("-->"),
    "ticks": re.compile("```+"),
}
_FENCE = re.compile(r"[`~]+")
#: Line breaks and tabs as programs write them, before a sentence.
_ESCAPED = re.compile(r"(?<!\\[nrt])(?:\\[nrt])++(?=[A-Z])")
#: Signs of emphasis around a word.
_EMPHASIS = re.compile(r"(?<![\w*~])[*_~]{1,3}(?=[^\s*~])|(?<=[^\s*~])(?<![^\W_]_)[*_~]{1,3}(?![\w*~])")


def no_prose(text: str) -> list[Span]:
    """The places of a text that are no prose, in order and without overlap.

    Tags with their attributes, comments, scripts and styles; addresses and names of files; handles and hashtags; code
    in backticks or in an element for it; placeholders, keys of JSON, commands of LaTeX, short names of emoji. Text
    between tags and the text of a link are prose, and so are *his/her*, *5 < 6*, *#1* and *man @ work*.

    Args:
        text: one text.

    Returns:
        Spans (start, end); none for plain prose.

    Example:
        >>> from hf_fairness.augment.prose import no_prose
        >>> text = "<b>She</b> and/or @her wrote to her@x.org"
        >>> [text[start:end] for start, end in no_prose(text)]
        ['<b>', '</b>', '@her', 'her@x.org']
    """
    return [span for span, _ in _found(text)] if may_have_no_prose(text) else []


def may_have_no_prose(text: str) -> bool:
    """Whether a text has a sign of what is no prose; most have none."""
    if 1 not in text.encode(errors="replace").translate(_SIGNS) and "()" not in text:
        return is_dotted(text)
    return _ANY_SIGN.search(text) is not None or "()" in text


def has_entities_only(text: str) -> bool:
    """Whether nothing but entities such as ``&quot;`` is no prose in a text."""
    return _BUT_ENTITIES.search(text) is None and "()" not in text


def is_dotted(text: str) -> bool:
    """Whether a word of a text goes on after a full stop."""
    stop = text.find(".", 0, -1)
    return stop >= 0 and _DOTTED.search(text, stop) is not None


def _found(text: str) -> list[tuple[Span, str]]:
    """The places that are no prose, with the name of the element that a tag belongs to."""
    found: list[tuple[Span, str]] = []
    never_closed: set[str] = set()  # so that no end is searched for twice in vain
    place = 0
    while match := _NO_PROSE.search(text, place):
        start, place = match.span()
        name = (match["name"] or "").lower()
        opened = "" if match[0].startswith("</") else name or match.lastgroup or ""
        if opened == "fence":
            place = _end_of_fence(text, match)
        elif opened in _ENDS and opened not in never_closed:
            end = _ENDS[opened].search(text, place)
            if end is None:
                never_closed.add(opened)
            else:
                place = end.end()
        found.append(((start, place), name))
    return found


def _end_of_fence(text: str, opening: re.Match[str]) -> int:
    """Where a fence is closed by one as long; the end of the text if it is not."""
    signs = _FENCE.findall(opening[0])[0]
    closing = re.compile(rf"^[ \t>]*{signs}{signs[0]}*[ \t]*$", re.MULTILINE).search(text, opening.end())
    return closing.end() if closing else len(text)


def unescaped(text: str) -> str:
    """The text with blanks for written signs of line breaks and tabs before a capital, as long as it was."""
    return _ESCAPED.sub(lambda signs: " " * len(signs[0]), text) if "\\" in text else text


def touches(spans: Sequence[Span], start: int, end: int) -> bool:
    """Whether a place overlaps one of some spans, which are in order."""
    place = bisect_left(spans, (end, end))  # of those that begin before the end, the last
    return place > 0 and start < spans[place - 1][1]


def blanked(text: str) -> str:
    """The text as it is read: as long as it was, with blanks for tags, for ``&nbsp;`` and for signs of emphasis.

    A tag that ends a line leaves a line break.

    Example:
        >>> from hf_fairness.augment.prose import blanked
        >>> blanked("I <b>saw</b> _her_ book.")
        'I    saw      her  book.'
    """
    pieces: list[str] = []
    done = 0
    for (start, end), name in _found(text) if may_have_no_prose(text) else ():
        if name or text[start:end] == "&nbsp;":
            blank = " " * (end - start - 1) + ("\n" if name in _BLOCKS else " ")
            pieces += (text[done:start], blank)
            done = end
    text = unescaped("".join([*pieces, text[done:]]))
    return _EMPHASIS.sub(lambda signs: " " * len(signs[0]), text) if "*" in text or "_" in text or "~" in text else text
