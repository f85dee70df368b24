"""Rewriting through a real server: rows, faults, batches, resumption, counts."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import huggingface_hub
import pytest
from datasets import Dataset, Value
from datasets.fingerprint import Hasher

from hf_fairness import FairnessWarning
from hf_fairness.augment import apply_edits, parse_edits
from hf_fairness.generation import ChatError, Completion, LLMConfig, LLMGroupVariants, Prompt, Rewriter, rewrite

TEXTS = ["She met her brother.", "The rain stopped.", "", "The king spoke to him.", "A waitress saw the queen."]
COLUMNS = ["male", "female", "neutral", "has_terms", "edits", "confidence", "rejected_reason"]


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


@pytest.mark.parametrize("fault", ["429", "500", "503", "broken_body"])
def test_passing_faults_are_survived(rewriter, server, fault):
    server.faults.extend([fault, fault])
    asked = rewriter(max_wait=10)
    waits: list[float] = []
    asked._polite._sleep = asked._polite._limiter._sleep = waits.append
    asked._polite._limiter._clock = lambda: sum(waits)
    assert asked.rewrite(["He left."])[0]["female"] == "She left."
    assert (asked.usage().requests, asked.usage().retries, len(server.requests)) == (1, 2, 3)
    assert sum(waits) == (14.0 if fault == "429" else 0.0)  # Retry-After says 7 seconds


def test_time_out_is_survived(rewriter, server):
    server.faults.append("hang")
    asked = rewriter(timeout=1.0)
    assert asked.rewrite(["He left."])[0]["female"] == "She left."
    assert asked.usage().requests == 1
    assert asked.usage().retries >= 1


@pytest.mark.parametrize("fault", ["broken_json", "nonsense", "wrong_schema", "cut"])
def test_an_unusable_answer_is_asked_for_again(rewriter, server, fault):
    server.faults.append(fault)
    asked = rewriter()
    assert asked.rewrite(["He left."])[0]["rejected_reason"] == ""
    assert asked.usage().requests == 2
    assert asked.usage().prompt_tokens == 200  # both are paid for
    complaint = server.requests[1]["messages"][-1]["content"]
    assert "cannot be used" in complaint
    assert ("max_tokens" in complaint) == (fault == "cut")


def test_fences_prose_and_a_silent_server_are_tolerated(rewriter, server):
    server.faults.extend(["fenced", "no_usage"])
    asked = rewriter()
    assert [row["male"] for row in asked.rewrite(["She left.", "Her mother left."])] == ["He left.", "His father left."]
    assert (asked.usage().requests, asked.usage().unreported, asked.usage().prompt_tokens) == (2, 1, 100)


def test_half_a_batch_is_completed_one_by_one(rewriter, server):
    server.faults.append("half")
    texts = [f"He saw house {i}." for i in range(4)]
    asked = rewriter(texts_per_request=4)
    assert [row["female"] for row in asked.rewrite(texts)] == [f"She saw house {i}." for i in range(4)]
    sizes = [len(json.loads(body["messages"][-1]["content"])["texts"]) for body in server.requests]
    assert sizes == [4, 1, 1]
    assert set(server.answered.values()) == {1}


def test_nonsense_rejects_the_row_and_loses_nothing(rewriter, server):
    server.always = "nonsense"
    asked = rewriter(attempts=3)
    with pytest.warns(FairnessWarning, match="no usable answer for 2 of 2 texts"):
        rows = asked.rewrite(["He left.", "", "She left."])
    assert [row["neutral"] for row in rows] == ["He left.", "", "She left."]
    assert [row["has_terms"] for row in rows] == [False] * 3
    assert [row["confidence"] for row in rows] == [0.0, 1.0, 0.0]
    assert rows[0]["rejected_reason"] == "no usable answer: there is no JSON object in the answer"
    assert rows[0]["edits"] == "[]"
    assert (asked.usage().requests, asked.usage().unusable) == (6, 2)
    server.always = "ok"
    assert rewriter(attempts=3).rewrite(["He left."])[0]["rejected_reason"]  # paid for, so not asked for again
    assert rewriter(retry_rejected=True).rewrite(["He left."])[0]["female"] == "She left."
    assert rewriter().rewrite(["He left."])[0]["female"] == "She left."  # the newer record counts
    assert len(server.requests) == 7


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


@pytest.mark.parametrize(("fault", "says"), [("400", "fault 400"), ("404", "no such model")])
def test_what_will_not_pass_is_raised_at_once(rewriter, server, fault, says):
    server.always = fault
    with pytest.raises(ChatError, match=says) as caught:
        rewriter(structured=False).rewrite(["He left.", "She left."])
    assert caught.value.status == int(fault)
    assert "0 of 2 texts are finished" in str(caught.value)
    assert len(server.requests) <= 2


def test_a_refused_text_may_be_rejected_alone(rewriter, server):
    server.faults.extend(["ok", "400", "400", "ok"])
    asked = rewriter(on_refused="reject", structured=False, texts_per_request=1)
    rows = asked.rewrite(["He left.", "He sat."])
    assert rows[0]["female"] == "She left."
    assert rows[1]["rejected_reason"].startswith("refused: rules answered with 400")
    assert rows[1]["male"] == "He sat."
    with pytest.warns(FairnessWarning):
        rewriter(on_refused="reject", structured=False).rewrite(["He sat."])  # costs nothing: asked for again
    assert rewriter().rewrite(["He sat."])[0]["female"] == "She sat."


def test_a_server_that_takes_no_schema_is_asked_without(rewriter, server):
    server.refuses_schema = True
    assert [row["female"] for row in rewriter().rewrite(["He left.", "He sat."])] == ["She left.", "She sat."]
    assert ["response_format" in body for body in server.requests] == [True, False, False]


def test_server_that_stays_broken(rewriter, server):
    server.faults.append("ok")
    server.always = "500"
    with pytest.raises(ChatError, match=r"Asked 3 times.*1 of 2 texts are finished and stored in .*rewrites\.jsonl"):
        rewriter(retries=2).rewrite(["He left.", "She left."])
    server.always = "ok"
    again = rewriter()
    assert [row["male"] for row in again.rewrite(["He left.", "She left."])] == ["He left.", "He left."]
    assert set(server.answered.values()) == {1}
    assert (again.usage().cached, again.usage().saved_prompt_tokens) == (1, 100)


def test_too_long_a_wait_ends_the_run(rewriter, server):
    server.always = "429"
    with pytest.raises(ChatError, match="asks to wait 7 seconds, more than max_wait=5"):
        rewriter(max_wait=5).rewrite(["He left."])
    assert len(server.requests) == 1


def test_unreachable_server(fast, tmp_path, server):
    url = server.url
    server.server_close()
    server.shutdown()
    with pytest.raises(ChatError, match=r"Asked 2 times.*Check that the server runs"):
        rewrite(["He left."], base_url=url, cache_dir=tmp_path, config=fast(retries=1))


def test_keys(server, fast, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.inference._providers.hf_inference.get_token", lambda: "hf_secret")
    monkeypatch.setattr("huggingface_hub.utils._headers.get_token", lambda: "hf_secret")
    rewrite(["He left."], base_url=server.url, cache_dir=tmp_path / "a", config=fast())
    assert "authorization" not in server.headers[0]  # the key of the Hub is for the Hub
    server.key = "k-123"
    with pytest.raises(ChatError, match="not accepted") as caught:
        rewrite(["He left."], base_url=server.url, cache_dir=tmp_path / "b", config=fast())
    assert caught.value.status == 401
    config = fast(token_env="SERVER_KEY")
    with pytest.raises(ChatError, match="SERVER_KEY is not set"):
        rewrite(["He left."], base_url=server.url, cache_dir=tmp_path / "b", config=config)
    monkeypatch.setenv("SERVER_KEY", "k-123")
    rewriter = Rewriter(base_url=server.url, cache_dir=tmp_path / "b", config=config)
    assert rewriter.rewrite(["He left."])[0]["female"] == "She left."
    assert b"k-123" not in pickle.dumps(rewriter)
    own = huggingface_hub.InferenceClient(base_url=server.url, token="k-123")
    assert rewrite(["He sat."], client=own, cache_dir=tmp_path / "b", config=fast())[0]["female"] == "She sat."


def test_a_model_of_the_hub(server, fast, tmp_path, monkeypatch):
    from huggingface_hub.inference._providers import CONVERSATIONAL_AUTO_ROUTER as ROUTER

    monkeypatch.setattr(ROUTER, "base_url", server.url.removesuffix("/v1"))
    tokens = iter([None, "hf_saved"])
    monkeypatch.setattr("huggingface_hub.inference._providers._common.get_token", lambda: next(tokens))
    with pytest.raises(ChatError, match="hf auth login"):
        rewrite(["He left."], model="org/chat", cache_dir=tmp_path, config=fast())
    rows = rewrite(["He left."], model="org/chat", cache_dir=tmp_path, config=fast())
    assert rows[0]["female"] == "She left."
    assert server.headers[0]["authorization"] == "Bearer hf_saved"
    assert server.requests[0]["model"] == "org/chat"
    assert server.requests[0]["response_format"]["type"] == "json_schema"


def test_offline_mode_is_said(server, fast, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ChatError, match="HF_HUB_OFFLINE is set"):
        rewrite(["He left."], base_url=server.url, cache_dir=tmp_path, config=fast())


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


CHILD = textwrap.dedent(
    """
    import json, sys
    from hf_fairness.generation import LLMConfig, rewrite
    url, cache, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    rows = rewrite(texts, base_url=url, cache_dir=cache, config=LLMConfig(concurrency=1))
    print(json.dumps([row["female"] for row in rows]))
    """
)


def test_finished_rewrites_survive_kill_9(server, tmp_path):
    texts = [f"He saw house {i}." for i in range(9)]
    command = [sys.executable, "-c", CHILD, server.url, str(tmp_path), json.dumps(texts)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1"}
    server.hold_after = 5
    child = subprocess.Popen(command, env=environment)
    assert server.holding.wait(60)  # five are answered, the sixth waits
    child.send_signal(signal.SIGKILL)
    child.wait()
    stored = Path(tmp_path, "rewrites.jsonl")
    assert [json.loads(line)["text"] for line in stored.read_text().splitlines()] == texts[:5]
    with stored.open("ab") as stream:
        stream.write(b'{"key": "torn')  # as if the kill had come in the middle of a line
    server.hold_after = None
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert json.loads(output) == [f"She saw house {i}." for i in range(9)]
    assert dict(server.answered) == dict.fromkeys(texts, 1)
    assert [json.loads(line)["text"] for line in stored.read_text().splitlines()] == texts
