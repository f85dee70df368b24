"""CrowS-Pairs scores of a masked model in batches, against one forward per mask position, as the released code does.

The gain has two sources. Rows of many pairs share a forward, which spares the cost of a call; and the head, a product
with the whole vocabulary, is run at the mask alone, not at all of the 20 tokens around it. The larger a model, the
smaller both: with 12 layers of 768 the head is a fifth of the work and a processor is busy with the encoder's own
products, which no batching can spare; there the gain was 2.3 on one core.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from benchmarks.models import random_bert
from benchmarks.runner import FOLDER, Benchmark, SkipSubject

DATA = FOLDER.parent.parent / "shared" / "data" / "crows_pairs" / "crows_pairs_anonymized.csv"
SENTENCES = ("sent_more", "sent_less")
WIDTH, LAYERS = 256, 4
#: Pairs that the peer scores, evenly spread; both sides are timed per mask position.
PEER_PAIRS = 8


class State(NamedTuple):
    """A model with random weights and a real vocabulary (as fast as a trained one), the pairs, their masks."""

    model: Any
    tokenizer: Any
    pairs: dict[str, list[str]]
    masks: list[int]


def setup(quick: bool) -> State:
    """A small BERT with the word pieces of MiniLM, and the 262 gender pairs; with `quick` every sixth of them."""
    if not DATA.is_file():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    from hf_fairness.measure.language_model.crows_pairs import read_crows_pairs

    model, tokenizer = random_bert("BertForMaskedLM", width=WIDTH, layers=LAYERS)
    columns = read_crows_pairs(DATA)
    places = [i for i, kind in enumerate(columns["bias_type"]) if kind == "gender"][:: 6 if quick else 1]
    pairs = {name: [values[i] for i in places] for name, values in columns.items()}
    masks = [2 * len(ours[0]) for _, ours in map(partial(_places, tokenizer), *(pairs[name] for name in SENTENCES))]
    return State(model, tokenizer, pairs, masks)


def _places(tokenizer: Any, more: str, less: str) -> tuple[list[list[int]], list[list[int]]]:
    """Token ids of both sentences, and the positions to mask: the shared ones without the two special tokens."""
    from hf_fairness.measure.language_model.crows_pairs import shared_tokens

    rows = [tokenizer(text)["input_ids"] for text in (more, less)]
    return rows, [places[1:-1] for places in shared_tokens(*rows)]


def subject(state: State) -> float:
    """All pairs in batches; the unit of work is one mask."""
    from hf_fairness.measure.language_model.crows_pairs import score_pairs

    score_pairs(state.pairs, state.model, tokenizer=state.tokenizer)
    return float(sum(state.masks))


def peer(state: State) -> float:
    """Some of the pairs, one forward per sentence and mask."""
    import torch

    step = max(1, len(state.masks) // PEER_PAIRS)
    with torch.no_grad():
        for pair in list(zip(*(state.pairs[name] for name in SENTENCES), strict=True))[::step]:
            for row, places in zip(*_places(state.tokenizer, *pair), strict=True):
                total = 0.0
                for at in places:
                    masked = torch.tensor([row])
                    masked[0, at] = state.tokenizer.mask_token_id
                    total += torch.log_softmax(state.model(masked).logits[0, at], dim=0)[row[at]].item()
    return float(sum(state.masks[::step]))


BENCHMARK = Benchmark(
    name="crows_pairs_batch",
    compares=f"CrowS-Pairs in batches against one forward per mask (BERT, {LAYERS} layers of {WIDTH}), per mask",
    bar=5.0,
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
