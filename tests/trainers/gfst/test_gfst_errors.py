"""What the GFST recipe says where it cannot go on: data, language, tagger, model, too few pairs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from datasets import Dataset

from hf_fairness.filters import TooFewPairsError
from hf_fairness.trainers import GFSTArguments, run_gfst
from hf_fairness.trainers.gfst.checks import check_translator
from support import gfst_world
from support.gfst_case import arguments, config
from support.toy_translator import toy_model, toy_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:fast_align learned to align")


def test_too_few_pairs_say_which_reasons_dropped_them(gfst, tmp_path):
    """A model that never writes feminine forms yields no pairs: that is said, and what was made stays."""
    only_male = Dataset.from_dict({"text": ["The doctor says that he is tired here."] * 60})
    with pytest.raises(
        TooFewPairsError,
        match=r"kept 0 of 0 texts \(female\), fewer than minimum=5: .*Give more text",
    ):
        gfst(monolingual=only_male)
    with pytest.raises(TooFewPairsError, match=r"(?s)female.*opposite_gender.*cannot invent") as caught:
        gfst(out="few", min_pairs=140)
    assert caught.value.summary["by_gender"]["female"]["reasons"]["opposite_gender"] > 0
    assert (tmp_path / "few" / "filter_target" / "README.md").is_file()
    assert not (tmp_path / "few" / "train_gfst").exists()


def test_a_run_that_ends_with_the_filter_needs_pairs_too(gfst, tmp_path, lexicon):
    """Nothing is feminine by this table: no pair is kept, the reasons are on disk, and a second call says so again."""
    masculine = tmp_path / "masculine.tsv"
    lines = Path(lexicon).read_text("utf-8").splitlines()
    masculine.write_text("\n".join(line.replace("FEM", "MASC") for line in lines), "utf-8")
    for _ in range(2):
        with pytest.raises(TooFewPairsError, match=r"kept 0 of \d+ pairs \(female\).*opposite_gender"):
            gfst(lexicon=str(masculine), until="filter_target")
    assert (tmp_path / "out" / "filter_target" / "README.md").is_file()
    with pytest.raises(TooFewPairsError, match=r"kept 0 of 0 texts \(female\), fewer than minimum=1"):
        gfst(monolingual=Dataset.from_dict({"text": ["He sings."]}), out="source", until="filter_source")


@pytest.mark.parametrize("missing", ["sacrebleu", "matplotlib", "systran_align"])
def test_what_the_last_stages_need_is_looked_for_first(gfst, tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"{missing} is not installed\. Install it with: pip install"):
        gfst(test=gfst_world.pairs(5, 9), aligner="systran")
    assert not (tmp_path / "out").exists()
    if missing != "matplotlib":  # an earlier stage needs none of them
        gfst(until="filter_source")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_lang": "xx", "lexicon": None}, "No tagger for lang='xx'"),
        ({"target_lang": "it", "lexicon": None, "tagger": "magic"}, "No tagger of kind 'magic'"),
        ({"lexicon": "nowhere.tsv"}, "nowhere.tsv does not exist"),
        ({"target_lang": None}, "--target_lang is missing"),
        ({"model_name_or_path": "/nowhere/model"}, "/nowhere/model does not open"),
        ({"arms": ["feminine"]}, "--arms: unknown arm 'feminine'. Arms: randst, no_target_filter, male, female"),
        ({"method": "back_translation"}, "with --reverse_model"),
        ({"train": None}, "no parallel data"),
        ({"monolingual": None}, "no monolingual text"),
        ({"attribute": "religion", "arms": []}, "pronoun"),
        ({"source_code": "en_XX", "target_code": "it_IT"}, "language"),
    ],
)
def test_what_is_missing_is_named(gfst, settings, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        gfst(**settings)


def test_words_and_validation_that_an_arm_needs_are_looked_for_first(gfst, tmp_path):
    (tmp_path / "definitional_pairs.json").write_text('[["king", "queen"]]')
    with pytest.raises(ValueError, match="king/queen"):
        gfst(arms=["gfst_hd"], hd_words=str(tmp_path))
    with pytest.raises(ValueError, match=r"has no definitional_pairs\.json"):
        gfst(arms=["hd"], hd_words=str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="--stop_arms_early asks the validation loss"):
        gfst(stop_arms_early=True)
    assert not (tmp_path / "out").exists()


def test_a_model_that_does_not_translate_is_refused(gfst, tmp_path):
    from support.tiny_bert import save_tiny_bert

    with pytest.raises(ValueError, match=r"does not open as a translator \(an encoder-decoder\): it is a bert"):
        gfst(model_name_or_path=save_tiny_bert(tmp_path / "bert", ["she", "he"]))


def test_the_check_of_a_named_model_reads_no_weights(tmp_path):
    tokenizer = toy_tokenizer()
    toy_model(tokenizer).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert check_translator(str(tmp_path), None, None).get_vocab() == tokenizer.get_vocab()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"src": ["a"], "target": ["b"]}, "train has no column 'source'; its text columns are src, target"),
        ({"source": [1], "target": ["b"]}, "holds int64, not texts"),
        ({"source": [""], "target": ["b"]}, r"kept 0 of 1 parallel pairs .*: empty 1\. Give pairs that can be used"),
    ],
)
def test_wrong_pairs_are_refused(tmp_path, texts, lexicon, rows, message):
    with pytest.raises(ValueError, match=message):
        run_gfst(arguments(lexicon, until="parallel"), Dataset.from_dict(rows), texts, config=config(tmp_path))


def test_the_first_pairs_are_used_where_so_many_are_asked_for(tmp_path, lexicon, texts, parallel):
    own = arguments(lexicon, until="parallel", max_rows=50)
    found = run_gfst(own, parallel, texts, config=config(tmp_path))
    assert found["data"]["parallel"]["n"] == 50


def test_missing_cells_count_as_empty(tmp_path, lexicon, texts):
    rows = Dataset.from_dict({"source": ["He sings.", None], "target": ["Canta.", "Piove."]})
    found = run_gfst(arguments(lexicon, until="parallel"), rows, texts, config=config(tmp_path))
    assert found["data"]["parallel"]["reasons"] == {"empty": 1}
    assert found["data"]["parallel"]["sources_by_gender"]["male"] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "retrian"}, "method is 'retrian'"),
        ({"until": "middle"}, "expected a stage"),
        ({"min_pairs": 0}, "min_pairs is 0"),
        ({"max_pairs": 3, "min_pairs": 4}, "at least --min_pairs"),
        ({"tagger": "spacy", "lexicon": "x.tsv"}, "give one of them"),
        ({"train_initial": False}, "needs a model"),
        ({"text_column": ["text"]}, "Name them with --source_column and --target_column"),
        ({"max_rows": 0}, "max_rows is 0"),
    ],
)
def test_arguments_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        GFSTArguments(**settings)
