"""GE scores of a classifier of the size of MiniLM, against bare forwards of the very batches that they run.

What scoring adds is tokenizing, sorting by length, padding and the norms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.runner import Benchmark, SkipSubject

#: Texts with a counterfactual that are scored; each takes two forwards.
EXAMPLES = 256
QUICK = 32
BATCH_SIZE = 32


class State(NamedTuple):
    """A classifier on the body of MiniLM, the texts, and the padded batches that their scores need."""

    model: Any
    tokenizer: Any
    rows: Any
    pairs: Any
    batches: list[dict[str, Any]]


def setup(quick: bool) -> State:
    """Texts of the demonstration with a counterfactual; the batches are noted while they are scored once."""
    try:
        from hf_fairness.demo import minilm_path

        folder = minilm_path()
    except ImportError as error:
        raise SkipSubject(str(error)) from None
    import torch
    from datasets import Dataset
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    from hf_fairness.augment import CounterfactualSwap
    from hf_fairness.demo import corpus
    from hf_fairness.measure.classifier.pairs import read_pairs

    texts = corpus()
    rows = Dataset.from_dict({"text": texts, "label": [0] * len(texts)}).map(CounterfactualSwap("text"), batched=True)
    changed = rows.select(read_pairs(rows).changed.nonzero()[0][: QUICK if quick else EXAMPLES])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # random weights are as fast as trained ones
        model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder)).eval()
    state = State(model, AutoTokenizer.from_pretrained(folder), changed, read_pairs(changed), [])
    note = model.register_forward_pre_hook(lambda _, args, batch: state.batches.append(dict(batch)), with_kwargs=True)
    subject(state)
    note.remove()
    return state


def subject(state: State) -> float:
    """GE of every example; the unit of work is one text."""
    from hf_fairness.measure.classifier.importance import example_scores

    found = example_scores(
        state.model, state.rows, state.pairs, names=["ge"], tokenizer=state.tokenizer, batch_size=BATCH_SIZE
    )
    return 2.0 * len(found["ge"])


def peer(state: State) -> float:
    """The forwards alone."""
    import torch

    with torch.no_grad():
        for batch in state.batches:
            state.model(**batch)
    return float(sum(len(batch["input_ids"]) for batch in state.batches))


BENCHMARK = Benchmark(
    name="ge_scoring",
    compares="GE scores of texts against bare forwards of the same padded batches (BERT, 6 layers of 384), per text",
    bar=0.9,
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
