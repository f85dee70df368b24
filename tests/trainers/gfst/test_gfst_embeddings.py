"""The arms +HD and early stop of GFST: what is changed, what is left as it was, and what the report says of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_fairness.erasure import DebiasWords, check_words
from hf_fairness.trainers import GFSTArguments, run_gfst
from hf_fairness.trainers.gfst.embeddings import debias_encoder
from support import gfst_world
from support.gfst_case import arguments, config
from support.toy_translator import toy_model, toy_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:fast_align learned to align")
WORDS = DebiasWords((("cat", "dog"), ("boss", "king")), (("nurse", "boss"),), frozenset({"child"}))


def sides(model):
    """Matrices of encoder, decoder and output."""
    inputs = [part.get_input_embeddings().weight for part in (model.get_encoder(), model.get_decoder())]
    return [weight.detach().clone() for weight in (*inputs, model.get_output_embeddings().weight)]


def test_the_encoder_alone_is_debiased():
    tokenizer = toy_tokenizer()
    model = toy_model(tokenizer)
    old = sides(model)
    made, told = debias_encoder(model, tokenizer, WORDS)
    encoder, *rest = sides(made)
    assert all(torch.equal(*pair) for pair in zip(rest, old[1:], strict=True))
    assert told["definitional sets found"] == "1 of 2 (not whole tokens: boss/king)"
    assert told["sets equalised"] == "1 of 1"
    ids = {word: tokenizer(f"the {word}")["input_ids"][1] for word in ("cat", "dog", "nurse", "boss", "child", "sees")}
    units = torch.nn.functional.normalize(old[0].double())
    direction = torch.nn.functional.normalize(units[ids["cat"]] - units[ids["dog"]], dim=0)
    assert abs(old[0][ids["sees"]].double() @ direction) > 1e-3
    assert abs(encoder[ids["sees"]].double() @ direction) < 1e-6  # section 6 of Bolukbasi et al.: neutral words
    assert torch.equal(encoder[ids["child"]], old[0][ids["child"]])
    made_units = torch.nn.functional.normalize(encoder.double())
    near = [made_units[ids["sees"]] @ made_units[ids[word]] for word in ("nurse", "boss")]
    assert near[0].item() == pytest.approx(near[1].item(), abs=1e-6)  # equalised: as far from any neutral word


def test_a_tokenizer_without_the_words_is_refused():
    with pytest.raises(ValueError, match=r"splits a word of every one of the 1 definitional sets \(he/she"):
        check_words(toy_tokenizer(), DebiasWords((("he", "she"),)))


def test_words_without_an_arm_are_refused():
    with pytest.raises(ValueError, match="--hd_words is for the arms hd and gfst_hd"):
        GFSTArguments(hd_words="lists")


@pytest.mark.whole
def test_the_arms_stand_beside_what_they_are_made_of(gfst, tmp_path, initial):
    report = gfst(arms=["hd", "gfst_hd"], max_pairs=30)
    assert list(report["arms"]) == ["baseline", "gfst", "control", "hd", "gfst_hd"]
    pairs = {"gfst - baseline", "gfst - control", "gfst - hd", "hd - baseline", "gfst_hd - gfst"}
    assert set(report["comparisons"]["winomt"]) == pairs
    for name, trained in {"hd": initial, "gfst_hd": str(tmp_path / "out" / "train_gfst" / "model")}.items():
        found = sides(AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out" / f"train_{name}" / "model"))
        was = sides(AutoModelForSeq2SeqLM.from_pretrained(trained))
        assert not torch.equal(found[0], was[0])
        assert torch.equal(found[1], was[1])
        tokenizer = AutoTokenizer.from_pretrained(trained)
        he, she, tired = (tokenizer(word)["input_ids"][0] for word in ("he", "she", "tired"))
        units = [torch.nn.functional.normalize(each[0].double()) for each in (was, found)]
        gaps = [abs(each[tired] @ (each[he] - each[she])).item() for each in units]
        assert gaps[1] < 1e-6 < gaps[0]
        assert report["arms"][name]["definitional sets found"].startswith("1 of ")
    assert report["arms"]["gfst_hd"]["starts_from"] == "GFST"
    written = report["files"]["markdown"].read_text()
    assert "GFST +HD" in written
    assert "baseline +HD" in written
    again = gfst(arms=["hd", "gfst_hd"], max_pairs=30)
    assert again["results"] == report["results"]


@pytest.mark.whole
def test_arms_stop_by_validation_and_the_control_takes_their_steps(run_in, lexicon, tmp_path):
    validation = gfst_world.pairs(40, 8)
    settings = {"max_steps": 40, "eval_strategy": "steps", "eval_steps": 2, "early_stopping_patience": 1}
    given = {"winomt_rows": None, "arms": ["female"], "max_pairs": 30, "finetune_learning_rate": 1.0, "until": "train"}
    found = {}
    for stops in (False, True):
        out = tmp_path / str(stops)
        found[stops] = run_in(out, settings=settings, stop_arms_early=stops, validation=validation, **given)["arms"]
    assert {name: found[False][name]["steps"] for name in ("gfst", "control", "female")} == {
        "gfst": 40, "control": 40, "female": 20
    }  # fmt: skip
    gfst = found[True]["gfst"]
    assert gfst["history"]["stopped_early"]
    assert gfst["steps"] < 40
    assert found[True]["control"]["steps"] == gfst["steps"]
    assert "ended" not in found[True]["control"]
    losses = [each["loss"] for each in gfst["history"]["eval"]]
    assert losses[-1] >= min(losses[:-1])
    best = 2 * (1 + int(np.argmin(losses)))
    assert gfst["ended"] == f"stopped by the validation loss, lowest after step {best}"
    assert all("ended" not in arm for arm in found[False].values())


@pytest.mark.whole
def test_from_scratch_the_steps_are_the_most_and_validation_ends_them(lexicon, parallel, texts, tmp_path):
    own = arguments(lexicon, arms=["none"], max_pairs=30, until="train", stop_arms_early=True)
    settings = {"max_steps": 120, "eval_strategy": "steps", "eval_steps": 60, "early_stopping_patience": 2}
    made = config(tmp_path / "out", **settings)
    found = run_gfst(own, parallel, texts, config=made, validation=gfst_world.pairs(40, 8))["arms"]
    assert {name: arm["steps"] for name, arm in found.items()} == {"baseline": 120, "gfst": 120, "control": 120}
    assert found["gfst"]["starts_from"] == "new weights"
    assert all(found[name]["ended"].startswith("all steps") for name in ("baseline", "gfst"))
    assert "ended" not in found["control"]
