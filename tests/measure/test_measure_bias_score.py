"""The bias score of models on texts: what it must show, and the map function."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from datasets import Dataset
from scipy.stats import spearmanr

from hf_fairness.encoders import as_encoder, input_embeddings
from hf_fairness.measure.encoder.bias_direction import BiasDirection, bias_direction
from hf_fairness.measure.encoder.bias_pairs import swapped_pairs
from hf_fairness.measure.encoder.bias_score import BiasScore, bias_score, most_biased, word_table
from hf_fairness.scores.bias_score import direction_of
from hf_fairness.scores.statistics import bootstrap_weights, generator
from hf_fairness.utils import FairnessWarning
from support.arrow_tables import check_arrow

pytestmark = pytest.mark.whole

VECTORS = {
    "he": [-1.0, 0.0],
    "she": [1.0, 0.0],
    "a": [0.0, 1.0],
    "is": [0.0, 0.0],
    "nurse": [3.0, 4.0],
    "boxer": [-3.0, 4.0],
    "mother": [5.0, 0.0],
}
TEXTS = [
    "She is a nurse",
    "He is a boxer.",
    "",
    "zzz qqq",
    "?!",
    "mother mother",
    "A nurse, a boxer",
    "The new pink dress",
]
#: Nothing in them speaks of men or women, or of one kind of work.
TEMPLATES = (
    "The {} is here.",
    "This is the {}.",
    "I talked to the {}.",
    "The {} finished the work.",
    "Someone asked the {} a question.",
)


@pytest.fixture(scope="module")
def news(shared):
    """Disjoint draws of news sentences with terms of one group, in both versions: 150, 150 and 100 pairs."""
    files = sorted((shared / "data/gfst").glob("*.en"))
    lines = sorted({line for file in files for line in file.read_text(encoding="utf-8").splitlines()})
    random.Random(0).shuffle(lines)
    pairs, _ = swapped_pairs(lines[:900])
    assert len(pairs) >= 400
    return [pairs[:150], pairs[150:300], pairs[300:400]]


@pytest.fixture(scope="module")
def directions(news, minilm):
    return [bias_direction(minilm, pairs) for pairs in news[:2]]


@pytest.fixture(scope="module")
def direction(directions):
    return directions[0]


@pytest.fixture(scope="module")
def own(minilm):
    """The direction that is made where none is given."""
    return bias_direction(minilm)


def _signed(result):
    first, second = result["meta"]["groups"]
    return np.array(result[first]) + np.array(result[second])


def test_one_direction_explains_the_news_pairs(directions):
    for found in directions:
        assert found.explained_variance_ratio[0] >= 0.60, found.explained_variance_ratio
        assert found.explained_variance_ratio[1] < 0.10
        assert found.stability >= 0.98


def test_draws_of_sentences_give_the_same_direction(directions):
    axes = np.stack([found.vector for found in directions])
    assert np.abs(axes @ axes.T).min() >= 0.99


def test_the_packages_own_sentences_give_that_direction_too(own, directions):
    assert own.kind == "built-in texts"
    assert own.n_pairs >= 100
    assert min(own.vector @ found.vector for found in directions) >= 0.97


def test_centring_loses_what_the_pairs_share(news, minilm):
    texts = [np.stack([minilm.encode(pair, show_progress_bar=False) for pair in zip(*news[1][:60], strict=True)])]
    differences = (texts[0][1] - texts[0][0]).astype(np.float64)
    kept, lost = direction_of(differences), direction_of(differences - differences.mean(axis=0))
    assert kept.explained_variance_ratio[0] - lost.explained_variance_ratio[0] > 0.3


def test_score_follows_what_people_call_stereotyped(shared, minilm, direction):
    """Ratings of Bolukbasi et al.: -1 female, 1 male; professions whose definition names a gender are left out."""
    rows = json.loads((shared / "data/wordlists/professions.json").read_text(encoding="utf-8"))
    rated = [(word.replace("_", " "), rating) for word, definition, rating in rows if abs(definition) < 0.5]
    assert len(rated) == 288
    texts = [template.format(word) for word, _ in rated for template in TEMPLATES]
    result = bias_score(texts, minilm, direction=direction, n_bootstrap=100)
    assert (result["meta"]["form"], result["meta"]["importance"]) == ("neutral", "mean")
    scores, ratings = _signed(result).reshape(len(rated), -1).mean(axis=1), np.array([rating for _, rating in rated])
    rho = spearmanr(scores, ratings)[0]
    draws = [np.repeat(np.arange(288), w.astype(int)) for ws in bootstrap_weights(288, 400, generator(0)) for w in ws]
    low, high = np.percentile([spearmanr(scores[rows], ratings[rows])[0] for rows in draws], [2.5, 97.5])
    assert rho <= -0.45, f"Spearman {rho:.3f} [{low:.3f}, {high:.3f}]"
    assert high < -0.3


def test_neutral_words_carry_the_gender_of_the_subject_in_context(news, minilm, direction):
    """With all gendered words at 0, the female version still outscores the male one: hence the neutral form."""
    pairs = news[2]
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    raw = bias_score([*first, *second], minilm, direction=direction, form="raw", words=True, n_bootstrap=10)
    for table in raw["words"]:
        out = [row for row in table["rows"] if row["excluded"]]
        assert out
        assert all(row["bias"] == row["weighted"] == 0.0 for row in out)
    signed = _signed(raw)
    assert (signed[100:] > signed[:100]).mean() >= 0.99
    neutral = bias_score([*first, *second], minilm, direction=direction, n_bootstrap=10)
    assert neutral["meta"]["form"] == "neutral"
    gap = np.abs(_signed(neutral)[100:] - _signed(neutral)[:100])
    assert np.median(gap) < 1e-6
    assert gap.mean() < 0.05 * (signed[100:] - signed[:100]).mean()


def test_both_forms_agree_without_gendered_words(minilm, direction):
    texts = ["The new pink dress", "Football players scoring touchdowns"]
    both = [bias_score(texts, minilm, direction=direction, form=form, n_bootstrap=10) for form in ("raw", "neutral")]
    assert both[0]["absolute"] == both[1]["absolute"]


def test_top_lists_are_sorted_and_plausible(shared, minilm, direction):
    """Lists in the manner of tables 3, B1 and B2, on 400 sentences each of STS-B and SICK."""
    sts = (shared / "data/glue/STS-B/dev.tsv").read_text(encoding="utf-8").splitlines()[1:401]
    sick = (shared / "data/sick/sick_train_trial.tsv").read_text(encoding="utf-8").splitlines()[1:401]
    for lines, column in ((sts, 7), (sick, 1)):
        texts = [line.split("\t")[column] for line in lines]
        result = bias_score(texts, minilm, direction=direction, n_bootstrap=10)
        lists = most_biased(texts, result, k=10)
        assert list(lists) == ["male", "female"]
        for group, sign in (("male", -1.0), ("female", 1.0)):
            values = [sign * score for _, score in lists[group]]
            assert values == sorted(values, reverse=True)
            assert values[-1] > 0.0
            assert values[0] == max(sign * np.array(result[group]))
            assert len({text for text, _ in lists[group]}) == 10


def test_scores_of_word_vectors_by_hand():
    direction = bias_direction(VECTORS)
    result = bias_score(TEXTS, VECTORS, direction=direction, n_bootstrap=50)
    assert (result["meta"]["form"], result["meta"]["importance"], result["meta"]["direction_pairs"]) == (
        "raw",
        "mean",
        1,
    )
    # "She is a nurse": the mean is (4, 5) / 4; nurse adds (3, 4) / 4 to it, 0.6 of it along the direction.
    assert result["female"][0] == pytest.approx(3 / np.hypot(4, 5))
    assert result["male"][1] == pytest.approx(-3 / np.hypot(-4, 5))
    assert [result["absolute"][place] for place in (2, 3, 4, 5, 7)] == [0.0] * 5
    assert result["absolute"][6] == pytest.approx(6 / 10)
    assert (result["n"], result["n_excluded"], result["n_unknown"]) == (8, 4, 6)
    wins = bias_score(["a nurse"], VECTORS, direction=direction, importance="max")
    assert wins["female"] == [0.6]  # nurse wins both dimensions


def test_word_table_adds_up(minilm, direction):
    table = word_table("She likes the new pink dress.", minilm, direction=direction, form="raw", importance="max")
    assert [row["word"] for row in table["rows"]] == ["She", "likes", "the", "new", "pink", "dress"]
    weighted = [row["weighted"] for row in table["rows"]]
    assert table["female"] + table["male"] == pytest.approx(sum(weighted))
    assert table["absolute"] == pytest.approx(sum(map(abs, weighted)))
    assert weighted == pytest.approx([row["bias"] * row["importance"] for row in table["rows"]])
    assert sum(row["importance"] for row in table["rows"]) < 1.0  # the rest goes to the full stop and special tokens
    assert table["rows"][0] | {"importance": 0} == {
        "word": "She",
        "importance": 0,
        "bias": 0.0,
        "weighted": 0.0,
        "excluded": True,
        "known": True,
    }
    neutral = word_table("She likes the new pink dress.", minilm, direction=direction)
    assert neutral["text"] == "They like the new pink dress."


def test_static_bias_with_the_importance_of_an_encoder(minilm, own):
    """The published combination: vectors out of context, max-pool wins of the encoder."""
    vectors = input_embeddings(as_encoder(minilm))
    options = {"importance": "max", "n_bootstrap": 10, "words": True}
    mixed = bias_score(["She likes the pink dress."], minilm, word_vectors=vectors, **options)
    assert (mixed["meta"]["form"], mixed["meta"]["direction_kind"]) == ("raw", "word pairs")
    alone = bias_score(["She likes the pink dress."], vectors, **options)
    encoder = bias_score(["She likes the pink dress."], minilm, form="raw", direction=own, **options)
    for row, static, context in zip(*(result["words"][0]["rows"] for result in (mixed, alone, encoder)), strict=True):
        assert row["bias"] == pytest.approx(static["bias"])
        assert row["importance"] == context["importance"]
    by_word = {row["word"]: row["bias"] for row in mixed["words"][0]["rows"]}
    assert min(by_word["pink"], by_word["dress"]) > 0.1 > by_word["the"]
    missing = bias_score(["a nurse boxes"], minilm, word_vectors=VECTORS, words=True, n_bootstrap=10)
    assert [row["bias"] for row in missing["words"][0]["rows"]] == pytest.approx([0.0, 0.6, 0.0])


@pytest.fixture
def corpus():
    texts = ["She likes the new pink dress.", "The players scored.", "", "A nurse cares for her.", "x"] * 5
    return Dataset.from_dict({"premise": texts, "hypothesis": texts[::-1], "label": list(range(25))})


def test_map_adds_columns_whatever_the_batch_and_the_kind_of_dataset(minilm_path, corpus, direction, tmp_path):
    function = BiasScore(["premise", "hypothesis"], minilm_path, direction=direction, batch_size=4)
    names = [f"{column}_bias_{key}" for column in ("premise", "hypothesis") for key in ("male", "female", "absolute")]
    assert list(function.outputs()) == names
    whole = corpus.map(function, batched=True, batch_size=25, load_from_cache_file=False)
    assert whole.column_names == [*corpus.column_names, *names]
    assert all(whole.features[name].dtype == "float64" for name in names)
    table = np.array([whole[name] for name in names])
    assert np.isfinite(table).all()
    assert (table[[0, 3]] <= 0.0).all()
    assert (table[[1, 4]] >= 0.0).all()
    assert table[2] == pytest.approx(table[1] - table[0])
    assert table[0] == pytest.approx(table[3][::-1], abs=1e-6)
    for size in (1, 7):
        other = corpus.map(function, batched=True, batch_size=size, load_from_cache_file=False)
        assert np.array([other[name] for name in names]) == pytest.approx(table, abs=1e-6)
    single = corpus.select(range(6)).map(function, load_from_cache_file=False)
    assert np.array([single[name] for name in names]) == pytest.approx(table[:, :6], abs=1e-6)
    stream = corpus.to_iterable_dataset()
    stream = stream.map(function, batched=True, batch_size=5, features=function.features(stream.features))
    made = check_arrow(pickle.loads(pickle.dumps(function)), corpus[:])
    assert np.array([made[name].to_pylist() for name in names]) == pytest.approx(table, abs=1e-6)
    rows = list(stream)
    assert np.array([[row[name] for row in rows] for name in names]) == pytest.approx(table, abs=1e-6)
    assert [row["label"] for row in rows] == corpus["label"][:]
    direct = bias_score(corpus["premise"][:], minilm_path, direction=direction, n_bootstrap=10)
    assert direct["female"] == pytest.approx(table[1], abs=1e-6)


def test_two_processes_give_what_one_gives(corpus):
    function = BiasScore("premise", VECTORS)
    one, two = (corpus.map(function, batched=True, num_proc=n, load_from_cache_file=False) for n in (None, 2))
    assert one["premise_bias_absolute"][:] == two["premise_bias_absolute"][:]
    assert max(one["premise_bias_absolute"]) > 0.0


def test_hash_is_stable_and_knows_the_model(minilm_path, direction, tmp_path):
    from datasets.fingerprint import Hasher

    function = BiasScore("text", minilm_path, direction=direction)
    before = Hasher.hash(function)
    function({"text": ["She is a nurse."]})
    assert Hasher.hash(function) == before
    assert Hasher.hash(BiasScore("text", minilm_path, direction=direction)) == before
    assert Hasher.hash(BiasScore("text", minilm_path, direction=direction, form="raw")) != before
    state = pickle.dumps(function)
    assert len(state) < 500_000  # by path, not by weights
    again = pickle.loads(state)
    assert again({"text": "A nurse."}) == pytest.approx(function({"text": "A nurse."}), abs=1e-6)
    path = tmp_path / "v.txt"
    path.write_text("he -1 0\nshe 1 0\nnurse 1 1\n")
    small = Hasher.hash(BiasScore("text", str(path)))
    path.write_text("he -1 0\nshe 1 0\nnurse 1 2\n")
    assert Hasher.hash(BiasScore("text", str(path))) != small


def test_hash_in_another_process(direction, tmp_path):
    """Sets of words must not reach the state: their order differs from process to process."""
    vectors, saved = tmp_path / "v.txt", tmp_path / "d.json"
    vectors.write_text("he -1 0\nshe 1 0\nnurse 1 1\n")
    bias_direction(str(vectors)).save(saved)
    code = (
        "import sys; from datasets.fingerprint import Hasher; from hf_fairness.measure import BiasScore; "
        "print(Hasher.hash(BiasScore('text', sys.argv[1], direction=sys.argv[2], names=['Ann', 'Bo', 'Cy'])))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, str(vectors), str(saved)], capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert runs[0].stdout.split()[-1] == runs[1].stdout.split()[-1]


def test_a_live_model_and_a_saved_direction(minilm, own, tmp_path):
    function = BiasScore("text", minilm, direction=own.save(tmp_path / "direction.json"))
    assert function.direction == own
    assert function({"text": "She is a nurse.", "id": 3})["text_bias_female"] > 0.0
    assert repr(function) == "BiasScore('text')"


def test_columns_are_checked():
    function = BiasScore("text", VECTORS)
    with pytest.raises(ValueError, match="no column 'text'"):
        function({"other": ["a"]})
    with pytest.raises(ValueError, match="would overwrite column 'text_bias_male'"):
        function({"text": ["a"], "text_bias_male": [0.0]})
    with pytest.raises(TypeError, match="Expected a text in row 1 of the batch, column 'text'"):
        BiasScore("text", VECTORS, on_missing="error")({"text": ["a", None]})
    with pytest.warns(FairnessWarning, match="rows without a text"):
        assert function({"text": ["a", None]})["text_bias_absolute"][1] == 0.0
    assert function({"text": []}) == {f"text_bias_{key}": [] for key in ("male", "female", "absolute")}


OTHER = BiasDirection(vector=[1.0, 0.0], groups=("young", "old"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bias_score([], VECTORS), ValueError, "texts is empty"),
        (lambda: bias_score("one text", VECTORS), TypeError, "list of texts"),
        (lambda: bias_score(["a", None], VECTORS), TypeError, r"texts\[1\] must be a string"),
        (lambda: bias_score(["a"], 3), TypeError, "no encoder"),
        (lambda: bias_score(["a"], VECTORS, form="swapped"), ValueError, "form must be one of raw, neutral"),
        (lambda: bias_score(["a"], VECTORS, importance="cls"), ValueError, "importance must be one of max, mean"),
        (lambda: bias_score(["a"], VECTORS, direction=[1.0, 0.0]), TypeError, "must come from bias_direction"),
        (lambda: bias_score(["a"], VECTORS, direction=OTHER), ValueError, "from young to old, attribute 'gender'"),
        (lambda: bias_score(["a"], VECTORS, attribute="religion"), ValueError, "has 3: christian, jewish, muslim"),
        (lambda: bias_score(["a"], {"a": [1.0]}), ValueError, "both words of none of the 10 pairs"),
        (lambda: bias_score(["a"], VECTORS, word_vectors=len), ValueError, "word_vectors must be a mapping"),
        (
            lambda: bias_score(["a nurse"], VECTORS | {"nurse": [np.nan, 1.0]}),
            ValueError,
            "Words of 'a nurse': vectors holds 1 value",
        ),
        (
            lambda: bias_score(["a"], VECTORS, direction=BiasDirection(vector=[1.0, 0, 0], groups=("male", "female"))),
            ValueError,
            "3 dimensions, the word vectors have 2",
        ),
        (
            lambda: bias_score(["a"], lambda texts: np.ones((len(texts), 2)), importance="mean"),
            ValueError,
            "no token vectors|equal members",
        ),
        (lambda: most_biased(["a"], {"x": [0.1]}, k=0), ValueError, "k must be at least 1"),
        (lambda: most_biased(["a"], {"x": [0.1, 0.2]}), ValueError, "1 texts, 2 scores of 'x'"),
        (lambda: most_biased(["a"], {"x": [0.1]}, groups=["y"]), ValueError, "no scores for y; got x"),
    ],
)
def test_clear_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_most_biased_takes_columns_and_drops_repeats():
    found = most_biased(["a", "b", "a", "c"], {"female": [0.2, 0.3, 0.2, 0.0]}, k=5)
    assert found == {"female": [("b", 0.3), ("a", 0.2)]}


@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_a_missing_text_scores_zero():
    function = BiasScore("text", VECTORS)
    found = function({"text": ["she", None, float("nan")]})
    assert all(values[1:] == [0.0, 0.0] for values in found.values())
    assert [values[0] for values in found.values()] == [function({"text": "she"})[name] for name in found]
    with pytest.raises(TypeError, match="Expected a text"):
        BiasScore("text", VECTORS, on_missing="error")({"text": ["she", None]})
