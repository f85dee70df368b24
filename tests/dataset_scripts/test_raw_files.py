"""Raw files: found under their names, downloaded from a server of this machine, compared with checksums."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import shutil
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hf_fairness.dataset_scripts import builder_class, load
from hf_fairness.dataset_scripts._description import Config
from hf_fairness.dataset_scripts._files import LOCK, MissingFilesError, checksums, content_of, find_files
from hf_fairness.dataset_scripts._raw import RawDataError
from support.dataset_cases import RAW


def find(name: str, folder: Path, config: str | None = None) -> dict[str, list[str]]:
    about = builder_class(name).about
    files = find_files(about, config or about.default, folder)
    return {split: [str(path.relative_to(folder)) for path in paths] for split, paths in files.items()}


def test_files_are_found_by_path_by_name_and_by_other_names(tmp_path):
    assert find("fever_symmetric", RAW / "fever_symmetric")["full"] == ["symmetric_v0.1/fever_symmetric_full.jsonl"]
    folder = Path(shutil.copytree(RAW / "fever_symmetric" / "symmetric_v0.1", tmp_path / "flat"))
    assert find("fever_symmetric", folder)["full"] == ["fever_symmetric_full.jsonl"]
    (folder / "sick_part.tsv").write_bytes((RAW / "sick" / "SICK.txt").read_bytes())
    assert find("sick", folder) == {split: ["sick_part.tsv"] for split in ("train", "trial", "test")}
    (folder / "sick_more.tsv").write_text("")
    with pytest.raises(ValueError, match=r"sick_more\.tsv and sick_part\.tsv in .* could both be SICK\.txt"):
        find("sick", folder)


def test_splits_that_share_names_are_told_apart_by_their_folders(tmp_path):
    scramble = RAW / "scramble" / "test"
    assert list(find("scramble", RAW / "scramble")) == ["test"]
    assert list(find("scramble", scramble)) == ["test"]  # a folder without parts
    shutil.copytree(scramble, tmp_path / "train")
    shutil.copytree(scramble, tmp_path / "test")
    assert {split: len(paths) for split, paths in find("scramble", tmp_path).items()} == {"train": 18, "test": 18}


def test_what_is_missing_is_said(raw_copy, tmp_path):
    with pytest.raises(
        MissingFilesError, match=r"holds no raw file of it.*built from en\.txt, en_pro\.txt, en_anti\.txt"
    ):
        load("winomt", tmp_path)
    with pytest.raises(MissingFilesError, match="There is no folder or file"):
        load("winomt", tmp_path / "nowhere")
    folder = raw_copy("winomt")
    (folder / "en_pro.txt").unlink()
    with pytest.raises(MissingFilesError, match=r"'test' .* has en\.txt, but not en_pro\.txt"):
        load("winomt", folder)
    assert len(load("winomt", folder, "anti", split="test", cache_dir=tmp_path / "cache")) == 2
    with pytest.raises(MissingFilesError, match=r"train\.csv is not downloaded: pass data_dir.*Accept the rules at"):
        load("jigsaw_unintended_bias", cache_dir=tmp_path / "cache")
    with pytest.raises(MissingFilesError, match="holds no raw file"):
        load("winomt", RAW / "hans" / "heuristics_train_set.txt")


def test_one_file_of_any_name(tmp_path):
    file = tmp_path / "my list.json"
    file.write_bytes((RAW / "professions" / "professions.json").read_bytes())
    assert len(load("professions", file, split="test", cache_dir=tmp_path / "cache")) == 2


def test_the_digest_of_the_raw_files(tmp_path):
    (tmp_path / "a").mkdir()
    one, other = tmp_path / "one", tmp_path / "a" / "one"
    one.write_text("1")
    other.write_text("2")
    sums = checksums({"train": (one,), "test": (other,), "more": (one,)})
    assert sums == {
        "one": {"num_bytes": 1, "checksum": hashlib.sha256(b"1").hexdigest()},
        "test/one": {"num_bytes": 1, "checksum": hashlib.sha256(b"2").hexdigest()},
    }
    digest = content_of(sums, "1.0.0")
    assert content_of(checksums({"train": (one,)}), "1.0.0") != digest != content_of(sums, "1.0.1")
    other.write_text("3")
    assert content_of(checksums({"train": (one,), "test": (other,)}), "1.0.0") != digest


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serves a folder; returns the folder, and a function that lets a builder fetch from it."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    folder = tmp_path / "www"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()

    def serve(name: str, **changes: object):
        kind = builder_class(name)
        config = kind.about.configs[kind.about.default]
        splits = {}
        for split, raws in config.splits.items():
            served = []
            for raw in raws:
                address = f"http://127.0.0.1:{http.server_address[1]}/{raw.url.rpartition('/')[2]}"
                served.append(dataclasses.replace(raw, url=address, sha256=None, **changes))
            splits[split] = tuple(served)
        about = dataclasses.replace(
            kind.about, configs={kind.about.default: Config(config.about, splits)}, columns=dict(kind.about.columns)
        )
        monkeypatch.setattr(kind, "about", about)
        return kind

    yield folder, serve
    http.shutdown()
    http.server_close()
    thread.join()


def test_downloads_are_locked_and_compared(server, tmp_path):
    folder, serve = server
    shutil.copytree(RAW / "winomt", folder, dirs_exist_ok=True)
    serve("winomt")
    built = load("winomt", split="test", cache_dir=tmp_path / "cache")
    assert built.to_list() == load("winomt", RAW / "winomt", split="test", cache_dir=tmp_path / "cache").to_list()
    lock = json.loads((tmp_path / "cache" / "downloads" / LOCK).read_text())
    assert {url.rpartition("/")[2]: digest for url, digest in lock.items()} == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("en.txt", "en_pro.txt", "en_anti.txt")
    }
    # Another machine's cache, the same lock, a file that was changed since.
    (tmp_path / "other" / "downloads").mkdir(parents=True)
    shutil.copy(tmp_path / "cache" / "downloads" / LOCK, tmp_path / "other" / "downloads" / LOCK)
    text = (folder / "en.txt").read_text()
    (folder / "en.txt").write_text(text.replace("kind", "calm"))
    with pytest.raises(
        OSError, match=r"en\.txt has the SHA-256 .*expected .*first download.*pass its folder as data_dir"
    ):
        load("winomt", cache_dir=tmp_path / "other")


def test_streams_of_downloads_are_checked_too(server, tmp_path):
    folder, serve = server
    shutil.copytree(RAW / "winomt", folder, dirs_exist_ok=True)
    serve("winomt")
    rows = load("winomt", split="test", streaming=True, cache_dir=tmp_path / "cache")
    assert [row["id"] for row in rows] == [f"test-{place}" for place in range(5)]
    assert (tmp_path / "cache" / "downloads" / LOCK).is_file()


def test_a_pinned_checksum_that_does_not_fit(server, tmp_path, monkeypatch):
    folder, serve = server
    shutil.copytree(RAW / "professions", folder, dirs_exist_ok=True)
    pinned = builder_class("professions").about.configs["default"].raws()[0].sha256
    kind = serve("professions")
    raw = dataclasses.replace(kind.about.configs["default"].raws()[0], sha256=pinned)
    monkeypatch.setattr(
        kind, "about", dataclasses.replace(kind.about, configs={"default": Config("", {"test": (raw,)})})
    )
    with pytest.raises(OSError, match=f"expected {pinned}, the pinned one"):
        load("professions", cache_dir=tmp_path / "cache")


def test_files_of_an_archive(server, tmp_path):
    folder, serve = server
    with zipfile.ZipFile(folder / "snli_1.0.zip", "w") as archive:
        for file in sorted((RAW / "snli").rglob("*.jsonl")):
            archive.write(file, file.relative_to(RAW / "snli"))
    serve("snli")
    rows = load("snli", cache_dir=tmp_path / "cache")
    assert {split: len(part) for split, part in rows.items()} == {"train": 3, "dev": 3, "test": 3}
    damaged = folder / "snli_1.0.zip"
    damaged.write_bytes(b"no archive")
    with pytest.raises(OSError, match=r"could not be fetched|holds no snli_1\.0"):
        load("snli", cache_dir=tmp_path / "other")


def test_damage_of_a_download_names_the_file_by_its_name(server, tmp_path):
    folder, serve = server
    shutil.copytree(RAW / "winomt", folder, dirs_exist_ok=True)
    (folder / "en.txt").write_text("male\t1\n")
    serve("winomt")
    with pytest.raises(RawDataError, match=r"/en\.txt, line 1: expected 4 values"):
        load("winomt", cache_dir=tmp_path / "cache")


def test_an_address_that_does_not_answer(server, tmp_path):
    _, serve = server
    serve("winomt")
    with pytest.raises(OSError, match=r"(?s)en\.txt could not be fetched from http.*pass its folder as data_dir"):
        load("winomt", cache_dir=tmp_path / "cache")
