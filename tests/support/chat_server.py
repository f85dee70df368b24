"""A server that speaks the chat-completions protocol, with a model of rules behind it and faults on demand.

The model swaps the few words that it knows. A word that it does not know it learns from the examples of the prompt,
where a variant differs from the text in exactly the words that carry the group. With ``forgets`` it makes mistakes on
purpose.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import huggingface_hub
import huggingface_hub.constants  # it is loaded lazily
import pytest

NAMES = ("male", "female", "neutral")
WORDS = [
    ("he", "she", "they"),
    ("him", "her", "them"),
    ("father", "mother", "parent"),
    ("brother", "sister", "sibling"),
    ("uncle", "aunt", "relative"),
    ("king", "queen", "monarch"),
    ("waiter", "waitress", "server"),
]
_WORD = re.compile(r"\w+")


def learnt(messages: list[dict]) -> list[tuple[str, ...]]:
    """Triples of words that the examples of a prompt teach."""
    found = []
    for question, answer in itertools.pairwise(messages):
        if question["role"] != "user" or answer["role"] != "assistant":
            continue
        try:
            items = json.loads(answer["content"])["rewrites"]
            rows = [[_WORD.findall(item["variants"][name].lower()) for name in NAMES] for item in items]
        except (ValueError, KeyError):
            continue  # an unusable answer of its own, not an example
        for columns in rows:
            if len({len(column) for column in columns}) == 1:
                found += [words for words in zip(*columns, strict=True) if len(set(words)) == len(words)]
    return found


def variants_of(text: str, triples: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """The variants of a text by the rules."""
    lookup = {word: triple for triple in triples for word in triple[:2]}

    def put(place: int):
        def replace(match: re.Match) -> str:
            word = match.group()
            new = lookup[word.lower()][place] if word.lower() in lookup else word
            return new.capitalize() if word[0].isupper() else new

        return replace

    return {name: _WORD.sub(put(place), text) for place, name in enumerate(NAMES)}


class ChatServer(ThreadingHTTPServer):
    """Counts what it is asked and answers, and takes faults in the order of the requests.

    Attributes:
        faults: names of faults for the coming requests: ``ok``, ``hang``, ``429``, ``500``, ``400``, ``broken_body``,
            ``broken_json``, ``half``, ``nonsense``, ``wrong_schema``, ``fenced``, ``no_usage``, ``cut``.
        always: fault of all requests that ``faults`` has none for.
        refuses_schema: answers 400 to requests with a response format.
        key: the key that is asked for; None asks for none.
        forgets: words that the model does not know by itself.
        together: a barrier that every request waits at; None for none.
        hold_after: number of answers after which every request waits for ``release``.
        answered: text -> how many answers held its variants; what is paid for.
        requests: bodies of all requests; ``headers`` beside them.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults: deque[str] = deque()
        self.always = "ok"
        self.refuses_schema = False
        self.key: str | None = None
        self.forgets: set[str] = set()
        self.together: threading.Barrier | None = None
        self.hold_after: int | None = None
        self.holding = threading.Event()
        self.release = threading.Event()
        self.answered: Counter[str] = Counter()
        self.requests: list[dict] = []
        self.headers: list[dict] = []
        self.busy = self.most_busy = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address) -> None:
        """A client that hung up is part of the tests."""

    @staticmethod
    def asked(messages: list[dict]) -> list[dict]:
        """The texts of the last question of a conversation."""
        question = next(m["content"] for m in reversed(messages) if m["role"] == "user" and '{"texts"' in m["content"])
        return json.loads(question[question.index('{"texts"') :])["texts"]

    def rewrites(self, messages: list[dict]) -> list[dict]:
        """What the model answers."""
        texts = self.asked(messages)
        known = [triple for triple in WORDS if not self.forgets & set(triple)]
        triples = [*known, *learnt(messages)]
        return [
            {
                "id": item["id"],
                "variants": variants_of(item["text"], triples),
                "confidence": self.confidence(item["text"]),
            }
            for item in texts
        ]

    @staticmethod
    def confidence(text: str) -> float:
        """Falls with the length of a text: what the search must pick is known."""
        return round(1 / (1 + len(text) / 100), 3)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def log_message(self, *args) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append(body)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = server.faults.popleft() if server.faults else server.always
            hold = server.hold_after is not None and server.answered.total() >= server.hold_after
            server.busy += 1
            server.most_busy = max(server.most_busy, server.busy)
        if hold or fault == "hang":
            server.holding.set()
            server.release.wait(60)
            return
        if server.together is not None:
            server.together.wait(60)
        self.answer(body, fault)

    def answer(self, body: dict, fault: str) -> None:
        server = self.server
        if not self.path.endswith("/v1/chat/completions"):
            return self.send(404, {"error": "no such path"})
        if server.key is not None and self.headers.get("Authorization") != f"Bearer {server.key}":
            return self.send(401, {"error": "no valid key"})
        if server.refuses_schema and "response_format" in body:
            return self.send(400, {"error": "response_format is not supported"})
        if fault == "429":
            return self.send(429, {"error": "too many requests"}, {"Retry-After": "7"})
        if fault in ("400", "404", "500", "503"):
            return self.send(int(fault), {"error": f"fault {fault}"})
        if fault == "broken_body":
            return self.send(200, b'{"choices": [{"mess')
        rewrites = server.rewrites(body["messages"])
        if fault == "half":
            rewrites = rewrites[: len(rewrites) // 2]
        if fault == "wrong_schema":
            rewrites = [{"id": item["id"], **item["variants"]} for item in rewrites]
        content = json.dumps({"rewrites": rewrites}, ensure_ascii=False)
        content = {
            "broken_json": content[:-2],
            "nonsense": "The weather is nice today.",
            "fenced": f"Here you are:\n```json\n{content}\n```\nCan I help you with anything else?",
            "cut": content[: len(content) // 2],
        }.get(fault, content)
        if fault not in ("broken_json", "nonsense", "wrong_schema", "cut"):
            with server.lock:
                done = {item["id"] for item in rewrites}
                server.answered.update(item["text"] for item in server.asked(body["messages"]) if item["id"] in done)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "finish_reason": "length" if fault == "cut" else "stop"}
        choice["message"] = {"role": "assistant", "content": content}
        whole = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        self.send(200, whole if fault == "no_usage" else {**whole, "usage": usage})
        return None

    def send(self, status: int, value: dict | bytes, headers: dict[str, str] | None = None) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        with self.server.lock:
            self.server.busy -= 1  # before the client can know of the answer and ask again
        self.send_response(status)
        for name, content in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, content)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(name="server")
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A running server on a free port; offline mode, which shuts out this machine too, is off."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    huggingface_hub.close_session()  # a client that was opened before keeps its proxies
    server = ChatServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
        huggingface_hub.close_session()
