"""The lines that the project promises, run as they are written for users."""

from __future__ import annotations

import pytest
from datasets import Dataset

TEXTS = [
    "She said that her brother had lost his keys.",
    "The chairman thanked the women of his team.",
    "My mother is an actress, isn't she?",
    "He's proud of himself because the waitress knew him.",
    "Nobody was at home.",
    "The spokesman for the museum said that he would call the mayor himself.",
    "Ms. Kaur finished her thesis in May.",
    "His uncle and her aunt bought the bakery.",
] * 4


@pytest.fixture
def ds() -> Dataset:
    return Dataset.from_dict({"text": TEXTS, "id": list(range(len(TEXTS)))})


def test_augmentations(ds):
    from hf_fairness.augment import (
        CounterfactualAugmentation,
        CounterfactualSubstitution,
        CounterfactualSwap,
        GroupVariants,
        Neutralize,
    )

    swapped = ds.map(CounterfactualSwap("text"), batched=True)
    assert set(swapped.column_names) == {"text", "id", "text_counterfactual", "edits"}
    assert swapped[0]["text_counterfactual"] == "He said that his sister had lost her keys."
    more = ds.map(CounterfactualAugmentation("text"), batched=True)
    assert len(more) > len(ds)
    assert sum(more["counterfactual"]) == len(more) - len(ds)
    substituted = ds.map(CounterfactualSubstitution("text", seed=0), batched=True)
    assert len(substituted) == len(ds)
    assert "text_neutral" in ds.map(Neutralize("text"), batched=True).column_names
    triples = ds.map(GroupVariants("text"), batched=True, remove_columns=ds.column_names)
    assert set(triples.column_names) == {"male", "female", "neutral", "has_terms", "edits", "variant_groups"}
    assert triples["has_terms"][:].count(False) == 4


def test_seat_and_cced(ds, minilm, minilm_path):
    import evaluate

    import hf_fairness
    from hf_fairness.augment import GroupVariants

    triples = ds.map(GroupVariants("text"), batched=True, remove_columns=ds.column_names)
    seat = evaluate.load(hf_fairness.metric_path("seat"))
    found = seat.compute(model=minilm_path, tests=["6", "6b", "7", "7b", "8", "8b"], n_samples=1000)
    sizes = {name: test["effect_size"] for name, test in found["tests"].items()}
    published = {"6": 1.294, "6b": 0.277, "7": 0.728, "7b": 1.440, "8": 0.721, "8b": 1.286}
    assert sizes == pytest.approx(published, abs=1e-3)
    cced = evaluate.load(hf_fairness.metric_path("cced"))
    by_model = cced.compute(model=minilm, variants=triples)
    assert by_model["n"] == 28
    assert by_model["n_skipped"] == 4
    assert by_model["cced"] > 0.01
    kept = triples.filter(lambda flag: flag, input_columns="has_terms")
    vectors = {name: minilm.encode(kept[name][:]) for name in ("male", "female", "neutral")}
    assert cced.compute(embeddings=vectors)["cced"] == pytest.approx(by_model["cced"], rel=1e-5)


def test_ccd(ds, minilm_path, tmp_path):
    from hf_fairness.augment import GroupVariants
    from hf_fairness.trainers import CCDConfig, CCDLoss, CCDTrainer

    triples = ds.map(GroupVariants("text"), batched=True, remove_columns=ds.column_names)
    args = CCDConfig(output_dir=str(tmp_path), max_steps=2, use_cpu=True, report_to="none", disable_tqdm=True)
    trainer = CCDTrainer(model=minilm_path, args=args, train_dataset=triples, eval_dataset=triples.select(range(8)))
    trainer.train()
    assert isinstance(trainer.loss, CCDLoss)
    assert trainer.n_skipped == 5
    assert trainer.state.global_step == 2
