"""`hf-fairness augment` with a model or a thesaurus: bias scores, synonyms, fill-ins, translations, a chat model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.augment_models import save_filler, save_translator
from support.augment_rows import number

#: Word vectors whose first dimension runs from one group to the other.
VECTORS = {
    **dict.fromkeys(("he", "his", "man", "male", "boy", "son", "father", "himself", "guy", "john"), (-1.0, 0.1)),
    **dict.fromkeys(("she", "her", "woman", "female", "girl", "daughter", "mother", "herself", "gal"), (1.0, 0.1)),
    **{"mary": (1.0, 0.1), "lovely": (0.8, 0.6), "nurse": (0.6, 0.8), "rain": (0.0, 1.0)},
    **dict.fromkeys(("fell", "sky", "was", "grey", "trees", "stood", "is", "a"), (0.05, 1.0)),
}


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
    words = ("--model_name_or_path", vectors, "--percentile", 75, "--batch_size", 2)
    kept, card, _ = augment(source, "subtract", *words)
    assert kept["text"][:] == texts[:-1]
    assert number(card, "rows left out by the method") == "1"
    assert number(card, "percentile") == "75.0"
    assert number(card, r"model\_name\_or\_path") == "vectors.txt"
    more, card, _ = augment(source, "compensate", *words, "--card_examples", out="more")
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
    model = save_filler(tmp_path / "model")
    rows, card, _ = augment(
        write(".jsonl", [{"text": "the rain ."}]), "mlm", "--model_name_or_path", model, "--top_k", 1
    )
    assert rows["text"][:] == ["the rain .", "the snow ."]
    assert number(card, r"model\_name\_or\_path") == "model"
    assert "A model chose the words" in card


def test_paraphrase(write, augment, tmp_path):
    model = save_translator(tmp_path / "there")  # an empty translation, so that no row is added
    words = ("--forward_model", model, "--backward_model", model, "--num_beams", 2)
    rows, card, _ = augment(write(".csv", [{"text": "rain"}, {"text": "rain rain"}]), "paraphrase", *words)
    assert rows["text"][:] == ["rain", "rain rain"]
    assert number(card, "rows added") == "0"
    assert "## Example" not in card


def test_llm_goes_on_from_its_cache(write, augment, tmp_path, server):
    words = (
        "--model_name_or_path",
        "rules",
        "--base_url",
        server.url,
        "--cache_dir",
        tmp_path / "rewrites",
        "--concurrency",
        1,
    )
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
    assert all(body["temperature"] == 0.0 for body in server.requests)
    asked = len(server.requests)
    write(".csv", [{"text": "The waiter met her uncle."}, {"text": "Rain."}, {"text": "He left."}, {"text": "New."}])
    more, card, _ = augment(source, "llm", *words, "--overwrite")
    assert len(server.requests) == asked + 1
    assert more["female"][:3] == rows["female"][:]
    assert number(card, "requests to the model: cached") == "3"


def test_what_a_server_refused_is_asked_again(write, augment, tmp_path, server):
    """The cache of `datasets` would give back the row that was refused."""
    words = ("--model_name_or_path", "rules", "--base_url", server.url, "--cache_dir", tmp_path / "rewrites")
    words += ("--on_refused", "reject", "--concurrency", 1)
    source = write(".csv", [{"text": "He left."}, {"text": "Rain."}, {"text": "She sat."}])
    server.faults.extend(["400", "400"])  # with a schema, and without
    rows, _, _ = augment(source, "llm", *words)
    assert rows["rejected_reason"][0].startswith("refused")
    rows, _, _ = augment(source, "llm", *words, "--overwrite")
    assert (rows["female"][0], rows["rejected_reason"][0]) == ("She left.", "")


def test_what_a_file_leaves_to_the_server_is_not_sent(write, augment, tmp_path, server):
    (tmp_path / "c.yaml").write_text("temperature: null\nmax_tokens: null\n")
    words = ("--model_name_or_path", "rules", "--base_url", server.url, "--cache_dir", tmp_path / "rewrites")
    augment(write(".csv", [{"text": "He left."}]), "llm", *words, "--config", tmp_path / "c.yaml")
    assert server.requests
    assert not any({"temperature", "max_tokens"} & set(body) for body in server.requests)
