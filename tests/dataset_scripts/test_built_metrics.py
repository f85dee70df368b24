"""Built rows are what the metrics take: each metric computes on them, and gives what published files give."""

from __future__ import annotations

import hashlib
from collections import Counter

import evaluate
import numpy as np
import pytest

import hf_fairness
from hf_fairness.dataset_scripts import load
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS
from support.dataset_cases import RAW
from support.tiny_bert import tiny_bert

FAST = {"n_bootstrap": 20}


@pytest.fixture(scope="module")
def compute(tmp_path_factory):
    """Calls a metric by name."""
    folder = str(tmp_path_factory.mktemp("metrics"))

    def call(name: str, **inputs: object) -> dict:
        return evaluate.load(hf_fairness.metric_path(name), cache_dir=folder).compute(**inputs)

    return call


def vectors(texts):
    """A vector per text that depends on the text alone."""
    seeds = (int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") for text in texts)
    return np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds]).astype(np.float32)


def test_seat(compute, cache):
    rows = load("seat", split="test", cache_dir=cache)
    chosen = [row for row in rows if row["name"] in ("6", "7b", "1")]
    found = compute("seat", model=vectors, tests=chosen, n_samples=200, **FAST)
    expected = compute("seat", model=vectors, tests=["1", "6", "7b"], n_samples=200, **FAST)
    assert found == expected
    assert set(found["tests"]) | set(found["retention"]) == {"1", "6", "7b"}


def test_winomt(compute, shared, cache):
    from hf_fairness.measure.translator.winomt_data import read_translations, read_winomt

    folder = shared / "data" / "winomt"
    translations = read_translations(folder / "translations" / "google.en-de.txt")
    rows = load("winomt", folder, split="test", cache_dir=cache)
    inputs = {"predictions": translations, "lang": "de", **FAST}
    found = compute("winomt", references=rows, **inputs)
    assert found == compute("winomt", references=read_winomt(folder / "en.txt"), **inputs)
    assert found["delta_s_accuracy"] > 0


def test_must_she(compute, cache):
    rows = load("must_she", RAW / "must_she", "en-it", split="test", cache_dir=cache)
    found = compute("must_she", predictions=list(rows["reference"]), references=rows, **FAST)
    assert (found["accuracy"], found["term_coverage"], found["delta_accuracy"]) == (1.0, 1.0, 1.0)
    assert set(found["category_genders"]) == {"1F", "2M"}


def test_crows_pairs(compute, shared, cache):
    folder = shared / "data" / "crows_pairs"
    rows = load("crows_pairs", folder, split="test", cache_dir=cache)
    scores = [[float(len(row["sent_more"])), float(len(row["sent_less"]))] for row in rows]
    found = compute("crows_pairs", references=rows, predictions=scores, **FAST)
    assert found == compute("crows_pairs", rows=str(folder / "crows_pairs_anonymized.csv"), scores=scores, **FAST)
    assert found["n"] == 1508


def test_stereoset(compute, shared, cache):
    folder = shared / "data" / "stereoset"
    rows = load("stereoset", folder, split="dev", cache_dir=cache)
    scores = {part["id"]: float(len(part["sentence"])) for row in rows for part in row["sentences"]}
    found = compute("stereoset", rows=rows, scores=scores, **FAST)
    assert found == compute("stereoset", rows=str(folder / "intrasentence_dev_part.json"), scores=scores, **FAST)
    assert (found["n"], set(found["domains"])) == (799, {"gender", "profession", "race", "religion"})


def test_stereoset_of_a_model(compute, cache):
    rows = load("stereoset", RAW / "stereoset", split="dev", cache_dir=cache)
    model, tokenizer = tiny_bert(["the", "baker", "is", "round", "slim", "seven"], "BertForMaskedLM")
    assert compute("stereoset", rows=rows, model=model, tokenizer=tokenizer, **FAST)["n"] == 2


def test_bias_ir(compute, shared, cache):
    folder = shared / "data" / "grep_biasir"
    rows = load("grep_biasir", folder, split="test", cache_dir=cache)
    found = compute("bias_ir", documents=rows, model=vectors, **FAST)
    assert found == compute("bias_ir", documents=str(folder), model=vectors, **FAST)
    scores = [float(len(row["text"]) % 7) for row in rows]
    assert compute("bias_ir", predictions=scores, references=rows, **FAST)["n"] == found["n"]


@pytest.mark.parametrize(
    ("name", "config", "split"),
    [
        ("hans", "default", "evaluation"),
        ("fever_symmetric", "v0.2", "dev"),
        ("scramble", "default", "test"),
        ("nli_adversarial", "all", "test"),
    ],
)
def test_challenge_accuracy(name, config, split, compute, request, cache):
    real = name in ("hans", "fever_symmetric")
    folder = request.getfixturevalue("shared") / "data" / name if real else RAW / name
    rows = load(name, folder, config, split=split, cache_dir=cache)
    label = rows.features["label"]
    assert tuple(label.names) == CHALLENGE_SETS[name].labels
    gold = label.int2str(rows["label"])
    found = compute("challenge_accuracy", references=rows, dataset=name, predictions=gold, **FAST)
    assert found["accuracy"] == 1.0
    assert {key: part["n"] for key, part in found["labels"].items()} == Counter(gold)
    files = {"hans": "hans_sample.tsv", "fever_symmetric": "symmetric_v0.2/fever_symmetric_dev.jsonl"}
    files |= {"scramble": "test", "nli_adversarial": "robust_nli.txt"}
    place = str(folder / files[name])
    other = compute("challenge_accuracy", references=place, dataset=name, predictions=gold, **FAST)
    assert {**found, "meta": ""} == {**other, "meta": ""}


def test_cced_and_polarity_accuracy(compute, shared, cache):
    rows = load("winogender", shared / "data" / "winogender", "variants", split="test", cache_dir=cache)
    assert compute("cced", model=vectors, variants=rows, **FAST)["n"] == 240
    found = compute("polarity_accuracy", variants=rows, **FAST)
    assert found["n_skipped"] == 0
    assert found["polarity_accuracy"] > 0.9  # pronouns of the right gender, written by the authors


def test_group_metrics(compute, shared, cache):
    rows = load("iptts", shared / "data" / "data_diet", split="test", cache_dir=cache)
    part = rows.shuffle(seed=0).select(range(2000))
    labels, groups = list(part["label"]), list(part["group"])
    rate = compute("demographic_parity", predictions=labels, groups=groups, **FAST)
    assert rate["demographic_parity_difference"] < 0.1
    for name in ("equalized_odds", "equal_opportunity"):
        found = compute(name, predictions=labels, references=labels, groups=groups, **FAST)
        assert found["equalized_odds" if name == "equalized_odds" else "equal_opportunity_1"] == 1.0


def test_counterfactual_flip(compute, shared, cache):
    rows = load("twitter_sexism", shared / "data" / "data_diet", "pairs", split="valid", cache_dir=cache)
    changed = [row for row in rows if row["text"] != row["text_counterfactual"]]
    before, after = ([" women" in f" {row[name]}" for row in changed] for name in ("text", "text_counterfactual"))
    inputs = {"predictions": list(map(int, before)), "counterfactual_predictions": list(map(int, after))}
    found = compute("counterfactual_flip", **inputs, **FAST)
    assert found["flip_rate"] == np.mean(np.array(before) != np.array(after)) > 0


def test_pairs_of_the_data_diet(shared, cache):
    from hf_fairness.measure import read_pairs

    rows = load("twitter_sexism", shared / "data" / "data_diet", "pairs", split="valid", cache_dir=cache)
    pairs = read_pairs(rows, text_column="text", label_column="label")
    assert pairs.n == 1691
    assert 0.3 < pairs.changed.mean() < 0.4


def test_bias_score(compute, shared, cache):
    rows = load("professions", shared / "data" / "wordlists", split="test", cache_dir=cache)
    texts = [row["profession"] for row in rows if " " not in row["profession"]][:40]
    words = {word: vector.tolist() for word, vector in zip(texts, vectors(texts), strict=True)}
    words |= {word: [float(sign), *[0.0] * 7] for word, sign in (("he", -1), ("she", 1))}
    assert compute("bias_score", texts=texts, model=words, **FAST)["n"] == 40


def test_sts(shared, cache):
    from hf_fairness.measure import sts

    rows = load("stsb", shared / "data" / "glue", split="dev", cache_dir=cache).select(range(100))
    assert sts(vectors, rows, n_bootstrap=20)["n"] == 100
