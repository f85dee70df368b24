"""A bias score distilled into a table: from word vectors and a tiny encoder, as a file, and as a map function."""

from __future__ import annotations

import json
import pickle
import random

import numpy as np
import pytest
from datasets import Dataset
from datasets.fingerprint import Hasher

from hf_fairness.measure import BiasScore, BiasTable, DistilledBiasScore, bias_direction
from support.arrow_tables import check_arrow
from support.ccd_case import make_encoder

WORDS = {"nurse": 0.8, "boxer": -0.7, "dress": 0.6, "engine": -0.4, "tree": 0.0, "sky": 0.1, "rain": -0.1, "lake": 0.05}
VECTORS = {
    **{word: [lean, (1.0 - lean**2) ** 0.5, 0.1] for word, lean in WORDS.items()},
    **{"he": [-1.0, 0.0, 0.0], "she": [1.0, 0.0, 0.0], "Mary": [1.0, 0.2, 0.0], "mary": [1.0, 0.2, 0.0]},
}
DIRECTION = bias_direction(VECTORS, [("he", "she")])


def _texts(n: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    words = [*WORDS, "She", "he", "Mary's", "zzz"]
    return [" ".join(draw.choices(words, k=draw.randint(2, 9))) + "." for _ in range(n)]


@pytest.fixture(scope="module")
def table():
    return BiasTable.from_encoder(VECTORS, _texts(1000), direction=DIRECTION, n_bootstrap=50)


def test_the_scores_are_near_the_exact_ones(table):
    texts = _texts(300, seed=1)
    exact, distilled = BiasScore("text", VECTORS, direction=DIRECTION), DistilledBiasScore("text", table)
    assert distilled.outputs() == exact.outputs()
    found, true = distilled({"text": texts}), exact({"text": texts})
    for name in distilled.outputs():
        assert np.corrcoef(found[name], true[name])[0, 1] > 0.8, name
    card = table.card["fidelity"]
    assert card["spearman_ci95"][0] > 0.6
    assert card["top_found_ci95"][1] > card["top"]
    assert (card["n"], table.card["n_texts"]) == (table.card["n_texts"] // 10, len({*_texts(1000)}))
    by_word = dict(zip(table.words, table.columns.lean, strict=False))
    assert by_word["nurse"] > by_word["sky"] > by_word["boxer"]


def test_signs_duplicates_and_texts_without_words(table):
    function = DistilledBiasScore(["a", "b"], table)
    rows = {"a": ["A nurse", "", "?!", "A nurse", "qqq"], "b": ["a boxer", "a boxer", "", "x", "He, Mary"]}
    found = function(rows)
    assert list(found) == [f"{column}_bias_{key}" for column in "ab" for key in ("male", "female", "absolute")]
    assert all(values[place] == 0.0 for name, values in found.items() for place in (1, 2) if name[0] == "a")
    assert max(found["a_bias_male"]) <= 0.0 <= min(found["a_bias_female"])
    assert found["a_bias_absolute"][0] == found["a_bias_absolute"][3] > 0.0
    assert function({"a": "A nurse", "b": "a boxer"}) == {name: values[0] for name, values in found.items()}
    assert function({"a": [], "b": []}) == {name: [] for name in found}


@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_a_missing_text_scores_zero_or_is_refused(table):
    found = DistilledBiasScore("text", table)({"text": ["nurse", None, float("nan")]})
    assert all(values[1:] == [0.0, 0.0] for values in found.values())
    with pytest.raises(TypeError, match="Expected a text in row 1"):
        DistilledBiasScore("text", table, on_missing="error")({"text": ["nurse", None]})


def test_words_that_the_table_lacks_are_told(table):
    found = table.score(["nurse nurse", "nurse wombat", "wombat numbat", ""])
    assert found["unknown"].tolist() == [0.0, 0.5, 1.0, 0.0]
    assert np.isfinite(found["absolute"]).all()


def test_a_table_is_saved_and_read_again(table, tmp_path):
    path = table.save(tmp_path / "table.npz")
    again, texts = BiasTable.load(path), _texts(50, seed=2)
    assert again.words == table.words
    assert again.card == json.loads(json.dumps(table.card))
    for name, values in table.score(texts).items():
        assert again.score(texts)[name].tolist() == values.tolist()
    assert table.save(tmp_path / "other.npz").read_bytes() == path.read_bytes()
    by_file, by_object = (DistilledBiasScore("text", each) for each in (path, table))
    assert by_file({"text": texts}) == by_object({"text": texts})
    for content in (b"", b"nonsense", path.read_bytes()[:-200], b"PK\x03\x04 no archive"):
        (tmp_path / "broken").write_bytes(content)
        with pytest.raises(ValueError, match="is no saved table"):
            BiasTable.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        DistilledBiasScore("text", tmp_path / "nothing.npz")
    with pytest.raises(TypeError, match="BiasTable or the file of one; got int"):
        DistilledBiasScore("text", 3)


def test_what_was_looked_up_is_no_part_of_the_state(table):
    function = DistilledBiasScore("text", table)
    before = Hasher.hash(function)
    function({"text": _texts(20)})
    assert Hasher.hash(function) == before
    copy = pickle.loads(pickle.dumps(function))
    assert copy({"text": ["a nurse"]}) == function({"text": ["a nurse"]})


def test_batches_and_processes_change_nothing(table):
    rows, function = Dataset.from_dict({"text": _texts(60, seed=3)}), DistilledBiasScore("text", table)
    whole = rows.map(function, batched=True, load_from_cache_file=False).to_list()
    assert rows.map(function, batched=True, batch_size=7, load_from_cache_file=False).to_list() == whole


def test_tables_of_any_engine(table):
    made = check_arrow(DistilledBiasScore("text", table), {"text": _texts(9), "id": list(range(9))})
    assert made["text_bias_absolute"].to_pylist() == table.score(_texts(9))["absolute"].tolist()


def test_few_texts_make_no_table():
    with pytest.raises(
        ValueError, match="200 different texts with a score or more, better some thousands; 3 of 4 have"
    ):
        BiasTable.from_encoder(VECTORS, ["nurse", "boxer", "a dress", "nurse", "he", ""], direction=DIRECTION)
    with pytest.raises(TypeError, match=r"texts\[1\] must be a string"):
        BiasTable.from_encoder(VECTORS, ["nurse", None], direction=DIRECTION)


@pytest.mark.whole
def test_a_model_in_half_precision_and_texts_past_its_length(tmp_path):
    """Neutral forms with more words than the text, words that are cut off: what is not known is not learned."""
    model = make_encoder(tmp_path)
    draw = random.Random(0)
    texts = [" ".join(draw.choices([*WORDS, "she", "his", "the"], k=draw.randint(3, 40))) for _ in range(260)]
    pairs = [("he is a nurse", "she is a nurse"), ("the man left", "the woman left")]
    table = BiasTable.from_encoder(model, texts, pairs=pairs, dtype="bfloat16", n_bootstrap=10)
    assert table.card["form"] == "neutral"
    assert table.card["n_words"] > table.card["n_words_met"] > 10
    assert np.isfinite(table.columns.load).all()
    assert np.isfinite(table.columns.lean).all()
    found = table.score(["she is a nurse " * 60, "", "a boxer"])
    assert (found["absolute"] > 0.0).tolist() == [True, False, True]
