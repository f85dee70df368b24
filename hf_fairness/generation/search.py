"""Polarity-guided prompt search: the most confident mistake of each round becomes an example."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.generation.corrections import Corrections, as_corrections
from hf_fairness.generation.prompts import Prompt, check_variants, names_of
from hf_fairness.generation.rewriter import Rewriter
from hf_fairness.maps import Row
from hf_fairness.runs import atomic_write_json, content_key

STATE = "prompt_search.json"


@dataclass(frozen=True)
class SearchResult:
    """What a prompt search found.

    Attributes:
        prompt: the prompt of the best round; of equally good ones the shortest.
        rows: the rewrites of the texts under that prompt.
        history: per round ``round``, ``n_examples``, ``n`` texts that count, ``n_right``, ``polarity_accuracy``,
            ``n_unseen`` and ``n_right_unseen`` (texts that are no example of the prompt: quote these), and
            ``corrected``, the text whose correction was added (``""`` in the last round).
        stopped: ``target``, ``rounds``, ``all right`` or ``no correction``.
        pending: with ``no correction``, the wrong texts by falling confidence, without those that are examples already;
            correct the first and search again.
    """

    prompt: Prompt
    rows: list[Row]
    history: list[dict[str, Any]]
    stopped: str
    pending: list[str]


def search_prompt(
    rewriter: Rewriter,
    texts: Sequence[str],
    corrections: str | Path | Corrections,
    *,
    output_dir: str | Path,
    rounds: int = 10,
    target: float = 1.0,
    show_progress: bool | None = None,
) -> SearchResult:
    """Rewrite, check, correct the wrong rewrite with the highest confidence, add it to the prompt, again.

    A rewrite is wrong when a variant has another polarity than its own (eq. 6). Accuracy is the share of texts whose
    variants all have their own (eq. 7); texts without words of the attribute, of which the model says the same,
    cannot be right in that sense and are left out. The last round corrects nothing.

    The state is written after every correction and the rewrites as they finish: after a crash, call it again with
    the same arguments.

    Args:
        rewriter: the model and the prompt to start from.
        texts: what the prompt is searched on; equal ones count once. Judge the prompt on others.
        corrections: path of a JSON lines file, ``"terminal"``, or a function of text and wrong row that returns
            the right variants or None; where there is none, the next most confident mistake is tried.
        output_dir: folder for the state and, at the end, ``prompt.json``.
        rounds: most rounds, the first with the prompt as it is.
        target: accuracy at which the search ends, in (0, 1].
        show_progress: None means on a terminal and the main process.

    Returns:
        The best prompt, its rewrites and the history.

    Raises:
        ValueError: no texts, settings out of range, a correction that fails the check itself, or a folder that
            belongs to another search.
        ChatError: the model cannot be asked; what is finished is kept.

    Source: Deng et al. 2024, algorithm 1 (10 rounds), equations 6 and 7.
    """
    unique = [text for text in dict.fromkeys(texts) if text.strip()]
    if not unique:
        raise ValueError("search_prompt needs texts; got none that is not empty.")
    if rounds < 1 or not 0.0 < target <= 1.0:
        raise ValueError(f"rounds must be at least 1 and target in (0, 1]; got {rounds} and {target}.")
    source = as_corrections(corrections, rewriter.attribute)
    state = _State(Path(output_dir), rewriter, unique)
    while True:
        current = rewriter.with_prompt(state.prompt)
        rows = current.rewrite(unique, show_progress=show_progress)
        entry, wrong = _judge(rewriter.attribute, state.prompt, unique, rows, len(state.history) + 1)
        state.add_round(entry)
        stopped = ""
        if entry["n_right"] == entry["n"]:
            stopped = "all right"
        elif entry["polarity_accuracy"] >= target:
            stopped = "target"
        elif len(state.history) >= rounds:
            stopped = "rounds"
        elif (found := _correct(source, wrong, rewriter.attribute)) is None:
            stopped = "no correction"
        else:
            state.correct(*found)
        if stopped:
            break
    best = max(state.history, key=lambda item: (item["polarity_accuracy"], -item["n_examples"]))
    prompt = state.prompt_of(best["round"])
    prompt.save(Path(output_dir) / "prompt.json")
    rows = rewriter.with_prompt(prompt).rewrite(unique, show_progress=show_progress)
    pending = [text for text, _ in wrong] if stopped == "no correction" else []
    return SearchResult(prompt, rows, state.history, stopped, pending)


def union_right(row: Mapping[str, Any], attribute: Attribute) -> bool:
    """Whether every variant of a row has its own polarity (Deng et al. 2024, the terms of equation 7)."""
    return all(attribute.polarity(row[name]) == name for name in names_of(attribute))


def _judge(
    attribute: Attribute, prompt: Prompt, texts: Sequence[str], rows: Sequence[Row], number: int
) -> tuple[dict[str, Any], list[tuple[str, Row]]]:
    """The entry of a round, and its wrong rewrites that can be corrected, by falling confidence."""
    examples = {example.text for example in prompt.examples}
    counted = [(text, row) for text, row in zip(texts, rows, strict=True) if row["has_terms"] or row["rejected_reason"]]
    right = {text for text, row in counted if union_right(row, attribute)}
    unseen = [text for text, _ in counted if text not in examples]
    wrong = [(text, row) for text, row in counted if text not in right and text not in examples]
    entry = {
        "round": number,
        "n_examples": len(prompt.examples),
        "n": len(counted),
        "n_right": len(right),
        "polarity_accuracy": len(right) / len(counted) if counted else 1.0,
        "n_unseen": len(unseen),
        "n_right_unseen": sum(text in right for text in unseen),
        "corrected": "",
    }
    return entry, sorted(wrong, key=lambda item: -item[1]["confidence"])


def _correct(
    source: Corrections, wrong: Sequence[tuple[str, Row]], attribute: Attribute
) -> tuple[str, dict[str, str]] | None:
    for text, row in wrong:
        variants = source(text, dict(row))
        if variants is not None:
            return text, check_variants(variants, attribute, f"The correction of {text!r}")
    return None


class _State:
    """What a search knows, on disk after every change."""

    def __init__(self, folder: Path, rewriter: Rewriter, texts: Sequence[str]) -> None:
        self.path = folder / STATE
        self.start = rewriter.prompt
        self.key = content_key(
            "prompt search", rewriter.client.name, self.start.digest, rewriter.attribute.digest, list(texts)
        )
        self.history: list[dict[str, Any]] = []
        self.corrections: list[tuple[str, dict[str, str]]] = []
        if self.path.exists():
            try:
                state = json.loads(self.path.read_text(encoding="utf-8"))
                key, rounds = state["key"], state["history"]
                corrections = [(item["text"], item["variants"]) for item in state["corrections"]]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path} is damaged ({type(error).__name__}: {error}). Put a good copy back, or remove it: "
                    "the search begins anew, and finished rewrites are found again."
                ) from error
            if key != self.key:
                raise ValueError(
                    f"{self.path} belongs to a search with another model, prompt, attribute or other texts. Choose "
                    "another output_dir, or remove the file."
                )
            self.corrections = corrections
            self.history = rounds[: len(corrections)]  # the last round may have gained a correction

    @property
    def prompt(self) -> Prompt:
        return self.prompt_of(len(self.corrections) + 1)

    def prompt_of(self, number: int) -> Prompt:
        """The prompt of a round."""
        prompt = self.start
        for text, variants in self.corrections[: number - 1]:
            prompt = prompt.with_example(text, variants)
        return prompt

    def add_round(self, entry: dict[str, Any]) -> None:
        self.history.append(entry)
        self._write()

    def correct(self, text: str, variants: dict[str, str]) -> None:
        self.corrections.append((text, variants))
        self.history[-1]["corrected"] = text
        self._write()

    def _write(self) -> None:
        corrections = [{"text": text, "variants": variants} for text, variants in self.corrections]
        atomic_write_json(self.path, {"key": self.key, "history": self.history, "corrections": corrections})
