"""The callables in ``datasets.map``: columns, provenance, purity, errors."""

from __future__ import annotations

import hashlib
import json

import pytest
from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict, Value
from datasets.fingerprint import Hasher

from hf_fairness import FairnessWarning
from hf_fairness.attributes import load_attribute
from hf_fairness.augment import (
    CounterfactualAugmentation,
    CounterfactualSubstitution,
    CounterfactualSwap,
    GroupVariants,
    Neutralize,
    apply_edits,
    parse_edits,
    summarize,
)

TEXTS = [
    "She gave her son the book.",
    "The rain stopped.",
    "",
    "He is his sister's boss, isn't he?",
    "Son père est avec ma mère.",
    "An actress met Mr. Smith; the medal is his.",
] * 7


@pytest.fixture
def data() -> Dataset:
    return Dataset.from_dict({"text": TEXTS, "label": list(range(len(TEXTS)))})


def test_columns_of_the_contract(data):
    swapped = data.map(CounterfactualSwap("text"), batched=True)
    assert swapped.column_names == ["text", "label", "text_counterfactual", "edits"]
    triples = data.map(GroupVariants("text"), batched=True, remove_columns=data.column_names)
    assert triples.column_names == ["male", "female", "neutral", "has_terms", "edits", "variant_groups"]
    assert triples.features["has_terms"] == Value("bool")
    assert triples["has_terms"][:6] == [True, False, False, True, False, True]
    assert triples[0]["female"] == "She gave her daughter the book."
    assert triples[1]["male"] == triples[1]["female"] == triples[1]["neutral"] == TEXTS[1]
    assert data.map(Neutralize("text"), batched=True)[0]["text_neutral"] == "They gave their child the book."
    assert len(triples) == len(data)


def test_hash_depends_on_what_matters(tmp_path):
    from hf_fairness.attributes.loading import DATA

    content = json.loads((DATA / "gender.en.json").read_text(encoding="utf-8"))
    content["protected"].append("Sister Act")
    path = tmp_path / "gender.en.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    hashes = [
        Hasher.hash(thing)
        for thing in (
            GroupVariants("text"),
            GroupVariants("text", attribute=path),
            GroupVariants("other"),
            GroupVariants("text", names=True),
            GroupVariants("text", prefix="p_"),
            Neutralize("text"),
        )
    ]
    assert len(set(hashes)) == len(hashes)
    changed = GroupVariants("text")
    changed.version += 1
    assert Hasher.hash(changed) != hashes[0]


def test_edits_rebuild_every_variant(data):
    for row in data.map(GroupVariants("text"), batched=True):
        edits = parse_edits(row["edits"])
        for name in ("male", "female", "neutral"):
            assert apply_edits(row["text"], edits, to=name) == row[name]
        assert row["has_terms"] == bool(edits)
        assert all(row["text"][edit.start : edit.end] == edit.source for edit in edits)
    for row in data.map(CounterfactualSwap("text"), batched=True):
        assert apply_edits(row["text"], parse_edits(row["edits"])) == row["text_counterfactual"]
    for row in data.map(Neutralize("text"), batched=True):
        assert apply_edits(row["text"], parse_edits(row["edits"])) == row["text_neutral"]


def test_edits_say_who_caused_them():
    row = Neutralize("text")({"text": "An uncle says she is in."})
    assert [(edit.source, edit.target, edit.direction) for edit in parse_edits(row["edits"])] == [
        ("An", "A", "male->neutral"),
        ("uncle", "parent's sibling", "male->neutral"),
        ("she", "they", "female->neutral"),
        ("is", "are", "female->neutral"),
    ]


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[{}]", None, '[{"span": [0]}]'])
def test_parse_edits_refuses_what_is_none(text):
    with pytest.raises(ValueError, match="Not a value of an `edits` column"):
        parse_edits(text)


def test_apply_edits_refuses_another_text():
    edits = parse_edits(CounterfactualSwap("t")({"t": "She left."})["edits"])
    with pytest.raises(ValueError, match="does not fit"):
        apply_edits("Rain.", edits)


def test_a_prefix_avoids_a_clash(data):
    assert "x_male" in data.map(GroupVariants("text", prefix="x_"), batched=True).column_names


strict = GroupVariants("text", on_missing="error")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: CounterfactualSwap("text", attribute="genre"), ValueError, "Unknown attribute 'genre'"),
        (
            lambda: CounterfactualSwap("text", target="robot"),
            ValueError,
            "Unknown group 'robot'.*male, female",
        ),
        (
            lambda: CounterfactualSwap("text", attribute="religion"),
            ValueError,
            "has 3: christian, jewish, muslim",
        ),
        (lambda: CounterfactualSwap(""), TypeError, "columns must be"),
        (lambda: GroupVariants(None), TypeError, "columns must be"),
        (lambda: Neutralize("text", pronouns="zz"), ValueError, "Unknown pronoun 'zz'"),
        (
            lambda: GroupVariants("body")({"text": ["x"], "id": [1]}),
            ValueError,
            "no column 'body'. Columns: text, id",
        ),
        (
            lambda: GroupVariants("text")({"text": ["x"], "neutral": ["y"]}),
            ValueError,
            "overwrite column 'neutral'",
        ),
        (
            lambda: CounterfactualSwap("text")({"text": "x", "edits": "[]"}),
            ValueError,
            "overwrite column 'edits'",
        ),
        (lambda: strict({"text": ["x", None]}), TypeError, "row 1 of the batch.*got NoneType"),
        (lambda: GroupVariants("text")({"text": ["x", 3.0]}), TypeError, "row 1 of the batch.*got float"),
        (lambda: strict({"text": None}), TypeError, "column 'text', got NoneType"),
    ],
)
def test_bad_input_is_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_reach_the_user_of_map():
    data = Dataset.from_dict({"text": ["he", None]})
    with pytest.raises(TypeError, match="row 1 of the batch"):
        data.map(strict, batched=True)
    with pytest.raises(ValueError, match="Columns: text"):
        data.map(GroupVariants("body"), batched=True)


def test_an_attribute_object_works(data):
    attribute = load_attribute("religion")
    assert GroupVariants("text", attribute=attribute).outputs().keys() >= {
        "christian",
        "jewish",
        "muslim",
        "neutral",
    }


@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_augmentation_adds_the_counterfactual_row(data, batch_size):
    result = data.map(CounterfactualAugmentation("text"), batched=True, batch_size=batch_size)
    assert result.column_names == ["text", "label", "counterfactual", "edits"]
    assert result["text"][:3] == [
        "She gave her son the book.",
        "He gave his daughter the book.",
        "The rain stopped.",
    ]
    assert result["counterfactual"][:3] == [False, True, False]
    assert result["label"][:3] == [0, 0, 1]
    originals = result.filter(lambda row: not row["counterfactual"])
    assert originals["text"][:] == TEXTS
    assert len(result) == len(TEXTS) + sum(data.map(GroupVariants("text"), batched=True)["has_terms"])
    stream = data.to_iterable_dataset().map(CounterfactualAugmentation("text"), batched=True, batch_size=batch_size)
    assert list(stream) == list(result)


def test_augmentation_needs_batches():
    with pytest.raises(TypeError, match="batched=True"):
        CounterfactualAugmentation("text")({"text": "He ran."})
    with pytest.raises(ValueError, match="overwrite column 'counterfactual'"):
        CounterfactualAugmentation("text")({"text": ["He ran."], "counterfactual": [True]})


def test_substitution_depends_on_seed_and_text_alone():
    texts = [f"He has {i} cups." for i in range(2_000)]
    drawn = CounterfactualSubstitution("text")({"text": texts})["substituted"]
    assert 0.46 < sum(drawn) / len(drawn) < 0.54  # 3.6 standard deviations
    assert drawn == CounterfactualSubstitution("text", seed=0)({"text": texts})["substituted"]
    other = CounterfactualSubstitution("text", seed=1)({"text": texts})["substituted"]
    assert 0.46 < sum(a != b for a, b in zip(drawn, other, strict=True)) / len(drawn) < 0.54
    assert not any(CounterfactualSubstitution("text", probability=0.0)({"text": texts})["substituted"])
    row = CounterfactualSubstitution("text", probability=1.0)({"text": "Rain."})
    assert row == {"text_substituted": "Rain.", "substituted": False, "edits": "[]"}
    with pytest.raises(ValueError, match=r"probability must be in \[0, 1\], got 2"):
        CounterfactualSubstitution("text", probability=2)


def test_substitution_by_id():
    texts = ["He ran."] * 64
    assert len(set(CounterfactualSubstitution("text")({"text": texts})["substituted"])) == 1
    by_id = CounterfactualSubstitution("text", id_column="id")
    batch = by_id({"text": texts, "id": list(range(64))})
    assert len(set(batch["substituted"])) == 2
    assert by_id({"text": "He ran.", "id": 7})["substituted"] == batch["substituted"][7]
    with pytest.raises(ValueError, match="no column 'id'"):
        by_id({"text": texts})


def test_summary_counts_what_is_left_alone():
    with pytest.warns(FairnessWarning, match="7 of 42 texts do not look like language 'en'"):
        counts = summarize(TEXTS)
    assert counts == {
        "n": 42,
        "with_terms": 21,
        "without_terms": 7,
        "empty": 7,
        "missing": 0,
        "other_language": 7,
        "mixed": 21,
        "terms": {"male": 42, "female": 28},
        "kept": {},
    }
    with pytest.raises(TypeError, match="at position 1, got int"):
        summarize(["x", 3])


COUNTED = {"n": 4, "with_terms": 2, "without_terms": 0, "empty": 1, "missing": 1, "other_language": 0, "mixed": 0}
CORPUS = Dataset.from_dict({"text": ["She left.", None, "", "He ran."], "label": [0, 1, 0, 1]})


@pytest.mark.parametrize(
    "data",
    [
        CORPUS,
        CORPUS.with_format("pandas"),
        CORPUS.with_format("numpy"),
        DatasetDict({"train": CORPUS.select([0, 1]), "test": CORPUS.select([2, 3])}),
        CORPUS.to_iterable_dataset(),
        IterableDataset.from_generator(lambda: iter(CORPUS)),
        IterableDatasetDict({"train": CORPUS.to_iterable_dataset()}),
        CORPUS["text"],
        ["She left.", float("nan"), "", "He ran."],
        (text for text in CORPUS["text"]),
    ],
    ids=lambda data: type(data).__name__,
)
def test_summary_of_any_kind_of_data(data):
    assert summarize(data) == {**COUNTED, "terms": {"male": 1, "female": 1}, "kept": {}}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: summarize("She left."), TypeError, "takes texts or a data set, got str: 'She left.'"),
        (lambda: summarize(3), TypeError, 'Pass a list of texts, dataset\\["text"\\], or the data set itself'),
        (lambda: summarize({"text": ["She left."]}), TypeError, "got a dict of text. Pass one of its columns"),
        (lambda: summarize(CORPUS.rename_column("text", "a"), column="b"), ValueError, "no column 'b'. Columns: a, l"),
        (lambda: summarize(CORPUS.select_columns("label")), ValueError, "no column 'of texts'"),
        (lambda: summarize(CORPUS.rename_column("text", "a").add_column("b", ["x"] * 4)), ValueError, "several col"),
        (lambda: summarize(["x"], column="a"), TypeError, "belongs to a data set, got list. Leave it out"),
    ],
)
def test_summary_says_what_to_pass(call, error, message):
    with pytest.raises(error, match=message):
        call()


class Tagger:
    """Calls every *her* an object."""

    def __call__(self, text: str) -> list[tuple[int, int, str]]:
        place = text.find("her")
        return [(place, place + 3, "PRP")] if place >= 0 else []


def test_a_tagger_settles_what_the_rules_leave_open():
    text = "I know her cooking."
    assert CounterfactualSwap("t")({"t": text})["t_counterfactual"] == "I know his cooking."
    tagged = CounterfactualSwap("t", tagger=Tagger())
    assert tagged({"t": text})["t_counterfactual"] == "I know him cooking."
    assert CounterfactualAugmentation("t", tagger=Tagger())({"t": [text]})["t"][1] == "I know him cooking."
    assert Neutralize("t", tagger=Tagger())({"t": text})["t_neutral"] == "I know them cooking."
    assert GroupVariants("t", tagger=Tagger())({"t": text})["male"] == "I know him cooking."
    assert Hasher.hash(tagged) == Hasher.hash(CounterfactualSwap("t", tagger=Tagger()))
    assert Hasher.hash(tagged) != Hasher.hash(CounterfactualSwap("t"))


def test_cda_of_whole_columns_is_that_of_one_row_after_the_other(monkeypatch):
    texts = [*TEXTS[:6], None, "He (or she) told his/her aunts' s/he-friend an actor's story.", "The ladies' room"]
    batch = {"text": texts, "label": list(range(len(texts)))}
    with pytest.warns(FairnessWarning, match="rows without a text"):
        together = CounterfactualAugmentation("text")(batch)
    monkeypatch.setattr(CounterfactualAugmentation, "plain", False)
    with pytest.warns(FairnessWarning, match="rows without a text"):
        assert CounterfactualAugmentation("text")(batch) == together
    assert together["counterfactual"].count(True) == 5


def test_draws_are_those_of_the_first_release():
    texts = [f"He has {i} cups." for i in range(12)]
    drawn = CounterfactualSubstitution("t", seed=3)({"t": texts})["substituted"]
    digests = [hashlib.blake2b(f"3\x1f{text}".encode(), digest_size=8).digest() for text in texts]
    assert drawn == [digest[0] < 128 for digest in digests]
    assert 0 < sum(drawn) < 12
