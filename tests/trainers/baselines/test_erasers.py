"""Baselines in closed form: what they promise of the model that is saved, on a tiny encoder and on MiniLM."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize
from sklearn.linear_model import LogisticRegression
from transformers import AutoModelForMaskedLM

from hf_fairness.attributes import load_attribute
from hf_fairness.encoders import RememberingEncoder, as_encoder
from hf_fairness.erasure import DebiasWords, hard_debias, load_eraser
from hf_fairness.trainers import CCDConfig
from hf_fairness.trainers.baselines import BASELINES, baseline
from hf_fairness.trainers.baselines.base import Given
from hf_fairness.trainers.baselines.hard_debias import HardDebiasSettings
from hf_fairness.trainers.baselines.inlp import INLPSettings
from hf_fairness.trainers.baselines.sentence_debias import RandomDirectionsSettings, SentenceDebiasSettings
from hf_fairness.trainers.training.encoder import TrainableEncoder, open_encoder
from support.tiny_bert import save_tiny_bert

WORDS = ["he", "she", "him", "her", "man", "woman", "father", "mother", "son", "daughter", "nurse", "doctor", "sings"]
GROUPS = ("male", "female")
PAIRS = [("he", "she"), ("man", "woman"), ("father", "mother"), ("son", "daughter")]
JOBS = ["nurse", "doctor", "farmer", "judge", "baker", "clerk", "pilot", "singer", "lawyer", "cook", "poet", "guard"]
FRAMES = [
    "the {job} said that {who} was tired",
    "{who} works as a {job} in the city",
    "i think {who} will become a {job}",
    "{who} came home and called the {job}",
    "nobody knew that {who} was once a {job}",
    "my neighbour is a {job} and {who} likes gardening",
]
ERASING = ["sentence-debias", "leace", "inlp", "random-directions"]


@dataclass
class Config(CCDConfig, SentenceDebiasSettings, RandomDirectionsSettings, INLPSettings, HardDebiasSettings):
    """As the command's."""

    RANGES: ClassVar[dict[str, tuple[float, float]]] = {}


def make_rows() -> Dataset:
    """72 texts in two versions, and columns that nobody asked for."""
    rows = [
        {
            **{group: frame.format(job=job, who=word) for group, word in zip(GROUPS, pair, strict=True)},
            "third": frame.format(job=job, who="guard"),
            "note": number,
        }
        for number, (job, frame) in enumerate((job, frame) for job in JOBS for frame in FRAMES)
        for pair in [PAIRS[number % len(PAIRS)]]
    ]
    return Dataset.from_list(rows)


def make_given(model, tmp_path, **settings) -> Given:
    config = Config(output_dir=str(tmp_path / "out"), use_cpu=True, report_to="none", **settings)
    opened = open_encoder(model, config)
    original = RememberingEncoder(as_encoder(opened.model, device="cpu", show_progress=False))
    return Given(opened, original, make_rows(), None, GROUPS, load_attribute("gender"), config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """A masked language model that knows the words of the rows."""
    place = tmp_path_factory.mktemp("mlm")
    words = sorted({word for name in GROUPS for text in make_rows()[name] for word in text.split()} | set(WORDS))
    return save_tiny_bert(place, words, "BertForMaskedLM")


@pytest.fixture(scope="module")
def tiny(folder, tmp_path_factory) -> Given:
    return make_given(folder, tmp_path_factory.mktemp("given"), inlp_rounds=10)


def fit(name: str, given: Given, place):
    """The saved model as anyone opens it, what was told, and the vectors of all versions before and after."""
    method = baseline(name)
    method.check(given.encoder, given.config, given.attribute)
    told = method.fit(given, place)
    assert json.loads(json.dumps(told)) == told
    model = SentenceTransformer(str(place / "model"), device="cpu")
    texts = [text for group in GROUPS for text in given.rows[group]]
    return model, told, given.original.encode(texts), model.encode(texts)


def read_by_a_probe(vectors, labels) -> float:
    return LogisticRegression(max_iter=5000, C=100.0).fit(vectors, labels).score(vectors, labels)


def covariance(vectors, labels) -> float:
    return float(np.abs((vectors - vectors.mean(axis=0)).T @ (labels - labels.mean())).max() / len(vectors))


@pytest.mark.parametrize("name", [*ERASING, "hard-debias"])
def test_a_method_is_found_by_its_name_and_reads_settings_that_are_there(name):
    assert name in BASELINES
    assert baseline(name).name == name
    assert not baseline(name).trains
    assert set(baseline(name).options) <= {each.name for each in fields(Config)}


def test_leace_without_its_package_is_refused_before_the_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "concept_erasure", None)
    with pytest.raises(ImportError, match=r"pip install \"hf-fairness\[erasure\]\""):
        baseline("leace").check(None, None, None)


@pytest.mark.whole
@pytest.mark.parametrize("name", [*ERASING, "hard-debias"])
def test_the_saved_model_opens_plain_and_keeps_its_head(name, tiny, folder, tmp_path):
    given = replace(tiny, rows=tiny.rows)
    model, told, before, after = fit(name, given, tmp_path)
    assert (told["steps"], after.shape) == (0, before.shape)
    assert np.abs(after - before).max() > 1e-3
    assert np.isfinite(after).all()
    assert np.array_equal(given.encoder.model.encode("she sings"), given.original.encode(["she sings"])[0])
    ids = model.tokenizer("she [MASK]", return_tensors="pt")
    with torch.no_grad():
        old, new = (AutoModelForMaskedLM.from_pretrained(path)(**ids).logits for path in (folder, tmp_path / "model"))
    assert torch.allclose(old, new) == baseline(name).same_tokens
    again = fit(name, given, tmp_path)[3]  # a killed run finds the model of before
    assert np.array_equal(again, after)


@pytest.mark.whole
def test_the_layer_is_the_eraser_whose_file_lies_beside_the_model(tiny, tmp_path):
    _, _, before, after = fit("leace", tiny, tmp_path)
    assert np.allclose(load_eraser(tmp_path / "eraser.safetensors")(before), after, atol=1e-5)


@pytest.mark.whole
def test_seeds_draw_what_they_should(tiny, tmp_path):
    other = replace(tiny, config=replace(tiny.config, seed=tiny.config.seed + 1))
    for name in ERASING:
        one, two = (fit(name, given, tmp_path / f"{name}{i}")[3] for i, given in enumerate((tiny, other)))
        assert np.array_equal(one, two) != baseline(name).seeded


@pytest.mark.whole
def test_sentence_debias_is_that_of_the_command(tiny, tmp_path):
    """The share of the groups' squared distances that falls is that of the fitted directions."""
    given = replace(tiny, config=replace(tiny.config, sentence_debias_directions=3))
    _, told, before, _ = fit("sentence-debias", given, tmp_path)
    eraser = load_eraser(tmp_path / "eraser.safetensors")
    half = len(before) // 2
    gap = before[:half] - before[half:]
    assert 1 - np.square(eraser(gap)).sum() / np.square(gap).sum() == pytest.approx(told["explained"], rel=1e-4)
    assert told["n_directions"] == 3


@pytest.mark.whole
def test_hard_debias_is_the_formula_on_the_matrix_inside(tiny, tmp_path):
    model, told, _, _ = fit("hard-debias", tiny, tmp_path)
    words = DebiasWords.of(tiny.attribute)
    tokenizer = model.tokenizer
    ids = [row for word, row in tokenizer.get_vocab().items() if row not in tokenizer.all_special_ids]
    names = tokenizer.convert_ids_to_tokens(ids)
    old, new = (
        each[0].model.get_input_embeddings().weight.detach().double().numpy()[ids]
        for each in (tiny.encoder.model, model)
    )
    sets = {"definitional": words.definitional, "equalize": words.equalize, "specific": words.specific}
    wanted, projection = hard_debias(names, old, **sets, keep_lengths=True)
    assert np.allclose(new, wanted, atol=1e-5)
    doctor = names.index("doctor")
    assert np.abs(old[doctor] @ projection.directions.T) > 1e-3  # the harm
    assert np.abs(new[doctor] @ projection.directions.T) < 1e-6
    assert told["definitional_sets"] >= len(PAIRS)


@pytest.mark.whole
@pytest.mark.parametrize("kept", ["as it is", "half", "no length"])
def test_other_encoders(kept, folder, tmp_path):
    """Of a model in half precision, and of one that does not normalise, which keeps the lengths that it gives."""
    path = folder
    if kept == "half":
        SentenceTransformer(folder, device="cpu").half().save(str(tmp_path / "half"))
        path = str(tmp_path / "half")
    given = make_given(path, tmp_path, normalize=kept != "no length")
    for name in ("leace", "sentence-debias"):
        model, _, before, after = fit(name, given, tmp_path / name)
        labels = np.repeat([0.0, 1.0], len(before) // 2)
        assert isinstance(model[-1], Normalize) == (kept == "as it is" and name == "sentence-debias")
        assert after.dtype == np.float32
        if name == "leace":
            assert covariance(before, labels) > 1e-3
            assert covariance(after, labels) < 1e-5


@pytest.mark.whole
@pytest.mark.parametrize(("name", "told"), [("leace", "rank"), ("sentence-debias", "n_directions"), ("inlp", "rounds")])
def test_three_groups(name, told, tiny, tmp_path):
    """Groups are columns, however many."""
    rows = tiny.rows
    config = replace(tiny.config, sentence_debias_directions=2)
    given = replace(tiny, rows=rows, groups=(*GROUPS, "third"), config=config)
    assert baseline(name).fit(given, tmp_path)[told] >= 2
    labels = np.repeat(np.arange(3), len(rows))
    texts = [text for group in given.groups for text in rows[group]]
    before, after = (
        given.original.encode(texts),
        SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(texts),
    )
    worst = [max(covariance(each, (labels == group).astype(float)) for group in range(3)) for each in (before, after)]
    assert worst[0] > 1e-3
    assert worst[1] < (1e-5 if name == "leace" else worst[0])


@pytest.fixture(scope="module")
def real(minilm, tmp_path_factory) -> Given:
    given = make_given(minilm, tmp_path_factory.mktemp("minilm"))
    return replace(given, encoder=TrainableEncoder(minilm))


@pytest.mark.whole
def test_leace_on_minilm(real, tmp_path):
    model, told, before, after = fit("leace", real, tmp_path)
    labels = np.repeat([0.0, 1.0], len(before) // 2)
    assert covariance(before, labels) > 1e-3
    assert read_by_a_probe(before, labels) > 0.9
    assert told["rank"] == 1
    assert covariance(after, labels) < 1e-5
    assert read_by_a_probe(after, labels) == pytest.approx(0.5, abs=0.01)
    assert not isinstance(model[-1], Normalize)


@pytest.mark.whole
def test_inlp_on_minilm(real, tmp_path):
    """The probe of the last round, on the vectors that the saved model gives, is no better than the majority."""
    given = replace(real, config=replace(real.config, inlp_held_out=0.0))
    model, told, before, after = fit("inlp", given, tmp_path)
    labels = np.repeat([0, 1], len(before) // 2)
    assert LogisticRegression(max_iter=1000).fit(before, labels).score(before, labels) > 0.8
    assert told["reached"]
    found = LogisticRegression(max_iter=1000).fit(after, labels).score(after, labels)
    assert found == pytest.approx(told["last_accuracy"], abs=0.01)
    assert found <= told["majority"] + 0.01
    assert isinstance(model[-1], Normalize)
    assert np.allclose(np.linalg.norm(after, axis=1), 1.0, atol=1e-5)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("sentence-debias", {"sentence_debias_directions": 0}, "--sentence_debias_directions is 0, expected 1 to 31"),
        (
            "sentence-debias",
            {"sentence_debias_directions": 32},
            "is 32, expected 1 to 31: the vectors have 32 dimensions",
        ),
        ("random-directions", {"random_directions": 40}, "--random_directions is 40, expected 1 to 31"),
        ("inlp", {"inlp_rounds": 0}, "--inlp_rounds is 0, expected 1 to"),
        ("inlp", {"inlp_held_out": 1.0}, r"--inlp_held_out is 1.0, expected 0.0 to 0.9"),
        ("hard-debias", {"hard_debias_directions": 31}, r"--hard_debias_directions: k .* is 31, expected 1 to \d+"),
        ("hard-debias", {"hard_debias_words": "nowhere"}, "nowhere has no definitional_pairs.json"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_run(name, settings, message, tiny):
    with pytest.raises(ValueError, match=message):
        baseline(name).check(tiny.encoder, replace(tiny.config, **settings), tiny.attribute)


@pytest.mark.whole
def test_k_above_the_rank_says_which_option_it_is(tiny, tmp_path):
    few = replace(tiny, rows=tiny.rows.select(range(4)), config=replace(tiny.config, sentence_debias_directions=9))
    with pytest.raises(ValueError, match=r"--sentence_debias_directions: k .* is 9, expected 1 to 4"):
        baseline("sentence-debias").fit(few, tmp_path)


@pytest.mark.whole
def test_a_tokenizer_without_the_words_is_refused(tmp_path):
    path = save_tiny_bert(tmp_path / "bert", ["##e", "h", "sh", "x"], "BertModel")
    given = make_given(path, tmp_path)
    with pytest.raises(ValueError, match=r"splits a word of every one .* leave hard-debias out of --methods"):
        baseline("hard-debias").check(given.encoder, given.config, given.attribute)
    with pytest.raises(ValueError, match="All vectors hold"):  # every text is unknown words alone
        baseline("leace").fit(
            replace(given, rows=Dataset.from_dict({"male": ["a"] * 3, "female": ["b"] * 3})), tmp_path
        )


@pytest.mark.whole
def test_an_encoder_without_token_embeddings_is_refused(tiny):
    from sentence_transformers.sentence_transformer.modules import BoW

    encoder = TrainableEncoder(SentenceTransformer(modules=[BoW(WORDS)], device="cpu"))
    with pytest.raises(ValueError, match=r"the first module of this model is BoW\. Leave hard-debias out"):
        baseline("hard-debias").check(encoder, tiny.config, tiny.attribute)


@pytest.mark.whole
def test_inlp_that_leaves_nothing_is_an_error(tiny, tmp_path):
    given = replace(tiny, config=replace(tiny.config, inlp_held_out=0.0, inlp_rounds=1000))
    narrow = {text: vector for name in GROUPS for text, vector in zip(given.rows[name], _apart(name), strict=True)}
    narrow_encoder = as_encoder(lambda texts: np.stack([narrow[text] for text in texts]))
    with pytest.raises(ValueError, match=r"INLP took out all 2 dimensions .* with --inlp_rounds"):
        baseline("inlp").fit(replace(given, original=narrow_encoder), tmp_path)


@pytest.mark.whole
def test_inlp_that_finds_nothing_is_said(tiny, tmp_path, caplog):
    """Both versions of a text have one vector: there is no group to read."""
    random = np.random.default_rng(0)
    drawn = random.normal(size=(len(tiny.rows), 32))
    same = {text: row for name in GROUPS for text, row in zip(tiny.rows[name], drawn, strict=True)}
    blind = replace(tiny, original=as_encoder(lambda texts: np.stack([same[text] for text in texts])))
    told = baseline("inlp").fit(blind, tmp_path)
    assert (told["n_directions"], told["rounds"], told["reached"]) == (0, 1, True)
    assert "nothing is taken out, and the model stays as it was" in caplog.text
    made = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode("she sings")
    assert np.allclose(made, tiny.encoder.model.encode("she sings"), atol=1e-6)


def _apart(name: str) -> np.ndarray:
    """Vectors of two dimensions in each of which the groups differ in more than the mean."""
    random = np.random.default_rng(GROUPS.index(name))
    return random.normal(size=(len(JOBS) * len(FRAMES), 2)) + (GROUPS.index(name) * 3.0)
