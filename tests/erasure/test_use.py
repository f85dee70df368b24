"""Fitted erasers at work: a column of a data set, a layer of a model, a file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from datasets import Dataset, Features, List, Value
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize
from sentence_transformers.sentence_transformer.modules import Dense

from hf_fairness.erasure import (
    Erase,
    Eraser,
    Projection,
    append_eraser,
    inlp,
    leace,
    load_eraser,
    save_eraser,
    with_eraser,
)
from hf_fairness.utils import FairnessWarning
from support.arrow_tables import check_arrow

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.normal(size=(60, 8)).astype(np.float32)
LABELS = np.arange(60) % 2
VECTORS[LABELS == 1, :3] += 2.0
AFFINE = leace(VECTORS, LABELS)
PROJECTION = Projection.random(2, 8)
ERASERS = pytest.mark.parametrize("eraser", [PROJECTION, AFFINE], ids=["projection", "affine"])


def rows(**more):
    return Dataset.from_dict({"text": [f"text {i}" for i in range(60)], "vector": VECTORS.tolist(), **more})


@ERASERS
def test_a_column_is_erased_whatever_the_batch_and_the_format(eraser):
    function = Erase("vector", eraser)
    made = [
        rows().map(function, batched=True, batch_size=7),
        rows().map(function),
        rows().with_format("numpy").map(function, batched=True).with_format(None),
        rows().with_format("torch").map(function, batched=True, batch_size=13).with_format(None),
        rows().with_format("torch").map(function).with_format(None),
        rows().with_format("arrow").map(function, batched=True).with_format(None),
        rows().with_format("pandas").map(function, batched=True, batch_size=60).with_format(None),
    ]
    stream = rows().to_iterable_dataset(num_shards=3)
    streamed = list(stream.map(function, batched=True, features=function.features(stream.features)))
    for each in made:
        assert each["vector_erased"][:] == made[0]["vector_erased"][:]  # to the bit
        assert each.column_names == ["text", "vector", "vector_erased", "vector_erased_by"]
        assert each.features["vector_erased"] == List(Value("float32"))
        assert each["text"][:] == rows()["text"][:]
    assert np.array_equal([row["vector_erased"] for row in streamed], made[0]["vector_erased"][:])
    assert np.allclose(made[0]["vector_erased"][:], eraser(VECTORS), atol=1e-6)
    table = check_arrow(function, rows()[:])
    assert table["vector_erased"].to_pylist() == made[0]["vector_erased"][:]
    assert set(made[0]["vector_erased_by"]) == {f"{type(eraser).__name__} {eraser.digest}"}


@pytest.mark.whole
def test_two_processes_map_what_one_does():
    one, two = (rows().map(Erase("vector", AFFINE), batched=True, num_proc=n) for n in (None, 2))
    assert one["vector_erased"][:] == two["vector_erased"][:]


def test_the_covariance_of_the_mapped_column_is_0():
    made = np.array(rows().map(Erase("vector", AFFINE), batched=True)["vector_erased"][:])
    one_hot = np.eye(2)[LABELS] - 0.5
    assert np.abs((VECTORS - VECTORS.mean(axis=0)).T @ one_hot).max() / 60 > 0.1  # the harm
    assert np.abs((made - made.mean(axis=0)).T @ one_hot).max() / 60 < 1e-5


def test_the_cache_is_hit_by_the_same_eraser_and_missed_by_another(tmp_path):
    rows().save_to_disk(tmp_path / "rows")
    given = Dataset.load_from_disk(tmp_path / "rows")
    same = load_eraser(save_eraser(PROJECTION, tmp_path / "file"))
    one, two, other = (
        given.map(Erase("vector", each), batched=True)._fingerprint for each in (PROJECTION, same, AFFINE)
    )
    assert one == two != other


def test_a_column_is_not_overwritten():
    with pytest.raises(ValueError, match="would overwrite column 'vector_erased'"):
        rows(vector_erased=VECTORS.tolist()).map(Erase("vector", PROJECTION), batched=True)
    made = rows(vector_erased=VECTORS.tolist()).map(Erase("vector", PROJECTION, output="plain"), batched=True)
    assert made.column_names[-2:] == ["plain", "plain_by"]


@pytest.mark.parametrize("kind", [None, "numpy", "torch", "arrow", "pandas"])
def test_a_row_without_a_vector_is_given_zeros_and_said(kind):
    cells = [VECTORS[0].tolist(), None, VECTORS[1].tolist()]
    given = Dataset.from_dict({"vector": cells}, features=Features({"vector": List(Value("float32"))}))
    given = given.with_format(kind)
    with pytest.warns(FairnessWarning, match="rows without a vector in vector pass through"):
        made = given.map(Erase("vector", PROJECTION), batched=True).with_format(None)
    assert made["vector_erased"][1] == [0.0] * 8
    assert np.allclose(made["vector_erased"][2], PROJECTION(VECTORS[1]), atol=1e-6)
    with pytest.raises((TypeError, ValueError), match=r"row 1 of the batch, column 'vector'"):
        given.map(Erase("vector", PROJECTION, on_missing="error"), batched=True)


@pytest.mark.parametrize(
    ("cell", "error", "message"),
    [
        ([1.0, 2.0], ValueError, "a vector of 2 numbers, expected 8, as those that the eraser was fitted on"),
        ([], ValueError, "a vector of 0 numbers, expected 8"),
        ([float("nan")] * 8, ValueError, "holds NaN or infinite numbers"),
        ([None] + [1.0] * 7, ValueError, "holds NaN or infinite numbers"),
        ("a text", TypeError, "expected a vector of numbers, got str: a text"),
        ([[1.0] * 8], TypeError, "expected a vector of numbers, got list"),
    ],
)
def test_what_is_no_vector_of_that_width_is_an_error(cell, error, message):
    with pytest.raises(error, match=rf"Erase: row 1 of the batch, column 'vector'.*{message}"):
        Erase("vector", PROJECTION)({"vector": [[1.0] * 8, cell]})


def test_only_erasers_erase():
    with pytest.raises(TypeError, match=r"eraser is a Nullspace, .* Take its .projection"):
        Erase("vector", inlp(VECTORS, LABELS, max_rounds=1))
    with pytest.raises(TypeError, match="eraser is a ndarray, expected a Projection or an Eraser"):
        save_eraser(np.eye(8), "file")
    with pytest.raises(ValueError, match=r"no column 'vectors'\. Columns: text, vector"):
        rows().map(Erase("vectors", PROJECTION), batched=True)


@ERASERS
def test_a_file_brings_it_back(eraser, tmp_path):
    path = save_eraser(eraser, tmp_path / "eraser.safetensors")
    again = load_eraser(path)
    assert type(again) is type(eraser)
    assert again.digest == eraser.digest
    assert np.array_equal(again(VECTORS), eraser(VECTORS))
    assert path.stat().st_size < 2000


def test_other_files_are_no_erasers(tmp_path):
    (tmp_path / "text").write_text("no eraser")
    with pytest.raises(ValueError, match="text is no saved eraser"):
        load_eraser(tmp_path / "text")
    from safetensors.numpy import save_file

    save_file({"matrix": np.eye(3)}, tmp_path / "weights")
    with pytest.raises(ValueError, match=r"weights is no saved eraser .*no 'hf-fairness eraser 1' file"):
        load_eraser(tmp_path / "weights")
    with pytest.raises(FileNotFoundError):
        load_eraser(tmp_path / "nothing")
    data = bytearray(save_eraser(AFFINE, tmp_path / "changed").read_bytes())
    data[-5] ^= 1
    (tmp_path / "changed").write_bytes(data)
    with pytest.raises(ValueError, match=r"changed is no saved eraser .*its content is"):
        load_eraser(tmp_path / "changed")


def small_model(*, unit: bool, dtype=torch.float32) -> SentenceTransformer:
    """Word vectors of 8 numbers, their mean, and where asked length 1."""
    from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    words = [f"word{i}" for i in range(60)]
    layer = WordEmbeddings(WhitespaceTokenizer(words, stop_words=[]), VECTORS)
    modules = [layer, Pooling(8, "mean"), *([Normalize()] if unit else [])]
    return SentenceTransformer(modules=modules, device="cpu").to(dtype)


WORDS = [f"word{i}" for i in range(60)]


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("kind", ["projection", "affine"])
def test_the_layer_of_a_model_is_the_eraser_and_opens_plain(kind, unit, tmp_path):
    model = small_model(unit=unit)
    before = model.encode(WORDS)
    eraser = leace(before, LABELS) if kind == "affine" else PROJECTION
    made = with_eraser(model, eraser)
    assert np.array_equal(model.encode(WORDS), before)  # what was given is as it was
    assert not any(weight.requires_grad for weight in made[2 + unit].parameters())
    made.save(str(tmp_path / "model"))
    opened = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert isinstance(opened[-1], Normalize if unit and kind == "projection" else Dense)
    after = opened.encode(WORDS)
    wanted = eraser(before)
    if kind == "projection" and unit:
        wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
        assert np.abs(after @ eraser.directions.T).max() < 1e-6
    assert np.allclose(after, wanted, atol=1e-5)
    if kind == "affine":
        one_hot = np.eye(2)[LABELS] - 0.5
        assert np.abs((before - before.mean(axis=0)).T @ one_hot).max() / 60 > 0.05  # the harm
        assert np.abs((after - after.mean(axis=0)).T @ one_hot).max() / 60 < 1e-5


def test_length_1_may_be_asked_for_or_left_out():
    model = small_model(unit=True)
    assert isinstance(with_eraser(model, AFFINE, normalize=True)[-1], Normalize)
    assert isinstance(with_eraser(model, PROJECTION, normalize=False)[-1], Dense)


def test_a_model_that_compared_by_dot_product_compares_by_the_cosine_that_it_was():
    model = small_model(unit=True)
    model.similarity_fn_name = "dot"
    assert with_eraser(model, AFFINE).similarity_fn_name == "cosine"
    assert with_eraser(model, PROJECTION).similarity_fn_name == "dot"


def test_half_precision_stays_and_opens(tmp_path):
    made = with_eraser(small_model(unit=True, dtype=torch.float16), AFFINE)
    assert made[-1].linear.weight.dtype == torch.float16
    found = made.encode(WORDS)
    made.save(str(tmp_path / "model"))
    assert np.array_equal(SentenceTransformer(str(tmp_path / "model"), device="cpu").half().encode(WORDS), found)


def test_a_model_of_another_width_is_an_error():
    model = small_model(unit=False)
    with pytest.raises(ValueError, match="takes vectors of 5 numbers, but the model gives 8: fit on vectors of this"):
        with_eraser(model, Projection.random(1, 5))
    model.truncate_dim = 5
    with pytest.raises(ValueError, match="of which the first 5 are kept after all layers: set truncate_dim=None"):
        append_eraser(model, Projection.random(1, 5))
    with pytest.raises(TypeError, match="model is a Linear, expected a SentenceTransformer"):
        with_eraser(torch.nn.Linear(2, 2), PROJECTION)


@pytest.mark.whole
def test_a_saved_model_needs_nothing_of_ours(tmp_path):
    with_eraser(small_model(unit=True), AFFINE).save(str(tmp_path / "model"))
    code = (
        "import sys\nfrom sentence_transformers import SentenceTransformer\n"
        "assert SentenceTransformer(sys.argv[1], device='cpu').encode('word1').shape == (8,)\n"
        "assert not any(name.startswith('hf_fairness') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], check=True)


def test_the_identity_of_an_eraser_is_its_content():
    twin = Eraser(AFFINE.matrix.copy(), AFFINE.offset.copy(), AFFINE.rank)
    moved = Eraser(AFFINE.matrix, AFFINE.offset + 1, AFFINE.rank)
    assert AFFINE.digest == twin.digest != moved.digest
