"""Synonyms: real ones of WordNet, in the right form, drawn per row, and never for protected words."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from pathlib import Path

import pytest
from datasets import Dataset

from hf_fairness.augment.nlu import SynonymSubstitution
from hf_fairness.augment.nlu import wordnet as module
from hf_fairness.augment.nlu.wordnet import WordNet, find_wordnet
from hf_fairness.augment.nlu.words import FUNCTION_WORDS, Word, replace
from support.arrow_tables import check_arrow

FOLDER = Path("/usr/share/wordnet")
TEXTS = [
    "A large car is near the subway.",
    "The kids are in an auto.",
    "A person began to eat lunch happily.",
    "It rained.",
    "",
]


@pytest.fixture(scope="session")
def wordnet() -> str:
    """Folder of the real WordNet 3.0."""
    if not (FOLDER / "data.noun").is_file():
        reason = f"needs WordNet in {FOLDER} (apt-get install --no-install-recommends wordnet-base)"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; in CI these tests must run")
        pytest.skip(reason)
    return str(FOLDER)


@pytest.fixture(scope="session")
def opened(wordnet) -> WordNet:
    return find_wordnet(wordnet)[1]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("car", ["auto", "automobile", "motorcar"]),
        ("cars", ["autos", "automobiles", "motorcars"]),
        ("baby", ["babe", "infant"]),
        ("babies", ["babes", "infants"]),
        ("hide", ["conceal"]),
        ("gesturing", ["gesticulating"]),
        ("repaired", ["mended"]),
        ("hates", ["detests"]),
        ("frequently", ["oftentimes"]),  # often is a function word
        ("mice", []),  # an irregular plural
        ("bank", []),  # two frequent senses
        ("run", []),  # verb or noun
        ("xyzzy", []),
    ],
)
def test_synonyms_of_clear_words(opened, word, expected):
    assert opened.synonyms(word) == expected


@pytest.mark.parametrize(
    ("word", "base", "pos", "form"),
    [
        ("dogs", "dog", "n", "s"),
        ("women", "woman", "n", "s"),
        ("children", "child", "n", "s"),
        ("stopped", "stop", "v", "ed"),
        ("went", "go", "v", "other"),
        ("tiniest", "tiny", "a", "other"),
        ("quickly", "quickly", "r", "base"),
    ],
)
def test_readings(opened, word, base, pos, form):
    assert (base, pos, form) in opened.readings(word)


@pytest.mark.parametrize(
    ("base", "pos", "form", "expected"),
    [
        ("lorry", "n", "s", "lorries"),
        ("bus", "n", "s", None),
        ("box", "n", "s", "boxes"),
        ("child", "n", "s", None),
        ("stop", "v", "ing", "stopping"),
        ("agree", "v", "ing", "agreeing"),
        ("use", "v", "ing", "using"),
        ("carry", "v", "ed", "carried"),
        ("carry", "v", "s", "carries"),
        ("go", "v", "ed", None),
        ("big", "a", "er", None),
    ],
)
def test_only_regular_inflections_are_made(opened, base, pos, form, expected):
    assert opened.inflect(base, pos, form) == expected


def test_a_row_is_added_and_the_article_follows(wordnet):
    out = Dataset.from_dict({"text": TEXTS, "n": [0, 1, 2, 3, 4]}).map(
        SynonymSubstitution("text", rate=1.0, wordnet=wordnet), batched=True
    )
    added = {row["n"]: row["text"] for row in out if row["augmented"]}
    assert set(added) == {0, 1, 2}  # nothing to replace in the others: no copy
    assert re.fullmatch(r"A big (auto|automobile|motorcar) is near the metro\.", added[0])
    assert re.fullmatch(r"The youngsters are in (a car|an automobile|a motorcar)\.", added[1])
    assert "A person" in added[2]  # someone is no noun
    assert [row["augmentation"] for row in out if row["n"] == 0] == ["", "synonyms"]


def test_words_change_at_the_rate(wordnet, shared):
    lines = (shared / "data" / "snli" / "snli_1.0_dev.jsonl").read_text().splitlines()
    texts = [json.loads(line)["sentence2"] for line in lines]
    rows = SynonymSubstitution("text", rate=0.05, wordnet=wordnet)({"text": texts})
    pairs = [(rows["text"][i - 1], rows["text"][i]) for i, added in enumerate(rows["augmented"]) if added]
    assert len(pairs) > 0.15 * len(texts)
    replaced = set()
    for old, new in pairs:
        before, after = re.findall(r"\w+", old), re.findall(r"\w+", new)
        changed = [a for a, b in zip(before, after, strict=True) if a != b and a.lower() not in ("a", "an")]
        assert 1 <= len(changed) <= max(1, int(0.05 * len(before) + 0.5))
        replaced.update(changed)
    assert replaced.isdisjoint(FUNCTION_WORDS)
    assert all(word.islower() for word in replaced)


@pytest.mark.whole
def test_processes_do_not_share_positions_in_files(wordnet, shared, monkeypatch):
    lines = (shared / "data" / "snli" / "snli_1.0_dev.jsonl").read_text().splitlines()
    rows = Dataset.from_dict({"text": [json.loads(line)["sentence2"] for line in lines[:400]]})
    function = SynonymSubstitution("text", wordnet=wordnet)
    expected = rows.map(function, batched=True).to_list()
    monkeypatch.setattr(module, "_opened", {})  # nothing looked up yet when the processes start
    module.synonyms_of.cache_clear()
    find_wordnet(wordnet)
    assert rows.map(function, batched=True, num_proc=2, load_from_cache_file=False).to_list() == expected


def test_protected_terms_stay(wordnet):
    text = {"text": ["Her boyfriend bought a car."]}
    free = [SynonymSubstitution("text", rate=1.0, wordnet=wordnet)(text)["text"][1]]
    kept = [SynonymSubstitution("text", rate=1.0, wordnet=wordnet, protect="gender")(text)["text"][1]]
    assert "beau" in free[0]
    assert "boyfriend" in kept[0]
    assert "car" not in kept[0].split()


def test_rows_are_drawn_alone(wordnet):
    rows = Dataset.from_dict({"text": TEXTS * 5, "n": list(range(25))})
    function = SynonymSubstitution("text", rate=0.3, seed=3, wordnet=wordnet)
    expected = rows.map(function, batched=True).to_list()
    copy = pickle.loads(pickle.dumps(function))
    assert check_arrow(copy, rows[:]).select(list(expected[0])).to_pylist() == expected
    for batch_size in (1, 7):
        assert rows.map(copy, batched=True, batch_size=batch_size).to_list() == expected
    assert rows.map(copy, batched=True, num_proc=2).to_list() == expected
    assert list(rows.to_iterable_dataset().map(copy, batched=True, batch_size=4)) == expected
    shuffled = rows.shuffle(seed=1).map(copy, batched=True)
    assert sorted(map(repr, shuffled)) == sorted(map(repr, expected))
    assert len({row["text"] for row in expected if row["n"] % 5 == 0 and row["augmented"]}) == 1
    by_id = SynonymSubstitution("text", rate=0.3, seed=3, wordnet=wordnet, id_column="n")
    drawn = {row["text"] for row in rows.map(by_id, batched=True) if row["n"] % 5 == 0 and row["augmented"]}
    assert len(drawn) > 1
    seeds = {SynonymSubstitution("text", seed=s, wordnet=wordnet)({"text": TEXTS[:1]})["text"][1] for s in range(10)}
    assert len(seeds) > 1


def test_the_state_holds_no_wordnet(wordnet):
    assert len(pickle.dumps(SynonymSubstitution("text", wordnet=wordnet))) < 2000


@pytest.mark.whole
def test_nltk_finds_its_corpus_in_a_folder_or_an_archive(wordnet, tmp_path, monkeypatch):
    import shutil

    data = pytest.importorskip("nltk.data")
    names = [p.name for p in FOLDER.iterdir() if p.is_file()]
    for kind in ("folder", "archive"):
        corpora = tmp_path / kind / "corpora"
        (corpora / "wordnet").mkdir(parents=True)
        for name in names:
            shutil.copy(FOLDER / name, corpora / "wordnet")
        if kind == "archive":
            shutil.make_archive(str(corpora / "wordnet"), "zip", corpora, "wordnet")
            shutil.rmtree(corpora / "wordnet")
        monkeypatch.setattr(data, "path", [str(tmp_path / kind)])
        assert find_wordnet()[0] == "nltk"
        assert find_wordnet()[1].synonyms("car") == ["auto", "automobile", "motorcar"]
    monkeypatch.setattr(data, "path", [str(tmp_path)])
    with pytest.raises(FileNotFoundError, match=r"python -m nltk.downloader wordnet.*wordnet="):
        SynonymSubstitution("text")


def test_nltk_is_needed_and_its_folders_stay(wordnet, monkeypatch):
    data = pytest.importorskip("nltk.data")
    before = list(data.path)
    monkeypatch.setattr(module, "_opened", {})
    assert find_wordnet(wordnet)[0] == wordnet
    assert data.path == before
    monkeypatch.setitem(sys.modules, "nltk.data", None)
    with pytest.raises(ImportError, match=r"nltk is not installed.*hf-fairness\[nlu\]"):
        SynonymSubstitution("text", wordnet=wordnet)


def test_bad_input(wordnet, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no data.noun in it.*wordnet-base"):
        SynonymSubstitution("text", wordnet=tmp_path)
    for name in ("noun", "verb", "adj", "adv"):
        for kind in ("data", "index"):
            (tmp_path / f"{kind}.{name}").write_text("x\n")
    with pytest.raises(ValueError, match=r"no WordNet files that nltk can read: .*No such file"):
        SynonymSubstitution("text", wordnet=tmp_path)
    for content, reason in (("x\n", "no WordNet files that nltk can read"), ("", "which version of WordNet it is")):
        for path in FOLDER.iterdir():
            if path.is_file():
                (tmp_path / path.name).write_text(content)
        with pytest.raises(ValueError, match=reason):
            SynonymSubstitution("text", wordnet=tmp_path)
    for rate in (0, -0.1, 1.1, True):
        with pytest.raises(ValueError, match=r"rate must be in \(0, 1\]"):
            SynonymSubstitution("text", rate=rate, wordnet=wordnet)
    with pytest.raises(TypeError, match="rewrites one column"):
        SynonymSubstitution(["a", "b"], wordnet=wordnet)
    with pytest.raises(ValueError, match="shoes"):
        SynonymSubstitution("text", wordnet=wordnet, protect="shoes")


def test_replace_keeps_everything_else():
    text = "An  apple, an egg."
    changes = [(Word(4, 9, "apple"), "pear"), (Word(14, 17, "egg"), "onion")]
    assert replace(text, changes) == "A  pear, an onion."
