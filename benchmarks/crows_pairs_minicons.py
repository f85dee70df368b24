"""CrowS-Pairs scores of a masked model against minicons, per pair, at the sizes of MiniLM and of BERT.

minicons masks one token at a time as well, in batches of sentences; the scores are the same. It has no way to leave
tokens out, so it also masks those that differ between the sentences of a pair, and its head gives logits of the whole
vocabulary at every token. Ours masks what the score needs, and runs the head at the mask alone. minicons 0.3.39 calls a
method of tokenizers that transformers 5 has dropped; it is put back as what it did.
"""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

from benchmarks.crows_pairs_batch import DATA, SENTENCES
from benchmarks.models import random_bert
from benchmarks.runner import Benchmark, SkipSubject, agree

#: Layers, width, and of the 262 pairs about gender every so-manieth.
SIZES = {"6 layers of 384": (6, 384, 44), "12 layers of 768": (12, 768, 131)}
#: Sentences of a batch of minicons; more are no faster and take more memory.
BATCH = 8
TOLERANCE = 1e-4


class State(NamedTuple):
    """The model as both sides open it, and the pairs."""

    ours: Any
    theirs: Any
    pairs: dict[str, list[str]]
    folder: tempfile.TemporaryDirectory[str]


def setup(quick: bool, size: str) -> State:
    """Random weights and a real vocabulary (as fast as a trained model), in a folder that minicons can open."""
    if not DATA.is_file():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    from minicons.scorer import MaskedLMScorer

    from hf_fairness.measure.language_model.crows_pairs import read_crows_pairs
    from hf_fairness.measure.models import open_language_model

    layers, width, step = SIZES[size]
    model, tokenizer = random_bert("BertForMaskedLM", width=width, layers=layers)
    folder = tempfile.TemporaryDirectory()  # kept in the state, so that it lives as long
    for part in (model, tokenizer):
        part.save_pretrained(folder.name)
    columns = read_crows_pairs(DATA)
    places = [i for i, kind in enumerate(columns["bias_type"]) if kind == "gender"][:: step * (4 if quick else 1)]
    pairs = {name: [values[i] for i in places] for name, values in columns.items()}
    theirs = MaskedLMScorer(folder.name, "cpu")
    if not hasattr(theirs.tokenizer, "batch_encode_plus"):
        theirs.tokenizer.batch_encode_plus = theirs.tokenizer.__call__
    return State(open_language_model(folder.name), theirs, pairs, folder)


def ours(state: State) -> Any:
    """Scores of both sentences of every pair, shape (n, 2)."""
    from hf_fairness.measure.language_model.crows_pairs import score_pairs

    return score_pairs(state.pairs, state.ours)


def theirs(state: State) -> list[list[float]]:
    """Log-probabilities of all tokens of every sentence but the special ones: first the one side, then the other."""
    texts = [text for name in SENTENCES for text in state.pairs[name]]
    found = []
    for start in range(0, len(texts), BATCH):
        for tokens in state.theirs.token_score(texts[start : start + BATCH], PLL_metric="original"):
            found.append([score for _, score in tokens])
    return found


def subject(state: State) -> float:
    """All pairs; the unit of work is one pair."""
    return float(len(ours(state)))


def peer(state: State) -> float:
    """All pairs."""
    return len(theirs(state)) / 2


def check(state: State) -> dict[str, float]:
    """Sums over the tokens that the sentences of a pair share are ours; how many masks more minicons makes for them."""
    from hf_fairness.measure.language_model.crows_pairs import shared_tokens

    found, (more, less), scores = theirs(state), (state.pairs[name] for name in SENTENCES), ours(state)
    masks = 0
    for i, direction in enumerate(state.pairs["stereo_antistereo"]):
        sides = [i, i + len(more)] if direction == "stereo" else [i + len(more), i]
        ids = [state.ours.tokenizer([*more, *less][side])["input_ids"] for side in sides]
        for side, places in zip(sides, shared_tokens(*ids), strict=True):
            inner = [found[side][place - 1] for place in places if 0 < place <= len(found[side])]
            masks += len(inner)
            agree(f"pair {i}", [scores[i, side // len(more)]], [sum(inner)], TOLERANCE)
    return {"masks per mask of ours": sum(map(len, found)) / masks}


BENCHMARK = Benchmark(
    name="crows_pairs_minicons",
    compares="CrowS-Pairs of a masked model (BERT) against minicons, per pair",
    bar=dict.fromkeys(SIZES, 1.0),
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
    rival="minicons",
    check=check,
)
