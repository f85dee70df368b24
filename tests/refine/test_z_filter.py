"""Features, their z-statistics and the filter: by hand, against a plain loop, on real data."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter

import numpy as np
import pytest
from datasets import ClassLabel, Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness import FairnessWarning
from hf_fairness.refine import TextFeatures, ZTest, z_filter, z_filter_report, z_table
from hf_fairness.refine.text_features import length_class, words_of
from hf_fairness.scores.statistics import generator

LOW = ZTest(threshold=1.0, min_count=2)


def single(words, labels):
    return Dataset.from_dict({"text": words, "label": labels})


def words(*texts):
    return texts[-1].split()


# Features


def test_features_of_a_pair():
    found = TextFeatures()("A dog runs in the park.", "The dog isn’t there")
    grams = ["the", "dog", "isn't", "there", "the dog", "dog isn't", "isn't there"]
    assert found == [*grams, "<overlap most>", "<length 4-5>"]
    plain = TextFeatures(ngrams=1, overlap=False, length=False)
    assert plain("A dog", "no no NO") == ["no"]
    both = TextFeatures(ngrams=1, length=False, both=True)("a dog", "a cat")
    assert both == ["a", "cat", "<overlap most>", "1:a", "1:dog", "+cat"]
    assert TextFeatures(ngrams=0)("a") == ["<length 1-3>"]
    assert "<overlap none>" in TextFeatures()("", "")
    for texts in ((), ("a", "b", "c")):
        with pytest.raises(ValueError, match="one text or two"):
            TextFeatures()(*texts)


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [("a b", "a b", "all"), ("a b", "b", "all"), ("a b", "a c", "most"), ("a", "a b c", "some"), ("a", "b", "none")],
)
def test_overlap(first, second, name):
    assert f"<overlap {name}>" in TextFeatures()(first, second)


def test_every_length_has_one_class():
    names = [length_class(n) for n in range(40)]
    assert list(dict.fromkeys(names)) == ["0", "1-3", "4-5", "6-7", "8-10", "11-15", "16-25", "26+"]


# The table


def naive(rows, expected):
    """z by a plain loop."""
    found = {}
    for feature in {word for text in rows["text"] for word in set(text.split())}:
        labels = [y for text, y in zip(rows["text"], rows["label"], strict=True) if feature in text.split()]
        for label, share in expected.items():
            p = labels.count(label) / len(labels)
            found[feature, label] = (p - share) / math.sqrt(share * (1 - share) / len(labels))
    return found


TEXTS = st.lists(st.tuples(st.text(alphabet="abc ", max_size=6), st.integers(0, 2)), min_size=2, max_size=30)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from(["labels", "uniform"]))
def test_the_table_is_that_of_a_plain_loop(pairs, expected):
    rows = single([text for text, _ in pairs], [label for _, label in pairs])
    if len(set(rows["label"])) < 2:
        with pytest.raises(ValueError, match="two at least"):
            z_table(rows, text_columns="text", features=words)
        return
    table = z_table(rows, text_columns="text", features=words, test=ZTest(expected=expected))
    kinds, n = sorted(set(rows["label"])), len(rows)
    shares = {k: 1 / len(kinds) if expected == "uniform" else rows["label"][:].count(k) / n for k in kinds}
    ours = {
        (feature, label): table.z[i, j]
        for i, feature in enumerate(table.features)
        for j, label in enumerate(table.labels)
    }
    assert ours == pytest.approx(naive(rows, shares))


def test_a_feature_counts_once_per_row_and_names_come_from_the_class_label():
    rows = single(["no no no", "no", "yes", "yes"], [1, 1, 0, 0]).cast_column("label", ClassLabel(names=["ent", "con"]))
    table = z_table(rows, text_columns="text", features=words, test=LOW)
    place = table.features.index("no")
    assert table.counts[place].tolist() == [0, 2]
    assert table.labels == ("ent", "con")
    assert (table.speaks_for("no way"), table.speaks_for("yes"), table.speaks_for("way")) == ("con", "ent", None)
    assert table.speaks_for("yes no") in ("ent", "con")


def test_rare_features_are_not_called_biased():
    rows = single(["rare"] * 5 + ["x"] * 95, [1] * 5 + [0] * 95)
    assert z_table(rows, text_columns="text", features=words).report()["by_label"]["1"]["features"] == []
    found = z_table(rows, text_columns="text", features=words, test=ZTest(min_count=5)).report()
    assert [entry["feature"] for entry in found["by_label"]["1"]["features"]] == ["rare"]


def test_a_null_corpus_has_hardly_any_biased_feature():
    """At level .01 a feature is found in about one corpus of a hundred; none in these 20 but one at most."""
    found = 0
    for seed in range(20):
        draws = np.random.default_rng(seed)
        texts = [" ".join(draws.choice(list("abcdefghij"), 4)) for _ in range(400)]
        rows = single(texts, draws.integers(0, 3, 400).tolist())
        found += z_table(rows, text_columns="text", features=words).report()["n_biased"] > 0
    assert found <= 1


def test_report_is_json_with_its_conventions():
    rows = single(["no"] * 30 + ["so"] * 30, [1] * 30 + [0] * 30)
    table = z_table(rows, text_columns="text")
    found = json.loads(json.dumps(table.report(top=1)))
    (entry,) = found["by_label"]["1"]["features"]
    assert entry["feature"] == "no"
    assert (entry["n"], entry["share"], entry["z"]) == (30, 1.0, pytest.approx(math.sqrt(30)))
    assert entry["share_ci95"][0] > 0.85
    assert {"convention", "ideal", "direction", "n"} <= set(found["meta"])
    assert found["n_biased"] == 2
    assert found["threshold"] == pytest.approx(3.02, abs=0.2)


# The filter


def plain_filter(rows, test, limit, batch_size, seed):
    """The filter by a plain loop: rows kept so far decide about the next batch."""
    kept = []
    order = generator(seed).permutation(len(rows))
    texts, labels = rows["text"][:], rows["label"][:]
    kinds = sorted(set(labels))
    for first in range(0, len(rows), batch_size):
        new = []
        for row in order[first : first + batch_size].tolist():
            biased = False
            for feature in set(texts[row].split()):
                own = [labels[k] for k in kept if feature in texts[k].split()]
                p = 1 / len(kinds) if test.expected == "uniform" else labels.count(labels[row]) / len(labels)
                if len(own) >= test.min_count:
                    z = (own.count(labels[row]) / len(own) - p) / math.sqrt(p * (1 - p) / len(own))
                    biased |= z > limit
            new += [] if biased else [row]
        kept += new
    return sorted(kept)


@settings(max_examples=40)
@given(TEXTS, st.integers(1, 7), st.sampled_from(["labels", "uniform"]), st.integers(0, 3))
def test_the_filter_is_that_of_a_plain_loop(pairs, batch_size, expected, seed):
    rows = single([text for text, _ in pairs], [label for _, label in pairs])
    if len(set(rows["label"])) < 2:
        return
    rows = rows.add_column("place", list(range(len(rows))))
    test = ZTest(threshold=0.9, min_count=2, expected=expected)
    kept = z_filter(rows, text_columns="text", features=words, test=test, batch_size=batch_size, seed=seed)
    assert kept["place"][:] == plain_filter(rows, test, 0.9, batch_size, seed)


def biased_rows(n=600, share=0.9, seed=0):
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 2, n)
    marks = np.where(draws.random(n) < share, labels, 1 - labels)
    texts = [f"{('yes', 'no')[m]} {w}" for m, w in zip(marks, draws.choice(list("abcdef"), n), strict=True)]
    return single(texts, labels.tolist())


def test_the_bias_is_there_and_goes_and_the_word_stays():
    rows = biased_rows()
    before = z_table(rows, text_columns="text")
    kept = z_filter(rows, text_columns="text")
    after = z_table(kept, text_columns="text")
    strongest = {name: before.z[before.features.index(name)].max() for name in ("yes", "no")}
    assert min(strongest.values()) > 10
    for name in strongest:
        place = after.features.index(name)
        rare = before.counts[before.features.index(name)].min()
        assert after.counts[place].min() >= 0.9 * rare > 10  # the rows against the bias stay
        assert after.z[place].max() < 5
    assert len(kept) > 100
    assert kept.features == rows.features


def test_one_pass_over_the_whole_corpus_turns_the_bias_round():
    rows = biased_rows()
    kept = z_filter(rows, text_columns="text", batch_size=None)
    assert Counter(zip([text.split()[0] for text in kept["text"]], kept["label"], strict=True)).keys() == {
        ("yes", 1),
        ("no", 0),
    }


def test_rows_that_are_there_already_count_and_do_not_come_back():
    start = single(["no x"] * 40 + ["yes x"] * 40, [1] * 40 + [0] * 40)
    new = single(["no y", "no z", "yes y", "w"] * 5, [1, 0, 1, 0] * 5)
    kept = z_filter(new, text_columns="text", start=start, features=words, test=ZTest(threshold=2.0))
    assert set(zip(kept["text"], kept["label"], strict=True)) == {("no z", 0), ("yes y", 1), ("w", 0)}
    alone = z_filter(new, text_columns="text", features=words, test=ZTest(threshold=2.0))
    assert len(alone) == 20
    with pytest.raises(ValueError, match="start has the label 5"):
        z_filter(new, text_columns="text", start=single(["a", "b"], [0, 5]))


def test_the_filter_is_a_function_of_rows_and_seed():
    rows = biased_rows(300)
    one = z_filter(rows, text_columns="text", seed=1)
    assert one[:] == z_filter(rows, text_columns="text", seed=1)[:]
    assert one[:] != z_filter(rows, text_columns="text", seed=2)[:]
    shaped = rows.with_format("numpy")
    assert z_filter(shaped, text_columns="text", seed=1).with_format(None)[:] == one[:]


def test_the_report_of_a_filter():
    rows = biased_rows()
    kept = z_filter(rows, text_columns="text")
    tables = [z_table(part, text_columns="text") for part in (rows, kept)]
    found = json.loads(json.dumps(z_filter_report(*tables)))
    assert (found["n"], found["n_kept"]) == (600, len(kept))
    assert all(0 < share < 1 for share in found["kept_share_by_label"].values())
    for entry in found["features"]:
        assert entry["z_after"] is None or entry["z_after"] < entry["z"]
    assert {entry["feature"] for entry in found["features"]} >= {"yes", "no"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text_columns": "claim"}, ValueError, "no column 'claim'"),
        ({"label_column": "gold"}, ValueError, "no column 'gold'"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
        ({"dataset": {"text": ["a"]}}, TypeError, r"takes a datasets\.Dataset"),
        ({"dataset": single(["a", "b"], [0, 0])}, ValueError, "two at least"),
        ({"dataset": single(["a", "b"], [0, -1])}, ValueError, r"1 of 2 rows have no label, the first in row 1 \(-1\)"),
        ({"dataset": single(["a", None], [0, 1]), "on_missing": "error"}, ValueError, "1 of 2 rows lack a value in"),
        (
            {"dataset": single(["a", "b"], [0, None])},
            ValueError,
            r"have no label, the first in row 1 \(None\)",
        ),
    ],
)
def test_errors_say_what_is_wrong(arguments, error, message):
    options = {"text_columns": "text", **arguments}
    with pytest.raises(error, match=message):
        z_filter(options.pop("dataset", single(["a", "b"], [0, 1])), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expected": "other"}, "known are 'labels', 'uniform'"),
        ({"min_count": 0}, "min_count"),
        ({"threshold": math.nan}, "finite number"),
        ({"level": 0.0}, "level"),
    ],
)
def test_tests_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        ZTest(**options)


def test_rows_without_a_text_count_for_nothing_and_stay():
    rows = single(["no rain"] * 90 + ["no sun"] * 30, [1] * 90 + [0] * 30)
    holed = single(["no rain"] * 90 + ["no sun"] * 30 + [None] * 5, [1] * 90 + [0] * 30 + [1] * 5)
    with pytest.warns(FairnessWarning, match="5 of 125 rows lack a value in text"):
        kept = z_filter(holed, text_columns="text", batch_size=None)
    alone = z_filter(rows, text_columns="text", batch_size=None)
    assert kept["text"][:] == [*alone["text"], *[None] * 5]
    with pytest.warns(FairnessWarning):
        assert (z_table(holed, text_columns="text").counts == z_table(rows, text_columns="text").counts).all()


def test_features_may_be_none_at_all():
    rows = single(["", "a"] * 30, [0, 1] * 30)
    kept = z_filter(rows, text_columns="text", features=words, test=LOW)
    assert Counter(kept["text"])[""] == 30
    assert len(z_filter(rows, text_columns="text", features=lambda text: ())) == 60


# Real data


@pytest.fixture(scope="module")
def sick(shared):
    names = ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"]
    with (shared / "data" / "sick" / "sick_train_trial.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    columns = {"premise": "sentence_A", "hypothesis": "sentence_B", "label": "entailment_label"}
    table = Dataset.from_dict({name: [row[column] for row in rows] for name, column in columns.items()})
    return table.cast_column("label", ClassLabel(names=names))


def test_sick_negation_speaks_for_contradiction(sick):
    table = z_table(sick, text_columns=["premise", "hypothesis"])
    top = [entry["feature"] for entry in table.report(top=6)["by_label"]["CONTRADICTION"]["features"]]
    assert {"no", "not"} <= set(top)
    z = {name: table.z[table.features.index(name), table.labels.index("CONTRADICTION")] for name in ("no", "not")}
    assert z["no"] > 20
    assert z["not"] > 10
    assert all(not {"no", "not"} & set(words_of(name)) for name in names_of(table, "ENTAILMENT"))
    kept = z_filter(sick, text_columns=["premise", "hypothesis"])
    after = z_table(kept, text_columns=["premise", "hypothesis"])
    assert after.z[after.features.index("no"), after.labels.index("CONTRADICTION")] < 8
    assert "no" in {word for text in kept["hypothesis"] for word in words_of(text)}
    assert 0.5 < len(kept) / len(sick) < 0.9


def names_of(table, label):
    return [entry["feature"] for entry in table.report(top=100)["by_label"][label]["features"]]
