"""GE and EL2N of examples beside their definitions: bare forwards of the very batches that ours run, and the norms.

Neither has a gradient, so that no per-example method comes in. What scoring adds to the forwards is tokenizing, sorting
by length, padding and checks; the larger the model, the less that is: of BERT-tiny a fifth of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.models import SIZES, random_bert
from benchmarks.runner import Benchmark, agree

#: Texts with a counterfactual that are scored, by model; for GE each takes two forwards.
EXAMPLES = {"BERT-tiny": 256, "MiniLM": 128, "BERT-base": 16}
#: The part of them that a quick run scores.
QUICK = 8
BATCH_SIZE = 32
#: Largest difference between ours and the definition in the model's float32, relative to the largest score.
TOLERANCE = 1e-4
#: By how much the weights of the last layer are enlarged, so that logits are about as large as those of trained models.
ENLARGED = 100.0


class State(NamedTuple):
    """The score, a classifier, the examples, the padded batches that their score needs, and the texts in these."""

    score: str
    model: Any
    tokenizer: Any
    rows: Any
    pairs: Any
    batches: list[dict[str, Any]]
    order: list[int]


def setup(quick: bool, size: str) -> State:
    """Texts of the demonstration with a counterfactual; the batches are noted while they are scored once."""
    from datasets import Dataset

    from hf_fairness.augment import CounterfactualSwap
    from hf_fairness.demo import corpus
    from hf_fairness.measure.classifier.pairs import read_pairs

    score, _, name = size.partition(", ")
    model, tokenizer = random_bert("BertForSequenceClassification", **SIZES[name]._asdict())
    model.classifier.weight.data *= ENLARGED
    columns = {"text": corpus(), "label": [place % 2 for place in range(len(corpus()))]}
    rows = Dataset.from_dict(columns).map(CounterfactualSwap("text"), batched=True)
    rows = rows.select(read_pairs(rows).changed.nonzero()[0][: EXAMPLES[name] // (QUICK if quick else 1)])
    pairs = read_pairs(rows)
    texts = [*pairs.texts(rows), *(pairs.counterfactual_texts(rows) if score == "GE" else [])]
    lengths = [len(ids) for ids in tokenizer(texts)["input_ids"]]
    state = State(score, model, tokenizer, rows, pairs, [], sorted(range(len(texts)), key=lengths.__getitem__))
    note = model.register_forward_pre_hook(lambda _, args, batch: state.batches.append(dict(batch)), with_kwargs=True)
    ours(state)
    note.remove()
    return state


def ours(state: State) -> Any:
    """The score of every example."""
    from hf_fairness.measure.classifier.importance import example_scores

    name = state.score.lower()
    options = {"names": [name], "tokenizer": state.tokenizer, "batch_size": BATCH_SIZE}
    return example_scores(state.model, state.rows, state.pairs, **options)[name]


def defined(state: State) -> Any:
    """The same by its definition, from the batches as they are."""
    import torch

    with torch.no_grad():
        sorted_logits = torch.cat([state.model(**batch).logits for batch in state.batches])
        logits = torch.empty_like(sorted_logits).index_copy_(0, torch.tensor(state.order), sorted_logits)
        if state.score == "GE":
            text, counterfactual = logits.chunk(2)
            return (text - counterfactual).norm(dim=-1)
        labels = torch.tensor(list(state.rows["label"]))
        return (logits.softmax(dim=-1) - torch.nn.functional.one_hot(labels, logits.shape[-1])).norm(dim=-1)


def check(state: State) -> dict[str, float]:
    """Both give the same numbers, and numbers that differ from example to example."""
    scores, wanted = (np.asarray(each) for each in (ours(state), defined(state)))
    if not np.ptp(wanted) > 0.1 * wanted.max():
        raise ValueError(f"{state.score}: all examples have about the same score.")
    found = (scores / wanted.max()).tolist(), (wanted / wanted.max()).tolist()
    return {"largest relative difference": agree(state.score, *found, TOLERANCE)}


def subject(state: State) -> float:
    """The score of every example; the unit of work is one text."""
    ours(state)
    return float(len(state.order))


def peer(state: State) -> float:
    """The forwards and the norms alone."""
    defined(state)
    return float(len(state.order))


BENCHMARK = Benchmark(
    name="ge_scoring",
    compares="GE and EL2N against bare forwards of the same padded batches and the norms, per text",
    bar={f"{score}, {name}": 0.7 if name == "BERT-tiny" else 0.9 for score in ("GE", "EL2N") for name in SIZES},
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
    check=check,
)
