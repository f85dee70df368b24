"""Puts our section and metadata into a model card that others wrote, and changes nothing else in it.

``ModelCard`` and ``metadata_update`` of huggingface_hub would write the whole front matter anew, without its comments,
and with ``language: no`` as ``false``; so only the keys that change are written here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hf_fairness.record import mapping
from hf_fairness.report.card import TASK_NAME

_BEGIN, _END = "<!-- hf-fairness:begin -->", "<!-- hf-fairness:end -->"
_BLOCK = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)
FRONT = re.compile(r"\A\s*---[ \t]*\n(?:(?P<yaml>.*?)\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = r"(?i:bias,?[ \t]+risks,?[ \t]+(?:and|&)[ \t]+limitations)"
#: Heading of a section of that title.
_HEADING = re.compile(rf"^(#{{1,6}})[ \t]+{_TITLE}[# \t]*$", re.MULTILINE)
# sentence-transformers writes the empty section as a comment.
_PLACEHOLDER = re.compile(rf"<!--\s*\n#+ *{_TITLE}\b")
#: Comments and code: no heading in them is one of the card.
_NO_TEXT = re.compile(r"<!--.*?(?:-->|\Z)|^(```+|~~~+).*?(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def _parts(text: str) -> tuple[list[str], list[str]]:
    """What stands before, between and behind our blocks; and what is in them."""
    cut = text.rfind(_END) + len(_END)  # a block that nothing closes is none, and is not searched for its end
    pieces = _BLOCK.split(text[:cut])
    pieces[-1] += text[cut:]
    return pieces[::2], pieces[1::2]


def _authors_section(text: str) -> int | None:
    """End of a section of our title which somebody else wrote; None where there is none."""
    text = _NO_TEXT.sub(lambda found: " " * len(found[0]), text)
    heading = _HEADING.search(text)
    if heading is None:
        return None
    following = re.compile(rf"^#{{1,{len(heading[1])}}}[ \t]", re.MULTILINE).search(text, heading.end())
    return following.start() if following else len(text)


def _merge_body(body: str, section: str) -> str:
    """Replace our block, or insert it: at a placeholder, after the author's own words, or at the end."""
    outside, inside = _parts(body)
    body = "".join(outside)
    own, placeholder = _authors_section(body), _PLACEHOLDER.search(body)
    if own is not None:  # keep the author's heading and words; ours becomes a part of that section
        section = re.sub(r"^###", "####", section.strip(), flags=re.MULTILINE)
        section = re.sub(rf"\A## {_TITLE}$", "### Measured bias", section, flags=re.MULTILINE)
    if inside:
        return "".join([outside[0], marked(section), *outside[1:]])
    if placeholder and own is None and (close := body.find("-->", placeholder.end())) >= 0:
        return body[: placeholder.start()] + marked(section) + body[close + len("-->") :]
    head, tail = body[:own].rstrip("\n"), "" if own is None else body[own:].lstrip("\n")
    return (f"{head}\n\n" if head else "\n") + f"{marked(section)}\n" + (f"\n{tail}" if tail else "")


def _merge_index(old: Any, new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Our results take the place of our earlier ones; results of others stay."""
    if old is not None and not (isinstance(old, list) and all(isinstance(entry, dict) for entry in old)):
        raise ValueError(
            f"card: model-index is {type(old).__name__}, expected a list of models with results. "
            "Repair the card's front matter, or remove model-index from it."
        )
    kept = [{**entry, "results": _of_others(entry.get("results"))} for entry in old or []]
    for entry in new:
        if len(kept) != 1 and entry["name"] not in [each.get("name") for each in kept]:
            kept.append({"name": entry["name"], "results": []})
        home = next((each for each in kept if each.get("name") == entry["name"]), kept[0])
        home["results"] += entry["results"]
    return [entry for entry in kept if entry["results"]]


def _of_others(results: Any) -> list[Any]:
    """The results that are not ours; none where they are no list."""
    items = results if isinstance(results, list) else []
    return [item for item in items if not isinstance(item, Mapping) or mapping(item, "task").get("name") != TASK_NAME]


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the front matter that change, with their new values."""
    tags = old.get("tags") or []
    merged = {key: old.get(key) or value for key, value in new.items()}  # what the author states goes before our guess
    if "tags" in new:
        merged["tags"] = list(dict.fromkeys([*([tags] if isinstance(tags, str) else tags), *new["tags"]]))
    if "model-index" in new:
        merged["model-index"] = _merge_index(old.get("model-index"), new["model-index"])
    return {key: value for key, value in merged.items() if value != old.get(key)}


def _dump(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=10_000) if value else ""


def _merge_front(source: str, metadata: Mapping[str, Any]) -> str:
    """Rewrite only the keys that change; comments, order and spelling of the others stay."""
    try:
        node: Any = yaml.compose(source, Loader=yaml.SafeLoader)
        old = yaml.safe_load(source) or {}
    except yaml.YAMLError as error:
        raise ValueError(
            f"card: the front matter is no valid YAML: {error}. Repair the block between the ---."
        ) from error
    if not isinstance(old, dict):
        raise ValueError(f"card: the front matter is {type(old).__name__}, expected keys and values.")
    changed = _changed(old, metadata)
    if node is not None and (not old or node.flow_style):
        return _dump({**old, **changed})
    keys = [key for key, _ in node.value] if old else []
    starts = [*(key.start_mark.index for key in keys), len(source)]
    parts = {key.value: source[start:end] for key, start, end in zip(keys, starts, starts[1:], strict=False)}
    parts |= {key: _dump({key: value}) for key, value in changed.items()}
    return source[: starts[0]] + "".join(parts.values())


def update_front(card: str, metadata: Mapping[str, Any]) -> str:
    """A card whose front matter has these keys, too; nothing else in it changes."""
    front = FRONT.match(card)
    merged = _merge_front(f"{front['yaml'] or ''}\n" if front else "", metadata).strip("\n")
    if front is None:
        return f"---\n{merged}\n---\n\n{card}" if merged else card
    return f"---\n{merged}\n---\n{card[front.end() :]}"


def own_section(card: str) -> str | None:
    """What :func:`update_card` and :func:`marked` put into a card, without the marks; None where there is nothing."""
    return "\n\n".join(block.strip() for block in _parts(card)[1]) or None


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
    is_path = isinstance(card, Path) or ("\n" not in card and card.endswith(".md"))
    read = Path(card).read_bytes().decode() if is_path else str(card)
    text = update_front(read.removeprefix("\ufeff").replace("\r\n", "\n"), metadata or {})
    front = FRONT.match(text)
    start = front.end() if front else 0
    new = text[:start] + _merge_body(text[start:], section)
    return new.replace("\n", "\r\n") if "\r\n" in read else new
