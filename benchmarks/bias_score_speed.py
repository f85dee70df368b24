"""The exact bias score as `datasets.map` asks for it, against a bare forward of the same texts.

The peer tokenizes, sorts by length and runs the model, in batches of the same size and with the same padding; it throws
the hidden states away. The score rewrites each text without its gendered words first, asks the tokenizer where its
tokens stand, takes words, importance and cosines of what the model gave, and makes columns. The floor is the forward
alone, of batches that are ready on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.runner import FOLDER, Benchmark, SkipSubject

DATA = FOLDER.parent.parent / "shared" / "data" / "gfst"
#: Rows that `datasets.map` hands over, and texts per forward.
ROWS, BATCH_SIZE = 1000, 32
SHORT, LONG = "news sentences", "twelve news sentences a text"
#: Sentences of a text, and texts.
SIZES = {SHORT: (1, 160), LONG: (12, 32)}


class State(NamedTuple):
    """The texts, the map function, and its model and tokenizer; ready batches of token ids and masks."""

    texts: list[str]
    score: Any
    encoder: Any
    ready: list[dict[str, Any]]


def setup(quick: bool, size: str) -> State:
    """Texts from all over the files, and the score of MiniLM."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    from hf_fairness.demo import minilm_path
    from hf_fairness.encoders import token_encoder
    from hf_fairness.measure import BiasScore

    try:
        score = BiasScore("text", minilm_path(), batch_size=BATCH_SIZE)
    except ImportError as error:
        raise SkipSubject(str(error)) from error
    sentences, n_texts = SIZES[size]
    n_texts //= 6 if quick else 1
    lines = [line for path in sorted(DATA.glob("*.en")) for line in path.read_text(encoding="utf-8").splitlines()]
    step = len(lines) // n_texts
    texts = [" ".join(lines[start : start + sentences]) for start in range(0, n_texts * step, step)]
    state = State(texts, score, token_encoder(score.scorer.encoder), [])
    state.encoder.model.eval()
    state.ready.extend(_batches(state))
    return state


def _batches(state: State) -> Iterator[dict[str, Any]]:
    """Padded batches of texts of similar length."""
    tokenizer, encoder = state.encoder.tokenizer, state.encoder
    for start in range(0, len(state.texts), ROWS):
        fields = tokenizer(state.texts[start : start + ROWS], truncation=True, max_length=encoder.max_length)
        order = sorted(range(len(fields["input_ids"])), key=lambda place: len(fields["input_ids"][place]))
        for first in range(0, len(order), BATCH_SIZE):
            rows = {
                name: [values[place] for place in order[first : first + BATCH_SIZE]] for name, values in fields.items()
            }
            yield tokenizer.pad(rows, return_tensors="pt").to(encoder.model.device)


def _forward(state: State, batches: Any) -> float:
    import torch

    with torch.no_grad():
        for batch in batches:
            state.encoder.model(**batch)
    return float(len(state.texts))


def subject(state: State) -> float:
    """Scores as columns."""
    for start in range(0, len(state.texts), ROWS):
        state.score({"text": state.texts[start : start + ROWS]})
    return float(len(state.texts))


def peer(state: State) -> float:
    """Tokenizer and model."""
    return _forward(state, _batches(state))


def floor(state: State) -> float:
    """The model alone."""
    return _forward(state, state.ready)


BENCHMARK = Benchmark(
    name="bias_score_speed",
    compares="exact `BiasScore` with MiniLM against its tokenizer and a bare forward",
    bar={SHORT: 0.9, LONG: 0.9},
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=5,
    memory=False,  # the hidden states of a batch, on both sides
)
