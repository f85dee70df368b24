"""Partial-input probe, leakage and anti-artefact share: on worlds where the answer is known, and on real data."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from datasets import ClassLabel, Dataset

from hf_fairness.measure.classifier.artefacts import anti_artefact_rows, anti_artefact_share
from hf_fairness.measure.classifier.leakage import ngram_overlap, overlapping_rows
from hf_fairness.measure.classifier.partial_input import partial_input, partial_input_change
from hf_fairness.measure.classifier.text_learners import TextLearner, fold_numbers
from hf_fairness.refine import TextFeatures, ZTest, z_filter, z_table
from support.bias_case import ARTEFACTS, make_classifier, make_pairs


def numbered(rows):
    """Rows whose texts are all different, as those of people are."""
    return rows.map(lambda row, k: {"hypothesis": f"{row['hypothesis']} {k}"}, with_indices=True)


# Partial input


def test_a_biased_world_gives_its_labels_away_and_an_unbiased_one_does_not():
    biased = partial_input(numbered(make_pairs(300)))
    fair = partial_input(numbered(make_pairs(300, artefact=1 / 3)))
    assert biased["majority"] == fair["majority"] == biased["chance"] == pytest.approx(1 / 3)
    assert biased["accuracy"] > 0.8
    assert biased["gain_ci95"][0] > 0.35
    assert biased["balanced_accuracy"] == pytest.approx(biased["accuracy"], abs=0.03)
    assert abs(fair["gain"]) < 0.1
    assert fair["gain_ci95"][0] < 0.02
    assert fair["balanced_accuracy_ci95"][0] < 1 / 3 + 0.02
    # The premise has the content word: the full input is worth more where the artefact is worth nothing.
    assert fair["full_accuracy"] > 0.65
    assert fair["gap_ci95"][0] > 0.2
    for result in (biased, fair):
        assert result["gain"] == pytest.approx(result["accuracy"] - result["majority"])
        assert result["gap"] == pytest.approx(result["full_accuracy"] - result["accuracy"])
        for name in ("accuracy", "full_accuracy", "gain", "gap", "balanced_accuracy"):
            low, high = result[f"{name}_ci95"]
            assert low <= result[name] <= high
        correct = sum(entry["accuracy"] * entry["n"] for entry in result["by_label"].values())
        assert correct / result["n"] == pytest.approx(result["accuracy"])
        assert {"convention", "ideal", "direction", "seed", "n_train"} <= set(json.loads(json.dumps(result))["meta"])


def test_where_one_label_is_frequent_the_balanced_accuracy_sees_what_the_gain_does_not():
    """90 % neutral; a word that triples the odds of the rare label changes no decision of a plain classifier."""
    draws = np.random.default_rng(0)
    labels = (draws.random(1000) < 0.1).astype(int)
    said = np.where(draws.random(1000) < np.where(labels, 0.75, 0.25), "no", "so")
    rows = Dataset.from_dict({"hypothesis": [f"{w} {k}" for k, w in enumerate(said)], "label": labels.tolist()})
    learner = TextLearner(TextFeatures(ngrams=1, length=False), regularization=0.3)
    found = partial_input(rows, full_columns=None, learner=learner)
    assert found["gain"] == pytest.approx(0, abs=0.005)
    assert found["balanced_accuracy_ci95"][0] > 0.6
    assert found["chance"] == 0.5
    assert found["full_accuracy"] is None
    assert found["gap_ci95"] is None


def test_labels_of_a_test_set_that_numbers_them_otherwise_are_compared_by_name():
    def rows(names):
        said = ["wet", "dry"] * 10
        texts = {"hypothesis": [f"{word} {k}" for k, word in enumerate(said)], "label": [names.index(w) for w in said]}
        return Dataset.from_dict(texts).cast_column("label", ClassLabel(names=names))

    for names in (["dry", "wet"], ["wet", "dry"], ["damp", "wet", "dry"]):
        assert partial_input(rows(["dry", "wet"]), test=rows(names), full_columns=None)["accuracy"] == 1.0


def test_texts_and_clusters_share_a_fold():
    texts = ["a", "b", "a", "c", "d", "b"]
    folds = fold_numbers([texts], 3)
    assert folds[0] == folds[2]
    assert folds[1] == folds[5]
    assert len(set(fold_numbers([texts, list("xyzuvw")], 3))) == 3
    assert fold_numbers([texts], 2, clusters=[0, 0, 0, 1, 1, 1]).tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    # Labels of a text are noise, and every text is there twice: only a leak could tell.
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 2, 100).tolist()
    rows = Dataset.from_dict({"hypothesis": [f"word{k}" for k in range(100)] * 2, "label": labels * 2})
    learner = TextLearner(TextFeatures(length=False), regularization=100.0)
    clean = partial_input(rows, full_columns=None, learner=learner)
    leaky = partial_input(rows, full_columns=None, learner=learner, clusters=list(range(200)))
    assert clean["accuracy"] < 0.65
    assert leaky["accuracy"] > 0.8
    assert clean["meta"]["n_clusters"] == 100


def test_the_order_of_the_rows_does_not_matter_much_and_the_seed_decides():
    rows = numbered(make_pairs(120))
    one, other = (partial_input(rows, full_columns=None, seed=3) for _ in range(2))
    assert one == other
    assert len(set(partial_input(rows, full_columns=None, max_rows=60)["by_label"])) == 3
    assert partial_input(rows, full_columns=None, max_rows=60)["n"] == 60


def test_a_test_set_and_an_encoder():
    train, test = numbered(make_pairs(200)), numbered(make_pairs(90, artefact=0.0, seed=4))
    found = partial_input(train, test=test)
    assert found["n"] == 90
    assert found["meta"]["n_train"] == 200
    assert found["accuracy"] < 0.1  # the artefact speaks for another label there

    def encode(texts):
        return np.array([[float(word in text.split()) for word in ARTEFACTS] for text in texts])

    seen = partial_input(train, model=encode, full_columns=None, n_bootstrap=100)
    assert seen["accuracy"] > 0.85
    assert seen["meta"]["model"] == "EncoderLearner"


def test_a_fine_tuned_model():
    from hf_fairness.trainers import ClassifierLearner

    model, tokenizer = make_classifier()
    arguments = {"num_train_epochs": 6, "learning_rate": 3e-3, "use_cpu": True}
    learner = ClassifierLearner(model.config, arguments, tokenizer=tokenizer)
    rows = numbered(make_pairs(120))
    found = partial_input(rows, learner=learner, full_columns=None, folds=2)
    assert found["gain_ci95"][0] > 0.2
    assert found["meta"]["model"] == "ClassifierLearner"


def test_a_corpus_before_and_after_on_one_test_set():
    before, test = numbered(make_pairs(600)), numbered(make_pairs(150, seed=8))
    features = TextFeatures(ngrams=1, length=False)
    after = z_filter(before, text_columns="hypothesis", features=features, test=ZTest(threshold=0.0, min_count=1))
    found = partial_input_change(before, after, test)
    assert found["before"] > 0.8
    assert found["after"] < found["before"] - 0.3
    assert found["difference"] == pytest.approx(found["after"] - found["before"])
    assert found["difference_ci95"][1] < 0
    assert found["p_value"] < 0.01
    assert found["meta"]["n_train"] == {"before": 600, "after": len(after)}
    same = partial_input_change(before, before, test)
    assert (same["difference"], same["p_value"]) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"column": "claim"}, ValueError, "no column 'claim'"),
        ({"model": "x", "learner": TextLearner()}, TypeError, "not both"),
        ({"folds": 1}, ValueError, "at least 2 folds"),
        ({"folds": 50}, ValueError, "50 folds"),
        ({"clusters": [0, 1]}, ValueError, "one label per row"),
        ({"clusters": [0] * 9, "max_rows": 3}, ValueError, "not both"),
        ({"dataset": make_pairs(9).filter(lambda row: row["label"] == 0)}, ValueError, "all rows have the label"),
        ({"learner": lambda *a: lambda *t: np.zeros((1, 3))}, ValueError, "shape"),
        ({"learner": lambda *a: lambda *t: np.zeros((len(t[0]), 3))}, ValueError, "sum to 3"),
    ],
)
def test_probe_errors_say_what_is_wrong(arguments, error, message):
    options = dict(arguments)
    with pytest.raises(error, match=message):
        partial_input(options.pop("dataset", numbered(make_pairs(9))), **{"folds": 3, **options})


def test_a_test_set_with_another_label():
    rows = make_pairs(30)
    with pytest.raises(ValueError, match="label 'contradiction', which no training row has"):
        partial_input(rows.filter(lambda row: row["label"] < 2), test=rows)


# Leakage


def plain_overlap(samples, rows, n):
    """Which samples share an n-gram with the rows, by a plain loop."""

    def grams(row):
        texts = [row[name].lower().replace(".", "").split() for name in ("premise", "hypothesis")]
        return {tuple(words[k : k + n]) for words in texts for k in range(len(words) - n + 1)}

    known = set().union(*(grams(row) for row in rows))
    return [bool(grams(row) & known) for row in samples]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_overlap_is_that_of_a_plain_loop(n):
    draws = np.random.default_rng(n)

    def rows(k):
        texts = [" ".join(draws.choice(list("abcdefghij"), draws.integers(1, 6))) + "." for _ in range(2 * k)]
        return [{"premise": one.upper(), "hypothesis": other} for one, other in zip(texts[:k], texts[k:], strict=True)]

    samples, sets = rows(50), {"one": rows(4), "two": rows(2)}
    found = overlapping_rows(samples, sets, n=n)
    for name, reference in sets.items():
        assert found[name]["ngram"].tolist() == plain_overlap(samples, reference, n)
        whole = {row["hypothesis"] for row in reference}
        assert found[name]["equal"].tolist() == [row["hypothesis"] in whole for row in samples]
    shares = ngram_overlap(samples, sets, n=n)
    either = np.any([mask for masks in found.values() for mask in masks.values()], axis=0)
    assert shares["leak_share"] == either.mean()
    assert shares["examples"] == np.flatnonzero(either)[:5].tolist()
    assert shares["by_set"]["two"]["n_reference"] == 2


def test_overlap_of_eight_words_and_short_texts():
    long = "one two three four five six seven eight nine"
    samples = Dataset.from_dict(
        {
            "premise": [f"Zero, {long.upper()}!", "one two three four five six seven", "x", ""],
            "hypothesis": ["a", "b", "It rains.", ""],
        }
    )
    test = Dataset.from_dict({"premise": [long, ""], "hypothesis": ["it rains", ""]})
    found = ngram_overlap(samples, {"test": test})
    assert (found["ngram_share"], found["equal_share"], found["leak_share"]) == (0.25, 0.25, 0.5)  # empty is no text
    assert found["examples"] == [0, 2]
    assert found["ngram_share_ci95"][0] > 0
    none = ngram_overlap(samples.select([1]), {"test": test})
    assert none["leak_share"] == 0
    assert none["leak_share_ci95"][1] > 0.5  # one sample proves little
    only = ngram_overlap(samples, {"test": test.select_columns("hypothesis")}, whole_column=None)
    assert only["leak_share"] == 0


def test_overlap_errors():
    samples = [{"hypothesis": "a"}]
    with pytest.raises(ValueError, match="missing: premise"):
        ngram_overlap(samples, {"t": samples})
    with pytest.raises(ValueError, match="'t' has none of the columns"):
        ngram_overlap(samples, {"t": [{"text": "a"}]}, columns=["hypothesis"])
    with pytest.raises(ValueError, match="t is empty"):
        ngram_overlap(samples, {"t": []}, columns=["hypothesis"])
    for bad in ({"n": 0}, {"challenge": {}}, {"samples": []}):
        options = {"samples": samples, "challenge": {"t": samples}, "columns": ["hypothesis"], **bad}
        with pytest.raises(ValueError, match="Overlap needs"):
            ngram_overlap(options.pop("samples"), options.pop("challenge"), **options)


# Artefacts that speak against the label


def speaks_for(text):
    return next((k for k, word in enumerate(ARTEFACTS) if word in text.split()), None)


@pytest.mark.parametrize(("strength", "share"), [(1.0, 0.0), (0.0, 1.0), (1 / 3, 2 / 3)])
def test_anti_artefact_share_of_a_known_world(strength, share):
    rows = make_pairs(600, artefact=strength)
    found = anti_artefact_share(rows, speaks_for, text_columns="hypothesis")
    assert found["anti_artefact_share"] == pytest.approx(share, abs=0.05)
    assert found["artefact_share"] == 1
    assert found["n_with_artefact"] == 600
    named = anti_artefact_share(
        rows, lambda text: rows.features["label"].names[speaks_for(text)], text_columns="hypothesis"
    )
    assert named == found


def test_the_table_of_a_corpus_speaks_like_its_maker():
    rows = make_pairs(400)
    table = z_table(rows, text_columns="hypothesis")
    ours = anti_artefact_rows(rows, table.speaks_for, text_columns="hypothesis")
    known = anti_artefact_rows(rows, speaks_for, text_columns="hypothesis")
    np.testing.assert_array_equal(ours, known)


def test_rows_without_an_artefact_and_errors():
    rows = Dataset.from_dict({"text": ["no", "so"], "label": ["con", "ent"]})
    none = anti_artefact_share(rows, lambda text: None, text_columns="text")
    assert none["anti_artefact_share"] is None
    assert none["artefact_share"] == 0
    with pytest.raises(ValueError, match="the label 'other', which the rows lack: 'con', 'ent'"):
        anti_artefact_share(rows, lambda text: "other", text_columns="text")


# Real data


def test_sick_hypotheses_give_labels_away(shared):
    """Accuracy alone does not show it, since neutral is so frequent; the balanced accuracy does."""
    names = ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"]
    with (shared / "data" / "sick" / "sick_train_trial.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    columns = {"premise": "sentence_A", "hypothesis": "sentence_B", "label": "entailment_label"}
    sick = Dataset.from_dict({name: [row[column] for row in rows] for name, column in columns.items()})
    sick = sick.cast_column("label", ClassLabel(names=names))
    found = partial_input(sick, full_columns=None)
    assert found["majority"] == pytest.approx(0.5685, abs=1e-4)
    assert abs(found["gain"]) < 0.02
    assert found["balanced_accuracy_ci95"][0] > found["chance"] + 0.12
    # As many rows of each label: accuracy shows it too.
    draws, labels = np.random.default_rng(0), np.array(sick["label"])
    chosen = np.concatenate([draws.permutation(np.flatnonzero(labels == k))[:712] for k in range(3)])
    even = partial_input(sick.select(np.sort(chosen)), full_columns=None)
    assert even["gain_ci95"][0] > 0.08
