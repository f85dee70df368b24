"""`hf-fairness augment` by rules: the rows that it writes, and a card whose numbers are those of the rows."""

from __future__ import annotations

import re

import pytest
from augment_rows import PAIRS, ROWS, number
from datasets import ClassLabel, Dataset

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap, GroupVariants
from hf_fairness.cli import main


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet", ".txt"])
def test_cda_on_every_kind_of_file(write, augment, kind):
    rows, card, printed = augment(write(kind), "cda")
    batch = Dataset.from_list(ROWS)[:]
    expected = CounterfactualAugmentation("text")(batch)
    assert rows["text"][:] == expected["text"]
    assert rows["counterfactual"][:] == expected["counterfactual"]
    if kind != ".txt":
        assert rows["label"][:] == expected["label"]
    added = [row for row in rows if row["counterfactual"]]
    rejected = [row for row in added if row["rejected_reason"]]
    assert [row["text"] for row in rejected] == ["He is pregnant."]
    assert all(row["confidence"] == (0 if row in rejected else row["confidence"]) > -1 for row in added)
    assert all(row["confidence"] == 1 and not row["rejected_reason"] for row in rows if not row["counterfactual"])
    assert number(card, "rows in") == str(len(ROWS))
    assert number(card, "rows out") == str(len(rows))
    assert number(card, "rows added") == str(len(added)) == number(card, "rows judged") == "4"
    assert number(card, "rejected") == "1"
    assert number(card, "rejected share of the judged") == "0.25"
    assert number(card, "rejected because: inherent") == "1"
    assert number(card, "texts in text: with terms") == "4"
    assert number(card, "texts in text: without terms") == "1"
    assert number(card, "texts in text: in another language") == "1"
    assert r"marked in the column rejected\_reason" in card
    assert re.search(r"^rows added +4$", printed, re.MULTILINE)
    assert "README.md" in printed


def test_the_card_states_what_was_done(write, augment):
    _, card, _ = augment(write(".csv"), "cda", "--names", "built-in", "--license", "cc-by-4.0")
    gender = load_attribute("gender")
    assert number(card, "digest of the attribute") == gender.digest
    assert number(card, "given names") == "counted as terms"
    assert number(card, "source") == "corpus.csv"  # no local path
    assert "text before: She met her brother." in card
    assert "text after: He met his sister." in card
    assert "Zayed et al. 2023" in number(card, "described in")
    assert all(source.split(":")[0] in card for source in gender.sources)
    assert "\nlicense: cc-by-4.0\n" in card
    for text in ("does not make it fair", "Nobody read the rows", "labels of their sources", "| datasets |"):
        assert text in card


def test_of_local_places_the_card_shows_the_name_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "c.txt").write_text("She left.\n")
    assert main(["augment", "private/c.txt", "--method", "swap", "--output", "private/out"]) == 0
    card = (tmp_path / "private" / "out" / "README.md").read_text()
    assert number(card, "source") == "c.txt"
    assert "private" not in card


def test_swap_keeps_the_rows_and_marks_rejected_ones(write, augment):
    rows, card, _ = augment(write(".jsonl"), "swap", "--text_column", "text", "--num_proc", 2)
    expected = CounterfactualSwap("text")(Dataset.from_list(ROWS)[:])
    assert rows["text"][:] == [row["text"] for row in ROWS]
    assert rows["text_counterfactual"][:] == expected["text_counterfactual"]
    changed = [row for row in rows if row["text"] != row["text_counterfactual"]]
    assert number(card, "rows changed") == str(len(changed)) == "4"
    assert number(card, "rejected") == "1"  # a text without terms is no bad swap


def test_rejected_rows_go_when_asked(write, augment):
    rows, card, _ = augment(write(".csv"), "cda", "--drop_rejected")
    assert "He is pregnant." not in rows["text"][:]
    assert "She is pregnant." in rows["text"][:]
    assert number(card, "rejected rows left out") == "1"
    assert "marked in the column" not in card
    assert number(card, "rows out") == str(len(rows)) == "9"


def test_no_judgement_when_not_wanted(write, augment):
    rows, card, _ = augment(write(".csv"), "cda", "--no_quality")
    assert "rejected_reason" not in rows.column_names
    counts, limits = card.split("## Counts")[1].split("## Not checked")
    assert "rejected" not in counts
    assert "Nothing judged the swaps" in limits


def test_two_columns_change_together(write, augment):
    rows, card, _ = augment(write(".csv", PAIRS), "cda", "--text_columns", "premise", "hypothesis")
    assert [row["premise"] for row in rows if row["counterfactual"]] == ["A woman eats.", "A boy sits."]
    assert [row["hypothesis"] for row in rows if row["counterfactual"]] == ["She eats rice.", "A boy stands."]
    assert number(card, "texts in premise: with terms") == "2"
    assert number(card, "texts in hypothesis: without terms") == "1"


def test_cds_is_drawn_by_the_seed(write, augment):
    source = write(".csv", ROWS * 10)
    rows, card, _ = augment(source, "cds", "--seed", 1, "--probability", 0.5)
    again, _, _ = augment(source, "cds", "--seed", 1, "--batch_size", 7, "--probability", 0.5, out="again")
    other, _, _ = augment(source, "cds", "--seed", 2, out="other")
    assert rows.to_list() == again.to_list()
    assert rows["text_substituted"][:] != other["text_substituted"][:]
    changed = sum(row["text"] != row["text_substituted"] for row in rows)
    assert number(card, "rows changed") == str(changed) == str(sum(rows["substituted"][:]))
    assert number(card, "seed") == "1"


@pytest.mark.parametrize(
    ("method", "words", "column", "expected"),
    [
        ("neutralize", (), "text_neutral", "They met their sibling."),
        ("neutralize", ("--pronouns", "xe"), "text_neutral", "Xe met xyr sibling."),
        ("remove", ("--placeholder", "_"), "text_blind", "_ met _ _."),
        ("variants", ("--prefix", "v_"), "v_male", "He met his brother."),
    ],
)
def test_columns_beside_the_text(write, augment, method, words, column, expected):
    rows, card, _ = augment(write(".csv"), method, *words)
    assert rows[0][column] == expected
    assert len(rows) == len(ROWS)
    assert number(card, "rows changed") == "4"
    assert expected.replace("_", r"\_") in card


def test_variants_are_those_of_the_map_function(write, augment):
    rows, _, _ = augment(write(".parquet"), "variants")
    expected = GroupVariants("text")(Dataset.from_list(ROWS)[:])
    assert all(rows[name][:] == values for name, values in expected.items())


def test_balance(write, augment):
    rows, card, _ = augment(write(".csv"), "balance")  # two texts of a woman and one of a man, and a mixed one
    polarity = [load_attribute("gender").polarity(text) for text in rows["text"]]
    assert polarity.count("male") == polarity.count("female") == 1
    assert number(card, "rows left out by the method") == str(len(ROWS) - len(rows))
    up, card, _ = augment(write(".csv"), "balance", "--sampling", "up", "--seed", 3, out="up")
    assert number(card, "rows added") == str(len(up) - len(ROWS)) != "0"
    grouped, card, _ = augment(write(".csv", PAIRS * 2 + PAIRS[:1]), "balance", "--group_column", "label", out="column")
    assert sorted(grouped["label"][:]) == sorted(["neutral", "entailment", "contradiction"] * 2)
    assert number(card, "rows left out by the method") == "1"


def test_text_swap_by_label_name(write, augment, tmp_path):
    names = ["entailment", "neutral", "contradiction"]
    rows = Dataset.from_list([{**row, "label": names.index(row["label"])} for row in PAIRS])
    rows.cast_column("label", ClassLabel(names=names)).save_to_disk(tmp_path / "saved")
    words = ("--text_columns", "premise", "hypothesis", "--label_column", "label", "--labels", "neutral")
    found, card, _ = augment(str(tmp_path / "saved"), "text-swap", *words)
    assert [row["premise"] for row in found if row["augmented"]] == ["He eats rice."]
    assert found.features["label"].names == names
    assert number(card, "rows added") == "1"
    assert "digest" not in card  # no attribute matters
    assert "premise before: A man eats." in card
    named, _, _ = augment(write(".csv", PAIRS), "text-swap", *words[:-1], "contradiction", "neutral", out="texts")
    assert sum(named["augmented"][:]) == 2
