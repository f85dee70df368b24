"""A Hub of a few repositories in memory, on a free port of this machine, for tests that push and pull.

It speaks the part of the Hub's HTTP interface that huggingface_hub, transformers, sentence-transformers,
peft, datasets and evaluate use to create, upload, list and download. It keeps nothing on disk, answers only
127.0.0.1, wants one of its `tokens` for writing, and remembers requests that it does not know in `unknown`.

The libraries read the endpoint when they are imported: use `hub.run(code)`, which runs Python code in a new
process with the right environment. `HfApi(endpoint=hub.url, token="fake")` is enough to read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from support.launch import environment

TOKEN = "fake"
USER = "tester"
LARGE = (".safetensors", ".bin", ".parquet", ".arrow", ".pt", ".model")
ID = r"(?P<id>[^/]+/[^/]+)"
TYPE = r"(?P<type>models|datasets|spaces)"
PREFIX = r"(?P<prefix>datasets/|spaces/)?"
KINDS = {None: "models", "datasets/": "datasets", "spaces/": "spaces"}
# Kept out of a child's environment: they would send it elsewhere, or forbid it to ask.
FOREIGN = re.compile(r"^(HF_|HUGGING|TRANSFORMERS_|.*_OFFLINE$|.*_proxy$|.*_PROXY$)")


class NotFound(Exception):
    """Answered as 404; the text is the Hub's error code."""


@dataclass
class Repo:
    """All commits of one repository; the last one is `main`."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: bool = False

    def commit(self, files: dict[str, bytes]) -> str:
        parent = next(reversed(self.commits), "")
        listing = "".join(f"{path}{hashlib.sha1(data).hexdigest()}" for path, data in sorted(files.items()))
        sha = hashlib.sha1((parent + listing).encode()).hexdigest()
        self.commits[sha] = files
        return sha

    def at(self, revision: str) -> tuple[str, dict[str, bytes]]:
        sha = next(reversed(self.commits)) if revision in ("main", "HEAD") else revision
        if sha not in self.commits:
            raise NotFound("RevisionNotFound")
        return sha, self.commits[sha]


class FakeHub:
    """The server; a context manager. `files(repo_id)` shows what was pushed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.repos: dict[tuple[str, str], Repo] = {}
        self.uploads: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.unknown: list[str] = []
        #: What `whoami` says of each token that is accepted, beside the name of the user.
        self.tokens: dict[str, dict[str, Any]] = {TOKEN: {"role": "write"}}
        self.organisations: list[dict[str, str]] = []
        self.guard = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> FakeHub:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def repo(self, kind: str, repo_id: str) -> Repo:
        if (kind, repo_id) not in self.repos:
            raise NotFound("RepoNotFound")
        return self.repos[kind, repo_id]

    def files(self, repo_id: str, repo_type: str = "model", revision: str = "main") -> dict[str, bytes]:
        """Path -> content of a repository."""
        return dict(self.repo(f"{repo_type}s", repo_id).at(revision)[1])

    @property
    def env(self) -> dict[str, str]:
        """Environment for a process that shall use this Hub and no other."""
        kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        return {
            **kept,
            "PYTHONPATH": environment()["PYTHONPATH"],
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(self.home),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "127.0.0.1",
        }

    def run(self, code: str | list[str], *arguments: object, timeout: float = 300) -> str:
        """Run Python code (or a command, given as a list) with this Hub; return what it prints."""
        command = [sys.executable, "-c", textwrap.dedent(code)] if isinstance(code, str) else list(code)
        done = subprocess.run(
            [*command, *map(str, arguments)], env=self.env, capture_output=True, text=True, timeout=timeout
        )
        if done.returncode:
            known = "\n".join(self.requests[-10:])
            raise AssertionError(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}\nlast requests:\n{known}")
        return done.stdout


class Handler(BaseHTTPRequestHandler):
    """One request; `ROUTES` at the end of the module names the method that answers it."""

    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        path, self.query = unquote(split.path), parse_qs(split.query)
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.body = b"".join(self._chunks())
        self.hub.requests.append(f"{self.command} {self.path}")
        method = "GET" if self.command == "HEAD" else self.command
        for wanted, pattern, answer in ROUTES:
            if method == wanted and (match := re.fullmatch(pattern, path)):
                if answer in WRITES and self.token not in self.hub.tokens:
                    return self.reply(401, {"error": "bad token"})
                with self.hub.guard:
                    try:
                        return answer(self, **match.groupdict())
                    except NotFound as error:
                        return self.reply(404, {"error": str(error)}, **{"X-Error-Code": str(error)})
        self.hub.unknown.append(f"{self.command} {self.path}")
        return self.reply(404, {"error": "unknown to the fake Hub"})

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def reply(self, status: int, body: Any = b"", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        headers.setdefault("Content-Type", "application/json")
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    @property
    def token(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def front_page(self) -> None:
        self.reply(200)

    def whoami(self) -> None:
        token = {"accessToken": {"displayName": "t", **self.hub.tokens[self.token]}}
        self.reply(200, {"type": "user", "name": USER, "orgs": self.hub.organisations, "auth": token})

    def create(self) -> None:
        ask = json.loads(self.body)
        kind, repo_id = f"{ask.get('type') or 'model'}s", f"{ask.get('organization') or USER}/{ask['name']}"
        url = self.hub.url + "/" + ("" if kind == "models" else kind + "/") + repo_id
        if (kind, repo_id) in self.hub.repos:
            return self.reply(409, {"url": url, "error": "exists"})
        self.hub.repos[kind, repo_id] = Repo(private=bool(ask.get("private") or ask.get("visibility") == "private"))
        self.hub.repos[kind, repo_id].commit({".gitattributes": b""})
        return self.reply(200, {"url": url, "name": repo_id})

    def preupload(self, type: str, id: str, rev: str) -> None:
        _, held = self.hub.repo(type, id).at(rev)
        files = []
        for path, size in ((file["path"], file["size"]) for file in json.loads(self.body)["files"]):
            mode = "lfs" if path.endswith(LARGE) or size > 1_000_000 else "regular"
            oid = None if path not in held else blob_id(held[path], mode)
            files.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        self.reply(200, {"files": files})

    def lfs_batch(self, prefix: str | None, id: str) -> None:
        self.hub.repo(KINDS[prefix], id)
        objects = []
        for item in json.loads(self.body)["objects"]:
            actions = {"upload": {"href": f"{self.hub.url}/upload/{item['oid']}"}}
            objects.append({**item, **({} if item["oid"] in self.hub.uploads else {"actions": actions})})
        self.reply(200, {"transfer": "basic", "objects": objects})

    def upload(self, oid: str) -> None:
        if hashlib.sha256(self.body).hexdigest() != oid:
            return self.reply(400, {"error": "the content is not that of its sha256"})
        self.hub.uploads[oid] = self.body
        return self.reply(200)

    def commit(self, type: str, id: str, rev: str) -> None:
        repo = self.hub.repo(type, id)
        files = dict(repo.at(rev)[1])
        for line in self.body.splitlines():
            operation = json.loads(line)
            key, value = operation["key"], operation["value"]
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.hub.uploads[value["oid"]]
            elif key in ("deletedFile", "deletedFolder"):
                gone = value["path"].rstrip("/")
                files = {
                    path: data for path, data in files.items() if path != gone and path[: len(gone) + 1] != gone + "/"
                }
        sha = repo.commit(files)
        self.reply(200, {"commitUrl": f"{self.hub.url}/{id}/commit/{sha}", "commitOid": sha, "hookOutput": ""})

    def info(self, type: str, id: str, rev: str | None) -> None:
        sha, files = self.hub.repo(type, id).at(rev or "main")
        facts = {
            "private": self.hub.repo(type, id).private,
            "disabled": False,
            "gated": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
        }
        siblings = [{"rfilename": path} for path in sorted(files)]
        self.reply(
            200,
            {"_id": id, "id": id, "modelId": id, "author": USER, "sha": sha, "siblings": siblings, **facts},
        )

    def refs(self, type: str, id: str) -> None:
        sha, _ = self.hub.repo(type, id).at("main")
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": sha}
        self.reply(200, {"branches": [main], "converts": [], "tags": []})

    def tree(self, type: str, id: str, rev: str, path: str | None) -> None:
        _, files = self.hub.repo(type, id).at(rev)
        below = f"{path.strip('/')}/" if path and path.strip("/") else ""
        inside = {name: data for name, data in files.items() if name.startswith(below)}
        if below and not inside:
            raise NotFound("EntryNotFound")
        deep = self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = [entry(name, files) for name in inside if deep or "/" not in name[len(below) :]]
        folders = {name[: at.start()] for name in inside for at in re.finditer("/", name) if at.start() >= len(below)}
        entries += [entry(name, files) for name in folders if deep or "/" not in name[len(below) :]]
        self.reply(200, sorted(entries, key=lambda item: item["path"]))

    def paths_info(self, type: str, id: str, rev: str) -> None:
        _, files = self.hub.repo(type, id).at(rev)
        text = self.body.decode()
        paths = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        known = [path for path in paths if any(name == path or name.startswith(path + "/") for name in files)]
        self.reply(200, [entry(path, files) for path in known])

    def resolve(self, prefix: str | None, id: str, rev: str, path: str) -> None:
        sha, files = self.hub.repo(KINDS[prefix], id).at(rev)
        if path not in files:
            raise NotFound("EntryNotFound")
        data = files[path]
        headers = {
            "X-Repo-Commit": sha,
            "ETag": f'"{hashlib.sha256(data).hexdigest()}"',
            "Accept-Ranges": "bytes",
        }
        headers["Content-Type"] = "application/octet-stream"
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(match[1]), min(int(match[2] or len(data)), len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            return self.reply(206, data[first : last + 1], **headers)
        return self.reply(200, data, **headers)

    def validate_yaml(self) -> None:
        self.reply(200, {"errors": [], "warnings": []})

    def absent(self) -> None:
        self.reply(404, {"error": "not here"})


def blob_id(data: bytes, mode: str) -> str:
    """What the Hub names the content of a file by: Git's hash, or the SHA-256 of a large one."""
    return (
        hashlib.sha256(data).hexdigest() if mode == "lfs" else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    )


def entry(path: str, files: dict[str, bytes]) -> dict[str, Any]:
    if path not in files:
        return {"type": "directory", "path": path, "oid": hashlib.sha1(path.encode()).hexdigest(), "size": 0}
    data = files[path]
    facts: dict[str, Any] = {
        "type": "file",
        "path": path,
        "size": len(data),
        "oid": hashlib.sha1(data).hexdigest(),
    }
    if path.endswith(LARGE):
        facts["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return facts


ROUTES = [
    ("GET", "/", Handler.front_page),
    ("GET", "/api/whoami-v2", Handler.whoami),
    ("GET", "/api/agent-harnesses", Handler.absent),
    ("POST", "/api/repos/create", Handler.create),
    ("POST", "/api/validate-yaml", Handler.validate_yaml),
    ("POST", f"/api/{TYPE}/{ID}/preupload/(?P<rev>.+)", Handler.preupload),
    ("POST", f"/api/{TYPE}/{ID}/commit/(?P<rev>.+)", Handler.commit),
    ("POST", f"/api/{TYPE}/{ID}/paths-info/(?P<rev>.+)", Handler.paths_info),
    ("POST", f"/{PREFIX}{ID}\\.git/info/lfs/objects/batch", Handler.lfs_batch),
    ("PUT", "/upload/(?P<oid>[0-9a-f]{64})", Handler.upload),
    ("GET", f"/api/{TYPE}/{ID}/refs", Handler.refs),
    ("GET", f"/api/{TYPE}/{ID}/tree/(?P<rev>[^/]+)(?P<path>/.*)?", Handler.tree),
    ("GET", f"/api/{TYPE}/{ID}(/revision/(?P<rev>.+))?", Handler.info),
    ("GET", f"/{PREFIX}{ID}/resolve/(?P<rev>[^/]+)/(?P<path>.+)", Handler.resolve),
]  # fmt: skip


WRITES = (Handler.whoami, Handler.create, Handler.preupload, Handler.commit, Handler.lfs_batch)


@pytest.fixture
def fake_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeHub]:
    """An empty fake Hub and a home folder of its own, for one test."""
    with FakeHub(tmp_path_factory.mktemp("hub_home")) as hub:
        yield hub
