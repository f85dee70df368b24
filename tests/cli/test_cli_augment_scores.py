"""`hf-fairness augment --method score`: once for every percentile, and another corpus along the same direction."""

from __future__ import annotations

import json
import sys

import pytest
from datasets import Dataset, load_dataset
from huggingface_hub import constants

from hf_fairness import encoders
from hf_fairness.cli import main
from hf_fairness.measure import BiasDirection, BiasScore, bias_direction
from hf_fairness.refine import compensate, replace, subtract
from support.augment_rows import number
from support.ccd_case import make_encoder

WHO = ("She", "He", "The nurse", "The boxer", "Nobody", "My mother", "A waiter", "The queen")
WHAT = ("left early.", "is a lovely nurse.", "fell.", "sings in the rain.", "met his brother.", "broke it.")
#: Pairs of texts with some of one score, some of another, and an empty one.
ROWS = [
    {"premise": f"{who} {what}", "hypothesis": f"{WHO[(i + j) % len(WHO)]} {WHAT[-j]}" if i + j else "", "label": i % 3}
    for i, who in enumerate(WHO)
    for j, what in enumerate(WHAT)
]
COLUMNS = ("--text_column", "premise", "hypothesis")
SCORES = [f"{column}_bias_absolute" for column in ("premise", "hypothesis")]
PERCENTILES = (90, 93, 95, 97)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("model"))


@pytest.fixture
def opened(monkeypatch):
    """What was opened as a model."""
    found: list[object] = []
    before = encoders._open
    monkeypatch.setattr(encoders, "_open", lambda *given: found.append(given[0]) or before(*given))
    return found


def test_a_sweep_over_scored_rows_gives_the_rows_of_the_model(write, augment, model, opened, tmp_path):
    source = write(".jsonl", ROWS)
    scored, card, _ = augment(source, "score", *COLUMNS, "--model_name_or_path", model, out="scored")
    assert opened == [model]
    function = BiasScore(["premise", "hypothesis"], model)
    expected = Dataset.from_list(ROWS).map(function, batched=True)
    assert scored.column_names == expected.column_names
    assert scored.to_list() == expected.to_list()  # a score is written as it was computed
    assert len({row[SCORES[0]] for row in scored}) > 20
    assert "Dolci et al. 2023" in number(card, "described in")
    assert "direction.json" in card
    assert number(card, "rows out") == str(len(ROWS))
    from_model, from_scores = {}, {}
    opened.clear()
    ready, words = str(tmp_path / "scored"), ("--score_column", *SCORES)
    for percentile in PERCENTILES:
        rows, _, _ = augment(ready, "subtract", *words, "--percentile", percentile, out=f"sub{percentile}")
        from_scores["subtract", percentile] = rows.to_list()
    for method in ("compensate", "replace"):
        rows, _, _ = augment(ready, method, *words, *COLUMNS, "--percentile", 90, out=method)
        from_scores[method, 90] = rows.to_list()
    assert opened == []
    for (method, percentile), rows in from_scores.items():
        how = ("--model_name_or_path", model, "--percentile", percentile)
        from_model[method, percentile] = augment(source, method, *COLUMNS, *how, out=f"m{method}{percentile}")[0]
        assert from_model[method, percentile].to_list() == rows, (method, percentile)
    assert len(opened) == len(from_scores)
    sizes = [len(from_scores["subtract", percentile]) for percentile in PERCENTILES]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] < len(ROWS)
    assert len(from_scores["compensate", 90]) > len(ROWS)


def test_a_table_is_distilled_and_scores_without_the_model(write, augment, model, opened, tmp_path):
    texts = [{"text": f"{one['premise']} {other['hypothesis']}".strip()} for one in ROWS for other in ROWS[:6]]
    source, table = write(".jsonl", [*texts, {"text": ""}]), tmp_path / "first" / "bias_table.npz"
    options = ("--model_name_or_path", model, "--distill", "250")
    first, card, _ = augment(source, "score", *options, out="first")
    assert opened == [model]
    assert (tmp_path / "first" / "direction.json").is_file()
    assert number(card, "distill") == "250"
    said = json.loads((tmp_path / "first" / "augment.json").read_text())["distilled"]
    assert said["tables"][0]["n_texts"] == 250
    assert 0 <= said["not in the table"] < 0.1 * said["words looked up"]
    opened.clear()
    again, _, _ = augment(source, "score", "--distilled", table, out="again")
    assert again.to_list() == first.to_list()
    assert list(first.features) == ["text", *(f"text_bias_{key}" for key in ("male", "female", "absolute"))]
    for index in (1, 0):
        shard = ("--num_shards", "2", "--shard_index", str(index), "--distilled", str(table))
        assert main(["augment", source, "--method", "score", "--output_dir", str(tmp_path / "n"), *shard]) == 0
    made = load_dataset(str(tmp_path / "n"), split="train", cache_dir=str(tmp_path / "cache"))
    assert made.to_list() == first.to_list()
    kept, _, _ = augment(source, "subtract", "--distilled", table, "--percentile", 90, out="kept")
    assert opened == []
    assert kept.to_list() == subtract(first, percentile=90, score_columns="text_bias_absolute").to_list()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--distilled {here}", "--distilled: "),
        ("--distilled {here}/nothing.npz", "--distilled: "),
        ("--distilled x.npz --form raw", "--distilled scores without a model: leave out --form"),
        ("--distilled x.npz --model_name_or_path m", "leave out --model_name_or_path, or the table"),
        ("--distill 500", "needs --model_name_or_path (a model that scores the texts) or --distilled"),
        ("--distill 5 --model_name_or_path m", "--distill is 5, expected 200 or more"),
        ("--distill 500 --model_name_or_path m --num_shards 2 --shard_index 0", "so no shard can"),
    ],
)
def test_tables_that_cannot_be(write, augment, tmp_path, words, message):
    assert message in augment(write(".jsonl", ROWS), "score", *COLUMNS, *words.format(here=tmp_path).split(), code=1)


def test_scores_of_shards(write, augment, model, tmp_path):
    """Scored along one direction, in whatever company: the numbers of one run."""
    source, words = write(".jsonl", ROWS), (*COLUMNS, "--model_name_or_path", model)
    one, _, _ = augment(source, "score", *words)
    for index, size in ((2, 5), (0, 32), (1, 1)):
        shard = ("--num_shards", "3", "--shard_index", str(index), "--batch_size", str(size))
        assert main(["augment", source, "--method", "score", "--output_dir", str(tmp_path / "n"), *words, *shard]) == 0
    made = load_dataset(str(tmp_path / "n"), split="train", cache_dir=str(tmp_path / "cache"))
    assert made.features == one.features
    for name in one.column_names:
        close = name.split("_bias_")[1:]
        assert made[name][:] == (pytest.approx(one[name][:], abs=1e-5) if close else one[name][:]), name
    directions = [(tmp_path / name / "direction.json").read_bytes() for name in ("out", "n")]
    assert directions[0] == directions[1]


def test_the_functions_take_the_columns_of_the_command(write, augment, model):
    rows, _, _ = augment(write(".jsonl", ROWS), "score", *COLUMNS, "--model_name_or_path", model)
    kept = subtract(rows, percentile=90, score_columns=SCORES)
    assert 0 < len(rows) - len(kept) <= len(rows) // 5
    options = {"percentile": 90, "score_columns": SCORES, "text_columns": ["premise", "hypothesis"]}
    assert len(compensate(rows, **options)) > len(rows) > len(kept)
    assert len(replace(rows, **options)) > len(kept)


@pytest.mark.whole
def test_the_direction_cache_may_be_left_out(write, augment, model, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys.modules[bias_direction.__module__], "_MADE", {})
    options = ("--model_name_or_path", model)
    source = write(".jsonl", [{"text": row["premise"]} for row in ROWS])
    without, _, _ = augment(source, "score", *options, "--direction_cache", "false", out="without")
    assert not (tmp_path / "home").exists()
    kept, _, _ = augment(source, "score", *options, out="kept")
    assert len([*(tmp_path / "home" / "hf_fairness" / "directions").glob("*.json")]) == 1
    assert kept.to_list() == without.to_list()


@pytest.mark.whole
def test_caches_that_cannot_be_written_keep_nobody_from_a_score(write, augment, model, tmp_path, monkeypatch):
    home = tmp_path / "file" / "home"
    home.parent.write_text("a file where the caches should be")
    monkeypatch.setattr(constants, "HF_HOME", str(home))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", home / "datasets")
    monkeypatch.setattr(sys.modules[bias_direction.__module__], "_MADE", {})
    source = write(".jsonl", [{"text": row["premise"]} for row in ROWS])
    scored, _, _ = augment(source, "score", "--model_name_or_path", model)
    assert len(set(scored["text_bias_absolute"])) > 20


def test_a_second_corpus_is_scored_along_the_same_direction(write, augment, model, tmp_path):
    text = [{"text": row["premise"]} for row in ROWS]
    options = ("--model_name_or_path", model, "--form", "raw", "--importance", "max")
    (tmp_path / "pairs.csv").write_text("male,female,n\nHe left.,She left.,1\nthe king sat.,the queen sat.,2\n")
    pairs = ("--pairs", tmp_path / "pairs.csv")
    first, card, _ = augment(write(".jsonl", text), "score", *options, *pairs, out="first")
    assert number(card, "pairs") == "pairs.csv"
    used = BiasDirection.load(tmp_path / "first" / "direction.json")
    given = [("He left.", "She left."), ("the king sat.", "the queen sat.")]
    assert used == bias_direction(model, given)
    assert (used.n_pairs, used.kind) == (2, "text pairs")
    assert str(tmp_path) not in (tmp_path / "first" / "direction.json").read_text()
    again = ("--direction", tmp_path / "first" / "direction.json")
    second, _, _ = augment(write(".jsonl", text[:9]), "score", *options, *again, out="second")
    assert second.to_list() == first.to_list()[:9]
    assert BiasDirection.load(tmp_path / "second" / "direction.json") == used
    refused = augment(write(".jsonl", text[:9]), "score", *options, *again, "--overwrite", out="first", code=1)
    assert "direction.json lies in" in refused
    own, _, _ = augment(write(".jsonl", text[:9]), "score", *options, out="own")
    assert own["text_bias_absolute"][:] != second["text_bias_absolute"][:]
    listed, _, _ = augment(write(".jsonl", text[:9]), "score", *options, "--pairs", "paper", out="listed")
    assert listed["text_bias_absolute"][:] not in (own["text_bias_absolute"][:], second["text_bias_absolute"][:])
    chosen, _, _ = augment(write(".jsonl", text), "subtract", *options, *again, "--percentile", 90, out="chosen")
    assert chosen.to_list() == subtract(first, percentile=90, score_columns="text_bias_absolute").to_list()
    assert BiasDirection.load(tmp_path / "chosen" / "direction.json") == used


@pytest.mark.parametrize(
    ("method", "words", "message"),
    [
        ("subtract", "--score_column text --percentile 90", "--score_column: 'text' holds string, wanted numbers"),
        ("subtract", "--score_column nothing --percentile 90", "no column 'nothing' for --score_column"),
        ("subtract", "--score_column hole --percentile 90", "--score_column: 'hole' holds 1 value(s) that are NaN"),
        ("compensate", "--score_column nan --percentile 90", "--score_column: 'nan' holds 1 value(s) that are NaN"),
        ("subtract", "--score_column a a --percentile 90", "--score_column names a column twice: a, a"),
        ("subtract", "--percentile 90", "needs --model_name_or_path (a model that scores the texts) or --score_column"),
        ("subtract", "--score_column a --percentile 90 --form raw", "leave out --form, or score anew"),
        ("subtract", "--score_column a --percentile 90 --model_name_or_path m", "leave out --model_name_or_path"),
        ("subtract", "--score_column a", "needs --percentile"),
        ("subtract", "--score_column a --percentile 100", "--percentile must lie in [1, 100)"),
        ("score", "--percentile 90", "has no option --percentile; it belongs to subtract, compensate, replace"),
        ("score", "--score_column a", "has no option --score_column; it belongs to"),
        ("score", "", "needs --model_name_or_path"),
        ("score", "--model_name_or_path {model} --form rwa", "--form must be one of raw, neutral"),
        ("score", "--model_name_or_path {model} --importance most", "--importance must be one of max, mean"),
        ("score", "--model_name_or_path {model} --direction {wide}", "--direction has 2 dimensions, the word vectors"),
        ("score", "--model_name_or_path {model} --direction {faiths}", "--direction is one from christian to muslim"),
        ("score", "--model_name_or_path {model} --direction {source}", "--direction: {source} is no saved direction"),
        ("score", "--model_name_or_path {model} --direction nowhere.json", "--direction: there is no such file"),
        ("score", "--model_name_or_path {model} --direction {wide} --pairs paper", "Give --direction or --pairs"),
        ("score", "--model_name_or_path {model} --pairs papr", "--pairs takes paper, extended or a file of pairs"),
        ("score", "--model_name_or_path {model} --pairs {source}", "expected one of texts for each group, male and"),
        ("score", "--model_name_or_path {model} --attribute religion", "attribute 'religion' has 3"),
        ("score", "--model_name_or_path ./nowhere", "--model_name_or_path: there is no such file"),
    ],
)
def test_what_cannot_be_scored_is_said_by_its_flag(write, augment, model, tmp_path, method, words, message):
    rows = [{"text": "He left.", "a": 0.1, "hole": 0.2, "nan": 0.3}, {"text": "She left.", "a": 0.4, "hole": None}]
    source = write(".jsonl", [{**rows[0]}, {**rows[1], "nan": float("nan")}])
    places = {"model": model, "source": source}
    for name, groups in {"wide": ("male", "female"), "faiths": ("christian", "muslim")}.items():
        places[name] = str(BiasDirection([0.6, 0.8], groups).save(tmp_path / f"{name}.json"))
    error = augment(source, method, "--text_column", "text", *words.format(**places).split(), code=1)
    assert message.format(**places) in error
    assert not (tmp_path / "out").exists()


@pytest.mark.whole
def test_rows_and_direction_go_to_the_hub_together(fake_hub, write, model, tmp_path):
    """Into a private repository with the name of the folder; who has them scores another corpus."""
    code = """
        import os, sys
        from datasets import load_dataset
        from huggingface_hub import hf_hub_download
        from hf_fairness.cli import main
        from hf_fairness.measure import BiasDirection
        source, model, out = sys.argv[1:]
        words = ["augment", source, "--method", "score", "--model_name_or_path", model, "--text_column", "premise"]
        token = os.environ.pop("HF_TOKEN")
        push = ["--push_to_hub", "--hub_private_repo", "--hub_token"]
        assert main([*words, "--output_dir", out, *push, token + "x"]) == 1
        assert main([*words, "--output_dir", out, *push, token]) == 0
        os.environ["HF_TOKEN"] = token
        rows = load_dataset("tester/scored", split="train")
        file = hf_hub_download("tester/scored", "direction.json", repo_type="dataset")
        assert BiasDirection.load(file).groups == ("male", "female")
        assert main([*words, "--output_dir", out + "2", "--direction", file]) == 0
        again = load_dataset("parquet", data_files=out + "2/data/*.parquet", split="train")
        assert again.to_list() == rows.to_list()
    """
    printed = fake_hub.run(code, write(".jsonl", ROWS), model, tmp_path / "scored")
    assert printed.count("Pushed to") == 1
    files = fake_hub.files("tester/scored", "dataset")
    assert not any(str(tmp_path).encode() in content for content in files.values())
    assert {"README.md", "direction.json"} < set(files)


def test_rows_without_a_text_score_nothing_and_are_counted(write, augment, model):
    source = write(".jsonl", [{"text": "The nurse left."}, {"text": None}, {"text": ""}])
    words = ("--text_column", "text", "--model_name_or_path", model)
    with pytest.warns(UserWarning, match="rows without a text in text pass through"):
        rows, card, _ = augment(source, "score", *words)
    assert rows["text_bias_absolute"][1:] == [0.0, 0.0]
    assert rows["text_bias_absolute"][0] > 0.0
    assert number(card, "rows without a text") == "1"
    assert json.loads(json.dumps(rows[1]["text"])) is None
    assert "Expected a text" in augment(source, "score", *words, "--on_missing", "error", out="other", code=1)
