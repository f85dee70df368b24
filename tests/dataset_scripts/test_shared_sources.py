"""Every builder whose source is at hand, on the real files: rows, checksums, subsets, counts, reference sets."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest

from hf_fairness.dataset_scripts import builder_class, load

SOURCES = [
    ("crows_pairs", "crows_pairs", "default", {"test": 1508}),
    ("fever_symmetric", "fever_symmetric", "v0.1", {"generated": 717, "full": 956}),
    ("fever_symmetric", "fever_symmetric", "v0.2", {"dev": 708, "test": 712}),
    ("glue4", "glue", "mrpc", {"train": 3667, "dev": 408}),
    ("glue4", "glue", "rte", {"train": 2490, "dev": 277}),
    ("glue4", "glue", "sst2", {"train": 67349, "dev": 872}),
    ("glue4", "glue", "wnli", {"train": 635, "dev": 71}),
    ("grep_biasir", "grep_biasir", "default", {"test": 468}),
    ("hans", "hans", "default", {"evaluation": 6000}),
    ("iptts", "data_diet", "default", {"test": 76497}),
    ("professions", "wordlists", "default", {"test": 320}),
    ("sick", "sick", "default", {"train": 4439, "trial": 495}),
    ("snli", "snli", "default", {"dev": 1289}),
    ("stereoset", "stereoset", "intrasentence", {"dev": 799}),
    ("stsb", "glue", "default", {"train": 5749, "dev": 1500}),
    ("twitter_sexism", "data_diet", "original", {"train": 13525, "valid": 1691, "test": 1691}),
    ("twitter_sexism", "data_diet", "pairs", {"train": 13525, "valid": 1691}),
    ("winogender", "winogender", "sentences", {"test": 720}),
    ("winogender", "winogender", "variants", {"test": 240}),
    ("winomt", "winomt", "all", {"test": 3888}),
    ("winomt", "winomt", "anti", {"test": 1584}),
    ("winomt", "winomt", "pro", {"test": 1584}),
]
#: Parts, samples or other layouts of published files, which have no checksum.
UNPINNED = {"hans", "sick", "snli", "stereoset"}


@pytest.mark.parametrize(("name", "folder", "config", "counts"), SOURCES)
def test_real_sources(name, folder, config, counts, shared, cache):
    kind = builder_class(name)
    builder = kind(config_name=config, data_dir=shared / "data" / folder, cache_dir=cache)
    builder.download_and_prepare()
    built = builder.as_dataset()
    assert {split: len(rows) for split, rows in built.items()} == counts
    stream = builder.as_streaming_dataset()
    for split, rows in built.items():
        assert list(itertools.islice(stream[split], 300)) == rows.select(range(min(300, len(rows)))).to_list()
        assert all(rows.data.column(column).null_count == 0 for column in rows.features)
    pins = {raw.name: raw.sha256 for raw in kind.about.configs[config].raws()}
    found = {file.split("/")[-1]: entry["checksum"] for file, entry in builder.info.download_checksums.items()}
    if name in UNPINNED:
        assert not any(pins.values())
    elif name not in ("glue4", "stsb"):  # whose splits have one name in every task
        assert found == {file: digest for file, digest in pins.items() if file in found}
    else:
        assert set(found.values()) <= {raw.sha256 for raw in kind.about.configs[config].raws()}


def test_winomt_subsets_are_the_published_ones(shared, cache):
    folder = shared / "data" / "winomt"
    rows = load("winomt", folder, split="test", cache_dir=cache)
    assert Counter(rows["stereotype"]) == {"pro": 1584, "anti": 1584, "": 720}
    gender = rows.features["gender"].int2str
    for name in ("pro", "anti"):
        lines = (folder / f"en_{name}.txt").read_text(encoding="utf-8").splitlines()
        subset = load("winomt", folder, name, split="test", cache_dir=cache)
        for made in (subset, rows.filter(lambda row, name=name: row["stereotype"] == name)):
            texts = [
                f"{gender(row['gender'])}\t{row['target_index']}\t{row['sentence']}\t{row['profession']}"
                for row in made
            ]
            assert Counter(texts) == Counter(lines)
        assert set(subset["stereotype"]) == {name}


def test_hans_counts_per_sub_case(shared, cache):
    rows = load("hans", shared / "data" / "hans", split="evaluation", cache_dir=cache)
    cells = Counter(zip(rows["heuristic"], rows["subcase"], rows["label"], strict=True))
    assert len(cells) == 30
    assert set(cells.values()) == {200}
    assert set(Counter(zip(rows["heuristic"], rows["label"], strict=True)).values()) == {1000}
    assert rows.features["label"].names == ["entailment", "non-entailment"]


def test_seat_equals_the_reference_sets(shared, cache):
    sentences, words = (
        {row["name"]: row for row in load("seat", config=config, split="test", cache_dir=cache)}
        for config in ("sentences", "words")
    )
    compared = 0
    for file in sorted((shared / "data" / "seat").glob("*.jsonl")):
        name = file.stem.removeprefix("sent-")
        rows, key = (sentences, name.removeprefix("weat")) if file.stem.startswith("sent-") else (words, name)
        key = key.removeprefix("heilman_double_bind_")
        if rows is words and not key.startswith("weat"):
            key = f"weat{key}"
        if key not in rows:
            assert file.stem.startswith("heilman_double_bind_")  # vignettes are texts of an experiment, not generated
            continue
        try:
            reference = json.loads(file.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            assert file.name == "weat7b.jsonl"  # published cut off
            continue
        for role in ("targ1", "targ2", "attr1", "attr2"):
            assert rows[key][role]["examples"] == reference[role]["examples"], (file.name, role)
            assert len(rows[key][role]["clusters"]) == len(reference[role]["examples"])
        compared += 1
    assert compared >= 38


def test_stereoset_labels_are_those_of_the_file(shared, cache):
    folder = shared / "data" / "stereoset"
    items = json.loads((folder / "intrasentence_dev_part.json").read_text(encoding="utf-8"))
    rows = load("stereoset", folder, split="dev", cache_dir=cache)
    label = rows.features["sentences"].feature["gold_label"].int2str
    vote = rows.features["sentences"].feature["labels"].feature.int2str
    assert Counter(rows.features["bias_type"].int2str(rows["bias_type"])) == Counter(i["bias_type"] for i in items)
    for row, item in zip(rows, items, strict=True):
        for made, given in zip(row["sentences"], item["sentences"], strict=True):
            assert (made["id"], label(made["gold_label"])) == (given["id"], given["gold_label"])
            assert [vote(number) for number in made["labels"]] == [one["label"] for one in given["labels"]]


def test_labels_of_classification_tasks(shared, cache):
    sick = load("sick", shared / "data" / "sick", cache_dir=cache)
    names = sick["train"].features["label"].int2str
    counts = Counter(names(label) for part in sick.values() for label in part["label"])
    assert counts == {"neutral": 2805, "entailment": 1417, "contradiction": 712}
    snli = load("snli", shared / "data" / "snli", split="dev", cache_dir=cache)
    assert Counter(snli["label"]) == {0: 433, 1: 421, 2: 419, -1: 16}
    groups = load("iptts", shared / "data" / "data_diet", split="test", cache_dir=cache)
    assert Counter(zip(groups["group"], groups["label"], strict=True)) == {
        **{("male", 0): 19341, ("male", 1): 19314, ("female", 0): 18902, ("female", 1): 18940}
    }
    pairs = load("twitter_sexism", shared / "data" / "data_diet", "pairs", split="valid", cache_dir=cache)
    changed = sum(row["text"] != row["text_counterfactual"] for row in pairs)
    assert 0.3 < changed / len(pairs) < 0.4
