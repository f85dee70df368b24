"""Heads on frozen embeddings: known answers on made embeddings, the protocol of each task, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from hf_fairness.measure import read_transfer_task, transfer
from hf_fairness.measure.encoder.transfer import answer, ask, features
from hf_fairness.sources import open_splits

N = 120


def rows_of(labels, prefix: str = "text") -> dict[str, list]:
    return {"text": [f"{prefix} {place}" for place in range(len(labels))], "label": [int(label) for label in labels]}


@pytest.fixture(scope="module")
def random() -> np.random.Generator:
    return np.random.default_rng(1)


def test_labels_that_are_linear_in_the_embedding_are_told_and_random_ones_are_not(random):
    vectors = random.normal(size=(N, 6))
    encoded = read_transfer_task("mine", rows_of(vectors[:, 2] > 0))
    assert len(encoded.measured) == N  # nested cross-validation tells every row
    told = answer(encoded, [vectors], folds=4)
    assert np.mean(told.predicted == encoded.gold) > 0.95
    coins = read_transfer_task("mine", rows_of(random.random(N) < 0.3))
    share = np.mean(answer(coins, [vectors], folds=4).predicted == coins.gold)
    assert abs(share - max(coins.gold.mean(), 1 - coins.gold.mean())) < 0.12


def test_no_row_is_told_by_a_head_that_has_seen_it(random):
    """Labels that a head can only know by heart: with more dimensions than rows it fits them all, and tells none."""
    vectors, labels = random.normal(size=(60, 200)), random.permutation(np.arange(60) % 2)
    task = read_transfer_task("mine", rows_of(labels))
    assert np.mean(answer(task, [vectors], folds=5).predicted == task.gold) < 0.75


def test_accuracy_is_one_on_held_out_rows_and_no_number_depends_on_the_length_of_embeddings(random):
    vectors = random.normal(size=(N, 4))
    labels = (vectors[:, 0] > 0).astype(int)
    vectors[:, 0] += np.where(labels, 2.0, -2.0)
    parts = {"train": rows_of(labels[:80]), "dev": rows_of(labels[80:100], "d"), "test": rows_of(labels[100:], "t")}
    task = read_transfer_task("sst2", parts)
    assert task.told == "trained on 80 rows, penalty by the validation rows, measured on the test rows"
    known = dict(zip(task.texts[0], vectors, strict=True))
    found = transfer(lambda texts: np.stack([known[text] for text in texts]), task)
    assert found["accuracy"] == 1.0
    assert found["n"] == 20
    assert found["meta"]["converged"]
    short, long = (answer(task, [vectors * size]).predicted for size in (1e-3, 1e3))
    assert (short == long).all()


def test_scores_are_told_from_pairs_and_lie_on_the_scale(random):
    left = random.normal(size=(N, 5))
    right = left + random.normal(size=(N, 5)) * np.linspace(0.05, 3.0, N)[:, None]
    gold = 5.0 - 4.0 * np.clip(np.linspace(0, 1, N) + random.normal(0, 0.02, N), 0, 1)
    order = random.permutation(N)
    pairs = [f"pair {place}" for place in range(N)]
    table = {
        "sentence_A": [f"{pairs[place]} a" for place in order],
        "sentence_B": [f"{pairs[place]} b" for place in order],
        "relatedness_score": gold[order].tolist(),
        "SemEval_set": ["TRAIN" if place < 80 else "TRIAL" for place in range(N)],
    }
    task = read_transfer_task("sick-r", table)
    assert (task.name, task.scale, len(task.train), len(task.test)) == ("SICK-R", (1, 5), 80, 40)
    told = answer(task, [left[order], right[order]], folds=4)
    assert told.predicted.min() >= 1.0
    assert told.predicted.max() <= 5.0
    assert np.corrcoef(told.predicted, task.gold[task.measured])[0, 1] > 0.7
    assert told.cosines.shape == (40,)


def test_a_distribution_of_a_score_has_it_for_its_mean():
    """With embeddings that know the score, the head tells the very scores, those between two whole numbers too."""
    gold = np.tile([1.0, 1.5, 2.25, 3.0, 4.75, 5.0], 30)
    kinds = np.eye(6)[np.tile(np.arange(6), 30)]
    table = {"sentence1": ["a"] * 180, "sentence2": ["b"] * 180, "score": gold.tolist()}
    task = read_transfer_task("sick-r", {"train": table, "test": table, "dev": table})
    told = answer(task, [np.tile(kinds, (3, 1)), np.ones((540, 6))])
    assert told.predicted == pytest.approx(gold, abs=0.05)


def test_features_of_pairs():
    left, right = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    found = features([left, right])
    apart, product = np.abs(left - right), left * right
    for block, given in ((found[:, :2], apart), (found[:, 2:], product)):
        centred = given - given.mean(axis=0)
        assert block * np.sqrt(np.mean(centred**2)) == pytest.approx(centred)
    assert not features([np.ones((3, 2))]).any()


def test_known_names_have_their_columns_and_parts(tmp_path):
    folder = tmp_path / "MRPC"
    folder.mkdir()
    for part, n in (("train", 6), ("dev", 4)):
        lines = [f'{place % 2}\t1\t2\tShe said "so {place}.\tHe said so {place}.' for place in range(n)]
        header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"
        (folder / f"{part}.tsv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    task = read_transfer_task("mrpc", open_splits(str(folder)))
    assert task.texts[0][0] == 'She said "so 0.'
    assert (task.name, len(task.train), len(task.validation), len(task.test), task.positive) == ("MRPC", 6, 0, 4, 1)
    assert "10-fold cross-validation" in task.told
    two = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})
    splits = {name: Dataset.from_dict(rows_of([0, 1, 1], name), features=two) for name in ("train", "test")}
    merged = read_transfer_task("MR", DatasetDict(splits))
    assert (len(merged.train), len(merged.test), merged.classes) == (6, 0, ("neg", "pos"))
    secret = {"sentence": ["x", "y"], "label": [-1, -1]}
    given = {"sentence": ["a", "b"], "label": [0, 1]}
    task = read_transfer_task("sst-2", {"train": given, "validation": given, "test": secret, "extra": secret})
    assert (len(task.train), len(task.validation), len(task.test)) == (2, 0, 2)


BAD = {
    "a column of texts": ({"sentences": ["a"], "label": [1]}, "lack a column of texts: expected .*they have sentences"),
    "a column of labels": ({"text": ["a"], "gold": [1]}, "lack a column of labels: expected label"),
    "an empty cell": ({"text": ["a", " "], "label": [0, 1]}, "row 1 of the rows has no text in 'text'"),
    "a row without a label": ({"text": ["a", "b"], "label": [0, None]}, "1 of 2 rows have no label"),
    "one class": ({"text": ["a", "b"], "label": [1, 1]}, "all 2 train rows have the label '1', expected two classes"),
    "no training part": ({"test": rows_of([0, 1])}, None),
    "an unknown part": (
        {"text": ["a", "b"], "label": [0, 1], "split": ["train", "x"]},
        "a row belongs to the part 'x', expected one of train, validation",
    ),
    "no training row": ({"text": ["a"], "label": [0], "split": ["test"]}, "no row belongs to the part train"),
    "two parts of one kind": (
        {"train": rows_of([0, 1]), "dev": rows_of([0, 1]), "trial": rows_of([0, 1])},
        "has two splits that are validation",
    ),
    "splits without train": ({"dev": rows_of([0, 1]), "test": rows_of([0, 1])}, "expected one called train"),
    "a class of the test": ({"train": rows_of([0, 1]), "test": rows_of([1, 2])}, "'2' is in the test rows and in no"),
}


@pytest.mark.parametrize("case", [name for name, (_, message) in BAD.items() if message])
def test_what_is_no_task_is_refused(case):
    rows, message = BAD[case]
    with pytest.raises(ValueError, match=f"(?s)--senteval mine.*{message}"):
        read_transfer_task("mine", rows)


def test_bad_scores_and_names_are_refused():
    pairs = {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"]}
    with pytest.raises(ValueError, match="--senteval SICK-R: all 3 train rows have the score 3"):
        read_transfer_task("sickr", {**pairs, "score": [3, 3, 3]})
    with pytest.raises(ValueError, match="there is a score of 0, expected 1 to 5"):
        read_transfer_task("SICK-R", {**pairs, "score": [0, 3, 4]})
    with pytest.raises(ValueError, match="NaN or infinite, the first in row 1"):
        read_transfer_task("SICK-R", {**pairs, "score": [1, None, 4]})
    with pytest.raises(ValueError, match="a task is called 'a/b'"):
        read_transfer_task("a/b", pairs)


def test_fewer_rows_of_a_class_than_folds_are_refused():
    task = read_transfer_task("mr", rows_of([0, 0, 0, 0, 1, 1, 1]))
    with pytest.raises(
        ValueError, match=r"--senteval MR: there are 3 rows of the class 1, and 3-fold .* needs 4 or more"
    ):
        ask(task, None, folds=3)  # type: ignore[arg-type]
