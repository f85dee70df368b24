"""SNLI and SICK refined as in Dolci et al. 2023, section 4: real sentences, the bias score of the real MiniLM."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest
from datasets import ClassLabel, Dataset

from hf_fairness.measure.encoder.bias_direction import bias_direction
from hf_fairness.measure.encoder.bias_score import BiasScore
from hf_fairness.refine import PERCENTILES, compensate, describe, random_subtract, replace, split, subtract
from hf_fairness.report import refinement_figure, save_figure

pytestmark = pytest.mark.whole

LABELS = ["entailment", "neutral", "contradiction"]


def snli(shared) -> Dataset:
    lines = (shared / "data" / "snli" / "snli_1.0_dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["gold_label"] in LABELS]
    return Dataset.from_list(
        [{"first": row["sentence1"], "second": row["sentence2"], "label": row["gold_label"]} for row in rows]
    )


def sick(shared) -> Dataset:
    """Every third pair."""
    with (shared / "data" / "sick" / "sick_train_trial.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))[::3]
    columns = {"first": "sentence_A", "second": "sentence_B", "label": "entailment_label"}
    return Dataset.from_list(
        [{new: row[old].lower() if new == "label" else row[old] for new, old in columns.items()} for row in rows]
    )


TEXTS = ("first", "second")
SCORES = tuple(f"{name}_bias_absolute" for name in TEXTS)


@pytest.fixture(scope="module")
def score(shared, minilm) -> BiasScore:
    """Along a direction of 150 news sentences and their swapped versions."""
    news = (shared / "data" / "gfst" / "news.2016.MALE.BT.en-de.en").read_text(encoding="utf-8").splitlines()
    return BiasScore(TEXTS, minilm, direction=bias_direction(minilm, texts=news[:150]))


@pytest.fixture(scope="module", params=[snli, sick], ids=["SNLI", "SICK"])
def corpus(request, shared, score) -> Dataset:
    rows = request.param(shared).cast_column("label", ClassLabel(names=LABELS))
    return rows.map(score, batched=True, batch_size=len(rows))  # one batch: each distinct sentence is read once


def test_a_corpus_is_refined_at_the_percentiles_of_the_paper(corpus, tmp_path):
    found = describe(corpus, score_columns=SCORES, text_columns=TEXTS)
    levels = found["percentiles"]
    assert [level["percentile"] for level in levels] == list(PERCENTILES)
    greatest = found["max"]
    for level in levels:
        options = {"percentile": level["percentile"], "score_columns": SCORES}
        sub = subtract(corpus, **options)
        assert len(sub) == len(corpus) - level["n_above"]
        assert abs(level["share_above"] - (1 - level["percentile"] / 100)) < 0.002
        after = describe(corpus, sub, score_columns=SCORES)["refined"]
        assert after["max"] == level["max_kept"] <= level["threshold"] < greatest
        aug = compensate(corpus, text_columns=TEXTS, **options)
        assert len(aug) == len(corpus) + level["n_added"]
        assert len(replace(corpus, text_columns=TEXTS, **options)) == len(sub) + level["n_added"]
        assert len(random_subtract(corpus, like=sub)) == len(sub)
        assert aug.features["label"] == corpus.features["label"]

    at95 = levels[PERCENTILES.index(95)]
    assert at95["max_kept"] < 0.6 * greatest  # the paper, on the whole of SNLI: .1498 -> .0756
    assert 0.4 < at95["share_duplicated"] < 0.9  # the paper: around .6
    assert at95["n_without_terms"] > 0

    path = save_figure(refinement_figure(found), tmp_path / "histogram.svg")
    picture = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    lines = [e.get("id") for e in picture.iter() if "threshold-" in e.get("id", "")]
    assert [name.rpartition("-")[2] for name in lines] == ["90", "93", "95", "97"]


def test_added_pairs_say_the_same_of_the_other_group(corpus):
    aug = compensate(corpus, percentile=90, score_columns=SCORES, text_columns=TEXTS)
    added = aug.select(range(len(corpus), len(aug)))
    assert len(added) > 20
    for row in added:
        source = corpus[row["source_row"]]
        assert row["label"] == source["label"]
        assert (row["first"], row["second"]) != (source["first"], source["second"])
    groups = describe(corpus, aug, score_columns=SCORES, text_columns=TEXTS)
    gap = [abs(found["male"] - found["female"]) for found in (groups["groups"], groups["refined"]["groups"])]
    assert gap[0] > 100  # more rows speak of men; the high scores are of both, so the gap moves little
    assert groups["refined"]["groups"]["neutral"] >= groups["groups"]["neutral"]

    parts = split(aug, validation=100, test=100)
    assert [len(part) for part in parts.values()] == [len(aug) - 200, 100, 100]
    where = [set(part["source_row"]) for part in parts.values()]
    assert sum(map(len, where)) == len(set().union(*where))


def test_a_replaced_corpus_is_measured_again(corpus, score):
    """A counterfactual has a score of its own; the one that its row carries is that of its source."""
    replaced = replace(corpus, percentile=95, score_columns=SCORES, text_columns=TEXTS)
    added = replaced.filter(lambda flag: flag, input_columns="counterfactual")
    again = added.select_columns(list(TEXTS)).map(score, batched=True)
    new, old = ([max(pair) for pair in zip(*(rows[name] for name in SCORES), strict=True)] for rows in (again, added))
    # By default the score is that of the neutral form, which both versions share but for what the rules miss.
    assert sum(abs(a - b) < 1e-4 for a, b in zip(new, old, strict=True)) > 0.8 * len(new)
