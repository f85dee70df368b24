"""Puts our section and metadata into a model card that others wrote, and changes nothing else in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from hf_fairness.report.card import HEADING, TASK_NAME

_BEGIN = "<!-- hf-fairness:begin -->"
_END = "<!-- hf-fairness:end -->"
_FRONT = re.compile(r"\A\s*---[ \t]*\n(?:(?P<yaml>.*?)\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"bias,? risks,? (?:and|&) limitations", re.IGNORECASE)
# sentence-transformers writes the empty section as a comment.
_PLACEHOLDER = re.compile(r"<!--\s*\n#+ *Bias, Risks,? and Limitations\b", re.IGNORECASE)
_COMMENT_END = "-->"
_OPENING = re.compile(r"^(?:```+|~~~+)|<!--", re.MULTILINE)
_FENCE_LINE = re.compile(r"^(```+|~~~+)[ \t]*$", re.MULTILINE)
_OWN_SUBTITLE = "### Measured bias"


def _blocks(text: str) -> list[tuple[int, int]]:
    """Start and end of each of our blocks."""
    found: list[tuple[int, int]] = []
    start = text.find(_BEGIN)
    while start >= 0 and (end := text.find(_END, start)) >= 0:
        found.append((start, end + len(_END)))
        start = text.find(_BEGIN, found[-1][1])
    return found


def _hidden(text: str) -> list[tuple[int, int]]:
    """Start and end of each code fence and comment that is closed."""
    closings: dict[str, list[int]] = {}
    for line in _FENCE_LINE.finditer(text):
        closings.setdefault(line[1], []).append(line.start())
    found: list[tuple[int, int]] = []
    done, last_comment_end = 0, text.rfind(_COMMENT_END)
    for opening in _OPENING.finditer(text):
        start = opening.start()
        if start < done:
            continue
        if opening[0] == "<!--":
            if start > last_comment_end:
                continue
            done = text.index(_COMMENT_END, start) + len(_COMMENT_END)
        else:
            lines = closings.get(opening[0], [])
            place = bisect_right(lines, start)
            if place == len(lines):
                continue
            done = lines[place] + len(opening[0])
        found.append((start, done))
    return found


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with blanks for all but the line ends of some parts."""
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Offset, level and title of each ATX heading outside code fences, comments and our own block."""
    shown = _blank(text, _blocks(text))
    for match in re.finditer(r"^(#{1,6})[ \t]+(.*)$", _blank(shown, _hidden(shown)), flags=re.MULTILINE):
        yield match.start(), len(match.group(1)), match.group(2).strip()


def _authors_section(text: str) -> tuple[int, int] | None:
    """Start and end of a section of that title which somebody else wrote, or None."""
    headings = list(_headings(text))
    for index, (start, level, title) in enumerate(headings):
        if _TITLE.fullmatch(" ".join(title.rstrip("#").split())):
            later = (offset for offset, other, _ in headings[index + 1 :] if other <= level)
            return start, next(later, len(text))
    return None


def _merge_body(body: str, section: str) -> str:
    """Replace our block, or insert it: at a placeholder, after the author's own words, or at the end."""
    own = _authors_section(body)
    if own is not None:  # keep the author's heading and words; ours becomes a part of that section
        lines = [f"#{line}" if line.startswith("###") else line for line in section.strip().split("\n")]
        lines[0] = _OWN_SUBTITLE if lines[0] == f"## {HEADING}" else lines[0]
        section = "\n".join(lines)
    block = f"{_BEGIN}\n{section.strip()}\n{_END}"
    blocks = _blocks(body)
    if blocks:
        ends = [end for _, end in blocks]
        starts = [start for start, _ in blocks[1:]] + [len(body)]
        between = [body[end:start] for end, start in zip(ends, starts, strict=True)]
        return "".join([body[: blocks[0][0]], block, *between])
    placeholder = _PLACEHOLDER.search(body)
    if placeholder and own is None and (close := body.find(_COMMENT_END, placeholder.end())) >= 0:
        return body[: placeholder.start()] + block + body[close + len(_COMMENT_END) :]
    end = own[1] if own is not None else len(body)
    head, tail = body[:end].rstrip("\n"), body[end:].lstrip("\n")
    return f"{head}\n\n{block}\n" + (f"\n{tail}" if tail else "") if head else f"\n{block}\n{tail}"


def _merge_index(old: Any, new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Our results take the place of our earlier ones; results of others stay."""
    if old is None:
        return new
    if not isinstance(old, list) or not all(isinstance(entry, dict) for entry in old):
        raise ValueError(
            f"card: model-index is {type(old).__name__}, expected a list of models with results. "
            "Repair the card's front matter, or remove model-index from it."
        )
    kept = []
    for entry in old:
        results = entry.get("results")
        results = results if isinstance(results, list) else []
        kept.append({**entry, "results": [item for item in results if not _is_ours(item)]})
    name = new[0]["name"] if new else None
    home = next((entry for entry in kept if entry.get("name") == name), kept[0] if len(kept) == 1 else None)
    for entry in new:
        if home is None:
            home = {"name": entry["name"], "results": []}
            kept.append(home)
        home["results"] = [*home["results"], *entry["results"]]
    return [entry for entry in kept if entry["results"]]


def _is_ours(item: Any) -> bool:
    task = item.get("task") if isinstance(item, dict) else None
    return isinstance(task, dict) and task.get("name") == TASK_NAME


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the front matter that change, with their new values."""
    changed: dict[str, Any] = {}
    for key, value in new.items():
        if key == "model-index":
            merged: Any = _merge_index(old.get(key), value)
        elif key == "tags":
            tags = old.get("tags") or []
            merged = list(dict.fromkeys([*([tags] if isinstance(tags, str) else tags), *value]))
        else:
            merged = old.get(key) or value  # what the author states goes before what we guess
        if merged != old.get(key):
            changed[key] = merged
    return changed


def _dump(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=10_000)


def _merge_front(source: str, metadata: Mapping[str, Any]) -> str:
    """Rewrite only the keys that change; comments, order and spelling of the others stay."""
    try:
        node = yaml.compose(source, Loader=yaml.SafeLoader)
        old = yaml.safe_load(source)
    except yaml.YAMLError as error:
        raise ValueError(
            f"card: the front matter is no valid YAML: {error}. Repair the block between the ---."
        ) from error
    old = {} if old is None else old
    if not isinstance(old, dict):
        raise ValueError(f"card: the front matter is {type(old).__name__}, expected keys and values.")
    changed = _merged(old, metadata)
    if not isinstance(node, yaml.MappingNode):
        return _dump(changed) if changed else source
    if node.flow_style:
        return _dump({**old, **changed})
    starts = [key.start_mark.index for key, _ in node.value] + [len(source)]
    text = source[: starts[0]]
    for (key, _), start, end in zip(node.value, starts, starts[1:], strict=False):
        name = str(key.value)
        part = _dump({name: changed.pop(name)}) if name in changed else source[start:end]
        text += part if part.endswith("\n") else f"{part}\n"
    return text + (_dump(changed) if changed else "")


def own_section(card: str) -> str | None:
    """What :func:`update_card` and :func:`marked` put into a card, without the marks; None where there is nothing."""
    parts = [card[start + len(_BEGIN) : end - len(_END)].strip() for start, end in _blocks(card)]
    return "\n\n".join(parts) or None


def marked(text: str) -> str:
    """Text that belongs to our section and stands apart from it: the next :func:`update_card` takes it away."""
    return f"{_BEGIN}\n{text.strip()}\n{_END}"


def update_card(card: str | Path, section: str, metadata: Mapping[str, Any] | None = None) -> str:
    """Insert or replace our section and metadata in a model card, and keep everything else.

    Running it again with the same input changes nothing; with a new audit, the earlier section and the
    earlier entries in ``model-index`` are replaced. Where the author wrote a section of the same title, ours
    is added to its end under a heading of its own.

    Args:
        card: path of a README.md (a ``Path``, or a one-line string that ends in ``.md``), or the text of one.
            An empty text makes a new card.
        section: what :func:`hf_fairness.report.card.card_section` returned.
        metadata: what :func:`hf_fairness.report.card.card_metadata` returned. Tags and results are added; any
            other key, such as ``base_model``, is set only where the card does not state it.

    Returns:
        The text of the new card; nothing is written.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: the front matter is no YAML mapping, or its ``model-index`` no list.
    """
    if isinstance(card, Path) or ("\n" not in card and card.endswith(".md")):
        text = Path(card).read_bytes().decode("utf-8-sig")
    else:
        text = card.removeprefix("\ufeff")
    windows = "\r\n" in text
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    source, body = ((front["yaml"] or "") + "\n", text[front.end() :]) if front else ("", text)
    merged = _merge_front(source, metadata or {}) if (front or metadata) else ""
    merged = merged.strip("\n")
    new = _merge_body(body, section)
    if merged or front:
        separator = "" if front or new.startswith("\n") else "\n"
        new = f"---\n{merged}\n---\n{separator}{new}"
    return new.replace("\n", "\r\n") if windows else new
