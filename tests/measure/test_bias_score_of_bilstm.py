"""The bias score, SEAT and the audit of a BiLSTM-max encoder on the real input embeddings of MiniLM."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from datasets import Dataset
from scipy.stats import spearmanr

from hf_fairness.encoders import as_encoder, input_embeddings
from hf_fairness.measure import audit, seat
from hf_fairness.measure.encoder.bias_direction import bias_direction
from hf_fairness.measure.encoder.bias_score import BiasScore, bias_score, word_table
from hf_fairness.trainers.refine.bilstm import bilstm_max

TEXTS = ["She likes the new pink dress.", "Football players scoring touchdowns", "", "?!", "A man's nurse isn't here"]


@pytest.fixture(scope="module")
def model(minilm):
    return bilstm_max(minilm, hidden_size=32, device="cpu")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("bilstm")
    model.save(str(place))
    return str(place)


def states(model, text):
    """States of the LSTM on a text, computed apart, and the pieces that it read."""
    tokenizer = model[0].tokenizer.tokenizer
    read = tokenizer(text, return_offsets_mapping=True)
    vectors = model[0].emb_layer.weight[torch.tensor(read["input_ids"])]
    with torch.no_grad():
        return model[1].encoder(vectors[None])[0][0].numpy(), read["offset_mapping"]


def test_importance_is_the_share_of_dimensions_whose_maximum_a_word_gives(model):
    text = TEXTS[0]
    hidden, spans = states(model, text)
    wins = np.bincount(hidden.argmax(axis=0), minlength=len(spans)) / hidden.shape[1]
    expected: dict[str, float] = {}
    for share, (start, end) in zip(wins, spans, strict=True):
        expected[text[start:end]] = share
    rows = word_table(text, model)["rows"]
    assert [row["word"] for row in rows] == ["She", "likes", "the", "new", "pink", "dress"]
    for row in rows:
        assert row["importance"] == pytest.approx(expected[row["word"]])
    assert sum(row["importance"] for row in rows) < 1.0  # a part is of the full stop and of both ends


def test_the_bias_of_a_word_is_that_of_the_vector_that_is_read(model, minilm):
    """Section 3 of the paper: cosine of the word vector, whatever stands around it, with the word pairs' direction."""
    own = input_embeddings(as_encoder(minilm))
    direction = bias_direction(own)
    found = bias_score(TEXTS, model, words=True)
    assert (found["meta"]["form"], found["meta"]["importance"]) == ("raw", "max")
    assert (found["meta"]["direction_kind"], found["meta"]["direction_pairs"]) == ("word pairs", 10)
    for table in found["words"]:
        for row in table["rows"]:
            vector = np.asarray(own[row["word"]], dtype=np.float64)
            cosine = 0.0 if row["excluded"] else vector @ direction.vector / np.linalg.norm(vector)
            assert row["bias"] == pytest.approx(cosine, abs=1e-6)
            assert row["weighted"] == pytest.approx(row["bias"] * row["importance"])
        assert table["female"] == pytest.approx(sum(max(row["weighted"], 0.0) for row in table["rows"]))
    assert [found[key][place] for key in ("male", "female", "absolute") for place in (2, 3)] == [0.0] * 6
    excluded = {row["word"] for table in found["words"] for row in table["rows"] if row["excluded"]}
    assert excluded == {"She", "man's"}


@pytest.mark.whole
def test_it_leans_as_people_do(model, shared):
    """Ratings of Bolukbasi et al.: -1 female, 1 male; professions whose definition names a gender are left out."""
    rows = json.loads((shared / "data/wordlists/professions.json").read_text(encoding="utf-8"))
    rated = [(word.replace("_", " "), rating) for word, definition, rating in rows if abs(definition) < 0.5]
    found = bias_score([f"Someone is a {word}." for word, _ in rated], model, n_bootstrap=10)
    leaning = np.array(found["female"]) + np.array(found["male"])
    assert spearmanr(leaning, [-rating for _, rating in rated]).statistic > 0.2


@pytest.mark.whole
def test_a_saved_one_is_scored_and_audited_by_its_folder(model, folder):
    rows = Dataset.from_dict({"premise": TEXTS, "hypothesis": TEXTS[::-1], "other": list(range(5))})
    live, saved = (rows.map(BiasScore(["premise", "hypothesis"], each), batched=True) for each in (model, folder))
    assert set(rows.column_names) < set(saved.column_names)
    for name in saved.column_names:
        assert saved[name][:] == pytest.approx(live[name][:]) if "bias" in name else saved[name][:] == live[name][:]
    assert min(saved["premise_bias_absolute"][:2]) > 0.0
    again = rows.map(BiasScore(["premise", "hypothesis"], folder), batched=True, batch_size=2, num_proc=2)
    assert again["premise_bias_absolute"][:] == pytest.approx(saved["premise_bias_absolute"][:])
    scores = seat(folder, tests=["6"], n_samples=100, n_bootstrap=10)
    assert scores["tests"]["6"]["effect_size"] == pytest.approx(
        seat(model, tests=["6"], n_samples=100, n_bootstrap=10)["tests"]["6"]["effect_size"], abs=1e-5
    )
    found = audit(folder, n_samples=100, n_bootstrap=10)
    assert found.report["seat"]["tests"]["6"]["effect_size"] == pytest.approx(scores["tests"]["6"]["effect_size"])
