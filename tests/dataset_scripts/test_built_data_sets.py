"""Every builder on raw files in its source's layout: rows, types, ids, streams, the cache."""

from __future__ import annotations

import pickle
import subprocess
import sys

import datasets
import pytest

from hf_fairness.dataset_scripts import available, builder_class, load
from hf_fairness.dataset_scripts._base import RawDataset
from support.dataset_cases import CASES, RAW

#: Of each data set one row of the fixtures, without its id.
ROWS = {
    "crows_pairs": {
        "sent_more": "The old man, again, forgot.",
        "sent_less": "The young man, again, forgot.",
        "stereo_antistereo": 0,
        "bias_type": 5,
        "annotations": "[['age']]",
    },
    "fever": {"premise": "Bread is a staple food .", "hypothesis": "Bread is food .", "label": 0, "claim_id": "7"},
    "fever_symmetric": {
        "premise": "Ovens bake bread .",
        "hypothesis": "Bread is baked .",
        "pair": "8 Bread is baked .",
        "cluster": "8",
        "label": 0,
    },
    "glue4": {"sentence1": "A", "sentence2": "B", "label": 0},
    "hans": {
        "premise": "The baker and the clerk slept .",
        "hypothesis": "The baker slept .",
        "heuristic": "lexical_overlap",
        "subcase": "le_conj",
        "cluster": "t1",
        "label": 0,
    },
    "iptts": {"text": "hate women, now", "group": "female", "label": 1},
    "multinli": {
        "premise": "A baker sells bread.",
        "hypothesis": "Someone sells food.",
        "label": 0,
        "genre": "travel",
        "prompt_id": "q1",
    },
    "must_she": {
        "source": "I was alone.",
        "reference": "Ero sola.",
        "wrong_reference": "Ero solo.",
        "speaker_gender": "She",
        "category": "1F",
        "gender_terms": "sola solo",
    },
    "news_commentary": {"source": "Bread is good.", "target": "Brot ist gut."},
    "professions": {"profession": "accountant", "definitional": 0.0, "stereotypical": 0.4},
    "sick": {
        "premise": "A man bakes",
        "hypothesis": "A person bakes",
        "label": 0,
        "score": 4.7,
    },
    "stsb": {
        "sentence1": 'A man says "hi',
        "sentence2": "A man greets",
        "score": 4.5,
        "genre": "main-captions",
        "file": "MSRvid",
        "year": "2012test",
    },
    "twitter_sexism": {"text": "A quiet day, at last", "text_counterfactual": "A quiet day, at last", "label": 0},
    "wikipedia_toxicity": {
        "text": "Thanks.\nSee you.",
        "label": 0,
        "toxicity": 0.0,
        "n_annotators": 3,
        "year": 2002,
        "logged_in": True,
        "namespace": "article",
        "sample": "random",
    },
    "winomt": {
        "gender": 1,
        "target_index": 1,
        "sentence": "The baker thanked the clerk because she was kind.",
        "profession": "baker",
        "stereotype": "anti",
    },
}


def test_the_data_sets_of_the_papers():
    assert available() == (
        *("crows_pairs", "fever", "fever_symmetric", "glue4", "grep_biasir", "hans", "iptts"),
        *("jigsaw_unintended_bias", "multinli", "must_she", "news_commentary", "nli_adversarial", "professions"),
        *("scramble", "seat", "sick", "snli", "stereoset", "stsb", "twitter_sexism", "wikipedia_toxicity"),
        *("winogender", "winomt"),
    )
    assert set(CASES) == set(available()) - {"seat"}
    with pytest.raises(ValueError, match="Did you mean 'winomt'"):
        builder_class("winmt")
    with pytest.raises(ValueError, match=r"WinoMT has no configuration 'both'\. Known: all, pro, anti"):
        load("winomt", RAW / "winomt", config="both")


def test_listing_imports_no_builder():
    code = (
        "import sys; from hf_fairness.dataset_scripts import available; available(); print('datasets' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("name", CASES)
def test_rows_of_every_builder(name, cache):
    case = CASES[name]
    built = load(name, RAW / name, config=case.config, cache_dir=cache)
    streamed = load(name, RAW / name, config=case.config, streaming=True, cache_dir=cache)
    about = builder_class(name).about
    assert {split: len(rows) for split, rows in built.items()} == case.rows
    for split, rows in built.items():
        assert rows.to_list() == list(streamed[split])
        assert streamed[split].features == rows.features
        assert list(rows.features) == list(about.columns_of(case.config))
        assert len(set(rows[about.id_column])) == len(rows)
        for column in rows.features:
            assert all(value is not None and value != [] for value in rows[column])
    if name in ROWS:
        first = dict(next(iter(built.values()))[0])
        assert isinstance(first.pop("id"), str)
        assert first == ROWS[name]


@pytest.mark.parametrize("name", [*CASES, "seat"])
def test_descriptions_are_whole(name):
    about = builder_class(name).about
    for text in (about.title, about.summary, about.homepage, about.licence, about.citation):
        assert text.strip()
    assert about.homepage.startswith("https://")
    assert about.citation.startswith("@")
    assert about.defects
    assert about.prohibited
    assert about.licence != "other" or about.licence_note
    for config in about.configs:
        columns = about.columns_of(config)
        assert next(iter(columns)) == about.id_column
        assert all(column.about for column in columns.values())
    raws = [raw for config in about.configs.values() for raw in config.raws()]
    assert all(len(raw.sha256) == 64 for raw in raws if raw.sha256)
    if any(raw.url is None for raw in raws):
        assert about.obtain


@pytest.mark.parametrize("name", ["winomt", "stereoset", "seat"])
def test_a_stream_pickles(name):
    data_dir = None if name == "seat" else RAW / name
    config = "6" if name == "seat" else None
    stream = load(name, data_dir, config=config, streaming=True)
    split = next(iter(stream))
    assert list(pickle.loads(pickle.dumps(stream[split]))) == list(stream[split])


def test_one_split_and_one_file(cache):
    file = RAW / "hans" / "heuristics_train_set.txt"
    rows = load("hans", file, split="train", cache_dir=cache)
    assert rows[0]["id"] == "ex0"
    assert list(load("hans", file, cache_dir=cache)) == ["train"]


def test_a_changed_raw_file_is_built_anew(raw_copy, cache):
    folder = raw_copy("professions")
    before = load("professions", folder, split="test", cache_dir=cache)
    assert load("professions", folder, split="test", cache_dir=cache)._fingerprint == before._fingerprint
    file = folder / "professions.json"
    file.write_text(file.read_text().replace("0.4", "0.7"))
    after = load("professions", folder, split="test", cache_dir=cache)
    assert (before["stereotypical"][0], after["stereotypical"][0]) == (0.4, 0.7)


def test_another_version_of_a_builder_is_built_anew(raw_copy, cache, monkeypatch):
    import dataclasses

    kind, folder = builder_class("professions"), raw_copy("professions")
    first = kind(data_dir=folder, cache_dir=cache)
    monkeypatch.setattr(kind, "about", dataclasses.replace(kind.about, version="1.0.1"))
    assert kind(data_dir=folder, cache_dir=cache).cache_dir != first.cache_dir


def test_winomt_subsets(cache):
    everything, pro, anti = (
        load("winomt", RAW / "winomt", config, split="test", cache_dir=cache) for config in ("all", "pro", "anti")
    )
    assert everything["stereotype"] == ["anti", "anti", "pro", "pro", ""]
    for name, subset in (("pro", pro), ("anti", anti)):
        rows = [{**row, "id": ""} for row in everything if row["stereotype"] == name]
        assert [{**row, "id": ""} for row in subset] == rows


def test_winogender_variants(cache):
    rows = load("winogender", RAW / "winogender", "variants", split="test", cache_dir=cache)
    assert rows[0] == {
        "id": "baker.buyer.0",
        "male": "The baker told the buyer that he could rest.",
        "female": "The baker told the buyer that she could rest.",
        "neutral": "The baker told the buyer that they could rest.",
        "has_terms": True,
        "frame": "baker.0",
    }
    assert rows["frame"] == ["baker.0", "baker.0", "baker.1", "baker.1"]
    sentences = load("winogender", RAW / "winogender", split="test", cache_dir=cache)
    assert sentences[4] == {
        "id": "baker.someone.0.female",
        "sentence": "The baker told someone that she could rest.",
        "gender": 1,
        "occupation": "baker",
        "participant": "someone",
        "answer": 0,
        "bls_pct_female": 55.2,
        "bergsma_pct_female": 30.5,
    }


def test_stereoset_labels(cache):
    for config in ("intrasentence", "intersentence"):
        rows = load("stereoset", RAW / "stereoset", config, split="dev", cache_dir=cache)
        assert isinstance(rows.features["sentences"], datasets.List)
        label = rows.features["sentences"].feature["gold_label"]
        assert label.names == ["anti-stereotype", "stereotype", "unrelated"]  # the order of the Hub's copy
        found = {label.int2str(s["gold_label"]): s["sentence"] for s in rows[0]["sentences"]}
        if config == "intrasentence":
            assert found == {
                "stereotype": "The baker is round.",
                "anti-stereotype": "The baker is slim.",
                "unrelated": "The baker is seven.",
            }
        votes = rows.features["sentences"].feature["labels"].feature
        assert [votes.int2str(vote) for vote in rows[0]["sentences"][0]["labels"]] == ["related", "stereotype"]


def test_rows_without_label(cache):
    rows = load("snli", RAW / "snli", split="dev", cache_dir=cache)
    assert rows["label"] == [0, -1, 2]
    assert rows.features["label"].names == ["entailment", "neutral", "contradiction"]


def test_splits_from_a_column(raw_copy, cache):
    folder = raw_copy("sick")
    file = folder / "SICK.txt"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if "TRIAL" not in line))
    assert list(load("sick", folder, cache_dir=cache)) == ["train", "test"]


def test_other_configurations(cache):
    claims = load("fever", RAW / "fever", "claims", cache_dir=cache)
    assert claims["train"]["evidence"] == ['[[["Bread", 0]], [["Food", 4]]]', "[]"]
    assert claims["dev"].features["label"].names == ["supports", "refutes", "not enough info"]
    sets = {
        config: load("nli_adversarial", RAW / "nli_adversarial", config, split="test", cache_dir=cache)
        for config in builder_class("nli_adversarial").about.configs
    }
    assert {config: len(rows) for config, rows in sets.items()} == {
        **{"all": 8, "pi-cd": 1, "pi-sp": 1, "is-sd": 1, "is-cs": 1, "li-li": 1, "li-ts": 1, "st": 2}
    }
    assert sets["st"]["id"] == ["6", "7"]  # ids are those of the whole file
    tweets = load("twitter_sexism", RAW / "twitter_sexism", "original", cache_dir=cache)
    assert list(tweets) == ["train", "valid", "test"]
    jigsaw = load("jigsaw_unintended_bias", RAW / "jigsaw_unintended_bias", split="train", cache_dir=cache)
    assert (jigsaw["identity_annotated"], jigsaw["male"], jigsaw["label"]) == ([False, True], [0.0, 1.0], [0, 1])
    assert jigsaw["text"][0] == "A calm, short comment."


def test_compressed_files(raw_copy, cache):
    import gzip

    folder = raw_copy("news_commentary")
    (file,) = folder.iterdir()
    plain = load("news_commentary", folder, "en-de", split="train", cache_dir=cache)
    file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    assert load("news_commentary", folder, "en-de", split="train", cache_dir=cache).to_list() == plain.to_list()
    assert plain["id"] == ["train-0", "train-2"]


def test_every_builder_is_a_builder_of_datasets():
    for name in available():
        kind = builder_class(name)
        assert issubclass(kind, datasets.GeneratorBasedBuilder)
        assert kind.__module__ == f"hf_fairness.dataset_scripts.{name}"  # the name of its cache
        assert kind.__base__ is RawDataset
