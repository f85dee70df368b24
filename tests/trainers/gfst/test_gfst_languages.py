"""A run of GFST on models of many languages and on prefixes: what each model is given, forwards and backwards."""

from __future__ import annotations

from collections import defaultdict

import pytest

from hf_fairness.measure.translator import translation
from hf_fairness.trainers import run_gfst
from hf_fairness.trainers.gfst import training as gfst_training
from support import gfst_world
from support.gfst_case import arguments, config
from support.real_translators import CODES, real_translator

pytestmark = pytest.mark.filterwarnings("ignore:RandST has", "ignore:.*more than .* tokens")


@pytest.fixture
def seen(monkeypatch):
    """What is encoded for training and for translating, first and last token of the first row; nothing is replaced."""
    found = defaultdict(list)
    encode_pairs, encode = gfst_training.encode_pairs, translation._encode

    def pairs(rows, model, tokenizer, *rest, **more):
        made, left_out = encode_pairs(rows, model, tokenizer, *rest, **more)
        for side in ("input_ids", "labels"):
            found[side].append(tokenizer.convert_ids_to_tokens(made[0][side]))
        return made, left_out

    def texts(tokenizer, *rest):
        made = encode(tokenizer, *rest)
        found["translated"] += [tokenizer.convert_ids_to_tokens(made[0])] if made else []
        return made

    monkeypatch.setattr(gfst_training, "encode_pairs", pairs)
    monkeypatch.setattr(translation, "_encode", texts)
    return found


def run(folder, lexicon, model, monolingual, **more):
    """As far as the first training of an initial model that is given."""
    own = arguments(lexicon, arms=["none"], model_name_or_path=str(model), **more)
    made = config(folder, max_steps=1, warmup_steps=0, save_strategy="no")
    return run_gfst(own, gfst_world.pairs(60, 0), monolingual, config=made)


@pytest.mark.parametrize("kind", ["nllb", "mbart50"])
def test_the_target_code_alone_decides_the_labels(tmp_path, lexicon, texts, seen, kind):
    real_translator(kind, tmp_path / "model")
    source, target = CODES[kind]
    run(
        tmp_path / "out", lexicon, tmp_path / "model", texts,
        target_code=target, train_initial=True, until="translate", max_candidates=5,
    )  # fmt: skip
    assert {tokens[0] for tokens in seen["input_ids"] + seen["translated"]} == {source}
    assert {tokens[0] for tokens in seen["labels"]} == {target}
    assert {tokens[-1] for tokens in seen["labels"]} == {"</s>"}


def test_a_missing_code_is_told_before_anything_is_done(tmp_path, lexicon, texts):
    real_translator("nllb", tmp_path / "model")
    with pytest.raises(ValueError, match="none was named"):
        run(tmp_path / "out", lexicon, tmp_path / "model", texts)
    italian = texts.from_dict({"text": ["Lei è la dottoressa."]})
    more = {"method": "back_translation", "reverse_model": str(tmp_path / "model"), "target_code": "ita_Latn"}
    with pytest.raises(ValueError, match="none was named"):  # the reverse model translates into the source language
        run(tmp_path / "out", lexicon, tmp_path / "model", italian, **more)
    assert not list((tmp_path / "out").glob("*/"))


def test_back_translation_turns_the_codes_and_has_its_own_prefix(tmp_path, lexicon, seen):
    italian = gfst_world.pairs(60, 5, feminine=0.5, noise=0.0).rename_column("target", "text")
    options = {"method": "back_translation", "until": "translate", "max_candidates": 5, "train_initial": True}
    real_translator("nllb", tmp_path / "nllb")
    codes = {"source_code": "eng_Latn", "target_code": "ita_Latn"}
    run(tmp_path / "one", lexicon, tmp_path / "nllb", italian, reverse_model=str(tmp_path / "nllb"), **options, **codes)
    assert {tokens[0] for tokens in seen["translated"]} == {"ita_Latn"}
    assert {tokens[0] for tokens in seen["input_ids"]} == {"eng_Latn"}
    assert {tokens[0] for tokens in seen["labels"]} == {"ita_Latn"}
    seen.clear()
    real_translator("t5", tmp_path / "t5")
    prefixes = {"prefix": "the cat: ", "reverse_prefix": "il gatto: "}
    run(tmp_path / "two", lexicon, tmp_path / "t5", italian, reverse_model=str(tmp_path / "t5"), **options, **prefixes)
    text = {name: ["".join(tokens).replace("\u2581", " ").strip() for tokens in rows] for name, rows in seen.items()}
    assert all(found.startswith("il gatto<unk>") for found in text["translated"])
    assert all(found.startswith("the cat<unk>") for found in text["input_ids"])
    assert not any(found.startswith(("il gatto", "the cat")) for found in text["labels"])
