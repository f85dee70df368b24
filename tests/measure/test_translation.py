"""Translating many texts: the same for any batches, each text once, and never again when it is on the disk."""

from __future__ import annotations

import json
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.measure.translator.translation import TranslationConfig, length_batches, translate
from hf_fairness.trainers import GFSTConfig, train_translator
from hf_fairness.utils import FairnessWarning
from support.toy_translator import toy_model, toy_pairs, toy_rows, toy_tokenizer

SOURCES = [source for source, _ in toy_pairs()[:40]]


class Stop(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A model that has learned a little, so that it does not say the same of everything, and its tokenizer."""
    tokenizer = toy_tokenizer()
    args = GFSTConfig(
        output_dir=str(tmp_path_factory.mktemp("run")), use_cpu=True, disable_tqdm=True, max_steps=60, warmup_steps=5,
        learning_rate=5e-3, save_strategy="no", average_checkpoints=0,
    )  # fmt: skip
    return train_translator(toy_model(tokenizer), tokenizer, toy_rows(500), args)[0], tokenizer


@pytest.fixture
def sent(pair):
    """Numbers of rows that reach the model's encoder, batch by batch; `sent.limit` batches are let through."""

    class Sent(list):
        limit = None

    rows = Sent()

    def count(module, args, kwargs):
        if rows.limit is not None and len(rows) == rows.limit:
            raise Stop
        rows.append(len(kwargs["input_ids"] if "input_ids" in kwargs else args[0]))

    hook = pair[0].get_encoder().register_forward_pre_hook(count, with_kwargs=True)
    yield rows
    hook.remove()


def test_the_model_says_different_things(pair):
    assert len(set(translate(*pair, SOURCES, num_beams=1))) > 10


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"batch_size": 7}, {"batch_tokens": 30}])
def test_batches_change_nothing(pair, options):
    whole = translate(*pair, SOURCES, num_beams=3)
    mixed = list(range(len(SOURCES)))
    random.Random(1).shuffle(mixed)
    again = translate(*pair, [SOURCES[row] for row in mixed], num_beams=3, **options)
    assert again == [whole[row] for row in mixed]


@pytest.mark.parametrize("num_beams", [1, 4])
def test_it_is_what_generate_says(pair, num_beams):
    model, tokenizer = pair
    for text in SOURCES[:4]:
        with torch.inference_mode():
            output = model.generate(
                **tokenizer(text, return_tensors="pt"), num_beams=num_beams, do_sample=False, max_new_tokens=63
            )
        expected = tokenizer.decode(output[0], skip_special_tokens=True)
        assert translate(model, tokenizer, [text], num_beams=num_beams, max_new_tokens=63) == [expected]


def test_empty_texts_are_not_sent(pair, sent):
    assert translate(*pair, ["", "  \n"]) == ["", ""]
    assert translate(*pair, []) == []
    assert sent == []
    found = translate(*pair, ["", SOURCES[0], " ", SOURCES[0]], num_beams=2)
    assert found[0] == found[2] == ""
    assert found[1] == found[3] != ""
    assert sent == [1]  # the same text is sent once


def test_long_sources_are_cut_and_counted_once(pair, sent):
    long = ["the cat " * 5000, "the dog " * 40]
    with pytest.warns(FairnessWarning, match="2 of 3 texts have more than 64 tokens") as caught:
        found = translate(*pair, [*long, SOURCES[0]], num_beams=1)
    assert len(caught) == 1
    assert all(found)
    with pytest.warns(FairnessWarning, match="more than 8 tokens"):
        cut = translate(*pair, long[:1], num_beams=1, max_source_length=8)
    assert cut == translate(*pair, ["the cat " * 3 + "the"], num_beams=1)


def test_model_and_tokenizer_stay_as_they_were(pair):
    model, tokenizer = pair
    before = model.generation_config.to_dict()
    model.train()
    try:
        first = translate(model, tokenizer, SOURCES[:3])
        assert model.training
    finally:
        model.eval()
    assert model.generation_config.to_dict() == before
    assert first == translate(model, tokenizer, SOURCES[:3])


def test_a_finished_translation_is_never_made_again(pair, sent, tmp_path):
    first = translate(*pair, SOURCES, num_beams=2, cache=tmp_path)
    n = len(sent)
    assert n > 0
    assert translate(*pair, SOURCES[::-1], num_beams=2, batch_size=5, cache=tmp_path) == first[::-1]
    assert len(sent) == n
    translate(*pair, SOURCES, num_beams=1, cache=tmp_path)
    assert len(sent) > n
    n = len(sent)
    tokenizer = pair[1]
    other = translate(toy_model(tokenizer, seed=1), tokenizer, SOURCES, num_beams=2, cache=tmp_path)
    assert other != first
    written = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert SOURCES[0] not in written


def test_all_is_written_before_any_process_goes_on(pair, tmp_path, monkeypatch):
    written = []

    def gather(found):
        written.append(len(list(tmp_path.rglob("*.json"))))
        return [result for _, result in sorted(found)]

    monkeypatch.setattr("hf_fairness._processes.of_all", gather)
    translate(*pair, SOURCES, num_beams=1, cache=tmp_path)  # the first process may clear the folder away from here on
    assert written == [1]


def test_a_killed_run_goes_on(pair, sent, tmp_path, monkeypatch):
    monkeypatch.setattr("hf_fairness.measure.translator.translation_cache.CHUNK_TEXTS", 8)
    whole = translate(*pair, SOURCES, num_beams=2)
    sent.clear()
    sent.limit = 5
    with pytest.raises(Stop):
        translate(*pair, SOURCES, num_beams=2, batch_size=4, cache=tmp_path)
    assert len(list(tmp_path.rglob("*.json"))) == 2  # five batches of four: two whole chunks
    sent.clear()
    sent.limit = None
    assert translate(*pair, SOURCES, num_beams=2, batch_size=4, cache=tmp_path) == whole
    assert sum(sent) == len(SOURCES) - 16


def break_json(path):
    path.write_text(path.read_text()[:-20])


def change_a_translation(path):
    record = json.loads(path.read_text())
    key = next(iter(record["translations"]))
    record["translations"][key] = "something else"
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("damage", [break_json, change_a_translation, lambda path: path.write_text("[]")])
def test_a_damaged_cache_is_told_and_made_again(pair, tmp_path, damage):
    first = translate(*pair, SOURCES, num_beams=2, cache=tmp_path)
    (path,) = tmp_path.rglob("*.json")
    damage(path)
    with pytest.warns(FairnessWarning, match="1 file"):
        assert translate(*pair, SOURCES, num_beams=2, cache=tmp_path) == first
    assert translate(*pair, SOURCES, num_beams=2, cache=tmp_path) == first


def test_a_prefix_is_put_before_every_text(pair):
    assert translate(*pair, ["cat sees"], prefix="the ") == translate(*pair, ["the cat sees"])


@pytest.mark.parametrize(
    ("texts", "options", "error", "message"),
    [
        ("one text", {}, TypeError, "expected a list of texts"),
        (["a", None], {}, TypeError, r"texts\[1\] is a NoneType"),
        (["a", "caf\udce9"], {}, ValueError, r"texts\[1\] is not valid Unicode"),
        (["a"], {"beams": 3}, ValueError, "no option 'beams'"),
        (["a"], {"num_beams": 0}, ValueError, "num_beams is 0"),
        (["a"], {"batch_size": True}, ValueError, "batch_size is True"),
        (["a"], {"source_code": "en_XX"}, ValueError, "knows no source languages"),
        (["a"], {"target_code": "it_IT"}, ValueError, "target_code is 'it_IT'"),
    ],
)
def test_errors_name_the_fault(pair, texts, options, error, message):
    with pytest.raises(error, match=message):
        translate(*pair, texts, **options)


@pytest.fixture(scope="module")
def many_languages():
    """A random NLLB of letters."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    letters = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdefghijklmnopqrstuvwxyz"]
    tokenizer = NllbTokenizer(vocab={letter: number for number, letter in enumerate(letters)})
    config = M2M100Config(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=32, init_std=0.3,
        decoder_start_token_id=2,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return M2M100ForConditionalGeneration(config).eval(), tokenizer


def test_languages_are_named_by_their_codes(many_languages):
    model, tokenizer = many_languages
    found = {}
    for source in ("eng_Latn", "deu_Latn"):
        for target in ("ita_Latn", "fra_Latn"):
            tokenizer.src_lang = source
            inputs = tokenizer("the cat", return_tensors="pt")
            code = tokenizer.convert_tokens_to_ids(target)
            with torch.inference_mode():
                output = model.generate(**inputs, forced_bos_token_id=code, num_beams=2, max_new_tokens=12)
            assert output[0, 1] == code
            tokenizer.src_lang = "eng_Latn"
            options = {"source_code": source, "target_code": target, "num_beams": 2, "max_new_tokens": 12}
            (found[source, target],) = translate(model, tokenizer, ["the cat"], **options)
            assert found[source, target] == tokenizer.decode(output[0], skip_special_tokens=True).strip()
            assert tokenizer.src_lang == "eng_Latn"
    assert len(set(found.values())) > 1
    with pytest.raises(ValueError, match="none was named"):
        translate(model, tokenizer, ["the cat"])
    with pytest.raises(ValueError, match="source_code is 'en'"):
        translate(model, tokenizer, ["the cat"], source_code="en", target_code="ita_Latn")


def test_an_encoder_is_refused(pair):
    from transformers import BertConfig, BertModel

    encoder = BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8))
    with pytest.raises(TypeError, match="BertModel, expected an encoder-decoder"):
        translate(encoder, pair[1], ["a"])


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 3)), max_size=40), st.integers(1, 6), st.integers(1, 60))
def test_every_row_is_in_one_batch_within_the_limits(rows, batch_size, batch_tokens):
    lengths, limits = [row[0] for row in rows], [row[1] for row in rows]
    batches = length_batches(lengths, limits, TranslationConfig(batch_size=batch_size, batch_tokens=batch_tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(rows)))
    for batch in batches:
        assert len(batch) <= batch_size
        assert len({limits[row] for row in batch}) == 1
        assert len(batch) == 1 or max(lengths[row] for row in batch) * len(batch) <= batch_tokens
