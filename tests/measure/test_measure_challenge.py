"""Challenge sets: published files, simple predictors counted by hand, live classifiers."""

from __future__ import annotations

import json
from collections import Counter

import datasets
import pytest

from hf_fairness.measure.classifier.challenge import challenge_accuracy
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS, COLUMNS, ChallengeSet, read_challenge_set
from hf_fairness.measure.classifier.pair_classifier import classify_pairs, name_labels
from hf_fairness.utils import FairnessWarning
from support.tiny_bert import save_tiny_bert, tiny_bert

FAST = {"n_bootstrap": 50}
FEVER = {
    "v0.1 generated": ("symmetric_v0.1/fever_symmetric_generated.jsonl", 717, 239, 239),
    "v0.2 dev": ("symmetric_v0.2/fever_symmetric_dev.jsonl", 708, 354, 0),
    "v0.2 test": ("symmetric_v0.2/fever_symmetric_test.jsonl", 712, 356, 0),
}


@pytest.fixture(scope="module")
def hans(shared):
    return read_challenge_set("hans", shared / "data/hans/hans_sample.tsv")


def _overlap(premise, hypothesis):
    inside = set(hypothesis.lower().split()) <= set(premise.lower().split())
    return "entailment" if inside else "contradiction"


def _overlap_model(premises, hypotheses):
    return [_overlap(*pair) for pair in zip(premises, hypotheses, strict=True)]


def _in_order(premise, hypothesis):
    words = iter(premise.lower().split())
    return "entailment" if all(word in words for word in hypothesis.lower().split()) else "contradiction"


def _subsequence(premise, hypothesis):
    words, part = premise.lower().split(), hypothesis.lower().removesuffix(".").split()
    starts = range(len(words) - len(part) + 1)
    return "entailment" if any(words[start : start + len(part)] == part for start in starts) else "neutral"


def test_hans_is_read_whole(hans):
    assert len(hans) == 6000
    assert {tuple(row) for row in hans} == {COLUMNS}
    assert set(Counter((row["heuristic"], row["label"]) for row in hans).values()) == {1000}
    assert set(Counter(row["subcase"] for row in hans).values()) == {200}
    assert len({row["subcase"] for row in hans}) == 30


@pytest.mark.parametrize("predictor", [_in_order, _subsequence])
def test_shortcuts_on_hans_counted_by_hand(hans, predictor):
    guesses = [predictor(row["premise"], row["hypothesis"]) for row in hans]
    result = challenge_accuracy(hans, dataset="hans", predictions=guesses, **FAST)
    right, total = Counter(), Counter()
    for row, guess in zip(hans, guesses, strict=True):
        good = (guess == "entailment") == (row["label"] == "entailment")
        keys = ["all", row["label"], row["subcase"], row["heuristic"], (row["heuristic"], row["label"])]
        for key in keys:
            right[key] += good
            total[key] += 1
    share = {key: right[key] / total[key] for key in total}
    assert result["accuracy"] == pytest.approx(share["all"])
    for label, entry in result["labels"].items():
        assert entry["accuracy"] == pytest.approx(share[label])
    assert len(result["by"]["subcase"]) == 30
    for name, entry in result["by"]["subcase"].items():
        assert (entry["n"], entry["accuracy"]) == (200, pytest.approx(share[name]))
    for name, entry in result["by"]["heuristic"].items():
        assert (entry["n"], entry["accuracy"]) == (2000, pytest.approx(share[name]))
        for label, part in entry["labels"].items():
            assert (part["n"], part["accuracy"]) == (1000, pytest.approx(share[name, label]))
    # What the set is made of: the shortcut is right for the entailments of its heuristic and for none of the others.
    entry = result["by"]["heuristic"]["subsequence"]
    assert entry["labels"]["entailment"]["accuracy"] > 0.99
    assert entry["labels"]["non-entailment"]["accuracy"] < 0.01
    assert result["meta"]["n_clusters"] == 60
    assert result["macro_accuracy"] == pytest.approx(result["accuracy"])  # all cells have one size


def test_word_overlap_on_hans_is_always_entailment(hans):
    with pytest.warns(FairnessWarning, match="Every one of the 6000 predictions is 'entailment'"):
        result = challenge_accuracy(hans, dataset="hans", model=_overlap_model, **FAST)
    assert result["accuracy"] == result["balanced_accuracy"] == result["constant_accuracy"] == 0.5
    for name, entry in result["by"]["subcase"].items():
        assert entry["accuracy"] == float(name[1] == "e"), name


def test_collapse_of_three_labels(hans):
    three = [("contradiction", "neutral")[i % 2] if r["label"] != "entailment" else "e" for i, r in enumerate(hans)]
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    ids = [{"contradiction": 0, "e": 1, "neutral": 2}[name] for name in three]
    result = challenge_accuracy(hans, dataset="hans", predictions=ids, label_names=names, **FAST)
    assert result["accuracy"] == 1.0
    two = ["entailment" if row["label"] == "entailment" else "not_entailment" for row in hans]
    assert challenge_accuracy(hans, dataset="hans", predictions=two, **FAST)["accuracy"] == 1.0


@pytest.mark.parametrize("name", FEVER)
def test_claim_only_model_on_fever_symmetric(shared, name):
    path, n, n_pairs, n_unpaired = FEVER[name]
    rows = read_challenge_set("fever_symmetric", shared / "data/fever_symmetric" / path)
    assert len(rows) == n
    assert len({row["cluster"] for row in rows}) * (4 if n_unpaired == 0 else 3) == n
    guesses = ["SUPPORTS" if len(row["hypothesis"]) % 2 else "REFUTES" for row in rows]
    result = challenge_accuracy(rows, dataset="fever_symmetric", predictions=guesses, **FAST)
    assert (result["n_pairs"], result["n_unpaired"]) == (n_pairs, n_unpaired)
    assert (result["pair_accuracy"], result["pair_same_rate"]) == (0.0, 1.0)
    if n_unpaired == 0:  # each claim stands once with each label
        assert result["accuracy"] == 0.5
    gold = Counter(row["label"] for row in rows)
    assert {label: entry["n"] for label, entry in result["labels"].items()} == {
        "supports": gold["SUPPORTS"],
        "refutes": gold["REFUTES"],
    }


def test_not_enough_info_is_wrong(shared):
    rows = read_challenge_set("fever_symmetric", shared / "data/fever_symmetric" / FEVER["v0.2 dev"][0])
    guesses = [row["label"] if place % 4 else "NOT ENOUGH INFO" for place, row in enumerate(rows)]
    result = challenge_accuracy(rows, dataset="fever_symmetric", predictions=guesses, **FAST)
    assert (result["accuracy"], result["other_rate"]) == (0.75, 0.25)
    assert result["predicted"]["not enough info"] == 177
    assert result["pair_accuracy"] < 0.75


def test_scramble_files(tmp_path):
    pairs = [("the dog is less big than the cat .", "the dog is more big than the cat .", "0")]
    pairs += [("the dog is less big than the cat .", "the cat is more big than the dog .", "2")]
    for name in ("comp_ml_short", "comp_same_long", "comp_not_short"):
        for part, column in zip(("s1", "s2", "labels"), zip(*pairs, strict=True), strict=True):
            (tmp_path / f"{part}.{name}").write_text("".join(f"{line} \n" for line in column))
    (tmp_path / "labels.subjv").write_text("0\n")  # another task, without its sentences
    rows = read_challenge_set("scramble", tmp_path)
    assert [row["heuristic"] for row in rows] == ["more-less"] * 2 + ["not"] * 2 + ["same"] * 2
    assert rows[0]["label"] == "contradiction"
    # A bag of words cannot tell the two rows of a pair apart.
    bags = ["neutral" if sum(map(len, row["hypothesis"].split())) % 2 else "entailment" for row in rows]
    with pytest.warns(FairnessWarning, match="Every one"):
        result = challenge_accuracy(rows, dataset="scramble", predictions=bags, **FAST)
    assert (result["n_pairs"], result["pair_same_rate"], result["pair_accuracy"]) == (3, 1.0, 0.0)
    assert set(result["by"]["subcase"]) == {"more-less short", "not short", "same long"}
    (tmp_path / "labels.comp_ml_short").write_text("0\n")
    with pytest.raises(ValueError, match="different numbers of lines"):
        read_challenge_set("scramble", tmp_path)


def test_adversarial_benchmark(tmp_path):
    table = [
        ("PI_CD", "neutral", "neutral", True),
        ("PI_CD", "neutral", "contradiction", False),
        ("IS_SD", "non-entailment", "contradiction", True),
        ("IS_SD", "entailment", "neutral", False),
        ("LI_TS", "non-contradiction", "entailment", True),
        ("LI_TS", "non-contradiction", "contradiction", False),
        ("LI_TS", "contradiction", "neutral", False),
        ("ST_LM", "entailment", "entailment", True),
        ("ST_NE", "entailment", "neutral", False),
    ]
    lines = [json.dumps({"split": kind, "prem": "p", "hypo": "h", "label": gold}) for kind, gold, _, _ in table]
    (tmp_path / "robust_nli.txt").write_text("\n".join(lines))
    file = tmp_path / "robust_nli.txt"
    guesses = [guess for _, _, guess, _ in table]
    result = challenge_accuracy(file, dataset="nli_adversarial", predictions=guesses, **FAST)
    assert result["accuracy"] == 4 / 9
    found = {name: entry["accuracy"] for name, entry in result["by"]["heuristic"].items()}
    assert found == {"PI-CD": 0.5, "IS-SD": 0.5, "LI-TS": 1 / 3, "ST": 0.5}
    assert result["macro_accuracy"] == pytest.approx((0.5 + 0.5 + 1 / 3 + 0.5) / 4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("hans", "a\tb\n1\t2\n", "is no file of hans"),
        ("hans", "", "holds no rows"),
        ("fever_symmetric", '{"id": "1"}\n', "is no file of fever_symmetric"),
        ("nli_adversarial", "no json", "is no file of nli_adversarial"),
        ("scramble", "x", "scramble is read from a folder"),
        ("snli", "x", "No reader for 'snli'"),
    ],
)
def test_files_of_another_kind(tmp_path, name, content, message):
    (tmp_path / "file").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_challenge_set(name, tmp_path / "file")


ROWS = [
    {"label": "entailment", "heuristic": "a", "subcase": "a1", "premise": "a b", "hypothesis": "b"},
    {"label": "non-entailment", "heuristic": "a", "subcase": "a2", "premise": "a b", "hypothesis": "c"},
]
RIGHT = ["entailment", "neutral"]


def test_a_set_of_ones_own():
    own = ChallengeSet(labels=("yes", "no"), accepts={"no": ("never",)}, by=("topic",))
    rows = [{"label": label, "topic": topic} for label in ("yes", "no") for topic in "xy"]
    result = challenge_accuracy(rows, dataset=own, predictions=["yes", "no", "never", "Yes"], **FAST)
    assert result["by"]["topic"]["x"]["accuracy"] == 1.0
    assert result["accuracy"] == 0.5
    assert result["meta"]["dataset"] == "own"


def test_datasets_with_class_labels():
    features = datasets.Features(
        {name: datasets.Value("string") for name in ROWS[0]}
        | {"label": datasets.ClassLabel(names=["entailment", "non-entailment"])}
    )
    table = datasets.Dataset.from_list([row | {"label": place} for place, row in enumerate(ROWS)], features=features)
    assert challenge_accuracy(table, dataset="hans", predictions=RIGHT, **FAST)["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({"predictions": None}, ValueError, "Give predictions or a model; got neither"),
        ({"model": len}, ValueError, "got both"),
        ({"batch_size": 3}, TypeError, "no option 'batch_size' without a model"),
        ({"dataset": "mnli"}, ValueError, "Unknown challenge set 'mnli'. Known: hans"),
        ({"references": []}, ValueError, "references is empty"),
        ({"references": ROWS[0]}, ValueError, "got one mapping"),
        ({"references": [3, 4]}, ValueError, r"references\[0\] must be a mapping"),
        ({"references": ["entailment"] * 2}, ValueError, "Row 0 needs 'heuristic', what the set is divided by"),
        (
            {"references": [row | {"label": "neutral"} for row in ROWS]},
            ValueError,
            "Row 0 has the gold label 'neutral'",
        ),
        ({"references": [row | {"label": 1} for row in ROWS]}, ValueError, "needs 'label', its gold label, as text"),
        ({"predictions": RIGHT[:1]}, ValueError, "got 1 for 2 rows"),
        ({"predictions": [0, 1]}, ValueError, "label id 0, which has no name"),
        ({"predictions": ["LABEL_0", "LABEL_1"]}, ValueError, "Unknown label 'LABEL_0'.*label_names"),
        ({"predictions": [0.5, 1], "label_names": RIGHT}, ValueError, "Row 0 has the label 0.5"),
        ({"predictions": [None, 1], "label_names": RIGHT}, ValueError, "Row 0 has the label None"),
    ],
)
def test_errors(inputs, error, message):
    with pytest.raises(error, match=message):
        challenge_accuracy(**{"references": ROWS, "dataset": "hans", "predictions": RIGHT, **inputs})


def test_label_spellings():
    assert CHALLENGE_SETS["fever_symmetric"].read_label("NOT ENOUGH INFO") == "not enough info"
    assert CHALLENGE_SETS["fever_symmetric"].read_label("contradiction") == "refutes"
    assert CHALLENGE_SETS["hans"].read_label(" Non_Entailment ") == "non-entailment"
    assert name_labels(["1", 0, 2.0], {"0": "a", "1": "b", "2": "c"}) == ["b", "a", "c"]
    for kind in CHALLENGE_SETS.values():  # every spelling leads somewhere
        known = {*kind.labels, *kind.others, *(name for more in kind.accepts.values() for name in more)}
        assert {kind.read_label(name) for name in known} == known


NLI = {"id2label": {0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}, "num_labels": 3}


@pytest.fixture(scope="module")
def words(hans):
    return sorted({word for row in hans for word in f"{row['premise']} {row['hypothesis']}".lower().split()})


@pytest.fixture(scope="module")
def live(words):
    return tiny_bert(words, "BertForSequenceClassification", **NLI)


def test_live_model_against_one_pair_at_a_time(hans, live):
    import torch

    model, tokenizer = live
    rows = hans[::150]
    guesses = []
    for row in rows:
        fields = tokenizer(row["premise"], row["hypothesis"], return_tensors="pt")
        with torch.no_grad():
            guesses.append(NLI["id2label"][int(model(**fields).logits.argmax())])
    assert len(set(guesses)) > 1
    by_hand = challenge_accuracy(rows, dataset="hans", predictions=guesses, **FAST)
    for size in (1, 7, 64):
        result = challenge_accuracy(rows, dataset="hans", model=model, tokenizer=tokenizer, batch_size=size, **FAST)
        assert result["predicted"] == by_hand["predicted"]
        assert result["by"] == by_hand["by"]
    assert result["meta"]["model"] == "BertForSequenceClassification"


def test_training_mode_is_put_back_and_order_of_texts_matters(hans, live):
    model, tokenizer = live
    pairs = [row["premise"] for row in hans[::100]], [row["hypothesis"] for row in hans[::100]]
    model.train()
    try:
        forward, names, _ = classify_pairs(model, *pairs, tokenizer=tokenizer)
        assert model.training
        assert forward == classify_pairs(model, *pairs, tokenizer=tokenizer)[0]  # no dropout
    finally:
        model.eval()
    assert names == NLI["id2label"]
    turned, _, _ = classify_pairs(model, *pairs[::-1], tokenizer=tokenizer)
    rows = [row | {"label": "entailment"} for row in hans[::100]]
    result = challenge_accuracy(
        rows,
        dataset="hans",
        model=model,
        tokenizer=tokenizer,
        hypothesis_first=True,
        label_names=NLI["id2label"],
        **FAST,
    )
    assert result["accuracy"] == turned.count(1) / len(turned)


def test_model_from_a_folder(tmp_path, words, hans, live):
    folder = save_tiny_bert(tmp_path / "nli", words, "BertForSequenceClassification", **NLI)
    rows = hans[::500]
    result = challenge_accuracy(rows, dataset="hans", model=folder, **FAST)
    again = challenge_accuracy(rows, dataset="hans", model=live[0], tokenizer=live[1], **FAST)
    assert result["predicted"] == again["predicted"]
    assert result["meta"]["model"] == "nli"
    bare = save_tiny_bert(tmp_path / "bare", words, "BertModel")
    with (
        pytest.warns(FairnessWarning, match="drawn at random"),
        pytest.raises(ValueError, match="Unknown label 'LABEL_"),
    ):
        challenge_accuracy(rows, dataset="hans", model=bare, **FAST)


def test_a_function_is_a_model(hans):
    def in_order(premises, hypotheses):
        return [_in_order(*pair) for pair in zip(premises, hypotheses, strict=True)]

    rows = hans[::40]
    result = challenge_accuracy(rows, dataset="hans", model=in_order, **FAST)
    guesses = in_order([row["premise"] for row in rows], [row["hypothesis"] for row in rows])
    assert result["by"] == challenge_accuracy(rows, dataset="hans", predictions=guesses, **FAST)["by"]
    assert result["meta"]["model"] == "in_order"


def test_models_that_cannot_classify(words, live, tmp_path):
    rows = [row | {"premise": "the doctor", "hypothesis": "the doctor"} for row in ROWS]
    one = tiny_bert(words, "BertForSequenceClassification", num_labels=1)
    cases = [
        ({"model": one[0], "tokenizer": one[1]}, ValueError, "no logits of two or more classes"),
        ({"model": live[0]}, ValueError, "needs a tokenizer and none was found"),
        ({"model": 3}, TypeError, "no classifier of pairs: got int"),
        ({"model": str(tmp_path)}, ValueError, "does not open as a sequence classifier"),
        ({"model": lambda first, second: ["entailment"]}, ValueError, "returned 1 labels for 2 pairs"),
        ({"model": live[0], "tokenizer": live[1], "batch_size": 0}, ValueError, "batch_size must be at least 1"),
    ]
    for inputs, error, message in cases:
        with pytest.raises(error, match=message):
            challenge_accuracy(rows, dataset="hans", **inputs)
    with pytest.raises(ValueError, match="needs 'premise', a text for the model"):
        challenge_accuracy([ROWS[0] | {"premise": None}], dataset="hans", model=len)
