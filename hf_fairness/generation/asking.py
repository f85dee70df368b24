"""Asking a chat model for the variants of texts: batches, second tries, and what is stored of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hf_fairness.generation.chat import ChatClient, Completion
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.parse import Parsed, Rewrite, parse_answer
from hf_fairness.generation.politeness import REFUSALS, ChatError
from hf_fairness.generation.prompts import Prompt, answer_schema
from hf_fairness.generation.usage import Ledger

_COMPLAINT = "That answer cannot be used: {problem}. Answer again, with the one JSON object and nothing else."


@dataclass
class Outcome:
    """What came of asking for one text.

    Attributes:
        rewrite: the usable answer; None where there was none.
        failure: why there was none; ``""`` where there was one.
        prompt_tokens: tokens read for this text.
        completion_tokens: tokens written for this text.
        keep: whether it is stored; a refusal, which costs nothing, is not.
    """

    rewrite: Rewrite | None = None
    failure: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    keep: bool = True

    def to_record(self, key: str, text: str, model: str) -> dict[str, Any]:
        """As a line of the cache; text and model are there for people."""
        variants = self.rewrite.variants if self.rewrite else {}
        confidence = self.rewrite.confidence if self.rewrite else 0.0
        return {
            "key": key,
            "text": text,
            "variants": variants,
            "confidence": confidence,
            "failure": self.failure,
            "model": model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Outcome:
        """From a line of the cache."""
        failure = record["failure"]
        rewrite = None if failure else Rewrite(dict(record["variants"]), float(record["confidence"]))
        return cls(rewrite, failure, record["prompt_tokens"], record["completion_tokens"])


@dataclass
class Asker:
    """Asks for some texts and hands over each outcome as soon as it is known.

    Args:
        client: keeps to limits and repeats what failed for a passing reason.
        prompt: task and examples.
        names: names of the variants.
        config: batches and tries.
        ledger: where requests and tokens are counted.
    """

    client: ChatClient
    prompt: Prompt
    names: Sequence[str]
    config: LLMConfig
    ledger: Ledger
    schema: dict[str, Any] | None = field(init=False)

    def __post_init__(self) -> None:
        self.schema = answer_schema(self.names) if self.config.structured else None

    def ask(self, texts: Sequence[str], done: Callable[[str, Outcome], object]) -> None:
        """Ask for texts in one request; those that the answer lacks are asked for again, each alone.

        Raises:
            ChatError: the server gives no answers, or refuses one that ``on_refused`` does not forgive.
        """
        if len(texts) == 1:
            done(texts[0], self._alone(texts[0], 0, 0))
            return
        read = written = 0
        parsed = Parsed()
        try:
            completion = self._complete(self.prompt.messages(texts, self.names, system=self.config.system_role))
            read, written = (tokens // len(texts) for tokens in _tokens(completion))
            parsed = parse_answer(completion.text, len(texts), self.names)
        except ChatError as error:
            if not self._forgives(error):
                raise
        for i, rewrite in parsed.rewrites.items():
            done(texts[i], Outcome(rewrite, "", read, written))
        for i, text in enumerate(texts):
            if i not in parsed.rewrites:
                done(text, self._alone(text, read, written))

    def _alone(self, text: str, read: int, written: int) -> Outcome:
        """Ask for one text until the answer can be used or the attempts are spent."""
        messages = self.prompt.messages([text], self.names, system=self.config.system_role)
        problem, turns = "", list(messages)
        for _ in range(self.config.attempts):
            try:
                completion = self._complete(turns)
            except ChatError as error:
                if not self._forgives(error):
                    raise
                return Outcome(None, f"refused: {error}", read, written, keep=False)
            tokens = _tokens(completion)
            read, written = read + tokens[0], written + tokens[1]
            parsed = parse_answer(completion.text, 1, self.names)
            if parsed.rewrites:
                return Outcome(parsed.rewrites[0], "", read, written)
            problem = parsed.problem
            if completion.truncated:
                problem = f"it was cut at max_tokens={self.config.max_tokens} ({problem})"
            turns = [*messages, {"role": "assistant", "content": completion.text or "..."}]
            turns.append({"role": "user", "content": _COMPLAINT.format(problem=problem)})
        return Outcome(None, f"no usable answer: {problem}", read, written)

    def _complete(self, messages: Sequence[dict[str, str]]) -> Completion:
        completion = self.client.complete(messages, schema=self.schema)
        read, written = _tokens(completion)
        silent = completion.prompt_tokens is None or completion.completion_tokens is None
        self.ledger.add(requests=1, prompt_tokens=read, completion_tokens=written, unreported=int(silent))
        return completion

    def _forgives(self, error: ChatError) -> bool:
        return self.config.on_refused == "reject" and error.status in REFUSALS


def _tokens(completion: Completion) -> tuple[int, int]:
    return completion.prompt_tokens or 0, completion.completion_tokens or 0
