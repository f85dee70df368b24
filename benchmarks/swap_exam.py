"""An exam for swaps of gender terms: 400 sentences that no rule and no test has seen, drawn before any rule changed.

    python -m benchmarks.swap_exam          rates of every system on the open half

Sentences: news (130), captions (70), tweets (67), headlines (80) and forum posts (53) with a word of the published
lists of gender words, drawn by seed; none stands in this project. Two annotators wrote all counterparts independently,
by a guide, without sight of rules or code; they agreed on 391 of 400, and every answer of one was among those that the
other accepts; a third settled what differed. A sentence has one best counterpart and others that are as good ("Mr":
"Ms", "Mrs"); a system is compared with the one that is nearest to what it wrote.

`exams/swap_exam.json` holds rows, spans that change and hashes, not the texts: these are third-party data beside the
project. Half of the answers is open to work with. The other half is packed so that no one reads it by chance; it is
opened once, when the rules are done, and nothing is tuned afterwards.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.exams.texts import DATA, FOLDER, Question, questions_at
from benchmarks.swap_quality import GENDER, SYSTEMS, Rewrite
from benchmarks.token_errors import nearest_errors, token_error_rates
from hf_fairness.runs import content_key

FILE = FOLDER / "swap_exam.json"


def packed(answers: Any) -> str:
    """Answers as a text that says nothing to a reader."""
    return base64.b64encode(zlib.compress(json.dumps(answers, ensure_ascii=False).encode(), 9)).decode()


def unpacked(text: str) -> Any:
    """Answers that `packed` packed."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def questions(half: Literal["open", "closed"], data: Path = DATA) -> Iterator[Question]:
    """The sentences of a half.

    Raises:
        ValueError: the texts or the answers are not those that were drawn.
    """
    record = json.loads(FILE.read_text(encoding="utf-8"))
    answers = {"open": record["open"], "closed": unpacked(record["closed"])}
    if content_key(answers) != record["answers_key"]:
        raise ValueError("The answers are not those that were committed before the rules changed.")
    places = [place for place in record["rows"] if place["half"] == half]
    yield from questions_at(places, answers[half], data)


def measure(rewrite: Rewrite, asked: Sequence[Question]) -> dict[str, Any]:
    """Errors of a system beside the nearest counterpart that is right.

    Returns:
        ``token_error_rate`` with its 95 % interval over sentences, ``exact``: share without an error, ``n``; and
        ``errors``: of each sentence, for paired comparisons.
    """
    table = np.array([errors_on(rewrite, question) for question in asked], dtype=float)
    return {**token_error_rates(table), "n": len(asked), "errors": table[:, 0].astype(int).tolist()}


def errors_on(rewrite: Rewrite, question: Question) -> tuple[int, int, int]:
    """Token errors of a system beside the nearest counterpart, the same without regard to case, and its tokens."""
    return nearest_errors(rewrite(question.text, GENDER.polarity(question.accepted[0])), question.accepted)


def main() -> None:
    """Print the rates of the open half; the closed one has no command until it is opened."""
    asked = list(questions("open"))
    for name, build in SYSTEMS.items():
        try:
            found = measure(build(), asked)
        except ImportError as error:
            print(f"{name:<18} skipped: {error}")
            continue
        low, high = found["token_error_rate_ci95"]
        rate = f"token error rate {found['token_error_rate']:.4f} [{low:.4f}, {high:.4f}]"
        print(f"{name:<18} {rate}, exact {found['exact']:.3f} of {found['n']}")


if __name__ == "__main__":
    main()
