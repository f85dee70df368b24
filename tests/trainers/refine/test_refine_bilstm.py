"""`hf-fairness refine --bilstm` on pairs of a small world and word vectors of its words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from hf_fairness.attributes import load_attribute
from hf_fairness.cli import command
from hf_fairness.encoders import as_encoder, input_embeddings
from hf_fairness.erasure import DebiasWords, hard_debias_vectors
from hf_fairness.record import Record
from hf_fairness.runs import content_key
from hf_fairness.trainers import RefineArguments, RefineConfig
from hf_fairness.trainers.refine.bilstm import is_bilstm, open_word_vectors
from hf_fairness.trainers.refine.method import RefineMethod
from hf_fairness.trainers.refine.training import bilstm_config, bilstm_settings
from support import refine_case


def write_vectors(path, seed: int) -> str:
    """Word vectors of the world as text; *he* and *she*, *man* and *woman* differ along one direction."""
    draws = np.random.default_rng(seed)
    vectors = {word: draws.normal(size=12) for word in dict.fromkeys(refine_case.words()) if word.isalpha()}
    for one, other in (("he", "she"), ("man", "woman"), ("boy", "girl"), ("uncle", "aunt")):
        vectors[other] = vectors[one].copy()
        vectors[one][0], vectors[other][0] = 3.0, -3.0
    lines = (f"{word} {' '.join(f'{value:.5f}' for value in vector)}" for word, vector in vectors.items())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> list[str]:
    """The words of a command without the output folder."""
    folder = tmp_path_factory.mktemp("world")
    made = refine_case.make_words(folder, n=240)
    vectors, other = write_vectors(folder / "glove.txt", 0), write_vectors(folder / "w2v.txt", 1)
    quick = ["--bilstm", "--hidden_size", "8", "--bilstm_settings", "small", "--num_train_epochs", "2"]
    arms = ["--percentiles", "80", "--refinements", "sub", "aug", "--other_vectors", other, "--hard_debias"]
    return [vectors, *made[1:], *quick, *arms]


@pytest.fixture(scope="module")
def run(words, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    return out, command("refine")([*words, "--output_dir", str(out)])


def arms_of(out) -> Record:
    return Record.from_json(json.loads((out / "report" / "record.json").read_text()))


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")  # the world is tiny
def test_arms_of_refined_corpora_and_of_other_word_vectors(run):
    out, result = run
    record = arms_of(out)
    refined = ["sub-80", "random-sub-80", "aug-80", "random-aug-80"]
    assert [arm.name for arm in record.arms] == ["original", *refined, "vectors-w2v", "hd", "vectors-w2v-hd"]
    pairs = {(gap.arm, gap.against) for gap in record.gaps}
    assert {("hd", "original"), ("vectors-w2v", "original"), ("vectors-w2v-hd", "vectors-w2v")} <= pairs
    ids = {measure.id for measure in record.measures}
    assert {"bias_score/held-out texts/absolute_mean", "utility/test pairs/accuracy"} <= ids
    for name in ("original", "hd"):
        made = result["arms"][name]
        assert made["n_dev"] > 10
        assert len(made["history"]) == made["epochs"] == 2
        assert 0.0 < made["dev_accuracy"] <= 1.0
    assert result["scores"]["scorer"]["importance"] == "max"
    assert result["scores"]["scorer"]["direction_kind"] == "word pairs"
    assert not list(out.rglob("checkpoint-*"))
    assert "training.learning\\_rate: 0.001" in (out / "report" / "report.md").read_text()


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_the_models_open_anywhere_and_read_the_vectors_that_they_are_said_to(run, words):
    out, _ = run
    assert is_bilstm(SentenceTransformer(str(out / "model"), device="cpu"))
    debias = DebiasWords.of(load_attribute("gender"))
    given = open_word_vectors(words[0])
    expected = {"train_original": given, "train_hd": hard_debias_vectors(given, debias)[0]}
    for stage, vectors in expected.items():
        read = input_embeddings(as_encoder(str(out / stage / "model")))
        assert "nanny" in read
        for word in ("he", "she", "nurse", "boxer"):
            np.testing.assert_allclose(read[word], vectors[word], atol=1e-4)
    assert abs(given["nurse"] - expected["train_hd"]["nurse"]).max() > 1e-3


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_a_finished_run_is_taken_from_its_folder(run, words):
    out, result = run
    before = {each.name: each.stat().st_mtime_ns for each in (out / "train_original" / "model").iterdir()}
    again = command("refine")([*words, "--output_dir", str(out), "--resume"])
    assert {each.name: each.stat().st_mtime_ns for each in (out / "train_original" / "model").iterdir()} == before
    assert again["arms"]["hd"] == result["arms"]["hd"]


def test_a_bilstm_that_lacks_words_of_what_is_measured_now_is_trained_anew(words, tmp_path):
    """It passes over words that it does not know: with those of an earlier run numbers would be of other texts."""
    config = bilstm_config(RefineConfig(output_dir=str(tmp_path), use_cpu=True), "small")
    pairs = {"sentence1": ["the nurse waits"] * 3, "sentence2": ["a zebra"] * 3, "score": [0.0, 1.0, 2.0]}
    keys = []
    for sts, more in ((None, {}), (pairs, {}), (None, {"attribute": "religion"})):
        arguments = RefineArguments(model_name_or_path=words[0], bilstm=True, seat_tests=["6"], **more)
        data = {"rows": None, "test": None, "sts_pairs": sts, "tests": None}
        keys.append(content_key(RefineMethod(None, arguments, config, data, {}, 0).opened_as))
    assert len(set(keys)) == 3


def test_settings_that_are_given_come_before_those_of_the_encoder(tmp_path):
    quick = {"output_dir": str(tmp_path), "use_cpu": True}
    plain = RefineConfig(**quick)
    assert (plain.learning_rate, plain.num_train_epochs, plain.max_grad_norm) == (2e-5, 1.0, 1.0)
    published = bilstm_config(plain, "published")
    assert (published.learning_rate, published.num_train_epochs, published.max_grad_norm) == (0.1, 8, 5.0)
    assert bilstm_settings(published, "published")["optim"] == "sgd"
    given = RefineConfig(**quick, learning_rate=2e-5, num_train_epochs=1)
    settings = bilstm_settings(bilstm_config(given, "small"), "small")
    assert (settings["learning_rate"], settings["num_train_epochs"]) == (2e-5, 1)
    assert (settings["optim"], settings["lr_shrink"]) == ("adamw_torch", 1.0)
    assert plain.learning_rate == 2e-5  # a copy was changed


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"hard_debias": True}, "--hard_debias is about word vectors, which --bilstm reads"),
        ({"other_vectors": ["x.txt"]}, "--other_vectors is about word vectors"),
        ({"bilstm": True, "other_vectors": ["nowhere.txt"]}, "there is no such file"),
        ({"bilstm": True, "hd_words": "folder"}, "--hd_words is for the arms of --hard_debias"),
        ({"bilstm": True, "bilstm_settings": "large"}, "expected published or small"),
        ({"bilstm": True, "hidden_size": 0}, "hidden_size is 0"),
    ],
)
def test_arguments_about_word_vectors_that_make_no_sense_are_refused(told, message):
    with pytest.raises(ValueError, match=message):
        RefineArguments(model_name_or_path="m", **told)
