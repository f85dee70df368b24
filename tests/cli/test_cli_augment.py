"""`hf-fairness augment` by rules: the rows that it writes, and a card whose numbers are those of the rows."""

from __future__ import annotations

import re

import pytest
from datasets import ClassLabel, Dataset

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap, GroupVariants
from hf_fairness.cli import main
from support.augment_rows import PAIRS, ROWS, number


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet", ".txt"])
def test_cda_on_every_kind_of_file(write, augment, kind):
    rows, card, printed = augment(write(kind), "cda")
    batch = Dataset.from_list(ROWS)[:]
    expected = CounterfactualAugmentation("text", quality=True)(batch)
    columns = set(expected) - ({"label"} if kind == ".txt" else set())
    assert all(rows[name][:] == expected[name] for name in columns)
    added = [row for row in rows if row["counterfactual"]]
    rejected = [row for row in rows if row["rejected_reason"]]
    assert [row["text"] for row in rejected] == ["She is pregnant."]
    assert not any(row["rejected_reason"] for row in added)
    assert number(card, "rows in") == str(len(ROWS))
    assert number(card, "rows out") == str(len(rows))
    assert (number(card, "rows added"), number(card, "rows judged")) == (str(len(added)), "4") == ("3", "4")
    assert number(card, "rejected") == "1"
    assert number(card, "rejected share of the judged") == "0.25"
    assert number(card, "rejected because: inherent") == "1"
    assert number(card, "texts in text: with terms") == "4"
    assert number(card, "texts in text: without terms") == "1"
    assert number(card, "texts in text: in another language") == "1"
    assert "no row was added for it" in card
    assert re.search(r"^rows added +3$", printed, re.MULTILINE)
    assert "README.md" in printed


def test_the_card_states_what_was_done(write, augment):
    words = ("--names", "built-in", "--license", "cc-by-4.0")
    assert "brother" not in augment(write(".csv"), "cda", *words, out="quiet")[1]  # nobody asked for a row of theirs
    _, card, _ = augment(write(".csv"), "cda", *words, "--card_examples")
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
    assert main(["augment", "private/c.txt", "--method", "swap", "--output_dir", "private/out"]) == 0
    card = (tmp_path / "private" / "out" / "README.md").read_text()
    assert number(card, "source") == "c.txt"
    assert "private" not in card


@pytest.mark.parametrize("keep", [False, True])
def test_a_swap_that_was_judged_bad_is_not_used_unless_asked(write, augment, keep):
    words = ("--keep_rejected",) if keep else ()
    rows, card, _ = augment(write(".jsonl"), "swap", "--text_column", "text", "--num_proc", 2, *words)
    expected = CounterfactualSwap("text", quality=True, keep_rejected=keep)(Dataset.from_list(ROWS)[:])
    assert all(rows[name][:] == values for name, values in expected.items())
    changed = [row for row in rows if row["text"] != row["text_counterfactual"]]
    assert ("He is pregnant." in rows["text_counterfactual"][:]) is keep
    assert number(card, "rows changed") == str(len(changed)) == ("4" if keep else "3")
    assert (number(card, "rows judged"), number(card, "rejected")) == ("4", "1")
    assert ("the text itself stands in its place" in card) is not keep


MESSY = [
    "She is pregnant.",
    "He left.",
    None,
    "",
    "Rain.",
    "Der Mann und die Frau sind nicht zu Hause.",
    "Mary lost her keys.",
    "  ",
    "Mr. John Smith left.",
    "A waiter | came\n and *went*.",
]


@pytest.mark.filterwarnings("ignore:.*rows without a text")
@pytest.mark.parametrize("method", ["swap", "cda", "cds"])
@pytest.mark.parametrize("keep", [False, True])
def test_the_card_and_the_rows_agree_on_what_was_rejected(write, augment, method, keep):
    """A hundred messy rows: what the card says of them is what a reader finds, and only bad swaps are rejected."""
    rows = [{"text": text if text is None else text + " " * (i // 10), "n": i} for i, text in enumerate(MESSY * 10)]
    bad = {row["n"] for row in rows if row["text"] and row["text"].startswith(("She is", "Mary", "Mr. John"))}
    made, card, _ = augment(write(".jsonl", rows), method, "--text_column", "text", *(["--keep_rejected"] * keep))
    said = ("", "missing")
    rejected = {row["n"] for row in made if row["rejected_reason"] not in said}
    if method == "cds":
        drawn = {n for n in bad if n in rejected}
        assert 0 < len(drawn) < len(bad)  # a row that was not drawn is not rejected
        bad = drawn
    assert rejected == bad
    assert number(card, "rejected") == str(len(bad))
    assert number(card, "rows without a text") == "10" == str(sum(text is None for text in made["text"][:]))
    new = {"swap": "text_counterfactual", "cds": "text_substituted", "cda": "text"}[method]
    used = {row["n"] for row in made if row["n"] in bad and row[new] != rows[row["n"]]["text"]}
    assert used == (bad if keep else set())
    assert ("lambda row: row\\[" in card) is keep
    if keep:  # as the card says
        good = made.filter(lambda row: row["rejected_reason"] in ("", "missing"))
        assert {row["n"] for row in good if row[new] != rows[row["n"]]["text"]}.isdisjoint(bad)
        assert len(made) - len(good) == len(bad)


@pytest.mark.filterwarnings("ignore:.*(rows without a text|lack a value)")
@pytest.mark.parametrize("method", ["swap", "cda", "cds", "neutralize", "variants", "remove", "balance"])
def test_a_file_with_an_empty_cell(write, augment, method):
    words = ["--text_column", "text"]
    source = write(".jsonl", [{"text": None, "label": 0}, *ROWS])
    error = augment(source, method, *words, "--on_missing", "error", code=1)
    assert "Expected a text in row 0" in error or "rows lack a value in text" in error
    made, card, _ = augment(source, method, *words)
    assert number(card, "rows without a text") == "1"
    assert [row["label"] for row in made if row["text"] is None] == [0]
    assert number(card, "texts in text: missing") == "1"


def test_no_judgement_when_not_wanted(write, augment):
    rows, card, _ = augment(write(".csv"), "cda", "--no_quality")
    assert "rejected_reason" not in rows.column_names
    assert "rejected" not in card.split("## Counts")[1].split("\n## ")[0]
    assert "Nothing judged the swaps" in card.split("## Not checked")[1].split("\n## ")[0]


def test_two_columns_change_together(write, augment):
    rows, card, _ = augment(write(".csv", PAIRS), "cda", "--text_column", "premise", "hypothesis")
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
    rows, card, _ = augment(write(".csv"), method, *words, "--card_examples")
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
    words = ("--text_column", "premise", "hypothesis", "--label_column", "label", "--labels", "neutral")
    found, card, _ = augment(str(tmp_path / "saved"), "text-swap", *words, "--card_examples")
    assert [row["premise"] for row in found if row["augmented"]] == ["He eats rice."]
    assert found.features["label"].names == names
    assert number(card, "rows added") == "1"
    assert "digest" not in card  # no attribute matters
    assert "premise before: A man eats." in card
    named, _, _ = augment(write(".csv", PAIRS), "text-swap", *words[:-1], "contradiction", "neutral", out="texts")
    assert sum(named["augmented"][:]) == 2
