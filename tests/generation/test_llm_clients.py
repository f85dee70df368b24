"""Waiting, and models on this machine."""

from __future__ import annotations

import datetime
import email.utils
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from hf_fairness import FairnessWarning
from hf_fairness.generation import (
    ChatError,
    Completion,
    FunctionClient,
    HubClient,
    LLMConfig,
    LLMGroupVariants,
    LocalClient,
    Rewriter,
)
from hf_fairness.generation.clients import as_client
from hf_fairness.generation.politeness import PoliteClient, RateLimiter, retry_after
from support.augment_models import save_chat_model


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def test_rate_limit_spaces_requests():
    clock = Clock()
    limiter = RateLimiter(30, clock=clock, sleep=clock.sleep)
    times = []
    for _ in range(4):
        limiter.wait()
        times.append(clock.now)
    assert times == [0.0, 2.0, 4.0, 6.0]
    limiter.hold(60)
    limiter.wait()
    assert clock.now == 66.0
    free = Clock()
    for _ in range(3):
        RateLimiter(None, clock=free, sleep=free.sleep).wait()
    assert free.slept == []


def test_requests_keep_to_the_rate():
    client, clock = polite(requests_per_minute=20)
    for _ in range(3):
        client.complete([])
    assert clock.slept == [3.0, 3.0]


class Failing:
    name = "failing"

    def __init__(self, *errors):
        self.errors = list(errors)

    def complete(self, messages, *, schema=None):
        if self.errors:
            raise self.errors.pop(0)
        return Completion("done")


def error(status, **headers):
    problem = RuntimeError("said the server")
    problem.response = SimpleNamespace(status_code=status, headers=headers)
    return problem


def polite(*errors, **options):
    clock = Clock()
    return PoliteClient(Failing(*errors), LLMConfig(**options), clock=clock, sleep=clock.sleep), clock


def test_waits_double_with_a_random_half():
    client, clock = polite(*[TimeoutError()] * 4, backoff=8.0, retries=4, max_wait=50.0)
    assert client.complete([]).text == "done"
    for slept, most in zip(clock.slept, [8, 16, 32, 50], strict=True):
        assert most / 2 <= slept <= most


def test_retry_after_is_honoured():
    client, clock = polite(error(429, **{"Retry-After": "11"}), error(503, **{"Retry-After": "3.5"}))
    assert client.complete([]).text == "done"
    assert clock.slept == [11.0, 3.5]
    date = email.utils.format_datetime(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=90))
    assert 60 < retry_after(error(503, **{"Retry-After": date})) <= 90
    for value in ("soon", "", "inf", "nan"):
        assert retry_after(error(503, **{"Retry-After": value})) is None
    assert retry_after(error(503, **{"Retry-After": "-5"})) == 0.0


@pytest.mark.parametrize(("status", "held"), [(429, True), (503, False)])
def test_only_too_many_requests_hold_all_threads(status, held):
    client, clock = polite(error(status, **{"Retry-After": "11"}))
    free = []
    client._sleep = client._limiter._sleep = lambda seconds: (free.append(client._limiter._next), clock.sleep(seconds))
    client.complete([])
    assert free == [11.0 if held else 0.0]  # when the limiter lets the next request of any thread out


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422, 501])
def test_what_will_not_pass_is_not_repeated(status):
    client, clock = polite(error(status))
    with pytest.raises(ChatError, match=f"failing answered with {status}: said the server") as caught:
        client.complete([])
    assert (caught.value.status, clock.slept) == (status, [])


def test_errors_of_the_function_itself_pass_through():
    client, _ = polite(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        client.complete([])


def answer(messages):
    return "x"


class Model:
    name = "mine"

    def complete(self, messages, *, schema=None):
        return Completion("y", 1, 2)


def test_names_of_clients(tmp_path):
    assert as_client("org/model").name == "org/model"
    assert as_client(base_url="http://localhost:1").name == "http://localhost:1"
    assert as_client("m", base_url="http://localhost:1").name == "m"
    assert FunctionClient(answer).name.endswith("test_llm_clients.answer")
    assert FunctionClient(Model()).name == "mine"
    assert FunctionClient(lambda messages: "x").name == ""
    assert FunctionClient(answer, "v2").name == "v2"
    assert as_client(client=Model()).complete([]) == Completion("y", 1, 2)
    with pytest.raises(ValueError, match="no folder"):
        LocalClient(tmp_path / "none")
    with pytest.raises(ValueError, match=r"temperature is 0.7, and a local model is decoded greedily. Leave it out"):
        LocalClient(tmp_path, config=LLMConfig(temperature=0.7))
    with pytest.raises(ValueError, match="needs the id"):
        HubClient()


def test_answers_without_a_name_are_not_stored(tmp_path):
    Rewriter(client=lambda messages: "x", cache_dir=tmp_path, config=LLMConfig(attempts=1))
    with pytest.warns(FairnessWarning):
        Rewriter(client=lambda messages: "x", cache_dir=tmp_path).rewrite(["He left."])
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory):
    """Folder of a tiny chat model with random weights."""
    return Path(save_chat_model(tmp_path_factory.mktemp("chat")))


def test_a_local_model_of_nonsense_loses_no_row(chat_model, tmp_path):
    config = LLMConfig(max_tokens=12, attempts=1)
    variants = LLMGroupVariants("text", model=str(chat_model), cache_dir=tmp_path, config=config)
    with pytest.warns(FairnessWarning, match="2 of 2"):
        columns = variants({"text": ["He left.", "She left."]})
    assert columns["neutral"] == ["He left.", "She left."]
    assert columns["has_terms"] == [False, False]
    assert columns["confidence"] == [0.0, 0.0]
    assert all(
        reason.startswith("no usable answer: it was cut at max_tokens=12") for reason in columns["rejected_reason"]
    )
    usage = variants.usage()
    assert (usage.requests, usage.unusable, usage.unreported) == (2, 2, 0)
    assert usage.prompt_tokens > 2000
    assert usage.completion_tokens > 0
    again = pickle.loads(pickle.dumps(variants))
    assert again({"text": ["He left.", "She left."]}) == columns
    assert again.usage().requests == 0


def test_local_models_are_named_by_their_content(chat_model, tmp_path):
    from transformers import pipeline

    assert LocalClient(chat_model).name == LocalClient(str(chat_model)).name
    pipe = pipeline("text-generation", model=str(chat_model), device="cpu")
    client = as_client(client=pipe, config=LLMConfig(max_tokens=5))
    assert client.name == LocalClient(pipe).name
    first = client.complete([{"role": "user", "content": "Hello."}])
    assert first == client.complete([{"role": "user", "content": "Hello."}])
    name = client.name
    pipe.model.lm_head.weight.data[0] += 1
    assert LocalClient(pipe).name != name
    with pytest.raises(ValueError, match=r"the model's context holds 8192"):
        client.complete([{"role": "user", "content": "x" * 9000}])
    pipe.tokenizer.chat_template = None
    with pytest.raises(ValueError, match="no chat template"):
        client.complete([{"role": "user", "content": "Hello."}])
