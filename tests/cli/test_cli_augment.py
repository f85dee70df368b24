"""`hf-fairness augment`: every method on small files, and a card whose numbers are those of the rows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from datasets import ClassLabel, Dataset, load_dataset

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap, GroupVariants
from hf_fairness.cli import main
from hf_fairness.cli.augment_methods import METHODS

ROWS = [
    {"text": "She met her brother.", "label": 1},
    {"text": "Rain.", "label": 0},
    {"text": "He is a waiter.", "label": 1},
    {"text": "She is pregnant.", "label": 0},
    {"text": "Der Mann und die Frau sind nicht zu Hause.", "label": 0},
    {"text": "The queen | left.", "label": 1},
]
PAIRS = [
    {"premise": "A man eats.", "hypothesis": "He eats rice.", "label": "neutral"},
    {"premise": "A dog runs.", "hypothesis": "An animal runs.", "label": "entailment"},
    {"premise": "A girl sits.", "hypothesis": "A girl stands.", "label": "contradiction"},
]
#: Word vectors whose first dimension runs from one group to the other.
VECTORS = {
    **dict.fromkeys(("he", "his", "man", "male", "boy", "son", "father", "himself", "guy", "john"), (-1.0, 0.1)),
    **dict.fromkeys(("she", "her", "woman", "female", "girl", "daughter", "mother", "herself", "gal"), (1.0, 0.1)),
    **{"mary": (1.0, 0.1), "lovely": (0.8, 0.6), "nurse": (0.6, 0.8), "rain": (0.0, 1.0)},
    **dict.fromkeys(("fell", "sky", "was", "grey", "trees", "stood", "is", "a"), (0.05, 1.0)),
}


@pytest.fixture
def write(tmp_path):
    """Writes rows into a file of a kind; returns its path."""

    def make(kind: str, rows=ROWS) -> str:
        path = tmp_path / f"corpus{kind}"
        if kind == ".csv":
            Dataset.from_list(rows).to_csv(path, index=False)
        elif kind == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif kind == ".parquet":
            Dataset.from_list(rows).to_parquet(path)
        else:
            path.write_text("".join(row["text"] + "\n" for row in rows))
        return str(path)

    return make


@pytest.fixture
def augment(tmp_path, capsys):
    """Runs the command; returns the rows that load_dataset reads, the card, and what was printed."""

    def run(source: str, method: str, *words: object, out: str = "out", code: int = 0):
        folder = tmp_path / out
        status = main(["augment", source, "--method", method, "--output", str(folder), *map(str, words)])
        printed = capsys.readouterr()
        assert status == code, printed.err
        if code:
            return printed.err
        rows = load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
        return rows, (folder / "README.md").read_text(), printed.out

    return run


def number(card: str, label: str) -> str:
    """The value beside a label in a table of the card."""
    found = re.search(rf"^\| {re.escape(label)} \| (.*?) \|$", card, re.MULTILINE)
    assert found, f"{label!r} is not in\n{card}"
    return found[1]


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


@pytest.fixture
def vectors(tmp_path) -> str:
    """A file of word vectors, as GloVe writes it."""
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items()))
    return str(path)


def test_rows_are_chosen_by_bias_score(write, augment, vectors):
    worst = "She is a lovely nurse."
    texts = ["Rain fell.", "The sky was grey.", "Trees stood.", "A nurse stood.", worst]
    source = write(".jsonl", [{"text": text} for text in texts])
    words = ("--model", vectors, "--percentile", 75, "--batch_size", 2)
    kept, card, _ = augment(source, "subtract", *words)
    assert kept["text"][:] == texts[:-1]
    assert number(card, "rows left out by the method") == "1"
    assert number(card, "percentile") == "75.0"
    assert number(card, "model") == "vectors.txt"
    more, card, _ = augment(source, "compensate", *words, out="more")
    scores = {row["text"]: row["text_bias_absolute"] for row in more if not row["counterfactual"]}
    assert max(scores, key=scores.__getitem__) == worst
    assert [row["text"] for row in more if row["counterfactual"]] == ["He is a lovely nurse."]
    assert number(card, "rows added") == "1"
    assert "text before: She is a lovely nurse." in card
    assert "text after: He is a lovely nurse." in card
    other, card, _ = augment(source, "replace", *words, out="other")
    assert set(other["text"]) == {*texts[:-1], "He is a lovely nurse."}
    assert number(card, "rows left out by the method") == number(card, "rows added") == "1"
    assert "as many rows chosen at random" in card


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


def test_synonyms(write, augment):
    folder = Path("/usr/share/wordnet")
    if not (folder / "data.noun").is_file():
        pytest.skip("needs WordNet in /usr/share/wordnet (package wordnet-base)")
    rows, card, _ = augment(
        write(".csv", [{"text": "A car stopped."}, {"text": "It."}]), "synonyms", "--wordnet", folder
    )
    assert re.fullmatch(r"An? (auto|automobile|motorcar) stopped\.", rows[1]["text"])
    assert rows["augmentation"][:] == ["", "synonyms", ""]
    assert number(card, "rows added") == "1"
    assert number(card, "wordnet") == "wordnet"


def test_mlm(write, augment, tmp_path):
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "snow", "."]
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
        )
    )
    with torch.no_grad():
        model.cls.predictions.bias[words.index("snow")] = 100.0
    model.save_pretrained(tmp_path / "model")
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(tmp_path / "model")
    source = write(".jsonl", [{"text": "the rain ."}])
    rows, card, _ = augment(source, "mlm", "--model", tmp_path / "model", "--top_k", 1)
    assert rows["text"][:] == ["the rain .", "the snow ."]
    assert number(card, "model") == "model"
    assert "A model chose the words" in card


def test_paraphrase(write, augment, tmp_path):
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"<pad>": 0, "</s>": 1, "<unk>": 2, "rain": 3}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    sizes = {f"{side}_{kind}": 1 for side in ("encoder", "decoder") for kind in ("layers", "attention_heads")}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(vocab_size=4, d_model=8, encoder_ffn_dim=8, decoder_ffn_dim=8, **sizes, **ids))
    with torch.no_grad():  # ends every translation at once: an empty one, so that no row is added
        model.final_logits_bias[0, 1] = 1000.0
    model.save_pretrained(tmp_path / "there")
    tokenizer.save_pretrained(tmp_path / "there")
    words = ("--forward", tmp_path / "there", "--backward", tmp_path / "there", "--num_beams", 2)
    rows, card, _ = augment(write(".csv", [{"text": "rain"}, {"text": "rain rain"}]), "paraphrase", *words)
    assert rows["text"][:] == ["rain", "rain rain"]
    assert number(card, "rows added") == "0"
    assert "## Example" not in card


@pytest.fixture
def server(monkeypatch):
    """A chat server with a model of rules; offline mode, which shuts out this machine too, is off."""
    import huggingface_hub

    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "generation"))
    from chat_server import chat_server

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    huggingface_hub.close_session()
    with chat_server() as running:
        yield running
    huggingface_hub.close_session()


def test_llm_goes_on_from_its_cache(write, augment, tmp_path, server):
    words = ("--model", "rules", "--base_url", server.url, "--cache_dir", tmp_path / "rewrites", "--concurrency", 1)
    source = write(".csv", [{"text": "The waiter met her uncle."}, {"text": "Rain."}, {"text": "He left."}])
    rows, card, _ = augment(source, "llm", *words, "--requests_per_minute", 6000)
    assert rows["male"][2] == "He left."
    assert rows["female"][2] == "She left."
    assert number(card, "requests to the model: requests") == "3"
    assert number(card, "server") == server.url.split("/")[2]
    assert "base_url" not in (tmp_path / "out" / "augment.json").read_text()
    assert number(card, "rows judged") == "3"
    assert number(card, "rejected") == str(sum(bool(reason) for reason in rows["rejected_reason"]))
    assert "A model chose the words" in card
    asked = len(server.requests)
    write(".csv", [{"text": "The waiter met her uncle."}, {"text": "Rain."}, {"text": "He left."}, {"text": "New."}])
    more, card, _ = augment(source, "llm", *words, "--overwrite")
    assert len(server.requests) == asked + 1
    assert more["female"][:3] == rows["female"][:]
    assert number(card, "requests to the model: cached") == "3"


def test_a_subprocess_runs_the_same_command(write, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hf_fairness", "augment", write(".csv"), "--method", "swap", "--output", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "augment.json", "data"]
    assert [path.name for path in (out / "data").iterdir()] == ["train-00000-of-00001.parquet"]
    record = json.loads((out / "augment.json").read_text())
    assert record["counts"]["rows changed"] == 4
    assert record["options"]["attribute"] == "gender"


def test_a_config_file_replaces_flags(write, augment, tmp_path):
    (tmp_path / "c.yaml").write_text("probability: 1.0\nseed: 4\n")
    rows, card, _ = augment(write(".csv"), "cds", "--config", tmp_path / "c.yaml")
    assert sum(rows["substituted"][:]) == 4
    assert number(card, "seed") == "4"


def test_a_split_of_a_saved_folder(augment, tmp_path, capsys):
    from datasets import DatasetDict

    rows = Dataset.from_list(ROWS)
    DatasetDict({"train": rows, "dev": rows.select([0, 1])}).save_to_disk(tmp_path / "saved")
    words = ["augment", str(tmp_path / "saved"), "--method", "swap", "--output", str(tmp_path / "o")]
    assert main([*words, "--dataset_split", "dev"]) == 0
    found = load_dataset(str(tmp_path / "o"), cache_dir=str(tmp_path / "cache"))
    assert list(found) == ["dev"]
    assert len(found["dev"]) == 2


def test_markup_in_the_texts_stays_text(write, augment):
    _, card, _ = augment(write(".jsonl", [{"text": "She | <b>saw</b>\n\n# https://x.org *him*"}]), "swap")
    example = card.split("## Example")[1].split("##")[0]
    assert "<b>" not in example
    assert "https://" not in example
    assert len(example.strip().splitlines()) == 2


def test_the_folder_is_replaced_only_when_asked_and_only_if_ours(write, augment, tmp_path):
    source = write(".csv")
    augment(source, "swap")
    assert "is not empty" in augment(source, "cda", code=1)
    rows, _, _ = augment(source, "cda", "--overwrite")
    assert "counterfactual" in rows.column_names
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    assert "holds 'thesis.txt', which is not of this command" in augment(source, "swap", "--overwrite", code=1)
    assert (tmp_path / "out" / "thesis.txt").exists()
    inside = tmp_path / "out" / "data" / "train-00000-of-00001.parquet"
    (tmp_path / "out" / "thesis.txt").unlink()
    assert "would be replaced" in augment(str(inside), "swap", "--overwrite", code=1)
    assert inside.exists()


def test_a_run_that_fails_leaves_nothing(augment, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "She left."}\n{"text": null}\n')
    assert "Expected a text" in augment(str(tmp_path / "bad.jsonl"), "swap", code=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("method", "words", "message"),
    [
        ("swpa", (), "Unknown method 'swpa'. Did you mean 'swap'? Methods: swap, cda,"),
        ("swap", ("--text_column", "body"), "no column 'body'; its text columns are text"),
        ("swap", ("--text_column", "label"), "Column 'label' of"),
        ("swap", ("--text_column", "text", "--text_columns", "text"), "not both"),
        ("variants", ("--text_columns", "text", "other"), "reads one column; got text, other"),
        ("text-swap", (), "needs two columns: --text_columns premise hypothesis"),
        ("subtract", ("--model", "m"), "Method subtract needs --percentile"),
        ("subtract", ("--percentile", 95), "Method subtract needs --model"),
        ("mlm", (), "Method mlm needs --model"),
        ("paraphrase", (), "Method paraphrase needs --forward and --backward"),
        ("llm", (), "Method llm needs --model (a chat model) or --base_url (a server)"),
        ("compensate", ("--model", "m", "--percentile", 100), "percentile must lie in [1, 100)"),
        ("subtract", ("--model", "m", "--percentile", 0), "percentile must lie in [1, 100)"),
        ("swap", ("--percentile", 95), "has no option --percentile; it belongs to subtract, compensate, replace"),
        ("cda", ("--seed", 3), "has no option --seed; it belongs to cds,"),
        ("cda", ("--temperature", 1), "has no option --temperature; it belongs to llm"),
        ("cds", ("--probability", 1.5), "probability must be in [0, 1]"),
        ("mlm", ("--model", "m", "--num_proc", 2), "runs in one process"),
        ("llm", ("--model", "m", "--attempts", 0), "attempts must be at least 1"),
        ("swap", ("--attribute", "shoes"), "Unknown attribute 'shoes'"),
        ("swap", ("--attribute", "religion"), "A swap needs two groups"),
        ("swap", ("--label_column", "gold"), "no label column 'gold'; the columns are text, other, label"),
        ("balance", ("--sampling", "sideways"), "unknown method 'sideways'"),
        ("synonyms", ("--wordnet", "nowhere"), "nowhere holds no WordNet"),
    ],
)
def test_bad_requests_end_in_one_line(write, augment, method, words, message):
    rows = [{"text": "She left.", "other": "x", "label": 1}]
    source = write(".csv", rows)
    if "--text_column" not in words and "--text_columns" not in words:
        words = ("--text_column", "text", *words) if method != "text-swap" else words
    error = augment(source, method, *words, code=1)
    assert message in error
    assert "Traceback" not in error


def test_empty_and_unknown_sources(augment, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in augment(str(tmp_path / "empty.csv"), "swap", code=1)
    (tmp_path / "x.doc").write_text("x")
    assert "unknown file type" in augment(str(tmp_path / "x.doc"), "swap", code=1)


def test_help_lists_every_method_with_its_line(capsys):
    with pytest.raises(SystemExit):
        main(["augment", "--help"])
    text = capsys.readouterr().out
    for name, method in METHODS.items():
        assert re.search(rf"^  {name} +{re.escape(method.summary)}$", text, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_loads_and_names_its_source(name):
    assert callable(METHODS[name].load())
    if name not in ("swap", "neutralize"):
        assert re.search(r"\d{4}", METHODS[name].source())


def test_push(fake_hub, write, tmp_path):
    code = """
        import sys
        from datasets import load_dataset
        from hf_fairness.cli import main
        source, out = sys.argv[1:]
        words = ["augment", source, "--method", "cda", "--output", out, "--push_to_hub", "tester/fairer"]
        assert main(words) == 0
        assert main([*words, "--overwrite"]) == 0  # a repository that exists is updated
        print(load_dataset("tester/fairer", split="train").to_list())
    """
    printed = fake_hub.run(code, write(".csv"), tmp_path / "out")
    assert "Pushed to" in printed
    files = fake_hub.files("tester/fairer", "dataset")
    assert {path for path in files if path != ".gitattributes"} == {"README.md", "data/train-00000-of-00001.parquet"}
    assert files["README.md"] == (tmp_path / "out" / "README.md").read_bytes()
    assert "He met his sister." in printed.splitlines()[-1]
    assert str(tmp_path) not in files["README.md"].decode()
