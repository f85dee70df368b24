"""Rewriting through a real server: rows, columns, batches, verdicts, counts, and bad arguments."""

from __future__ import annotations

import json
import pickle
import threading
from unicodedata import normalize

import pytest
from datasets import Dataset, Value
from datasets.fingerprint import Hasher

from hf_fairness.augment import apply_edits, parse_edits
from hf_fairness.generation import Completion, LLMConfig, LLMGroupVariants, Prompt, Rewriter, rewrite
from hf_fairness.generation.prompts import dump_answer
from hf_fairness.measure.classifier.polarity import polarity_accuracy
from support.arrow_tables import check_arrow

TEXTS = ["She met her brother.", "The rain stopped.", "", "The king spoke to him.", "A waitress saw the queen."]
COLUMNS = ["male", "female", "neutral", "has_terms", "edits", "confidence", "rejected_reason", "variant_groups"]


def test_rows(rewriter, server):
    rows = rewriter().rewrite(TEXTS)
    assert [list(row) for row in rows] == [COLUMNS] * len(TEXTS)
    assert rows[0]["male"] == "He met his brother."
    assert rows[0]["neutral"] == "They met their sibling."
    assert [row["rejected_reason"] for row in rows] == [""] * len(TEXTS)
    assert [row["has_terms"] for row in rows] == [True, False, False, True, True]
    assert rows[1]["male"] == rows[1]["neutral"] == TEXTS[1]
    assert rows[0]["confidence"] == server.confidence(TEXTS[0])
    assert len(server.requests) == 4  # nothing is asked about an empty text
    for text, row in zip(TEXTS, rows, strict=True):
        edits = parse_edits(row["edits"])
        for name in ("male", "female", "neutral"):
            assert apply_edits(text, edits, to=name) == row[name]
    assert {edit.direction for edit in parse_edits(rows[3]["edits"])} == {"male->female", "male->neutral"}


def test_request_is_what_the_config_says(rewriter, server):
    rewriter(temperature=0.0, seed=3, max_tokens=77).rewrite(["He left."])
    body = server.requests[0]
    assert body["model"] == "rules"
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.0, 3, 77)
    assert body["response_format"]["value"]["properties"]["rewrites"]["type"] == "array"
    assert [message["role"] for message in body["messages"]] == ["system", *["user", "assistant"] * 3, "user"]
    assert json.loads(body["messages"][-1]["content"]) == {"texts": [{"id": 1, "text": "He left."}]}


def test_map_adds_the_columns_of_group_variants(server, fast, tmp_path):
    data = Dataset.from_dict({"text": TEXTS, "id": list(range(len(TEXTS)))})
    variants = LLMGroupVariants("text", model="m", base_url=server.url, cache_dir=tmp_path / "c", config=fast())
    before = Hasher.hash(variants)
    mapped = data.map(variants, batched=True, batch_size=2)
    assert mapped.column_names == ["text", "id", *COLUMNS]
    assert mapped.features["has_terms"] == Value("bool")
    assert mapped.features["confidence"] == Value("float64")
    assert Hasher.hash(variants) == before == Hasher.hash(pickle.loads(pickle.dumps(variants)))
    assert variants.usage().requests == len(server.requests) == 4
    again = LLMGroupVariants("text", model="m", base_url=server.url, cache_dir=tmp_path / "c", config=fast())
    rows = again({"text": TEXTS})
    assert {name: mapped[name][:] for name in COLUMNS} == rows
    assert check_arrow(again, data[:]).select(COLUMNS).to_pydict() == rows
    stream = data.to_iterable_dataset()
    streamed = stream.map(again, batched=True, batch_size=3, features=again.features(stream.features))
    assert [row["neutral"] for row in streamed] == rows["neutral"]
    workers = data.map(again, batched=True, num_proc=2, load_from_cache_file=False)
    assert workers["edits"][:] == rows["edits"]
    assert len(server.requests) == 4
    with pytest.raises(ValueError, match="would overwrite column 'male'"):
        mapped.map(again, batched=True)


def test_result_does_not_depend_on_grouping(server, fast, tmp_path):
    expected = None
    for i, options in enumerate([{}, {"texts_per_request": 3}, {"concurrency": 4}, {"system_role": False}]):
        rows = rewrite(TEXTS * 2, base_url=server.url, cache_dir=tmp_path / str(i), config=fast(**options))
        expected = expected or rows
        assert rows == expected


def test_concurrency_is_used_and_bounded(rewriter, server):
    texts = [f"He saw house {i}." for i in range(24)]
    server.together = threading.Barrier(4)  # opens only for four at a time
    rows = rewriter(concurrency=4).rewrite(texts)
    assert [row["female"] for row in rows] == [f"She saw house {i}." for i in range(24)]
    assert server.most_busy == 4


def test_rejections_of_answers_that_can_be_read(tmp_path):
    def says(**variants):
        def answer(messages):
            return json.dumps({"rewrites": [{"id": 1, "variants": variants, "confidence": 0.8}]})

        return Rewriter(client=answer, cache_dir=tmp_path)

    def reason(text, **variants):
        return says(**variants).rewrite([text])[0]["rejected_reason"]

    right = {"male": "He left.", "female": "She left.", "neutral": "They left."}
    assert reason("He left.", **right) == ""
    assert reason("He left.", **{**right, "female": "He left."}) == "polarity: the female variant reads male"
    assert reason("He left.", **{**right, "neutral": "She left."}) == "polarity: the neutral variant reads female"
    lazy = says(male="He left.", female="He left.", neutral="He left.").rewrite(["He left."])[0]
    assert (lazy["rejected_reason"], lazy["has_terms"]) == ("polarity: the female variant reads male", False)
    assert reason("Rain.", male="Rain.", female="Rain.", neutral="Rain.") == ""
    assert reason("Rain.", male="Sun.", female="Sun.", neutral="Sun.").startswith("changed:")
    assert reason("He left.", male="Sun.", female="Sun.", neutral="Sun.") == "polarity: the male variant reads neutral"
    long = "He told the board on Monday that the company would close two of its plants."
    assert reason(long, **right) == "content: the male variant keeps 7% of the words"
    row = says(**{**right, "female": "He left."}).rewrite(["He left."])[0]
    assert (row["female"], row["confidence"]) == ("He left.", 0.8)  # kept, for people and for the prompt search


def test_usage_and_cost(rewriter):
    asked = rewriter(prompt_price=2.0, completion_price=10.0)
    asked.rewrite([*TEXTS, *TEXTS])
    usage = asked.usage()
    assert (usage.texts, usage.requests, usage.prompt_tokens, usage.completion_tokens) == (4, 4, 400, 40)
    assert usage.cost == pytest.approx(400 * 2e-6 + 40 * 10e-6)
    later = rewriter()
    rows = later.rewrite(TEXTS)
    assert (later.usage().requests, later.usage().cached, later.usage().cost) == (0, 4, None)
    assert (later.usage().saved_prompt_tokens, later.usage().saved_completion_tokens) == (400, 40)
    told = later.describe(rows)
    assert (told["n"], told["n_accepted"], told["n_without_terms"], told["n_rejected"]) == (5, 3, 2, 0)
    assert told["groups"] == ["male", "female"]
    json.dumps(told)


def test_key_changes_with_what_matters_only(rewriter, server, tmp_path):
    base = rewriter().key("He left.")
    assert rewriter(concurrency=9, timeout=1, texts_per_request=5, prompt_price=1.0).key("He left.") == base
    others = [rewriter(seed=1), rewriter(temperature=0.5), rewriter(max_tokens=5), rewriter(Prompt("Rewrite."))]
    others.append(Rewriter(model="other", base_url=server.url, cache_dir=tmp_path))
    others.append(Rewriter(model="rules", base_url=server.url, cache_dir=tmp_path, attribute="religion"))
    assert len({base, rewriter().key("She left."), *(other.key("He left.") for other in others)}) == 8


def test_another_attribute(tmp_path):
    def model(messages):
        text = json.loads(messages[-1]["content"])["texts"][0]["text"]
        words = {"christian": "Christian", "jewish": "Jew", "muslim": "Muslim", "neutral": "believer"}
        variants = {name: text.replace("Jew", word) for name, word in words.items()}
        return Completion(json.dumps({"rewrites": [{"id": 1, "variants": variants, "confidence": 1}]}), 5, 6)

    variants = LLMGroupVariants("text", client=model, attribute="religion", cache_dir=tmp_path)
    row = variants({"text": "A Jew lives there."})
    assert list(row)[:4] == ["christian", "jewish", "muslim", "neutral"]
    assert (row["muslim"], row["rejected_reason"], variants.usage().prompt_tokens) == ("A Muslim lives there.", "", 5)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({}, ValueError, "No model"),
        ({"model": ""}, ValueError, "No model"),
        ({"base_url": "localhost:8000"}, ValueError, "must begin with http"),
        ({"client": 3}, TypeError, "client must be"),
        ({"client": print, "model": "m"}, ValueError, "client says which model"),
        ({"model": "m", "attribute": "colour"}, ValueError, "Unknown attribute 'colour'"),
        ({"model": "m", "prompt": Prompt("")}, ValueError, "it is empty"),
        ({"model": "m", "prompt": Prompt("x").with_example("He.", {"male": "He."})}, ValueError, "'female' is None"),
        ({"model": "m", "prompt": "no/such.json"}, FileNotFoundError, "such.json"),
        ({"model": "m", "cache_dir": __file__}, NotADirectoryError, "must be a folder"),
    ],
    ids=str,
)
def test_bad_arguments(tmp_path, options, error, says):
    with pytest.raises(error, match=says):
        LLMGroupVariants("text", **{"cache_dir": tmp_path, **options})


@pytest.mark.parametrize(
    "options",
    [{"concurrency": 0}, {"timeout": 0}, {"min_kept": 2}, {"on_refused": "skip"}, {"temperature": -1}, {"retries": -1}],
    ids=str,
)
def test_bad_settings(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        LLMConfig(**options)


def test_bad_texts(rewriter, server):
    with pytest.raises(TypeError, match="position 1"):
        rewriter().rewrite(["He left.", None])
    with pytest.raises(ValueError, match="position 0 is no valid Unicode"):
        rewriter().rewrite(["\ud800"])
    assert rewriter().rewrite([]) == []
    assert server.requests == []


def test_a_function_that_returns_no_text(tmp_path):
    with pytest.raises(TypeError, match="must return a text or a Completion"):
        rewrite(["He left."], client=lambda messages: 3, cache_dir=tmp_path)


def test_missing_column(tmp_path):
    with pytest.raises(ValueError, match="no column 'text'"):
        LLMGroupVariants("text", model="m", cache_dir=tmp_path)({"body": ["He left."]})


@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_a_model_is_not_asked_for_a_missing_text(tmp_path):
    asked = []

    def answer(messages):
        asked.append(messages)
        variants = {"male": "He left.", "female": "She left.", "neutral": "They left."}
        return json.dumps({"rewrites": [{"id": 1, "variants": variants, "confidence": 0.8}]})

    function = LLMGroupVariants("text", client=answer, cache_dir=tmp_path)
    rows = Dataset.from_dict({"text": [None, "He left."]}).map(function, batched=True)
    assert len(asked) == 1
    assert rows[0] == {
        "text": None,
        **dict.fromkeys(("male", "female", "neutral"), ""),
        **{"has_terms": False, "edits": "[]", "confidence": 0.0, "rejected_reason": "missing"},
        "variant_groups": '["male", "female"]',
    }
    assert rows[1]["female"] == "She left."
    described = function.rewriter.describe(rows)
    assert (described["n_missing"], described["n_rejected"], described["n_accepted"]) == (1, 0, 1)
    assert polarity_accuracy(rows)["n_skipped"] == 1


def test_a_decomposed_text_has_not_changed_when_it_comes_back_composed():
    said = dump_answer([{"variants": dict.fromkeys(COLUMNS[:3], "Café."), "confidence": 0.9}])
    (row,) = Rewriter(client=lambda messages: said).rewrite([normalize("NFD", "Café.")])
    assert (row["rejected_reason"], row["has_terms"]) == ("", False)
