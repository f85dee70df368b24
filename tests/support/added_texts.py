"""What an augmentation that adds rows made of some texts."""

from __future__ import annotations


def added(function, texts) -> dict[str, str]:
    """Source -> new text."""
    out = function({"text": list(texts)})
    return {out["text"][i - 1]: out["text"][i] for i, flag in enumerate(out["augmented"]) if flag}
