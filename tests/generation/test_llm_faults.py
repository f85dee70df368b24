"""Rewriting when something goes wrong: faults, unusable answers, refusals, keys, an end in the middle."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import huggingface_hub
import pytest

from hf_fairness import FairnessWarning
from hf_fairness.generation import ChatError, Rewriter, rewrite


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
